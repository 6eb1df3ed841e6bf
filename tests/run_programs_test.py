#!/usr/bin/env python3
"""The comparison of run_programs.py accepts what it should and nothing else. Closes with `N passed, N failed`."""
import sys

from run_programs import fits

# Wanted, printed, bound, whether they fit.
CASES = [
    ("7", "7", None, True),
    ("1000000", "1000001", None, False),
    ("1000000", "1000001", 1e-3, False),  # no bound covers an integer
    ("7", "7.0", 1e-3, False),
    ("1.407606", "1.407606", None, True),
    ("1.407606", "1.407605", None, False),  # one unit in the last place
    ("0.30", "0.3", None, False),
    ("1.407606", "1.407605", 1e-6, True),
    ("1.407606", "1.407604", 1e-6, False),
    ("-2.5e-07", "2.5e-07", 1e-3, False),
    ("1e-07", "1.05e-07", 1e-3, False),
    ("0.0", "1e-30", 1e-3, False),
    ("f32[2, 3]", "f32[2, 4]", 1e-3, False),
    ("f32[2]", "f64[2]", 1e-3, False),
    ("nan inf", "nan -inf", 1e-3, False),
    ("took ... ms, 3 copies", "took 1.5 ms, 3 copies", None, True),
    ("took ... ms, 3 copies", "took 1.5 ms, 2 copies", None, False),
    ("[ 1.  2.5]", "[1. 2.5]", None, True),  # columns are no part of a number
    ("[1. 2.5]", "[1. 2.5 3.]", None, False),
]


def main():
    wrong = [case for case in CASES if fits(*case[:3]) != case[3]]
    for want, got, bound, ok in wrong:
        print(f"{got!r} for {want!r} within {bound} should {'fit' if ok else 'not fit'}")
    print(f"{len(CASES) - len(wrong)} passed, {len(wrong)} failed")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
