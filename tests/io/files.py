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
import stat
import struct
import subprocess
import sys
import tempfile
import time
import zipfile
import zlib
from fractions import Fraction

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
    x = np.asfortranarray(rng.standard_normal((3, 70, 500)))  # longer than what is read at a time
    for write, name in ((np.save, "x.npy"), (lambda f, a: np.savez_compressed(f, x=a), "x.npz")):
        write(name, x)
        done = run(f'save("y.npy", load("{name}"))\n')
        expect(done.returncode == 0 and np.array_equal(np.load("y.npy"), x), f"a long {name} by columns: {done.stderr[:200]}")


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
    # What is not an array in an .npz file is none of its tensors; an array needs no ending.
    with zipfile.ZipFile("t.npz", "w") as z:
        array = io.BytesIO()
        np.save(array, np.arange(3.0))
        z.writestr("readme.txt", "two arrays\n")
        z.writestr("a.npy", array.getvalue())
        z.writestr("b", array.getvalue())
    agree('print(sum(load("t.npz", name: "a")), sum(load("t.npz", name: "b")))\n', "3.0 3.0\n", "a text in .npz")
    done = run('let x = load("t.npz", name: "readme.txt")\n')
    expect("E0502" in done.stderr and "`a`, `b`" in done.stderr, f"a text in .npz: {done.stderr}")
    # Names escaped as JSON has them: two halves of a character beyond the basic plane.
    for escaped, name in (r"a\ud83d\ude00", "a\U0001F600"), (r"\ud83d", None), (r"\ud83d\u0041", None), (r"\ude00", None):
        header = '{"%s":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}' % escaped
        pathlib.Path("u.safetensors").write_bytes(struct.pack("<Q", len(header)) + header.encode() + bytes(8))
        done = run(f'print(load("u.safetensors", name: "{name}").shape)\n')
        expect(done.stdout == "[2]\n" if name else "E0502" in done.stderr, f"{escaped}: {done.stdout} {done.stderr}")
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
    agree('save("p.png", [[0.0, 0.5, 1.0, 2.0, -1.0, nan, inf]])\nlet p: u8[1, 7] = load("p.png")\nprint(p[0])\n'
          'save("q.png", [[true, false]])\nlet q: u8[1, 2] = load("q.png")\nprint(q[0])\n',
          "u8[7] @cpu\n[  0 128 255 255   0   0 255]\nu8[2] @cpu\n[255   0]\n", "floats and bools as pixels")
    for t in ("i8", "i16", "i32", "i64", "u16", "u32", "u64"):
        done = run(f'save("p.png", {t}([[10, 20]]))\n')
        expect(done.returncode == 1 and "E0503" in done.stderr and "u8(x)" in done.stderr,
               f"pixels of {t}: {done.stderr[:200]!r}")
    longest = "x" * 251 + ".npy"
    agree(f'save("{longest}", [1.0])\nlet x: f32[1] = load("{longest}")\nprint(x[0])\n', "1.0\n", "the longest file name")
    good = pathlib.Path("p.png").read_bytes()
    refused(good[:40], "cut.png", "a cut picture", "u8[3, 5, 3]")
    refused(b"no picture", "no.png", "no picture", "u8[3, 5, 3]")
    huge = bytearray(good)
    huge[16:24] = struct.pack(">II", 60000, 60000)
    huge[29:33] = struct.pack(">I", zlib.crc32(bytes(huge[12:29])))
    refused(bytes(huge), "huge.png", "a picture that claims 10 GB", "u8[60000, 60000, 3]")


