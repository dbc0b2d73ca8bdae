"""simspec: Monte Carlo simulation of speculative decoding, with the exact answer beside every number.

The public face is `exact`, `simulate`, `sweep`, `validate`, `read`, `compare`, `trace`, `fit`, `solve`, `write_report`,
the acceptance processes, `Cost`, and `RowProcess` with `register_process` for a process of your own.  Everything is
imported when first used, so that ``import simspec`` is immediate.
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
        RowProcess,
        RowTable,
        Scenario,
        ScenarioError,
        SimspecError,
        Survival,
        TokenChain,
        Trace,
        register_process,
    )

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
    "RowProcess",
    "RowTable",
    "Scenario",
    "ScenarioError",
    "SimspecError",
    "Survival",
    "TokenChain",
    "Trace",
    "compare",
    "exact",
    "fit",
    "read",
    "register_process",
    "simulate",
    "solve",
    "sweep",
    "trace",
    "validate",
    "write_report",
]

_FUNCTIONS = ("compare", "exact", "read", "simulate", "solve", "sweep", "trace", "validate", "write_report")

_HOMES = {"fit": "simspec.evidence.recognise"}


def __getattr__(name: str) -> Any:
    if name in __all__:
        home = _HOMES.get(name, "simspec.api" if name in _FUNCTIONS else "simspec.model")
        return getattr(importlib.import_module(home), name)
    raise AttributeError(f"module 'simspec' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
