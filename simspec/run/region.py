"""Which acceptance rates go with which divergence?  Random pairs of many families, and the edges of what is possible.

Divergences are computed for thousands of pairs at once, straight from their definition; `simspec.theory.renyi` answers
one pair with all its digits, and a test holds the two together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from simspec.kernels.words import stream_keys
from simspec.model import ParameterError
from simspec.model.identity import digest
from simspec.run.pairs import Laws, dirichlet, scaled, softmax, uniforms
from simspec.run.token_job import whole_number
from simspec.theory.alpha_bounds import (
    alpha_bounds_from_half,
    alpha_lower_bretagnolle_huber,
    alpha_lower_chi_square,
    alpha_lower_hoelder,
    alpha_lower_max_ratio,
    alpha_lower_pinsker,
    alpha_upper_chernoff,
)

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
ORDERS = (0.25, 0.5, 0.75, 1.0, 2.0, math.inf)
DIRECTIONS = {"draft||target": "back", "target||draft": "d"}
"""Direction of a divergence → how its columns begin."""

ROUNDING = 1e-9
"""A bound holds for reals; divergences carry a rounding of 1e-16, and its root is 1e-8 of what it bounds."""

PAIRS_LIMIT = 1_000_000
BATCH = 500
"""Pairs of one vocabulary, drawn and measured together."""


class Words:
    """Uniform numbers one after another, from successive addresses of one stream."""

    def __init__(self, seed: int) -> None:
        self._keys, self._address = stream_keys(seed, digest({"type": "region"}), domain="pairs"), 0

    def uniform(self, *shape: int) -> Floats:
        """Inside (0, 1)."""
        self._address += 1
        return uniforms(self._keys, self._address, math.prod(shape)).reshape(shape)

    def normal(self, *shape: int) -> Floats:
        """Standard normal."""
        from scipy.special import ndtri

        return np.asarray(ndtri(self.uniform(*shape)))

    def between(self, low: float, high: float, many: int) -> Floats:
        """Uniform in the logarithm, a column."""
        return np.asarray(low * (high / low) ** self.uniform(many, 1))


def _dirichlet(words: Words, many: int, size: int) -> Laws:
    """Independent laws of concentration .05 to 20 each."""
    first, second = (float(words.between(0.05, 20.0, 1)[0, 0]) for _ in range(2))
    u = [words.uniform(many, size) for _ in range(4)]
    return dirichlet(first, u[0], u[1]), dirichlet(second, u[2], u[3])


def _perturbed(words: Words, many: int, size: int) -> Laws:
    """A power law, and the draft's errors exp(sigma·normal) with sigma .01 to 5."""
    target = np.arange(1.0, size + 1.0) ** -words.between(0.2, 3.0, many)
    return target, target * np.exp(words.between(0.01, 5.0, many) * words.normal(many, size))


def _logits(words: Words, many: int, size: int) -> Laws:
    """Correlated Gaussian logits, a temperature each."""
    own, other = words.normal(many, size), words.normal(many, size)
    correlation, scale = words.uniform(many, 1), words.between(0.3, 8.0, many)
    near = correlation * own + np.sqrt(1.0 - correlation**2) * other
    return softmax(scale * own, 1.0), softmax(scale * near / words.between(0.3, 3.0, many), 1.0)


def _holes(words: Words, many: int, size: int) -> Laws:
    """Laws that lack some of each other's tokens; every target keeps its first token, every draft its last."""
    target, draft = _dirichlet(words, many, size)
    target = np.where(words.uniform(many, size) < 0.4, 0.0, target)
    draft = np.where(words.uniform(many, size) < 0.4, 0.0, draft)
    target[:, 0] += 1e-3
    draft[:, -1] += 1e-3
    return target, draft


def _flat(words: Words, many: int, size: int) -> Laws:
    """Uniform weights divided by their sum, as a script in a hurry draws laws."""
    return words.uniform(many, size), words.uniform(many, size)


def _swapped(words: Words, many: int, size: int) -> Laws:
    """(a, 1 − a) against (1 − a, a), spread over the vocabulary: the lower edge."""
    a = words.uniform(many, 1)
    target, draft = np.zeros((many, size)), np.zeros((many, size))
    target[:, :1], target[:, 1:2], draft[:, :1], draft[:, 1:2] = a, 1.0 - a, 1.0 - a, a
    return target, draft


def _apart(words: Words, many: int, size: int) -> Laws:
    """(a, 1 − a, 0) against (a, 0, 1 − a): the upper edge."""
    a = words.uniform(many, 1)
    target, draft = np.zeros((many, size)), np.zeros((many, size))
    target[:, :1], target[:, 1:2], draft[:, :1], draft[:, -1:] = a, 1.0 - a, a, 1.0 - a
    return target, draft


