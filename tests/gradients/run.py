#!/usr/bin/env python3
"""Gradients against those that PyTorch computed: run.py --tenc PATH [--cases FOLDER] [--only TEXT] [--with FLAGS] [--cuda LIBCUDA]

Each case of cases.jsonl (recorded by record.py, which says what stands there) becomes a few lines of a TL program: the
value and gradients of `vjp`, the derivative of `jvp`, and the gradients of the gradients. They may differ from what is
recorded by ROUNDINGS of the case's units. With `--cuda` they are computed as CUDA C++ on the virtual machine for PTX. Closes with `N passed, N failed`."""
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

HERE = pathlib.Path(__file__).resolve().parent
PER_PROGRAM = 40
# What is computed between input and result, in units: a sum of a hundred products and a few functions on the way.
ROUNDINGS = 64


class Case:
    def __init__(self, line, at, unit):
        self.name, self.expression, self.arguments, self.by, self.outs, self.kinds = json.loads(line)
        self.at, self.unit = at, unit
        gradients = [self.arguments[i] for i in self.by]
        # Shapes in the order of the file; what begins with a capital is expected.
        self.parts = [("x", s) for s in self.arguments] + [("d", s) for s in self.outs] + [("Y", s) for s in self.outs] + [("G", s) for s in gradients]
        if len(self.kinds) > 1: self.parts += [("v", s) for s in gradients]
        if "j" in self.kinds: self.parts += [("J", s) for s in self.outs]
        if "g" in self.kinds: self.parts += [("S", s) for s in gradients + self.outs]
        self.size = sum(int(np.prod(s)) for _, s in self.parts)

    def wanted(self, values):
        """(what, numbers, unit index) of what is expected."""
        at, found, unit = self.at, [], self.unit
        for kind, shape in self.parts:
            n = int(np.prod(shape))
            if kind.isupper():
                found.append((kind, values[at:at + n], unit))
                unit += 1
            at += n
        return found

    def text(self, k):
        """Lines that save {k}.npy; the file's numbers are `data`."""
        lines, at, inputs = [], self.at, {"x": [], "d": [], "v": []}
        for kind, shape in self.parts:
            n = int(np.prod(shape))
            if kind in inputs:
                inputs[kind].append(f"data[{at}]" if not shape else f"data[{at}:{at + n}].reshape({shape})")
            at += n
        tree = lambda parts: parts[0] if len(parts) == 1 else "(" + ", ".join(parts) + ")"
        params = [f"a{i}" for i in range(len(self.arguments))]
        by = str(self.by[0]) if len(self.by) == 1 else "(" + ", ".join(map(str, self.by)) + ")"
        leaves = lambda name, count: [name] if count == 1 else [f"{name}.{i}" for i in range(count)]
        outs, grads = len(self.outs), len(self.by)
        typed = ", ".join(f"{p}: f64{s if s else ''}" for p, s in zip(params, self.arguments))
        lines.append(f"fn f{k}({typed}) = {self.expression}")
        arguments = ", ".join(inputs["x"])
        lines.append(f"let (y{k}, g{k}) = vjp(f{k}, wrt: {by})({arguments}, {tree(inputs['d'])})")
        saved = leaves(f"y{k}", outs) + leaves(f"g{k}", grads)
        if "j" in self.kinds:
            lines.append(f"let (z{k}, j{k}) = jvp(f{k}, wrt: {by})({arguments}, {tree(inputs['v'])})")
            saved += leaves(f"j{k}", outs)
        if "g" in self.kinds:
            ds = [f"d{i}" for i in range(outs)]
            twice = self.by + [len(params) + i for i in range(outs)]
            # Gives what it is differentiated by, too, in the direction 0: a linear function's gradient depends on nothing.
            given = [(params + ds)[i] for i in twice]
            zeros = [f"0.0 * {(inputs['x'] + inputs['d'])[i]}" for i in twice]
            lines.append(f"let (h{k}, s{k}) = vjp(|{', '.join(params + ds)}| (vjp(f{k}, wrt: {by})({', '.join(params)}, {tree(ds)}).1, {', '.join(given)}), "
                         f"wrt: ({', '.join(map(str, twice))}))({arguments}, {', '.join(inputs['d'])}, ({tree(inputs['v'])}, {', '.join(zeros)}))")
            saved += leaves(f"s{k}", grads + outs)
        lines.append(f"save(\"{k}.npy\", " + (f"concat(({', '.join(f'flatten({s})' for s in saved)}))" if len(saved) > 1 else f"flatten({saved[0]})") + ")")
        return "\n".join(lines) + "\n"


