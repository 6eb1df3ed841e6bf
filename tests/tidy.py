#!/usr/bin/env python3
"""clang-tidy over our own sources, with the rules of .clang-tidy.

    python tidy.py --build FOLDER [--jobs N] [--quick] [--limit SECONDS] [--changed REVISION] [--cache FOLDER] [FILE...]

FOLDER is a configured and built tree (build/release): its compile_commands.json says how files are compiled, and it holds
what is generated. All .cpp files, those that differ from a revision, or those named. A finding in a header is printed once.
`--quick` leaves out clang-analyzer, which takes most of the time. OwnDeclarations.cpp says what the plugin is for.

A file that was clean is not looked at again until it, a header of ours that it includes, the rules or the tool change: what
was clean is kept in --cache, else $XDG_CACHE_HOME/tenc-tidy or ~/.cache/tenc-tidy. With --limit the files that have
changed last come first, and those that no time is left for are counted, not looked at.

Closes with `N files, N of them known to be clean, N left, N findings`; status 77 where there is no clang-tidy."""
import argparse
import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
FINDING = re.compile(r"^(/\S+):(\d+):(\d+): (?:warning|error): (.*)$", re.M)
INCLUDE = re.compile(r'^\s*#include "([^"]+)"', re.M)
SKIPPED = 77


def git(*words):
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()


def sources(args):
    """The files to look at, those that changed last first."""
    known = {str(pathlib.Path(c["file"]).resolve()) for c in json.loads((args.build / "compile_commands.json").read_text())}
    names = args.files or (git("diff", "--name-only", args.changed, "--", "*.cpp") if args.changed else git("ls-files", "*.cpp"))
    age = {name: i for i, name in reversed(list(enumerate(git("log", "--format=", "--name-only", "-300", "--", "*.cpp"))))}
    return sorted((p for p in (str((ROOT / n).resolve()) for n in names) if p in known),
                  key=lambda p: (age.get(os.path.relpath(p, ROOT), 10**9), p))


@functools.lru_cache(None)
def read(path):
    data = path.read_bytes()
    return hashlib.sha256(data).hexdigest(), [i.decode() for i in re.findall(INCLUDE.pattern.encode(), data, re.M)]


def key(path, rules):
    """What the findings of a file depend on: the rules, it, and all of ours that it includes. What is generated counts by the
    grammar that it is made of."""
    seen, todo, parts = set(), [pathlib.Path(path)], [rules]
    while todo:
        here = todo.pop()
        if here in seen: continue
        seen.add(here)
        digest, includes = read(here)
        parts.append(f"{here.relative_to(ROOT)} {digest}")
        for name in includes:
            beside, whole = (here.parent / name).resolve(), ROOT / name
            found = next((p for p in (whole, beside) if p.is_file() and ROOT in p.parents), None)
            todo.append(found or ROOT / "grammar/TL.g4" if name.startswith("grammar/") or found else here)
    return hashlib.sha256("\n".join([parts[0], *sorted(parts[1:])]).encode()).hexdigest()


def tidy(tool, args, path, rules, deadline):
    """The findings of one file, as lines; none where it was clean before; None where no time was left."""
    marks = [args.cache / key(path, r) for r in rules]
    if any(m.exists() for m in marks): return "known"
    if time.time() > deadline: return None
    run = subprocess.run([tool, "-p", str(args.build), "--quiet", *args.options, path], cwd=ROOT, capture_output=True, text=True, errors="replace")
    # Headers are reached through the links under rooms/.
    found = [f"{os.path.relpath(os.path.realpath(m[1]), ROOT)}:{m[2]}:{m[3]}: {m[4]}" for m in FINDING.finditer(run.stdout)]
    if run.returncode and not found: found = [f"{path}: clang-tidy ended with {run.returncode}: {run.stderr[-400:]}"]
    if not found:
        args.cache.mkdir(parents=True, exist_ok=True)
        marks[0].write_text("")
    return found


def options(args):
    """What clang-tidy is told: which checks, and to look only at declarations of ours, where the plugin can be built."""
    checks, load = ["-clang-analyzer-*"] if args.quick else [], []
    built = subprocess.run(["cmake", "--build", str(args.build), "--target", "tidy_plugin"], capture_output=True, text=True)
    if built.returncode: print("without the plugin, which makes it several times as fast: libclang-19-dev is not installed", flush=True)
    else:
        checks.append("tenc-own-declarations")
        load = [f"--load={args.build.resolve() / 'libtidy_plugin.so'}"]
    return load + ([f"--checks={','.join(checks)}"] if checks else [])


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--build", required=True, type=pathlib.Path)
    ap.add_argument("--jobs", type=int, default=os.cpu_count())
    ap.add_argument("--quick", action="store_true")
    ap.add_argument("--limit", type=float, default=float("inf"))
    ap.add_argument("--changed")
    ap.add_argument("--cache", type=pathlib.Path, default=pathlib.Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "tenc-tidy")
    ap.add_argument("files", nargs="*")
    args = ap.parse_args()
    tool = shutil.which("clang-tidy-19")
    if not tool:
        print("skipped: clang-tidy-19 is not installed")
        return SKIPPED
    version = subprocess.run([tool, "--version"], capture_output=True, text=True).stdout
    text = (ROOT / ".clang-tidy").read_text()
    # What is clean by all checks is clean by some.
    rules = [hashlib.sha256(f"{version}\n{which}\n{text}".encode()).hexdigest() for which in (["quick"] if args.quick else []) + ["all"]]
    args.options = options(args)
    files, seen, known, left = sources(args), set(), 0, 0
    deadline = time.time() + args.limit
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for findings in pool.map(lambda p: tidy(tool, args, p, rules, deadline), files):
            known += findings == "known"
            left += findings is None
            for finding in findings if isinstance(findings, list) else []:
                if finding not in seen: print(finding, flush=True)
                seen.add(finding)
    print(f"{len(files)} files, {known} of them known to be clean, {left} left, {len(seen)} findings")
    return bool(seen)


if __name__ == "__main__":
    sys.exit(main())
