#!/usr/bin/env python3
"""What goes on at the same time on GPUs: queues.py --tenc PATH --driver LIBCUDA

A trace shows the next batch of a loop being copied while kernels work on the last one; values go from one GPU to another without
the host. Closes with `N passed, N failed`."""
import json
import pathlib
import subprocess
import sys
import tempfile

import machine

# Each trip reads its batch to the end, so the copy of the next one must not wait for that.
WIDTH = 4096 if machine.ON_GPU else 512
BATCHES = f"""let all = ones([6, 32, {WIDTH}])
@cuda:0 var w = zeros([{WIDTH}, {WIDTH}])
for i in 0..6 {{
    let batch = all[i].to(cuda:0)
    w = softmax(w + batch.T @ batch)
}}
print(sum(w))
"""
PEERS = """let x = @cuda:0 { ones([64, 64]) }
let y = (x + 1).to(cuda:1)
let z = (y * 2).to(cuda:0)
print(sum(z + x))
"""


def run(A, words, mode, more):
    environment = {**machine.environment(A.tenc, A.driver, mode), **more}
    done = subprocess.run([A.tenc, *words, *machine.FLAGS], capture_output=True, text=True, timeout=300, env=environment)
    return done.returncode, done.stdout, done.stderr


def overlap(A, folder):
    """Why the trace does not show what it should; empty when it does."""
    trace = folder / "trace.json"
    status, out, errors = run(A, ["-e", BATCHES, "--trace", str(trace)], "async", {})
    if status != 0 or abs(float(out) - WIDTH) > 1e-3: return f"status {status}: {out}{errors}"
    rows = {}
    for e in json.loads(trace.read_text())["traceEvents"]:
        rows.setdefault(e["tid"], []).append((e["ts"], e["ts"] + e["dur"], e["name"]))
    kernels, copies = rows.get("cuda:0 kernels", []), rows.get("cuda:0 copies in", [])
    if "cuda:0" in rows: return "there is a row of what was only asked for"
    if not rows.get("cuda:0 copies out"): return "no copy out"
    batches = [c for c in copies if c[2] == f"copy of {WIDTH * 128} bytes"]
    if len(batches) != 6: return f"{len(batches)} batches were copied"
    beside = [c for c in batches if any(k[0] < c[1] and c[0] < k[1] for k in kernels)]
    return "" if beside else f"no batch was copied during a kernel: {batches} {kernels}"


def peers(A, folder, mode, access):
    """The same for copies between GPUs."""
    counters = folder / f"counters.{mode}.{access}"
    status, out, errors = run(A, ["-e", PEERS], mode, {"TENC_VM_COUNTERS": str(counters), "TENC_VM_PEERS": access})
    if status != 0 or out != "20480.0\n": return f"status {status}: {out}{errors}"
    counted = sum(int(line.split("peer copies ")[1]) for line in counters.read_text().splitlines() if "peer copies " in line)
    return "" if counted == (2 if access == "1" else 0) else f"{counted} copies between GPUs"


def main():
    A = machine.parser(__doc__).parse_args()
    machine.skip_without_nvrtc(A.tenc, A.driver)
    with tempfile.TemporaryDirectory() as folder:
        results = {"copies beside kernels": overlap(A, pathlib.Path(folder))}
        for mode in () if machine.ON_GPU else machine.ALL_MODES:  # one may have a single GPU
            for access in "10": results[f"from GPU to GPU, {mode}, access {access}"] = peers(A, pathlib.Path(folder), mode, access)
    for name, wrong in results.items():
        if wrong: print(f"FAILED {name}: {wrong}")
    failed = sum(bool(wrong) for wrong in results.values())
    print(f"{len(results) - failed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
