"""What does a text lose that two models write in turn, by thresholds?  Matrices over contexts, and where they settle.

K is the small model's writing where its token is kept, S all of its writing, P the large model's.  A turn that starts
in a context of law π keeps j tokens with mass π Kʲ, ends after them with a token of P, or writes on with S in vain.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simspec.model.cost import Cost
from simspec.model.errors import ParameterError
from simspec.theory.lanes import long_run_law
from simspec.theory.law import FloatArray
from simspec.theory.ranges import EXACT_KAPPA_LIMIT, check_range, check_whole
from simspec.theory.token_laws import as_law
from simspec.theory.token_pools import returning_rows

WORK_LIMIT = 10**9


@dataclass(frozen=True, eq=False)
class BigLittleText:
    """Long-run law of the turns of two models that write a text.

    Attributes
    ----------
    joint : array, shape (kmax + 1, kmax + 1)
        P(n small tokens, of which the first j are kept) at [n, j].
    emitted : array, shape (V, V)
        Share of emitted tokens y behind a token x, at [x, y]; adds up to 1.
    disagreement : float
        Share of emitted tokens that are not the large model's likeliest in their context.
    own_disagreement : float
        The same of the large model's own text: 0 unless tokens are drawn.
    tv : float
        Total variation distance between the emitted token and the large model's own, averaged over the contexts of the
        text; equal to ``disagreement`` where nothing is drawn.
    """

    joint: FloatArray
    emitted: FloatArray
    disagreement: float
    own_disagreement: float
    tv: float

    @property
    def mean_kept(self) -> float:
        """Small tokens kept per turn; the large model adds one."""
        return float(self.joint.sum(axis=0) @ np.arange(len(self.joint)))

    @property
    def mean_small_tokens(self) -> float:
        """Small tokens written per turn."""
        return float(self.joint.sum(axis=1) @ np.arange(len(self.joint)))

    @property
    def mean_small_passes(self) -> float:
        """Passes of the small model per turn: one more, and wasted, where it hands over before kmax."""
        return self.mean_small_tokens + 1.0 - float(self.joint[-1].sum())

    @property
    def p_rollback(self) -> float:
        """P(some token is taken back)."""
        return float(np.tril(self.joint, -1).sum())

    def mean_cost(self, cost: Cost) -> float:
        """Passes of the small model, one of the large, and c_r where a token is taken back; in plain target steps."""
        spent, last = cost.c_r * self.p_rollback, len(self.joint) - 1
        for n, share in enumerate(self.joint.sum(axis=1)):
            if share > 0.0:
                spent += float(share) * (cost.drafting(n + (n < last)) + cost.target_pass(n))
        return spent


def big_little_text(
    target: Sequence[Sequence[float]],
    draft: Sequence[Sequence[float]],
    kmax: int,
    fallback: float = 0.6,
    rollback: float = 5.0,
    sampled: bool = False,
) -> BigLittleText:
    """Turns of Big Little Decoding by its thresholds, on real token laws.

    Parameters
    ----------
    target, draft : sequence of laws
        Next-token laws of the large and of the small model by the last token; the target's tokens all come back.
    kmax : int
        Most small tokens of a turn, 0 to 1000.
    fallback : float
        The small model hands over where its largest probability is below, 0 to 1.
    rollback : float
        The large model takes back a token with −log p above, in nats, ≥ 0.
    sampled : bool
        Both models draw their tokens; else each writes its likeliest one, as in the paper.

    Returns
    -------
    BigLittleText
        Long-run shares; of texts that begin in the contexts of the large model's drawn text, should cycles be several.

    Raises
    ------
    ParameterError
        If an argument is out of range or no law.

    References
    ----------
    Kim et al. (2023), Speculative Decoding with Big Little Decoder, sections 3.2 and 3.3; the released code has
    fallback .6, rollback 5 and at most 10 small tokens.

    Examples
    --------
    >>> large, small = [[0.2, 0.8], [0.6, 0.4]], [[0.3, 0.7], [0.1, 0.9]]
    >>> text = big_little_text(large, small, kmax=3)
    >>> round(text.mean_kept, 4), round(text.disagreement, 4)  # behind token 1 the small model repeats it
    (3.0, 0.5)
    """
    rows = returning_rows(target)
    if len(draft) != len(rows):
        raise ParameterError("draft", f"draft has {len(draft)} laws; allowed: {len(rows)}, one per token as in target")
    small = np.array([as_law(f"draft[{i}]", row, len(rows)) for i, row in enumerate(draft)])
    check_whole("kmax", kmax, 0, EXACT_KAPPA_LIMIT)
    if (kmax * len(rows)) ** 2 > WORK_LIMIT:
        many = f"kmax = {kmax} with {len(rows):,} tokens"
        raise ParameterError("kmax", f"{many} is too much; allowed: kmax times tokens up to {math.isqrt(WORK_LIMIT):,}")
    check_range("fallback", fallback, 0, 1)
    check_range("rollback", rollback, 0, math.inf)
    unsure = small.max(axis=1) < fallback
    with np.errstate(divide="ignore"):
        kept = (rows > 0.0) & (-np.log(rows) <= rollback)
    own, writes = (rows, small) if sampled else (_likeliest(rows), _likeliest(small))
    writes = np.where(unsure[:, None], 0.0, writes)
    keep, lose = writes * kept, writes * ~kept
    reached = [np.eye(len(rows))]
    for _ in range(kmax):
        reached.append(reached[-1] @ keep)
    before = sum(reached[:-1], np.zeros_like(keep))
    large_writes = before @ np.diag(unsure + lose.sum(axis=1)) + reached[-1]
    begin = long_run_law(rows)
    assert begin is not None  # all tokens come back
    starts = begin @ settled(large_writes @ own)
    joint = np.zeros((kmax + 1, kmax + 1))
    for j in range(kmax + 1):
        here = starts @ reached[j]
        joint[j, j] = here @ unsure if j < kmax else here.sum()
        lost = here @ lose
        for n in range(j + 1, kmax + 1):
            joint[n, j] = lost @ unsure if n < kmax else lost.sum()
            lost = lost @ writes
    visits = (starts @ before)[:, None] * keep + (starts @ large_writes)[:, None] * own
    emitted = visits / visits.sum()
    differs = 1.0 - _likeliest(rows)
    plain = begin if sampled else np.zeros(len(rows))
    apart = np.abs(emitted - emitted.sum(axis=1)[:, None] * own).sum() / 2.0
    return BigLittleText(
        joint, emitted, float((emitted * differs).sum()), float((plain[:, None] * rows * differs).sum()), float(apart)
    )


def settled(step: npt.NDArray[np.float64]) -> FloatArray:
    """Long-run shares of the states, by the first one: ((1 + T)/2)^(2ⁿ), which swings no longer, n growing.

    Examples
    --------
    >>> settled(np.array([[0.0, 1.0], [1.0, 0.0]])).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    power = (np.eye(len(step)) + step) / 2.0
    for _ in range(64):
        power = power @ power
        power /= power.sum(axis=1)[:, None]
    return power


def _likeliest(rows: FloatArray) -> FloatArray:
    """Certainty of the likeliest token of each row, of equal ones the first."""
    return np.asarray(np.eye(rows.shape[1])[rows.argmax(axis=1)])
