# RUN: %python %s %tenc
"""Rows that are taken of a mapped file by their numbers: the same in memory of any size, with files that can be mapped and
others, as NumPy takes them; an index out of range is reported as that of any tensor is."""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

TENC = sys.argv[1]
ROWS, COLUMNS = 20_000, 64
VALUES = """import data
seed(5)
let x = load("x.npy")
let u = load("u.npy")
let part = x[1000:3000]
var total = zeros([64])
for i in data.batches(20000, size: 500) {
    let b = x[i]
    total += sum(b * b, axis: 0) + f32(u[i])[:, 0:64].sum(axis: 0)
}
let odd = [-1, 0, 19999, -20000, 7, 7]
save("total.npy", total)
save("odd.npy", x[odd])
save("both.npy", u[[[0, 1, 2], [-1, -2, -3]]])
save("part.npy", part[[0, -1, 1999, -2000]])
save("flat.npy", reshape(u, [20000, 4, 64])[[3, -3]])
"""
FAULT = """let x = {source}
var total = 0.0
for k in 0..4 {{
    print("trip {{k}}")
    total += sum(x[[5, k * 6667, -k * 6667 - 1, 3]])
}}
print(total)
"""
LITTLE = ["--memory", "cpu=4MiB"]  # less than a file: rows are read, else they are copied
WAYS = [[], LITTLE, [*LITTLE, "--no-read-ahead"], [*LITTLE, "--threads", "1"], ["--threads", "1"], ["--engine=interp"]]


def run(folder, *arguments):
    done = subprocess.run([TENC, *arguments], cwd=folder, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def check_values(folder, x, u, way):
    for name, want in {"odd": x[[-1, 0, 19999, -20000, 7, 7]], "both": u[[[0, 1, 2], [-1, -2, -3]]],
                       "part": x[1000:3000][[0, -1, 1999, -2000]], "flat": u.reshape(20000, 4, 64)[[3, -3]]}.items():
        if not np.array_equal(np.load(folder / f"{name}.npy"), want): sys.exit(f"{way}: {name} differs")
    total = np.load(folder / "total.npy")
    want = (x.astype(np.float64) ** 2).sum(axis=0) + u[:, :64].astype(np.float64).sum(axis=0)
    if not np.allclose(total, want, rtol=1e-4): sys.exit(f"{way}: the total is far off")
    return total.tobytes()


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    random = np.random.default_rng(0)
    x = random.standard_normal((ROWS, COLUMNS)).astype(np.float32)
    u = random.integers(0, 255, (ROWS, 256)).astype(np.uint8)
    np.save(folder / "x.npy", x)
    np.save(folder / "u.npy", u)
    (folder / "s.tl").write_text(VALUES)
    totals = set()
    for way in WAYS:
        status, out, err = run(folder, "s.tl", *way)
        if status: sys.exit(f"{way}: {out}{err}")
        total = check_values(folder, x, u, way)
        if way != ["--engine=interp"]: totals.add(total)
    if len(totals) != 1: sys.exit("the total depends on how rows are read")
    if run(folder, "s.tl", "--emit=fused")[1].count("read_rows") < 6: sys.exit("rows are taken in another way")
    # A saved program finds files that cannot be mapped.
    if run(folder, "s.tl", "--emit=program", "-o", "s.tlp")[0]: sys.exit("the program is not saved")
    np.save(folder / "x.npy", np.asfortranarray(x))
    for way in ([], LITTLE):
        status, out, err = run(folder, "s.tlp", *way)
        if status: sys.exit(f"saved, {way}: {out}{err}")
        if check_values(folder, x, u, way) not in totals: sys.exit("the total of a saved program differs")
    np.save(folder / "x.npy", x)
    # Out of range: trip, place, index and size are those of a tensor in memory, and the least of several is told.
    (folder / "s.tl").write_text(FAULT.format(source='load("x.npy") + 0.0'))
    want = run(folder, "s.tl")
    if want[0] != 3 or "E0901" not in want[2] or "-20002" not in want[2] or "trip 3" not in want[1]: sys.exit(str(want))
    (folder / "s.tl").write_text(FAULT.format(source='load("x.npy")'))
    for way in WAYS:
        if run(folder, "s.tl", *way) != want: sys.exit(f"{way}: {run(folder, 's.tl', *way)}, not {want}")
