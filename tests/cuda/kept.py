#!/usr/bin/env python3
"""What NVRTC made is kept: kept.py --tenc PATH --driver LIBCUDA

A second start compiles nothing and does not load NVRTC; a script that has changed compiles what is new in it; another
architecture compiles all; broken entries are compiled again. A script that names no GPU does not load the driver."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import machine

SORTED = "let y = @cuda:0 { sort(randint(0, 1000000, [40000])) }\n"  # several launches
SCRIPT = "let x = @cuda:0 { randn([64]) }\n" + "".join(f"print(sum(x * {i}.5))\n" for i in range(1, 6)) + SORTED + "print(y[0])\nprint(y[29999])\n"


def main():
    A = machine.parser(__doc__).parse_args()
    installed = sorted(A.tenc.parents[2].glob("nvrtc/libnvrtc.so.*"))
    environment = {"TENC_CUBLASLT": "", "TENC_CUSOLVER": "", **os.environ, **({"TENC_NVRTC": str(installed[0])} if installed else {}), "TENC_LIBCUDA": str(A.driver), "TENC_CUDA_CODE": "ptx"}
    folder = tempfile.TemporaryDirectory()
    cache = pathlib.Path(folder.name, "cache")

    def run(script, *options, **more):
        """Its output, how many kernels were compiled and kept, and the libraries that were loaded."""
        done = subprocess.run([A.tenc, "-e", script, "--time", "--cache-dir", cache, *options], capture_output=True, text=True, env={**environment, "LD_DEBUG": "files", **more})
        counts = re.search(r"kernels: (\d+) compiled, (\d+) from the cache", done.stderr + done.stdout)
        if not counts: sys.exit(f"no counts, status {done.returncode}:\n" + "\n".join(line for line in done.stderr.splitlines() if "file=" not in line)[-2000:])
        printed = "\n".join(line for line in done.stdout.splitlines() if re.fullmatch(r"-?[\d.e+-]+", line))
        return printed, int(counts[1]), int(counts[2]), done.stderr

    def expect(what, holds):
        if not holds: sys.exit(f"FAILED {what}")

    if "nvrtc    not found" in subprocess.run([A.tenc, "devices"], capture_output=True, text=True, env=environment).stdout:
        print("nothing is run: NVRTC is not here")
        sys.exit(77)
    text, compiled, kept, _ = run(SCRIPT)
    expect("a first start compiles all", compiled > 4 and kept == 0)
    again, none, all_kept, loaded = run(SCRIPT)
    expect("a second start has all", (again, none, all_kept) == (text, 0, compiled))
    expect("a hit does not load NVRTC, and the driver", "libnvrtc" not in loaded and str(A.driver) in loaded)
    _, new, old, _ = run(SCRIPT + "print(sum(exp(x) * 77.5))\n")
    expect(f"a script that has grown compiles what is new, and not {new}", 0 < new <= 2 and old >= compiled - 1)
    _, other, _, _ = run(SCRIPT, "--target", "cuda:compute_80")
    expect("another architecture compiles all", other == compiled)
    for entry in cache.glob("*.tenc"): entry.write_bytes(entry.read_bytes()[:-1] + b"?")
    mended, compiled_again, _, _ = run(SCRIPT)
    expect("broken entries are compiled again", (mended, compiled_again) == (text, compiled))
    _, _, _, loaded = run("print(sum(ones([8])))")
    expect("without a GPU in the script there is no driver", "libcuda" not in loaded and "libnvrtc" not in loaded)
    print("1 passed, 0 failed")


if __name__ == "__main__":
    main()
