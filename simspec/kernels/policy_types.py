"""How does the general loop call a policy?  Types of its passes: functions that are arguments, not specialisations."""

import functools

from simspec.kernels.jit import njit
from simspec.kernels.words import LANES


@functools.cache
def policy_type():
    """Type of a user's pass: (kappa, accepted, full: int32[64], state: float64[rows, 64]), changed in place."""
    from numba import types

    whole = types.int32[::1]
    return types.FunctionType(types.void(whole, whole, whole, types.float64[:, ::1]))


@functools.cache
def own_policy(function):
    """A user's policy, compiled; an index beyond its state is its error, and not the end of the process.

    Sizes that are known leave most checks of bounds away.
    """
    inner = njit(function, checked=True)

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
