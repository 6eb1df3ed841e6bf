#!/usr/bin/env python3
"""Random PNG files, made byte by byte, against the pixels that they hold.

    python pictures.py --tenc PATH [--count 60] [--first 0] [--keep DIR]

All colour types and depths, interlaced or not, with any filter in each row, palettes, transparent colours, and chunks that
say how pixels should look (gamma, colours, significant bits, background), which must not change them. Samples of 16 bits
are rounded to 8, those of fewer are scaled. Closes with `N passed, N failed`."""
import random
import struct
import sys
import tempfile
import zlib

import numpy as np

import harness

CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
DEPTHS = {0: [1, 2, 4, 8, 16], 2: [8, 16], 3: [1, 2, 4, 8], 4: [8, 16], 6: [8, 16]}
PASSES = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]


def chunk(kind, data): return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def packed(samples, bits):
    """A row of samples as bytes."""
    if bits == 16: return b"".join(struct.pack(">H", v) for v in samples)
    text = "".join(f"{v:0{bits}b}" for v in samples)
    text += "0" * (-len(text) % 8)
    return bytes(int(text[i:i + 8], 2) for i in range(0, len(text), 8))


def filtered(row, above, step, kind):
    out = bytearray([kind])
    for i, x in enumerate(row):
        a, b, c = row[i - step] if i >= step else 0, above[i], above[i - step] if i >= step else 0
        p = a + b - c
        nearest = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
        out.append((x - [0, a, b, (a + b) // 2, nearest][kind]) % 256)
    return bytes(out)


def image(rows, bits, r):
    """The rows of one pass."""
    data, above = b"", None
    for row in rows:
        if not row: continue
        raw = packed([v for pixel in row for v in pixel], bits)
        above = above if above is not None else bytes(len(raw))
        data += filtered(raw, above, max(1, len(row[0]) * bits // 8), r.randrange(5))
        above = raw
    return data


def picture(seed):
    """The file, and its pixels as they are loaded."""
    r = random.Random(seed)
    colour = r.choice(list(CHANNELS))
    bits, width, height = r.choice(DEPTHS[colour]), r.randint(1, 20), r.randint(1, 20)
    palette = [[r.randrange(256) for _ in range(3)] for _ in range(r.randint(1, 1 << bits))] if colour == 3 else None
    top = len(palette) if palette else 1 << bits
    pixels = [[[r.randrange(top) for _ in range(CHANNELS[colour])] for _ in range(width)] for _ in range(height)]
    chunks, clear = [], None
    if r.random() < 0.3: chunks.append((b"gAMA", struct.pack(">I", r.choice([45455, 100000, 22222, 200000]))))
    if r.random() < 0.2: chunks.append((b"sRGB", b"\0"))
    if r.random() < 0.2: chunks.append((b"cHRM", struct.pack(">8I", 31270, 32900, 64000, 33000, 30000, 60000, 15000, 6000)))
    if r.random() < 0.2 and not palette: chunks.append((b"sBIT", bytes([max(1, bits - 1)]) * CHANNELS[colour]))
    if palette: chunks.append((b"PLTE", bytes(v for p in palette for v in p)))
    elif colour in (2, 6) and r.random() < 0.2: chunks.append((b"PLTE", bytes(r.randrange(256) for _ in range(30))))
    if colour in (0, 2, 3) and r.random() < 0.4:
        clear = [r.randrange(256) for _ in range(r.randint(1, len(palette)))] if palette else list(pixels[0][0])
        chunks.append((b"tRNS", bytes(clear) if palette else b"".join(struct.pack(">H", v) for v in clear)))
    if r.random() < 0.2 and not palette: chunks.append((b"bKGD", b"\0\1" * (1 if colour in (0, 4) else 3)))
    interlaced = r.random() < 0.4
    passes = PASSES if interlaced else [(0, 0, 1, 1)]
    data = zlib.compress(b"".join(image([row[x::dx] for row in pixels[y::dy]], bits, r) for x, y, dx, dy in passes))
    cut = r.randint(0, len(data))
    head = struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, interlaced)
    parts = [(b"IHDR", head), *chunks, (b"IDAT", data[:cut]), (b"IDAT", data[cut:]), (b"IEND", b"")]

    def loaded(pixel):
        if palette: return palette[pixel[0]] + ([] if clear is None else [clear[pixel[0]] if pixel[0] < len(clear) else 255])
        scaled = [(v * 255 + 32767) // 65535 if bits == 16 else v * 255 // ((1 << bits) - 1) for v in pixel]
        return scaled + ([] if clear is None else [0 if pixel == clear else 255])
    array = np.array([[loaded(p) for p in row] for row in pixels], np.uint8)
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*p) for p in parts), array[:, :, 0] if array.shape[2] == 1 else array


def case(a, seed):
    data, want = picture(seed)
    files = {f"picture{seed}.tl": f'let p: u8{list(want.shape)} = load("p.png")\nsave("p.npy", p)\n'}
    with tempfile.TemporaryDirectory() as d:
        with open(f"{d}/p.png", "wb") as f: f.write(data)
        _, problem = harness.run(a, d, files)
        if problem: return problem, files
        got = np.load(f"{d}/p.npy")
    if np.array_equal(got, want): return None, files
    at = tuple(np.argwhere(got != want)[0])
    return f"pixel {at} is {got[at]}, not {want[at]}", files


if __name__ == "__main__": sys.exit(harness.main(__doc__, case, count=60))
