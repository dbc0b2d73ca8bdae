"""What can be called from Python?  The twins of the commands."""

from simspec.api.answers import exact, solve, trace, validate
from simspec.api.controllers import league, makespan, regret, trajectory
from simspec.api.runs import compare, read, simulate, sweep, write_report

__all__ = [
    "compare",
    "exact",
    "league",
    "makespan",
    "read",
    "regret",
    "simulate",
    "solve",
    "sweep",
    "trace",
    "trajectory",
    "validate",
    "write_report",
]
