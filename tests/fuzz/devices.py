#!/usr/bin/env python3
"""Random programs about placement, against a model of rules P1 to P6: devices.py --tenc PATH [--count N] [--seed S]

The model knows where every value lives and what it is (small integers, exact in f32), so it predicts what a program
prints, or the code and line of every placement error. Each program also runs in the reference interpreter and, when it is
right, on a machine without virtual devices, where only the names of actual devices differ.
"""

import argparse
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import numpy as np

DEVICES = {"cpu": "cpu", "gpu": "cuda:0", "far": "cuda:1"}  # names and what they are with --virtual cuda=2
OPERATORS = {"+": np.add, "-": np.subtract, "maximum": np.maximum, "minimum": np.minimum}
# Tensors of a host scalar `k` alone, and what they are times k: made, as any tensor, on the device around.
OF_SCALARS = {
    "broadcast_to(k, [4])": (1, 1, 1, 1),
    "tile(flatten(k), [4])": (1, 1, 1, 1),
    "repeat(k[new], 4)": (1, 1, 1, 1),
    "k[new][[0, 0, 0, 0]]": (1, 1, 1, 1),
    "cumsum(tile(expand_dims(k, axis: 0), [4]))": (1, 2, 3, 4),
    "pad(reshape(k, [1]), [(3, 0)])": (0, 0, 0, 1),
    "sort(concat([k[new], -k[new], reshape(k, [1]), -k[new]]))": (-1, -1, 1, 1),
    "flatten(outer(tile(k[new], [2]), [1.0, 2.0]))": (1, 2, 1, 2),
    "meshgrid(k, tile(k[new], [4])).0[:, 0]": (1, 1, 1, 1),
    "vmap(|x| k)(zeros([4]))": (1, 1, 1, 1),
    "tabulate(4, |i| k)": (1, 1, 1, 1),
    "topk(tile(k[new], [5]), k: 4).0": (1, 1, 1, 1),
    "if k > 1.0 { broadcast_to(k, [4]) } else { tile(k[new], [4]) }": (1, 1, 1, 1),
    "if k > 9.0 { zeros([4]) } else { k[new].repeat(4) }": (1, 1, 1, 1),
}
HEADER = """device gpu = cuda:0 or cpu
device far = cuda:1 or cpu
fn both(a: f32[N], b: f32[N]) -> f32[N] = minimum(maximum(a + b, -99.0), 99.0)
fn on_gpu(a: f32[N] @gpu) -> f32[N] @gpu = a + 1.0
fn ones_here(n: i64) -> f32[4] = ones([4])
let k = sum([1.0, 2.0])
""".splitlines()


class Value:
    def __init__(self, value, place):
        self.value, self.place = value, place  # place None: has had an error; value None: unknown


