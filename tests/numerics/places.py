#!/usr/bin/env python3
"""Operations run where their operands live, and take literals as they take names: places.py --tenc PATH [--only TEXT]

Each call of calls.txt runs with operands of the host, with operands of a device outside of any block, without a default device,
and, where it has such operands, with literals in place of their names. The three print the same numbers; on the device no part of
the result is on the host, and nothing is moved that is not printed. With one operand or number on the device and the others on the
host, a call is an error or moves nothing but what the host reads. Every operation of tests/ops_examples.txt that takes tensors
has a call.

Where a call takes a single number, it gives the same, to the bit, for a literal, a `const`, a `let`, and a `const` and a `param` with a
written type beside f64, and what has a written type (f64, i32, u8) keeps it and gives what that gives at run time.
Closes with `N passed, N failed`."""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
IMPORTS = "".join(f"import {m}\n" for m in ("special", "signal", "linalg", "image", "nn", "ad", "data"))
LITERALS = {"v": "[1.0, 3.0, 2.0]", "m": "[[2.0, 1.0], [1.0, 3.0]]", "i": "[0, 2, 1]", "b": "[true, false, true]"}
OTHERS = {
    "x": "[1.0, 3.0, 2.0, nan]", "s": "sum([1.0, 2.0])", "n": "[4]", "im": "reshape(arange(32.0), [1, 2, 4, 4])", "k": "ones([2, 2, 2, 2])",
    "grid": "zeros([1, 2, 2, 2])", "rgb": "ones([1, 3, 2, 2])", "vol": "reshape(arange(64.0), [1, 1, 4, 4, 4])",
    "seqs": "reshape(arange(16.0), [1, 2, 8])", "logs": "log_softmax(ones([4, 1, 3]))",
}
# What takes no tensor, or is no function of its operands: it makes, draws, reads, writes, or asks the machine.
WITHOUT = """arange available count devices empty enumerate eps eye linspace load load_bytes load_csv max_value memory min_value name
ones permutation print rand randint randn rng_state save save_bytes seed tabulate time zeros zip""".split()
# Of a number `v`, or an integer `i`, beside those of calls.txt.
NUMBERS = """v * v; v + 1; 2 / v; v ** 2; v // 2; v % 2; -v; (v, 1.0).0; min(v, 1); max(v, 0.0); where(c, v, 0.0); where(c, v, 0.0) * v;
clamp(v, 0.0, 1.0) - v; (if c { v } else { 0.2 }); (if c { 1 } else { v }) * v; lerp(v, 1.0, 0.5); [v, 1.0][0]; id(v);
i + 3; i * 2; i - 1; i ** 2; i // 2; i % 3; 2 * i - i; abs(i); sign(i); round(i); max(i, 1); min(i, i); clamp(i, 0, 3); where(c, i, 1);
[i, 1][0]; i64(i) * 2; i < 3; bitwise_and(i, 6); relu(i); square(i)""".replace("\n", " ").split("; ")
# What takes a whole tensor, and functions: a literal is one of f32 to them, as its type alone is.
OF_TENSORS = re.compile(r"(\w+\.|id|quantile|median|norm|logsumexp|flip|roll|pad|dropout|squeeze|max\(v\)|prod|dot|mean|arg|sort|topk|kthvalue|mode|cum|logcumsumexp)")
NAME = re.compile(r"(?<![\w.\"])([a-z]+)\b(?![(:\"])")


def declared(place):
    return IMPORTS + "".join(f"{place}let {name} = {text}\n" for name, text in {**LITERALS, **OTHERS}.items())


def ran(tenc, folder, text):
    script = pathlib.Path(folder) / "s.tl"
    script.write_text(text)
    done = subprocess.run([tenc, script.name, "--virtual", "cuda=1"], cwd=folder, capture_output=True, text=True, timeout=120)
    errors = [line for line in done.stderr.splitlines() if line.startswith("error[")]
    return done.stdout if done.returncode == 0 else f"status {done.returncode}: {'; '.join(errors) or done.stderr[:200]}"


def literal(call):
    """The call with literals in place of the names outside of lambdas; nothing where it has a lambda or none of the names."""
    if "|" in call: return None
    text = NAME.sub(lambda m: LITERALS.get(m[1], m[1]), call)
    return text if text != call else None


def close(a, b):
    try: x, y = float(a), float(b)
    except ValueError: return a == b
    return a == b or abs(x - y) <= 4e-15 * abs(y)


def of_number(call, name, text):
    """The call with one number in place of its operands; nothing where it has others or does not have it."""
    names = {m[1] for m in NAME.finditer(call)}
    if "|" in call or name not in names or names & {*LITERALS, *OTHERS} - {name}: return None
    return NAME.sub(lambda m: text if m[1] == name else m[0], call)


