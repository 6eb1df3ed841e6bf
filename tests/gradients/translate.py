"""How a call of PyTorch is written in TL: one function for each operation of PyTorch's database, with PyTorch's
parameters. Tensors that are differentiated stand for themselves as `Ref`; everything else is a constant of the call.
None, or a NotImplemented exception, says that TL has no such call."""
import math

import torch


class Ref(str):
    """The name of a tensor in the program, with its shape."""
    def __new__(cls, name, shape):
        made = super().__new__(cls, name)
        made.shape = tuple(shape)
        return made

    @property
    def ndim(self): return len(self.shape)


class Skip(Exception):
    pass


def skip(): raise Skip


def lit(v):
    """A constant: number, bool, nested list or tensor of integers or bools."""
    if isinstance(v, Ref): return v
    if isinstance(v, torch.Tensor):
        if v.is_complex(): skip()
        if v.numel() == 0 or (v.is_floating_point() and v.ndim): skip()
        return lit(v.tolist())
    if isinstance(v, bool): return "true" if v else "false"
    if isinstance(v, complex): skip()
    if isinstance(v, float):
        if math.isinf(v): return "-inf" if v < 0 else "inf"
        return f"({v!r})" if v < 0 else repr(v)
    if isinstance(v, int): return f"({v})" if v < 0 else str(v)
    if isinstance(v, str): return f'"{v}"'
    if isinstance(v, (list, tuple, torch.Size)): return "[" + ", ".join(map(lit, v)) + "]"
    return skip()


def num(v):
    """A constant where a float is meant."""
    return lit(float(v)) if isinstance(v, (int, float)) and not isinstance(v, bool) else lit(v)


def call(name, *args, **options):
    parts = [str(a) if isinstance(a, Ref) else a for a in args]
    parts += [f"{k}: {v}" for k, v in options.items() if v is not None]
    return f"{name}({', '.join(parts)})"


def one(axis, ndim): return axis % ndim if ndim else skip()


def axes(dim, ndim):
    if dim is None or (isinstance(dim, (list, tuple)) and not dim): return None
    if isinstance(dim, (list, tuple)):
        if ndim == 0: skip()
        return "(" + ", ".join(str(d % ndim) for d in dim) + ")" if len(dim) > 1 else str(dim[0] % ndim)
    return str(one(dim, ndim))


def keep(k): return "true" if k else None


def plain(*more):
    """Nothing was asked for that TL does not have."""
    if any(not (m is None or m is False or m is torch.float64) for m in more): skip()


T = {}


def op(*names):
    def put(f):
        for n in names: T[n] = f
        return f
    return put


for torch_name, name in {**{n: n for n in (
        "abs acos acosh asin asinh atan atanh ceil cos cosh digamma erf erfc exp exp2 expm1 floor lgamma log log10 log1p log2 "
        "reciprocal rsqrt sigmoid sign sin sinh sqrt square tan tanh trunc").split()}, "nn.functional.relu": "relu", "nn.functional.hardswish": "hardswish",
        "nn.functional.softsign": "softsign", "nn.functional.selu": "selu", "nn.functional.hardsigmoid": "hardsigmoid", "sgn": "sign",
        "nn.functional.silu": "silu", "nn.functional.mish": "mish"}.items():
    def unary(x, *rest, _n=name, **more):
        plain(*rest, *(v for k, v in more.items() if k != "inplace"))
        return call(_n, x)
    T[torch_name] = unary

for torch_name, symbol in {"add": "+", "sub": "-", "mul": "*", "div.no_rounding_mode": "/", "true_divide": "/", "pow": "**", "float_power": "**",
                           "__radd__": "r+", "__rsub__": "r-", "__rmul__": "r*", "__rdiv__": "r/", "__rpow__": "r**", "rsub": "r-",
                           "__rmatmul__": "r@", "remainder": "%", "__rmod__": "r%"}.items():
    def binary(a, b, *, alpha=1, rounding_mode=None, _s=symbol):
        if rounding_mode is not None: skip()
        x, y = (num(b), num(a)) if _s[0] == "r" else (num(a), num(b))
        if _s[0] == "r" and alpha != 1: y = f"{y} * {num(alpha)}"
        elif alpha != 1: y = f"{y} * {num(alpha)}"
        return f"{x} {_s.lstrip('r')} {y}"
    T[torch_name] = binary

for torch_name, name in {"atan2": "atan2", "maximum": "maximum", "minimum": "minimum", "max.binary": "max", "min.binary": "min", "fmod": "fmod", "hypot": "hypot",
                         "copysign": "copysign", "logaddexp": "logaddexp", "dot": "dot", "vdot": "dot", "mv": "matmul", "mm": "matmul",
                         "bmm": "matmul", "matmul": "matmul", "outer": "outer"}.items():
    T[torch_name] = lambda a, b, _n=name: call(_n, num(a), num(b))
