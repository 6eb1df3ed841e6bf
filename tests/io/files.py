#!/usr/bin/env python3
"""Files in and out, and files that attack: files.py TENC [OPTIONS]

Every file is loaded by compiled code and by the interpreter; what NumPy writes must come back, what is saved must be
what NumPy reads. Each attack must be refused with exit status 1 and E0501 or E0502, in less than five seconds, and
nothing may be left behind.
"""
import io
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import zipfile
import zlib

import numpy as np

TENC = [os.path.abspath(sys.argv[1]), *sys.argv[2:]]
FAILED = []
DTYPES = {"f16": "F16", "f32": "F32", "f64": "F64", "i8": "I8", "i16": "I16", "i32": "I32", "i64": "I64", "u8": "U8",
          "u16": "U16", "u32": "U32", "u64": "U64", "bool": "BOOL"}


def numpy_type(t):
    return np.dtype({"f": "float", "i": "int", "u": "uint", "b": "bool"}[t[0]] + (t[1:] if t != "bool" else ""))


def expect(ok, what):
    if not ok:
        FAILED.append(what)


def run(script, *options):
    pathlib.Path("script.tl").write_text(script)
    return subprocess.run([*TENC, "script.tl", *options], capture_output=True, text=True, timeout=60)


def agree(script, expected, what, *options):
    for engine in ("compiled", "interp"):
        done = run(script, "--engine", engine, *options)
        expect(done.returncode == 0 and done.stdout == expected,
               f"{what} ({engine}): status {done.returncode}, {done.stdout!r}, {done.stderr[:300]!r}")


def refused(data, name, what, declared="f32[2]"):
    pathlib.Path(name).write_bytes(data)
    try:
        done = run(f'let x: {declared} = load("{name}")\nprint(x)\n')
    except subprocess.TimeoutExpired:
        return expect(False, f"{what}: takes too long")
    expect(done.returncode == 1 and ("E0502" in done.stderr or "E0501" in done.stderr),
           f"{what}: status {done.returncode}: {done.stderr[:200]!r}")


