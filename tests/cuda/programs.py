#!/usr/bin/env python3
"""Whole programs as CUDA kernels: programs.py --tenc PATH --driver LIBCUDA [--mode lazy] [--only TEXT] FOLDER...

Each program that runs with everything created on a virtual device, whose code is the host's, runs again as CUDA C++, compiled
by NVRTC, on the virtual machine for PTX, and must print the same (but for the last
digits of floats), without a report of the machine's checks (races, barriers, uninitialised reads). Programs with operations
that have no code for GPUs yet (E0190) are counted. Without NVRTC nothing is run, which is said. Closes with `N passed, N failed`."""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile


def environment(A):
    """With what setup.sh installed, unless another NVRTC is named."""
    installed = sorted(A.tenc.parents[2].glob("nvrtc/libnvrtc.so.*"))
    return {"TENC_LIBCUDA": str(A.driver), "TENC_VM_MODE": A.mode, "TENC_VM_ORDER": A.order, **({"TENC_NVRTC": str(installed[0])} if installed else {}), **os.environ}


def run(A, program, *options, **more):
    try:
        done = subprocess.run([A.tenc, program.name, "--default-device", "cuda:0", *options], cwd=program.parent, capture_output=True, text=True, timeout=280,
                              env={**environment(A), **more})
    except subprocess.TimeoutExpired:
        return 124, "", "it took too long"
    return done.returncode, done.stdout, done.stderr


NUMBER = re.compile(r"-?\d+\.\d*(?:e[-+]\d+)?|-?\d+e[-+]\d+")


def same(a, b):
    """Up to the last digits of floats: sums are in another order."""
    if NUMBER.sub("#", a) != NUMBER.sub("#", b): return a == b
    pairs = zip(NUMBER.findall(a), NUMBER.findall(b))
    return all(x == y or abs(float(x) - float(y)) <= 2e-6 * max(abs(float(x)), abs(float(y))) for x, y in pairs)


def check(A, source):
    """In a copy of the program's folder: programs write files."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(source.parent, folder, dirs_exist_ok=True)
        program = pathlib.Path(folder, source.name)
        status, text, _ = run(A, program, "--virtual", "cuda=1")
        if status != 0: return f"skipped {source.name}: it does not run on a virtual device"
        found = pathlib.Path(folder, "machine.txt")
        other, other_text, errors = run(A, program, "--target", "cuda:compute_90", TENC_VM_REPORTS=str(found))
        reports = found.read_text() if found.exists() else ""
        if "error[E0190]" in errors: return f"refused {source.name}"
        if reports: return f"FAILED {source.name}: the machine reports\n{reports[:600]}"
        if other == status and same(text, other_text): return f"ok {source.name}"
        lines = zip(text.splitlines() + ["(end)"], other_text.splitlines() + ["(end)"])
        first = next((f"{a!r}, as CUDA {b!r}" for a, b in lines if a != b), "the same text")
        return f"FAILED {source.name}: status {other}, {first}\n{errors[:600]}"


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--tenc", required=True, type=lambda p: pathlib.Path(p).resolve())
    ap.add_argument("--driver", required=True, type=lambda p: pathlib.Path(p).resolve())
    ap.add_argument("--mode", default="lazy", help="when the machine works: eager, lazy or random")
    ap.add_argument("--order", default="", help="in which order its blocks and warps run: ahead, backward, random, else in turn")
    ap.add_argument("--only", default="")
    ap.add_argument("folders", nargs="+", type=pathlib.Path)
    A = ap.parse_args()
    probe = subprocess.run([A.tenc, "-e", "print(1)", "--target", "cuda:compute_90"], capture_output=True, text=True, env=environment(A))
    if "NVRTC" in probe.stderr and "not found" in probe.stderr:
        print(f"nothing is run: {probe.stderr.strip()}")
        sys.exit(77)
    programs = [p for folder in A.folders for p in sorted(folder.glob("*.tl")) if A.only in p.name]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda p: check(A, p), programs))
    for r in results:
        if not r.startswith("ok"): print(r)
    count = lambda word: sum(r.startswith(word) for r in results)
    print(f"{count('refused')} refused, {count('skipped')} skipped")
    print(f"{count('ok')} passed, {count('FAILED')} failed")
    sys.exit(1 if count("FAILED") or not count("ok") else 0)


if __name__ == "__main__":
    main()
