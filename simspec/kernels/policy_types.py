"""How does the general loop call a policy?  Types of its passes: functions that are arguments, not specialisations."""

import functools

from simspec.kernels.jit import njit
from simspec.kernels.words import LANES
from simspec.model import ParameterError

_FRAMES = ("Failed in", "During:")
"""How lines of numba's messages begin that only say where it was."""


@functools.cache
def policy_type():
    """Type of a user's pass: (kappa, accepted, full: int32[64], state: float64[rows, 64]), changed in place."""
    from numba import types

    whole = types.int32[::1]
    return types.FunctionType(types.void(whole, whole, whole, types.float64[:, ::1]))


@functools.cache
def own_policy(function):
    """A user's policy, compiled; a row of ``state`` that is not there raises instead of reading what lies behind it.

    The function around it says how long arrays are, which leaves most of the checks away.

    Raises
    ------
    ParameterError
        It cannot be compiled.
    """
    from numba.core.errors import NumbaError

    try:
        inner = njit(function, policy_type().signature, checked=True)
    except (NumbaError, TypeError) as error:
        lines = (line.strip() for line in str(error).splitlines())
        why = next((line for line in lines if line and not line.startswith(_FRAMES)), type(error).__name__)
        name = getattr(function, "__qualname__", "choose")
        raise ParameterError(
            "policy",
            f"policy: {name} cannot be compiled: {why}; allowed: choose(kappa, accepted, full, state), "
            "numbers and arrays only",
        ) from error

    def whole(kappa, accepted, full, state):
        sizes = kappa.size == LANES and accepted.size == LANES and full.size == LANES and state.shape[1] == LANES
        if sizes and kappa.shape[0] == LANES and accepted.shape[0] == LANES and full.shape[0] == LANES:
            inner(kappa, accepted, full, state)

    return njit(whole, policy_type().signature)


@functools.cache
def no_policy():
    """What stands in the place of a user's policy where there is none."""

    def unchanged(kappa, accepted, full, state):
        pass

    return njit(unchanged, policy_type().signature)


@functools.cache
def rule_type():
    """Type of a pass of `simspec.kernels.policies`: also κ of then, drafts made, figures and a word per lane."""
    from numba import types

    whole, figures, words = types.int32[::1], types.float64[::1], types.uint64[::1]
    return types.FunctionType(types.void(*[whole] * 5, types.float64[:, ::1], figures, words))


@functools.cache
def compiled_rule(function):
    """A pass of `simspec.kernels.policies`, compiled."""
    return njit(function, rule_type().signature)
