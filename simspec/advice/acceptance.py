"""What is known of acceptance: tokens per round and survival at one κ, from a log or from figures typed in?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simspec import theory
from simspec.advice.convert.typed import ABOVE_ONE
from simspec.advice.curves import conditional_of, iid_alpha, survival_of, variance_of
from simspec.advice.emitted_intervals import Interval, all_alike, of_alike, of_iid, of_variance
from simspec.evidence.costs.points import EARLY
from simspec.evidence.kappa_seen import check_kappa
from simspec.evidence.line_means import LineMeans
from simspec.evidence.observed import Observed
from simspec.evidence.source import POOLED, Source, Unknown
from simspec.model import KAPPA_LIMIT, Iid
from simspec.model.errors import ParameterError
from simspec.text import number

LEAST_PERCENT = 2.0
"""A share above 1 is a percentage from here on; below, a rate that counts the bonus token is the likelier reason."""
_SLACK = 1e-9
_WITHOUT_KAPPA = ("drafts", "mean_emitted_per_round", "intervals")
"""Figures that hold whatever κ was."""
_GIVEN = ("emitted", "alpha", "survival", "conditional", "rate")


@dataclass(frozen=True, eq=False)
class Acceptance:
    """What is known of acceptance.

    Attributes
    ----------
    kappa : int or None
        Draft length at which it was seen; None where κ changes, or a rate is assumed without one.
    emitted : float or None
        E, tokens per round with the bonus token; None only for an assumed ``alpha`` without κ.
    emitted_interval : (low, high) or None
        Of E; None where the number of rounds is not known.
    survival : tuple of float or None
        S_1 … S_kappa: share of rounds that accept drafts 1 … j; None where only a mean is known or κ changes.
    mean_drafted : float or None
        Drafts per round; kappa unless drafts are cut short.
    observed : Observed or None
        The rounds themselves.
    alpha : float or None
        Rate of one examined draft that would give this E if drafts were i.i.d.; None where κ changes.
    rounds : int or None
        Rounds behind the figures.
    origin : str
        Where it comes from, in words.
    source : Source or None
        The log it was read from, with its times and warnings.
    """

    kappa: int | None
    emitted: float | None
    emitted_interval: Interval | None
    survival: tuple[float, ...] | None
    mean_drafted: float | None
    observed: Observed | None
    origin: str
    alpha: float | None = None
    rounds: int | None = None
    source: Source | None = None

    @property
    def conditional(self) -> tuple[float, ...] | None:
        """α_j = S_j ÷ S_(j−1), as far as S_(j−1) is above 0; None without survival."""
        if self.survival is None:
            return None
        return tuple(alpha for alpha in conditional_of(self.survival) if alpha is not None)

    @property
    def drafts(self) -> float | None:
        """Drafts per round: κ unless drafts are cut short."""
        return self.kappa if self.mean_drafted is None else self.mean_drafted

    @property
    def line_means(self) -> LineMeans | None:
        """Behind E where it comes from printed means, whose number of rounds is not known."""
        return None if self.source is None or self.rounds is not None else self.source.line_means

    @property
    def one_length(self) -> bool:
        """Whether drafts have κ tokens, but for a last one that is cut."""
        return self.kappa is not None and self.drafts is not None and self.drafts >= EARLY * self.kappa

    @property
    def rejecting(self) -> float | None:
        """Share of rounds that reject a draft; i.i.d. drafts are assumed where only a mean is known."""
        if self.observed is not None and self.observed.rounds:
            cut = self.observed.count[self.observed.accepted < self.observed.drafted].sum()
            return float(cut) / self.observed.rounds
        if self.kappa is None or not self.one_length:
            return None
        if self.survival is not None and len(self.survival) == self.kappa:
            return 1.0 - self.survival[-1]
        return None if self.alpha is None else 1.0 - float(self.alpha**self.kappa)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; what is not known is None."""
        return {
            "kappa": self.kappa,
            "emitted": self.emitted,
            "emitted_interval": None if self.emitted_interval is None else list(self.emitted_interval),
            "survival": None if self.survival is None else list(self.survival),
            "conditional": None if self.conditional is None else list(self.conditional),
            "alpha_if_iid": self.alpha,
            "mean_drafted": self.mean_drafted,
            "rounds": self.rounds,
            "origin": self.origin,
        }


