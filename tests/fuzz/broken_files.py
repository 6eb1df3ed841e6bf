#!/usr/bin/env python3
"""Files with random bytes changed, cut or added, read by whole processes of tenc.

    python broken_files.py --tenc PATH [--count 60] [--first 0] [--keep DIR]

tenc-mutate reads such files in one process, at compile time, and mends their checksums. Here they are read where it does not
read any: by programs that were compiled while the file was good, by scripts that make the file themselves, so that nothing is
known of it before they run, by the interpreter as well, and by commands. Each run ends by itself and soon, with status 0 or an error
with a code, never with a signal or an internal error, and leaves no file behind. Closes with `N passed, N failed`."""
import functools
import io
import json
import os
import pathlib
import random
import re
import resource
import struct
import subprocess
import sys
import tempfile
import threading
import zlib

import numpy as np

import harness

MOST_SECONDS = 10
WORDS = [b"\0", b"\xff", b"\n", b",", b"\"", b"[", b"{", b"-1", b"99999999999999999999", b"1e400", b"nan", b"PK\3\4", b"PK\1\2",
         b"IDAT", b"<f8", b"(2,)", b"\xff" * 8, b"\0" * 8, struct.pack("<Q", 1 << 63), struct.pack(">I", 1 << 31), b"F64", b"shape"]
# How a program declares and uses what it loads.
USES = {"npy": ('f32[4, 3]', 'load("in.npy")'), "npz": ('f32[4, 3]', 'load("in.npz", name: "a")'),
        "safetensors": ('f32[4, 3]', 'load("in.safetensors", name: "a")'), "csv": ('f32[4, 3]', 'load_csv("in.csv")'),
        "png": ('u8[4, 3]', 'load("in.png")'), "tree": ("(f32[4, 3], i64[5])", 'load("in.npz")')}
MOVES = "let x = ones([4])\n@cuda:0 let y = x.to(cuda:0)\nprint(y)\n"
KINDS = [*USES, "tlp", "json"]
LOCK = threading.Lock()


def safetensors(tensors):
    header, data = {}, b""
    for name, x in tensors.items():
        header[name] = {"dtype": {"f": "F", "i": "I"}[x.dtype.kind] + str(8 * x.itemsize), "shape": list(x.shape),
                        "data_offsets": [len(data), len(data) + x.nbytes]}
        data += x.tobytes()
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def good_file(kind, r):
    x, b, out = np.arange(12, dtype=np.float32).reshape(4, 3), np.arange(5), io.BytesIO()
    if kind == "npy": np.save(out, r.choice([x, np.asfortranarray(x), x.astype(">f4")]))
    if kind == "npz": r.choice([np.savez, np.savez_compressed])(out, a=x, b=b)
    if kind == "tree": r.choice([np.savez, np.savez_compressed])(out, **{"0": x, "1": b})
    if kind == "safetensors": return safetensors({"a": x, "b": b})
    if kind == "csv": return r.choice([b"a,b,c\n", b""]) + b"".join(b"%d,%d.5,%de2\n" % tuple(row) for row in x.astype(int))
    if kind == "png":
        chunk = lambda k, d: struct.pack(">I", len(d)) + k + d + struct.pack(">I", zlib.crc32(k + d))
        rows = b"".join(bytes([r.randrange(5), *range(i, i + 3)]) for i in range(4))
        return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 3, 4, 8, 0, 0, 0, 0)) +
                chunk(b"tEXt", b"k\0v") + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
    return out.getvalue()


def changed(data, r):
    """Some bytes, words and pieces are other ones."""
    out = bytearray(data)
    for _ in range(r.choice([1, 1, 1, 2, 4, 16])):
        # Headers are where files go wrong.
        at = r.randrange(r.choice([len(out), min(len(out), 128)]) + 1) if out else 0
        size = r.choice([1, 1, 2, 4, 8, 100])
        how = r.randrange(8)
        if how <= 1 and at < len(out): out[at] ^= 1 << r.randrange(8)
        elif how == 2 and at < len(out): out[at] = r.choice([0, 1, 0x7f, 0x80, 0xff, r.randrange(256)])
        elif how == 3: out[at:at + size] = b""
        elif how == 4: out[at:at] = r.choice([r.choice(WORDS), r.randbytes(size), bytes(out[at:at + size])])
        elif how == 5: del out[at:]
        elif how == 6: out += r.choice([r.randbytes(size), bytes(out), bytes(r.choice([1, 4096]))])
        else:
            word = r.choice(WORDS)
            out[at:at + len(word)] = word
    return bytes(out)