T["div.trunc_rounding"] = lambda a, b, rounding_mode: call("trunc_div", num(a), num(b))
T["div.floor_rounding"] = lambda a, b, rounding_mode: f"{num(a)} // {num(b)}"
T["clone"] = T["contiguous"] = T["positive"] = T["real"] = T["conj"] = lambda x, **k: f"{x} * 1.0"
T["neg"] = lambda x: f"-{x}"
T["deg2rad"] = lambda x: f"{x} * {math.pi / 180!r}"
T["rad2deg"] = lambda x: f"{x} * {180 / math.pi!r}"
T["frac"] = lambda x: f"{x} - trunc({x})"
T["nan_to_num"] = lambda x, *a, **k: skip()
T["logit"] = lambda x, eps=None: f"log({x} / (1.0 - {x}))" if eps is None else skip()
T["sinc"] = lambda x: skip()
T["xlogy"] = lambda a, b: f"{num(a)} * log({num(b)})"
T["special.xlog1py"] = lambda a, b: f"{num(a)} * log1p({num(b)})"
T["ldexp"] = lambda a, b: f"{a} * exp2(f64({num(b)}))"
T["logaddexp2"] = lambda a, b: f"log2(exp2({a}) + exp2({b}))"
T["special.entr"] = lambda x: f"-{x} * log({x})"
T["special.ndtr"] = lambda x: f"0.5 * erfc(-{x} * {2 ** -0.5!r})"
T["special.log_ndtr"] = lambda x: f"log(0.5 * erfc(-{x} * {2 ** -0.5!r}))"


@op("addcmul")
def addcmul(x, a, b, value=1): return f"{x} + {num(value)} * {a} * {b}"
@op("addcdiv")
def addcdiv(x, a, b, value=1): return f"{x} + {num(value)} * {a} / {b}"
@op("addmm", "addmm.decomposed", "addmv", "baddbmm")
def addmm(x, a, b, beta=1, alpha=1): return f"{num(beta)} * {x} + {num(alpha)} * ({a} @ {b})"
@op("addbmm")
def addbmm(x, a, b, beta=1, alpha=1): return f"{num(beta)} * {x} + {num(alpha)} * sum({a} @ {b}, axis: 0)"
@op("addr")
def addr(x, a, b, beta=1, alpha=1): return f"{num(beta)} * {x} + {num(alpha)} * outer({a}, {b})"
@op("clamp")
def clamp(x, min=None, max=None):
    if isinstance(min, Ref) or isinstance(max, Ref): skip()  # gradients at bounds that are tensors
    return call("clamp", x, "-inf" if min is None else num(min), "inf" if max is None else num(max))
@op("clamp_min")
def clamp_min(x, m): return call("max", x, num(m))
@op("clamp_max")
def clamp_max(x, m): return call("min", x, num(m))
@op("lerp")
def lerp(a, b, w): return call("lerp", a, b, num(w))
@op("where")
def where(a, c, b): return call("where", lit(c), num(a), num(b))
@op("masked_fill")
def masked_fill(x, m, v): return call("where", lit(m), num(v), x)
@op("round")
def round_(x, decimals=0): return skip() if decimals else call("round", x)

# ---- activations
@op("nn.functional.leaky_relu")
def leaky_relu(x, negative_slope=0.01, inplace=False): return call("leaky_relu", x, slope=num(negative_slope))
@op("nn.functional.elu")
def elu(x, alpha=1.0, inplace=False): return call("elu", x, alpha=num(alpha))
@op("nn.functional.celu")
def celu(x, alpha=1.0, inplace=False): return call("celu", x, alpha=num(alpha))
@op("nn.functional.gelu")
def gelu(x, approximate="none"): return call("gelu", x, approximate=lit(approximate))
@op("nn.functional.softplus")
def softplus(x, beta=1, threshold=20): return call("softplus", x) if beta == 1 and threshold >= 20 else skip()
@op("nn.functional.hardtanh")
def hardtanh(x, min_val=-1, max_val=1, inplace=False): return call("hardtanh", x) if (min_val, max_val) == (-1, 1) else call("clamp", x, num(min_val), num(max_val))
@op("nn.functional.relu6")
def relu6(x, inplace=False): return f"clamp({x}, 0.0, 6.0)"
@op("nn.functional.logsigmoid")
def logsigmoid(x): return f"-softplus(-{x})"
@op("nn.functional.tanhshrink")
def tanhshrink(x): return f"{x} - tanh({x})"
@op("nn.functional.threshold")
def threshold(x, t, v, inplace=False): return f"where({x} > {num(t)}, {x}, {num(v)})"
@op("nn.functional.hardshrink")
def hardshrink(x, lambd=0.5): return f"where(abs({x}) > {num(lambd)}, {x}, 0.0)"
@op("nn.functional.softshrink")
def softshrink(x, lambd=0.5): return f"sign({x}) * max(abs({x}) - {num(lambd)}, 0.0)"
@op("nn.functional.prelu")
def prelu(x, weight):
    w = weight
    if x.ndim < 2 or w.ndim == 0: skip()
    return f"where({x} > 0.0, {x}, {x} * reshape({w}, [{', '.join(['-1'] + ['1'] * (x.ndim - 2))}]))"
@op("nn.functional.glu")
def glu(x, dim=-1): return call("nn.glu", x, axis=str(one(dim, x.ndim)))

# ---- reductions
def reduction(name, smallest=0):
    def make(x, dim=None, keepdim=False, *, dtype=None, **more):
        plain(dtype, *more.values())
        return call(name, x, axis=axes(dim, x.ndim), keep=keep(keepdim))
    return make
