"""Programs of .tir text with the values that they must save: sampled operands, rounding to any dtype, comparison in units in
the last place."""

import subprocess

import numpy as np

FLOATS = ["f16", "bf16", "f32", "f64"]
INTS = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"]
NUMPY = {
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
    "bool": np.bool_,
    **{t: np.dtype(t.replace("i", "int") if t[0] == "i" else t.replace("u", "uint")).type for t in INTS},
}
BITS = {"f16": 11, "bf16": 8, "f32": 24, "f64": 53}
LEAST_EXPONENT = {"f16": -14, "bf16": -126, "f32": -126, "f64": -1022}

long = np.longdouble


def to_bf16(x):
    """float64 rounded to bfloat16, ties to even (as float64)."""
    x = np.asarray(x, np.float64)
    with np.errstate(all="ignore"):
        _, e = np.frexp(x)
        unit = np.ldexp(1.0, np.maximum(e - 1, -126) - 7)
        y = np.where(np.isfinite(x), np.round(x / unit) * unit, x)
        return np.where(np.abs(y) >= 2.0**128, np.copysign(np.inf, x), y)


def rounded(x, dtype):
    """A float or integer array as values of the dtype; bf16 is held as float64."""
    with np.errstate(all="ignore"):
        if dtype == "bf16":
            return to_bf16(x)
        return np.asarray(x).astype(NUMPY[dtype])


def raw(x, dtype):
    if dtype == "bf16":
        return (np.asarray(x, np.float32).view(np.uint32) >> 16).astype(np.uint16).tobytes()
    return np.ascontiguousarray(x).astype(NUMPY[dtype]).tobytes()


def sample(dtype, rng, shape, special=True, low=None, high=None):
    n = int(np.prod(shape))
    if dtype == "bool":
        return rng.integers(0, 2, n).astype(bool).reshape(shape)
    if dtype in FLOATS:
        x = rng.normal(size=n) * np.exp(rng.normal(size=n)) if low is None else rng.uniform(low, high, n)
        if special and low is None:
            for i, v in enumerate(
                [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -3.5, np.inf, -np.inf, np.nan, 1e-3, 40.0, -40.0, 3.0]
            ):
                if i < n:
                    x[i] = v
        return rounded(x, dtype).reshape(shape)
    info = np.iinfo(NUMPY[dtype])
    lo, hi = (info.min, info.max) if low is None else (max(low, info.min), min(high, info.max))
    x = rng.integers(lo, hi, n, dtype=NUMPY[dtype], endpoint=True)
    if special and low is None:
        for i, v in enumerate([0, 1, info.max, info.min, 2, 3, 7]):
            x[i] = v
    return x.reshape(shape)


class Program:
    """One .tir text: constants, ops and the saving of results, with what is expected of each."""

    head = ""  # what stands before the function
    environment = None  # of what runs it; None: that of this process

    def __init__(self, folder, name):
        self.folder, self.name, self.lines, self.expected, self.n = folder, name, [], [], 0
        self.dtypes = {}  # of the values
        self.used = set()  # (mnemonic, dtype of what it works on)

    def fresh(self):
        self.n += 1
        return f"%v{self.n}"

    @staticmethod
    def type(dtype, shape):
        return dtype + (str(list(shape)) if len(shape) else "")

    def constant(self, x, dtype):
        v, x = self.fresh(), np.asarray(x)
        body = "[]" if x.size == 0 else f'hex"{raw(x, dtype).hex()}"'
        self.lines.append(f"  {v} = constant {{value = {body}}} : {self.type(dtype, x.shape)}")
        self.dtypes[v] = dtype
        return v

    def op(self, mnemonic, operands, attrs, dtype, shape):
        v = self.fresh()
        self.dtypes[v] = dtype
        self.used.add((mnemonic, self.dtypes[operands[1 if mnemonic == "where" else 0]]))
        attrs = " {" + ", ".join(f"{k} = {a}" for k, a in attrs.items()) + "}" if attrs else ""
        self.lines.append(f"  {v} = {mnemonic} {', '.join(operands)}{attrs} : {self.type(dtype, shape)}")
        return v

    def check(self, label, value, dtype, expected, ulps=0, absolute=0.0):
        """Saves `value`, which must be `expected` (held wider or in the dtype)."""
        expected = np.asarray(expected)
        if dtype == "bf16":
            value, dtype_saved = self.op("cast", [value], {"dtype": "f32"}, "f32", expected.shape), "bf16"
        else:
            dtype_saved = dtype
        path = self.folder / f"{self.name}.{len(self.expected)}.npy"
        self.lines.append(f'  save {value} {{path = "{path}", format = "npy"}}')
        self.expected.append((label, path, dtype_saved, expected, ulps, absolute))

    def text(self):
        return self.head + "func @main() {\n" + "\n".join(self.lines) + "\n  return\n}\n"

    def run(self, command, loosen, failures):
        source = self.folder / f"{self.name}.tir"
        source.write_text(self.text())
        for _, path, *_ in self.expected:
            path.unlink(missing_ok=True)
        done = subprocess.run([a.format(file=source) for a in command], capture_output=True, text=True, timeout=120, env=self.environment)
        if done.returncode:
            failures.append(f"{self.name}: status {done.returncode}: {(done.stdout + done.stderr).strip()[:2000]}")
            return
        for label, path, dtype, expected, ulps, absolute in self.expected:
            got = np.load(path)
            allowed = loosen(label, ulps, dtype)
            wrong = difference(got, expected, dtype, allowed, absolute)
            if wrong:
                failures.append(f"{self.name}: {label}: {wrong}")


def difference(got, expected, dtype, ulps, absolute):
    if got.shape != expected.shape:
        return f"shape {got.shape}, expected {expected.shape}"
    if dtype not in FLOATS:
        bad = got != rounded(expected, dtype)
    else:
        with np.errstate(all="ignore"):
            want = rounded(expected, dtype).astype(np.float64)
            have = got.astype(np.float64)
            _, e = np.frexp(np.where(np.isfinite(want), want, 1.0))
            unit = np.ldexp(1.0, np.maximum(e, LEAST_EXPONENT[dtype] + 1) - BITS[dtype])
            same = (have == want) | (np.isnan(have) & np.isnan(want))
            exact = np.asarray(expected, long)
            close = np.abs(have.astype(long) - np.where(np.isfinite(exact), exact, 0)) <= (ulps + 0.5) * unit + absolute
            bad = ~(same | (close & np.isfinite(have) & np.isfinite(want) & ((ulps > 0) | (absolute > 0))))
    if not np.any(bad):
        return None
    at = tuple(np.argwhere(bad)[0])
    return f"{int(np.sum(bad))} of {got.size} differ, first at {at}: {got[at]!r}, expected {rounded(expected, dtype)[at]!r}"