def wrong_number(tenc, folder, call, name, kind, number):
    """What differs among the forms of a number of one dtype; None where the call takes none."""
    head = f"{IMPORTS}fn id(x) = x\nlet c = sum([1.0]) > 0.0\n"
    show = lambda text: f"print(({of_number(call, name, text)}).dtype)\nprint({of_number(call, name, text)})\n"
    if of_number(call, name, number) is None: return None
    want = ran(tenc, folder, f"{head}var n: {kind} = {number}\n{show('n')}").split("\n")
    if len(want) != 3: return None  # it takes no single number, or gives no other
    forms = {"const": "N", "param": "p"}
    script = f"const N: {kind} = {number}\nparam p: {kind} = {number}\n" if kind == "f64" else f"const N: {kind} = {number}\n"
    for form, text in forms.items():
        if form == "param" and kind != "f64": continue
        got = ran(tenc, folder, head + script + show(text)).split("\n")
        if len(got) != 3 or got[0] != want[0] or not close(got[1], want[1]): return f"{form} of {kind}: {got}, not {want}"
    if kind != "f64" or want[0] != "f64" or OF_TENSORS.match(call): return ""
    exact = "let one: f64[1] = [1.0]\nconst B = 0.3\nlet l = 0.3\n"
    beside = "".join(f"print((one * ({of_number(call, name, text)}))[0])\n" for text in ("N", "p", "B", "l", number))
    got = ran(tenc, folder, head + script + exact + beside).split("\n")[:-1]
    if len(set(got)) != 1 or not close(got[0], want[1]): return f"const, param of f64, const, let, literal beside f64: {got}, not {want[1]}"
    return ""


def numbers(tenc, folder, calls):
    """How many calls take numbers, and what is wrong with them."""
    wrong, count = [], 0
    for call in calls:
        for name, kind, number in (("v", "f64", "0.3"), ("i", "i32", "5"), ("i", "u8", "5")):
            said = wrong_number(tenc, folder, call, name, kind, number)
            count += said is not None
            if said: wrong.append(f"{call}: {said}")
    return count, wrong


def without_place(text):
    return re.sub(r" @\w+(:\d+)?(?=$| \[)", "", text, flags=re.M)


def problem(tenc, folder, call):
    line = f"let result = {call}\nprint(result)\n"
    want = ran(tenc, folder, declared("") + line)
    if want.startswith("status"): return want
    device = ran(tenc, folder, declared("@cuda:0 ") + line)
    if "@cpu" in device: return f"a part is on the host: {device[:200]}"
    if without_place(device) != without_place(want) and not call.startswith("dbg("): return f"on a device: {device[:200]}, not {want[:200]}"
    written = literal(call)
    if written is None or call.startswith("dbg("): return ""
    got = ran(tenc, folder, declared("") + f"let result = {written}\nprint(result)\n")
    return "" if got == want else f"{written}: {got[:200]}, not {want[:200]}"


NUMBER = re.compile(r"(?<![\w.\"])-?\d+(\.\d+)?(e-?\d+)?\b(?!\.\d)")
HOST_READS = {"print", "assert", "if", "while", "for"}


def hidden_move(tenc, folder, call):
    """What is moved in silence when one operand or number of the call lives on a device and the others on the host."""
    places = [m for m in [*NAME.finditer(call), *NUMBER.finditer(call)] if m[0] in {**LITERALS, **OTHERS} or m[0][-1].isdigit()]
    for m in places if len(places) > 1 else []:
        text = {**LITERALS, **OTHERS}.get(m[0]) or f"sum([{m[0]}])"
        script = pathlib.Path(folder) / "s.tl"
        mixed = call[:m.start()] + "far" + call[m.end():]
        script.write_text(f"{declared('')}@cuda:0 let far = {text}\nprint({mixed})\n")
        done = subprocess.run([tenc, "transfers", script.name, "--virtual", "cuda=1"], cwd=folder, capture_output=True, text=True, timeout=120)
        if done.returncode not in (0, 1): return f"{mixed}: status {done.returncode}: {done.stderr[:200]}"
        rows = [line.split() for line in done.stdout.splitlines() if " -> " in line] if done.returncode == 0 else []
        if hidden := [" ".join(row) for row in rows if row[7] not in HOST_READS]: return f"{mixed}: {hidden[0]}"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tenc", required=True, type=lambda p: str(pathlib.Path(p).resolve()))
    parser.add_argument("--only", default="")
    a = parser.parse_args()
    calls = [line for line in (HERE / "calls.txt").read_text().splitlines() if line and not line.startswith("#")]
    failed = 0
    if not a.only:
        known = [line.split(":")[0].strip() for line in (HERE.parent / "ops_examples.txt").read_text().splitlines() if line and line[0] != "#"]
        called = set(re.findall(r"\b(\w+)\(", " ".join(calls)))
        missing = [name for name in known if name not in called and name not in WITHOUT]
        if missing: print(f"FAILED no call of {', '.join(missing)}")
        failed += bool(missing)
    chosen = [c for c in calls if a.only in c]
    with tempfile.TemporaryDirectory() as folder:
        for call in chosen:
            wrong = problem(a.tenc, folder, call) or hidden_move(a.tenc, folder, call)
            if wrong: print(f"FAILED {call}: {wrong}")
            failed += bool(wrong)
        count, wrong = numbers(a.tenc, folder, [c for c in calls + NUMBERS if a.only in c])
        for line in wrong: print(f"FAILED {line}")
        failed += len(wrong)
    print(f"{len(chosen) + count + (not a.only) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
