"""How is a process written into a scenario file?"""

from __future__ import annotations

from typing import Any

from simspec.model import Process


def toml_of(process: Process) -> str:
    """A ``[process]`` table for a scenario file, to seven digits.

    Examples
    --------
    >>> from simspec.model import Markov
    >>> print(toml_of(Markov(alpha=0.7, rho=0.25)))
    [process]
    type = "markov"
    alpha = 0.7
    rho = 0.25
    start = "stationary"
    """
    lines = [f"{key} = {_value(value)}" for key, value in process.identity().items() if value is not None]
    return "\n".join(["[process]", *lines])


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, str):
        return f'"{value}"'
    return f"{value:.7g}" if isinstance(value, float) else str(value)
