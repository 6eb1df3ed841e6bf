#!/usr/bin/env python3
"""Draws what the training examples print: examples/curves.py --tenc build/release/bin/tenc [--only NAME]

Runs each example in this folder and writes docs/pictures/NAME.svg: the numbers of its lines `step 40: loss 0.51, rate 0.1`,
each name in a panel of its own, losses and errors on a logarithmic axis. The pictures that examples save are copied to
docs/pictures. Needs nothing but Python."""
import argparse, math, pathlib, re, shutil, subprocess, sys

HERE = pathlib.Path(__file__).resolve().parent
PICTURES = HERE.parent / "docs/pictures"
EXAMPLES = {"digits_nn": [], "digits_lenet": [], "digits_vae": [], "gpt": [], "pinn": [], "curve_fit": [],
            "two_devices": ["--virtual", "cuda=2"]}
SAVED = {"digits_vae": "vae.png", "mandelbrot": "mandelbrot.png", "image_filter": "edges.png"}
LINE = re.compile(r"(\w+) (\d+): (.*)")
PAIR = re.compile(r"(\w+) (-?[\d.]+(?:e[-+]?\d+)?)")
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 340, 220, 52, 14, 26, 34


def curves(text):
    """(what is counted, {name: [(count, value)]}) of what an example prints."""
    counted, found = "step", {}
    for line in text.splitlines():
        if m := LINE.fullmatch(line):
            counted = m[1]
            for name, value in PAIR.findall(m[3]): found.setdefault(name, []).append((int(m[2]), float(value)))
    return counted, found


def ticks(low, high, is_log):
    """Values to mark on an axis."""
    if is_log:
        powers = [10.0 ** k for k in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]
        marks = powers if high / low >= 100 else sorted(m * p for p in powers for m in (1, 2, 5))
        return [m for m in marks if low <= m <= high]
    step = 10 ** math.floor(math.log10((high - low) / 3 or 1))
    step *= next(m for m in (1, 2, 5, 10) if (high - low) / (m * step) <= 5)
    return [k * step for k in range(math.ceil(low / step), math.floor(high / step + 1e-9) + 1)]


def panel(x0, counted, name, points):
    """One curve with its axes, as SVG."""
    is_log = name in ("loss", "error")
    scale = math.log10 if is_log else float
    (left, right), values = (points[0][0], points[-1][0]), [v for _, v in points]
    low, high = min(values), max(values)
    if low == high: high = low + 1
    x = lambda n: x0 + LEFT + (n - left) / max(right - left, 1) * (WIDTH - LEFT - RIGHT)
    y = lambda v: TOP + (scale(high) - scale(v)) / (scale(high) - scale(low)) * (HEIGHT - TOP - BOTTOM)
    out = [f'<text x="{x0 + LEFT}" y="16" font-weight="bold">{name}</text>']
    for v in ticks(low, high, is_log):
        out.append(f'<path d="M{x0 + LEFT} {y(v):.1f}H{x0 + WIDTH - RIGHT}" stroke="#8886"/>')
        out.append(f'<text x="{x0 + LEFT - 6}" y="{y(v) + 4:.1f}" text-anchor="end">{v:g}</text>')
    for n in ticks(left, right, False):
        out.append(f'<text x="{x(n):.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{n:g}</text>')
    out.append(f'<text x="{x0 + (LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 4}" text-anchor="middle">{counted}</text>')
    line = " ".join(f"{x(n):.1f},{y(v):.1f}" for n, v in points)
    return out + [f'<polyline points="{line}" fill="none" stroke="#3b7dd8" stroke-width="1.8"/>']


def picture(counted, found):
    body = [line for i, (name, points) in enumerate(found.items()) for line in panel(i * WIDTH, counted, name, points)]
    size = f'width="{WIDTH * len(found)}" height="{HEIGHT}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="11" fill="#777">\n' + "\n".join(body) + "\n</svg>\n"


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--tenc", default="tenc")
    ap.add_argument("--only", default="")
    A = ap.parse_args()
    tenc = str(pathlib.Path(A.tenc).resolve()) if "/" in A.tenc else A.tenc
    for name in {**EXAMPLES, **SAVED}:
        if A.only not in name: continue
        run = subprocess.run([tenc, name + ".tl", *EXAMPLES.get(name, [])], cwd=HERE, capture_output=True, text=True)
        if run.returncode: sys.exit(run.stderr)
        if name in EXAMPLES: (PICTURES / f"{name}.svg").write_text(picture(*curves(run.stdout)))
        if name in SAVED: shutil.copy(HERE / SAVED[name], PICTURES)


if __name__ == "__main__":
    main()
