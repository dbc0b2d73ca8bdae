"""Is the difference between two runs real?  Survival, tokens per round, α, speed, and what could have been seen."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from simspec.advice.ab.faults import Fault, faults
from simspec.advice.ab.mixture import mixture, moved
from simspec.advice.ab.notes import of_cuts, other_kappa, speed_name, together
from simspec.advice.ab.reading import run_of
from simspec.advice.ab.result import AB, Row
from simspec.advice.ab.run import Run, common, error_of, sides
from simspec.advice.acceptance import Acceptance
from simspec.evidence.observed import Observed
from simspec.evidence.source import Source
from simspec.model.errors import ParameterError
from simspec.stats.ab_curves import Power, joint_change, power, rounds_needed, speed_change
from simspec.stats.ab_tests import Change, Share, difference_of, mean_change, share_change
from simspec.stats.difference import holm
from simspec.text import plural

Given = str | Path | Sequence[str | Path] | Source | Observed | Acceptance | Run
FEWEST_EXAMINED = 25
"""Positions that fewer rounds examined, in either run, are left out of the conditional rates."""
AS_RUN = "E as run"
"""Tokens per round of runs whose κ varies, each with its own rule: a comparison of what was run, not of drafts."""
EFFECTS = (2.0, 4.0, 16.0)
"""Design effects of E tried where nothing is known of requests; measured ones go from 2 to 23 (results/intervals)."""


def ab(
    a: Given,
    b: Given | None = None,
    level: float = 0.95,
    detect: float | None = None,
    kappa: int | None = None,
    base_tok_s: float | None = None,
) -> AB:
    """Is the difference between two runs real?  And is either of them broken?

    Parameters
    ----------
    a, b : str, Path, sequence of these, Source, Observed or Acceptance
        A log, a scrape, a table of rounds (as `fit` reads them), or figures as text, such as
        ``"kappa=7 rounds=4816 accepted=12208"`` (also ``survival``, ``histogram``, ``emitted``, ``drafted``,
        ``tokens``, ``speed`` in tok/s, several for repeats, ``base`` without speculation).  Without ``b``: faults of
        ``a``, and what difference a second run as long would have to show.
    level : float
        Of intervals and tests, 0.5 ≤ level < 1.
    detect : float, optional
        Difference of E, > 0: how many rounds and requests find it?
    kappa : int, optional
        Draft length, for files that do not hold it.
    base_tok_s : float, optional
        tok/s without speculation, > 0, on the same machine: a round that would be cheaper than a plain step is a fault.

    Returns
    -------
    AB
        ``differs``, ``broken``, ``rows``, ``row("E")``, ``to_dict()``; a readable text as ``repr``.

    Raises
    ------
    ParameterError
        A run cannot be read or tested, or nothing of the two can be compared.

    Notes
    -----
    Errors are between requests (or log lines) where they are known, in pairs where both runs hold the same ones.
    Positions up to the smaller κ are compared, in rounds that were offered as many drafts.

    References
    ----------
    Welch (1947); Holm (1979); Yao (1965) for the curve.

    Examples
    --------
    >>> import simspec
    >>> found = simspec.ab("rounds=2000 survival=.80,.62,.47,.36", "rounds=2000 survival=.74,.56,.43,.33")
    >>> found.differs, round(found.row("E").change.difference, 2), found.row("S_1").real
    (True, -0.19, True)
    >>> simspec.ab("kappa=3 drafted=483 tokens=161").faults["a"][0].code
    'NO_DRAFT_ACCEPTED'
    """
    if not 0.5 <= level < 1.0:
        raise ParameterError("level", f"level = {level} is out of range; allowed: 0.5 ≤ level < 1")
    if detect is not None and not (detect > 0.0 and math.isfinite(detect)):
        raise ParameterError("detect", f"detect = {detect} is out of range; allowed: detect > 0, in tokens per round")
    if base_tok_s is not None and not (base_tok_s > 0.0 and math.isfinite(base_tok_s)):
        raise ParameterError("base_tok_s", f"base_tok_s = {base_tok_s} is out of range; allowed: above 0")
    first = _on(run_of(a, "A", level, kappa), base_tok_s)
    if b is None:
        return _alone(first, level, detect)
    second = _on(run_of(b, "B", level, kappa), base_tok_s)
    return _both(first, second, level, detect)


def _on(run: Run, base: float | None) -> Run:
    """The run beside the speed without speculation; what it says itself stays."""
    return run if base is None or run.base is not None else replace(run, base=base)


def _alone(run: Run, level: float, detect: float | None) -> AB:
    """One run: as if a second one of the same kind stood beside it."""
    found = {"a": _faults(run, None, level)}
    notes = tuple(f"A: {note}" for note in run.notes)
    if run.emitted is None:
        return AB(run, None, level, run.kappa, faults=found, notes=notes)
    change = _of_errors(run, run, level)
    reach = _power(change, level)
    needed = _needed(change, run, run, detect, level)
    return AB(run, None, level, run.kappa, _unit(run), power=reach, detect=detect, needed=needed, faults=found,
              notes=notes)  # fmt: skip


def _both(first: Run, second: Run, level: float, detect: float | None) -> AB:
    """Two runs: whatever both of them hold."""
    seen = {"a": _faults(first, second, level), "b": _faults(second, first, level)}
    main, more, notes, kappa, pairs, joint = [], [], list(together(first, second)), None, 0, None
    p_of: dict[str, float] = {}
    sharp = None
    if first.observed is not None and second.observed is not None:
        kappa = min(_fixed(run) for run in (first, second))
        a, b, pairs = _matched(first.observed, second.observed)
        left, right = sides((a, b), kappa, pairs > 0)
        if not (len(left.rounds) and len(right.rounds)):
            raise ParameterError("rounds", f"a run has no round that was offered {plural(kappa, 'draft')}")
        main.append(("E", mean_change(left, right, level, pairs > 0)))
        if first.kappa is None and second.kappa is None:
            main.append((AS_RUN, _of_errors(first, second, level)))
        joint = joint_change(left, right, pairs > 0) if kappa > 1 else None
        shares = [
            (f"S_{j}", share_change(left.share(j), right.share(j), level, pairs > 0)) for j in range(1, kappa + 1)
        ]
        rates = list(_conditionals(a, b, level, pairs > 0))
        sharp = joint
        if moved(first, second):
            left_over = mixture(a, b, kappa, pairs > 0, level, [int(name[2:]) for name, _ in rates])
            p_of, joint = left_over.p, left_over.joint
        more = _family("S", shares, level, p_of) + _family("α", rates, level, p_of)
        notes += of_cuts(first, second, kappa, pairs)
    elif first.emitted is not None and second.emitted is not None:
        if first.kappa == second.kappa:
            kappa = first.kappa
            main.append(("E", _of_errors(first, second, level)))
        else:
            notes.append(other_kappa(first, second))
    if first.speeds and second.speeds:
        name, note = speed_name(first, second)
        main += [] if name is None else [(name, speed_change(first.speeds, second.speeds, level))]
        notes += [] if note is None else [note]
    if not main and not any(fault.broken for own in seen.values() for fault in own):
        why = "; ".join(notes[len(list(together(first, second))) :]) or "A and B hold no figure in common"
        raise ParameterError("files", f"nothing of the two runs can be compared: {why}")
    seen_p = _holm([change.p_value for _, change in main] + ([] if sharp is None else [sharp.p_value]))
    decisive = [p_of.get(name, change.p_value) for name, change in main]
    p = _holm(decisive + ([] if joint is None else [joint.p_value]))
    rows = [
        Row(name, "main", change, own, own <= 1.0 - level, alone)
        for (name, change), own, alone in zip(main, p, decisive, strict=False)
    ]
    mean = main[0][1] if main and main[0][0] == "E" else None
    blind = "round" in (units := {_unit(run) for run in (first, second)})
    return AB(
        first, second, level, kappa, "round" if blind else " or ".join(sorted(units)), pairs, (*rows, *more), joint,
        math.nan if joint is None else p[-1],
        None if mean is None else _power(mean, level, kappa), detect,
        None if mean is None else _needed(mean, first, second, detect, level),
        {effect: _at_effect(mean, effect) for effect in EFFECTS} if mean is not None and blind else {},
        seen, tuple(notes), bool(p_of), any(own <= 1.0 - level for own in seen_p),
    )  # fmt: skip


def _matched(a: Observed, b: Observed) -> tuple[Observed, Observed, int]:
    """The requests that both runs hold, in one order; both runs whole, and 0, where there are too few."""
    names = common(a, b)
    if not names:
        return a, b, 0
    places = ({name: group for group, name in enumerate(own.names or ())} for own in (a, b))
    first, second = (
        own.take(np.array([place[name] for name in names])) for own, place in zip((a, b), places, strict=True)
    )
    return first, second, len(names)


def _of_errors(first: Run, second: Run, level: float) -> Change:
    """Difference of E as both ran, from the error of each."""
    (error_a, units_a), (error_b, units_b) = error_of(first), error_of(second)
    assert first.emitted is not None
    assert second.emitted is not None
    return difference_of(first.emitted, second.emitted, error_a, error_b, units_a, units_b, level)


def _conditionals(a: Observed, b: Observed, level: float, pairs: bool) -> Iterator[tuple[str, Change]]:
    """α_j from the second position on (α_1 is S_1 where κ is fixed), in rounds that examined draft j."""
    first = 1 if len({*a.kappas, *b.kappas}) > 2 else 2
    examined = np.minimum(*(own.examined()[: min(a.kappa_max, b.kappa_max)] for own in (a, b)))
    shares = [_examined(own) for own in (a, b)]
    for j in range(first, len(examined) + 1):
        if examined[j - 1] < FEWEST_EXAMINED:
            return
        yield f"α_{j}", share_change(shares[0](j), shares[1](j), level, pairs)


def _examined(own: Observed) -> Callable[[int], Share]:
    """Acceptances of draft j of those examined, by independent unit."""
    if own.clustered:
        hits, risk = own.reached_by_group(), own.examined_by_group()
        return lambda j: Share(hits[:, j - 1], risk[:, j - 1])
    hits, risk = own.reached(), own.examined()
    return lambda j: Share.alone(int(hits[j - 1]), int(risk[j - 1]))


def _family(name: str, changes: list[tuple[str, Change]], level: float, p_of: dict[str, float]) -> list[Row]:
    alone = [p_of.get(what, change.p_value) for what, change in changes]
    return [
        Row(what, name, change, own, own <= 1.0 - level, p)
        for (what, change), own, p in zip(changes, _holm(alone), alone, strict=True)
    ]


def _holm(p_values: list[float]) -> list[float]:
    """Adjusted p; NaN stays, and is none of the family."""
    out = np.array(p_values, float)
    known = np.isfinite(out)
    out[known] = holm(out[known])
    return [float(p) for p in out]


def _at_effect(change: Change, effect: float) -> float:
    """p if rounds hung together so that the variance is ``effect`` times as large."""
    error = change.error * math.sqrt(effect)
    return Change(change.a, change.b, change.difference, math.nan, math.nan, error, change.freedom).p_value


def _power(change: Change, level: float, kappa: int | None = None) -> Power | None:
    """None where a run accepted nothing or everything: its units show no spread, so that the error is the other's."""
    if kappa is not None and {change.a, change.b} & {1.0, kappa + 1.0}:
        return None
    return power(change.error, change.freedom, level) if 0.0 < change.error < math.inf else None


