#!/usr/bin/env python3
"""Every op of ir/Ops.def on every dtype against NumPy, through the reference interpreter and through compiled code.

    ops.py --interp BUILD/bin/tenc-opt [--tenc BUILD/bin/tenc] [--with OPTION] [--cuda LIBCUDA] [--only NAME] [--keep]

Programs are written as .tir, one for each group of ops and dtype; results come back as .npy files. The interpreter must
agree to 1 unit in the last place of functions and exactly elsewhere; compiled code to the
bounds of bounds.py. With `--cuda` that is CUDA C++ on the virtual machine for PTX. Exit status 1
lists what differs. An elementwise op of the table without a reference here is an error, so that none goes untested.
"""

import argparse
import itertools
import math
import pathlib
import re
import shutil
import sys
import tempfile

import numpy as np

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[1] / "cuda"))
import bounds
import machine
from tir_program import BITS, FLOATS, INTS, NUMPY, Program, long, raw, rounded, sample

ROOT = pathlib.Path(__file__).resolve().parents[2]
PIPELINE = "place,verify-placed,inline,decompose,simplify,cse,hoist,dce,fuse,dce"


def vec(f):
    return lambda *a: np.array([f(*(float(v) for v in vs)) for vs in zip(*(x.ravel() for x in a))], long).reshape(
        a[0].shape
    )


def guarded(f):
    def g(x):
        try:
            return f(x)
        except ValueError:
            return math.inf
        except OverflowError:
            return math.inf

    return g


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


# name: (function on longdouble arrays, low, high) for floats
UNARY = dict(
    sqrt=(np.sqrt,),
    rsqrt=(lambda x: 1 / np.sqrt(x),),
    cbrt=(np.cbrt,),
    exp=(np.exp,),
    exp2=(np.exp2,),
    expm1=(np.expm1,),
    log=(np.log,),
    log2=(np.log2,),
    log10=(np.log10,),
    log1p=(np.log1p,),
    sin=(np.sin,),
    cos=(np.cos,),
    tan=(np.tan,),
    asin=(np.arcsin,),
    acos=(np.arccos,),
    atan=(np.arctan,),
    sinh=(np.sinh,),
    cosh=(np.cosh,),
    tanh=(np.tanh,),
    asinh=(np.arcsinh,),
    acosh=(np.arccosh,),
    atanh=(np.arctanh,),
    erf=(vec(math.erf),),
    erfc=(vec(math.erfc),),
    lgamma=(vec(guarded(math.lgamma)), 0.1, 30),
    sigmoid=(sigmoid,),
    reciprocal=(lambda x: 1 / x,),
    digamma=(vec(lambda x: digamma(x)), 0.5, 30),
)
UNARY_ANY = dict(
    neg=np.negative,
    abs=np.abs,
    sign=np.sign,
    square=np.square,
    floor=np.floor,
    ceil=np.ceil,
    round=np.round,
    trunc=np.trunc,
)
TESTS = dict(isnan=np.isnan, isinf=np.isinf, isfinite=np.isfinite)
BINARY_ANY = dict(add=np.add, sub=np.subtract, mul=np.multiply, maximum=np.maximum, minimum=np.minimum)
DIVISIONS = dict(floor_div=np.floor_divide, mod=np.mod, fmod=np.fmod, trunc_div=None)
BINARY = dict(div=np.divide, atan2=np.arctan2, hypot=np.hypot, copysign=np.copysign, logaddexp=np.logaddexp)
COMPARE = dict(eq=np.equal, ne=np.not_equal, lt=np.less, le=np.less_equal, gt=np.greater, ge=np.greater_equal)
MADE_BY_COMPILER = {"block_totals", "barrier"}  # not by scripts
LOGICAL = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}
BITWISE = dict(bitwise_and=np.bitwise_and, bitwise_or=np.bitwise_or, bitwise_xor=np.bitwise_xor)
OTHERS = {
    "not",
    "bitwise_invert",
    "popcount",
    "pow",
    "nextafter",
    "bitwise_left_shift",
    "bitwise_right_shift",
    "where",
    "fma",
    "cast",
    "bitcast",
}


def digamma(x):
    total = 0.0
    while x < 20:
        total -= 1 / x
        x += 1
    i = 1 / (x * x)
    return total + math.log(x) - 0.5 / x - i * (1 / 12 - i * (1 / 120 - i * (1 / 252 - i * (1 / 240 - i / 132))))


