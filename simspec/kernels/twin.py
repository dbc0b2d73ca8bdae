"""The same kernels in plain Python, to be read: equal words in, equal integers out, bit for bit."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from simspec.kernels.forms import CarriedRows, Dense, FreshRow, Requests, Steps, Urn
from simspec.kernels.tally import SUMS
from simspec.kernels.words import GENERATORS, GOLD, LANES, MIX_1, MIX_2

_MASK = 2**64 - 1


def _mix(z: int) -> int:
    z = (z ^ (z >> 30)) * MIX_1 & _MASK
    z = (z ^ (z >> 27)) * MIX_2 & _MASK
    return z ^ (z >> 31)


def _rotate(x: int, k: int) -> int:
    return (x << k | x >> (64 - k)) & _MASK


def lane_words(keys: np.ndarray, chunk: int, lane: int) -> Iterator[int]:
    """The 32-bit words of one lane, in order: xoshiro256++ (Blackman and Vigna 2021), one half of each output."""
    n = GENERATORS * chunk + lane // 2 + 1
    s0, s1, s2, s3 = (_mix((int(key) + GOLD * n) & _MASK) for key in keys)
    while True:
        output = (_rotate((s0 + s3) & _MASK, 23) + s0) & _MASK
        yield output >> 32 if lane % 2 else output & 0xFFFFFFFF
        t = s1 << 17 & _MASK
        s2 ^= s0
        s3 ^= s1
        s1 ^= s2
        s0 ^= s3
        s2 ^= t
        s3 = _rotate(s3, 45)


def _run(word: int, thresholds: np.ndarray) -> int:
    """The run survives j drafts when word < thresholds[j − 1]: P(word < thr) = S_j."""
    return sum(word < int(limit) for limit in thresholds)


def fresh_lane(keys: np.ndarray, chunk: int, lane: int, rounds: int, form: FreshRow) -> np.ndarray:
    """``out[g]`` = windows of the lane whose uncapped run is g."""
    out = np.zeros(form.thresholds.size + 1, np.int64)
    words = lane_words(keys, chunk, lane)
    next(words)  # word 0 draws a start, which fresh windows do not have
    for _ in range(rounds):
        out[_run(next(words), form.thresholds)] += 1
    return out


def carried_lane(keys: np.ndarray, chunk: int, lane: int, rounds: int, form: CarriedRows) -> np.ndarray:
    """``out[a]`` = windows of the lane with accepted length a; κ is the width of the rows."""
    kappa = form.thresholds.shape[1]
    out = np.zeros(kappa + 1, np.int64)
    words = lane_words(keys, chunk, lane)
    row = _first_above(next(words), form.start)
    for _ in range(rounds):
        accepted = _run(next(words), form.thresholds[row])
        out[accepted] += 1
        row = int(form.on_full[row] if accepted == kappa else form.on_reject[row])
    return out


class _Book:
    """The totals of `SUMS` and ``histogram[drafted, accepted]`` of one lane."""

    def __init__(self, kappa: int) -> None:
        self.sums = dict.fromkeys(SUMS, 0)
        self.histogram = np.zeros((kappa + 1, kappa + 1), np.int64)

    def enter(self, drafted: int, accepted: int, emitted: int) -> None:
        rejected = accepted < drafted
        round_ = (1, accepted, accepted**2, rejected, accepted * rejected, accepted == 0, drafted, emitted)
        for name, amount in zip(SUMS, round_, strict=True):
            self.sums[name] += int(amount)
        self.histogram[drafted, accepted] += 1

    def close(self) -> tuple[np.ndarray, np.ndarray]:
        return np.array([self.sums[name] for name in SUMS], np.int64), self.histogram


def _drafted(form: Requests | Urn, kappa: int, position: int) -> int:
    return min(kappa, form.tokens - 1 - position) if form.truncate else kappa


def _emitted(form: Requests | Urn, words: Iterator[int], accepted: int, position: int) -> tuple[int, bool]:
    """Tokens of a round and whether the request is over: at its length, or at the first token it does not outlive."""
    offered = accepted + 1
    if form.going.size == 0:
        emitted = min(offered, form.tokens - position)
        return emitted, position + emitted == form.tokens
    outlived = _run(next(words), form.going[:offered])
    return min(outlived + 1, offered), outlived < offered


def requests_lane(
    keys: np.ndarray, chunk: int, lane: int, requests: int, kappa: int, form: Requests
) -> tuple[np.ndarray, np.ndarray]:
    """Totals and histogram of the requests played by a lane."""
    book, words = _Book(kappa), lane_words(keys, chunk, lane)
    for _ in range(requests):
        draw = next(words)
        row, position, over = sum(draw >= int(limit) for limit in form.classes), 0, False
        while not over:
            drafted = _drafted(form, kappa, position)
            limits = form.thresholds[row + form.advance * position, :drafted]
            accepted = _run(next(words), limits)
            emitted, over = _emitted(form, words, accepted, position)
            book.enter(drafted, accepted, emitted)
            position += emitted
    return book.close()


def urn_lane(
    keys: np.ndarray, chunk: int, lane: int, requests: int, kappa: int, form: Urn
) -> tuple[np.ndarray, np.ndarray]:
    """Totals and histogram of requests in which each outcome makes its like more probable."""
    book, words = _Book(kappa), lane_words(keys, chunk, lane)
    rest = 1.0 - form.rho
    for _ in range(requests):
        position, hits, examined, over = 0, 0, 0, False
        while not over:
            drafted, accepted = _drafted(form, kappa, position), 0
            if drafted == 0:
                next(words)  # a round without a draft still takes its turn
            while accepted < drafted:
                weight = rest + examined * form.rho
                chance = (form.alpha * rest + hits * form.rho) / weight if weight > 0.0 else form.alpha
                examined += 1
                if next(words) >= math.floor(chance * 2.0**32 + 0.5):
                    break
                hits += 1
                accepted += 1
            emitted, over = _emitted(form, words, accepted, position)
            book.enter(drafted, accepted, emitted)
            position += emitted
    return book.close()


def dense_lane(
    keys: np.ndarray, chunk: int, lane: int, repeats: int, kappa: int, form: Dense
) -> tuple[np.ndarray, np.ndarray]:
    """Totals and histogram of one measured request, replayed ``repeats`` times."""
    book, words = _Book(kappa), lane_words(keys, chunk, lane)
    first, last = (int(x) for x in form.offsets[LANES * chunk + lane : LANES * chunk + lane + 2])
    chances = form.chances[first:last]
    for _ in range(repeats):
        position = 0
        while position < len(chances):
            drafted = min(kappa, len(chances) - 1 - position) if form.truncate else kappa
            accepted = 0
            if drafted == 0:
                next(words)  # a round without a draft still takes its turn
            while accepted < drafted:
                if next(words) >= int(chances[min(position + accepted, len(chances) - 1)]):
                    break
                accepted += 1
            emitted = min(accepted + 1, len(chances) - position)
            book.enter(drafted, accepted, emitted)
            position += emitted
    return book.close()


def steps_lane(keys: np.ndarray, chunk: int, lane: int, rounds: int, kappa: int, form: Steps) -> np.ndarray:
    """``out[a]`` = rounds with accepted length a of a hidden state that moves with every draft."""
    out = np.zeros(kappa + 1, np.int64)
    words = lane_words(keys, chunk, lane)
    states = len(form.cells)
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
        out[accepted] += 1
        here = _first_above(_draft_word(seed, 0), after[here])
    return out


def _draft_word(seed: int, index: int) -> int:
    return _mix((seed + GOLD * index) & _MASK) >> 32


def _first_above(word: int, cumulative: np.ndarray) -> int:
    return next(i for i, limit in enumerate(cumulative) if word < int(limit))
