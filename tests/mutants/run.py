#!/usr/bin/env python3
"""Planted miscompiles: do the tests notice?

    python run.py --build FOLDER [--only NAME...] [--from N] [--to N]     plant each, build tenc, run the suites
    python run.py --build FOLDER --all                                    also those after the first that fails
    python run.py --check                                                 whether every patch still applies

Every NAME.patch here is one mistake. It is planted in a copy of the sources (so that the checkout stays as it is), `tenc`
and `tenc-opt` are built there incrementally, and the suites run with fixed seeds until one fails. First they run with nothing planted, where all must pass. At least 19
in 20 must be caught; those that are not are listed. `--build` names the folder for the copy and its build; the first build
is a whole one, each later one a file and a link. Ends with `N caught, N missed`."""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SUITES = ["lit", "programs", "programs.unfused", "fuzz", "devices", "numerics"]


def command(suite, root, binaries, fuzz_programs):
    tenc, opt = f"{binaries}/tenc", f"{binaries}/tenc-opt"
    tests = root / "tests"
    python = [sys.executable]
    lit = next((p for p in map(shutil.which, ("lit", "llvm-lit")) if p), "/usr/lib/llvm-19/build/utils/lit/lit.py")
    return {
        # Without the tests of the tool: they depend on time, and on nothing that is planted.
        "lit": python + [lit, "-q", "--filter-out=repl/|driver/", f"--param=bin={binaries}", str(tests)],
        "programs": python + [str(tests / "run_programs.py"), "--tenc", tenc, str(tests / "run")],
        "programs.unfused": python + [str(tests / "run_programs.py"), "--tenc", tenc, "--with=--no-fuse", str(tests / "run")],
        "fuzz": python + [str(tests / "fuzz/fuzz.py"), "--tenc", tenc, "--count", str(fuzz_programs), "--fail-fast"],
        "devices": python + [str(tests / "fuzz/devices.py"), "--tenc", tenc, "--count", "60"],
        "numerics": python + [str(tests / "numerics/ops.py"), "--tenc", tenc, "--interp", opt],
    }[suite]


def applies(patch, root, *options):
    return subprocess.run(["patch", "-p1", "-s", "-f", "--fuzz=2", *options, "-i", str(patch)], cwd=root, capture_output=True, text=True)


def check(patches):
    wrong = []
    for patch in patches:
        run = applies(patch, ROOT, "--dry-run")
        if run.returncode: wrong.append(f"{patch.name}: {run.stdout.strip()}")
    print("\n".join(wrong + [f"{len(patches) - len(wrong)} of {len(patches)} patches apply"]))
    return bool(wrong)


def build(folder):
    made = folder / "build/release"
    steps = []
    if not (made / "build.ninja").exists():
        steps.append(["cmake", "-S", str(folder), "-B", str(made), "-G", "Ninja", "-DCMAKE_C_COMPILER=clang-19", "-DCMAKE_CXX_COMPILER=clang++-19",
                      "-DCMAKE_BUILD_TYPE=Release", "-DTENC_STATIC=ON", "-DTENC_WERROR=OFF"])
    steps.append(["cmake", "--build", str(made), "--target", "tenc", "tenc-opt"])
    for step in steps:
        run = subprocess.run(step, capture_output=True, text=True)
        if run.returncode: return run.stdout[-3000:] + run.stderr[-2000:]
    return None


def copy(folder):
    folder.mkdir(parents=True, exist_ok=True)
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    names = set(filter(None, files.split("\0")))
    # A file that has gone since the folder was last used would still be built.
    for path in folder.rglob("*"):
        inside = path.relative_to(folder)
        if inside.parts[0] != "build" and path.is_file() and str(inside) not in names: path.unlink()
    for name in names:
        source, target = ROOT / name, folder / name
        if source.is_file() and not (target.exists() and target.read_bytes() == source.read_bytes()):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)


def caught(args, folder, suites):
    """The suites that fail, in order, and the first one's message."""
    failed, message = [], ""
    for suite in suites:
        run = subprocess.run(command(suite, folder, folder / "build/release/bin", args.programs), cwd=folder, capture_output=True, text=True, errors="replace")
        if run.returncode:
            lines = [l for l in (run.stdout + run.stderr).splitlines() if re.search(r"\w", l)]
            lines = [l.strip() for l in lines if "tenc :: " in l] or lines  # of lit
            message = message or (lines or [""])[0][:160]
            failed.append(suite)
            if not args.all: break
    return failed, message


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--check", action="store_true")
    ap.add_argument("--build", type=pathlib.Path)
    ap.add_argument("--only", nargs="*")
    ap.add_argument("--from", dest="first", type=int, default=0)
    ap.add_argument("--to", dest="last", type=int, default=10**6)
    ap.add_argument("--programs", type=int, default=400)
    ap.add_argument("--all", action="store_true")
    ap.add_argument("--suites", nargs="*", default=SUITES, choices=SUITES)
    args = ap.parse_args()
    patches = sorted(HERE.glob("*.patch"))[args.first:args.last]
    if args.only: patches = [p for p in patches if p.stem in args.only]
    if args.check: return check(patches)
    if not args.build: ap.error("--build or --check is needed")
    folder = args.build.resolve()
    copy(folder)
    begin, problem = time.time(), build(folder)
    if problem: return print(f"cannot be built\n{problem}") or 1
    failed, message = caught(args, folder, args.suites)
    print(f"nothing planted: {' '.join(failed) + ' FAILED: ' + message if failed else 'all suites pass'} after {time.time() - begin:.0f} s", flush=True)
    if failed: return 1
    found, missed = 0, []
    for patch in patches:
        begin = time.time()
        name = subprocess.run(["sed", "-n", "s,^+++ b/,,p", str(patch)], capture_output=True, text=True).stdout.strip()
        run = applies(patch, folder)
        problem = run.stdout if run.returncode else build(folder)
        failed, message = ([], "") if problem else caught(args, folder, args.suites)
        shutil.copy(ROOT / name, folder / name)  # newer than its object: the next build makes it again
        if problem: print(f"{patch.stem}: cannot be built\n{problem}", flush=True)
        elif failed: print(f"{patch.stem}: caught by {', '.join(failed)} after {time.time() - begin:.0f} s: {message}", flush=True)
        else: print(f"{patch.stem}: MISSED", flush=True)
        if failed: found += 1
        else: missed.append(patch.stem)
    print(f"{found} caught, {len(missed)} missed" + (": " + " ".join(missed) if missed else ""))
    return len(missed) * 20 > len(patches)


if __name__ == "__main__":
    sys.exit(main())
