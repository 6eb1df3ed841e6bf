# RUN: %python %s %tenc
# UNSUPPORTED: sanitized
"""Twice as much source takes twice the time and memory to compile, or is refused for a limit that is documented."""
import os
import re
import resource
import string
import subprocess
import sys
import tempfile

TENC = sys.argv[1]
SLACK_SECONDS, SLACK_MEGABYTES, MOST = 0.4, 40, 3.0  # of what starts, and how much more twice as much may take
MOST_REFUSED = 20, 1500  # seconds and megabytes until it is
PAIR = "let x = ones([2])\nlet a0 = (x, x)\n" + "\n".join(f"let a{i + 1} = (a{i}, a{i})" for i in range(15)) + "\n"
LETTERS = string.ascii_letters
STRUCTS = "struct S0 { a: f32[2], b: f32[2] }\nlet x = ones([2])\nlet a0 = S0 { a: x, b: x }\n" + "\n".join(
    f"struct S{i + 1} {{ a: S{i}, b: S{i} }}\nlet a{i + 1} = S{i + 1} {{ a: a{i}, b: a{i} }}" for i in range(14)) + "\n"


def lines(n, line): return "\n".join(line(i) for i in range(n)) + "\n"
def function(body): return f"fn f(x: i64) -> i64 {{\nvar a = x\n{body}a\n}}\nprint(f(1))\n"
def chain(n, first, step, use):
    """Values of which each is read twice by the next: as trees they have 2 ** n leaves."""
    return f"let a0 = {first}\n" + lines(n, lambda i: f"let a{i + 1} = " + step.replace("$", f"a{i}")) + use.replace("$", f"a{n}") + "\n"
def nested(n, opening, rest): return function(lines(n, opening) + f"}}\n{rest}\n" * n)
def ring(n): return f'einsum("{",".join(LETTERS[i] + LETTERS[(i + 1) % n] for i in range(n))}->", {", ".join("x" * n)})'


