#!/usr/bin/env python3
"""The examples of docs/errors: error_pages.py --tenc PATH [--only CODE] [--update]

In every page the block ```tl fails [options] must be refused with the page's code (a warning: accepted with it), the
block ```text must show what tenc says then, and the block ```tl [options] must run without any diagnostic. --update writes
the ```text blocks anew. tests/doc_examples.py runs the examples of the other pages. Closes with `N passed, N failed`."""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

from doc_examples import write_npy

ROOT = pathlib.Path(__file__).resolve().parents[1]
TEXT = re.compile(r"^```text\n(.*?)^```", re.M | re.S)
MOST_SHOWN = 20  # lines, and the rest of the help that they end in
BLOCK = re.compile(r"^```tl( fails)?(.*?)\n(.*?)^```", re.M | re.S)


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
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0 or passed == 0)


if __name__ == "__main__":
    sys.exit(main())
