"""Why is it slower, or not faster?  Tokens per round against the cost of a round, and where the time goes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from simspec.advice.acceptance import Acceptance, acceptance_of_numbers
from simspec.advice.explain.explanation import Explanation
from simspec.advice.explain.log_times import LogTimes, times_of
from simspec.advice.explain.plain_run import apart, with_costs, with_plain_run
from simspec.advice.explain.speeds import PER_SECOND, UNITS, Figure, Speeds, flag_of, same_setup, same_work, speeds
from simspec.advice.explain.split import Prices, check_price
from simspec.advice.pieces import acceptance_of_sources
from simspec.evidence.costs.round_costs import RoundCosts
from simspec.evidence.recognise import fit
from simspec.evidence.source import Source
from simspec.model.errors import ParameterError


def explain(
    *files: str | Path,
    kappa: int | None = None,
    emitted: float | None = None,
    alpha: float | None = None,
    survival: Sequence[float] | None = None,
    conditional: Sequence[float] | None = None,
    rate: float | None = None,
    rounds: int | None = None,
    base_tok_s: Figure | None = None,
    spec_tok_s: Figure | None = None,
    base_tpot_ms: Figure | None = None,
    spec_tpot_ms: Figure | None = None,
    spec_round_ms: Figure | None = None,
    spec_itl_ms: Figure | None = None,
    streams: int | None = None,
    costs: RoundCosts | None = None,
    draft_cost: float | None = None,
    draft_ms: float | None = None,
    verify_cost: float | None = None,
    base_cost: float | None = None,
    rollback_cost: float | None = None,
    base_tokens: int | None = None,
    spec_tokens: int | None = None,
    base_setup: str | None = None,
    spec_setup: str | None = None,
    level: float = 0.95,
) -> Explanation:
    """Why speculative decoding is slower, or not faster, from what was measured.

    Parameters
    ----------
    *files : str or Path
        Logs of the speculative run, as `simspec.fit` reads them; or one of the five figures below, or none.  Times that
        a log holds stand for speeds and costs that are not given.  One more, without drafts, is the plain run.
    kappa, emitted, alpha, survival, conditional, rate, rounds
        Acceptance as figures: E tokens per round (bonus token counted), α of one examined draft, S_j, α_j, or
        accepted ÷ drafted; ``rounds`` gives them an error.  ``kappa`` = 0: the loop without drafts.
    base_tok_s, spec_tok_s : Figure, optional
        tok/s of the plain and the speculative run.
    base_tpot_ms, spec_tpot_ms : Figure, optional
        ms per output token of one stream (TPOT).
    spec_round_ms, spec_itl_ms : Figure, optional
        ms per round: measured, or the inter-token latency, which under speculation is one gap per round.
    streams : int, optional
        Concurrent streams behind tok/s; lets tok/s stand beside ms.
    costs : RoundCosts, optional
        From `simspec.costs`; splits the cost of a round.
    draft_cost, verify_cost, base_cost, rollback_cost : float, optional
        One draft token, one more verified token, a round without drafts, a rejection, in plain target steps.
    draft_ms : float, optional
        One draft token in ms, instead of ``draft_cost``.
    base_tokens, spec_tokens : int, optional
        Tokens produced; runs that differ by more than 5% are refused.
    base_setup, spec_setup : str, optional
        What each was measured on; different ones are refused.
    level : float
        Of the intervals, 0.5 ≤ level < 1.

    Returns
    -------
    Explanation
        R = E·base ÷ spec, speed-up E/R, break-even E and α, the ceiling (κ + 1)/R, the loss part by part, flags.

    Raises
    ------
    ParameterError
        A figure is out of range, units are mixed, or the runs are not comparable.

    References
    ----------
    Leviathan, Kalman, Matias (2023), Theorem 3.8: speed-up = E ÷ (κc + 1); here the round cost R is measured instead.

    Examples
    --------
    >>> own = explain(emitted=1.97, kappa=1, base_tok_s=342.2, spec_tok_s=128.3)
    >>> round(own.round_cost.value, 2), round(own.ceiling, 3), list(own.flags)
    (5.25, 0.381, ['CEILING_BELOW_ONE'])
    """
    if not 0.5 <= level < 1.0:
        raise ParameterError("level", f"level = {level} is out of range; allowed: 0.5 ≤ level < 1")
    same_work(base_tokens, spec_tokens)
    same_setup(base_setup, spec_setup)
    figures = {"emitted": emitted, "alpha": alpha, "survival": survival, "conditional": conditional, "rate": rate}
    given = {name: value for name, value in figures.items() if value is not None}
    drafted, plain = apart(fit(*files, level=level, kappa=kappa)) if files else ([], [])
    if plain and not drafted and not given and kappa is None:
        named = ", ".join(plain[0].files)
        raise ParameterError("files", f"{named} is a run without drafts: give the log of the speculative run too")
    acceptance = _acceptance(drafted, kappa, rounds, level, given)
    every = {
        "base_tok_s": base_tok_s, "spec_tok_s": spec_tok_s, "base_tpot_ms": base_tpot_ms, "spec_tpot_ms": spec_tpot_ms,
        "spec_round_ms": spec_round_ms, "spec_itl_ms": spec_itl_ms,
    }  # fmt: skip
    typed = {name: value for name, value in every.items() if value is not None}
    spec = None if acceptance is None else acceptance.source
    log = LogTimes() if acceptance is None else times_of(spec, acceptance.drafts)
    log = with_costs(with_plain_run(log, spec, plain), costs)
    used, read = _from_log(typed, log)
    at_once = log.streams if streams is None and used else streams
    _one_unit(typed, used, at_once)
    own = speeds(typed | used, at_once, level)
    numbers = {
        "draft_cost": draft_cost, "draft_ms": draft_ms, "verify_cost": verify_cost, "base_cost": base_cost,
        "rollback_cost": rollback_cost,
    }  # fmt: skip
    prices = _prices(costs, {name: value for name, value in numbers.items() if value is not None}, own, acceptance)
    if costs is None:
        prices, more = _with_log(prices, log, own)
        read |= more
    if (acceptance is None or acceptance.emitted is None) and own == Speeds():
        raise ParameterError("emitted", "nothing given; allowed: a log or --emitted E --kappa N, and both speeds")
    return Explanation(acceptance, own, prices, level, rate, read)


def _acceptance(
    sources: Sequence[Source], kappa: int | None, rounds: int | None, level: float, given: dict[str, Any]
) -> Acceptance | None:
    if sources:
        if given or rounds is not None:
            name = next(iter(given), "rounds")
            raise ParameterError(name, f"a log and --{name} given; allowed: one of them")
        return acceptance_of_sources(sources, level, kappa, one_content=True)
    if kappa == 0:
        if given and given != {"emitted": 1.0}:
            raise ParameterError("kappa", "kappa = 0: a round without drafts emits 1 token; give nothing else")
        return Acceptance(0, 1.0, None, None, 0.0, None, "no drafts", None, rounds)
    if not given:
        if rounds is not None:
            raise ParameterError("rounds", "--rounds goes with a figure of acceptance, such as --emitted")
        return None if kappa is None else Acceptance(kappa, None, None, None, kappa, None, "κ only")
    if list(given) == ["emitted"] and kappa is None:
        if not 1.0 <= given["emitted"] < math.inf:
            raise ParameterError(
                "emitted", f"emitted = {given['emitted']:g} is out of range; allowed: 1 ≤ E, bonus token counted"
            )
        return Acceptance(
            None, given["emitted"], None, None, None, None, f"given: {given['emitted']:g} tokens per round"
        )
    if kappa is not None and given.get("emitted", 0.0) > kappa + 1.0:
        why = "the bonus token is counted twice, drafts form a tree, or κ is another one"
        raise ParameterError("emitted", f"emitted = {given['emitted']:g} is above κ + 1 = {kappa + 1}: {why}")
    return acceptance_of_numbers(kappa=kappa, rounds=rounds, level=level, **given)


def _from_log(typed: dict[str, Figure], log: LogTimes) -> tuple[dict[str, Figure], dict[str, str]]:
    """Speeds that only the log tells, to be used where both sides are known then; and what was read."""
    sides: list[list[str]] = []
    for side in ("base", "spec"):
        mine = [name for name in typed if name.startswith(side)]
        sides.append(mine or [name for name in log.figures if name.startswith(side)])
    pairs = [pair for pair in itertools.product(*sides) if len({UNITS[name] == PER_SECOND for name in pair}) == 1]
    chosen = pairs[0] if pairs else [own[0] for own in sides if own]  # tok/s are of all streams, ms of one
    found: dict[str, Figure] = {name: log.figures[name] for name in chosen if name not in typed}
    read = {name: log.told(name) for name in found}
    return (found if all(sides) else {}), read


def _one_unit(typed: dict[str, Figure], used: dict[str, Figure], streams: float | None) -> None:
    """Refuse a typed speed of all streams beside the log's time of one, and the other way round, in those words."""
    per_second = {name: UNITS[name] == PER_SECOND for name in typed | used}
    if not used or streams is not None or len(set(per_second.values())) < 2:
        return
    *others, its = *typed, *used
    mine = f"{flag_of(others[0])} is in {UNITS[others[0]]}" if typed else f"the plain step is in {UNITS[others[0]]}"
    raise ParameterError(
        "streams",
        f"{mine}, and the log tells {UNITS[its]}: tok/s add up all streams, ms are of one; add --streams N (1 for "
        "batch 1)",
    )


