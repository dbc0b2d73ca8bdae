"""What does a small model gain that writes until it is unsure, while a large one reads over it and takes back?

Big Little Decoding has two thresholds and no randomness in its rules: the small model hands over when its largest
probability is below the first (that pass is wasted), and the large model takes back what follows from the first token
whose cross-entropy exceeds the second.  It changes the output; how much is a measure of quality, not a proof.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simspec.model.cost import Cost
from simspec.model.errors import ParameterError
from simspec.theory.law import FloatArray
from simspec.theory.ranges import EXACT_KAPPA_LIMIT, as_numbers, check_range, check_whole
from simspec.theory.token_laws import Law, as_law


@dataclass(frozen=True, eq=False)
class BigLittleTurn:
    """Exact law of one turn: the small model writes, the large one checks.

    Attributes
    ----------
    joint : array, shape (kmax + 1, kmax + 1)
        P(n small tokens, of which the first j are kept) at [n, j].
    mean_small_tokens, mean_small_passes : float
        Tokens the small model writes, and its passes: one more where it hands over before kmax.
    mean_kept : float
        Tokens kept; the large model adds one of its own in every turn.
    p_rollback : float
        P(some token is taken back).
    """

    joint: FloatArray
    mean_small_tokens: float
    mean_small_passes: float
    mean_kept: float
    p_rollback: float

    @property
    def mean_tokens(self) -> float:
        """Kept tokens and the large model's own."""
        return self.mean_kept + 1.0

    def mean_cost(self, cost: Cost) -> float:
        """c0 + c_d·passes + c_v·tokens + c_r·P(some token is taken back), in steps of the large model; no tables.

        Raises
        ------
        ParameterError
            The cost has tables.
        """
        if cost.longest_draft is not None:
            raise ParameterError("cost", "cost has tables, which price one kind of draft; allowed: c0, c_d, c_v, c_r")
        passes = cost.c0 + cost.c_d * self.mean_small_passes
        return passes + cost.c_v * self.mean_small_tokens + cost.c_r * self.p_rollback

    def speedup(self, cost: Cost) -> float:
        """E[tokens]/E[cost], against one plain step of the large model."""
        return self.mean_tokens / self.mean_cost(cost)


def big_little(p_fallback: float, p_rollback: float, kmax: int) -> BigLittleTurn:
    """One turn of Big Little Decoding where every small token is unsure, or taken back, with a fixed chance.

    Parameters
    ----------
    p_fallback : float
        Chance that the small model is unsure of a token and hands over, 0 to 1.
    p_rollback : float
        Chance that the large model takes back a token, the first to be checked and found wrong, 0 to 1.
    kmax : int
        Most small tokens of a turn, 0 to 1000.

    Returns
    -------
    BigLittleTurn
        mean_kept = Σ_{j ≤ kmax} ((1 − f)(1 − r))^j.

    Raises
    ------
    ParameterError
        If an argument is out of range.

    References
    ----------
    Kim et al. (2023), Speculative Decoding with Big Little Decoder: fallback and rollback policies.

    Examples
    --------
    >>> turn = big_little(0.2, 0.1, kmax=2)
    >>> round(turn.mean_small_tokens, 4), round(turn.mean_small_passes, 4), round(turn.mean_kept, 4)
    (1.44, 1.8, 1.2384)
    """
    check_range("p_fallback", p_fallback, 0, 1)
    check_range("p_rollback", p_rollback, 0, 1)
    check_whole("kmax", kmax, 0, EXACT_KAPPA_LIMIT)
    go, keep = 1.0 - p_fallback, 1.0 - p_rollback
    joint = np.zeros((kmax + 1, kmax + 1))
    for n in range(kmax + 1):
        written = go**n * (p_fallback if n < kmax else 1.0)
        joint[n, :n] = written * keep ** np.arange(n) * p_rollback
        joint[n, n] = written * keep**n
    reach = np.power(go, np.arange(kmax + 1))
    return BigLittleTurn(
        joint,
        mean_small_tokens=float(reach[1:].sum()),
        mean_small_passes=float(reach[:-1].sum()),
        mean_kept=float(np.power(go * keep, np.arange(1, kmax + 1)).sum()),
        p_rollback=float(np.tril(joint, -1).sum()),
    )


@dataclass(frozen=True, eq=False)
class BigLittleRates:
    """What two thresholds make of contexts met with known weights.

    Attributes
    ----------
    p_fallback, p_rollback : float
        For `big_little`; 0 rollbacks where the small model always hands over.
    disagreement : float
        Share of tokens kept from the small model that are not the large model's likeliest: a measure of what is lost.
    excess_entropy : float
        Mean −log p(kept) less −log p(likeliest) of the kept tokens, p being the large model's law; in nats.
    """

    p_fallback: float
    p_rollback: float
    disagreement: float
    excess_entropy: float


def big_little_rates(
    targets: Sequence[Law],
    drafts: Sequence[Law],
    weights: Sequence[float],
    fallback: float = 0.6,
    rollback: float = 5.0,
) -> BigLittleRates:
    """Chances of handing over and of taking back, and what the kept tokens lose, for greedy models.

    Parameters
    ----------
    targets, drafts : sequence of laws
        The large and the small model's next-token law in each of some contexts.
    weights : sequence of float
        How often each context is met, ≥ 0, in any common scale.
    fallback : float
        The small model hands over where its largest probability is below, 0 to 1.
    rollback : float
        The large model takes back a token with −log p above, in nats, ≥ 0.

    Returns
    -------
    BigLittleRates

    Raises
    ------
    ParameterError
        If an argument is out of range or no law.

    References
    ----------
    Kim et al. (2023), Speculative Decoding with Big Little Decoder; its released code has fallback .6 and rollback 5.

    Examples
    --------
    >>> large, small = [[0.9, 0.1], [0.3, 0.7]], [[0.8, 0.2], [0.7, 0.3]]
    >>> rates = big_little_rates(large, small, [1, 1], rollback=2.0)
    >>> rates.p_fallback, rates.p_rollback, rates.disagreement, round(rates.excess_entropy, 4)
    (0.0, 0.0, 0.5, 0.4236)
    """
    shares = as_numbers("weights", weights)
    check_range("fallback", fallback, 0, 1)
    check_range("rollback", rollback, 0, math.inf)
    if not len(targets) == len(drafts) == shares.size:
        raise ParameterError("weights", f"weights has {shares.size} entries; allowed: one per target and per draft")
    if not (shares >= 0.0).all() or not 0.0 < shares.sum() < math.inf:
        raise ParameterError("weights", "weights are no probabilities; allowed: numbers ≥ 0, not all 0")
    written = taken = kept = other = lost = 0.0
    for i, (target, draft) in enumerate(zip(targets, drafts, strict=True)):
        p = as_law(f"targets[{i}]", target)
        q = as_law(f"drafts[{i}]", draft, p.size)
        token, weight = int(np.argmax(q)), float(shares[i] / shares.sum())
        if q[token] < fallback:
            continue
        written += weight
        entropy = -math.log(p[token]) if p[token] > 0.0 else math.inf
        if entropy > rollback:
            taken += weight
            continue
        kept += weight
        other += weight * (token != int(np.argmax(p)))
        lost += weight * (entropy + math.log(float(p.max())))
    return BigLittleRates(
        p_fallback=max(1.0 - written, 0.0),
        p_rollback=taken / written if written > 0.0 else 0.0,
        disagreement=other / kept if kept > 0.0 else 0.0,
        excess_entropy=lost / kept if kept > 0.0 else 0.0,
    )
