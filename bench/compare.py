#!/usr/bin/env python3
"""Two builds of tenc, row by row: the workloads of bench/workloads and the compile times of bench/compile_time.py.

    bench/compare.py OLD NEW [--rounds 9] [--threads 2] [--only NAME,...] [--run | --compile]

Rounds are interleaved, old and new in turn, each first in every second round. `ratio` is the median over rounds of old
divided by new: above 1 the new build is faster; `spread` is the range of its middle half, so a ratio within it of 1 is
noise. A workload whose results are not the same bits in both builds is marked, and so is one that a build refuses. `same
code` means that both builds make as many of each instruction for it: what differs then is the machine or the runtime."""
import argparse
import collections
import filecmp
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import numpy as np

import compile_time

HERE = pathlib.Path(__file__).resolve().parent


def script_of(name, folder):
    """The workload's script, with its inputs in the folder."""
    from workloads import WORKLOADS
    w = WORKLOADS[name]
    for i, a in enumerate(w.inputs(np.random.default_rng(0))): np.save(f"{folder}/in{i}.npy", a)
    if not w.script: return str(HERE / "workloads" / (name + ".tl"))
    script = pathlib.Path(folder) / (name + ".tl")
    script.write_text(w.script)
    return str(script)


def results(tenc, script, folder, threads):
    """The files that a run of the workload writes, moved to a folder of their own."""
    subprocess.run([tenc, script, "--threads", threads, "--dir", folder], capture_output=True, check=True)
    files = sorted(pathlib.Path(folder).glob("tenc*.npy"))
    own = pathlib.Path(tempfile.mkdtemp(dir=folder))
    return [f.rename(own / f.name) for f in files]


def instructions(tenc, script, folder):
    """How many of each instruction the script's kernels have; none where library routines do all the work."""
    out = subprocess.run([tenc, script, "--emit=asm", "--dir", folder], capture_output=True, text=True, check=True).stdout
    lines = (line.split() for line in out.splitlines())
    return collections.Counter(w[0] for w in lines if w and not w[0].startswith((".", "#")) and not w[0].endswith(":"))


def bench_ms(tenc, script, folder, threads):
    r = subprocess.run([tenc, "bench", script, "--json", "--seconds", "0.1", "--threads", threads, "--dir", folder],
                       capture_output=True, text=True, check=True)
    return json.loads(r.stdout.splitlines()[-1])["median_ms"]


def interleaved(rounds, old, new):
    """Medians of two measurements, and of their ratio the median and the range of the middle half."""
    olds, news = [], []
    for i in range(rounds):
        for side in ((olds, old), (news, new)) if i % 2 else ((news, new), (olds, old)): side[0].append(side[1]())
    ratios = sorted(a / b for a, b in zip(olds, news))
    n = len(ratios)
    return statistics.median(olds), statistics.median(news), statistics.median(ratios), ratios[n // 4], ratios[-1 - n // 4]


def show(name, measured, remark=""):
    old, new, ratio, low, high = measured
    print(f"{name:<36}{old:>10.4f}{new:>10.4f}{ratio:>8.3f}   {low:.3f} to {high:.3f}  {remark}", flush=True)
    return ratio


def run_rows(args, names):
    ratios = []
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            script = script_of(name, folder)
            try:
                files = [results(t, script, folder, args.threads) for t in (args.old, args.new)]
                same = all(filecmp.cmp(a, b, shallow=False) for a, b in zip(*files)) and len(files[0]) == len(files[1])
                code = [instructions(t, script, folder) for t in (args.old, args.new)]
                remark = ("" if same else "OTHER BITS ") + ("same code" if code[0] == code[1] else "")
                call = lambda tenc: lambda: bench_ms(tenc, script, folder, args.threads)
                ratios.append(show(name, interleaved(args.rounds, call(args.old), call(args.new)), remark))
            except subprocess.CalledProcessError as e: print(f"{name:<36}{e.cmd[0]} refuses it: {str(e.stderr)[:200]}")
    return ratios


def compile_rows(args):
    mixed = HERE / "scripts/mixed.tl"
    with tempfile.TemporaryDirectory() as folder:
        def written(name, text):
            (pathlib.Path(folder) / name).write_text(text)
            return pathlib.Path(folder) / name
        short = written("short.tl", "print(1)\n")
        library = written("library.tl", "import nn\nlet l = nn.linear(3, 4)\nprint(l(ones([2, 3])))\n")
        loops = "".join(f"var a{i} = {i}.0\nfor k in 0..10 {{ a{i} = a{i} * 0.5 }}\n" for i in range(3000)) + "print(a7)\n"
        rows = [("print(1), the process", lambda t: compile_time.process(1, t, short, "--no-cache")),
                ("a library layer, the process", lambda t: compile_time.process(1, t, library, "--no-cache")),
                ("mixed.tl, compile", lambda t: compile_time.stages(t, mixed, "--no-cache")["compile"])]
        for name, text in [("placed.tl (5,000 statements)", compile_time.placed()), ("80 layers", compile_time.layers(80)),
                           ("800 layers", compile_time.layers(800)), ("3,000 loops", loops),
                           ("10,000 lines", compile_time.large(10000))]:
            script = written(f"{len(rows)}.tl", text)
            options = ["--emit=ir", "--virtual", "cuda=1"]
            rows.append((name + ", to IR", lambda t, s=script, o=options: compile_time.process(1, t, s, *o)))
        return [show(name, interleaved(args.rounds, lambda: f(args.old), lambda: f(args.new))) for name, f in rows]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", default="2")
    parser.add_argument("--only", default="", help="workloads, separated by commas")
    parser.add_argument("--run", action="store_true", help="only the workloads")
    parser.add_argument("--compile", action="store_true", help="only the compile times")
    args = parser.parse_args()
    if args.threads == "1": os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[0]})
    print(f"{'row, ms':<36}{'old':>10}{'new':>10}{'ratio':>8}   middle half")
    ratios = []
    if not args.run and not args.only: ratios += compile_rows(args)
    if not args.compile:
        from workloads import WORKLOADS
        ratios += run_rows(args, args.only.split(",") if args.only else sorted(WORKLOADS))
    if not ratios: sys.exit("no row was measured")
    print(f"\nGeometric mean of {len(ratios)} ratios: {math.exp(statistics.mean(map(math.log, ratios))):.3f}; lowest {min(ratios):.3f}.")


if __name__ == "__main__":
    main()
