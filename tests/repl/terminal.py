# RUN: %python %s %tenc
# A loaded machine can deliver a key before the editor listens.
# ALLOW_RETRIES: 3
"""The REPL on a terminal: prompts, editing, history, completion, Ctrl-C."""
import atexit
import os
import pty
import re
import select
import signal
import sys
import tempfile
import time


class Terminal:
    def __init__(self, tenc, home):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(TERM="xterm", XDG_STATE_HOME=home, HOME=home)
            os.execv(tenc, [tenc])
        self.seen = ""
        atexit.register(self.end)

    def end(self):
        """A test that failed leaves no session behind, whatever runs in it."""
        try:
            if os.waitpid(self.pid, os.WNOHANG) == (0, 0): os.kill(self.pid, signal.SIGKILL)
        except ChildProcessError:
            pass

    def send(self, text):
        """Types when the screen has come to rest: before that the editor may not listen, and a prompt that it drew again
        would be taken for the next one."""
        end = time.monotonic() + 1
        while time.monotonic() < end and select.select([self.fd], [], [], 0.1)[0]:
            try:
                os.read(self.fd, 4096)
            except OSError:
                break
        self.seen = ""
        os.write(self.fd, text.encode())

    def expect(self, pattern, seconds=20):
        """Waits for the pattern in what is new on the screen."""
        end = time.monotonic() + seconds
        while True:
            plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", self.seen)
            found = re.search(pattern, plain, re.S)
            if found:
                self.seen = plain[found.end():]
                return
            left = end - time.monotonic()
            if left <= 0:
                sys.exit(f"waited for {pattern!r}, the screen has:\n{plain}")
            if select.select([self.fd], [], [], left)[0]:
                try:
                    self.seen += os.read(self.fd, 4096).decode(errors="replace")
                except OSError:
                    sys.exit(f"the session ended while {pattern!r} was waited for:\n{plain}")

    def close(self, seconds=20):
        """Ctrl-D; reads on meanwhile, for the terminal is reset only when its output has been taken."""
        end = time.monotonic() + seconds
        self.send("\x04")
        while time.monotonic() < end:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
            if select.select([self.fd], [], [], 0.1)[0]:
                try:
                    os.read(self.fd, 4096)
                except OSError:
                    time.sleep(0.01)
        os.kill(self.pid, signal.SIGKILL)
        sys.exit("Ctrl-D does not end the session")


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
        t.expect(r"T +device.*ndim.*tenc> ")
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
