#!/usr/bin/env python3
"""Writes the programs of this folder, whose expected output PyTorch computes: make.py [NAME...].

Needs torch; the programs do not. Each is a list of pairs, a TL expression and the value that it must have, as those of
tests/run/make.py, whose helpers it uses. Numbers are in f64 where nothing else is said, so that all printed digits count.
"""
import importlib.util
import pathlib
import sys

import numpy as np
import torch

HERE = pathlib.Path(__file__).resolve().parent
spec = importlib.util.spec_from_file_location("numpy_programs", HERE.parent / "run/make.py")
numpy_programs = importlib.util.module_from_spec(spec)
spec.loader.exec_module(numpy_programs)
shown, tl = numpy_programs.shown, numpy_programs.tl

PRINTED = "2e-8 the last digit that is printed; what is computed is f64"


def program(name, bound, setup, cases):
    lines = ["#$ tenc FILE", f"#~ {bound}"]
    for _, value in cases:
        lines += ["#> " + line for line in shown(value)]
    made = [f"# {name.replace('_', ' ').capitalize()} against PyTorch {torch.__version__.split('+')[0]}; made by make.py."]
    return "\n".join([*lines, "", *made, *setup, *(f"print({code})" for code, _ in cases), ""])


# ---- optimisers: the parameters after each of ten steps

START = np.array([1.5, -2.0, 0.75, 3.0, -1.25, 2.5, 0.5, -0.875])
GRADIENTS = np.round(np.random.default_rng(7).normal(size=(10, 8)) * [1, 0.5, 2, 1e-4, 1, 3, 1, 0.25], 6)
OPTIMISERS = f"""import optim
struct M[T: float] {{ a: T[2, 3], b: T[2] }}
const START = {START.tolist()}
const GRADIENTS = {GRADIENTS.tolist()}
## A model of eight numbers.
fn model[T: float](v: T[8]) -> M[T] = M {{ a: reshape(v[0:6], [2, 3]), b: v[6:8] }}
## All numbers of the model after each of ten steps `f(state, m, g)`.
fn ten[T: float, S: tree, F: fn](start: M[T], s: S, f: F) -> T[10, 8] {{
    let all: T[10, 8] = GRADIENTS
    var (m, t, seen) = (start, s, zeros_like(all))
    for i in 0..10 {{
        (m, t) = f(t, m, model(all[i]))
        seen[i] = concat((flatten(m.a), m.b))
    }}
    seen
}}
let m: M[f64] = model(f64(START))
let n: M[f32] = model(f32(START))"""


def ten(make, dtype=torch.float64, groups=None):
    """The same with an optimiser of torch; `groups` are options of the two leaves apart."""
    a = torch.tensor(START[:6].reshape(2, 3), dtype=dtype, requires_grad=True)
    b = torch.tensor(START[6:], dtype=dtype, requires_grad=True)
    optimiser = make([{"params": [p], **g} for p, g in zip((a, b), groups or ({}, {}))])
    seen = []
    for g in torch.tensor(GRADIENTS, dtype=dtype):
        a.grad, b.grad = g[:6].reshape(2, 3).clone(), g[6:].clone()
        optimiser.step()
        seen.append(torch.cat((a.detach().flatten(), b.detach())))
    return torch.stack(seen).numpy()


def lion(lr, betas, decay, sign=1):
    """Chen et al. 2023, algorithm 2; torch has none."""
    p, mean, seen = START.copy(), np.zeros(8), []
    for g in sign * GRADIENTS:
        p = p - lr * (np.sign(betas[0] * mean + (1 - betas[0]) * g) + decay * p)
        mean = betas[1] * mean + (1 - betas[1]) * g
        seen.append(p)
    return np.array(seen)


OPTIONS = {
    "sgd": ("SGD", [
        {}, {"lr": 0.01}, {"momentum": 0.9}, {"momentum": 0.9, "dampening": 0.5}, {"momentum": 0.9, "nesterov": True},
        {"weight_decay": 0.1}, {"momentum": 0.8, "weight_decay": 0.1, "nesterov": True, "maximize": True}, {"maximize": True}]),
    "adam": ("Adam", [
        {}, {"lr": 0.05}, {"betas": (0.8, 0.95)}, {"eps": 1e-3}, {"weight_decay": 0.1}, {"amsgrad": True, "betas": (0.5, 0.6), "lr": 0.02},
        {"maximize": True}, {"lr": 0.01, "betas": (0.7, 0.8), "eps": 1e-2, "weight_decay": 0.2, "amsgrad": True, "maximize": True}]),
    "adamw": ("AdamW", [
        {}, {"lr": 0.05, "weight_decay": 0.0}, {"betas": (0.8, 0.95), "eps": 1e-3}, {"lr": 0.02, "weight_decay": 0.5},
        {"amsgrad": True, "betas": (0.5, 0.6), "lr": 0.02}, {"maximize": True, "lr": 0.01}]),
    "rmsprop": ("RMSprop", [
        {}, {"alpha": 0.9, "lr": 0.005}, {"eps": 1e-3}, {"weight_decay": 0.1}, {"momentum": 0.5, "lr": 0.005}, {"centered": True, "lr": 0.002},
        {"centered": True, "momentum": 0.9, "weight_decay": 0.1, "lr": 0.001, "alpha": 0.8, "maximize": True}]),
    "adagrad": ("Adagrad", [
        {}, {"lr": 0.1, "lr_decay": 0.2}, {"weight_decay": 0.1}, {"eps": 1e-2}, {"initial_accumulator_value": 0.5, "maximize": True}]),
}


def written(options):
    return "".join(f", {k}: {str(v).lower() if isinstance(v, bool) else v}" for k, v in options.items())


