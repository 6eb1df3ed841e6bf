#!/usr/bin/env python3
"""Nested derivatives of functions with loops, branches, indices and updates on another device: the results must equal those on the host.

    python placed_nestings.py --tenc PATH

Every function with every form; both on the host and with all tensors on a virtual device. Closes with `N passed, N failed`."""
import argparse
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

FUNCTIONS = {
    "elements": "var s = sum(x); for i in 0..3 { s = s * sin(x[i] * w[i]) }; s",
    "updates": "var z = x; for i in 0..2 { z[i + 1] = z[i] * w[i + 1] + x[i] }; sum(z ** 2)",
    "updates by rows": "var z = x * w; for r in w { z[0] += r * z[1]; z[1] *= sin(z[0]) }; sum(z ** 2)",
    "an index that is computed": "x[argmax(w)] * sum(w * x)",
    "windows": "var s = sum(w); for i in 0..2 { s += sum(x[i :+ 2] * w[i :+ 2]) * s }; s",
    "a branch in a loop": "var s = sum(w * x); for i in 0..3 { if x[i] > 0.5 { s = s * w[i] } else { s += x[i] * w[i] } }; s",
    "a branch": "if sum(x) > 1.0 { sum(x ** 2 * w ** 3) } else { sum(sin(x * w)) }",
    "return": "if sum(x) > 1.0 { return sum(x ** 2 * w ** 3) }; sum(sin(x * w))",
    "scan": "let (a, b) = scan(|c, r| (c * r + w, sum(c) * r), x, w); sum(a * b)",
    "reduce": "sum(reduce(|a, b| sin(a * b), x, w))",
    "map": "sum(map(|r| sin(r * w) * x, x))",
    "zeros": "var h = zeros([3], dtype: f64); for i in 0..3 { h = tanh(h * w + x) }; sum(h * x)",
    "a counter of its own": "var i = 0; var h = x; for k in 0..3 { h = tanh(h * w); i += 1 }; h[i - 1] * sum(h)",
    "an unrolled loop": "var h = x; for i in static 0..3 { h[i] = h[2 - i] * w[i] }; sum(h ** 2)",
    "sums along": "sum(cumprod(x) * cumsum(w)) * norm(x * w)",
    "a recurrent layer": "var h = sum(x); var u = x; for i in 0..3 { u = tanh(outer(u, w) @ x + u[i]); h = h + sum(u) }; h",
}  # fmt: skip
FORMS = {
    "grad of vmap of grad": "grad(|w| sum(vmap(|x| grad(f)(x, w))(xs) ** 2))(w)",
    "vmap of grad of grad": "vmap(|x| grad(|w| sum(grad(f)(x, w) ** 2))(w))(xs)",
    "grad of vmap of jvp": "grad(|w| sum(vmap(|x| jvp(f)(x, w, x).1)(xs) ** 2))(w)",
    "jvp of vmap of grad": "jvp(|w| vmap(|x| grad(f)(x, w))(xs))(w, w).1",
    "grad of map of grad": "grad(|w| sum(map(|x| grad(f)(x, w), xs) ** 2))(w)",
    "vmap of a Hessian": "vmap(|x| ad.hessian(f)(x, w))(xs)",
    "checkpoints": "grad(|w| sum(vmap(|x| grad(checkpoint(f))(x, w))(xs) ** 2))(w)",
    "two arguments": "grad(|w| sum(vmap(|x, w| grad(f, wrt: 1)(x, w))(xs, stack((w, w * 0.5))) ** 2))(w)",
    "grad of a Hessian": "grad(|w| sum(ad.hessian(f)(xs[0], w) ** 2))(w)",
    "jvp of jvp": "vmap(|x| jvp(|w| jvp(f)(x, w, x).1)(w, w).1)(xs)",
}
NUMBER = re.compile(r"-?\d+\.?\d*(?:e[+-]?\d+)?|inf|nan")


def script(function, form, device):
    return (f"import ad\nfn f(x: f64[3], w: f64[3]) -> f64 {{ {function} }}\n"
            f"@{device} let (xs, w) = (f64([[0.3, 0.9, 0.4], [0.2, 0.1, 0.6]]), f64([0.7, 1.1, 0.5]))\nprint({form})\n")


def run(tenc, text):
    with tempfile.NamedTemporaryFile("w", suffix=".tl") as file:
        file.write(text)
        file.flush()
        done = subprocess.run([tenc, file.name, "--virtual", "cuda=1"], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def same(host, device):
    """The arithmetic is the same; sums may be taken in another order."""
    a, b = NUMBER.findall(host), NUMBER.findall(device.replace("cuda:0", "cpu"))
    return len(a) == len(b) and all(abs(float(x) - float(y)) <= 1e-6 * max(1, abs(float(x))) for x, y in zip(a, b))


def case(tenc, name, form):
    host, device = (run(tenc, script(FUNCTIONS[name], FORMS[form], d)) for d in ("cpu", "cuda:0"))
    # A second derivative that is 0 is refused for both (E0402).
    alike = host[0] == device[0] and host[0] in (0, 1) and (host[0] == 0 or "E0402" in host[2] and "E0402" in device[2])
    if alike and same(host[1], device[1]): return True
    print(f"{name}, {form}: host {host[0]} {host[1]}{host[2][:300]}\ndevice {device[0]} {device[1]}{device[2][:300]}")
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tenc", required=True)
    a = parser.parse_args()
    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(lambda c: case(a.tenc, *c), [(n, f) for n in FUNCTIONS for f in FORMS]))
    print(f"{sum(done)} passed, {len(done) - sum(done)} failed")
    sys.exit(sum(done) != len(done))


if __name__ == "__main__": main()