def acceptance_of_source(source: Source, level: float = 0.95, kappa: int | None = None) -> Acceptance:
    """Acceptance in one log.

    Parameters
    ----------
    source : Source
        From `simspec.fit`.
    level : float
        Confidence level the log was read with; its intervals are taken as they are.
    kappa : int, optional
        Draft length, where the shape does not hold it.

    Raises
    ------
    ParameterError
        The source has no tokens per round; the message says why, and what would help.

    Examples
    --------
    >>> source = Source("some", "engine", {"pooled": {"kappa": 2, "drafts": 10, "mean_emitted_per_round": 2.1}})
    >>> acceptance_of_source(source).emitted
    2.1
    """
    check_kappa(source, kappa)
    block = _block(source)
    where = ", ".join(source.files) or source.shape
    emitted = block.get("mean_emitted_per_round", Unknown("the shape does not give it"))
    if isinstance(emitted, Unknown) and source.line_means is not None:
        return _of_lines(source, source.line_means, _number(block.get("kappa")) or kappa, level)
    if isinstance(emitted, Unknown):
        raise ParameterError(
            "files", f"{where}: tokens per round are not known: {emitted.reason}; type them in: --emitted E --kappa N"
        )
    _check_emitted(source, emitted, kappa)
    seen = _number(block.get("kappa")) or _number(block.get("kappa_max")) or kappa
    drafts, drafted = _number(block.get("drafts")), _number(block.get("draft_tokens"))
    passes = drafts or _number(block.get("drafts_upper"))  # E counts passes without a draft where it cannot tell them
    mean_drafted = drafted / passes if passes and drafted else seen
    survival = _known(block.get("survival"))
    alpha = _known(block.get("iid_alpha_mle_from_mean", block.get("iid_alpha_from_emitted")))
    if alpha is None and seen is not None:
        alpha = iid_alpha(emitted - 1.0, int(seen))
    own = _known(block.get("intervals")) or {}
    interval = own.get("mean_emitted_per_round")
    rounds = None if drafts is None else int(drafts)
    if rounds and seen is not None and all_alike(emitted, int(seen)):
        interval = of_alike(emitted, int(seen), own.get("requests", own.get("groups", rounds)), level)
    elif interval is None and rounds and alpha is not None and seen is not None:
        interval = of_iid(alpha, int(seen), emitted, rounds, level)
    return Acceptance(
        kappa=None if seen is None else int(seen),
        emitted=float(emitted),
        emitted_interval=None if interval is None else (float(interval[0]), float(interval[1])),
        survival=None if survival is None else tuple(map(float, survival)),
        mean_drafted=mean_drafted,
        observed=None if isinstance(source.observed, Unknown) else source.observed,
        origin=_origin(source),
        alpha=alpha,
        rounds=rounds,
        source=source,
    )


def _check_emitted(source: Source, emitted: float, kappa: int | None) -> None:
    """A κ that the caller names may be too short for what was emitted."""
    if kappa is not None and emitted > kappa + 1.0 + _SLACK:
        where = ", ".join(source.files)
        raise ParameterError(
            "kappa", f"{where}: kappa = {kappa} contradicts it: E = {emitted:.3f} is above κ + 1 = {kappa + 1}"
        )


def _of_lines(source: Source, means: LineMeans, kappa: int | None, level: float) -> Acceptance:
    """Of lines that print means without counts; `LineMeans.says` what is assumed."""
    _check_emitted(source, means.emitted, kappa)
    interval, most = means.interval(level), math.inf if kappa is None else kappa + 1.0
    return Acceptance(
        kappa=kappa,
        emitted=means.emitted,
        emitted_interval=None if interval is None else (interval[0], min(most, interval[1])),
        survival=None,
        mean_drafted=kappa,
        observed=None,
        origin=_origin(source),
        alpha=None if kappa is None else iid_alpha(means.emitted - 1.0, kappa),
        source=source,
    )


