#!/usr/bin/env python3
"""Planted mistakes: do the tests notice?

    python run.py --build FOLDER [--only NAME...] [--from N] [--to N]     plant each, build, run the suites
    python run.py --build FOLDER --random 5 [--seed TEXT]                 some, drawn by a text: of the checked-out commit
    python run.py --build FOLDER --all                                    also the suites after the first that fails
    python run.py --check                                                 whether each can be planted

Every NAME.mutant here is one mistake: what it is, the suite that notices it, what the processor must have for the code to
be reached (`needs`, where there is such a thing; `nvrtc`: the library that setup.sh installs), and, between the lines `was`, `is` and `end`, a piece of code and what
to put in its place. The piece stands once in the sources of the compiler, whatever the file, its line or
the blanks in it, so that a mutant outlives most changes; where it does not, `--check` says so, and its piece is to be
brought up to date in step with the code; so does it where the table of docs/testing.md names another suite.

It is planted in a copy of the sources (the checkout stays as it is), which is built incrementally. Its own suite runs
first, then the others until one fails. Before all that, each suite that is needed runs with nothing planted, and must
pass. `--build` names the folder for the copy and its build; the first build is a whole one, each later one a file and a
link. A mutant that no suite notices is a failure. Ends with `N caught, N missed`."""
import argparse
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
FOLDERS = ("support", "ir", "grammar", "syntax", "transforms", "frontend", "interp", "passes", "codegen", "runtime", "tools")
# In order of how soon each finds something. `unit.NAME` is a suite too, where a mutant names it.
SUITES = ["programs", "lit", "programs.full", "programs.unfused", "kernels", "cache", "threads", "programs.virtual", "devices", "fuzz", "numerics"]


def read(path):
    """The mistake of a file, as a dictionary: name, about, suite, was, is."""
    text = path.read_text()
    match = re.fullmatch(r"# ([^\n]*)\nsuite (\S+)\n(?:needs (\w+)\n)?was\n(.*?)is\n(.*?)end\n", text, re.S)
    if not match: sys.exit(f"{path.name}: not of the form that the docstring of run.py gives")
    return dict(name=path.stem, about=match[1], suite=match[2], needs=match[3], was=match[4], now=match[5])


def pattern(code):
    """A piece of code with any blanks between its words, and none or some beside punctuation."""
    words = re.findall(r"\w+|[^\w\s]", code)
    out = []
    for i, word in enumerate(words):
        both = i and re.match(r"\w", words[i - 1]) and re.match(r"\w", word)
        out.append(("" if not i else r"\s+" if both else r"\s*") + re.escape(word))
    return re.compile("".join(out))


def sources(root):
    return [p for folder in FOLDERS for p in sorted((root / folder).rglob("*")) if p.suffix in (".cpp", ".h", ".def")]


def find(mutant, texts):
    """Where a mutant belongs: the file and the match; or what is wrong, as text."""
    wanted = pattern(mutant["was"])
    found = [(path, m) for path, text in texts.items() for m in wanted.finditer(text)]
    return found[0] if len(found) == 1 else f"its piece stands {len(found)} times in the sources"


def check(mutants):
    texts = {p: p.read_text() for p in sources(ROOT)}
    wrong = [f"{m['name']}: {found}" for m in mutants if isinstance(found := find(m, texts), str)]
    told = dict(re.findall(r"`(\w+)` \| `([\w.]+)` \|", (ROOT / "docs/testing.md").read_text()))
    wrong += [f"{m['name']}: docs/testing.md does not say that {m['suite']} catches it" for m in mutants if told.get(m["name"]) != m["suite"]]
    wrong += [f"{m['name']}: nothing runs {m['suite']}" for m in mutants if not m["suite"].startswith("unit.") and m["suite"] not in commands(ROOT, "", 1)]
    print("\n".join(wrong + [f"{len(mutants) - len(wrong)} of {len(mutants)} mutants can be planted"]))
    return bool(wrong)