def optimisers(name):
    kind, cases = OPTIONS[name]
    made = getattr(torch.optim, kind)
    out = []
    for options in cases:
        of_state = {k: v for k, v in options.items() if k == "initial_accumulator_value"}
        of_step = {k: v for k, v in options.items() if k not in of_state}
        out.append((f"ten(m, optim.{name}(m{written(of_state)}), |s, m, g| optim.step(s, m, g{written(of_step)}))",
                    ten(lambda p: made(p, **options))))
    if name in ("sgd", "adam", "adamw"):
        out.append((f"ten(m, optim.{name}(m), |s, m, g| optim.step(s, m, g, weight_decay: 0.3, decay: |p| p.ndim > 1))",
                    ten(lambda p: made(p, weight_decay=0.3), groups=({}, {"weight_decay": 0.0}))))
    return PRINTED, out


def optim_lbfgs():
    """With `max_iter=1` a step of torch is one iteration, as here."""
    cases = []
    for options, history in (({}, 100), ({"lr": 0.5}, 100), ({"lr": 0.1}, 3), ({"lr": 0.2, "tolerance_grad": 2.0}, 100), ({"lr": 0.2, "tolerance_change": 5.0}, 100)):
        a, b = (torch.tensor(v, requires_grad=True) for v in (START[:6].reshape(2, 3), START[6:]))
        optimiser, seen = torch.optim.LBFGS([a, b], max_iter=1, history_size=history, **{"lr": 1.0, **options}), []
        for g in torch.tensor(GRADIENTS):
            a.grad, b.grad = g[:6].reshape(2, 3).clone(), g[6:].clone()
            optimiser.step(lambda: torch.zeros(()))
            seen.append(torch.cat((a.detach().flatten(), b.detach())))
        said = "" if history == 100 else f", history: {history}"
        cases.append((f"ten(m, optim.lbfgs(m{said}), |s, m, g| optim.step(s, m, g{written(options)}))", torch.stack(seen).numpy()))
    return PRINTED, cases


def optim_lion():
    return PRINTED, [
        ("ten(m, optim.lion(m), |s, m, g| optim.step(s, m, g))", lion(1e-4, (0.9, 0.99), 0.0)),
        ("ten(m, optim.lion(m), |s, m, g| optim.step(s, m, g, lr: 0.01, betas: (0.5, 0.9), weight_decay: 0.1))", lion(0.01, (0.5, 0.9), 0.1)),
        ("ten(m, optim.lion(m), |s, m, g| optim.step(s, m, g, lr: 0.01, maximize: true))", lion(0.01, (0.9, 0.99), 0.0, -1))]


def optim_f32():
    one = [(f"ten(n, optim.{name}(n), |s, m, g| optim.step(s, m, g, lr: 0.01))", ten(lambda p: getattr(torch.optim, kind)(p, lr=0.01), torch.float32))
           for name, (kind, _) in OPTIONS.items()]
    return "2.4e-6 40 roundings of f32: ten steps of four", one


# ---- schedules, norms and averages

def rates(make, steps, lr=1.0):
    """The learning rate of each step."""
    optimiser = torch.optim.SGD([torch.zeros(1)], lr=lr, momentum=0.9)
    schedule, seen = make(optimiser), []
    for i in range(steps):
        seen.append(optimiser.param_groups[0]["lr"])
        optimiser.step()
        if i + 1 < steps: schedule.step()
    return np.array(seen)


SCHEDULES = """import optim
## What `f` gives for each of n steps.
fn rates[N, F: fn](n: N, f: F) -> f64[N] {
    var seen = zeros([N], dtype: f64)
    for i in 0..N { seen[i] = f(i) }
    seen
}"""


def schedules():
    of = torch.optim.lr_scheduler
    cycle = lambda **options: rates(lambda o: of.OneCycleLR(o, max_lr=0.5, total_steps=20, **options), 20)
    return PRINTED, [
        ("rates(11, |i| optim.cosine(i, total: 10, peak: 0.4))", rates(lambda o: of.CosineAnnealingLR(o, 10), 11, 0.4)),
        ("rates(11, |i| optim.cosine(i, total: 10, peak: 0.4, floor: 0.1))", rates(lambda o: of.CosineAnnealingLR(o, 10, eta_min=0.1), 11, 0.4)),
        ("rates(8, |i| optim.warmup(i, steps: 5, peak: 0.3, start: 0.1))", rates(lambda o: of.LinearLR(o, start_factor=0.1, total_iters=5), 8, 0.3)),
        ("rates(10, |i| optim.step_decay(i, every: 3, start: 0.5))", rates(lambda o: of.StepLR(o, 3), 10, 0.5)),
        ("rates(10, |i| optim.step_decay(i, every: 4, start: 0.5, rate: 0.5))", rates(lambda o: of.StepLR(o, 4, 0.5), 10, 0.5)),
        ("rates(20, |i| optim.one_cycle(i, total: 20, peak: 0.5))", cycle()),
        ("rates(20, |i| optim.one_cycle(i, total: 20, peak: 0.5, share: 0.4, div_factor: 10.0, final_div_factor: 100.0))", cycle(pct_start=0.4, div_factor=10.0, final_div_factor=100.0)),
        ("rates(20, |i| optim.one_cycle(i, total: 20, peak: 0.5, linear: true))", cycle(anneal_strategy="linear")),
        ("rates(20, |i| optim.one_cycle(i, total: 20, peak: 0.5, share: 0.25, three_phase: true))", cycle(pct_start=0.25, three_phase=True)),
        ("rates(20, |i| optim.one_cycle(i, total: 20, peak: 0.5, three_phase: true, linear: true))", cycle(three_phase=True, anneal_strategy="linear"))]


def clipped(most):
    p = torch.zeros(8, dtype=torch.float64)
    p.grad = torch.tensor(GRADIENTS[0])
    return torch.nn.utils.clip_grad_norm_([p], most).item(), p.grad.numpy()


CLIPPING = f"""import optim
struct M {{ a: f64[2, 3], b: f64[2], n: i64, state k: f64 }}
let v: f64[8] = {GRADIENTS[0].tolist()}
let w: f64[8] = {START.tolist()}
let g = M {{ a: reshape(v[0:6], [2, 3]), b: v[6:8], n: 1, k: 10.0 }}
let m = M {{ a: reshape(w[0:6], [2, 3]), b: w[6:8], n: 2, k: 20.0 }}
fn flat(m: M) -> f64[8] = concat((flatten(m.a), m.b))"""


