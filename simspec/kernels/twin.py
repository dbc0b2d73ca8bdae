"""The same kernels in plain Python, to be read: equal words in, equal integers out, bit for bit."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from simspec.kernels.cells import CELL_BITS, CELLS, PER_WORD
from simspec.kernels.forms import Dense, Drawn, Ends, Form, FreshRow, Policy, Replay, Requests, Rows, Steps, Urn
from simspec.kernels.lower_schemes import Grown, Machine, SchemeForm, TokenPool
from simspec.kernels.policy_twin import RULE_TWINS, policy_word, row_word
from simspec.kernels.pool_twin import pool_counts
from simspec.kernels.tally import SUMS, AtMarks, Tally, fold
from simspec.kernels.words import GENERATORS, GOLD, LANES, MIX_1, MIX_2
from simspec.model import ParameterError

_MASK = 2**64 - 1
_MOST = 2**32 - 2  # the highest word counts as the one below it, so that the threshold 2³² − 1 stands for certainty


def _mix(z: int) -> int:
    z = (z ^ (z >> 30)) * MIX_1 & _MASK
    z = (z ^ (z >> 27)) * MIX_2 & _MASK
    return z ^ (z >> 31)


def _rotate(x: int, k: int) -> int:
    return (x << k | x >> (64 - k)) & _MASK


def generator_words(keys: np.ndarray, chunk: int, generator: int) -> Iterator[int]:
    """The 64-bit words of one generator, in order: xoshiro256++ (Blackman and Vigna 2021)."""
    n = GENERATORS * chunk + generator + 1
    s0, s1, s2, s3 = (_mix((int(key) + GOLD * n) & _MASK) for key in keys[:4])
    while True:
        yield (_rotate((s0 + s3) & _MASK, 23) + s0) & _MASK
        t = s1 << 17 & _MASK
        s2 ^= s0
        s3 ^= s1
        s1 ^= s2
        s0 ^= s3
        s2 ^= t
        s3 = _rotate(s3, 45)


def lane_words(keys: np.ndarray, chunk: int, lane: int) -> Iterator[int]:
    """The 32-bit words of one lane, in order: one half of each output of its generator."""
    for word in generator_words(keys, chunk, lane // 2):
        yield word >> 32 if lane % 2 else word & 0xFFFFFFFF


def aside_word(keys: np.ndarray, address: int, index: int) -> int:
    """Word ``index`` of those asked for now and then, 64 bits."""
    base = _mix((int(keys[4]) + GOLD * address) & _MASK)
    return _mix((base + GOLD * (index + 1)) & _MASK)


def _below(word: int, limit: int) -> bool:
    """Whether a 32-bit word lies below a threshold."""
    return min(word, _MOST) < min(int(limit), 2**32 - 1)


def _run(word: int, thresholds: np.ndarray) -> int:
    """The run survives j drafts when word < thresholds[j − 1]: P(word < thr) = S_j."""
    return sum(_below(word, limit) for limit in thresholds)


def _first_above(word: int, cumulative: np.ndarray) -> int:
    """Index of the first cumulative threshold above the word; their number if there is none."""
    return next((i for i, limit in enumerate(cumulative) if _below(word, limit)), len(cumulative))


def fresh_runs(form: FreshRow, keys: np.ndarray, first: int, windows: np.ndarray) -> np.ndarray:
    """``out[i, g]`` = windows of chunk ``first`` + i whose run is g; the last bin holds all longer ones."""
    out = np.zeros((len(windows), len(form.cells) + 1), np.int64)
    for i, many in enumerate(windows):
        for run in fresh_windows(form, keys, first + i, int(many)):
            out[i, run] += 1
    return out


def fresh_windows(form: FreshRow, keys: np.ndarray, chunk: int, windows: int) -> Iterator[int]:
    """Uncapped runs of the windows of a chunk: twelve bits say the cell, 52 more where a threshold lies in the cell."""
    met = [0] * CELLS
    pieces = _pieces([generator_words(keys, chunk, j) for j in range(GENERATORS)])
    for _ in range(windows):
        cell = next(pieces)
        low = aside_word(keys, CELLS * chunk + cell, met[cell]) >> CELL_BITS
        met[cell] += 1
        yield sum((cell, low) < (int(a), int(b)) for a, b in zip(form.cells, form.lows, strict=True))


def _pieces(generators: list[Iterator[int]]) -> Iterator[int]:
    while True:
        for generator in generators:
            word = next(generator)
            for piece in range(PER_WORD):
                yield word >> CELL_BITS * piece & CELLS - 1


def step_runs(form: Steps, keys: np.ndarray, chunk: int, lanes: int, rounds: int, kappa: int) -> np.ndarray:
    """``out[lane, a]`` = rounds with accepted length a of a hidden state that moves with every draft."""
    out = np.zeros((lanes, kappa + 1), np.int64)
    states = len(form.cells)
    for lane in range(lanes):
        words = lane_words(keys, chunk, lane)
        here = _first_above(next(words), form.start)
        for _ in range(rounds):
            seed = next(words) << 32 | next(words)
            accepted, after = 0, form.after_full
            while accepted < kappa:
                cell = _first_above(_draft_word(seed, accepted + 1), form.cells[here])
                here = cell % states
                if cell >= states:
                    after = form.after_reject
                    break
                accepted += 1
            out[lane, accepted] += 1
            here = _first_above(_draft_word(seed, 0), after[here])
    return out


def scheme_counts(form: SchemeForm, keys: np.ndarray, chunk: int, lanes: int, rounds: int) -> np.ndarray:
    """``out[lane, kind]`` = rounds of each kind, as `simspec.kernels.play.scheme_counts`."""
    if isinstance(form, Machine):
        return machine_counts(form, keys, chunk, lanes, rounds)
    if isinstance(form, TokenPool):
        return pool_counts(form, keys, chunk, lanes, rounds)
    return grown_counts(form, keys, chunk, lanes, rounds)


def grown_counts(form: Grown, keys: np.ndarray, chunk: int, lanes: int, rounds: int) -> np.ndarray:
    """Trees that grow by confidence: name all nodes, sort them, keep the best, walk."""
    out = np.zeros((lanes, len(form.kinds)), np.int64)
    trees = form.trees
    for lane in range(lanes):
        words = lane_words(keys, chunk, lane)
        next(words)
        for _ in range(rounds):
            seed = next(words) << 32 | next(words)
            children, values = _named(form, seed)
            kept = sorted(values, key=lambda node: -values[node])[: trees.nodes]
            here, accepted = 0, 0
            while children.get(here):
                vector, own = children[here]
                rank = _first_above(_round_value(seed, accepted) & 0xFFFFFFFF, form.cells[vector])
                if rank >= len(own) or own[rank] not in kept:
                    break
                here, accepted = own[rank], accepted + 1
            rejected = any(child in kept for child in children.get(here, (0, []))[1])
            out[lane, (len(kept) * (trees.depth + 1) + accepted) * 2 + rejected] += 1
    return out


def _named(form: Grown, seed: int) -> tuple[dict[int, tuple[int, list[int]]], dict[int, float]]:
    """Vector and children of every expanded node, and the product of confidences of every node; 0 is the root."""
    children: dict[int, tuple[int, list[int]]] = {}
    values: dict[int, float] = {}
    layer = [0]
    for _ in range(form.trees.depth):
        made = list[int]()
        for node in sorted(layer, key=lambda node: -values.get(node, 1.0))[: form.trees.breadth]:
            vector = _first_above(_round_value(seed, len(children)) >> 32, form.law)
            own = list[int]()
            for confidence in form.confidences[vector]:
                if confidence == 0.0:
                    break
                own.append(len(values) + 1)
                values[own[-1]] = values.get(node, 1.0) * float(confidence)
            children[node] = vector, own
            made += own
        layer = made
    return children, values


def _round_value(seed: int, number: int) -> int:
    """Splitmix64 value ``number`` of the seed of a round."""
    return _mix((seed + GOLD * number) & _MASK)


def machine_counts(form: Machine, keys: np.ndarray, chunk: int, lanes: int, rounds: int) -> np.ndarray:
    """``out[lane, kind]`` = rounds of each kind: a walk through the table of a scheme, one word per step."""
    out = np.zeros((lanes, len(form.kinds)), np.int64)
    for lane in range(lanes):
        words = lane_words(keys, chunk, lane)
        begin = _first_above(next(words), form.start)
        for _ in range(rounds):
            seed = next(words) << 32 | next(words)
            here, step = begin, 0
            while here >= 0:
                here = int(form.follow[here, _first_above(_draft_word(seed, step), form.cells[here])])
                step += 1
            end = -1 - here
            out[lane, form.kind_of[end]] += 1
            begin = int(form.after[end])
    return out


def _draft_word(seed: int, draft: int) -> int:
    """The 32 bits of a draft of a round (of the move between windows, for draft 0): a half of a splitmix64 value."""
    value = _mix((seed + GOLD * (draft // 2)) & _MASK)
    return value & 0xFFFFFFFF if draft % 2 else value >> 32


def play(
    form: Form, keys: np.ndarray, chunk: int, lanes: int, length: int, kappa: int, policy: Policy | None = None
) -> Tally:
    """Tally of one chunk, as `simspec.kernels.play.play`."""
    if isinstance(form, Steps):
        return fold(step_runs(form, keys, chunk, lanes, length, kappa), kappa)
    if isinstance(form, Replay):
        return _replay(form, chunk, lanes, length, kappa)
    if isinstance(form, Dense):
        form = form.requests(chunk, lanes, policy.highest if policy else kappa)
    longest = max(kappa, policy.highest) if policy else kappa
    sums, histogram = np.zeros((lanes, len(SUMS)), np.int64), np.zeros((longest + 1, longest + 1), np.int64)
    flips = np.zeros(lanes if policy else 0, np.int64)
    for lane in range(lanes):
        player = _Lane(form, keys, chunk, lane, kappa, policy)
        player.play_on(form, 0, length)
        sums[lane] = [player.sums[name] for name in SUMS]
        histogram += player.histogram
        flips[lane:][:1] = player.flips
    return Tally(kappa, sums, histogram, flips=flips)


def steered_rounds(
    form: Requests | Urn, keys: np.ndarray, chunk: int, lanes: int, most: int, kappa: int, policy: Policy
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """As `simspec.kernels.play.steered_rounds`."""
    each = []
    for lane in range(lanes):
        player = _Lane(form, keys, chunk, lane, kappa, policy)
        player.listed = []
        player.play_request(form, 0)
        each.append(player.listed[:most])
    out = np.zeros((3, max(map(len, each)), lanes), np.int32)
    out[1] = -1
    for lane, rounds in enumerate(each):
        out[:, : len(rounds), lane] = np.array(rounds).T
    return out[0], out[1], out[2]


def counts_at(
    form: Form, keys: np.ndarray, chunk: int, marks: np.ndarray, kappa: int, policy: Policy, lanes: int = LANES
) -> AtMarks:  # fmt: skip
    """As `simspec.kernels.play.counts_at`."""
    if isinstance(form, Dense):
        form = form.requests(chunk, lanes, policy.highest)
    width = max(kappa, policy.highest) + 1
    out = np.zeros((len(marks), lanes, width, width), np.int32)
    flips, discarded = np.zeros((2, len(marks), lanes), np.int32)
    for lane in range(lanes):
        player = _Lane(form, keys, chunk, lane, kappa, policy)
        for mark, (done, until) in enumerate(pairwise([0, *marks.tolist()])):
            player.play_on(form, done, until)
            out[mark, lane], flips[mark, lane] = player.histogram, player.flips
            discarded[mark, lane] = player.sums["accepted"] + player.sums["n"] - player.sums["tokens"]
    return AtMarks(out, flips, discarded)


class _Lane:
    """One lane of the general loop."""

    def __init__(self, form: Any, keys: np.ndarray, chunk: int, lane: int, kappa: int, policy: Policy | None) -> None:
        self.form, self.keys, self.first_kappa, self.policy = form, keys, kappa, policy
        self.address = LANES * chunk + lane << 32
        self.offset, self.tokens = 0, 0
        if isinstance(form, Requests) and form.offsets is not None:
            self.offset, self.tokens = int(form.offsets[lane]), int(form.offsets[lane + 1] - form.offsets[lane])
        self.words = lane_words(keys, chunk, lane)
        word = next(self.words)
        self.row = _first_above(word, form.start) if isinstance(form, (Rows, Drawn)) else 0
        self.lane, self.played, self.flips, self.drafted = LANES * chunk + lane, 0, 0, 0
        self.listed: list[tuple[int, int, int]] | None = None
        self._forget()
        longest = max(kappa, policy.highest) if policy else kappa
        self.longest = longest
        self.sums = dict.fromkeys(SUMS, 0)
        self.histogram = np.zeros((longest + 1, longest + 1), np.int64)

    def _forget(self) -> None:
        """The first κ, and the state of a policy at its start."""
        self.kappa = self.last = self.first_kappa
        if self.policy is None:
            return
        self.memory = np.array(self.policy.initial, float)[:, None]
        if self.policy.rule:
            self.rule = RULE_TWINS[self.policy.rule](self.policy.figures.tolist(), self.policy.initial.tolist())

    def play_on(self, form: Form, first: int, until: int) -> None:
        """Rounds, or requests, number ``first`` to ``until`` − 1."""
        for number in range(first, until):
            self.play_request(form, number) if isinstance(form, (Requests, Urn)) else self.play_round()

    def play_request(self, form: Requests | Urn, number: int) -> None:
        """One output sequence from its first token to its last."""
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

    def _begin(self, form: Requests | Urn, number: int) -> int:
        address = self.address + number
        self.hits, self.examined = 0, 0
        if number == 0 or self.policy is None or not self.policy.keeps:
            self._forget()
        self.row = self.offset
        if isinstance(form, Requests) and form.classes.size:
            self.row += _first_above(aside_word(self.keys, address, 0) >> 32, form.classes)
        return _length(form.ends, self.keys, address) or self.tokens

    def play_round(self, needed: int | None = None, left: int | None = None) -> int:
        """One window; returns the accepted length A."""
        word, longest = next(self.words), self.longest
        drafted = self.kappa if needed is None else min(self.kappa, needed)
        run = self._urn_run(word) if isinstance(self.form, Urn) else _run(word, self._thresholds(longest))
        accepted = min(run, drafted)
        self._enter(drafted, accepted, accepted + 1 if left is None else min(accepted + 1, left))
        full = accepted == drafted
        self.drafted = drafted
        self.flips += self.kappa != self.last
        self.last = self.kappa
        if isinstance(self.form, Rows):
            self.row = int(self.form.on_full[self.row] if full else self.form.on_reject[self.row])
        if isinstance(self.form, Drawn):
            law = self.form.law_after(self.row, accepted, full)
            self.row = _first_above(row_word(self.keys.tolist(), self.lane, self.played) >> 32, law)
        if isinstance(self.form, Urn):
            self.hits += accepted
            self.examined += accepted + (not full)
        if self.policy is not None:
            self._choose(self.policy, drafted, accepted)
        self.played += 1
        return accepted

    def _thresholds(self, longest: int) -> np.ndarray:
        if isinstance(self.form, FreshRow):  # the general loop compares 32 bits
            return np.array(
                [int(a) * 2**20 + (int(b) >> 32) for a, b in zip(self.form.cells, self.form.lows, strict=True)]
            )
        row: np.ndarray = self.form.thresholds[self.row, :longest]
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
            run += min(word, _MOST) * under < over
        return run

    def _choose(self, policy: Policy, drafted: int, accepted: int) -> None:
        full = accepted == drafted
        if policy.rule:
            word = policy_word(self.keys.tolist(), self.lane, self.played) if policy.random else 0
            self.kappa = self.rule.after(self.kappa, drafted, accepted, word)
        elif policy.own is None:
            self.kappa += policy.up if full else policy.down
        else:
            self._ask(policy, drafted, accepted)
        self.kappa = min(max(self.kappa, policy.lowest), self.longest)

    def _ask(self, policy: Policy, drafted: int, accepted: int) -> None:
        """What a user's own pass says; it is told where and why if that is no κ."""
        before, kappa = self.memory[:, 0].tolist(), np.array([self.kappa], np.int32)
        where = f"round {self.played + 1} of lane {self.lane}, κ = {self.kappa}, {accepted} of {drafted} accepted"
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


def _length(ends: Ends, keys: np.ndarray, address: int) -> int:
    """Tokens of a request: fixed, or 1 + Σ digit_i·2^i."""
    if not ends.bits.size:
        return ends.tokens
    words = (aside_word(keys, address, place + 1) >> 32 for place in range(len(ends.bits)))
    return 1 + sum(_below(word, limit) << i for i, (word, limit) in enumerate(zip(words, ends.bits, strict=True)))


def _replay(form: Replay, chunk: int, lanes: int, repeats: int, kappa: int) -> Tally:
    out = np.zeros((lanes, kappa + 1), np.int64)
    for lane in range(lanes):
        for accepted in form.of_lane(chunk, lane):
            out[lane, min(int(accepted), kappa)] += repeats
    return fold(out, kappa)
