"""What does block verification accept, and is what it emits still the target's?  Exactly, path by path.

The token rule judges one draft after another and forgets what a token with p > q leaves unused.  Block verification
keeps an account: behind drafts x_1 … x_i it owes the share t_i = min(t_{i−1}·p(x_i)/q(x_i), 1) of that prefix, t_0 = 1,
and keeps it with exactly this chance.  Prefix i < κ passes with m_i/(m_i + 1 − t_i), m_i = Σ (t_i·p − q)⁺, and prefix κ
with t_κ; the longest that passes is kept and followed by a token of (t·p − q)⁺, or of p behind all κ.

P(A ≥ i | x_1 … x_i) = t_i, by induction from i = κ down: a longer prefix is kept with chance s = Σ q·t_{i+1} =
Σ min(t_i·p, q) = t_i − m_i, and s + (1 − s)·m_i/(1 − s) = t_i.  So P(A = i, next token y | x_1 … x_i) =
(t_i·p(y) − q(y))⁺; with the drafts y that stay, of mass min(t_i·p(y), q(y)), the next token is y with t_i·p(y) in all.
Given that the round has come this far the token follows p, whatever came before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simspec.model.chains import TokenChain, normalised
from simspec.model.errors import ParameterError
from simspec.theory.hidden import token_draft_chain
from simspec.theory.lanes import chain_window, long_run_law
from simspec.theory.law import FloatArray, moments
from simspec.theory.ranges import EXACT_KAPPA_LIMIT, check_range
from simspec.theory.token_laws import Law, as_pair, scaled

PATHS_LIMIT = 2_000_000
"""Draft tokens that one step of the enumeration may weigh; paths that owe the same in the same context are one."""

_SAME = 1e-12
"""Relative difference of shares that only the order of multiplication explains."""


@dataclass(frozen=True, eq=False)
class BlockLaw:
    """Long-run law of the rounds of block verification, beside the mean of the token rule.

    Attributes
    ----------
    kappa : int
        Draft length.
    pmf_accepted : array, shape (kappa + 1,)
        P(A = j).
    survival : array, shape (kappa,)
        P(A ≥ j), j = 1 … kappa: the mean of t_j over drafted paths.
    mean_accepted, var_accepted : float
        Of A in one round; A + 1 tokens are emitted.
    token_mean_accepted : float
        E[A] of the token rule on the same laws, never larger.
    accepted_law : array, shape (V,), or None
        Law of an accepted draft, over all positions; None where none is accepted.
    emitted_law : array, shape (V,)
        Law of an emitted token, summed over accepted, corrected and bonus ones: p, or the long-run law of a chain.
    """

    kappa: int
    pmf_accepted: FloatArray
    survival: FloatArray
    mean_accepted: float
    var_accepted: float
    token_mean_accepted: float
    accepted_law: FloatArray | None
    emitted_law: FloatArray

    @property
    def gain(self) -> float:
        """E[A] over that of the token rule, less 1; 0 where nothing is accepted."""
        return self.mean_accepted / self.token_mean_accepted - 1.0 if self.token_mean_accepted > 0.0 else 0.0


def block_verification(target: Law | TokenChain, draft: Law | None = None, kappa: int = 4) -> BlockLaw:
    """Accepted length and emitted law of block verification, beside the token rule.

    Parameters
    ----------
    target : sequence of float, shape (V,), or TokenChain
        p, the same in every context; or the laws of both by context, the last token.
    draft : sequence of float, shape (V,), optional
        q; left out with a chain.
    kappa : int
        Draft length, ≥ 0.  Paths are listed: V^(kappa−1) different shares may be, up to 2,000,000 in a step.

    Returns
    -------
    BlockLaw

    Raises
    ------
    ParameterError
        An argument is out of range or no law, there are too many paths, or windows have no long-run law.

    Notes
    -----
    E[A] is at least that of the token rule, as t_i ≥ Π min(p/q, 1).  It is the same at kappa ≤ 1, and exactly where no
    drafted path meets p > q > 0 after its share fell below 1 but not to 0: p = q, one-hot targets (greedy decoding), or
    tokens of p > q that the draft never makes.

    References
    ----------
    Sun, Mendlovic, Leviathan, Aharoni, Ro, Beirami, Suresh (2025), Block Verification Accelerates Speculative
    Decoding, ICLR, arXiv 2403.10444, Algorithm 2 and Theorem 1.  Derivation: at the top of this module.

    Examples
    --------
    >>> law = block_verification([0.5, 0.3, 0.2], [0.2, 0.3, 0.5], kappa=4)
    >>> round(law.mean_accepted, 6), round(law.token_mean_accepted, 6), law.emitted_law.round(12).tolist()
    (2.0635, 1.7731, [0.5, 0.3, 0.2])
    """
    check_range("kappa", kappa, 0, EXACT_KAPPA_LIMIT)
    if isinstance(target, TokenChain):
        if draft is not None:
            raise ParameterError("draft", "draft goes with a single target law; a chain holds its own")
        p, q = np.array(normalised(target.target)), np.array(normalised(target.draft))
        token_mean = chain_window(token_draft_chain(target), kappa).mean_accepted
    else:
        if draft is None:
            raise ParameterError("draft", "draft is missing; it takes a law over the tokens of target")
        p, q = (law[None, :] for law in as_pair(target, draft))
        alpha = min(float(np.minimum(p, q).sum()), 1.0)
        token_mean = float(sum(alpha**j for j in range(1, kappa + 1)))
    outcomes = [_from(p, q, context, kappa) for context in range(len(p))]
    return _joined(outcomes, kappa, token_mean)


@dataclass(frozen=True, eq=False)
class _Outcome:
    """What follows from one first context: mass by accepted length, and mean tokens by kind."""

    pmf: FloatArray
    accepted: FloatArray
    last: FloatArray


def _from(p: FloatArray, q: FloatArray, start: int, kappa: int) -> _Outcome:
    """List the drafts made from a first context; a path is (context, share owed, probability of being drafted)."""
    pmf, accepted, last = np.zeros(kappa + 1), np.zeros(p.shape[1]), np.zeros(p.shape[1])
    context, share, mass = np.array([start]), np.ones(1), np.ones(1)
    for i in range(kappa):
        if context.size * p.shape[1] > PATHS_LIMIT:
            raise ParameterError(
                "kappa",
                f"kappa = {kappa} over {p.shape[1]:,} tokens makes more than {PATHS_LIMIT:,} paths; allowed: a "
                "smaller kappa or vocabulary",
            )
        goal, drafted = share[:, None] * p[context], q[context]
        kept = mass[:, None] * np.minimum(goal, drafted)
        corrected = (mass[:, None] * np.maximum(goal - drafted, 0.0)).sum(axis=0)
        pmf[i] = corrected.sum()
        last += corrected
        accepted += kept.sum(axis=0)
        path, token = np.nonzero(kept > 0.0)  # a path that owes nothing has no future
        drawn = drafted[path, token]
        own = np.minimum(goal[path, token] / drawn, 1.0)
        context, share, mass = _merged(token if len(p) > 1 else np.zeros_like(token), own, mass[path] * drawn)
    bonus = (mass * share) @ p[context]
    pmf[kappa] = bonus.sum()
    return _Outcome(pmf, accepted, last + bonus)


def _merged(
    context: npt.NDArray[np.intp], share: FloatArray, mass: FloatArray
) -> tuple[npt.NDArray[np.intp], FloatArray, FloatArray]:
    """Paths that owe the same share in the same context, added up."""
    if context.size == 0:
        return context, share, mass
    order = np.lexsort((share, context))
    context, share, mass = context[order], share[order], mass[order]
    new = np.ones(context.size, np.bool_)
    new[1:] = (np.diff(context) != 0) | (np.diff(share) > _SAME * share[1:])
    first = np.flatnonzero(new)
    return context[first], share[first], np.add.reduceat(mass, first)


def _joined(outcomes: Sequence[_Outcome], kappa: int, token_mean: float) -> BlockLaw:
    """Average over first contexts by the law in which windows start in the long run."""
    weight = np.ones(1)
    if len(outcomes) > 1:
        found = long_run_law(np.array([outcome.last for outcome in outcomes]))
        if found is None:
            raise ParameterError("kappa", f"kappa = {kappa} never mixes the contexts in which windows start")
        weight = found
    pmf = weight @ np.array([outcome.pmf for outcome in outcomes])
    accepted = weight @ np.array([outcome.accepted for outcome in outcomes])
    last = weight @ np.array([outcome.last for outcome in outcomes])
    mean, variance = moments(pmf)
    return BlockLaw(
        kappa=kappa,
        pmf_accepted=pmf,
        survival=pmf[::-1].cumsum()[::-1][1:],
        mean_accepted=mean,
        var_accepted=variance,
        token_mean_accepted=token_mean,
        accepted_law=scaled(accepted),
        emitted_law=(accepted + last) / (mean + 1.0),
    )