def clipping():
    norm, small = clipped(0.5)
    averaged = GRADIENTS[0] + 0.1 * (START - GRADIENTS[0])
    return PRINTED, [
        ("optim.global_norm(g)", np.float64(norm)), ("flat(optim.clip_norm(g, 0.5))", small), ("flat(optim.clip(g, 0.5).0)", small),
        ("optim.clip(g, 0.5).1", np.float64(norm)), ("flat(optim.clip_norm(g, 100.0))", clipped(100.0)[1]),
        ("flat(optim.clip_value(g, 0.3))", np.clip(GRADIENTS[0], -0.3, 0.3)),
        ("flat(optim.ema(g, m, 0.1))", averaged), ("optim.ema(g, m, 0.1).n", np.int64(2)), ("optim.ema(g, m, 0.1).k", np.float64(20.0))]


def amp():
    """What torch makes of the scale when gradients are finite, or not, in this order."""
    good = [True, True, False, True, True, True, False, False, True, True, True]
    scale, lasted, seen = torch.full((1,), 8.0), torch.zeros(1, dtype=torch.int32), []
    for ok in good:
        torch._amp_update_scale_(scale, lasted, torch.full((1,), 0.0 if ok else 1.0), 4.0, 0.25, 3)
        seen.append([scale.item(), lasted.item()])
    return PRINTED, [(f"scales({tl(np.array(good))})", np.array(seen, dtype=np.float32)),
                     ("amp.unscale(amp.scaler(start: 4.0), m).a", np.array([0.25, 0.5], dtype=np.float32)),
                     ("amp.finite(m)", np.bool_(True)), ("amp.finite(m / 0.0)", np.bool_(False)),
                     ("amp.scale(amp.scaler(), f16(3.0)) / 65536.0", np.float32(3.0))]


AMP = """import amp
struct M { a: f32[2], n: i64 }
let m = M { a: [1.0, 2.0], n: 1 }
## The scale and the number of good steps after each step.
fn scales(good: bool[N]) -> f32[N, 2] {
    var (s, seen) = (amp.scaler(start: 8.0), zeros([N, 2]))
    for i in 0..N {
        s = amp.update(s, good[i], growth: 4.0, backoff: 0.25, interval: 3)
        seen[i] = stack((s.scale, f32(s.good)))
    }
    seen
}"""

# ---- losses

RNG = np.random.default_rng(11)


def some(*shape):
    return np.round(RNG.normal(size=shape), 4)


X, CLASSES, WEIGHT = some(4, 5), np.array([3, 0, 4, 1]), np.round(RNG.uniform(0.5, 2, 5), 3)
PROBABILITIES = np.round(np.abs(some(4, 5)) / 3, 4)
IMAGES, PICTURE_CLASSES = some(2, 3, 4), np.array([[0, 2, 1, -100], [1, 1, -100, 2]])
A, B, C = some(3, 6), some(3, 6), some(3, 6)
P, TARGET, SIGNS = np.round(RNG.uniform(0.02, 0.98, (3, 6)), 4), np.round(RNG.uniform(size=(3, 6)), 4), np.where(some(3, 6) > 0, 1.0, -1.0)
WEIGHTS = np.round(RNG.uniform(0.5, 2, 6), 3)
LOSSES = "import nn\n" + "\n".join(f"let {name}: {numpy_programs.NAMES[v.dtype.name]}{list(v.shape)} = {v.tolist()}" for name, v in (
    ("x", X), ("classes", CLASSES), ("weight", WEIGHT), ("some", PROBABILITIES), ("images", IMAGES), ("where_not", PICTURE_CLASSES),
    ("a", A), ("b", B), ("c", C), ("p", P), ("target", TARGET), ("signs", SIGNS), ("weights", WEIGHTS)))


def losses():
    F = torch.nn.functional
    t = torch.tensor
    x, classes, weight, some_p, a, b, c, p, target, signs, weights = map(t, (X, CLASSES, WEIGHT, PROBABILITIES, A, B, C, P, TARGET, SIGNS, WEIGHTS))
    images, where_not = t(IMAGES), t(PICTURE_CLASSES)
    log_p, log_target = torch.log_softmax(a, 1), torch.log_softmax(b, 1)
    cases = []
    for reduction in ("mean", "sum", "none"):
        r = f', reduction: "{reduction}"'

        def add(code, value):
            cases.append((code[:-1] + r + ")", value.numpy()))

        for options in ({}, {"label_smoothing": 0.1}, {"weight": weight}, {"weight": weight, "label_smoothing": 0.2}, {"ignore_index": 4}, {"ignore_index": 3, "weight": weight, "label_smoothing": 0.3}):
            said = "".join(f", {dict(label_smoothing='smoothing').get(k, k)}: {'weight' if k == 'weight' else v}" for k, v in options.items())
            add(f"nn.cross_entropy(x, classes{said})", F.cross_entropy(x, classes, reduction=reduction, **options))
            if "ignore_index" not in options:
                add(f"nn.cross_entropy(x, some{said})", F.cross_entropy(x, some_p, reduction=reduction, **options))
            if "label_smoothing" not in options:
                add(f"nn.nll_loss(log_softmax(x), classes{said})", F.nll_loss(torch.log_softmax(x, 1), classes, reduction=reduction, **options))
        add("nn.cross_entropy(images, where_not, axis: 1)", F.cross_entropy(images, where_not, reduction=reduction))
        add("nn.cross_entropy(images, where_not, axis: 1, weight: weight[0:3], smoothing: 0.1)", F.cross_entropy(images, where_not, weight=weight[0:3], label_smoothing=0.1, reduction=reduction))
        add("nn.bce(p, target)", F.binary_cross_entropy(p, target, reduction=reduction))
        add("nn.bce(p, target, weight: weights)", F.binary_cross_entropy(p, target, weights, reduction=reduction))
        add("nn.bce_with_logits(a, target)", F.binary_cross_entropy_with_logits(a, target, reduction=reduction))
        add("nn.bce_with_logits(40.0 * a, target, weight: weights, pos_weight: 2.0 * weights)", F.binary_cross_entropy_with_logits(40.0 * a, target, weights, pos_weight=2.0 * weights, reduction=reduction))
        add("nn.mse(a, b)", F.mse_loss(a, b, reduction=reduction))
        add("nn.l1(a, b)", F.l1_loss(a, b, reduction=reduction))
        add("nn.huber(a, b)", F.huber_loss(a, b, reduction=reduction))
        add("nn.huber(a, b, delta: 0.4)", F.huber_loss(a, b, delta=0.4, reduction=reduction))
        add("nn.smooth_l1(a, b)", F.smooth_l1_loss(a, b, reduction=reduction))
        add("nn.smooth_l1(a, b, beta: 0.4)", F.smooth_l1_loss(a, b, beta=0.4, reduction=reduction))
        add("nn.kl_div(log_softmax(a), maximum(target - 0.2, 0.0))", F.kl_div(log_p, torch.clamp(target - 0.2, min=0), reduction=reduction))
        add("nn.kl_div(log_softmax(a), log_softmax(b), log_target: true)", F.kl_div(log_p, log_target, log_target=True, reduction=reduction))
        add("nn.hinge(a, signs)", F.hinge_embedding_loss(a, signs, reduction=reduction))
        add("nn.hinge(a, signs, margin: 0.5)", F.hinge_embedding_loss(a, signs, margin=0.5, reduction=reduction))
        add("nn.triplet_margin(a, b, c)", F.triplet_margin_loss(a, b, c, reduction=reduction))
        add("nn.triplet_margin(a, b, c, margin: 4.0, p: 1.0, swap: true, eps: 1e-3)", F.triplet_margin_loss(a, b, c, margin=4.0, p=1, swap=True, eps=1e-3, reduction=reduction))
    cases.append(('nn.kl_div(log_softmax(a), target, reduction: "batchmean")', F.kl_div(log_p, target, reduction="batchmean").numpy()))
    cases += [("nn.cosine_similarity(a, b)", F.cosine_similarity(a, b, dim=1).numpy()), ("nn.cosine_similarity(a, b, axis: 0)", F.cosine_similarity(a, b, dim=0).numpy())]
    return PRINTED, cases


