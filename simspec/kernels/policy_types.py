"""How does the general loop call a policy?  Types of its passes: functions that are arguments, not specialisations."""

import functools

from simspec.kernels.jit import njit
from simspec.model import ParameterError
from simspec.text import clean


@functools.cache
def policy_type():
    """Type of a user's pass: (kappa, accepted, full: int32[64], state: float64[rows, 64]), changed in place."""
    from numba import types

    whole = types.int32[::1]
    return types.FunctionType(types.void(whole, whole, whole, types.float64[:, ::1]))


@functools.cache
def own_policy(function):
    """A user's policy, compiled.

    Raises
    ------
    ParameterError
        It is no function of four arrays, or does what numba cannot compile.
    """
    from numba.core.errors import NumbaError

    try:
        return njit(function, policy_type().signature)
    except (NumbaError, TypeError) as error:
        lines = [line for line in str(error).splitlines() if line and not line.startswith("Failed in nopython mode")]
        told = f"policy cannot be compiled: {clean(lines[0])}"
        allowed = "choose(kappa, accepted, full, state) of arrays, in Python that numba compiles"
        raise ParameterError("policy", f"{told}; allowed: {allowed}") from error


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
