# RUN: %python %s %tenc
"""Ctrl-C: status 130 soon, whatever tenc does at that moment, and no temporary file. SIGTERM and SIGHUP likewise."""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

TENC = sys.argv[1]
LONG_COMPILE = "var s = randn([3])\n" + "for i in static 0..90000 { s = s + 1.5 }\n" * 3 + "print(s)\n"
SAVES = 'let x = ones([3000000])\nfor i in 0..1000000000 { save("x.npy", x) }'
CASES = {
    "compiling": (LONG_COMPILE, []),
    "a loop": ("var v = ones([64])\nwhile sum(v) > 0.0 { v = softmax(v) }\nprint(v)", []),
    "an endless loop that nobody reads": ("var x = ones([])\nwhile x > 0.0 { x = x * 1.0 }", []),
    "one large kernel": ("print(sum(randn([100000, 100000])))", []),
    "one large kernel, one thread": ("print(sum(randn([100000, 100000])))", ["--threads", "1"]),
    "the interpreter": ("var x = ones([])\nwhile x > 0.0 { x = x * 1.0 }", ["--engine=interp"]),
    "files, SIGTERM": (SAVES, [], signal.SIGTERM),
    "files, SIGHUP": (SAVES, [], signal.SIGHUP),
    "files, the interpreter, SIGTERM": (SAVES, ["--engine=interp"], signal.SIGTERM),
    "a routine of LAPACK": ("seed(1)\nlet a = randn([8000, 8000])\nprint(svd(a).1[0])", []),
    "a sort": ("seed(1)\nlet p = permutation(200000000)\nprint(p[0])", []),
    "files": ('let x = ones([1000])\nfor i in 0..1000000000 { save("x.npy", x) }', []),
}

PRINTS = 'for i in 0..1000 { print(i) }\nvar x = ones([])\nwhile x > 0.0 { x = x * 1.0 }'


def prints():
    """What is printed into a pipe is seen while the program runs, and all of it is there when a signal ends it."""
    for engine in ([], ["--engine=interp"]):
        for end in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            with tempfile.NamedTemporaryFile("w", suffix=".tl") as script:
                script.write(PRINTS)
                script.flush()
                process = subprocess.Popen([TENC, script.name, *engine], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                if process.stdout.readline() != "0\n": sys.exit("the first line is another")
                time.sleep(0.5)
                process.send_signal(end)
                rest = process.communicate(timeout=60)[0]
                if rest.split() != [str(i) for i in range(1, 1000)]: sys.exit(f"{end} loses what was printed: {rest[-40:]!r}")
                if process.returncode != 128 + end: sys.exit(f"{end}: status {process.returncode}")


def main():
    prints()
    for name, (script, options, *other) in CASES.items():
        sent_signal = other[0] if other else signal.SIGINT
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "s.tl").write_text(script)
            process = subprocess.Popen([TENC, "s.tl", *options], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            time.sleep(1.0)
            if process.poll() is not None: sys.exit(f"{name}: has ended by itself: {process.communicate()}")
            process.send_signal(sent_signal)
            sent = time.time()
            try:
                process.communicate(timeout=60)
            except subprocess.TimeoutExpired:
                process.kill()
                sys.exit(f"{name}: goes on after an interrupt")
            if process.returncode != 128 + sent_signal: sys.exit(f"{name}: status {process.returncode}, not {128 + sent_signal}")
            left = sorted(set(os.listdir(folder)) - {"s.tl", "x.npy"})
            if left: sys.exit(f"{name}: leaves {left}")


main()
