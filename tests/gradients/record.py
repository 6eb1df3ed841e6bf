#!/usr/bin/env python3
"""Records gradients of PyTorch's operator database as cases.jsonl and values.npz: record.py [--per-op 3] [--most 120] [--out FOLDER]
[--small]

Needs PyTorch with what its own tests need (expecttest). Of each operation that TL has (translate.py says how it is
written) it takes a few samples in f64, and records the inputs, a cotangent d, and what PyTorch makes of them: the value,
the gradients of the product with d, and, where PyTorch has them, the derivative in a direction v and the gradients of the
gradients' product with e. Of operations whose samples are large it takes those of SMALL (`--small`: these alone anew).
`run.py` compares. A line of cases.jsonl is

    [operation, expression, shapes of the arguments, those that are differentiated, shapes of the results,
     what is recorded: "v" + "j"? + "g"?]

and values.npz has `values`, all numbers in that order, and `units`, one for each recorded result: how far apart right
answers are. That is what PyTorch's own result changes when each input changes by half a unit in the last place (taken
at larger steps and scaled), plus a unit of the result's largest element."""
import argparse
import json
import math
import pathlib
import warnings

import numpy as np
import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import BinaryUfuncInfo, SampleInput, UnaryUfuncInfo

import run
from translate import Ref, Skip, T

warnings.filterwarnings("ignore")
HERE = pathlib.Path(__file__).resolve().parent
GRID = 2.0 ** -12   # inputs are rounded to this, which makes them small in the file
STEP = 2.0 ** -30
# Where PyTorch's own derivatives are off: a small number in place of 0 in a quotient, a sixth in f32, series cut
# short, no derivative at all, an exponential of the difference of large numbers, a condition squared, tangents
# that are taken for symmetric.
INEXACT = {"nn.functional.binary_cross_entropy": "g", "nn.functional.hardsigmoid": "vjg", "digamma": "vjg", "lgamma": "g", "special.ndtr": "vjg",
           "special.log_ndtr": "vjg", "scatter_reduce.prod": "j", "logcumsumexp": "vjg", "linalg.lstsq.grad_oriented": "g", "linalg.cholesky": "j"}


def normal(*shape): return torch.randn(shape, dtype=torch.float64, requires_grad=True)


