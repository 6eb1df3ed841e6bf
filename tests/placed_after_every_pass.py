#!/usr/bin/env python3
"""What placement decided holds after every later pass: the check `verify-placed` runs after each of them, and what they
leave is read back, which verifies it whole.

    placed_after_every_pass.py --tenc BUILD/bin/tenc FOLDER...

Takes the .tl programs of the folders, with two virtual devices, on the default device and, where they say nothing of
devices themselves, with everything made on a virtual one. Closes with `N passed, N failed`."""
import argparse, pathlib, subprocess, sys, tempfile

LATER = ["inline", "hoist-moved", "dce", "moves", "device-loops", "device-control", "decompose", "simplify", "cse", "hoist", "dce", "bind-devices", "place-free", "fuse", "dce"]
# What a pass inserts may be free until `place-free` runs again, which is the rule for all of them.
PASSES = ",".join(["place", "verify-placed"] + [p for later in LATER for p in (later, "place-free", "verify-placed")])

ap = argparse.ArgumentParser()
ap.add_argument("--tenc", required=True, type=lambda p: str(pathlib.Path(p).resolve()))
ap.add_argument("folders", nargs="+", type=pathlib.Path)
A = ap.parse_args()
passed = failed = 0
for program in sorted(p for f in A.folders for p in f.rglob("*.tl")):
    text = program.read_text()
    if "#! " in text: continue  # shows an error
    options = [[]]
    if "@" not in text.replace(" @ ", "") and "device" not in text: options.append(["--default-device", "cuda:0"])
    for more in options:
        run = subprocess.run([A.tenc, program.name, "--virtual", "cuda=2", f"--passes={PASSES}", *more], cwd=program.parent,
                             capture_output=True, text=True)
        if run.returncode == 0:
            with tempfile.NamedTemporaryFile("w", suffix=".tir") as left:
                left.write(run.stdout)
                left.flush()
                again = subprocess.run([A.tenc, left.name, "--virtual", "cuda=2", "--passes=verify-placed"], capture_output=True, text=True)
            if again.returncode == 0: passed += 1
            else: failed += 1; print(program, more, again.stderr[:600])
        elif "internal error" in run.stderr: failed += 1; print(program, more, run.stderr[:600])
        # Others are errors of the program itself, under this choice of devices.
print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0 or passed == 0)