def _origin(source: Source) -> str:
    """Files and shape; that files were read as pieces of one log is said."""
    where = ", ".join(source.files) or source.shape
    pieces = f"{len(source.files)} files pooled as one log: " if source.pieces else ""
    return f"{pieces}{where} ({source.shape})"


def _block(source: Source) -> Mapping[str, Any]:
    """The one block of a source that speaks for all of it."""
    body = source.body
    for name in POOLED:
        if isinstance(body.get(name), dict):
            own = dict(body[name])
            if isinstance(own.get("mean_emitted_per_round"), Unknown) and len(body.get("given_kappa", {})) == 1:
                ((kappa, more),) = body["given_kappa"].items()
                own |= {"kappa": int(kappa), **more}
            return {key: own[key] for key in _WITHOUT_KAPPA if key in own} if source.assumes_kappa else own
    parts = body.get("segments", [])
    where = ", ".join(source.files) or source.shape
    if len(parts) == 1:
        return dict(parts[0])
    if parts:
        raise ParameterError(
            "files",
            f"{where}: {len(parts)} segments between restarts, each with its own counts (simspec fit shows them); "
            "type one in: --emitted E --kappa N --rounds N",
        )
    raise ParameterError("files", f"{where}: {source.shape} holds no figures per round")


def _known(value: Any) -> Any:
    return None if isinstance(value, Unknown) else value


def _number(value: Any) -> Any:
    return value if isinstance(value, (int, float, np.number)) and not isinstance(value, bool) else None


def acceptance_of_numbers(
    kappa: int | None = None,
    emitted: float | None = None,
    alpha: float | None = None,
    survival: Sequence[float] | None = None,
    conditional: Sequence[float] | None = None,
    rate: float | None = None,
    rounds: int | None = None,
    level: float = 0.95,
) -> Acceptance:
    """Acceptance from figures typed in: exactly one of the five.

    Parameters
    ----------
    kappa : int, optional
        Draft length at which they were seen, 1 ≤ kappa ≤ 256; the length of the list where there is one.
    emitted : float
        E, tokens per round with the bonus token, 1 ≤ E ≤ kappa + 1; needs ``kappa``.
    alpha : float
        Rate of one examined draft, i.i.d.
    survival, conditional : sequence of float
        S_j, or α_j = S_j ÷ S_(j−1), from the first position on.
    rate : float
        accepted ÷ drafted at ``kappa``.
    rounds : int, optional
        Rounds behind the figures, at least 1: gives them an error.
    level : float
        Confidence level of the interval.

    Raises
    ------
    ParameterError
        Nothing or more than one is given, or a figure is out of range.

    Examples
    --------
    >>> own = acceptance_of_numbers(kappa=3, emitted=2.29)
    >>> round(own.alpha, 3), own.survival
    (0.634, None)
    >>> [round(end, 2) for end in acceptance_of_numbers(survival=[0.74, 0.48], rounds=23).emitted_interval]
    [1.85, 2.59]
    """
    given = {"emitted": emitted, "alpha": alpha, "survival": survival, "conditional": conditional, "rate": rate}
    named = [name for name in _GIVEN if given[name] is not None]
    if len(named) != 1:
        said = " and ".join(f"--{name}" for name in named) or "nothing"
        raise ParameterError("emitted", f"{said} given; allowed: exactly one of --{', --'.join(_GIVEN)}, or a log")
    if rounds is not None and rounds < 1:
        raise ParameterError("rounds", f"rounds = {rounds} is out of range; allowed: rounds ≥ 1")
    if kappa is not None and not 1 <= kappa <= KAPPA_LIMIT:
        raise ParameterError("kappa", f"kappa = {kappa} is out of range; allowed: 1 ≤ kappa ≤ {KAPPA_LIMIT}")
    curve = survival if survival is not None else None if conditional is None else _products(conditional)
    if curve is not None:
        return _of_curve(_curve(curve), kappa, rounds, level, named[0])
    if alpha is not None:
        _check_share("alpha", alpha)
        mean = None if kappa is None else theory.window(Iid(alpha=alpha), kappa).mean_tokens
        origin = f"assumed: i.i.d. drafts with α = {alpha:g}"
        return _of_mean(kappa, mean, alpha, rounds, level, origin)
    if kappa is None:
        raise ParameterError("kappa", f"--{named[0]} needs --kappa, the draft length at which it was seen")
    if rate is not None:
        _check_share("rate", rate)
        return _of_mean(
            kappa, 1.0 + kappa * rate, None, rounds, level, f"given: accepted ÷ drafted = {rate:g} at κ = {kappa}"
        )
    assert emitted is not None
    if not 1.0 <= emitted <= kappa + 1.0:
        hint = " (an accepted length without the bonus token is one less)" if 0.0 <= emitted < 1.0 else ""
        raise ParameterError(
            "emitted",
            f"emitted = {emitted:g} at κ = {kappa} is out of range; allowed: 1 ≤ emitted ≤ {kappa + 1}{hint}",
        )
    return _of_mean(kappa, emitted, None, rounds, level, f"given: {emitted:g} tokens per round at κ = {kappa}")


