#!/usr/bin/env python3
"""Remakes link_order.txt: the functions of tenc in the order in which a few short runs first call them. The linker puts
them next to each other, so that a start touches fewer pages of a large program: each costs some microseconds.

    tools/link_order.py build/release/bin/tenc

Needs valgrind. Worth doing after a new version of LLVM; a function that is not there any more does no harm."""
import pathlib
import re
import subprocess
import sys
import tempfile

LONGEST = 160  # characters of a name that only a compilation calls: a tenth of them are longer, and a third of the file
NETWORK = """import nn
struct Net { fc1: nn.Linear[784, 128], fc2: nn.Linear[128, 10] }
fn loss(m: Net, x: f32[N, 784], y: i64[N]) -> f32 = nn.cross_entropy(x |> m.fc1 |> relu |> m.fc2, y)
seed(1)
let x: f32[64, 784] = randn([64, 784])
let y: i64[64] = randint(0, 10, [64])
var m = Net { fc1: nn.linear(784, 128), fc2: nn.linear(128, 10) }
for step in 0..100 {
    let (l, g) = value_and_grad(loss)(m, x, y)
    m -= 0.05 * g
    if step % 20 == 19 { print("step {step + 1}: {l:.4f}") }
}
"""
# Convolutions of all kinds, and a product by a transposed matrix: what they call while they are compiled.
IMAGES = """seed(1)
let x = randn([4, 3, 56, 56])
let y = relu(conv2d(x, randn([64, 3, 7, 7]), stride: 2, padding: 3))
let z = relu(conv2d(y, randn([64, 64, 3, 3]), padding: 1)) + y
let u = conv2d(relu(conv2d(z, randn([64, 1, 3, 3]), padding: 1, groups: 64)), randn([128, 64, 1, 1]))
print(softmax(u.mean(axis: [2, 3]) @ randn([100, 128]).T).sum())
"""
# The second network comes from the cache. What such a start calls stands first, then what only compilations call.
RUNS = {"compiled": ["network.tl"], "images": ["images.tl"], "version": ["--version"], "checked": ["check", "network.tl"], "cached": ["network.tl"]}
ORDER = ("version", "checked", "cached", "compiled", "images")
COMPILATIONS = ("compiled", "images")


def called(tenc, words, folder):
    """Names of functions, mangled, in about the order of their first calls."""
    profile = pathlib.Path(folder, "profile")
    subprocess.run(["valgrind", "--tool=callgrind", "--demangle=no", f"--callgrind-out-file={profile}", tenc, *words,
                    "--cache-dir", "cache"], cwd=folder, check=True, capture_output=True)
    for name in re.findall(r"^c?fn=\(\d+\) (\S+)", profile.read_text(), re.MULTILINE):
        yield re.sub(r"'\d+$", "", name)  # the number of a recursion


def main():
    tenc = str(pathlib.Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "network.tl").write_text(NETWORK)
        pathlib.Path(folder, "images.tl").write_text(IMAGES)
        names_of = {run: list(called(tenc, words, folder)) for run, words in RUNS.items()}
    names = dict.fromkeys(n for run in ORDER for n in names_of[run])
    often = {n for run in ORDER if run not in COMPILATIONS for n in names_of[run]}
    kept = [n for n in names if (n in often or len(n) <= LONGEST) and not n.startswith("0x")]
    pathlib.Path(__file__).with_name("link_order.txt").write_text("".join(n + "\n" for n in kept))
    print(f"{len(kept)} of {len(names)} functions")


main()
