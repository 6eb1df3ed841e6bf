#!/usr/bin/env python3
"""Ctrl-C while kernels are launched: interrupt.py --tenc PATH --driver LIBCUDA

Status 130 soon after the signal, in each of the orders in which the virtual machine works: what was launched before is waited
for, so that must not be much. Closes with `N passed, N failed`."""
import argparse
import pathlib
import signal
import subprocess
import sys
import time

import machine

SCRIPT = 'var v = @cuda:0 { ones([64]) }\nprint("begins")\nfor i in 0..1000000000 { v = softmax(v) }\nprint(sum(v))'
SECONDS = 2.0  # on a busy machine; 0.1 is what a program may take


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--tenc", required=True, type=pathlib.Path)
    ap.add_argument("--driver", required=True, type=pathlib.Path)
    A = ap.parse_args()
    machine.skip_without_nvrtc(A.tenc, A.driver)
    failed = 0
    for mode in machine.MODES:
        process = subprocess.Popen([A.tenc, "-e", SCRIPT, *machine.FLAGS], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=machine.environment(A.tenc, A.driver, mode))
        time.sleep(2.0)
        running = process.poll() is None
        process.send_signal(signal.SIGINT)
        sent = time.time()
        try:
            _, errors = process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            _, errors = process.communicate()
        took = time.time() - sent
        print(f"{mode}: {took * 1e3:.0f} ms")
        if not running or process.returncode != 130 or took > SECONDS:
            failed += 1
            print(f"FAILED {mode}: status {process.returncode}, {'it ran' if running else 'it had ended'}\n{errors}")
    print(f"{len(machine.MODES) - failed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