def run(a, folder, args):
    return subprocess.run([a.tenc, *args, "--threads", "1"], cwd=folder, capture_output=True, text=True, errors="replace",
                          timeout=MOST_SECONDS, stdin=subprocess.DEVNULL,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))


def name_of(kind): return "in.npz" if kind == "tree" else f"in.{kind}"


def script_of(kind):
    shape, call = USES[kind]
    print_it = "print(x.0, x.1)" if kind == "tree" else "print(x, sum(f32(x)))"
    return f"let x: {shape} = {call}\n{print_it}\n"


@functools.lru_cache(None)
def compiled(a_tenc, kind):
    """The compiled program that reads a file of this kind."""
    with tempfile.TemporaryDirectory() as folder:
        f = pathlib.Path(folder)
        (f / "s.tl").write_text(script_of(kind))
        (f / name_of(kind)).write_bytes(good_file(kind, random.Random(0)))
        subprocess.run([a_tenc, "s.tl", "--emit=program", "-o", "s.tlp"], cwd=f, check=True, timeout=60)
        subprocess.run([a_tenc, "s.tlp"], cwd=f, check=True, stdout=subprocess.DEVNULL, timeout=60)
        return (f / "s.tlp").read_bytes()


@functools.lru_cache(None)
def transfers(a_tenc):
    return subprocess.run([a_tenc, "transfers", "-e", MOVES, "--virtual", "cuda=1", "--json"], check=True, capture_output=True).stdout


def case(a, seed):
    r = random.Random(seed)
    kind = r.choice(KINDS)
    with LOCK:
        programs = {k: compiled(a.tenc, k) for k in USES}
        listed = transfers(a.tenc)
    with tempfile.TemporaryDirectory() as folder:
        f = pathlib.Path(folder)
        engine = r.choice([[], ["--engine=interp"]])
        if kind == "tlp":
            of = r.choice(list(USES))
            bad = changed(programs[of], r)
            (f / name_of(of)).write_bytes(good_file(of, r))
            args = ["in.tlp"]
        elif kind == "json":
            bad = changed(listed, r)
            args = ["transfers", "-e", MOVES, "--virtual", "cuda=1", "--diff", "in.json"]
        else:
            bad = changed(good_file(kind, r), r)
            args = r.choice([["s.tl", *engine], ["made.tl", *engine], ["s.tlp"], ["s.tlp"]])
            (f / "s.tl").write_text(script_of(kind))
            (f / "s.tlp").write_bytes(programs[kind])
            (f / "made.tl").write_text(f'save_bytes("{name_of(kind)}", load_bytes("bytes"))\n' + script_of(kind))
            (f / "bytes").write_bytes(bad)
        if args[0] != "made.tl": (f / name_of(kind)).write_bytes(bad)
        what = f"{kind}, {' '.join(args)}"
        before = sorted({*os.listdir(f), name_of(kind)})
        files = {f"seed{seed}.{name_of(kind)}": bad.decode("latin-1")}
        try: done = run(a, f, args)
        except subprocess.TimeoutExpired: return f"{what}: takes more than {MOST_SECONDS} s", files
        fine = done.returncode == 0 or done.returncode in (1, 3) and re.search(r"error\[E\d{4}\]", done.stderr)
        fine = fine or kind == "json" and done.returncode == 1 and done.stdout and not done.stderr  # there are more moves than listed
        if kind == "tlp" and bad != programs[of] and done.returncode != 1: fine = False  # checksums hold every byte
        if re.search(r"[\0-\x08\x0b-\x1f\x7f]", done.stderr): fine = False  # what terminals obey
        if not fine or "bug in tenc" in done.stderr: return f"{what}: status {done.returncode}: {done.stderr[:400]}", files
        if sorted({*os.listdir(f), name_of(kind)}) != before: return f"{what}: leaves {set(os.listdir(f)) - set(before)}", files
    return None, {}


if __name__ == "__main__":
    sys.exit(harness.main(__doc__, case, 60))
