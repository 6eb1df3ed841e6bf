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

PROGRAMS = {
    **{f"optim_{name}": (OPTIMISERS, lambda name=name: optimisers(name)) for name in OPTIONS},
    "optim_lion": (OPTIMISERS, optim_lion), "optim_f32": (OPTIMISERS, optim_f32),
    "schedules": (SCHEDULES, schedules), "clipping": (CLIPPING, clipping), "scaler": (AMP, amp),
}

for name in sys.argv[1:] or PROGRAMS:
    setup, cases = PROGRAMS[name]
    bound, pairs = cases()
    (HERE / f"{name}.tl").write_text(program(name, bound, setup.split("\n"), pairs))
