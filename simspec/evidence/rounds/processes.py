"""Which process should stand for these rounds?  All that can be fitted, checked and compared; one is named, or none."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simspec.evidence.observed import Floats, Observed
from simspec.evidence.rounds.adequacy import Adequacy, adequacy
from simspec.evidence.rounds.fits import RoundFit, fit_rounds
from simspec.evidence.rounds.kappa_rule import CODE, ENOUGH, KappaRule, kappa_rule
from simspec.evidence.rounds.models import MODELS, POSITION
from simspec.evidence.rounds.process_toml import toml_of
from simspec.evidence.source import Source, Unknown
from simspec.model.errors import ParameterError
from simspec.text import plural

Progress = Callable[[str], None]
FEWEST_ROUNDS = 30
"""Rounds below which nothing is fitted."""

EXTRAPOLATED = "beyond κ = {deepest} every figure is the process's own: the rounds say nothing there"
SAME_LAW = (
    "a geometric tail and a two-state chain that starts afresh in every round are the same law of rounds "
    "(S_1 = α, q = α + ρ(1 − α)): the fit cannot tell them apart, and no prediction for rounds differs"
)
WITHIN = (
    "rates that change with the position, with the drafts before, or from round to round make the same curve S_j: from "
    "lengths of rounds nobody can tell which it is, since what comes after a rejection is never judged.  Verdicts at "
    "every position can (simspec trace)"
)
NO_ORDER = "rounds have no order here: whether they hang together (Markov, hidden Markov) cannot be seen"
NO_GROUPS = "requests are not told apart here: a mix of requests looks like rates that rise with the position"
KAPPA_UNKNOWABLE = "κ changes and rounds have no order: whether κ followed acceptance cannot be seen"


@dataclass(frozen=True, eq=False)
class ProcessFits:
    """Every process that can be fitted to rounds.

    Attributes
    ----------
    fits : tuple of RoundFit
    checks : dict of str to Adequacy
        By name of the process; empty where no check was asked for.
    left_out : dict of str to str
        Process → why it was not fitted.
    best : RoundFit
        Least BIC among the adequate ones; where none is, among all.
    kappa : int
        Draft length of the rounds; where it changes, the rounded mean.
    rule : KappaRule or None
        Whether κ followed acceptance; None where there is nothing to follow, or no order.
    cannot_tell : tuple of str
        What these rounds leave open whatever is fitted.
    """

    fits: tuple[RoundFit, ...]
    checks: dict[str, Adequacy]
    left_out: dict[str, str]
    best: RoundFit
    kappa: int
    rule: KappaRule | None
    cannot_tell: tuple[str, ...]

    @property
    def kappas(self) -> tuple[int, ...]:
        """Half of κ, κ and twice κ."""
        return tuple(sorted({max(1, self.kappa // 2), self.kappa, 2 * self.kappa}))

    @property
    def adequate(self) -> bool | None:
        """Whether the one named is adequate; None if nothing was checked."""
        check = self.checks.get(self.best.name)
        return None if check is None else check.adequate

    @property
    def says(self) -> str:
        """Which process to use, in a sentence or two."""
        own = self.best
        e, error = tokens_at(own, self.kappa)
        known = f"E = {e:.3f}" + (f" ± {error:.3f}" if not math.isnan(error) else "") + f" at κ = {self.kappa}"
        return f"{self._verdict(own.name, known)}{self._beyond()}"

    def _verdict(self, name: str, known: str) -> str:
        if self.adequate is None:
            return f'Least BIC: "{name}" ({known}); nothing was checked.'
        statistics = self.checks[name].statistics
        if self.adequate and not statistics:
            return f'Use "{name}" ({known}): it repeats the counted curve, so that nothing is left to check it by.'
        if self.adequate:
            return f'Use "{name}" ({known}): it explains these rounds, and none that does has a smaller BIC.'
        failed = ", ".join(own.name for own in statistics if own.rejected)
        return (
            f'No process is adequate; "{name}" ({known}) has the least BIC but fails on {failed}: use it with care, '
            "away from what was measured least of all."
        )

    def _beyond(self) -> str:
        """What to take where the named process ends."""
        others = [fit for fit in self.fits if fit.name != POSITION]
        if self.best.name != POSITION or not others:
            return ""
        following = min(others, key=lambda fit: fit.bic)
        return (
            f" It says nothing beyond κ = {self.best.process.longest_draft}; of the others "
            f'"{following.name}" has the least BIC.'
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        least_aic, least_bic = (min(getattr(fit, name) for fit in self.fits) for name in ("aic", "bic"))
        return {
            "says": self.says,
            "use": self.best.name,
            "adequate": self.adequate,
            "kappa": self.kappa,
            "units": self.best.units,
            "unit": self.best.observed.unit if self.best.observed.clustered else "round",
            "fits": [self._one(fit, least_aic, least_bic) for fit in self.fits],
            "left_out": self.left_out,
            "kappa_follows_acceptance": None if self.rule is None else self._rule(self.rule),
            "warn": [CODE] if self.rule is not None and self.rule.follows else [],
            "cannot_tell": list(self.cannot_tell),
        }

    def _one(self, fit: RoundFit, least_aic: float, least_bic: float) -> dict[str, Any]:
        check = self.checks.get(fit.name)
        return {
            "name": fit.name,
            "says": fit.model.says,
            "process": fit.process.identity(),
            "toml": toml_of(fit.process),
            "estimates": {name: list(pair) for name, pair in fit.estimates.items()},
            "log_likelihood": fit.log_likelihood,
            "parameters": fit.parameters,
            "aic": fit.aic,
            "bic": fit.bic,
            "delta_aic": fit.aic - least_aic,
            "delta_bic": fit.bic - least_bic,
            "mean_emitted_per_round": {str(kappa): list(tokens_at(fit, kappa)) for kappa in self.kappas},
            "adequacy": None if check is None else _plain(check),
            "notes": list(fit.notes),
        }

    def _rule(self, rule: KappaRule) -> dict[str, Any]:
        return {**vars(rule), "says": rule.says, "inflation": inflation(self, rule.depth)}

    @property
    def rule_says(self) -> str | None:
        """How κ moved, and how far that moves the rate of a deep draft."""
        if self.rule is None or not self.rule.follows:
            return None if self.rule is None else self.rule.says
        deep = inflation(self, self.rule.depth)
        if deep is None:
            return f"{CODE}: {self.rule.says}."
        return (
            f"{CODE}: {self.rule.says}.  Most at draft {deep['draft']}: accepted in {deep['rate_where_examined']:.1%} "
            f"of the rounds that examined it, at a fixed κ in {deep['rate_at_fixed_kappa']:.1%} by "
            f'"{deep["by"]}".'
        )


def fit_processes(
    data: Source | Observed,
    names: Sequence[str] | None = None,
    seed: int = 1,
    check: bool = True,
    progress: Progress | None = None,
) -> ProcessFits:
    """Fit acceptance processes to rounds, check each, and name the one to use in a scenario.

    Parameters
    ----------
    data : Source or Observed
        From `simspec.fit`, or rounds themselves.
    names : sequence of str, optional
        Which processes: "i.i.d.", "geometric tail", "position", "Beta by round", "Markov", "Beta by request",
        "2 classes of requests", "3 classes of requests", "hidden Markov"; default: all that the rounds allow.
    seed : int
        Of the replicates behind the checks.
    check : bool
        Whether each process is checked against the rounds.
    progress : callable, optional
        Told what is being done.

    Returns
    -------
    ProcessFits
        ``fits`` with estimates, errors, log-likelihood, AIC and BIC; ``checks``; ``best``; ``says``; ``to_dict()``.

    Raises
    ------
    ParameterError
        The source holds no rounds (the message says why), or a name is unknown or impossible here.

    References
    ----------
    docs/processes.md.

    Examples
    --------
    >>> from simspec.evidence.observed import Observed
    >>> found = fit_processes(Observed.of_counts([(3, 1000, [700, 350, 175])]))
    >>> found.best.name, found.best.process.alphas[:3]
    ('geometric tail', (0.7, 0.5, 0.5))
    """
    observed = rounds_of(data)
    if isinstance(observed, Unknown):
        raise ParameterError("rounds", f"no process can be fitted: {observed.reason}")
    if not 0 <= seed < 2**64:
        raise ParameterError("seed", f"seed = {seed} is out of range; allowed: 0 ≤ seed < 2⁶⁴")
    fits = fit_rounds(observed, names, progress)
    checks = {}
    for fit in fits if check else ():
        if progress is not None:
            progress(f"checking {fit.name}")
        checks[fit.name] = adequacy(fit, observed, seed)
    asked = [model for model in MODELS if names is None or model.name in names]
    left_out = {model.name: reason for model in asked if (reason := model.why_not(observed))}
    candidates = [fit for fit in fits if fit.name in checks and checks[fit.name].adequate] or list(fits)
    best = min(candidates, key=lambda fit: (round(fit.bic, 6), fits.index(fit)))
    return ProcessFits(fits, checks, left_out, best, _middle(observed), kappa_rule(observed), _cannot(observed))


def rounds_of(data: Source | Observed) -> Observed | Unknown:
    """The rounds to fit to, or why there are none.

    Examples
    --------
    >>> rounds_of(Observed.of_counts([(3, 10, [7, 3, 1])]))
    Unknown(reason='10 rounds are too few to fit a process; it takes 30')
    """
    observed = data.observed if isinstance(data, Source) else data
    if isinstance(observed, Observed) and observed.rounds < FEWEST_ROUNDS:
        are = "is" if observed.rounds == 1 else "are"
        reason = f"{plural(observed.rounds, 'round')} {are} too few to fit a process; it takes {FEWEST_ROUNDS}"
        return Unknown(reason)
    return observed


def _middle(observed: Observed) -> int:
    return max(1, round(float(observed.drafted @ observed.count) / observed.rounds))


def _cannot(observed: Observed) -> tuple[str, ...]:
    deepest = int(np.flatnonzero(observed.examined()).max()) + 1
    several = len(observed.kappas) > 1 and not observed.ordered
    said = (
        (True, EXTRAPOLATED.format(deepest=deepest)),
        (observed.kappa_max > 1, SAME_LAW),
        (observed.kappa_max > 1, WITHIN),
        (not observed.ordered, NO_ORDER),
        (not observed.clustered, NO_GROUPS),
        (several, KAPPA_UNKNOWABLE),
    )
    return tuple(text for holds, text in said if holds)


def tokens_at(fit: RoundFit, kappa: int) -> tuple[float, float]:
    """E and its standard error at one κ; NaN where the process says nothing of drafts that long.

    Examples
    --------
    >>> own = fit_rounds(Observed.of_counts([(2, 100, [70, 49])]), ["position"])[0]
    >>> tokens_at(own, 4)
    (nan, nan)
    """
    longest = fit.model.process(fit.point, fit.observed, kappa).longest_draft
    if longest is not None and kappa > longest:
        return math.nan, math.nan
    return fit.mean_tokens(kappa), fit.error(kappa)


def inflation(found: ProcessFits, depth: int) -> dict[str, Any] | None:
    """The draft, up to ``depth``, whose rate over the rounds that examined it is most above that at a fixed κ.

    The latter is what the best process with memory says; None where none was fitted, or no rate is above.
    """
    remembers = [fit for fit in found.fits if fit.model.wants]
    if not remembers:
        return None
    best = min(remembers, key=lambda fit: fit.bic)
    examined, reached = (part[:depth] for part in (best.observed.examined(), best.observed.reached()))
    where = reached / np.maximum(examined, 1)
    survival: Floats = best.law(depth).pmf_accepted[::-1].cumsum()[::-1]
    fixed = survival[1:] / survival[:-1]
    most = int(np.argmax(np.where(examined >= ENOUGH, where - fixed, -np.inf)))
    if examined[most] < ENOUGH or where[most] <= fixed[most]:
        return None
    return {
        "draft": most + 1,
        "rate_where_examined": float(where[most]),
        "rate_at_fixed_kappa": float(fixed[most]),
        "by": best.name,
    }


def _plain(check: Adequacy) -> dict[str, Any]:
    return {**vars(check), "statistics": [vars(own) for own in check.statistics]}
