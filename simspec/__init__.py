"""simspec: Monte Carlo simulation of speculative decoding, with the exact answer beside every number.

The public face is `exact`, `simulate`, `sweep`, `validate`, `read`, `compare`, `trace`, `fit`, `solve`, `phase`,
`sample_tokens`, `write_report`, the acceptance processes, `Cost`, and `RowProcess` with `register_process` for a
process of your own, `Scheme` with `register_scheme` for a way to draft.  Everything is imported when first used, so
that ``import simspec`` is immediate.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simspec.api import compare, exact, read, simulate, solve, sweep, trace, validate, write_report
    from simspec.evidence.recognise import fit
    from simspec.model import (
        BetaMixture,
        Cost,
        DatasetError,
        DiscreteMixture,
        Drift,
        GaussianCopulaAr1,
        Hmm,
        Iid,
        Markov,
        ParameterError,
        Position,
        RoundTable,
        RowProcess,
        RowTable,
        Scenario,
        ScenarioError,
        Scheme,
        SimspecError,
        Survival,
        TokenChain,
        Trace,
        register_process,
        register_scheme,
    )
    from simspec.run.phase import phase
    from simspec.run.sampled import sample_tokens

__all__ = [
    "BetaMixture",
    "Cost",
    "DatasetError",
    "DiscreteMixture",
    "Drift",
    "GaussianCopulaAr1",
    "Hmm",
    "Iid",
    "Markov",
    "ParameterError",
    "Position",
    "RoundTable",
    "RowProcess",
    "RowTable",
    "Scenario",
    "ScenarioError",
    "Scheme",
    "SimspecError",
    "Survival",
    "TokenChain",
    "Trace",
    "compare",
    "exact",
    "fit",
    "phase",
    "read",
    "register_process",
    "register_scheme",
    "sample_tokens",
    "simulate",
    "solve",
    "sweep",
    "trace",
    "validate",
    "write_report",
]

_FUNCTIONS = ("compare", "exact", "read", "simulate", "solve", "sweep", "trace", "validate", "write_report")
_ELSEWHERE = {"fit": "simspec.evidence.recognise", "phase": "simspec.run.phase", "sample_tokens": "simspec.run.sampled"}


def __getattr__(name: str) -> Any:
    if name in __all__:
        home = "simspec.api" if name in _FUNCTIONS else _ELSEWHERE.get(name, "simspec.model")
        return getattr(importlib.import_module(home), name)
    raise AttributeError(f"module 'simspec' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