def png(width, height, bits, colour, rows, *chunks, interlaced=0):
    """A picture of raw rows; what libpng reads is held against what is written here."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, interlaced)) +
            b"".join(chunk(k, d) for k, d in chunks) + chunk(b"IDAT", zlib.compress(b"".join(b"\0" + r for r in rows))) +
            chunk(b"IEND", b""))


def pixels_as_they_are():
    """Neither a gamma nor a profile changes a pixel; 16 bits become the nearest 8, fewer bits are spread."""
    rng = np.random.default_rng(1)
    gammas = [(), ((b"gAMA", struct.pack(">I", 100_000)),), ((b"gAMA", struct.pack(">I", 20_000)),), ((b"sRGB", b"\0"),)]
    for chunks in gammas:
        for colour, channels in ((0, 1), (2, 3), (4, 2), (6, 4)):
            for bits in (8, 16):
                x = rng.integers(0, 2**bits, (6, 5, channels)).astype(f">u{bits // 8}")
                want = np.rint(x / 257).astype(np.uint8) if bits == 16 else x.astype(np.uint8)
                pathlib.Path("g.png").write_bytes(png(5, 6, bits, colour, [row.tobytes() for row in x], *chunks))
                np.save("g.npy", want[..., 0] if channels == 1 else want)
                agree('let p = load("g.png")\nprint(p.shape == load("g.npy").shape, all(p == load("g.npy")))\n',
                      "true true\n", f"pixels of colour type {colour}, {bits} bits, {chunks}")
    for bits in (1, 2, 4):
        x = rng.integers(0, 2**bits, (4, 8))
        packed = [np.packbits(np.unpackbits(row.astype(np.uint8)[:, None], axis=1)[:, -bits:].ravel()).tobytes() for row in x]
        pathlib.Path("g.png").write_bytes(png(8, 4, bits, 0, packed, *gammas[1]))
        np.save("g.npy", (x * 255 // (2**bits - 1)).astype(np.uint8))
        agree('print(all(load("g.png") == load("g.npy")))\n', "true\n", f"pixels of {bits} bits")
    palette = rng.integers(0, 256, (4, 3)).astype(np.uint8)
    pathlib.Path("g.png").write_bytes(png(4, 1, 8, 3, [bytes([3, 0, 2, 1])], (b"PLTE", palette.tobytes()), (b"tRNS", b"\7")))
    want = np.concatenate([palette[[3, 0, 2, 1]], np.array([[255], [7], [255], [255]], np.uint8)], axis=1)[None]
    np.save("g.npy", want)
    agree('print(all(load("g.png") == load("g.npy")))\n', "true\n", "a palette with alpha")


def packed_texts():
    """Texts and profiles of a picture that inflate to half a gigabyte and more cost nothing, wherever they stand."""
    def zeros(count):
        packer = zlib.compressobj(9)
        whole = b"".join(packer.compress(bytes(1 << 20)) for _ in range(count >> 20))
        return whole + packer.compress(bytes(count % (1 << 20))) + packer.flush()

    one, many = zeros(1 << 29), zeros(7_900_000)  # one beyond all limits of libpng, and as large as each of many may be
    x = np.arange(15, dtype=np.uint8).reshape(3, 5)
    np.save("p.npy", x)
    plain = png(5, 3, 8, 0, [row.tobytes() for row in x])
    for kind, head in ((b"zTXt", b"t\0\0"), (b"iTXt", b"t\0\1\0\0\0"), (b"iCCP", b"t\0\0")):
        for packed, count in ((one, 1), (many, 900)):
            whole = png(5, 3, 8, 0, [row.tobytes() for row in x], *[(kind, head + packed)] * count)
            bombs = whole[len(plain[:33]):len(whole) - len(plain) + 33]  # behind IHDR
            for data, where in ((whole, "before the pixels"), (plain[:-12] + bombs + plain[-12:], "behind them")):
                pathlib.Path("t.png").write_bytes(data)
                for engine in ("compiled", "interp"):
                    script = ["-e", 'let p = load("t.png")\nassert p == load("p.npy"), "same"\nprint(p[2, 4])', "--engine", engine]
                    process = subprocess.Popen([*TENC, *script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                    out, err = process.stdout.read(), process.stderr.read()
                    status, used = os.wait4(process.pid, 0)[1:]
                    what = f"{count} {kind.decode()} {where} ({engine})"
                    expect(status == 0 and out == "14\n", f"{what}: status {status}: {err[:200]!r}")
                    expect(used.ru_utime + used.ru_stime < 5, f"{what}: takes {used.ru_utime + used.ru_stime:.1f} s")
                    expect(used.ru_maxrss < 1_500_000, f"{what}: takes {used.ru_maxrss >> 10} MB")


FLOATS = {"f16": (5, 10), "bf16": (8, 7), "f32": (8, 23), "f64": (11, 52)}


def value_of(bits, kind):
    """The exact value of the bits of a float that is neither negative nor infinite."""
    exponents, fraction = FLOATS[kind]
    bias, e, m = 2**(exponents - 1) - 1, bits >> fraction, bits & 2**fraction - 1
    return Fraction(m + (2**fraction if e else 0)) * Fraction(2)**(max(e, 1) - bias - fraction)


def nearest(value, kind):
    """The bits of the float nearest to an exact value of at least 0, ties to even."""
    exponents, fraction = FLOATS[kind]
    low, high = 0, (2**exponents - 1) << fraction  # infinity: as far as the next power of two would be
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if value_of(middle, kind) <= value else (low, middle)
    below, above = value_of(low, kind), value_of(high, kind)
    if value - below != above - value: return low if value - below < above - value else high
    return low if low % 2 == 0 else high


def decimal(value):
    """All digits of a fraction whose denominator is a power of two."""
    n = value.denominator.bit_length() - 1
    digits = str(value.numerator * 5**n).rjust(n + 1, "0")
    return (digits[:-n] or "0") + "." + digits[-n:] if n else digits


def numbers_of_csv():
    rng = np.random.default_rng(2)
    for kind, (exponents, fraction) in FLOATS.items():
        texts = ["0", "0.1", "-0", "1e400", "-1e400", "1e-400", "65519.99", "65520", "3.4028235e38", "3.4028236e38", "1e-45",
                 "5e-324", "inf", "+1.5", "-2.5E-3", ".5", "5.", "16777217", "9007199254740993"]
        top = (2**exponents - 1) << fraction
        for bits in [0, 1, 2, top - 1, *map(int, rng.integers(0, top - 1, 30))]:
            half = (value_of(bits, kind) + value_of(bits + 1, kind)) / 2
            tie = decimal(half)
            texts += [tie, tie + ("" if "." in tie else ".") + "0" * 30 + "1", decimal(half * (1 - Fraction(1, 2**80)))]
        pathlib.Path("n.csv").write_text("\n".join(texts) + "\n")
        want = []
        for t in texts:
            negative = t.startswith("-")
            bits = top if t == "inf" else nearest(Fraction(t.lstrip("+-")), kind)
            want.append(bits | negative << (exponents + fraction))
        done = run(f'let x: {kind}[{len(texts)}] = load_csv("n.csv")\nsave("n.safetensors", x)\n')
        width = (1 + exponents + fraction) // 8
        got = list(np.frombuffer(pathlib.Path("n.safetensors").read_bytes()[-width * len(texts):], f"<u{width}").tolist()) \
            if done.returncode == 0 else done.stderr
        wrong = [(t, hex(g), hex(w)) for t, g, w in zip(texts, got, want) if g != w] if isinstance(got, list) else got
        expect(not wrong, f"csv as {kind}: {wrong}")
    for kind in ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"):
        info = np.iinfo(numpy_type(kind))
        good = [info.min, info.max, 0, "1e2", "1.0", "+7", "100e-2", "-0", "120.000"]
        pathlib.Path("n.csv").write_text("\n".join(map(str, good)) + "\n")
        agree(f'let x: {kind}[{len(good)}] = load_csv("n.csv")\nfor i in 0..{len(good)} {{ print(x[i]) }}\n',
              "\n".join(str(int(float(g)) if isinstance(g, str) else g) for g in good) + "\n", f"csv as {kind}")
        for bad in (info.min - 1, info.max + 1, "0.5", "1e400", "nan", "1e-400"):
            pathlib.Path("n.csv").write_text(f"1\n{bad}\n")
            done = run(f'let x: {kind}[2] = load_csv("n.csv")\nprint(x)\n')
            expect(done.returncode == 3 and f"`{bad}` in row 2, which is no {kind}" in done.stderr,
                   f"csv: {bad} as {kind}: {done.returncode} {done.stderr[:200]}")


def rows_of_csv():
    for text, script, printed, what in [
            ("\ufeff1,2\n3,4\n", 'let x: i64[2, 2] = load_csv("r.csv")\nprint(x[0, 0], x[1, 1])', "1 4\n", "a byte order mark"),
            ("\ufeffa,b\n3,4\n", 'let x = load_csv("r.csv")\nprint(x.shape)', "[1, 2]\n", "a mark before names"),
            (",a\n0,5\n", 'let x = load_csv("r.csv")\nprint(x)', "f32[1, 2] @cpu\n[[0. 5.]]\n", "a name that is empty"),
            ("1\n2\n3\n", 'let x: f32[3] = load_csv("r.csv")\nprint(x)', "f32[3] @cpu\n[1. 2. 3.]\n", "a column of rank 1"),
            ("1,2,3\n", 'let x: f32[N] = load("r.csv")\nprint(x)', "f32[3] @cpu\n[1. 2. 3.]\n", "a row of rank 1"),
            ("7\n", 'let x: u8[N] = load("r.csv")\nprint(x)', "u8[1] @cpu\n[7]\n", "a number of rank 1"),
            ("1\n2\n", 'let x = load_csv("r.csv")\nprint(x.shape)', "[2, 1]\n", "a column"),
            ('"1.5", "2"\n', 'let x = load_csv("r.csv")\nprint(x)', "f32[1, 2] @cpu\n[[1.5 2. ]]\n", "numbers in quotes"),
            ('"a, ""b""", 2020\r\n3,"4"\r\n', 'let x = load_csv("r.csv")\nprint(x)', "f32[1, 2] @cpu\n[[3. 4.]]\n", "commas in names"),
            ("1\r2\r3\r", 'let x: i8[3] = load_csv("r.csv")\nprint(x)', "i8[3] @cpu\n[1 2 3]\n", "lines that end in CR alone"),
            ("", 'let x: f32[N] = load_csv("r.csv")\nprint(x.shape)', "[0]\n", "nothing of rank 1"),
            ("0\n1e-400\nnan\n", 'let x: bool[3] = load_csv("r.csv")\nprint(x)', "bool[3] @cpu\n[false  true  true]\n", "bool")]:
        pathlib.Path("r.csv").write_text(text, encoding="utf-8")
        agree(script + "\n", printed, "csv: " + what)
    for text, declared, said in [("1,,3\n4,5,6\n", "f32[2, 3]", "an empty cell in row 1"),
                                 ("1,2\n3,\n", "f32[2, 2]", "an empty cell in row 2"),
                                 # The first row is no heading for numbers that are wrong in it.
                                 ("0x10,2\n3,4\n", "f32[2, 2]", "`0x10` in row 1"), ("1_000\n", "f32[1]", "`1_000` in row 1"), ("1;2\n3;4\n", "f32[2]", "`1;2` in row 1"),
                                 # Nor is one whose quote is open.
                                 ('1,"2\n3,4\n', "f32[1, 2]", "not closed in row 1"),
                                 ('1,2"\n', "f32[2]", "`2\"` in row 1"), ("1 2 3\n", "f32[1]", "`1 2 3` in row 1"), ("\xff\xfe1\0\n\0", "f32[1]", "UTF-16"), ("1,2\n3,4\n", "f32[4]", "f32[4]")]:
        pathlib.Path("r.csv").write_bytes(text.encode("latin-1"))
        done = run(f'let x: {declared} = load_csv("r.csv")\nprint(x)\n')
        expect(done.returncode in (1, 3) and said in done.stderr, f"csv: {said}: {done.returncode} {done.stderr[:200]}")
    for kind in ("i64", "u64"):
        x = np.array([np.iinfo(numpy_type(kind)).max, 2**53 + 1], numpy_type(kind))
        np.save("r.npy", x)
        agree(f'save("r.csv", load("r.npy"))\n', "", "csv out")
        agree(f'let x: {kind}[2] = load_csv("r.csv")\nprint(all(x == load("r.npy")))\n', "true\n", f"csv there and back, {kind}")


