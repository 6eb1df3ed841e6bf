#!/usr/bin/env python3
"""Every one of the 65,536 values of f16 and bf16 through every function and conversion, the edges of the integers, and
quotients of floats that are rounded to whole numbers.

    every_value.py [--interp BUILD/bin/tenc-opt] [--tenc BUILD/bin/tenc] [--with OPTION] [--only NAME]

References are NumPy's in long double, and Python's integers and fractions. 16-bit results must be the nearest, but for a hair's breadth
around ties (a function of f32 within 2 units there is 2^-12 of a unit here); signs of zeros, NaN and infinities must be
right; conversions and integers must be exact. Exit status 1 lists what differs."""

import argparse
import fractions
import itertools
import math
import pathlib
import shutil
import sys
import tempfile

import numpy as np

import bounds
from ops import TESTS, UNARY, UNARY_ANY
from tir_program import BITS, FLOATS, INTS, LEAST_EXPONENT, NUMPY, Program, long, raw, rounded, to_bf16


def every(dtype):
    bits = np.arange(65536, dtype=np.uint16)
    if dtype == "f16":
        return bits.view(np.float16)
    return (bits.astype(np.uint32) << 16).view(np.float32)


def near(got, exact, dtype, hair):
    """Where 16-bit values are not the nearest to `exact` (long double), ties within `hair` of a unit apart."""
    have, want = np.asarray(got, long), np.asarray(exact, long)
    nearest = np.asarray(rounded(want.astype(np.float64), dtype), np.float64)
    _, e = np.frexp(np.where(np.isfinite(want), want, 1).astype(np.float64))
    unit = np.ldexp(1.0, np.maximum(e, LEAST_EXPONENT[dtype] + 1) - BITS[dtype])
    same = (have == nearest) & ((nearest != 0) | (np.signbit(have) == np.signbit(nearest))) | np.isnan(have) & np.isnan(want)
    # Beside a tie the other neighbour will do; the largest value and infinity are neighbours too.
    finite = np.where(np.isinf(have), np.copysign(np.ldexp(1.0, 16 if dtype == "f16" else 128), have), have)
    close = np.isfinite(want) & (np.abs(finite - want) <= (0.5 + hair) * unit)
    return ~(same | close)


class Suite:
    def __init__(self, folder, name):
        self.program, self.checks = Program(folder, name), []

    def save(self, label, value, dtype, wrong):
        """`wrong` tells from the array that was saved (bf16 as f32) which elements are."""
        if dtype == "bf16":
            value = self.program.op("cast", [value], {"dtype": "f32"}, "f32", self.shape)
        path = self.program.folder / f"{self.program.name}.{len(self.checks)}.npy"
        self.program.lines.append(f'  save {value} {{path = "{path}", format = "npy"}}')
        self.checks.append((label, path, wrong))

    def run(self, command, failures, inputs):
        self.program.run(command, lambda *a: 0, failures)
        if failures:
            return
        for label, path, wrong in self.checks:
            got = np.load(path)
            with np.errstate(all="ignore"):
                bad = np.argwhere(wrong(got))
            if len(bad):
                at = tuple(bad[0])
                given = ", ".join(repr(x[at]) for x in inputs(label))
                failures.append(f"{self.program.name}: {label}: {len(bad)} differ, first of ({given}): {got[at]!r}")


def functions(folder, dtype):
    """All functions of one operand."""
    s = Suite(folder, f"functions_{dtype}")
    x = every(dtype)
    s.shape = [65536]
    cx = s.program.constant(x, dtype)
    with np.errstate(all="ignore"):
        wide = x.astype(long)
        for name, f in [*((n, f[0]) for n, f in UNARY.items()), *UNARY_ANY.items()]:
            if name == "digamma":
                continue  # its reference is for positive numbers; see math_ulp_test
            if name == "lgamma":
                exact = np.array([lgamma(float(v)) for v in wide], long)
            else:
                exact = np.asarray(f(wide), long)
            if name == "sign":
                exact = np.where(wide == 0, wide, exact)  # keeps the sign of zero
            hair = 0 if name in UNARY_ANY or name in ("sqrt", "reciprocal") else bounds.hair(dtype)
            value = s.program.op(name, [cx], {}, dtype, s.shape)
            s.save(name, value, dtype, lambda got, e=exact, h=hair: near(got, e, dtype, h))
        for name, f in TESTS.items():
            s.save(name, s.program.op(name, [cx], {}, "bool", s.shape), "bool", lambda got, e=f(x): got != e)
    return s, lambda label: [x]