for torch_name, name in {"sum": "sum", "mean": "mean", "prod": "prod", "amax": "max", "amin": "min", "logsumexp": "logsumexp", "masked.sum": "sum",
                         "masked.mean": "mean", "masked.prod": "prod", "masked.amax": "max", "masked.amin": "min", "masked.logsumexp": "logsumexp", "nansum": "sum", "nanmean": "mean"}.items():
    T[torch_name] = reduction(name)
T["max.reduction_no_dim"], T["min.reduction_no_dim"] = (lambda x: call("max", x)), (lambda x: call("min", x))
T["max.reduction_with_dim"], T["min.reduction_with_dim"] = reduction("max"), reduction("min")
def spread(name):
    def make(x, dim=None, unbiased=None, keepdim=False, correction=None, **more):
        plain(*more.values())
        if isinstance(dim, bool): dim, unbiased = None, dim
        c = correction if correction is not None else 1 if unbiased in (None, True) else 0
        return call(name, x, axis=axes(dim, x.ndim), keep=keep(keepdim), correction=lit(c))
    return make
for n in ("var", "var.unbiased", "masked.var"): T[n] = spread("variance")
for n in ("std", "std.unbiased", "masked.std"): T[n] = spread("std")
T["var_mean"] = T["var_mean.unbiased"] = lambda x, *a, **k: f"({spread('variance')(x, *a, **k)}, {mean_of(x, *a, **k)})"
T["std_mean"] = T["std_mean.unbiased"] = lambda x, *a, **k: f"({spread('std')(x, *a, **k)}, {mean_of(x, *a, **k)})"
def mean_of(x, dim=None, unbiased=None, keepdim=False, correction=None):
    return call("mean", x, axis=axes(None if isinstance(dim, bool) else dim, x.ndim), keep=keep(keepdim))
@op("linalg.vector_norm", "norm", "masked.norm")
def vector_norm(x, ord=2, dim=None, keepdim=False, dtype=None, p=None, mask=None):
    plain(dtype, mask)
    ord = p if p is not None else ord
    if ord in ("fro", None): ord = 2
    if not isinstance(ord, (int, float)) or ord == 0: skip()
    return call("norm", x, ord=num(ord), axis=axes(dim, x.ndim), keep=keep(keepdim))
@op("norm.fro")
def norm_fro(x, p="fro", dim=None, keepdim=False): return vector_norm(x, 2, dim, keepdim)
@op("norm.inf")
def norm_inf(x, p=None, dim=None, keepdim=False): return vector_norm(x, p, dim, keepdim)
@op("dist")
def dist(a, b, p=2): return call("norm", f"{a} - {b}", ord=num(p)) if p else skip()
@op("linalg.norm", "linalg.matrix_norm", "norm.nuc")
def matrix_norm(x, ord=None, dim=None, keepdim=False, dtype=None, p=None):
    plain(dtype)
    ord = p if p is not None else ord
    if dim is not None and dim not in ((-2, -1), [-2, -1]) and not (isinstance(dim, (list, tuple)) and tuple(d % x.ndim for d in dim) == (x.ndim - 2, x.ndim - 1)): skip()
    if x.ndim == 1: return call("norm", x, ord=num(2 if ord is None else ord), keep=keep(keepdim)) if ord != 0 else skip()
    if x.ndim != 2 and (dim is None and x.ndim < 2): skip()
    return call("matrix_norm", x, ord=lit("fro" if ord is None else float(ord) if not isinstance(ord, str) else ord), keep=keep(keepdim))
@op("median")
def median(x, dim=None, keepdim=False):
    n = math.prod(x.shape) if dim is None else x.shape[dim] if x.ndim else 1
    return call("median", x, axis=axes(dim, x.ndim), keep=keep(keepdim)) if n % 2 else skip()
@op("trace")
def trace(x): return call("trace", x)
@op("softmax", "log_softmax", "masked.softmax", "masked.log_softmax", "softmax.with_dtype", "log_softmax.with_dtype")
def softmax(x, dim, dtype=None, mask=None, _n="softmax"):
    plain(dtype, mask)
    return call(_n, x, axis=str(one(dim, x.ndim)))
T["log_softmax"] = T["masked.log_softmax"] = T["log_softmax.with_dtype"] = lambda x, dim, dtype=None, mask=None: softmax(x, dim, dtype, mask, "log_softmax")
T["nn.functional.softmin"] = T["masked.softmin"] = T["nn.functional.softmin.with_dtype"] = lambda x, dim, dtype=None, mask=None: softmax(Ref(f"-{x}", x.shape), dim, dtype, mask)
T["torch.ops.aten._safe_softmax.default"] = lambda x, dim, dtype=None: softmax(x, dim, dtype)
@op("cumsum", "cumprod", "cummax", "cummin", "logcumsumexp", "masked.cumsum", "masked.cumprod")
def scan(x, dim, dtype=None, mask=None, _n=None): return skip()
for n in ("cumsum", "cumprod", "cummax", "cummin", "logcumsumexp"):
    def scan(x, dim, dtype=None, mask=None, _n=n):
        plain(dtype, mask)
        return call(_n, x, axis=str(one(dim, x.ndim)))
    T[n] = scan
