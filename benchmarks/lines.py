"""What is compared with what, and how fast should it be?  The lines of the side-by-side table, as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import arms
import numpy as np
from peers import Peer
from timing import Arm, Play

THREAD_SECONDS = 0.24
"""Samples of line 4 on one thread: many pieces of work for each of two threads, so that neither waits at the end."""


@dataclass(frozen=True)
class Goal:
    """A bound on a ratio of best times."""

    bound: float
    at_most: bool = False

    def met(self, value: float) -> bool:
        return value <= self.bound if self.at_most else value >= self.bound

    def __str__(self) -> str:
        return f"{'≤' if self.at_most else '≥'} {self.bound:g}"


@dataclass(frozen=True)
class Comparison:
    """One row: the ratio is the time of the best of ``peers`` over the time of ``own``, names of arms of the group."""

    arm: str
    peer: str
    peers: tuple[str, ...]
    own: str
    goal: Goal | None = None


@dataclass
class Group:
    """Arms that run interleaved and what is read off them; ``absent`` says why an arm of simspec could not be built."""

    line: str
    arms: dict[str, Arm] = field(default_factory=dict)
    rows: list[Comparison] = field(default_factory=list)
    absent: dict[str, str] = field(default_factory=dict)
    check_bits: str = ""


GOALS: dict[str, dict[str, float]] = {
    "iid": {"numpy geometric": 20.0, "numba": 60.0, "c_loop": 10.0, "c_simd": 0.45},
    "markov": {"numba": 45.0, "c_loop": 8.0, "c_simd": 0.55},
    "drift": {"numba": 8.0, "c_loop": 1.6},
    "policy": {"numba": 8.0, "c_loop": 1.4},
    "rolling": {"numba": 3.5, "c_loop": 1.2},
    "limit": {"numba": 8.0},
    "tree": {"numpy": 10.0, "c_loop": 1 / 3},
}
"""Least ratio by kind of arm and peer, given what the kernels could reach; "limit": still to be found."""
ALL_OVER_ONE, TWO_OVER_ONE = Goal(1.5, at_most=True), Goal(1.3)

PROCESSES, POLICIES = ("iid", "markov", "drift"), ("fixed", "heuristic", "rolling")


def groups(line: str, peers: Sequence[Peer]) -> list[Group]:
    """The groups of one line, "1" to "5"."""
    if line == "1":
        return [_first(peers)]
    if line == "2":
        return [_against(line, "carried", "markov", "markov", peers, GOALS["markov"])]
    if line == "5":
        return [_against(line, "64-node tree", "tree", "tree", peers, GOALS["tree"])]
    if line == "4":
        return [_threads(name) for name in PROCESSES]
    fixed = [_against(line, "drift fixed kappa", "drift", "drift", peers, GOALS["drift"])]
    wanted = {f"{process} {policy}" for process in PROCESSES for policy in POLICIES} | set(arms.POLICY_ARMS)
    loops = [_policy(line, name, peers) for name in sorted(wanted, key=_place)]
    limits = [
        _against(line, name, name, name, peers, GOALS["limit"])
        for name in ("hmm", "beta requests", "discrete requests")
    ]
    return fixed + loops + limits


def _place(name: str) -> tuple[int, int, str]:
    process, _, policy = name.partition(" ")
    return PROCESSES.index(process), POLICIES.index(policy) if policy in POLICIES else len(POLICIES), policy


def _policy(line: str, name: str, peers: Sequence[Peer]) -> Group:
    """One arm of the general loop; a policy the peers do not know is the user's own "+2/−1"."""
    process, _, policy = name.partition(" ")
    case = name if policy in POLICIES else f"{process} heuristic"
    own = process if policy == "fixed" and name not in arms.POLICY_ARMS else name
    return _against(line, name, own, case, peers, GOALS.get(policy, GOALS["policy"]))


def _against(
    line: str, arm: str, own: str, case: str, peers: Sequence[Peer], goals: Mapping[str, float]
) -> Group:  # fmt: skip
    """simspec's arm ``own`` against all peers of ``case``, and against itself."""
    group = Group(line)
    for peer in peers:
        if peer.case == case:
            group.arms[f"{peer.name}, {peer.variant}"] = Arm(peer.windows)
    by_name: dict[str, tuple[str, ...]] = {}
    for name in group.arms:
        by_name[name.split(",")[0]] = (*by_name.get(name.split(",")[0], ()), name)
    if "numpy, geometric" in group.arms:  # the goal was set for this one, although another may be faster
        by_name["numpy geometric"] = ("numpy, geometric",)
    _add_own(group, own)
    for name, variants in by_name.items():
        goal = Goal(goals[name]) if name in goals else None
        group.rows.append(Comparison(arm, name, variants, own, goal))
    if own in group.arms:
        _add_own(group, own, "again")
        group.rows.append(Comparison(arm, "simspec", (f"{own} again",), own))
    return group


def _first(peers: Sequence[Peer]) -> Group:
    """One kappa and all 33 in the same rounds: the peers, which do one kappa, are the same for both."""
    group = _against("1", "one kappa", "iid", "iid", peers, GOALS["iid"])
    every, label = "iid all kappa", "all kappa 0..32"
    _add_own(group, every)
    group.rows += [
        Comparison(label, row.peer, row.peers, every, row.goal) for row in group.rows if row.peer != "simspec"
    ]
    group.rows.append(Comparison("all over one", "simspec", (every,), "iid", ALL_OVER_ONE))
    return group


def _threads(name: str) -> Group:
    group = Group("4", check_bits=name)
    for threads, label in ((1, "one thread"), (2, "two threads")):
        try:
            arms.player(name)
        except Exception as error:
            group.absent[label] = f"{type(error).__name__}: {error}"
            continue
        play = arms.on_threads(name, threads)
        group.arms[label] = Arm(play, threads=threads, seconds=THREAD_SECONDS / threads)
    group.rows.append(Comparison(name, "one thread", ("one thread",), "two threads", TWO_OVER_ONE))
    return group


def _add_own(group: Group, name: str, suffix: str = "") -> None:
    """Add an arm of simspec, or the reason why there is none."""
    label = f"{name} {suffix}".strip()
    try:
        if name not in arms.ARMS and name not in arms.POLICY_ARMS:
            raise LookupError("simspec has no such arm yet (benchmarks/arms.py, POLICY_ARMS)")
        play: Play = arms.player(name)
    except Exception as error:
        group.absent[label] = f"{type(error).__name__}: {error}"
        return
    group.arms[label] = Arm(play, arms.first_try(name))


def same_bits(name: str, windows: int = 2_000_000) -> bool:
    """Whether one and two threads return the same integers."""
    one, two = arms.results(name, windows, 1), arms.results(name, windows, 2)
    return len(one) == len(two) and all(
        np.array_equal(a.sums, b.sums) and np.array_equal(a.histogram, b.histogram)
        for a, b in zip(one, two, strict=True)
    )
