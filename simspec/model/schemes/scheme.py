"""What is a drafting scheme, and which are there?  A base class and a registry: one file and one line per scheme."""

from __future__ import annotations

import importlib.metadata
from typing import Any, ClassVar

from pydantic import Field, PrivateAttr
from pydantic.fields import FieldInfo

from simspec.model.base import Model, enter, type_word
from simspec.model.cost import Cost
from simspec.model.errors import ParameterError, did_you_mean, shown
from simspec.model.forms import Rounds
from simspec.model.loss import LOSSLESS, NOT_KNOWN, Loss
from simspec.model.rounds import DraftLaw
from simspec.model.schemes.systems_table import INSTEAD, SYSTEM_OF, SYSTEMS, System, plain


class Scheme(Model):
    """How a round drafts and verifies.  κ is how much it may draft: drafts of a chain, nodes of a tree, and the like.

    A subclass has a ``type`` and a method `rounds`; ``@Schemes.add`` above it makes it known to scenario files.
    """

    usual_kappas: ClassVar[tuple[int, ...]] = tuple(range(17))
    """κ at which a scenario runs the scheme if it names none."""

    type: str
    label: str = Field(default="", repr=False, description="name shown beside the numbers; not part of the identity")

    _system: System | None = PrivateAttr(default=None)

    @property
    def chained(self) -> bool:
        """Whether drafts are one chain of κ tokens, which every process plays in a form of its own."""
        return False

    @property
    def system(self) -> System | None:
        """The system it was asked for as, or is labelled as."""
        named = self._system or SYSTEM_OF.get(plain(self.label))
        return named if named is not None and named.scheme == self.type else None

    @property
    def assumed(self) -> tuple[str, ...]:
        """What stands in the place of parameters that no source gives, where the scheme is a system by name.

        Examples
        --------
        >>> import simspec.model
        >>> Schemes.make(type="lookahead decoding").assumed
        ('good: every step has candidates (good = 1); the share of such steps is not published',)
        >>> Schemes.make(type="lookahead decoding", good=0.8).assumed
        ()
        >>> own = Schemes.make(type="lookahead decoding", label="mine")
        >>> len(Schemes.make(label="mine", **own.identity()).assumed)  # read back, without the name it was asked by
        1
        """
        system = self.system or self._alike
        if system is None:
            return ()
        usual = {key: field.default for key, field in type(self).model_fields.items()} | dict(system.keys)
        told = system.assumed.items()
        return tuple(f"{key}: {what}" for key, what in told if getattr(self, key) == usual[key])

    @property
    def _alike(self) -> System | None:
        """The system with assumptions all of whose parameters it has, if it is labelled: a name leaves a label."""
        named = (own for own in SYSTEMS if self.label and own.scheme == self.type and own.assumed and own.keys)
        return next((own for own in named if all(getattr(self, key) == value for key, value in own.keys.items())), None)

    @property
    def pays(self) -> str:
        """What its rounds pay, in words, where that is not what the cost says."""
        return ""

    @property
    def notes(self) -> tuple[str, ...]:
        """What must stand beside its numbers."""
        return (*([self.pays] if self.pays else []), *(f"assumed {what}" for what in self.assumed))

    @property
    def kappas(self) -> tuple[int, ...]:
        """κ at which a scenario runs it if it names none: the usual ones, and those of the system that it is."""
        named = () if self.system is None else self.system.kappas
        return tuple(sorted({*self.usual_kappas, *named}))

    def within_budget(self, kappas: tuple[int, ...]) -> tuple[int, ...]:
        """Of these κ, numbers of nodes, those that the system which it is can verify: at most its own largest.

        Examples
        --------
        >>> import simspec.model
        >>> Schemes.make(type="medusa").within_budget((32, 63, 64)), Schemes.make(type="tree").within_budget((63, 64))
        ((32, 63), (63, 64))
        """
        most = max(kappas if self.system is None or not self.system.kappas else self.system.kappas)
        return tuple(kappa for kappa in kappas if kappa <= most)

    def priced(self, cost: Cost) -> Cost:
        """What its rounds pay where the draft is not priced by the cost alone; the cost itself in most schemes.

        Prices are arithmetic on what was counted: they never change a simulation, so this may not either.
        """
        return cost

    def chain_steps(self, drafted: int) -> int:
        """Draft steps of a chain of so many drafts."""
        return drafted

    @property
    def lossless(self) -> bool:
        """Whether the output follows the target's own law."""
        return True

    @property
    def loses(self) -> Loss | None:
        """By which measure its output is worse; None where it is lossless, or where no measure is known."""
        return None

    @property
    def loss_in_words(self) -> str:
        """What tables say of it.

        Examples
        --------
        >>> from simspec.model.schemes import BigLittle, Chain
        >>> Chain().loss_in_words, BigLittle(p_fallback=0.1).loss_in_words
        ('lossless', 'not known')
        """
        return LOSSLESS if self.lossless else str(self.loses or NOT_KNOWN)

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
        return {key: value for key, value in super().identity().items() if value is not None and key != "label"}

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
            Another class already bears that ``type``, or the class has none.
        """
        return enter(cls.table, scheme)

    @classmethod
    def load_plugins(cls) -> None:
        """Import what is registered under the entry-point group ``simspec.schemes``; each registers its classes."""
        for point in importlib.metadata.entry_points(group="simspec.schemes"):
            point.load()

    @classmethod
    def find(cls, kind: Any) -> tuple[type[Scheme] | None, System | None]:
        """The class that a ``type`` names, and the system, if it is the name of one."""
        if not isinstance(kind, str):
            return None, None
        if kind not in cls.table and plain(kind) not in SYSTEM_OF:
            cls.load_plugins()
        system = None if kind in cls.table else SYSTEM_OF.get(plain(kind))
        return cls.table.get(kind if system is None else system.scheme), system

    @classmethod
    def fields(cls, kind: Any) -> dict[str, FieldInfo]:
        """The parameters of the scheme that a ``type`` names; none if there is no such scheme."""
        found, _ = cls.find(kind)
        return {} if found is None else found.model_fields

    @classmethod
    def make(cls, /, **keys: Any) -> Scheme:
        """Build a scheme from the keys of a ``[scheme]`` table.

        ``type`` is that of a scheme, or the name of a system (`simspec.model.schemes.systems_table`): its published
        parameters are then used where none are given, and its name is the label.

        Raises
        ------
        ParameterError
            The type is unknown, or a parameter is missing or wrong.

        Examples
        --------
        >>> import simspec.model
        >>> print(Schemes.make(type="chain"))
        chain
        >>> own = Schemes.make(type="SpecDec++", kmin=4)
        >>> own.label, str(own)
        ('SpecDec++', "stop(theta = 0.3, rule = 'survival', kmin = 4)")
        """
        kind = keys.get("type")
        if kind is None:
            raise ParameterError("type", f"type is missing; known: {', '.join(cls.table)}")
        found, system = cls.find(kind)
        if found is None:
            names = [*cls.table, *(system.names[0] for system in SYSTEMS)]
            raise ParameterError("type", f"type = {shown(kind)} is unknown{did_you_mean(str(kind).lower(), names)}")
        if system is None:
            return found(**keys)
        given = {key: value for key, value in keys.items() if key != "type"}
        replaced = {own for key in given for own in INSTEAD.get(key, ())}
        usual = {key: value for key, value in system.keys.items() if key not in replaced}
        for key, allowed in system.asked.items():
            if key not in replaced and given.get(key) is None:
                raise ParameterError(key, f"{key} is missing; allowed: {allowed} ({kind}: {system.source})")
        try:
            scheme = found(**({"label": kind} | usual | given))
        except ParameterError as error:
            key = error.key.partition("[")[0]
            if key in given and key not in system.keys:
                raise
            raise ParameterError(error.key, f"{error.message} ({kind}: {system.source})") from None
        scheme._system = system
        return scheme


def register_scheme(scheme: type[Scheme]) -> type[Scheme]:
    """Class decorator: make a scheme of your own known by its ``type`` to scenario files and to `simspec.simulate`.

    Raises
    ------
    ParameterError
        Another class or a system already bears that ``type``, or the class has no ``type`` or no method ``rounds``.
    """
    name = type_word(scheme)
    if plain(name) in SYSTEM_OF:
        raise ParameterError("type", f"type = {name!r} is already taken by a system; allowed: a word of its own")
    if scheme.rounds is Scheme.rounds:
        told = f"{scheme.__qualname__} has no rounds; allowed: a method rounds(draft, kappa) that returns a RoundTable"
        raise ParameterError("rounds", told)
    return Schemes.add(scheme)
