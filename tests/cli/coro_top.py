# SPDX-License-Identifier: Apache-2.0
"""coro_top.py WEFT CASE FILE: weft coro top on a terminal of 80x24, driven by keys."""
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

weft, case, shared = sys.argv[1:4]


class Terminal:
    """A child on a terminal; what it wrote is in `out`."""

    def __init__(self, *arguments):
        self.out = b""
        self.child, self.fd = pty.fork()
        if self.child == 0:
            os.environ["TERM"] = "xterm"
            # the size is set before the program asks for it
            sys.stdin.readline()
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.execv(weft, [weft, "coro", *arguments])
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.before = termios.tcgetattr(self.fd)
        os.write(self.fd, b"\n")

    def read(self):
        """False at the end."""
        if not select.select([self.fd], [], [], 0.1)[0]:
            return True
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            return False
        self.out += data
        return bool(data)

    def wait_for(self, text):
        """For a minute at most: how long it takes is no matter here."""
        start, end = len(self.out), time.monotonic() + 60
        while text not in self.out[start:]:
            if not self.read() or time.monotonic() > end:
                sys.exit("never came: %r after %r" % (text, self.out[start:][-2000:]))

    def press(self, keys):
        os.write(self.fd, keys)

    def finish(self):
        end = time.monotonic() + 60
        while True:
            done, status = os.waitpid(self.child, os.WNOHANG)
            if done:
                break
            if time.monotonic() > end:
                os.kill(self.child, signal.SIGKILL)
                sys.exit("did not end; it wrote %r" % self.out[-500:])
            self.read()
        while select.select([self.fd], [], [], 0)[0] and self.read():
            pass
        return status

    def screen_pid(self):
        """The child of the child: the one that draws."""
        path = "/proc/%d/task/%d/children" % (self.child, self.child)
        with open(path) as children:
            return int(children.read().split()[0])


def expect(found, wanted, what):
    if found != wanted:
        sys.exit("%s: %r, expected %r" % (what, found, wanted))


def top():
    return Terminal("top", "--interval", "100ms", "--stuck", "1ms", shared)


def is_put_back(t):
    """The other screen is left, the cursor seen, and characters are echoed as before."""
    expect(t.out.rfind(b"\x1b[?1049h") < t.out.rfind(b"\x1b[?1049l"), True, "screen left")
    expect(t.out.rfind(b"\x1b[?25l") < t.out.rfind(b"\x1b[?25h"), True, "cursor shown")
    expect(termios.tcgetattr(t.fd)[3] & (termios.ECHO | termios.ICANON),
           t.before[3] & (termios.ECHO | termios.ICANON), "modes")


def keys():
    t = top()
    t.wait_for(b"q quit")
    t.press(b"/wait_for_reply\n")
    t.wait_for(b"with wait_for_reply")
    t.press(b"l")
    t.wait_for(b"lints only")
    t.press(b"s")
    t.wait_for(b"run")
    t.press(b"/\n")
    t.press(b"\x1bOB\x1b[6~\x1b[5~")
    t.press(b" ")
    t.wait_for(b"go on")
    t.press(b"q")
    expect(t.finish(), 0, "status")
    is_put_back(t)


def width():
    for verb in (["report", "--stuck", "1ms"], ["ps"], ["top", "--once", "--interval", "10ms"]):
        t = Terminal(*verb, shared)
        while t.read():
            pass
        expect(t.finish(), 0, "status of " + verb[0])
        text = re.sub(r"\x1b\[[0-9;]*m|\x1b\(B", "", t.out.decode())
        lines = text.replace("\r", "").split("\n")
        expect(len(lines) > 5, True, "lines of " + verb[0])
        wide = [line for line in lines if len(line) > 80]
        # a sentence of the report may be longer; a row of a table or list may not
        if verb[0] != "report":
            expect(wide, [], "wide lines of " + verb[0])
        else:
            expect([line for line in wide if re.match(r" *[0-9]+ +[0-9.]+ [mun]?s", line)], [],
                   "wide rows")


def ended_by(number, of_screen):
    t = top()
    t.wait_for(b"wait_for_work")
    os.kill(t.screen_pid() if of_screen else t.child, number)
    status = t.finish()
    is_put_back(t)
    return status


if case == "keys":
    keys()
elif case == "width":
    width()
elif case == "end-term":
    ended_by(signal.SIGTERM, True)
elif case == "end-kill":
    expect(os.WEXITSTATUS(ended_by(signal.SIGKILL, True)), 1, "status")
elif case == "end-interrupt":
    t = top()
    t.wait_for(b"wait_for_work")
    t.press(b"\x03")
    expect(t.finish(), 0, "status")
    is_put_back(t)
else:
    sys.exit("no such case: " + case)