# (operation, its arguments, options), for samples of few elements.
SMALL = [
    ("nn.functional.conv2d", lambda: (normal(1, 2, 3, 3), normal(2, 2, 2, 2), normal(2)), {}),
    ("nn.functional.conv2d", lambda: (normal(1, 2, 4, 3), normal(2, 1, 2, 2)), dict(stride=2, padding=1, groups=2)),
    ("nn.functional.conv2d", lambda: (normal(1, 1, 4, 4), normal(2, 1, 2, 2)), dict(dilation=2, padding=(1, 0))),
    ("nn.functional.conv3d", lambda: (normal(1, 1, 2, 3, 2), normal(2, 1, 1, 2, 2), normal(2)), dict(stride=(1, 2, 1), padding=(0, 1, 1))),
    ("nn.functional.conv_transpose2d", lambda: (normal(1, 2, 2, 2), normal(2, 1, 2, 3), normal(1)), dict(stride=2, padding=1, output_padding=(1, 0))),
    ("nn.functional.conv_transpose2d", lambda: (normal(1, 2, 2, 3), normal(2, 1, 2, 2)), dict(groups=2, dilation=(2, 1))),
    ("nn.functional.conv_transpose3d", lambda: (normal(1, 2, 2, 1, 2), normal(2, 1, 1, 2, 2), normal(1)), {}),
    ("nn.functional.conv_transpose3d", lambda: (normal(1, 2, 2, 2, 2), normal(2, 1, 2, 1, 2)), dict(stride=(1, 2, 2), padding=(1, 0, 0), output_padding=(0, 1, 0), groups=2)),
    ("nn.functional.adaptive_avg_pool3d", lambda: (normal(1, 1, 3, 4, 2), (2, 3, 1)), {}),
    ("nn.functional.adaptive_avg_pool3d", lambda: (normal(1, 2, 2, 3, 3), (1, 2, 2)), {}),
    ("nn.functional.avg_pool3d", lambda: (normal(1, 1, 3, 3, 4), 2), dict(stride=1, padding=1, count_include_pad=False)),
    ("nn.functional.avg_pool3d", lambda: (normal(1, 2, 2, 3, 2), (2, 2, 1)), dict(ceil_mode=True)),
    ("nn.functional.max_pool3d", lambda: (normal(1, 1, 3, 4, 3), 2), dict(stride=1, padding=1)),
    ("nn.functional.scaled_dot_product_attention", lambda: (normal(1, 2, 3, 2), normal(1, 2, 4, 2), normal(1, 2, 4, 3)), {}),
    ("nn.functional.scaled_dot_product_attention", lambda: (normal(1, 2, 3, 2), normal(1, 2, 3, 2), normal(1, 2, 3, 2)), dict(is_causal=True, scale=0.5)),
    ("nn.functional.scaled_dot_product_attention", lambda: (normal(1, 2, 2, 2), normal(1, 2, 3, 2), normal(1, 2, 3, 2), torch.tensor([[True, False, True], [True, True, False]])), {}),
    ("nn.functional.grid_sample", lambda: (normal(1, 2, 3, 3), normal(1, 2, 2, 2)), dict(align_corners=False)),
    ("nn.functional.grid_sample", lambda: (normal(1, 1, 3, 4), normal(1, 2, 3, 2)), dict(padding_mode="border", align_corners=True)),
    ("nn.functional.grid_sample", lambda: (normal(1, 1, 3, 4), normal(1, 2, 2, 2).detach()), dict(mode="nearest", align_corners=False)),
    ("nn.functional.group_norm", lambda: (normal(2, 4, 2), 2, normal(4), normal(4)), {}),
    ("nn.functional.interpolate.bilinear", lambda: (normal(1, 1, 3, 4), (2, 2)), dict(mode="bilinear", align_corners=False, antialias=True)),
]


def flat(tree):
    """The tensors of nested tuples and lists."""
    if isinstance(tree, torch.Tensor): return [tree]
    if isinstance(tree, (tuple, list)): return [t for part in tree for t in flat(part)]
    return []


def floats(tree): return [t for t in flat(tree) if t.is_floating_point()]


class Case:
    """A call of an operation, as a function of its float tensors."""
    most = None  # of the results that count

    def __init__(self, op, sample):
        self.op, self.sample, self.inputs = op, sample, []
        self.collect((sample.input, sample.args, sample.kwargs))

    def collect(self, tree):
        if isinstance(tree, torch.Tensor):
            if tree.is_floating_point() and not any(t is tree for t in self.inputs): self.inputs.append(tree)
        elif isinstance(tree, dict):
            for v in tree.values(): self.collect(v)
        elif isinstance(tree, (tuple, list)):
            for v in tree: self.collect(v)

    def replaced(self, tree, parts):
        if isinstance(tree, torch.Tensor):
            at = [i for i, t in enumerate(self.inputs) if t is tree]
            return parts[at[0]] if at else tree
        if isinstance(tree, dict): return {k: self.replaced(v, parts) for k, v in tree.items()}
        if isinstance(tree, torch.Size): return tree
        if isinstance(tree, (tuple, list)): return type(tree)(self.replaced(v, parts) for v in tree)
        return tree

    def call(self, *parts):
        """The float results."""
        s = self.sample
        f = self.op.get_op() if hasattr(self.op, "get_op") else self.op
        out = f(self.replaced(s.input, parts), *self.replaced(s.args, parts), **self.replaced(s.kwargs, parts))
        return tuple(floats(out))[:self.most]

    def expression(self):
        s, names = self.sample, [Ref(f"a{i}", t.shape) for i, t in enumerate(self.inputs)]
        translate = T.get(self.op.name + ("." + self.op.variant_test_name if self.op.variant_test_name else "")) or T.get(self.op.name)
        if translate is None: raise Skip
        return translate(self.replaced(s.input, names), *self.replaced(s.args, names), **self.replaced(s.kwargs, names))


