#!/usr/bin/env python3
"""The documentation in one file: html_page.py

Makes it with docs/make_html.py, and checks that it loads nothing from elsewhere, that every link leads to a page, a heading, or a file of the
repository, that every example is highlighted, and, in Chromium where that is installed, that pages open and the search finds. Closes with
`N passed, N failed`."""
import html
import html.parser
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "docs"))
import make_html  # noqa: E402

# What loads something when a page is opened, and from where it may.
LOADS = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src", "object": "data"}


class Reader(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.ids, self.links, self.loaded, self.sections, self.open = [], [], [], 0, []

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if "id" in attributes: self.ids.append(attributes["id"])
        if tag == "a" and "href" in attributes: self.links.append(attributes["href"])
        if tag in LOADS and LOADS[tag] in attributes: self.loaded.append(attributes[LOADS[tag]])
        self.sections += tag == "section"


def static_problems(text):
    reader = Reader()
    reader.feed(text)
    found = [f"{what[:60]} is loaded" for what in reader.loaded if not what.startswith("data:")]
    found += [f"url in the styles: {u}" for u in re.findall(r"url\([^)]*\)|@import[^;]*", re.search(r"<style>(.*?)</style>", text, re.S)[1])]
    found += [f"two elements have the id {i}" for i in sorted({i for i in reader.ids if reader.ids.count(i) > 1})]
    for link in sorted(set(reader.links)):
        if link.startswith("#"):
            if link[1:] not in reader.ids: found.append(f"nothing has the id of the link {link}")
        elif not re.match(r"https://|mailto:", link) and not (ROOT / "docs" / link).exists():
            found.append(f"there is no file {link}")
    pages = sum(len(paths) for _, paths in make_html.sources())
    if reader.sections != pages: found.append(f"{reader.sections} pages of {pages}")
    if "CODE0CODE" in text or make_html.BAR in text or "```" in re.sub(r"<code>[^<]*</code>|<pre.*?</pre>", "", text, flags=re.S): found.append("code that is not shown as such")
    errors = re.findall(r'<span class="err">([^<]*)</span>', text)
    return found + [f"not highlighted: {e}" for e in errors[:5]]


# Goes to each place in turn, and leaves in the page what is shown there: the pages, and the links that a search found.
PROBE = """<pre id="probe"></pre><script>(async () => {
  const seen = [];
  for (const place of PLACES) {
    location.hash = place;
    await new Promise(done => setTimeout(done, 50));
    seen.push([[...document.querySelectorAll("section")].filter(s => getComputedStyle(s).display !== "none").map(s => s.id),
               [...document.querySelectorAll("#results a")].map(a => a.hash)]);
  }
  document.getElementById("probe").textContent = JSON.stringify(seen);
})()</script></body>"""
SHOWN = {"tour": "tour", "reference--operators": "reference", "ops--softmax": "ops", "": "home"}
FOUND = {"softmax": "#ops--softmax", "adamw decay": "#library", "E0301": "#e0301", "precedence cosine schedule": None}


def browser_problems(chromium, text, folder):
    places = [*SHOWN, *("?q=" + words.replace(" ", "%20") for words in FOUND)]
    page = folder / "probe.html"
    page.write_text(text.replace("</body>", PROBE.replace("PLACES", json.dumps(places))))
    done = subprocess.run([chromium, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=10000", "--dump-dom", f"file://{page}"],
                          capture_output=True, text=True, timeout=600)
    probe = re.search(r'<pre id="probe">(.*?)</pre>', done.stdout)
    if not probe or not probe[1]: return [f"the page's script did not run: {done.stderr[-500:]}"]
    seen, found = json.loads(html.unescape(probe[1])), []
    for (place, page_id), (shown, _) in zip(SHOWN.items(), seen):
        if shown != [page_id]: found.append(f"#{place} shows {shown}")
    for (words, link), (shown, links) in zip(FOUND.items(), seen[len(SHOWN):]):
        right = any(l.startswith(link) for l in links[:3]) if link else not links
        if not right or shown: found.append(f"searching {words} finds {links[:5]}")
    return found


def main():
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "index.html"
        page.write_text(make_html.Maker().whole())
        checks = [static_problems(page.read_text())]
        chromium = shutil.which("chromium") or shutil.which("google-chrome")
        if chromium: checks.append(browser_problems(chromium, page.read_text(), pathlib.Path(folder)))
        else: print("chromium is not installed: the page is not opened")
    failed = 0
    for problem in sum(checks, []):
        failed += 1
        print(problem)
    print(f"{sum(not c for c in checks)} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
