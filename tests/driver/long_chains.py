# RUN: %python %s %tenc
"""Thousands of declarations that hang together compile, whichever comes first."""
import subprocess
import sys

ALIASES, DEVICES = 5_000, 20_000


def output(lines):
    run = subprocess.run([*sys.argv[1:], "-"], input="\n".join(lines) + "\n", capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[:500]
    return run.stdout.split()[-1]


aliases = [f"type T{i} = T{i - 1}" for i in range(1, ALIASES)] + ["type T0 = f32[1]"]
use = [f"let x: T{ALIASES - 1} = [7.0]", "print(x[0])"]
for order in (aliases, aliases[::-1]):
    assert output(order + use) == "7.0"
devices = [f"device d{i} = d{i - 1}" for i in range(1, DEVICES)] + ["device d0 = cpu"]
assert output([*devices, f"@d{DEVICES - 1} let x = ones([1])", "print(x.device)"]) == "cpu"
