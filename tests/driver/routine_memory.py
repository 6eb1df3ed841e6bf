# RUN: %python %s %tenc
# UNSUPPORTED: sanitized
"""The memory plan counts what library routines work in: no run takes more than planned, besides what every run takes,
and none is planned with much more than it takes."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

TENC = sys.argv[1]
SLACK = 12 << 20  # of the allocator, stacks and code
NOISE = 3 << 20  # pages of code that the run without a routine happens to touch, or has to itself
SQUARE = "let a = randn([{0}, {0}])\n"
CASES = {
    "sort": "print(sort(randn([8000000]))[0])",
    "sort of f16": "print(sort(f16(randn([8000000])))[0])",
    "argsort": "print(argsort(randn([6000000]))[0])",
    "argsort of f16": "print(argsort(f16(randn([6000000])))[0])",
    "argsort of f64": "print(argsort(f64(randn([4000000])))[0])",
    "topk": "print(topk(randn([8000000]), 1000000).0[0])",
    "topk of f64": "print(topk(f64(randn([4000000])), 500000).0[0])",
    "permutation": "print(permutation(4000000)[0])",
    "median": "print(median(randn([8000000])))",
    "solve": SQUARE.format(1500) + "print(solve(a, a)[0, 0])",
    "solve of f64": SQUARE.format(1200) + "print(solve(f64(a), f64(a))[0, 0])",
    "solve of one side": SQUARE.format(2000) + "print(solve(a, ones([2000]))[0])",
    "inv": SQUARE.format(1800) + "print(inv(a)[0, 0])",
    "det": SQUARE.format(2000) + "print(det(a / 10.0))",
    "cholesky": SQUARE.format(1800) + "print(cholesky(a @ a.T + 2000.0 * eye(1800))[0, 0])",
    "solve_triangular": SQUARE.format(2000) + "print(solve_triangular(tril(a) + 100.0 * eye(2000), a)[0, 0])",
    "qr": SQUARE.format(1000) + "print(qr(a).0[0, 0])",
    "eigh": SQUARE.format(700) + "print(eigh(a + a.T).0[0])",
    "svd": SQUARE.format(700) + "print(svd(a).1[0])",
    "svd of a tall matrix": "print(svd(randn([6000, 200])).1[0])",
    "lstsq": "print(lstsq(randn([2000, 400]), randn([2000, 100])).0[0, 0])",
    "a batch of solve": "let a = randn([16, 600, 600])\nprint(solve(a, a)[0, 0, 0])",
    "routines of each kind": "print(argsort(randn([4000000]))[5])\n"
                             "print(eigh(ones([2, 1200, 1200])).0[1, 1199])\nprint(inv(randn([1500, 1500]))[0, 0])",
    "a batch of sort": "print(sort(f16(randn([64, 200000])), axis: 1)[0, 0])",
}
# One thread sorts without what several share.
ALONE = ("sort", "sort of f16", "argsort", "argsort of f16", "argsort of f64", "topk")


def peak(script, threads):
    """Of memory that is resident, when all code is in the cache."""
    for _ in range(2):
        process = subprocess.Popen([TENC, script, "--cache-dir", "cache", "--threads", threads], stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0: sys.exit(f"{script}: status {process.returncode}: {pathlib.Path(script).read_text()}")
    return usage.ru_maxrss * 1024


def main():
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        pathlib.Path("none.tl").write_text("seed(1)\nprint(sum(randn([100])))\n")
        for threads, cases in (("2", CASES), ("1", {k: CASES[k] for k in ALONE})):
            base = peak("none.tl", threads)
            for name, script in cases.items():
                pathlib.Path("s.tl").write_text("seed(1)\n" + script + "\n")
                text = subprocess.run([TENC, "check", "--memory", "s.tl", "--threads", threads], capture_output=True, text=True).stdout
                planned = int(re.match(r"cpu: peak (\d+) bytes", text).group(1))
                taken = peak("s.tl", threads) - base
                name += f", threads: {threads}"
                print(f"{name}: planned {planned / 1e6:.1f} MB, taken {taken / 1e6:.1f} MB")
                if taken > planned + SLACK: failed.append(f"{name}: takes {taken}, of which {planned} are planned")
                if planned > 1.5 * (taken + NOISE): failed.append(f"{name}: takes {taken}, and {planned} are planned")
        os.chdir("/")
    print("\n".join(failed))
    sys.exit(1 if failed else 0)


main()
