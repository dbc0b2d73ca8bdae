"""What do measured rounds say of the claims?  Accepted lengths by request become witnesses.

Rounds never show what comes after a rejection: of the correlation of neighbouring verdicts only its trace between
successive rounds is seen.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from simspec.claims.claim import Says, below
from simspec.claims.witness import Witness, silent, with_error
from simspec.claims.witness_laws import (
    ALONG,
    LEAST_EVENTS,
    MEASURED,
    TESTS,
    LawTest,
    accepted_of_examined,
    in_short,
    none_accepted,
)
from simspec.run.traces import Rounds
from simspec.stats.clusters import Figure, by_request, jackknife, successive_correlation
from simspec.stats.intervals import Floats

BY_REQUEST = "error between requests (leave one out)"
FULL_SHARE = 0.95
"""κ is the most drafts that at least this share of the rounds had; rounds with fewer are left out."""
NO_KAPPA = (
    "the rounds have no κ ≥ 2 in common: where drafts follow past success, deeper positions tell of good stretches only"
)

NOT_NEIGHBOURS = (
    "lengths of successive rounds are no neighbouring verdicts: what ρ_A makes of this depends on the process"
)


def rounds_witnesses(data: Rounds, name: str) -> Iterator[Witness]:
    """Complete rejection, profile, variance, memory and drift of measured rounds."""
    kappa = common_kappa(data.drafted)
    if kappa < 2:
        for test in {(test.claim, test.reading): test for test in TESTS if test.tests == "claim"}.values():
            yield silent(test.claim, test.reading, name, test.measured, NO_KAPPA)
    else:
        histogram = _histogram(data, kappa)
        for test in TESTS:
            if test.systems.startswith("^"):  # a rule for chains; those for special drafts name them
                yield from of_law(test, histogram, f"{name}, κ = {kappa}")
    for within, how in ((True, "within requests"), (False, "pooled")):
        figure = successive_correlation(data.accepted, data.offsets, within)
        measured = f"correlation of successive accepted lengths, {how}"
        yield silent("C38", MEASURED, name, measured, NOT_NEIGHBOURS, figure.value)
    yield from drift(_halves(data), name, "accepted ÷ examined, second half of the rounds minus the first")


def common_kappa(drafted: NDArray[np.int64]) -> int:
    """The most drafts that nearly all rounds had.

    Examples
    --------
    >>> common_kappa(np.array([8] * 99 + [3])), common_kappa(np.array([1, 5] * 50))
    (8, 1)
    """
    return int(np.quantile(drafted, 1.0 - FULL_SHARE, method="lower"))


def of_law(test: LawTest, histogram: Floats, name: str) -> Iterator[Witness]:
    """A figure of the accepted lengths of each request, (κ + 1, requests), if it means anything there."""
    total = histogram.sum(axis=1, keepdims=True)
    alpha = float(accepted_of_examined(total)[0])
    if len(histogram) - 1 < test.least_kappa or alpha < test.least_alpha:
        return
    if not test.seen_enough(total[:, 0]):
        why = f"fewer than {LEAST_EVENTS} rounds in which what it turns on happened"
        yield silent(test.claim, test.reading, name, test.measured, why)
    else:
        figure = jackknife(histogram, test.statistic)
        name = f"{name}; {in_short(alpha, 1.0 - float(none_accepted(total)[0]))}"
        yield of_figure(test.claim, test.reading, name, test.measured, test.says, figure, test.tests)


def of_figure(
    claim: str, reading: str, name: str, measured: str, says: Says, figure: Figure, tests: str = "claim"
) -> Witness:
    """A witness of a figure with an error between requests; silent if the figure does not exist."""
    if not np.isfinite(figure.value):
        return silent(claim, reading, name, measured, "the figure does not exist: nothing varies, or never happens")
    bounds = with_error(figure.value, figure.error, figure.units)
    return Witness(claim, reading, name, measured, says, figure.value, bounds, None, BY_REQUEST, tests)


def drift(change: Figure, name: str, measured: str) -> Iterator[Witness]:
    """Whether acceptance falls along the output."""
    yield of_figure("C43", ALONG, name, measured, below(0.0), change)


def _histogram(data: Rounds, kappa: int) -> Floats:
    """Rounds of each request by min(A, κ), those with fewer drafts left out."""
    kept = data.drafted >= kappa
    cut = np.minimum(data.accepted, kappa)
    return np.stack([by_request(kept & (cut == j), data.offsets) for j in range(kappa + 1)])


def _halves(data: Rounds) -> Figure:
    """Accepted ÷ examined of the second half of the rounds of a request minus that of the first."""
    sizes = np.diff(data.offsets)
    place = np.arange(len(data.accepted)) - np.repeat(data.offsets[:-1], sizes)
    early = place < np.repeat(sizes // 2, sizes)
    examined = np.minimum(data.accepted + 1, data.drafted)
    sums = [by_request(x * side, data.offsets) for side in (early, ~early) for x in (data.accepted, examined)]
    return jackknife(np.stack(sums)[:, sizes >= 2], lambda s: s[2] / s[3] - s[0] / s[1])
