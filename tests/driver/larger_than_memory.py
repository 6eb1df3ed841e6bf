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
ROWS, COLUMNS = 150_000, 512  # 307 MB
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
    "in order": TRAIN.format(batches="0..150000 // 500", rows="x[i * 500 :+ 500]"),
    "shuffled": TRAIN.format(batches="data.batches(150000, size: 200)", rows="x[i]"),
    "one kernel": 'let x = load("x.npy")\nprint(sum(x))\n',
}


def peak(command, folder):
    """Status, output and the largest resident size, pages of files among it."""
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, output, usage.ru_maxrss << 10


def hollow(path, head):
    """A file whose rows are a hole: as many pages, and no space on the disk."""
    with open(path, "wb") as f:
        f.write(head)
        f.truncate(len(head) + ROWS * COLUMNS * 4)


def written(path, head):
    """One that the system has in its cache, where pages lie together: of such a one it maps what lies around a row too."""
    block = np.random.default_rng(0).standard_normal((ROWS // 50, COLUMNS)).astype(np.float32).tobytes()
    with open(path, "wb") as f:
        f.write(head)
        for _ in range(50): f.write(block)


def least(folder):
    """What the process takes, compiler and sanitizers included, with a file that fits."""
    np.save(folder / "x.npy", np.ones((2000, COLUMNS), np.float32))
    (folder / "s.tl").write_text(TRAIN.format(batches="data.batches(2000, size: 200)", rows="x[i]"))
    status, output, bytes_ = peak([TENC, "s.tl"], folder)
    if status: sys.exit(output)
    return bytes_


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    base = least(folder)
    np.save(folder / "head.npy", np.zeros((1, COLUMNS), np.float32))
    head = (folder / "head.npy").read_bytes()[:128].replace(b"(1, 512), }" + b" " * 5, f"({ROWS}, 512), }}".encode())
    for make in (hollow, written):
        (folder / "x.npy").unlink(missing_ok=True)
        make(folder / "x.npy", head)
        for label, text in SCRIPTS.items():
            (folder / "s.tl").write_text(text)
            report = subprocess.run([TENC, "check", "s.tl", "--memory"], cwd=folder, capture_output=True, text=True)
            if report.returncode or f"mapped files, read as they are needed: {ROWS * COLUMNS * 4} bytes" not in report.stdout:
                sys.exit(f"{label}: {report.stdout}{report.stderr}")
            for options in ([], ["--no-read-ahead"]) if label == "shuffled" else ([],):
                status, output, bytes_ = peak([TENC, "s.tl", "--memory", f"cpu={LIMIT}", *options], folder)
                case = f"{label}, {make.__name__}, {options}"
                if status: sys.exit(f"{case}: {output}")
                # Rows that are read one by one take up no pages of the file; others are let go when there are too many.
                most = min(LIMIT, base + LIMIT // 4) if label == "shuffled" else LIMIT
                if bytes_ > most: sys.exit(f"{case}: {bytes_ >> 20} MiB resident of {most >> 20}")
