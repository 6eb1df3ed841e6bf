#!/usr/bin/env python3
"""Makes docs/index.html of the documentation: docs/make_html.py [-o FILE]

One file with everything in it: the pages of docs/, README.md and its companions, the pages of the errors, and the examples with their sources.
Pictures are embedded, code is highlighted, and a search looks through all sections. It loads nothing from anywhere, so it can be opened from
a disk. Links to other files of the repository stay as they are.

Needs Python's markdown and pygments (Debian: python3-markdown, python3-pygments). tests/html_page.py tests it."""
import argparse
import base64
import html
import pathlib
import posixpath
import re
import sys

import markdown
from markdown.extensions.toc import TocExtension
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.append(str(ROOT / "editors/pygments"))
from tl_lexer import TlLexer  # noqa: E402

# The pages in their order, by group; `*` stands for what is not named.
GROUPS = [
    ("Start", ["README.md", "docs/tour.md", "docs/how-do-i.md", "docs/training.md", "docs/devices.md", "docs/gpu.md", "examples/README.md"]),
    ("Coming from", ["docs/numpy.md", "docs/pytorch.md", "docs/jax.md"]),
    ("Reference", ["docs/reference.md", "docs/command-line.md", "docs/ops.md", "docs/library.md", "docs/derivatives.md", "docs/linear-algebra.md", "docs/files.md", "docs/math.md",
                   "docs/diagnostics.md", "docs/limits.md", "docs/not-yet.md", "docs/roadmap.md", "SECURITY.md"]),
    ("How it works", ["docs/performance.md", "docs/benchmarks.md", "docs/architecture.md", "docs/ir.md", "docs/cuda.md", "docs/cuda_vm.md",
                      "docs/dependencies.md", "docs/testing.md"]),
    ("The project", ["CHANGELOG.md", "CONTRIBUTING.md", "editors/README.md", "*"]),
    ("Examples", ["examples/*.tl"]),
    ("Errors", ["docs/errors/*.md"]),
]
FOLDED = ("Examples", "Errors")
FENCE = re.compile(r"^( *)```([^\n`]*)\n(.*?)^\1```$", re.M | re.S)
PICTURES = {".svg": "image/svg+xml", ".png": "image/png"}
BAR = "\ue000"  # `\|` in a table, until it is HTML


def sources():
    """[(group, [path])] of all pages."""
    listed = {p for _, paths in GROUPS for p in paths}
    rest = sorted(str(p.relative_to(ROOT)) for p in HERE.glob("*.md") if str(p.relative_to(ROOT)) not in listed)
    found = []
    for group, paths in GROUPS:
        every = []
        for p in paths:
            every += rest if p == "*" else sorted(str(q.relative_to(ROOT)) for q in ROOT.glob(p)) if "*" in p else [p]
        found.append((group, every))
    return found


def page_id(path):
    """README.md of the root is `home`, that of a folder has the folder's name; the others have their own."""
    p = pathlib.PurePosixPath(path)
    return ("home" if str(p.parent) == "." else p.parent.name) if p.name == "README.md" else p.stem.lower() if p.suffix == ".md" else f"example-{p.stem}"


def slug(text, separator):
    """As GitHub makes them."""
    return re.sub(r" ", separator, re.sub(r"[^\w\- ]", "", text.strip().lower()))


def code_html(text, language):
    if language == "output": return f'<pre class="output">{html.escape(text)}</pre>'
    try:
        lexer = TlLexer() if language == "tl" else get_lexer_by_name(language) if language in ("python", "json", "csv") else None
    except ClassNotFound:
        lexer = None
    if not lexer: return f"<pre>{html.escape(text)}</pre>"
    return highlight(text, lexer, HtmlFormatter(cssclass="code"))


def picture(path):
    data = base64.b64encode((ROOT / path).read_bytes()).decode()
    return f"data:{PICTURES[pathlib.PurePosixPath(path).suffix]};base64,{data}"


