# RUN: %python %s %tenc
"""A training step that does not fit: what E0320 says is held for the gradient, and that what it proposes is true. Each edit
is applied; the script fits with it, with the next larger size it does not, and with `checkpoint` it prints the same bits."""
import json
import os
import re
import subprocess
import sys
import tempfile

TENC = os.path.abspath(sys.argv[1])

STEP = """
seed(1)
{data}
for i in 0..3 {{
    let (l, g) = value_and_grad(loss)(m, x, y)
    m = m - 0.01 * g
    print(l)
}}
save("m.safetensors", m)
"""

GPT = """import nn
const BATCH = 6
const T = 16
const D = 32
struct Block { n1: nn.LayerNorm[D], qkv: nn.Linear[D, 3 * D], proj: nn.Linear[D, D], n2: nn.LayerNorm[D], up: nn.Linear[D, 4 * D], down: nn.Linear[4 * D, D] }
fn block() -> Block = Block { n1: nn.layer_norm_layer(D), qkv: nn.linear(D, 3 * D), proj: nn.linear(D, D), n2: nn.layer_norm_layer(D), up: nn.linear(D, 4 * D), down: nn.linear(4 * D, D) }
fn call(b: Block, x: f32[N, L, D]) -> f32[N, L, D] {
    let heads = permute_dims(reshape(b.qkv(b.n1(x)), [N, L, 3, 4, 8]), [2, 0, 3, 1, 4])
    let a = attention(heads[0], heads[1], heads[2], causal: true)
    let x = x + b.proj(reshape(permute_dims(a, [0, 2, 1, 3]), [N, L, D]))
    x + (x |> b.n2 |> b.up |> gelu |> b.down)
}
struct Gpt { emb: f32[64, D], blocks: [Block; 5], head: nn.Linear[D, 64] }
fn loss(m: Gpt, x: i64[N, L], y: i64[N, L]) -> f32 {
    var h = take(m.emb, x, axis: 0)
    for b in m.blocks { h = b(h) }
    nn.cross_entropy(reshape(m.head(h), [N * L, 64]), reshape(y, [N * L]))
}
""" + STEP.format(data="""var m = Gpt { emb: 0.02 * randn([64, D]), blocks: list(5, |i| block()), head: nn.linear(D, 64) }
let x = randint(0, 64, [BATCH, T])
let y = randint(0, 64, [BATCH, T])""")

MLP = """import nn
struct Mlp { up: nn.Linear[16, 64], mid: [nn.Linear[64, 64]; 4], out: nn.Linear[64, 10] }
fn hidden(f: nn.Linear[64, 64], x: f32[N, 64]) -> f32[N, 64] {
    let a = tanh(f(x)) * sin(x)
    gelu(a) + x
}
fn loss(m: Mlp, x: f32[N, 16], y: i64[N]) -> f32 {
    var h = gelu(m.up(x))
    for f in m.mid { h = hidden(f, h) }
    nn.cross_entropy(m.out(h), y)
}
""" + STEP.format(data="""var m = Mlp { up: nn.linear(16, 64), mid: list(4, |i| nn.linear(64, 64)), out: nn.linear(64, 10) }
let x = randn([700, 16])
let y = randint(0, 10, [700])""")

RNN = """param batch: i64 = 12
struct Cell { wx: f32[8, 32], wh: f32[32, 32], out: f32[32] }
fn cell(m: Cell, x: f32[N, 8], h: f32[N, 32]) -> f32[N, 32] {
    let z = sigmoid(x @ m.wx + h @ m.wh)
    let c = tanh(x @ m.wx - h @ m.wh)
    z * h + (1 - z) * c
}
fn loss(m: Cell, xs: f32[S, N, 8], y: f32[N]) -> f32 {
    var h = zeros([N, 32])
    for t in 0..S { h = cell(m, xs[t], h) }
    mean((h @ m.out - y) ** 2)
}
""" + STEP.format(data="""var m = Cell { wx: 0.1 * randn([8, 32]), wh: 0.05 * randn([32, 32]), out: randn([32]) }
let x = randn([40, batch, 8])
let y = randn([batch])""")

