#!/usr/bin/env python3
"""By how much results may differ from the exact ones, or two right results from each other, and why: for every test of
numbers. Run as a program it checks that docs/math.md and functions.def name the same functions, with errors that are
within the bounds and figures that say "within" which are the bounds. Closes with `N passed, N failed`.

`EPS` is the spacing of a dtype at 1. One rounding is off by half of it at most, so that two results that round a value n
times each are at most n * EPS of it apart. What is measured in units in the last place is a multiple of the spacing at
the exact result."""
import pathlib
import re
import sys

EPS = {"f16": 2.0**-10, "bf16": 2.0**-7, "f32": 2.0**-23, "f64": 2.0**-52}
# The least positive number, half of which rounding a smaller one may take.
TINY = {"f16": 2.0**-24, "bf16": 2.0**-133, "f32": 2.0**-149, "f64": 2.0**-1074}
HERE = pathlib.Path(__file__).resolve().parent
# Functions that have no kernel of their own: log1p of exp, and an addition, with their roundings.
COMPOSED = {"logaddexp": (4, 4)}


def functions():
    """name -> the bounds of functions.def in f32 and f64, in units in the last place."""
    rows = re.findall(r"^FUNCTION\((\w+), ([\d.]+), ([\d.]+)\)$", (HERE / "functions.def").read_text(), re.M)
    return {name: (float(f32), float(f64)) for name, f32, f64 in rows} | COMPOSED


FUNCTIONS = functions()


def hair(dtype):
    """How far from a tie a function of f16 or bf16 may have been rounded the other way, in units in the last place: it is
    computed in f32, whose error of 2 units at most is 2^-12 and 2^-15 of those, and rounded; four times that."""
    return 4 * 2 * EPS["f32"] / EPS[dtype]


def function(name, dtype):
    """The error of an elementwise operation of compiled code, in units in the last place; 1/2 is the nearest value."""
    if name not in FUNCTIONS: return 0.5
    if dtype in ("f16", "bf16"): return 0.5 + hair(dtype)
    return FUNCTIONS[name][dtype == "f64"]


def relative(name, dtype):
    """How far apart two right results of a function may be, relative to one of them: twice its error, where the spacing is
    at most EPS of the value."""
    return 2 * max(function(name, dtype), 1) * EPS[dtype]


def terms(count, dtype="f32"):
    """How far apart two sums of `count` terms in any order may be, as a share of the sum of their magnitudes: each rounds
    `count` times at most, and a term that is itself a product, or a weighted value, twice more."""
    return (count + 2) * EPS[dtype]


def product_of_halves(dtype):
    """The same for products in f16 and bf16, which are summed in f32: two results that are rounded once are a unit apart."""
    return 2 * EPS[dtype]


def sum_near_one(count, dtype):
    """The error of running sums and products of `count` values of magnitude 1 at most, halves in f32: each of the partial
    results, which are `count` at most, is rounded."""
    return count * max(count, 1) * EPS["f64" if dtype == "f64" else "f32"]


def several(dtype):
    """The error of a few roundings one after another, as a share of the magnitudes: in f16 and bf16 one in their own dtype, as
    all before it is in f32."""
    return (2 if dtype in ("f16", "bf16") else 4) * EPS[dtype]


def near_zeros(dtype):
    """The error of the references of lgamma and digamma near their zeros, where terms near 10 cancel: absolute."""
    return {"f64": 1e-14, "f32": 1e-6, "f16": 1e-3, "bf16": 1e-2}[dtype]


def backward(size, dtype):
    """The backward error of a factorisation, as a share of the norm: `size` eps times a modest constant (Higham, Accuracy
    and Stability of Numerical Algorithms, theorems 9.3, 10.3 and 19.4)."""
    return 8 * size * EPS[dtype]


# How many roundings lie behind an element of what is composed of other operations, of `n` terms. Each function counts with
# its units in the last place, each sum with its terms, and what follows a difference (the deviations of a variance, the
# argument of an exponential) with how much larger the operands are, which is 16 in what the random programs make.
ROUNDINGS = {
    "softmax": lambda n: n + 40,
    "log_softmax": lambda n: 16,   # for each unit of |x| and n
    "logsumexp": lambda n: 16,     # for each unit of |x| and n
    "attention": lambda n: 16,     # for each unit of |q| |k| and n
    "variance": lambda n: 16 * (n + 8),
    "std": lambda n: 32 * (n + 8),
    "layer_norm": lambda n: 32 * (n + 16),
    "norm": lambda n: 4 * (n + 8),
    "cumsum": lambda n: 2 * (n + 2),
    "activation": lambda n: 32,
    "linear_algebra": lambda n: 400 * n,  # well conditioned matrices of order n: 8 n for each of some products and solutions
}


def composed(name, n, dtype):
    """How far apart two results of a composition may be, as a share of the magnitudes that go into it."""
    return ROUNDINGS[name](n) * EPS[dtype]


def page():
    """name -> the cells of docs/math.md for f32 and f64."""
    text = (HERE.parents[1] / "docs/math.md").read_text()
    table = text[text.index("| function | f32 | f64 |"):].split("\n\n")[0]
    return {name: cells for row in table.splitlines() for name, *cells in re.findall(r"\| `(\w+)` \| ([^|]+) \| ([^|]+) ", row)}


def main():
    problems, told, checked = [], page(), 0
    for name in sorted({*told, *FUNCTIONS} - {*COMPOSED}):
        if name not in told or name not in FUNCTIONS:
            problems.append(f"{name} is {'not ' if name not in told else ''}in docs/math.md and {'not ' if name not in FUNCTIONS else ''}in functions.def")
            continue
        for dtype, cell, bound in zip(("f32", "f64"), told[name], FUNCTIONS[name]):
            checked += 1
            found = float(cell.removeprefix("within "))
            # Figures are rounded to their last digit.
            if cell.startswith("within ") and found != bound or found > bound + 0.0005:
                problems.append(f"{name} in {dtype} is {cell} in docs/math.md, and its bound {bound:g}")
    for p in problems: print(p)
    print(f"{checked} passed, {len(problems)} failed")
    return int(bool(problems) or not checked)


if __name__ == "__main__":
    sys.exit(main())
