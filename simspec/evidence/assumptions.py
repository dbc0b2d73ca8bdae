"""Which assumptions of the theory does a dense trace bear out?  Each as a statistic, its error and a p-value."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simspec.evidence.dense import (
    DenseTrace,
    agreement_of_halves,
    along_output,
    autocorrelation,
    halves,
    mean_of,
    slope,
    spread_of_requests,
)
from simspec.evidence.replay import Replay, replay
from simspec.stats.clusters import Figure

LAGS = (1, 2, 5, 10, 20, 50)
FEWEST = 10
"""Requests below which a figure is not given: an error between so few says little."""
ROUNDING = 1e-12
"""An error below this share of the value, or of 1 (rates and correlations are of that size), is one of rounding."""
WITHIN = "within requests (reads low with memory)"
SPREAD = "spread between requests, if positions had no memory"
UNCORRECTED = "within requests (not corrected, reads low)"


@dataclass(frozen=True)
class Test:
    """One assumption held against the trace.

    Attributes
    ----------
    assumption : str
        What is assumed.
    statistic : str
        What is looked at; it is 0 where the assumption holds.
    value, error : float
        With the error between requests.
    p_value : float
        Two-sided, Student's law with one degree of freedom less than requests; NaN where requests do not vary.
    units : int
        Requests behind it.
    """

    __test__ = False  # the name means no test of pytest's
    assumption: str
    statistic: str
    value: float
    error: float
    p_value: float
    units: int

    @property
    def varies(self) -> bool:
        """False where all requests say the same but for rounding, so that there is no error to hold the value against.

        Examples
        --------
        >>> Test("no memory", "correlation", 0.0, 1e-17, float("nan"), 9).varies
        False
        """
        return not self.error <= ROUNDING * max(1.0, abs(self.value))


@dataclass(frozen=True)
class Assumptions:
    """Figures and tests of one dense trace at one κ, in the order of the text."""

    kappa: int
    figures: list[tuple[str, Figure]]
    tests: list[Test]

    def rejected(self, false_alarm: float = 0.05) -> list[Test]:
        """Tests that fail when all of them together may raise a false alarm this often (Holm 1979)."""
        known = sorted((test for test in self.tests if test.p_value == test.p_value), key=lambda test: test.p_value)
        out = []
        for rank, test in enumerate(known):
            if test.p_value > false_alarm / (len(known) - rank):
                break
            out.append(test)
        return [test for test in self.tests if test in out]


def p_value(value: float, error: float, units: int, lost: int = 1) -> float:
    """Two-sided p-value of value/error under Student's law with units − lost degrees of freedom.

    NaN where the error is one of rounding: a trace that does not vary rejects nothing.

    Examples
    --------
    >>> round(p_value(1.96, 1.0, 10**6), 3), p_value(0.0, 0.0, 5), p_value(3e-17, 1e-18, 5)
    (0.05, nan, nan)
    """
    from scipy.special import stdtr

    if not (error > ROUNDING * max(1.0, abs(value)) and units > lost):
        return float("nan")
    return float(2.0 * stdtr(units - lost, -abs(value) / error))


def check_assumptions(trace: DenseTrace, kappa: int = 8, level: float = 0.95) -> Assumptions:
    """Memory, drift along the output, differences between requests, the position profile and successive rounds.

    Parameters
    ----------
    trace : DenseTrace
    kappa : int
        Draft length of the replayed rounds, 2 to 256.  Where output positions are missing nothing is replayed.
    level : float
        Of the intervals.

    Returns
    -------
    Assumptions

    Raises
    ------
    ParameterError
        ``kappa`` is out of range.

    Notes
    -----
    The tests are not independent of each other: requests that differ also make successive verdicts and rounds alike,
    and let the profile rise.  "Within requests" takes the requests' own means off: the bias of that is put right as if
    positions had no memory (verdicts, α) or not at all (accepted lengths), so that memory reads low there.

    References
    ----------
    Leviathan, Kalman, Matias (2023), section 3.1, assume independent verdicts of one rate; the article's sections 2.3,
    5.1 and 5.2 ask what happens otherwise.

    Examples
    --------
    >>> even = DenseTrace.of(np.tile([0.8, 0.4, 0.6, 0.2], 60), np.arange(0, 241, 20))
    >>> found = check_assumptions(even, kappa=2)
    >>> dict(found.figures)["mean acceptance"].value, found.tests[0].statistic
    (0.5, 'correlation of neighbouring verdicts, pooled')
    """
    figures = _figures(trace, level)
    tests = _tests(trace)
    if trace.whole:
        rounds = replay(trace, kappa)
        figures += _of_rounds(rounds, level)
        tests += _tests_of_rounds(rounds)
    return Assumptions(kappa, figures, tests)


def _figures(trace: DenseTrace, level: float) -> list[tuple[str, Figure]]:
    rows = [
        ("mean acceptance", mean_of(trace, trace.alpha, None, level)),
        (SPREAD, spread_of_requests(trace, level)),
    ]
    lags = [lag for lag in LAGS if (trace.sizes > lag).sum() >= min(FEWEST, trace.requests)]
    for lag in lags:
        for within, said in ((False, "pooled"), (True, WITHIN)):
            found = autocorrelation(trace, lag, within, level=level)
            rows.append((f"correlation of verdicts {lag} apart, {said}", found))
    for lag in lags:
        for within, said in ((False, "pooled"), (True, WITHIN)):
            found = autocorrelation(trace, lag, within, verdicts=False, values=trace.alpha, level=level)
            rows.append((f"correlation of α {lag} apart, {said}", found))
    for low, high, figure in along_output(trace, level=level):
        if figure.units >= min(FEWEST, trace.requests):
            rows.append((f"mean α at output positions {low}-{high}", figure))
    return rows


def _of_rounds(rounds: Replay, level: float) -> list[tuple[str, Figure]]:
    kappa = rounds.kappa
    rows = [
        (f"accepted per round, κ = {kappa}", rounds.accepted(level)),
        (f"share of full rounds, κ = {kappa}", rounds.full(level)),
        (f"full rounds ÷ (accepted ÷ examined)^{kappa}", rounds.full_over_power(level)),
    ]
    rows += [(f"acceptance of draft {j} when examined", f) for j, f in enumerate(rounds.by_position(level), 1)]
    for within, said in ((False, "pooled"), (True, UNCORRECTED)):
        rows.append((f"correlation of successive accepted lengths, {said}", rounds.successive(within, level)))
    return rows


def _test(assumption: str, statistic: str, figure: Figure) -> Test:
    chance = p_value(figure.value, figure.error, figure.units)
    return Test(assumption, statistic, figure.value, figure.error, chance, figure.units)


def _tests(trace: DenseTrace) -> list[Test]:
    agreement, units = agreement_of_halves(trace)
    error = float(np.sqrt((1.0 - agreement**2) / (units - 2))) if units > 2 else float("nan")
    alike = Test(
        "requests do not differ", "correlation of a request's two halves", agreement, error,
        p_value(agreement, error, units, 2), units,
    )  # fmt: skip
    return [
        _test("no memory", "correlation of neighbouring verdicts, pooled", autocorrelation(trace, 1)),
        _test("no memory inside requests", "correlation of neighbouring verdicts", autocorrelation(trace, 1, True)),
        _test("no drift along the output", "second half of a request minus first", halves(trace)),
        _test("no drift along the output", "slope of α per 100 tokens", slope(trace)),
        alike,
    ]  # fmt: skip


def _tests_of_rounds(rounds: Replay) -> list[Test]:
    return [
        _test("flat position profile", "slope of acceptance by draft position", rounds.profile_slope()),
        _test("independent rounds", "correlation of successive accepted lengths, pooled", rounds.successive()),
    ]
