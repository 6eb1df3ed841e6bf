#!/usr/bin/env python3
"""Products by cuBLASLt, with a fake of it: products.py --tenc PATH --driver LIBCUDA --products LIBCUBLASLT [--only TEXT]

Each case is an expression: which part of it the library is to compute, as --emit=kernels tells, and its value in each order of work, against
that of a virtual device. Then what is said where the library is missing or fails. Closes with `N passed, N failed`."""
import argparse
import pathlib
import re
import subprocess

import machine

BEGIN = """let x = @cuda:0 { randn([24, 32]) }
let w = @cuda:0 { randn([32, 40]) }
let b = @cuda:0 { randn([40]) }
let r = @cuda:0 { randn([24, 40]) }
print(r[0, 0])
let xs = @cuda:0 { randn([3, 24, 32]) }
let ws = @cuda:0 { randn([3, 32, 40]) }
let d = @cuda:0 { f64(randn([24, 32])) }
let e = @cuda:0 { f64(r) }
print(e[0, 0])
let h = @cuda:0 { f16(randn([24, 32])) }
let v = @cuda:0 { f16(randn([32, 40])) }
let c = @cuda:0 { f16(randn([40])) }
let image = @cuda:0 { randn([2, 16, 6, 10]) }
let taps = @cuda:0 { randn([8, 16, 1, 1]) }
"""
# Name, expression, the lines about products that --emit=kernels prints, options, how far elements may be off.
CASES = [
    ("plain", "x @ w", ["cuBLASLt, 24 x 40 x 32"]),
    ("both transposed", "w.T @ x.T", ["cuBLASLt, 40 x 24 x 32"]),
    ("parts of matrices", "x[4:20, 8:24] @ w[8:24, 4:36]", ["cuBLASLt, 16 x 32 x 16"]),
    ("a part that begins between vectors", "x[:, 1:] @ w[1:, 3:]", ["cuBLASLt, 24 x 37 x 31"]),
    ("batched", "xs @ ws", ["cuBLASLt, 3 of 24 x 40 x 32"]),
    ("one factor for all", "xs @ w", ["cuBLASLt, 72 x 40 x 32"]),
    ("one left factor for all", "x @ ws", ["cuBLASLt, 3 of 24 x 40 x 32"]),
    ("a row is added", "x @ w + b", ["cuBLASLt, 24 x 40 x 32, plus a row"]),
    ("a row is added to each of a batch", "xs @ ws + b", ["cuBLASLt, 3 of 24 x 40 x 32, plus a row"]),
    ("a matrix is added", "x @ w + r", ["cuBLASLt, 24 x 40 x 32, plus a matrix"]),
    ("relu stays a kernel, for NaN", "relu(x @ w + b)", ["cuBLASLt, 24 x 40 x 32", "then "]),
    ("relu", "relu(x @ w + b)", ["cuBLASLt, 24 x 40 x 32, plus a row, relu"], ["--fp=fast"], 4e-3),
    ("two sums", "x @ w + b + r", ["cuBLASLt, 24 x 40 x 32", "then "]),
    ("gelu", "gelu(x @ w + b)", ["cuBLASLt, 24 x 40 x 32", "then "]),
    ("a row by columns", "w.T @ x.T + reshape(b, [40, 1])", ["cuBLASLt, 40 x 24 x 32", "then "]),
    ("f64", "f32(d @ f64(w))", ["cuBLASLt, 24 x 40 x 32", "then "]),
    ("f64, a matrix is added", "d @ f64(w) + e", ["cuBLASLt, 24 x 40 x 32, plus a matrix"]),
    ("halves", "h @ v", ["cuBLASLt, 24 x 40 x 32"], [], 2e-3),
    ("halves are rounded twice", "h @ v + c", ["cuBLASLt, 24 x 40 x 32", "then "], [], 2e-3),
    ("halves are rounded once", "h @ v + c", ["cuBLASLt, 24 x 40 x 32, plus a row"], ["--fp=fast"], 4e-3),
    ("bf16", "bf16(x) @ bf16(w)", ["cuBLASLt, 24 x 40 x 32"], [], 2e-2),
    ("attention rounds weights", "attention(h, f16(r)[:, :32], v.T[:24, :16])", [], ["--fp=fast"], 1e-3),
    ("gradients", "grad(|p: f32[32, 40]| sum(tanh(x @ p) * r))(w)", ["cuBLASLt, 24 x 40 x 32", "then ", "cuBLASLt, 32 x 40 x 24"]),
    ("convolution 1 x 1", "conv2d(image, taps)", ["cuBLASLt, 2 of 8 x 60 x 16"]),
    ("convolution 3 x 3 is none", "conv2d(image, @cuda:0 { ones([8, 16, 3, 3]) })", []),
    ("vectors are none", "x @ b[:32]", []),
]
LARGE = "let x = @cuda:0 { ones([24, 32]) }\nlet w = @cuda:0 { ones([32, 40]) }\nprint(sum(x @ w))"
# Name, environment, the status, texts.
FAILURES = [
    ("runs", {}, 0, ["30720."]),
    ("not where it is small", {"TENC_CUBLASLT_LEAST": ""}, 0, ["30720."]),
    ("does not start", {"TENC_VM_FAIL": "cublasLtCreate=1"}, 1,
     ["error[E0304]: cuda:0 cannot run the program: cuBLASLt, which multiplies matrices of this program, does not start: CUBLAS_STATUS_NOT_INITIALIZED, 1 (", "libcublasLt.so.13, 13.0.0): the library does not start on this GPU: see `nvidia-smi`"]),
    ("has no algorithm", {"TENC_VM_FAIL": "cublasLtMatmulAlgoGetHeuristic=15"}, 1,
     ["error[E0304]: cuda:0 cannot run the program: cuBLASLt has no algorithm for matmul, 1 of 24 x 40 x 32: CUBLAS_STATUS_NOT_SUPPORTED, 15 (", "set TENC_CUBLASLT= to do without it"]),
    ("fails", {"TENC_VM_FAIL": "cublasLtMatmul=13"}, 70, ["cuda:0, cublasLtMatmul: CUBLAS_STATUS_EXECUTION_FAILED, 13 (", "the GPU did not run a kernel of the library"]),
]