# ---- losses where a branch of their formulas changes: logits and differences of 0, probabilities of 0 and 1

AT = {"x": [0.0, 1.0, -1.0, 2.0, 0.0, 0.5, -3.0, 1.0], "y": [0.0, 1.0, 0.0, 0.0, 1.0, 0.5, 1.0, 0.0],
      "p": [0.0, 1.0, 0.0, 1.0, 0.5, 0.25, 1.0, 0.0], "q": [0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.5, 0.5], "d": [1.0, 0.5, 2.0, -1.0, 0.7, 0.3, 1.1, 0.9]}
KINKS = "import nn\n" + "\n".join(f"let {name}: f64[8] = {v}" for name, v in AT.items())


def kinks():
    F = torch.nn.functional
    x, y, p, q, d = (torch.tensor(v, dtype=torch.float64) for v in AT.values())
    cases = [("grad(|p| nn.bce(p, q))(p)", torch.func.grad(lambda p: F.binary_cross_entropy(p, q))(p).numpy())]
    for code, f in (("nn.bce_with_logits(x, y)", F.binary_cross_entropy_with_logits),
                    ("nn.bce_with_logits(x, y, pos_weight: 3.0 * ones_like(x))", lambda x, y: F.binary_cross_entropy_with_logits(x, y, pos_weight=3 * torch.ones_like(x))),
                    ("nn.huber(x, y, delta: 0.5)", lambda x, y: F.huber_loss(x, y, delta=0.5)), ("nn.smooth_l1(x, y)", F.smooth_l1_loss),
                    ("sum(softplus(x) * (1.0 + y))", lambda x, y: (F.softplus(x) * (1 + y)).sum())):
        first = x.clone().requires_grad_()
        g, = torch.autograd.grad(f(first, y), first, create_graph=True)
        cases += [(f"grad(|x| {code})(x)", g.detach().numpy()), (f"vjp(grad(|x| {code}))(x, d).1", torch.autograd.grad(g, first, d)[0].numpy())]
    return PRINTED, cases


# ---- layers: parameters and inputs from a formula

def fill(shape, seed, scale=1.0, offset=0.0):
    i = np.arange(np.prod(shape), dtype=np.float64)
    return (offset + scale * np.sin(i * i * 0.37 + seed)).reshape(shape)


FILL = """import nn
## Numbers that look random and are the same everywhere.
fn fill(shape: [...S], seed: f64, scale: f64 = 1.0, offset: f64 = 0.0) -> f64[...S] {
    let i = arange(zeros(shape).size, dtype: f64)
    reshape(offset + scale * sin(i * i * 0.37 + seed), shape)
}"""


def filled(module, start=1.0):
    """A module of torch in f64, whose parameters are `fill`ed with the seeds start, start + 1, ..."""
    module = module.double()
    with torch.no_grad():
        for k, p in enumerate(module.parameters()):
            p.copy_(torch.tensor(fill(tuple(p.shape), start + k, 0.5)))
    return module


