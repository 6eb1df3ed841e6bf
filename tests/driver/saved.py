# RUN: %python %s %tenc
"""Compiled programs in files: what is refused, and how."""
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

TENC = os.path.abspath(sys.argv[1])
# Where a header holds what: magic, two versions, size and checksum of the code and of the plan.
VERSION, CODE_SIZE, PLAN_SIZE, HEADER = 8, 16, 32, 48


def tenc(*words):
    done = subprocess.run([TENC, *words], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout + done.stderr


def golden(data, text, *options, status=1):
    pathlib.Path("p.tlp").write_bytes(data)
    found = tenc("p.tlp", *options)
    if found != (status, text + "\n"): sys.exit(f"{found} is not {(status, text)}")


def with_number(data, at, size, number):
    return data[:at] + number.to_bytes(size, "little") + data[at + size:]


def compiled(script, *options):
    status, text = tenc("-e", script, *options, "--emit=program", "-o", "good.tlp")
    if status != 0: sys.exit(text)
    return pathlib.Path("good.tlp").read_bytes()


def main():
    good = compiled("print(sum(sort(randn([4]))) < 100.0)")
    golden(good, "true", status=0)
    cannot = "error[E0501]: cannot read p.tlp: "
    golden(b"", cannot + "it is not a compiled program")
    golden(b"print(1)", cannot + "it is not a compiled program")
    golden(good[:20], cannot + "it is cut short")
    golden(good[:-1], cannot + "it is cut short")
    golden(good + b"x", cannot + "it has bytes after its end")
    golden(good.replace(b"\r\n\x1a\n", b"\n\x1a\n", 1), cannot + "it is not a compiled program")
    golden(with_number(good, VERSION, 4, 1),
           cannot + "it was made by another version of tenc (format 1.1; this one reads 6.1): compile the script again")
    golden(with_number(good, CODE_SIZE, 8, 2**64 - 1), cannot + "it is cut short")
    golden(with_number(good, PLAN_SIZE, 8, 2**63), cannot + "it is cut short")
    code = struct.unpack_from("<Q", good, CODE_SIZE)[0]
    in_code, in_plan = HEADER + code // 2, HEADER + code + 8
    golden(with_number(good, in_code, 1, good[in_code] ^ 1),
           cannot + "it is damaged: the checksum of its machine code is wrong")
    golden(with_number(good, in_plan, 1, good[in_plan] ^ 1), cannot + "it is damaged: its checksum is wrong")
    golden(good, "error[E0504]: --lr: the parameters of p.tlp were set when it was compiled", "--lr", "0.3")
    golden(compiled("print(ones([1000]) + randn([1000]))"),
           "error[E0320]: the program needs 4.1 KiB on cpu, which has 1 KiB", "--memory", "cpu=1KiB")
    golden(compiled("@cuda:0 let x = ones([2])\nprint(x)", "--virtual", "cuda=1"),
           "error[E0304]: there is no device `cuda:0`, which p.tlp was compiled for")
    pathlib.Path("folder.tlp").mkdir()
    for name, why in ("folder.tlp", "it is not a regular file"), ("none.tlp", "No such file or directory"):
        found = tenc(name)
        if found != (1, f"error[E0501]: cannot read {name}: {why}\n"): sys.exit(f"{name}: {found}")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    main()
    os.chdir("/")
