#!/usr/bin/env python3
"""What `qw train` leaves on the screen of a terminal: a pseudo-terminal, and a small screen that reads what it is sent.

    tests/cli/terminal_test.py build/release/qw

The screen knows the sequences that the program may use; any other fails the test.
"""
import codecs
import fcntl
import os
import re
import select
import signal
import struct
import sys
import termios
import time
import unittest

try:
    import pty

    os.close(os.open("/dev/ptmx", os.O_RDWR))
except (ImportError, OSError) as error:
    print(f"no pseudo-terminal: {error}")
    sys.exit(77)

QW = os.path.abspath(sys.argv.pop(1))
GRAPH = "csbm:nodes=300,degree=6,features=16,classes=3,seed=4"
LIVE = re.compile(r"epoch \d+/\d+")
BLOCKS = "▁▂▃▄▅▆▇█"
ESCAPE = re.compile(r"\x1b\[(\d*)([A-Za-z])")


class Screen:
    """Rows of text and a cursor. Becoming narrower it wraps its lines anew, as most terminals do."""

    def __init__(self, columns, rows):
        self.columns, self.height = columns, rows
        self.lines, self.row, self.column = ["before the program", ""], 1, 0
        self.wraps, self.frames, self.raw, self.pending = 0, [], "", ""

    def feed(self, text):
        self.raw += text
        text, self.pending = self.pending + text, ""
        at = 0
        while at < len(text):
            if text[at] == "\x1b":
                found = ESCAPE.match(text, at)
                if found is None:
                    self.pending = text[at:]
                    assert len(self.pending) < 16, f"not a sequence of ours: {self.pending!r}"
                    return
                self.escape(found.group(2), int(found.group(1) or 0))
                at = found.end()
            else:
                self.put(text[at])
                at += 1

    def escape(self, kind, number):
        line = self.lines[self.row]
        if kind == "A":
            self.row = max(self.top(), self.row - max(1, number))
        elif kind == "K" and number == 0:
            self.lines[self.row] = line[: self.column]
        elif kind == "J" and number == 0:
            self.frames.append(self.visible())
            self.lines[self.row] = line[: self.column]
            del self.lines[self.row + 1 :]
        else:
            raise AssertionError(f"not a sequence of ours: {number}{kind}")

    def put(self, character):
        if character == "\r":
            self.column = 0
        elif character == "\n":
            self.down()
        elif character >= " ":
            if self.column == self.columns:
                self.wraps += 1
                self.column = 0
                self.down()
            line = self.lines[self.row].ljust(self.column)
            self.lines[self.row] = line[: self.column] + character + line[self.column + 1 :]
            self.column += 1

    def down(self):
        self.row += 1
        if self.row == len(self.lines):
            self.lines.append("")

    def top(self):
        return max(0, len(self.lines) - self.height)

    def visible(self):
        return list(self.lines[self.top() :])

    def resize(self, columns):
        wrapped, row = [], self.row
        for place, line in enumerate(self.lines):
            if place == self.row:
                row = len(wrapped)
            pieces = [line[k : k + columns] for k in range(0, len(line), columns)] or [""]
            wrapped += pieces
        self.lines, self.row, self.columns = wrapped, row, columns


class Terminal:
    """The program on a terminal of its own."""

    def __init__(self, arguments, columns=100, rows=24, **environment):
        self.screen = Screen(columns, rows)
        self.decoder = codecs.getincrementaldecoder("utf-8")()
        names = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "LC_ALL", "LC_CTYPE")}
        names.update({"TERM": "xterm", "LANG": "C.UTF-8", **environment})
        self.process, self.master = pty.fork()
        if self.process == 0:
            self.size(0, columns, rows)
            os.execve(QW, [QW, *arguments], names)

    @staticmethod
    def size(terminal, columns, rows):
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, seconds=0.05):
        """False at the end."""
        if not select.select([self.master], [], [], seconds)[0]:
            return True
        try:
            some = os.read(self.master, 65536)
        except OSError:
            return False
        self.screen.feed(self.decoder.decode(some))
        return bool(some)

    def until(self, condition, seconds=120):
        end = time.monotonic() + seconds
        while not condition(self.screen):
            assert time.monotonic() < end, f"not in time; the screen has {self.screen.lines}"
            assert self.read(), f"it ended before; the screen has {self.screen.lines}"

    def resize(self, columns, rows=24):
        while select.select([self.master], [], [], 0)[0] and self.read(0):
            pass
        self.screen.resize(columns)
        self.size(self.master, columns, rows)

    def end(self):
        """The exit code."""
        while self.read(1):
            pass
        os.close(self.master)
        status = os.waitpid(self.process, 0)[1]
        return os.waitstatus_to_exitcode(status)


def train(*more):
    return ["train", "--data", GRAPH, "--patience", "0", "--baselines", "none", *more]


def is_live(screen):
    return any(LIVE.search(line) for line in screen.lines)


