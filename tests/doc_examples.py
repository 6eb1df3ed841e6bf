#!/usr/bin/env python3
"""The examples of README.md and of the pages of docs/ for people: doc_examples.py --tenc PATH [--only PAGE] [--update]

  ```tl [OPTIONS]        is run, with two virtual devices and OPTIONS, and must run without any diagnostic
  ```tl fails            is run, and must be refused
  ```tl file=NAME        is checked, and written to the folder in which the examples behind it are run, as any
  ```LANGUAGE file=NAME  block is; a module, say, or a table of numbers
  ```output              behind an example: what that prints, or what is said where it fails; a line `...` stands for any lines,
                         `...` in a line for any text
  ```                    with lines `$ tenc ... s.tl`, each with what is printed: a session, the example before it being s.tl

--update writes the blocks ```output and what sessions print anew, but for those with `...` in them, beside a `...` alone. tests/ops_page.py runs the examples of docs/ops.md,
tests/error_pages.py those of docs/errors. Closes with `N passed, N failed`."""
import argparse
import concurrent.futures
import dataclasses
import os
import pathlib
import re
import shlex
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^```([^\n`]*)\n(.*?)^```$", re.M | re.S)
VIRTUAL = ["--virtual", "cuda=2"]


@dataclasses.dataclass
class Block:
    language: str
    options: list
    text: str
    start: int
    end: int

    def file(self):
        return next((o[len("file="):] for o in self.options if o.startswith("file=")), None)


def blocks(text):
    found = []
    for m in BLOCK.finditer(text):
        words = m[1].split()
        found.append(Block(words[0] if words else "", words[1:], m[2], m.start(2), m.end(2)))
    return found


def pages(only):
    every = [ROOT / "README.md", *sorted(p for p in (ROOT / "docs").glob("*.md") if p.stem != "ops")]
    return [p for p in every if only in p.stem]


def write_npy(path, shape, values):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(values)}f", *values))


def lines(text):
    return [line.rstrip() for line in text.rstrip("\n").split("\n")]


def fits(want, got):
    """Whether lines are those wanted, in which `...` stands for any text, and for any lines where it is alone."""
    pattern = ""
    for line in want:
        parts = map(re.escape, line.split("..."))
        pattern += r"(?:[^\n]*\n)*?" if line == "..." else r"[^\n]*".join(parts) + r"\n"
    return re.fullmatch(pattern, "".join(line + "\n" for line in got)) is not None


class Page:
    """One page: its examples are run one after the other in one folder."""

    def __init__(self, tenc, path, folder):
        self.tenc, self.path, self.folder = tenc, path, pathlib.Path(folder)
        self.problems, self.passed, self.outputs = [], 0, []
        write_npy(self.folder / "points.npy", (4, 2), [float(i) for i in range(8)])

    def run(self, words, **more):
        return subprocess.run([self.tenc, *words], cwd=self.folder, capture_output=True, text=True, timeout=120, **more)

    def note(self, problem):
        self.passed += problem is None
        if problem: self.problems.append(f"{self.path.name}: {problem}")

    def example(self, block, shown):
        """Runs an example, and compares with what the page shows behind it."""
        fails = "fails" in block.options
        if block.file():
            done = self.run(["check", block.file()])
        else:
            (self.folder / "example.tl").write_text(block.text)
            done = self.run(["example.tl", *VIRTUAL, *(o for o in block.options if o != "fails")])
        said = bool(re.search(r"^(?:error|warning)\[", done.stderr, re.M))
        if said != fails or (done.returncode != 0) != fails:
            return self.note(f"exit status {done.returncode}\n{block.text}{done.stdout}{done.stderr}")
        self.note(None)
        if shown is None: return
        got = lines(done.stderr if fails else done.stdout)
        if not fits(lines(shown.text), got):
            self.note(f"an example prints otherwise:\n{block.text}---\n" + "\n".join(got))
            self.outputs.append((shown, "\n".join(got) + "\n"))

    def session(self, block, script):
        (self.folder / "s.tl").write_text(script)
        printed = ""
        for line, said in re.findall(r"^\$ tenc (.*)\n((?:(?!\$ ).*\n)*)", block.text, re.M):
            done = self.run_line(line)
            right = fits(said.splitlines(), lines(done.stdout) if done.stdout else [])
            self.note(None if right else f"`tenc {line}` prints\n{done.stdout}{done.stderr}")
            printed += f"$ tenc {line}\n" + "".join(x + "\n" for x in (lines(done.stdout) if done.stdout else []))
        if "..." not in re.sub(r"^\.\.\.\n", "", block.text, flags=re.M) and printed != block.text: self.outputs.append((block, printed))

    def run_line(self, line):
        return subprocess.run(f"{shlex.quote(self.tenc)} {line}", shell=True, cwd=self.folder, capture_output=True, text=True, timeout=120)

    def all(self):
        found, script = blocks(self.path.read_text()), ""
        for i, block in enumerate(found):
            behind = found[i + 1] if i + 1 < len(found) and found[i + 1].language == "output" else None
            if block.file(): (self.folder / block.file()).write_text(block.text)
            if block.language == "tl":
                script = block.text if not block.file() else script
                self.example(block, behind)
            elif not block.language and block.text.startswith("$ tenc "):
                self.session(block, script)
            elif block.language == "output" and (i == 0 or found[i - 1].language != "tl"):
                self.note(f"there is no example before\n{block.text}")

    def update(self):
        text = self.path.read_text()
        for block, got in reversed(self.outputs):
            if "..." not in block.text or block.language != "output": text = text[:block.start] + got + text[block.end:]
        self.path.write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tenc", required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--update", action="store_true")
    args = parser.parse_args()
    tenc = str(pathlib.Path(args.tenc).resolve())
    passed = failed = 0

    def check(path):
        with tempfile.TemporaryDirectory() as folder:
            page = Page(tenc, path, folder)
            page.all()
            return page

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for page in pool.map(check, pages(args.only)):
            passed, failed = passed + page.passed, failed + len(page.problems)
            for p in page.problems: print(p)
            if args.update: page.update()
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0 or passed == 0)


if __name__ == "__main__":
    sys.exit(main())
