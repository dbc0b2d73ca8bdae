"""Where do the random numbers of a recording come from?  From addresses, so that any place of it can be made again."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simspec.kernels.addressed import Words, words_at

DOMAIN = "record"


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
    words = words_at(keys, np.asarray(addresses).reshape(-1), np.array([index]))
    return np.asarray((words >> np.uint64(11)) * 2.0**-53)