def destinations():
    """What stands where a file is saved."""
    if os.path.exists("/proc/cpuinfo"):  # it says that it is empty, and is not
        done = run('let x = load_bytes("/proc/cpuinfo")\nprint(x.shape)\n')
        expect(done.returncode == 1 and "has no known length" in done.stderr, f"load of /proc/cpuinfo: {done.stdout}{done.stderr[:200]}")
    os.mkfifo("pipe.npy")
    others = [("pipe.npy", stat.S_ISFIFO)]
    try:  # a device of our own: a save that goes wrong must not replace the machine's
        os.mknod("null.npy", stat.S_IFCHR | 0o600, os.makedev(1, 3))
        others.append(("null.npy", stat.S_ISCHR))
    except PermissionError:
        pass
    for engine in ("compiled", "interp"):
        for path, kept in others:
            done = run(f'save_bytes("{path}", u8([1, 2]))\n', "--engine", engine)
            expect(done.returncode == 3 and f"`{path}` is not a regular file" in done.stderr, f"save to {path}: {done.stderr[:200]}")
            expect(kept(os.stat(path).st_mode), f"{path} is no more what it was")
        for mode in (0o600, 0o644, 0o640):
            np.save("mode.npy", np.ones(3))
            os.chmod("mode.npy", mode)
            run('save("mode.npy", zeros([2]))\n', "--engine", engine)
            expect(stat.S_IMODE(os.stat("mode.npy").st_mode) == mode and np.load("mode.npy").shape == (2,), f"mode {mode:o}")
        os.makedirs("deep/er", exist_ok=True)
        for link, to in (("deep/link.npy", "er/file.npy"), ("deep/er/file.npy", "../last.npy")):
            if os.path.lexists(link): os.remove(link)
            os.symlink(to, link)
        for there in (False, True):
            if os.path.exists("deep/last.npy") and not there: os.remove("deep/last.npy")
            done = run('save("deep/link.npy", ones([5]))\n', "--engine", engine)
            expect(done.returncode == 0 and os.path.islink("deep/link.npy") and os.path.islink("deep/er/file.npy") and
                   np.load("deep/last.npy").shape == (5,), f"a link to {'a file' if there else 'nothing'}: {done.stderr[:200]}")
        if os.path.lexists("loop.npy"): os.remove("loop.npy")
        os.symlink("loop.npy", "loop.npy")
        done = run('save("loop.npy", ones([5]))\n', "--engine", engine)
        expect(done.returncode == 3 and "E0904" in done.stderr, f"a link to itself: {done.stderr[:200]}")


