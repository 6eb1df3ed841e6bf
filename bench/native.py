#!/usr/bin/env python3
"""Native loops of tenc against the same loops in C and in Python compiled by Numba.

    python bench/native.py [--tenc build/release/bin/tenc] [--clang clang-19] [--peers clang,numba] [--only NAME,...]
                           [--rounds 9] [--seconds 0.05] [--least] [--check]

Needs numpy, and numba for that peer, which is left out where it is not installed. bench/native holds each workload as TL; in the .c
files as C with `restrict` pointers, which clang compiles with -O2 and with -O3, both for this processor; and in the .py files for
Numba, without fastmath. Inputs come from seed 0. The results must be the same bits before anything is timed. Then
rounds are interleaved: each peer for some time, tenc's `bench` block as long, in its own process, all on one thread, each in batches of
about 20 ms whose means count; figures are medians over the rounds of each round's median. With --least they are least times, which say more on a machine that has other
work. `ratio` is the fastest peer's time divided by tenc's. --check fails where a ratio
is below 1.0, the geometric mean below 1.1, or a loop with a `break` slower than the same test in the condition.
"""
import argparse, ctypes, glob, importlib.util, json, math, os, subprocess, sys, tempfile, time

import numpy as np

ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
ap.add_argument("--tenc", default="build/release/bin/tenc")
ap.add_argument("--clang", default="clang-19")
ap.add_argument("--peers", default="clang,numba", help="those to run, separated by commas")
ap.add_argument("--only", default="")
ap.add_argument("--rounds", type=int, default=9)
ap.add_argument("--seconds", type=float, default=0.05)
ap.add_argument("--threads", type=int, default=1, help="tenc's; the peers have one")
ap.add_argument("--least", action="store_true")
ap.add_argument("--check", action="store_true")
A = ap.parse_args()
HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "native")
LEVELS = ("-O2", "-O3")
f32, f64, u8, i32, i64 = np.float32, np.float64, np.uint8, np.int32, np.int64


def whole(low, high, shape, dtype=i64): return lambda r: r.integers(low, high, shape).astype(dtype)
def between(low, high, shape): return lambda r: r.uniform(low, high, shape).astype(f32)
def normal(shape, dtype=f64): return lambda r: r.standard_normal(shape).astype(dtype)


def sparse(r):
    starts = np.concatenate([[0], np.sort(r.integers(0, 1600001, 99999)), [1600000]])
    return [r.standard_normal(1600000).astype(f32), r.integers(0, 100000, 1600000).astype(i32), starts.astype(i32),
            r.standard_normal(100000).astype(f32)]


def graph(r):
    starts = np.concatenate([[0], np.sort(r.integers(0, 600001, 99999)), [600000]])
    return [starts.astype(i64), r.integers(0, 100000, 600000)]


def pages(r):
    return [np.concatenate([[0], np.sort(r.integers(0, 160001, 19999)), [160000]]), r.integers(0, 20000, 160000), r.random(20000)]


def roads(r): return [*r.integers(0, 2000, (2, 30000)), r.random(30000)]


def waves(r):
    angles = -2 * np.pi * np.arange(8192) / 16384
    return [*r.standard_normal((2, 16384)), np.cos(angles), np.sin(angles)]


def states(r):
    """Logarithms of chances: of 24 states at the start, of what follows each, of 16 signs in each; then the signs seen."""
    return [np.log(r.random(24)), np.log(r.random((24, 24))), np.log(r.random((24, 16))), r.integers(0, 16, 4000)]


def coded(r): return [np.minimum(r.integers(1, 20, 200000), 10), r.integers(0, 256, 200000).astype(u8)]


def alike(r):
    """Two texts of which one is the other with some letters changed."""
    text = r.integers(0, 4, 20000).astype(u8)
    other = text.copy()
    other[r.integers(0, 20000, 1000)] = r.integers(0, 4, 1000)
    return [text, other]


def words(r):
    """Bytes of a text: letters, blanks, ends of lines."""
    letters = np.frombuffer(b"etaoinshrdlcumwfgypbvk     \n\t", u8)
    return [letters[r.integers(0, len(letters), 2000000)]]


def dominant(side, more=0):
    """Equations that need no pivots."""
    return lambda r: r.standard_normal((side, side + more)) + 2 * side * np.eye(side, side + more)


def runs(r): return [np.repeat(r.integers(0, 4, 400000), r.integers(1, 12, 400000)).astype(u8)[:2000000]]


def tridiagonal(r):
    n = 500000
    return [r.standard_normal(n), 4 + r.random(n), r.standard_normal(n), r.standard_normal(n)]


def every(*makers): return lambda r: [m(r) for m in makers]