T["masked.cumsum"], T["masked.cumprod"] = T["cumsum"], T["cumprod"]
@op("sort", "msort")
def sort(x, dim=-1, descending=False, stable=None):
    if isinstance(dim, bool): skip()
    return call("sort", x, axis=str(one(dim, x.ndim)), descending=lit(bool(descending)))
T["msort"] = lambda x: sort(x, 0)
@op("topk")
def topk(x, k, dim=-1, largest=True, sorted=True): return call("topk", x, k=str(k), axis=str(one(dim, x.ndim)), largest=lit(largest)) + ".0"
@op("kthvalue")
def kthvalue(x, k, dim=-1, keepdim=False):
    a = one(dim, x.ndim)
    return call("take", call("sort", x, axis=str(a)), f"[{k - 1}]" if keepdim else str(k - 1), axis=str(a))
@op("aminmax")
def aminmax(x, dim=None, keepdim=False): return f"({call('min', x, axis=axes(dim, x.ndim), keep=keep(keepdim))}, {call('max', x, axis=axes(dim, x.ndim), keep=keep(keepdim))})"
@op("cov")
def cov(x, correction=1, fweights=None, aweights=None):
    plain(fweights, aweights)
    if x.ndim != 2 or x.shape[0] == 1: skip()
    c = f"({x} - mean({x}, axis: 1, keep: true))"
    return f"{c} @ {c}.T / {num(max(x.shape[1] - correction, 0))}"
@op("diff")
def diff(x, n=1, dim=-1, prepend=None, append=None):
    plain(prepend, append)
    if n != 1 or x.ndim != 1: skip()
    return f"{x}[1:] - {x}[:-1]"
@op("nn.functional.normalize", "masked.normalize")
def normalize(x, p=2.0, dim=1, eps=1e-12, out=None, mask=None, ord=None):
    plain(mask, out)
    if isinstance(p, tuple) or p not in (2, 2.0): skip()
    return call("normalize", x, axis=str(one(dim, x.ndim)), eps=num(eps))

# ---- shapes
@op("reshape", "view", "view_copy", "_unsafe_view")
def reshape(x, *shape):
    if len(shape) == 1 and not isinstance(shape[0], int): shape = shape[0]
    return call("reshape", x, lit(list(shape)))
@op("reshape_as", "view_as")
def reshape_as(x, other): return call("reshape", x, lit(list(other.shape)))
@op("flatten")
def flatten(x, start_dim=0, end_dim=-1): return call("flatten", x, start=str(start_dim), end=str(end_dim)) if x.ndim else skip()
@op("ravel")
def ravel(x): return call("flatten", x)
@op("unflatten")
def unflatten(x, dim, sizes):
    d = one(dim, x.ndim)
    return call("reshape", x, lit([*x.shape[:d], *sizes, *x.shape[d + 1:]]))
@op("squeeze", "squeeze.multiple", "squeeze_copy")
def squeeze(x, dim=None):
    if x.ndim == 0 or dim == (): skip()
    return call("squeeze", x, axis=axes(dim, x.ndim)) if dim is None or all(x.shape[d] == 1 for d in ([dim] if isinstance(dim, int) else dim)) else skip()
@op("unsqueeze", "unsqueeze_copy")
def unsqueeze(x, dim): return call("expand_dims", x, axis=str(dim % (x.ndim + 1)))
@op("permute", "permute_copy")
def permute(x, *dims):
    if len(dims) == 1 and not isinstance(dims[0], int): dims = dims[0]
    return call("permute_dims", x, lit([d % x.ndim for d in dims])) if dims else skip()
@op("transpose", "transpose_copy")
def transpose(x, a, b): return call("transpose", x, str(one(a, x.ndim)), str(one(b, x.ndim)))
T["T"] = T["H"] = T["t"] = T["t_copy"] = lambda x: f"{x}.T" if x.ndim == 2 else skip()
def mT(x): return f"transpose({x}, {x.ndim - 2}, {x.ndim - 1})" if x.ndim >= 2 else skip()
T["mT"] = T["mH"] = mT
@op("movedim")
def movedim(x, a, b): return call("moveaxis", x, str(one(a, x.ndim)), str(one(b, x.ndim))) if isinstance(a, int) else skip()
@op("expand", "broadcast_to", "expand_copy")
def expand(x, *shape):
    if len(shape) == 1 and not isinstance(shape[0], int): shape = shape[0]
    lead = len(shape) - x.ndim
    return call("broadcast_to", x, lit([x.shape[i - lead] if s == -1 else s for i, s in enumerate(shape)]))
@op("expand_as")
def expand_as(x, other): return call("broadcast_to", x, lit(list(other.shape)))
@op("tile")
def tile(x, dims): return call("tile", x, lit(list(dims))) if len(dims) >= x.ndim > 0 else skip()
@op("repeat")
def repeat(x, *dims):
    if len(dims) == 1 and not isinstance(dims[0], int): dims = dims[0]
    return call("tile", x, lit(list(dims))) if x.ndim else skip()
@op("repeat_interleave")
def repeat_interleave(x, repeats, dim=None, output_size=None):
    n = repeats
    if not isinstance(n, int) or x.ndim == 0: skip()
    return call("repeat", x, str(n), axis=None if dim is None else str(one(dim, x.ndim)))
