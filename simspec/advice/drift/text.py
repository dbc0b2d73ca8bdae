"""How does the answer read?  What changed in a sentence, the stretches as a table, and what is taken for granted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from simspec.advice.drift.worth import MOST, Worth
from simspec.evidence.changes.course import ROUND
from simspec.evidence.changes.detect import DETECTORS, Change
from simspec.evidence.changes.stretches import Stretch, kappa_runs
from simspec.evidence.observed import REQUEST
from simspec.evidence.source import WARNINGS
from simspec.text import bullets, clean, kappa_set, number, plural, table, wrapped

if TYPE_CHECKING:
    from simspec.advice.drift.answer import DriftAnswer

_ROWS, _LETTERS = 20, 40
_SAID = 3
"""Changes that are told in sentences; the table has all."""
UNSTEADY = 10.0
"""Design effect from which a steady rate is in doubt.  Verdicts of one steady rate that hang together by ρ vary
(1 + ρ)/(1 − ρ) times as much as independent ones, 4 times at ρ = .6; 10 would take ρ > .81."""
_TOLD = ("BATCH_CHANGES_IN_LOG", "COUNTER_RESET", "MIXED_DRAFTERS", "MULTI_ENGINE_POOLING", "TREE_DRAFTER")
"""Warnings of the source that may be the reason of a change."""


def shown(own: DriftAnswer) -> str:
    """The answer as text."""
    parts = [
        clean(f"{', '.join(own.source.files)}: {own.source.shape} ({own.source.engine})") + "\n" + _headline(own),
        _table(own),
    ]
    parts += [wrapped(text) for text in (_kappa_by_itself(own), _monitor(own), _worth(own)) if text]
    parts += [bullets("taken for granted", notes(own)), _next(own)]
    return "\n\n".join(parts)


def _headline(own: DriftAnswer) -> str:
    rounds = plural(int(own.course.rounds.sum()), "round")
    if not own.changes:
        only = own.stretches[0]
        low, high = only.interval
        return wrapped(
            f"acceptance does not change along the log as far as {rounds} tell: α = {only.alpha:.3f} "
            f"[{low:.3f}, {high:.3f}] of the drafts examined; {_kappa(own, 0)}.  {_unseen(own)}"
            + "".join(f".  {said}" for said in unsteady(own))
        )
    lines = []
    for i, change in enumerate(own.changes[:_SAID]):
        before, after = own.stretches[i], own.stretches[i + 1]
        verb = "falls" if rate(own, after) < rate(own, before) else "rises"
        lines.append(
            f"acceptance {verb} from {rate(own, before):.1%} to {rate(own, after):.1%} of the drafts examined"
            f"{'' if own.one_kappa else ' (at the same positions)'} at {_place(own, change.unit)}"
            f"{_between(own, change)}; {_kappa_there(own, change) or _kappa(own, i, i + 1)}"
        )
    if len(own.changes) > _SAID:
        lines.append(f"{plural(len(own.changes), 'change')} in {rounds}: all of them are in the table")
    return "\n".join(map(wrapped, lines))


def unsteady(own: DriftAnswer) -> list[str]:
    """Where nothing can be placed and blocks vary far more than chance: that this is no steady rate."""
    blocks = own.blocks
    if own.changes or blocks.design < UNSTEADY:
        return []
    about = number(own.course.rounds.sum() / len(blocks.values), 0)
    between = ", as from one request to the next" if own.course.unit == REQUEST else ""
    return [
        f"But acceptance goes up and down within stretches shorter than what can be placed (stretches of about {about} "
        f"rounds{' and more' if blocks.tied else ''} vary {blocks.design:.0f} times as much as independent verdicts "
        f"would{between}): no proof of a steady rate"
    ]


def _unseen(own: DriftAnswer) -> str:
    if own.unseen is None:
        return "The log is too short or too uneven to tell of any fall in its middle"
    return f"A fall by {own.unseen:.3f} in the middle would have been told, a smaller one perhaps not"


def rate(own: DriftAnswer, stretch: Stretch) -> float:
    """What is compared: where κ differs, at the same positions."""
    return stretch.alpha if own.one_kappa else stretch.alpha_same


def _place(own: DriftAnswer, unit: int) -> str:
    """A place in words: a line of the file, a request, or a round."""
    course = own.course
    if course.begins is not None:
        return ":".join(map(str, line(own, unit)))
    if course.names is not None:
        return f"{course.unit} {unit + 1:,} ({clean(course.names[unit])[:_LETTERS]})"
    return f"{course.unit} {_number(own, unit):,}"


def line(own: DriftAnswer, unit: int) -> tuple[str, int]:
    assert own.course.begins is not None
    file, line = own.course.begins[unit]
    return clean(Path(file).name), line


def _number(own: DriftAnswer, unit: int) -> int:
    """What a unit is called where it has no name: its round, its line, or its own number."""
    if own.course.begins is not None:
        return line(own, unit)[1]
    return own.course.round_at(unit) if own.course.unit == ROUND else unit + 1


def _between(own: DriftAnswer, change: Change) -> str:
    if change.low == change.high:
        return ""
    return f", between {_number(own, change.low):,} and {_number(own, change.high):,} if it came at once"


def _kappa(own: DriftAnswer, *stretches: int) -> str:
    """What κ did."""
    sets = {own.kappas[i] for i in stretches}
    if len(sets) == 1 and len(own.kappas[stretches[0]]) == 1:
        return f"κ stays at {own.kappas[stretches[0]][0]:g}"
    means = [own.stretches[i].mean_kappa for i in stretches]
    if len(means) == 1:
        return f"κ = {_set(own.kappas[stretches[0]])}, {means[0]:.2f} in the mean"
    return f"κ goes from {means[0]:.2f} to {means[1]:.2f} in the mean"


def _set(kappas: tuple[float, ...]) -> str:
    if all(kappa == int(kappa) for kappa in kappas):
        return kappa_set([int(kappa) for kappa in kappas])
    return f"{kappas[0]:.2f} to {kappas[-1]:.2f}"


def _kappa_by_itself(own: DriftAnswer) -> str:
    """Where κ changed, whatever acceptance did."""
    if own.one_kappa:
        return ""
    runs = kappa_runs(own.course)
    if runs is None:
        return "κ moves along the whole log"
    said = [f"{kappa:g} from {_place(own, first)} on" for first, kappa in runs]
    return f"κ was {', '.join(said)}"


def _kappa_there(own: DriftAnswer, change: Change) -> str:
    """What κ did at a change, where it moved seldom enough to say."""
    runs = kappa_runs(own.course)
    if own.one_kappa or runs is None:
        return ""
    before, after = (
        [kappa for first, kappa in runs if first <= unit][-1] for unit in (max(0, change.low - 1), change.high)
    )
    return f"κ stays at {after:g} there" if before == after else f"κ goes from {before:g} to {after:g} there"


def _table(own: DriftAnswer) -> str:
    head = [
        f"from {'line' if own.course.begins is not None else own.course.unit}",
        "rounds",
        "examined",
        "α",
        f"{own.level:.0%} interval",
    ]
    head += [] if own.one_kappa else ["α same positions"]
    head += ["κ", "mean κ"] + (["best κ", "speed-up"] * isinstance(own.worth, Worth))
    rows = []
    for i, part in enumerate(own.stretches):
        row = [f"{_number(own, part.first):,}", f"{part.rounds:,}", f"{part.examined:,}", number(part.alpha, 3)]
        row.append(f"[{part.interval[0]:.3f}, {part.interval[1]:.3f}]")
        row += [] if own.one_kappa else [number(part.alpha_same, 3)]
        row += [_set(own.kappas[i]), number(part.mean_kappa, 2)]
        if isinstance(own.worth, Worth):
            row += [str(own.worth.kappas[i] or "off"), f"{own.worth.speedups[i]:.2f}x"]
        rows.append(row)
    return table(head, rows, _ROWS)


def _monitor(own: DriftAnswer) -> str:
    """How soon the first change would have been known."""
    if not own.changes:
        return ""
    first, name = own.changes[0], DETECTORS[own.detector].name
    late = own.course.round_at(first.told) - own.course.round_at(first.unit)
    return (
        f"a monitor that reads along (river's {name}) would have told of the first change {late:,} rounds later, at "
        f"{_place(own, first.told - 1)}"
    )


def _worth(own: DriftAnswer) -> str:
    worth = own.worth
    if not isinstance(worth, Worth):
        return worth or ""
    if not own.changes:
        return (
            f"best κ {worth.fixed or 'off'} throughout, {worth.speedup_fixed:.2f}x: nothing asks for another on the way"
        )
    file = clean(own.source.files[0])
    return (
        f"best κ by stretch {', '.join(str(kappa or 'off') for kappa in worth.kappas[:_ROWS])}; one κ for all: "
        f"{worth.fixed or 'off'} at {worth.speedup_fixed:.2f}x.  Changing κ at these very places would be worth "
        f"{worth.gain:.1%}; what a controller that has to notice gets of it:  simspec league {file}"
    )


def notes(own: DriftAnswer) -> list[str]:
    blocks, idle = own.blocks, own.source.body.get("pooled", {}).get("rounds_without_draft")
    notes = [
        f"{len(blocks.values):,} blocks of at least {blocks.rounds:,} rounds are compared, long enough not to hang "
        f"together; a block varies {blocks.design:.2f} times as much as independent verdicts would, and intervals are "
        "wider by that"
    ]
    if blocks.tied:
        notes.append(
            "neighbouring blocks still hang together, and longer ones would be too few: a change may be no more than "
            "a long spell of good or bad luck"
        )
    if not own.one_kappa:
        notes.append(
            "κ differs: a draft is compared with drafts at its own position only, so that a change of κ is none of "
            "acceptance; that a position's rate does not depend on the κ of its round is assumed"
        )
    if isinstance(own.worth, Worth) and own.worth.longest in own.worth.kappas:
        notes.append(f"κ = {own.worth.longest} is the longest that was weighed, as it is twice the longest seen, or 8")
    if idle:
        notes.append(f"{idle:,} rounds without a draft (κ = 0) hold no verdict: they are neither counted nor numbered")
    notes += own.course.notes
    notes += [f"{code}: {WARNINGS[code]} ({clean(own.source.warn[code])})" for code in _TOLD if code in own.source.warn]
    return notes


def _next(own: DriftAnswer) -> str:
    file = clean(own.source.files[0])
    if own.worth is not None:
        return f"next\n  simspec recommend {file}     how sure the best κ of the whole log is"
    if len(own.stretches) > MOST:
        return f"next\n  simspec fit {file}     processes with memory, if it moves that often"
    return (
        f"next\n  simspec drift {file} --draft-cost 0.1     the best κ of each stretch, and what changing it is worth"
    )
