# RUN: %python %s %tenc
"""How far a long run has come: on a terminal, after two seconds, erased before other output and at the end; never in a
pipe, nor with --no-progress."""
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import time

TENC = sys.argv[1]
ERASE = "\r\x1b[K"
# A loop of launches that runs for some seconds, and prints in the middle.
LOOP = """var v = ones([64])
for i in 0..100000000 {
    v = softmax(v)
    if i == 0 { print("begun") }
    if time() - start > 2.6 { print("late {sum(v):.1f}"); assert false, "stopped" }
}
"""
ENDLESS = "var r = 0; for i in 0..1000000000000 { r = (r + i) % 1000003 }"


def on_terminal(folder, words, seconds, interrupt_after=None):
    """Runs with standard error (and output) on a terminal; what was written there, and the status."""
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.environ["TERM"] = "xterm"
        os.execv(TENC, [TENC, *words, "--colour=never"])
    seen, start, sent = "", time.monotonic(), False
    while time.monotonic() - start < seconds:
        if interrupt_after and not sent and re.search(interrupt_after, seen):
            os.kill(pid, signal.SIGINT)
            sent = True
        if select.select([fd], [], [], 0.1)[0]:
            try:
                data = os.read(fd, 4096)
            except OSError:
                break
            if not data:
                break
            seen += data.decode(errors="replace")
    else:
        os.kill(pid, signal.SIGKILL)
        sys.exit(f"{words}: still runs after {seconds} s:\n{seen!r}")
    return seen, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def shown(seen):
    """What stands on the screen at the end: what was erased is gone."""
    lines = []
    for line in seen.split("\n"):
        lines.append(line[line.rfind(ERASE) + len(ERASE):] if ERASE in line else line)
    return "\n".join(line.strip("\r") for line in lines)


def main():
    with tempfile.TemporaryDirectory() as folder:
        script = pathlib.Path(folder, "s.tl")
        script.write_text("let start = time()\n" + LOOP)
        seen, status = on_terminal(folder, ["s.tl"], 60)
        if status != 3: sys.exit(f"status {status}, not 3:\n{seen!r}")
        if not re.search(r"trip \d+ of 100000000 \(\d+ %\), [\d.]+ a second, .* left", seen): sys.exit(f"no progress: {seen!r}")
        screen = shown(seen)
        if "a second" in screen or not screen.startswith("begun\nlate 1.0\nerror[E0903]"): sys.exit(f"not erased: {screen!r}")

        seen, status = on_terminal(folder, ["s.tl", "--no-progress"], 60)
        if "a second" in seen or status != 3: sys.exit(f"--no-progress shows it: {seen!r}")

        script.write_text("var v = ones([64])\nwhile sum(v) > 0.0 { v = softmax(v) }\n")
        seen, status = on_terminal(folder, ["s.tl"], 60, interrupt_after=r"trip \d+, [\d.]+ a second, \d+ s so far")
        if status != 130 or "a second" in shown(seen): sys.exit(f"status {status}, screen {shown(seen)!r}")

        script.write_text('test "long" { ' + ENDLESS + '; assert r >= 0 }\nbench "slow" { ' + ENDLESS + "; r }\n")
        seen, status = on_terminal(folder, ["test", "s.tl"], 60, interrupt_after=r"test long: trip \d+ of \d+ \(0 %\)")
        screen = shown(seen)
        if status != 130 or screen != "test long ... interrupted\n0 passed, 0 failed\n": sys.exit(f"test: {status} {screen!r}")
        seen, status = on_terminal(folder, ["bench", "s.tl"], 60, interrupt_after=r"bench slow: trip \d+ of \d+ \(0 %\)")
        if status != 130 or shown(seen): sys.exit(f"bench: {status} {shown(seen)!r}")

        script.write_text("let start = time()\n" + LOOP)
        run = subprocess.run([TENC, "s.tl"], cwd=folder, capture_output=True, text=True, timeout=60)
        if "a second" in run.stderr + run.stdout or "\x1b" in run.stderr + run.stdout: sys.exit(f"in a pipe: {run.stderr!r}")


main()
