"""Where do random words come from?  From an address: (root seed, process, chunk, lane, index).

Layout of ``stream_version`` 2.  SHA-512 of domain, seed and process identity gives eight 64-bit keys.  A chunk owns 32
xoshiro256++ generators; word w of the state of generator j is the splitmix64 finaliser of ``key[w] + GOLD·(32·chunk +
j + 1)``, so generators of one process never share a state word.  One step of all 32 yields 64 words of 32 bits, low
half before high half: lane l reads half l mod 2 of generator l div 2.  Word 0 of a lane draws its first state, word
r + 1 serves round r.  Words asked for now and then (the low bits of a window, the start of a request) are splitmix64
at an address under ``key[4]``, those of a random policy under ``key[5]``, those that draw the next row of a lane under
``key[6]``.  Nothing knows of threads, workers, κ, policies or costs.
"""

from __future__ import annotations

import hashlib
import sys

import numpy as np

from simspec.kernels.jit import DISABLED, njit
from simspec.model import SimspecError

if not DISABLED:  # the twins need the layout of words, not the machine's vectors
    from simspec.kernels.vectors import TOGETHER, advance

STREAM_VERSION = 2
LANES = 64
GENERATORS = LANES // 2

_U = np.uint64
LOWEST = np.int32(-(2**31))
HIGHEST = np.int32(2**31 - 1)
GOLD = 0x9E3779B97F4A7C15
MIX_1 = 0xBF58476D1CE4E5B9
MIX_2 = 0x94D049BB133111EB


def stream_keys(seed: int, process_id: str, domain: str = "windows") -> np.ndarray:
    """Eight uint64 keys of the stream of one process.

    Parameters
    ----------
    seed : int
        Root seed, 0 ≤ seed < 2⁶⁴.
    process_id : str
        SHA-256 of the process' canonical JSON.
    domain : str
        Streams of different domains share no words: ``"windows"`` (counting kernels), ``"rounds"`` (schemes other
        than chains), ``"tokens"`` (the token-by-token checker), ``"multinomial"`` (counts drawn at once),
        ``"sampling"`` (token laws), ``"pairs"`` (random laws), ``"record"`` (recorded traces), ``"open questions"``
        (the pairs of the experiments), ``"round costs"`` (draws of measured costs), ``"halves"`` (random halves of
        requests).
    """
    if sys.byteorder != "little":  # the halves of a word are read through a uint32 view
        raise SimspecError("simspec's streams are defined for little-endian machines only")
    text = f"simspec stream {STREAM_VERSION}\n{domain}\n{seed}\n{process_id}\n"
    return np.frombuffer(hashlib.sha512(text.encode()).digest(), dtype="<u8").astype(np.uint64)


@njit
def mix(z):
    """The splitmix64 finaliser (Steele, Lea and Flood 2014): a bijection of 64-bit words that hides their order."""
    z = (z ^ (z >> _U(30))) * _U(MIX_1)
    z = (z ^ (z >> _U(27))) * _U(MIX_2)
    return z ^ (z >> _U(31))


@njit
def seed_generators(keys, chunk, state):
    """Fill ``state[4, 32]`` with the states of the generators of a chunk."""
    for w in range(4):
        for j in range(GENERATORS):
            state[w, j] = mix(keys[w] + _U(GOLD) * _U(GENERATORS * chunk + j + 1))


@njit
def next_words(state, pairs):
    """Advance all generators; ``pairs[32·i + j]`` receives output i of generator j (lanes 2j and 2j + 1)."""
    for first in range(0, GENERATORS, TOGETHER):
        advance(state, pairs, first, GENERATORS)


@njit
def next_levels(state, pairs, levels):
    """As `next_words`; ``levels``, a view of ``pairs`` as int32, then holds word − 2³¹, ready for signed comparison.

    The highest word counts as the one below it, so that the threshold 2³² − 1 stands for certainty.
    """
    next_words(state, pairs)
    for i in range(levels.size):
        levels[i] = min(levels[i] ^ LOWEST, HIGHEST - np.int32(1))


@njit
def aside(keys, address):
    """Base of the words asked for now and then; word i of an address is ``mix(base + GOLD·(i + 1))``."""
    return mix(keys[4] + _U(GOLD) * address)


@njit
def word_of(base, index):
    """Word number ``index`` of an address, 64 bits."""
    return mix(base + _U(GOLD) * _U(index + 1))


@njit
def policy_word(keys, lane, number):
    """The word that a random policy reads in round ``number`` of a lane, counted over all chunks, 64 bits."""
    return mix(mix(keys[5] + _U(GOLD) * _U(lane + 1)) + _U(GOLD) * _U(number + 1))


@njit
def row_word(keys, lane, number):
    """The word that draws the row after round ``number`` of a lane, counted over all chunks, 64 bits."""
    return mix(mix(keys[6] + _U(GOLD) * _U(lane + 1)) + _U(GOLD) * _U(number + 1))
