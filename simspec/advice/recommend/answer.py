"""Which κ, how sure, and what would settle it?  From acceptance as seen and costs as measured to one answer."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from simspec.advice.acceptance import Acceptance, acceptance_of_numbers, acceptance_of_source
from simspec.advice.recommend.by_process import Reading, readings_of
from simspec.advice.recommend.decide import compare, effort, full_rounds
from simspec.advice.recommend.kappa_grid import Cell, at_context, grid_advice
from simspec.advice.recommend.latency_limit import gap_limit, token_limit
from simspec.advice.recommend.posterior import TokensPosterior, tokens_posterior
from simspec.advice.recommend.recommendation import Recommendation
from simspec.evidence.costs.points import ROOFLINE
from simspec.evidence.costs.roofline import TRUSTED
from simspec.evidence.costs.round_costs import CostGrid, Load, RoundCosts
from simspec.evidence.recognise import fit
from simspec.evidence.source import Source
from simspec.model import KAPPA_LIMIT, Cost
from simspec.model.errors import ParameterError, did_you_mean

DRAWS = 4000
LEAST_KAPPA_MAX = 8
ASSUMED_KAPPA_MAX = 16
FIGURES = ("kappa", "emitted", "alpha", "survival", "conditional", "rate", "rounds")


def recommend(
    acceptance: Acceptance | Source | str | Path | Mapping[Any, Any],
    costs: CostGrid | RoundCosts | Cost | Mapping[str, Any],
    *,
    kappa_max: int | None = None,
    batches: Sequence[float] | None = None,
    contexts: Sequence[float] | None = None,
    p99_gap_ms: float | None = None,
    p99_tpot_ms: float | None = None,
    tokens: int = 128,
    plain_ms: float | None = None,
    within: float = 0.02,
    level: float = 0.95,
    seed: int = 1,
) -> Recommendation:
    """The draft length to use, how sure it is, and what would settle it.

    Parameters
    ----------
    acceptance : dict, path, Source, Acceptance, or mapping from context length to one of these
        What was seen: one of ``emitted``, ``alpha``, ``survival``, ``conditional``, ``rate`` with ``kappa`` and
        ``rounds``; a log; a source of `simspec.fit`.  By context: between two contexts figures are linear in the
        logarithm of the context, and ``contexts`` must be given.
    costs : CostGrid, RoundCosts, Cost or dict
        R(κ) in plain target steps, from `simspec.costs` or numbers as in `simspec.exact`.
    kappa_max : int, optional
        Longest draft considered, 1 to 256; default twice the longest seen, at least 8 (16 where α is assumed).
    batches, contexts : sequence of float, optional
        Loads to give a κ for; their costs must have been measured, or a roofline fitted.  Default: all measured.
    p99_gap_ms : float, optional
        Limit on the gap between two chunks of a stream: one round.
    p99_tpot_ms, tokens : float, int, optional
        Limit on the time per token of 99 in 100 sequences of so many tokens.
    plain_ms : float, optional
        One plain target step, where the costs do not say.
    within : float
        Loss that counts as flat, 0 ≤ within < 1.
    level : float
        Of intervals, 0.5 ≤ level < 1.
    seed : int
        Of the draws.

    Returns
    -------
    Recommendation
        ``kappa_star`` has the least expected regret, E[(best − own)/best], over the posterior of acceptance and costs.

    Raises
    ------
    ParameterError
        An argument is out of range, nothing keeps a limit, or a load has no cost.

    References
    ----------
    Leviathan, Kalman, Matias (2023), section 3.5, for the optimum at known α and cost.

    Examples
    --------
    >>> from simspec import recommend
    >>> own = recommend({"survival": [0.84, 0.60, 0.39, 0.27], "rounds": 400}, {"c_d": 0.12, "c0": 1.05})
    >>> own.kappa_star, own.band, round(own.speedup, 2)
    (4, (3, 4, 5), 2.03)
    """
    if not 0.0 <= within < 1.0:
        raise ParameterError("within", f"within = {within:g} is out of range; allowed: 0 ≤ within < 1")
    if not 0.5 <= level < 1.0:
        raise ParameterError("level", f"level = {level:g} is out of range; allowed: 0.5 ≤ level < 1")
    if plain_ms is not None and not plain_ms > 0.0:
        raise ParameterError("plain_ms", f"plain_ms = {plain_ms:g} is out of range; allowed: above 0")
    seen, grid = _acceptance(acceptance, level), _grid(costs)
    loads = _loads(batches, contexts, grid)
    if isinstance(seen, dict) and any(context is None for _, context in loads):
        raise ParameterError("context", f"acceptance by context ({', '.join(map(str, seen))}): say --context")
    last = _kappa_max(kappa_max, list(seen.values()) if isinstance(seen, dict) else [seen], grid)
    wish = _Wish(p99_gap_ms, p99_tpot_ms, tokens, plain_ms, within, level, seed)
    known: dict[float | None, _Seen] = {}
    cells = []
    for batch, context in loads:
        place = context if isinstance(seen, dict) else None
        if place not in known:
            own = seen if isinstance(seen, Acceptance) else at_context(seen, context)
            posterior = tokens_posterior(own, last, DRAWS, seed)
            known[place] = _Seen(own, posterior, readings_of(posterior.observed, last, seed, posterior.processes))
        cells.append(Cell(batch, context, _at_load(known[place], _cost_at(grid, batch, context), wish)))
    if loads == [(None, None)]:
        return cells[0].own
    return dataclasses.replace(cells[0].own, grid=grid_advice(cells))


@dataclasses.dataclass(frozen=True)
class _Wish:
    """What is asked for at every load alike."""

    p99_gap_ms: float | None
    p99_tpot_ms: float | None
    tokens: int
    plain_ms: float | None
    within: float
    level: float
    seed: int


@dataclasses.dataclass(frozen=True)
class _Seen:
    """Acceptance at one context, and what follows from it whatever rounds cost."""

    acceptance: Acceptance
    posterior: TokensPosterior
    readings: tuple[Reading, ...]


def _at_load(seen: _Seen, cell: RoundCosts, wish: _Wish) -> Recommendation:
    posterior = seen.posterior
    choice = compare(posterior, cell, wish.level, DRAWS, wish.seed, wish.within)
    alike = None
    if posterior.alike is not None:
        alike = compare(dataclasses.replace(posterior, draws=posterior.alike), cell, wish.level, DRAWS, wish.seed)
    step_ms = wish.plain_ms or cell.plain_ms
    limits = []
    if wish.p99_gap_ms is not None:
        limits.append(gap_limit(choice, wish.p99_gap_ms, step_ms, cell.rollback, full_rounds(choice, posterior)))
    if wish.p99_tpot_ms is not None:
        limits.append(token_limit(choice, wish.p99_tpot_ms, step_ms, posterior, wish.tokens))
    for limit in limits:
        choice = choice.limited(choice.allowed & limit.kept)
    work = effort(choice, posterior)
    return Recommendation(
        seen.acceptance, cell, posterior, choice, tuple(limits), work, None, wish.within, seen.readings, alike
    )  # fmt: skip


def _cost_at(grid: CostGrid, batch: float | None, context: float | None) -> RoundCosts:
    """Costs that know no context hold at all of them."""
    loaded = grid.surface is not None or any(own is not None for _, own in grid.loads)
    own = grid.at(batch, context if loaded else None)
    missed = 0.0 if grid.surface is None else grid.surface.largest_residual
    if own.model == ROOFLINE and missed > TRUSTED:
        where = ", ".join(f"{n} {v:g}" for n, v in (("batch", own.batch), ("context", own.context)) if v is not None)
        raise ParameterError(
            "costs",
            f"costs at {where} would come from a roofline that misses a row by {missed:.0%}, and beyond {TRUSTED:.0%} "
            "it says nothing of other loads: measure plain decoding and rounds there, or ask for loads measured so "
            "(--batch, --context)",
        )
    return own


def _loads(batches: Sequence[float] | None, contexts: Sequence[float] | None, grid: CostGrid) -> list[Load]:
    """Those asked for; what was not asked for is all that was measured."""
    if not batches and not contexts:
        return list(grid.loads) if len(grid.loads) > 1 else [(None, None)]

    def part(i: int, given: Sequence[float] | None) -> Sequence[float | None]:
        measured = sorted({own for load in grid.loads if (own := load[i]) is not None})
        return given or (measured if len(measured) > 1 else (None,))

    return list(itertools.product(part(0, batches), part(1, contexts)))


def _acceptance(given: Any, level: float) -> Acceptance | dict[int, Acceptance]:
    if isinstance(given, Mapping) and all(isinstance(key, str) for key in given):
        unknown = sorted(set(given) - set(FIGURES))
        if unknown:
            near = did_you_mean(unknown[0], FIGURES)
            raise ParameterError("acceptance", f"acceptance: unknown key {unknown[0]!r}{near}")
        return acceptance_of_numbers(**{"level": level, **given})
    if isinstance(given, Mapping):
        return {int(context): _single(own, level) for context, own in given.items()}
    return _single(given, level)


def _single(given: Any, level: float) -> Acceptance:
    if isinstance(given, Mapping):
        own = _acceptance(given, level)
        if isinstance(own, Acceptance):
            return own
    if isinstance(given, (str, Path)):
        sources = fit(given, level=level)
        if len(sources) != 1:
            raise ParameterError("acceptance", f"{given} holds {len(sources)} sources; allowed: one, of simspec.fit")
        given = sources[0]
    if isinstance(given, Source):
        return acceptance_of_source(given, level)
    if not isinstance(given, Acceptance):
        raise ParameterError(
            "acceptance", f"acceptance is a {type(given).__name__}; allowed: Acceptance, Source, a log, or by context"
        )
    return given


def _grid(given: Any) -> CostGrid:
    if isinstance(given, CostGrid):
        return given
    if isinstance(given, Mapping):
        given = Cost(**given)
    if isinstance(given, Cost):
        given = RoundCosts.of_cost(given)
    if not isinstance(given, RoundCosts):
        raise ParameterError(
            "costs", f"costs is a {type(given).__name__}; allowed: CostGrid, RoundCosts, Cost, or a dict as for exact"
        )
    return CostGrid.of(given)


def _kappa_max(asked: int | None, seen: Sequence[Acceptance], grid: CostGrid) -> int:
    if asked is not None:
        if isinstance(asked, bool) or not isinstance(asked, int) or not 1 <= asked <= KAPPA_LIMIT:
            raise ParameterError("kappa_max", f"kappa_max = {asked} is out of range; allowed: 1 to {KAPPA_LIMIT}")
        return asked
    longest = max((own.kappa or (own.observed.kappa_max if own.observed is not None else 0)) for own in seen)
    if longest == 0:
        return ASSUMED_KAPPA_MAX
    return min(KAPPA_LIMIT, max(LEAST_KAPPA_MAX, 2 * longest))
