"""Which words lie at many addresses at once?  The array form of `aside` and `word_of`, for numbers drawn by numpy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simspec.kernels.words import GOLD, MIX_1, MIX_2

Words = NDArray[np.uint64]


def mixed(words: Words) -> Words:
    """The splitmix64 finaliser of `simspec.kernels.words.mix`, for arrays.

    Examples
    --------
    >>> from simspec.kernels.words import mix
    >>> int(mixed(np.array([5], np.uint64))[0]) == int(mix(np.uint64(5)))
    True
    """
    z = (words ^ (words >> np.uint64(30))) * np.uint64(MIX_1)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(MIX_2)
    return np.asarray(z ^ (z >> np.uint64(31)))


def words_at(keys: Words, addresses: NDArray[np.integer], indices: NDArray[np.integer]) -> Words:
    """Word number ``indices`` of ``addresses``, which broadcast.

    Parameters
    ----------
    keys : uint64 array
        From `simspec.kernels.words.stream_keys`.
    addresses, indices : int arrays
        At least one of them with a dimension; ≥ 0.

    Examples
    --------
    >>> from simspec.kernels.words import aside, stream_keys, word_of
    >>> keys = stream_keys(1, "text", "record")
    >>> word = word_of(np.uint64(aside(keys, np.uint64(7))), 2)
    >>> int(words_at(keys, np.array([7]), np.array([2]))[0]) == int(word)
    True
    """
    gold = np.array([GOLD], np.uint64)  # arrays wrap around modulo 2⁶⁴ without a word
    base = mixed(keys[4:5] + gold * np.asarray(addresses, np.uint64))
    return mixed(base + gold * (np.asarray(indices, np.uint64) + np.array([1], np.uint64)))
