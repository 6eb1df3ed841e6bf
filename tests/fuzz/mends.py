#!/usr/bin/env python3
"""Edits that placement errors propose, tried: mends.py --tenc PATH [--count N] [--seed S] [--show]

Random programs that are right but for where things live: lambdas given to `map`, `reduce`, `scan`, `fold`, `vmap` and to
functions of the program, captures, trees, loops with variables, branches, device-generic functions. Whatever edit the
first error proposes is made, until the program checks; each edit has to remove its error. The mended program then prints
what it prints with all devices bound to the host."""
import argparse
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from placement import edited  # noqa: E402

HEADER = """device gpu = cuda:0 or cpu
device far = cuda:1 or cpu
struct Pair { a: f32[4], b: f32[4] }
fn twice[F: fn](f: F, v: f32[4]) -> f32[4] = f(f(v))
fn apply2[F: fn](f: F, v: f32[4], w: f32[4]) = f(v, w)
fn own(a: f32[4], b: f32[4]) -> f32[4] = a - b * 0.5
fn there[D: device, E: device](a: f32[4] @D, b: f32[4] @E) -> f32[4] @E = a.to(E) + b
fn sums(p: Pair) -> f32[4] = p.a + p.b
"""
HEADER_LINES = HEADER.count("\n")
PLACES = ["", "", "@gpu ", "@far "]


class Program:
    def __init__(self, rng):
        self.rng, self.lines, self.count = rng, [], 0
        self.vectors, self.matrices, self.pairs, self.functions = [], [], [], []

    def fresh(self, kind):
        self.count += 1
        return f"{kind}{self.count}"

    def vector(self, depth=0, local=()):
        """An expression of type f32[4]."""
        rng = self.rng
        names = list(local) + self.vectors
        pick = lambda: rng.choice(list(local) * 2 + self.vectors)
        if depth > 1 or rng.random() < 0.25:
            return pick()
        deeper = lambda more=(): self.vector(depth + 1, tuple(local) + tuple(more))
        kind = rng.randrange(17)
        if kind < 4:
            return f"({deeper()} {rng.choice('+-*')} {deeper()})"
        if kind == 4 and self.pairs:
            p = rng.choice(self.pairs)
            return rng.choice([f"sums({p})", f"{p}.a", f"({p}.b - {deeper()})"])
        if kind == 5:
            return f"own({deeper()}, {deeper()})"
        if kind == 6:
            return f"there({deeper()}, {deeper()})"
        m = rng.choice(self.matrices)
        x = self.fresh("x")
        y = self.fresh("y")
        if kind == 7:
            return f"sum(map(|{x}| {deeper([x])}, {m}), axis: 0)"
        if kind == 8:
            return f"reduce(|{x}, {y}| {deeper([x, y])}, {deeper()}, {m})"
        if kind == 9:
            return f"scan(|{x}, {y}| ({deeper([x, y])}, {deeper([x])}), {deeper()}, {m}).0"
        if kind == 10:
            return f"sum(vmap(|{x}| {deeper([x])})({m}), axis: 0)"
        if kind == 11:
            return f"twice(|{x}| {deeper([x])}, {deeper()})"
        if kind == 12:
            return f"apply2(|{x}, {y}| {deeper([x, y])}, {deeper()}, {deeper()})"
        if kind == 13 and self.functions:
            return f"{rng.choice(self.functions)}({deeper()})"
        if kind == 14:
            return f"where({deeper()} > 0.5, {deeper()}, {deeper()})"
        if kind == 15 and self.pairs:
            return f"fold(|{x}, {y}| {x} + {y} * {deeper([y])}, {deeper()}, {rng.choice(self.pairs)})"
        return f"maximum({deeper()}, {deeper()})"

    def statement(self, indent, depth):
        rng, pad = self.rng, "    " * indent
        place = rng.choice(PLACES) if indent == 0 else ""
        kind = rng.randrange(12)
        if kind < 4:
            name = self.fresh("v")
            self.lines.append(f"{pad}{place}let {name} = {self.vector()}")
            self.vectors.append(name)
        elif kind == 4:
            name, x = self.fresh("f"), self.fresh("x")
            body = self.vector(local=(x,))
            self.lines.append(f"{pad}let {name} = |{x}| {body}")
            self.functions.append(name)
        elif kind == 5:
            name = self.fresh("p")
            self.lines.append(f"{pad}let {name} = Pair {{ a: {self.vector(1)}, b: {self.vector(1)} }}")
            self.pairs.append(name)
        elif kind == 6:
            name = self.fresh("p")
            self.lines.append(f"{pad}let {name} = {rng.choice(self.pairs)}.to({rng.choice(['cpu', 'gpu', 'far'])})")
            self.pairs.append(name)
        elif kind == 7 and depth < 2:
            name = self.fresh("s")
            self.lines.append(f"{pad}var {name} = {rng.choice(['zeros([4])', 'ones([4]) * 2.0', self.vector(1)])}")
            self.vectors.append(name)
            self.lines.append(f"{pad}for i in 0..{rng.randint(2, 4)} {{")
            kept = [list(self.vectors), list(self.functions), list(self.pairs), list(self.matrices)]
            for _ in range(rng.randint(0, 2)):
                self.statement(indent + 1, depth + 1)
            form = rng.choice(["{n} = {e}", "{n} += {e}", "{n} = {n} * 0.5 + {e}"])
            self.lines.append(f"{pad}    " + form.format(n=name, e=self.vector()))
            self.vectors, self.functions, self.pairs, self.matrices = kept
            self.lines.append(f"{pad}}}")
        elif kind == 8:
            name = self.fresh("v")
            self.lines.append(f"{pad}let {name} = if sum({self.vector(2)}) > 1.0 {{ {self.vector(1)} }} else {{ {self.vector(1)} }}")
            self.vectors.append(name)
        elif kind == 9:
            name = self.fresh("v")
            device = rng.choice(["gpu", "far"])
            self.lines.append(f"{pad}let {name} = @{device} {{ {self.vector(1)} }}")
            self.vectors.append(name)
        elif kind == 10:
            name = self.fresh("m")
            self.lines.append(f"{pad}let {name} = stack([{self.vector(1)}, {self.vector(1)}])")
            self.matrices.append(name)
        else:
            self.lines.append(f'{pad}print("{{sum({self.vector()}):.3f}}")')

    def text(self):
        for i, place in enumerate(["", "@gpu ", "@far "]):
            self.lines.append(f"{place}let a{i} = f32(arange(4)) * 0.25")
            self.lines.append(f"{place}let m{i} = ones([3, 4]) * 0.5")
            self.vectors.append(f"a{i}")
            self.matrices.append(f"m{i}")
        self.lines.append("let p0 = Pair { a: a0, b: a0 }")
        self.lines.append("let p1 = Pair { a: a1, b: a1 }")
        self.pairs += ["p0", "p1"]
        for _ in range(self.rng.randint(1, 5)):
            self.statement(0, 0)
        return HEADER + "\n".join(self.lines) + "\n"


