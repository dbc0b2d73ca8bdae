"""Which acceptance is an engine to imitate: which curve, which mean, at which κ?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from simspec.advice.acceptance import Acceptance, acceptance_of_numbers
from simspec.advice.export.parts import Synthetic
from simspec.advice.export.read import advice_of
from simspec.model.errors import ParameterError

BENCHMARK_ONLY = "for benchmarks only: the engine accepts drafts without looking at them, and its text is worthless"


def synthetic_of(acceptance: Acceptance, kappa: int | None = None, iid: bool = False) -> Synthetic:
    """The curve and the mean at ``kappa``, at most the κ at which they were seen.

    Examples
    --------
    >>> from simspec.advice.acceptance import acceptance_of_numbers
    >>> synthetic_of(acceptance_of_numbers(survival=[0.84, 0.6, 0.39]), kappa=2)
    Synthetic(kappa=2, emitted=2.44, survival=(0.84, 0.6))
    """
    seen = acceptance.kappa
    at = seen if kappa is None else kappa
    if at is None or at < 1:
        raise ParameterError("kappa", "the draft length to imitate is not known; give --kappa N, at least 1")
    curve = acceptance.survival
    if curve is None and iid and acceptance.alpha is not None:
        curve = tuple(acceptance.alpha**j for j in range(1, at + 1))
    if curve is not None and len(curve) >= at:
        return Synthetic(at, 1.0 + sum(curve[:at]), tuple(curve[:at]))
    if curve is None and acceptance.emitted is not None and at == seen:
        return Synthetic(at, acceptance.emitted, None)
    known = f"{len(curve)} positions" if curve is not None else f"the mean at κ = {seen}"
    raise ParameterError("kappa", f"kappa = {at}: only {known} are known; allowed: no more than is known")


def acceptance_of_recommendation(given: Mapping[str, Any], kappa: int | None) -> tuple[Acceptance, int]:
    """The curve a recommendation rests on, and the κ it is for."""
    advice = advice_of(given, kappa)
    curve = given.get("survival")
    if not isinstance(curve, (list, tuple)) or not all(type(share) in (int, float) for share in curve):
        raise ParameterError("survival", "the recommendation holds no survival; allowed: what simspec recommend prints")
    own = acceptance_of_numbers(survival=list(curve))
    model = "" if given.get("survival_is") == "measured" else ", a model's where it was not measured"
    return replace(own, origin=f"survival of the recommendation{model}"), advice.cells[0].kappa
