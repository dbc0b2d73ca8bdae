"""A policy of the user's own: one function over the lanes, compiled once, called by the loop that is already there."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from simspec.model.errors import ParameterError
from simspec.model.policies.policy import Bounded, Policies, Policy


class OwnPolicy(Bounded):
    """What a policy of your own is derived from: a ``type``, perhaps parameters, and the function `choose`.

    ``first``, ``lowest``, ``highest`` and ``keeps`` are there already.

    Examples
    --------
    κ follows the last accepted length, plus a margin:

    >>> import simspec
    >>> @simspec.register_policy
    ... class Echo(simspec.OwnPolicy):
    ...     type: str = "echo"
    ...     margin: float = 1.0
    ...
    ...     def start(self):
    ...         return [self.margin]
    ...
    ...     @staticmethod
    ...     def choose(kappa, accepted, full, state):
    ...         for lane in range(kappa.size):
    ...             kappa[lane] = min(16, accepted[lane] + int(state[0, lane]))
    >>> found = simspec.simulate({"type": "iid", "alpha": 0.7}, {"c_d": 0.1}, windows=20_000, policy=Echo(margin=2.0))
    >>> bool(1.8 < found.to_pandas().speedup[0] < 1.95)
    True
    """

    def start(self) -> Sequence[float]:
        """The state of a lane at its start, by row: what `choose` remembers, and parameters it reads."""
        return [0.0]

    @staticmethod
    def choose(
        kappa: npt.NDArray[np.int32],
        accepted: npt.NDArray[np.int32],
        full: npt.NDArray[np.int32],
        state: npt.NDArray[np.float64],
    ) -> None:
        """Set ``kappa`` of the next round in place, from ``lowest`` to ``highest``.

        Parameters
        ----------
        kappa : int32 array (lanes,)
            κ of the round that has just ended.
        accepted, full : int32 array (lanes,)
            Accepted length, and whether no draft was rejected; accepted + 1 − full drafts were examined.
        state : float64 array (rows, lanes)
            As `start` gave it, and changed since.
        """
        raise NotImplementedError

    def identity(self) -> dict[str, Any]:
        return super().identity() | {"code": _code_hash(type(self))}


def _code_hash(policy: type[OwnPolicy]) -> str:
    """Another function is another policy: hash of its source, or of its code where there is no source."""
    try:
        text = inspect.getsource(policy.choose).encode()
    except (OSError, TypeError):
        code = policy.choose.__code__
        text = repr((code.co_code, code.co_consts, code.co_names)).encode()
    return hashlib.sha256(text).hexdigest()[:16]


def register_policy(policy: type[Policy]) -> type[Policy]:
    """Class decorator: make a policy of your own known by its ``type`` to scenario files and to `simspec.simulate`.

    Raises
    ------
    ParameterError
        Another class already bears that ``type``, or the class has no ``type`` or no ``choose``.
    """
    if issubclass(policy, OwnPolicy) and policy.choose is OwnPolicy.choose:
        told = f"{policy.__qualname__} has no choose; allowed: a static method choose(kappa, accepted, full, state)"
        raise ParameterError("choose", told)
    return Policies.add(policy)