def rounded(t): return (torch.round(t.detach() / GRID) * GRID).contiguous()


def plain(t): return torch.empty(t.shape, dtype=t.dtype).copy_(t.detach())


def cropped(sample, most=4):
    """Operations show what they do on few elements; those whose arguments do not fit these any more fail."""
    def crop(tree):
        if isinstance(tree, torch.Tensor):
            asked = tree.requires_grad
            return tree.detach()[tuple(slice(0, most) for _ in tree.shape)].clone().requires_grad_(asked)
        return tree
    sample.input, sample.args = crop(sample.input), tuple(map(crop, sample.args))
    return sample


def vjp(case, inputs, d):
    ins = [t.clone().requires_grad_(i in case.by) for i, t in enumerate(inputs)]
    outs = case.call(*ins)
    return outs, torch.autograd.grad([o for o in outs if o.requires_grad], [ins[i] for i in case.by], [g for o, g in zip(outs, d) if o.requires_grad],
                                     allow_unused=True, materialize_grads=True)


def jvp(case, inputs, v):
    def of(*parts):
        parts = iter(parts)
        return case.call(*(next(parts) if i in case.by else t for i, t in enumerate(inputs)))
    return torch.func.jvp(of, tuple(inputs[i] for i in case.by), tuple(v))


def second(case, inputs, d, e):
    """Gradients of the product of e and the gradients, by the inputs and d."""
    ins = [t.clone().requires_grad_(i in case.by) for i, t in enumerate(inputs)]
    d = [t.clone().requires_grad_() for t in d]
    outs = case.call(*ins)
    by = [ins[i] for i in case.by]
    g = torch.autograd.grad(outs, by, d, create_graph=True, allow_unused=True, materialize_grads=True)
    pairs = [(x, w) for x, w in zip(g, e) if x.requires_grad]
    return torch.autograd.grad([x for x, _ in pairs], [*by, *d], [w for _, w in pairs], allow_unused=True, materialize_grads=True)


def shaken(tensors): return [t * (1 + STEP * (2 * torch.rand_like(t) - 1)) for t in tensors]


def with_units(compute, *groups):
    """The results and how far apart right ones are."""
    least = 2.0 ** -53 * math.prod(float(max(t.abs().max() for t in g)) for g in groups[1:])
    want = [plain(t) for t in compute(*groups)]
    unit = [least] * len(want)
    for _ in range(4):
        for i, (w, g) in enumerate(zip(want, compute(*map(shaken, groups)))):
            if w.numel(): unit[i] = max(unit[i], float((w - plain(g)).abs().max()) * 2.0 ** -53 / STEP + 2.0 ** -52 * float(w.abs().max()) + least)
    return want, unit


