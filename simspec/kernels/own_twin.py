"""Where does a user's pass go wrong?  All lanes in lock step in plain Python, with one call of the pass per round."""

from __future__ import annotations

from typing import Any

import numpy as np

from simspec.kernels.batch_twin import Member
from simspec.kernels.forms import Dense, Policy
from simspec.kernels.words import LANES
from simspec.model import ParameterError


class Told(Member):
    """A lane that keeps its news until all lanes have played."""

    news_now: tuple[int, int] | None = None
    accepted = 0

    def _enter(self, drafted: int, accepted: int, emitted: int) -> None:
        self.accepted = accepted
        super()._enter(drafted, accepted, emitted)

    def _choose(self, policy: Policy, asked: int, drafted: int, accepted: int) -> None:
        self.news_now = drafted, accepted


def find_fault(form: Any, keys: np.ndarray, chunk: int, lanes: int, quota: int, kappa: int, policy: Policy) -> None:
    """Play a chunk until the pass of ``policy`` raises or asks for a κ that it may not; return if it never does.

    Raises
    ------
    ParameterError
        Names round, lane, κ, what was accepted, and the state before.
    """
    if isinstance(form, Dense):
        form = form.requests(chunk, lanes, policy.highest)
    members = [Told(form, keys, chunk, lane, kappa, policy, quota, True) for lane in range(lanes)]
    while any(member.left > 0 for member in members):
        counted = [member.step()[2] for member in members]
        _ask(members, counted, policy)


def _ask(members: list[Told], counted: list[bool], policy: Policy) -> None:
    """One call for all lanes; a lane that is too young for news keeps its first κ and state."""
    columns = [min(lane, len(members) - 1) for lane in range(LANES)]  # lanes that are not in use: as the last one
    rounds = [member.news_now or (member.drafted, member.accepted) for member in members]
    accepted = np.array([rounds[lane][1] for lane in columns], np.int32)
    full = np.array([rounds[lane][0] == rounds[lane][1] for lane in columns], np.int32)
    kappa = np.array([members[lane].kappa for lane in columns], np.int32)
    memory = np.ascontiguousarray(np.hstack([members[lane].memory for lane in columns]))
    before, asked = memory.copy(), kappa.copy()
    allowed = f"allowed: {policy.lowest} to {members[0].longest}"

    def where(lane: int) -> str:
        late = f"news of {policy.serving.delay} rounds ago: " if policy.serving.delay else ""
        told = f"{late}{accepted[lane]} of {rounds[columns[lane]][0]} accepted, state {before[:, lane].tolist()}"
        own = members[columns[lane]]
        return f"after round {own.played} of lane {own.lane}, κ = {asked[lane]}, {told}"

    try:
        assert policy.own is not None
        policy.own(kappa, accepted, full, memory)
    except Exception as error:
        lane = _lane_of(error, policy.own, asked, accepted, full, before)
        raise ParameterError(
            "policy", f"policy raises {type(error).__name__} ({error}) {where(lane)}; {allowed}"
        ) from error
    for lane, member in enumerate(members):
        if member.news_now is None:
            continue
        if counted[lane] and policy.strict and not policy.lowest <= kappa[lane] <= member.longest:
            raise ParameterError("policy", f"policy asks for κ = {kappa[lane]} {where(lane)}; {allowed}")
        member.kappa = min(max(int(kappa[lane]), policy.lowest), member.longest)
        member.memory, member.news_now = memory[:, [lane]], None


def _lane_of(error: Exception, own: Any, kappa: Any, accepted: Any, full: Any, memory: Any) -> int:
    """The lane at which a pass raised: the last of the fewest lanes with which it raises the same."""
    for lane in range(LANES - 1):
        some = slice(lane + 1)
        parts = kappa[some].copy(), accepted[some].copy(), full[some].copy(), memory[:, some].copy()
        try:
            own(*parts)
        except Exception as again:
            if (type(again), str(again)) == (type(error), str(error)):
                return lane
    return LANES - 1
