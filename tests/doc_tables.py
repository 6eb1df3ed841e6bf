#!/usr/bin/env python3
"""The TL cells of the tables in docs/numpy.md, docs/pytorch.md and docs/jax.md check without an error, and the times in README.md are
those of docs/benchmarks.md: doc_tables.py --tenc PATH.

Every code span of the right column is checked on its own, behind declarations of the names that the tables use. Closes with
`N passed, N failed`."""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
NAMES = """import nn
import optim
import image
import amp
import data
import ad
import linalg
import special
import signal
device gpu = cuda:0 or cpu
struct Net { w: f32[2, 3], b: f32[3] }
struct Half[T: float] { w: T[2, 3] }
struct Blocks { blocks: [Net; 2] }
fn call(n: Net, x: f32[...S]) -> f32[...S] = x
fn block() -> Net = Net { w: ones([2, 3]), b: zeros([3]) }
fn f(t: f32[...S]) -> f32[...S] = t * 2.0
fn use_in_tables() {
    let net = block()
    let w = net.w
    let c = ones([2, 3]) > 0.0
    let mask = c
    let q = ones([2, 2, 4, 8])
    let k = q
    let h = 8
    let logits = ones([5, 3])
    let target = [0, 1, 2, 0, 1]
    let g = net
    let i = [[0, 1, 0], [1, 0, 1]]
    let u = ones([2, 3, 3])
    var v = ones([2, 3])
    var y = ones([4])
    var s = optim.adamw(net)
"""
# Names that a few cells need otherwise.
OTHERS = [
    (r"einsum\(\"bij", "let a = ones([2, 2, 2])\nlet b = a"),
    (r"a @ b|einsum\(\"ij,", "let a = ones([2, 3])\nlet b = ones([3])"),
    (r"solve|svd|eigh|det|inv", "let a = eye(2)\nlet b = ones([2])"),
    (r"permute_dims", "let x = ones([2, 3, 4])"),
    (r"image\.", "let x = ones([1, 1, 4, 4])\nlet w = 8"),
    (r"scatter", "let i = [0, 1]\nlet u = ones([2, 3])"),
    (r"attention", "let v = q"),
    (r"interp\(x, a", "let a = [1.0, 2.0]\nlet b = [3.0, 4.0]"),
    (r"meshgrid", "let a = ones([2])\nlet b = ones([3])"),
    (r"v\[i\]", "let i = [0, 1]\nlet u = ones([2, 3])"),
    (r"topk", "let x = ones([9])"),
    (r"squeeze", "let x = ones([1, 3])"),
    (r":\+", "let i = sum([1])\nlet x = ones([9])"),
    (r"x\[\[0, 2\]\]|x\[1:3", "let x = ones([3, 3])"),
    (r"linalg\.", "let a = eye(2)"),
    (r"special\.igamma", "let a = ones([2, 3])"),
    (r"special\.gcd", "let j = i"),
    (r"bincount", "let x = [1, 2]\nlet w = [0.5, 1.0]"),
    (r"cumsum\(x, dtype", "let x = [1, 2]"),
    (r"grid_sample", "let g = zeros([1, 2, 2, 2])"),
    (r"_pool\(|_pool_|unpool", "let x = ones([1, 1, 8, 8])"),
    (r"max_unpool", "let (y, i) = max_pool_with_indices(x, 2)"),
    (r"ctc_loss", "let p = zeros([4, 1, 3])\nlet target = [[1, 2]]\nlet input_lengths = [4]\nlet target_lengths = [2]"),
    (r"f16\(m\)", "let m = Half { w: ones([2, 3]) }"),
    (r"m\.blocks", "let m = Blocks { blocks: list(2, |i| block()) }\nvar x = ones([2, 3])"),
    (r"\(a, relu, b\)", "let a = relu\nlet b = relu"),
    (r"optim\.step", "var m = net"),
    (r"optim\.step.*momentum", "var m = net\nlet s = optim.sgd(net)"),
    (r"split\(x, \[2, 2, 2\]", "let x = ones([6])"),
    (r"nn\.run", "let m = nn.lstm(3, 4)\nlet x = ones([2, 5, 3])\nlet h = zeros([2, 4])\nlet c = h"),
    (r"= cell\(", "let cell = nn.lstm_cell(3, 4)\nlet x = ones([2, 3])\nvar h = zeros([2, 4])\nvar c = h"),
    (r"nn\.step", "let m = nn.lstm(3, 4)\nlet x = ones([2, 3])\nvar h = zeros([2, 4])\nvar c = h"),
    (r"i, total:|step_decay\(i", "let i = 3"),
    (r"\bmu\b", "let mu = x\nlet sigma = ones([2, 3])"),
    (r"nll\(.*target", "let x = logits"),
    (r"reduction: \"none\"", "let a = ones([2, 3])"),
    (r"data\.batches", "let n = 64\nlet x = ones([64, 3])"),
    (r"\(loss\)", "let loss = |m, x, y| sum((x @ m.w.T - y) ** 2)\nlet y = ones([2, 2])"),
    (r"custom_vjp", "let forward = |x: f32[2, 3]| (f(x), x)\nlet backward = |x: f32[2, 3], d: f32[2, 3]| d * 2.0"),
    (r"vjp\(f\)\(x, d\)", "let d = x"),
    (r"hessian|hvp", "let f = |x: f32[3]| sum(x ** 3)\nlet x = ones([3])\nlet v = x"),
    (r"unravel", "let v = ones([9])"),
    (r"bitcast", "let x = ones([2, 3])"),
    (r"\{x:", "let x = 1.5"),
    (r"grad\(f\)", "let f = |x: f32[3]| sum(x ** 3)\nlet x = ones([3])"),
    (r"grad\(f, wrt|in_axes", "let f = |x, v| sum(x * v)\nlet v = x"),
    (r"grad\(loss, wrt", "let loss = |a, b| sum(a * b)"),
    (r"aux: true", "let f = |x: f32[2, 3]| (sum(x), x)"),
    (r"fwd", "let fwd = |x: f32[2, 3]| (f(x), x)\nlet bwd = |x: f32[2, 3], d: f32[2, 3]| d * 2.0"),
    (r"\bt\)", "let t = net"),
    (r"scan\(f, init", "let f = |c, x| (c + sum(x), x)\nlet init = 0.0\nlet xs = x"),
    (r"body\(x\)", "let body = |x| x * 0.5\nlet cond = |x| sum(x) > 1.0\nlet n = 3\nvar x = ones([2, 3])"),
    (r"^if c", "let c = sum(w) > 1.0\nlet g = f"),
    (r"^x\[i\] \+?= u", "var x = ones([4])\nlet i = [0, 1]\nlet u = ones([2])"),
    (r"optim\.ema", "let average = m"),
]
# Names and forms that are no program of their own.
WORDS = re.compile(r"[\w.]+|\W|\{ \.\.\. \}|.*\.\.\..*|(struct|fn|device) .*|training: true|@gpu .*")
USUAL = "let a = ones([2, 3])\nlet b = a\nlet x = ones([2, 3])\nlet m = net\n"


