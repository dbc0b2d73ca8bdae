"""How does a token law become integers?  Weights of 63 bits that add up exactly, and a guide to where a word falls.

A token of probability 10⁻⁶ among 150,000 keeps thirteen digits; a token of probability 0 has weight 0 and cannot be
drawn.  Built from + − × ÷ and rounding alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simspec.kernels.arithmetic import stationary

BITS = 63
ONE = 2**BITS
"""Certainty: a word without its lowest bit always lies below it."""


@dataclass(frozen=True, eq=False)
class Lookup:
    """Laws over one vocabulary, a row per context, to be drawn from by inversion.

    Attributes
    ----------
    cumulative : uint64 array (contexts, V)
        Thresholds of the distribution function; the last one is 2⁶³.
    guide : int32 array (contexts, 2^bits)
        First token whose threshold lies above the cell: so few steps are left that V does not matter.
    """

    cumulative: np.ndarray
    guide: np.ndarray

    @property
    def shift(self) -> np.uint64:
        """How far a word of 63 bits is shifted to give its cell."""
        return np.uint64(BITS + 1 - int(self.guide.shape[1]).bit_length())

    @staticmethod
    def of(laws: np.ndarray) -> Lookup:
        """From probabilities ≥ 0 by row, scaled to add up to 1; a row without any becomes its first token.

        Examples
        --------
        >>> table = Lookup.of(np.array([[0.5, 0.0, 0.5]]))
        >>> (table.cumulative / ONE).tolist(), table.guide.tolist()
        ([[0.5, 0.5, 1.0]], [[0, 0, 0, 0, 2, 2, 2, 2]])
        """
        cumulative = np.cumsum(weights(laws), axis=1, dtype=np.uint64)
        cells = 2 ** max(1, (2 * laws.shape[1] - 1).bit_length())
        edges = np.arange(cells, dtype=np.uint64) << np.uint64(BITS + 1 - cells.bit_length())
        guide = np.array([np.searchsorted(row, edges, side="right") for row in cumulative], np.int32)
        return Lookup(cumulative, guide)


def weights(laws: np.ndarray) -> np.ndarray:
    """Probabilities as whole numbers that add up to 2⁶³ in every row; what rounding leaves goes to the largest.

    Examples
    --------
    >>> weights(np.array([[1.0, 1.0, 1.0]])).sum() == ONE
    np.True_
    """
    total = np.cumsum(laws, axis=1)[:, -1:]  # in index order, on every machine
    shares = np.divide(laws, total, out=np.zeros(laws.shape), where=total > 0.0)
    whole: np.ndarray = np.rint(shares * float(ONE)).astype(np.uint64)
    missing = np.uint64(ONE) - whole.sum(axis=1, dtype=np.uint64)  # modulo 2⁶⁴, and small
    whole[np.arange(len(laws)), shares.argmax(axis=1)] += missing
    return whole


@dataclass(frozen=True, eq=False)
class TokenTables:
    """What the token rule needs: x ~ draft, kept if a word lies below ``accept[x]``, else a token of the residual.

    Attributes
    ----------
    draft, residual, target : Lookup
        Laws of the draft, of the correction (p − q)⁺, and of the bonus token.
    accept : uint64 array (contexts, V)
        2⁶³·min(1, p/q).
    start : uint64 array (contexts,)
        Thresholds of the first context of a lane.
    """

    draft: Lookup
    residual: Lookup
    target: Lookup
    accept: np.ndarray
    start: np.ndarray


@dataclass(frozen=True, eq=False)
class BlockTables:
    """What block verification needs: with share t of a prefix still owed, (t·p − q)⁺ is a run of tokens sorted by q/p.

    Attributes
    ----------
    draft, target : Lookup
    ratio : float64 array (contexts, V)
        p/q.
    limits : float64 array (contexts, V)
        q/p in ascending order, infinite where p = 0.
    order : int32 array (contexts, V)
        The token at each place of that order.
    below : float64 array (2, contexts, V + 1)
        Mass of p, and of q, in the first k places.
    start : uint64 array (contexts,)
    """

    draft: Lookup
    target: Lookup
    ratio: np.ndarray
    limits: np.ndarray
    order: np.ndarray
    below: np.ndarray
    start: np.ndarray


def token_tables(target: np.ndarray, draft: np.ndarray) -> TokenTables:
    """Tables of the token rule from rows p[c], q[c] that add up to 1.

    Where p = q nothing is rejected; the residual then is the target, should rounding ever ask for it.

    Examples
    --------
    >>> tables = token_tables(np.array([[0.5, 0.3, 0.2]]), np.array([[0.2, 0.3, 0.5]]))
    >>> (tables.accept / ONE).tolist(), (tables.residual.cumulative / ONE).tolist()
    ([[1.0, 1.0, 0.4]], [[1.0, 1.0, 1.0]])
    """
    residual = np.maximum(target - draft, 0.0)
    nothing = ~residual.any(axis=1)
    residual[nothing] = target[nothing]
    accept = np.rint(np.minimum(_over(target, draft), 1.0) * float(ONE)).astype(np.uint64)
    return TokenTables(Lookup.of(draft), Lookup.of(residual), Lookup.of(target), accept, _start(target))


def block_tables(target: np.ndarray, draft: np.ndarray) -> BlockTables:
    """Tables of block verification from rows p[c], q[c] that add up to 1.

    Examples
    --------
    >>> tables = block_tables(np.array([[0.5, 0.25, 0.25]]), np.array([[0.25, 0.25, 0.5]]))
    >>> tables.limits.tolist(), tables.below.tolist()
    ([[0.5, 1.0, 2.0]], [[[0.0, 0.5, 0.75, 1.0]], [[0.0, 0.25, 0.5, 1.0]]])
    """
    limits = _over(draft, target)
    limits[target <= 0.0] = np.inf
    order = np.argsort(limits, axis=1, kind="stable")
    below = np.zeros((2, target.shape[0], target.shape[1] + 1))
    for sums, law in zip(below, (target, draft), strict=True):
        np.cumsum(np.take_along_axis(law, order, axis=1), axis=1, out=sums[:, 1:])
    return BlockTables(
        Lookup.of(draft),
        Lookup.of(target),
        _over(target, draft),
        np.take_along_axis(limits, order, axis=1),
        order.astype(np.int32),
        below,
        _start(target),
    )


def _over(top: np.ndarray, bottom: np.ndarray) -> np.ndarray:
    """top/bottom, 0 where the bottom is 0; a ratio beyond all doubles is infinite, which min(·, 1) undoes."""
    out = np.zeros(top.shape)
    with np.errstate(over="ignore"):
        np.divide(top, bottom, out=out, where=bottom > 0.0)
    return out


def _start(target: np.ndarray) -> np.ndarray:
    """Thresholds of the target's long-run law over contexts; a single context is certain."""
    if len(target) == 1:
        return np.array([ONE], np.uint64)
    law = stationary(target)
    assert law is not None  # the model refuses chains with several closed classes
    thresholds: np.ndarray = np.cumsum(weights(law[None, :]), axis=1, dtype=np.uint64)[0]
    return thresholds
