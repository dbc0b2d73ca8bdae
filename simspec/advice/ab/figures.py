"""What do figures typed in say of a run?  ``"kappa=7 rounds=4816 accepted=12208"`` and the like."""

from __future__ import annotations

import itertools
import math
import re
from typing import Any

from simspec.advice.ab.run import Run, of_mean, of_rounds, rises
from simspec.advice.explain.speeds import refuse_comma
from simspec.evidence.block import reached_of
from simspec.evidence.figure_names import ACCEPTED, DRAFTED, EMITTED, KAPPA, ROUNDS, TOKENS
from simspec.evidence.observed import Observed
from simspec.model import KAPPA_LIMIT
from simspec.model.errors import ParameterError, did_you_mean, shown
from simspec.text import plural

MOST = 10**12
"""Largest count that is taken for one."""
ROUNDED = 0.0051
"""How far a rate printed with two decimals may be from the share it stands for."""
_WORDS = {
    "kappa": KAPPA,
    "rounds": (*ROUNDS, "drafts", "steps", "verify_ct", "n"),
    "accepted": (*ACCEPTED, "accepted_tokens"),
    "drafted": (*DRAFTED, "draft_tokens", "num_draft_tokens"),
    "tokens": (*TOKENS, "emitted_tokens"),
    "emitted": EMITTED,
    "survival": ("s", "per_position", "per_position_acceptance_rate"),
    "histogram": ("hist", "acceptance_histogram"),
    "speed": ("tok_s", "tps", "speeds"),
    "base": ("base_tok_s", "base_speed", "plain", "plain_speed"),
}
_KEY = {word: key for key, words in _WORDS.items() for word in (key, *words)}
_LISTS = ("survival", "histogram", "speed")
_SPEEDS = ("speed", "base")
_PAIR = re.compile(r"[\s,;]*([^\W\d]\w*)\s*=\s*([^=]*?)(?=[\s,;]+[^\W\d]\w*\s*=|$)")


