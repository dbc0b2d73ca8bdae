"""What a run says of itself while it works: speed, what is left, on a terminal, in a pipe, to nobody."""

import io
import time
from types import SimpleNamespace

import pytest

from simspec.run import progress
from simspec.run.progress import ERASE, START, Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """Time that passes when it is told to."""
    now = SimpleNamespace(seconds=100.0)
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: now.seconds))
    return now


@pytest.fixture
def narrow(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "24")


def test_speed_share_and_time_left(clock):
    with Progress(total=100_000_000, quiet=True) as own:
        own.say("simulating")
        assert own.line() == "[  0.0 s] simulating"
        clock.seconds += 7.0  # compiling, which says nothing of the speed
        own.add(0)
        clock.seconds += 3.0
        own.add(4_000_000)
        assert own.line() == "[ 10.0 s] simulating: 4,000,000 windows, 1.3 M/s"  # too early to tell the end
        clock.seconds += 7.0
        own.add(26_000_000)
        told = "simulating: 30,000,000 windows, 3.0 M/s"
        assert own.line() == f"[ 17.0 s] {told}, 30%, ready in about 23 s"
        own.spare(40_000_000)  # kept from an earlier run
        assert own.line() == f"[ 17.0 s] {told}, 40,000,000 kept from before, 50%, ready in about 10 s"
        own.spare(60_000_000)  # all that was left, and nothing is ready in a minus second
        assert own.line() == f"[ 17.0 s] {told}"
        own.begin("recording", 10)
        assert own.line() == "[ 17.0 s] recording"
        clock.seconds += 100.0
        own.add(5)
        clock.seconds += 1.0
        assert own.line() == "[118.0 s] recording: 5 windows, 0.0 M/s, 50%, ready in about 1 s"


def heard(stream, lines=2, quiet=False):
    """All that is printed, until so many lines are, during work on something with a hostile name."""
    with Progress(quiet=quiet, stream=stream) as own:
        own.say("simulating \x1b[31m a name that is longer than the terminal")
        own.note("note \x1b[2J of it")
        end = time.monotonic() + (10.0 if lines else 0.05)
        while stream.getvalue().count("] simulating") < (lines or 1) and time.monotonic() < end:
            time.sleep(0.01)
        own.clear()
    return stream.getvalue()


@pytest.fixture
def at_once(monkeypatch):
    monkeypatch.setattr(progress, "FIRST", 0.01)
    monkeypatch.setattr(progress, "TICK", 0.01)


def test_one_line_is_rewritten_on_a_terminal_and_never_wraps(at_once, narrow):
    text = heard(Terminal())
    lines = [line.removesuffix(ERASE) for line in text.split(START)]
    assert any("simulating" in line for line in lines)
    assert all(len(line) < 24 for line in lines if "] " in line)
    assert text.endswith(START + ERASE)
    assert "note �[2J of it\n" in text
    assert "\x1b" not in text.replace(ERASE, "")


@pytest.mark.parametrize("stream", [io.StringIO, Terminal], ids=["pipe", "dumb terminal"])
def test_plain_lines_where_none_can_be_rewritten(stream, at_once, narrow, monkeypatch):
    monkeypatch.setenv("TERM", "dumb" if stream is Terminal else "xterm")
    text = heard(stream())
    assert not {"\x1b", "\r"} & set(text)
    assert text.count("simulating �[31m a name that is longer than the terminal\n") >= 2
    assert text.startswith("note �[2J of it\n")


def test_quiet_says_nothing(at_once, narrow):
    assert heard(Terminal(), lines=0, quiet=True) == ""


def test_work_goes_on_when_nobody_listens_any_more(at_once):
    class Closed(io.StringIO):
        def write(self, _):
            raise BrokenPipeError

    assert heard(Closed(), lines=0) == ""
