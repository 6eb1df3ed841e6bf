#!/usr/bin/env python3
"""Linear algebra by cuSOLVER, with a fake of it: solver.py --tenc PATH --driver LIBCUDA --solver LIBCUSOLVER [--only TEXT]

Each case is an expression: what the library is to be called for, as --emit=kernels tells, and its value in each order of work, against
that of a virtual device. Then what stops, and what is said where the library is missing or fails. Closes with `N passed, N failed`."""
import json
import pathlib
import re
import subprocess

import machine

BEGIN = """fn same(x: f64[N, N]) -> f64 = max(abs(x - eye(N, dtype: f64)))
let x = @cuda:0 { randn([7, 7], dtype: f64) + 4.0 * eye(7, dtype: f64) }
let y = @cuda:0 { randn([7, 3], dtype: f64) }
let v = @cuda:0 { randn([7], dtype: f64) }
let w = @cuda:0 { randn([4, 9], dtype: f64) }
let p = @cuda:0 { x @ x.T }
let xs = @cuda:0 { randn([2, 5, 5], dtype: f64) }
let ys = @cuda:0 { randn([2, 5, 2], dtype: f64) }
let large = @cuda:0 { randn([70, 33]) }
let lower = @cuda:0 { tril(x) + triu(ones([7, 7], dtype: f64) / 0.0, k: 1) }
let singular = @cuda:0 { ones([6, 6]) }
let nan = @cuda:0 { ones([6, 6]) * log(-ones([6, 6])) }
let one = @cuda:0 { ones([6]) }
let i = @cuda:0 { eye(6) }
"""
# Name, expression, what the library is called for. Vectors that have no certain sign come as products that have one.
CASES = [
    ("solve", "solve(x, y)", ["7 x 7: getrf, getrs"]),
    ("solve, a vector", "solve(x, v)", ["7 x 7: getrf, getrs"]),
    ("solve, a batch", "solve(xs, ys)", ["2 of 5 x 5: getrf, getrs"]),
    ("solve, f32", "solve(f32(x), f32(y))", ["7 x 7: getrf, getrs"], 1e-5),
    ("inverse", "inv(x)", ["7 x 7: getrf, getrs"]),
    ("determinant", "det(x)", ["7 x 7: getrf"]),
    ("determinants of a batch", "slogdet(xs).1 + slogdet(xs).0", ["2 of 5 x 5: getrf"]),
    ("of a singular matrix", "[det(singular), slogdet(singular).0, exp(slogdet(singular).1)]", ["6 x 6: getrf"]),
    ("of NaN", "solve(nan, one)", ["6 x 6: getrf, getrs"]),
    ("a lower triangle", "solve_triangular(lower, y)", ["7 x 7: getrs"]),
    ("an upper triangle", "solve_triangular(lower.T, y, lower: false)", ["7 x 7: getrs"]),
    ("a lower triangle with ones", "solve_triangular(lower, y, unit: true)", ["7 x 7: getrs"]),
    ("an upper triangle with ones", "solve_triangular(lower.T, v, lower: false, unit: true)", ["7 x 7: getrs"]),
    ("cholesky", "cholesky(p)", ["7 x 7: potrf"]),
    ("the upper factor", "cholesky(p, upper: true)", ["7 x 7: potrf"]),
    ("qr", "abs(qr(y).1) + same(qr(y).0.T @ qr(y).0) + qr(y).0[:3] @ qr(y).1 * 0.0", ["7 x 3: geqrf, orgqr"]),
    ("qr, wide", "qr(w).0 @ qr(w).1", ["4 x 9: geqrf, orgqr"]),
    ("qr, complete", "qr(y, mode: \"complete\").0 @ qr(y, mode: \"complete\").1", ["7 x 3: geqrf, orgqr"]),
    ("qr, of several tiles", "qr(large).0 @ qr(large).1", ["70 x 33: geqrf, orgqr"], 1e-4),
    ("eigenvalues", "eigh(p).0", ["7 x 7: syevd"]),
    ("eigenvectors", "(eigh(p).1 * tanh(eigh(p).0)) @ eigh(p).1.T", ["7 x 7: syevd"]),
    ("the same signs again", "abs(eigh(p).1 - eigh(p + 0.0 * sum(p)).1)", ["7 x 7: syevd"]),
    ("singular values", "matrix_norm(y, ord: \"nuc\")", ["7 x 3: gesvd"]),
    ("singular vectors", "(svd(y, full_matrices: false).0 * tanh(svd(y, full_matrices: false).1)) @ svd(y, full_matrices: false).2", ["7 x 3: gesvd"]),
    ("singular vectors, wide", "(svd(w, full_matrices: false).0 * tanh(svd(w, full_matrices: false).1)) @ svd(w, full_matrices: false).2", ["9 x 4: gesvd"]),
    ("all singular vectors", "svd(y).0 @ svd(y).0.T + same(svd(w).2 @ svd(w).2.T)", ["7 x 3: gesvd", "9 x 4: gesvd"]),
    ("gradients", "grad(|q: f64[7, 7]| sum(solve(q, y) * y) + slogdet(q).1)(x)", ["7 x 7: getrf, getrs", "7 x 7: getrf"]),
    ("gradients of spectra", "grad(|q: f64[7, 3]| sum(svd(q).1 * svd(q).1 * svd(q).1))(y)", ["7 x 3: gesvd"]),
    ("halves as f32", "solve(f16(x), f16(y))", ["7 x 7: getrf, getrs"], 1e-2),
]
# Name, expression, the text of the stop.
STOPS = [
    ("a singular matrix", "inv(singular)", "singular"),
    ("a triangle with a zero", "solve_triangular(singular - i, one)", "singular"),
    ("a triangle with a zero, and no right-hand sides", "solve_triangular(singular - i, @cuda:0 { ones([6, 0]) })", "singular"),
    ("no positive definite matrix", "cholesky(singular - 2.0 * i)", "positive definite"),
    ("NaN is not positive definite", "cholesky(nan)", "positive definite"),
    ("eigenvalues of NaN", "eigh(nan).0", "NaN"),
    ("singular values of NaN", "svd(nan).1", "NaN"),
]
SMALL = "let x = @cuda:0 { 2.0 * eye(9) }\nlet y = @cuda:0 { ones([9]) }\nprint(sum(solve(x, y)))"
IN_A_LOOP = """let x = @cuda:0 { 2.0 * eye(9) }
var y = @cuda:0 { ones([9]) }
for i in 0..12 {
    y = solve(x, y * 2.0 + 1.0) - 0.5
    y = cumsum(sort(y)) * 0.0 + y
    y = y - 0.0 * cumsum(y * sort(y[::-1]))
}
print(sum(y))"""
BROKEN = "error[E0304]: cuda:0 cannot run the program: "
# Name, script, environment, the status, texts.
FAILURES = [
    ("runs", SMALL, {}, 0, ["4.5"]),
    ("not where it is small", SMALL, {"TENC_CUSOLVER_LEAST": "", "TENC_VM_FAIL": "cusolverDnCreate=1"}, 0, ["4.5"]),
    ("does not start", SMALL, {"TENC_VM_FAIL": "cusolverDnCreate=1"}, 1,
     [BROKEN + "cuSOLVER, which does linear algebra of this program, does not start: cusolverDnCreate of ", "libcusolver.so.12, 12.0.4: CUSOLVER_STATUS_NOT_INITIALIZED, 1: the library does not start on this GPU: see `nvidia-smi`"]),
    ("has no such call", SMALL, {"TENC_VM_FAIL": "cusolverDnXgetrf_bufferSize=9"}, 1, [BROKEN + "cusolverDnXgetrf_bufferSize of ", "CUSOLVER_STATUS_NOT_SUPPORTED, 9: ", "set TENC_CUSOLVER= to do without it"]),
    ("fails", SMALL, {"TENC_VM_FAIL": "cusolverDnXgetrs=6"}, 70, ["cuda:0, cusolverDnXgetrs of ", "CUSOLVER_STATUS_EXECUTION_FAILED, 6: the GPU did not run a kernel of the library"]),
]


