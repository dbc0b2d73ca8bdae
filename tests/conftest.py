"""Tests that take longer than two seconds say so while they run."""

import sys
import threading
import time

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item, nextitem):
    """Print a line every two seconds while one test is running."""
    reporter = item.config.pluginmanager.get_plugin("terminalreporter")
    done = threading.Event()
    began = time.monotonic()

    def beat():
        while not done.wait(2.0):
            reporter.write(f"[{item.name[:60]} {time.monotonic() - began:.0f} s] ", flush=True)

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        return (yield)
    finally:
        done.set()
        thread.join()


@pytest.fixture(autouse=True)
def nothing_kept():
    """Tables of rounds are made anew in every test: one that plants an error sees it."""
    for module, name in (("simspec.model.simulation", "TABLES"), ("simspec.run.engine", "FORMS")):
        if module in sys.modules:
            getattr(sys.modules[module], name).clear()


@pytest.fixture
def tiny():
    """A scenario dictionary that runs in milliseconds."""
    return {
        "name": "tiny",
        "windows": 20_000,
        "kappa": [0, 2, 4],
        "process": {"type": "iid", "alpha": [0.6, 0.7]},
        "cost": {"c_d": [0.05, 0.1]},
    }


@pytest.fixture
def played(monkeypatch):
    """Every chunk that is played: (simulation id, κ, chunk)."""
    from simspec.run import dispatch

    calls, play = [], dispatch.play

    def noted(job, chunks, kappas=()):
        calls.extend((job.simulation.id, kappa, chunk) for kappa in kappas for chunk in chunks)
        return play(job, chunks, kappas)

    monkeypatch.setattr(dispatch, "play", noted)
    return calls
