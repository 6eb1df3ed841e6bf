# RUN: %python %s %tenc
"""Files that are read while the trip before runs: what is printed, what is reported and where is as without that, and no
file beyond the last trip's is opened."""
import ctypes
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import time

import numpy as np

TENC = sys.argv[1]
SMALL, LARGE = "f32[64]", "f32[1200000]"  # the second is mapped
LOOP = """var total = 0.0
for i in 0..4 {{
    let b: {type} = load("s{{i}}.npy")
    total += sum(b)
    print(i, total)
    {more}
}}
print("end")
"""
CASES = {  # what the loop does beside, and what is done to the files before
    "whole": ("", {}),
    "a missing file": ("", {2: None}),
    "a missing file that no trip comes to": ("if i == 1 { break }", {2: None}),
    "an assertion that fails first": ('assert i < 1, "stop"', {2: None}),
    "an index that fails first": ("total += [1.0, 2.0][i + 1]", {2: None}),
    "a short file": ("", {2: "short"}),
    "another shape": ("", {2: "shape"}),
    "another dtype, never reached": ("if i == 1 { break }", {2: "dtype"}),
    "no regular file": ("", {3: "folder"}),
    "written by the trip before": ('save("s{i + 1}.npy", b + 1.0)', {}),
    "made by the trip before": ('save("s{i + 1}.npy", b + 1.0)', {1: None, 2: None, 3: None}),
}


def files(folder, dims, changes):
    for i in range(4):
        path = folder / f"s{i}.npy"
        if path.is_dir(): path.rmdir()
        change = changes.get(i, "")
        x = np.full(dims, i + 1, np.float32)
        if change == "shape": x = x[:-1]
        if change == "dtype": x = x.astype(np.float64)
        np.save(path, x)
        if change == "short": path.write_bytes(path.read_bytes()[:-64])
        if change is None or change == "folder": path.unlink()
        if change == "folder": path.mkdir()
    time.sleep(0.03)  # files that have just been written are not trusted to be seen as changed


def run(folder, *options):
    done = subprocess.run([TENC, "s.tl", *options], cwd=folder, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


def opened(folder, action):
    """The names of files in the folder that are opened meanwhile, in order."""
    libc = ctypes.CDLL(None, use_errno=True)
    watch = libc.inotify_init1(os.O_NONBLOCK)
    libc.inotify_add_watch(watch, os.fsencode(folder), 0x20)
    action()
    names, data = [], os.read(watch, 1 << 20)
    os.close(watch)
    while data:
        length = struct.unpack("iIII", data[:16])[3]
        names.append(data[16:16 + length].rstrip(b"\0").decode())
        data = data[16 + length:]
    return names


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    for kind, dims in ((SMALL, 64), (LARGE, 1200000)):
        for label, (more, changes) in CASES.items():
            (folder / "s.tl").write_text(LOOP.format(type=kind, more=more))
            results = []
            for options in ([], ["--no-read-ahead"], ["--threads", "1"], ["--engine=interp"]):
                files(folder, dims, changes)
                results.append(run(folder, *options))
            if any(r[:2] != results[0][:2] or r[2] != results[0][2] for r in results[1:3]):
                sys.exit(f"{label}, {kind}: differs from --no-read-ahead:\n" + "\n".join(map(str, results)))
            if results[3][0] != results[0][0] or results[3][1] != results[0][1]:
                sys.exit(f"{label}, {kind}: differs from the interpreter:\n" + "\n".join(map(str, results)))
    # Nothing is read twice, and nothing beyond the end.
    (folder / "s.tl").write_text(LOOP.format(type=SMALL, more="").replace("0..4", "0..3"))
    files(folder, 64, {})
    names = [n for n in opened(folder, lambda: run(folder)) if n != "s.tl"]
    if names != ["s0.npy", "s1.npy", "s2.npy"]: sys.exit(f"opened: {names}")
    # Where two buffers are too many, one does.
    (folder / "s.tl").write_text(LOOP.format(type=LARGE, more=""))
    files(folder, 1200000, {})
    if run(folder, "--memory", "cpu=6MiB") != run(folder): sys.exit("does not run in the memory of one buffer")
    # Onto a device.
    text = ('var total = zeros([]).to(cuda:0)\n@cuda:0 for i in 0..4 {\n    let b: f32[64] = load("s{i}.npy")\n'
            '    total = total + sum(b)\n}\nprint(total)\n')
    (folder / "s.tl").write_text(text)
    files(folder, 64, {})
    seen = {run(folder, "--virtual", f"cuda=1:{order}", *more) for order in ("async", "sync", "lazy")
            for more in ([], ["--no-read-ahead"])}
    if len(seen) != 1 or "640" not in next(iter(seen))[1]: sys.exit(f"on a device: {seen}")