def many_leaves():
    """A tree is loaded in time in proportion to its leaves."""
    count = 4000
    x = {str(i): np.float32(i) for i in range(count)}
    np.savez("many.npz", **x)
    offsets = {str(i): {"dtype": "F32", "shape": [], "data_offsets": [4 * i, 4 * i + 4]} for i in range(count)}
    pathlib.Path("many.safetensors").write_bytes(safetensors(offsets, np.arange(count, dtype=np.float32).tobytes()))
    for ending in ("npz", "safetensors"):
        begin = os.times().children_user
        done = run(f'let t: [f32; {count}] = load("many.{ending}")\nprint(t[0], t[{count - 1}])\n')
        expect(done.returncode == 0 and done.stdout == f"0.0 {count - 1}.0\n", f"{count} leaves: {done.stderr[:200]}")
        used = os.times().children_user - begin
        expect(used < 10, f"{count} leaves of .{ending} take {used:.1f} s")
    done = run(f'let t: [f32; {count}] = load("many.npz")\nsave("again.npz", t)\n')
    again = np.load("again.npz")
    expect(len(again.files) == count and again[str(count - 1)] == count - 1, f"{count} entries saved: {done.stderr[:200]}")


def cut_short():
    """Files that others cut short while they are in use: an error, and neither a crash nor a wrong result."""
    x = np.ones(2_000_000, np.float32)  # large enough to be mapped
    writers = {"c.npy": lambda: np.save("c.npy", x), "c.npz": lambda: np.savez("c.npz", x=x),
               "packed.npz": lambda: np.savez_compressed("packed.npz", x=np.random.default_rng(0).random(1_000_000)),
               "column.npy": lambda: np.save("column.npy", np.asfortranarray(x.reshape(1000, -1))),
               "flags.npy": lambda: np.save("flags.npy", np.ones(8_000_000, bool)),
               "c.safetensors": lambda: pathlib.Path("c.safetensors").write_bytes(safetensors(
                   json.dumps({"x": {"dtype": "F32", "shape": [len(x)], "data_offsets": [0, x.nbytes]}}).encode().ljust(120),
                   x.tobytes())),  # its elements begin at 128, so that it is mapped
               "c.csv": lambda: pathlib.Path("c.csv").write_text("1.5\n" * 300_000)}
    begun = 'save("begun.npy", ones([1]))\n'
    once = lambda name: f'let x = load("{name}")\n' + begun
    uses = [("c.npy", once("c.npy") + "var s = 0.0\nfor i in 0..1000000 { s = s + sum(x * f32(i)) }\nprint(s)\n", "a kernel"),
            ("c.npy", once("c.npy") + "var s = 0.0\nfor i in 0..1000000 { s = s + sum(x[[i, 1999999 - i]]) }\nprint(s)\n", "rows"),
            ("c.npy", once("c.npy") + "for i in 0..1000000 { print(x) }\n", "print"),
            ("c.npy", once("c.npy") + 'for i in 0..1000000 { save("copy.npy", x) }\n', "save"),
            ("c.safetensors", once("c.safetensors") + "for i in 0..1000000 { assert sum(x * f32(i + 1)) > 0.0 }\n", "safetensors")]
    uses += [(name, begun + f'var s = 0.0\nfor i in 0..1000000 {{ s = s + f32(sum(f32(load("{name}")))) }}\nprint(s)\n', "load")
             for name in writers]
    for name, script, what in uses:
        for left in (0, 5000, 1_000_000):
            writers[name]()
            if os.path.exists("begun.npy"): os.remove("begun.npy")
            pathlib.Path("script.tl").write_text(script)
            process = subprocess.Popen([*TENC, "script.tl"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            end = time.monotonic() + 60
            while not os.path.exists("begun.npy") and process.poll() is None and time.monotonic() < end: time.sleep(0.01)
            time.sleep(0.02 if left == 0 else 0.05)
            os.truncate(name, left)
            try:
                stderr = process.communicate(timeout=60)[1]
            except subprocess.TimeoutExpired:
                process.kill()
                stderr = process.communicate()[1] + " (takes too long)"
            expect(process.returncode == 3 and "E0904" in stderr and f"{name}`" in stderr or "copy.npy`" in stderr,
                   f"{name} cut to {left}, {what}: status {process.returncode}, {stderr[:300]!r}")
            if what == "save":
                expect(np.array_equal(np.load("copy.npy"), x), f"{name} cut to {left}: what was saved before is not whole")


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
    small = io.BytesIO()
    np.save(small, np.zeros(2, np.float32))
    for method in (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED):
        refused(archive([("v.npy", small.getvalue() + b"\0" * 1_000_000)], method), "a.npz", "npz: more than its shape")
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
        for part in (npy_round_trips, named_round_trips, pictures, pixels_as_they_are, packed_texts, numbers_of_csv,
                     rows_of_csv, destinations, cut_short, many_leaves, npy_attacks, safetensors_attacks, npz_attacks, sandbox):
            part()
        left = [str(p) for p in pathlib.Path(".").rglob("*.part")]
        expect(not left, f"left behind: {left}")
        os.chdir("/")
    print("\n".join(FAILED) or "all files are well")
    sys.exit(1 if FAILED else 0)


if __name__ == "__main__":
    main()
