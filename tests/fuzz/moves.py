#!/usr/bin/env python3
"""Random placed programs on counting virtual devices: moves.py --tenc PATH [--count N] [--seed S]

Each program is right by construction. For each of them
- the bytes and copies that the run counts between devices are those that `tenc transfers` lists;
- no move is redundant by P5: in the IR after the pass `moves` there is one for each definition and destination, none in a
  loop in which its value does not change, none whose result is not used, none there and back;
- it prints what the same program prints with every annotation and every `.to` taken out."""

import argparse
import pathlib
import random
import re
import subprocess
import sys
import tempfile

DEVICES = ["cpu", "gpu", "far"]
SETTLED = "place,verify-placed,inline,hoist-moved,dce,moves"
HEADER = """device gpu = cuda:0 or cpu
device far = cuda:1 or cpu
fn clamp(a: f32[...S]) -> f32[...S] = minimum(maximum(a, -99.0), 99.0)
fn both(a: f32[N], b: f32[N]) -> f32[N] = clamp(a - b)
fn to_gpu[D: device](a: f32[N] @D) -> f32[N] @gpu = clamp(a + 1.0)<.to(gpu)>
fn there[D: device, E: device](a: f32[N] @D, b: f32[N] @E) -> f32[N] @E = clamp(a<.to(E)> * 2.0 + b)
fn round_trip[D: device](a: f32[N] @D) -> f32[N] @D = clamp(a<.to(far)> - 3.0)<.to(D)>
fn loop_in[D: device](a: f32[N] @D, b: f32[N] @gpu) -> f32[N] @gpu {
    var s = b
    for i in 0..3 { s = clamp(s + a<.to(gpu)>) }
    s
}
"""


class Program:
    """Text with placement in `<...>`, which the erased program leaves out; `<{d}...<}>` is a block on d."""

    def __init__(self, rng):
        self.rng, self.lines, self.count = rng, [], 0

    def fresh(self):
        self.count += 1
        return f"v{self.count}"

    def at(self, names, name, device):
        """The value of `name` on `device`, moved when it is elsewhere, sometimes by a detour."""
        text = name
        if self.rng.random() < 0.1:
            text += f"<.to({self.rng.choice(DEVICES)})>"
        if text != name or names[name] != device or self.rng.random() < 0.1:
            text += f"<.to({device})>"
        return text

    def expression(self, names, device, inside=()):
        """An expression on `device`; names in `inside` are there already, others too when a block is around."""
        rng = self.rng
        a, b = (rng.choice(sorted(names)) for _ in range(2))
        block = inside is not None and inside != ()
        x, y = (n if block and names[n] == device else n if block and rng.random() < 0.7 else self.at(names, n, device)
                for n in (a, b))
        if block:  # what is named in the block enters it
            x, y = (n if n in inside or rng.random() < 0.8 else f"{n}<.to({device})>" for n in (a, b))
        kind = rng.choice(["binary", "binary", "literal", "both", "there", "loop", "trip"])
        if kind == "literal":
            return f"clamp({x} * 2.0 - {float(rng.randint(0, 5))})"
        if kind == "both":
            return f"both({x}, {y})"
        if kind == "there" and not block:
            return f"there({a}, {y})"
        if kind == "loop" and device == "gpu" and not block:
            return f"loop_in({a}, {y})"
        if kind == "trip":
            return f"round_trip({x})"
        if kind == "there" and device == "gpu" and not block:
            return f"to_gpu({a})"
        return f"clamp({x} {rng.choice('+-')} {y})"

    def statements(self, names, depth, indent, n):
        rng = self.rng
        for _ in range(n):
            kind = rng.choice(["let", "let", "let", "placed", "typed", "block", "loop", "print", "value", "branch"])
            pad = "    " * indent
            device, name = rng.choice(DEVICES), self.fresh()
            bindings = {
                "let": lambda: f"let {name} = {self.expression(names, device)}",
                "placed": lambda: f"<@{device} >let {name} = {self.expression(names, device, [''])}",
                "typed": lambda: f"let {name}: f32[16]< @{device}> = {rng.choice(sorted(names))}",
                "value": lambda: f"let {name} = <@{device} >{{ {self.expression(names, device, [''])} }}",
            }
            if kind in bindings:
                self.lines.append(pad + bindings[kind]())
                names[name] = device
            elif kind == "block" and depth < 3:
                inner, local = dict(names), [""]
                self.lines.append(f"{pad}<@{device} >{{")
                for _ in range(rng.randint(1, 3)):
                    name = self.fresh()
                    self.lines.append(f"{pad}    let {name} = {self.expression(inner, device, local)}")
                    inner[name] = device
                    local.append(name)
                self.lines.append(f'{pad}    print("{{sum({name}):.1f}}")')
                self.lines.append(f"{pad}}}")
            elif kind == "loop" and depth < 3:
                self.lines.append(f"{pad}var {name} = {self.expression(names, device)}")
                names[name] = device
                self.lines.append(f"{pad}for i in 0..{rng.randint(1, 4)} {{")
                inner = dict(names)
                self.statements(inner, depth + 1, indent + 1, rng.randint(0, 2))
                if rng.random() < 0.5:
                    self.lines.append(f"{pad}    {name} = {self.expression(inner, device)}")
                else:
                    self.lines.append(f"{pad}    <@{device} >{{ {name} = {self.expression(inner, device, [name])} }}")
                self.lines.append(f"{pad}}}")
            elif kind == "branch" and depth < 3:
                # A condition that is always true, so that what is listed takes place.
                name = rng.choice(sorted(names))
                self.lines.append(f"{pad}if sum({name}) < 100000.0 {{")
                self.statements(dict(names), depth + 1, indent + 1, rng.randint(1, 2))
                self.lines.append(f"{pad}}}")
            elif kind == "print":
                self.lines.append(f'{pad}print("{{sum({rng.choice(sorted(names))}):.1f}}")')

    def text(self):
        names = {}
        for d in DEVICES:
            name = self.fresh()
            self.lines.append(f"<@{d} >let {name} = f32(arange(16)) * {float(self.rng.randint(-3, 3))}")
            names[name] = d
        self.statements(names, 0, 0, self.rng.randint(3, 14))
        for name in self.rng.sample(sorted(names), 3):
            self.lines.append(f'print("{{sum({name}):.1f}}")')
        return HEADER + "\n".join(self.lines) + "\n"


