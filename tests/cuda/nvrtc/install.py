#!/usr/bin/env python3
"""Puts NVRTC into a folder: install.py FOLDER

The shared libraries of PyPI's wheel nvidia-cuda-nvrtc, without the rest of CUDA. Where they cannot be had (no network, no pip),
it says so and the status is 0: the tests that need NVRTC are skipped then."""
import pathlib
import subprocess
import sys
import tempfile
import zipfile


def main():
    folder = pathlib.Path(sys.argv[1])
    if list(folder.glob("libnvrtc.so.*")): return 0
    with tempfile.TemporaryDirectory() as wheels:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest", wheels, "nvidia-cuda-nvrtc>=13,<14"]
        try:
            run = subprocess.run(command, capture_output=True, text=True, timeout=600)
        except (OSError, subprocess.TimeoutExpired) as e:
            print(f"NVRTC is not installed, tests that need it will be skipped: {e}")
            return 0
        found = list(pathlib.Path(wheels).glob("*.whl"))
        if run.returncode or not found:
            print("NVRTC is not installed, tests that need it will be skipped:", (run.stderr.strip().splitlines() or ["pip found no wheel"])[-1])
            return 0
        folder.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(found[0]) as wheel:
            # The library that the others are found by comes last: a half of them is none.
            libraries = [n for n in wheel.namelist() if "/lib/" in n and ".so" in n]
            for name in sorted(libraries, key=lambda n: "builtins" not in n):
                target = folder / pathlib.Path(name).name
                partial = target.with_suffix(".partial")
                partial.write_bytes(wheel.read(name))
                partial.replace(target)
    print(f"NVRTC is in {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
