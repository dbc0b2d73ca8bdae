"""How long does each arm take, on a machine that is not quiet?  Interleaved samples, and the disturbed ones dropped.

A machine has fast and slow phases of seconds to minutes, and other programs take its processors.  So all arms of a
comparison run once per round in random order, a sample counts only if this process really had the processors, and
ratios are taken between the best samples and between samples of one round.
"""

from __future__ import annotations

import random
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

ROUNDS = 15
FEWEST = 5
"""Clean samples without which nothing is said."""
OWN_SHARE = {1: 0.97, 2: 1.86}
"""Threads → CPU time over wall time below which somebody else had a processor."""
SAMPLE_SECONDS = 0.03
PATIENCE = 6
PATIENT_SECONDS = 40.0
"""On a busy machine: at most that many times the rounds asked for, and at most that long per group."""

Play = Callable[[int], int]
"""Plays about as many windows as it is asked for and returns how many there were."""


@dataclass(frozen=True)
class Arm:
    """One thing to time.

    Attributes
    ----------
    play : callable
        See `Play`.
    first : int
        Windows of the first try, from which the size of a sample is found.
    threads : int
        Processors it is meant to keep busy, 1 or 2.
    seconds : float
        Wanted length of a sample.
    """

    play: Play
    first: int = 100_000
    threads: int = 1
    seconds: float = SAMPLE_SECONDS


@dataclass
class Samples:
    """Clean samples of one arm: round → nanoseconds per window, and how many were dropped."""

    clean: dict[int, float] = field(default_factory=dict)
    dropped: int = 0

    @property
    def enough(self) -> bool:
        return len(self.clean) >= FEWEST

    @property
    def best(self) -> float:
        return min(self.clean.values())

    @property
    def median(self) -> float:
        return statistics.median(self.clean.values())


@dataclass(frozen=True)
class Ratio:
    """How many times as long one arm takes as another: between the bests, and the median of same-round ratios."""

    best: float
    median: float


def ratio(slow: Samples, fast: Samples) -> Ratio | None:
    """Time of ``slow`` over time of ``fast``; None if either has too few clean samples, or they share no round.

    Examples
    --------
    >>> ratio(Samples({r: 6.0 + r for r in range(5)}), Samples({r: 2.0 for r in range(5)}))
    Ratio(best=3.0, median=4.0)
    """
    common = slow.clean.keys() & fast.clean.keys()
    if not (slow.enough and fast.enough and common):
        return None
    return Ratio(slow.best / fast.best, statistics.median(slow.clean[r] / fast.clean[r] for r in common))


def sample(play: Play, windows: int, threads: int = 1) -> tuple[float, bool]:
    """(nanoseconds per window, whether this process had its processors throughout)."""
    own, began = time.process_time(), time.perf_counter()
    done = play(windows)
    wall, own = time.perf_counter() - began, time.process_time() - own
    return wall / done * 1e9, own >= OWN_SHARE[threads] * wall


def size_of(arm: Arm) -> int:
    """Windows that take about ``arm.seconds`` of an undisturbed processor; compiles and warms the arm on the way."""
    arm.play(arm.first)
    windows = arm.first
    while True:
        began = time.process_time()
        arm.play(windows)
        spent = (time.process_time() - began) / arm.threads
        if spent >= arm.seconds / 2:
            return max(1, round(windows * arm.seconds / spent))
        windows = round(windows * min(16.0, max(2.0, arm.seconds / max(spent, 1e-6))))


def patient_rounds(rounds: int, samples: Mapping[str, Samples]) -> Iterator[int]:
    """0, 1, … ``rounds`` − 1, and further for a while if the machine was too busy for `FEWEST` clean samples."""
    began = time.perf_counter()
    for round_ in range(PATIENCE * rounds):
        late = time.perf_counter() - began > PATIENT_SECONDS
        if round_ >= rounds and (late or all(one.enough for one in samples.values())):
            return
        yield round_


def interleave(
    arms: Mapping[str, Arm], rounds: int = ROUNDS, seed: int = 1, say: Callable[[str], None] = lambda _: None
) -> dict[str, Samples]:
    """Time all ``arms`` once per round, in an order that changes from round to round.

    Parameters
    ----------
    arms : dict of str to Arm
    rounds : int
        Rounds; more, within `PATIENCE` and `PATIENT_SECONDS`, while an arm has fewer than `FEWEST` clean samples.
    seed : int
        Of the order.
    say : callable
        Told what is going on.
    """
    sizes = {}
    for name, arm in arms.items():
        say(f"{name}: warming up")
        sizes[name] = size_of(arm)
    samples = {name: Samples() for name in arms}
    order, shuffle = list(arms), random.Random(seed).shuffle
    for round_ in patient_rounds(rounds, samples):
        shuffle(order)
        for name in order:
            say(f"round {round_ + 1}: {name}")
            spent, clean = sample(arms[name].play, sizes[name], arms[name].threads)
            if clean:
                samples[name].clean[round_] = spent
            else:
                samples[name].dropped += 1
    return samples


@contextmanager
def progress(every: float = 1.5) -> Iterator[Callable[[str], None]]:
    """A function that takes the latest news, of which stderr hears every ``every`` seconds, also amid a long step."""
    latest = ["starting"]
    over = threading.Event()

    def tell() -> None:
        while not over.wait(every):
            print(f"… {latest[0]}", file=sys.stderr, flush=True)

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield lambda news: latest.__setitem__(0, news)
    finally:
        over.set()
        teller.join()
