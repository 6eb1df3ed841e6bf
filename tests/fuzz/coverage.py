#!/usr/bin/env python3
"""Which ops the random programs reach: coverage.py --tenc PATH [--count 800] [--first 0]

Compares the IR of the programs with the table of ops, and fails when one never occurs. Those of Elsewhere are made by
passes, or have effects that a comparison of results cannot see; other tests cover them."""
import argparse
import collections
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from generate import MODULE, Program

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ELSEWHERE = {"print", "assert", "trap", "load", "time", "bench", "fused", "block_totals", "attention_saved", "attention_grad", "transfer", "check_place", "device_eq",
             "decided_branch", "stop_gradient", "barrier", "read_ahead", "end_read_ahead", "bring_in",
             "read_rows"}


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--tenc", required=True, type=os.path.abspath)
    ap.add_argument("--count", type=int, default=800)
    ap.add_argument("--first", type=int, default=0)
    args = ap.parse_args()
    ops = re.findall(r'^TENC_\w+\(\w+, "([\w.]+)"', (ROOT / "ir/Ops.def").read_text(), re.M)

    def reached(seed):
        options = ["--emit", "ir", "--virtual", "cuda=2", "--no-cache", "-"]
        run = subprocess.run([args.tenc, *options], input=Program(seed).build(), cwd=folder, capture_output=True, text=True)
        return set(re.findall(r"(?:= |^\s*)([a-z_][\w.]*)[ (]", run.stdout, re.M))

    seen = collections.Counter()
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        (pathlib.Path(folder) / "kit.tl").write_text(MODULE)
        for found in pool.map(reached, range(args.first, args.first + args.count)): seen.update(found)
    for op in sorted(ops, key=lambda op: seen[op])[:12]: print(f"{op}: in {seen[op]} programs")
    missing = [op for op in ops if not seen[op] and op not in ELSEWHERE]
    print(f"{len(ops) - len(missing)} of {len(ops)} ops covered" + (f"; never: {' '.join(missing)}" if missing else ""))
    return bool(missing)


if __name__ == "__main__":
    sys.exit(main())
