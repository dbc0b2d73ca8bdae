"""How many tokens does a round give at each κ, as far as the data know?  One curve per draw from the posterior."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simspec.advice.acceptance import Acceptance
from simspec.advice.recommend.kappa_moved import ByProcess, by_process
from simspec.advice.recommend.mean_only import FALLING, RISING, bent
from simspec.advice.recommend.rate_draws import (
    beta_draws,
    bootstrapped,
    draws_of,
    extended,
    group_weights,
    joined,
    widened,
)
from simspec.advice.recommend.request_spread import MOST_SPREAD, between, spread_at, spread_of
from simspec.advice.recommend.request_weights import RequestWeights, one_length, request_weights, why_not
from simspec.advice.recommend.tails import BETA_REQUEST, BETA_ROUND, GEOMETRIC, Shape, Tail, tail_of
from simspec.evidence.kappa_seen import which_kappa
from simspec.evidence.line_means import LineMeans
from simspec.evidence.observed import Observed
from simspec.evidence.rounds.processes import ProcessFits
from simspec.model.errors import ParameterError
from simspec.text import plural

Floats = NDArray[np.float64]
FEW_GROUPS = 5
"""A position that fewer groups reached is not taken as measured: their spread says nothing."""
FEW_UNITS = 10
"""Below, more groups are asked for."""
MEASURED, REWEIGHTED, MODEL, ASSUMED = "measured", "re-weighted", "model", "assumed"
BY_PROCESS = "by process"
BEYOND = "beyond κ = "
OFFERED = "κ varied from {low} to {high}: rates at depth come from the rounds that got so long a draft"
UNORDERED = (
    "κ varied, and rounds have no order here: whether it followed what was accepted cannot be seen, and if it did, "
    "rates at depth are those of good stretches and E is lower than this"
)


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
        By κ: ``"measured"``, ``"re-weighted"`` (measured, requests weighted for that κ), ``"model"``, ``"assumed"``,
        ``"by process"`` (κ moved in the log, see `simspec.advice.recommend.kappa_moved`).
    method, notes : str, tuple of str
        Where the spread comes from; what is assumed.
    others : dict
        Name → tokens by κ under another reading of the same data.
    observed : Observed or None
        The rounds, where there are any.
    alike : float array (count, kappa_max + 1), or None
        Draws if all requests had one rate, where requests are not told apart; `draws` let them differ.
    first : str or None
        What belongs beside the answer and not below it.
    rests_on : str or None
        What must hold for the sureness, and the rounds do not show.
    processes : ProcessFits or None
        Those behind figures by process.
    tail : str or None
        The process that carries the curve on beyond the positions seen, where that is a law of rates.
    """

    tokens: Floats
    draws: Floats
    survival: Floats
    basis: tuple[str, ...]
    method: str
    notes: tuple[str, ...]
    others: dict[str, Floats]
    observed: Observed | None = None
    alike: Floats | None = None
    first: str | None = None
    rests_on: str | None = None
    processes: ProcessFits | None = None
    tail: str | None = None

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
        raise ParameterError("kappa", f"{acceptance.origin}: {which_kappa(acceptance.source)}")
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
    elif acceptance.line_means is not None and acceptance.line_means.lines > 1:
        means, method = _between_lines(acceptance.line_means, seen, draws_of(seed, "mean", count, 1)[:, 0])
    said = () if acceptance.line_means is None else (acceptance.line_means.says,)
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
    return TokensPosterior(_tokens(curve), draws, curve, basis, method, (*said, note), others)


def _between_lines(own: LineMeans, kappa: int, words: Floats) -> tuple[Floats, str]:
    """Draws of the mean accepted length from the spread of printed means."""
    from scipy.special import stdtrit

    means = np.clip(own.emitted - 1.0 + own.error * stdtrit(own.lines - 1, words), 0.0, kappa)
    return means, f"Student's law of the mean between {plural(own.lines, 'log line')}, taken as independent"


def _of_rounds(
    observed: Observed, kappa_max: int, count: int, seed: int, printed: tuple[float, ...] | None
) -> TokensPosterior:
    """From counts; ``printed`` is the curve itself where counts are whole numbers near it."""
    counted = _counted(observed, count, seed)
    measured = min(counted.measured, kappa_max)
    point = counted.point[:measured]
    if printed is not None and len(printed) >= measured:
        point = np.array(printed[:measured])
    again = None
    if counted.weights is not None and one_length(observed) and why_not(observed) is None:
        again = request_weights(observed, kappa_max, counted.weights, joined, measured)
    tail = Tail(GEOMETRIC, (Shape(1.0),))
    if measured < kappa_max:
        tail = tail_of(observed, measured, kappa_max, again, count, seed)
    curve = extended(point[None, :], kappa_max, tail.shape)[0]
    curves = tail.drawn(np.asarray(np.cumprod(counted.rates[:, :measured], axis=1)), kappa_max, seed)
    own = TokensPosterior(
        tokens=_tokens(curve),
        draws=_tokens(curves),
        survival=curve,
        basis=_basis(measured, kappa_max),
        method=counted.method,
        notes=(*_tail_note(measured, kappa_max, tail.name), *_few(observed)),
        others={},
        observed=observed,
        tail=tail.name if measured < kappa_max and tail.name != GEOMETRIC else None,
    )
    moved = None if one_length(observed) else by_process(observed, kappa_max, count, seed)
    if moved is not None:
        return _moved(own, moved)
    if again is not None:
        return _reweighted(own, again, observed)
    return _unweighted(own, observed, seed)


@dataclass(frozen=True, eq=False)
class _Counted:
    """Conditional rates as counted, and drawn; how deep they count as measured."""

    point: Floats
    rates: Floats
    measured: int
    weights: Floats | None
    method: str


