"""Could these rounds have come from this process?  Replicates, each round drawn anew given the rounds before it.

A replicate keeps every κ as it was and draws each round's A from the process given the *observed* past of its request.
What is compared are sums over rounds of (what happened − what was to be expected), times weights that the past decides.
Under the process such a sum is a martingale, whatever rule chose κ, so observed and replicated sums have the same
spread.  Where rounds have no order in time they are put into a random one: without memory, and for a rate that a group
keeps, all orders are alike.

The parameters were fitted to the same rounds, which makes observed sums smaller than replicated ones.  The part of each
statistic that moves with the parameters is therefore taken out of both (an efficient score, Rao 1948), so that a true
process fails as often as it should.  The spread between groups is no such sum: `round_spread`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simspec.evidence.observed import Floats, Ints, Observed
from simspec.evidence.rounds.checks import Check, checks_of
from simspec.evidence.rounds.fits import RoundFit
from simspec.evidence.rounds.sample import one_by_one
from simspec.evidence.rounds.spread import Spread, spread_of, two_sided
from simspec.evidence.words import DOMAIN, uniforms
from simspec.kernels.words import stream_keys
from simspec.stats.difference import holm
from simspec.stats.logits import SMALL_STEP

LEVEL = 0.05
"""False alarm of a verdict: all statistics of one process together (Holm)."""
MOST_ROUNDS = 10_000
"""Rounds that are checked, at most: whole requests, evenly over the source."""
MOST_NUMBERS = 20_000_000
"""Of one table of a check; longer drafts and more parameters leave room for fewer rounds."""
DRAWS = 2_000_000
"""Rounds drawn per process, over all replicates."""
FEWEST, MOST = 200, 400
"""Replicates."""
TOGETHER = 30_000
"""Rounds drawn at a time."""


@dataclass(frozen=True)
class Statistic:
    """One statistic of a check.

    Attributes
    ----------
    name, says : str
    observed : float
        Of one sum, in its standard errors under the process; of several, the sum of their squares; of the spread
        between groups its ``size``.
    p_value : float
        Share of replicates at least as far out, the observed one counted in.
    size : float
        What happened over what was expected, where that can be said: 1 fits; else NaN.
    rejected : bool
        After Holm's correction over the statistics of this process.
    """

    name: str
    says: str
    observed: float
    p_value: float
    size: float
    rejected: bool


@dataclass(frozen=True)
class Adequacy:
    """Verdict on one process.

    Attributes
    ----------
    adequate : bool
        No statistic is rejected at ``level`` for all of them together.
    statistics : tuple of Statistic
    replicates, rounds : int
        How many were drawn, over how many rounds.
    level : float
    says : str
    """

    adequate: bool
    statistics: tuple[Statistic, ...]
    replicates: int
    rounds: int
    level: float
    says: str


def adequacy(
    fit: RoundFit, observed: Observed, seed: int = 1, level: float = LEVEL, most: int = MOST_ROUNDS
) -> Adequacy:
    """Check a fitted process against rounds.

    Parameters
    ----------
    fit : RoundFit
    observed : Observed
        The rounds it was fitted to.
    seed : int
        Of the replicates.
    level : float
        False alarm of the verdict.
    most : int
        Rounds to check, at most.

    Returns
    -------
    Adequacy

    References
    ----------
    Rao (1948) for the efficient score; Holm (1979); Dawid (1984), section 5, for judging each prediction given the
    observed past.

    Examples
    --------
    >>> from simspec.evidence.rounds.fits import fit_rounds
    >>> rounds = Observed.of_counts([(3, 1000, [700, 350, 175])])  # first drafts do better than later ones
    >>> fits = fit_rounds(rounds, ["i.i.d.", "geometric tail"])
    >>> [adequacy(fit, rounds).adequate for fit in fits]
    [False, True]
    """
    width = (observed.kappa_max + 1) * (2 * len(fit.point) + 24)
    rounds = one_by_one(observed, min(most, MOST_NUMBERS // width), seed)
    ahead = fit.ahead(rounds)
    chance = _chances(ahead, rounds.drafted)
    checks = checks_of(rounds, chance, ahead)
    score, known = _score(fit, rounds, chance)
    raw = np.concatenate([own.values for own in checks], axis=2)
    values = _without_score(score, known, chance, raw)
    scale = np.sqrt(np.einsum("ta,tai->i", chance, values**2))
    told = scale > 1e-3 * np.sqrt(np.einsum("ta,tai->i", chance, raw**2))  # what the fit sets to 0 tells nothing
    values = (values / np.where(told, scale, np.inf)).astype(np.float32)
    at = np.arange(len(rounds.drafted))
    seen = values[at, rounds.accepted].sum(axis=0, dtype=np.float64)
    spread = spread_of(rounds, chance, score, known)
    replicates = int(np.clip(DRAWS // len(at), FEWEST, MOST))
    drawn, spreads = _replicated(values, spread, ahead, rounds.drafted, replicates, seed)
    judged = _judged(checks, told, seen, drawn)
    if spread is not None:
        judged.append(_spread_judged(spread, rounds, chance, spreads))
    return _verdict(_in_all(judged, level), replicates, len(at), level)


def _chances(ahead: Floats, drafted: Ints) -> Floats:
    """P(A = a) of each round, (rounds, kappa_max + 1)."""
    inside = np.arange(1, ahead.shape[1] + 1) <= drafted[:, None]
    reach = np.concatenate([np.ones((len(ahead), 1)), np.where(inside, ahead, 0.0)], axis=1)
    return np.asarray(reach - np.concatenate([reach[:, 1:], np.zeros((len(ahead), 1))], axis=1))


def _score(fit: RoundFit, rounds: Observed, chance: Floats) -> tuple[Floats, Floats]:
    """Slopes of log P(A = a) in the parameters, (rounds, kappa_max + 1, parameters), and their inverse information.

    A parameter at the edge of its range was not free to follow the rounds and has no part in it.
    """
    free = np.flatnonzero(np.isfinite(np.diag(fit.covariance)))
    score = np.zeros((*chance.shape, len(free)))
    for column, i in enumerate(free):
        step = np.zeros(len(fit.point))
        step[i] = SMALL_STEP
        up, down = (_chances(fit.ahead(rounds, fit.point + way), rounds.drafted) for way in (step, -step))
        score[:, :, column] = (up - down) / (2.0 * SMALL_STEP)
    score /= np.where(chance > 0.0, chance, np.inf)[:, :, None]
    information = np.einsum("tai,taj->ij", score * chance[:, :, None], score, optimize=True)
    scale = np.sqrt(np.maximum(np.diag(information), 1e-300))
    both = np.outer(scale, scale)
    return score, np.linalg.pinv(information / both, rcond=1e-10, hermitian=True) / both


def _without_score(score: Floats, known: Floats, chance: Floats, values: Floats) -> Floats:
    """``values`` less what moves with the parameters: least squares on the score under the process."""
    cross = np.einsum("tai,taj->ij", score * chance[:, :, None], values, optimize=True)
    return np.asarray(values - score @ (known @ cross))


def _replicated(
    values: Floats, spread: Spread | None, ahead: Floats, drafted: Ints, replicates: int, seed: int
) -> tuple[Floats, Floats]:
    """Standardised sums of each replicate, (replicates, sums), and its spread between groups."""
    keys = stream_keys(seed, "replicated rounds", DOMAIN)
    size = len(drafted)
    at = np.arange(size)
    inside = np.arange(1, ahead.shape[1] + 1)[:, None] <= drafted
    reach = np.where(inside, ahead.T, -1.0)
    out, spreads = np.empty((replicates, values.shape[2])), np.zeros(replicates)
    together = max(1, TOGETHER // size)
    for begin in range(0, replicates, together):
        end = min(begin + together, replicates)
        words = uniforms(keys, np.arange(begin * size, end * size), 0).reshape(-1, size)
        accepted = np.zeros(words.shape, np.int64)
        for row in reach:
            alive = words < row
            if not alive.any():
                break
            accepted += alive
        out[begin:end] = values[at, accepted].sum(axis=1, dtype=np.float64)
        if spread is not None:
            spreads[begin:end] = spread.of(accepted)
    return out, spreads


def _spread_judged(spread: Spread, rounds: Observed, chance: Floats, drawn: Floats) -> tuple[Check, float, float]:
    """The spread between groups against its replicates."""
    seen = float(spread.of(rounds.accepted, fitted=True))
    ratio = spread.ratio(rounds.accepted, chance)
    says = f"{spread.unit}s differ: variance of their accepted drafts is {ratio:.2f} times the expected one"
    own = Check(f"spread between {spread.unit}s", says, np.zeros((0, 0, 0)), ratio)
    return own, ratio, two_sided(seen, drawn)


def _judged(checks: list[Check], told: np.ndarray, seen: Floats, drawn: Floats) -> list[tuple[Check, float, float]]:
    """Each check with what was observed and its p-value; without those of which nothing is left to tell."""
    out, begin = [], 0
    for own in checks:
        part = np.arange(begin, begin + own.values.shape[2])
        begin += len(part)
        part = part[told[part]]
        if not len(part):
            continue
        far, replicated = (seen[part] ** 2).sum(), (drawn[:, part] ** 2).sum(axis=1)
        p = (1 + int((replicated >= far).sum())) / (len(drawn) + 1)
        out.append((own, float(seen[part][0]) if len(part) == 1 else float(far), p))
    return out


def _in_all(judged: list[tuple[Check, float, float]], level: float) -> tuple[Statistic, ...]:
    """All statistics together err at most ``level`` of the time."""
    adjusted = holm(np.array([p for _, _, p in judged]))
    return tuple(
        Statistic(own.name, own.says, seen, p, own.size, bool(family <= level))
        for (own, seen, p), family in zip(judged, adjusted, strict=True)
    )


def _verdict(statistics: tuple[Statistic, ...], replicates: int, rounds: int, level: float) -> Adequacy:
    failed = [own for own in statistics if own.rejected]
    told = f"{replicates:,} replicates of {rounds:,} rounds, false alarm {level:.0%} in all"
    if failed:
        says = "; ".join(own.says for own in failed) + f" ({told})"
    elif statistics:
        says = f"{', '.join(own.name for own in statistics)}: as the process makes them ({told})"
    else:
        says = "nothing to check: the fit reproduces every count by itself"
    return Adequacy(not failed, statistics, replicates, rounds, level, says)
