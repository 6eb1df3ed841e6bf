#!/usr/bin/env python3
"""The highlighting of TL for editors: editors.py

What editors/make.py writes is current, and its three forms give each token of the examples, of the standard library and of the test programs the
class that a lexer made from grammar/TL.g4 gives it: the Pygments lexer, the TextMate grammar (run by the few rules of such grammars
that it uses) and, where Vim is installed, Vim's. Closes with `N passed, N failed`."""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from pygments.token import Comment, Keyword, Name, Number, Operator, String, Token

ROOT = pathlib.Path(__file__).resolve().parents[1]
EDITORS = ROOT / "editors"
sys.path += [str(EDITORS), str(EDITORS / "pygments")]
import make  # noqa: E402
from tl_lexer import TlLexer  # noqa: E402

PROGRAMS = [*(ROOT / "examples").glob("*.tl"), *(ROOT / "std").glob("*.tl"), *(ROOT / "tests/run").glob("*.tl")]
CLASSES = {"keyword", "dtype", "number", "string", "comment", "name"}


def by_grammar(text):
    """{place: class} of the words, numbers, strings and comments of a program, by the tokens that grammar/TL.g4 spells."""
    keywords = {w for w in make.keywords()} - set(make.BEFORE_NAME) - set(make.BEFORE_STRING)
    dtypes, found, last = set(make.dtypes()), {}, ""
    token = re.compile(r'(?P<comment>#[^\n]*)|(?P<string>"(?:[^"\\\n]|\\.)*")|(?P<device>cuda:[0-9]+)|(?P<word>[A-Za-z_]\w*)'
                       r"|(?P<number>0x[0-9a-fA-F_]+|[0-9][0-9_]*(?:\.[0-9][0-9_]*|\.(?![.\w]))?(?:[eE][-+]?[0-9]+)?)|\.\.\.?|\S")
    for m in token.finditer(text):
        kind = m.lastgroup
        if kind == "word":
            kind = "name" if last == "." else "keyword" if m[0] in keywords else "dtype" if m[0] in dtypes else "name"
        if kind == "number" and last == ".": kind = None  # a place of a tuple
        # `fn` and `device` are kinds of type variables behind a colon, and `autocast` belongs to its `@`.
        if kind in CLASSES and not (m[0] == "fn" and last == ":") and m[0] != "autocast": found[m.start()] = (kind, m[0])
        last = m[0]
    return found


def class_of_token(token):
    for kind, parents in (("comment", (Comment, String.Doc)), ("string", (String,)), ("number", (Number,)), ("dtype", (Keyword.Type,)),
                          ("keyword", (Keyword, Operator.Word)), ("name", (Name,))):
        if any(token in p for p in parents): return kind
    return "error" if token in Token.Error else ""


def pygments_classes(text):
    return {at: class_of_token(token) for at, token, _ in TlLexer().get_tokens_unprocessed(text)}


class TextMate:
    """Runs the grammar: the first pattern that matches at the earliest place, and a stack of begin and end."""

    def __init__(self):
        self.grammar = json.loads((EDITORS / "vscode/syntaxes/tl.tmLanguage.json").read_text())
        self.compiled = {}

    def patterns(self, rule):
        for p in rule["patterns"]:
            if "include" in p:
                included = self.grammar["repository"][p["include"][1:]]
                yield from self.patterns(included) if "begin" not in included else [included]
            else:
                yield p

    def compile(self, pattern):
        if pattern not in self.compiled: self.compiled[pattern] = re.compile(pattern)
        return self.compiled[pattern]

    def classes(self, text):
        found, stack, offset = {}, [self.grammar], 0
        for line in text.split("\n"):
            at = 0
            while True:
                end = self.compile(stack[-1]["end"]).search(line, at) if len(stack) > 1 else None
                hits = [(m.start(), m, p) for p in self.patterns(stack[-1]) if (m := self.compile(p.get("match", p.get("begin"))).search(line, at))]
                first = min(hits, key=lambda h: h[0], default=None)
                if end and (not first or end.start() <= first[0]):
                    stack.pop()
                    at = end.end()
                elif first:
                    found[offset + first[0]] = first[2].get("name", "")
                    if "begin" in first[2]: stack.append(first[2])
                    at = first[1].end()
                else:
                    break
            offset += len(line) + 1
        return {place: self.class_of_scope(name) for place, name in found.items()}

    @staticmethod
    def class_of_scope(name):
        for kind, starts in (("comment", "comment"), ("string", "string"), ("number", "constant.numeric"), ("dtype", "storage.type"),
                             ("keyword", "keyword.declaration keyword.control keyword.operator.logical constant.language.tl storage.modifier.tl")):
            if any(name.startswith(s) for s in starts.split()): return kind
        return "name" if re.match(r"variable|entity|support|constant.language.device", name) else ""