def _counted(observed: Observed, count: int, seed: int) -> _Counted:
    examined, reached = observed.examined().astype(float), observed.reached().astype(float)
    point = np.cumprod(np.divide(reached, examined, out=np.zeros_like(reached), where=examined > 0))
    if not observed.clustered:
        rates = beta_draws(reached, examined - reached, draws_of(seed, "rounds", count, len(reached)))
        method = (
            f"Beta posterior of each conditional rate, Jeffreys prior, from {plural(observed.rounds, 'round')} taken "
            "as independent: where requests differ the truth is less sure"
        )
        return _Counted(point, rates, int((examined > 0).sum()), None, method)
    by_group = (joined(observed.reached_by_group()), joined(observed.examined_by_group()))
    deep = (observed.examined_by_group() > 0).sum(axis=0) >= min(FEW_GROUPS, observed.groups)
    weights = group_weights(len(by_group[0]), count, seed)
    method = f"Bayesian bootstrap over {plural(observed.groups, observed.unit)}, spread as Student's law"
    rates = bootstrapped(*by_group, weights, observed.groups)
    return _Counted(point, rates, max(1, int(deep.sum())), weights, method)


def _few(observed: Observed) -> tuple[str, ...]:
    if not observed.clustered or observed.groups >= FEW_UNITS:
        return ()
    return (
        f"{plural(observed.groups, observed.unit)} only: how they differ is hardly known; more of them, not more "
        "rounds of each, would settle it",
    )


def _moved(own: TokensPosterior, moved: ByProcess) -> TokensPosterior:
    """κ moved with what was accepted, or requests differ: no κ is measured."""
    tokens = moved.tokens
    return dataclasses.replace(
        own,
        tokens=tokens,
        draws=moved.draws,
        survival=np.minimum.accumulate(np.clip(np.diff(tokens), 0.0, 1.0)),
        basis=tuple(BY_PROCESS if kappa else MEASURED for kappa in range(len(tokens))),
        method=moved.method,
        notes=tuple(note for note in own.notes if not note.startswith(BEYOND)),
        others={"rates of the rounds that got so long a draft": own.tokens, **moved.others},
        first=moved.says,
        rests_on=f'"{moved.name}" holds',
        tail=None,
        processes=moved.found,
    )


def _reweighted(own: TokensPosterior, again: RequestWeights, observed: Observed) -> TokensPosterior:
    """Requests are told apart: they weigh anew at every κ."""
    basis = tuple(
        REWEIGHTED if kind == MEASURED and 0 < kappa < observed.kappa_max else kind
        for kappa, kind in enumerate(own.basis)
    )
    return dataclasses.replace(
        own,
        tokens=own.tokens * again.factor,
        draws=_possible(own.draws * widened(again.factor, again.draws, observed.groups)),
        basis=basis,
        notes=(*own.notes, again.note),
        others={"requests are not weighted anew": own.tokens},
    )


def _unweighted(own: TokensPosterior, observed: Observed, seed: int) -> TokensPosterior:
    """Requests cannot be weighted anew: a range of spreads between them stands for what is not known."""
    notes, first, rests_on = own.notes, None, None
    if not one_length(observed):
        if not observed.ordered:
            first, rests_on = UNORDERED, "κ did not follow what was accepted"
        notes = (*notes, OFFERED.format(low=observed.kappas[0], high=observed.kappas[-1]))
    refused = why_not(observed)
    if refused is None:  # κ varied, and requests told apart do not differ
        return dataclasses.replace(own, notes=notes, first=first, rests_on=rests_on)
    seen = max(1, round(float(observed.drafted @ observed.count) / observed.rounds))
    emitted = 1.0 + float(own.survival[:seen].sum()) if seen <= len(own.survival) else float(own.tokens[-1])
    last = len(own.tokens) - 1
    spread = spread_of(emitted, min(seen, last), last, observed.rounds)
    factors, most = spread.factors, spread_at(emitted, min(seen, last), MOST_SPREAD)
    uniform = draws_of(seed, "spread of requests", len(own.draws), 1)[:, 0]
    draws = own.draws
    if not observed.clustered:  # groups show by themselves how far E goes from one to the next
        draws = own.tokens * np.power(draws / own.tokens, between(spread.stretch, uniform)[:, None])
    note = (
        f"requests cannot be weighted anew at other κ ({refused}): where easy and hard ones mix, E is higher than "
        f"this at a shorter κ (up to {factors[-1].max() - 1.0:.1%}) and lower at a longer one (up to "
        f"{1.0 - factors[-1].min():.1%}); the doubt lets rates of requests differ by up to ±{most:.2f}, as seen "
        f"elsewhere, and {FEW_UNITS} requests or more told apart would settle it"
    )
    return dataclasses.replace(
        own,
        draws=_possible(draws * between(factors, uniform)),
        alike=own.draws,
        notes=(*notes, note),
        others={f"requests differ by ±{most:.2f}": own.tokens * factors[-1]},
        first=first,
        rests_on=rests_on,
    )


def _possible(draws: Floats) -> Floats:
    """Between 1 and κ + 1."""
    return np.clip(draws, 1.0, np.arange(draws.shape[-1]) + 1.0)


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
        GEOMETRIC: "at the rate of the deeper half of the positions seen",
        BETA_ROUND: "as rounds whose rate is drawn from a Beta law: deep rounds are the better ones",
        BETA_REQUEST: "as requests whose rate is drawn from a Beta law: deep rounds belong to the better ones",
    }[name]
    return (f"{BEYOND}{measured} acceptance goes on {how}: a model, not a measurement",)
