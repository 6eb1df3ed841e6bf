#!/usr/bin/env python3
"""Every C++ file is as clang-format-19 would write it: format.py [--fix]. Closes with `N passed, N failed`; status 77 where there
is no clang-format-19."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
ROOMS = ("support", "grammar", "syntax", "ir", "transforms", "frontend", "passes", "interp", "codegen", "runtime", "tools", "tests")


def main():
    tool = shutil.which("clang-format-19")
    if not tool:
        print("skipped: clang-format-19 is not installed")
        return 77
    files = sorted(str(p.relative_to(ROOT)) for room in ROOMS for p in (ROOT / room).rglob("*") if p.suffix in (".cpp", ".h"))
    if sys.argv[1:] == ["--fix"]: return subprocess.run([tool, "-i", *files], cwd=ROOT).returncode
    run = subprocess.run([tool, "--dry-run", *files], cwd=ROOT, capture_output=True, text=True)
    wrong = sorted({os.path.relpath(f, ROOT) if os.path.isabs(f) else f for f in re.findall(r"^(\S+?):\d+:\d+: warning", run.stderr, re.M)})
    for file in wrong: print(f"{file}: not as clang-format-19 writes it (tests/format.py --fix)")
    print(f"{len(files) - len(wrong)} passed, {len(wrong)} failed")
    return int(bool(wrong) or run.returncode != 0)


if __name__ == "__main__":
    sys.exit(main())
