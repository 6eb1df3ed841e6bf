# RUN: %python %s %tenc
# A loaded machine can deliver a key before the editor listens.
# ALLOW_RETRIES: 3
"""`:show` asks the terminal what it can show. One that does not answer is waited for a little, and what is typed meanwhile is kept."""
import os
import re
import sys
import tempfile
import time

from session import Terminal


def main():
    with tempfile.TemporaryDirectory() as home:
        t = Terminal(sys.argv[1], home)
        t.expect("tenc> ")
        t.send("let x = [[0.0, 1.0]]\n")
        t.expect("tenc> ")
        t.send(":show x\n")
        t.expect(re.escape("\x1b[c"), raw=True)     # the question, of which nobody knows
        for key in "7 * 191\n":
            os.write(t.fd, key.encode())
            time.sleep(0.05)
        t.expect("black is 0 and white 1.*1337.*tenc> ")
        return t.close()


if __name__ == "__main__":
    sys.exit(main())
