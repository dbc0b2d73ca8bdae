"""simspec: Monte Carlo simulation of speculative decoding, with the exact answer beside every number.

The public face is `exact`, `simulate`, `sweep`, `validate`, `read`, the processes `Iid`, `Markov`, `Survival`, `Drift`,
and `Cost`.  Everything is imported when first used, so that ``import simspec`` is immediate.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simspec.api import exact, read, simulate, sweep, validate
    from simspec.model import (
        Cost,
        DatasetError,
        Drift,
        Iid,
        Markov,
        ParameterError,
        Scenario,
        ScenarioError,
        SimspecError,
        Survival,
    )

__all__ = [
    "Cost",
    "DatasetError",
    "Drift",
    "Iid",
    "Markov",
    "ParameterError",
    "Scenario",
    "ScenarioError",
    "SimspecError",
    "Survival",
    "exact",
    "read",
    "simulate",
    "sweep",
    "validate",
]

_FUNCTIONS = ("exact", "read", "simulate", "sweep", "validate")


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(importlib.import_module("simspec.api" if name in _FUNCTIONS else "simspec.model"), name)
    raise AttributeError(f"module 'simspec' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