def _of_mean(
    kappa: int | None, emitted: float | None, alpha: float | None, rounds: int | None, level: float, origin: str
) -> Acceptance:
    if alpha is None and kappa is not None and emitted is not None:
        alpha = iid_alpha(emitted - 1.0, kappa)
    known = kappa is not None and emitted is not None and alpha is not None and rounds is not None
    interval = of_iid(alpha, kappa, emitted, rounds, level) if known else None  # type: ignore[arg-type]
    return Acceptance(kappa, emitted, interval, None, kappa, None, origin, alpha, rounds)


def _of_curve(curve: tuple[float, ...], kappa: int | None, rounds: int | None, level: float, name: str) -> Acceptance:
    if kappa is not None and kappa > len(curve):
        raise ParameterError(
            "kappa", f"kappa = {kappa} is beyond the {len(curve)} positions given; allowed: 1 ≤ kappa ≤ {len(curve)}"
        )
    curve = curve[:kappa]
    emitted, observed, interval = 1.0 + math.fsum(curve), None, None
    if rounds is not None:
        observed = Observed.of_counts([(len(curve), rounds, [round(s * rounds) for s in curve])])
        interval = of_variance(emitted, variance_of(curve), rounds, len(curve), level)
    origin = f"given: {name} of {len(curve)} positions"
    alpha = iid_alpha(emitted - 1.0, len(curve))
    return Acceptance(len(curve), emitted, interval, curve, float(len(curve)), observed, origin, alpha, rounds)


def _curve(values: Sequence[float]) -> tuple[float, ...]:
    if not 1 <= len(values) <= KAPPA_LIMIT:
        raise ParameterError("survival", f"survival has {len(values)} values; allowed: 1 to {KAPPA_LIMIT}")
    for j, value in enumerate(values):
        _check_share(f"survival[{j}]", value)
        if j and value > values[j - 1]:
            raise ParameterError(
                "survival",
                f"survival[{j}] = {value:g} is above survival[{j - 1}] = {values[j - 1]:g}; allowed: a curve that "
                "never rises; rates of one draft given that all before it were accepted go under --conditional",
            )
    return tuple(map(float, values))


def _products(conditional: Sequence[float]) -> list[float]:
    for j, value in enumerate(conditional):
        _check_share(f"conditional[{j}]", value)
    return survival_of(conditional)


def _check_share(name: str, value: float) -> None:
    if not 0.0 <= value <= 1.0:
        hint = f" ({number(value / 100)} for {value:g}%)" if LEAST_PERCENT < value <= 100.0 else ""
        hint = f"; {ABOVE_ONE}" if name == "rate" and 1.0 < value <= LEAST_PERCENT else hint
        raise ParameterError(name, f"{name} = {value:g} is out of range; allowed: 0 to 1{hint}")
