"""Where do random words come from?  From an address: (root seed, process, chunk, lane, index).

Layout of ``stream_version`` 1.  SHA-256 of domain, seed and process identity gives four 64-bit keys.  A chunk owns 32
xoshiro256++ generators; word w of the state of generator j is the splitmix64 finaliser of ``key[w] + GOLD·(32·chunk +
j + 1)``, so generators of one process never share a state word.  One step of all 32 yields 64 words of 32 bits, low
half before high half: lane l reads half l mod 2 of generator l div 2.  Word 0 of a lane draws its first state, word
r + 1 serves round r.  Nothing here knows of threads, workers, κ, policies or costs.
"""

from __future__ import annotations

import hashlib
import sys

import numpy as np

from simspec.kernels.jit import njit
from simspec.model import SimspecError

STREAM_VERSION = 1
LANES = 64
GENERATORS = LANES // 2

_U = np.uint64
GOLD = 0x9E3779B97F4A7C15
MIX_1 = 0xBF58476D1CE4E5B9
MIX_2 = 0x94D049BB133111EB


def stream_keys(seed: int, process_id: str, domain: str = "windows") -> np.ndarray:
    """Four uint64 keys of the stream of one process.

    Parameters
    ----------
    seed : int
        Root seed, 0 ≤ seed < 2⁶⁴.
    process_id : str
        SHA-256 of the process' canonical JSON.
    domain : str
        ``"windows"`` for the counting kernels, ``"tokens"`` for the token-by-token checker, which must not share words
        with them.
    """
    if sys.byteorder != "little":  # the halves of a word are read through a uint32 view
        raise SimspecError("simspec's streams are defined for little-endian machines only")
    text = f"simspec stream {STREAM_VERSION}\n{domain}\n{seed}\n{process_id}\n"
    return np.frombuffer(hashlib.sha256(text.encode()).digest(), dtype="<u8").astype(np.uint64)


@njit
def seed_generators(keys, chunk, state):
    """Fill ``state[4, 32]`` with the states of the generators of a chunk."""
    for w in range(4):
        for j in range(GENERATORS):
            z = keys[w] + _U(GOLD) * _U(GENERATORS * chunk + j + 1)
            z = (z ^ (z >> _U(30))) * _U(MIX_1)
            z = (z ^ (z >> _U(27))) * _U(MIX_2)
            state[w, j] = z ^ (z >> _U(31))


@njit
def next_words(state, pairs):
    """Advance all generators one step; ``pairs[j]`` receives the 64-bit output of generator j (lanes 2j and 2j + 1)."""
    for j in range(GENERATORS):
        s0, s1, s2, s3 = state[0, j], state[1, j], state[2, j], state[3, j]
        total = s0 + s3
        pairs[j] = ((total << _U(23)) | (total >> _U(41))) + s0
        t = s1 << _U(17)
        s2 ^= s0
        s3 ^= s1
        s1 ^= s2
        s0 ^= s3
        s2 ^= t
        state[0, j], state[1, j], state[2, j] = s0, s1, s2
        state[3, j] = (s3 << _U(45)) | (s3 >> _U(19))
