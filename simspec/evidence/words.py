"""Where do the random numbers of a recording come from?  From addresses, so that any place of it can be made again."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simspec.kernels.words import GOLD, MIX_1, MIX_2

Words = NDArray[np.uint64]
DOMAIN = "record"


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


def uniforms(keys: Words, addresses: NDArray[np.integer], index: int) -> NDArray[np.float64]:
    """Number ``index`` of each address, uniform on the multiples of 2⁻⁵³ in [0, 1).

    Parameters
    ----------
    keys : uint64 array
        From `simspec.kernels.words.stream_keys`.
    addresses : int array
    index : int

    Examples
    --------
    >>> from simspec.kernels.words import aside, stream_keys, word_of
    >>> keys = stream_keys(1, "text", DOMAIN)
    >>> word = int(word_of(np.uint64(aside(keys, np.uint64(7))), 2))
    >>> bool(uniforms(keys, np.array([7]), 2)[0] == (word >> 11) * 2.0**-53)
    True
    """
    base = mixed(keys[4:5] + np.uint64(GOLD) * np.asarray(addresses, np.uint64).reshape(-1))
    step = np.array([(GOLD * (index + 1)) % 2**64], np.uint64)
    return np.asarray((mixed(base + step) >> np.uint64(11)) * 2.0**-53)