def record(op, sample, random, most):
    """The line of cases.jsonl, its values and its units; None where the case has none."""
    sample.input = sample.input if isinstance(sample.input, torch.Tensor) else list(sample.input) if isinstance(sample.input, (tuple, list)) else sample.input
    case = Case(op, sample)
    if not case.inputs: return None
    case.by = [i for i, t in enumerate(case.inputs) if t.requires_grad]
    if not case.by: return None
    expression = case.expression()
    inputs = [rounded(t) for t in case.inputs]
    if op.name == "linalg.eigvalsh": inputs = [rounded(0.5 * (t + t.mT)) for t in inputs]
    used = [i for i in range(len(inputs)) if f"a{i}" in expression]
    if len(used) != len(inputs): return None
    outs = case.call(*inputs)
    if not outs or any(torch.isnan(o).any() or torch.isinf(o).any() for o in outs): return None
    size = sum(t.numel() for t in (*inputs, *outs))
    if size > most and len(inputs) == 1 and any(n > 3 for n in inputs[0].shape): return record(op, cropped(sample, 3), random, most)
    if size > most or not all(o.numel() for o in outs): return None
    name = op.name + ("." + op.variant_test_name if op.variant_test_name else "")
    inexact = INEXACT.get(name, "")
    if "v" in inexact: return None
    if expression.endswith(".0"): case.most, outs = 1, outs[:1]
    draw = lambda like: [rounded(torch.tensor(random.standard_normal(tuple(t.shape)))) for t in like]
    d, v = draw(outs), draw([inputs[i] for i in case.by])
    want, units = with_units(lambda x, d: (lambda r: [*r[0], *r[1]])(vjp(case, x, d)), inputs, d)
    values, kinds = [*inputs, *d, *want], "v"
    try:
        if "j" in inexact: raise NotImplementedError
        more, more_units = with_units(lambda x, v: jvp(case, x, v)[1], inputs, v)
        values, units, kinds = values + [*v, *more], units + more_units, kinds + "j"
    except Exception:
        pass
    try:
        if "g" in inexact: raise NotImplementedError
        more, more_units = with_units(lambda x, d, v: second(case, x, d, v), inputs, d, v)
        if "j" not in kinds: values += v
        values, units, kinds = values + more, units + more_units, kinds + "g"
    except Exception:
        pass
    if not all(torch.isfinite(t).all() for t in values): return None
    shapes = lambda ts: [list(t.shape) for t in ts]
    return [name, expression, shapes(inputs), case.by, shapes(outs), kinds], np.concatenate([t.detach().numpy().ravel() for t in values]), units


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--per-op", type=int, default=3)
    ap.add_argument("--most", type=int, default=120, help="elements of all arguments and results of a case")
    ap.add_argument("--only", default="")
    ap.add_argument("--small", action="store_true")
    ap.add_argument("--out", type=pathlib.Path, default=HERE)
    A = ap.parse_args()
    lines, values, units, without = [], [], [], []
    if A.small:
        kept = np.load(A.out / "values.npz")
        at = unit = 0
        for line in (A.out / "cases.jsonl").read_text().splitlines():
            if ".small" in json.loads(line)[0]: continue
            case = run.Case(line, at, unit)
            lines.append(line)
            at, unit = at + case.size, unit + len(case.wanted(kept["values"]))
        values, units = [kept["values"][:at]], list(kept["units"][:unit])
    for op in [] if A.small else op_db:
        name = op.name + ("." + op.variant_test_name if op.variant_test_name else "")
        if A.only and A.only != name: continue
        if not op.supports_autograd or torch.float64 not in op.supported_dtypes("cpu"): continue
        if name not in T and op.name not in T:
            without.append(name)
            continue
        torch.manual_seed(0)
        random, found, seen = np.random.default_rng(0), [], set()
        try:
            samples = list(op.sample_inputs("cpu", torch.float64, requires_grad=True))
        except Exception as e:
            print(f"{name}: {e!r}"[:200])
            continue
        for sample in samples:
            if len(found) >= 60: break
            try:
                made = record(op, cropped(sample) if isinstance(op, (UnaryUfuncInfo, BinaryUfuncInfo)) else sample, random, A.most)
            except Skip:
                continue
            except Exception as e:
                if A.only: raise
                print(f"{name}: {e!r}"[:160])
                continue
            if made and (key := json.dumps(made[0])) not in seen:
                seen.add(key)
                found.append(made)
        # Spread over what the database has.
        step = max(1, len(found) / A.per_op)
        chosen = [found[int(i * step)] for i in range(min(A.per_op, len(found)))]
        if not chosen: without.append(name)
        for line, numbers, unit in chosen:
            lines.append(json.dumps(line))
            values.append(numbers)
            units += unit
    for i, (name, arguments, options) in enumerate(SMALL):
        op = next(o for o in op_db if name in (o.name, f"{o.name}.{o.variant_test_name}"))
        torch.manual_seed(i)
        given = arguments()
        line, numbers, unit = record(op, SampleInput(given[0], args=given[1:], kwargs=options), np.random.default_rng(i), A.most)
        line[0] += ".small"
        lines.append(json.dumps(line))
        values.append(numbers)
        units += unit
    (A.out / "cases.jsonl").write_text("\n".join(lines) + "\n")
    np.savez_compressed(A.out / "values.npz", values=np.concatenate(values), units=np.array(units))
    print(f"{len(lines)} cases of {len({json.loads(l)[0] for l in lines})} operations; without: {' '.join(without)}")


if __name__ == "__main__":
    main()