def safetensors(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def npy_round_trips():
    rng = np.random.default_rng(0)
    for t in DTYPES:
        x = (rng.standard_normal((2, 3, 4)) * 50).astype(numpy_type(t))
        for order in "CF":
            for byte_order in "<>":
                np.save("x.npy", np.asarray(x, order=order).astype(x.dtype.newbyteorder(byte_order)))
                done = run('let x = load("x.npy")\nsave("y.npy", x)\n')
                expect(done.returncode == 0 and np.array_equal(np.load("y.npy"), x), f"npy {t} {order} {byte_order}")


def named_round_trips():
    x = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b.c": np.arange(4, dtype=np.int16), "s": np.float64(2.5)}
    for write in (np.savez, np.savez_compressed):
        write("x.npz", **x)
        agree('let a = load("x.npz", name: "a")\nlet b: i16[N] = load("x.npz", name: "b.c")\n'
              'print(sum(a), b.shape, load("x.npz", name: "s"))\n', "15.0 [4] 2.5\n", write.__name__)
    np.savez_compressed("one.npz", w=np.arange(5.0))
    agree('print(load("one.npz")[4])\n', "4.0\n", "the only tensor")
    tree = ('struct Fc[I, O] { w: f32[I, O], b: f32[O] }\nstruct Net { fc1: Fc[2, 3], tail: [Fc[3, 1]; 2], '
            'state n: i64 }\n'
            'let m = Net { fc1: Fc { w: ones([2, 3]), b: zeros([3]) }, '
            'tail: list(2, |i| Fc { w: full([3, 1], f32(i)), b: ones([1]) }), n: 7 }\n')
    for ending in ("safetensors", "npz"):
        for engine in ("compiled", "interp"):
            done = run(tree + f'save("m.{ending}", m)\n', "--engine", engine)
            expect(done.returncode == 0, f"save a tree, {ending} {engine}: {done.stderr[:300]}")
            agree(tree + f'let k: Net = load("m.{ending}")\nprint(sum(k.fc1.w), k.tail[1].w[0, 0], k.n)\n'
                  f'print(load("m.{ending}", name: "tail.0.b"))\n', "6.0 1.0 7\nf32[1] @cpu\n[1.]\n", f"tree {ending}")
    names = sorted(np.load("m.npz").files)
    expect(names == ["fc1.b", "fc1.w", "n", "tail.0.b", "tail.0.w", "tail.1.b", "tail.1.w"], f"names in .npz: {names}")
    for t, name in DTYPES.items():
        v = np.array([1, 0, 3]).astype(numpy_type(t))
        header = {"__metadata__": {"by": "a \"test\""}, "v": {"dtype": name, "shape": [3], "data_offsets": [0, v.nbytes]}}
        pathlib.Path("v.safetensors").write_bytes(safetensors(header, v.tobytes()))
        done = run('save("v.npy", load("v.safetensors"))\n')
        expect(done.returncode == 0 and np.array_equal(np.load("v.npy"), v), f"safetensors {t}: {done.stderr[:200]}")
    done = run('let x: f32[3] = load("m.safetensors", name: "fc1.w")\n')
    expect("E0502" in done.stderr and "f32[2, 3]" in done.stderr, f"a wrong shape: {done.stderr}")
    done = run('let x = load("m.safetensors", name: "fc9.w")\n')
    expect("E0502" in done.stderr and "fc1.w" in done.stderr, f"a wrong name: {done.stderr}")
    big = np.arange(2_000_000, dtype=np.float32)  # large enough to be mapped
    np.save("big.npy", big)
    # Tensors of types that TL does not have stand beside others.
    np.savez("f.npz", w=np.arange(3.0), name=np.array(["a"]))
    with open("f.safetensors", "wb") as f:
        f.write(safetensors({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
                             "e": {"dtype": "F8_E4M3", "shape": [3], "data_offsets": [8, 11]}}, bytes(11)))
    agree('print(sum(load("f.npz", name: "w")), sum(load("f.safetensors", name: "w")))\n', "3.0 0.0\n", "foreign beside")
    for source, name, kind in ("f.npz", "name", "<U1"), ("f.safetensors", "e", "F8_E4M3"):
        done = run(f'let x = load("{source}", name: "{name}")\n')
        expect(done.returncode == 1 and "E0502" in done.stderr and f"({kind}) in `{name}`" in done.stderr, f"foreign {name}")
    agree('print(load("big.npy")[1999999])\n', "1999999.0\n", "a mapped file")


def pictures():
    for shape in ((3, 5), (3, 5, 3)):
        x = np.arange(np.prod(shape), dtype=np.uint8).reshape(shape)
        np.save("p.npy", x)
        agree('save("p.png", load("p.npy"))\n', "", "png out")
        agree(f'let p: u8{list(shape)} = load("p.png")\nassert p == load("p.npy"), "same"\n', "", f"png in {shape}")
    # Text headers and raw pixels: P5 is grey, P6 is colour.
    for name, kind, shape in (("p.pgm", "5", (3, 5)), ("p.ppm", "5", (3, 5)), ("p.ppm", "6", (3, 5, 3))):
        x = np.arange(np.prod(shape), dtype=np.uint8).reshape(shape)
        np.save("p.npy", x)
        agree(f'save("{name}", load("p.npy"))\n', "", f"{name} out")
        expect(pathlib.Path(name).read_bytes() == f"P{kind}\n5 3\n255\n".encode() + x.tobytes(), f"pixels of {name}")
    done = run('save("p.pgm", ones([3, 5, 3]))\n')
    expect(done.returncode == 1 and "E0503" in done.stderr, f"colours in a .pgm: {done.stderr[:200]!r}")
    good = pathlib.Path("p.png").read_bytes()
    refused(good[:40], "cut.png", "a cut picture", "u8[3, 5, 3]")
    refused(b"no picture", "no.png", "no picture", "u8[3, 5, 3]")
    huge = bytearray(good)
    huge[16:24] = struct.pack(">II", 60000, 60000)
    huge[29:33] = struct.pack(">I", zlib.crc32(bytes(huge[12:29])))
    refused(bytes(huge), "huge.png", "a picture that claims 10 GB", "u8[60000, 60000, 3]")


def npy_attacks():
    head = lambda text, version=1: b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I",
                                                                                    len(text)) + text
    good = b"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }"
    for data, what in [
            (b"", "empty"), (b"\x93NUMPY", "cut lead"), (head(good), "no elements"), (head(good) + b"\0" * 7, "cut"),
            (head(good.replace(b"2,", b"%d," % 2**60)), "2^60 elements"),
            (head(good.replace(b"2,", b"4294967296, 4294967296,")), "product overflows"),
            (head(good.replace(b"2,", b"-2,")), "negative dim"), (head(b"(" * 9000), "nesting"),
            (head(good + b" " * 20000, 2), "long header"), (head(good.replace(b"<f4", b"|O8")) + b"\0" * 16, "objects"),
            (b"\x93NUMPY\x09\0" + b"\0" * 100, "version 9")]:
        refused(data, "a.npy", "npy: " + what)


