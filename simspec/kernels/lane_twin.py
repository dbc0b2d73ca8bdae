"""What does one lane of the general loop do?  In plain Python, to be read: bit for bit the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from simspec.kernels.forms import Drawn, Ends, FreshRow, Policy, Requests, Rows, Urn
from simspec.kernels.lower_stale import doubled
from simspec.kernels.policy_twin import RULE_TWINS, policy_word, row_word
from simspec.kernels.tally import SUMS
from simspec.kernels.words import LANES
from simspec.kernels.words_twin import MOST, aside_word, below, first_above, lane_words, run_of
from simspec.model import ParameterError


class Lane:
    """One lane of the general loop."""

    def __init__(self, form: Any, keys: np.ndarray, chunk: int, lane: int, kappa: int, policy: Policy | None) -> None:
        self.stale_rounds, self.stale = 0, 0
        if policy is not None and policy.serving.stale:
            self.stale_rounds, form = policy.serving.stale.rounds, doubled(form, policy.serving.stale.factor)
        self.form, self.keys, self.first_kappa, self.policy = form, keys, kappa, policy
        self.address = LANES * chunk + lane << 32
        self.offset, self.tokens = 0, 0
        if isinstance(form, Requests) and form.offsets is not None:
            self.offset, self.tokens = int(form.offsets[lane]), int(form.offsets[lane + 1] - form.offsets[lane])
        self.words = lane_words(keys, chunk, lane)
        word = next(self.words)
        self.row = first_above(word, form.start) if isinstance(form, (Rows, Drawn)) else 0
        self.lane, self.played, self.flips, self.wakes, self.drafted = LANES * chunk + lane, 0, 0, 0, 0
        self.off = False
        self.listed: list[tuple[int, int, int]] | None = None
        self._forget()
        longest = max(kappa, policy.highest) if policy else kappa
        self.longest = longest
        self.sums = dict.fromkeys(SUMS, 0)
        self.histogram = np.zeros((longest + 1, longest + 1), np.int64)
        self.made, self.asked = np.zeros((2, longest + 1), np.int64)

    def _forget(self) -> None:
        """The first κ, and the state of a policy at its start."""
        self.kappa = self.last = self.first_kappa
        self.began = False
        self.news = list[tuple[int, int, int]]()
        if self.policy is None:
            return
        self.memory = np.array(self.policy.initial, float)[:, None]
        if self.policy.rule:
            self.rule = RULE_TWINS[self.policy.rule](self.policy.figures.tolist(), self.policy.initial.tolist())

    def play_on(self, first: int, until: int) -> None:
        """Rounds, or requests where the form has them, number ``first`` to ``until`` − 1."""
        for number in range(first, until):
            if isinstance(self.form, (Requests, Urn)):
                self.play_request(self.form, number)
            else:
                self.play_round()

    def play_request(self, form: Requests | Urn, number: int) -> None:
        """One output sequence from its first token to its last."""
        for _ in self.rounds_of(form, number):
            pass

    def rounds_of(self, form: Requests | Urn, number: int) -> Iterator[bool]:
        """The rounds of a request one by one, each saying whether it was the last."""
        tokens = self._begin(form, number)
        position = 0
        while position < tokens:
            needed = tokens - 1 - position
            accepted = self.play_round(needed if form.ends.truncate else None, tokens - position)
            if self.listed is not None:
                self.listed.append((position, self.drafted, accepted))
            position += accepted + 1
            if isinstance(form, Requests) and form.along:
                self.row = self.offset + position
            yield position >= tokens

    def _begin(self, form: Requests | Urn, number: int) -> int:
        address = self.address + number
        self.hits, self.examined, self.off, self.stale = 0, 0, False, 0
        if number == 0 or self.policy is None or not self.policy.keeps:
            self._forget()
        self.row = self.offset
        if isinstance(form, Requests) and form.classes.size:
            self.row += first_above(aside_word(self.keys, address, 0) >> 32, form.classes)
        return _length(form.ends, self.keys, address) or self.tokens

    def play_round(self, needed: int | None = None, left: int | None = None) -> int:
        """One window; returns the accepted length A."""
        word, longest = next(self.words), self.longest
        run = self._urn_run(word) if isinstance(self.form, Urn) else run_of(word, self._thresholds(longest))
        if self.policy is not None and self.policy.foresees:
            self._foresee(self.policy.figures, run if needed is None else min(run, needed))
        drafted = self.kappa if needed is None else min(self.kappa, needed)
        accepted = min(run, drafted)
        self._enter(drafted, accepted, accepted + 1 if left is None else min(accepted + 1, left))
        full = accepted == drafted
        self.drafted = drafted
        self.flips += self.kappa != self.last
        self.wakes += self.off and drafted > 0
        self.off = self.kappa == 0
        if self.stale > 0 and drafted > 0:
            self.stale -= 1
        if self.off:
            self.stale = self.stale_rounds
        self.last = self.kappa
        if isinstance(self.form, Rows):
            on_reject, on_full, on_off = self.form.follow
            self.row = int((on_off if drafted == 0 else on_full if full else on_reject)[self.row])
        if isinstance(self.form, Drawn):
            law = self.form.law_after(self.row, accepted, full)
            self.row = first_above(row_word(self.keys.tolist(), self.lane, self.played) >> 32, law)
        if isinstance(self.form, Urn):
            self.hits += accepted
            self.examined += accepted + (not full)
        self.played += 1
        if self.policy is not None:
            self.news.append((self.kappa, drafted, accepted))
            if len(self.news) > self.policy.serving.delay:
                self._choose(self.policy, *self.news.pop(0))
        return accepted

    def _foresee(self, lengths: np.ndarray, run: int) -> None:
        """κ of this round by the run that it will have; the first one is no flip."""
        self.kappa = int(lengths[min(run, len(lengths) - 1)])
        self.last = self.last if self.began else self.kappa
        self.began = True

    def _thresholds(self, longest: int) -> np.ndarray:
        if isinstance(self.form, FreshRow):  # the general loop compares 32 bits
            return np.array(
                [int(a) * 2**20 + (int(b) >> 32) for a, b in zip(self.form.cells, self.form.lows, strict=True)]
            )
        behind = len(self.form.thresholds) // 2 if self.stale > 0 else 0
        row: np.ndarray = self.form.thresholds[self.row + behind, :longest]
        return row

    def _urn_run(self, word: int) -> int:
        """Drafts j with word/2³² < Π chances; both sides are multiplied by the weights, so that nothing is divided."""
        rest, rho, alpha = 1.0 - self.form.rho, self.form.rho, self.form.alpha
        over, under, run = 2.0**32, 1.0, 0
        for j in range(self.longest):
            if j % 8 == 0:
                over, under = over / under, 1.0
            over *= alpha * rest + float(self.hits + j) * rho
            under *= rest + float(self.examined + j) * rho
            run += min(word, MOST) * under < over
        return run

    def _choose(self, policy: Policy, asked: int, drafted: int, accepted: int) -> None:
        """The next κ, told of a round that was to draft ``asked``."""
        full = accepted == drafted
        if policy.rule:
            word = policy_word(self.keys.tolist(), self.lane, self.played - 1) if policy.random else 0
            self.kappa = self.rule.after(self.kappa, asked, drafted, accepted, word)
        elif policy.own is None:
            self.kappa += policy.up if full else policy.down
        else:
            self._ask(policy, drafted, accepted)
        self.kappa = min(max(self.kappa, policy.lowest), self.longest)

    def _ask(self, policy: Policy, drafted: int, accepted: int) -> None:
        """What a user's own pass says; it is told where and why if that is no κ."""
        before, kappa = self.memory[:, 0].tolist(), np.array([self.kappa], np.int32)
        late = policy.serving.delay
        news = f"news of {late} rounds ago: " if late else ""
        where = f"round {self.played} of lane {self.lane}, κ = {self.kappa}, {news}{accepted} of {drafted} accepted"
        allowed = f"allowed: {policy.lowest} to {self.longest}"
        try:
            assert policy.own is not None
            policy.own(kappa, np.array([accepted], np.int32), np.array([accepted == drafted], np.int32), self.memory)
        except Exception as error:
            told = f"policy raises {type(error).__name__} ({error}) after {where}, state {before}"
            raise ParameterError("policy", f"{told}; {allowed}") from error
        if policy.strict and not policy.lowest <= kappa[0] <= self.longest:
            raise ParameterError("policy", f"policy asks for κ = {kappa[0]} after {where}, state {before}; {allowed}")
        self.kappa = int(kappa[0])

    def _enter(self, drafted: int, accepted: int, emitted: int) -> None:
        rejected = accepted < drafted
        round_ = (1, accepted, accepted**2, rejected, accepted * rejected, accepted == 0, drafted, emitted)
        for name, amount in zip(SUMS, round_, strict=True):
            self.sums[name] += int(amount)
        self.histogram[drafted, accepted] += 1
        self.made[drafted] += 1
        self.asked[self.kappa] += 1


def _length(ends: Ends, keys: np.ndarray, address: int) -> int:
    """Tokens of a request: fixed, or 1 + Σ digit_i·2^i."""
    if not ends.bits.size:
        return ends.tokens
    words = (aside_word(keys, address, place + 1) >> 32 for place in range(len(ends.bits)))
    return 1 + sum(below(word, limit) << i for i, (word, limit) in enumerate(zip(words, ends.bits, strict=True)))
