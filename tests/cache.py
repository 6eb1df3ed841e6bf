#!/usr/bin/env python3
"""The cache of compiled code as a user meets it: a second run takes the code from it, and whatever happens to the folder
(many processes, kills, truncated or corrupt entries, wrong rights) the result is right, with one warning at
most. tests/unit/cache_test.cpp tests the format. Closes with `N passed, N failed`."""
import argparse
import os
import pathlib
import re
import signal
import stat
import subprocess
import sys
import tempfile
import time

PROGRAM = """seed(3)
let x = arange(24.0).reshape([4, 6])
let w = ones([6, 5]) * 0.5
print(relu(x @ w - 10.0).sum(), (x * 2.0 + 1.0).mean(axis: 0))
var steps = 0
var n = 27
while n != 1 {
    if n % 2 == 0 { n = n // 2 } else { n = 3 * n + 1 }
    steps = steps + 1
}
print(steps, randn([3, 3]).sum() < 100.0)
"""
SLOW = "var a = ones([64, 64])\nfor i in 0..2000000 { a = a * 0.5 + 1.0 }\nprint(a.sum())\n"


def limits_addresses(test):
    """Not for the address sanitizer, whose shadow takes more of them than there are in the test."""
    test.limits_addresses = True
    return test


class Test:
    def __init__(self, tenc):
        self.tenc = tenc
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="tenc-cache-"))
        self.folder = self.root / "cache"
        self.script = self.root / "s.tl"
        self.script.write_text(PROGRAM)
        self.expected = self.run("--no-cache").stdout

    def run(self, *options):
        return subprocess.run(self.command(*options), capture_output=True, text=True, timeout=120)

    def command(self, *options):
        return [self.tenc, self.script, *(options or ("--cache-dir", self.folder))]

    def check(self, run, warnings=0):
        assert run.returncode == 0, run.stderr
        assert run.stdout == self.expected, run.stdout
        found = run.stderr.count("warning[W0501]")
        assert found == warnings and (found or not run.stderr), run.stderr

    def entries(self):
        return sorted(self.folder.glob("*.tenc"))

    def kernels(self):
        """How many kernels a run compiles, and how many it has from the cache."""
        run = self.run("--cache-dir", self.folder, "--time")
        assert run.returncode == 0, run.stderr
        found = re.search(r"^kernels: (\d+) compiled, (\d+) from the cache$", run.stderr, re.M)
        return int(found[1]), int(found[2])

    def lines(self, factors):
        """A script with one kernel a line."""
        self.script.write_text("".join(f"print((arange({100 + i}.0) * {f}.0).sum())\n" for i, f in enumerate(factors)))

    def both(self):
        """The entries of one program: that of its kernels, and the program."""
        assert len(self.entries()) == 2, self.entries()
        return self.entries()

    def whole(self, *options):
        """Whether a run has the program as a whole from the cache: then nothing is lowered."""
        run = self.run("--cache-dir", self.folder, "--provoke", "error=lower", *options)
        assert run.returncode in (0, 70), run.stderr
        return run.returncode == 0


def second_run_takes_the_code(t):
    t.check(t.run())
    entries = t.both()
    for entry in entries: os.utime(entry, (0, 0))
    inodes = [entry.stat().st_ino for entry in entries]
    t.check(t.run())
    assert [entry.stat().st_ino for entry in t.both()] == inodes
    assert sorted(entry.stat().st_mtime > 0 for entry in entries) == [False, True]  # the program alone is read
    assert t.kernels()[0] == 0
    assert all(entry.stat().st_mtime > 0 for entry in entries)


def flags_and_programs_have_entries_of_their_own(t):
    t.check(t.run())
    t.run("--cache-dir", t.folder, "--fp=contract")
    t.run("--cache-dir", t.folder, "--no-fuse")
    t.run("--cache-dir", t.folder, "--code=full")
    t.run("--cache-dir", t.folder, "--target-cpu=x86-64-v3")
    assert len(t.entries()) == 10, t.entries()


