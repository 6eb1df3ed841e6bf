#!/usr/bin/env python3
"""Makes a release: tools/release.py [--build build/release] [--output FOLDER] [--try ROOT]... | --check

Of a static release build (the preset `release`) it makes tenc-VERSION-linux-x86_64.tar.gz with its SHA-256 beside it: the tool in one file, without its
symbols, the documentation with docs/index.html, the examples, the highlighting for editors, and the licences of all that is linked into the tool.
The same sources and the same binary give the same archive, byte by byte.

Before that it checks that the tool needs no shared library but the C library's, and no symbol newer than glibc 2.35, which Ubuntu 22.04 has
(Debian 12: 2.36). --try unpacks the archive in a root file system, such as `debootstrap --variant=minbase bookworm ROOT` makes, with the tools that
are there, and runs tenc as nobody (it has to be root for that). Such systems have gzip, and neither xz nor zstd. --check makes nothing.

Needs binutils, Git, and what docs/make_html.py needs."""
import argparse
import gzip
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
NEWEST_GLIBC = (2, 35)
LIBRARIES = {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"}
PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "LICENSE")
FOLDERS = ("docs", "examples", "editors")
# What tenc must print in a root file system where nothing else is installed.
TRIALS = [
    (["-e", "print(sum(arange(5) ** 2))"], "30"),
    (["-e", "print(mean(abs(inv([[2.0, 0.0], [0.0, 4.0]]))))"], "0.1875"),
    (["-e", 'save("/tmp/a.png", ones([2, 2]))\nsave("/tmp/a.npz", (ones([2]), 3))\nprint(cholesky(eye(2))[0, 0])'], "1.0"),
    (["examples/digits_nn.tl", "--dir", "examples/data"], None),
]


def fail(message):
    sys.exit(f"tools/release.py: {message}")


def version():
    return re.search(r"project\(tenc VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def needs(binary):
    """The shared libraries that a binary asks for, and the newest version of glibc among its symbols."""
    libraries = set(re.findall(r"NEEDED\s+(\S+)", output_of("objdump", "-p", binary)))
    versions = re.findall(r"\(?GLIBC_(\d+)\.(\d+)", output_of("objdump", "-T", binary))
    return libraries, max((int(a), int(b)) for a, b in versions)


def check(binary):
    libraries, newest = needs(binary)
    if libraries - LIBRARIES: fail(f"{binary} needs {', '.join(sorted(libraries - LIBRARIES))}: it has to be a build with TENC_STATIC")
    if newest > NEWEST_GLIBC:
        late = re.findall(rf"GLIBC_{newest[0]}\.{newest[1]}\)?\s+(\S+)", output_of("objdump", "-T", binary))
        fail(f"{binary} needs glibc {newest[0]}.{newest[1]}, for {', '.join(late[:5])}")
    print(f"needs {', '.join(sorted(libraries))}, glibc {newest[0]}.{newest[1]} or later")


def linked_packages():
    """The Debian packages that docs/dependencies.md lists as part of tenc."""
    table = (ROOT / "docs/dependencies.md").read_text().split("Part of tenc:")[1].split("\n\n")[1]
    rows = [re.split(r"\s*\|\s*", row) for row in table.splitlines()][2:]
    return [package for row in rows for package in row[2].split(", ") if "not linked" not in row[4]]


def licences(folder):
    folder.mkdir()
    for package in linked_packages():
        notice = pathlib.Path("/usr/share/doc") / package / "copyright"
        if not notice.exists(): fail(f"{notice} is missing: the licence of {package} has to come with the archive")
        shutil.copyfile(notice, folder / f"{package}.txt")


def tracked(folder):
    return [pathlib.Path(p) for p in output_of("git", "-C", str(ROOT), "ls-files", folder).splitlines()]


def stage(binary, folder):
    (folder / "bin").mkdir(parents=True)
    subprocess.run(["strip", "-o", folder / "bin/tenc", binary], check=True)
    for path in [*map(pathlib.Path, PAGES), *(p for f in FOLDERS for p in tracked(f))]:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, folder / path)
    subprocess.run([sys.executable, ROOT / "docs/make_html.py", "-o", folder / "docs/index.html"], check=True)
    licences(folder / "licences")


def pack(folder, archive):
    """Files in order, with one time and no owner."""
    time = int(output_of("git", "-C", str(ROOT), "log", "-1", "--format=%ct"))
    with gzip.GzipFile(archive, "wb", mtime=time) as packed, tarfile.open(fileobj=packed, mode="w") as tar:
        for path in sorted(p for p in folder.rglob("*")):
            info = tar.gettarinfo(path, str(path.relative_to(folder.parent)))
            info.uid = info.gid = 0
            info.uname = info.gname = "root"
            info.mtime, info.mode = time, 0o755 if info.isdir() or path.parent.name == "bin" else 0o644
            with open(path, "rb") if info.isfile() else open(os.devnull, "rb") as file: tar.addfile(info, file if info.isfile() else None)
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    archive.with_name(archive.name + ".sha256").write_text(f"{digest}  {archive.name}\n")


def try_in(root, archive):
    """Unpacks the archive in a root file system, and runs tenc there."""
    with tempfile.TemporaryDirectory(dir=root) as folder:
        os.chmod(folder, 0o755)
        for file in (archive, archive.with_name(archive.name + ".sha256")): shutil.copy(file, folder)
        where = "/" + str(pathlib.Path(folder).relative_to(root))
        for command in (["sha256sum", "--check", "--quiet", archive.name + ".sha256"], ["tar", "xf", archive.name]):
            done = subprocess.run(["chroot", root, "env", "-C", where, *command], capture_output=True, text=True)
            if done.returncode: fail(f"in {root}: {' '.join(command)}\n{done.stderr}")
        inside = f"{where}/{archive.name.removesuffix('.tar.gz')}"
        (root / "tmp").mkdir(exist_ok=True)
        os.chmod(root / "tmp", 0o1777)
        for arguments, printed in TRIALS:
            command = ["env", "-i", "-C", inside, "HOME=/tmp", "bin/tenc", *arguments]
            done = subprocess.run(["chroot", "--userspec=65534:65534", root, *command], capture_output=True, text=True)
            if done.returncode or printed not in (None, done.stdout.strip()):
                fail(f"in {root}: tenc {' '.join(arguments)}\n{done.stdout}{done.stderr}")
    name = re.search(r'PRETTY_NAME="(.*)"', (root / "etc/os-release").read_text())[1] if (root / "etc/os-release").exists() else str(root)
    print(f"runs on {name}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "build/archive")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--try", dest="roots", type=pathlib.Path, action="append", default=[])
    args = parser.parse_args()
    binary = args.build / "bin/tenc"
    if not binary.exists(): fail(f"there is no {binary}: build the preset `release` first")
    check(binary)
    if args.check: return
    name = f"tenc-{version()}-linux-x86_64"
    args.output.mkdir(parents=True, exist_ok=True)
    archive = args.output / f"{name}.tar.gz"
    with tempfile.TemporaryDirectory() as folder:
        stage(binary, pathlib.Path(folder) / name)
        pack(pathlib.Path(folder) / name, archive)
    print(f"{archive}: {archive.stat().st_size / 1e6:.1f} MB")
    for root in args.roots: try_in(root.resolve(), archive)


if __name__ == "__main__":
    main()