def numbers(text): return [float(n) for n in re.findall(r"-?\d+\.?\d*(?:e[+-]?\d+)?|nan|inf", text)]


def main():
    ap = machine.parser(__doc__)
    ap.add_argument("--solver", required=True, type=lambda p: pathlib.Path(p).resolve())
    ap.add_argument("--only", default="")
    A = ap.parse_args()
    machine.skip_without_nvrtc(A.tenc, A.driver)

    def run(at, words, mode="eager", **more):
        (at / "reports").write_text("")
        environment = {**machine.environment(A.tenc, A.driver, mode, at / "reports"), "TENC_CUSOLVER": str(A.solver), "TENC_CUSOLVER_LEAST": "1", "TENC_CUDA_CODE": "ptx", **more}
        done = subprocess.run([A.tenc, *words], cwd=at, capture_output=True, text=True, timeout=120, env=environment)
        return done.returncode, done.stdout + done.stderr + (at / "reports").read_text()

    def compare(at, expression, calls, bound=1e-9):
        (at / "s.tl").write_text(f"{BEGIN}print({expression})\n")
        kernels = run(at, ["s.tl", "--emit=kernels"])[1]
        said = [line.removeprefix("  cuSOLVER, ").split(", between")[0] for line in kernels.splitlines() if line.startswith("  cuSOLVER")]
        if set(said) != set(calls): return f"calls are {said}\n{kernels[-3000:]}"
        want = run(at, ["s.tl", "--virtual", "cuda=1"])
        texts = set()
        for mode in machine.MODES:
            got = run(at, ["s.tl"], mode)
            texts.add(got[1])
            a, b = numbers(want[1]), numbers(got[1])
            if got[0] or want[0] or len(a) != len(b) or not a: return f"{mode}: status {got[0]} and {want[0]}\n{got[1][:2000]}\n{want[1][:2000]}"
            scale = max(map(abs, a))
            for x, y in zip(a, b):
                if not (abs(x - y) <= bound * scale + 2e-7 * abs(x) or x != x and y != y): return f"{mode}: {y}, not {x}"
        return "" if len(texts) == 1 else f"runs differ: {texts}"

    def stops(at, expression, text):
        (at / "s.tl").write_text(f"{BEGIN}\nprint({expression})\n")
        want, got = run(at, ["s.tl", "--virtual", "cuda=1"]), run(at, ["s.tl"])
        same = want[0] == got[0] == 3 and want[1] == got[1]
        return "" if same and "E0905" in got[1] and text in got[1] else f"{got}, not {want}"

    def says(at, script, environment, status, texts, words=("l.tl",)):
        (at / "l.tl").write_text(script)
        got, text = run(at, words, **environment)
        return f"status {got}\n{text}" if got != status or any(t not in text for t in texts) else ""

    def between_graphs(at):
        """The call of each trip runs alone, and the kernels between two of them are a graph."""
        found = says(at, IN_A_LOOP, {}, 0, ["9."], ["l.tl", "--trace", "trace.json"])
        events = json.loads((at / "trace.json").read_text())["traceEvents"]
        rows = [e["name"] for e in sorted(events, key=lambda e: e["ts"]) if e["tid"] == "cuda:0 kernels"]
        return found if found or rows.count("graph of 7 kernels") >= 10 and rows.count("solve") == 12 else f"{rows}"

    def saved(at):
        """What was compiled with the library needs it; what was compiled without does not."""
        found = ""
        for library, status in ((str(A.solver), 1), ("", 0)):
            found = found or says(at, SMALL, {"TENC_CUSOLVER": library}, 0, [], ["l.tl", "--emit=program", "-o", "l.tlp"])
            for missing, tried in (("", "tried nothing, as TENC_CUSOLVER is empty"), ("nowhere.so", "tried nowhere.so in LD_LIBRARY_PATH")):
                refused = [BROKEN + "cuSOLVER, which does linear algebra of this program, was not found: ", tried, "pip install nvidia-cusolver"]
                found = found or says(at, SMALL, {"TENC_CUSOLVER": missing}, status, refused if status else ["4.5"], ["l.tlp"])
            found = found or says(at, SMALL, {}, 0, ["4.5"], ["l.tlp"])
        return found

    tests = [(name, lambda at, rest=rest: compare(at, *rest)) for name, *rest in CASES]
    tests += [(f"stops: {name}", lambda at, rest=rest: stops(at, *rest)) for name, *rest in STOPS]
    if machine.ON_GPU: machine.run_tests(tests, A.only)  # the rest has the fake fail
    tests += [(name, lambda at, rest=rest: says(at, *rest)) for name, *rest in FAILURES]
    tests.append(("between graphs", between_graphs))
    tests.append(("compiled programs", saved))
    machine.run_tests(tests, A.only)


if __name__ == "__main__":
    main()
