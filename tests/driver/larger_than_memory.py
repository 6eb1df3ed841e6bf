# RUN: %python %s %tenc
"""Training on a mapped file that is larger than the memory the process may have: the plan does not count the file, and
what is resident of it stays within the limit."""
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

TENC = sys.argv[1]
LIMIT = 220 << 20
ROWS, COLUMNS = 250_000, 512  # 512 MB
TRAIN = """import data
let x = load("x.npy")
var w = zeros([512])
seed(1)
for i in {batches} {{
    let b = {rows}
    let y = sum(b, axis: 1) - 1.0
    w -= 1e-3 * grad(|w: f32[512]| mean((b @ w - y) ** 2))(w)
}}
print(isnan(w[0]), w.shape)
"""
# Every row once, in order and shuffled, and a pass over all of it in one kernel.
SCRIPTS = {
    "in order": TRAIN.format(batches="0..250000 // 500", rows="x[i * 500 :+ 500]"),
    "shuffled": TRAIN.format(batches="data.batches(250000, size: 200)", rows="x[i]"),
    "one kernel": 'let x = load("x.npy")\nprint(sum(x))\n',
}


def peak(command, folder):
    """Status, output and the largest resident size, pages of files among it."""
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, output, usage.ru_maxrss << 10


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    np.save(folder / "head.npy", np.zeros((1, COLUMNS), np.float32))
    head = (folder / "head.npy").read_bytes()[:128]
    for label, text in SCRIPTS.items():
        # The rest is a hole in the file: its pages are as many, and take no space on the disk. A new file each time, none
        # of which is in the system's cache: of one that is, Linux counts all that lies around a row that is read.
        (folder / "x.npy").unlink(missing_ok=True)
        with open(folder / "x.npy", "wb") as f:
            f.write(head.replace(b"(1, 512), }" + b" " * 5, b"(250000, 512), }"))
            f.truncate(128 + ROWS * COLUMNS * 4)
        (folder / "s.tl").write_text(text)
        report = subprocess.run([TENC, "check", "s.tl", "--memory"], cwd=folder, capture_output=True, text=True)
        if report.returncode or "mapped files, read as they are needed: 512000000 bytes" not in report.stdout:
            sys.exit(f"{label}: {report.stdout}{report.stderr}")
        status, output, bytes_ = peak([TENC, "s.tl", "--memory", f"cpu={LIMIT}"], folder)
        if status: sys.exit(f"{label}: {output}")
        if bytes_ > LIMIT: sys.exit(f"{label}: {bytes_ >> 20} MiB resident of {LIMIT >> 20}")