def layers():
    N = torch.nn
    t = lambda *shape, seed=0.5: torch.tensor(fill(shape, seed))
    w = lambda shape, seed=1.0: f"fill({list(shape)}, {seed}, scale: 0.5)"
    cases = []

    def add(code, module, *inputs):
        with torch.no_grad(): cases.append((code, filled(module)(*inputs).numpy()))

    x = "fill([3, 6], 0.5)"
    add(f"nn.Linear {{ w: {w([4, 6])}.T, b: {w([4], 2.0)} }}({x})", N.Linear(6, 4), t(3, 6))
    add(f"nn.Projection {{ w: {w([4, 6])}.T }}({x})", N.Linear(6, 4, bias=False), t(3, 6))
    add(f"nn.Embedding {{ w: {w([5, 3])} }}([[4, 0], [1, 1]])", N.Embedding(5, 3), torch.tensor([[4, 0], [1, 1]]))
    for eps in (1e-5, 1e-2):
        e = int(eps * 1e15 + 0.5)
        add(f"nn.LayerNorm[6, f64, {e}] {{ weight: {w([6])}, bias: {w([6], 2.0)} }}({x})", N.LayerNorm(6, eps=eps), t(3, 6))
        add(f"nn.LayerNormScale[6, f64, {e}] {{ weight: {w([6])} }}({x})", N.LayerNorm(6, eps=eps, bias=False), t(3, 6))
        add(f"nn.LayerNormPlain[6, {e}] {{ }}({x})", N.LayerNorm(6, eps=eps, elementwise_affine=False), t(3, 6))
        add(f"nn.RmsNorm[6, f64, {e}] {{ weight: {w([6])} }}({x})", N.RMSNorm(6, eps=eps), t(3, 6))
        add(f"nn.GroupNorm[2, 4, f64, {e}] {{ weight: {w([4])}, bias: {w([4], 2.0)} }}(fill([2, 4, 3], 0.5))", N.GroupNorm(2, 4, eps=eps), t(2, 4, 3))
        add(f"nn.GroupNormPlain[2, 4, {e}] {{ }}(fill([2, 4, 3], 0.5))", N.GroupNorm(2, 4, eps=eps, affine=False), t(2, 4, 3))
    add(f"nn.LayerNormOver {{ weight: {w([2, 3])}, bias: {w([2, 3], 2.0)} }}(fill([2, 2, 3], 0.5))", N.LayerNorm([2, 3]), t(2, 2, 3))
    add(f"nn.Conv1d[4, 6, 3, 2, 1, 2, 2, f64] {{ w: {w([6, 2, 3])}, b: {w([6], 2.0)} }}(fill([2, 4, 9], 0.5))", N.Conv1d(4, 6, 3, 2, 1, 2, 2), t(2, 4, 9))
    add(f"nn.Conv2d[4, 2, 3, 2, 1, 1, 2, f64] {{ w: {w([2, 2, 3, 3])}, b: {w([2], 2.0)} }}(fill([1, 4, 5, 5], 0.5))", N.Conv2d(4, 2, 3, 2, 1, 1, 2), t(1, 4, 5, 5))
    add(f"nn.Conv2dPlain[2, 2, 3, 1, 0, 2, 1, f64] {{ w: {w([2, 2, 3, 3])} }}(fill([1, 2, 6, 6], 0.5))", N.Conv2d(2, 2, 3, dilation=2, bias=False), t(1, 2, 6, 6))
    add(f"nn.Conv3d[2, 2, 2, 2, 1, 1, 1, f64] {{ w: {w([2, 2, 2, 2, 2])}, b: {w([2], 2.0)} }}(fill([1, 2, 3, 3, 3], 0.5))", N.Conv3d(2, 2, 2, 2, 1), t(1, 2, 3, 3, 3))
    add(f"nn.ConvTranspose2d[4, 2, 3, 2, 1, 1, 1, 2, f64] {{ w: {w([4, 1, 3, 3])}, b: {w([2], 2.0)} }}(fill([1, 4, 2, 2], 0.5))", N.ConvTranspose2d(4, 2, 3, 2, 1, 1, 2), t(1, 4, 2, 2))
    add(f"nn.ConvTranspose2dPlain[2, 2, 2, 2, 0, 0, 1, 1, f64] {{ w: {w([2, 2, 2, 2])} }}(fill([1, 2, 2, 2], 0.5))", N.ConvTranspose2d(2, 2, 2, 2, bias=False), t(1, 2, 2, 2))
    add(f"nn.ConvTranspose1d[4, 2, 3, 2, 1, 1, 1, 2, f64] {{ w: {w([4, 1, 3])}, b: {w([2], 2.0)} }}(fill([1, 4, 3], 0.5))", N.ConvTranspose1d(4, 2, 3, 2, 1, 1, 2), t(1, 4, 3))
    add(f"nn.ConvTranspose3dPlain[2, 2, 2, 2, 0, 0, 1, 1, f64] {{ w: {w([2, 2, 2, 2, 2])} }}(fill([1, 2, 2, 1, 2], 0.5))", N.ConvTranspose3d(2, 2, 2, 2, bias=False), t(1, 2, 2, 1, 2))
    add(f"nn.Prelu {{ slope: {w([4])} }}(fill([2, 4, 3], 0.5))", N.PReLU(4), t(2, 4, 3))
    add(f"nn.glu({x})", N.GLU(), t(3, 6))
    add("nn.pixel_shuffle(fill([1, 4, 2, 3], 0.5), 2)", N.PixelShuffle(2), t(1, 4, 2, 3))
    return PRINTED, cases


def batch_norm():
    """Three batches in training, then one in use."""
    cases = []
    for options, said in (({}, "100000, 10000000000"), ({"momentum": 0.25, "eps": 1e-2}, "250000, 10000000000000")):
        for affine in (True, False):
            m = filled(torch.nn.BatchNorm1d(4, affine=affine, **options))
            with torch.no_grad():
                for k in range(3): y = m(torch.tensor(fill((3, 4, 2), 0.5 + k, 2.0, 1.0)))
                m.eval()
                z = m(torch.tensor(fill((3, 4, 2), 0.5)))
            weights = "weight: fill([4], 1.0, scale: 0.5), bias: fill([4], 2.0, scale: 0.5), " if affine else ""
            start = f"nn.BatchNorm{'' if affine else 'Plain'}[4, f64, {said}] {{ {weights}mean: f64([0.0, 0.0, 0.0, 0.0]), variance: f64([1.0, 1.0, 1.0, 1.0]) }}"
            cases += [(f"three({start}).0", y.numpy()), (f"three({start}).1.mean", m.running_mean.numpy()), (f"three({start}).1.variance", m.running_var.numpy()),
                      (f"three({start}).1(fill([3, 4, 2], 0.5))", z.numpy())]
    return PRINTED, cases


BATCH_NORM = FILL + """
## The last outputs of a tuple of the layer and nothing else, and the layer, after three batches.
fn three[M: tree](m: M) {
    var (layers, y) = ((m, |x| x), fill([3, 4, 2], 0.0))
    for k in 0..3 {
        let (next, kept) = nn.train(layers, fill([3, 4, 2], 0.5 + f64(k), scale: 2.0, offset: 1.0))
        layers.0 = kept.0
        y = next
    }
    (y, layers.0)
}"""


