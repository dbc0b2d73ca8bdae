"""What is exactly true of a scheme of a user's own?  A law beside it, which knows nothing of its table of a round."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simspec.model.errors import ParameterError
from simspec.model.process import Process
from simspec.model.schemes import Scheme
from simspec.theory.scheme_arguments import depth_rates
from simspec.theory.scheme_means import SchemeLaw

OwnLaw = Callable[[Any, list[float], int], SchemeLaw]
OWN_LAWS: dict[type[Scheme], OwnLaw] = {}
"""Scheme of a user → its law, from the scheme, rates by depth and κ."""
_ALIKE = ("iid", "position", "survival", "markov")
"""Processes whose windows are alike where they start afresh, so that rates by depth say all."""


def exact_law(kind: type[Scheme]) -> Callable[[OwnLaw], OwnLaw]:
    """Decorator: the exact long-run means of a scheme of your own, for the column ``exact`` and for `simspec.exact`.

    Parameters
    ----------
    kind : type
        Class of the scheme, as given to `simspec.register_scheme`.

    Returns
    -------
    callable
        Takes ``law(scheme, rates, kappa)`` and returns it; ``rates[j]`` is the chance of draft j + 1 given that those
        before it were accepted.  The law returns a `SchemeLaw` and is asked where all windows are alike.

    Raises
    ------
    ParameterError
        The scheme is one of simspec's, which has its law.

    Examples
    --------
    >>> import math, simspec
    >>> class AllOrNone(simspec.Scheme):
    ...     type: str = "all_or_none"
    >>> @exact_law(AllOrNone)
    ... def all_or_none(scheme, rates, kappa):
    ...     kept = math.prod(rates)
    ...     return SchemeLaw(1 + kappa * kept, kappa * kept, kappa, 1 - kept, lambda cost: cost.base(kappa))
    >>> simspec.exact(simspec.Iid(alpha=0.9), scheme=AllOrNone(), kappa_max=8).kappa_star
    8
    >>> _ = OWN_LAWS.pop(AllOrNone)
    """
    if kind.__module__.startswith("simspec.model."):
        name = kind.model_fields["type"].default
        raise ParameterError("type", f"type = {name!r} has its exact law; allowed: a scheme of your own")

    def add(law: OwnLaw) -> OwnLaw:
        OWN_LAWS[kind] = law
        return law

    return add


def own_law(scheme: Scheme, process: Process, kappa: int) -> SchemeLaw:
    """The means that a user's law gives.

    Raises
    ------
    ParameterError
        There is no law, or none for this process; or what it returned is none.
    """
    law = OWN_LAWS.get(type(scheme))
    if law is None:
        told = f"type = {scheme.type!r} has no exact route"
        raise ParameterError("scheme.type", f"{told}; simulate it (simspec run), or register one (simspec.exact_law)")
    if process.type not in _ALIKE or process.unit != "window":
        told = f"the exact law of {scheme.type} is for windows that are alike, which those of {process.type} are not"
        raise ParameterError("process.type", f"{told}; allowed: iid, position, survival, markov with fresh windows")
    found = law(scheme, depth_rates(process, kappa), kappa)
    if not isinstance(found, SchemeLaw):
        told = f"the exact law of {scheme.type} returned {type(found).__name__}"
        raise ParameterError("scheme.type", f"{told}; allowed: a simspec.SchemeLaw")
    return found