class TerminalTest(unittest.TestCase):
    def check_end(self, screen):
        """Nothing of the lines that changed is left, and nothing that stood above is gone."""
        self.assertFalse(is_live(screen), screen.lines)
        self.assertEqual(screen.lines[0], "before the program")
        self.assertEqual(screen.column, 0)

    def test_one_run_is_one_line(self):
        terminal = Terminal(train("--epochs", "400"))
        self.assertEqual(terminal.end(), 0)
        frames = [frame for frame in terminal.screen.frames if any(map(LIVE.search, frame))]
        self.assertGreater(len(frames), 2)
        for frame in frames:
            lines = [line for line in frame if LIVE.search(line)]
            self.assertEqual(len(lines), 1, frame)
            self.assertRegex(lines[0], f"^[{BLOCKS}]+  epoch \\d+/400  accuracy [0-9.]+  (up to .*  )?best")
        self.check_end(terminal.screen)
        self.assertTrue(any("accuracy" in line for line in terminal.screen.lines), "the result")

    def test_runs_side_by_side_have_a_line_each(self):
        terminal = Terminal(train("--epochs", "400", "--runs", "3", "--threads", "3"))
        self.assertEqual(terminal.end(), 0)
        most = max(terminal.screen.frames, key=lambda frame: sum(1 for line in frame if LIVE.search(line)))
        self.assertEqual([line[:10] for line in most if LIVE.search(line)], [f"run {k} of 3" for k in (1, 2, 3)])
        self.assertTrue(any(re.match(r"\d of 3 runs done", line) for line in most), most)
        self.check_end(terminal.screen)

    def test_narrow_and_short_terminals_do_not_wrap(self):
        for columns, rows in ((30, 24), (9, 5), (1, 2)):
            terminal = Terminal(train("--epochs", "150", "--runs", "6", "--threads", "4"), columns, rows)
            terminal.until(lambda screen: len(screen.frames) > 3)
            self.assertEqual(terminal.screen.wraps, 0, (columns, terminal.screen.lines))
            self.assertLessEqual(len(terminal.screen.frames[-1]) if rows == 5 else 0, rows)
            terminal.end()

    def test_resizing_leaves_nothing_behind(self):
        terminal = Terminal(train("--epochs", "3000", "--runs", "2", "--threads", "2"))
        terminal.until(is_live)
        for columns in (60, 37, 90, 25, 120):
            terminal.resize(columns)
            before = len(terminal.screen.frames)
            terminal.until(lambda screen: len(screen.frames) > before + 1)
            lines = [line for line in terminal.screen.frames[-1] if "run" in line]
            self.assertEqual(len(lines), 3, (columns, terminal.screen.lines))
        os.write(terminal.master, b"\x03")
        self.assertEqual(terminal.end(), 130)
        self.check_end(terminal.screen)

    def test_ctrl_c_leaves_an_empty_line(self):
        terminal = Terminal(train("--epochs", "100000"))
        terminal.until(is_live)
        os.write(terminal.master, b"\x03")
        self.assertEqual(terminal.end(), 130)
        self.check_end(terminal.screen)
        self.assertEqual(terminal.screen.lines[-2:], ["stopped; nothing is kept, since there is no --out", ""])

    def test_a_kill_leaves_the_cursor_on_an_empty_line(self):
        terminal = Terminal(train("--epochs", "100000", "--runs", "2"))
        terminal.until(is_live)
        os.kill(terminal.process, signal.SIGKILL)
        self.assertEqual(terminal.end(), -signal.SIGKILL)
        screen = terminal.screen
        self.assertEqual((screen.column, screen.lines[screen.row]), (0, ""))

    def test_plain_where_it_is_asked_for(self):
        for more, environment in ((["--json"], {}), ([], {"NO_COLOR": "1"}), ([], {"TERM": "dumb"})):
            terminal = Terminal(train("--epochs", "200", *more), 200, **environment)
            self.assertEqual(terminal.end(), 0)
            self.assertNotIn("\x1b", terminal.screen.raw)
            told = [line for line in terminal.screen.lines if line.startswith("run 1 of 1, epoch ")]
            self.assertEqual([line.split(":")[0][-3:] for line in told], ["100", "200"], (more, environment))

    def test_quiet_says_nothing(self):
        terminal = Terminal(train("--epochs", "200", "--quiet"))
        self.assertEqual(terminal.end(), 0)
        self.assertNotIn("\x1b", terminal.screen.raw)
        self.assertNotIn("epoch", terminal.screen.raw)

    def test_no_blocks_where_the_locale_has_none(self):
        terminal = Terminal(train("--epochs", "300"), LANG="de_DE.ISO-8859-1")
        self.assertEqual(terminal.end(), 0)
        self.assertTrue(terminal.screen.frames)
        self.assertTrue(terminal.screen.raw.isascii())


if __name__ == "__main__":
    unittest.main(verbosity=2)
