"""Which tokens are to be sampled?  One pair of laws at one κ under one rule, with budget and seed."""

from __future__ import annotations

import functools
import operator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simspec.kernels.token_tables import BlockTables, TokenTables, block_tables, token_tables
from simspec.kernels.words import stream_keys
from simspec.model import KAPPA_LIMIT, ParameterError
from simspec.model.errors import shown
from simspec.model.identity import digest
from simspec.run.layout import FEWEST_LANES, MOST_LANES, USUAL_ROUNDS, Layout
from simspec.run.pairs import Asked, laws_of

Floats = NDArray[np.float64]
RULES = ("token", "block")
WINDOWS_LIMIT = 10**10


def whole_number(key: str, value: Any, low: int, high: int) -> int:
    """The value as a plain integer, be it Python's or numpy's.

    Raises
    ------
    ParameterError
        It is no whole number from ``low`` to ``high``.

    Examples
    --------
    >>> whole_number("kappa", np.int64(4), 0, 256)
    4
    """
    try:
        found = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        found = None
    if found is None:
        raise ParameterError(key, f"{key} = {shown(value)} is no whole number; allowed: {low} ≤ {key} ≤ {high}")
    if not low <= found <= high:
        raise ParameterError(key, f"{key} = {found} is out of range; allowed: {low} ≤ {key} ≤ {high}")
    return found


@dataclass(frozen=True)
class SampledJob:
    """One pair (or chain) at one κ under one rule, with budget and seed."""

    pair: Asked
    kappa: int
    windows: int
    seed: int
    rule: str = "token"

    def __post_init__(self) -> None:
        for key, low, high in (("kappa", 0, KAPPA_LIMIT), ("windows", 1, WINDOWS_LIMIT), ("seed", 0, 2**64 - 1)):
            object.__setattr__(self, key, whole_number(key, getattr(self, key), low, high))
        if self.rule not in RULES:
            raise ParameterError("rule", f'rule = {self.rule!r} is unknown; allowed: "token" or "block"')

    @functools.cached_property
    def layout(self) -> Layout:
        """Lanes of 4096 rounds; fewer (a power of two) where that would leave less than 128 lanes."""
        rounds = USUAL_ROUNDS
        while rounds > 1 and self.windows < rounds * FEWEST_LANES:
            rounds //= 2
        while self.windows > rounds * MOST_LANES:
            rounds *= 2
        return Layout(max(FEWEST_LANES, -(-self.windows // rounds)), rounds)

    @functools.cached_property
    def keys(self) -> NDArray[np.uint64]:
        """Stream keys; they know the pair and the seed, and neither κ nor the rule."""
        return stream_keys(self.seed, digest(self.pair.identity()), domain="sampling")

    @functools.cached_property
    def laws(self) -> tuple[Floats, Floats]:
        return laws_of(self.pair)

    @functools.cached_property
    def tables(self) -> TokenTables | BlockTables:
        return token_tables(*self.laws) if self.rule == "token" else block_tables(*self.laws)

    def prepare(self) -> None:
        """Make what all threads read, once."""
        _ = self.keys, self.layout, self.tables
