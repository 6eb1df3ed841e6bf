#!/usr/bin/env python3
"""docs/ops.md from the table of operations: ops_page.py --tenc PATH [--update].

Signatures, sentences and dtypes are what `tenc explain ops` prints; an example of each is a line of tests/ops_examples.txt,
`name: expression`, and what it prints is what tenc prints. What it says of a derivative is a line of
tests/ops_derivatives.txt, `name: sentence => expression`, whose expression must be true. Without --update the page must be up
to date, every operation must have an example, and, where the language's reference stands beside the checkout, every name in it
must be known.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
REFERENCE = ROOT.parent / "shared" / "design" / "ops.md"
HEAD = """# Built-in operations

Made from the compiler's own table by `tests/ops_page.py --update`; `tenc explain softmax`, and `:doc softmax` in the REPL,
show the same text. Arguments after `;` must be named; `ints` stands for an integer, `(a, b)` or `[a, b]`; arguments marked `?`
may be left out. Every operation can also be written as `x.f(a)` or `x |> f(a)`. The arguments of elementwise operations are
broadcast as in NumPy.

If nothing is said about the derivative, it is the usual one, wherever the function has one; [derivatives.md](derivatives.md)
explains how to ask for it. An operation whose derivative is "none" is not a path for a gradient: an argument that reaches the
result in no other way is an error (E0402). A derivative that is "0 everywhere" is a path.
"""
# Words between backquotes in the reference that are no names of operations.
WORDS = set("""x a b c t lo hi q k v u p n m i j s g y w f axis axes keep ints correction ord reverse exclusive descending largest length
bins range dtype slope approximate none tanh f16 bf16 f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 bool inf nan pi T edge reflect wrap constant value
mode stride padding dilation groups window same output_padding ceil_mode count_include_pad offset right reduce set add mul max min
endpoint causal mask scale eps weight bias lower unit in_axes out_axes resize grid_sample rgb_to_grey nn std image tl
true false matrix max_value min_value cross_entropy nll_loss bce bce_with_logits mse l1 huber smooth_l1 kl_div hinge triplet_margin
cosine_similarity vmap""".split())  # vmap is a form of its own: it takes a function


def table(tenc):
    text = subprocess.run([tenc, "explain", "ops"], capture_output=True, text=True, check=True).stdout
    ops = []
    for line in text.splitlines():
        if line.startswith("    of "):
            ops[-1][2] = line[7:]
        elif line.startswith("    "):
            ops[-1][1] = line[4:]
        elif line:
            ops.append([line, "", ""])
    return ops


def examples():
    found = {}
    for line in (ROOT / "tests" / "ops_examples.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            name, _, expression = line.partition(": ")
            found[name] = expression
    return found


def derivatives(tenc, problems):
    """{name: sentence}; the expressions behind the sentences must hold."""
    found, claims = {}, []
    for line in (ROOT / "tests" / "ops_derivatives.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            name, _, rest = line.partition(": ")
            found[name], _, claim = rest.partition(" => ")
            if claim: claims.append((name, claim))
    script = "\n".join(f'assert {claim}, "{name}"' for name, claim in claims)
    run = subprocess.run([tenc, "-"], input=script, capture_output=True, text=True, timeout=60)
    if run.returncode:
        problems.append(f"tests/ops_derivatives.txt says what does not hold:\n{run.stderr}")
    return found


def page(tenc, folder, problems):
    shown, said = examples(), derivatives(tenc, problems)
    out = [HEAD]
    for signature, doc, dtypes in table(tenc):
        name = signature.split("(")[0]
        out.append(f"## {name}\n\n`{signature}`\n\n{doc}" + (f" Of {dtypes}." if dtypes else "") + "\n")
        if name in said:
            out.append(f"Derivative: {said.pop(name)}\n")
        if doc.startswith("Rejected"):
            continue
        if name not in shown:
            problems.append(f"no example of `{name}` in tests/ops_examples.txt")
            continue
        text = shown[name] if shown[name].startswith(("print", "let ", "seed", "save")) else f"print({shown[name]})"
        text = text.replace("; ", "\n")
        run = subprocess.run([tenc, "-e", text], cwd=folder, capture_output=True, text=True, timeout=60)
        if run.returncode:
            problems.append(f"the example of `{name}` does not run:\n{run.stderr}")
        out.append(f"```tl\n{text}\n```\n```\n{run.stdout.rstrip()}\n```\n")
    problems += [f"tests/ops_derivatives.txt: there is no operation `{name}`" for name in said]
    return "\n".join(out)


def missing(tenc):
    """Names of operations in the reference that the table lacks."""
    if not REFERENCE.exists():
        return []
    known = {op[0].split("(")[0] for op in table(tenc)}
    text = REFERENCE.read_text().split("## The standard library")[0].split("**Elementwise**")[1]
    names = set()
    for code in re.findall(r"`([^`]*)`", text):
        plain = code
        while re.search(r"\([^()]*\)", plain):
            plain = re.sub(r"\([^()]*\)", " ", plain)
        if re.search(r"[=\[\]|:\"]", plain):
            continue
        names.update(re.findall(r"\b[a-z][a-z0-9_]{2,}\b", plain))
    return sorted(names - known - WORDS)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tenc", required=True)
    parser.add_argument("--update", action="store_true")
    args = parser.parse_args()
    problems = [f"`{name}` of the reference is no operation" for name in missing(args.tenc)]
    with tempfile.TemporaryDirectory() as folder:  # examples may write files
        text = page(str(pathlib.Path(args.tenc).resolve()), folder, problems)
    path = ROOT / "docs" / "ops.md"
    if args.update:
        path.write_text(text)
    elif not path.exists() or path.read_text() != text:
        problems.append("docs/ops.md is not what the table says; run tests/ops_page.py --update")
    print("\n".join(problems) or "ok")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
