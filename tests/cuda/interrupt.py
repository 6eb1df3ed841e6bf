#!/usr/bin/env python3
"""Ctrl-C while kernels are launched, and inside one that runs for long: interrupt.py --tenc PATH --driver LIBCUDA

Status 130 soon after the signal, in each of the orders in which the virtual machine works: what was launched before is waited
for, so that must not be much, and loops inside kernels end, as do routines. Closes with `N passed, N failed`."""
import os
import pty
import select
import signal
import subprocess
import sys
import time

import machine

BESIDE = ("lazy", "random", "async")  # kernels run while the program goes on; as `eager` it is the driver that waits for them
# What runs, the script, the orders of work.
CASES = [
    ("launches", 'var v = @cuda:0 { ones([64]) }\nprint("begins")\nfor i in 0..1000000000 { v = softmax(v) }\nprint(sum(v))', machine.MODES),
    ("a for loop in a kernel", 'let x = @cuda:0 { ones([4]) }\nvar s = @cuda:0 { 0.0 }\nprint("begins")\nfor i in 0..4000000000 { s = s * 0.5 + x[i % 4] }\nprint(s)', BESIDE),
    ("a while loop of kernels", 'var x = @cuda:0 { ones([8, 8]) }\nprint("begins")\nwhile sum(x) < 1e9 { x = softmax(x @ x) }\nprint(x)', BESIDE),
    ("launches that take long", 'var x = @cuda:0 { rand([160, 160]) }\nprint("begins")\nfor i in 0..1000000 { x = tanh(x @ x) }\nprint(sum(x))', BESIDE),
    ("a routine of one block", 'let x = @cuda:0 { rand([400, 400]) }\nprint("begins")\nprint(sum(eigh(x + x.T)[0]))', BESIDE),
    ("a while loop in a kernel", 'let x = @cuda:0 { ones([4]) }\nvar s = @cuda:0 { 0.0 }\nprint("begins")\nwhile s < 2.0 { s = s * 0.5 + x[1] * 0.25 }\nprint(s)', BESIDE),
]
SECONDS = 5.0  # on a busy machine; 0.1 is what a program may take


def begun(terminal):
    """Whether the program has said so, after it was compiled: to a terminal, as elsewhere what is printed may wait."""
    text, end = b"", time.time() + 60
    while b"begins" not in text:
        if not select.select([terminal], [], [], max(end - time.time(), 0))[0]: return False
        try: text += os.read(terminal, 4096)
        except OSError: return False  # it has ended
    return True


def main():
    A = machine.parser(__doc__).parse_args()
    machine.skip_without_nvrtc(A.tenc, A.driver)
    passed = failed = 0
    for name, script, mode in [(name, script, mode) for name, script, modes in CASES for mode in (modes[:1] if machine.ON_GPU else modes)]:
        terminal, output = pty.openpty()
        process = subprocess.Popen([A.tenc, "-e", script, *machine.FLAGS], stdout=output, stderr=subprocess.PIPE, text=True,
                                   env=machine.environment(A.tenc, A.driver, mode))
        os.close(output)
        running = begun(terminal)
        time.sleep(0.5)
        running = running and process.poll() is None
        process.send_signal(signal.SIGINT)
        sent = time.time()
        try:
            _, errors = process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            _, errors = process.communicate()
        took = time.time() - sent
        os.close(terminal)
        print(f"{name}, {mode}: {took * 1e3:.0f} ms")
        good = running and process.returncode == 130 and took <= SECONDS
        passed, failed = passed + good, failed + (not good)
        if not good: print(f"FAILED {name}, {mode}: status {process.returncode}, {'it ran' if running else 'it had ended'}\n{errors}")
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
