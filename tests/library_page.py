#!/usr/bin/env python3
"""docs/library.md from the texts of std/: library_page.py --tenc PATH [--update].

Lists what each module declares, with its doc comments and an example: a line of tests/library_examples.txt, with what tenc
prints. What has a comment of a single `#` above is for the module itself and not listed. Fails when the page is not what the modules say, or when a struct
or function of a module has no doc comment, nor another of its name (`call` and functions that make a layer, `linear` for `Linear`, need none).
Closes with `N passed, N failed`."""
import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/library.md"
MODULES = ("nn", "convolution", "init", "optim", "amp", "data", "ad", "image", "linalg", "special", "signal")
HEAD = """# The standard library

What the modules of the standard library provide, with examples. `import nn` gives access to `nn.linear`;
`import nn: linear` makes it available as `linear`. A layer is a struct that can be called: `m(x)`. In the REPL,
`:doc nn.linear` shows the same text.

This page is generated from the modules by `tests/library_page.py --update`.
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
        if declared and i > 0 and re.match(r"# (?!----)", lines[i - 1]):
            continue
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


def examples():
    found = {}
    for line in (ROOT / "tests/library_examples.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            name, _, text = line.partition(": ")
            found[name] = text if re.match(r"(print|let|var|for)\b", text) else f"print({text})"
    return found


def example(tenc, text, problems):
    """The example as a block of code, and what it prints."""
    code = "".join(f"import {m}\n" for m in MODULES if re.search(rf"\b(?<!\.){m}\.\w", text)) + text.replace("; ", "\n")
    run = subprocess.run([tenc, "-e", code], capture_output=True, text=True, timeout=60)
    if run.returncode:
        problems.append(f"this example does not run:\n{code}\n{run.stderr}")
    return f"\n```tl\n{code}\n```\n```\n{run.stdout.rstrip()}\n```\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tenc", required=True)
    parser.add_argument("--update", action="store_true")
    args = parser.parse_args()
    page, rows, problems, shown = HEAD, 0, [], examples()
    for name in MODULES:
        about, found = entries((ROOT / f"std/{name}.tl").read_text())
        page += f"\n## {name}\n\n{about}\n"
        block = []  # (name, signature) of what stands together

        def close():
            nonlocal page
            page += "\n```\n" + "\n".join(text for _, text in block) + "\n```\n" if block else ""
            for of in dict.fromkeys(declared for declared, _ in block):
                if f"{name}.{of}" in shown:
                    page += example(args.tenc, shown.pop(f"{name}.{of}"), problems)
            block.clear()

        for kind, declared, text, doc in found:
            if kind == "section" or doc:
                close()
                page += f"\n### {declared}\n" if kind == "section" else f"\n{doc}\n"
            if kind == "section":
                continue
            rows += 1
            block.append((declared, text))
            documented = doc or any(other == declared and about for _, other, _, about in found)
            if not documented and declared not in ("call", "step") and not makes_layer(declared, found) and kind == "fn":
                problems.append(f"std/{name}.tl: {declared} has no doc comment")
            if kind == "fn" and declared != "call" and f"{name}.{declared}" not in examples():
                problems.append(f"std/{name}.tl: {declared} has no example in tests/library_examples.txt")
        close()
    problems += [f"tests/library_examples.txt: the library lists no `{name}`" for name in shown]
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
