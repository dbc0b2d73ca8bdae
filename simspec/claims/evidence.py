"""What do published figures say of the claims?  Each table of figures becomes witnesses; nothing is judged here."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from simspec import theory
from simspec.claims import published
from simspec.claims.claim import Says, above, below, between
from simspec.claims.published import UNKNOWN, Profile, Reported
from simspec.claims.setup import STANDARD
from simspec.claims.witness import LIKE_ROUNDS, Bounds, Witness, by_counts, moved, moved_difference, silent, with_error
from simspec.claims.witness_laws import (
    ALONG,
    DECODED,
    DECODING,
    FALLING_HEADS,
    LAGS,
    MEASURED,
    ORDERS,
    TESTS,
    TWENTIETH,
    LawTest,
    accepted_of_examined,
    in_short,
)
from simspec.model import Iid

UNITS = "error between requests or prompts"
COUNTS = "error from the number of rounds, a tenth of which counts"
PRINTED = "figure without error, moved by a fifth"
DIFFERENCE = "figure without error, moved by .05"
TIED = "κ that cannot be told from the best"

ARTICLE_COSTS = r"c_v = \.5|article's costs|same costs"
NONE = between(-0.01, 0.01)
READING_STATES = "read the target's states"
FIRST_DRAFTS = "correlation of the verdicts on first drafts of successive rounds"
NOT_NEIGHBOURS = "first drafts of successive rounds are no neighbours: what ρ_A makes of this depends on the process"
SHIFTS = (("C40", "Beta mixture of windows"), ("C52", "^two-state chains, fresh windows"))
"""Rows on κ* that one would like to ask such a list about."""
POSITION_OR_MEMORY = (
    "at a fixed rate of the first draft a list by position cannot tell correlation from drafts that differ by "
    "position, and the marginal rate that the article holds fixed is not seen"
)


def published_witnesses() -> list[Witness]:
    """Witnesses of all published figures.

    Examples
    --------
    >>> sorted({own.claim for own in published_witnesses()})[:4]
    ['C05', 'C06', 'C09', 'C15']
    """
    parts = (_profiles(), _first_rejected(), _lags(), _dependence(), _along_output(), _runs(), _best(), _held_out())
    return [own for part in (*parts, _costs(), _heads()) for own in part]


def _profiles() -> Iterator[Witness]:
    for profile in published.PROFILES:
        shares = -np.diff([1.0, *profile.survival, 0.0])
        alpha = float(accepted_of_examined(shares[:, None])[0])
        for test in TESTS:
            fits = profile.kappa >= test.least_kappa and alpha >= test.least_alpha
            fits = fits and (profile.rounds == UNKNOWN or test.seen_enough(shares * profile.rounds / LIKE_ROUNDS))
            if fits and re.search(test.systems, profile.system):
                yield _of_profile(test, profile, alpha)
    for profile in published.PROFILES[:3]:
        yield from _shift(profile)


def _of_profile(test: LawTest, profile: Profile, alpha: float) -> Witness:
    value, error, count = by_counts(test.statistic, profile.survival, profile.rounds, profile.digits)
    known = profile.rounds != UNKNOWN
    bounds = with_error(value, error, count) if known else None
    stretch = moved(value) if test.slack is None else (value - test.slack, value + test.slack)
    basis = COUNTS if known else PRINTED if test.slack is None else f"figure without error, moved by {test.slack:g}"
    name = f"{profile.source}; {profile.system}; {in_short(alpha, profile.survival[0])}"
    return Witness(test.claim, test.reading, name, test.measured, test.says, value, bounds, stretch, basis, test.tests)


def _shift(profile: Profile) -> Iterator[Witness]:
    """κ* on a measured list minus κ* of independent drafts with the rate of its first position."""
    free = theory.optimum(Iid(alpha=profile.survival[0]), STANDARD, 64).kappa_star
    best = int(np.argmax([_speed(kappa, profile) for kappa in range(profile.kappa + 1)]))
    measured = f"at c_d = .1, κ* of the list minus {free}, that of i.i.d. drafts with its S₁"
    for claim, reading in SHIFTS:
        yield silent(claim, reading, f"{profile.source}; {profile.system}", measured, POSITION_OR_MEMORY, best - free)


def _speed(kappa: int, profile: Profile) -> float:
    return (1.0 + sum(profile.survival[:kappa])) / (1.0 + kappa * STANDARD.c_d)


def _first_rejected() -> Iterator[Witness]:
    for own, alpha, kappa, label in published.FIRST_REJECTED:
        assert own.error is not None
        orders = float(np.log10(own.value) - kappa * np.log10(1.0 - alpha))
        bounds = with_error(orders, own.error / own.value / np.log(10.0), own.units)
        measured = f"at κ = {kappa}, orders of magnitude from (1 − a)^κ up to P(A = 0)"
        name = f"{_name(own)}; {in_short(alpha, 1.0 - own.value, label)}"
        yield Witness("C35", DECODING, name, measured, ORDERS, orders, bounds, None, UNITS)


def _lags() -> Iterator[Witness]:
    for own in published.LAG_ONE:
        bounds, stretch, basis = _bounds(own, difference=True)
        yield Witness("C38", MEASURED, _name(own), "lag-1 correlation", LAGS, own.value, bounds, stretch, basis)
    for own in published.SUCCESSIVE_FIRST:
        yield silent("C38", MEASURED, _name(own), FIRST_DRAFTS, NOT_NEIGHBOURS, own.value)
    for own in published.SUCCESSIVE_FIRST_BLIND:
        bounds, stretch, basis = _bounds(own, difference=True)
        yield Witness("C42", "looks at nothing", _name(own), FIRST_DRAFTS, NONE, own.value, bounds, stretch, basis)


def _dependence() -> Iterator[Witness]:
    """Any correlation of verdicts shows that they are dependent."""
    figures = (
        ("lag-1 correlation", published.LAG_ONE),
        (FIRST_DRAFTS, published.SUCCESSIVE_FIRST),
        ("correlation of successive accepted lengths within turns", published.SUCCESSIVE_LENGTHS),
    )
    for measured, table in figures:
        for own in table:
            bounds, stretch, basis = _bounds(own, difference=True)
            yield Witness("C42", READING_STATES, _name(own), measured, above(0.0), own.value, bounds, stretch, basis)
    why = "rates by position cannot tell correlation from drafts that differ by position: 1 after 0 is never seen"
    for profile in (own for own in published.PROFILES if "n-alpha" in own.source):
        name = f"{profile.source}; {profile.system}"
        yield silent("C42", READING_STATES, name, "acceptance by position", why)


def _along_output() -> Iterator[Witness]:
    figures = [("acceptance late in the output minus that at its beginning", own) for own in published.ALONG_OUTPUT]
    for source, system, short, long, kappa in published.ALONG_CONTEXT:
        change = _rate_of(long, kappa) - _rate_of(short, kappa)
        own = Reported(source, f"{system}, {short:g} to {long:g} tokens per round", change)
        figures.append((f"i.i.d. rate fitted at κ = {kappa}, at long context minus at short", own))
    for measured, own in figures:
        stretch = moved_difference(own.value, own.value)
        yield Witness("C43", ALONG, _name(own), measured, below(0.0), own.value, None, stretch, DIFFERENCE)


def _runs() -> Iterator[Witness]:
    for own, deviation in published.RUN_LENGTH:
        geometric = own.value * (1.0 + own.value)
        low, high = (d**2 / geometric for d in moved(deviation))
        measured = "variance of the uncut run over m(1 + m) of a geometric one with its mean m"
        yield Witness(
            "C15", DECODED, _name(own), measured, Says(0.9, 1.1, 1.0), deviation**2 / geometric, None, (low, high),
            PRINTED, "correction",
        )  # fmt: skip


def _best() -> Iterator[Witness]:
    for own in published.BEST_KAPPA:
        low, high = own.low or 0.0, own.high or 0.0
        bounds = _always(low, high) if own.units else None
        yield Witness(
            "C06", "standard costs", _name(own), "best κ measured", between(3.0, 7.0), own.value, bounds, (low, high),
            f"{TIED}, paired between prompts" if own.units else TIED,
        )  # fmt: skip


def _always(low: float, high: float) -> Bounds:
    """An interval that is known at one level only, which is above the one asked for."""
    return lambda level: (low, high)


def _held_out() -> Iterator[Witness]:
    """A mean at a κ that was not fitted."""
    for source, system, fitted, seen, (short, long) in published.EMITTED_BY_KAPPA:
        alpha = _rate_of(fitted, short)
        promised = sum(alpha**j for j in range(1, long + 1))
        measured = f"E[A] at κ = {long} over the i.i.d. value fitted at κ = {short}"
        ratio = (seen - 1.0) / promised
        yield Witness(
            "C15", DECODED, f"{source}; {system}", measured, TWENTIETH, ratio, None, moved(ratio), PRINTED,
            "correction",
        )  # fmt: skip


def _rate_of(tokens: float, kappa: int) -> float:
    """The α at which independent drafts emit so many tokens."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        emitted = sum(middle**j for j in range(kappa + 1))
        low, high = (middle, high) if emitted < tokens else (low, middle)
    return (low + high) / 2


