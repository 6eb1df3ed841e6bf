#!/usr/bin/env python3
"""Fails when the sources leave the layout that docs/architecture.md gives them: a file of more than 800 lines; a file
outside of the targets, the tools and the table of devices that names a kind of device; a room that CMake lets know other
rooms than the page's table says; a library or tool that setup.sh installs and docs/dependencies.md does not list, or the
other way round. Closes with `N passed, N failed`."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
MOST_LINES = 800
ROOMS = ("support", "grammar", "syntax", "ir", "transforms", "frontend", "passes", "interp", "codegen", "runtime", "tools", "std", "tests", "bench")
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


def rooms():
    """For each room, those that it may include by CMake and by the table of docs/architecture.md."""
    built, told = {}, {}
    for path in sorted(ROOT.rglob("CMakeLists.txt")):
        if "build" in path.relative_to(ROOT).parts:
            continue
        for call in re.findall(r"^tenc_room\(([^)]*)\)", path.read_text(), re.M):
            words = call.split()
            folder = {w: words[i + 1] for i, w in enumerate(words[:-1])}["FOLDER"]
            known, keep = set(), False
            for w in words:
                keep = w in ("KNOWS", "PRIVATE_KNOWS") or (keep and not w.isupper())
                if keep and not w.isupper():
                    known.add(w.replace("_", "/"))
            built[folder] = known
    for folder, cell in re.findall(r"^\| `([\w/]+)/` \|.*\|([^|]*)\|$", (ROOT / "docs/architecture.md").read_text(), re.M):
        told[folder] = set(re.findall(r"`([\w/]+)`", cell))
    return built, told


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
    built, told = rooms()
    checked += len(built)
    for room in sorted(built):
        if built[room] != told.get(room):
            problems.append(f"{room}/ knows {sorted(built[room])} by CMake and {sorted(told.get(room, []))} by docs/architecture.md")
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
