"""How much must be measured to tell two draft lengths apart?  In one run cut at both, and in two runs side by side."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simspec.advice.recommend.request_mix import RequestMix, request_mix
from simspec.evidence.observed import Observed
from simspec.stats.clusters import by_request
from simspec.text import plural

Floats = NDArray[np.float64]
NEAR = 0.01
"""A loss this small cannot matter: sureness is stated about being this near to the best."""
FEW_ROUNDS = 30
"""The normal law behind a number of rounds needs about so many."""
_QUANTILES = (1.959964, 1.281552)
"""Normal quantiles of a two-sided test at 5% and of a power of 90%, as in `simspec ab`."""


@dataclass(frozen=True)
class Effort:
    """What tells the chosen option from its best rival, by a two-sided test at 5% with power 90%.

    Attributes
    ----------
    rival : int
        Its κ, or `OFF`.
    difference : float
        log of speed-up over speed-up.
    sd_per_round : float
        Standard deviation of one round's share in that difference, in one run.
    design_effect : float
        How many times as many rounds are needed because rounds of a request, or line, hang together.
    rounds : float
        Of one run at the longer κ, whose rounds are cut at both lengths; infinite where the difference is none.
    rounds_each : float
        Of each of two runs, one at either κ.
    requests, requests_each : float or None
        The same in requests, where they are told apart; two runs then have the same requests.
    matters : bool
        Whether the difference is above 1%.
    longer : int
        The longer of the two drafts.
    """

    rival: int
    difference: float
    sd_per_round: float
    design_effect: float
    rounds: float
    rounds_each: float
    requests: float | None
    requests_each: float | None
    matters: bool
    longer: int

    def says(self, mine: str, rival: str) -> str:
        """In a sentence; ``mine`` and ``rival`` are the options in words."""
        if not self.matters:
            return f"{mine} or {rival} cannot matter: within {NEAR:.0%} of each other"
        effect = f", design effect {self.design_effect:.1f}" if self.design_effect > 1.05 else ""
        same = " on the same requests" if self.requests is not None else ""
        return (
            f"to tell {mine} from {rival} ({math.expm1(self.difference):+.1%}) takes "
            f"{_amount(self.rounds, self.requests)} of one run at κ = {self.longer}, its drafts cut at both lengths; "
            f"or two runs, one with each{same}, of {_amount(self.rounds_each, self.requests_each)} each (5% error, 90% "
            f"power{effect}; costs taken as known)"
        )

    def to_dict(self) -> dict[str, float | None]:
        """JSON-ready: how much of what."""
        names = ("rounds", "rounds_each", "requests", "requests_each")
        values = {name: getattr(self, name) for name in names}
        finite = {name: value if value is not None and math.isfinite(value) else None for name, value in values.items()}
        return finite | {"sd_per_round": self.sd_per_round, "design_effect": self.design_effect}


def _amount(rounds: float, requests: float | None) -> str:
    if not math.isfinite(rounds):
        return "more rounds than there are"
    if rounds < FEW_ROUNDS:
        return f"fewer than {FEW_ROUNDS} rounds"
    if requests is None:
        return f"about {plural(math.ceil(rounds), 'round')}"
    return f"about {plural(max(2, math.ceil(requests)), 'request')} ({plural(math.ceil(rounds), 'round')})"


def effort_of(survival: Floats, observed: Observed | None, mine: int, rival: int, difference: float) -> Effort:
    """What decides between two κ, `OFF` being none; costs are taken as known.

    Parameters
    ----------
    survival : float array
        The curve, to the longer of the two.
    observed : Observed or None
        Rounds whose requests, or lines, tell how they hang together.
    mine, rival : int
        κ; at most 0 where nothing is drafted.
    difference : float
        log of speed-up over speed-up.

    Notes
    -----
    In one run cut at both lengths most of the luck of drafts is common to both and drops out; two runs have their own.
    Where requests are told apart, a run of the same requests at either κ has Σ tokens ÷ Σ tokens/E_r(κ) tokens per
    round, and how E_r(κ)/E_r(κ′) differs between requests does not drop out even then.

    Examples
    --------
    >>> own = effort_of(0.7 ** np.arange(1.0, 4.0), None, 2, 3, 0.0086)
    >>> round(own.rounds, -2), round(own.rounds_each, -2), own.requests
    (3500.0, 56300.0, None)
    """
    long, short = max(mine, rival, 0), max(min(mine, rival), 0)
    within = math.inf if difference == 0.0 else (sum(_QUANTILES) / difference) ** 2
    values, pmf = _shares(survival, long, short)
    alone = _variance(pmf, values[0] - values[1])
    mix = request_mix(observed)
    requests = requests_each = None
    if mix is None:
        together = _effect(observed, long, short)
        one = together[0] * alone
        two = sum(effect * _variance(pmf, own) for effect, own in zip(together[1:], values, strict=True))
    else:
        by_request = _by_request(mix, long, short)
        per_request = mix.tokens * float(mix.share @ (1.0 / mix.emitted(long)))
        one, two = (own * per_request for own in by_request)
        requests, requests_each = (within * own for own in by_request)
    return Effort(
        rival, difference, math.sqrt(alone), one / alone if alone > 0.0 else 1.0, within * one, within * two,
        requests, requests_each, abs(difference) > NEAR, long,
    )  # fmt: skip


def _shares(survival: Floats, *kappas: int) -> tuple[list[Floats], Floats]:
    """(min(A, κ) + 1)/E by accepted length, for each κ, the longest first; and the law of A."""
    reach = np.concatenate([[1.0], survival[: kappas[0]]])
    at = np.arange(kappas[0] + 1.0)
    return [(np.minimum(at, kappa) + 1.0) / reach[: kappa + 1].sum() for kappa in kappas], -np.diff(reach, append=0.0)


def _variance(pmf: Floats, values: Floats) -> float:
    return float(pmf @ values**2 - (pmf @ values) ** 2)


def _by_request(mix: RequestMix, long: int, short: int) -> tuple[float, float]:
    """Variance of log E(long) − log E(short) times the requests: of one run cut at both, and of two of the same."""
    curves = mix.curves(long)
    needed = [1.0 / mix.emitted(kappa) for kappa in (long, short)]  # rounds per token
    scaled = [own / float(mix.share @ own) for own in needed]
    between = mix.lengths * float(mix.share @ (scaled[0] - scaled[1]) ** 2)
    one = two = 0.0
    for i, share in enumerate(mix.share):
        (far, near), pmf = _shares(curves[i], long, short)
        one += share * _variance(pmf, scaled[0][i] * far - scaled[1][i] * near) / needed[0][i]
        two += share * scaled[0][i] ** 2 * _variance(pmf, far) / needed[0][i]
        two += share * scaled[1][i] ** 2 * _variance(pmf, near) / needed[1][i]
    return between + one / mix.tokens, between + two / mix.tokens


def _effect(observed: Observed | None, long: int, short: int) -> tuple[float, float, float]:
    """Variance between groups over that of independent rounds: of the contrast, of E(long), of E(short); at least 1.

    Positions beyond a round's κ are taken as not accepted: the effect is a ratio, and both sides do so.
    """
    if observed is None or not observed.clustered:
        return (1.0, 1.0, 1.0)
    values = [np.minimum(observed.accepted, kappa) + 1.0 for kappa in (long, short)]
    total = observed.count.sum()
    shares = [value / ((value * observed.count).sum() / total) - 1.0 for value in values]
    return _grouped(observed, shares[0] - shares[1]), _grouped(observed, shares[0]), _grouped(observed, shares[1])


def _grouped(observed: Observed, values: Floats) -> float:
    alone = float((values**2 * observed.count).sum())
    groups = by_request(values * observed.count, observed.offsets)
    together = float((groups**2).sum()) * observed.groups / (observed.groups - 1)
    return max(1.0, together / alone) if alone > 0.0 else 1.0
