# RUN: %python %s %tenc
"""What a session prints is what the script prints that :save writes: names keep what they meant when an entry ran."""
import pathlib
import subprocess
import sys
import tempfile

MODULE = """const K = 1
fn f(x: f32) = x
fn relu(x: f32) = x + 100.0
"""
SESSIONS = [
    """\
let t: i64[R, C] = [[1, 2, 3], [4, 5, 6]]
R * C
print(R, C, zeros([C, R]).shape)
let (f, k) = (|x| x + 1, 3)
f(1) * k
let k = 4
f(1) * k
let (g, _) = (|x| f(x) * k, 0)
g(2)
""",
    """\
let a = 1.0
# a comment, and an empty line

    |> exp
a
if a > 2.0 { print("more") }

else { print("less") }
""",
    """\
fn g(x: f32) = x
let f = |x| g(x)
f(1.0)
fn g(x: f32) = x * 10.0
f(1.0)
""",
    """\
const K = 2
let f = |x| x * K
f(1.0)
const K = 3
f(1.0)
K
""",
    """\
fn loss(x: f32) = x * x
let d = grad(loss)
d(1.0)
fn loss(x: f32) = x * x * x
d(1.0)
let t = (loss, 3)
t[0](2.0)
fn loss(x: f32) = x + 1.0
t[0](2.0)
d(5.0)
""",
    """\
const axis = 0
sum([[1.0, 2.0], [3.0, 4.0]], axis: axis)
const axis = 1
sum([[1.0, 2.0], [3.0, 4.0]], axis: axis)
struct a { a: f32 }
let v = a { a: 1.0 }
v.a
struct a { a: f32, b: f32 }
let w = a { a: 2.0, b: 3.0 }
w.a
""",
    """\
let N = 3
N
const N = 2
N
let N = 7
N
""",
    """\
let x = [1.0, -1.0]
relu(x)
x.relu()
fn relu(x: f32[N]) = x * 2.0
relu(x)
x.relu()
""",
    """\
let x = 1.0
fn g(x: f32) = relu(x)
g(-3.0)
import a: relu
relu(-3.0)
g(-3.0)
""",
    """\
import a: K, f
K
const K = 5
K
f(2.0)
fn f(x: f32) = x * 3.0
f(2.0)
import a: K
K
""",
    """\
let a = 1.0
let f = |x| x + a
f(1.0)
a = 5.0
let a = 10.0
f(1.0)
const Z = 1
f(1.0)
fn g(x: f32) = x
let h = |x| g(x) + a
h(1.0)
let a = 100.0
fn g(x: f32) = 1000.0 + x
h(1.0)
f(1.0)
""",
    """\
fn g(x: f32) = x
let f = |x| g(x)
let h = |x| f(x) + 1.0
h(1.0)
fn g(x: f32) = 10.0 * x
h(1.0)
f(1.0)
let f = |x| x
h(2.0)
""",
    """\
fn f(x: f32) = x
fn f(x: i64) = x
f(1.0)
fn g(x: f32) = f(x) * 2.0
g(1.0)
fn f(x: f32) = x + 7.0
g(1.0)
f(1)
""",
    """\
fn k(n: f32) = n
let s = "{k(1.0)} k"
print("{k(2.0)} k")
fn k(n: f32) = n * 3.0
print("{k(2.0)} k")
s
""",
    """\
const N = 2
fn z() = zeros([N])
z()
const N = 3
z()
zeros([N, N])
let q: f32[N] = ones([3])
const N = 4
q
""",
    """\
device d = cpu
@d let x = [1.0]
x.device
device d = cpu or cuda:0
@d let y = [2.0]
y
""",
    """\
seed(1)
rand([2])
{ let q = rand([3]); assert false, "fails"; q }
rand([2])
""",
]


def main():
    tenc = sys.argv[1]
    failed = False
    for session in SESSIONS:
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "a.tl").write_text(MODULE)
            said = subprocess.run([tenc], input=session + ":save out.tl\n", capture_output=True, text=True, cwd=folder)
            prints = subprocess.run([tenc, "out.tl"], capture_output=True, text=True, cwd=folder)
            if said.stdout and said.stdout == prints.stdout: continue
            failed = True
            print(f"of the session\n{session}says\n{said.stdout}{said.stderr}the script\n"
                  f"{pathlib.Path(folder, 'out.tl').read_text()}prints\n{prints.stdout}{prints.stderr}")
    sys.exit(failed)


main()