def run(A, cases, values):
    """The numbers of each case, or why there are none."""
    with tempfile.TemporaryDirectory() as folder:
        first = cases[0].at
        np.save(f"{folder}/values.npy", values[first:cases[-1].at + cases[-1].size])
        text = f"import nn\nimport image\nlet data: f64[{cases[-1].at + cases[-1].size - first}] = load(\"values.npy\")\n"
        for k, c in enumerate(cases):
            whole, c.at = c.at, c.at - first
            text += c.text(k)
            c.at = whole
        with open(f"{folder}/p.tl", "w") as f: f.write(text)
        try:
            r = subprocess.run([A.tenc, "p.tl", *A.extra.split()], cwd=folder, capture_output=True, text=True, timeout=300,
                               env=machine.environment(A.tenc, A.cuda, machine.mode_of(cases[0].name)) if A.cuda else os.environ)
            why = re.sub(r"warning.*?\n\n", "", r.stderr + "\n", flags=re.S).strip() if r.returncode else ""
        except subprocess.TimeoutExpired:
            why = "timed out"
        if why and len(cases) > 1:
            half = len(cases) // 2
            return run(A, cases[:half], values) + run(A, cases[half:], values)
        if A.print and len(cases) == 1: print(text)
        return [why or np.load(f"{folder}/{k}.npy") for k in range(len(cases))]


def problem(case, got, values, units):
    if isinstance(got, str): return got.replace("\n", "\n    ")
    at = 0
    for kind, want, unit in case.wanted(values):
        found = got[at:at + len(want)]
        at += len(want)
        off = np.abs(found - want)
        bad = ~(off <= ROUNDINGS * units[unit])
        if bad.any():
            i = int(np.argmax(np.where(np.isnan(off), np.inf, off)))
            what = {"Y": "value", "G": "gradient", "J": "jvp", "S": "second gradient"}[kind]
            return f"{what} {found[i]!r}, not {want[i]!r}: off by {off[i] / max(units[unit], 5e-324):.3g} units"
    return None


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--tenc", required=True, type=os.path.abspath)
    ap.add_argument("--cases", type=pathlib.Path, default=HERE)
    ap.add_argument("--only", default="")
    ap.add_argument("--with", dest="extra", default="")
    ap.add_argument("--print", action="store_true")
    ap.add_argument("--cuda", type=os.path.abspath)
    A = ap.parse_args()
    if A.cuda:
        machine.skip_without_nvrtc(A.tenc, A.cuda)
        A.extra += " " + " ".join([*machine.FLAGS, "--default-device", "cuda:0"])
    file = np.load(A.cases / "values.npz")
    values, units = file["values"], file["units"].astype(np.float64)
    cases, at, unit = [], 0, 0
    for line in (A.cases / "cases.jsonl").read_text().splitlines():
        cases.append(Case(line, at, unit))
        at, unit = at + cases[-1].size, unit + sum(k.isupper() for k, _ in cases[-1].parts)
    # Programs hold neighbours, whose numbers stand together.
    cases = [c for c in cases if A.only in c.name]
    chunks = [cases[i:i + PER_PROGRAM] for i in range(0, len(cases), PER_PROGRAM)] if not A.print else [[c] for c in cases]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for chunk, results in zip(chunks, pool.map(lambda c: run(A, c, values), chunks)):
            for case, got in zip(chunk, results):
                if why := problem(case, got, values, units):
                    failed += 1
                    print(f"{case.name}: {case.expression} {case.arguments}: FAILED: {why}", flush=True)
    print(f"{len(cases) - failed} passed, {failed} failed")
    return int(failed > 0 or not cases)


if __name__ == "__main__":
    sys.exit(main())
