#!/usr/bin/env python3
"""Fails when the sources leave the layout that docs/architecture.md gives them: a file of more than 800 lines; a file
outside of the targets, the tools and the table of devices that names a kind of device; a library or tool that setup.sh
installs and docs/dependencies.md does not list, or the other way round. Closes with `N passed, N failed`."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
MOST_LINES = 800
ROOMS = ("support", "grammar", "ir", "frontend", "passes", "interp", "codegen", "runtime", "tools", "std", "tests", "bench")
SOURCES = {".cpp", ".h", ".def", ".g4", ".tl", ".py"}
TARGETS = ("codegen/cuda/", "runtime/cuda/", "tools/", "tests/", "bench/", "ir/DeviceTable.cpp")


def without_comments(text):
    return re.sub(r"//[^\n]*", "", text)


def packages():
    """What setup.sh installs and what docs/dependencies.md lists."""
    script = re.search(r"^packages=\((.*?)^\)", (ROOT / "setup.sh").read_text(), re.M | re.S)[1].split()
    listed = set()
    for row in re.findall(r"^\|.*\|$", (ROOT / "docs/dependencies.md").read_text(), re.M):
        cells = [c.strip() for c in row.split("|")]
        if cells[2] not in ("Debian package", "---"):
            listed.update(cells[2].split(", "))
    return set(script), listed


def main():
    problems, checked = [], 0
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*")):
            if path.suffix not in SOURCES:
                continue
            checked += 1
            name = str(path.relative_to(ROOT))
            text = path.read_text(errors="replace")
            if text.count("\n") > MOST_LINES:
                problems.append(f"{name} has {text.count(chr(10))} lines; {MOST_LINES} are the most")
            if path.suffix in (".cpp", ".h") and not name.startswith(TARGETS) and re.search("cuda", without_comments(text), re.I):
                problems.append(f"{name} names CUDA: only targets, tools and the table of devices do")
    installed, listed = packages()
    checked += len(installed)
    problems += [f"setup.sh installs {p}, which docs/dependencies.md does not list" for p in sorted(installed - listed)]
    problems += [f"docs/dependencies.md lists {p}, which setup.sh does not install" for p in sorted(listed - installed)]
    for p in problems:
        print(p)
    print(f"{checked - len(problems)} passed, {len(problems)} failed")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
