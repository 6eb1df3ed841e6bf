#!/usr/bin/env python3
"""Runs .tl programs and compares with what their headers say: run_programs.py --tenc PATH [--only TEXT] FOLDER...

A header is the comment lines of these forms at the top of a file:
  #$ tenc FILE [args]   a run in a copy of the program's folder; FILE stands for the program
  #> text               the lines of standard output, in order
  #? text               a line that standard output must contain
  #~ 1e-6 reason        how far a float may be off, relative to the larger one, and why; else its digits are the same
  #! E0301 17           a diagnostic and its line (`_`: any); a shorter code stands for all that begin with it
  #exit N               the exit status; else 3 with an E09 code, 1 with another E code, 0 without
A run with none of the lines that say what comes of it is to give the same as the one below it.
`...` in a line stands for any text; runs of blanks count as one. No error may be reported that the header does not name.
Integers are always compared exactly, whatever the bound. Closes with `N passed, N failed`."""
import argparse
import concurrent.futures
import dataclasses
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "cuda"))
import machine  # noqa: E402

NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?")
INTEGER = re.compile(r"[-+]?\d+")
DIAGNOSTIC = re.compile(r"^(error|warning)\[(\w+)\].*\n\s*--> (.*?):(\d+):\d+", re.M)


@dataclasses.dataclass
class Run:
    program: pathlib.Path
    args: list
    lines: list = dataclasses.field(default_factory=list)
    somewhere: list = dataclasses.field(default_factory=list)
    codes: list = dataclasses.field(default_factory=list)
    tolerance: float = None
    status: int = None


def read_header(path):
    runs = []
    for line in path.read_text().splitlines():
        key, _, rest = line.partition(" ")
        if key == "#$":
            runs.append(Run(path, shlex.split(rest)[1:]))
        elif key in ("#>", "#?", "#~", "#!", "#exit") and runs:
            run = runs[-1]
            if key == "#>": run.lines.append(rest)
            elif key == "#?": run.somewhere.append(rest)
            elif key == "#~":
                bound, _, reason = rest.partition(" ")
                run.tolerance = float(bound)
                if not reason.strip(): sys.exit(f"{path}: the bound {bound} does not say why")
            elif key == "#!": run.codes.append(rest.split()[:2])
            else: run.status = int(rest)
        elif key != "#needs:":
            break
    for run, following in reversed(list(zip(runs, runs[1:]))):
        if not (run.lines or run.somewhere or run.codes or run.status is not None):
            run.lines, run.somewhere, run.codes, run.status = following.lines, following.somewhere, following.codes, following.status
            run.tolerance = following.tolerance
    return runs


def near(want, got, tolerance):
    """Whether a printed number is the wanted one: the same text, or, of two floats under a stated bound, within it."""
    if want == got:
        return True
    if tolerance is None or INTEGER.fullmatch(want) or INTEGER.fullmatch(got):
        return False
    a, b = float(want), float(got)
    return abs(a - b) <= tolerance * max(abs(a), abs(b))


def fits(want, got, tolerance):
    """Compares piece by piece: text, `...`, numbers."""
    want, got = (re.sub(r"(?<=\[) +| +(?=\])", "", " ".join(s.split())) for s in (want, got))
    pattern, numbers, at = "", [], 0
    for piece in re.finditer(r"\.\.\.|" + NUMBER.pattern, want):
        inside_word = piece[0] != "..." and piece.start() > 0 and re.match(r"\w", want[piece.start() - 1])
        pattern += re.escape(want[at:piece.start()])
        at = piece.end()
        if piece[0] == "...": pattern += ".*?"
        elif inside_word: pattern += re.escape(piece[0])
        else:
            pattern += f"({NUMBER.pattern})"
            numbers.append(piece[0])
    match = re.fullmatch(pattern + re.escape(want[at:]), got)
    return bool(match) and all(near(a, b, tolerance) for a, b in zip(numbers, match.groups()))