def _costs() -> Iterator[Witness]:
    for own in published.ROUND_SLOPE:
        bounds, stretch, basis = _bounds(own)
        measured = "c_d + c_v of one more draft, an upper limit of c_v"
        for claim in ("C06", "C23", "C24", "C25"):
            yield Witness(
                claim, ARTICLE_COSTS, _name(own), measured, Says(0.4, 0.6, 0.5), own.value, bounds, stretch, basis,
                "premise",
            )  # fmt: skip
    for own in published.REJECTION_COST:
        bounds, stretch, basis = _bounds(own)
        for claim in ("C06", "C23", "C24", "C25"):
            yield Witness(
                claim, r"c_r = 1|article's costs|same costs", _name(own), "c_r per rejected draft",
                Says(0.9, 1.1, 1.0), own.value, bounds, stretch, basis, "premise",
            )  # fmt: skip
    for own in published.DRAFT_COST:
        bounds, stretch, basis = _bounds(own)
        yield Witness("C19", "typical", _name(own), "c_d", between(0.05, 0.2), own.value, bounds, stretch, basis)


def _heads() -> Iterator[Witness]:
    why = "accuracies of single heads, each counted alone, say nothing of how many are right together"
    for own in published.MEDUSA_HEADS:
        yield silent("C47", FALLING_HEADS, _name(own), "top-1 accuracy of the first head", why, own.value)


def _bounds(own: Reported, difference: bool = False) -> tuple[Bounds | None, tuple[float, float], str]:
    """Interval by level, what stands for it without an error, and what that rests on."""
    low, high = (own.value, own.value) if own.low is None or own.high is None else (own.low, own.high)
    if own.error is not None:
        return with_error(own.value, own.error, own.units), (low, high), UNITS
    if difference:
        return None, moved_difference(low, high), DIFFERENCE
    return None, (moved(low)[0], moved(high)[1]), PRINTED


def _name(own: Reported) -> str:
    return f"{own.source}; {own.system}"