def cells(page):
    """Code spans of the last column, without those that only name something."""
    for line in page.read_text().splitlines():
        row = re.split(r"(?<!\\)\|", line)
        if len(row) == 4 and not re.fullmatch(r"[- ]*", row[2]):
            for span in re.findall(r"`([^`]+)`", row[2]):
                code = span.replace("\\|", "|")
                if not WORDS.fullmatch(code): yield code


def strange_times():
    """Rows of the table of times in README.md that docs/benchmarks.md does not have."""
    rows = re.findall(r"^\| \w+ \|(?: [\d.]+ \|){5}$", (ROOT / "README.md").read_text(), re.M)
    known = (ROOT / "docs/benchmarks.md").read_text().splitlines()
    return [row for row in rows if row not in known] if rows else ["there is no row"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tenc", required=True)
    args = parser.parse_args()
    tenc = str(pathlib.Path(args.tenc).resolve())
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        # The files that some cells load.
        make = 'struct Net { w: f32[2, 3], b: f32[3] }\nlet n = Net { w: ones([2, 3]), b: zeros([3]) }\n'
        make += 'save("m.safetensors", n)\nsave("x.npy", ones([4]))\n'
        subprocess.run([tenc, "-"], input=make, text=True, cwd=folder, check=True)
        for name in ("numpy", "pytorch", "jax"):
            for code in cells(ROOT / f"docs/{name}.md"):
                setup = USUAL + "\n".join(text for pattern, text in OTHERS if re.search(pattern, code))
                value = not re.match(r"let |var |for |while |assert |print|save|seed|.* [+*]?= ", code)
                source = NAMES + setup + "\n" + (f"let _ = {code}" if value else code) + "\n}\nuse_in_tables()\n"
                run = subprocess.run([tenc, "check", "-"], input=source, text=True, cwd=folder, capture_output=True)
                passed, failed = passed + (run.returncode == 0), failed + (run.returncode != 0)
                if run.returncode: print(f"docs/{name}.md: `{code}`\n{run.stderr}")
    for row in strange_times():
        failed += 1
        print(f"README.md: not in docs/benchmarks.md: {row}")
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0 or passed < 60)


if __name__ == "__main__":
    sys.exit(main())
