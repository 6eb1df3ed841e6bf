#!/usr/bin/env python3
"""Runs of launches are replayed as graphs: graphs.py --tenc PATH --driver LIBCUDA [--only TEXT]

Each script runs with every kernel launched and waited for by itself (TENC_CUDA_SYNC=1), and then with graphs in each of the orders
in which the virtual machine works, where nodes of a graph that do not depend on each other run in any order. Results must be
the same to the last bit, and faults those of the same trip; the machine must have nothing to report; and most kernels must have
been in graphs. Closes with `N passed, N failed`."""
import os
import re
import subprocess

import machine

NETWORK = """import nn
struct SimpleNN { fc1: nn.Linear[16, 8], fc2: nn.Linear[8, 4] }
fn loss(m: SimpleNN, x: f32[N, 16], y: i64[N]) -> f32 = nn.cross_entropy(x |> m.fc1 |> relu |> m.fc2, y)
seed(1)
let x = randn([32, 16])
let y = randint(0, 4, [32])
var m = SimpleNN { fc1: nn.linear(16, 8), fc2: nn.linear(8, 4) }
var total = 0.0
"""
# Name, script, least part of the kernels in graphs, how many graphs there are of one trip each, where that is to be so.
CASES = [
    # The step's two large weights change places with their new values: of three trips the first goes with what is before it, and
    # two are what the graphs are made of.
    ("a step of the first network is one graph", NETWORK + """for i in 0..40 {
    let (l, g) = value_and_grad(loss)(m, x, y)
    m -= 0.1 * g
    total += l
}
print(total, sum(m.fc1.w), sum(m.fc2.b))""", 0.9, 37),
    ("batches by index, and draws", NETWORK + """for epoch in 0..4 {
    let order = permutation(32)
    for b in 0..4 {
        let rows = order[b * 8 :+ 8]
        let noisy = x[rows] * f32(rand([8, 16]) > 0.1)
        let (l, g) = value_and_grad(loss)(m, noisy, y[rows])
        m -= 0.1 * g
        total += l
    }
}
print(total, sum(m.fc1.w), sum(m.fc2.b))""", 0.6, None),
    ("draws of a loop, and its variable", """seed(3)
var x = zeros([64])
var y = ones([64])
for i in 0..30 {
    let m = randn([64])
    let k = rand([64]) * f32(i)
    x = 0.5 * y + m + sin(y)
    y = cumsum(x, axis: 0) * 0.01 + k
    y = y - softmax(x) + flip(y)
    x = sort(y) + m
}
print(x, y)""", 0.7, None),
    ("three trips of a short body are a graph", """var x = ones([8, 8])
for i in 0..60 { x = softmax(x @ x) + f32(i) * 0.01 }
print(x)""", 0.8, None),
    ("exchanged buffers", """seed(1)
var a = randn([32, 32])
var b = zeros([32, 32])
var c = randn([32, 32])
for i in 0..30 {
    let next = 0.1 * (a @ b) + softmax(c)
    a = b + 1.0
    b = c
    c = next
}
print(sum(a, axis: 0), sum(b, axis: 0), sum(c, axis: 0))""", 0.6, None),
    ("an update in place, and copies", """var x = randn([64])
var kept = zeros([64])
for i in 0..30 {
    let old = x
    x[3:9] = sort(x[0:6] + f32(i))
    kept = kept * 0.5 + cumsum(old, axis: 0) * softmax(x)
    x = flip(sort(x)) + softmax(kept)
}
print(x, kept)""", 0.6, None),
    ("nested loops", """var x = ones([8, 8])
for i in 0..6 {
    x = softmax(x @ x)
    for j in 0..i + 3 { x = cumsum(softmax(x), axis: 1) + f32(j) }
    x = sort(x) + f32(i)
}
print(x)""", 0.3, None),
    ("conditions of the host", """var x = ones([8, 8])
for i in 0..40 {
    x = softmax(x @ x)
    if i % 3 == 0 { x = cumsum(x, axis: 1) + f32(i) } else { x = softmax(sort(x) @ x) - f32(i) }
    x = sort(softmax(x @ x) + x)
}
print(x)""", 0.6, None),
    ("conditions of the device", """var x = ones([8, 8])
for i in 0..40 {
    x = softmax(x @ x) + f32(i)
    x = sort(softmax(x @ x))
    if sum(x) > 8.0 { x = cumsum(x, axis: 1) + f32(i) } else { x = softmax(sort(x) @ x) - f32(i) }
    x = softmax(x @ x)
}
print(x)""", 0.4, None),
    ("while", """var x = ones([8, 8])
var s = 100.0
while s > 0.5 {
    x = softmax(x @ x)
    x = cumsum(softmax(x @ x), axis: 1)
    s = s * 0.8 + 0.001 * sum(x)
    x = sort(x) * 0.5
}
print(x, s)""", 0.4, None),
    ("what is printed splits a trip", """var x = ones([8, 8])
for i in 0..12 {
    x = softmax(x @ x)
    x = cumsum(softmax(x @ x), axis: 1)
    print(i, sum(x))
    x = softmax(x @ x)
    x = cumsum(softmax(x @ x), axis: 1)
}
print(x)""", 0.5, None),
    ("work of the host", """var x = ones([8, 8])
var h = @cpu { ones([1000]) }
var rate = 1.0
for i in 0..20 {
    rate = rate * 0.9
    x = softmax(x @ x) * rate
    h = h * 1.5 + f32(i)
    x = cumsum(softmax(x @ x), axis: 1) + sum(h.to(cpu)).to(cuda:0)
    x = sort(softmax(x @ x) @ x) * rate
}
print(x)""", 0.3, None),
    ("two devices", """seed(2)
var x = @cuda:0 { randn([8, 8]) }
var y = @cuda:1 { randn([8, 8]) }
for i in 0..20 {
    x = softmax(x @ x) + f32(i)
    y = softmax(y @ y)
    x = sort(softmax(x @ x))
    y = sort(softmax(y @ y)) - f32(i)
    x = softmax(x @ x)
    y = softmax(y @ y) + sum(x).to(cuda:1)
}
print(x, y)""", 0.3, None),
]
# The first fault is that of a late launch of trip 17, and none of an earlier launch of trip 21, which is in another replay.
FAULT = """seed(1)
let x = randn([64])
var s = zeros([64])
for i in 0..30 {
    let early = @cuda:0 { zeros([64], dtype: i64) + where(i == 21, 70, i) }
    let late = @cuda:0 { zeros([64], dtype: i64) + where(i == LATE, -65, i) }
    s = s + x[early]
    s = sort(softmax(s)) + cumsum(x, axis: 0)
    s = sort(softmax(s)) + flip(x)
    s = s + x[late]
    s = sort(softmax(s))
}
print(sum(s))"""
CASES += [("the first fault, of a late launch", FAULT.replace("LATE", "17"), 0, None), ("the first fault, of an early launch", FAULT.replace("LATE", "22"), 0, None),
          ("a fault of the first trip", FAULT.replace("LATE", "0"), 0, None)]