def placed(text):
    return re.sub(r"<([.@ ][^<>]*)>", r"\1", text)


def erased(text):
    text = re.sub(r"<@\w+ >(let|var)", r"\1", text)
    text = re.sub(r"= <@\w+ >\{ (.*) \}$", r"= \1", text, flags=re.M)
    text = re.sub(r"<@\w+ >\{", "if true {", text)
    text = re.sub(r"\[D: device[^\]]*\]", "", text)
    return re.sub(r" @\w+", "", re.sub(r"<[.@ ][^<>]*>", "", text))


VALUE = re.compile(r"%[\w.#]+")


def redundant(ir):
    """What is redundant in the moves of printed IR, if anything."""
    main = ir[ir.index("func @main"):].splitlines()
    loops, origins, copies, used = {}, {}, {}, set()  # loops: around the definition of a value
    stack = []
    for line in main[1:]:
        text = line.strip()
        before = stack.pop() if text.startswith("}") and stack else None
        head = re.match(r"((?:%[\w.#]+(?:, )?)+) = (\w+)", text)
        results = VALUE.findall(head[1]) if head else []
        rest = text[head.end():] if head else text
        arguments = re.findall(r"(%[\w.#]+): ", rest)
        around = tuple(l for l in stack if l)
        loops.update((name, around) for name in results)
        used.update(name for name in VALUE.findall(rest) if name not in arguments)
        if head and head[2] == "transfer":
            source, device = VALUE.search(rest)[0], text.rsplit("@", 1)[1]
            origin = origins.get(source, source)
            origins[results[0]] = origin
            if (origin, device) in copies:
                return f"a second move of {origin} to {device}"
            copies[origin, device] = results[0]
            if loops.get(origin, ()) != around and loops.get(origin, ()) == around[:len(loops.get(origin, ()))]:
                return f"{origin} does not change in the loop around its move"
        if text.endswith("{") or "{ (" in text:
            isLoop = re.search(r"(^|= )(for|while)\b", text) or before
            stack.append(line + str(len(loops)) if isLoop else "")
            loops.update((name, tuple(l for l in stack if l)) for name in arguments)
    unused = [n for n in copies.values() if n not in used]
    return f"nobody uses {unused[0]}" if unused else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tenc", required=True)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", action="store_true", help="print the first program and stop")
    args = parser.parse_args()
    failed = moves = 0
    with tempfile.TemporaryDirectory() as folder:
        source, plain = pathlib.Path(folder, "program.tl"), pathlib.Path(folder, "erased.tl")

        def tenc(*words):
            return subprocess.run([args.tenc, *words], capture_output=True, text=True, timeout=120)

        for seed in range(args.seed, args.seed + args.count):
            text = Program(random.Random(seed)).text()
            source.write_text(placed(text))
            plain.write_text(erased(text))
            if args.show:
                print(placed(text), "\n# erased\n" + erased(text))
                return
            run = tenc(str(source), "--virtual", "cuda=2", "--time", "--transfers=allow")
            listed = tenc("transfers", str(source), "--virtual", "cuda=2")
            ir = tenc(str(source), "--virtual", "cuda=2", f"--passes={SETTLED}")
            without = tenc(str(plain))
            counted = re.search(r"copied between devices: (\d+) bytes in (\d+) copies", run.stderr)
            total = re.search(r"total: (?:at most )?(\d+) moves?, (\d+) bytes", listed.stdout)
            problem = None
            if run.returncode or not counted or not total:
                problem = f"status {run.returncode}: {run.stderr[:800]}"
            elif (counted[2], counted[1]) != (total[1], total[2]):
                problem = f"counted {counted[2]} moves and {counted[1]} bytes, listed {total[1]} and {total[2]}\n{listed.stdout}"
            elif without.returncode or run.stdout != without.stdout:
                problem = f"prints\n{run.stdout}erased\n{without.stdout}{without.stderr[:800]}"
            else:
                problem = redundant(ir.stdout)
                moves += int(total[1])
            if problem:
                failed += 1
                print(f"seed {seed}: {problem}\n{source.read_text()}")
                if failed >= 3:
                    break
    print(f"{args.count} programs, {moves} moves, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
