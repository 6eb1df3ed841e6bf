#!/usr/bin/env python3
"""Loops and branches that a GPU decides: control.py --tenc PATH --driver LIBCUDA [--only TEXT]

Each script runs with every kernel waited for, so that the host decides, then on a driver without conditional nodes, on one that
refuses graphs, and with conditional nodes in each of the orders in which the virtual machine works. Results must be the same to the
last bit, and faults those of the same trip, soon after which nothing runs; the machine must have nothing to report. What the device decides is not copied to the
host: so many copies there are to it at most, however many trips. Closes with `N passed, N failed`."""
import re
import subprocess

import machine

# Name, script, most copies with conditional nodes (None: not counted).
CASES = [
    ("until it converges", """var x = randn([16, 16])
var i = 0
var err = 1.0
while err > 1e-4 and i < 200 {
    let next = 0.5 * x + 0.1 * softmax(x @ x)
    err = max(abs(next - x))
    x = next
    i += 1
}
print(i, err, sum(x))""", 6),
    ("a condition that never holds", """var x = ones([8, 8])
while sum(x) < 0.0 { x = softmax(x @ x) + 1.0 }
print(x)""", 3),
    ("one trip", """var x = ones([8, 8])
while sum(x) > 60.0 { x = softmax(x @ x) }
print(x)""", 3),
    # The trips' numbers are even and odd: what is exchanged ends in either memory.
    *((f"exchanged buffers, {n} trips", f"""var a = ones([16, 16])
var b = eye(16) * 0.5
var c = zeros([16, 16])
var i = 0
while i < {n} and sum(a) < 1e9 {{
    let next = 0.1 * (a @ b) + softmax(c)
    a = b @ a + 1.0
    b = c * 0.5
    c = next
    i += 1
}}
print(i, sum(a, axis: 0), sum(b, axis: 0), sum(c, axis: 0))""", 7) for n in (2, 3, 4, 7, 8)),
    ("again and again", """var x = ones([8, 8])
for k in 0..6 {
    var s = 0.0
    while s < 3.0 {
        x = softmax(x @ x) + 0.1 * f32(k)
        s += max(x)
    }
    x = sort(x) + f32(k)
}
print(x)""", None),
    ("loops in loops", """var x = ones([8, 8])
var outer = 0
var all = 0
while outer < 5 and sum(x) < 1e6 {
    var inner = 0
    while inner <= outer and max(x) < 1e5 {
        x = softmax(x @ x) + 0.25 * f32(inner)
        inner += 1
        all += 1
    }
    x = sort(x) + cumsum(x, axis: 0) * 0.5
    outer += 1
}
print(outer, all, x)""", 8),
    ("branches in a loop of the host", """var x = ones([8, 8])
for i in 0..40 {
    x = softmax(x @ x) + f32(i) * 0.1
    if sum(x) > 20.0 { x = cumsum(x, axis: 1) * 0.01 } else { x = softmax(sort(x) @ x) }
    if max(x) > 0.5 { x = x * 0.5 }
}
print(x)""", 6),
    ("branches that number", """var x = ones([8, 8])
var often = 0
var last = -1
for i in 0..30 {
    x = softmax(x @ x) + f32(i % 4) * 0.1
    if sum(x) > 20.0 {
        x = cumsum(x, axis: 1) * 0.01
        often += 1
        last = i
    }
}
print(often, last, sum(x))""", 7),
    ("branches in a loop of the device", """var x = ones([8, 8])
var i = 0
while sum(x) < 500.0 and i < 50 {
    if max(x) > 2.0 { x = x * 0.5 + softmax(x @ x) } else if min(x) < 0.5 { x = x + 0.7 } else { x = cumsum(x, axis: 1) }
    i += 1
}
print(i, x)""", 8),
    ("a loop of the host in a loop of the device", """var x = ones([8, 8])
var y = eye(8)
var z = zeros([8, 8])
while sum(z) < 900.0 {
    for k in 0..3 {
        let t = x
        x = softmax(y @ x) + f32(k) * 0.5
        y = t * 0.1
    }
    z += x
}
print(x, y, z)""", 6),
    ("numbers that a loop of the host goes on with", """var x = ones([8, 8])
var n = 1
while max(x) < 50.0 {
    for k in 0..100 { n = (n * 3 + k) % 1000 }
    x += softmax(x @ x) + f32(n % 7)
}
print(n, x)""", 9),
    ("a counter that a kernel of the loop reads", """var u = [7.0, 8.0, 9.0]
var a = 3.0
var k = 0
while a < 8.0 {
    u = u * 2.0
    for j in 0..2 { if a > 0.0 { a = u[k] } }
    k += 1
}
print(a, k)""", None),
    ("break", """var x = ones([8, 8])
var n = 0
for i in 0..100 {
    x = softmax(x @ x) + 0.1 * f32(i)
    if sum(x) > 100.0 { break }
    n += 1
}
print(n, x)""", 6),
    ("early return", """fn f(x: f32[N, N]) -> f32 {
    var y = x
    for i in 0..50 {
        y = softmax(y @ y) + 0.1 * f32(i)
        if max(y) > 2.0 { return sum(y) }
    }
    0.0 - sum(y)
}
print(f(ones([8, 8])))""", 6),
    ("a loop variable as an index", """let v = randn([64, 8])
var x = zeros([8, 8])
var i = 0
while i < 40 and max(x) < 50.0 {
    x = x + softmax(outer(v[i], v[i + 1])) * 2.0
    i += 1
}
print(i, x)""", 8),
    ("draws", """seed(3)
var x = zeros([8, 8])
while max(x) < 5.0 { x = x + rand([8, 8]) @ ones([8, 8]) * 0.1 }
print(x, rand([2]))""", 6),
    ("draws in loops and branches", """seed(3)
var x = zeros([8, 8])
var taken = 0
while taken < 6 {
    for k in 0..2 { x = x + softmax(randn([8, 8]) @ x) * f32(k) }
    if max(x) > 2.0 {
        x = x * rand([8, 1])
        taken += 1
    } else { x = softmax(x @ x) + rand([8, 8]) + f32(bernoulli(0.5, [8, 8])) }
}
print(taken, x, randn([2]), randint(0, 9, [4]))""", 9),
    ("draws in a branch in a loop of the host", """seed(5)
var x = rand([8, 8])
for i in 0..30 {
    x = softmax(x @ x) + rand([8, 8]) * 0.1
    if max(x) > 0.25 { x = cumsum(x, axis: 0) * rand([8, 8]) }
}
print(x, rand([2]))""", 8),
    ("draws in a condition", """seed(3)
var x = zeros([8, 8])
while max(x + rand([8, 8])) < 5.0 { x = x + rand([8, 8]) @ ones([8, 8]) * 0.1 }
print(x, rand([2]))""", None),
    ("draws behind what is printed", """seed(3)
var x = rand([8, 8])
for i in 0..12 {
    print(sum(x))
    if max(x) > 0.5 { x = softmax(x @ x) + rand([8, 8]) }
    x = sort(x) * 0.9
}
print(x, rand([2]))""", None),
    ("what is printed", """var x = ones([8, 8])
var i = 0
while sum(x) > 1.0 and i < 5 {
    x = softmax(x @ x) * 0.5
    print(sum(x))
    x = x * 0.5
    i += 1
}""", None),
    ("too long for a graph", """var x = ones([4, 4])
while max(x) < 400.0 {
    for i in 0..700 { x = sort(x @ x) * 0.01 + softmax(x + f32(i) * 0.001) }
    x = x + 150.0
}
print(x)""", None),
    ("a fault in a late trip", """let v = randn([12, 4])
var x = zeros([4, 4])
var i = 0
while max(x) < 1e6 {
    x = x + softmax(outer(v[i], v[i]))
    i += 1
}
print(x)""", None),
    ("a fault in a branch", """let v = randn([12, 4])
var x = zeros([4, 4])
var n = 0
for i in 0..30 {
    x = x + softmax(outer(v[i % 12], v[0]))
    if max(x) > 3.0 { n = i * 5 }
    x = x + outer(v[n], v[1]) * 0.01
}
print(x)""", None),
    ("a branch that would divide by zero", """let zero = i64(floor(max(zeros([3]))))
var x = ones([4, 4])
for i in 0..9 {
    let none = i - i
    if sum(x) < 0.0 { x = x + f32(7 // none) }
    x = softmax(x @ x) + f32(zero)
}
print(x)""", None),
]