class Maker:
    def __init__(self):
        self.groups = sources()
        self.ids = {path: page_id(path) for _, paths in self.groups for path in paths}

    def target(self, path, link):
        """Where a link of a page leads: into this file, if what it names is in it."""
        if re.match(r"[a-z]+:", link): return link
        file, _, anchor = link.partition("#")
        full = posixpath.normpath(posixpath.join(posixpath.dirname(path), file)) if file else path
        if full in ("docs/errors", "examples"): full = f"{full}/README.md" if full == "examples" else "docs/diagnostics.md"
        if full in self.ids: return f"#{self.ids[full]}" + (f"--{anchor}" if anchor else "")
        return posixpath.relpath(full, "docs")

    def markdown(self, path):
        """(title, HTML) of a page."""
        text, codes = (ROOT / path).read_text(), []

        def keep(m):
            language = m[2].split()[0] if m[2].split() else ""
            body = re.sub(rf"^{m[1]}", "", m[3], flags=re.M) if m[1] else m[3]
            codes.append(code_html(body, language))
            return f"\n{m[1]}CODE{len(codes) - 1}CODE\n"

        text = FENCE.sub(keep, text)
        text = re.sub(r"^\|.*$", lambda m: m[0].replace("\\|", BAR), text, flags=re.M)
        toc = TocExtension(slugify=lambda t, sep: f"{self.ids[path]}--{slug(t, '-')}")
        body = markdown.markdown(text, extensions=["tables", "sane_lists", toc])
        body = re.sub(r"(?:<p>)?CODE(\d+)CODE(?:</p>)?", lambda m: codes[int(m[1])], body).replace(BAR, "|")
        body = re.sub(r'<img ([^>]*)src="([^"]+)"', lambda m: f'<img {m[1]}src="{self.embedded(path, m[2])}"', body)
        body = re.sub(r'<a href="([^"]+)"', lambda m: f'<a href="{self.target(path, html.unescape(m[1]))}"', body)
        title = re.search(r"^# (.*)$", text, re.M)[1].strip("`")
        return title, body

    def embedded(self, path, link):
        return picture(posixpath.normpath(posixpath.join(posixpath.dirname(path), link)))

    def page(self, path):
        if path.endswith(".md"): return self.markdown(path)
        name = pathlib.PurePosixPath(path).name
        heading = f'<h1 id="{self.ids[path]}--top">{name}</h1>'
        return name, heading + code_html((ROOT / path).read_text(), "tl")

    def whole(self):
        nav, sections = [], []
        for group, paths in self.groups:
            rows = []
            for path in paths:
                title, body = self.page(path)
                if path == "README.md": title = "tenc"
                if group == "Errors": title = pathlib.PurePosixPath(path).stem
                rows.append(f'<a href="#{self.ids[path]}">{html.escape(title)}</a>')
                sections.append(f'<section id="{self.ids[path]}" data-title="{html.escape(title)}">\n{body}\n</section>')
            opened = "" if group in FOLDED else " open"
            nav.append(f"<details{opened}><summary>{group}</summary>{''.join(rows)}</details>")
        return TEMPLATE.replace("@STYLE@", STYLE + styles()).replace("@SCRIPT@", SCRIPT).replace("@NAV@", "\n".join(nav)).replace("@PAGES@", "\n".join(sections))


def styles():
    light = HtmlFormatter(style="default").get_style_defs(".code")
    dark = HtmlFormatter(style="monokai").get_style_defs(".code")
    return light + "\n@media (prefers-color-scheme: dark) {\n" + dark + "\n}\n.code { background: none }\n"


STYLE = """
:root { --text: #1f2328; --dim: #656d76; --line: #d0d7de; --back: #fff; --soft: #f6f8fa; --link: #0a58ca; --out: #eef6ee }
@media (prefers-color-scheme: dark) { :root { --text: #d6d9dd; --dim: #9198a1; --line: #3d444d; --back: #14171c; --soft: #1d2127; --link: #6cabff; --out: #17231a } }
* { box-sizing: border-box }
body { margin: 0; color: var(--text); background: var(--back); font: 16px/1.55 system-ui, sans-serif; display: flex }
nav { width: 270px; height: 100vh; position: sticky; top: 0; overflow: auto; padding: 16px; border-right: 1px solid var(--line); background: var(--soft); flex: none }
nav a { display: block; padding: 2px 8px; color: var(--text); text-decoration: none; border-radius: 4px; font-size: 14px }
nav a:hover, nav a.here { background: var(--line) }
nav summary { font-weight: 600; margin-top: 10px; cursor: pointer; font-size: 13px; color: var(--dim) }
#search { width: 100%; padding: 6px 10px; border: 1px solid var(--line); border-radius: 6px; background: var(--back); color: var(--text); font-size: 14px }
main { flex: 1; min-width: 0; padding: 24px 40px 80px; max-width: 1000px }
section { display: none; scroll-margin-top: 120px } section.shown { display: block } h2, h3 { scroll-margin-top: 12px }
h1 { font-size: 28px } h2 { margin-top: 36px; border-bottom: 1px solid var(--line); padding-bottom: 4px } h3 { margin-top: 26px }
a { color: var(--link) }
pre, .code pre { background: var(--soft); padding: 12px 14px; overflow: auto; border-radius: 6px; font: 13.5px/1.45 ui-monospace, Consolas, "DejaVu Sans Mono", monospace; margin: 12px 0 }
pre.output { background: var(--out); border-left: 4px solid #4c9a5a; border-radius: 0 6px 6px 0 }
.code + pre.output, .code + p + pre.output { margin-top: -8px }
code { font: 0.88em ui-monospace, Consolas, "DejaVu Sans Mono", monospace; background: var(--soft); padding: 1px 4px; border-radius: 4px }
pre code { padding: 0 }
table { border-collapse: collapse; display: block; overflow: auto; margin: 14px 0 } th, td { border: 1px solid var(--line); padding: 5px 10px; text-align: left; vertical-align: top }
th:empty { padding: 0; border: 0 }
img { max-width: 100% }
#results a { display: block; padding: 10px 0; border-bottom: 1px solid var(--line); text-decoration: none }
#results small { color: var(--dim); display: block } #results mark { background: #ffe08a; color: #000 }
@media (max-width: 800px) { body { display: block } nav { width: auto; height: auto; position: static; border: 0 } main { padding: 16px } }
@media print { nav { display: none } section { display: block } }
"""

