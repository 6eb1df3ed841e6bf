# RUN: %python %s %tenc
# A loaded machine can deliver a key before the editor listens.
# ALLOW_RETRIES: 3
"""The line that is edited, when the window changes, something is pasted, or the job was stopped."""
import os
import signal
import sys
import tempfile
import termios

from session import Terminal

tenc = sys.argv[1]
os.environ["NO_COLOR"] = "1"  # what is looked at is how the editor draws
with tempfile.TemporaryDirectory() as home:
    t = Terminal(tenc, home)
    t.resize(60)
    t.expect("tenc> ")
    t.send("let long = " + " + ".join(["1000000"] * 6))    # 17 + 67 characters: two rows
    t.expect(r"0000 \+ 1000000$")
    t.resize(30)                                           # breaks it into three: up two, and drawn anew
    t.expect(r"\r\x1b\[2A \x1b\[J\rtenc> let long = 1000000 \+ 100", raw=True)
    t.resize(100)                                          # one row
    t.expect(r"\r \x1b\[J\rtenc> let long = 1000000 \+ 1000000 \+ 1000000 \+ 1000000 \+ 1000000 \+ 1000000", raw=True)
    t.send("\x15" + "\u4e2d" * 20)                         # 46 columns, of wide characters
    t.expect("\u4e2d" * 20)
    t.resize(23)                                           # 8 in the first row, of which a column stays empty, 11, 1
    t.expect(r"\r\x1b\[2A \x1b\[J\r.*" + "\u4e2d" * 11 + ".*\u4e2d", raw=True)
    t.resize(80)                                           # the two that are not full end there: still three rows
    t.expect(r"\r\x1b\[2A \x1b\[J\rtenc> " + "\u4e2d" * 20, raw=True)
    t.send("\x15")

    # A paste is taken literally, tabs too, and runs line by line; what follows the last newline can be edited.
    rows = "".join(f"\tlet a{i}\t= x + {i}  # row {i}\n" for i in range(200))
    t.send("\x1b[200~fn f(x: i64) -> i64 {\n" + rows + "\tx + a199 }\nf(1)\n + 1\x1b[201~")
    t.expect(r"fn f\(x: i64\) -> i64 \{\n.*row 199\n  \.\.\. +x \+ a199 \}\ntenc> f\(1\)\n201\ntenc> +\+ 1")
    t.send("\x01f(1)\n")
    t.expect("202.*tenc> ")

    # After a stop the shell has its own settings; the session takes the terminal back and draws the line again.
    t.send("40 + ")
    t.expect(r"40 \+ ")
    settings = termios.tcgetattr(t.fd)
    settings[3] |= termios.ICANON | termios.ECHO
    termios.tcsetattr(t.fd, termios.TCSANOW, settings)
    os.kill(t.pid, signal.SIGCONT)
    t.expect(r"tenc> 40 \+ ")
    if termios.tcgetattr(t.fd)[3] & termios.ICANON:
        sys.exit("after a stop the terminal gives whole lines")
    t.send("2\n")
    t.expect("42.*tenc> ")
    if t.close() != 0:
        sys.exit("the status is not 0")