WORKLOADS = {  # inputs, and the result's dtype and shape
    "gauss_seidel": (every(normal((1024, 1024), f32)), f32, (1024, 1024)),
    "common_subsequence": (every(whole(0, 4, 4096, i32), whole(0, 4, 4096, i32)), i32, (4097, 4097)),
    "histogram": (every(whole(0, 256, 1 << 22, u8)), i64, (256,)),
    "crc32": (every(whole(0, 256, 1 << 22, u8)), np.uint32, ()),
    "sparse_product": (sparse, f32, (100000,)),
    "sieve": (lambda r: [np.ones(4000000, bool)], bool, (4000000,)),
    "edit_distance": (every(whole(0, 26, 3000), whole(0, 26, 3000)), i64, (3001,)),
    "matrix_chain": (every(whole(1, 100, 301)), i64, (300, 300)),
    "collatz": (lambda r: [np.arange(1, 100001)], i64, (100000,)),
    "quicksort": (every(normal(300000)), f64, (300000,)),
    "binary_search": (lambda r: [np.sort(r.integers(0, 1 << 30, 100000)), r.integers(0, 1 << 30, 300000)], i64, (300000,)),
    "word_count": (words, i64, (3,)),
    "knapsack": (every(whole(1, 1000, 200), whole(1, 1000, 200)), i64, (20001,)),
    "union_find": (every(whole(0, 300000, 400000), whole(0, 300000, 400000)), i64, (300000,)),
    "breadth_first": (graph, i64, (100000,)),
    "queens": (lambda r: [np.array([9])], i64, (1,)),
    "product_ijk": (every(normal((192, 256), f32), normal((256, 320), f32)), f32, (192, 320)),
    "product_ikj": (every(normal((192, 256), f32), normal((256, 320), f32)), f32, (192, 320)),
    "lu": (every(dominant(200)), f64, (200, 200)),
    "kmp": (every(whole(0, 2, 2000000, u8), whole(0, 2, 12, u8)), i64, (2,)),
    "kadane": (every(normal(2000000, f32)), f32, (1,)),
    "hash_table": (every(whole(0, 150000, 500000)), i64, (262144,)),
    "gcd": (every(whole(1, 1 << 40, 200000), whole(1, 1 << 40, 200000)), i64, (200000,)),
    "run_lengths": (runs, u8, (4000000,)),
    "gaussian_elimination": (every(dominant(200, 1)), f64, (200,)),
    "heap_sort": (every(normal(200000, f32)), f32, (200000,)),
    "xorshift": (lambda r: [np.array([88172645463325252], np.uint64)], i64, (1,)),
    "mandelbrot": (lambda r: [np.array([-2.25, -1.0])], i64, (120, 160)),
    "mandelbrot_while": (lambda r: [np.array([-2.25, -1.0])], i64, (120, 160)),
    "tridiagonal": (tridiagonal, f64, (500000,)),
    "automaton": (every(whole(0, 256, 2000000, u8), whole(0, 64, (64, 256), i32), whole(0, 2, 64, i32)), i64, (1,)),
    "floyd_warshall": (every(whole(1, 1000, (160, 160))), i64, (160, 160)),
    "convolution": (every(normal(100015, f32), normal(16, f32)), f32, (100000,)),
    "bit_counts": (every(whole(0, 1 << 40, 200000)), i64, (1,)),
    "trapped_rain": (every(whole(0, 1000, 1000000)), i64, (1,)),
    "selection_sort": (every(normal(3000)), f64, (3000,)),
    "insertion_sort": (every(whole(0, 1000000, 4000)), i64, (4000,)),
    "sliding_maximum": (every(whole(0, 1000000, 500000)), i64, (500000,)),
    "coin_change": (lambda r: [np.array([1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000])], i64, (100001,)),
    "jacobi": (every(normal((300, 300), f32)), f32, (300, 300)),
    "bellman_ford": (roads, f64, (2000,)),
    "closure": (lambda r: [r.random((200, 200)) < 0.02], bool, (200, 200)),
    "page_rank": (pages, f64, (20000,)),
    "fft": (waves, f64, (2, 16384)),
    "smith_waterman": (every(whole(0, 4, 1500, u8), whole(0, 4, 1500, u8)), i32, (1,)),
    "viterbi": (states, i64, (4000,)),
    "lru": (lambda r: [np.minimum(r.zipf(1.2, 500000), 4095).astype(i64)], i64, (1,)),
    "run_decode": (coded, u8, (2000000,)),
    "moving_median": (every(normal(100000)), f64, (100000,)),
    "banded_distance": (alike, i64, (1,)),
    "huffman": (lambda r: [np.sort(r.integers(1, 1000000, 200000))], i64, (200000,)),
    "subset_sums": (every(whole(1, 600, 100)), np.uint64, (1024,)),
    "radix_sort": (every(whole(0, 1 << 32, 300000, np.uint32)), np.uint32, (300000,)),
    "affine_8": (every(normal(8, f32), between(.8, .95, 8), normal(8, f32)), f32, (8,)),
    "affine_100": (every(normal(100, f32), between(.8, .95, 100), normal(100, f32)), f32, (100,)),
    "heat_64": (every(normal(64, f32)), f32, (64,)),
    "lorenz_3": (every(between(1, 2, 3)), f32, (3,)),
    "logistic_map_50": (every(between(.1, .9, 50)), f32, (50,)),
    "adam_10": (every(normal(10, f32), normal(10, f32)), f32, (10,)),
    "matvec_8": (every(between(-.5, .5, (8, 8)), normal(8, f32)), f32, (8,)),
}


