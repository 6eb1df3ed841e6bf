"""A REPL on a pseudo terminal: what is typed, and what its screen shows."""
import atexit
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
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
        """Types when the screen has come to rest and the editor listens: before that a prompt that it drew again would be taken
        for the next one, and keys would be lost. Ctrl-C goes to whatever runs."""
        end = time.monotonic() + (1 if text == "\x03" else 20)
        while time.monotonic() < end:
            if select.select([self.fd], [], [], 0.1)[0]:
                try:
                    os.read(self.fd, 4096)
                except OSError:
                    break
            elif text == "\x03" or not termios.tcgetattr(self.fd)[3] & termios.ICANON:
                break
        self.seen = ""
        os.write(self.fd, text.encode())

    def resize(self, columns, rows=24):
        """The window changes; its terminal tells the session."""
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def expect(self, pattern, seconds=20, raw=False):
        """Waits for the pattern in what is new on the screen; with `raw` in what was sent there, control sequences too."""
        end = time.monotonic() + seconds
        while True:
            plain = self.seen if raw else re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[78]|\r", "", self.seen)
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
