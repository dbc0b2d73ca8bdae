"""Which figures of a law of accepted lengths speak of a claim?  Functions of its histogram, and where claims put them.

With a = accepted/examined, E[A] = a(1 − P_full)/(1 − a) holds for any data whatever: a mean at the κ of the fit proves
nothing.  Full acceptance, the profile over positions, the variance, and a mean at a κ that was not fitted do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from simspec.claims.claim import Says, below, between
from simspec.stats.intervals import Floats

TENTH = Says(0.9, 1.1, 1.0)
"""Data never hold a formula to a quarter of a percent: a ratio that should be 1 is taken to be so within a tenth."""
TWENTIETH = Says(0.95, 1.05, 1.0)
"""Means are known better."""
ORDERS = between(-0.3, 0.3)
"""A small probability is right within a factor of two, .3 orders of magnitude."""
FLAT = between(-0.02, 0.02)
LEAST_EVENTS = 20
LAGS = between(-0.1, 0.3)
"""Section 5.1: lag-1 correlation of acceptance."""

Statistic = Callable[[Floats], Floats]


def _shares(histogram: Floats) -> Floats:
    return np.asarray(histogram / histogram.sum(axis=0))


def _kappa(histogram: Floats) -> int:
    return len(histogram) - 1


def mean_accepted(histogram: Floats) -> Floats:
    """E[A], bonus not counted."""
    return np.asarray(np.arange(len(histogram)) @ _shares(histogram))


def accepted_of_examined(histogram: Floats) -> Floats:
    """a = accepted/examined: a draft is examined if all before it were accepted.

    Examples
    --------
    >>> accepted_of_examined(np.array([[1.0], [0.0], [1.0]]))  # of three examined drafts two were accepted
    array([0.66666667])
    """
    examined = np.minimum(np.arange(len(histogram)) + 1, _kappa(histogram)) @ _shares(histogram)
    return np.asarray(mean_accepted(histogram) / examined)


def survival(histogram: Floats) -> Floats:
    """S_1 … S_κ, one row each."""
    return np.asarray(_shares(histogram)[::-1].cumsum(axis=0)[-2::-1])


def none_accepted(histogram: Floats) -> Floats:
    """P(A = 0) = 1 − S_1."""
    return np.asarray(_shares(histogram)[0])


def orders_above_claim(histogram: Floats) -> Floats:
    """log10 of P(A = 0) over (1 − a)^κ: by how many orders of magnitude the claim is too low."""
    claimed = _kappa(histogram) * np.log10(1.0 - accepted_of_examined(histogram))
    return np.asarray(np.log10(none_accepted(histogram)) - claimed)


def variance(histogram: Floats) -> Floats:
    """Var A."""
    return np.asarray(np.arange(len(histogram)) ** 2 @ _shares(histogram) - mean_accepted(histogram) ** 2)


def variance_over_binomial(histogram: Floats) -> Floats:
    """Var A over κa(1 − a)."""
    a = accepted_of_examined(histogram)
    return np.asarray(variance(histogram) / (_kappa(histogram) * a * (1.0 - a)))


def variance_over_geometric(histogram: Floats) -> Floats:
    """Var A over that of a geometric run cut at κ, with the same a."""
    j = np.arange(1, len(histogram))
    powers = accepted_of_examined(histogram)[None, :] ** j[:, None]
    geometric = (2 * j - 1) @ powers - powers.sum(axis=0) ** 2
    return np.asarray(variance(histogram) / geometric)


def accepted_over_drafts(histogram: Floats) -> Floats:
    """E[A] over aκ: 1 if every draft had the rate of an examined one."""
    return np.asarray(mean_accepted(histogram) / (_kappa(histogram) * accepted_of_examined(histogram)))


def full_over_power(histogram: Floats) -> Floats:
    """P(A = κ) over a^κ."""
    return np.asarray(_shares(histogram)[-1] / accepted_of_examined(histogram) ** _kappa(histogram))


def later_minus_first(histogram: Floats) -> Floats:
    """Acceptance of the drafts after the first that were examined, minus that of the first."""
    reached = survival(histogram)
    return np.asarray(reached[1:].sum(axis=0) / reached[:-1].sum(axis=0) - reached[0])


def held_out_mean(histogram: Floats) -> Floats:
    """E[A] over what independent drafts promise whose rate was fitted on the first half of the positions."""
    half, kappa = _kappa(histogram) // 2, _kappa(histogram)
    cut = np.concatenate([histogram[:half], histogram[half:].sum(axis=0, keepdims=True)])
    a = accepted_of_examined(cut)
    return np.asarray(mean_accepted(histogram) * (1.0 - a) / (a * (1.0 - a**kappa)))


def tokens_over_geometric_mean(histogram: Floats) -> Floats:
    """E[A] + 1 over that of independent drafts with the geometric mean of the conditional rates."""
    g = _shares(histogram)[-1] ** (1.0 / _kappa(histogram))
    j = np.arange(len(histogram))
    return np.asarray((1.0 + mean_accepted(histogram)) / (g[None, :] ** j[:, None]).sum(axis=0))


def in_short(alpha: float, first: float, label: str = "a") -> str:
    """What one wants to know of a law beside any figure of it; ``label`` says what the first is.

    Examples
    --------
    >>> in_short(0.7, 0.72)
    'a = 0.700, 1 − S₁ = 0.280'
    """
    return f"{label} = {alpha:.3f}, 1 − S₁ = {1.0 - first:.3f}"


@dataclass(frozen=True)
class LawTest:
    """A figure of a histogram, the rows it speaks of, and where they put it.

    ``least_kappa`` and ``least_alpha`` bound what it means anything for; ``systems`` is a regular expression of
    published systems; ``slack`` is by how much a figure without an error is moved if that is not a share of it;
    ``replayed_kappa`` is the draft length at which a dense trace is replayed; ``event`` the accepted length that must
    have been seen `LEAST_EVENTS` times (−1: κ), since the error of a rarer one is not known.
    """

    claim: str
    reading: str
    measured: str
    statistic: Statistic
    says: Says
    tests: str = "claim"
    least_kappa: int = 2
    least_alpha: float = 0.0
    systems: str = r"^(?!.*tree)"
    slack: float | None = None
    replayed_kappa: int = 8
    event: int | None = None

    def seen_enough(self, counts: Floats) -> bool:
        """Whether the event the figure turns on is frequent enough among these rounds, (κ + 1,)."""
        return self.event is None or bool(counts[self.event] >= LEAST_EVENTS)


DECODING, DECODED = "decoding", "decoded"
"""In readings of rows about windows that stop at the first rejection; of drafts all judged, windows cannot speak.

