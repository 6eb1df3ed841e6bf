# RUN: %python %s %tenc
# A loaded machine can deliver a key before the editor listens.
# ALLOW_RETRIES: 3
"""Colours of the line that is typed, and pictures in the protocol that the terminal says it knows."""
import os
import re
import sys
import tempfile

from session import Terminal


def picture(tenc, home, answer, pattern, **environment):
    os.environ.update(environment)
    t = Terminal(tenc, home)
    t.expect("tenc> ")
    t.send(":show [[0.0, 1.0], [1.0, 0.0]]\n")
    t.expect(r"\x1b\[c", raw=True)       # the terminal is asked what it is
    os.write(t.fd, answer.encode())
    t.expect(pattern, raw=True)
    t.expect("black is 0 and white 1.*tenc> ")
    t.send("1 + 1\n")
    t.expect("2.*tenc> ")                # nothing of the answer is left
    if t.close() != 0: sys.exit("the session fails")


def main():
    tenc = sys.argv[1]
    os.environ.pop("NO_COLOR", None)
    with tempfile.TemporaryDirectory() as home:
        picture(tenc, home, "\x1b_Gi=31;OK\x1b\\\x1b[?62;c", r"\x1b_Ga=T,f=24,q=2,s=256,v=256,m=1;", COLORTERM="")
        picture(tenc, home, "\x1b[?62;4;22c", r'\x1bPq"1;1;256;256#0;2;0;0;0#215;2;100;100;100')
        picture(tenc, home, "\x1b[?62;22c", r"\x1b\[38;5;16;48;5;16m\u2580{20}\x1b\[38;5;231;48;5;231m\u2580{20}\x1b\[0m")
        picture(tenc, home, "\x1b[?62;22c", r"\x1b\[38;2;0;0;0;48;2;0;0;0m\u2580{20}\x1b\[38;2;255;255;255;48;2;255;255;255m", COLORTERM="truecolor")

        t = Terminal(tenc, home)
        t.expect("tenc> ")
        t.send("let x = (1 + \"a\"")
        t.expect(r"\x1b\[35mlet\x1b\[0m x = \(\x1b\[36m1\x1b\[0m \+ \x1b\[32m\"a\"\x1b\[0m", raw=True)
        t.send(")")
        t.expect(r"= \x1b\[1;7m\(\x1b\[0m.*\x1b\[1;7m\)\x1b\[0m", raw=True)  # the brackets that belong together
        t.send("]")
        t.expect(r"\x1b\[31m\]\x1b\[0m", raw=True)                           # one that belongs to none
        t.send("\x15print(\"{x:.2f}\")")
        t.expect(r"\{x:\.2f\}\x1b\[32m\"", raw=True)                        # a format is no wrong number
        t.send("\x15fn f(x: i64) {\n")
        t.expect(r"\.\.\. ")
        t.send("x }")
        t.expect(r"\x1b\[1;7m\}\x1b\[0m", raw=True)                          # to one of the line above
        t.send("\n")
        t.expect("tenc> ")
        if t.close() != 0: sys.exit("the session fails")

        os.environ["NO_COLOR"] = "1"
        t = Terminal(tenc, home)
        t.expect("tenc> ")
        t.send("let x = 1\n")
        t.expect("tenc> ", raw=True)
        t.send("x + 41\n")
        t.expect("42.*tenc> ")
        if re.search(r"\x1b\[3\dm", t.seen): sys.exit("there are colours under NO_COLOR")
        if t.close() != 0: sys.exit("the session fails")


if __name__ == "__main__":
    main()
