#!/usr/bin/env python3
"""docs/library.md from the texts of std/: library_page.py [--update].

Lists what each module declares, with its doc comments. Fails when the page is not what the modules say, or when a struct
or function of a module has no doc comment, nor another of its name (`call` and functions that make a layer, `linear` for `Linear`, need none).
Closes with `N passed, N failed`."""
import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/library.md"
MODULES = ("nn", "init", "optim", "amp", "data", "image")
HEAD = """# The standard library

What the modules in `std/` declare, from their texts; made by `tests/library_page.py --update`. `import nn` makes
`nn.linear` known, `import nn: linear` makes it known as `linear`. Layers are structs with a `call`: `m(x)`.
`:doc nn.linear` shows the same in the REPL.
"""
DECLARED = re.compile(r"^(struct|fn) (\w+)(.*)$")


def signature(kind, line):
    """A declaration without its body."""
    if kind == "struct":
        return line
    depth = 0
    for i, c in enumerate(line):
        depth += (c in "([") - (c in ")]")
        if depth == 0 and (c == "{" or (c == "=" and line[i - 1] == " " and line[i + 1: i + 2] != "=")):
            return line[:i].strip()
    return line.strip()


def entries(text):
    """(kind, name, signature, doc) of each declaration, with ("section", title, "", "") between, and the module's doc."""
    lines, doc, found, module = text.splitlines(), [], [], None
    for i, line in enumerate(lines):
        if line.startswith("##"):
            doc.append(line[2:].strip())
            continue
        if line.startswith("# ---- "):
            title = line[len("# ---- "):]
            found.append(("section", title[0].upper() + title[1:], "", ""))
        declared = DECLARED.match(line)
        if declared:
            kind, name, _ = declared.groups()
            whole = line
            if kind == "struct" and "}" not in line:
                whole = line + " " + " ".join(l.strip() for l in lines[i + 1: i + 1 + lines[i + 1:].index("}")]) + " }"
            found.append((kind, name, signature(kind, whole), " ".join(doc)))
        elif doc and module is None and not found:
            module = " ".join(doc)
        doc = []
    return module or "", found


def makes_layer(name, found):
    plain = name.removesuffix("_layer").replace("_", "")
    return any(kind == "struct" and struct.lower() == plain for kind, struct, _, _ in found)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true")
    args = parser.parse_args()
    page, rows, problems = HEAD, 0, []
    for name in MODULES:
        about, found = entries((ROOT / f"std/{name}.tl").read_text())
        page += f"\n## {name}\n\n{about}\n"
        listed = []  # of one block

        def close():
            nonlocal page
            page += "\n```\n" + "\n".join(listed) + "\n```\n" if listed else ""
            listed.clear()

        for kind, declared, text, doc in found:
            if kind == "section" or doc:
                close()
                page += f"\n### {declared}\n" if kind == "section" else f"\n{doc}\n"
            if kind == "section":
                continue
            rows += 1
            listed.append(text)
            documented = doc or any(other == declared and about for _, other, _, about in found)
            if not documented and declared not in ("call", "step") and not makes_layer(declared, found) and kind == "fn":
                problems.append(f"std/{name}.tl: {declared} has no doc comment")
        close()
    if args.update:
        PAGE.write_text(page)
    elif not PAGE.is_file() or PAGE.read_text() != page:
        problems.append("docs/library.md is not what std/ says; run tests/library_page.py --update")
    for p in problems:
        print(p)
    print(f"{rows - len(problems)} passed, {len(problems)} failed")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
