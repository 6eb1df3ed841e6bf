# RUN: %python %s %tenc
"""Exit statuses, and that what was printed comes out before a stop."""
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import time

TENC = sys.argv[1]


def expect(status, args, out="", err="", **kwargs):
    run = subprocess.run([TENC, *args], capture_output=True, text=True, timeout=300, **kwargs)
    if run.returncode != status or out not in run.stdout or err not in run.stderr:
        sys.exit(f"tenc {args}: status {run.returncode}, not {status}\n{run.stdout}\n{run.stderr}")


def interrupt(code):
    process = subprocess.Popen([TENC, "-e", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    if process.returncode != 130:
        sys.exit(f"status {process.returncode} after an interrupt, not 130")


def main():
    expect(0, ["-e", "print(1)"], out="1\n")
    expect(1, ["-e", "print(x)"], err="error[E0102]")
    expect(2, ["--threads", "many", "-e", "print(1)"], err="tenc: --threads")
    expect(3, ["-e", 'print(7)\nlet x = [1]\nassert x == [2], "no"'], out="7\n", err="error[E0903]")
    expect(1, ["no_such_file.tl"], err="error[E0501]")
    with open("/dev/full", "w") as full:  # nothing that was printed is lost in silence
        run = subprocess.run([TENC, "-e", "print(1)"], stdout=full, stderr=subprocess.PIPE, text=True)
        if run.returncode != 3 or "error[E0904]: what was printed could not all be written" not in run.stderr:
            sys.exit(f"output into a full device: status {run.returncode}\n{run.stderr}")
    folder = os.open("/", os.O_RDONLY)
    expect(1, ["-"], err="cannot read standard input: Is a directory", stdin=folder)
    os.close(folder)
    interrupt('var v = ones([64])\nwhile sum(v) > 0.0 { v = softmax(v) }\nprint(v)')
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        expect(1, [folder], err="it is a directory")
        (path / "empty.tl").write_bytes(b"")
        expect(0, [str(path / "empty.tl")])
        (path / "zero.tl").write_bytes(b"\0\0\0")
        expect(1, [str(path / "zero.tl")], err="error[E01")
        (path / "latin.tl").write_bytes(b'print("\xe9")')
        expect(1, [str(path / "latin.tl")], err="error[E0104]")
        (path / "large.tl").write_bytes(b"#" * ((16 << 20) + 1))
        expect(1, [str(path / "large.tl")], err="error[E0105]")
        (path / "line.tl").write_bytes(b"let x = " + b"1 + " * 400000 + b"y")
        expect(1, [str(path / "line.tl")], err="error[E01")
        # Expressions within the limits in functions that call each other: together more than the stack holds.
        calls = "".join(f"fn f{i}(x: i64) -> i64 = {f'f{i - 1}(x)' if i else 'x'}{' |> abs' * 4000}\n" for i in range(8))
        (path / "calls.tl").write_text(calls + "print(f7(3))\n")
        small = lambda: resource.setrlimit(resource.RLIMIT_STACK, (8 << 20, resource.getrlimit(resource.RLIMIT_STACK)[1]))
        expect(1, [str(path / "calls.tl")], err="error[E0105]: expressions, calls and branches", preexec_fn=small)
        nested = "".join(f"fn f{i}(x: i64) -> i64 {{ var y = x; {f'if y > {i} {{ ' * 200}y = {f'f{i - 1}(y)' if i else 'x'}{' }' * 200}; y }}\n"
                         for i in range(60))
        (path / "nested.tl").write_text("var q = 3\nfor i in 0..2 { q += i }\n" + nested + "print(f59(q))\n")
        expect(1, [str(path / "nested.tl")], err="error[E0105]: expressions, calls and branches", preexec_fn=small)
        types = "type T0 = (f32, f32)\n" + "".join(f"type T{i} = (T{i - 1}, T{i - 1})\n" for i in range(1, 40))
        (path / "types.tl").write_text(types + "fn f(x: T39) = x\nprint(1)\n")
        expect(1, ["check", str(path / "types.tl")], err="error[E0208]: the type `T16` has more than 100000 parts")
        (path / "tokens.tl").write_bytes(b"1;" * 600000)
        expect(1, [str(path / "tokens.tl")], err="error[E0105]: the source has more than 1,000,000 tokens")
        (path / "name.tl").write_bytes(b"x" * 1000000)
        expect(1, [str(path / "name.tl")], err="...\n")
        (path / "accents.tl").write_text("# " + "\u00e9" * 300000 + "\nprint(\"" + "\u4e2d" * 100000 + "\")\n")
        expect(0, [str(path / "accents.tl")], out="\u4e2d\n")
        (path / "mark.tl").write_text("\ufeffprint(1)\n")
        expect(0, [str(path / "mark.tl")], out="1\n")
        (path / "errors.tl").write_bytes(b"print(x)\n" * 50000)
        expect(1, [str(path / "errors.tl")], err="more diagnostics are not shown")
        (path / "m.tl").write_text("print(1)\n")
        os.chmod(path / "m.tl", 0)
        if os.getuid() != 0:
            expect(1, [str(path / "m.tl")], err="error[E0501]")


main()
