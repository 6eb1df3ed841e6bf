#!/usr/bin/env python3
"""Whole programs as CUDA kernels: programs.py --tenc PATH --driver LIBCUDA [--part 1/3] [--only TEXT] FOLDER...

Each program that runs with everything created on a virtual device, whose code is the host's, runs again as CUDA C++, compiled
by NVRTC, on the virtual machine for PTX, in one of the orders in which that works, or in all (`--all`). It must print the same
and end the same way, faults with their places included, and the machine must have nothing to report. Floats may be off as far as the program's header says (`#~`), and by `--bound` where a
kernel adds floats, which is done in another order. `--order`: that of blocks and warps. Runs must not differ among each other. Programs with operations that have no
code for GPUs (E0190) are counted. `--part 2/5`: the programs whose names fall into that fifth. Without NVRTC nothing is run, which is
said. Closes with `N passed, N failed`."""
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zlib

import machine

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from run_programs import fits, read_header  # noqa: E402

# What makes a run shorter, by the names that programs have for it: a virtual machine does in minutes what a GPU does in milliseconds.
LESS = {"steps": 3, "epochs": 1, "trips": 1, "n": 64, "w": 60, "h": 40, "limit": 50, "rows": 64, "blocks": 2, "letters": 16, "context": 16,
        "width": 16, "pictures": 80}


def header(path):
    """The arguments of the program's first run of which nothing but its machine is said, and how far its floats may be off; None if
    it has no such."""
    runs = read_header(path)
    if not runs: return [], 0.0
    own = {f"--{name}" for name in re.findall(r"^param (\w+)", path.read_text(), re.M)}
    for run in runs:
        # The suite has machines of its own.
        rest = re.sub(r"(^| )--(virtual|memory|default-device|transfers)[ =]\S+", "", " ".join(run.args)).split()
        if rest[:1] == ["FILE"] and all(a in own for a in rest if a.startswith("--")): return rest[1:], run.tolerance or 0.0
    return None


def shorter(path, args):
    """The arguments with those of LESS in place of what they say, where the program has such parameters."""
    names = [n for n in re.findall(r"^param (\w+): i64", path.read_text(), re.M) if n in LESS]
    kept = [a for k, a in enumerate(args) if a[2:] not in names and (k == 0 or args[k - 1][2:] not in names)]
    return kept + [word for n in names for word in (f"--{n}", str(LESS[n]))]


def run(A, program, args, mode, *options):
    """Status, output, errors, and what the machine finds wrong: races, reads of what nobody wrote, and the like."""
    reports = program.parent.parent / "reports"
    reports.write_text("")
    try:
        command = [A.tenc, program.name, *args, "--default-device", "cuda:0", "--transfers=allow", *options]
        done = subprocess.run(command if "--virtual" in options and machine.ON_GPU else machine.checked(command, reports), cwd=program.parent, capture_output=True, text=True, timeout=A.timeout, env={"TENC_VM_ORDER": A.order, **machine.environment(A.tenc, A.driver, mode, reports)})
    except subprocess.TimeoutExpired:
        return -1, "", "timed out", ""
    return done.returncode, done.stdout, re.sub(r"/tmp/\S*/", "", done.stderr), machine.findings(reports)


def adds_floats(A, program, args):
    """Whether a kernel of the program has a reduction or a product of floats."""
    kernels = run(A, program, args, "lazy", "--virtual", "cuda=2", "--emit=kernels")[1]
    return bool(re.search(r"^kernel product|reduce \d+ = (sum|prod) .*\bb?f\d+", kernels, re.M))


def difference(want, got, bound):
    """The first line that differs by more than the bound, or None."""
    a, b = want.splitlines(), got.splitlines()
    for k in range(max(len(a), len(b))):
        x, y = (lines[k] if k < len(lines) else "(end)" for lines in (a, b))
        if x != y and not (bound and fits(x.replace("...", "…"), y.replace("...", "…"), bound)): return f"{x!r}, as CUDA {y!r}"
    return None


def check(A, source):
    """In a copy of the program's folder: programs write files."""
    found = header(source)
    if found is not None: found = shorter(source, found[0]), found[1]
    if found is None: return f"skipped {source.name}: it has no run without options"
    args, bound = found
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, "programs", source.name)
        shutil.copytree(source.parent, program.parent)
        status, text, errors, _ = run(A, program, args, "lazy", "--virtual", "cuda=2")
        if status not in (0, 3): return f"skipped {source.name}: it does not run on a virtual device"
        first = {}  # by the code's architecture
        for mode in machine.ALL_MODES if A.all else [A.mode or machine.mode_of(source.name)]:
            flags = tuple(machine.flags(mode))
            other, other_text, other_errors, reports = run(A, program, args, mode, *flags)
            if "error[E0190]" in other_errors: return f"refused {source.name}"
            what = f"status {other}, not {status}" if other != status else difference(text, other_text, bound)
            if what and other == status and adds_floats(A, program, args): what = difference(text, other_text, max(bound, A.bound))
            if not what and status == 3 and errors != other_errors: what = "it stops otherwise"
            if not what and first.setdefault(flags, other_text) != other_text: what = "two runs differ"
            if not what and reports: what = reports[:600]
            if what and machine.ON_GPU and "cuda:1" in text: return f"skipped {source.name}: it needs two GPUs"
            if what: return f"FAILED {source.name} ({mode}): {what}\n{other_errors[:600]}"
        return f"ok {source.name}"


def main():
    ap = machine.parser(__doc__)
    ap.add_argument("--mode", choices=machine.ALL_MODES, help="when the machine works, for all programs")
    ap.add_argument("--all", action="store_true")
    ap.add_argument("--order", default="", help="in which order blocks and warps run: ahead, backward, random, else in turn")
    ap.add_argument("--bound", type=float, default=4e-6)
    ap.add_argument("--part", default="1/1")
    ap.add_argument("--channels-last", action="store_true", help="convolutions of halves read channels side by side, whatever their size")
    ap.add_argument("--timeout", type=float, default=300)
    ap.add_argument("--only", default="")
    ap.add_argument("folders", nargs="+", type=pathlib.Path)
    A = ap.parse_args()
    machine.skip_without_nvrtc(A.tenc, A.driver)
    if A.channels_last: os.environ["TENC_CHANNELS_LAST_LEAST"] = "0"
    part, parts = map(int, A.part.split("/"))
    programs = [p for folder in A.folders for p in sorted(folder.glob("*.tl"))
                if A.only in p.name and zlib.crc32(p.stem.encode()) % parts == part - 1]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda p: check(A, p), programs))
    for r in results:
        if not r.startswith("ok"): print(r)
    count = lambda word: sum(r.startswith(word) for r in results)
    print(f"{count('refused')} refused, {count('skipped')} skipped")
    print(f"{count('ok')} passed, {count('FAILED')} failed")
    sys.exit(1 if count("FAILED") or not count("ok") else 0)


if __name__ == "__main__":
    main()
