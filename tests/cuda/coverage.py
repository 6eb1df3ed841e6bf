#!/usr/bin/env python3
"""Which ops the programs of the suites of CUDA compute on a GPU: coverage.py --tenc PATH --driver LIBCUDA [--random N] FOLDER...

Compares what is in the kernels of their devices with the table of ops, and fails where one never is. The programs of FOLDER are run by
programs.py; N are those that fuzz.py makes, and N that differentiate. Elsewhere names ops that are not a device's. Without NVRTC
nothing is run, which is said."""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import machine
import programs

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/fuzz"))
# Control and effects, which are the host's; what placement removes; what is decided or removed before there are kernels.
ELSEWHERE = set("""for while if yield condition return call on to check_place same_place one_place decided_branch device_eq transfer print assert
load read_ahead end_read_ahead bring_in read_rows save seed time bench fused rng_next stop_gradient barrier""".split())


def in_kernels(A, text, folder, args):
    """The ops that have a result on a device."""
    done = subprocess.run([A.tenc, "-", *args, *machine.FLAGS, "--default-device", "cuda:0", "--transfers=allow", "--emit=fused"], input=text, cwd=folder,
                          capture_output=True, text=True, env=machine.environment(A.tenc, A.driver, "lazy"))
    return set(re.findall(r"= ([a-z_0-9]+) .*@cuda:\d", done.stdout))


def random_programs(count, folder):
    from generate import MODULE, Program
    from generate_gradients import GradientProgram
    (pathlib.Path(folder) / "kit.tl").write_text(MODULE)
    for seed in range(count):
        yield Program(seed).build()
        yield GradientProgram(seed).build(10)


def main():
    ap = machine.parser(__doc__)
    ap.add_argument("--random", type=int, default=0)
    ap.add_argument("folders", nargs="*", type=pathlib.Path)
    A = ap.parse_args()
    machine.skip_without_nvrtc(A.tenc, A.driver)
    rows = re.findall(r'^TENC_\w+\(\w+, "([\w.]+)"(.*)', (ROOT / "ir/Ops.def").read_text(), re.M)
    ops = [op for op, row in rows if "Decomposed" not in row]
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(in_kernels, A, text, scratch, []) for text in random_programs(A.random, scratch)] if A.random else []
        for folder in A.folders:
            for source in sorted(folder.glob("*.tl")):
                found = programs.header(source)
                if found is not None: jobs.append(pool.submit(in_kernels, A, source.read_text(), folder, programs.shorter(source, found[0])))
        seen = set().union(*(j.result() for j in jobs))
    missing = [op for op in ops if op not in seen and op not in ELSEWHERE]
    print(f"{len(jobs)} programs; in kernels of a device: {len(seen & set(ops))} of {len(ops)} ops" + (f"; never: {' '.join(missing)}" if missing else ""))
    sys.exit(bool(missing))


if __name__ == "__main__":
    main()
