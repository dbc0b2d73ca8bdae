"""How fast was plain decoding, and how fast with speculation?  One unit, or refused; unlike runs are not compared."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from simspec.model.errors import ParameterError, shown
from simspec.stats.intervals import student

Figure = float | str | Sequence[float]
"""A number; ``"86.0±0.5"``, where ± is one standard error; or repeats of one measurement."""

UNEQUAL = 0.05
"""Relative difference of the tokens produced beyond which two runs did not do the same work."""
LEAST, MOST = 1e-9, 1e12
"""Of any speed or time: beyond, no machine is meant."""
_MANY = 10**9
REPEATS_APART = 2.0
"""Factor between repeats of one measurement beyond which they are none."""

PER_SECOND, PER_TOKEN, PER_ROUND = "tok/s", "ms per token", "ms per round"
UNITS = {
    "base_tok_s": PER_SECOND,
    "base_tpot_ms": PER_TOKEN,
    "spec_tok_s": PER_SECOND,
    "spec_tpot_ms": PER_TOKEN,
    "spec_round_ms": PER_ROUND,
    "spec_itl_ms": PER_ROUND,
}
"""Name of a figure → its unit."""
FLAGS = {
    "base_tok_s": "--base-speed",
    "base_tpot_ms": "--base-tpot",
    "spec_tok_s": "--spec-speed",
    "spec_tpot_ms": "--spec-tpot",
    "spec_itl_ms": "--spec-itl",
}
"""Name of a figure → its option on the command line, where that is another word."""


@dataclass(frozen=True)
class Measured:
    """A positive figure; ``half`` is half the width of its interval on the scale of logarithms, 0 where unknown."""

    value: float
    half: float = 0.0


@dataclass(frozen=True)
class Speeds:
    """Both speeds in one unit.

    Attributes
    ----------
    ratio : Measured or None
        Plain time ÷ speculative time per token, where the latter is per token; the speed-up.
    round_cost : Measured or None
        Round time ÷ plain time per token, where the speculative figure is per round; R.
    plain_ms : float or None
        Of one plain step of one stream; None where only tok/s of an unknown number of streams are known.
    gap_ms, token_ms : float or None
        Time between chunks, and per token of one stream, with speculation, where measured.
    gap_is_itl : bool
        The gap is an ITL, a median as a rule.
    """

    ratio: Measured | None = None
    round_cost: Measured | None = None
    plain_ms: float | None = None
    gap_ms: float | None = None
    token_ms: float | None = None
    gap_is_itl: bool = False


def measured(name: str, typed: Figure, level: float) -> Measured:
    """A figure with its error.

    Raises
    ------
    ParameterError
        It is no positive number.

    Examples
    --------
    >>> measured("base_tok_s", 86.0, 0.95), round(measured("base_tok_s", "86±0.5", 0.95).half, 4)
    (Measured(value=86.0, half=0.0), 0.0114)
    """
    allowed = "a positive number, VALUE±ERROR, or repeats with commas"
    parts: list[object]
    error = 0.0
    try:
        if isinstance(typed, str):
            text, _, after = typed.replace("+-", "±").partition("±")
            parts, error = list(text.replace(",", " ").split()), float(after) if after else 0.0
        else:
            parts = list(typed) if isinstance(typed, (list, tuple)) else [typed]
        numbers = [float(part) for part in parts]  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(name, f"{flag_of(name)} = {shown(typed)}; allowed: {allowed}") from None
    if not numbers or not all(LEAST <= value <= MOST for value in numbers) or not 0.0 <= error <= MOST:
        raise ParameterError(name, f"{flag_of(name)} = {shown(typed)} is out of range; allowed: {allowed}")
    refuse_comma(name, flag_of(name), typed, numbers)
    mean, count = math.fsum(numbers) / len(numbers), len(numbers)
    if count == 1:
        return Measured(mean, student(level, _MANY) * error / mean)
    if error:
        raise ParameterError(name, f"{flag_of(name)} = {shown(typed)}: ± stands beside one number, not beside repeats")
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in numbers) / (count - 1) / count)
    return Measured(mean, student(level, count) * spread / mean)


def refuse_comma(key: str, where: str, typed: object, numbers: Sequence[float]) -> None:
    """Refuse what may be one number with a decimal comma, and repeats too far apart to be of one measurement.

    Examples
    --------
    >>> refuse_comma("base_tok_s", "--base-speed", "86.1,85.7", [86.1, 85.7])
    """
    if isinstance(typed, str) and re.fullmatch(r"\s*\d+,\d+\s*", typed):
        one, other = typed.strip().split(",")
        raise ParameterError(
            key, f"{where} = {shown(typed)} may be {one}.{other} or two repeats; write {one}.{other}, or "
            f"{one}.0,{other}.0",
        )  # fmt: skip
    if len(numbers) > 1 and max(numbers) > REPEATS_APART * min(numbers):
        raise ParameterError(
            key, f"{where} = {shown(typed)}: repeats of one measurement that differ by more than a factor of "
            f"{REPEATS_APART:g}; a comma separates them, and the decimal sign is a point",
        )  # fmt: skip


def speeds(figures: dict[str, Figure], streams: float | None, level: float) -> Speeds:
    """Both speeds in one unit.

    Parameters
    ----------
    figures : dict
        By the names of `UNITS`; nothing, or one of each side; ``spec_itl_ms`` may stand beside a speed.
    streams : float, optional
        Concurrent streams behind a figure in tok/s; a figure in ms is of one stream.
    level : float

    Raises
    ------
    ParameterError
        Units are mixed, a side is missing, or a figure is out of range.

    Examples
    --------
    >>> round(speeds({"base_tok_s": 342.2, "spec_tok_s": 128.3}, None, 0.95).ratio.value, 3)
    0.375
    >>> speeds({"base_tpot_ms": 10.0, "spec_round_ms": 15.0}, None, 0.95).round_cost.value
    1.5
    """
    if not figures:
        return Speeds()
    if streams is not None and streams < 1:
        raise ParameterError("streams", f"streams = {streams:g} is out of range; allowed: streams ≥ 1")
    beside = figures.get("spec_itl_ms") if {"spec_tok_s", "spec_tpot_ms", "spec_round_ms"} & set(figures) else None
    chosen = {name: value for name, value in figures.items() if not (name == "spec_itl_ms" and beside is not None)}
    if beside is not None and not any(name.startswith("base") for name in figures):
        return _spec_alone(chosen, beside, streams, level)
    base, spec = _one_of(chosen, "base"), _one_of(chosen, "spec")
    if (UNITS[base] == PER_SECOND) != (UNITS[spec] == PER_SECOND) and streams is None:
        raise ParameterError(
            spec,
            f"{flag_of(base)} in {UNITS[base]} and {flag_of(spec)} in {UNITS[spec]} are not comparable: tok/s add up "
            "all streams, ms are of one; give both in one unit, or --streams N (1 for batch 1)",
        )
    plain, own = _time(base, chosen[base], streams, level), _time(spec, chosen[spec], streams, level)
    half = math.hypot(plain.half, own.half)
    per_round = UNITS[spec] == PER_ROUND
    known = streams is not None or UNITS[base] != PER_SECOND
    itl = None if beside is None else measured("spec_itl_ms", beside, level).value
    return Speeds(
        ratio=None if per_round else Measured(plain.value / own.value, half),
        round_cost=Measured(own.value / plain.value, half) if per_round else None,
        plain_ms=plain.value if known else None,
        gap_ms=itl if itl is not None else own.value if per_round else None,
        token_ms=own.value if known and not per_round else None,
        gap_is_itl=itl is not None or spec == "spec_itl_ms",
    )


def _spec_alone(figures: dict[str, Figure], itl: Figure, streams: float | None, level: float) -> Speeds:
    """ITL beside the speed of the same run: no speed-up, but what a gap is and what a token takes."""
    name = _one_of(figures, "spec")
    known = streams is not None or UNITS[name] != PER_SECOND
    token = _time(name, figures[name], streams, level).value if known and UNITS[name] != PER_ROUND else None
    return Speeds(gap_ms=measured("spec_itl_ms", itl, level).value, token_ms=token, gap_is_itl=True)


def _one_of(figures: dict[str, Figure], side: str) -> str:
    names = [name for name in figures if name.startswith(side)]
    flags = ", ".join(flag_of(name) for name in UNITS if name.startswith(side))
    if len(names) != 1:
        said = (
            " and ".join(map(flag_of, names)) or f"no speed of the {'plain' if side == 'base' else 'speculative'} run"
        )
        raise ParameterError(f"{side}_tok_s", f"{said} given; allowed: one of {flags}")
    return names[0]


def _time(name: str, typed: Figure, streams: float | None, level: float) -> Measured:
    """In ms of one stream; of all streams together where their number is not known."""
    own = measured(name, typed, level)
    return Measured(1000.0 * (streams or 1) / own.value, own.half) if UNITS[name] == PER_SECOND else own


def same_work(base_tokens: int | None, spec_tokens: int | None) -> None:
    """Refuse runs that produced unlike numbers of tokens.

    Raises
    ------
    ParameterError
        They differ by more than `UNEQUAL`.

    Examples
    --------
    >>> same_work(1000, 1010)
    """
    if base_tokens is None or spec_tokens is None:
        return
    if min(base_tokens, spec_tokens) < 1:
        raise ParameterError("spec_tokens", "tokens produced are out of range; allowed: whole numbers of at least 1")
    if abs(base_tokens - spec_tokens) > UNEQUAL * max(base_tokens, spec_tokens):
        raise ParameterError(
            "spec_tokens",
            f"not comparable: the plain run produced {base_tokens:,} tokens, the speculative one {spec_tokens:,}; with "
            "unequal output, fixed times and batch sizes differ, so tok/s say nothing; make both produce the same "
            "(ignore_eos, same max_tokens)",
        )


def same_setup(base: str | None, spec: str | None) -> None:
    """Refuse runs on different hardware, batch or settings, where told.

    Examples
    --------
    >>> same_setup("A100, batch 8", "A100, batch 8")
    """
    if base is not None and spec is not None and " ".join(base.split()) != " ".join(spec.split()):
        raise ParameterError(
            "spec_setup",
            f"not comparable: plain on {shown(base)}, speculative on {shown(spec)}; R is a ratio of times on one setup",
        )


def flag_of(name: str) -> str:
    """The option on the command line that gives a figure.

    Examples
    --------
    >>> flag_of("base_tok_s"), flag_of("spec_round_ms")
    ('--base-speed', '--spec-round-ms')
    """
    return FLAGS.get(name, "--" + name.replace("_", "-"))
