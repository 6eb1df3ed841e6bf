#!/usr/bin/env python3
"""Holds what tenc says to docs/diagnostics.md, "How messages are written": wording.py

Looks at the sentences that sources of the compiler and the runtime have as strings, at the messages, notes and helps that tests
and pages of docs/errors expect, and at the text of these pages. Fails at a word that the page's table does not use, at a message
that begins with a capital or ends with a full stop. What stands in backquotes is the user's. Closes with `N passed, N failed`."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/diagnostics.md"
ROOMS = ("syntax", "frontend", "passes", "transforms", "codegen", "runtime", "interp", "support", "tools/repl", "tools/tenc")
STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
SAID = re.compile(r"(?:(?:error|warning)\[[EW]\d{4}\]|^(?:#\s*[A-Z-]*CHECK[A-Z-]*:\s*)?(?:help|note)): (.*)$", re.M)
QUOTED = re.compile(r"`[^`]*`?|\{\{.*?\}\}\S*|\"[^\"]*\"")
# Names and types that keep their capital at the beginning.
NAMES = re.compile(r"(NumPy|PyTorch|Python|JAX|TL|NaN|CUDA|LLVM|NVRTC|LAPACK|OpenBLAS|CSV|PNG|UTF-8|Newton|Cholesky|Ctrl-C|[A-Z]\b|[A-Z]\d|[A-Z]+\d*\b|\w+ has no field)")


def words():
    """The words of the table's first column, as one expression."""
    rows = re.findall(r"^\| (.*?) \| (.*?) \|$", PAGE.read_text().split("## How messages are written")[1].split("\n## ")[0], re.M)
    listed = [w for not_used, _ in rows[1:] if not not_used.startswith("-") for w in not_used.split(", ")]
    if len(listed) < 20:
        sys.exit(f"{PAGE}: the table of words is not found")
    return re.compile(r"(?<![\w-])(?:" + "|".join(re.escape(w) for w in sorted(listed, key=len, reverse=True)) + r")(?![\w-])", re.I)


def sentences():
    """What sources say: where, and the string."""
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*")):
            if path.suffix not in (".cpp", ".h", ".def") or path.name == "Crash.cpp":  # that one tells of bugs in tenc
                continue
            for n, line in enumerate(path.read_text().splitlines(), 1):
                if line.lstrip().startswith(("//", "#include", "static_assert")):
                    continue
                yield from ((f"{path.relative_to(ROOT)}:{n}", s) for s in STRING.findall(line) if " " in s.strip())


def pages():
    for path in sorted((ROOT / "docs/errors").glob("*.md")):
        text = path.read_text()
        for n, line in enumerate(re.sub(r"^```tl.*?^```", lambda m: "\n" * m[0].count("\n"), text, flags=re.M | re.S).splitlines(), 1):
            yield f"{path.relative_to(ROOT)}:{n}", line


def messages():
    """What tests and pages expect: where, and what follows the code or the first word."""
    for path in [*sorted((ROOT / "tests").rglob("*.tl")), *sorted((ROOT / "docs/errors").glob("*.md"))]:
        if "Output" in path.parts:
            continue
        text = path.read_text(errors="replace")
        for m in SAID.finditer(text):
            yield f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, m.start()) + 1}", m[1].strip()


def main():
    avoid = words()
    passed, problems = 0, []
    for where, text in [*sentences(), *pages(), *messages()]:
        passed += 1
        found = avoid.search(QUOTED.sub("`", text))
        if found:
            problems.append(f"{where}: \"{found[0]}\" in: {text[:120]}")
    for where, text in messages():
        passed += 1
        if re.match(r"[A-Z]", text) and not NAMES.match(text):
            problems.append(f"{where}: begins with a capital: {text[:120]}")
        elif re.search(r"[^.\d]\.$", text):
            problems.append(f"{where}: ends with a full stop: {text[-120:]}")
    print("\n".join(problems))
    print(f"{passed - len(problems)} passed, {len(problems)} failed")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
