"""What does a survival curve, or a mean, say of a round?  The few formulas that all advice shares."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from simspec.evidence.block import LONGEST_DRAFT, alpha_from_mean
from simspec.evidence.source import Unknown


def conditional_of(survival: Sequence[float]) -> list[float | None]:
    """α_j = S_j ÷ S_(j−1); None where no round came so far.

    Examples
    --------
    >>> conditional_of([0.8, 0.4, 0.0, 0.0])
    [0.8, 0.5, 0.0, None]
    """
    return [s / before if before else None for before, s in itertools.pairwise([1.0, *survival])]


def survival_of(conditional: Sequence[float | None]) -> list[float]:
    """S_j = α_1·…·α_j.

    Examples
    --------
    >>> survival_of([0.8, 0.5, None])
    [0.8, 0.4, 0.0]
    """
    return list(itertools.accumulate((alpha or 0.0 for alpha in conditional), lambda s, alpha: s * alpha))


def variance_of(survival: Sequence[float]) -> float:
    """Var A = Σ(2j − 1)S_j − (ΣS_j)².

    Examples
    --------
    >>> variance_of([0.5])
    0.25
    """
    return max(0.0, math.fsum((2 * j + 1) * s for j, s in enumerate(survival)) - math.fsum(survival) ** 2)


def iid_alpha(accepted: float, kappa: int) -> float | None:
    """The i.i.d. α with this mean accepted length at this κ; None where none has it, or κ is no draft's.

    Examples
    --------
    >>> round(iid_alpha(1.7731, 4), 4), iid_alpha(5.0, 4)
    (0.7, None)
    """
    found = alpha_from_mean(accepted, kappa) if kappa <= LONGEST_DRAFT else None
    return None if isinstance(found, Unknown) else found