class Model:
    def __init__(self, rng):
        self.rng, self.lines, self.errors, self.printed, self.count = rng, list(HEADER), set(), [], 0
        self.names = {}

    def line(self, text):
        self.lines.append(text)

    def error(self, code):
        self.errors.add((code, len(self.lines) + 1))

    def fresh(self):
        self.count += 1
        return f"v{self.count}"

    def choose(self):
        return self.rng.choice(sorted(self.names))

    def expression(self, region, local=()):
        """Text and value of an expression on one line; `region` is the device of the annotation around it."""
        rng = self.rng

        def seen(name):
            v = self.names[name]
            return v.place if v.place is None or region is None or name in local else region

        kind = rng.choice(["binary", "binary", "binary", "literal", "scalar", "to", "call", "on_gpu", "create", "here", "scalars"])
        a, b = self.choose(), self.choose()
        if rng.random() < 0.75:  # mistakes are the minority
            same = [n for n in sorted(self.names) if seen(n) == seen(a)]
            b = rng.choice(same)
        x, y = self.names[a].value, self.names[b].value
        clamp = lambda v: None if v is None else np.clip(v, -99, 99)
        if kind in ("binary", "call"):
            op = rng.choice(sorted(OPERATORS))
            place = seen(a)
            if seen(a) is None or seen(b) is None:
                place = None
            elif seen(a) != seen(b):
                self.error("E0301")
                place = None
            if kind == "call":
                return f"both({a}, {b})", Value(None if place is None else clamp(x + y), place)
            text = f"{op}({a}, {b})" if op.isalpha() else f"{a} {op} {b}"
            return f"minimum(maximum({text}, -99.0), 99.0)", Value(
                None if place is None else clamp(OPERATORS[op](x, y)), place
            )
        if kind == "literal":
            return f"minimum({a} + 2.0, 99.0)", Value(None if x is None else np.minimum(x + 2, 99), seen(a))
        if kind == "scalar":  # a host scalar mixes with everything
            return f"maximum({a}, sum(ones([3]).to(cpu)))", Value(None if x is None else np.maximum(x, 3), seen(a))
        if kind == "to":
            d = rng.choice(sorted(DEVICES))
            return f"{a}.to({d})", Value(x, None if self.names[a].place is None else d)
        if kind == "on_gpu":
            place = seen(a)
            if place not in (None, "gpu"):
                self.error("E0303")
            return f"minimum(on_gpu({a}), 99.0)", Value(
                None if x is None else np.minimum(x + 1, 99), "gpu" if place == "gpu" else None
            )
        if kind == "scalars":
            text = rng.choice(sorted(OF_SCALARS))
            return text, Value(3.0 * np.array(OF_SCALARS[text]), region or "cpu")
        if kind == "here":
            return "ones_here(3)", Value(np.ones(4), region or "cpu")
        n = rng.randint(-9, 9)
        return f"full([4], {float(n)})", Value(np.full(4, float(n)), region or "cpu")

    def show(self, name, indent="", local=False):
        v = self.names[name]
        self.line(f'{indent}print("{{{name}.device}} {{sum({name}):.1f}}")')
        if v.place is not None:
            self.printed.append((v.place, f"{float(np.sum(v.value)):.1f}"))

    def statement(self):
        rng = self.rng
        kind = rng.choice(["let", "let", "placed", "block", "assign", "loop", "branch", "typed"])
        name = self.fresh()
        if kind == "let":
            text, value = self.expression(None)
            self.line(f"let {name} = {text}")
        elif kind == "placed":
            device = rng.choice(sorted(DEVICES))
            text, value = self.expression(device)
            self.line(f"@{device} let {name} = {text}")
        elif kind == "typed":
            a, device = self.choose(), rng.choice(sorted(DEVICES))
            value = Value(self.names[a].value, None if self.names[a].place is None else device)
            self.line(f"let {name}: f32[4] @{device} = {a}")
        elif kind == "block":
            device = rng.choice(sorted(DEVICES))
            outer = dict(self.names)
            self.line(f"@{device} {{")
            local = set()
            for _ in range(rng.randint(1, 3)):
                inner = self.fresh()
                text, v = self.expression(device, local)
                self.line(f"    let {inner} = {text}")
                self.names[inner] = v
                local.add(inner)
                self.show(inner, "    ")
            self.line("}")
            self.names = outer
            return
        elif kind in ("assign", "branch", "loop"):
            a = self.choose()
            start = self.names[a]
            self.line(f"var {name} = {a}")
            text, v = self.expression(None)
            wrong = start.place is not None and v.place is not None and start.place != v.place
            if wrong:
                self.error("E0302")
            value = Value(v.value, start.place if v.place is not None else None)
            if kind == "assign":
                self.line(f"{name} = {text}")
            elif kind == "loop":
                self.line(f"for i in 0..2 {{ {name} = {text} }}")
            else:
                self.line(f"if sum({name}) < 1000.0 {{ {name} = {text} }}")
            if start.place is None or v.place is None:
                value.place = None
            if wrong:
                value = Value(None, None)  # later lines may or may not see it as placed
        self.names[name] = value
        if value.place is not None:
            self.show(name)
        else:
            del self.names[name]  # what had an error is silent from here on

    def program(self):
        for d in sorted(DEVICES):
            name = self.fresh()
            n = self.rng.randint(-5, 5)
            self.line(f"@{d} let {name} = full([4], {float(n)})")
            self.names[name] = Value(np.full(4, float(n)), d)
        right = self.rng.random() < 0.6  # a program without errors: statements with one are taken back
        for _ in range(self.rng.randint(3, 12)):
            before = list(self.lines), set(self.errors), list(self.printed), dict(self.names)
            self.statement()
            if right and self.errors:
                self.lines, self.errors, self.printed, self.names = before
        return "\n".join(self.lines) + "\n"


def run(tenc, source, *options):
    done = subprocess.run([tenc, source, *options], capture_output=True, text=True, timeout=60)
    errors = re.findall(r"^error\[(\w+)\].*\n\s*--> .*?:(\d+):", done.stderr, re.M)
    return done.returncode, done.stdout, {(c, int(l)) for c, l in errors}, done.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tenc", required=True)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "program.tl")
        for seed in range(args.seed, args.seed + args.count):
            model = Model(random.Random(seed))
            source.write_text(model.program())
            virtual = "".join(f"{DEVICES[p]} {v}\n" for p, v in model.printed)
            host = "".join(f"cpu {v}\n" for _, v in model.printed)
            runs = [(("--virtual", "cuda=2"), virtual), ((), host)]
            if not model.errors:
                runs.append((("--virtual", "cuda=2", "--engine=interp"), virtual))
                runs.append((("--virtual", "cuda=2:sync"), virtual))
                runs.append((("--virtual", "cuda=2:lazy"), virtual))
            for options, text in runs:
                status, out, errors, stderr = run(args.tenc, source, *options)
                good = errors == model.errors and (
                    status == 1 and not out if model.errors else status == 0 and out == text
                )
                if good:
                    continue
                failed += 1
                print(
                    f"seed {seed} {' '.join(options)}: status {status}\n{source.read_text()}expected {sorted(model.errors) or text}\n"
                    f"got {sorted(errors)} {out}{stderr[:1500]}"
                )
                break
            if failed >= 5:
                break
    print(f"{args.count} programs, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
