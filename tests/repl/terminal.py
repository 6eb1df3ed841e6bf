# RUN: %python %s %tenc
# A loaded machine can deliver a key before the editor listens.
# ALLOW_RETRIES: 3
"""The REPL on a terminal: prompts, editing, history, completion, Ctrl-C."""
import sys
import tempfile
import time

from session import Terminal


def main():
    tenc = sys.argv[1]
    with tempfile.TemporaryDirectory() as home:
        t = Terminal(tenc, home)
        t.expect("tenc> ")
        t.send("let value = [1, 2]\n")
        t.expect("tenc> ")
        t.send("fn f(x: i64) {\n")
        t.expect(r"\.\.\. ")
        t.send("x + 1 }\n")
        t.expect("tenc> ")
        t.send("f(41)\n")
        t.expect("42.*tenc> ")
        t.send("val\tue[1] + 5\x01\x05\n")          # completes to `value`, which is what was typed on
        t.expect("tenc> ")
        t.send("half a li")
        t.expect("half a li")
        time.sleep(0.5)
        t.send("\x03")                               # drops the line
        t.expect("tenc> ")
        t.send("\x1b[A\x1b[A\n")                     # the history
        t.expect("42.*tenc> ")
        t.send("var v = ones([64]); while sum(v) > 0.0 { v = softmax(v) }\n")
        time.sleep(0.5)
        t.send("\x03")
        t.expect("interrupted.*tenc> ")
        t.send("var i = 0; while i >= 0 { i = (i + 1) % 1000 }\n")   # one kernel
        time.sleep(0.5)
        t.send("\x03")
        t.expect("interrupted.*tenc> ")
        t.send(":why value\n")
        t.expect(r"made on cpu.*let value = \[1, 2\].*tenc> ")
        t.send('print("in line", end: "")\n')      # the prompt begins a line, also where what is printed does not end one
        t.expect("in line\r?\n[^\n]*tenc> ")
        t.send("let pair = (7, [2.0])\n")
        t.expect("tenc> ")
        t.send("pair.si\t + 40\n")                  # the size of a tuple
        t.expect(r"size *\+ 40.*42.*tenc> ")
        t.send("sum(value, ax\t0)\n")                 # completes to `axis: `
        t.expect(r"axis: 0\).*3.*tenc> ")
        t.send(":mem\t\n")                           # completes to `:memory`
        t.expect(r"cpu: peak \d+ bytes.*tenc> ")
        t.send("import nn; struct Net { first: nn.Linear[3, 2] }; let net = Net { first: nn.linear(3, 2) }\n")
        t.expect("tenc> ")
        t.send("net.fi\tw.sh\t\x01\x05\n")           # fields, of fields too, and members of tensors
        t.expect(r"net\.first\.?w?.*tenc> ")
        t.send("nn.batch_n\t\t\x15")                # what a module declares
        t.expect("nn.batch_norm_layer")
        t.send(":doc nn.linear\n")
        t.expect(r"fn linear\[I, O\]\(i: I, o: O, static bias: bool = true\).*A Linear layer.*tenc> ")
        t.send("value.\t\x15")                      # several: a list below
        # of integers, and nothing that has no tensor before the point, or is refused
        t.expect(r"(?=.*\bdevice\b)(?=.*\bndim\b)(?!.*\b(softmax|linspace|unique)\b).*\btranspose\b.*tenc> ")
        t.send("net.first.w.chol\t\x15")            # of f32 and f64 alone
        t.expect(r"w\.cholesky")
        t.send("\n")
        t.expect("tenc> ")
        t.send("fn g(x: i64) -> i64 {   # a comment\n")
        t.expect(r"\.\.\. ")
        t.send("    let y = x + 1  # another\n")
        t.expect(r"\.\.\. ")
        t.send("    y * 2\n")
        t.expect(r"\.\.\. ")
        t.send("}\n")
        t.expect("tenc> ")
        t.send("\x1b[A\x05\n")                       # comes back as one line, which can be edited
        t.expect(r"fn g\(x: i64\) -> i64 \{ let y = x \+ 1; y \* 2 \}.*tenc> ")
        t.send("let s = { if value[0] > 5 {\n")
        t.expect(r"\.\.\. ")
        t.send("1\n")
        t.expect(r"\.\.\. ")
        t.send("} else {\n")
        t.expect(r"\.\.\. ")
        t.send("2 } }\n")
        t.expect("tenc> ")
        t.send("\x1b[A\x05; s + 55\n")              # `else` goes on, on that line too
        t.expect(r"\{ 1 \} else \{ 2 \} \}; s \+ 55.*57.*tenc> ")
        t.send("print(\"\u00e9\u4e2d\")\n")           # letters beyond ASCII
        t.expect("\n\u00e9\u4e2d.*tenc> ")
        t.send("var r = 0; for i in 0..1000000000000 { r = (r + i) % 1000003 }\n")  # a native loop tells how far it is
        t.expect(r"trip \d+ of 1000000000000 \(0 %\), \d+ a second, .* left", 30)
        t.send("\x03")
        t.expect("interrupted.*tenc> ")
        t.send("value[1] + 40\n")                    # nothing is lost
        t.expect("42.*tenc> ")
        if t.close() != 0:
            sys.exit("the status is not 0")

        t = Terminal(tenc, home)                     # the history outlives the process
        t.expect("tenc> ")
        t.send("\x1b[A\n")
        t.expect("value.*E0102.*tenc> ")
        t.close()


main()