@op("cat")
def cat(xs, dim=0):
    if any(x.ndim != xs[0].ndim for x in xs): skip()
    return call("concat", f"({', '.join(xs)},)" if len(xs) == 1 else f"({', '.join(xs)})", axis=str(one(dim, xs[0].ndim)))
T["concat"] = cat
@op("stack")
def stack(xs, dim=0): return call("stack", f"({', '.join(xs)})", axis=str(dim % (xs[0].ndim + 1))) if len(xs) > 1 else skip()
@op("hstack", "vstack", "dstack", "column_stack")
def hstack(xs): return skip()
T["hstack"] = lambda xs: call("concat", f"({', '.join(xs)})", axis="0" if xs[0].ndim == 1 else "1") if xs[0].ndim and len(xs) > 1 else skip()
T["vstack"] = lambda xs: call("stack" if xs[0].ndim == 1 else "concat", f"({', '.join(xs)})", axis="0") if xs[0].ndim and len(xs) > 1 else skip()
@op("chunk", "unsafe_chunk")
def chunk(x, n, dim=0):
    d = one(dim, x.ndim)
    size = -(-x.shape[d] // n)
    return split(x, size, d)
@op("split", "unsafe_split", "split_with_sizes", "split.list_args", "split_with_sizes_copy")
def split(x, size, dim=0):
    d = one(dim, x.ndim)
    if isinstance(size, int): size = [min(size, x.shape[d] - i) for i in range(0, x.shape[d], size)]
    return call("split", x, lit(list(size)), axis=str(d)) if len(size) > 1 else skip()
@op("unbind", "unbind_copy")
def unbind(x, dim=0): return call("unstack", x, axis=str(one(dim, x.ndim))) if x.ndim and x.shape[dim] > 1 else skip()
@op("flip")
def flip(x, dims): return call("flip", x, axis=axes(dims, x.ndim))
T["fliplr"], T["flipud"] = (lambda x: call("flip", x, axis="1")), (lambda x: call("flip", x, axis="0"))
@op("roll")
def roll(x, shifts, dims=None):
    if dims in (None, ()): return call("reshape", call("roll", call("flatten", x), str(shifts if isinstance(shifts, int) else shifts[0]), axis="0"), lit(list(x.shape))) if x.ndim else skip()
    if isinstance(shifts, int) or len(shifts) == 1: return call("roll", x, str(shifts if isinstance(shifts, int) else shifts[0]), axis=axes(dims, x.ndim))
    return call("roll", x, f"({', '.join(map(str, shifts))})", axis=axes(dims, x.ndim))
@op("tril", "triu")
def tril(x, diagonal=0): return skip()
T["tril"], T["triu"] = (lambda x, diagonal=0: call("tril", x, k=str(diagonal))), (lambda x, diagonal=0: call("triu", x, k=str(diagonal)))
@op("diagonal", "diagonal_copy", "linalg.diagonal")
def diagonal(x, offset=0, dim1=0, dim2=1): return call("diagonal", x, offset=str(offset), axes=f"({one(dim1, x.ndim)}, {one(dim2, x.ndim)})")
T["linalg.diagonal"] = lambda x, offset=0, dim1=-2, dim2=-1: diagonal(x, offset, dim1, dim2)
@op("diag")
def diag(x, diagonal=0): return call("diag", x, k=str(diagonal))
@op("diagflat")
def diagflat(x, offset=0): return call("diag", x if x.ndim == 1 else call("flatten", x), k=str(offset)) if x.ndim else skip()
@op("nn.functional.pad.constant", "constant_pad_nd", "nn.functional.pad.reflect", "nn.functional.pad.replicate", "nn.functional.pad.circular", "nn.functional.pad.replicate_negative")
def pad(x, widths, mode="constant", value=0):
    if isinstance(mode, (int, float)): mode, value = "constant", mode
    pairs = [[0, 0]] * (x.ndim - len(widths) // 2) + [list(widths[2 * i:2 * i + 2]) for i in reversed(range(len(widths) // 2))]
    if mode != "constant" and min(widths) < 0: skip()
    name = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}[mode]
    return call("pad", x, lit(pairs), mode=lit(name), value=num(value or 0) if mode == "constant" else None)
@op("narrow", "narrow_copy")
def narrow(x, dim, start, length):
    if not isinstance(start, int) or x.ndim == 0: skip()
    d, start = one(dim, x.ndim), start % x.shape[dim] if start < 0 else start
    return f"{x}[{', '.join([':'] * d + [f'{start}:{start + length}'])}]"
@op("select", )
def select(x, dim, index):
    d = one(dim, x.ndim)
    return f"{x}[{', '.join([':'] * d + [str(index)])}]"
@op("slice")
def slice_(x, dim=0, start=0, end=None, step=1): return f"{x}[{', '.join([':'] * one(dim, x.ndim) + [f'{start or 0}:{x.shape[dim] if end is None else end}:{step}'])}]"
@op("meshgrid.variadic_tensors", "meshgrid.list_of_tensors")
def meshgrid(*xs, indexing="ij"):
    if len(xs) == 1 and not isinstance(xs[0], Ref): xs = xs[0]
    return call("meshgrid", *xs, indexing=lit(indexing)) if all(x.ndim == 1 for x in xs) and len(xs) > 1 else skip()
@op("kron")
def kron(a, b):
    if a.ndim != 2 or b.ndim != 2: skip()
    return f"reshape(einsum(\"ij,kl->ikjl\", {a}, {b}), [{a.shape[0] * b.shape[0]}, {a.shape[1] * b.shape[1]}])"
@op("__getitem__")
def getitem(x, index):
    parts = []
    for i in index if isinstance(index, tuple) else [index]:
        if isinstance(i, bool) or i is None: skip()
        if i is Ellipsis: parts.append("...")
        elif isinstance(i, slice):
            if i.step is not None and i.step < 0: skip()
            parts.append(f"{'' if i.start is None else i.start}:{'' if i.stop is None else i.stop}" + (f":{i.step}" if i.step else ""))
        elif isinstance(i, torch.Tensor) and i.dtype == torch.bool: skip()
        else: parts.append(lit(i) if not isinstance(i, int) else str(i))
    return f"{x}[{', '.join(parts)}]"
@op("nn.functional.pixel_shuffle")
def pixel_shuffle(x, upscale_factor):
    r = upscale_factor
    return call("nn.pixel_shuffle", x, str(r)) if x.ndim == 4 else skip()
@op("nn.functional.unfold")
def unfold(x, kernel_size, dilation=1, padding=0, stride=1): return call("unfold", x, lit(pair(kernel_size)), stride=lit(pair(stride)), padding=lit(pair(padding)), dilation=lit(pair(dilation))) if x.ndim == 4 else skip()
def pair(v): return [v, v] if isinstance(v, int) else list(v)

# ---- indices
@op("gather", "take_along_dim")
def gather(x, dim, index=None, sparse_grad=False):
    if isinstance(dim, torch.Tensor): dim, index = index, dim
    if dim is None or x.ndim == 0 or index.ndim != x.ndim or any(i != s for k, (i, s) in enumerate(zip(index.shape, x.shape)) if k != dim % x.ndim): skip()
    return call("gather", x, lit(index), axis=str(one(dim, x.ndim)))
@op("index_select")
def index_select(x, dim, index): return call("take", x, lit(index), axis=str(one(dim, x.ndim))) if index.ndim else skip()
@op("take")
def take(x, index): return call("take", call("flatten", x), lit(index))
@op("scatter", "scatter_add", "scatter_reduce.sum", "scatter_reduce.prod", "scatter_reduce.amax", "scatter_reduce.amin")
def scatter(x, dim, index, u, reduce=None, include_self=True):
    how = {None: "set", "add": "add", "multiply": "mul", "sum": "add", "prod": "mul", "amax": "max", "amin": "min"}.get(reduce) or skip()
    if not include_self or x.ndim == 0 or index.ndim != x.ndim or not isinstance(u, Ref): skip()
    d = one(dim, x.ndim)
    if tuple(index.shape) != u.shape: u = f"{u}[{', '.join(f'0:{n}' for n in index.shape)}]"
    if any(i != s for k, (i, s) in enumerate(zip(index.shape, x.shape)) if k != d): skip()
    return call("scatter", x, lit(index), u, axis=str(d), reduce=lit(how))
T["scatter_add"] = lambda x, dim, index, u: scatter(x, dim, index, u, "add")
@op("index_add", "index_copy")
def index_add(x, dim, index, u, alpha=1, _op="+="):
    if x.ndim == 0: skip()
    d = one(dim, x.ndim)
    return f"{{ var z = {x}; z[{', '.join([':'] * d + [lit(index.reshape(-1))])}] {_op} {num(alpha)} * {u}; z }}"
T["index_copy"] = lambda x, dim, index, u: index_add(x, dim, index, u, _op="=")
@op("index_fill")
def index_fill(x, dim, index, v): return f"{{ var z = {x}; z[{', '.join([':'] * one(dim, x.ndim) + [lit(index.reshape(-1))])}] = {num(v)}; z }}" if x.ndim else skip()
@op("index_put")
def index_put(x, indices, values, accumulate=False):
    if any(i.dtype == torch.bool for i in indices): skip()
    return f"{{ var z = {x}; z[{', '.join(lit(i) for i in indices)}] {'+=' if accumulate else '='} {num(values)}; z }}"
@op("select_scatter")
def select_scatter(x, src, dim, index): return f"{{ var z = {x} * 1.0; z[{', '.join([':'] * one(dim, x.ndim) + [str(index)])}] = {src}; z }}"
@op("slice_scatter")
def slice_scatter(x, src, dim=0, start=None, end=None, step=1): return f"{{ var z = {x} * 1.0; z[{', '.join([':'] * one(dim, x.ndim) + [f'{start or 0}:{x.shape[dim] if end is None else end}:{step}'])}] = {src}; z }}"
@op("nn.functional.embedding")
def embedding(w, i, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    plain(padding_idx, max_norm, scale_grad_by_freq, sparse)
    return call("take", w, lit(i), axis="0")

# ---- products, linear algebra
@op("einsum")
def einsum(xs, spec): return call("einsum", lit(spec), *xs)
@op("tensordot")
def tensordot(a, b, dims=2):
    if not isinstance(dims, int) and any(a.shape[i] != b.shape[k] for i, k in zip(*dims)): skip()
    return call("tensordot", a, b, axes=str(dims) if isinstance(dims, int) else "(" + ", ".join(lit(list(d)) for d in dims) + ")")
@op("inner")
def inner(a, b): return call("dot", a, b) if a.ndim == b.ndim == 1 else skip()
@op("linalg.vecdot")
def vecdot(a, b, dim=-1): return call("vecdot", a, b, axis=str(one(dim, max(a.ndim, b.ndim)))) if a.ndim == b.ndim else skip()
@op("cross", "linalg.cross")
def cross(a, b, dim=-1):
    if a.ndim != b.ndim: skip()
    if dim is None: dim = next(i for i, n in enumerate(a.shape) if n == 3)
    return call("cross", a, b, axis=str(one(dim, a.ndim)))
T["cross"] = lambda a, b, dim=None: cross(a, b, dim)
@op("linalg.multi_dot")
def multi_dot(xs): return " @ ".join(xs)
@op("linalg.det", "linalg.inv", "linalg.slogdet", "logdet")
def det(x): return call("det", x)
T["linalg.inv"] = lambda x: call("inv", x)
T["linalg.inv_ex"] = lambda x, check_errors=False: call("inv", x)
T["linalg.slogdet"] = lambda x: call("slogdet", x)
T["logdet"] = lambda x: call("slogdet", x) + ".1"
@op("linalg.solve", "linalg.solve_ex")
def solve(a, b, left=True, check_errors=False): return call("solve", a, b) if left and (a.ndim == b.ndim or a.ndim == 2) else skip()
@op("linalg.solve_triangular")
def solve_triangular(a, b, upper, left=True, unitriangular=False): return call("solve_triangular", a, b, lower=lit(not upper), unit=lit(unitriangular)) if left and a.ndim == b.ndim else skip()
@op("linalg.cholesky", "cholesky")
def cholesky(x, upper=False): return call("cholesky", f"0.5 * ({x} + {mT(x)})", upper=lit(upper))
@op("linalg.qr", "qr")
def qr(x, mode="reduced"): return call("qr", x, mode=lit(mode)) if mode != "r" else skip()
@op("linalg.eigvalsh")
def eigvalsh(x, UPLO="L"): return call("eigh", f"0.5 * ({x} + {mT(x)})") + ".0"
@op("linalg.svdvals")
def svdvals(x): return call("svd", x, full_matrices="false") + ".1"
@op("linalg.lstsq.grad_oriented")
def lstsq(a, b, rcond=None, driver=None): return call("lstsq", a, b) + ".0"
@op("linalg.matrix_power")
def matrix_power(x, n): return skip() if n == 0 else call("matrix_power", x, lit(n))
@op("linalg.tensorinv")
def tensorinv(x, ind=2): return skip()


# ---- layers
def conv(rank, transposed=False):
    def make(x, w, bias=None, stride=1, padding=0, dilation=1, groups=1):
        if x.ndim != rank + 2: skip()
        args = [x, w] + ([] if bias is None else [bias])
        return call(f"conv{rank}d", *args, **window(stride=stride, padding=padding, dilation=dilation), groups=str(groups))
    def back(x, w, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
        if x.ndim != rank + 2: skip()
        args = [x, w] + ([] if bias is None else [bias])
        return call(f"conv_transpose{rank}d", *args, **window(stride=stride, padding=padding, output_padding=output_padding, dilation=dilation), groups=str(groups))
    return back if transposed else make
def window(**options): return {k: lit("same") if v == "same" else str(v) if isinstance(v, int) else str(v[0]) if len(v) == 1 else lit(list(v)) for k, v in options.items() if v != "valid"}
for rank in (1, 2, 3):
    T[f"nn.functional.conv{rank}d"], T[f"nn.functional.conv_transpose{rank}d"] = conv(rank), conv(rank, True)
    def max_pool(x, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False, _r=rank):
        if x.ndim != _r + 2: skip()
        k = [kernel_size] * _r if isinstance(kernel_size, int) else list(kernel_size) * (_r if len(kernel_size) < _r else 1)
        return call("max_pool", x, lit(k), **window(stride=stride or k, padding=padding, dilation=dilation), ceil_mode=lit(ceil_mode))
    T[f"nn.functional.max_pool{rank}d"] = max_pool
    def avg_pool(x, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None, _r=rank):
        plain(divisor_override)
        if x.ndim != _r + 2: skip()
        k = [kernel_size] * _r if isinstance(kernel_size, int) else list(kernel_size) * (_r if len(kernel_size) < _r else 1)
        return call("avg_pool", x, lit(k), **window(stride=stride or k, padding=padding), ceil_mode=lit(ceil_mode), count_include_pad=lit(count_include_pad))
    T[f"nn.functional.avg_pool{rank}d"] = avg_pool
    def adaptive(x, out, _r=rank):
        out = [out] * _r if isinstance(out, int) else list(out)
        if x.ndim != _r + 2: skip()
        return call("adaptive_avg_pool", x, lit([x.shape[2 + i] if o is None else o for i, o in enumerate(out)]))
    T[f"nn.functional.adaptive_avg_pool{rank}d"] = adaptive
@op("nn.functional.linear")
def linear(x, w, b=None): return f"{x} @ {w}.T" + (f" + {b}" if b is not None else "") if w.ndim == 2 else skip()
@op("nn.functional.layer_norm")
def layer_norm(x, shape, weight=None, bias=None, eps=1e-5):
    if weight is None and bias is not None: skip()
    args = [x] + ([weight] if weight is not None else []) + ([bias] if bias is not None else [])
    return call("layer_norm", *args, eps=num(eps), axes=None if weight is not None else axes(list(range(x.ndim - len(shape), x.ndim)), x.ndim))
@op("nn.functional.rms_norm")
def rms_norm(x, shape, weight=None, eps=None):
    return call("rms_norm", x, *([weight] if weight is not None else []), eps=num(eps if eps is not None else 2.0 ** -52), axes=None if weight is not None else axes(list(range(x.ndim - len(shape), x.ndim)), x.ndim))
@op("nn.functional.group_norm")
def group_norm(x, groups, weight=None, bias=None, eps=1e-5): return call("group_norm", x, str(groups), *(p for p in (weight, bias) if p is not None), eps=num(eps)) if (weight is None) == (bias is None) else skip()
@op("nn.functional.instance_norm")
def instance_norm(x, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-5):
    if not use_input_stats or (weight is None and bias is not None): skip()
    return call("instance_norm", x, *(p for p in (weight, bias) if p is not None), eps=num(eps))
@op("nn.functional.batch_norm")
def batch_norm(x, mean, var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    if training or not isinstance(mean, Ref) or (weight is None and bias is not None): skip()
    return call("batch_norm", x, mean, var, *(p for p in (weight, bias) if p is not None), eps=num(eps))
@op("nn.functional.scaled_dot_product_attention")
def attention(q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    if dropout_p: skip()
    return call("attention", q, k, v, causal=lit(is_causal), mask=None if attn_mask is None else lit(attn_mask), scale=None if scale is None else num(scale))
@op("nn.functional.interpolate.nearest", "nn.functional.interpolate.bilinear", "nn.functional.interpolate.bicubic")
def interpolate(x, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None, antialias=False):
    plain(recompute_scale_factor, scale_factor)
    if x.ndim != 4: skip()
    size = [size, size] if isinstance(size, int) else list(size)
    return call("image.resize", x, f"({size[0]}, {size[1]})", mode=lit({"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode)), align_corners=lit(bool(align_corners)), antialias=lit(bool(antialias)))
@op("nn.functional.grid_sample")
def grid_sample(x, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    if x.ndim != 4 or mode == "bicubic" or padding_mode == "reflection": skip()
    return call("image.grid_sample", x, grid, mode=lit({"bilinear": "linear"}.get(mode, mode)), padding=lit(padding_mode), align_corners=lit(bool(align_corners)))

# ---- losses
def loss(name, *, arguments=()):
    def make(a, b, *, reduction="mean", size_average=None, reduce=None, weight=None, **more):
        plain(size_average, reduce, weight, *(v for k, v in more.items() if k not in arguments))
        return call(f"nn.{name}", a, num(b), **{k: num(v) if not isinstance(v, bool) else lit(v) for k, v in more.items()}, reduction=lit(reduction))
    return make
T["nn.functional.mse_loss"], T["nn.functional.l1_loss"] = loss("mse"), loss("l1")
T["nn.functional.huber_loss"] = loss("huber", arguments=("delta",))
T["nn.functional.smooth_l1_loss"] = loss("smooth_l1", arguments=("beta",))
T["nn.functional.kl_div"] = loss("kl_div", arguments=("log_target",))
@op("nn.functional.cross_entropy")
def cross_entropy(x, target, weight=None, reduction="mean", ignore_index=-100, label_smoothing=0.0):
    if x.ndim < 2: skip()
    return call("nn.cross_entropy", x, target if isinstance(target, Ref) else lit(target), axis="1", smoothing=num(label_smoothing), weight=weight, ignore_index=lit(ignore_index), reduction=lit(reduction))
@op("nn.functional.nll_loss")
def nll_loss(x, target, weight=None, reduction="mean", ignore_index=-100):
    if x.ndim < 2: skip()
    return call("nn.nll_loss", x, lit(target), axis="1", weight=weight, ignore_index=lit(ignore_index), reduction=lit(reduction))
@op("nn.functional.binary_cross_entropy")
def bce(x, target, weight=None, reduction="mean"): return call("nn.bce", x, target, weight=weight, reduction=lit(reduction))
@op("nn.functional.binary_cross_entropy_with_logits")
def bce_with_logits(x, target, weight=None, reduction="mean", pos_weight=None): return call("nn.bce_with_logits", x, target, weight=weight, pos_weight=pos_weight, reduction=lit(reduction))
@op("nn.functional.cosine_similarity")
def cosine_similarity(a, b, dim=1, eps=1e-8): return call("nn.cosine_similarity", a, b, axis=str(one(dim, a.ndim)), eps=num(eps)) if a.shape == b.shape else skip()
@op("nn.functional.triplet_margin_loss")
def triplet(a, p, n, margin=1.0, reduction="mean", swap=False, eps=1e-6, **more):
    if {k: v for k, v in more.items() if not (k == "p" and v == 2)} or not a.shape == p.shape == n.shape: skip()
    return call("nn.triplet_margin", a, p, n, margin=num(margin), swap=lit(swap), eps=num(eps), reduction=lit(reduction))
