"""Which assumptions does a dense trace bear out, and which process predicts it?  What ``trace --tests`` says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from simspec.advice.trace import heading, positions
from simspec.evidence.assumptions import SPREAD, Test, check_assumptions
from simspec.evidence.dense import read_dense, spread_by_halves
from simspec.evidence.prediction import CRITERIA, Contest, Prediction, Progress, contest, why_not
from simspec.model import Trace
from simspec.stats.clusters import Figure
from simspec.text import kappa_set, number, table

if TYPE_CHECKING:
    import pandas as pd

USUAL_KAPPA = 8
BY_HALVES = "spread between requests, by their halves"
SMALL_CORRELATION = 0.05
"""Two traces of results/traces correlate less even when pooled: an i.i.d. model is off by at most 1.6% there."""
SMALL = {
    "correlation of neighbouring verdicts, pooled": SMALL_CORRELATION,
    "correlation of neighbouring verdicts": SMALL_CORRELATION,
    "second half of a request minus first": 0.02,
    "slope of α per 100 tokens": 0.02,
    "correlation of a request's two halves": 0.1,
    "slope of acceptance by draft position": 0.01,
    "correlation of successive accepted lengths, pooled": SMALL_CORRELATION,
}
"""Sizes below which a rejected assumption matters little, by statistic: a matter of taste, unlike the rejection."""
NOTES = """\
within requests: each request's own mean taken off; of verdicts and α the bias that has without memory is added again,
of accepted lengths (about 1 over its rounds) it is not; with memory both read low.
if positions had no memory: too large where they have one; by their halves: root of the covariance of a request's two
halves, into which only memory over its middle enters."""


class TraceTests:
    """Figures, tests and fitted processes of a dense trace.

    Parameters
    ----------
    trace : Trace
        A dense one, with ``alpha``; best ``tok_accept``, the chance that belongs to the text.
    kappa : int, optional
        Draft length of the replayed rounds; default 8, or half of the longest request if that is less.
    level : float
        Of the intervals, and at which processes are told apart.
    progress : callable, optional
        Told what is being done.

    Attributes
    ----------
    assumptions : simspec.evidence.assumptions.Assumptions
    figures : list of (str, Figure)
        Those of ``assumptions``, and the spread between requests by their halves.
    contest : simspec.evidence.prediction.Contest or None
    why_not : str
        Why there is no contest; empty if there is one.

    Raises
    ------
    ParameterError
        The trace holds rounds, or ``kappa`` is out of range.
    """

    def __init__(
        self, trace: Trace, kappa: int | None = None, level: float = 0.95, progress: Progress | None = None
    ) -> None:
        self.trace, self.level = trace, level
        self.dense = read_dense(trace)
        if kappa is None:
            kappa = max(1, min(USUAL_KAPPA, int(self.dense.sizes.max()) // 2))
        self.assumptions = check_assumptions(self.dense, kappa, level)
        self.figures: list[tuple[str, Figure]] = []
        for name, figure in self.assumptions.figures:
            self.figures.append((name, figure))
            if name == SPREAD:
                self.figures.append((BY_HALVES, spread_by_halves(self.dense, level)))
        self.why_not = why_not(self.dense)
        self.contest: Contest | None = None if self.why_not else contest(self.dense, level=level, progress=progress)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; logarithms of ratios as they are, not in percent."""
        told = self.assumptions
        rejected = {(test.assumption, test.statistic) for test in told.rejected()}
        out: dict[str, Any] = {
            "trace": self.trace.parameters(),
            "requests": self.dense.requests,
            "positions": len(self.dense.chance),
            "level": self.level,
            "kappa": told.kappa,
            "figures": {
                name: {"value": f.value, "low": f.low, "high": f.high, "error": f.error, "requests": f.units}
                for name, f in self.figures
            },
            "tests": [vars(t) | {"rejected": (t.assumption, t.statistic) in rejected} for t in told.tests],
        }
        if self.contest is None:
            return out | {"models": None, "why_not": self.why_not}
        models = [
            {
                "model": one.model, "fit": self.contest.fits[one.model],
                "log_accepted_ratio": {str(k): _pair(pair) for k, pair in one.accepted.items()},
                "log_full_ratio": {str(k): _pair(pair) for k, pair in one.full.items()},
                "profile_error": _pair(one.profile), "log_likelihood_gain": _pair(one.log_likelihood),
                "behind_best": {c: _pair(one.loss[c]) | {"tied": one.tied[c]} for c in CRITERIA},
            }
            for one in self.contest.predictions
        ]  # fmt: skip
        return out | {"models": models, "best": {c: self.contest.best(c) for c in CRITERIA}}

    def to_pandas(self) -> pd.DataFrame:
        """One row per test."""
        import pandas as pd

        return pd.DataFrame([vars(test) for test in self.assumptions.tests])

    def __repr__(self) -> str:
        parts = [heading(self.trace, positions(self.dense)), self.in_short()]
        return "\n\n".join([*parts, self._figures(), self._tests(), self._models()])

    def in_short(self) -> str:
        """What it comes to, a line each: tokens per round, an i.i.d. model, memory, which process to use."""
        figures, kappa = dict(self.figures), self.assumptions.kappa
        lines = []
        if (accepted := figures.get(f"accepted per round, κ = {kappa}")) is not None:
            error = "" if accepted.error != accepted.error else f" ± {accepted.error:.2f}"
            lines.append(f"A round at κ = {kappa} emits {accepted.value + 1:.2f}{error} tokens (accepted + 1).")
        if self.contest is not None:
            lines.append(_of_iid(self.contest))
        pooled, inside = self.assumptions.tests[:2]
        lines.append(_of_memory(pooled, inside, self.assumptions.rejected()))
        if self.contest is None:
            lines.append(f"Which process to use is open: {self.why_not}.")
        else:
            lines.append(_to_use(self.contest))
        return "\n".join(lines)

    def _figures(self) -> str:
        body = [
            [name, number(f.value), f"[{number(f.low)}, {number(f.high)}]", number(f.error), f"{f.units}"]
            for name, f in self.figures
        ]
        return table(["figure", "value", f"{self.level:.0%} interval", "error", "requests"], body) + f"\n{NOTES}"

    def _tests(self) -> str:
        told = self.assumptions
        rejected = told.rejected()
        body = [
            [t.assumption, t.statistic, number(t.value), number(t.error), _chance(t.p_value),
             _verdict(t, rejected)]
            for t in told.tests
        ]  # fmt: skip
        note = (
            "rejected: at a false alarm of 5% for all tests of this table together (Holm); small: clear, but small\n"
            "does not vary: every request says the same, so that there is no error to hold the value against"
        )
        return table(["assumption", "statistic", "value", "error", "p", "verdict"], body) + f"\n{note}"

    def _models(self) -> str:
        if self.contest is None:
            return f"no process is fitted: {self.why_not}"
        told = self.contest
        kappas = list(told.predictions[0].accepted)
        full = list(told.predictions[0].full)
        header = ["fitted to the other half", *(f"E p÷o−1 κ={k}" for k in kappas)]
        header += [f"full o÷p κ={k}" for k in full]
        header += ["profile", "1000·ln L"]
        body = [_row(one) for one in told.predictions]
        lines = [
            table(header, body),
            "E p÷o−1: accepted length, predicted ÷ observed − 1 (above 0: the process promises too much);",
            "full o÷p: share of full rounds, the other way round: observed ÷ predicted (above 1: it promises too few);",
            f"profile: root mean square error of acceptance by draft position, κ = {told.profile_kappa};",
            "1000·ln L: per output position of unseen verdicts, above i.i.d.",
            *(f"best by {criterion}: {_best(told.best(criterion))}" for criterion in CRITERIA),
        ]
        return "\n".join(lines)