def check(run, status, out, err):
    problems = []
    found = [(code, line) for _, code, _, line in DIAGNOSTIC.findall(err)]
    for code, line in sorted(run.codes, key=lambda c: c[1] == "_"):
        hit = next((f for f in found if f[0].startswith(code) and line in ("_", f[1])), None)
        if hit: found.remove(hit)
        else: problems.append(f"no {code} at line {line}")
    problems += [f"unexpected {code} at line {line}" for code, line in found if code[0] == "E"]
    problems += [f"unexpected `{line}`" for line in err.splitlines() if re.match(r"error(?!\[)|tenc: ", line) and not run.status]
    errors = [code for code, _ in run.codes if code[0] == "E"]
    expected = run.status
    if expected is None:
        expected = 3 if any(c.startswith("E09") for c in errors) else 1 if errors else 0
    if status != expected:
        problems.append(f"exit status {status}, not {expected}")
    got = out.splitlines()
    if run.lines or (errors and not run.somewhere):
        for i in range(max(len(got), len(run.lines))):
            a = run.lines[i] if i < len(run.lines) else None
            b = got[i] if i < len(got) else None
            if a is None or b is None or not fits(a, b, run.tolerance):
                problems.append(f"line {i + 1} is {b!r}, not {a!r}")
                break
    problems += [f"no line {w!r}" for w in run.somewhere if not any(fits(w, g, run.tolerance) for g in got)]
    return problems


def saved(tenc, args, folder, timeout):
    """Compiles in one process, to a file, and runs that in another; what both write to standard error."""
    def start(*words):
        return subprocess.run([tenc, *words], cwd=folder, capture_output=True, timeout=timeout)

    file = "saved.tlp"
    compiled = start(*args, "--emit=program", "-o", file)
    if compiled.returncode != 0:
        return compiled
    machine = [a for o in ("--virtual", "--memory") if o in args for a in (o, args[args.index(o) + 1])]
    done = start(file, *machine)
    done.stderr = compiled.stderr + done.stderr
    return done


def on_gpus(args):
    """The arguments without `--virtual cuda=N`, and N; None where a run has no such GPUs."""
    if "--virtual" not in args: return args, None
    k = args.index("--virtual")
    kind, _, count = args[k + 1].partition("=")
    return (args[:k] + args[k + 2:], count) if kind == "cuda" and int(count) > 0 else (args, None)


def execute(tenc, run, timeout, extra, is_saved, driver):
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary) / "programs"
        shutil.copytree(run.program.parent, folder)
        args = [run.program.name if a == "FILE" else a for a in run.args] + extra
        environment = None
        if driver:
            args, count = on_gpus(args)
            environment = {**machine.environment(tenc, driver, machine.mode_of(shlex.join(args))), "TENC_VM_DEVICES": count,
                           "TENC_CUDA_CODE": "ptx"}
        try:
            if is_saved and "interp" not in args and "test" not in args:
                done = saved(tenc, args, folder, timeout)
            else:
                done = subprocess.run([tenc, *args], cwd=folder, capture_output=True, timeout=timeout, env=environment)
        except subprocess.TimeoutExpired:
            return ["timed out"], ""
        out, err = (b.decode("utf-8", "replace") for b in (done.stdout, done.stderr))
        return check(run, done.returncode, out, err), err


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tenc", required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--timeout", type=float, default=120)
    parser.add_argument("--with", dest="extra", default="", help="further options for every run")
    parser.add_argument("--saved", action="store_true", help="compile to a file, and run that in another process; tests run as ever")
    parser.add_argument("--driver", type=os.path.abspath, help="of GPUs, on which the runs with --virtual cuda=N take place instead, and no others")
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    args = parser.parse_args()
    if args.driver: machine.skip_without_nvrtc(args.tenc, args.driver)
    runs, passed, failed = [], 0, 0
    for folder in args.folders:
        for path in sorted(folder.rglob("*.tl")):
            if args.only not in str(path):
                continue
            header = read_header(path)
            if not header and folder.name == "run":
                print(f"{path}: FAILED: no `#$` line")
                failed += 1
            runs += [r for r in header if not args.driver or on_gpus(r.args)[1]]
    tenc = os.path.abspath(args.tenc)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda r: execute(tenc, r, args.timeout, shlex.split(args.extra), args.saved, args.driver), runs)
        for run, (problems, err) in zip(runs, results):
            passed, failed = passed + (not problems), failed + bool(problems)
            if problems:
                print(f"{run.program}: {shlex.join(run.args)}: FAILED: {'; '.join(problems)}\n{err[:2000]}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0 or passed == 0)


if __name__ == "__main__":
    sys.exit(main())
