"""What does a trace say, before any model?  Emitted tokens, survival, conditional rates, correlation between rounds.

Of a dense trace: the mean chance of acceptance, and how chances of neighbouring output positions go together.  Those
are not verdicts, whose correlation ``trace --tests`` gives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from simspec.evidence.assumptions import WITHIN
from simspec.evidence.dense import DenseTrace, autocorrelation, read_dense
from simspec.model import Trace
from simspec.run.traces import Rounds, load
from simspec.stats.clusters import Figure, by_request, share, successive_correlation
from simspec.text import number, plural, table

if TYPE_CHECKING:
    import pandas as pd


FEWEST_REQUESTS = 10
"""Positions that fewer requests reached are left out: an error between so few says little."""


def heading(trace: Trace, size: str) -> str:
    """What was read: the file, its rows, how many."""
    where = ", ".join(f"{column} = {value}" for column, value in (trace.where or {}).items())
    return f"{trace.path}{f' ({where})' if where else ''}: {size}; errors between requests"


def positions(dense: DenseTrace) -> str:
    """How much a dense trace holds, and how its file counts.

    Examples
    --------
    >>> positions(DenseTrace.of(np.ones(3), np.array([0, 3])))
    '3 output positions of 1 request'
    """
    counted = " (the file counts them from 1)" if dense.counted_from else ""
    return f"{plural(len(dense.chance), 'output position')}{counted} of {plural(dense.requests, 'request')}"


class TraceSummary:
    """Figures of a trace with errors clustered by request.

    Attributes
    ----------
    trace : Trace
    rows : list of (str, Figure)
        Name and figure, in the order of the text.
    """

    def __init__(self, trace: Trace, level: float = 0.95) -> None:
        self.trace, self.level = trace, level
        data = load(trace)
        self.data = data if isinstance(data, Rounds) else read_dense(trace, beside=False)
        self.rows: list[tuple[str, Figure]] = (
            _of_rounds(self.data, level) if isinstance(self.data, Rounds) else _of_chances(self.data, trace, level)
        )

    @property
    def size(self) -> str:
        """How much there is."""
        if isinstance(self.data, DenseTrace):
            return positions(self.data)
        return f"{plural(len(self.data.accepted), 'round')} of {plural(len(self.data.offsets) - 1, 'request')}"

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "trace": self.trace.parameters(),
            "requests": len(self.data.offsets) - 1,
            "level": self.level,
            "figures": {
                name: {"value": f.value, "low": f.low, "high": f.high, "error": f.error, "requests": f.units}
                for name, f in self.rows
            },
        }

    def to_pandas(self) -> pd.DataFrame:
        """One row per figure."""
        import pandas as pd

        return pd.DataFrame([{"figure": name, **vars(figure)} for name, figure in self.rows])

    def __repr__(self) -> str:
        body = [
            [name, number(f.value), f"[{number(f.low)}, {number(f.high)}]", number(f.error), f"{f.units}"]
            for name, f in self.rows
        ]
        header = ["figure", "value", f"{self.level:.0%} interval", "error", "requests"]
        return f"{heading(self.trace, self.size)}\n\n{table(header, body)}"


def _of_rounds(data: Rounds, level: float) -> list[tuple[str, Figure]]:
    accepted, drafted, offsets = data.accepted, data.drafted, data.offsets
    one = np.ones(len(accepted))
    examined = np.minimum(accepted + 1, drafted)
    rows = [
        ("tokens per round E", share(accepted + 1, one, offsets, level)),
        ("drafts per round", share(drafted, one, offsets, level)),
        ("accepted ÷ examined", share(accepted, examined, offsets, level)),
        ("accepted ÷ drafted", share(accepted, drafted, offsets, level)),
        (
            "no draft accepted, of rounds that drafted",
            share((accepted == 0) & (drafted > 0), drafted > 0, offsets, level),
        ),
        ("every draft accepted", share((accepted == drafted) & (drafted > 0), drafted > 0, offsets, level)),
    ]
    positions = [j for j in range(1, int(drafted.max()) + 1) if _requests(drafted >= j, offsets) >= FEWEST_REQUESTS]
    for j in positions:
        rows.append((f"S_{j}, of rounds that drafted {j}", share(accepted >= j, drafted >= j, offsets, level)))
    for j in positions:
        risk = (drafted >= j) & (accepted >= j - 1)
        rows.append((f"acceptance of draft {j} when examined", share((accepted >= j) & risk, risk, offsets, level)))
    for within, name in ((False, "pooled"), (True, "within requests")):
        pair = successive_correlation(accepted, offsets, within, level)
        first = successive_correlation(accepted >= 1, offsets, within, level)
        rows += [
            (f"correlation of successive accepted lengths, {name}", pair),
            (f"correlation of successive first drafts, {name}", first),
        ]
    return rows


def _requests(chosen: np.ndarray, offsets: np.ndarray) -> int:
    """Number of requests with at least one chosen round."""
    return int((by_request(chosen, offsets) > 0).sum())


def _of_chances(data: DenseTrace, trace: Trace, level: float) -> list[tuple[str, Figure]]:
    mean = share(data.chance, np.ones(len(data.chance)), data.offsets, level)
    rows = [(f"mean chance of acceptance ({trace.alpha})", mean)]
    for within, said in ((False, "pooled"), (True, WITHIN)):
        own = autocorrelation(data, 1, within, verdicts=False, level=level)
        rows.append((f"correlation of chances 1 apart, {said}", own))
    return rows