def recurrent():
    cases = []
    for name, gates in (("RNN", 1), ("LSTM", 4), ("GRU", 3)):
        struct = name.title() if name != "RNN" else "Rnn"

        def layer(start, i):
            return (f"nn.{struct} {{ x: fill([{gates * 4}, {i}], {start}, scale: 0.5).T, h: fill([{gates * 4}, 4], {start + 1}, scale: 0.5).T, "
                    f"bx: fill([{gates * 4}], {start + 2}, scale: 0.5), bh: fill([{gates * 4}], {start + 3}, scale: 0.5) }}")

        x, xt = "fill([2, 5, 3], 0.5)", torch.tensor(fill((2, 5, 3), 0.5))
        begun = lambda k: torch.tensor(fill((k, 2, 4), 0.25))
        cells = torch.tensor(fill((2, 2, 4), 0.75))
        one, both, two = (filled(getattr(torch.nn, name)(3, 4, batch_first=True, **o)) for o in ({}, {"bidirectional": True}, {"num_layers": 2}))
        with torch.no_grad():
            cases.append((f"{layer(1.0, 3)}({x})", one(xt)[0].numpy()))
            pair = "({0}, {1})" if name == "LSTM" else "{0}"
            h = [f"fill([2, 2, 4], 0.25)[{k}]" for k in (0, 1)]
            c = [f"fill([2, 2, 4], 0.75)[{k}]" for k in (0, 1)]
            states = [pair.format(h[k], c[k]) for k in (0, 1)]
            given = (begun(2), cells) if name == "LSTM" else begun(2)
            first = (begun(1), torch.tensor(fill((2, 2, 4), 0.75))[:1]) if name == "LSTM" else torch.tensor(fill((2, 2, 4), 0.25))[:1]
            if name == "LSTM": first = (torch.tensor(fill((2, 2, 4), 0.25))[:1], first[1])
            y, last = one(xt, first)
            at = ".1.0" if name == "LSTM" else ".1"
            cases += [(f"nn.run({layer(1.0, 3)}, {x}, {states[0]}).0", y.numpy()),
                      (f"nn.run({layer(1.0, 3)}, {x}, {states[0]}){at}", (last[0] if name == "LSTM" else last)[0].numpy())]
            if name == "LSTM": cases.append((f"nn.run({layer(1.0, 3)}, {x}, {states[0]}).1.1", last[1][0].numpy()))
            twins = f"nn.Bidirectional {{ forward: {layer(1.0, 3)}, backward: {layer(5.0, 3)} }}"
            y, last = both(xt, given)
            cases += [(f"{twins}({x})", both(xt)[0].numpy()), (f"nn.run({twins}, {x}, ({states[0]}, {states[1]})).0", y.numpy()),
                      (f"nn.run({twins}, {x}, ({states[0]}, {states[1]})).1.1{'.0' if name == 'LSTM' else ''}", (last[0] if name == "LSTM" else last)[1].numpy())]
            tower = f"({layer(1.0, 3)}, {layer(5.0, 4)})"
            y, last = two(xt, given)
            cases += [(f"{tower}({x})", two(xt)[0].numpy()), (f"nn.run({tower}, {x}, ({states[0]}, {states[1]})).0", y.numpy()),
                      (f"nn.run({tower}, {x}, ({states[0]}, {states[1]})).1.0{'.0' if name == 'LSTM' else ''}", (last[0] if name == "LSTM" else last)[0].numpy())]
            plain = f"x: fill([{gates * 4}, 3], 1.0, scale: 0.5).T, h: fill([{gates * 4}, 4], 2.0, scale: 0.5).T"
            cases.append((f"nn.{struct}Plain {{ {plain} }}({x})", filled(getattr(torch.nn, name)(3, 4, batch_first=True, bias=False))(xt)[0].numpy()))
            if name != "RNN": continue
            cases.append((f"nn.RnnPlain[3, 4, f64, 1] {{ {plain} }}({x})", filled(torch.nn.RNN(3, 4, nonlinearity="relu", batch_first=True, bias=False))(xt)[0].numpy()))
    return PRINTED, cases


