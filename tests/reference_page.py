#!/usr/bin/env python3
"""docs/reference.md has the whole language: reference_page.py --tenc PATH [--update]

  the blocks ```grammar have every rule of grammar/TL.g4 once, as it is there, with tokens written as they are spelled
  the table of keywords has the grammar's keywords, those of type variables the kinds, that of operators every operator, in the
  order in which the parser's trees bind them
  the table of errors is support/DiagnosticKinds.def
  docs/command-line.md has every command and option of `tenc --help`, and every command of the REPL, and no others

--update writes the rules, of which a block needs only the names, and the table of errors. tests/doc_examples.py runs the page's
examples. Closes with `N passed, N failed`."""
import argparse
import itertools
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/reference.md"
sys.path.append(str(ROOT / "editors"))
import make  # noqa: E402

WIDTH = 120
GRAMMAR = re.compile(r"^```grammar\n(.*?)^```$", re.M | re.S)
# What only the token filter makes, as it is written.
MADE = {"PARAM": "'param'", "DEVICE": "'device'", "TEST": "'test'", "BENCH": "'bench'", "AT_LBRACK": "'['", "LEADING_MINUS": "'-'",
        "STR_OPEN": "'\"'", "STR_CLOSE": "'\"'", "HOLE_OPEN": "'{'", "HOLE_CLOSE": "'}'", "HOLE_FORMAT": "(':' STR_FORMAT)"}
# Tokens for what is not TL, which are reported.
BAD = {"BAD_NUMBER", "BAD_STRING", "BAD_CHAR"}


def rules():
    """{name: text} of the grammar's rules, without comments, and with the tokens that are one word or sign spelled out."""
    text = re.sub(r"^\s*//[^\n]*$|(?<=[;)}\s])//[^\n'\"]*$", "", (ROOT / "grammar/TL.g4").read_text(), flags=re.M)
    text = text[text.index("file "):]
    spelled = dict(MADE, **dict(re.findall(r"\b([A-Z][A-Z_]*): ('[^']+');", text)))
    text = re.sub(r"\b[A-Z][A-Z_]*: '[^']+';", "", text)
    found = {}
    for fragment, name, body in re.findall(r"^(fragment )?(\w+)\s*:((?:'(?:\\.|[^'])*'|\[(?:\\.|[^\]])*\]|[^;'\[])*?);", text, re.M):
        if name in BAD: continue
        body = re.sub(r"\s*->\s*(skip|channel\(HIDDEN\))", "", body)
        body = re.sub(r"'(?:\\.|[^'])*'|\b[A-Z][A-Z_]+\b", lambda m: spelled.get(m[0], m[0]), body)
        found[name] = " ".join(body.split()).replace("('[' | '[')", "'['")
    return found


def shown(name, body):
    """A rule as the page has it, in lines."""
    lines, line = [], f"{name} :"
    for word in body.split(" "):
        if len(line) + len(word) + 3 > WIDTH:
            lines.append(line)
            line = "   "
        line += " " + word
    return "\n".join([*lines, line + " ;"]) + "\n"


def names(block):
    return re.findall(r"^(\w+)\b", block, re.M)


def grammar_problems(page, grammar):
    listed = [n for block in GRAMMAR.findall(page) for n in names(block)]
    found = [f"the rule `{n}` is not in the page" for n in grammar if n not in listed]
    found += [f"the rule `{n}` is twice in the page" for n in sorted({n for n in listed if listed.count(n) > 1})]
    found += [f"`{n}` is no rule of the grammar" for n in listed if n not in grammar]
    for block in GRAMMAR.findall(page):
        if "".join(shown(n, grammar[n]) for n in names(block) if n in grammar) != block:
            found.append(f"the rules {', '.join(names(block))} are not those of the grammar: run tests/reference_page.py --update")
    return found


def section(page, title):
    return re.search(rf"^#+ {title}\n(.*?)(?=^#)", page, re.M | re.S)[1]


def spans(text):
    return [s.replace("\\|", "|") for s in re.findall(r"`([^`]+)`", text)]


def first_cells(text):
    return [re.split(r"(?<!\\)\|", row)[1] for row in re.findall(r"^\|.*\|$", text, re.M)][2:]


