"""Which assumptions does a dense trace bear out, and which process predicts it?  What ``trace --tests`` says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from simspec.advice.trace import heading
from simspec.evidence.assumptions import check_assumptions
from simspec.evidence.dense import read_dense
from simspec.evidence.prediction import CRITERIA, Contest, Prediction, Progress, contest, why_not
from simspec.model import Trace
from simspec.text import number, table

if TYPE_CHECKING:
    import pandas as pd

USUAL_KAPPA = 8


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
                for name, f in told.figures
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
        size = f"{len(self.dense.chance):,} output positions of {self.dense.requests:,} requests"
        parts = [heading(self.trace, size), self._figures(), self._tests(), self._models()]
        return "\n\n".join(parts)

    def _figures(self) -> str:
        body = [
            [name, number(f.value), f"[{number(f.low)}, {number(f.high)}]", number(f.error), f"{f.units}"]
            for name, f in self.assumptions.figures
        ]
        return table(["figure", "value", f"{self.level:.0%} interval", "error", "requests"], body)

    def _tests(self) -> str:
        told = self.assumptions
        rejected = told.rejected()
        body = [
            [t.assumption, t.statistic, number(t.value), number(t.error), _chance(t.p_value),
             "rejected" if t in rejected else "–" if t.p_value != t.p_value else "not rejected"]
            for t in told.tests
        ]  # fmt: skip
        note = "rejected: at a false alarm of 5% for all tests of this table together (Holm)"
        return table(["assumption", "statistic", "value", "error", "p", "verdict"], body) + f"\n{note}"

    def _models(self) -> str:
        if self.contest is None:
            return f"no process is fitted: {self.why_not}"
        told = self.contest
        kappas = list(told.predictions[0].accepted)
        full = list(told.predictions[0].full)
        header = ["fitted to the other half", *(f"E κ={k}" for k in kappas), *(f"full κ={k}" for k in full)]
        header += ["profile", "1000·ln L"]
        body = [_row(one) for one in told.predictions]
        lines = [
            table(header, body),
            "E: predicted above observed accepted length; full: observed ÷ predicted share of full rounds;",
            f"profile: root mean square error of acceptance by draft position, κ = {told.profile_kappa};",
            "1000·ln L: per output position of unseen verdicts, above i.i.d.",
            *(f"best by {criterion}: {_best(told.best(criterion))}" for criterion in CRITERIA),
        ]
        return "\n".join(lines)


def _pair(pair: tuple[float, float]) -> dict[str, float]:
    return {"value": pair[0], "error": pair[1]}


def _chance(p: float) -> str:
    return "–" if p != p else f"{p:.2g}"


def _row(one: Prediction) -> list[str]:
    accepted = [f"{100 * value:+.1f} ± {100 * error:.1f}%" for value, error in one.accepted.values()]
    full = [f"{np.exp(-value):.2f} ± {np.exp(-value) * error:.2f}" for value, error in one.full.values()]
    gain = f"{1000 * one.log_likelihood[0]:.2f} ± {1000 * one.log_likelihood[1]:.2f}"
    return [one.model, *accepted, *full, f"{np.sqrt(one.profile[0]):.3f}", gain]


def _best(names: list[str]) -> str:
    """The best, and who cannot be told apart from it."""
    return names[0] if len(names) == 1 else f"{names[0]}; not told apart from it: {', '.join(names[1:])}"