The article speaks of α from .55 up; far below, (1 − α)^κ is no small probability and nothing is put to the test.
"""
FALLING_HEADS = r"^heads falling.*E\[A\]"
MEASURED = "as measured"
"""In the reading of C38 that data can decide."""
ALONG = "falls along the output"
"""In the reading of C43 that data can decide; what others are said to have measured, they cannot."""

TESTS = (
    LawTest("C05", "decoded window, alpha", "E[A] over aκ", accepted_over_drafts, TENTH),
    LawTest("C09", "accepted over drafted", "accepted ÷ drafted over accepted ÷ examined", accepted_over_drafts, TENTH),
    LawTest("C35", DECODING, "orders of magnitude from (1 − a)^κ up to P(A = 0)", orders_above_claim, ORDERS,
            least_alpha=0.5, slack=0.3, replayed_kappa=4, event=0),
    LawTest("C36", DECODING, "P(A = 0) at a ≥ .74", none_accepted, below(0.01), least_kappa=1, least_alpha=0.74,
            replayed_kappa=4, event=0),
    LawTest("C15", DECODED, "Var A over κa(1 − a)", variance_over_binomial, TENTH),
    LawTest("C15", DECODED, "Var A over that of a cut geometric run", variance_over_geometric, TENTH, "correction"),
    LawTest("C15", DECODED, "P(A = κ) over a^κ", full_over_power, TENTH, "correction",
            event=-1),
    LawTest("C15", DECODED, "acceptance of later drafts minus that of the first", later_minus_first, FLAT,
            "correction", slack=0.05),
    LawTest("C15", DECODED, "E[A] over the i.i.d. value fitted on the first half of the positions", held_out_mean,
            TWENTIETH, "correction"),
    LawTest("C47", FALLING_HEADS, "E[tokens] over that of the geometric mean of the conditional rates",
            tokens_over_geometric_mean, TWENTIETH, systems="Medusa|DFlash"),
)  # fmt: skip
