"""Would a battery of somebody else's tests find fault with simspec's words?  Streams them to standard output, raw.

python benchmarks/battery.py ORDER [--seed N] | dieharder -g 200 -a

ORDER says which neighbours the battery gets to see; all but the last are 32-bit words, little-endian:

natural     chunk after chunk, round after round, the 64 lanes side by side; 64 words a lane, so seams are crossed often
lane        one lane only: its word 0 of chunks 0 to 4095, then its word 1 of the same chunks, …; then the next chunks
first       word 0 of all lanes, chunk after chunk: what the seeding alone makes
processes   words 0 and 1 of all lanes of chunk 0, one process identity after another
occasional  words 0 and 1 of addresses 0, 1, 2, … under key 4, 64 bits each

What dieharder said is in ``results/battery/``.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import sys
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from simspec.kernels.jit import njit
from simspec.kernels.words import GENERATORS, aside, next_words, seed_generators, stream_keys, word_of

WORDS = 64  # of a lane, in one chunk
CHUNKS = 4096  # whose words are put in order at a time
LANE = 5
ADDRESSES = 2**18
PROCESS = "0" * 64

Array = npt.NDArray[np.generic]


@njit
def play(keys, first, chunks, rounds, pairs):  # type: ignore[no-untyped-def]
    """``pairs[c, r, j]`` is output r of generator j of chunk ``first`` + c."""
    state = np.empty((4, GENERATORS), np.uint64)
    for c in range(chunks):
        seed_generators(keys, first + c, state)
        for r in range(rounds):
            next_words(state, pairs[c, r])


@njit
def play_one(keys, first, chunks, rounds, lane, words):  # type: ignore[no-untyped-def]
    """``words[r, c]`` is word r of one lane of chunk ``first`` + c."""
    state = np.empty((4, GENERATORS), np.uint64)
    pairs = np.empty(GENERATORS, np.uint64)
    halves = pairs.view(np.uint32)
    for c in range(chunks):
        seed_generators(keys, first + c, state)
        for r in range(rounds):
            next_words(state, pairs)
            words[r, c] = halves[lane]


@njit
def ask(keys, first, words):  # type: ignore[no-untyped-def]
    """``words[a, i]`` is word i at address ``first`` + a."""
    for a in range(words.shape[0]):
        base = aside(keys, np.uint64(first + a))
        for i in range(words.shape[1]):
            words[a, i] = word_of(base, i)


def natural(seed: int) -> Iterator[Array]:
    """As the kernels read them."""
    keys, pairs = stream_keys(seed, PROCESS), np.empty((64, WORDS, GENERATORS), np.uint64)
    for first in itertools.count(0, len(pairs)):
        play(keys, first, *pairs.shape[:2], pairs)
        yield pairs


def lane(seed: int) -> Iterator[Array]:
    """One lane, the chunk index running fastest."""
    keys, words = stream_keys(seed, PROCESS), np.empty((WORDS, CHUNKS), np.uint32)
    for first in itertools.count(0, CHUNKS):
        play_one(keys, first, CHUNKS, WORDS, LANE, words)
        yield words


def first(seed: int) -> Iterator[Array]:
    """The first word of every lane of every chunk."""
    keys, pairs = stream_keys(seed, PROCESS), np.empty((CHUNKS, 1, GENERATORS), np.uint64)
    for begin in itertools.count(0, CHUNKS):
        play(keys, begin, CHUNKS, 1, pairs)
        yield pairs


def processes(seed: int) -> Iterator[Array]:
    """The first chunk of one process after another."""
    pairs = np.empty((CHUNKS, 2, GENERATORS), np.uint64)
    for begin in itertools.count(0, CHUNKS):
        for p in range(CHUNKS):
            identity = hashlib.sha256(str(begin + p).encode()).hexdigest()
            play(stream_keys(seed, identity), 0, 1, 2, pairs[p : p + 1])
        yield pairs


def occasional(seed: int) -> Iterator[Array]:
    """The words asked for now and then, address after address."""
    keys, words = stream_keys(seed, PROCESS), np.empty((ADDRESSES, 2), np.uint64)
    for begin in itertools.count(0, ADDRESSES):
        ask(keys, begin, words)
        yield words


ORDERS: dict[str, Callable[[int], Iterator[Array]]] = {
    order.__name__: order for order in (natural, lane, first, processes, occasional)
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("order", choices=ORDERS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--megabytes", type=int, help="stop after so many; without it, when the reader has enough")
    chosen = parser.parse_args()
    left = sys.maxsize if chosen.megabytes is None else chosen.megabytes * 10**6
    try:
        for block in ORDERS[chosen.order](chosen.seed):
            sys.stdout.buffer.write(block.tobytes()[:left])
            left -= block.nbytes
            if left <= 0:
                break
        sys.stdout.buffer.flush()
    except BrokenPipeError:  # the reader has seen enough
        sys.stderr.close()


if __name__ == "__main__":
    main()
