#!/usr/bin/env python3
"""Results have the same bits on every number of threads, also of tensors so large that threads share them.

    python threads.py --tenc PATH

Runs threads/large.tl on 1, 2, 3, 8 and 64 threads, twice on 2. Closes with `N passed, N failed`."""
import argparse
import os
import subprocess
import sys

ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
ap.add_argument("--tenc", required=True)
a = ap.parse_args()
program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "threads", "large.tl")


def lines(threads):
    run = subprocess.run([a.tenc, program, "--threads", str(threads)], capture_output=True, text=True)
    if run.returncode: sys.exit(f"{threads} threads: {run.stderr}\n0 passed, 1 failed")
    return run.stdout.splitlines()


want, failed = lines(1), 0
for threads in (2, 2, 3, 8, 64):
    differ = [(x, y) for x, y in zip(want, lines(threads), strict=True) if x != y]
    for x, y in differ: print(f"{threads} threads give {y}, one gives {x}")
    failed += bool(differ)
print(f"{5 - failed} passed, {failed} failed")
sys.exit(failed > 0)
