#!/usr/bin/env python3
"""How long tenc compiles: a program of one line, a script of realistic size, models of 80 and 800 equal layers, a step of
training of a GPT with 6 to 24 layers, scripts of 1,250 to 10,000 lines, and one with many annotations of placement. No cache is
used, but for the row that says so, and for whole processes with an empty cache and again. A row is the median of `--rounds` runs, in milliseconds, with the compile stages that take
part; `growth` is the time per line against the script of half the lines or the GPT of half the layers, and for models the time
of lowering for ten times the layers.

  bench/compile_time.py --tenc build/release/bin/tenc
  bench/compile_time.py --write 5000 > big.tl     only write the script of so many lines
  bench/compile_time.py --write-placed > placed.tl"""
import argparse
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
HELLO = "print(relu(randn([64,784]) @ randn([784,128])).mean())"
SIZES = [1250, 2500, 5000, 10000]


def large(lines):
    """A kernel for every five lines, all different."""
    out = ["let a = randn([64, 64])", "var s = zeros([64, 64])"]
    for i in range(lines - 3):
        out.append([f"let k{i} = (a * {i + 1}.0 + 0.5).sum(axis: 0)",
                    f"let k{i} = exp(-abs(k{i - 1}) * 0.01)",
                    f"let k{i} = k{i - 1} + {i}.0",
                    f"s = s + k{i - 1}",
                    f"let k{i} = s[{i % 64}, {i % 61}] * 2.0"][i % 5])
    return "\n".join([*out, "print(s.mean())"]) + "\n"


def placed(statements=5000, annotations=500):
    every = statements // annotations
    out = ["device gpu = cuda:0 or cpu", "let a = ones([8])"]
    for i in range(statements):
        if i % every == 0:
            out.append(f"let x{i} = ({f'x{i - 1}' if i else 'a'}.to({'gpu' if i // every % 2 else 'cpu'})) * 0.5")
        else:
            out.append(f"let x{i} = x{i - 1} + {i % 7}.0")
    return "\n".join([*out, f"print(x{statements - 1})"]) + "\n"


def layers(n):
    """A model of n equal layers: a list in a struct, walked and indexed, and as many names."""
    return "\n".join([
        "struct Layer { w: f32[8, 8], b: f32[8] }",
        "fn layer() -> Layer = Layer { w: ones([8, 8]), b: zeros([8]) }",
        "fn call(l: Layer, x: f32[N, 8]) -> f32[N, 8] = max(x @ l.w + l.b, 0.0)",
        f"struct Model {{ blocks: [Layer; {n}], last: Layer }}",
        "fn call(m: Model, x: f32[N, 8]) -> f32[N, 8] {",
        "    var y = x",
        "    for b in m.blocks { y = b(y) }",
        f"    for i in static 0..{n} {{ y = m.blocks[i](y) }}",
        "    m.last(y)",
        "}",
        f"let m = Model {{ blocks: list({n}, |i| layer()), last: layer() }}",
        "print(m(ones([2, 8])))"]) + "\n"


def stages(tenc, script, *options):
    """Milliseconds by stage of one run; `compile` is all before the run."""
    run = subprocess.run([tenc, script, "--time", *options], capture_output=True, text=True)
    if run.returncode:
        sys.exit(run.stderr)
    found = {}
    for line in run.stderr.splitlines():
        words = line.split()
        if len(words) == 2 and words[1].replace(".", "").isdigit():
            found[words[0]] = found.get(words[0], 0.0) + float(words[1])
    found["compile"] = found["total"] - found.get("run", 0.0)
    return found


def median_stages(rounds, tenc, script, *options):
    all_runs = [stages(tenc, script, *options) for _ in range(rounds)]
    return {k: statistics.median(r.get(k, 0.0) for r in all_runs) for k in all_runs[0]}


def process(rounds, *command):
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        times.append(1e3 * (time.perf_counter() - start))
    return statistics.median(times)


def row(name, *values):
    print(f"{name:<34}" + "".join(f"{v:>12}" if isinstance(v, str) else f"{v:>12.2f}" for v in values), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tenc", default="build/release/bin/tenc")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--write", type=int, metavar="LINES")
    parser.add_argument("--write-placed", action="store_true")
    args = parser.parse_args()
    if args.write or args.write_placed:
        sys.stdout.write(placed() if args.write_placed else large(args.write))
        return
    tenc, rounds = str(pathlib.Path(args.tenc).resolve()), args.rounds
    with tempfile.TemporaryDirectory() as folder:
        row("whole process, cold", "ms")
        row("print(1)", process(4 * rounds, tenc, "-e", "print(1)", "--no-cache"))
        row("hello: a product, relu, mean", process(4 * rounds, tenc, "-e", HELLO, "--no-cache"))
        print()
        row("whole process, ms", "first", "again")
        networks = HERE.parent / "tests/networks"
        again = pathlib.Path(folder) / "again.tl"
        again.write_text(large(5000))
        for name, script in [("mixed.tl", HERE / "scripts/mixed.tl"), ("5000 lines", again), *((f"{n}.tl", networks / f"{n}.tl") for n in ("bert", "resnet18", "unet"))]:
            first = [process(1, tenc, script, "--cache-dir", f"{folder}/{name}-{i}") for i in range(rounds)]
            row(name, statistics.median(first), process(4 * rounds, tenc, script, "--cache-dir", f"{folder}/{name}-0"))
        print()
        names = ["parse", "lower", "place", "fuse", "codegen", "compile"]
        row("compile stages, ms", *names)
        mixed = HERE / "scripts/mixed.tl"
        lines = len(mixed.read_text().splitlines())
        found = median_stages(rounds, tenc, mixed, "--no-cache")
        row(f"mixed.tl ({lines} lines)", *(found[n] for n in names))
        stages(tenc, mixed, "--cache-dir", f"{folder}/cache")
        found = median_stages(rounds, tenc, mixed, "--cache-dir", f"{folder}/cache")
        row("mixed.tl, from the cache", *(found[n] for n in names))
        script = pathlib.Path(folder) / "placed.tl"
        script.write_text(placed())
        found = median_stages(rounds, tenc, script, "--no-cache", "--virtual", "cuda=1")
        row("5,000 statements, 500 moves", *(found[n] for n in names))
        print()
        row("models, ms", *names, "growth")
        before = None
        for size in (80, 800):
            script.write_text(layers(size))
            found = median_stages(rounds, tenc, script, "--no-cache")
            row(f"{size} equal layers", *(found[n] for n in names), found["lower"] / before if before else "")
            before = found["lower"]
        print()
        row("a step of training of a GPT, ms", *names, "growth")
        before = None
        for size in (6, 12, 24):
            found = median_stages(rounds, tenc, HERE / "scripts/gpt_train.tl", "--layers", str(size), "--no-cache")
            row(f"{size} layers", *(found[n] for n in names), found["compile"] / before / 2 if before else "")
            before = found["compile"]
        print()
        row("large scripts, ms", *names, "growth")
        before = None
        for size in SIZES:
            script.write_text(large(size))
            found = median_stages(max(1, rounds // 2), tenc, script, "--no-cache")
            row(f"{size} lines", *(found[n] for n in names), found["compile"] / before / 2 if before else "")
            before = found["compile"]


if __name__ == "__main__":
    main()
