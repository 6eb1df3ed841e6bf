# RUN: %python %s %tenc
"""Files are replaced as a whole: signals at any moment while tenc writes one leave the old file or the new one, and those
that it can catch nothing else. So do several processes that save to one path, one of which is killed now and then."""
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

TENC = os.path.abspath(sys.argv[1])
CATCHABLE = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
MOST_TRIES = 60
CHOOSE = random.Random(5)

# Large enough that a signal meets the write itself.
UNTIDY = "".join(("# " + "x" * 117 + "\n") * 50 + f"let v{i}=  [{i},1]\n" for i in range(700))
TEXTS = "".join(f'print("{letter * 1_000_000}")\n' for letter in "abcdef")
STEPS = "var x = 1.0\nfor i in 0..20000 { print(x) }\n"


def is_trace(data):
    """Of a run that a signal ends as well: it ends sooner."""
    try: return len(json.loads(data)["traceEvents"]) > 0
    except ValueError: return False


def started(args, folder):
    return subprocess.Popen([TENC, *args], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def parts(folder): return {name for name in os.listdir(folder) if name.endswith(".part")}


def wait_for_write(process, folder, target):
    """Until something in the folder changes."""
    state = lambda: (os.listdir(folder), os.stat(target).st_mtime_ns)
    before = state()
    while process.poll() is None and state() == before: pass


def signals():
    """How many kills met a file in the middle."""
    met = 0
    for what, files, args, name, old, is_new in [
            ("fmt", {}, ["fmt", "s.tl"], "s.tl", UNTIDY, None),
            ("--emit=program", {"s.tl": TEXTS}, ["s.tl", "--emit=program", "-o", "s.tlp"], "s.tlp", "old\n" * 1000, None),
            ("--trace", {"s.tl": STEPS}, ["s.tl", "--trace", "t.json"], "t.json", "old\n" * 1000, is_trace)]:
        with tempfile.TemporaryDirectory() as folder:
            target = pathlib.Path(folder, name)
            for file, text in files.items(): pathlib.Path(folder, file).write_text(text)
            target.write_text(old)
            begin = time.monotonic()
            process = started(args, folder)
            if process.wait() != 0: sys.exit(f"{what}: {process.communicate()[1]}")
            takes = time.monotonic() - begin
            new = target.read_bytes()
            if new == old.encode() or is_new and not is_new(new): sys.exit(f"{what}: {name} is not what it should be")
            tries = [(s, seen) for s in (*CATCHABLE, signal.SIGKILL) for seen in (False, True) for _ in range(3)]
            for i in range(MOST_TRIES):
                if i >= len(tries) and parts(folder): break  # some kill met a file that was not whole
                sent, seen = tries[i] if i < len(tries) else (signal.SIGKILL, True)
                target.write_text(old)
                left = parts(folder)
                process = started(args, folder)
                if seen: wait_for_write(process, folder, target)
                time.sleep(CHOOSE.random() * (CHOOSE.choice((0, 0.001)) if seen else takes * 1.1))
                process.send_signal(sent)
                stderr = process.communicate(timeout=60)[1]
                case = f"{what}, {sent.name}{' while it writes' if seen else ''}"
                if process.returncode not in (0, -sent, 128 + sent): sys.exit(f"{case}: status {process.returncode}: {stderr[:300]}")
                data = target.read_bytes()
                if data != old.encode() and not (is_new(data) if is_new else data == new):
                    sys.exit(f"{case}: {name} is neither the old file nor the new one: {len(data)} bytes, {data[-80:]}")
                if sent != signal.SIGKILL and parts(folder) != left: sys.exit(f"{case}: leaves {parts(folder) - left}")
            met += len(parts(folder))
    return met


def writers():
    """Several processes save to one path while it is read: every file is one of theirs. How many kills met one in the middle."""
    met = 0
    for name, call in [("x.npy", "save"), ("x.npz", "save"), ("x.safetensors", "save"), ("x.csv", "save"), ("x.png", "save"),
                       ("x.ppm", "save"), ("x.bin", "save_bytes")]:
        with tempfile.TemporaryDirectory() as folder:
            target = pathlib.Path(folder, name)
            commands, versions = [], set()
            for i in range(3):
                shape = f"[{500 + 50 * i}, 700]"
                if call == "save_bytes": shape = f"[{(1 + i) * 400_000}]"
                if name == "x.csv": shape = f"[{50 + 10 * i}, 200]"
                kind = "u8" if call == "save_bytes" or name in ("x.png", "x.ppm") else "f32"
                text = f'let x = full({shape}, {kind}({i + 3}))\n'
                pathlib.Path(folder, "one.tl").write_text(text + f'{call}("{name}", x)\n')
                subprocess.run([TENC, "one.tl"], cwd=folder, check=True, timeout=60)
                versions.add(target.read_bytes())
                pathlib.Path(folder, f"{i}.tl").write_text(text + f'for i in 0..1000000000 {{ {call}("{name}", x) }}\n')
                commands.append([f"{i}.tl", *(["--engine=interp"] if i == 1 else [])])
            if len(versions) != len(commands): sys.exit(f"{name}: versions are the same")
            running = [started(c, folder) for c in commands]
            seen, kills, tries = set(), 0, 0
            end = time.monotonic() + 0.5
            while time.monotonic() < end or (len(seen) < len(versions) or kills < 2) and time.monotonic() < end + 30:
                tries += 1
                data = target.read_bytes()
                if data not in versions: sys.exit(f"{name}: {len(data)} bytes that nobody has saved: {data[:60]} ... {data[-60:]}")
                seen.add(data)
                if tries % 20 or kills > 5: continue
                which = CHOOSE.randrange(len(running))
                victim = running[which]
                if not any(f".{victim.pid}." in part for part in parts(folder)): continue
                victim.kill()
                victim.communicate()
                kills += 1
                running[which] = started(commands[which], folder)
            for process in running: process.terminate()
            for process in running:
                stderr = process.communicate(timeout=60)[1]
                if process.returncode not in (-signal.SIGTERM, 128 + signal.SIGTERM):
                    sys.exit(f"{name}: status {process.returncode}: {stderr[:300]}")
            if target.read_bytes() not in versions: sys.exit(f"{name}: is not whole at the end")
            ours = [part for part in parts(folder) if any(f".{process.pid}." in part for process in running)]
            if ours: sys.exit(f"{name}: SIGTERM leaves {ours}")
            if len(seen) < len(versions): sys.exit(f"{name}: only {len(seen)} of {len(versions)} writers got their turn")
            if len(parts(folder)) > kills: sys.exit(f"{name}: {kills} kills leave {parts(folder)}")
            met += len(parts(folder))
    return met


def main():
    for part in (signals, writers):
        if not part(): sys.exit(f"{part.__name__}: no kill met a file while it was written: this shows nothing")


main()