def word_problems(page):
    listed = [s for cell in first_cells(section(page, "Keywords")) for s in spans(cell)]
    found = [] if sorted(listed) == sorted(make.keywords()) else [f"keywords: {sorted(set(listed) ^ make.keywords())} differ"]
    kinds = {k.strip("[]").split(": ")[-1] for cell in first_cells(section(page, "Type variables")) for k in spans(cell)} - {"N", "...S"}
    if kinds != set(make.kinds()): found.append(f"kinds of type variables: {sorted(kinds ^ set(make.kinds()))} differ")
    dtypes = [s for s in spans(first_cells(section(page, "Types"))[0])]
    if dtypes != make.dtypes(): found.append(f"dtypes: {dtypes}")
    return found


def levels(page):
    """The binary operators of each row, from the loosest on, and `not` and unary `-` as rows of their own."""
    rows = [spans(cell) for cell in first_cells(section(page, "Operators"))]
    return rows[:-1]


def tree(tenc, code):
    return subprocess.run([tenc, "--emit=ast", "-e", f"print({code})"], capture_output=True, text=True).stdout


def operator_problems(page, grammar, tenc):
    rows = levels(page)
    binary = {s[1:-1] for s in grammar["binary"].split(" | ")}
    listed = {op for row in rows for op in row}
    found = [] if listed == binary | {"not"} else [f"operators: {sorted(listed ^ (binary | {'not'}))} differ"]
    unary = [next(i for i, row in enumerate(rows) if row == ["not"]), len(rows) - 2]
    for (i, loose), (j, tight) in itertools.combinations(enumerate(rows), 2):
        for a, b in itertools.product(loose, tight):
            if i in unary:
                holds = re.search(rf"\n    unary {re.escape(a)}\n", tree(tenc, f"{a} x {b} y" if j not in unary else f"{a} {b} x"))
            elif j in unary:
                holds = re.search(rf"\n    binary {re.escape(a)}\n", tree(tenc, f"{b} x {a} y"))
            else:
                holds = all(re.search(rf"\n    binary {re.escape(a)}\n", tree(tenc, code)) for code in (f"x {a} y {b} z", f"x {b} y {a} z"))
            if not holds: found.append(f"`{b}` does not bind tighter than `{a}`")
    return found


def errors():
    kinds = (ROOT / "support/DiagnosticKinds.def").read_text()
    rows = re.findall(r"^TENC_DIAGNOSTIC\((\w+), \w+, \"(.*)\"\)$", kinds, re.M)
    return "".join(f"| [{code}](errors/{code}.md) | {title} |\n" for code, title in rows)


def command_problems(tenc):
    page = "\n".join(re.findall(r"^\|.*$", (ROOT / "docs/command-line.md").read_text(), re.M))
    say = subprocess.run([tenc, "--help"], capture_output=True, text=True).stdout
    repl = subprocess.run([tenc, "repl"], input=":help\n", capture_output=True, text=True).stdout
    found = []
    for what, form, text in (("options", r"--[a-z][-a-z]+", say), ("commands", r"(?m)(?<=tenc )[a-z]+\b(?=[ `])", say.split("commands:")[1]),
                             ("commands of the REPL", r"(?m)(?:^|(?<=`)):[a-z]+", repl)):
        apart = set(re.findall(form, page)) ^ set(re.findall(form, text)) - {"--parameter"}
        if apart: found.append(f"docs/command-line.md: {what}: {', '.join(sorted(apart))} differ")
    return found


def update(page, grammar):
    page = GRAMMAR.sub(lambda m: "```grammar\n" + "".join(shown(n, grammar[n]) for n in names(m[1])) + "```", page)
    table = "| code | meaning |\n|---|---|\n"
    return page[:page.index(table) + len(table)] + errors()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tenc", required=True)
    parser.add_argument("--update", action="store_true")
    args = parser.parse_args()
    grammar = rules()
    if args.update: PAGE.write_text(update(PAGE.read_text(), grammar))
    page = PAGE.read_text()
    checks = [grammar_problems(page, grammar), word_problems(page), operator_problems(page, grammar, args.tenc), command_problems(args.tenc),
              [] if page.endswith(errors()) else ["the table of errors is not support/DiagnosticKinds.def: run tests/reference_page.py --update"]]
    for problem in itertools.chain(*checks): print(problem)
    failed = sum(map(len, checks))
    print(f"{sum(not c for c in checks)} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
