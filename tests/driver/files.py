# RUN: %python %s %tenc
"""Files that cannot be read or written: an error with the path, no wait, nothing half-written."""
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np

TENC = sys.argv[1]


def expect(status, code, text, script, folder, options=(), **more):
    done = subprocess.run([TENC, "-e", script, *options], cwd=folder, capture_output=True, text=True, timeout=30, **more)
    good = done.returncode == status and f"error[{code}]" in done.stderr and text in done.stderr
    if not good: sys.exit(f"{script}: status {done.returncode}, not {status} with {code} and `{text}`:\n{done.stdout}{done.stderr}")


def waits_until_interrupted(args, folder):
    """What a command names is waited for like what `cat` names, but no longer than until Ctrl-C."""
    process = subprocess.Popen([TENC, *args], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(0.5)
    if process.poll() is not None: sys.exit(f"{args}: does not wait: {process.communicate()}")
    process.send_signal(signal.SIGINT)
    try: process.communicate(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
        sys.exit(f"{args}: waits on after an interrupt")
    if process.returncode != 130: sys.exit(f"{args}: status {process.returncode}, not 130")


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
    # Nobody ever writes into these pipes: whoever opens one to read it waits for ever.
    with tempfile.TemporaryDirectory() as name:
        pipes = pathlib.Path(name)
        os.symlink(folder / "pipe.npy", pipes / "link.npy")
        for file in ("p.npz", "p.safetensors", "p.csv", "p.png", "p.txt", "m.tl", "p.tlp"): os.mkfifo(pipes / file)
        os.symlink("m.tl", pipes / "behind.tl")
        os.symlink("/dev/zero", pipes / "zeros.tl")
        (pipes / "folder.tl").mkdir()
        for file in ("link.npy", "p.npz", "p.safetensors", "p.csv", "p.png"):
            for options in ([], ["--engine=interp"]):
                expect(1, "E0502", f"{file}` is not a regular file", f'let y = load("{file}")', pipes, options)
        expect(1, "E0502", "p.csv` is not a regular file", 'let y = load_csv("p.csv")', pipes)
        expect(1, "E0502", "p.txt` is not a regular file", 'let y = load_bytes("p.txt")', pipes)
        for module in ("m", "behind", "zeros", "folder"): expect(1, "E0110", module, f"import {module}\nprint(1)", pipes)
        done = subprocess.run([TENC, "p.tlp"], cwd=pipes, capture_output=True, text=True, timeout=30)
        if done.returncode != 1 or "error[E0501]: cannot read p.tlp: it is not a regular file" not in done.stderr:
            sys.exit(f"p.tlp: {done}")
        for args in (["m.tl"], ["check", "m.tl"], ["fmt", "m.tl"], ["-e", "print(1)", "--trace", "m.tl"],
                     ["-e", "print(1)", "--emit=program", "-o", "p.tlp"]):
            waits_until_interrupted(args, pipes)
    # A pipe takes the place of a file after a program was compiled.
    with tempfile.TemporaryDirectory() as name:
        pipes = pathlib.Path(name)
        np.save(pipes / "x.npy", np.ones(4, np.float32))
        (pipes / "s.tl").write_text('let y: f32[4] = load("x.npy")\nprint(y)\n')
        subprocess.run([TENC, "s.tl", "--emit=program", "-o", "s.tlp"], cwd=pipes, check=True)
        (pipes / "x.npy").unlink()
        os.mkfifo(pipes / "x.npy")
        done = subprocess.run([TENC, "s.tlp"], cwd=pipes, capture_output=True, text=True, timeout=30)
        if done.returncode != 3 or "error[E0904]: `x.npy` is not a regular file" not in done.stderr: sys.exit(f"s.tlp: {done}")
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