def heads():
    """PyTorch has the weights of queries, keys and values in one tensor where they are of one width."""
    cases = []
    x, memory = torch.tensor(fill((2, 3, 8), 0.5)), torch.tensor(fill((2, 4, 8), 0.75))
    may = fill((3, 3), 0.3) > -0.5
    seen = torch.tensor(~may)
    for bias in (True, False):
        m = filled(torch.nn.MultiheadAttention(8, 2, bias=bias, batch_first=True))
        rows = lambda k: f"fill([24, 8], 1.0, scale: 0.5)[{8 * k}:{8 * k + 8}].T"
        if bias:
            part = lambda k: f"nn.Linear {{ w: {rows(k)}, b: fill([24], 2.0, scale: 0.5)[{8 * k}:{8 * k + 8}] }}"
            out = "nn.Linear { w: fill([8, 8], 3.0, scale: 0.5).T, b: fill([8], 4.0, scale: 0.5) }"
        else:
            part = lambda k: f"nn.Projection {{ w: {rows(k)} }}"
            out = "nn.Projection { w: fill([8, 8], 2.0, scale: 0.5).T }"
        made = f"nn.MultiHeadAttention{'' if bias else 'Plain'}[8, 2, f64] {{ q: {part(0)}, k: {part(1)}, v: {part(2)}, out: {out} }}"
        y = "fill([2, 3, 8], 0.5)"
        causal = torch.triu(torch.ones(3, 3, dtype=torch.bool), 1)
        with torch.no_grad():
            cases += [(f"{made}({y})", m(x, x, x)[0].numpy()), (f"{made}({y}, causal: true)", m(x, x, x, attn_mask=causal)[0].numpy()),
                      (f"{made}({y}, mask: fill([3, 3], 0.3) > -0.5)", m(x, x, x, attn_mask=seen)[0].numpy()),
                      (f"{made}({y}, mask: fill([3, 3], 0.3))", m(x, x, x, attn_mask=torch.tensor(fill((3, 3), 0.3)))[0].numpy()),
                      (f"nn.attend({made}, {y}, fill([2, 4, 8], 0.75))", m(x, memory, memory)[0].numpy())]
    m = filled(torch.nn.MultiheadAttention(8, 2, kdim=3, vdim=5, batch_first=True))
    keys, values = torch.tensor(fill((2, 4, 3), 0.75)), torch.tensor(fill((2, 4, 5), 0.25))
    bias = lambda k: f"b: fill([24], 4.0, scale: 0.5)[{8 * k}:{8 * k + 8}]"
    made = (f"nn.MultiHeadAttention[8, 2, f64, 3, 5] {{ q: nn.Linear {{ w: fill([8, 8], 1.0, scale: 0.5).T, {bias(0)} }}, k: nn.Linear {{ w: fill([8, 3], 2.0, scale: 0.5).T, {bias(1)} }}, "
            f"v: nn.Linear {{ w: fill([8, 5], 3.0, scale: 0.5).T, {bias(2)} }}, out: nn.Linear {{ w: fill([8, 8], 5.0, scale: 0.5).T, b: fill([8], 6.0, scale: 0.5) }} }}")
    with torch.no_grad(): cases.append((f"nn.attend3({made}, fill([2, 3, 8], 0.5), fill([2, 4, 3], 0.75), fill([2, 4, 5], 0.25))", m(x, keys, values)[0].numpy()))
    for first in (True, False):
        m = filled(torch.nn.TransformerEncoderLayer(8, 2, 12, 0.0, "gelu", batch_first=True, norm_first=first))
        linear = lambda k, i, o: f"nn.Linear {{ w: fill([{o}, {i}], {k}.0, scale: 0.5).T, b: fill([{o}], {k + 1}.0, scale: 0.5) }}"
        part = lambda k: f"nn.Linear {{ w: fill([24, 8], 1.0, scale: 0.5)[{8 * k}:{8 * k + 8}].T, b: fill([24], 2.0, scale: 0.5)[{8 * k}:{8 * k + 8}] }}"
        norm = lambda k: f"nn.LayerNorm {{ weight: fill([8], {k}.0, scale: 0.5), bias: fill([8], {k + 1}.0, scale: 0.5) }}"
        made = (f"nn.TransformerBlock[8, 2, f64, 12, {0 if first else 1}] {{ norm1: {norm(9)}, attention: nn.MultiHeadAttention[8, 2, f64] {{ q: {part(0)}, k: {part(1)}, v: {part(2)}, "
                f"out: {linear(3, 8, 8)} }}, norm2: {norm(11)}, up: {linear(5, 8, 12)}, down: {linear(7, 12, 8)} }}")
        with torch.no_grad():
            cases += [(f"{made}(fill([2, 3, 8], 0.5))", m(x).numpy()), (f"nn.train(({made}, |y| y), fill([2, 3, 8], 0.5)).0", m(x).numpy()),
                      (f"{made}(fill([2, 3, 8], 0.5), mask: fill([3, 3], 0.3) > -0.5)", m(x, src_mask=seen).numpy())]
    return PRINTED, cases


# ---- derivatives and whole trainings

AD = FILL.replace("import nn", "import ad") + """
struct M { w: f64[2, 2], n: i64, b: f64[3], state k: f64 }
let m = M { w: fill([2, 2], 1.0), n: 3, b: fill([3], 2.0), k: 4.0 }
fn wide(x: f64[3]) -> f64[2, 4] = stack((concat((sin(x), square(x[0:1]))), exp(concat((x[0:1] * x[1:2], x)))))
fn tall(x: f64[2, 3]) -> f64[2] = tanh(x @ fill([3], 0.5)) * x[0, 0]
fn number(x: f64[3]) -> f64 = sum(exp(x)) * x[0] * x[1] + sum(x ** 3)
fn scaled(x: f64[3], s: f64[3], times: f64) -> f64[3] = exp(x * s) * times
fn weighted(x: f64[3], s: f64[3]) -> f64 = sum(exp(x) * s) * x[0]
fn of_model(m: M) -> f64 = sum(exp(m.w)) * sum(m.b ** 2)"""


def ad():
    x, y, v = (torch.tensor(fill(shape, seed)) for shape, seed in (((3,), 0.5), ((2, 3), 0.75), ((3,), 0.25)))
    w, b = torch.tensor(fill((2, 2), 1.0)), torch.tensor(fill((3,), 2.0))
    wide = lambda x: torch.stack((torch.cat((torch.sin(x), x[0:1] ** 2)), torch.exp(torch.cat((x[0:1] * x[1:2], x)))))
    tall = lambda x: torch.tanh(x @ torch.tensor(fill((3,), 0.5))) * x[0, 0]
    number = lambda x: torch.exp(x).sum() * x[0] * x[1] + (x ** 3).sum()
    flat = lambda v: torch.exp(v[:4]).sum() * (v[4:] ** 2).sum()
    all_of = torch.cat((w.flatten(), b))
    return PRINTED, [
        ("ad.jacobian(wide)(fill([3], 0.5))", torch.func.jacrev(wide)(x).numpy()), ("ad.jacobian(tall)(fill([2, 3], 0.75))", torch.func.jacrev(tall)(y).numpy()),
        ("ad.jacobian(number)(fill([3], 0.5))", torch.func.grad(number)(x).numpy()), ("ad.hessian(number)(fill([3], 0.5))", torch.func.hessian(number)(x).numpy()),
        ("ad.jacobian(scaled)(fill([3], 0.5), fill([3], 0.25), times: 2.0)", torch.func.jacrev(lambda x: torch.exp(x * v) * 2.0)(x).numpy()),
        ("ad.hessian(weighted)(fill([3], 0.5), fill([3], 0.25))", torch.func.hessian(lambda x: (torch.exp(x) * v).sum() * x[0])(x).numpy()),
        ("grad(|s: f64[3]| sum(ad.jacobian(scaled)(fill([3], 0.5), s, 2.0)))(fill([3], 0.25))", torch.func.grad(lambda s: torch.func.jacrev(lambda x: torch.exp(x * s) * 2.0)(x).sum())(v).numpy()),
        ("ad.hvp(number)(fill([3], 0.5), fill([3], 0.25))", (torch.func.hessian(number)(x) @ v).numpy()),
        ("ad.ravel(m)", all_of.numpy()), ("ad.ravel(ad.unravel(2.0 * ad.ravel(m), like: m))", 2.0 * all_of.numpy()),
        ("ad.unravel(2.0 * ad.ravel(m), like: m).n", np.int64(3)), ("ad.unravel(2.0 * ad.ravel(m), like: m).k", np.float64(4.0)),
        ("ad.hessian(|v| of_model(ad.unravel(v, like: m)))(ad.ravel(m))", torch.func.hessian(flat)(all_of).numpy()),
        ("ad.ravel(ad.hvp(of_model)(m, m))", (torch.func.hessian(flat)(all_of) @ all_of).numpy())]