def _prices(
    costs: RoundCosts | None, numbers: dict[str, float], own: Speeds, acceptance: Acceptance | None
) -> Prices | None:
    for name, value in numbers.items():
        check_price(name, value)
    draft = numbers.get("draft_cost")
    if "draft_ms" in numbers:
        if draft is not None:
            raise ParameterError("draft_ms", "--draft-cost and --draft-ms given; allowed: one of them")
        if own.plain_ms is None:
            raise ParameterError(
                "draft_ms", "--draft-ms needs the plain step in ms: --base-tpot, or --streams with tok/s"
            )
        draft = numbers["draft_ms"] / own.plain_ms
    if costs is not None:
        double = [name for name in ("verify_cost", "base_cost", "rollback_cost") if name in numbers]
        if double:
            raise ParameterError("costs", f"--{double[0].replace('_', '-')} beside --costs: give one or the other")
        known = Prices.of(costs, None if acceptance is None else acceptance.drafts)
        known = replace(known, rollback=_rollback(costs.rollback, acceptance))
        return known if draft is None else replace(known, draft=draft)
    if not numbers:
        return None
    rollback = _rollback(numbers.get("rollback_cost", 0.0), acceptance)
    return Prices(
        draft, numbers.get("verify_cost"), numbers.get("base_cost"), rollback=rollback, origin="given as numbers"
    )


def _rollback(cost: float, acceptance: Acceptance | None) -> float:
    """What rejections cost per round, on average."""
    if not cost:
        return 0.0
    share = None if acceptance is None else acceptance.rejecting
    if share is None:
        raise ParameterError(
            "rollback_cost",
            "a rollback cost needs the share of rounds that reject a draft: give E with --kappa, or a log",
        )
    return cost * share


def _with_log(prices: Prices | None, log: LogTimes, own: Speeds) -> tuple[Prices | None, dict[str, str]]:
    """Prices that were not given, from the times of the log, where a plain step is known in ms; and what was read."""
    known = prices or Prices()
    if own.plain_ms is None:
        return prices, {}
    steps = {name: ms / own.plain_ms for name, ms in log.parts.items()}
    filled = replace(
        known,
        draft=steps.get("draft_ms") if known.draft is None else known.draft,
        verify=steps.get("verify_ms") if known.verify is None else known.verify,
        fixed=steps.get("fixed_ms") if known.fixed is None else known.fixed,
    )
    open_ = {"draft_ms": known.draft, "verify_ms": known.verify, "fixed_ms": known.fixed}
    read = {name: log.told(name) for name in log.parts if open_[name] is None}
    return (filled if read else prices), read