class Run:
    def __init__(self, A, script, folder, **more):
        reports = folder / "reports"
        reports.write_text("")
        environment = {**machine.environment(A.tenc, A.driver, more.pop("mode", "lazy"), reports), **more}
        done = subprocess.run([A.tenc, script, *machine.FLAGS, "--default-device", "cuda:0", "--transfers=allow", "--time", "--cache-dir", folder / "cache"], capture_output=True,
                              text=True, timeout=120, env=environment)
        self.status, self.text, self.reports = done.returncode, done.stdout, reports.read_text()
        self.errors = "".join(line for line in done.stderr.splitlines(True) if re.match(r"error|\s*-->|\s*\d+ \||\s*\|", line))
        self.all_errors = done.stderr
        counts = [tuple(map(int, c)) for c in re.findall(r"launched on cuda:\d: (\d+) kernels one by one, (\d+) in (\d+) graphs", done.stderr)]
        self.single, self.in_graphs, self.graphs = map(sum, zip(*counts)) if counts else (0, 0, 0)


def problem(A, folder, name, text, part, exactly):
    script = folder / "script.tl"
    script.write_text(text + "\n")
    want = Run(A, script, folder, TENC_CUDA_SYNC="1")
    if want.status not in (0, 3): return f"status {want.status}\n{want.all_errors}"
    if want.status == 3 and "fault" not in name: return f"it faults\n{want.errors}"
    if want.graphs: return "there are graphs under TENC_CUDA_SYNC"
    runs = {mode: Run(A, script, folder, mode=mode) for mode in machine.MODES}
    if not machine.ON_GPU: runs["without graphs of the driver"] = Run(A, script, folder, TENC_VM_FAIL="cuGraphInstantiateWithFlags=801")
    for how, got in runs.items():
        if (got.status, got.text, got.errors) != (want.status, want.text, want.errors):
            return f"{how}: status {got.status}\n{got.text}{got.all_errors}\none by one: status {want.status}\n{want.text}{want.errors}"
        if got.reports: return f"{how}: {got.reports[:600]}"
        if how not in machine.MODES:
            if got.graphs: return f"{how}: {got.graphs} graphs"
            continue
        if got.in_graphs < part * (got.single + got.in_graphs): return f"{how}: {got.single} kernels one by one, {got.in_graphs} in graphs"
        if exactly and (got.graphs != exactly or got.in_graphs % exactly != 0): return f"{how}: {got.in_graphs} kernels in {got.graphs} graphs"
    if A.verbose: print(f"{name}: {runs['lazy'].single} one by one, {runs['lazy'].in_graphs} in {runs['lazy'].graphs} graphs")
    return ""


def main():
    ap = machine.parser(__doc__)
    ap.add_argument("--only", default="")
    ap.add_argument("--verbose", action="store_true", help="says how kernels were launched")
    A = ap.parse_args()
    machine.skip_without_nvrtc(A.tenc, A.driver)
    machine.run_tests([(case[0], lambda folder, case=case: problem(A, folder, *case)) for case in CASES if not (machine.ON_GPU and "cuda:1" in case[1])], A.only)


if __name__ == "__main__":
    main()