def run_of_figures(text: str, name: str) -> Run:
    """A run from figures; ``name`` is what errors call it.

    Examples
    --------
    >>> run_of_figures("histogram=39,1,0,3", "A").observed.reached().tolist()
    [4, 3, 3]
    """
    own = _figures(text, name)
    speeds, base = tuple(own.get("speed", ())), own.get("base")
    named = " ".join(text.split())
    more: dict[str, Any] = {"speeds": speeds, "base": base}
    if any(speed <= 0.0 for speed in (*speeds, *(() if base is None else (base,)))):
        raise ParameterError(name, f"{name}: a speed is not above 0")
    if "histogram" in own:
        counts = [_whole(value, "histogram", name) for value in own["histogram"]]
        if len(counts) < 2 or sum(counts) == 0:
            raise ParameterError(name, f"{name}: histogram holds rounds that accepted 0, 1, … κ drafts; two or more")
        return of_rounds(named, Observed.of_counts([(len(counts) - 1, sum(counts), reached_of(counts))]), **more)
    if "survival" in own:
        return _of_survival(named, name, own, more)
    kappa, rounds = _kappa_and_rounds(own, name)
    if kappa is None or rounds is None:
        if speeds:
            return Run(named, kappa=kappa, **more)
        lacking = "κ (kappa=N)" if kappa is None else "the number of rounds (rounds=N, or drafted=N)"
        raise ParameterError(name, f"{name}: {lacking} is missing")
    accepted = _accepted(own, rounds, name)
    if not 0 <= accepted <= kappa * rounds:
        raise ParameterError(
            name,
            f"{name}: {accepted:g} accepted in {plural(rounds, 'round')} of {kappa}; allowed: 0 to {kappa * rounds:,}",
        )
    if accepted in (0, kappa * rounds) or (kappa == 1 and accepted == int(accepted)):  # the mean says all
        reached = [int(accepted) // kappa] * kappa
        return of_rounds(named, Observed.of_counts([(kappa, rounds, reached)]), **more)
    return of_mean(named, 1.0 + accepted / rounds, kappa, rounds, **more)


def _figures(text: str, name: str) -> dict[str, Any]:
    """Pairs key=value; lists of numbers where a key takes one."""
    own: dict[str, Any] = {}
    end = 0
    for found in _PAIR.finditer(text):
        if found.start() != end:
            break
        end = found.end()
        word = found.group(1)
        key = _KEY.get(word) or _KEY.get(word.lower())
        if key is None:
            raise ParameterError(name, f"{name}: unknown key {shown(word)}{_known(word)}")
        if key in own:
            raise ParameterError(name, f"{name}: {key} is given twice")
        try:
            values = [_value(part, key) for part in found.group(2).strip(" ,;[]()").replace(",", " ").split()]
        except ValueError:
            values = []
        if not values or not all(map(math.isfinite, values)) or (key not in _LISTS and len(values) > 1):
            kind = "numbers" if key in _LISTS else "one number"
            raise ParameterError(name, f"{name}: {word}={shown(found.group(2))} is not {kind}")
        if key in _SPEEDS:
            refuse_comma(name, f"{name}: {word}", found.group(2).strip(" ;[]()"), values)
        own[key] = values if key in _LISTS else values[0]
    if not own or text[end:].strip(" ,;"):
        raise ParameterError(
            name, f"{name}: {shown(text)} is no file, and not figures like kappa=3 rounds=500 accepted=900"
        )
    return own


def _value(text: str, key: str) -> float:
    """A number; a share also in percent."""
    return float(text[:-1]) / 100.0 if key == "survival" and text.endswith("%") else float(text)


def _known(word: str) -> str:
    """The nearest key, and all of them, once."""
    said, every = did_you_mean(word, _WORDS), f"; known: {', '.join(_WORDS)}"
    return said if said == every else said + every


def _of_survival(named: str, name: str, own: dict[str, Any], more: dict[str, Any]) -> Run:
    curve = own["survival"]
    if any(not 0.0 <= value <= 1.0 for value in curve):
        raise ParameterError(name, f"{name}: survival holds shares; allowed: 0 to 1 (0.74 for 74%)")
    kappa, rounds = _kappa_and_rounds(own | {"kappa": own.get("kappa", len(curve))}, name)
    if kappa != len(curve):
        raise ParameterError(name, f"{name}: {len(curve)} values of survival at κ = {kappa}; allowed: one per draft")
    for j, (before, after) in enumerate(itertools.pairwise(curve), start=2):
        if after > before:
            seen = f"S_{j} = {after:g} above S_{j - 1} = {before:g}"
            return Run(named, kappa=kappa, rounds=rounds or 0, faults=(rises(seen),), **more)
    if rounds is None:
        raise ParameterError(name, f"{name}: rounds=N is missing: survival without its number of rounds has no error")
    reached = [round(value * rounds) for value in curve]
    notes = [f"counts are those of {plural(rounds, 'round')} nearest to the rates given"]
    if any(abs(count / rounds - value) > ROUNDED for count, value in zip(reached, curve, strict=True)):
        notes.append(f"the rates are no shares of {plural(rounds, 'round')}: is the number right?")
    return of_rounds(named, Observed.of_counts([(kappa, rounds, reached)]), notes=tuple(notes), **more)


def _kappa_and_rounds(own: dict[str, Any], name: str) -> tuple[int | None, int | None]:
    kappa = _whole(own["kappa"], "kappa", name) if "kappa" in own else None
    if kappa is not None and not 1 <= kappa <= KAPPA_LIMIT:
        raise ParameterError(name, f"{name}: kappa = {kappa} is out of range; allowed: 1 ≤ kappa ≤ {KAPPA_LIMIT}")
    rounds = _whole(own["rounds"], "rounds", name) if "rounds" in own else None
    drafted = _whole(own["drafted"], "drafted", name) if "drafted" in own else None
    if drafted is not None and kappa is not None:
        if rounds is None and drafted % kappa:
            raise ParameterError(
                name, f"{name}: {drafted:,} drafted tokens are no multiple of κ = {kappa}; give rounds=N"
            )
        if rounds is not None and rounds * kappa != drafted:
            raise ParameterError(name, f"{name}: {drafted:,} drafted tokens are not {rounds:,} rounds of {kappa}")
        rounds = drafted // kappa
    if rounds is not None and rounds < 1:
        raise ParameterError(name, f"{name}: rounds = {rounds} is out of range; allowed: rounds ≥ 1")
    return kappa, rounds


def _accepted(own: dict[str, Any], rounds: int, name: str) -> float:
    """Accepted drafts from whichever figure says it; two of them must agree."""
    told = {
        "accepted": own.get("accepted"),
        "tokens": None if "tokens" not in own else own["tokens"] - rounds,
        "emitted": None if "emitted" not in own else (own["emitted"] - 1.0) * rounds,
    }
    known = {key: value for key, value in told.items() if value is not None}
    if not known:
        raise ParameterError(
            name, f"{name}: one of accepted=N, tokens=N, emitted=E, survival=…, histogram=… is missing"
        )
    best = next(iter(known.values()))
    slack = 0.005 * rounds + 1.0  # E is printed with two decimals
    if max(known.values()) - min(known.values()) > slack:
        said = ", ".join(f"{key} says {value:g}" for key, value in known.items())
        raise ParameterError(name, f"{name}: accepted drafts contradict each other ({said})")
    return float(best)


def _whole(value: float, key: str, name: str) -> int:
    if value != int(value) or not 0 <= value <= MOST:
        raise ParameterError(name, f"{name}: {key} = {value:g} is not a whole number from 0 to {MOST:,}")
    return int(value)
