"""Was a process, a scheme, a policy, a cost given as an object or as keys?  Either becomes the object."""

from __future__ import annotations

from typing import Any

from simspec.model.cost import Cost
from simspec.model.errors import ParameterError
from simspec.model.policies import Policies, Policy
from simspec.model.process import Process, Processes
from simspec.model.schemes import Scheme, Schemes
from simspec.model.serving import Serving


def as_process(value: Process | dict[str, Any]) -> Process:
    """The process itself, or made from its keys.

    Examples
    --------
    >>> import simspec.model
    >>> as_process({"type": "iid", "alpha": 0.7})
    Iid(type='iid', label='', alpha=0.7)
    """
    if isinstance(value, Process):
        return value
    if not isinstance(value, dict):
        raise ParameterError("process", f"process = {value!r}; allowed: simspec.Iid(alpha=0.7) or the like, or a dict")
    return Processes.make(**value)


def as_scheme(value: Scheme | dict[str, Any] | str | None) -> Scheme:
    """The scheme itself, or made from its keys or its name; a chain if there is none.

    Examples
    --------
    >>> print(as_scheme(None), as_scheme("pearl"))
    chain ahead(pre_verify = True)
    """
    if isinstance(value, Scheme):
        return value
    if isinstance(value, str):
        return Schemes.make(type=value)
    if value is not None and not isinstance(value, dict):
        raise ParameterError("scheme", f'scheme = {value!r}; allowed: "medusa", {{"type": "tree", ...}} or the like')
    return Schemes.make(**(value or {"type": "chain"}))


def as_policy(value: Policy | dict[str, Any] | str | None) -> Policy:
    """The policy itself, or made from its keys or its type; the same κ in every round if there is none.

    Examples
    --------
    >>> print(as_policy(None), as_policy({"type": "schedule", "kappas": [4, 2]}))
    fixed schedule(kappas = [4, 2])
    """
    if isinstance(value, Policy):
        return value
    if isinstance(value, str):
        return Policies.make(type=value)
    if value is not None and not isinstance(value, dict):
        raise ParameterError("policy", f'policy = {value!r}; allowed: "heuristic", {{"type": "rolling"}} or the like')
    return Policies.make(**(value or {"type": "fixed"}))


def as_serving(value: Serving | dict[str, Any] | None) -> Serving:
    """The conditions themselves, or made from their keys; none if nothing is said.

    Examples
    --------
    >>> print(as_serving({"delay": 2}))
    delay = 2
    """
    if isinstance(value, Serving):
        return value
    if value is not None and not isinstance(value, dict):
        raise ParameterError("serving", f'serving = {value!r}; allowed: {{"delay": 2}} or the like')
    try:
        return Serving(**(value or {}))
    except ParameterError as error:
        raise error.under("serving") from None


def as_cost(value: Cost | dict[str, Any] | None) -> Cost:
    """The cost itself, or made from its keys; a free draft if there is none.

    Examples
    --------
    >>> as_cost({"c_d": 0.1}).c_d
    0.1
    """
    if value is None:
        return Cost()
    if isinstance(value, Cost):
        return value
    if not isinstance(value, dict):
        raise ParameterError("cost", f"cost = {value!r}; allowed: simspec.Cost(c_d=0.1), or a dict")
    return Cost(**value)
