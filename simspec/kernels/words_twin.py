"""Which words does a kernel read?  The same ones in plain Python, and how they are held against thresholds."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from simspec.kernels.words import GENERATORS, GOLD, MIX_1, MIX_2

MASK = 2**64 - 1
MOST = 2**32 - 2  # the highest word counts as the one below it, so that the threshold 2³² − 1 stands for certainty


def mixed(z: int) -> int:
    z = (z ^ (z >> 30)) * MIX_1 & MASK
    z = (z ^ (z >> 27)) * MIX_2 & MASK
    return z ^ (z >> 31)


def _rotate(x: int, k: int) -> int:
    return (x << k | x >> (64 - k)) & MASK


def generator_words(keys: np.ndarray, chunk: int, generator: int) -> Iterator[int]:
    """The 64-bit words of one generator, in order: xoshiro256++ (Blackman and Vigna 2021)."""
    n = GENERATORS * chunk + generator + 1
    s0, s1, s2, s3 = (mixed((int(key) + GOLD * n) & MASK) for key in keys[:4])
    while True:
        yield (_rotate((s0 + s3) & MASK, 23) + s0) & MASK
        t = s1 << 17 & MASK
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
    base = mixed((int(keys[4]) + GOLD * address) & MASK)
    return mixed((base + GOLD * (index + 1)) & MASK)


def below(word: int, limit: int) -> bool:
    """Whether a 32-bit word lies below a threshold."""
    return min(word, MOST) < min(int(limit), 2**32 - 1)


def run_of(word: int, thresholds: np.ndarray) -> int:
    """The run survives j drafts when word < thresholds[j − 1]: P(word < thr) = S_j."""
    return sum(below(word, limit) for limit in thresholds)


def first_above(word: int, cumulative: np.ndarray) -> int:
    """Index of the first cumulative threshold above the word; their number if there is none."""
    return next((i for i, limit in enumerate(cumulative) if below(word, limit)), len(cumulative))