VIM = """set nocompatible
set runtimepath^={folder}
syntax on
edit {program}
set filetype=tl
let out = []
for l in range(1, line('$'))
  let row = []
  for c in range(1, col([l, '$']) - 1)
    call add(row, synIDattr(synID(l, c, 1), 'name'))
  endfor
  call add(out, join(row, ' '))
endfor
call writefile(out, '{result}')
qall!
"""
VIM_CLASSES = {"tlComment": "comment", "tlDoc": "comment", "tlString": "string", "tlNumber": "number", "tlDType": "dtype", "tlDeclaration": "keyword",
               "tlControl": "keyword", "tlWordOperator": "keyword", "tlConstant": "keyword", "tlModifier": "keyword", "tlName": "name", "tlType": "name",
               "tlFunction": "name", "tlBuiltin": "name", "tlMember": "name", "tlDevice": "name"}


def vim_classes(program):
    with tempfile.TemporaryDirectory() as folder:
        script, result = pathlib.Path(folder) / "run.vim", pathlib.Path(folder) / "out"
        script.write_text(VIM.format(folder=EDITORS / "vim", program=program, result=result))
        subprocess.run(["vim", "-es", "-u", "NONE", "-N", "-S", str(script)], timeout=60, stdin=subprocess.DEVNULL, capture_output=True)
        found, offset = {}, 0
        for line, row in zip(program.read_text().split("\n"), result.read_text().split("\n")):
            for i, name in enumerate(row.split(" ") if row else []):
                found[offset + i] = VIM_CLASSES.get(name, "")
            offset += len(line) + 1
        return found


def differences(path, text, classes, what):
    """Tokens whose class is not that of the grammar. `inf`, `nan` and `pi` are names there, and constants here."""
    wrong = []
    for place, (kind, word) in by_grammar(text).items():
        got = classes.get(place, "")
        if got != kind and not (word in make.NUMBERS and got == "keyword") and not (kind == "name" and word in make.BEFORE_NAME + make.BEFORE_STRING) \
                and not (kind == "name" and got in ("dtype", "") and word in make.kinds()) and not (kind == "name" and text[place - 1] == "@"):
            wrong.append(f"{path.relative_to(ROOT)}: {what} has {word!r} at line {text.count(chr(10), 0, place) + 1} as {got or 'nothing'}, not {kind}")
    return wrong


def main():
    problems, passed = [], 0

    def note(found):
        nonlocal passed
        passed += not found
        problems.extend(found[:5])

    stale = subprocess.run([sys.executable, str(EDITORS / "make.py"), "--check"], capture_output=True, text=True)
    note((stale.stdout + stale.stderr).splitlines() if stale.returncode else [])
    extension, languages = (json.loads((EDITORS / "vscode" / name).read_text()) for name in ("package.json", "language-configuration.json"))
    files = [c["path"] for c in extension["contributes"]["grammars"]] + [c["configuration"] for c in extension["contributes"]["languages"]]
    note([f"editors/vscode/package.json: there is no {f}" for f in files if not (EDITORS / "vscode" / f).exists()])
    note([] if languages["comments"]["lineComment"] == "#" else ["a comment begins with #"])
    textmate = TextMate()
    for path in sorted(PROGRAMS):
        text = path.read_text()
        note(differences(path, text, pygments_classes(text), "Pygments"))
        note(differences(path, text, textmate.classes(text), "TextMate"))
    if shutil.which("vim"):
        for path in (ROOT / "examples/digits_vae.tl", ROOT / "examples/gpu_data_parallel.tl", ROOT / "std/optim.tl"):
            note(differences(path, path.read_text(), vim_classes(path), "Vim"))
    else:
        print("vim is not installed: its syntax file is not tried")
    for p in problems: print(p)
    print(f"{passed} passed, {len(problems)} failed")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
