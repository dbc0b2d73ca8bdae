"""Do the benchmarks judge as they say?  Their examples are run; nothing is timed here."""

import doctest
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def importable(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))


@pytest.mark.parametrize("name", ["timing", "compare", "setting"])
def test_examples(name, importable):
    found = doctest.testmod(importlib.import_module(name))
    assert found.attempted > 0
    assert found.failed == 0


def test_every_arm_of_simspec_can_be_built(importable):
    """What `side_by_side.py` and `compare.py` time exists in this revision, and a policy arm plays what it is asked."""
    arms = importlib.import_module("arms")
    for name in arms.ARMS:
        assert arms.job(name, 1).layout.chunks > 0
    for name in arms.POLICY_ARMS:
        assert arms.player(name)(10) >= 10


@pytest.mark.parametrize("arguments", [["compare.py", "main"], ["compare.py", "a", "b", "--arms", "nothing"]])
def test_bad_arguments_end_with_2(arguments):
    done = subprocess.run([sys.executable, FOLDER / arguments[0], *arguments[1:]], capture_output=True, text=True)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
