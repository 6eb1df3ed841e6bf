"""What the random tests against another oracle share: arguments, seeds in parallel, failing programs kept, the count."""
import argparse
import concurrent.futures
import os
import subprocess


def main(doc, case, count, **numbers):
    """Runs `case(arguments, seed)`, which gives (what is wrong or None, name -> text of its files), for every seed.
    `numbers`: further options with their defaults. Returns whether any failed."""
    ap = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--tenc", required=True, type=os.path.abspath)
    ap.add_argument("--keep")
    for name, default in {"count": count, "first": 0, **numbers}.items(): ap.add_argument(f"--{name}", type=int, default=default)
    a = ap.parse_args()
    passed = failed = 0
    seeds = range(a.first, a.first + a.count)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for seed, (problem, files) in zip(seeds, pool.map(lambda seed: case(a, seed), seeds)):
            if not problem:
                passed += 1
                continue
            failed += 1
            print(f"seed {seed}: {problem}", flush=True)
            if not a.keep: continue
            os.makedirs(a.keep, exist_ok=True)
            for name, text in files.items():
                with open(f"{a.keep}/{name}", "w") as f: f.write(text)
    print(f"{passed} passed, {failed} failed")
    return failed > 0


def run(a, folder, files, flags=()):
    """Runs the first of `files` (name -> text) in a folder that holds them all: (what it prints, what is wrong or None)."""
    for name, text in files.items():
        with open(f"{folder}/{name}", "w") as f: f.write(text)
    try: r = subprocess.run([a.tenc, next(iter(files)), *flags], cwd=folder, capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired: return "", "timed out"
    if r.returncode: return "", f"exit {r.returncode}: {(r.stderr[max(r.stderr.find('error'), 0):] or r.stdout).strip()[:700]}"
    return r.stdout, None
