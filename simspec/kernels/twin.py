"""The same kernels in plain Python, to be read: equal words in, equal integers out, bit for bit."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from simspec.kernels.lower import Rows
from simspec.kernels.tally import SUMS
from simspec.kernels.words import GENERATORS, GOLD, MIX_1, MIX_2

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


def lane_of_rounds(keys: np.ndarray, chunk: int, lane: int, rounds: int, rows: Rows) -> np.ndarray:
    """``out[a]`` = rounds of the lane with accepted length a; κ is the width of the rows."""
    kappa = rows.thresholds.shape[1]
    out = np.zeros(kappa + 1, np.int64)
    words = lane_words(keys, chunk, lane)
    row = rows.on_full if next(words) < rows.start else rows.on_reject
    for _ in range(rounds):
        accepted = _run(next(words), rows.thresholds[row])
        out[accepted] += 1
        row = rows.on_full if accepted == kappa else rows.on_reject
    return out


def lane_of_generations(
    keys: np.ndarray, chunk: int, lane: int, generations: int, kappa: int, rows: Rows
) -> tuple[np.ndarray, np.ndarray]:
    """Totals of `SUMS` and ``histogram[drafted, accepted]`` of the generations played by a lane."""
    total = dict.fromkeys(SUMS, 0)
    histogram = np.zeros((kappa + 1, kappa + 1), np.int64)
    words = lane_words(keys, chunk, lane)
    next(words)  # word 0 draws a start, which a generation does not have
    for _ in range(generations):
        position = 0
        while position < rows.tokens:
            drafted = min(kappa, rows.tokens - 1 - position) if rows.truncate else kappa
            accepted = _run(next(words), rows.thresholds[position, :drafted])
            emitted = min(accepted + 1, rows.tokens - position)
            rejected = accepted < drafted
            round_ = (1, accepted, accepted**2, rejected, accepted * rejected, accepted == 0, drafted, emitted)
            for name, amount in zip(SUMS, round_, strict=True):
                total[name] += int(amount)
            histogram[drafted, accepted] += 1
            position += emitted
    return np.array([total[name] for name in SUMS], np.int64), histogram
