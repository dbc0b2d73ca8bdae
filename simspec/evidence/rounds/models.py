"""Which processes are fitted to rounds?  One line each; the likelihood counts only verdicts that a round really gave.

A draft beyond a round's κ, or beyond its first rejection, has no verdict and no share in the likelihood.  Where a rule
chose κ from what was accepted before, its choices multiply the likelihood by factors without parameters: they cancel.

A parameter is searched for as a logit or a logarithm, so that it has no bounds; `natural` gives it back as it is read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from simspec.evidence.observed import Floats, Observed
from simspec.evidence.rounds.cells import (
    Rates,
    cells_by_before,
    cells_by_group,
    cells_by_position,
    chain_ahead,
    chain_begins,
    chain_rates,
    fresh_ahead,
    iid_point,
    iid_rates,
    pooled_cells,
    position_point,
    position_rates,
    searched,
    tail_point,
    tail_rates,
    urn_begins,
    urn_rates,
)
from simspec.evidence.rounds.hidden import (
    HIDDEN_EDGE,
    hidden_ahead,
    hidden_by_group,
    hidden_gradient,
    hidden_pieces,
    hidden_point,
)
from simspec.evidence.rounds.requests import (
    beta_ahead,
    beta_by_group,
    beta_of_tokens,
    beta_point,
    classes_ahead,
    classes_by_group,
    classes_of_tokens,
    classes_point,
    natural_classes,
    verdicts_by_group,
)
from simspec.model import BetaMixture, DiscreteMixture, Hmm, Iid, Markov, Position, Process
from simspec.model.markov import lowest_rho
from simspec.model.mixture import REQUEST_LIMIT
from simspec.stats.logits import EDGE, rate

TAIL_LENGTH = 32
"""Positions written out of a geometric tail, at least; twice the longest draft seen where that is more."""
LONG = 1_000
"""Tokens of a request per draft of the longest round: its end discards less than half a round, 0.05% of E."""
POSITIONS_LIMIT = 128
"""Drafts longer than this get no free rate by position."""


@dataclass(frozen=True)
class RoundModel:
    """One kind of process.

    Attributes
    ----------
    name : str
    wants : str
        ``"order"``, ``"groups"``, or nothing: what the rounds must have.
    summary : callable
        What the likelihood asks for, from `Observed`.
    maximise : callable
        The best point, from the summary.
    by_group : callable
        Log-likelihood of each group at a point.
    natural : callable
        Parameters by name, from a point.
    ahead : callable
        Survival curve of each round given all before it, (rows, kappa_max), from a point and rounds one by one.
    process : callable
        As scenarios take it, from a point, `Observed` and a κ it must reach, if it can.
    pooled : callable
        A shorter summary with the same log-likelihood in total.
    gradient : callable, optional
        Slope of the log-likelihood in total, where it is known.
    edge : float
        From here on a coordinate is at the edge of its range, where the likelihood is flat.
    fewest : int
        Groups it takes.
    nested : tuple of int
        Coordinates at whose lower edge the process is a simpler one, with the errors of that.
    says : str
        What it means, in one line.
    """

    name: str
    wants: str
    summary: Callable[[Observed], Any]
    maximise: Callable[[Any], Floats]
    by_group: Callable[[Floats, Any], Floats]
    natural: Callable[[Floats], dict[str, float]]
    ahead: Callable[[Floats, Observed], Floats]
    process: Callable[[Floats, Observed, int], Process]
    says: str
    pooled: Callable[[Any], Any] = lambda summary: summary
    gradient: Callable[[Floats, Any], Floats] | None = None
    edge: float = EDGE - 1.5
    fewest: int = 1
    nested: tuple[int, ...] = ()

    def why_not(self, observed: Observed) -> str | None:
        """Why it cannot be fitted to these rounds, if so."""
        if self.wants == "order" and not observed.ordered:
            return "the order of rounds is not in the source"
        if self.wants == "groups" and not observed.clustered:
            return "rounds of different requests are not told apart in the source"
        if observed.groups < self.fewest:
            return f"{observed.groups} {observed.unit}s are too few; it takes {self.fewest}"
        if self.name == POSITION and observed.kappa_max > POSITIONS_LIMIT:
            return f"drafts of {observed.kappa_max} are beyond {POSITIONS_LIMIT} positions"
        return None


GROUPS_PER_CLASS = 4
"""With fewer a class is one request, and its rate nothing but that request's."""


def _natural_position(point: Floats) -> dict[str, float]:
    return {f"alpha_{j + 1}": float(value) for j, value in enumerate(rate(point))}


def _natural_chain(point: Floats) -> dict[str, float]:
    again, back = rate(point)
    return {"alpha": float(back / (1.0 - again + back)), "rho": float(again - back)}


def _named(*names: str) -> Callable[[Floats], dict[str, float]]:
    return lambda point: {name: float(value) for name, value in zip(names, rate(point), strict=True)}


def _position_process(point: Floats, observed: Observed, _: int) -> Process:
    """A position that was offered and never examined lies behind one that never succeeded: any rate will do."""
    return Position(alphas=tuple(position_rates(point, observed.kappa_max).tolist()))