def commands(root, binaries, fuzz_programs):
    """What runs each suite but the unit tests, behind the interpreter of Python."""
    tenc, opt = f"{binaries}/tenc", f"{binaries}/tenc-opt"
    tests = root / "tests"
    lit = next((p for p in map(shutil.which, ("lit", "llvm-lit")) if p), "/usr/lib/llvm-19/build/utils/lit/lit.py")
    return {
        # Without the tests of the tool: they depend on time, and on nothing that is planted.
        "lit": [lit, "-q", "--filter-out=repl/|driver/", f"--param=bin={binaries}", str(tests)],
        "programs": [str(tests / "run_programs.py"), "--tenc", tenc, str(tests / "run")],
        "programs.unfused": [str(tests / "run_programs.py"), "--tenc", tenc, "--with=--no-fuse", str(tests / "run")],
        "programs.full": [str(tests / "run_programs.py"), "--tenc", tenc, "--with=--code=full", str(tests / "run")],
        "programs.virtual": [str(tests / "virtual_devices.py"), "--tenc", tenc, str(tests / "run")],
        "cuda.programs": [str(tests / "cuda/programs.py"), "--tenc", tenc, "--driver", f"{binaries}/../cuda_vm/libcuda.so.1", "--only", "of_", str(tests / "run")],
        "cublaslt.products": [str(tests / "cuda/products.py"), "--tenc", tenc, "--driver", f"{binaries}/../cuda_vm/libcuda.so.1", "--products", f"{binaries}/../cuda_vm/libcublasLt.so.13"],
        "cusolver.calls": [str(tests / "cuda/solver.py"), "--tenc", tenc, "--driver", f"{binaries}/../cuda_vm/libcuda.so.1", "--solver", f"{binaries}/../cuda_vm/libcusolver.so.12"],
        "cuda.control": [str(tests / "cuda/control.py"), "--tenc", tenc, "--driver", f"{binaries}/../cuda_vm/libcuda.so.1"],
        "cuda.kernels": [str(tests / "cuda/programs.py"), "--tenc", tenc, "--driver", f"{binaries}/../cuda_vm/libcuda.so.1", "--order", "turns", str(tests / "cuda/scatters"), str(tests / "cuda/shapes")],
        "cuda.halves": [str(tests / "cuda/programs.py"), "--tenc", tenc, "--driver", f"{binaries}/../cuda_vm/libcuda.so.1", "--mode", "lazy", str(tests / "cuda/halves")],
        "cuda.channels_last": [str(tests / "cuda/programs.py"), "--tenc", tenc, "--driver", f"{binaries}/../cuda_vm/libcuda.so.1", "--mode", "lazy", "--channels-last",
                               "--only", "convolutions", str(tests / "cuda/halves")],
        "cuda.graphs": [str(tests / "cuda/graphs.py"), "--tenc", tenc, "--driver", f"{binaries}/../cuda_vm/libcuda.so.1"],
        "kernels": [str(tests / "run_programs.py"), "--tenc", tenc, str(tests / "kernels")],
        "cache": [str(tests / "cache.py"), "--tenc", tenc],
        "rows": [str(tests / "driver/read_rows.py"), tenc],  # one of the tool's tests that depends on no time
        "threads": [str(tests / "threads.py"), "--tenc", tenc],
        "fuzz": [str(tests / "fuzz/fuzz.py"), "--tenc", tenc, "--count", str(fuzz_programs), "--fail-fast"],
        "gradients": [str(tests / "gradients/run.py"), "--tenc", tenc],
        "fuzz.gradients": [str(tests / "fuzz/fuzz.py"), "--tenc", tenc, "--gradients", "--ways", "1", "--count", str(fuzz_programs), "--fail-fast"],
        "fuzz.overwrites": [str(tests / "fuzz/overwrites.py"), "--tenc", tenc, "--count", "200"],
        "fuzz.tensor_loops": [str(tests / "fuzz/tensor_loops.py"), "--tenc", tenc, "--count", "60"],
        "devices": [str(tests / "fuzz/devices.py"), "--tenc", tenc, "--count", "60"],
        "numerics": [str(tests / "numerics/ops.py"), "--tenc", tenc, "--interp", opt],
    }


def command(suite, root, binaries, fuzz_programs):
    if suite.startswith("unit."): return [f"{binaries}/{suite[5:]}"]
    return [sys.executable, *commands(root, binaries, fuzz_programs)[suite]]


def nvrtc():
    """What setup.sh has installed, or null."""
    return next(iter(sorted((ROOT / "build/nvrtc").glob("libnvrtc.so.*"))), None)


def build(folder, suites):
    """Builds what the suites run; what went wrong, or None."""
    made = folder / "build/release"
    environment = dict(os.environ, CCACHE_BASEDIR=str(folder), CCACHE_NOHASHDIR="1")
    steps = []
    if not (made / "build.ninja").exists():
        steps.append(["cmake", "-S", str(folder), "-B", str(made), "-G", "Ninja", "-DCMAKE_C_COMPILER=clang-19", "-DCMAKE_CXX_COMPILER=clang++-19",
                      "-DCMAKE_BUILD_TYPE=Release", "-DTENC_STATIC=ON"])
    targets = {t for s in suites for t in ([s[5:]] if s.startswith("unit.") else ["tenc", "cuda_vm", "cublaslt_vm", "cusolver_vm"] if s.startswith(("cuda.", "cublaslt.", "cusolver.")) else ["tenc", "tenc-opt"])}
    steps.append(["cmake", "--build", str(made), "--target", *sorted(targets)])
    for step in steps:
        run = subprocess.run(step, capture_output=True, text=True, env=environment)
        if run.returncode: return run.stdout[-3000:] + run.stderr[-2000:]
    return None


