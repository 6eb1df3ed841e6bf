# RUN: %python %s %tenc
"""On a terminal, several errors with edits of the script end in the command that makes them: none where `--fix` would make none."""
import os
import pathlib
import pty
import subprocess
import sys
import tempfile

TENC = sys.argv[1]
SLIPS = "a = 1\nb = 2\nc = 3\n"


def offer(folder, name, text):
    """The last line on the terminal."""
    (folder / name).write_text(text)
    master, slave = pty.openpty()
    run = subprocess.Popen([TENC, "check", name, "--colour=never"], cwd=folder, stderr=slave)
    os.close(slave)
    seen = b""
    try:
        while data := os.read(master, 4096):
            seen += data
    except OSError:  # the other end is closed
        pass
    os.close(master)
    run.wait(60)
    return seen.decode().rstrip().split("\n")[-1].strip()


with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    (folder / "slips.tl").write_text("fn f(x: f32) -> f32 {\n    y = x\n    z = y\n    w = z\n    w\n}\n")
    for name, text, wanted in [
        ("it's mine.tl", SLIPS, "`tenc check --fix 'it'\\''s mine.tl'` makes these edits"),
        ("plain.tl", SLIPS, "`tenc check --fix plain.tl` makes these edits"),
        ("imports.tl", "import slips: f\nprint(f(1.0))\n", None),
        ("large.tl", SLIPS + "# filler\n" * 8000, None),
    ]:
        last = offer(folder, name, text)
        if last != wanted and (wanted or "--fix" in last): sys.exit(f"{name}: {last!r}, not {wanted!r}")