def claimed():
    """(mnemonic, dtype) for all that the table says elementwise ops, reductions, scans and structural ops take."""
    text = (ROOT / "ir/Ops.def").read_text()
    macros = {name: set(re.findall(r"Trait::(\w+)", body))
              for name, body in re.findall(r"^#define TENC_(\w+)\(.*?\) \\\n(.*)$", text, re.M)}
    pairs = set()
    for macro, mnemonic, row in re.findall(r'^TENC_(\w+)\(\w+, "(\w+)",(.*)$', text, re.M):
        traits = set(re.findall(r"Trait::(\w+)", row)) | macros.get(macro, set())
        if not traits & {"Elementwise", "Reduction", "Scans", "Structural"} or mnemonic in MADE_BY_COMPILER: continue
        dtypes = FLOATS + INTS
        if "FloatOnly" in traits: dtypes = FLOATS
        if "IntOnly" in traits: dtypes = INTS
        if "BoolOnly" in traits: dtypes = []
        pairs |= {(mnemonic, t) for t in dtypes}
        if traits & {"BoolOk", "BoolOnly"} and mnemonic != "bitwise_invert": pairs.add((mnemonic, "bool"))
    return pairs


def elementwise_mnemonics():
    text = (ROOT / "ir/Ops.def").read_text()
    found = re.findall(r'^TENC_(?:UNARY_F|UNARY_R|BINARY_R|COMPARE|LOGICAL|BITS)\(\w+, "(\w+)"', text, re.M)
    return found + re.findall(r'^TENC_OP\(\w+, "(\w+)",[^\n]*Trait::Elementwise', text, re.M)


def wide(x, dtype):
    return np.asarray(x, long) if dtype in FLOATS else x


def next_bf16(a, b):
    """The bf16 numbers beside a toward b: the neighbours of its upper half of an f32, counted through zero."""
    bits = lambda x: np.frombuffer(raw(x, "bf16"), np.uint16).astype(np.int64)
    rank = np.where(bits(a) < 0x8000, bits(a), 0x8000 - bits(a))
    rank = rank + np.sign(np.nan_to_num(b, posinf=1e39, neginf=-1e39) - np.nan_to_num(a, posinf=1e39, neginf=-1e39))
    to = np.where(rank > 0, rank, 0x8000 - rank).astype(np.uint32)
    step = (to << 16).view(np.float32).astype(np.float64)
    return np.where(np.isnan(a) | np.isnan(b), np.nan, np.where(a == b, b, step))