SCRIPT = r"""
const pages = [...document.querySelectorAll("section")], box = document.getElementById("search"), results = document.getElementById("results");
let index = null;
// One entry a heading: its title, its page, and the text up to the next heading.
function build() {
  index = [];
  for (const page of pages) {
    let entry = null;
    for (const node of page.children) {
      if (/^H[1-4]$/.test(node.tagName)) index.push(entry = {id: node.id || page.id, title: node.textContent, page: page.dataset.title, level: +node.tagName[1], text: ""});
      else if (entry) entry.text += " " + node.textContent;
    }
  }
  for (const e of index) { e.lowTitle = e.title.toLowerCase(); e.low = e.text.toLowerCase(); }
}
function score(entry, words) {
  let total = 0;
  for (const w of words) {
    const inTitle = entry.lowTitle === w ? 60 : entry.lowTitle.startsWith(w) ? 25 : entry.lowTitle.includes(w) ? 15 : 0, found = entry.low.split(w).length - 1;
    if (!inTitle && !found) return 0;
    total += inTitle + Math.min(found, 8);
  }
  return total - entry.level / 10;
}
function excerpt(entry, word) {
  const at = Math.max(0, entry.low.indexOf(word) - 60), span = document.createElement("small");
  const text = entry.text.slice(at, at + 200), hit = text.toLowerCase().indexOf(word);
  if (hit < 0) span.textContent = text;
  else {
    const mark = document.createElement("mark");
    mark.textContent = text.slice(hit, hit + word.length);
    span.append(text.slice(0, hit), mark, text.slice(hit + word.length));
  }
  return span;
}
function search(text) {
  const words = text.toLowerCase().split(/\s+/).filter(w => w);
  if (!words.length) return show();
  if (!index) build();
  const hits = index.map(e => [score(e, words), e]).filter(h => h[0] > 0).sort((a, b) => b[0] - a[0]).slice(0, 40);
  pages.forEach(p => p.classList.remove("shown"));
  results.replaceChildren();
  const heading = document.createElement("h1");
  heading.textContent = hits.length ? "Found" : "Nothing found";
  results.append(heading);
  for (const [, e] of hits) {
    const a = document.createElement("a"), b = document.createElement("b");
    a.href = "#" + e.id;
    b.textContent = e.page === e.title ? e.title : e.page + ": " + e.title;
    a.append(b, excerpt(e, words[0]));
    results.append(a);
  }
}
// "#tour" shows a page, "#tour--values" a place in it, "#?q=softmax" what a search finds.
function show() {
  const hash = decodeURIComponent(location.hash.slice(1));
  if (hash.startsWith("?q=")) { box.value = hash.slice(3); return search(box.value); }
  const id = hash || "home", page = document.getElementById(id.split("--")[0]) || pages[0], place = document.getElementById(id);
  results.replaceChildren();
  pages.forEach(p => p.classList.toggle("shown", p === page));
  document.querySelectorAll("nav a").forEach(a => a.classList.toggle("here", a.hash === "#" + page.id));
  document.title = page.dataset.title + " · tenc";
  const link = document.querySelector("nav a.here");
  if (link) link.closest("details").open = true;
  if (place && place !== page) place.scrollIntoView(); else window.scrollTo(0, 0);
}
box.addEventListener("input", () => search(box.value));
addEventListener("hashchange", () => { if (!location.hash.startsWith("#?q=")) box.value = ""; show(); });
addEventListener("keydown", e => { if (e.key === "/" && document.activeElement !== box) { e.preventDefault(); box.focus(); } });
show();
"""

TEMPLATE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>tenc</title>
<style>@STYLE@</style>
</head>
<body>
<nav>
<input id="search" type="search" placeholder="Search ( / )" aria-label="Search">
@NAV@
</nav>
<noscript><style>section { display: block }</style>The search needs JavaScript; all pages follow.</noscript>
<main><div id="results"></div>
@PAGES@
</main>
<script>@SCRIPT@</script>
</body>
</html>
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=pathlib.Path, default=HERE / "index.html")
    args = parser.parse_args()
    args.output.write_text(Maker().whole())


if __name__ == "__main__":
    main()