# What a driver may lack.
LACKING = {"an old driver": "cuGraphConditionalHandleCreate=absent", "without graphs of the driver": "cuGraphInstantiateWithFlags=801",
           "without nodes of the driver": "cuGraphAddNode=801"}


class Run:
    def __init__(self, A, script, folder, **more):
        reports, counters = folder / "reports", folder / "counters"
        for f in (reports, counters): f.write_text("")
        environment = {**machine.environment(A.tenc, A.driver, more.pop("mode", "lazy"), reports), "TENC_VM_COUNTERS": str(counters), **more}
        done = subprocess.run([A.tenc, script, *machine.FLAGS, "--default-device", "cuda:0", "--transfers=allow", "--cache-dir", folder / "cache"],
                              capture_output=True, text=True, timeout=120, env=environment)
        self.status, self.text, self.errors, self.reports = done.returncode, done.stdout, done.stderr, reports.read_text()
        self.launches = sum(map(int, re.findall(r"^device 0: launches (\d+)", counters.read_text(), re.M)))
        self.copies = sum(map(int, re.findall(r"^device 0: .* copies to the host (\d+)", counters.read_text(), re.M)))


def problem(A, folder, name, text, most):
    script = folder / "script.tl"
    script.write_text(text + "\n")
    want = Run(A, script, folder, TENC_CUDA_SYNC="1")
    if want.status != (3 if name.startswith("a fault") else 0): return f"status {want.status}\n{want.errors}"
    runs = {mode: Run(A, script, folder, mode=mode) for mode in machine.ALL_MODES}
    if not machine.ON_GPU: runs |= {how: Run(A, script, folder, TENC_VM_FAIL=fails) for how, fails in LACKING.items()}
    for how, got in runs.items():
        if (got.status, got.text, got.errors) != (want.status, want.text, want.errors):
            return f"{how}: status {got.status}\n{got.text}{got.errors}\none by one: status {want.status}\n{want.text}{want.errors}"
        if got.reports: return f"{how}: {got.reports[:600]}"
        if want.status and got.launches > want.launches + 1000: return f"{how}: {got.launches} launches, {want.launches} where the host sees the fault"
        if how in machine.MODES and most and got.copies > most: return f"{how}: {got.copies} copies, {want.copies} where the host decides"
    if A.verbose and not machine.ON_GPU: print(f"{name}: {runs['lazy'].copies} copies, {want.copies} where the host decides, {runs['an old driver'].copies} with an old driver")
    return ""


def main():
    ap = machine.parser(__doc__)
    ap.add_argument("--only", default="")
    ap.add_argument("--verbose", action="store_true", help="says how much was copied")
    A = ap.parse_args()
    machine.skip_without_nvrtc(A.tenc, A.driver)
    machine.run_tests([(case[0], lambda folder, case=case: problem(A, folder, *case)) for case in CASES], A.only)


if __name__ == "__main__":
    main()