def safetensors_attacks():
    v = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
    more = lambda **k: {**v, **k}
    for data, what in [
            (b"", "empty"), (b"\x08\0\0\0", "cut length"), (struct.pack("<Q", 2**63) + b"{}", "a length of 2^63"),
            (struct.pack("<Q", 100_000_001) + b" " * 50, "a header of 100 MB"),
            (safetensors({"v": v}, b"\0" * 7), "cut"), (safetensors({"v": v}, b"\0" * 9), "bytes at the end"),
            (safetensors(b'{"v":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"v":{"dtype":"F32","shape":[2],'
                         b'"data_offsets":[8,16]}}', b"\0" * 16), "a name twice"),
            (safetensors({"v": v, "w": more(data_offsets=[4, 12])}, b"\0" * 12), "overlap"),
            (safetensors({"v": v, "w": v}, b"\0" * 8), "the same bytes twice"),
            (safetensors({"v": v, "w": more(data_offsets=[12, 20])}, b"\0" * 20), "hole"),
            (safetensors({"v": more(data_offsets=[8, 0])}, b"\0" * 8), "end before begin"),
            (safetensors({"v": more(shape=[2**32, 2**32])}, b"\0" * 8), "overflow"),
            (safetensors({"v": more(shape=[-2])}, b"\0" * 8), "negative dim"),
            (safetensors({"v": more(shape=[3])}, b"\0" * 8), "size and shape"),
            (safetensors({"v": more(dtype="F8_E4M3")}, b"\0" * 8), "unknown dtype"),
            (safetensors(b'{"v":' + b"[" * 100_000, b""), "nesting"), (safetensors(b'{"v"', b""), "cut header"),
            (safetensors(b'{"v":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}} x', b"\0" * 8), "text after it"),
            (safetensors({"v": {"dtype": "F32", "shape": [2]}}, b""), "no offsets")]:
        refused(data, "a.safetensors", "safetensors: " + what)


