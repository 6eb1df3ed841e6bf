#!/usr/bin/env python3
"""What people type by habit, and where tenc's edits lead: habits.py --tenc PATH [--only TEXT] [--verbose]

A case of tests/frontend/habits.txt, of habits_fresh.txt and habits_blind.txt, which were measured before anything was built for
them, of habits_programs.txt, which has whole programs, of habits_meaning.txt, where names and defaults of other libraries
mean something else here, or of habits_refused.txt, where TL would run what means something else in Python, is a program as a user of NumPy, PyTorch
or Python writes it, and behind `--- meant` the TL program that is meant, or `--- refused` and the codes of the errors that
stay: then no edits may make it run.
One round makes the first edit of every error that one run reports, or of
every warning where there is no error. A case is right when it ends in the text that
is meant, or in a program that prints the same. Fails when

- a program is accepted, at once or after edits, and prints something else: a silent change of meaning,
- a program is refused for another reason than is written,
- the edits lead to fewer right programs than the bars below say, or need more rounds.

Closes with `N passed, N failed`, where what is stuck within the bars has passed."""
import argparse
import collections
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys
import tempfile

from placement import edited

FOLDER = pathlib.Path(__file__).resolve().parent / "frontend"
MOST_ROUNDS = 6
Bars = collections.namedtuple("Bars", "right soon")  # the least share of cases: right, and right after two rounds
LISTS = {"habits.txt": Bars(0.98, 0.98), "habits_meaning.txt": Bars(0.93, 0.93),
         "habits_fresh.txt": Bars(0.97, 0.97), "habits_blind.txt": Bars(0.98, 0.98),
         "habits_programs.txt": Bars(1.0, 1.0), "habits_refused.txt": Bars(1.0, 0.75)}

Case = collections.namedtuple("Case", "name typed meant codes")  # meant: None for one that is refused, with these codes
Outcome = collections.namedtuple("Outcome", "kind rounds text why")  # kind: right, stuck or wrong


def read_cases(path):
    _, *parts = re.split(r"^=== (.*)\n", path.read_text(), flags=re.M)
    for name, body in zip(parts[::2], parts[1::2]):
        typed, *ends = re.split(r"^--- (.*)\n", body, flags=re.M)
        (end, *codes), meant = (ends[0].split(), ends[1].strip("\n")) if len(ends) == 2 else ([""], "")
        if not (end == "meant" and meant and not codes) and not (end == "refused" and not meant):
            sys.exit(f"{path.name}, `{name}`: a case ends in `--- meant` and a program, or in `--- refused CODE...`, once")
        yield Case(name, typed.rstrip("\n") + "\n", meant + "\n" if meant else None, codes)


def tenc_of(tenc, folder, source, *words):
    (folder / "s.tl").write_text(source)
    return subprocess.run([tenc, *words, "s.tl", "--virtual", "cuda=1", "--engine", "interp", "--diagnostics", "json"],
                          cwd=folder, capture_output=True, text=True, timeout=60)


def said_of(tenc, folder, source):
    """The errors; where there are none, the warnings that propose an edit."""
    said = [json.loads(line) for line in tenc_of(tenc, folder, source, "check").stderr.splitlines()]
    errors = [e for e in said if e["severity"] == "error"]
    return errors or [w for w in said if w["severity"] == "warning" and any(h["edits"] for h in w["helps"])]


