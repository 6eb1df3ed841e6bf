#!/usr/bin/env python3
"""Runs a suite, and counts it as skipped where something that it needs is not there: suite.py SCRIPT [ARGUMENT...]

The status is that of the script, or 77, with a line that says why, when the script or a module that it needs (NumPy, Pygments) does
not exist. CTest takes 77 for a skipped test."""
import os
import runpy
import sys

SKIPPED = 77


def main():
    script = sys.argv[1]
    if not os.path.exists(script):
        print(f"skipped: there is no {script}")
        return SKIPPED
    sys.argv = sys.argv[1:]
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    try:
        runpy.run_path(script, run_name="__main__")
    except ModuleNotFoundError as e:
        # A module of ours that is missing is a mistake.
        if e.name is None or os.path.exists(os.path.join(sys.path[0], e.name + ".py")) or e.name.split(".")[0] not in ("numpy", "lit", "markdown", "pygments"): raise
        print(f"skipped: Python has no module {e.name}")
        return SKIPPED
    return 0


if __name__ == "__main__":
    sys.exit(main())