def lgamma(x):
    if math.isnan(x):
        return x
    if math.isinf(x) or x <= 0 and x == math.floor(x):
        return math.inf
    return math.lgamma(x)


def conversions(folder, dtype):
    """From every value to every dtype, and from values around every value and every tie to it."""
    s = Suite(folder, f"conversions_{dtype}")
    x = every(dtype)
    s.shape = [65536]
    cx = s.program.constant(x, dtype)
    with np.errstate(all="ignore"):
        for to in FLOATS + INTS + ["bool"]:
            if to == dtype:
                continue
            if to in INTS:
                info = np.iinfo(NUMPY[to])
                pick = lambda v: 0 if np.isnan(v) else info.max if v >= info.max else info.min if v <= info.min else int(v)
                expected = np.array([pick(v) for v in x.astype(np.float64)], NUMPY[to])
            else:
                expected = x != 0 if to == "bool" else np.asarray(rounded(x.astype(np.float64), to))
            equal = lambda got, e=expected: ~((got == e) & (np.signbit(got) == np.signbit(e)) | (got != got) & (e != e))
            wrong = equal if to not in INTS + ["bool"] else lambda got, e=expected: got != e
            s.save(f"to {to}", s.program.op("cast", [cx], {"dtype": to}, to, s.shape), to, wrong)
        # The middle between neighbours, and what lies next to it on both sides.
        finite = x.astype(np.float64)
        upper = np.where(np.isfinite(finite), np.asarray(next_up(x, dtype), np.float64), 0)
        middle = np.where(np.isfinite(upper) & np.isfinite(finite), (finite + upper) / 2, finite)
        for source in ("f32", "f64"):
            t = NUMPY[source]
            for label, y in (
                ("middle", middle.astype(t)),
                ("above", np.nextafter(middle.astype(t), t(np.inf))),
                ("below", np.nextafter(middle.astype(t), t(-np.inf))),
            ):
                value = s.program.op("cast", [s.program.constant(y, source)], {"dtype": dtype}, dtype, s.shape)
                exact = y.astype(np.float16) if dtype == "f16" else to_bf16(y)
                s.save(
                    f"{label} of {source}",
                    value,
                    dtype,
                    lambda got, e=np.asarray(exact, np.float64): ~(
                        (got == e) & (np.signbit(got) == np.signbit(e)) | np.isnan(got) & np.isnan(e)
                    ),
                )
    return s, lambda label: [x]


def next_up(x, dtype):
    if dtype == "f16":
        return np.nextafter(x, np.float16(np.inf))
    b = x.view(np.uint32)
    up = np.where(b >> 31 == 0, b + 0x10000, b - 0x10000).astype(np.uint32)
    up = np.where(b == 0x80000000, 0x00010000, up).astype(np.uint32)
    return up.view(np.float32)


def wrap(v, dtype):
    width = np.dtype(NUMPY[dtype]).itemsize * 8
    v &= (1 << width) - 1
    return v - (1 << width) if dtype[0] == "i" and v >> (width - 1) else v