CNN = """import nn
let ROWS = 12
struct Net { first: nn.Conv2d[1, 8, 3, 1, 1], more: [nn.Conv2d[8, 8, 3, 1, 1]; 4], fc: nn.Linear[512, 10] }
fn block(c: nn.Conv2d[8, 8, 3, 1, 1], x: f32[N, 8, 16, 16]) -> f32[N, 8, 16, 16] = x + c(gelu(tanh(c(x))))
fn features(m: Net, x: f32[N, 1, 16, 16]) -> f32[N, 8, 8, 8] {
    var h = relu(m.first(x))
    for c in m.more { h = block(c, h) }
    max_pool(h, 2)
}
fn loss(m: Net, x: f32[N, 1, 16, 16], y: i64[N]) -> f32 = nn.cross_entropy(m.fc(reshape(features(m, x), [N, 512])), y)
""" + STEP.format(data="""var m = Net { first: nn.conv2d_layer(1, 8, 3, padding: 1), more: list(4, |i| nn.conv2d_layer(8, 8, 3, padding: 1)), fc: nn.linear(512, 10) }
let x = randn([ROWS, 1, 16, 16])
let y = randint(0, 10, [ROWS])""")


def tenc(script, *options):
    with open("s.tl", "w") as f: f.write(script)
    return subprocess.run([TENC, *options], capture_output=True, text=True, timeout=600)


def offset(script, line, column):
    return sum(len(l) + 1 for l in script.split("\n")[:line - 1]) + column - 1


def edited(script, edits):
    """The script with the edits of a help; a tool does the same."""
    for e in sorted(edits, key=lambda e: (e["line"], e["column"]), reverse=True):
        begin, end = offset(script, e["line"], e["column"]), offset(script, e["endLine"], e["endColumn"])
        script = script[:begin] + e["replacement"] + script[end:]
    return script


def peak(script, *options):
    done = tenc(script, "check", "s.tl", "--memory", *options)
    if done.returncode: sys.exit(done.stderr)
    return int(re.search(r"cpu: peak (\d+) bytes", done.stdout)[1]), done.stdout


def results(script):
    done = tenc(script, "s.tl")
    with open("m.safetensors", "rb") as f: return done.returncode, done.stdout, f.read()


def limits(name, script, share):
    """With this share of what the script needs: sizes that fit, and a `checkpoint`."""
    needs, table = peak(script)
    kept = re.search(r"  kept for the gradient: (\d+) bytes", table)
    if not kept or not needs * 0.3 < int(kept[1]) <= needs: sys.exit(f"{name}: kept of {needs}?\n{table}")
    limit = ("--memory", f"cpu={int(needs * share) // 1024}KiB")
    fits = lambda script, *options: tenc(script, "check", "s.tl", *limit, *options).returncode == 0
    done = tenc(script, "check", "s.tl", *limit, "--diagnostics=json")
    error = json.loads(done.stdout or done.stderr)
    text = json.dumps(error, indent=1)
    if error["code"] != "E0320" or "kept for the gradient" not in text: sys.exit(f"{name}: {text}")
    found = {"size": 0, "checkpoint": 0}
    for help in error["helps"]:
        size = re.search(r"(\d+)`? fits \(it is (\d+)\)", help["text"])
        if size:
            found["size"] += 1
            param = re.search(r"--(\w+) ", help["text"])
            for value, wanted in ((int(size[1]), True), (int(size[1]) + 1, False)):
                with_value = [dict(e, replacement=str(value)) for e in help["edits"]]
                given = (f"--{param[1]}", str(value)) if param else ()
                if fits(edited(script, with_value), *given) != wanted: sys.exit(f"{name}: {help['text']}: {value}")
        elif help["text"].startswith("`checkpoint`"):
            found["checkpoint"] += 1
            after = edited(script, help["edits"])
            if not fits(after): sys.exit(f"{name}: does not fit\n{after}")
            if not re.search(r"recomputes [\d.]+ [kMG]?FLOP a step \(", help["text"]): sys.exit(help["text"])
            if results(after) != results(script): sys.exit(f"{name}: other bits\n{after}")
    if not found["size"] or found["checkpoint"] != 1: sys.exit(f"{name} at {share}: {found}\n{text}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, script in (("gpt", GPT), ("mlp", MLP), ("rnn", RNN), ("cnn", CNN)): limits(name, script, 0.8)


main()
