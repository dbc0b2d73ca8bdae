"""What do requests do that are served together?  In plain Python: lanes of the general loop in lock step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from simspec.kernels.forms import Policy, Requests, Urn
from simspec.kernels.lane_twin import Lane
from simspec.kernels.tally import SUMS, Tally


class Member(Lane):
    """A lane of a batch: it plays one round when asked to, and goes on unseen when it has finished."""

    def __init__(
        self, form: Any, keys: np.ndarray, chunk: int, lane: int, kappa: int, policy: Policy, quota: int, asked: bool
    ) -> None:
        super().__init__(form, keys, chunk, lane, kappa, policy)
        self.quota, self.left = quota, quota if asked else 0
        self.number, self.heard = 0, list[tuple[int, int, int]]()
        self.changes = self.flips, self.wakes
        self.flow = self._flow()

    def _flow(self) -> Iterator[bool]:
        """Round after round; true after the last one of a request, or after any where there are none."""
        while True:
            if isinstance(self.form, (Requests, Urn)):
                yield from self.rounds_of(self.form, self.number)
            else:
                self.play_round()
                yield True

    def step(self) -> tuple[int, bool, bool]:
        """One round: drafts, whether one was rejected, and whether the round counts."""
        counts = self.left > 0
        over = next(self.flow)
        if counts:
            self.changes = self.flips, self.wakes
        if over:
            self.left -= 1
            self.number = self.quota - self.left
        return self.drafted, self.rejected, counts

    def _enter(self, drafted: int, accepted: int, emitted: int) -> None:
        self.rejected = accepted < drafted
        if self.left > 0:
            super()._enter(drafted, accepted, emitted)

    def _choose(self, policy: Policy, asked: int, drafted: int, accepted: int) -> None:
        if policy.serving.shares_kappa:
            self.heard.append((asked, drafted, accepted))  # said to all, when every lane has played
        else:
            super()._choose(policy, asked, drafted, accepted)

    def tell(self, policy: Policy, kappa: int) -> int:
        """The next κ of the batch after this lane's news, if there are any."""
        self.kappa = kappa
        for news in self.heard:
            super()._choose(policy, *news)
        self.heard.clear()
        return self.kappa


class Batch:
    """Neighbouring lanes whose rounds are steps of one batch."""

    def __init__(self, members: list[Member], policy: Policy) -> None:
        self.members, self.policy = members, policy
        longest = members[0].longest
        self.steps = np.zeros((len(members), 2 * (longest + 1)), np.int64)

    def play(self) -> None:
        """Steps until every lane has finished."""
        while any(member.left > 0 for member in self.members):
            self.step()

    def step(self) -> None:
        """One round of every lane, then the news of them all."""
        rounds = [member.step() for member in self.members]
        kind = 2 * max(drafted for drafted, _, _ in rounds) + any(rejected for _, rejected, _ in rounds)
        for place, (_, _, counts) in enumerate(rounds):
            self.steps[place, kind] += counts
        if self.policy.serving.shares_kappa:
            self._tell()

    def _tell(self) -> None:
        """One state, that of the first lane, and one κ."""
        first = self.members[0]
        kappa = first.kappa
        for member in self.members:
            member.memory = first.memory
            if self.policy.rule:
                member.rule = first.rule
            kappa = member.tell(self.policy, kappa)
        for member in self.members:
            member.kappa = kappa


def batches(
    form: Any, keys: np.ndarray, chunk: int, lanes: int, quota: int, kappa: int, policy: Policy
) -> Iterator[Batch]:
    """The batches of a chunk; lanes that are not in use are company in the last one."""
    size = policy.serving.batch
    for first in range(0, lanes, size):
        own = range(first, first + size)
        yield Batch([Member(form, keys, chunk, lane, kappa, policy, quota, lane < lanes) for lane in own], policy)


def batch_tally(form: Any, keys: np.ndarray, chunk: int, lanes: int, quota: int, kappa: int, policy: Policy) -> Tally:
    """Tally of one chunk."""
    played = list(batches(form, keys, chunk, lanes, quota, kappa, policy))
    for batch in played:
        batch.play()
    players = [member for batch in played for member in batch.members][:lanes]
    sums = np.array([[player.sums[name] for name in SUMS] for player in players])
    flips, wakes = np.array([player.changes for player in players]).T
    by_step = np.concatenate([batch.steps for batch in played])[:lanes].reshape(lanes, -1, 2)
    histogram = np.sum([player.histogram for player in players], axis=0)
    made, asked = (np.array([getattr(player, name) for player in players]) for name in ("made", "asked"))
    return Tally(kappa, sums, histogram, flips=flips, wakes=wakes, made=made, asked=asked, steps=by_step)