def integers(folder, dtype):
    """All pairs of edges through all operations of two operands; the edges through those of one."""
    s = Suite(folder, f"integers_{dtype}")
    info, width = np.iinfo(NUMPY[dtype]), np.dtype(NUMPY[dtype]).itemsize * 8
    edges = {0, 1, 2, 3, 5, 7, width - 1, width, width + 1, info.max, info.max - 1, info.max // 2, info.max // 2 + 1, info.min, info.min + 1}
    edges |= {-1, -2, -3, -width} if info.min < 0 else {info.max - 2}
    edges = sorted(v for v in edges if info.min <= v <= info.max)
    pairs = list(itertools.product(edges, edges))
    s.shape = [len(pairs)]
    a, b = (np.array([p[i] for p in pairs], NUMPY[dtype]) for i in (0, 1))

    def truncated(x, y):
        q = abs(x) // abs(y)
        return q if (x < 0) == (y < 0) else -q

    def shifted(x, n):
        inside = 0 <= n < width
        return x << n if inside else 0

    two = dict(
        add=(lambda x, y: x + y, None), sub=(lambda x, y: x - y, None), mul=(lambda x, y: x * y, None),
        maximum=(max, None), minimum=(min, None),
        floor_div=(lambda x, y: x // y, 1), mod=(lambda x, y: x % y, 1),
        trunc_div=(truncated, 1), fmod=(lambda x, y: x - y * truncated(x, y), 1),
        pow=(lambda x, y: pow(x, y, 1 << width), 0),
        bitwise_and=(lambda x, y: x & y, None), bitwise_or=(lambda x, y: x | y, None), bitwise_xor=(lambda x, y: x ^ y, None),
        bitwise_left_shift=(shifted, None),
        bitwise_right_shift=(lambda x, n: x >> n if 0 <= n < width else (-1 if x < 0 else 0), None),
    )  # fmt: skip
    for name, (f, stops) in two.items():
        y = b
        if stops == 1:
            y = np.where(b == 0, 3, b).astype(b.dtype)  # division by 0 stops the program
        elif stops == 0:
            y = np.where(b < 0, 5, b).astype(b.dtype)  # so does a negative exponent
        expected = np.array([wrap(f(int(p), int(q)), dtype) for p, q in zip(a, y)], NUMPY[dtype])
        value = s.program.op(name, [s.program.constant(a, dtype), s.program.constant(y, dtype)], {}, dtype, s.shape)
        s.save(name, value, dtype, lambda got, e=expected: got != e)
    one = dict(
        neg=lambda x: -x, abs=abs, square=lambda x: x * x, sign=lambda x: (x > 0) - (x < 0), bitwise_invert=lambda x: ~x,
        popcount=lambda x: bin(x & ((1 << width) - 1)).count("1"), floor=int, ceil=int, round=int, trunc=int,
    )  # fmt: skip
    ca = s.program.constant(a, dtype)
    for name, f in one.items():
        expected = np.array([wrap(f(int(v)), dtype) for v in a], NUMPY[dtype])
        s.save(name, s.program.op(name, [ca], {}, dtype, s.shape), dtype, lambda got, e=expected: got != e)
    # To every float, rounded once, and from floats at and around the ends of the range.
    for to in FLOATS:
        exact = [nearest(int(v), to) for v in a]
        value = s.program.op("cast", [ca], {"dtype": to}, to, s.shape)
        s.save(f"to {to}", value, to, lambda got, e=np.array(exact): np.asarray(got, np.float64) != e)
    for source in ("f32", "f64"):
        t = NUMPY[source]
        ends = [t(v) for v in (info.min, info.max, 0, 1, -1, 0.5, -0.5, -0.99, 1.99, 1e30, -1e30)]
        ends += [np.nextafter(v, t(d)) for v in ends for d in (-np.inf, np.inf)] + [t(np.nan), t(np.inf), t(-np.inf), t(-0.0)]
        x = np.resize(np.array(ends, t), s.shape)
        pick = lambda v: 0 if np.isnan(v) else info.max if v >= info.max else info.min if v <= info.min else int(v)
        expected = np.array([pick(v) for v in x], NUMPY[dtype])
        value = s.program.op("cast", [s.program.constant(x, source)], {"dtype": dtype}, dtype, s.shape)
        s.save(f"from {source}", value, dtype, lambda got, e=expected: got != e)
    return s, lambda label: [a, b]


def whole_quotient(x, y, dtype):
    """`x // y`: the floor of the exact quotient; past what has all integers, the quotient rounded to nearest."""
    wide = np.float64 if dtype == "f64" else np.float32
    if math.isnan(x) or math.isnan(y) or y == 0:
        return float(np.float64(x) / np.float64(y))
    if math.isinf(x):
        return math.nan
    if math.isinf(y):
        return math.copysign(0.0, x / y) if x == 0 or (x < 0) == (y < 0) else -1.0
    q = fractions.Fraction(x) / fractions.Fraction(y)
    try:
        near = float(wide(float(q)))
    except OverflowError:
        near = math.inf if q > 0 else -math.inf
    if abs(near) > 2.0 ** BITS["f64" if dtype == "f64" else "f32"]:
        return near
    whole = math.floor(q)
    return float(whole) if whole else math.copysign(0.0, math.copysign(1, x) * math.copysign(1, y))


def remainder(x, y, of_divisor):
    """What is left of `x`, exactly, with the sign of the divisor or of `x`."""
    if math.isnan(x) or math.isnan(y) or y == 0 or math.isinf(x):
        return math.nan
    if math.isinf(y):
        return y if of_divisor and x != 0 and (x < 0) != (y < 0) else math.copysign(x, y) if x == 0 and of_divisor else x
    a, b = fractions.Fraction(x), fractions.Fraction(y)
    q = a / b
    left = a - (math.floor(q) if of_divisor else math.trunc(q)) * b
    return float(left) if left else math.copysign(0.0, y if of_divisor else x)


def quotients(folder, dtype):
    """Floats over floats: edges, and dividends at and beside multiples of the divisor, whose quotients are rounded to whole
    numbers though they are none."""
    s = Suite(folder, f"quotients_{dtype}")
    rng = np.random.default_rng(7)
    t = np.float64 if dtype == "f64" else np.float16 if dtype == "f16" else np.float32
    top = 2.0 ** BITS["f64" if dtype == "f64" else "f32"]
    edges = [0.0, 1.0, 2.0, 3.0, 6.0, 7.0, 0.1, 0.3, 1 / 3, 1e8, 4e16, top, top - 1, top + 2, top / 2 + 1, math.inf, math.nan]
    if dtype == "bf16":
        edges += [2.0**-133, 2.0**-126, 2.0**127 * (2 - 2.0**-7)]
    else:
        info = np.finfo(t)
        edges += [float(info.smallest_subnormal), float(info.tiny), float(info.max)]
    edges += [-v for v in edges]
    pairs = list(itertools.product(edges, edges))
    for _ in range(6000):
        y = float(rng.choice([-1, 1]) * rng.uniform(1, 2) * 2.0 ** rng.integers(-6, 6))
        y = float(np.asarray(rounded(np.float64(y), dtype), np.float64))
        n = int(2 ** rng.uniform(0, BITS[dtype] + 3))
        x = float(np.asarray(rounded(np.float64(y * n * rng.choice([-1, 1])), dtype), np.float64))
        pairs += [(x, y)]
        if dtype != "bf16":
            pairs += [(float(np.nextafter(t(x), t(d))), y) for d in (-np.inf, np.inf)]
    with np.errstate(all="ignore"):
        a, b = (np.asarray(rounded(np.array([p[i] for p in pairs]), dtype), np.float64) for i in (0, 1))
    s.shape = [len(pairs)]
    operands = [s.program.constant(v, dtype) for v in (a, b)]
    for name, f in dict(
        floor_div=lambda x, y: whole_quotient(x, y, dtype),
        mod=lambda x, y: remainder(x, y, True),
        fmod=lambda x, y: remainder(x, y, False),
    ).items():
        with np.errstate(all="ignore"):
            exact = np.array([f(float(x), float(y)) for x, y in zip(a, b)])
            want = np.asarray(rounded(exact, dtype), np.float64)
        value = s.program.op(name, operands, {}, dtype, s.shape)
        s.save(name, value, dtype, lambda got, e=want: ~(
            (got == e) & (np.signbit(got) == np.signbit(e)) | np.isnan(got) & np.isnan(e)
        ))  # fmt: skip
    return s, lambda label: [a, b]


def nearest(v, dtype):
    """The float of `dtype` nearest to an integer, ties to even, as f64."""
    if v == 0:
        return 0.0
    shift = max(abs(v).bit_length() - BITS[dtype], 0)
    q, r = abs(v) >> shift, abs(v) & ((1 << shift) - 1)
    if shift and (r > 1 << (shift - 1) or r == 1 << (shift - 1) and q & 1):
        q += 1
    value = float(q) * 2.0**shift
    if value >= 2.0 ** {"f16": 16, "bf16": 128, "f32": 128, "f64": 1023}[dtype]:
        value = np.inf
    return -value if v < 0 else value


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--interp", help="tenc-opt")
    parser.add_argument("--tenc", help="tenc")
    parser.add_argument("--with", dest="extra", action="append", default=[], help="a further option for tenc")
    parser.add_argument("--only", default="", help="only programs whose name contains this")
    args = parser.parse_args()
    engines = []
    if args.interp:
        engines.append(("interp", [args.interp, "{file}", "--run"]))
    if args.tenc:
        engines.append(("tenc", [args.tenc, "{file}", *args.extra]))
    folder = pathlib.Path(tempfile.mkdtemp(prefix="tenc-values-"))
    failures, count = [], 0
    try:
        for maker, dtypes in ((functions, ["f16", "bf16"]), (conversions, ["f16", "bf16"]), (integers, INTS), (quotients, FLOATS)):
            for dtype in dtypes:
                if args.only not in f"{maker.__name__}_{dtype}":
                    continue
                suite, inputs = maker(folder, dtype)
                for engine, command in engines:
                    found = []
                    suite.run(command, found, inputs)
                    failures += [f"{engine}: {f}" for f in found]
                    count += len(suite.checks)
    finally:
        shutil.rmtree(folder)
    print("\n".join(failures))
    print(f"{count} tensors compared, {len(failures)} differ")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
