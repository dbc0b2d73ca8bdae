"""What is a drafting scheme, and which are there?  A base class and a registry: one file and one line per scheme."""

from __future__ import annotations

import importlib.metadata
from typing import Any, ClassVar

from simspec.model.base import Model
from simspec.model.errors import ParameterError, did_you_mean, shown
from simspec.model.forms import Rounds
from simspec.model.rounds import DraftLaw

SYSTEMS = {
    "leviathan": "chain", "draftmodel": "chain", "mtp": "chain", "layerskip": "chain",
    "medusa": "tree", "eagle": "tree", "eagle1": "tree", "sequoia": "tree", "specinfer": "tree",
    "eagle2": "dynamic_tree", "eagle3": "dynamic_tree",
    "specdec++": "stop", "disco": "stop", "kangaroo": "stop", "pmin": "stop", "dsd": "stop",
    "pearl": "ahead", "dsi": "parallel",
    "promptlookup": "lookup", "ngram": "lookup", "pld": "lookup", "lookaheaddecoding": "lookahead",
    "bild": "big_little", "biglittledecoder": "big_little",
    "llada": "unmask", "fastdllm": "unmask",
}  # fmt: skip
"""What systems are called, without case and dashes, and the scheme they are (docs/systems.md)."""


class Scheme(Model):
    """How a round drafts and verifies.  κ is how much it may draft: drafts of a chain, nodes of a tree, and the like.

    A subclass has a ``type`` and a method `rounds`; ``@Schemes.add`` above it makes it known to scenario files.
    """

    usual_kappas: ClassVar[tuple[int, ...]] = tuple(range(17))
    """κ at which a scenario runs the scheme if it names none."""

    type: str

    def rounds(self, draft: DraftLaw, kappa: int) -> Rounds:
        """The table of a round in which at most ``kappa`` tokens are drafted.

        Parameters
        ----------
        draft : DraftLaw
            What the process says of the drafts of a window: at least ``kappa`` depths.
        kappa : int
            κ ≥ 0.

        Raises
        ------
        ParameterError
            The scheme cannot be asked for this κ, or has no meaning for this process.
        """
        raise NotImplementedError

    def parameters(self) -> dict[str, Any]:
        """The parameters without the type, for tables."""
        own = self.identity()
        del own["type"]
        return own

    def identity(self) -> dict[str, Any]:
        return {key: value for key, value in super().identity().items() if value is not None}

    def __str__(self) -> str:
        inside = ", ".join(f"{key} = {shown(value)}" for key, value in self.parameters().items())
        return f"{self.type}({inside})" if inside else self.type


class Schemes:
    """The registry: ``type`` word → class."""

    table: ClassVar[dict[str, type[Scheme]]] = {}

    @classmethod
    def add(cls, scheme: type[Scheme]) -> type[Scheme]:
        """Class decorator: make a scheme known by its ``type``.

        Raises
        ------
        ParameterError
            Another class already bears that ``type``.
        """
        name = scheme.model_fields["type"].default
        known = cls.table.get(name)
        if known is not None and (known.__module__, known.__qualname__) != (scheme.__module__, scheme.__qualname__):
            raise ParameterError("type", f"type = {name!r} is already taken by {known.__module__}.{known.__qualname__}")
        cls.table[name] = scheme
        return scheme

    @classmethod
    def load_plugins(cls) -> None:
        """Import what is registered under the entry-point group ``simspec.schemes``; each registers its classes."""
        for point in importlib.metadata.entry_points(group="simspec.schemes"):
            point.load()

    @classmethod
    def make(cls, /, **keys: Any) -> Scheme:
        """Build a scheme from the keys of a ``[scheme]`` table.

        Examples
        --------
        >>> import simspec.model
        >>> print(Schemes.make(type="chain"))
        chain
        """
        kind = keys.get("type")
        if kind is None:
            raise ParameterError("type", f"type is missing; known: {', '.join(cls.table)}")
        if isinstance(kind, str) and kind not in cls.table:
            cls.load_plugins()
        if not isinstance(kind, str) or kind not in cls.table:
            near = SYSTEMS.get(str(kind).lower().replace("-", "").replace("_", "").replace(" ", ""))
            hint = f'; it is a scheme of type = "{near}"' if near else did_you_mean(str(kind), cls.table)
            raise ParameterError("type", f"type = {shown(kind)} is unknown{hint}")
        return cls.table[kind](**keys)


def register_scheme(scheme: type[Scheme]) -> type[Scheme]:
    """Class decorator: make a scheme of your own known by its ``type`` to scenario files and to `simspec.simulate`.

    Raises
    ------
    ParameterError
        Another class already bears that ``type``.
    """
    return Schemes.add(scheme)