def elementwise(folder, dtype, rng):
    p = Program(folder, f"elementwise_{dtype}")
    n = 71  # no multiple of any vector length
    a, b, c = (sample(dtype, rng, [n]) for _ in range(3))
    ca, cb, cc = (p.constant(x, dtype) for x in (a, b, c))
    m = sample("bool", rng, [n])
    cm = p.constant(m, "bool")
    wa, wb, wc = (wide(x, dtype) for x in (a, b, c))
    is_float = dtype in FLOATS
    with np.errstate(all="ignore"):
        p.check("where", p.op("where", [cm, ca, cb], {}, dtype, [n]), dtype, np.where(m, a, b))
        for name, f in COMPARE.items():
            p.check(name, p.op(name, [ca, cb], {}, "bool", [n]), "bool", f(a, b))
        if dtype == "bool":
            for name, f in LOGICAL.items():
                p.check(name, p.op(name, [ca, cb], {}, dtype, [n]), dtype, f(a, b))
            p.check("not", p.op("not", [ca], {}, dtype, [n]), dtype, ~a)
            for name, f in BITWISE.items():
                p.check(name, p.op(name, [ca, cb], {}, dtype, [n]), dtype, f(a, b))
            for name, f in dict(maximum=np.maximum, minimum=np.minimum).items():
                p.check(name, p.op(name, [ca, cb], {}, dtype, [n]), dtype, f(a, b))
        else:
            for name, f in UNARY_ANY.items():
                expected = f(wa) if is_float or name not in ("floor", "ceil", "round", "trunc") else a
                p.check(name, p.op(name, [ca], {}, dtype, [n]), dtype, expected)
            for name, f in BINARY_ANY.items():
                # Sums of f64 are rounded once by the machine: a wider sum would round twice.
                x, y = (a, b) if dtype in ("f64", "f32", "f16") else (wa, wb)
                p.check(name, p.op(name, [ca, cb], {}, dtype, [n]), dtype, f(x, y))
            divisor = b if is_float else np.where(b == 0, 3, b).astype(b.dtype)
            divisor = p.constant(divisor, dtype), divisor
            for name, f in DIVISIONS.items():
                if is_float and name == "trunc_div":
                    q = (a / b) if dtype in ("f64", "f32") else (np.asarray(a, np.float32) / np.asarray(b, np.float32))
                    expected = np.trunc(q)
                elif is_float and name == "floor_div":
                    x, y = (a, b) if dtype in ("f64", "f32") else (np.asarray(a, np.float32), np.asarray(b, np.float32))
                    expected = np.floor_divide(x, y)
                elif name == "trunc_div":
                    expected = np.array(
                        [
                            int(abs(int(x)) // abs(int(y))) * (1 if (int(x) < 0) == (int(y) < 0) else -1)
                            for x, y in zip(a, divisor[1])
                        ],
                        object,
                    )
                    expected = np.array([(int(v) + (1 << 64)) & ((1 << 64) - 1) for v in expected], np.uint64).astype(
                        NUMPY[dtype]
                    )
                else:
                    expected = f(
                        np.asarray(a, np.float64) if is_float else a,
                        np.asarray(divisor[1], np.float64) if is_float else divisor[1],
                    )
                    if dtype == "f64" or not is_float:
                        expected = f(a, divisor[1])
                p.check(name, p.op(name, [ca, divisor[0]], {}, dtype, [n]), dtype, expected)
        if is_float:
            for name, (f, *limits) in UNARY.items():
                x, cx = a, ca
                if limits:
                    x = sample(dtype, rng, [n], low=limits[0], high=limits[1])
                    cx = p.constant(x, dtype)
                weak = dtype == "f64" and name in ("erf", "erfc", "lgamma", "digamma")  # the reference is no better
                absolute = bounds.near_zeros(dtype) if name in ("lgamma", "digamma") else 0
                p.check(name, p.op(name, [cx], {}, dtype, [n]), dtype, f(wide(x, dtype)), 4 if weak else 1, absolute)
            for name, f in TESTS.items():
                p.check(name, p.op(name, [ca], {}, "bool", [n]), "bool", f(a))
            for name, f in BINARY.items():
                exact = name in ("div", "copysign") and dtype != "f64"
                # Near 0 a logarithm of a sum cancels: its error is that of the larger operand.
                cancels = np.ldexp(4.0, -BITS[dtype]) if name == "logaddexp" else 0.0
                p.check(name, p.op(name, [ca, cb], {}, dtype, [n]), dtype, f(wa, wb), 0 if exact else 1, cancels)
            base = np.abs(a)
            p.check(
                "pow",
                p.op("pow", [p.constant(base, dtype), cb], {}, dtype, [n]),
                dtype,
                np.power(wide(base, dtype), wb),
                1,
            )
            p.check("fma", p.op("fma", [ca, cb, cc], {}, dtype, [n]), dtype, wa * wb + wc, 1, 1e-30)
            after = np.nextafter(a, b) if dtype != "bf16" else next_bf16(a, b)
            p.check("nextafter", p.op("nextafter", [ca, cb], {}, dtype, [n]), dtype, after)
        elif dtype != "bool":
            for name, f in BITWISE.items():
                p.check(name, p.op(name, [ca, cb], {}, dtype, [n]), dtype, f(a, b))
            p.check("bitwise_invert", p.op("bitwise_invert", [ca], {}, dtype, [n]), dtype, ~a)
            width = a.dtype.itemsize * 8
            p.check(
                "popcount",
                p.op("popcount", [ca], {}, dtype, [n]),
                dtype,
                np.array([bin(int(v) & ((1 << width) - 1)).count("1") for v in a]),
            )
            s = sample(dtype, rng, [n], low=0, high=width + 3)
            cs = p.constant(s, dtype)
            inside = s < width
            t = np.where(inside, s, 0).astype(s.dtype)
            p.check(
                "bitwise_left_shift",
                p.op("bitwise_left_shift", [ca, cs], {}, dtype, [n]),
                dtype,
                np.where(inside, a << t, 0).astype(a.dtype),
            )
            over = (np.where(a < 0, -1, 0) if dtype[0] == "i" else np.zeros(n)).astype(a.dtype)
            p.check(
                "bitwise_right_shift",
                p.op("bitwise_right_shift", [ca, cs], {}, dtype, [n]),
                dtype,
                np.where(inside, a >> t, over),
            )
            e = sample(dtype, rng, [n], low=0, high=9)
            p.check("pow", p.op("pow", [ca, p.constant(e, dtype)], {}, dtype, [n]), dtype, a**e)
    return p


def casts(folder, dtype, rng):
    p = Program(folder, f"cast_{dtype}")
    n = 71
    x = sample(dtype, rng, [n])
    if dtype in FLOATS:
        x[20:30] = rounded(
            [1e4, -1e4, 300, -300, 127.9, 255.5, 65504, 1e5 if dtype != "f16" else 6e4, -129, 0.99], dtype
        )
    cx = p.constant(x, dtype)
    with np.errstate(all="ignore"):
        for to in FLOATS + INTS + ["bool"]:
            if to == dtype:
                continue
            if dtype in FLOATS and to in INTS:
                info = np.iinfo(NUMPY[to])
                expected = np.array(
                    [
                        0 if np.isnan(v) else info.max if v >= info.max else info.min if v <= info.min else int(v)
                        for v in np.asarray(x, np.float64)
                    ],
                    NUMPY[to],
                )
            elif to == "bool":
                expected = x != 0
            elif to == "bf16" and dtype in ("i64", "u64"):
                continue  # NumPy has no single rounding for it
            else:
                expected = rounded(x, to)
            p.check(f"cast {dtype} {to}", p.op("cast", [cx], {"dtype": to}, to, [n]), to, expected)
        same = {"f16": "i16", "bf16": "u16", "f32": "u32", "f64": "i64", "i8": "u8", "u8": "i8", "i16": "f16", "u16": "bf16",
                "i32": "f32", "u32": "i32", "i64": "u64", "u64": "f64"}.get(dtype)
        if same:
            bits = np.frombuffer(raw(np.nan_to_num(x) if dtype in FLOATS else x, dtype), np.uint8)
            expected = (bits.view(np.uint16).astype(np.uint32) << 16).view(np.float32) if same == "bf16" \
                else bits.view(NUMPY[same])
            y = np.nan_to_num(x) if dtype in FLOATS else x
            p.check("bitcast", p.op("bitcast", [p.constant(y, dtype)], {"dtype": same}, same, [n]), same, expected)
    return p


def reductions(folder, dtype, rng):
    p = Program(folder, f"reduce_{dtype}")
    shape = [5, 37, 3]
    x = sample(dtype, rng, shape, special=False)
    if dtype in FLOATS:
        x[0, 0, 0] = np.nan
    small = sample(dtype, rng, shape, special=False, low=-2, high=2) if dtype != "bool" else x
    cx, csmall = p.constant(x, dtype), p.constant(small, dtype)
    near_one = sample(dtype, rng, shape, special=False, low=0.9, high=1.1) if dtype in FLOATS else None
    cnear = p.constant(near_one, dtype) if dtype in FLOATS else None
    wide_type = {"i": "i64", "u": "u64", "b": "i64"}[dtype[0]] if dtype not in FLOATS else dtype
    accumulate = long if dtype in FLOATS else NUMPY[wide_type]
    scale = bounds.several(dtype) if dtype in FLOATS else 0
    with np.errstate(all="ignore"):
        for axes in [(0,), (1,), (2,), (0, 2), (1, 2), (0, 1, 2)]:
            for keep in (False, True):
                kept = [1 if d in axes else s for d, s in enumerate(shape) if keep or d not in axes]
                attrs = {"axes": list(axes), "keep": str(keep).lower()}
                args = dict(axis=axes, keepdims=keep)
                p.check(f"max {axes}", p.op("max", [cx], attrs, dtype, kept), dtype, np.max(x, **args))
                p.check(f"min {axes}", p.op("min", [cx], attrs, dtype, kept), dtype, np.min(x, **args))
                total = np.sum(np.asarray(small, accumulate), **args)
                error = float(np.max(np.sum(np.abs(np.asarray(small, long)), **args))) * scale
                p.check(f"sum {axes}", p.op("sum", [csmall], attrs, wide_type, kept), wide_type, total, 1, error)
                if dtype not in FLOATS:
                    p.check(
                        f"prod {axes}",
                        p.op("prod", [csmall], attrs, wide_type, kept),
                        wide_type,
                        np.prod(np.asarray(small, accumulate), **args),
                    )
                else:
                    # Each product of the f32 or f64 that accumulates is rounded.
                    product = np.prod(np.asarray(near_one, long), **args)
                    error = shape[0] * shape[1] * shape[2] * float(np.max(np.abs(product))) * min(scale, bounds.several("f32"))
                    p.check(f"prod {axes}", p.op("prod", [cnear], attrs, dtype, kept), dtype, product, 1, error)
                if dtype == "bool":
                    p.check(f"any {axes}", p.op("any", [cx], attrs, dtype, kept), dtype, np.any(x, **args))
                    p.check(f"all {axes}", p.op("all", [cx], attrs, dtype, kept), dtype, np.all(x, **args))
                if dtype in FLOATS:
                    count = np.prod([shape[d] for d in axes])
                    p.check(
                        f"mean {axes}",
                        p.op("mean", [csmall], attrs, dtype, kept),
                        dtype,
                        total / count,
                        1,
                        error / count,
                    )
                    w = np.asarray(small, long)
                    p.check(
                        f"variance {axes}",
                        p.op("variance", [csmall], attrs, dtype, kept),
                        dtype,
                        np.var(w, **args),
                        2,
                        8 * scale,
                    )
                    most = np.max(w, axis=axes, keepdims=True)
                    lse = np.log(np.sum(np.exp(w - most), axis=axes, keepdims=True)) + most
                    p.check(
                        f"logsumexp {axes}",
                        p.op("logsumexp", [csmall], attrs, dtype, kept),
                        dtype,
                        lse.reshape(kept),
                        2,
                        8 * scale,
                    )
            if len(axes) == 1 or len(axes) == 3:
                rest = [s for d, s in enumerate(shape) if d not in axes]
                for name, f in (("argmax", np.argmax), ("argmin", np.argmin)):
                    p.check(
                        f"{name} {axes}",
                        p.op(name, [cx], {"axes": list(axes)}, "i64", rest),
                        "i64",
                        f(x, axis=axes[0] if len(axes) == 1 else None),
                    )
            if dtype in FLOATS:
                w = np.asarray(small, long)
                e = np.exp(w - np.max(w, axis=axes, keepdims=True))
                p.check(
                    f"softmax {axes}",
                    p.op("softmax", [csmall], {"axes": list(axes)}, dtype, shape),
                    dtype,
                    e / e.sum(axis=axes, keepdims=True),
                    2,
                    4 * scale,
                )
                p.check(
                    f"log_softmax {axes}",
                    p.op("log_softmax", [csmall], {"axes": list(axes)}, dtype, shape),
                    dtype,
                    np.log(e / e.sum(axis=axes, keepdims=True)),
                    2,
                    16 * scale,
                )
                d = (w - w.mean(axis=axes, keepdims=True)) / np.sqrt(w.var(axis=axes, keepdims=True) + long(1e-5))
                p.check(
                    f"layer_norm {axes}",
                    p.op("layer_norm", [csmall], {"axes": list(axes), "eps": "1e-05"}, dtype, shape),
                    dtype,
                    d,
                    2,
                    16 * scale,
                )
        if dtype in FLOATS:
            w = np.asarray(small, long)
            p.check(
                "gelu",
                p.op("gelu", [csmall], {"tanh": "false"}, dtype, shape),
                dtype,
                w / 2 * vec(lambda v: math.erfc(-v / math.sqrt(2)))(w),
                2,
                4 * scale,
            )
            p.check(
                "gelu tanh",
                p.op("gelu", [csmall], {"tanh": "true"}, dtype, shape),
                dtype,
                w / 2 * (1 + np.tanh(np.sqrt(2 / long(np.pi)) * (w + long(0.044715) * w**3))),
                2,
                4 * scale,
            )
    return p


def structural(folder, dtype, rng):
    p = Program(folder, f"structural_{dtype}")
    x = sample(dtype, rng, [4, 5, 6], special=False)
    y = sample(dtype, rng, [4, 2, 6], special=False)
    cx, cy = p.constant(x, dtype), p.constant(y, dtype)
    z = np.asarray(x.ravel()[0])
    cz = p.constant(z, dtype)

    def check(label, mnemonic, operands, attrs, expected):
        p.check(label, p.op(mnemonic, operands, attrs, dtype, expected.shape), dtype, expected)

    check("reshape", "reshape", [cx], {"shape": "[10, 12]"}, x.reshape(10, 12))
    for perm in itertools.permutations(range(3)):
        check(f"permute {perm}", "permute", [cx], {"perm": list(perm)}, x.transpose(perm))
    check(
        "broadcast",
        "broadcast",
        [p.constant(x[:, :1], dtype)],
        {"shape": "[3, 4, 5, 6]"},
        np.broadcast_to(x[:, :1], (3, 4, 5, 6)),
    )
    check(
        "slice",
        "slice",
        [cx],
        {"starts": "[3, 0, 1]", "sizes": "[4, 3, 2]", "steps": "[-1, 2, 3]"},
        x[::-1, ::2, 1:6:3],
    )
    check(
        "pad",
        "pad",
        [cx, cz],
        {"lo": "[1, 0, 2]", "hi": "[0, 3, 1]"},
        np.pad(x, [(1, 0), (0, 3), (2, 1)], constant_values=z),
    )
    check("concat", "concat", [cx, cy, cx], {"axis": 1}, np.concatenate([x, y, x], axis=1))
    check("flip", "flip", [cx], {"axes": "[0, 2]"}, np.flip(x, (0, 2)))
    check("empty", "slice", [cx], {"starts": "[0, 0, 0]", "sizes": "[4, 0, 6]", "steps": "[1, 1, 1]"}, x[:, :0])
    i, j = rng.integers(-4, 4, [3, 2]), rng.integers(-6, 6, [3, 2])
    ci, cj = p.constant(i, "i64"), p.constant(j.astype(np.int32), "i32")
    check("gather 0", "gather", [cx, ci], {"axes": "[0]", "at": 0}, x[i])
    check("gather 2 at 1", "gather", [cx, cj], {"axes": "[2]", "at": 1}, np.moveaxis(x[:, :, j], [2, 3], [1, 2]))
    check("gather 0 2", "gather", [cx, ci, cj], {"axes": "[0, 2]", "at": 0}, x[i, :, j])
    start = p.constant(np.asarray(-3), "i64")
    check(
        "dynamic_slice",
        "dynamic_slice",
        [cx, start, p.constant(np.asarray(1), "i64")],
        {"axes": "[0, 2]", "sizes": "[2, 4]"},
        x[1:3, :, 1:5],
    )
    updated = x.copy()
    updated[3:, 1:5:3, :] = y[:1]
    check(
        "update_slice",
        "update_slice",
        [cx, p.constant(y[:1], dtype)],
        {"starts": "[3, 1, 0]", "steps": "[1, 3, 1]"},
        updated,
    )
    updated = x.copy()
    updated[:, 2:4] = y
    check("dynamic_update", "dynamic_update", [cx, cy, p.constant(np.asarray(2), "i64")], {"axes": "[1]"}, updated)
    u = sample(dtype, rng, [3, 2, 5, 6], special=False)
    cu = p.constant(u, dtype)
    for mode, f in dict(set=None, max=np.maximum, min=np.minimum, add=np.add).items():
        if dtype == "bool" and mode == "add" or dtype in ("f16", "bf16") and mode == "add":
            continue  # rounds after every addition: not NumPy's order
        updated = x.copy()
        with np.errstate(all="ignore"):
            for k, l in itertools.product(range(3), range(2)):
                updated[i[k, l]] = u[k, l] if f is None else f(updated[i[k, l]], u[k, l])
        check(f"scatter {mode}", "scatter", [cx, cu, ci], {"axes": "[0]", "at": 0, "mode": f'"{mode}"'}, updated)
    return p


def products(folder, dtype, rng):
    p = Program(folder, f"matmul_{dtype}")
    for batch, m, k, n in [
        ((), 1, 1, 1),
        ((), 7, 13, 5),
        ((), 33, 65, 17),
        ((), 1, 40, 64),
        ((), 40, 3, 1),
        ((2, 3), 4, 5, 6),
        ((), 4, 0, 3),
        ((), 130, 70, 96),
        ((), 3, 67, 1980 if dtype in ("f16", "bf16") else 64),  # whole rows of the right operand
    ]:
        a = sample(dtype, rng, [*batch, m, k], special=False, low=-1, high=1 if dtype in FLOATS else 100)
        b = sample(dtype, rng, [*batch, k, n], special=False, low=-1, high=1 if dtype in FLOATS else 100)
        with np.errstate(all="ignore"):
            wide = [np.asarray(x, np.float64) if dtype in FLOATS else x for x in (a, b)]
            expected = wide[0] @ wide[1]
            size = np.abs(wide[0]) @ np.abs(wide[1]) if dtype in FLOATS else 0
        c = p.op("matmul", [p.constant(a, dtype), p.constant(b, dtype)], {}, dtype, [*batch, m, n])
        p.check(f"matmul {batch} {m} {k} {n}", c, dtype, expected, 1, bounds.terms(k, "f64" if dtype == "f64" else "f32") * size)
    return p


def scans(folder, dtype, rng):
    """Running sums, products, maxima and minima, whole and in blocks of 7 that start from given values."""
    p = Program(folder, f"scans_{dtype}")
    modes = dict(max=np.maximum, min=np.minimum) if dtype == "bool" else \
        dict(add=np.add, mul=np.multiply, max=np.maximum, min=np.minimum)
    for shape, axis in [((1,), 0), ((5,), 0), ((70,), 0), ((300,), 0), ((3, 200), 1), ((100, 3), 0), ((40, 9), 0),
                        ((2, 90, 3), 1), ((5, 2), 1), ((0, 4), 0), ((3, 0), 1)]:
        n = shape[axis]
        for mode, f in modes.items():
            inexact = dtype in FLOATS and mode in ("add", "mul")
            low, high = (-1, 1) if mode == "add" else (0.95, 1.05)
            x = sample(dtype, rng, shape, False, low, high) if inexact else sample(dtype, rng, shape, special=False)
            kind = NUMPY.get(dtype, np.float64) if dtype not in FLOATS else long
            at = lambda a: np.moveaxis(a.astype(kind), axis, 0)
            c = p.constant(x, dtype)
            absolute = bounds.sum_near_one(n, dtype) if inexact else 0
            def check(label, value, expected):
                p.check(f"cumulate {label} {mode} {shape} {axis}", value, dtype, np.moveaxis(expected, 0, axis),
                        1 if inexact else 0, absolute)
            for reverse in (False, True):
                turn = lambda a: a[::-1] if reverse else a
                with np.errstate(all="ignore"):
                    whole = f.accumulate(turn(at(x)), 0, dtype=kind) if n else at(x)
                attrs = {"axes": f"[{axis}]", "mode": f'"{mode}"', "reverse": str(reverse).lower()}
                check(f"reverse {reverse}", p.op("cumulate", [c], attrs, dtype, shape), turn(whole))
                if not n:
                    continue
                shifted = p.op("cumulate", [c], {**attrs, "exclusive": "true"}, dtype, shape)
                part = [slice(None)] * len(shape)
                part[axis] = slice(0, n - 1) if reverse else slice(1, n)
                starts, sizes = [q.indices(d)[0] for q, d in zip(part, shape)], [len(range(*q.indices(d))) for q, d in zip(part, shape)]
                rest = p.op("slice", [shifted], {"starts": starts, "sizes": sizes, "steps": [1] * len(shape)}, dtype, sizes)
                check(f"exclusive {reverse}", rest, turn(whole[:-1]))
                parts = [turn(at(x))[i : i + 7] for i in range(0, n, 7)]
                with np.errstate(all="ignore"):
                    totals = np.stack([f.reduce(q, 0, dtype=kind) for q in parts])
                    begin = rounded(at(sample(dtype, rng, shape, False, low, high) if inexact else x)[: len(parts)], dtype)
                    blocks = [f(b.astype(kind), f.accumulate(q, 0, dtype=kind)) for b, q in zip(begin, parts)]
                few = list(shape)
                few[axis] = len(parts)
                check("totals", p.op("block_totals", [c], {**attrs, "block": 7}, dtype, few), totals)
                start = p.constant(np.moveaxis(begin, 0, axis), dtype)
                check("blocks", p.op("cumulate", [c, start], {**attrs, "block": 7}, dtype, shape),
                      turn(np.concatenate(blocks)))
    return p


def stable_order(x, descending):
    """Places of the last axis in stable order: -0 equals +0, NaN is the largest."""
    key = np.asarray(x, np.float64) if x.dtype.kind == "f" else x.astype(object)
    n = x.shape[-1]
    flat = key.reshape(math.prod(x.shape[:-1]), n)
    places = np.empty(flat.shape, np.int64)
    for r, row in enumerate(flat):
        nan = [x.dtype.kind == "f" and math.isnan(v) for v in row]
        rank = lambda i: (1, 0) if nan[i] else (0, row[i])
        if descending:  # the later of equals must not come first: sorted in reverse, then flipped
            places[r] = sorted(range(n - 1, -1, -1), key=rank)[::-1]
        else:
            places[r] = sorted(range(n), key=rank)
    return places.reshape(x.shape)


def sorting(folder, dtype, rng):
    p = Program(folder, f"sorting_{dtype}")
    for shape in [(1,), (2, 17), (3, 65), (1, 300), (0, 4), (4, 0), (2, 1500), (9, 33), (17, 130), (18, 256)]:
        x = sample(dtype, rng, shape, special=math.prod(shape) > 14)
        if dtype in FLOATS and x.size > 14:
            x = np.where(rng.random(shape) < 0.2, rng.choice(x.ravel()[:14], shape), x)  # ties, zeros, NaNs
        elif dtype not in FLOATS and x.size:
            x = x % 7 if dtype != "bool" and rng.random() < 0.5 else x
        if shape[0] == 17: x = np.nan_to_num(x, nan=-0.0)  # rows are sorted side by side where none has a NaN
        x = rounded(x, dtype)
        c = p.constant(x, dtype)
        for descending in (False, True):
            attrs = {"descending": "true" if descending else "false"}
            order = stable_order(x, descending)
            values = np.take_along_axis(x, order, -1)
            s = p.op("sort", [c], attrs, dtype, shape)
            p.check(f"sort {shape} {descending}", s, dtype, values)
            if dtype in ("f32", "f64"):  # also the signs of zeros
                one = p.constant(np.ones(shape), dtype)
                signs = p.op("copysign", [one, s], {}, dtype, shape)
                p.check(f"sort signs {shape}", signs, dtype, np.copysign(np.ones(shape), values))
            p.check(f"argsort {shape} {descending}", p.op("argsort", [c], attrs, "i64", shape), "i64", order)
            for k in sorted({min(5, shape[-1]), shape[-1] // 3}):
                v, i = p.fresh(), p.fresh()
                part = [*shape[:-1], k]
                p.dtypes |= {v: dtype, i: "i64"}
                p.used.add(("topk", dtype))
                p.lines.append(f"  {v}, {i} = topk {c} {{k = {k}, largest = {attrs['descending']}}} : "
                               f"{p.type(dtype, part)}, {p.type('i64', part)}")
                p.check(f"topk {shape} {k}", v, dtype, values[..., :k])
                p.check(f"topk places {shape} {k}", i, "i64", order[..., :k])
    return p


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--interp", help="tenc-opt")
    parser.add_argument("--tenc", help="tenc")
    parser.add_argument("--with", dest="extra", action="append", default=[], help="a further option for tenc")
    parser.add_argument("--only", default="", help="only programs whose name contains this")
    parser.add_argument("--keep", action="store_true", help="keep the generated programs")
    parser.add_argument("--cuda", help="the driver of a virtual machine for PTX")
    args = parser.parse_args()
    if args.cuda:
        machine.skip_without_nvrtc(args.tenc, args.cuda)
        args.extra += machine.FLAGS
        Program.head = "default_device cuda:0\n"
        Program.environment = machine.environment(args.tenc, args.cuda, "random")
    covered = {*UNARY, *UNARY_ANY, *TESTS, *BINARY_ANY, *DIVISIONS, *BINARY, *COMPARE, *LOGICAL, *BITWISE, *OTHERS}
    missing = set(elementwise_mnemonics()) - covered
    if missing:
        sys.exit(f"no reference for {', '.join(sorted(missing))}")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="tenc-ops-"))
    failures, count, used = [], 0, set()
    engines = []
    if args.interp:
        engines.append(("interp", [args.interp, "{file}", "--run"], lambda label, ulps, dtype: ulps))
        # The passes may fold and regroup, and decomposed rows round between their ops.
        engines.append(
            (
                "passes",
                [args.interp, "{file}", "--passes=" + PIPELINE, "--run"],
                lambda label, ulps, dtype: ulps and ulps + 3,
            )
        )
    if args.tenc:
        def compiled(label, ulps, dtype):
            """Beyond half a unit, which is always allowed."""
            name = label.split()[0]
            return bounds.function(name, dtype) - 0.5 if ulps == 1 and name in bounds.FUNCTIONS else ulps
        engines.append(("tenc", [args.tenc, "{file}", *args.extra], compiled))
    try:
        for maker, dtypes in (
            (elementwise, FLOATS + INTS + ["bool"]),
            (casts, FLOATS + INTS + ["bool"]),
            (reductions, FLOATS + INTS + ["bool"]),
            (structural, FLOATS + INTS + ["bool"]),
            (products, FLOATS + ["i32", "u8", "i64"]),
            (scans, FLOATS + INTS + ["bool"]),
            (sorting, FLOATS + INTS + ["bool"]),
        ):
            for dtype in dtypes:
                if args.only not in f"{maker.__name__}_{dtype}":
                    continue
                program = maker(folder, dtype, np.random.default_rng(7))
                used |= program.used
                for engine, command, loosen in engines:
                    found = []
                    program.run(command, loosen, found)
                    failures += [f"{engine}: {f}" for f in found]
                    count += len(program.expected)
    finally:
        if args.keep:
            print(folder)
        else:
            shutil.rmtree(folder)
    untested = {} if args.only else sorted(claimed() - used)
    failures += [f"no program tries `{op}` on {dtype}, which the table says it takes" for op, dtype in untested]
    print("\n".join(failures))
    print(f"{count} results compared, {len(failures)} differ")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
