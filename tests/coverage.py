#!/usr/bin/env python3
"""Fails when a row of a table goes untested: a diagnostic code without a page in docs/errors or without a test, or an op
or a pass that no test names. Tests are the files under tests/ and the examples in docs/errors (which tests/error_pages.py runs).
Closes with `N passed, N failed`."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
SUFFIXES = {".tl", ".tir", ".cpp", ".py"}


def main():
    tests = "\n".join(p.read_text(errors="replace") for p in sorted((ROOT / "tests").rglob("*"))
                      if p.suffix in SUFFIXES and p.name != pathlib.Path(__file__).name)
    words = set(re.findall(r"[\w.]+", tests))
    problems, rows = [], 0
    for code in re.findall(r"^TENC_DIAGNOSTIC\((\w+)", (ROOT / "support/DiagnosticKinds.def").read_text(), re.M):
        rows += 1
        page = ROOT / f"docs/errors/{code}.md"
        if not page.is_file():
            problems.append(f"{code} has no page docs/errors/{code}.md")
        elif f"# {code}: " not in page.read_text():
            problems.append(f"docs/errors/{code}.md does not begin with its code")
        elif code not in words and "```tl fails" not in page.read_text():
            problems.append(f"{code} is in no test")
    for mnemonic in re.findall(r'^TENC_\w+\(\w+, "([^"]+)"', (ROOT / "ir/Ops.def").read_text(), re.M):
        rows += 1
        if mnemonic not in words:
            problems.append(f"op {mnemonic} is in no test")
    for name in re.findall(r'^TENC_PASS\(\w+, "([^"]+)"', (ROOT / "passes/Passes.def").read_text(), re.M):
        rows += 1
        if not re.search(rf"passes[= ][\w,-]*\b{name}\b", tests):
            problems.append(f"pass {name} is in no test")
    for page in (ROOT / "docs/errors").glob("*.md"):
        if f"({page.stem}," not in (ROOT / "support/DiagnosticKinds.def").read_text():
            problems.append(f"{page.name} is the page of no diagnostic")
    for p in problems:
        print(p)
    print(f"{rows - len(problems)} passed, {len(problems)} failed")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