def _pair(pair: tuple[float, float]) -> dict[str, float]:
    return {"value": pair[0], "error": pair[1]}


def _chance(p: float) -> str:
    return "–" if p != p else f"{p:.2g}"


def _verdict(test: Test, rejected: list[Test]) -> str:
    if test.p_value != test.p_value:
        return "–" if test.varies else "does not vary"
    if test not in rejected:
        return "not rejected"
    return "rejected, small" if abs(test.value) < SMALL[test.statistic] else "rejected"


def _of_iid(told: Contest) -> str:
    """How far i.i.d. is off, at the κ where it is worst."""
    accepted = told.predictions[0].accepted
    kappa = max(accepted, key=lambda k: abs(accepted[k][0]))
    return (
        f"An i.i.d. model of the same α is off by {_percent(accepted[kappa])} in accepted length of unseen requests "
        f"at κ = {kappa},\nthe worst of {kappa_set(list(accepted))}."
    )


def _of_memory(pooled: Test, inside: Test, rejected: list[Test]) -> str:
    """Size of the correlation of neighbouring verdicts first, then whether it is one.

    Judged inside requests: pooled, requests that differ look like memory too.
    """
    if inside.p_value != inside.p_value:
        why = "too few requests have any" if inside.varies else "their correlation is the same in all requests"
        return f"Memory: nothing can be said of neighbouring verdicts, since {why}."
    clear, small = inside in rejected, abs(inside.value) < SMALL_CORRELATION
    said = {
        (True, False): "memory matters",
        (True, True): "significant but small",
        (False, True): "no memory is seen",
        (False, False): "too uncertain to tell",
    }[clear, small]
    if not clear and pooled in rejected and abs(pooled.value) >= SMALL_CORRELATION:
        said += "; requests differ"
    own, all_ = (f"{test.value:.3f} ± {test.error:.3f}" for test in (inside, pooled))
    return f"Memory: neighbouring verdicts correlate {own} within requests, {all_} pooled: {said}."


def _to_use(told: Contest) -> str:
    """The simplest process that is nowhere worse than the best; the processes go from simple to less so."""
    names = [one.model for one in told.predictions]
    tied = [one.model for one in told.predictions if all(one.tied.values())]
    if tied == names:
        return f"Which process: none can be told apart on these requests; {names[0]} is the simplest."
    if tied:
        more = f" (as good, but less simple: {', '.join(tied[1:])})" if tied[1:] else ""
        return f"Which process: {tied[0]}, by no criterion worse than the best beyond error{more}."
    most = max(told.predictions, key=lambda one: sum(one.tied.values()))
    held = ", ".join(criterion for criterion, alike in most.tied.items() if alike)
    return f"Which process: none is best by all criteria; {most.model} is by {held}."


def _percent(pair: tuple[float, float]) -> str:
    """Logarithm of a ratio and its error as a change in percent."""
    return f"{100 * np.expm1(pair[0]):+.1f} ± {100 * np.exp(pair[0]) * pair[1]:.1f}%"


def _row(one: Prediction) -> list[str]:
    accepted = [_percent(pair) for pair in one.accepted.values()]
    full = [f"{np.exp(-value):.2f} ± {np.exp(-value) * error:.2f}" for value, error in one.full.values()]
    gain = f"{1000 * one.log_likelihood[0]:.2f} ± {1000 * one.log_likelihood[1]:.2f}"
    return [one.model, *accepted, *full, f"{np.sqrt(one.profile[0]):.3f}", gain]


def _best(names: list[str]) -> str:
    """The best, and who cannot be told apart from it."""
    return names[0] if len(names) == 1 else f"{names[0]}; not told apart from it: {', '.join(names[1:])}"
