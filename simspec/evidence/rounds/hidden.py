"""How do rounds become sequences of verdicts for two hidden states?  One place per emitted token.

A round of A accepted drafts takes A + 1 places: A acceptances, then the rejected draft, or, after a full round, the
bonus token, which nobody judged.  A state that moves by one place per token thus moves one step after a rejection and
two from the last accepted draft over the bonus token.

Long sequences are cut at rounds into pieces that begin in the long-run law: the search walks in step over all pieces
at once, and what a piece forgets of the one before is little, since a hidden state forgets within tens of tokens.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simspec.evidence.hidden_fit import EDGE, Bits, gradient, log_likelihood, maximise, state_before
from simspec.evidence.observed import Floats, Ints, Observed
from simspec.stats.logits import rate

HIDDEN_EDGE = EDGE
PIECE = 1_024
"""Tokens of a piece; it ends with the round that crosses them."""
MOST_FITTED = 200_000
"""Tokens the search for the best parameters looks at: pieces are taken evenly over the file."""
MOST_TRIED = 15_000
"""Tokens over which the search decides between its beginnings."""
COARSE, FINE = 1e-5, 1e-6
"""Slopes per token at which the first parts of the search end, and the last: errors of a rate of about 1e-4."""
FURTHER = ((0.9, 0.1, 0.1, 0.1), (0.8, 0.2, 0.98, 0.3), (0.95, 0.6, 0.3, 0.98))
"""Beginnings that are tried as well where there are at most `FEW` tokens: short logs have several maxima."""
FEW = 4_000
SHORT = 256
"""Tokens of a piece in the first part of the search."""


@dataclass(frozen=True, eq=False)
class Pieces:
    """Verdicts in pieces.

    Attributes
    ----------
    bits, known : bool array (pieces, longest)
        Accepted; judged at all.
    lengths : int array (pieces,)
    group : int array (pieces,)
        Whose it is.
    groups : int
    at : tuple of two int arrays (rounds,)
        Piece and place of each round's first draft.
    """

    bits: Bits
    known: Bits
    lengths: Ints
    group: Ints
    groups: int
    at: tuple[Ints, Ints]

    @property
    def cut(self) -> bool:
        """Whether a group is in several pieces."""
        return len(self.lengths) > len(np.unique(self.group))


def hidden_pieces(observed: Observed) -> Pieces:
    """The sequences of a log with order.

    Examples
    --------
    >>> own = hidden_pieces(Observed.in_order([[2, 2]], [[2, 1]]))
    >>> own.bits.astype(int).tolist(), own.known.astype(int).tolist()
    ([[1, 1, 0, 1, 0]], [[1, 1, 0, 1, 1]])
    """
    tokens = observed.accepted + 1
    ends = np.cumsum(tokens)
    group = observed.group
    begun = np.concatenate([[0], ends])[observed.offsets[:-1]][group]
    block = (ends - tokens - begun) // PIECE
    new = np.concatenate([[True], (np.diff(group) != 0) | (np.diff(block) != 0)])
    piece = np.cumsum(new) - 1
    first = np.flatnonzero(new)
    lengths = np.add.reduceat(tokens, first)
    place = ends - tokens - (ends - tokens)[first][piece]
    bits = np.ones((len(first), int(lengths.max())), bool)
    known = np.ones(bits.shape, bool)
    bits[piece, place + observed.accepted] = False
    full = observed.accepted == observed.drafted
    known[piece[full], (place + observed.accepted)[full]] = False
    return Pieces(bits, known, lengths, group[first], observed.groups, (piece, place))


def hidden_point(pieces: Pieces) -> Floats:
    """Logits of (rate, rate, stay, stay) of the greatest likelihood, the state of the higher rate first.

    From coarse to fine: where to begin is decided over few short pieces, the search goes on over all of them short,
    since that is quick, and ends with the pieces as they are.
    """
    if pieces.lengths.sum() <= FEW:
        return _best_of_few(pieces)
    few, many = (-(-int(pieces.lengths.sum()) // most) for most in (MOST_TRIED, MOST_FITTED))
    bits, lengths, known = (
        pieces.bits[many // 2 :: many],
        pieces.lengths[many // 2 :: many],
        pieces.known[many // 2 :: many],
    )
    short = _cut(bits, lengths, known)
    every = max(1, few // many)
    some = slice(every // 2, None, every)
    best = maximise(short[0][some], short[1][some], known=short[2][some], steep=COARSE)
    best = maximise(short[0], short[1], best, short[2], COARSE)
    best = maximise(bits, lengths, best, known, FINE)
    return np.clip(np.log(best / (1.0 - best)), -EDGE, EDGE)


def _best_of_few(pieces: Pieces) -> Floats:
    own = (pieces.bits, pieces.lengths)
    found = [maximise(*own, begin and np.array(begin), pieces.known, FINE) for begin in (None, *FURTHER)]
    best = max(found, key=lambda point: float(log_likelihood(point, *own, pieces.known).sum()))
    return np.clip(np.log(best / (1.0 - best)), -EDGE, EDGE)


def _cut(bits: Bits, lengths: Ints, known: Bits) -> tuple[Bits, Ints, Bits]:
    """The same places in pieces of `SHORT`."""
    parts = -(-bits.shape[1] // SHORT)
    wide = [np.pad(own, ((0, 0), (0, parts * SHORT - own.shape[1]))).reshape(-1, SHORT) for own in (bits, known)]
    own = np.clip(lengths[:, None] - SHORT * np.arange(parts), 0, SHORT).ravel()
    return wide[0][own > 0], own[own > 0], wide[1][own > 0]


def hidden_by_group(point: Floats, pieces: Pieces) -> Floats:
    """Log-likelihood of each group."""
    own = log_likelihood(rate(point), pieces.bits, pieces.lengths, pieces.known)
    return np.bincount(pieces.group, own, pieces.groups).astype(float)


def hidden_gradient(point: Floats, pieces: Pieces) -> Floats:
    """Slope of the log-likelihood of all groups."""
    return gradient(rate(point), pieces.bits, pieces.lengths, pieces.known)


def hidden_ahead(point: Floats, observed: Observed) -> Floats:
    """Survival curve of each round, given the verdicts of its group before it."""
    high, low, stay, other = rate(point)
    pieces = hidden_pieces(observed)
    first = state_before(rate(point), pieces.bits, pieces.lengths, pieces.known)[pieces.at]
    moves = np.array([[stay, 1.0 - stay], [1.0 - other, other]])
    curves = np.empty((2, observed.kappa_max))
    alive = np.diag([high, low])  # row: state at the first draft; column: state now, all so far accepted
    for j in range(observed.kappa_max):
        curves[:, j] = alive.sum(axis=1)
        alive = alive @ moves * np.array([high, low])
    return np.asarray(np.outer(first, curves[0]) + np.outer(1.0 - first, curves[1]))
