"""Which pairs of a target and a draft model are the open questions tried on?  Named token laws, and random chains."""

from __future__ import annotations

import numpy as np

from simspec.kernels.addressed import mixed
from simspec.kernels.words import GOLD, stream_keys
from simspec.model import TokenChain
from simspec.theory.law import FloatArray

PAIRS: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "three tokens": ((0.5, 0.3, 0.2), (0.2, 0.3, 0.5)),
    "two tokens": ((0.4, 0.6), (0.6, 0.4)),
    "peaked target, flat draft": ((0.91, 0.03, 0.03, 0.03), (0.25, 0.25, 0.25, 0.25)),
    "flat target, peaked draft": ((0.25, 0.25, 0.25, 0.25), (0.91, 0.03, 0.03, 0.03)),
    "one token never drafted": ((0.4, 0.3, 0.2, 0.1), (0.2, 0.2, 0.6, 0.0)),
    "disjoint supports": ((0.6, 0.4, 0.0, 0.0), (0.0, 0.0, 0.7, 0.3)),
}
"""Target and draft law by name."""


class Words:
    """Uniform numbers at addresses (seed, name), in a domain of their own."""

    def __init__(self, name: str, seed: int = 1) -> None:
        self.key, self.used = stream_keys(seed, name, "open questions")[:1], 0

    def uniform(self, *shape: int) -> FloatArray:
        """Numbers in (0, 1), 52 bits each."""
        count = int(np.prod(shape))
        at = np.arange(self.used + 1, self.used + count + 1, dtype=np.uint64) * np.uint64(GOLD)
        self.used += count
        words = mixed(self.key + at)
        return np.asarray(((words >> np.uint64(12)).astype(np.float64) + 0.5).reshape(shape) * 2.0**-52)

    def rows(self, size: int, sharpness: int) -> FloatArray:
        """A random stochastic matrix: powers of exponentials, scaled; sharpness 1 is uniform on the simplex."""
        weights = (-np.log(self.uniform(size, size))) ** sharpness
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def random_chain(kind: str, size: int, sharpness: int, distance: float, words: Words) -> TokenChain:
    """A target chain and a draft that mixes it with an unrelated one.

    ``"sticky"`` chains repeat the last token with .7; ``"topics"`` keep to one half of the vocabulary with .95 per
    token, and the draft is four times closer in the first half.
    """
    target, other = words.rows(size, sharpness), words.rows(size, sharpness)
    share = np.full((size, 1), distance)
    if kind == "sticky":
        target, other = (0.7 * np.eye(size) + 0.3 * matrix for matrix in (target, other))
    elif kind == "topics":
        half = np.arange(size) < size // 2
        inside = half[:, None] == half
        target, other = (_kept(matrix, inside) for matrix in (target, other))
        share = np.where(half[:, None], distance / 4, distance)
    draft = (1.0 - share) * target + share * other
    return TokenChain(target=_tuples(target), draft=_tuples(draft))


def _tuples(matrix: FloatArray) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(float(entry) for entry in row) for row in matrix)


def _kept(matrix: FloatArray, inside: np.ndarray, stay: float = 0.95) -> FloatArray:
    weights = np.where(inside, stay, 1.0 - stay)
    for side in (inside, ~inside):
        matrix = np.where(side, matrix / (matrix * side).sum(axis=1, keepdims=True), matrix)
    return np.asarray(matrix * weights)