def _needed(
    change: Change, first: Run, second: Run, detect: float | None, level: float
) -> tuple[int, int | None] | None:
    """Rounds of each run that find ``detect``, and requests."""
    if detect is None or not 0.0 < change.error < math.inf:
        return None
    known = [run.observed for run in (first, second) if run.observed is not None and run.observed.clustered]
    per_unit = sum(own.rounds for own in known) / sum(own.groups for own in known) if known else 1.0
    own = 2.0 / (1.0 / first.rounds + 1.0 / second.rounds)
    needed = rounds_needed(change.error**2 * own, detect, per_unit, level)
    return needed, math.ceil(needed / per_unit) if known else None


def _unit(run: Run) -> str:
    return run.observed.unit if run.observed is not None and run.observed.clustered else run.counted


def _fixed(run: Run) -> int:
    """Draft length that every round, or nearly every one, was offered."""
    assert run.observed is not None
    return run.kappa or int(run.observed.drafted.min())


def _faults(run: Run, other: Run | None, level: float) -> tuple[Fault, ...]:
    """Faults seen while reading, in the rounds, and in the speed."""
    own = list(run.faults)
    if run.observed is not None:
        beside = None if other is None else other.observed
        own += faults(
            run.observed, level, None if beside is None else float(beside.reached()[0] / beside.examined()[0])
        )
    if run.base and run.speeds and run.emitted is not None:
        cost = run.emitted * run.base / (sum(run.speeds) / len(run.speeds))
        if cost < 1.0:
            says = (
                f"R = E·base/speed = {cost:.2f}: a round cannot be cheaper than one plain step; E is not of this run, "
                "the bonus token is counted twice, or the base speed was measured with other settings"
            )
            own.append(Fault("ROUND_COST_BELOW_ONE", says, True))
    return tuple(own)
