"""How many tokens does a round give at each κ, as far as the data know?  One curve per draw from the posterior."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simspec.advice.acceptance import Acceptance
from simspec.advice.mean_only import FALLING, RISING, bent
from simspec.advice.rate_draws import (
    MANY_GROUPS,
    beta_draws,
    bootstrapped,
    draws_of,
    extended,
    group_weights,
    joined,
)
from simspec.advice.request_weights import request_weights, why_not
from simspec.advice.tails import BETA_REQUEST, BETA_ROUND, GEOMETRIC, Tail, tail_of
from simspec.evidence.observed import Observed
from simspec.model.errors import ParameterError
from simspec.text import plural

Floats = NDArray[np.float64]
FEW_GROUPS = 5
"""A position that fewer groups reached is not taken as measured: their spread says nothing."""
FEW_UNITS = 10
"""Below, more groups are asked for."""
MEASURED, REWEIGHTED, MODEL, ASSUMED = "measured", "re-weighted", "model", "assumed"


@dataclass(frozen=True, eq=False)
class TokensPosterior:
    """Tokens per round, bonus included, at κ = 0 … kappa_max.

    Attributes
    ----------
    tokens : float array (kappa_max + 1,)
        The best single estimate.
    draws : float array (count, kappa_max + 1)
        Draws from the posterior, the same draw at every κ; one row where nothing is known of the error.
    survival : float array (kappa_max,)
        The curve behind ``tokens``, before requests are weighted anew.
    basis : tuple of str
        By κ: ``"measured"``, ``"re-weighted"`` (measured, requests weighted for that κ), ``"model"``, ``"assumed"``.
    method, notes : str, tuple of str
        Where the spread comes from; what is assumed.
    others : dict
        Name → tokens by κ under another reading of the same data.
    observed : Observed or None
        The rounds, where there are any.
    """

    tokens: Floats
    draws: Floats
    survival: Floats
    basis: tuple[str, ...]
    method: str
    notes: tuple[str, ...]
    others: dict[str, Floats]
    observed: Observed | None = None

    @property
    def sure(self) -> bool:
        """Whether nothing is known of the error."""
        return len(self.draws) == 1


def tokens_posterior(acceptance: Acceptance, kappa_max: int, count: int = 4000, seed: int = 1) -> TokensPosterior:
    """Posterior of E(κ), κ = 0 … kappa_max.

    Parameters
    ----------
    acceptance : Acceptance
    kappa_max : int
        Longest draft asked for; beyond the positions seen the curve goes on geometrically.
    count : int
        Draws.
    seed : int
        Of the addressed words.

    References
    ----------
    Rubin (1981), the Bayesian bootstrap, for groups; Jeffreys' Beta law for each conditional rate where rounds are
    taken as independent.

    Examples
    --------
    >>> from simspec.advice.acceptance import acceptance_of_numbers
    >>> own = tokens_posterior(acceptance_of_numbers(survival=[0.7, 0.4, 0.2], rounds=1000), 4)
    >>> own.tokens.round(3).tolist(), own.basis[3:]
    ([1.0, 1.7, 2.1, 2.3, 2.409], ('measured', 'model'))
    """
    observed, curve = acceptance.observed, acceptance.survival
    if observed is None and curve is not None and acceptance.rounds:
        reached = [round(s * acceptance.rounds) for s in curve]
        observed = Observed.of_counts([(len(reached), acceptance.rounds, reached)])
    if observed is not None and observed.rounds:
        return _of_rounds(observed, kappa_max, count, seed, curve)
    if curve is not None:
        return _of_curve(np.array(curve), kappa_max)
    if acceptance.alpha is None:
        raise ParameterError(
            "kappa", f"{acceptance.origin}: tokens per round at which κ? the source does not say; give --kappa"
        )
    return _of_mean(acceptance, kappa_max, count, seed)


def _of_curve(curve: Floats, kappa_max: int) -> TokensPosterior:
    whole = extended(curve[None, :], kappa_max)[0]
    return TokensPosterior(
        tokens=_tokens(whole),
        draws=_tokens(whole)[None, :],
        survival=whole,
        basis=_basis(len(curve), kappa_max),
        method="the number of rounds is not known, so acceptance is taken as exact",
        notes=_tail_note(len(curve), kappa_max),
        others={},
    )


def _of_mean(acceptance: Acceptance, kappa_max: int, count: int, seed: int) -> TokensPosterior:
    """Only a mean, or an assumed rate: i.i.d. at best, and with a mean a range of shapes that have it."""
    alpha, seen = acceptance.alpha, acceptance.kappa
    assert alpha is not None
    curve = np.power(alpha, np.arange(1.0, kappa_max + 1))
    if seen is None or acceptance.emitted is None:
        basis = (ASSUMED,) * (kappa_max + 1)
        note = "acceptance is assumed, not measured, and taken as exact"
        return TokensPosterior(_tokens(curve), _tokens(curve)[None, :], curve, basis, note, (), {})
    means, method = np.full(count, acceptance.emitted - 1.0), "the number of rounds is not known, so the mean is exact"
    if acceptance.rounds is not None:
        accepted, rejected = means[:1] * acceptance.rounds, np.array([acceptance.rounds * (1.0 - alpha**seen)])
        rates = beta_draws(accepted, rejected, draws_of(seed, "mean", count, 1))
        means = np.power(rates, np.arange(1.0, seen + 1)).sum(axis=1)
        method = f"Beta posterior of the mean from {plural(acceptance.rounds, 'round')} taken as independent"
    bends = FALLING + (RISING - FALLING) * draws_of(seed, "bend", count, 1)[:, 0]
    note = (
        f"only the mean at κ = {seen} is known: the table takes one α = {alpha:.3f} for all positions, and the doubt "
        f"lets α after position 1 be {FALLING:g} to {RISING:g} of that at 1, as in published chains; "
        "per-position rates (--survival) would settle it"
    )
    exact = np.array([acceptance.emitted - 1.0])
    others = {
        f"α after position 1 is {bend:g} of that at 1": _tokens(bent(exact, np.array([bend]), seen, kappa_max)[0])
        for bend in (FALLING, RISING)
    }
    basis = tuple(MEASURED if kappa in (0, seen) else MODEL for kappa in range(kappa_max + 1))
    draws = _tokens(bent(means, bends, seen, kappa_max))
    return TokensPosterior(_tokens(curve), draws, curve, basis, method, (note,), others)


def _of_rounds(
    observed: Observed, kappa_max: int, count: int, seed: int, printed: tuple[float, ...] | None
) -> TokensPosterior:
    """From counts; ``printed`` is the curve itself where counts are whole numbers near it."""
    examined, reached = observed.examined().astype(float), observed.reached().astype(float)
    measured = int((examined > 0).sum())
    if observed.clustered:
        by_group = (joined(observed.reached_by_group()), joined(observed.examined_by_group()))
        deep = (observed.examined_by_group() > 0).sum(axis=0) >= min(FEW_GROUPS, observed.groups)
        measured = max(1, int(deep.sum()))
        weights = group_weights(len(by_group[0]), count, seed)
        rates: Floats = bootstrapped(*by_group, weights, observed.groups)
        groups = plural(observed.groups, observed.unit)
        method = f"Bayesian bootstrap over {groups}" + (" (Student's spread)" if observed.groups < MANY_GROUPS else "")
    else:
        weights = None
        rates = beta_draws(reached, examined - reached, draws_of(seed, "rounds", count, len(reached)))
        method = (
            f"Beta posterior of each conditional rate, Jeffreys prior, from {plural(observed.rounds, 'round')} taken "
            "as independent: where requests differ the truth is less sure"
        )
    measured = min(measured, kappa_max)
    point = np.cumprod(np.divide(reached, examined, out=np.zeros_like(reached), where=examined > 0)[:measured])
    if printed is not None and len(printed) >= measured:
        point = np.array(printed[:measured])
    refused = why_not(observed)
    again = None if refused or weights is None else request_weights(observed, kappa_max, weights, joined)
    tail = Tail(GEOMETRIC, ((1.0, None),), {})
    if measured < kappa_max:
        tail = tail_of(observed, measured, kappa_max, 1.0 + float(point.sum()), again)
    curve = extended(point[None, :], kappa_max, tail.shape)[0]
    curves = tail.drawn(np.asarray(np.cumprod(rates[:, :measured], axis=1)), kappa_max, seed)
    basis, notes = _basis(measured, kappa_max), list(_tail_note(measured, kappa_max, tail.name))
    if observed.clustered and observed.groups < FEW_UNITS:
        notes.append(
            f"{plural(observed.groups, observed.unit)} only: how they differ is hardly known; more of them, not more "
            "rounds of each, would settle it"
        )
    if len(observed.kappas) > 1:
        notes.append(
            f"κ varied from {observed.kappas[0]} to {observed.kappas[-1]}: rates at depth come from the rounds that "
            "got so long a draft, which are the better ones if κ followed acceptance"
        )
    if refused:
        notes.append(
            f"requests are not weighted anew at other κ ({refused}): where easy and hard ones mix, E is a little "
            "higher than this at a shorter κ and lower at a longer one"
        )
    tokens, draws = _tokens(curve), _tokens(curves)
    others = dict(tail.others)
    if again is not None:
        others["requests not weighted anew"] = tokens
        basis = tuple(
            REWEIGHTED if kind == MEASURED and 0 < kappa < observed.kappa_max else kind
            for kappa, kind in enumerate(basis)
        )
        notes.append(again.note)
        tokens, draws = tokens * again.factor, draws * again.draws
    return TokensPosterior(tokens, draws, curve, basis, method, tuple(notes), others, observed)


def _tokens(curves: Floats) -> Floats:
    """1 + Σ S_j at κ = 0 … κ_max, along the last axis."""
    none = np.ones((*curves.shape[:-1], 1))
    return np.asarray(np.cumsum(np.concatenate([none, curves], axis=-1), axis=-1))


def _basis(measured: int, kappa_max: int) -> tuple[str, ...]:
    return tuple(MEASURED if kappa <= measured else MODEL for kappa in range(kappa_max + 1))


def _tail_note(measured: int, kappa_max: int, name: str = GEOMETRIC) -> tuple[str, ...]:
    if kappa_max <= measured:
        return ()
    how = {
        GEOMETRIC: "at the rate of the deeper half of the positions seen (geometric tail)",
        BETA_ROUND: "as rounds whose rate is drawn from a Beta law: deep rounds are the better ones",
        BETA_REQUEST: "as requests whose rate is drawn from a Beta law: deep rounds belong to the better ones",
    }[name]
    return (f"beyond κ = {measured} acceptance goes on {how}: a model, not a measurement",)
