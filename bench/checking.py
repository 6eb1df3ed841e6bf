"""Whether a result is right: against the same computation in f64, within what the roundings of the dtype can make.

A result that n roundings of a dtype with unit u (2^-24 for f32) lead to is off by a random walk of n steps: u sqrt(n) of
its size, four times that at most among millions of elements (a sum in order of n terms stays within half of it). The size
is that of the element and the root mean square of the whole, as terms cancel. A row that makes an error of an input larger
says by how much (`condition`). Integers, and rows without roundings, are the same."""
import math

import numpy as np

UNIT = 2.0 ** -24
UNITS_OF_HALVES = {"bf16": 2.0 ** -8, "f16": 2.0 ** -11}


def problem(workload, want, got):
    """What is wrong with one result, as text, or None. `want` is in f64 where floats are compared."""
    if workload.distribution: return workload.distribution(got)
    if got.shape != want.shape: return f"shape {got.shape}, not {want.shape}"
    if not got.size: return None
    off = np.abs(got.astype(np.float64) - want)
    if not np.isfinite(off).all(): return "not finite"
    size = np.abs(want).astype(np.float64)
    bound = 4 * math.sqrt(workload.roundings) * UNIT * workload.condition * (size + math.sqrt(np.square(size).mean()))
    bound += workload.strays * size.mean()
    bound += UNITS_OF_HALVES.get(workload.dtype, 0) * size
    # An element that should be 0 may be so to the last subnormal.
    worst = np.max(off / np.maximum(bound, 1e-300))
    return None if worst <= 1 or not off.any() else f"off by {off.max():.3g}, {worst:.3g} times the bound"
