# RUN: %python %s %tenc
"""What happens when tenc itself is wrong: a folder with the script, the flags, the stage and the last good module."""
import pathlib
import re
import subprocess
import sys
import tempfile

TENC = sys.argv[1]
SCRIPT = 'let x = ones([4])\nlet y = x * 2.0\nprint(sum(y))\n'


def run(folder, *args):
    done = subprocess.run([TENC, *args], cwd=folder, capture_output=True, text=True, timeout=120, errors="replace",
                          env={"TMPDIR": folder, "PATH": "/usr/bin:/bin"})
    reports = sorted(pathlib.Path(folder).glob("tenc-bug-*"))
    return done, reports


def expect(condition, *what):
    if not condition: sys.exit(" ".join(map(str, what)))


def report_of(stage, how, script="s.tl", text=SCRIPT):
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, script).write_text(text)
        done, reports = run(folder, script, "--provoke", f"{how}={stage}")
        expect(len(reports) == 1, stage, how, "reports:", reports, done.stderr)
        files = {p.name: p.read_text() for p in reports[0].iterdir()}
        expect(files.get(script) == text, stage, how, "script:", files)
        expect(f"--provoke\n{how}={stage}\n" in files["flags"], files["flags"])
        expect(files["error"].startswith(stage + "\n"), files["error"])
        expect("This is a bug in tenc" in done.stderr and str(reports[0]) in done.stderr, done.stderr)
        return done, files


# A stage that finds an invariant broken goes the same way: here a module that is said to be placed, and is not.
MIXED = """func @main(%x: f32[4] @cpu, %y: f32[4] @cuda:0) {
  %z = add %x, %y : f32[4] @cpu
  return
}
"""
with tempfile.TemporaryDirectory() as folder:
    pathlib.Path(folder, "m.tir").write_text(MIXED)
    done, reports = run(folder, "m.tir", "--passes=verify-placed", "--virtual", "cuda=1")
    expect(done.returncode == 70 and "error[" not in done.stderr, "status", done.returncode, done.stderr)
    expect("internal error in `verify-placed`: placement is wrong: `add` in main" in done.stderr, done.stderr)
    expect(len(reports) == 1 and reports[0].joinpath("m.tir").read_text() == MIXED, reports)

# So does LLVM IR that LLVM's verifier refuses.
with tempfile.TemporaryDirectory() as folder:
    pathlib.Path(folder, "s.tl").write_text(SCRIPT)
    done, reports = run(folder, "s.tl", "--provoke", "error=llvm", "--no-cache")
    expect(done.returncode == 70 and done.stdout == "", "status", done.returncode, done.stdout)
    expect("internal error in `codegen`: LLVM's verifier refuses its IR: " in done.stderr, done.stderr)
    expect(len(reports) == 1 and reports[0].joinpath("s.tl").read_text() == SCRIPT, reports)

# So does an entry of the REPL, and the session goes on.
with tempfile.TemporaryDirectory() as folder:
    done = subprocess.run([TENC, "--provoke", "error=fuse"], input="print(1)\nlet x = 2\n", cwd=folder, capture_output=True,
                          text=True, timeout=60, env={"TMPDIR": folder, "PATH": "/usr/bin:/bin"})
    expect(done.stderr.count("This is a bug in tenc") == 2, done.stderr)
    expect(len(list(pathlib.Path(folder).glob("tenc-bug-*"))) == 2, done.stderr)

for stage in ("place", "simplify", "fuse", "codegen"):
    done, files = report_of(stage, "error")
    expect(done.returncode == 70, stage, "status", done.returncode)
    expect("func @main" in files["last-good.tir"], files)
    expect(("@cpu" in files["last-good.tir"]) == (stage != "place"), "the module before", stage)
    done, files = report_of(stage, "signal")
    expect(done.returncode == -11, stage, "status", done.returncode)
    expect("func @main" in files["last-good.tir"] and "crashed (segmentation fault)" in files["error"], files)

# A module is read again too, and what the module before was can itself be run.
module = "func @main() {\n  %0 = constant {value = [1]} : f32\n  print %0 {pieces = [\"\", \"\"], formats = [\"\"]}\n  return\n}\n"
done, files = report_of("fuse", "error", "m.tir", module)
expect("print" in files["last-good.tir"], files)
with tempfile.TemporaryDirectory() as folder:
    pathlib.Path(folder, "again.tir").write_text(files["last-good.tir"])
    done, _ = run(folder, "again.tir", "--passes=fuse,dce", "--run")
    expect(done.returncode == 0 and done.stdout == "1.0\n", done)

# Where nothing can be written there is still the message.
with tempfile.TemporaryDirectory() as folder:
    done = subprocess.run([TENC, "-e", "print(1)", "--provoke", "error=place"], capture_output=True, text=True, timeout=60,
                          env={"TMPDIR": folder + "/missing"})
    expect(done.returncode == 70 and "This is a bug in tenc" in done.stderr, done)
    done = subprocess.run([TENC, "-e", "print(1)", "--provoke", "signal=place"], capture_output=True, text=True, timeout=60,
                          env={"TMPDIR": folder + "/missing"})
    expect(done.returncode == -11 and re.search("tenc '-e' 'print\\(1\\)'", done.stderr), done)
