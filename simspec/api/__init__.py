"""What can be called from Python?  The twins of the commands."""

from simspec.api.answers import exact, solve, trace, validate
from simspec.api.controllers import league, regret
from simspec.api.runs import compare, read, simulate, sweep, write_report

__all__ = [
    "compare",
    "exact",
    "league",
    "read",
    "regret",
    "simulate",
    "solve",
    "sweep",
    "trace",
    "validate",
    "write_report",
]
