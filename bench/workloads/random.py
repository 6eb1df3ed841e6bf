"""Random numbers: no two peers draw the same, so that what is checked is the distribution."""
import math

import numpy as np


def moments(x, *known):
    """What is wrong with the moments of a sample: each must be within 5 of its own standard deviations."""
    for name, got, want, deviation in known:
        if not abs(got - want) <= 5 * deviation / math.sqrt(x.size): return f"its {name} is {got:.6f}, not {want:.6f}"
    a = (x[:-1] - x.mean()) * (x[1:] - x.mean())
    if abs(a.mean()) > 5 * x.var() / math.sqrt(x.size): return "neighbours go together"
    return None


def evenly(u):
    """What is wrong with numbers that should fill [0, 1) evenly: 256 bins by chi-square, within 6 standard deviations."""
    if not (u.min() >= 0 and u.max() <= 1): return "it leaves [0, 1)"
    counts = np.bincount(np.minimum((u * 256).astype(np.int64), 255), minlength=256)
    square = ((counts - u.size / 256) ** 2).sum() / (u.size / 256)
    return None if abs(square - 255) <= 6 * math.sqrt(2 * 255) else f"chi-square of 256 bins is {square:.0f}"


def uniform(x):
    x = x.astype(np.float64)
    return moments(x, ("mean", x.mean(), 0.5, math.sqrt(1 / 12)), ("variance", x.var(), 1 / 12, math.sqrt(1 / 180))) or evenly(x)


def standard_normal(x):
    import torch
    x = x.astype(np.float64)
    known = ("mean", x.mean(), 0, 1), ("variance", x.var(), 1, math.sqrt(2)), ("fourth moment", (x ** 4).mean(), 3, math.sqrt(96))
    return moments(x, *known) or evenly(torch.special.ndtr(torch.from_numpy(x)).numpy())


def define(workloads, Workload):
    import jax, torch

    n = 1 << 22
    generator = np.random.default_rng(0)
    # JAX's state is the caller's: each call splits a key off, as a program does.
    state = [jax.random.key(0)]
    def drawn(draw):
        step = jax.jit(lambda key: (lambda k: (k[0], draw(k[1])))(jax.random.split(key)))
        def call():
            state[0], x = step(state[0])
            return x
        return call
    none = lambda r: []
    workloads["rand_4M"] = Workload(none, lambda: torch.rand(n), drawn(lambda k: jax.random.uniform(k, (n,))), 0,
        distribution=uniform, numpy=lambda: generator.random(n, np.float32))
    workloads["randn_4M"] = Workload(none, lambda: torch.randn(n), drawn(lambda k: jax.random.normal(k, (n,))), 0,
        distribution=standard_normal, numpy=lambda: generator.standard_normal(n, np.float32))