def _between_edges(words: Words, many: int, size: int) -> Laws:
    """Part of the mass in common, part swapped, part apart: the inside of the region."""
    parts = dirichlet(0.6, words.uniform(many, 3), words.uniform(many, 3))
    common, swapped, apart = np.split(scaled(parts), 3, axis=1)
    a = words.uniform(many, 1)
    nothing = np.zeros((many, 1))
    target = np.concatenate([common, swapped * a, swapped * (1.0 - a), apart, nothing], axis=1)
    draft = np.concatenate([common, swapped * (1.0 - a), swapped * a, nothing, apart], axis=1)
    return target, draft


FAMILIES: dict[str, Callable[[Words, int, int], Laws]] = {
    "dirichlet": _dirichlet,
    "flat": _flat,
    "holes": _holes,
    "logits": _logits,
    "perturbed": _perturbed,
    "between edges": _between_edges,
    "swapped": _swapped,
    "apart": _apart,
}


def attainable_region(pairs: int = 24_000, seed: int = 1, families: tuple[str, ...] = tuple(FAMILIES)) -> pd.DataFrame:
    """α against Rényi divergences for random pairs of token laws.

    Parameters
    ----------
    pairs : int
        Number of pairs, shared out evenly, 1 to 1,000,000.
    seed : int
        0 ≤ seed < 2⁶⁴.
    families : tuple of str
        Of `FAMILIES`; vocabularies have 3 to 64 tokens.

    Returns
    -------
    DataFrame
        One row per pair: ``family``, ``vocabulary``, ``alpha``, ``bhattacharyya``, ``lower`` and ``upper``
        (1 − √(1 − BC²) and BC), and by order ``d_<order>`` of target to draft and ``back_<order>`` of draft to target.

    Raises
    ------
    ParameterError
        An argument is out of range.

    References
    ----------
    The article's section 2.2, equation (3), and the bounds in `simspec.theory.alpha_bounds`.

    Examples
    --------
    >>> found = attainable_region(800)
    >>> bool(((found["lower"] - 1e-9 <= found["alpha"]) & (found["alpha"] <= found["upper"] + 1e-9)).all())
    True
    """
    import pandas as pd

    for key, value, least, most in (("pairs", pairs, 1, PAIRS_LIMIT), ("seed", seed, 0, 2**64 - 1)):
        whole_number(key, value, least, most)
    unknown = [name for name in families if name not in FAMILIES]
    if unknown or not families:
        raise ParameterError("families", f"families = {families!r}; allowed: some of {', '.join(FAMILIES)}")
    frames = [
        pd.DataFrame({"family": name, "vocabulary": target.shape[1], **measures(target, draft)})
        for name, target, draft in random_pairs(pairs, seed, families)
    ]
    return pd.concat(frames, ignore_index=True)


def random_pairs(
    pairs: int, seed: int = 1, families: tuple[str, ...] = tuple(FAMILIES)
) -> Iterator[tuple[str, Floats, Floats]]:
    """The pairs themselves, in batches of one family and vocabulary: name, target and draft, (pairs, V) each.

    Examples
    --------
    >>> [(name, target.shape[0]) for name, target, _ in random_pairs(7, families=("flat", "holes"))]
    [('flat', 4), ('holes', 3)]
    """
    words = Words(seed)
    for i, name in enumerate(families):
        left = pairs // len(families) + (i < pairs % len(families))
        while left > 0:
            many = min(left, BATCH)
            size = int(words.between(3.0, 65.0, 1)[0, 0])
            target, draft = (scaled(law) for law in FAMILIES[name](words, many, size))
            yield name, target, draft
            left -= many


def measures(target: Floats, draft: Floats) -> dict[str, Floats]:
    """α, Bhattacharyya coefficient, its bounds, and the divergences of `ORDERS` in both directions; rows are pairs.

    Examples
    --------
    >>> found = measures(np.array([[0.5, 0.3, 0.2]]), np.array([[0.2, 0.3, 0.5]]))
    >>> round(float(found["alpha"][0]), 6), round(float(found["d_0.5"][0]), 6), round(float(found["d_inf"][0]), 6)
    (0.7, 0.139868, 0.916291)
    """
    cosine = np.minimum(np.sqrt(target * draft).sum(axis=1), 1.0)
    found = {"alpha": np.minimum(np.minimum(target, draft).sum(axis=1), 1.0), "bhattacharyya": cosine}
    # 1 − BC² from the squared differences, so that laws that hardly differ keep their digits
    missing = np.minimum(0.5 * ((np.sqrt(target) - np.sqrt(draft)) ** 2).sum(axis=1), 1.0)
    found |= {"lower": 1.0 - np.sqrt(missing * (2.0 - missing)), "upper": 1.0 - missing}
    for order in ORDERS:
        found[f"d_{order:g}"] = divergences(target, draft, order)
        found[f"back_{order:g}"] = divergences(draft, target, order)
    return found


