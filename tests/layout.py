#!/usr/bin/env python3
"""Fails when the sources leave the layout that docs/architecture.md gives them:

  a file of more than 800 lines, or one that a merge or a patch left over;
  a file that includes a header of a room which its own does not know, or a header that includes one that only sources may;
  a file outside of the targets, the tools and the table of devices that names a kind of device;
  a dynamic_cast;
  a stage behind the frontend that reads the text of the source, or a tool that reads a piece of it;
  a room that CMake lets know other rooms than the page's table says;
  a library or tool that setup.sh installs and docs/dependencies.md does not list, or the other way round.

Closes with `N passed, N failed`."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
MOST_LINES = 800
LEFT_OVER = {".orig", ".rej", ".bak"}
ROOMS = ("support", "grammar", "syntax", "ir", "transforms", "frontend", "passes", "interp", "codegen", "runtime", "tools", "std", "tests", "bench")
SOURCES = {".cpp", ".h", ".def", ".g4", ".tl", ".py"}
INCLUDE = re.compile(r'^\s*#\s*include "([^"]+)"', re.M)
# Facts about the source reach these as data; support/Quote.h shows a piece of it to the user. The parser of the IR reads
# what it parses, and tools read whole files. In the frontend the tree tells; the library's modules are cut into
# declarations, of which only those that are needed are parsed.
WITHOUT_SOURCE = ("passes/", "transforms/", "ir/", "interp/", "codegen/", "runtime/", "tools/", "frontend/")
SOURCE_PIECE = re.compile(r"\bsources\w*(\(\))?(\.|->)text\(")
SOURCE_FILE = re.compile(r"(\bfile\([^()]*\)|\bf|\bfile)\.text\(\)")
PARSED = ("ir/Parser.cpp", "frontend/names/Library.cpp", "frontend/habits/UnreadScript.cpp")
# The kinds of device beside the host, and where their names may stand.
KINDS = re.findall(r'"(\w+)"', re.search(r"kNumbered\[\] = \{(.*?)\}", (ROOT / "ir/DeviceTable.cpp").read_text())[1])
TARGETS = (*(f"{part}/{kind}/" for part in ("codegen", "runtime") for kind in KINDS), "tools/", "tests/", "bench/", "ir/DeviceTable.cpp")


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
    """For each room, those that it may include by CMake, which of them only its sources may, and those by the table of
    docs/architecture.md."""
    built, private, told = {}, {}, {}
    for path in sorted(ROOT.rglob("CMakeLists.txt")):
        if "build" in path.relative_to(ROOT).parts[:1]:
            continue
        for call in re.findall(r"^tenc_room\(([^)]*)\)", path.read_text(), re.M):
            words = call.split()
            folder = {w: words[i + 1] for i, w in enumerate(words[:-1])}["FOLDER"]
            known, keyword = {"KNOWS": set(), "PRIVATE_KNOWS": set()}, ""
            for w in words:
                if w.isupper():
                    keyword = w
                elif keyword in known:
                    known[keyword].add(w.replace("_", "/"))
            built[folder] = known["KNOWS"] | known["PRIVATE_KNOWS"]
            private[folder] = known["PRIVATE_KNOWS"]
    for folder, cell in re.findall(r"^\| `([\w/]+)/` \|.*\|([^|]*)\|$", (ROOT / "docs/architecture.md").read_text(), re.M):
        told[folder] = set(re.findall(r"`([\w/]+)`", cell))
    return built, private, told


def room_of(name, built):
    """The room that a file lies in: the innermost folder that is one."""
    return max((r for r in built if name.startswith(r + "/")), key=len, default=None)


def reachable(room, built, private):
    """The rooms whose headers a room sees: its own, those that it knows, and what these show."""
    seen, todo = set(), [room, *built[room]]
    while todo:
        r = todo.pop()
        if r in seen:
            continue
        seen.add(r)
        todo += built.get(r, set()) - private.get(r, set())
    return seen


def forbidden(name, text, built, private):
    """The includes of a file that its room does not allow."""
    room = room_of(name, built)
    if room is None:
        return []
    allowed, found = reachable(room, built, private), []
    # A header shows what it includes to whoever includes it.
    if name.endswith(".h"):
        allowed = reachable(room, {**built, room: built[room] - private[room]}, private)
    for included in INCLUDE.findall(text):
        other = room_of(included, built)
        if other and other not in allowed:
            found.append(f"{name} includes {included}: {room}/ does not know {other}/" + (" in its headers" if other in private[room] else ""))
    return found


def main():
    problems, checked = [], 0
    built, private, told = rooms()
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*")):
            if path.suffix in LEFT_OVER:
                problems.append(f"{path.relative_to(ROOT)} is left over from a merge or a patch")
            if path.suffix not in SOURCES:
                continue
            checked += 1
            name = str(path.relative_to(ROOT))
            text = path.read_text(errors="replace")
            if text.count("\n") > MOST_LINES:
                problems.append(f"{name} has {text.count(chr(10))} lines; {MOST_LINES} are the most")
            if path.suffix not in (".cpp", ".h"):
                continue
            code = without_comments(text)
            problems += forbidden(name, text, built, private)
            if "dynamic_cast" in code and not name.startswith("tests/"):
                problems.append(f"{name} has a dynamic_cast: a variant, a virtual function or an enum says what a thing is")
            piece = SOURCE_PIECE.search(code) and not name.startswith("frontend/")  # which quotes what it refuses
            reads = piece or (SOURCE_FILE.search(code) and not name.startswith("tools/"))
            if name.startswith(WITHOUT_SOURCE) and reads and name not in PARSED:
                problems.append(f"{name} reads the text of the source: what it decides by reaches it as data")
            named = [kind for kind in KINDS if re.search(kind, code, re.I)]
            if named and not name.startswith(TARGETS):
                problems.append(f"{name} names {named[0]}: only targets, tools and the table of devices do")
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