def copy(folder):
    folder.mkdir(parents=True, exist_ok=True)
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    names = set(filter(None, files.split("\0")))
    # A file that has gone since the folder was last used would still be built.
    for path in folder.rglob("*"):
        inside = path.relative_to(folder)
        if inside.parts[0] != "build" and path.is_file() and str(inside) not in names: path.unlink()
    for name in names:
        source, target = ROOT / name, folder / name
        if source.is_file() and not (target.exists() and target.read_bytes() == source.read_bytes()):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)


def run_suite(args, folder, suite):
    """Why a suite fails, as a line, or None. One that hangs has noticed something."""
    wanted = command(suite, folder, folder / "build/release/bin", args.programs)
    environment = dict(os.environ, TENC_CACHE_DIR="", TENC_VERIFY="1")
    if suite.startswith(("cuda.", "cublaslt.", "cusolver.")): environment["TENC_NVRTC"] = str(nvrtc())
    try: run = subprocess.run(wanted, cwd=folder, capture_output=True, text=True, errors="replace", timeout=args.timeout, env=environment)
    except subprocess.TimeoutExpired: return f"no end after {args.timeout} s"
    if run.returncode == 0: return None
    lines = [l.strip() for l in (run.stdout + run.stderr).splitlines() if re.search(r"\w", l)]
    told = [l for l in lines if "tenc :: " in l or re.search(r"FAILED|Failure", l)] or lines
    return (told or [f"exit status {run.returncode}"])[0][:160]


def caught(args, folder, mutant):
    """The suites that fail, in order, and the first one's message."""
    failed, message = [], ""
    for suite in [mutant["suite"], *(s for s in args.suites if s != mutant["suite"])]:
        problem = build(folder, [suite])
        if problem: return [], f"cannot be built\n{problem}"
        problem = run_suite(args, folder, suite)
        if problem is None: continue
        message = message or problem
        failed.append(suite)
        if not args.all: break
    return failed, message


def chosen(args, mutants):
    flags = pathlib.Path("/proc/cpuinfo").read_text().split() + ["nvrtc"] * bool(nvrtc()) if not args.check else None
    mutants = [m for m in mutants if args.check or not m["needs"] or m["needs"] in flags]
    if args.only: return [m for m in mutants if m["name"] in args.only]
    if not args.random: return mutants[args.first:args.last]
    seed = args.seed or subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    some = random.Random(seed).sample(mutants, min(args.random, len(mutants)))
    print(f"seed {seed}: {' '.join(m['name'] for m in some)}", flush=True)
    return some


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--build", type=pathlib.Path)
    ap.add_argument("--check", action="store_true")
    ap.add_argument("--only", nargs="*")
    ap.add_argument("--random", type=int, default=0)
    ap.add_argument("--seed")
    ap.add_argument("--from", dest="first", type=int, default=0)
    ap.add_argument("--to", dest="last", type=int, default=10**6)
    ap.add_argument("--programs", type=int, default=400)
    ap.add_argument("--timeout", type=float, default=900, help="seconds for a suite")
    ap.add_argument("--all", action="store_true")
    ap.add_argument("--suites", nargs="*", default=SUITES, choices=SUITES)
    args = ap.parse_args()
    mutants = chosen(args, [read(p) for p in sorted(HERE.glob("*.mutant"))])
    if args.check: return check(mutants)
    if not args.build: ap.error("--build or --check is needed")
    folder = args.build.resolve()
    copy(folder)
    suites = {m["suite"] for m in mutants}
    begin, problem = time.time(), build(folder, suites)
    if problem: return print(f"cannot be built\n{problem}") or 1
    print(f"built after {time.time() - begin:.0f} s", flush=True)
    wrong = [f"{s}: {problem}" for s in sorted(suites) if (problem := run_suite(args, folder, s))]
    print(f"nothing planted: {'; '.join(wrong) or 'all suites pass'} after {time.time() - begin:.0f} s", flush=True)
    if wrong: return 1
    texts = {p: p.read_text() for p in sources(folder)}
    found, missed = 0, []
    for mutant in mutants:
        begin, failed = time.time(), []
        where = find(mutant, texts)
        if isinstance(where, str): message = where
        else:
            path, match = where
            # A parameter that the mistake no longer reads is not what stops a build.
            quiet = '#pragma clang diagnostic ignored "-Weverything"\n'
            path.write_text(quiet + texts[path][:match.start()] + mutant["now"].strip() + texts[path][match.end():])
            failed, message = caught(args, folder, mutant)
            path.write_text(texts[path])  # newer than its object: the next build makes it again
        if failed: print(f"{mutant['name']}: caught by {', '.join(failed)} after {time.time() - begin:.0f} s: {message}", flush=True)
        else: print(f"{mutant['name']}: MISSED {message}", flush=True)
        if failed: found += 1
        else: missed.append(mutant["name"])
    print(f"{found} caught, {len(missed)} missed" + (": " + " ".join(missed) if missed else ""))
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main())
