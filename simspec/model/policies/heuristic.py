"""Up after a full round, down after another; steps between a few lengths; off for good."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import Field

from simspec.model.errors import ParameterError, shown
from simspec.model.policies.policy import POLICY_KAPPA_LIMIT, Bounded, Policies, Policy

Count = Annotated[int, Field(ge=0, le=10**6)]


@Policies.add
class Heuristic(Bounded):
    """κ grows by ``up`` after a round without a rejection and falls by ``down`` after another.

    Parameters
    ----------
    up, down : int
        Changes of κ.
    first, lowest, highest : int
        κ of the first round, and its bounds.
    keeps : bool
        Whether κ outlives a request: false is "heuristic_transient", true "heuristic" since the adapted length persists
        over calls.

    References
    ----------
    Hugging Face transformers, generation/candidate_generator.py, ``update_candidate_strategy``: +2 where every
    candidate matched, else −1 but not below 1; there is no upper bound.  Schedule and κ = 5 were defaults in version
    4.40.  Since 4.45 the default is "constant" with 20 candidates: who asks for the schedule begins with
    ``first = 20``, and a confidence threshold of .4 cuts drafts short (here a scheme, not a policy).
    """

    type: Literal["heuristic"] = "heuristic"
    first: int = Field(default=5, ge=0, le=POLICY_KAPPA_LIMIT, description="κ of the first round")
    up: int = Field(default=2, ge=0, le=POLICY_KAPPA_LIMIT, description="change of κ after a full round")
    down: int = Field(default=1, ge=0, le=POLICY_KAPPA_LIMIT, description="fall of κ after another")


@Policies.add
class Steps(Policy):
    """A moving average of accepted lengths, held against thresholds between a few draft lengths.

    Parameters
    ----------
    candidates : list of int
        Draft lengths, ascending.
    first : int
        One of them; the middle one if left out.
    weight : float
        Of the new length in the average, 0 < weight ≤ 1.
    warm_up, interval : int
        Rounds before the first decision, and between two.
    down, up : float
        Added to the thresholds: κ falls to a candidate c where the average is at most c − ½ + down, and rises from c
        where it is above c − ½ + up.
    ceiling : float
        After a decision that does not raise κ, κ is at most ⌈ceiling · average⌉, or 1; 0: no ceiling.
    keeps : bool
        Whether κ and average outlive a request.

    Notes
    -----
    The average begins at κ − 1.  Of a candidate 0: κ falls to it where the average is at most ½ + down, rounds with
    κ = 0 leave the average as it is, and the next decision tries the least candidate above 0.

    References
    ----------
    SGLang, speculative/adaptive_spec_params.py, ``AdaptiveStepSlot``; its defaults for a batch of one (``ema_alpha``,
    ``warmup_batches``, ``update_interval``, ``down_hysteresis``, ``up_hysteresis``, ``ceiling_coeff``).  Its average is
    over the batch and outlives requests: ``keeps = true`` here.
    """

    later = frozenset({"ceiling"})
    type: Literal["steps"] = "steps"
    candidates: tuple[Annotated[int, Field(ge=0, le=POLICY_KAPPA_LIMIT)], ...] = Field(
        default=(1, 3, 5, 7), min_length=1, description="draft lengths, ascending"
    )
    first: int | None = Field(default=None, description="κ of the first round")
    weight: float = Field(default=0.2, gt=0, le=1, description="weight of the new accepted length")
    warm_up: Count = Field(default=10, description="rounds before the first decision")
    interval: int = Field(default=5, ge=1, le=10**6, description="rounds between decisions")
    down: float = Field(default=-0.25, ge=-64, le=64, description="added to the threshold of a fall")
    up: float = Field(default=0.0, ge=-64, le=64, description="added to the threshold of a rise")
    ceiling: float = Field(default=0.0, ge=0, le=64, description="κ over the average, at most; 0: no ceiling")
    keeps: bool = Field(default=False, description="whether κ and average outlive a request")

    def __init__(self, /, *unnamed: Any, **data: Any) -> None:
        super().__init__(*unnamed, **data)
        if any(a >= b for a, b in pairwise(self.candidates)):
            told = f"candidates = {shown(list(self.candidates))} do not ascend"
            raise ParameterError("candidates", f"{told}; allowed: each above the last")
        if self.first is not None and self.first not in self.candidates:
            told = f"first = {self.first} is no candidate"
            raise ParameterError("first", f"{told}; allowed: one of {shown(list(self.candidates))}")

    @property
    def rests(self) -> bool:
        return self.candidates[0] == 0

    @property
    def begins(self) -> int:
        return self.candidates[len(self.candidates) // 2] if self.first is None else self.first

    @property
    def longest(self) -> int:
        return self.candidates[-1]