def npz_attacks():
    def archive(entries, method=zipfile.ZIP_DEFLATED):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", method) as z:
            for name, data in entries:
                z.writestr(name, data)
        return out.getvalue()

    npy = io.BytesIO()
    np.save(npy, np.zeros(2, np.float32))
    good = archive([("v.npy", npy.getvalue())])
    stored = archive([("v.npy", npy.getvalue())], zipfile.ZIP_STORED)
    bomb = io.BytesIO()
    np.save(bomb, np.zeros(1, np.float32))
    claim = bomb.getvalue().replace(b"(1,)", b"(4000000000,)")[:128]
    refused(archive([("v.npy", claim + b"\0" * 10_000_000)]), "a.npz", "npz: fewer elements than claimed",
            "f32[4000000000]")
    at = good.index(b"PK\1\2")
    lies = bytearray(good)
    lies[at + 24:at + 28] = struct.pack("<I", 0xfffffff0)
    refused(bytes(lies), "a.npz", "npz: a false size (bomb)")
    lies = bytearray(stored)
    lies[lies.index(b"PK\1\2") + 16] ^= 1
    pathlib.Path("a.npz").write_bytes(bytes(lies))
    done = run('print(load("a.npz"))\n')
    expect(done.returncode == 3 and "checksum" in done.stderr, f"npz: checksum: {done.returncode} {done.stderr[:200]}")
    refused(good[:-10], "a.npz", "npz: cut directory")
    refused(good[:60], "a.npz", "npz: cut")
    refused(b"PK\5\6" + b"\xff" * 18, "a.npz", "npz: false end")
    refused(archive([("v.npy", b"no npy")]), "a.npz", "npz: no npy inside")
    two = bytearray(archive([("v.npy", npy.getvalue()), ("w.npy", npy.getvalue())], zipfile.ZIP_STORED))
    second = two.rindex(b"PK\1\2")
    two[second + 42:second + 46] = struct.pack("<I", 0)
    refused(bytes(two), "a.npz", "npz: entries that overlap")
    same = archive([("v.npy", npy.getvalue()), ("w.npy", npy.getvalue())]).replace(b"w.npy", b"v.npy")
    refused(same, "a.npz", "npz: a name twice")


def sandbox():
    os.makedirs("box/inner", exist_ok=True)
    os.makedirs("outside", exist_ok=True)
    np.save("outside/x.npy", np.ones(2))
    np.save("box/x.npy", np.ones(2))
    os.symlink("../outside/x.npy", "box/link.npy")
    os.symlink("../outside", "box/folder")
    os.symlink("x.npy", "box/fine.npy")
    agree('print(load("box/x.npy").shape, load("box/inner/../fine.npy").shape)\nsave("box/inner/y.npy", ones([2]))\n',
          "[2] [2]\n", "inside", "--sandbox-dir", "box")
    for path in ("outside/x.npy", "box/../outside/x.npy", "box/link.npy", "box/folder/x.npy",
                 os.path.abspath("outside/x.npy")):
        done = run(f'print(load("{path}"))\n', "--sandbox-dir", "box")
        expect(done.returncode == 1 and "sandbox-dir" in done.stderr, f"load of {path}: {done.stderr[:200]}")
    for engine in ("compiled", "interp"):
        for path in ("outside/z.npy", "box/../z.npy", "box/folder/z.npy", "z.npy"):
            done = run(f'save("{path}", ones([2]))\n', "--sandbox-dir", "box", "--engine", engine)
            expect(done.returncode == 3 and "sandbox-dir" in done.stderr, f"save to {path}: {done.stderr[:200]}")
        run('save("box/link.npy", zeros([3]))\n', "--sandbox-dir", "box", "--engine", engine)
        expect(np.array_equal(np.load("outside/x.npy"), np.ones(2)), "a save through a link changed what it leads to")
    expect(run("print(1)\n", "--sandbox-dir", "nowhere").returncode == 2, "--sandbox-dir of no folder")


def main():
    with tempfile.TemporaryDirectory(prefix="tenc-files-") as folder:
        os.chdir(folder)
        for part in (npy_round_trips, named_round_trips, pictures, npy_attacks, safetensors_attacks, npz_attacks, sandbox):
            part()
        left = [str(p) for p in pathlib.Path(".").rglob("*.part")]
        expect(not left, f"left behind: {left}")
        os.chdir("/")
    print("\n".join(FAILED) or "all files are well")
    sys.exit(1 if FAILED else 0)


if __name__ == "__main__":
    main()
