"""simspec: Monte Carlo simulation of speculative decoding, with the exact answer beside every number.

The public face is `exact`, `simulate`, `sweep`, `league`, `regret`, `trajectory`, `makespan`, `validate`, `read`,
`compare`, `combine`, `replay`, `trace`, `solve`, `phase`, `sample_tokens`, `write_report`; from an engine's log to a
decision `fit`, `fit_processes`, `drift`, `costs`, `explain`, `recommend`, `export`, `ab`, `convert`, `gate_trips`,
`plan_tree`; the acceptance processes, `Cost`, `RowProcess` with `register_process` for a process of your own, `Scheme`
with `register_scheme` and `exact_law` for a way to draft, `OwnPolicy` with `register_policy` for who chooses κ, and
`Crew` for who plays a long sweep.
Everything is imported when first used, so that ``import simspec`` is immediate.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simspec.advice.ab.compare import ab
    from simspec.advice.convert.conversion import convert
    from simspec.advice.drift.answer import drift
    from simspec.advice.explain.why import explain
    from simspec.advice.export.configuration import export
    from simspec.advice.gate import gate_trips
    from simspec.advice.recommend.answer import recommend
    from simspec.advice.trees.plan import plan_tree
    from simspec.api import (
        compare,
        exact,
        league,
        makespan,
        read,
        regret,
        simulate,
        solve,
        sweep,
        trace,
        trajectory,
        validate,
        write_report,
    )
    from simspec.evidence.costs.sweep import costs
    from simspec.evidence.recognise import fit
    from simspec.evidence.rounds.processes import fit_processes
    from simspec.model import (
        BetaMixture,
        Cost,
        DatasetError,
        DiscreteMixture,
        Drift,
        GaussianCopulaAr1,
        Hmm,
        Iid,
        Loss,
        Markov,
        OwnPolicy,
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
        register_policy,
        register_process,
        register_scheme,
    )
    from simspec.run.executors import Crew
    from simspec.run.phase import phase
    from simspec.run.replay import replay
    from simspec.run.sampled import sample_tokens
    from simspec.run.shards import combine
    from simspec.theory.own_laws import exact_law
    from simspec.theory.scheme_means import SchemeLaw

__all__ = [
    "BetaMixture",
    "Cost",
    "Crew",
    "DatasetError",
    "DiscreteMixture",
    "Drift",
    "GaussianCopulaAr1",
    "Hmm",
    "Iid",
    "Loss",
    "Markov",
    "OwnPolicy",
    "ParameterError",
    "Position",
    "RoundTable",
    "RowProcess",
    "RowTable",
    "Scenario",
    "ScenarioError",
    "Scheme",
    "SchemeLaw",
    "SimspecError",
    "Survival",
    "TokenChain",
    "Trace",
    "ab",
    "combine",
    "compare",
    "convert",
    "costs",
    "drift",
    "exact",
    "exact_law",
    "explain",
    "export",
    "fit",
    "fit_processes",
    "gate_trips",
    "league",
    "makespan",
    "phase",
    "plan_tree",
    "read",
    "recommend",
    "register_policy",
    "register_process",
    "register_scheme",
    "regret",
    "replay",
    "sample_tokens",
    "simulate",
    "solve",
    "sweep",
    "trace",
    "trajectory",
    "validate",
    "write_report",
]

_FUNCTIONS = (
    "compare", "exact", "league", "makespan", "read", "regret", "simulate", "solve", "sweep", "trace", "trajectory",
    "validate", "write_report",
)  # fmt: skip
_ELSEWHERE = {
    "Crew": "simspec.run.executors",
    "SchemeLaw": "simspec.theory.scheme_means",
    "exact_law": "simspec.theory.own_laws",
    "ab": "simspec.advice.ab.compare",
    "combine": "simspec.run.shards",
    "convert": "simspec.advice.convert.conversion",
    "drift": "simspec.advice.drift.answer",
    "costs": "simspec.evidence.costs.sweep",
    "explain": "simspec.advice.explain.why",
    "export": "simspec.advice.export.configuration",
    "fit": "simspec.evidence.recognise",
    "fit_processes": "simspec.evidence.rounds.processes",
    "gate_trips": "simspec.advice.gate",
    "phase": "simspec.run.phase",
    "plan_tree": "simspec.advice.trees.plan",
    "recommend": "simspec.advice.recommend.answer",
    "replay": "simspec.run.replay",
    "sample_tokens": "simspec.run.sampled",
}


def __getattr__(name: str) -> Any:
    if name in __all__:
        home = "simspec.api" if name in _FUNCTIONS else _ELSEWHERE.get(name, "simspec.model")
        return getattr(importlib.import_module(home), name)
    raise AttributeError(f"module 'simspec' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
