#!/usr/bin/env python3
"""clang-tidy over our own sources, with the rules of .clang-tidy.

    python tidy.py --build FOLDER [--jobs N] [--from N] [--to N] [--changed REVISION] [FILE...]

FOLDER is a configured and built tree (build/release): its compile_commands.json says how files are compiled, and it holds
what is generated. All .cpp files, a slice of them, those that differ from a revision, or those named. A finding in a
header is printed once. Closes with `N files, N findings`; `cmake --build build/release --target tidy` does all."""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FINDING = re.compile(r"^(/\S+):(\d+):(\d+): (?:warning|error): (.*)$", re.M)


def sources(args):
    known = {str(pathlib.Path(c["file"]).resolve()) for c in json.loads((args.build / "compile_commands.json").read_text())}
    git = ["git", "ls-files", "*.cpp"] if not args.changed else ["git", "diff", "--name-only", args.changed, "--", "*.cpp"]
    names = args.files or subprocess.run(git, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    return [p for p in sorted(str((ROOT / n).resolve()) for n in names) if p in known][args.first:args.last]


def tidy(tool, build, path):
    """The findings of one file, as lines."""
    run = subprocess.run([tool, "-p", str(build), "--quiet", path], cwd=ROOT, capture_output=True, text=True, errors="replace")
    # Headers are reached through the links under rooms/.
    found = [f"{os.path.relpath(os.path.realpath(m[1]), ROOT)}:{m[2]}:{m[3]}: {m[4]}" for m in FINDING.finditer(run.stdout)]
    if run.returncode and not found: found = [f"{path}: clang-tidy ended with {run.returncode}: {run.stderr[-400:]}"]
    return found


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--build", required=True, type=pathlib.Path)
    ap.add_argument("--jobs", type=int, default=os.cpu_count())
    ap.add_argument("--from", dest="first", type=int, default=0)
    ap.add_argument("--to", dest="last", type=int, default=10**6)
    ap.add_argument("--changed")
    ap.add_argument("files", nargs="*")
    args = ap.parse_args()
    tool = shutil.which("clang-tidy-19") or shutil.which("clang-tidy") or sys.exit("no clang-tidy")
    files, seen = sources(args), set()
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for findings in pool.map(lambda p: tidy(tool, args.build, p), files):
            for finding in findings:
                if finding not in seen: print(finding, flush=True)
                seen.add(finding)
    print(f"{len(files)} files, {len(seen)} findings")
    return bool(seen)


if __name__ == "__main__":
    sys.exit(main())
