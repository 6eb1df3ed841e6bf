#!/usr/bin/env python3
"""The examples of docs/errors: error_pages.py --tenc PATH [--only CODE] [--update]

In every page the block ```tl fails [options] must be refused with the page's code (a warning: accepted with it), the
block ```text must show what tenc says then, and the block ```tl [options] must run without any diagnostic. --update writes
the ```text blocks anew. The examples of the pages for people are run too, with two virtual devices; what they show
of a session, lines `$ tenc ... s.tl` each with what is printed, is compared, the example before it being s.tl.
Closes with `N passed, N failed`."""
import argparse
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
TEXT = re.compile(r"^```text\n(.*?)^```", re.M | re.S)
MOST_SHOWN = 20  # lines, and the rest of the help that they end in
BLOCK = re.compile(r"^```tl( fails)?(.*?)\n(.*?)^```", re.M | re.S)


def write_npy(path, shape, values):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(values)}f", *values))


def shown(stderr):
    """What a page shows of the diagnostics: the first one. Of a long one the helps from some line on are left out, which
    the page says."""
    first = re.split(r"\n(?=(?:error|warning)\[)", stderr)[0].rstrip()
    lines = []
    for part in re.split(r"\n(?=(?:help|note):)", first):
        if len(lines) >= MOST_SHOWN:
            return "".join(lines) + "...\n"
        lines += [line.rstrip() + "\n" for line in part.splitlines()]
    return "".join(lines)


def problem(tenc, code, fails, options, text):
    """Runs one example: what is wrong with it, if anything, and its diagnostics. Without a code, any will do."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "example.tl").write_text(text)
        write_npy(folder / "points.npy", (4, 2), [float(i) for i in range(8)])
        run = subprocess.run([tenc, "example.tl", *options.split()], cwd=folder, capture_output=True, text=True, timeout=60)
    found = set(re.findall(r"^(?:error|warning)\[(\w+)\]", run.stderr, re.M))
    status = 0 if not fails or code.startswith("W") else 3 if code.startswith("E09") else 1
    as_said = bool(found) == fails if not code else found == ({code} if fails else set())
    if as_said and run.returncode == status:
        return None, run.stderr
    return f"exit status {run.returncode}, codes {sorted(found)}\n{text}{run.stdout}{run.stderr}", run.stderr


def sessions(tenc, page):
    """Runs the lines `$ tenc ...` of a page's plain blocks: what is printed otherwise than the page says."""
    wrong, script = [], ""
    for language, text in re.findall(r"^```(.*?)\n(.*?)^```$", page.read_text(), re.M | re.S):
        if language == "tl":
            script = text
        if language or not text.startswith("$ tenc "):
            continue
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "s.tl").write_text(script)
            for line, said in re.findall(r"^\$ tenc (.*)\n((?:[^$\n].*\n)*)", text, re.M):
                run = subprocess.run(f"{tenc} {line}", shell=True, cwd=folder, capture_output=True, text=True, timeout=60)
                if run.stdout.splitlines() != said.splitlines():
                    wrong.append(f"`tenc {line}` prints\n{run.stdout}{run.stderr}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tenc", required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--update", action="store_true")
    args = parser.parse_args()
    passed = failed = 0
    for page in sorted((ROOT / "docs/errors").glob("[EW]*.md")):
        if args.only not in page.stem:
            continue
        content = page.read_text()
        blocks = BLOCK.findall(content)
        kinds = [bool(fails) for fails, _, _ in blocks]
        problems = [] if kinds == [True, False] else ["the page needs one failing and one mended example"]
        for fails, options, text in blocks:
            what, stderr = problem(str(pathlib.Path(args.tenc).resolve()), page.stem, bool(fails), options, text)
            if what:
                problems.append(("failing" if fails else "mended") + " example: " + what)
            elif fails and TEXT.findall(content) != [shown(stderr)]:
                if args.update:
                    page.write_text(TEXT.sub(lambda _: "```text\n" + shown(stderr) + "```", content, count=1))
                else:
                    problems.append("the page does not show what tenc says:\n" + shown(stderr))
        passed, failed = passed + (not problems), failed + bool(problems)
        for p in problems:
            print(f"{page.name}: {p}")
    # tests/ops_page.py runs those of docs/ops.md.
    for page in [ROOT / "README.md", *sorted(p for p in (ROOT / "docs").glob("*.md") if p.stem != "ops")]:
        for fails, _, text in BLOCK.findall(page.read_text()) if args.only in page.stem else []:
            what, _ = problem(str(pathlib.Path(args.tenc).resolve()), "", bool(fails), "--virtual cuda=2", text)
            passed, failed = passed + (not what), failed + bool(what)
            if what:
                print(f"{page.name}: {what}")
        for what in sessions(pathlib.Path(args.tenc).resolve(), page) if args.only in page.stem else []:
            failed += 1
            print(f"{page.name}: {what}")
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0 or passed == 0)


if __name__ == "__main__":
    sys.exit(main())
