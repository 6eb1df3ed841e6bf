#!/usr/bin/env python3
"""Native loops of tenc against the same loops in C, under clang -O2.

    python bench/native.py --tenc build/release/bin/tenc [--clang clang-19] [--only NAME,...] [--rounds 9]

Needs numpy. bench/native holds each workload as TL and, in kernels.c, as C. Inputs come from seed 0. The results must be
the same bits before anything is timed. Then rounds are interleaved: C for about 0.1 s, tenc's `bench` block as long, in
its own process; figures are medians over the rounds of each round's median. `ratio` is tenc's time divided by C's.
"""
import argparse, ctypes, json, os, subprocess, sys, tempfile, time

import numpy as np

ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
ap.add_argument("--tenc", default="build/release/bin/tenc")
ap.add_argument("--clang", default="clang-19")
ap.add_argument("--only", default="")
ap.add_argument("--rounds", type=int, default=9)
A = ap.parse_args()
HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "native")


def sparse(r):
    starts = np.concatenate([[0], np.sort(r.integers(0, 1600001, 99999)), [1600000]])
    return [r.standard_normal(1600000).astype(np.float32), r.integers(0, 100000, 1600000).astype(np.int32),
            starts.astype(np.int32), r.standard_normal(100000).astype(np.float32)]


WORKLOADS = {  # inputs, and the result's dtype and shape
    "gauss_seidel": (lambda r: [r.standard_normal((1024, 1024)).astype(np.float32)], np.float32, (1024, 1024)),
    "common_subsequence": (lambda r: [r.integers(0, 4, 4096).astype(np.int32) for _ in range(2)], np.int32, (4097, 4097)),
    "histogram": (lambda r: [r.integers(0, 256, 1 << 22).astype(np.uint8)], np.int64, (256,)),
    "crc32": (lambda r: [r.integers(0, 256, 1 << 22).astype(np.uint8)], np.uint32, ()),
    "sparse_product": (sparse, np.float32, (100000,)),
}


def median(values): return sorted(values)[len(values) // 2]


def run(name, library, folder):
    make, dtype, shape = WORKLOADS[name]
    inputs = make(np.random.default_rng(0))
    for i, a in enumerate(inputs): np.save(f"{folder}/in{i}.npy", a)
    result = np.empty(shape, dtype)
    arrays = [ctypes.c_void_p(a.ctypes.data) for a in [*inputs, result]]
    function = getattr(library, name)
    function(*arrays)
    script = os.path.join(HERE, name + ".tl")
    r = subprocess.run([A.tenc, script, "--dir", folder, "--threads", "1"], capture_output=True, text=True)
    if r.returncode: return r.stderr.strip()[:300]
    if not np.array_equal(np.load(f"{folder}/tenc.npy"), result): return "the results differ"
    ours, theirs = [], []
    for _ in range(A.rounds):
        times, end = [], time.perf_counter() + 0.1
        while time.perf_counter() < end:
            start = time.perf_counter()
            function(*arrays)
            times.append((time.perf_counter() - start) * 1e3)
        theirs.append(median(times))
        r = subprocess.run([A.tenc, "bench", script, "--json", "--seconds", "0.1", "--threads", "1", "--dir", folder],
                           capture_output=True, text=True)
        ours.append(json.loads(r.stdout.splitlines()[-1])["median_ms"])
    return median(theirs), median(ours)


def main():
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[0]})
    failed = False
    print("| loop (ms) | clang -O2 | tenc | ratio |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([A.clang, "-O2", "-march=native", "-ffp-contract=off", "-shared", "-fPIC", "-o", f"{folder}/kernels.so",
                        f"{HERE}/kernels.c"], check=True)
        library = ctypes.CDLL(f"{folder}/kernels.so")
        for name in A.only.split(",") if A.only else WORKLOADS:
            r = run(name, library, folder)
            failed |= isinstance(r, str)
            print(f"| {name} | {r} |" if isinstance(r, str) else f"| {name} | {r[0]:.3f} | {r[1]:.3f} | {r[1] / r[0]:.2f} |",
                  flush=True)
    return failed


if __name__ == "__main__": sys.exit(main())
