#!/usr/bin/env python3
"""Derivatives inside derivatives, against what JAX computed: nested.py --tenc PATH [--only TEXT] [--record] [--cuda LIBCUDA]

Each case of nested.json has TL declarations (`before`) and an expression (`value`), the same in JAX (`jax`, where X and Y are
the vectors of the TL text), and its result. A case runs compiled, with one thread and on a virtual device (equal bits), in a
region of a device, with functions in its middle computed on another, and with the interpreter's own derivatives, which
decompositions of matrices do not have. A case with `together` stays on one device: its parts cannot be placed apart yet.
With `--cuda` cases run as CUDA C++ on the virtual machine for PTX instead, on a GPU, and with functions in its middle on one.
`--record` computes the results anew, with JAX in x64. Closes with `N passed, N failed`."""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[1] / "cuda"))
import machine

CASES = pathlib.Path(__file__).resolve().parent / "nested.json"
PER_PROGRAM = 12
CLOSE = 1e-9  # of the larger one and of 1: second and third derivatives of a few functions
MOVED = re.compile(r"\b(sin|cos|tanh|exp)\(")
VIRTUAL = ["--virtual", "cuda=2:lazy", "--transfers=allow"]


def elsewhere(text):
    """The text with calls of functions on another device than what is around them."""
    at, parts = 0, []
    while m := MOVED.search(text, at):
        end, depth = m.end(), 1
        while depth:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        parts += [text[at:m.start()], "(@cuda:1 { ", m[1], "(", elsewhere(text[m.end():end - 1]), ") }).to(cpu)"]
        at = end
    return "".join(parts) + text[at:]


def same(text): return text


SAME_BITS = {"compiled", "one thread", "on a device"}
NOT_KNOWN = "the interpreter does not differentiate"
# name -> flags, what is done to declarations, and to expressions
WAYS = {
    "compiled": (["--threads", "2", "--code", "full"], same, same),
    "one thread": (["--threads", "1"], same, same),
    "on a device": ([*VIRTUAL, "--default-device", "cuda:0"], same, same),
    "in a region": (VIRTUAL, same, lambda e: f"@cuda:0 {{ {e} }}"),
    "across devices": (VIRTUAL, elsewhere, elsewhere),
    "the interpreter": (["--engine=oracle"], same, same),
}
CUDA = [*machine.FLAGS, "--transfers=allow"]
CUDA_WAYS = {
    "as CUDA": ([*CUDA, "--default-device", "cuda:0"], same, same),
    "across devices": (CUDA, elsewhere, elsewhere),
}


def program(cases, before, value):
    lines = []
    for k, c in enumerate(cases):
        if c["before"] and before(c["before"]) not in lines: lines.append(before(c["before"]))
        lines += [f"let r{k} = {value(c['value'])}", f'save("{k}.npy", r{k})']
    return "\n".join(lines) + "\n"


def run(tenc, cases, way, cuda):
    """The results of all cases, or what went wrong."""
    flags, before, value = (CUDA_WAYS if cuda else WAYS)[way]
    environment = machine.environment(tenc, cuda, machine.mode_of(cases[0]["name"])) if cuda else os.environ
    with tempfile.TemporaryDirectory() as d:
        pathlib.Path(d, "p.tl").write_text(program(cases, before, value))
        r = subprocess.run([tenc, "p.tl", *flags], cwd=d, capture_output=True, text=True, timeout=300, env=environment)
        if r.returncode: return f"exit {r.returncode}: {r.stderr.strip()[:600]}"
        return [np.load(f"{d}/{k}.npy") for k in range(len(cases))]


def problems(tenc, cases, cuda):
    found = {c["name"]: [] for c in cases}
    first = None
    for way in CUDA_WAYS if cuda else WAYS:
        chosen = [c for c in cases if way != "across devices" or not c.get("together")]
        results = run(tenc, chosen, way, cuda)
        if isinstance(results, str) and len(chosen) > 1:  # one of them: which?
            results = [r if isinstance(r, str) else r[0] for r in (run(tenc, [c], way, cuda) for c in chosen)]
        elif isinstance(results, str):
            results = [results]
        if first is None: first = results
        for c, got, bits in zip(chosen, results, first):
            want = np.array(c["result"])
            if isinstance(got, str) and NOT_KNOWN in got: continue
            if isinstance(got, str): found[c["name"]].append(f"{way}: {got}")
            elif got.shape != want.shape or not np.all(np.abs(got - want) <= CLOSE * np.maximum(np.abs(want), 1)):
                found[c["name"]].append(f"{way}: {got.tolist()}, not {want.tolist()}")
            elif way in SAME_BITS and not isinstance(bits, str) and got.tobytes() != bits.tobytes():
                found[c["name"]].append(f"{way}: other bits: {got.tolist()}, not {bits.tolist()}")
    return found


def record(cases):
    import functools
    import itertools

    import jax
    import jax.numpy as jnp
    jax.config.update("jax_enable_x64", True)
    names = dict(jax=jax, jnp=jnp, lax=jax.lax, grad=jax.grad, functools=functools, itertools=itertools, X=jnp.array([0.3, -0.7, 1.1]), Y=jnp.array([0.5, 0.9, -0.4]))
    for c in cases: c["result"] = np.array(eval(c["jax"], names), dtype=float).tolist()
    CASES.write_text("[\n" + ",\n".join(" " + json.dumps(c) for c in cases) + "\n]\n")


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--tenc", type=os.path.abspath)
    ap.add_argument("--only", default="")
    ap.add_argument("--record", action="store_true")
    ap.add_argument("--cuda", type=os.path.abspath)
    a = ap.parse_args()
    cases = json.loads(CASES.read_text())
    if a.record: return record(cases)
    if a.cuda: machine.skip_without_nvrtc(a.tenc, a.cuda)
    cases = [c for c in cases if a.only in c["name"]]
    passed = failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for found in pool.map(lambda at: problems(a.tenc, cases[at:at + PER_PROGRAM], a.cuda), range(0, len(cases), PER_PROGRAM)):
            for name, what in found.items():
                passed, failed = passed + (not what), failed + bool(what)
                for w in what: print(f"{name}: {w}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