def median(values): return min(values) if A.least else sorted(values)[len(values) // 2]


def mean(function, runs):
    """Of some calls, in ms."""
    start = time.perf_counter()
    for _ in range(runs): function()
    return (time.perf_counter() - start) / runs * 1e3


def batches(function):
    """Means of about 20 ms each, as those of `tenc bench`."""
    once = max(1e-4, mean(function, 1))
    runs = min(max(int(20 / once), 1), 1000)
    return [mean(function, runs) for _ in range(min(max(int(A.seconds * 1e3 / (once * runs)), 5), 101))]


def clang_versions(folder):
    """The C versions as functions of a workload's name, which take the arrays and the result."""
    made = {}
    for level in LEVELS:
        at = f"{folder}/kernels{level}.so"
        subprocess.run([A.clang, level, "-march=native", "-ffp-contract=off", "-fno-math-errno", "-shared", "-fPIC", "-o", at,
                        *sorted(glob.glob(f"{HERE}/*.c"))], check=True)
        library = ctypes.CDLL(at)
        def version(name, arrays, library=library):
            pointers = [ctypes.c_void_p(a.ctypes.data) for a in arrays]
            return lambda f=getattr(library, name): f(*pointers)
        made[f"clang {level}"] = version
    return made


def numba_version():
    """The same with Numba, or nothing where it is not installed."""
    if not importlib.util.find_spec("numba"):
        print("# numba is not installed, so it is left out", flush=True)
        return {}
    functions = {}
    for path in sorted(glob.glob(f"{HERE}/*.py")):
        spec = importlib.util.spec_from_file_location("native_" + os.path.splitext(os.path.basename(path))[0], path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        functions.update({name: getattr(module, name) for name in WORKLOADS if hasattr(module, name)})
    return {"numba": lambda name, arrays: (lambda f=functions[name]: f(*arrays)) if name in functions else None}


def run(name, peers, folder):
    """The times of the peers, in their order (NaN: it has not this one), and tenc's, in ms; or what is wrong."""
    make, dtype, shape = WORKLOADS[name]
    inputs = [np.ascontiguousarray(a) for a in make(np.random.default_rng(0))]
    for i, a in enumerate(inputs): np.save(f"{folder}/in{i}.npy", a)
    result = np.empty(shape, dtype)
    functions = {peer: f for peer, version in peers.items() if (f := version(name, [*inputs, result]))}
    script = os.path.join(HERE, name + ".tl")
    r = subprocess.run([A.tenc, script, "--dir", folder, "--threads", str(A.threads)], capture_output=True, text=True)
    if r.returncode: return r.stderr.strip()[:300]
    ours = np.load(f"{folder}/tenc.npy")
    for peer, function in functions.items():
        result.view(u8 if shape else dtype).fill(1)
        function()
        if ours.tobytes() != result.tobytes(): return f"the results of {peer} differ"
    times = [[] for _ in range(len(functions) + 1)]
    for _ in range(A.rounds):
        for function, all_ in zip(functions.values(), times):
            all_.append(median(batches(function)))
        r = subprocess.run([A.tenc, "bench", script, "--json", "--seconds", str(A.seconds), "--threads", str(A.threads), "--dir", folder],
                           capture_output=True, text=True)
        times[-1].append(json.loads(r.stdout.splitlines()[-1])["min_ms" if A.least else "median_ms"])
    found = dict(zip(functions, map(median, times)))
    return [*(found.get(peer, math.nan) for peer in peers), median(times[-1])]


def main():
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:A.threads])
    failed, ratios, ours = False, {}, {}
    with tempfile.TemporaryDirectory() as folder:
        wanted = A.peers.split(",")
        peers = {**(clang_versions(folder) if "clang" in wanted else {}), **(numba_version() if "numba" in wanted else {})}
        if not peers: return "no peer to compare with"
        print(f"| loop (ms) | {' | '.join(peers)} | tenc | ratio |\n|{'---|' * (len(peers) + 3)}", flush=True)
        for name in A.only.split(",") if A.only else WORKLOADS:
            r = run(name, peers, folder)
            if isinstance(r, str):
                failed = True
                print(f"| {name} | {r} |", flush=True)
                continue
            ours[name] = r[-1]
            measured = [t for t in r[:-1] if t == t]
            if measured: ratios[name] = min(measured) / r[-1]
            ratio = f"{ratios[name]:.2f}" if measured else ""
            print(f"| {name} | {' | '.join(f'{t:.3f}' if t == t else '' for t in r)} | {ratio} |", flush=True)
    if not ratios: return failed
    overall = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
    behind = [name for name, ratio in ratios.items() if ratio < 1.0]
    print(f"\nGeometric mean {overall:.2f} of {len(ratios)} loops; {len(behind)} below 1.0.")
    if not A.check: return failed
    slower = "mandelbrot" in ours and "mandelbrot_while" in ours and ours["mandelbrot"] > 1.03 * ours["mandelbrot_while"]
    if slower: print("The loop with a `break` is slower than the one with the test in its condition.")
    return failed or bool(behind) or overall < 1.1 or slower


if __name__ == "__main__": sys.exit(main())
