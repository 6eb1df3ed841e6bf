#!/usr/bin/env python3
"""The suites of CUDA kernels on the first GPU of this machine: on_gpu.py --tenc PATH [--only TEXT,...] [--sanitize TOOL,...] [--output FOLDER]

They are those that otherwise run on the virtual machine for PTX, with NVIDIA's driver and the libraries that `tenc devices` finds; what needs
states of the fake driver, its counters or a second GPU is left out. With `--sanitize memcheck,racecheck` programs run under compute-sanitizer
instead, once with each of its tools. What a suite prints goes to FOLDER/SUITE.txt, its last line and what failed to the terminal.
Closes with `N passed, N failed`, of all suites together."""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import time

TESTS = pathlib.Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
PROGRAMS = "cuda/programs.py --driver /"
# Name, script and its arguments, environment; {cublaslt} and {cusolver} are the files of the libraries.
PRODUCTS = {"TENC_CUBLASLT": "{cublaslt}", "TENC_CUBLASLT_LEAST": "1"}
SOLVER = {"TENC_CUSOLVER": "{cusolver}", "TENC_CUSOLVER_LEAST": "0"}
SUITES = [
    ("programs", f"{PROGRAMS} {TESTS}/run", {}),
    ("forms", f"{PROGRAMS} {TESTS}/cuda/halves {TESTS}/cuda/scatters {TESTS}/cuda/loops {TESTS}/cuda/shapes", {}),
    ("channels last", f"{PROGRAMS} --channels-last --only convolutions {TESTS}/cuda/halves", {}),
    ("models", f"{PROGRAMS} {TESTS}/kernels {TESTS}/networks {TESTS}/training {TESTS}/library {ROOT}/examples", {}),
    ("graphs", "cuda/graphs.py --driver /", {}),
    ("loops that the GPU decides", "cuda/control.py --driver /", {}),
    ("copies beside kernels", "cuda/queues.py --driver /", {}),
    ("products", "cuda/products.py --driver / --products {cublaslt}", {}),
    ("solver", "cuda/solver.py --driver / --solver {cusolver}", {}),
    ("models with cuBLASLt", f"{PROGRAMS} {TESTS}/networks {TESTS}/training", PRODUCTS),
    ("programs with cuSOLVER", f"{PROGRAMS} --only matri {TESTS}/run", SOLVER),
    ("numerics", "numerics/ops.py --cuda /", {}),
    ("composed", "numerics/composed.py --cuda /", {}),
    ("linear algebra", "numerics/linear.py --cuda /", {}),
    ("linear algebra with cuSOLVER", "numerics/linear.py --cuda /", SOLVER),
    ("gradients", "gradients/nested.py --cuda /", {}),
    ("gradients with cuBLASLt", "gradients/nested.py --cuda /", PRODUCTS),
    ("fuzz", "fuzz/fuzz.py --cuda / --count 120", {}),
    ("fuzz of gradients", "fuzz/fuzz.py --cuda / --gradients --count 60", {}),
    ("interrupt", "cuda/interrupt.py --driver /", {}),
]


def libraries(tenc):
    """The files of NVIDIA's libraries, by the names that `tenc devices` has for them."""
    text = subprocess.run([tenc, "devices"], capture_output=True, text=True).stdout
    print(text, flush=True)
    if "cuda:0" not in text: sys.exit(f"{__file__}: there is no GPU that can be used")
    return {name: path for name, path in re.findall(r"^(cublaslt|cusolver) +\S+, (.*)$", text, re.M)}


def run(A, files, name, words, more):
    """How many of a suite's tests passed and failed."""
    missing = {key for key in ("cublaslt", "cusolver") if "{" + key + "}" in words + str(more)} - set(files)
    if missing:
        print(f"{name}: not run, without {', '.join(missing)}", flush=True)
        return 0, 0
    script, *arguments = words.format(**files).split()
    environment = {**os.environ, "TENC_TEST_GPU": "1", "TENC_VERIFY": "1", **{k: v.format(**files) for k, v in more.items()}}
    log, began = A.output / f"{name.replace(' ', '_')}.txt", time.time()
    with open(log, "w") as out:
        try:
            subprocess.run([sys.executable, str(TESTS / script), "--tenc", A.tenc, *arguments], stdout=out, stderr=subprocess.STDOUT, timeout=A.limit, env=environment)
        except subprocess.TimeoutExpired:
            out.write("timed out\n0 passed, 1 failed\n")
    text = log.read_text()
    counts = re.findall(r"(\d+) (passed|results compared), (\d+) (failed|differ)", text)
    passed, failed = 0, 1
    if counts:
        all_of, kind, failed, _ = counts[-1]
        passed, failed = int(all_of) - (int(failed) if kind != "passed" else 0), int(failed)
    lines = [f"{name}: {passed} passed, {failed} failed, {time.time() - began:.0f} s"]
    if failed: lines += ["    " + line[:300] for line in ([w for w in text.splitlines() if "FAILED" in w] or text.splitlines())[:12]]
    print("\n".join(lines), flush=True)
    return passed, failed


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--tenc", required=True, type=os.path.abspath)
    ap.add_argument("--only", default="")
    ap.add_argument("--sanitize", default="")
    ap.add_argument("--output", type=pathlib.Path, default=pathlib.Path("on_gpu"))
    ap.add_argument("--limit", type=float, default=600, help="seconds that a suite may take")
    ap.add_argument("--jobs", type=int, default=1, help="suites at a time, each with a process a core: contexts of many run out of memory")
    A = ap.parse_args()
    A.output.mkdir(parents=True, exist_ok=True)
    files = libraries(A.tenc)
    suites = SUITES
    if A.sanitize:
        suites = [(f"{name} {tool}", f"{words} --timeout 100", {**more, "TENC_TEST_SANITIZER": f"compute-sanitizer --tool {tool}"})
                  for tool in A.sanitize.split(",") for name, words, more in SUITES if words.startswith(PROGRAMS)]
    with concurrent.futures.ThreadPoolExecutor(A.jobs) as pool:
        chosen = [s for s in suites if not A.only or any(o in s[0] for o in A.only.split(","))]
        results = list(pool.map(lambda s: run(A, files, *s), chosen))
    passed, failed = map(sum, zip(*results))
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