def first_edits(errors):
    """The first edit of every error, as far as they touch neither each other nor another file. What is put in front of a part
    that another edit replaces touches it, but for whole lines, and so does a word that an edit leaves in front of it; so do two
    insertions at one place that no brackets nest."""
    chosen = []
    nested = lambda text: text.endswith("\n") or sum(map(text.count, "([{")) != sum(map(text.count, ")]}"))
    unordered = lambda e, c: place(e) == place(c) and not nested(e["replacement"]) and not nested(c["replacement"])
    place = lambda e: ((e["line"], e["column"]), (e["endLine"], e["endColumn"]))
    leads = lambda e, c: place(e) == (place(c)[0],) * 2 and place(c)[0] != place(c)[1] and not e["replacement"].endswith("\n")
    word = lambda e, c: place(e) == (place(c)[1],) * 2 and c["replacement"].endswith(" ") and not e["replacement"].endswith("\n")
    overlap = lambda e, c: place(e)[0] < place(c)[1] and place(c)[0] < place(e)[1]
    for error in errors:
        edits = next((h["edits"] for h in error["helps"] if h["edits"]), [])
        apart = not any(overlap(e, c) or leads(e, c) or leads(c, e) or word(e, c) or word(c, e) or unordered(e, c) for e in edits for c in chosen)
        if apart and not any(e in chosen for e in edits) and all(e["file"] == "s.tl" for e in edits):
            chosen += edits
    return chosen


def outcome(tenc, case):
    _, typed, meant, codes = case
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        wanted = tenc_of(tenc, folder, meant) if meant else None
        if wanted and (wanted.returncode != 0 or not wanted.stdout):
            return Outcome("wrong", 0, meant, "what is meant does not run, or prints nothing:\n" + wanted.stderr)
        text = typed
        for rounds in range(MOST_ROUNDS + 1):
            errors = said_of(tenc, folder, text)
            if not errors:
                if not wanted:
                    return Outcome("wrong", rounds, text, "was to be refused")
                got = tenc_of(tenc, folder, text)
                if text == meant or (got.returncode == 0 and got.stdout == wanted.stdout):
                    return Outcome("right", rounds, text, "")
                # A stop at run time is no other meaning, and neither is one that a warning tells.
                if got.returncode == 3 or '"code": "W0202"' in got.stderr:
                    return Outcome("stuck", rounds, text, got.stderr)
                return Outcome("wrong", rounds, text, f"prints\n{got.stdout}{got.stderr}instead of\n{wanted.stdout}")
            edits = first_edits(errors)
            after = edited(text, edits)
            if after == text:
                break
            text = after
        helps = lambda e: "".join("\n    help: " + h["text"] for h in e["helps"])
        said = "\n".join(f"  {e['line']}:{e['column']} {e['code']} {e['message']}" + helps(e) for e in errors)
        found = sorted({e["code"] for e in errors})
        if not wanted and found != codes:
            return Outcome("wrong", rounds, text, f"is refused with {' '.join(found)}, not {' '.join(codes) or 'any code'}:\n{said}")
        return Outcome("stuck" if wanted else "right", rounds, text, said)


def judged(tenc, name, cases, bars, args):
    """How many cases of a list end in another meaning, and one more for each bar that is missed."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(lambda c: outcome(tenc, c), cases))
    for case, o in zip(cases, outcomes):
        if o.kind == "wrong" or (args.verbose and (o.kind == "stuck" or o.rounds > 2)):
            print(f"{o.kind}, {o.rounds} rounds: {case.name}\n{o.text}{o.why}\n")
    right = [o for o in outcomes if o.kind == "right"]
    soon = [o for o in right if o.rounds <= 2]
    failed = sum(o.kind == "wrong" for o in outcomes)
    print(f"{name}: right: {len(right)} of {len(cases)}, after at most two rounds: {len(soon)}")
    for least, found, what in ((bars.right, right, "right"), (bars.soon, soon, "right after two rounds")):
        if not args.only and len(found) < least * len(cases):
            print(f"{what}: fewer than {least:.0%}")
            failed += 1
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tenc", required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--verbose", action="store_true", help="show what is stuck, too")
    args = parser.parse_args()
    tenc = str(pathlib.Path(args.tenc).resolve())
    passed = failed = 0
    for name, bars in LISTS.items():
        cases = [c for c in read_cases(FOLDER / name) if args.only in c.name]
        wrong = judged(tenc, name, cases, bars, args)
        passed, failed = passed + len(cases) - min(wrong, len(cases)), failed + wrong
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