def _tail_process(point: Floats, observed: Observed, kappa: int) -> Process:
    length = min(1000, max(TAIL_LENGTH, 2 * observed.kappa_max, kappa))
    return Position(alphas=tuple(tail_rates(point, length).tolist()))


def _chain_process(point: Floats, *_: Observed | int) -> Process:
    own = _natural_chain(point)
    rho = max(own["rho"], lowest_rho(own["alpha"]))
    return Markov(alpha=own["alpha"], rho=rho, start="carry", steps_after_reject=1, steps_after_full=2)


def long_request(observed: Observed, kappa: int) -> int:
    """Tokens of a request in a process: so many that what its end discards is below 0.05% of E.

    A log counts every token of a request's last round; a scenario discards those beyond its end, up to κ of them.  By
    Wald's identity tokens over rounds are what they would be without an end, if weights are shares of the tokens that
    the log counts: a long request gives the log's own E, one as long as the log's gives less.

    Examples
    --------
    >>> long_request(Observed.in_order([[4, 4], [4]], [[3, 0], [4]]), 8)
    8000
    """
    return min(REQUEST_LIMIT, LONG * max(observed.kappa_max, kappa))


def _urn_process(point: Floats, *_: Observed | int) -> Process:
    alpha, rho = map(float, rate(point))
    return BetaMixture(alpha=alpha, rho=rho)


def _beta_process(point: Floats, observed: Observed, kappa: int) -> Process:
    alpha, rho = beta_of_tokens(point, observed)
    return BetaMixture(alpha=alpha, rho=rho, request_tokens=long_request(observed, kappa), truncate=False)


def _classes_process(point: Floats, observed: Observed, kappa: int) -> Process:
    rates, shares = (tuple(part.tolist()) for part in classes_of_tokens(point, observed))
    return DiscreteMixture(
        alphas=rates, weights=shares, weights_of="tokens", request_tokens=long_request(observed, kappa), truncate=False
    )


def _hidden_process(point: Floats, *_: Observed | int) -> Process:
    high, low, stay_high, stay_low = map(float, rate(point))
    return Hmm(
        P=((stay_high, 1.0 - stay_high), (1.0 - stay_low, stay_low)), alphas=(high, low),
        start="carry", steps_after_reject=1, steps_after_full=2,
    )  # fmt: skip


POSITION = "position"


def _fresh(
    name: str, rates: Rates, maximise: Any, natural: Any, process: Any, says: str, nested: tuple[int, ...] = ()
) -> RoundModel:
    """A process without memory: rates by position."""
    return RoundModel(
        name, "", cells_by_position, maximise, cells_by_group(rates), natural, fresh_ahead(rates), process, says,
        pooled_cells, nested=nested,
    )  # fmt: skip


def _classes(classes: int, name: str, says: str) -> RoundModel:
    return RoundModel(
        name, "groups", verdicts_by_group, lambda data: classes_point(data, classes), classes_by_group,
        natural_classes, classes_ahead, _classes_process, says,
        fewest=GROUPS_PER_CLASS * classes,
    )  # fmt: skip


MODELS = (
    _fresh(
        "i.i.d.", iid_rates, iid_point, _named("alpha"), lambda point, *_: Iid(alpha=float(rate(point[0]))),
        "every examined draft is accepted with one rate",
    ),
    _fresh(
        "geometric tail", tail_rates, tail_point, _named("S_1", "q"), _tail_process,
        "one rate for the first draft, another for all later ones: S_j = S_1·q^(j−1)",
    ),
    _fresh(
        POSITION, position_rates, position_point, _natural_position,
        _position_process, "a free rate for every position",
    ),
    _fresh(
        "Beta by round", urn_rates, searched(urn_rates, urn_begins), _named("alpha", "rho"), _urn_process,
        "every round draws its own rate from a Beta law", nested=(1,),
    ),
    RoundModel(
        "Markov", "order", cells_by_before, searched(chain_rates, chain_begins), cells_by_group(chain_rates),
        _natural_chain, chain_ahead, _chain_process,
        "a two-state chain along the output, carried from round to round", pooled_cells,
    ),
    RoundModel(
        "Beta by request", "groups", verdicts_by_group, beta_point, beta_by_group,
        _named("alpha", "rho"), beta_ahead, _beta_process, "every request draws its own rate from a Beta law",
        nested=(1,),
    ),
    _classes(2, "2 classes of requests", "requests of two kinds, a rate each"),
    _classes(3, "3 classes of requests", "requests of three kinds, a rate each"),
    RoundModel(
        "hidden Markov", "order", hidden_pieces, hidden_point, hidden_by_group,
        _named("alpha_high", "alpha_low", "stay_high", "stay_low"), hidden_ahead, _hidden_process,
        "two hidden states along the output, a rate each", gradient=hidden_gradient, edge=HIDDEN_EDGE - 0.5,
    ),
)  # fmt: skip
"""A further kind of process is a line here."""