def a_program_is_kept_until_what_it_follows_from_changes(t):
    part, data = t.root / "part.tl", t.root / "x.npy"
    def write(shape):
        done = subprocess.run([t.tenc, "-e", f'save("{data}", ones({shape}))'], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    write([3, 4])
    part.write_text("fn twice(x: f32[...S]) -> f32[...S] = x * 2.0\n")
    t.script.write_text(f'import part: twice\nimport optim\nparam n: i64 = 2\nlet x = load("{data}")\nprint(sum(twice(x)) * f32(n))\n')
    def run(*options):
        done = t.run("--cache-dir", t.folder, *options)
        assert done.returncode == 0 and not done.stderr, done.stderr
        return done.stdout
    assert not t.whole()
    assert run() == "48.0\n" and t.whole() and run() == "48.0\n"
    # Options, and what the processor may use.
    assert not t.whole("--n", "3") and run("--n", "3") == "72.0\n" and t.whole("--n", "3") and t.whole()
    assert not t.whole("--threads", "1") and not t.whole("--fp=fast") and not t.whole("--default-device", "cpu")
    # A module that changes, and is as it was again.
    old = part.read_text()
    part.write_text(old.replace("2.0", "3.0"))
    assert not t.whole() and run() == "72.0\n" and t.whole()
    part.write_text(old)
    assert not t.whole() and run() == "48.0\n"
    # A module that comes to stand before another one: the library's, that of a folder.
    own = t.root / "optim.tl"
    own.write_text("const rate = 1.0\n")
    assert not t.whole() and run() == "48.0\n" and t.whole()
    own.unlink()
    assert not t.whole() and run() == "48.0\n"
    # The shape of what is loaded; other elements are read by the program.
    write([5, 4])
    assert not t.whole() and run() == "80.0\n" and t.whole()
    subprocess.run([t.tenc, "-e", f'save("{data}", ones([5, 4]) * 2.0)'])
    assert t.whole() and run() == "160.0\n"
    data.unlink()
    assert not t.whole()
    write([3, 4])
    # The text itself.
    t.script.write_text(t.script.read_text() + "print(1)\n")
    assert not t.whole() and run() == "48.0\n1\n" and t.whole()


def a_param_may_have_the_name_of_any_option(t):
    t.script.write_text("param provoke: i64 = 1\nparam verbose: bool = false\nprint(provoke, verbose)\n")
    def run(*options): return t.run("--cache-dir", t.folder, "--", *options).stdout
    for options, printed in ((("--provoke", "5"), "5 false\n"), (("--provoke", "6"), "6 false\n"), (("--provoke=7",), "7 false\n"), (("--verbose", "--provoke=7"), "7 true\n")):
        assert run(*options) == printed and run(*options) == printed, (options, run(*options))


def a_module_that_has_become_a_pipe_is_not_waited_for(t):
    part = t.root / "part.tl"
    part.write_text("fn f(x: i64) -> i64 = x\n")
    t.script.write_text("import part\nprint(part.f(2))\n")
    assert t.run("--cache-dir", t.folder).stdout == "2\n" and t.whole()
    part.unlink()
    os.mkfifo(part)
    run = subprocess.run(t.command("--cache-dir", t.folder), capture_output=True, text=True, timeout=20)
    assert run.returncode == 1 and "E0110" in run.stderr, run.stderr


@limits_addresses
def what_takes_the_memory_is_told_of_a_kept_program_too(t):
    t.script.write_text("let x = full([100], 2.0).to(cuda:0)\nlet y = x[:, new, new] * x * x[:, new]\n"
                        "let z = y[:, :, :, new] * full([60], 1.0).to(cuda:0)\nprint(sum(sum(cumsum(z, axis: 2) * sort(z)).to(cpu)) > 0.0)\n")
    options = ("--cache-dir", t.folder, "--virtual", "cuda=1:2GiB")
    assert t.run(*options).stdout == "true\n" and t.whole("--virtual", "cuda=1:2GiB")
    def limited(*options):
        return subprocess.run(["prlimit", "--as=350000000", "--", *t.command(*options)], capture_output=True, text=True)
    kept, compiled = limited(*options), limited("--no-cache", *options[2:])
    assert compiled.returncode == 1 and "E0320" in compiled.stderr and "s.tl:3" in compiled.stderr, compiled.stderr
    assert (kept.returncode, kept.stderr) == (1, compiled.stderr), kept.stderr


def warnings_are_told_each_time(t):
    t.script.write_text("let a = 1\nlet a = 2\nprint(max(ones([2]), 0))\n")
    for _ in range(2):
        assert "warning[" in t.run("--cache-dir", t.folder).stderr
        assert not t.whole()


def what_depends_on_the_machines_devices_is_not_kept(t):
    for text in ("print(name(cpu) == name(cpu))\n", "device gpu = cuda:0 or cpu\n@gpu let x = ones([3])\nprint(sum(x))\n"):
        t.script.write_text(text)
        assert t.run("--cache-dir", t.folder).returncode == 0 and not t.whole()
    # Of virtual ones all is known.
    assert t.run("--cache-dir", t.folder, "--virtual", "cuda=1").stdout == "3.0\n" and t.whole("--virtual", "cuda=1")
    assert not t.whole("--virtual", "cuda=2")


def a_kept_program_that_has_too_little_memory_is_refused_as_ever(t):
    t.script.write_text("let x = ones([1000, 1000])\nprint(sum(x @ x))\n")
    assert t.run("--cache-dir", t.folder).returncode == 0 and t.whole()
    limited = t.run("--cache-dir", t.folder, "--max-memory", "5MB")
    assert limited.returncode == 1 and "E0320" in limited.stderr and "s.tl:" in limited.stderr, limited.stderr


def faults_of_a_kept_program_quote_the_script(t):
    t.script.write_text("let x = arange(4)\nvar i = 1\nfor k in 0..4 { i *= 2 }\nprint(x[i])\n")
    first, second = t.run("--cache-dir", t.folder), t.run("--cache-dir", t.folder)
    assert first.returncode == 3 and t.folder.exists()
    assert (second.returncode, second.stderr) == (first.returncode, first.stderr), second.stderr


def a_changed_line_compiles_one_kernel(t):
    factors = list(range(2, 202))
    t.lines(factors)
    assert t.kernels() == (200, 0)
    assert t.kernels() == (0, 200)
    factors[117] = 1000
    t.lines(factors)
    assert t.kernels() == (1, 199)
    assert t.kernels() == (0, 200)


def programs_share_kernels(t):
    t.lines([2, 3, 4, 5])
    t.kernels()
    t.lines([2, 7, 4])
    assert t.kernels() == (1, 2)
    t.lines([2, 7, 4, 5])
    assert t.kernels() == (0, 4)  # of two entries


def a_lost_or_broken_index_costs_time_only(t):
    t.lines([2, 3, 4, 5])
    t.kernels()
    index = t.folder / "kernels.index"
    good = index.read_bytes()
    broken = (None, b"", b"x" * 1000, good[:100], good[:40] + b"\xff" + good[41:], good[:72] + good[:35] + good[72:])
    for i, bad in enumerate(broken):
        index.unlink(missing_ok=True) if bad is None else index.write_bytes(bad)
        t.lines([2, 3, 4, 5, 10 + i])
        compiled, kept = t.kernels()
        assert compiled + kept == 5 and compiled >= 1, (compiled, kept)
        assert t.run().stdout == t.run("--no-cache").stdout


def no_cache_leaves_nothing(t):
    t.check(t.run("--no-cache", "--cache-dir", t.folder))
    assert not t.folder.exists()
    env = {**os.environ, "TENC_CACHE_DIR": "", "HOME": str(t.root), "XDG_CACHE_HOME": str(t.root)}
    t.check(subprocess.run([t.tenc, t.script], capture_output=True, text=True, env=env))
    assert sorted(p.name for p in t.root.iterdir()) == ["s.tl"]


def the_default_is_the_users_cache_folder(t):
    env = {**os.environ, "HOME": str(t.root / "home"), "XDG_CACHE_HOME": ""}
    env.pop("TENC_CACHE_DIR", None)
    t.check(subprocess.run([t.tenc, t.script], capture_output=True, text=True, env=env))
    t.folder = t.root / "home/.cache/tenc"
    t.both()
    assert stat.S_IMODE(t.folder.stat().st_mode) == 0o700
    env["HOME"] = "/dev/null"  # no place for a cache is nothing to talk about
    t.check(subprocess.run([t.tenc, t.script], capture_output=True, text=True, env=env))


def truncated_and_corrupt_entries_are_compiled_again(t):
    t.check(t.run())
    for entry in t.both():
        good = entry.read_bytes()
        for bad in (b"", good[:10], good[:-1], good + b"x", good[:200] + b"\xff" + good[201:], b"\0" * len(good)):
            entry.write_bytes(bad)
            for other in t.both(): other == entry or other.unlink()  # so that this one is read
            t.check(t.run())
            assert len(entry.read_bytes()) == len(good)


def a_folder_that_others_can_write_to_is_refused(t):
    t.check(t.run())
    for mode in (0o777, 0o770, 0o702):
        t.folder.chmod(mode)
        t.check(t.run(), warnings=1)
    t.folder.chmod(0o700)
    t.check(t.run())


def a_folder_of_another_user_is_refused(t):
    if os.geteuid() != 0:
        return
    t.folder.mkdir(0o700)
    os.chown(t.folder, 12345, 12345)
    t.check(t.run(), warnings=1)
    assert not t.entries()


def a_folder_that_cannot_be_written_to_costs_one_warning(t):
    t.check(t.run("--cache-dir", "/dev/null/cache"), warnings=1)
    if os.geteuid() != 0:
        t.folder.mkdir(0o500)
        t.check(t.run(), warnings=1)


def a_full_disk_costs_one_warning(t):
    t.folder.mkdir(0o700)
    limited = ["prlimit", "--fsize=500", "--", *t.command()]
    run = subprocess.run(limited, capture_output=True, text=True,
                         preexec_fn=lambda: signal.signal(signal.SIGXFSZ, signal.SIG_IGN))
    t.check(run, warnings=1)
    assert not t.entries()


def many_processes_at_once(t):
    runs = [subprocess.Popen(t.command(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(32)]
    for p in runs:
        out, err = p.communicate(timeout=300)
        t.check(subprocess.CompletedProcess([], p.returncode, out, err))
    t.both()


def kills_leave_nothing_that_is_used(t):
    for i in range(12):
        p = subprocess.Popen(t.command(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.004 * (i + 1))
        p.kill()
        p.wait()
        t.check(t.run())
        if t.folder.exists():
            for e in t.entries():
                e.unlink()


def no_page_is_writable_and_executable(t):
    t.script.write_text(SLOW)
    for _ in range(2):  # compiled, then from the cache
        p = subprocess.Popen(t.command(), stdout=subprocess.DEVNULL)
        try:
            for _ in range(20):
                time.sleep(0.01)
                maps = pathlib.Path(f"/proc/{p.pid}/maps").read_text().splitlines()
                assert not [m for m in maps if m.split()[1].startswith("rwx")]
        finally:
            p.kill()
            p.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tenc", default="build/release/bin/tenc")
    parser.add_argument("--sanitized", action="store_true", help="tenc is built with sanitizers")
    options = parser.parse_args()
    tenc = str(pathlib.Path(options.tenc).resolve())
    tests = [f for name, f in globals().items()
             if callable(f) and getattr(f, "__module__", "") == "__main__" and name not in ("main", "Test", "limits_addresses")]
    if options.sanitized: tests = [f for f in tests if not hasattr(f, "limits_addresses")]
    failed = 0
    for f in tests:
        t = Test(tenc)
        try:
            f(t)
        except Exception as error:
            failed += 1
            print(f"{f.__name__}: {type(error).__name__}: {error}")
        subprocess.run(["rm", "-rf", t.root])
    print(f"{len(tests) - failed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