TRAINING = FILL.replace("import nn", "import nn\nimport optim") + """
## A network with batch norm, the loss of a batch of it and what it keeps.
let net = (nn.Linear { w: fill([6, 4], 1.0, scale: 0.5).T, b: fill([6], 2.0, scale: 0.5) },
    nn.BatchNorm[6, f64] { weight: fill([6], 3.0, scale: 0.5), bias: fill([6], 4.0, scale: 0.5), mean: fill([6], 0.0, scale: 0.0), variance: fill([6], 0.0, scale: 0.0, offset: 1.0) },
    relu, nn.Linear { w: fill([3, 6], 5.0, scale: 0.5).T, b: fill([3], 6.0, scale: 0.5) })
fn loss[M: tree](m: M, x: f64[B, 4], y: i64[B]) {
    let (out, kept) = nn.train(m, x)
    (nn.cross_entropy(out, y, smoothing: 0.1), kept)
}
fn classes[M: tree](m: M) -> f64[10] {
    var (m, s, seen) = (m, optim.adamw(m), zeros([10], dtype: f64))
    for i in 0..10 {
        let ((l, kept), g) = value_and_grad(loss, aux: true)(m, fill([8, 4], 0.5 + f64(i)), arange(8) % 3)
        (m, s) = optim.step(s, kept, optim.clip_norm(g, 0.5), lr: optim.one_cycle(i, total: 10, peak: 0.1))
        seen[i] = l
    }
    seen
}
## An lstm that predicts the mean of what it reads.
struct Reader { lstm: nn.Lstm[3, 4, f64], out: nn.Linear[4, 3, f64] }
fn call(m: Reader, x: f64[B, L, 3]) -> f64[B, 3] = m.out(m.lstm(x)[:, -1])
let reader = Reader {
    lstm: nn.Lstm { x: fill([16, 3], 1.0, scale: 0.5).T, h: fill([16, 4], 2.0, scale: 0.5).T, bx: fill([16], 3.0, scale: 0.5), bh: fill([16], 4.0, scale: 0.5) },
    out: nn.Linear { w: fill([3, 4], 5.0, scale: 0.5).T, b: fill([3], 6.0, scale: 0.5) },
}
fn means(m: Reader) -> f64[10] {
    var (m, s, seen) = (m, optim.sgd(m), zeros([10], dtype: f64))
    for i in 0..10 {
        let x = fill([5, 6, 3], 0.5 + f64(i))
        let (l, g) = value_and_grad(|m| nn.mse(m(x), mean(x, axis: 1)))(m)
        (m, s) = optim.step(s, m, g, lr: 0.1, momentum: 0.9, nesterov: true)
        seen[i] = l
    }
    seen
}"""


def training():
    """The losses of ten steps."""
    N = torch.nn
    net = filled(N.Sequential(N.Linear(4, 6), N.BatchNorm1d(6), N.ReLU(), N.Linear(6, 3)))
    optimiser = torch.optim.AdamW(net.parameters())
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 0.1, 10, cycle_momentum=False)
    first = []
    for i in range(10):
        loss = N.functional.cross_entropy(net(torch.tensor(fill((8, 4), 0.5 + i))), torch.arange(8) % 3, label_smoothing=0.1)
        optimiser.zero_grad()
        loss.backward()
        N.utils.clip_grad_norm_(net.parameters(), 0.5)
        optimiser.step()
        if i < 9: schedule.step()
        first.append(loss.item())
    lstm, out = filled(N.LSTM(3, 4, batch_first=True)), filled(N.Linear(4, 3), 5.0)
    optimiser, second = torch.optim.SGD([*lstm.parameters(), *out.parameters()], 0.1, 0.9, nesterov=True), []
    for i in range(10):
        x = torch.tensor(fill((5, 6, 3), 0.5 + i))
        loss = N.functional.mse_loss(out(lstm(x)[0][:, -1]), x.mean(1))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        second.append(loss.item())
    return PRINTED, [("classes(net)", np.array(first)), ("means(reader)", np.array(second))]


PROGRAMS = {
    **{f"optim_{name}": (OPTIMISERS, lambda name=name: optimisers(name)) for name in OPTIONS},
    "optim_lion": (OPTIMISERS, optim_lion), "optim_lbfgs": (OPTIMISERS, optim_lbfgs), "optim_f32": (OPTIMISERS, optim_f32),
    "schedules": (SCHEDULES, schedules), "clipping": (CLIPPING, clipping), "scaler": (AMP, amp),
    "losses": (LOSSES, losses), "kinks": (KINKS, kinks), "layers": (FILL, layers), "batch_norm": (BATCH_NORM, batch_norm), "recurrent": (FILL, recurrent), "heads": (FILL, heads), "derivatives": (AD, ad), "training": (TRAINING, training),
}

for name in sys.argv[1:] or PROGRAMS:
    setup, cases = PROGRAMS[name]
    bound, pairs = cases()
    (HERE / f"{name}.tl").write_text(program(name, bound, setup.split("\n"), pairs))
