# RUN: %python %s %tenc
"""A full disk: whatever tenc writes there is whole or the error says why, the old file stays as it was, and nothing is left.

The disk is a small file system in memory, in a name space of mounts of our own; where none may be made, a limit on the size
of files stands for it."""
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile

TENC = os.path.abspath(sys.argv[1])
OWN_MOUNTS = ["unshare", "--map-root-user", "--mount"]
PAGE = 4096
PAGES = 256
UNTIDY = ("# " + "x" * 117 + "\n") * 300 + "print( 1)\n"
SAVES = {"x.npy": "ones([5000])", "x.npz": "ones([5000])", "x.safetensors": "ones([5000])", "x.csv": "ones([100, 50])",
         "x.png": "u8(floor(256.0 * rand([90, 90])))", "x.ppm": "u8(ones([90, 90, 3]))", "x.pgm": "u8(ones([150, 150]))"}
# What is written, by which command, which status and text say that it cannot be.
CASES = [(name, ["save.tl", *options], {"save.tl": f'save("disk/{name}", {value})\n'}, 3, "E0904")
         for name, value in SAVES.items() for options in ([], ["--engine=interp"])]
CASES += [("x.bin", ["save.tl"], {"save.tl": 'save_bytes("disk/x.bin", u8(ones([20000])))\n'}, 3, "E0904"),
          ("s.tl", ["fmt", "disk/s.tl"], {}, 1, "error[E0503]: cannot write"),
          ("s.tlp", ["s.tl", "--emit=program", "-o", "disk/s.tlp"], {"s.tl": f'print("{"x" * 20000}")\n'}, 1, "E0503"),
          ("t.json", ["s.tl", "--trace", "disk/t.json"], {"s.tl": "for i in 0..200 { print(i) }\n"}, 1, "error[E0503]: cannot write"),
          ("p.html", ["profile", "s.tl", "--html", "disk/p.html"], {"s.tl": "print(1)\n"}, 1, "E0503")]


def run(args, **more):
    return subprocess.run([TENC, *args], capture_output=True, text=True, errors="replace", timeout=60, **more)


def failed(what, done, status, said, why, target, old):
    """Holds a run against what a failure should be."""
    if done.returncode != status or not all(text in done.stderr for text in (said, why, f"disk/{target.name}")):
        sys.exit(f"{what}: status {done.returncode}, not {status} with {said} and `{why}`: {done.stderr[:300]}")
    if target.read_text() != old: sys.exit(f"{what}: the old file is not as it was")


def only(what, disk, *names):
    left = sorted(set(os.listdir(disk)) - set(names))
    if left: sys.exit(f"{what}: leaves {left}")


def fill(path, leave):
    """Takes all pages of the disk but `leave`."""
    path.unlink(missing_ok=True)
    system = os.statvfs(path.parent)
    with open(path, "wb") as f: os.posix_fallocate(f.fileno(), 0, (system.f_bavail - leave) * system.f_bsize)
    system = os.statvfs(path.parent)
    if system.f_bavail != leave: sys.exit(f"the disk has {system.f_bavail} pages left, not {leave}")


def full_file_system(disk):
    for name, args, files, status, said in CASES:
        what, target = " ".join(args) + " -> " + name, disk / name
        for file, text in files.items(): pathlib.Path(file).write_text(text)
        old = UNTIDY if name == "s.tl" else "old\n" * 1500
        refused = written = 0
        for leave in (0, 1, 2, 4, 100):
            target.write_text(old)
            fill(disk / "filler", leave)
            done = run(args)
            if done.returncode == 0:
                if target.read_text(errors="replace") == old: sys.exit(f"{what}: says nothing and writes nothing")
                written += 1
            else:
                failed(f"{what}, {leave} pages left", done, status, said, "No space left on device", target, old)
                refused += 1
            only(what, disk, name, "filler")
            (disk / "filler").unlink()
        if refused < 2 or not written: sys.exit(f"{what}: refused {refused} times, written {written} times")
        # A disk that has pages, and no place for one more file.
        target.write_text(old)
        names = [f"empty{i}" for i in range(os.statvfs(disk).f_favail)]
        for n in names: (disk / n).touch()
        failed(f"{what}, no more files", run(args), status, said, "No space left on device", target, old)
        only(what, disk, name, *names)
        for n in os.listdir(disk): (disk / n).unlink()


def limited_files(disk):
    for name, args, files, status, said in CASES:
        what, target = " ".join(args) + " -> " + name, disk / name
        for file, text in files.items(): pathlib.Path(file).write_text(text)
        old = UNTIDY if name == "s.tl" else "old\n" * 1500
        for limit in (0, 1, 1000):
            target.write_text(old)
            done = run(args, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
            failed(f"{what}, files of {limit} bytes", done, status, said, "File too large", target, old)
            only(what, disk, name)
        target.unlink()


def main():
    if len(sys.argv) == 2 and shutil.which(OWN_MOUNTS[0]) and subprocess.run([*OWN_MOUNTS, "true"], capture_output=True).returncode == 0:
        os.execvp(OWN_MOUNTS[0], [*OWN_MOUNTS, sys.executable, *sys.argv, "mounts"])
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        disk = pathlib.Path("disk")
        disk.mkdir()
        limited_files(disk)
        mount = ["mount", "-t", "tmpfs", "-o", f"size={PAGES * PAGE},nr_inodes=24", "tenc-test", "disk"]
        if len(sys.argv) > 2 and subprocess.run(mount, capture_output=True).returncode == 0:
            try: full_file_system(disk)
            finally: subprocess.run(["umount", "--lazy", "disk"], check=True)
        os.chdir("/")


main()