def errors_of(tenc, folder, source):
    (folder / "s.tl").write_text(source)
    words = [tenc, "check", "s.tl", "--virtual", "cuda=2", "--diagnostics=json"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=60)
    all_ = [json.loads(l) for l in done.stderr.splitlines() if l.startswith("{")]
    if done.returncode not in (0, 1):
        raise RuntimeError(f"status {done.returncode}: {done.stderr[:500]}")
    return [e for e in all_ if e["severity"] == "error"]


def mend(tenc, folder, source, which):
    """What is wrong, or None; the mended text; how many edits were made; whether one was missing."""
    made = 0
    errors = errors_of(tenc, folder, source)
    if any(not e["code"].startswith("E03") for e in errors):
        return "an error that is not one of placement: " + errors[0]["message"], source, 0, False
    most = 4 * len(errors) + 8
    while errors:
        at = next((e for e in errors if any(h["edits"] for h in e["helps"])), None)
        if at is None:
            return None, source, made, True
        if made >= most:
            return f"still {len(errors)} errors after {made} edits", source, made, False
        helps = [h for h in at["helps"] if h["edits"]]
        chosen = helps[min(which, len(helps) - 1)]
        after = edited(source, chosen["edits"])
        if after == source:
            return "the edit changes nothing", source, made, False
        now = errors_of(tenc, folder, after)
        grown = sum(len(x["replacement"]) - (x["endColumn"] - x["column"]) for x in chosen["edits"]
                    if x["line"] == at["line"] and x["endColumn"] <= at["column"])
        others = [e["message"] for e in errors if e is not at]
        stays = [e for e in now if (e["code"], e["line"], e["column"]) == (at["code"], at["line"], at["column"] + grown)
                 and e["message"] not in others]
        bad = [e for e in now if not e["code"].startswith("E03")]
        if bad:
            return f"`{chosen['text']}` gives {bad[0]['code']} {bad[0]['message']}, in\n{after}", source, made, False
        # What a function or a named lambda says of its callers is on its own line.
        lines = source.split("\n")
        before = lambda es: [e for e in es if HEADER_LINES < e["line"] < at["line"] and "= |" not in lines[e["line"] - 1]]
        earlier = before(now)
        if len(earlier) > len(before(errors)):
            return f"`{chosen['text']}` at line {at['line']} breaks line {earlier[0]['line']}, in\n{after}", source, made, False
        if stays:
            return f"`{chosen['text']}` at line {at['line']} leaves the error, in\n{after}", source, made, False
        source, errors, made = after, now, made + 1
    return None, source, made, False


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tenc", required=True)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most", type=int, default=3, help="stop after so many failures")
    parser.add_argument("--show", action="store_true", help="print the first program and stop")
    args = parser.parse_args()
    tenc = str(pathlib.Path(args.tenc).resolve())
    failed = edits = words = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for seed in range(args.seed, args.seed + args.count):
            source = Program(random.Random(seed)).text()
            if args.show:
                print(source)
                return
            problem, after, made, missing = mend(tenc, folder, source, seed % 3)
            edits, words = edits + made, words + missing
            if not problem and not missing:
                (folder / "s.tl").write_text(after)
                runs = [subprocess.run([tenc, "s.tl", "--transfers=allow", *options], cwd=folder, capture_output=True, text=True)
                        for options in (["--virtual", "cuda=2"], ["--device", "gpu=cpu", "--device", "far=cpu"])]
                if runs[0].stdout != runs[1].stdout or runs[0].returncode:
                    problem = f"the mended program prints\n{runs[0].stdout}and on the host\n{runs[1].stdout}{runs[0].stderr}"
            if problem:
                failed += 1
                print(f"seed {seed}: {problem}\nfrom\n{source}")
                if failed >= args.most:
                    break
    print(f"{args.count} programs, {edits} edits made, {words} with words only, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