def numbers(text): return [float(n) for n in re.findall(r"-?\d+\.?\d*(?:e[+-]?\d+)?|nan|inf", text)]


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("tenc", "driver", "products"): ap.add_argument(f"--{name}", required=True, type=lambda p: pathlib.Path(p).resolve())
    ap.add_argument("--only", default="")
    A = ap.parse_args()
    machine.skip_without_nvrtc(A.tenc, A.driver)

    def run(at, words, mode="eager", **more):
        (at / "reports").write_text("")
        environment = {**machine.environment(A.tenc, A.driver, mode, at / "reports"), "TENC_CUBLASLT": str(A.products), "TENC_CUBLASLT_LEAST": "1", "TENC_CUDA_CODE": "ptx", **more}
        done = subprocess.run([A.tenc, *words], cwd=at, capture_output=True, text=True, timeout=120, env=environment)
        return done.returncode, done.stdout + done.stderr + (at / "reports").read_text()

    def compare(at, expression, products, options=(), bound=1e-5):
        (at / "s.tl").write_text(f"{BEGIN}let y = {expression}\nprint(y)\nprint(sum(y), sum(y * y))\n")
        kernels = run(at, ["s.tl", "--emit=kernels", *options])[1]
        said = [line.strip() for line in kernels.splitlines() if re.match(r"  (cuBLASLt|then) ?", line)]
        if [s if not s.startswith("then") else "then " for s in said] != products: return f"products are {said}\n{kernels[-3000:]}"
        want = run(at, ["s.tl", "--virtual", "cuda=1"])
        texts = set()
        for mode in machine.MODES:
            got = run(at, ["s.tl", *options], mode)
            texts.add(got[1])
            a, b = numbers(want[1]), numbers(got[1])
            if got[0] != want[0] or len(a) != len(b): return f"{mode}: status {got[0]}, not {want[0]}\n{got[1][:2000]}"
            scale = max(map(abs, a[:-2]))
            for x, y in zip(a[:-2], b[:-2]):
                if not abs(x - y) <= bound * scale + 1e-4 * abs(x): return f"{mode}: {y}, not {x}"
        return "" if len(texts) == 1 else "runs differ"

    def says(at, words, status, texts, **environment):
        (at / "l.tl").write_text(LARGE)
        got, text = run(at, words, **environment)
        return f"status {got}\n{text}" if got != status or any(t not in text for t in texts) else ""

    def saved(at):
        """What was compiled with the library needs it; what was compiled without does not."""
        found = ""
        for library, status in ((str(A.products), 1), ("", 0)):
            found = found or says(at, ["l.tl", "--emit=program", "-o", "l.tlp"], 0, [], TENC_CUBLASLT=library)
            for missing, tried in (("", "tried nothing, as TENC_CUBLASLT is empty"), ("nowhere.so", "tried nowhere.so in LD_LIBRARY_PATH")):
                refused = ["error[E0304]: cuda:0 cannot run the program: cuBLASLt, which multiplies matrices of this program, was not found: ", tried, "pip install nvidia-cublas"]
                found = found or says(at, ["l.tlp"], status, refused if status else ["30720."], TENC_CUBLASLT=missing)
            found = found or says(at, ["l.tlp"], 0, ["30720."])
        return found

    tests = [(name, lambda at, rest=rest: compare(at, *rest)) for name, *rest in CASES]
    if machine.ON_GPU: machine.run_tests(tests, A.only)  # the rest has the fake fail
    tests += [(name, lambda at, e=environment, rest=rest: says(at, ["l.tl"], *rest, **e)) for name, environment, *rest in FAILURES]
    tests.append(("compiled programs", saved))
    machine.run_tests(tests, A.only)


if __name__ == "__main__":
    main()
