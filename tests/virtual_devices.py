#!/usr/bin/env python3
"""Whole programs on a virtual device: virtual_devices.py --tenc PATH FOLDER...

Each program that runs on the cpu runs again with everything created on cuda:0, in the three orders of work, and once with
every statement that prints or calls under `@cuda:0`, where what the program has made on the cpu enters. It must print the
same but for the names of devices."""
import argparse
import concurrent.futures
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ORDERS = ("async", "sync", "lazy")


def run(tenc, program, *options):
    done = subprocess.run([tenc, program.name, *options], cwd=program.parent, capture_output=True, text=True, timeout=120)
    return done.returncode, re.sub(r"cuda:0", "cpu", done.stdout), done.stderr


def entering(text):
    """The text with `@cuda:0` before each call that is a statement of its own and begins a line."""
    depth, out = 0, []
    for line in text.split("\n"):
        is_call = depth == 0 and re.match(r"[a-z_]\w*\(", line)
        code = re.sub(r'"(\\.|[^"\\])*"|#.*', "", line)
        depth += sum(map(code.count, "([{")) - sum(map(code.count, ")]}"))
        out.append("@cuda:0 " + line if is_call else line)
    return "\n".join(out)


def check(tenc, source):
    """In a copy of the program's folder: programs write files."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(source.parent, folder, dirs_exist_ok=True)
        return compare(tenc, pathlib.Path(folder, source.name))


def compare(tenc, program):
    status, text, _ = run(tenc, program)
    if status != 0:
        return f"skipped {program.name}: it does not run here"
    for order in ORDERS:
        other, other_text, errors = run(tenc, program, "--virtual", f"cuda=1:{order}", "--default-device", "cuda:0")
        if (other, other_text) == (status, text):
            continue
        lines = zip(text.splitlines() + ["(end)"], other_text.splitlines() + ["(end)"])
        first = next((f"{a!r}, with {order} {b!r}" for a, b in lines if a != b), "the same text")
        return f"FAILED {program.name} {order}: status {other}, {first}\n{errors[:600]}"
    program.write_text(entering(program.read_text()))
    other, other_text, errors = run(tenc, program, "--virtual", "cuda=1:lazy", "--transfers=allow")
    if (other, other_text) != (status, text):
        return f"FAILED {program.name} with statements on cuda:0: status {other}\n{errors[:600]}"
    return f"ok {program.name}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tenc", required=True)
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    args = parser.parse_args()
    tenc = str(pathlib.Path(args.tenc).resolve())
    programs = [p for f in args.folders for p in sorted(f.glob("*.tl"))]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda p: check(tenc, p), programs))
    print("\n".join(results))
    failed = sum(r.startswith("FAILED") for r in results)
    sys.exit(1 if failed or not any(r.startswith("ok") for r in results) else 0)


main()
