#!/usr/bin/env python3
"""Linear algebra against its own equations and NumPy, in the interpreter and in compiled code, on both precisions.

    linear.py --tenc BUILD/bin/tenc [--cuda LIBCUDA]

With `--cuda` as CUDA C++ on the virtual machine for PTX alone.
Factors are checked by backward error: |A - L U| and the like are at most a small multiple of n eps |A|, and orthonormal
columns are so to n eps. Values that are determined (solutions, determinants, singular values) are compared with NumPy in
f64, within eps times the condition number. Signs of eigenvectors and singular vectors are not compared.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

import bounds

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[1] / "cuda"))
import machine  # noqa: E402

SHAPES = [(1, 1), (2, 2), (3, 5), (5, 3), (17, 17), (40, 24), (70, 70), (1, 4), (4, 1)]


class Run:
    """One script: what it loads, what it saves, and the checks of what was saved."""

    def __init__(self, folder, name, dtype):
        self.folder, self.name, self.dtype, self.lines, self.saved = folder, name, dtype, [], []

    def load(self, x):
        path = self.folder / f"{self.name}.in{len(self.lines)}.npy"
        np.save(path, x.astype({"f32": np.float32, "f64": np.float64}[self.dtype]))
        variable = f"x{len(self.lines)}"
        self.lines.append(f'let {variable} = load("{path}")')
        return variable

    def save(self, expression, results=1):
        paths = []
        n = len(self.lines)
        self.lines.append(f"let r{n} = {expression}")
        for i in range(results):
            path = self.folder / f"{self.name}.out{n}.{i}.npy"
            self.lines.append(f'save("{path}", r{n}{f".{i}" if results > 1 else ""})')
            paths.append(path)
        self.saved += paths
        return paths

    def run(self, tenc, engine, driver):
        """With the engine; "cuda": on the GPU of a driver, where the machine must have nothing to report."""
        script, reports = self.folder / f"{self.name}.tl", self.folder / f"{self.name}.reports"
        words, environment = ["--engine", engine], None
        if engine == "cuda":
            words = [*machine.FLAGS, "--default-device", "cuda:0", "--transfers=allow"]
            environment = machine.environment(tenc, driver, machine.mode_of(self.name), reports)
        script.write_text("\n".join(self.lines) + "\n")
        for p in self.saved:
            p.unlink(missing_ok=True)
        done = subprocess.run([tenc, str(script), *words], capture_output=True, text=True, timeout=300, env=environment)
        found = reports.read_text() if reports.exists() else ""
        return found[:1000] if done.returncode == 0 else f"status {done.returncode}: {done.stderr[:1000]}"


def batches(rng, m, n):
    return rng.standard_normal((5, 4, m, n)) if m * n < 100 else rng.standard_normal((1, m, n))


def close(got, want, bound, what):
    error = float(np.max(np.abs(np.asarray(got, np.float64) - want), initial=0.0))
    if got.shape != np.shape(want):
        return [f"{what}: shape {got.shape}, expected {np.shape(want)}"]
    return [] if error <= bound else [f"{what}: off by {error:.3g}, allowed {bound:.3g}"]


def T(x):
    return np.swapaxes(x, -1, -2)


def norm(x):
    return float(np.max(np.linalg.norm(x, axis=(-2, -1)), initial=0.0)) if x.size else 0.0


def cases(folder, dtype, rng):
    """(run, checks); a check reads what was saved and gives a list of complaints."""
    cut = lambda x: x.astype(np.float32).astype(np.float64) if dtype == "f32" else x
    for m, n in SHAPES:
        run, checks, size = Run(folder, f"{dtype}_{m}x{n}", dtype), [], max(m, n)
        a = cut(batches(rng, m, n))
        va, least = run.load(a), min(m, n)
        unit = bounds.backward(size, dtype)

        def check(paths, function):
            checks.append(lambda: function(*[np.load(p).astype(np.float64) for p in paths]))

        for mode in ("reduced", "complete"):
            k = least if mode == "reduced" else m
            check(run.save(f'qr({va}, mode: "{mode}")', 2),
                  lambda q, r, k=k, a=a: close(q @ r, a, unit * norm(a), "qr") + close(T(q) @ q, np.broadcast_to(
                      np.eye(k), (*a.shape[:-2], k, k)), unit, "q") + close(r, np.triu(r), 0, "r") +
                  close(np.abs(r), np.abs(np.linalg.qr(a, "reduced" if k == least else "complete")[1]),
                        4 * unit * norm(a) * np.max(np.linalg.cond(a)), "|r|"))
        for full in (True, False):
            check(run.save(f"svd({va}, full_matrices: {str(full).lower()})", 3),
                  lambda u, s, vh, a=a: close((u[..., :least] * s[..., None, :]) @ vh[..., :least, :], a,
                                              unit * norm(a), "svd") +
                  close(s, np.linalg.svd(a)[1], unit * norm(a), "s") +
                  close(T(u) @ u, np.broadcast_to(np.eye(u.shape[-1]), T(u).shape[:-1] + u.shape[-1:]), unit, "u") +
                  close(vh @ T(vh), np.broadcast_to(np.eye(vh.shape[-2]), vh.shape[:-1] + vh.shape[-2:-1]), unit, "v"))
        b = cut(rng.standard_normal((m, 2)))
        check(run.save(f"lstsq({va}, {run.load(b)})", 4),
              lambda x, res, rank, s, a=a, b=b: close(x, np.linalg.pinv(a) @ b,
                                                      4 * unit * np.max(np.linalg.cond(a))**2 * norm(b), "lstsq") +
              close(rank, np.full(a.shape[:-2], least), 0, "rank") +
              close(s, np.linalg.svd(a)[1], unit * norm(a), "lstsq s") +
              close(res, np.sum((a @ (np.linalg.pinv(a) @ b) - b)**2, -2), 16 * unit * norm(b)**2 *
                    np.max(np.linalg.cond(a)), "residuals"))
        for order in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
            text = f'"{order}"' if isinstance(order, str) else str(order)
            check(run.save(f"matrix_norm({va}, ord: {text})"),
                  lambda x, a=a, order=order: close(x, np.linalg.norm(a, order, axis=(-2, -1)), unit * least * norm(a),
                                                    f"norm {order}"))
        if m == n:
            square(run, check, a, va, b, unit, cut)
        yield run, checks


def square(run, check, a, va, b, unit, cut):
    n = a.shape[-1]
    condition = np.max(np.linalg.cond(a))
    sign, logarithm = np.linalg.slogdet(a)
    if np.max(np.abs(np.linalg.det(a))) < 1e30:  # no infinity in f32
        check(run.save(f"det({va})"), lambda x: close(x / np.abs(np.linalg.det(a)), np.sign(np.linalg.det(a)),
                                                      unit * condition, "det"))
    check(run.save(f"slogdet({va})", 2), lambda s, x: close(s, sign, 0, "sign") +
          close(x, logarithm, unit * condition, "logdet"))
    check(run.save(f"inv({va})"), lambda x: close(x, np.linalg.inv(a), unit * condition * norm(np.linalg.inv(a)),
                                                  "inv"))
    check(run.save(f"matrix_power({va}, -2)"),
          lambda x: close(x, np.linalg.matrix_power(a, -2), 4 * unit * condition * norm(np.linalg.inv(a))**2, "power"))
    vb = run.load(b)
    check(run.save(f"solve({va}, {vb})"), lambda x: close(a @ x, np.broadcast_to(b, x.shape), unit * norm(a) * norm(x),
                                                          "solve"))
    check(run.save(f"solve({va}, {vb}[:, 0])"),
          lambda x: close((a @ x[..., None])[..., 0], np.broadcast_to(b[:, 0], x.shape),
                          unit * norm(a) * norm(x[..., None]), "solve vector"))
    for lower in (True, False):
        for ones in (True, False):
            t = np.tril(a) if lower else np.triu(a)
            t = t + n * np.eye(n) if not ones else t * (1 - np.eye(n)) / n + np.eye(n)
            t = cut(t)
            other = cut(t + (np.triu(a, 1) if lower else np.tril(a, -1)))  # what must not be read
            vt = run.load(other + 3 * np.eye(n) if ones else other)
            check(run.save(f"solve_triangular({vt}, {vb}, lower: {str(lower).lower()}, unit: {str(ones).lower()})"),
                  lambda x, t=t: close(t @ x, np.broadcast_to(b, x.shape), 4 * unit * norm(t) * norm(x), "triangular"))
    p = cut(a @ T(a) + np.eye(n))
    half = run.load(np.tril(p) + np.triu(a, 1))  # the upper triangle is not read
    check(run.save(f"cholesky({half})"), lambda l: close(l @ T(l), p, unit * norm(p), "cholesky") +
          close(l, np.tril(l), 0, "l"))
    s = cut(np.tril(a) + T(np.tril(a, -1)))
    check(run.save(f"eigh({run.load(np.tril(s) + np.triu(p, 1))})", 2),
          lambda w, v: close(w, np.linalg.eigvalsh(s), unit * norm(s), "eigenvalues") +
          close(s @ v, v * w[..., None, :], unit * norm(s), "eigenvectors") +
          close(T(v) @ v, np.broadcast_to(np.eye(n), v.shape), unit, "v"))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tenc", required=True)
    parser.add_argument("--cuda", help="the driver of a virtual machine for PTX")
    args = parser.parse_args()
    if args.cuda: machine.skip_without_nvrtc(args.tenc, args.cuda)
    failures, count = [], 0
    with tempfile.TemporaryDirectory(prefix="tenc-linear-") as folder:
        for dtype in ("f32", "f64"):
            for run, checks in cases(pathlib.Path(folder), dtype, np.random.default_rng(5)):
                for engine in ("cuda",) if args.cuda else ("compiled", "interp"):
                    wrong = run.run(args.tenc, engine, args.cuda)
                    if wrong:
                        failures.append(f"{run.name} {engine}: {wrong}")
                        continue
                    for check in checks:
                        failures += [f"{run.name} {engine}: {f}" for f in check()]
                        count += 1
    print("\n".join(failures))
    print(f"{count} results compared, {len(failures)} differ")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
