"""What does a fresh recording say at first sight?  Mean acceptance and tokens per round of every draft in it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from simspec.evidence.dense import DenseTrace, mean_of
from simspec.evidence.replay import replay
from simspec.stats.clusters import Figure

KAPPA = 4


@dataclass(frozen=True)
class First:
    """First figures of one draft.

    Attributes
    ----------
    draft : str
    rows : int
        Output positions at which it proposed a token.
    alpha : Figure
        Mean of Σ min(p, q), or of matches where the target was greedy; errors between requests.
    tokens : Figure or None
        Tokens per round at κ = 4 by replay, bonus or corrected token counted; None for a draft that has nothing to
        propose at some positions, or if no request is so long.
    kappa : int
    """

    draft: str
    rows: int
    alpha: Figure
    tokens: Figure | None
    kappa: int = KAPPA

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        figures = {"alpha": self.alpha, "tokens_per_round": self.tokens}
        return {"draft": self.draft, "rows": self.rows, "kappa": self.kappa} | {
            name: None if figure is None else {"value": figure.value, "low": figure.low, "high": figure.high}
            for name, figure in figures.items()
        }


def first_figures(table: pa.Table) -> list[First]:
    """The figures of each draft, in the order in which drafts come in the table.

    Parameters
    ----------
    table : pyarrow.Table
        As from `simspec.evidence.ngram.record_ngram` and its like.

    Examples
    --------
    >>> from simspec.evidence.ngram import record_ngram
    >>> first = first_figures(record_ngram("to be or not to be that is the question " * 20, requests=4, tokens=8))[0]
    >>> first.draft, first.rows, first.tokens.value > 1.0
    ('word2of3', 32, True)
    """
    names = np.asarray(table["draft"].cast(pa.string()).to_numpy(zero_copy_only=False), object)
    return [_first(name, table.filter(pa.array(names == name))) for name in dict.fromkeys(names)]


def _first(name: str, own: pa.Table) -> First:
    column = {key: own[key].to_numpy() for key in ("request", "position", "alpha", "tok_accept", "temperature")}
    offsets = np.flatnonzero(np.r_[True, np.diff(column["request"]) != 0, True])
    coupled = column["tok_accept"].astype(np.float64)
    alpha = column["alpha"].astype(np.float64) if column["temperature"].any() else coupled
    trace = DenseTrace.of(coupled, offsets, column["position"], alpha)
    tokens = None
    if trace.whole and trace.sizes.max() >= KAPPA:
        accepted = replay(trace, KAPPA).accepted()
        tokens = replace(accepted, value=accepted.value + 1, low=accepted.low + 1, high=accepted.high + 1)
    return First(name, own.num_rows, mean_of(trace, trace.alpha), tokens)