def divergences(first: Floats, second: Floats, order: float) -> Floats:
    """D_λ(first ‖ second) of each row, in nats."""
    some = first > 0.0
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if order == math.inf:
            found = np.log(np.where(some, first / second, 0.0).max(axis=1))
        elif order == 1.0:
            found = np.where(some, first * np.log(first / second), 0.0).sum(axis=1)
        else:
            found = np.log(np.where(some, first**order * second ** (1.0 - order), 0.0).sum(axis=1)) / (order - 1.0)
    return np.asarray(np.maximum(found, 0.0), np.float64)


@dataclass(frozen=True)
class Reading:
    """One inequality between α and a divergence; ``article`` tells the article's readings from theorems."""

    name: str
    order: float
    article: bool
    holds: Callable[[Floats, Floats], NDArray[np.bool_]]


def _each(bound: Callable[[float], float]) -> Callable[[Floats], Floats]:
    return lambda values: np.array([bound(float(value)) for value in values])


def _least(bound: Callable[[float], float]) -> Callable[[Floats, Floats], NDArray[np.bool_]]:
    return lambda alpha, d: alpha >= _each(bound)(d) - ROUNDING


def _most(bound: Callable[[float], float]) -> Callable[[Floats, Floats], NDArray[np.bool_]]:
    return lambda alpha, d: alpha <= _each(bound)(d) + ROUNDING


def readings() -> list[Reading]:
    """Every inequality that is counted: the theorems, and what the article's lost equation (3) may have said."""
    true = [
        Reading("α ≥ 1 − √(1 − e^−D_½)", 0.5, False, _least(lambda d: alpha_bounds_from_half(d)[0])),
        Reading("α ≤ e^(−D_½/2)", 0.5, False, _most(lambda d: alpha_bounds_from_half(d)[1])),
        Reading("α ≥ 1 − √(D/2), Pinsker", 1.0, False, _least(alpha_lower_pinsker)),
        Reading("α ≥ 1 − √(1 − e^−D), Bretagnolle and Huber", 1.0, False, _least(alpha_lower_bretagnolle_huber)),
        Reading("α ≥ 1 − ½√(e^D − 1)", 2.0, False, _least(alpha_lower_chi_square)),
        Reading("α ≥ e^−D", math.inf, False, _least(alpha_lower_max_ratio)),
    ]
    for order in (0.25, 0.5, 0.75):
        true += [
            Reading("α ≤ e^(−(1−λ)D)", order, False, _most(_at(alpha_upper_chernoff, order))),
            Reading("α ≥ Hölder's bound", order, False, _least(_at(alpha_lower_hoelder, order))),
            Reading("α ≥ 1 − √(D/2λ), Pinsker", order, False, _least(_at(alpha_lower_pinsker, order))),
        ]
    return true + [reading for order in (0.25, 0.5, 0.75, 1.0) for reading in _article(order)]


def _at(bound: Callable[[float, float], float], order: float) -> Callable[[float], float]:
    return lambda d: bound(d, order)


def _article(order: float) -> list[Reading]:
    """Readings of equation (3) for an order of [0, 1] that are no theorems, but the last at order 1."""
    return [
        Reading("α ≥ e^−D", order, True, lambda alpha, d: alpha >= np.exp(-d) - ROUNDING),
        Reading("α ≤ e^−D", order, True, lambda alpha, d: alpha <= np.exp(-d) + ROUNDING),
        Reading("α ≥ 1 − D", order, True, lambda alpha, d: alpha >= 1.0 - d - ROUNDING),
        Reading("1 − α ≤ √(D/2)", order, True, lambda alpha, d: 1.0 - alpha <= np.sqrt(d / 2.0) + ROUNDING),
    ]


def violations(region: pd.DataFrame) -> pd.DataFrame:
    """How many pairs break each inequality.

    Parameters
    ----------
    region : DataFrame
        Of `attainable_region`.

    Returns
    -------
    DataFrame
        One row per inequality and direction: ``inequality``, ``order``, ``article``, ``direction`` (``"draft||target"``
        as in the article, or ``"target||draft"``), ``pairs``, ``violations``, ``share``.  A theorem has none.

    Examples
    --------
    >>> found = violations(attainable_region(800))
    >>> int(found[~found["article"]]["violations"].sum())
    0
    """
    import pandas as pd

    alpha, rows = region["alpha"].to_numpy(), []
    for reading in readings():
        for direction, prefix in DIRECTIONS.items():
            holds = reading.holds(alpha, region[f"{prefix}_{reading.order:g}"].to_numpy())
            broken = int((~holds).sum())
            counts = (len(region), broken, broken / len(region))
            rows.append((reading.name, reading.order, reading.article, direction, *counts))
    names = ["inequality", "order", "article", "direction", "pairs", "violations", "share"]
    return pd.DataFrame(rows, columns=names)


def write_region(region: pd.DataFrame, path: str | Path) -> Path:
    """Write the pairs as one Parquet file, whole or not at all.

    Raises
    ------
    DatasetError
        The file cannot be written.
    """
    import pyarrow as pa

    from simspec.run.store import write_table

    place = Path(path)
    write_table(pa.Table.from_pandas(region, preserve_index=False), place)
    return place
