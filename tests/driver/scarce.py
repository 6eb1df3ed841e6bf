# RUN: %python %s %tenc
# UNSUPPORTED: sanitized
"""Little memory and few threads: the same results, or E0320; never a crash, and no wait without an end."""
import os
import resource
import signal
import subprocess
import sys

TENC = sys.argv[1]
LIMITS = (200, 300, 400, 700, 1500)
START = (os.path.getsize(TENC) >> 20) + 4
WHOLE = """let x = randn([4, 3, 20, 20])
let g = grad(|w| sum(relu(conv2d(x, w)) ** 2))(randn([8, 3, 3, 3]))
let p = permutation(50000)
print(sum(g) < 1e9 and sum(sort(randn([100, 100]))) < 1e9 and sum(p) > 0 and max(softmax(randn([50, 50]), axis: 1)) < 2.0)"""
CASES = [
    ("let a = randn([200, 200])\nprint(sum(a @ a) < 1e9)", "64", LIMITS),
    ("let a = randn([300, 300])\nprint(sum(inv(a)) < 1e9)", "8", LIMITS),
    # From where the process begins on: what runs out is memory of the start, of passes, of LLVM on one thread and on others,
    # of the loader and of the run.
    (WHOLE, "16", range(START, START + 60, 3), "--no-cache"),
    (WHOLE, "1", range(START, START + 60, 5), "--no-cache"),
    (WHOLE, "1", range(START, START + 60, 6), "--engine=interp"),
    # The memory that a thread starts with is what runs out, in narrow ranges of the limit.
    ("let (u, s, v) = svd(randn([4, 100, 100]))\nprint(sum(s) < 1e9)", "8", range(200, 1500, 20)),
]


def main():
    plenty, scarce = 0, 0
    for script, threads, limits, *options in CASES:
        for megabytes in limits:
            limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))
            run = subprocess.run([TENC, "-e", script, "--threads", threads, *options], capture_output=True, text=True, preexec_fn=limit,
                                 timeout=120)
            if "error while loading shared libraries" in run.stderr: continue
            good = run.returncode == 0 and run.stdout == "true\n"
            refused = run.returncode == 1 and "error[E0320]" in run.stderr
            plenty, scarce = plenty + good, scarce + refused
            if not good and not refused:
                sys.exit(f"{megabytes} MB, {threads} threads: {run.returncode}\n{script}\n{run.stdout}{run.stderr[-600:]}")
    if not plenty or not scarce: sys.exit(f"{plenty} runs, {scarce} refused: the limits show nothing")


main()
