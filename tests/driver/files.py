# RUN: %python %s %tenc
"""Files that cannot be read or written: an error with the path, no wait, nothing half-written."""
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

import numpy as np

TENC = sys.argv[1]


def expect(status, code, text, script, folder, **more):
    done = subprocess.run([TENC, "-e", script], cwd=folder, capture_output=True, text=True, timeout=30, **more)
    good = done.returncode == status and f"error[{code}]" in done.stderr and text in done.stderr
    if not good: sys.exit(f"{script}: status {done.returncode}, not {status} with {code} and `{text}`:\n{done.stdout}{done.stderr}")


def small_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    np.save(folder / "x.npy", np.ones(4, np.float32))
    os.mkfifo(folder / "pipe.npy")
    (folder / "folder.npy").mkdir()
    (folder / "empty.npy").write_bytes(b"")
    (folder / "cut.npy").write_bytes((folder / "x.npy").read_bytes()[:-1])
    before = sorted(os.listdir(folder))
    expect(1, "E0501", "missing.npy", 'let y = load("missing.npy")', folder)
    expect(1, "E0501", "too long", f'let y = load("{"p" * 400}.npy")', folder)
    expect(1, "E0502", "pipe.npy` is not a regular file", 'let y = load("pipe.npy")', folder)
    expect(1, "E0502", "folder.npy` is not a regular file", 'let y = load("folder.npy")', folder)
    expect(1, "E0502", "/dev/zero` is not a regular file", 'let y = load_bytes("/dev/zero")', folder)
    expect(1, "E0502", "is not an .npy file", 'let y = load("empty.npy")', folder)
    expect(1, "E0502", "shorter than its header says", 'let y = load("cut.npy")', folder)
    expect(3, "E0904", "no/x.npy", 'save("no/x.npy", ones([4]))', folder)
    expect(3, "E0904", "folder.npy", 'save("folder.npy", ones([4]))', folder)
    # The limit on the size of files stands for a full disk: the write fails in the middle.
    expect(3, "E0904", "x.npy", 'save("x.npy", ones([100000]))', folder, preexec_fn=small_files)
    if (np.load(folder / "x.npy") != np.ones(4, np.float32)).any(): sys.exit("the old file has changed")
    if sorted(os.listdir(folder)) != before: sys.exit(f"files are left: {sorted(os.listdir(folder))}")
    # A file that changes between compiling and running.
    expect(3, "E0904", "x.npy", 'save("x.npy", ones([2]))\nlet y: f32[4] = load("x.npy")\nprint(y)', folder)
