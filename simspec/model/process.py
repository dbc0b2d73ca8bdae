"""What do all acceptance processes share, and which are there?  One file each, one line each in `PROCESSES`."""

from __future__ import annotations

import importlib.metadata
from typing import Any, ClassVar

from pydantic import Field

from simspec.model.base import Model, enter
from simspec.model.errors import ParameterError, did_you_mean, shown

KAPPA_LIMIT = 256
"""Longest draft a simulation takes; the exact route goes to 1,000."""

METHODS = ("simulate", "multinomial", "exact")
"""How numbers come about: rounds are played, the counts of all windows are one draw, or exact values without counts."""


class Process(Model):
    """How drafts come to be accepted.

    ``unit`` names the independent unit of an error bar: a ``"window"`` (windows independent), a ``"lane"`` (windows
    of one lane depend on each other) or a ``"generation"`` (one output sequence of fixed length).
    """

    type: str
    label: str = Field(default="", description="free text shown beside the numbers; not part of the identity")

    @property
    def unit(self) -> str:
        return "window"

    @property
    def longest_draft(self) -> int | None:
        """Largest κ the process is defined for; None if it has no end."""
        return None

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods this process knows; counts are drawn at once only where windows are independent."""
        return tuple(method for method in METHODS if method != "multinomial" or self.unit == "window")

    def check_method(self, method: str) -> None:
        """Raise `ParameterError` if this process does not know ``method``."""
        if method not in self.methods:
            why = {
                "multinomial": "one draw of the counts takes independent windows, and these depend on each other",
                "exact": "there is no exact route",
            }[method]
            raise ParameterError(
                "method",
                f'method = "{method}" is impossible for {self}: {why}; allowed: '
                + ", ".join(f'"{known}"' for known in self.methods),
            )

    def check_kappa(self, kappa: int) -> None:
        """Raise `ParameterError` if κ = ``kappa`` cannot be asked of this process."""
        limit = self.longest_draft
        if limit is not None and kappa > limit:
            raise ParameterError(
                "kappa", f"kappa = {kappa} is beyond the {limit} measured positions; allowed: 0 ≤ kappa ≤ {limit}"
            )

    def identity(self) -> dict[str, Any]:
        return self.model_dump(mode="json", exclude={"label"})

    def parameters(self) -> dict[str, Any]:
        """The parameters without type and label, for tables."""
        return self.model_dump(mode="json", exclude={"label", "type"})

    def __str__(self) -> str:
        inside = ", ".join(f"{key} = {_short(value)}" for key, value in self.parameters().items())
        return f"{self.label}: {self.type}({inside})" if self.label else f"{self.type}({inside})"


def _short(value: Any) -> str:
    if isinstance(value, list) and value and isinstance(value[0], list):
        return f"{len(value)} rows" if len(value) > 2 else str(value)
    if isinstance(value, list) and len(value) > 4:
        return f"[{value[0]:g}, {value[1]:g}, … {value[-1]:g}; {len(value)} values]"
    return f"{value:g}" if isinstance(value, float) else str(value)


class Processes:
    """The registry: ``type`` word → class."""

    table: ClassVar[dict[str, type[Process]]] = {}

    @classmethod
    def add(cls, process: type[Process]) -> type[Process]:
        return enter(cls.table, process)

    @classmethod
    def load_plugins(cls) -> None:
        """Import what is registered under the entry-point group ``simspec.processes``; each registers its classes."""
        for point in importlib.metadata.entry_points(group="simspec.processes"):
            point.load()

    @classmethod
    def make(cls, /, **keys: Any) -> Process:
        """Build a process from the keys of a ``[process]`` table.

        Examples
        --------
        >>> import simspec.model
        >>> str(Processes.make(type="iid", alpha=0.7))
        'iid(alpha = 0.7)'
        """
        kind = keys.get("type")
        if kind is None:
            raise ParameterError("type", f"type is missing; known: {', '.join(cls.table)}")
        if not isinstance(kind, str):
            raise ParameterError("type", f"type = {shown(kind)} is not a word; known: {', '.join(cls.table)}")
        if kind not in cls.table:
            cls.load_plugins()
        if kind not in cls.table:
            raise ParameterError("type", f"type = {shown(kind)} is unknown{did_you_mean(kind, cls.table)}")
        return cls.table[kind](**keys)


def register_process(process: type[Process]) -> type[Process]:
    """Class decorator: make a process known by its ``type`` to scenario files and to every function.

    Raises
    ------
    ParameterError
        Another class already bears that ``type``, or the class has none.
    """
    return Processes.add(process)
