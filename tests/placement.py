#!/usr/bin/env python3
"""Golden texts of errors, and whether their help helps: placement.py --tenc PATH [--cases FILE] [--only TEXT] [--update]

For every case of tests/placement/errors.txt, or of FILE: what `tenc check` says is as recorded (--update records it anew), and when
the first edits that each error proposes are made, again and again where a mended line shows the next error, the program
checks clean. So does the program with the cheaper edits, and with variables started elsewhere, where an error proposes
some. A case `--- not mended` proposes
nothing that could be edited into the script. Closes with `N passed, N failed`."""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

CASES = pathlib.Path(__file__).resolve().parent / "placement" / "errors.txt"
MOST_ROUNDS = 6


def read_cases(text):
    head, *parts = re.split(r"^=== (.*)\n", text, flags=re.M)
    cases = []
    for name, body in zip(parts[::2], parts[1::2]):
        options = re.search(r"^--- options: (.*)\n", body, re.M)
        mended = "--- not mended\n" not in body
        source, _, says = body.partition("--- says\n")
        source = re.sub(r"^--- .*\n", "", source, flags=re.M).strip("\n") + "\n"
        cases.append([name, options[1] if options else "", mended, source, says.strip("\n")])
    return head, cases


def write_cases(path, head, cases):
    out = head.rstrip("\n") + "\n"
    for name, options, mended, source, says in cases:
        out += f"\n=== {name}\n" + (f"--- options: {options}\n" if options else "") + ("" if mended else "--- not mended\n")
        out += source + "--- says\n" + says + "\n"
    path.write_text(out)


def check(tenc, folder, source, options, *more):
    (folder / "s.tl").write_text(source)
    words = [tenc, "check", "s.tl", "--virtual", "cuda=2", *options.split(), *more]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=60).stderr


def edited(source, edits):
    """The text with edits made from the last to the first; positions are lines and columns of code points, from 1."""
    lines = source.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    at = lambda line, column: starts[line - 1] + column - 1
    # Edits at one place keep their order: what stands first in the list comes first in the text, behind whole lines.
    is_line = lambda e: (e["line"], e["column"]) == (e["endLine"], e["endColumn"]) and e["replacement"].endswith("\n")
    replaces = lambda e: (e["line"], e["column"]) != (e["endLine"], e["endColumn"])  # behind what is put in front of it
    order = sorted(enumerate(edits), key=lambda e: (at(e[1]["line"], e[1]["column"]), not is_line(e[1]), replaces(e[1]), e[0]), reverse=True)
    for _, e in order:
        begin, end = at(e["line"], e["column"]), at(e["endLine"], e["endColumn"])
        source = source[:begin] + e["replacement"] + source[end:]
    return source


# Helps that stand after the first: tried where an error has one.
OTHERS = ("cheaper", "if it is to change")


def mend(tenc, folder, source, options, other):
    """Makes edits of the first error, the first or those that begin with `other`, until there is none; what is wrong, or
    None, and the mended text."""
    for _ in range(MOST_ROUNDS):
        errors = [json.loads(l) for l in check(tenc, folder, source, options, "--diagnostics=json").splitlines()]
        errors = [e for e in errors if e["severity"] == "error"]
        if not errors:
            return None, source
        helps = [h for h in errors[0]["helps"] if h["edits"]]
        if not helps:
            return f"no edit for {errors[0]['code']}: {errors[0]['message']}", source
        best = [h for h in helps if other and h["text"].startswith(other)]
        after = edited(source, (best or helps)[0]["edits"])
        if after == source:
            return "the edit changes nothing", source
        source = after
    return f"still wrong after {MOST_ROUNDS} edits: {errors[0]['message']}", source


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tenc", required=True)
    parser.add_argument("--cases", type=pathlib.Path, default=CASES)
    parser.add_argument("--only", default="")
    parser.add_argument("--update", action="store_true")
    args = parser.parse_args()
    tenc = str(pathlib.Path(args.tenc).resolve())
    head, cases = read_cases(args.cases.read_text())
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for case in cases:
            name, options, mended, source, says = case
            if args.only not in name:
                continue
            problems = []
            said = re.sub(r" +$", "", check(tenc, folder, source, options), flags=re.M).strip("\n")
            if args.update:
                case[4] = said
            elif said != says:
                problems.append(f"says\n{said}\ninstead of\n{says}")
            if not said.startswith("error["):
                problems.append("there is no error")
            for other in ("", *OTHERS) if mended else ():
                problem, after = mend(tenc, folder, source, options, other)
                if problem:
                    problems.append(f"{other} {problem}, in\n{after}")
            passed, failed = passed + (not problems), failed + bool(problems)
            for p in problems:
                print(f"{name}: {p}\n")
    if args.update:
        write_cases(args.cases, head, cases)
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