FAMILIES = {
    "leaves that are loaded": (lambda n: f'save("x.npz", list({n}, |i| f32(i)))\nlet l: [f32; {n}] = load("x.npz")\nprint(l[0])\n', 40000),
    "kernels, at last more than sections of an object file have 16-bit numbers for":
        (lambda n: f'save("x.npz", list({n}, |i| full([1], f32(i))))\n', 33000),
    "lets of a tuple with 65,536 leaves": (lambda n: PAIR + lines(n, lambda i: f"let b{i} = a15"), 1500),
    "vars of it": (lambda n: PAIR + lines(n, lambda i: f"var b{i} = a15"), 1500),
    "tuples that hold it": (lambda n: PAIR + lines(n, lambda i: f"let b{i} = (a15, {i})"), 1500),
    "parts of it": (lambda n: PAIR + lines(n, lambda i: f"let b{i} = a15" + ".0" * (i % 15)), 1500),
    "lets of numbers that are known": (lambda n: f"let a = ({', '.join(map(str, range(20000)))})\n" + lines(n, lambda i: f"let b{i} = a"), 300),
    "lets of a struct": (lambda n: STRUCTS + lines(n, lambda i: f"let b{i} = a14"), 1500),
    "arithmetic on all leaves": (lambda n: PAIR + lines(n, lambda i: f"let b{i} = a9 + {i}.0"), 100),
    "lambdas": (lambda n: lines(n, lambda i: f"let f{i} = |x| x + {i}.0"), 2000),
    "lambdas that see two others": (
        lambda n: "fn use[F: fn](f: F, x: f32) = x\nlet s = ones([])\nlet f0 = |x| x + s\nlet f1 = |x| x - s\n"
        + lines(n, lambda i: f"let f{i + 2} = |x, y| if y > 0.0 {{ f{i + 1}(x) }} else {{ f{i}(x) }}")
        + f"@cpu let g = f{n}\nprint(use(g, 1.0))\n", 16),
    "loops in loops with `return`": (lambda n: nested(n, lambda i: f"for i{i} in 0..1 {{ if a > {1000 + i} {{ return a }}", "a += 1"), 12),
    "`while` in `while` with `return`": (lambda n: nested(n, lambda i: f"while a < {n + 1 - i} {{ a += 1; if a > {1000 + i} {{ return a }}", "a += 1"), 12),
    "`if` after `if` with `return`": (lambda n: function(lines(n, lambda i: f"if a == {1000000 + i} {{ return {i} }}\na += 1")), 1000),
    "the same with `break`": (lambda n: function("for k in 0..3 {\n" + lines(n, lambda i: f"if a == {1000000 + i} {{ break }}\na += 1") + "}\n"), 500),
    "trips that may leave": (lambda n: function(f"for i in static 0..{n} {{ if a > 1000000 + i {{ return i }}; a += i }}\n"), 1000),
    "conditions of two": (lambda n: "let t = sum(rand([2]))\n" + chain(n, "t > 0.5", "$ and ($ or $)", "if $ { print(1) }"), 40),
    "conditions of two, where a function leaves": (lambda n: "let t = sum(rand([2]))\nfn f(t: f32) -> i64 {\n" + chain(n, "t > 0.5", "$ and ($ or $)", "if $ { return 1 }") + "2 }\nprint(f(t), vmap(f)([t, t]))\n", 40),
    "elements that are gathered": (lambda n: "let x = rand([8])\n" + chain(n, "x * 1.5", "$ + $", "print($[[1, 2]])"), 40),
    "places in a loop": (lambda n: "let x = rand([8])\nvar s = 0.0\nfor i in 0..8 {\n" + chain(n, "i", "$ * $ - $", "s += x[$ % 8]") + "}\nprint(s)\n", 40),
    "gradients of elements, each a tensor of a number": (
        lambda n: f"fn f(v: f32[{n}]) -> f32 {{ var s = 0.0; for i in static 0..{n} {{ s += v[i] * v[i] }}; s }}\nlet g = grad(f)(ones([{n}]))\n", 1500),
    "operands of an einsum": (lambda n: "let x = rand([3, 3])\n" + lines(200, lambda i: f'let y{i} = ' + ring(n)), 20),
    "einsums of ten": (lambda n: "let x = rand([3, 3])\n" + lines(n, lambda i: f'let y{i} = ' + ring(10)), 1000),
    "test blocks, which `tenc check` compiles one by one": (lambda n: lines(n, lambda i: f'test "{i}" {{ assert sum(rand([2])) < {i + 3}.0 }}'), 600),
    # These grow by a factor with each: what matters is that they are refused.
    "derivatives of derivatives": (lambda n: "let f0 = |x| tanh(x)\n" + lines(n, lambda i: f"let f{i + 1} = grad(f{i})") + f"print(f{n}(sum(rand([3]))))\n", 7),
    "the same forwards": (lambda n: "let f0 = |x| sin(x) * exp(x)\n" + lines(n, lambda i: f"let f{i + 1} = |x| jvp(f{i})(x, 1.0).1") + f"print(f{n}(sum(rand([3]))))\n", 8),
    "the same of functions": (lambda n: "fn f0(x: f32) -> f32 = tanh(x)\n" + lines(n, lambda i: f"fn f{i + 1}(x: f32) -> f32 = grad(f{i})(x)") + f"print(f{n}(sum(rand([3]))))\n", 7),
    "types of two of another": (lambda n: "type T0 = (f32, f32)\n" + lines(n, lambda i: f"type T{i + 1} = (T{i}, T{i})") + "print(1)\n", 12),
    "values on the way of an error": (lambda n: "let x = rand([2])\n@cpu let z = {\n" + chain(n, "x", "$ + $", "$") + "}\nprint(z)\n", 40),
}  # fmt: skip


CHECKED = {"test blocks, which `tenc check` compiles one by one"}


def compiled(text, *command):
    """Seconds of processor time, megabytes, and whether it is refused."""
    with tempfile.NamedTemporaryFile("w", suffix=".tl") as script, tempfile.TemporaryFile("w+") as said:
        script.write(text)
        script.flush()
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
        run = subprocess.Popen([TENC, *command, script.name], stdout=subprocess.DEVNULL, stderr=said, preexec_fn=limit)
        _, status, usage = os.wait4(run.pid, 0)
        run.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        errors = said.read()
    codes = set(re.findall(r"error\[(\w+)\]", errors))
    refused = run.returncode == 1 and bool(codes) and codes <= {"E0105", "E0208"}
    if run.returncode != 0 and not refused: sys.exit(f"exit {run.returncode}: {errors[:800]}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, refused


for name, (family, n) in FAMILIES.items():
    if name not in (sys.argv[2:] or [name]): continue
    command = ["check"] if name in CHECKED else []
    once, twice = compiled(family(n), *command), compiled(family(2 * n), *command)
    if once[2]: sys.exit(f"{name}: {n} are refused")
    if len(sys.argv) > 2 or twice[2]: print(name, n, once, twice)
    if twice[2] and (twice[0] > MOST_REFUSED[0] or twice[1] > MOST_REFUSED[1]):
        sys.exit(f"{name}: {2 * n} are refused after {twice[0]:.2f} s and {twice[1]:.0f} MB")
    if not twice[2] and (twice[0] > MOST * once[0] + SLACK_SECONDS or twice[1] > MOST * once[1] + SLACK_MEGABYTES):
        sys.exit(f"{name}: {n} take {once[0]:.2f} s and {once[1]:.0f} MB, {2 * n} {twice[0]:.2f} s and {twice[1]:.0f} MB")
