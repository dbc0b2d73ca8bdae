"""The same κ in every round, and κ by output position."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import Field

from simspec.model.errors import ParameterError, shown
from simspec.model.policies.policy import POLICY_KAPPA_LIMIT, Policies, Policy

Length = Annotated[int, Field(ge=0, le=POLICY_KAPPA_LIMIT)]


@Policies.add
class Fixed(Policy):
    """The same κ in every round: the κ of the scenario."""

    type: Literal["fixed"] = "fixed"

    @property
    def adapts(self) -> bool:
        return False


class ByPosition(Policy):
    """A policy whose κ are known beforehand, by output position."""

    def plan(self) -> tuple[int, ...]:
        """κ of a round that starts when so many tokens are out; the last entry serves all later ones."""
        raise NotImplementedError

    @property
    def of_one_request(self) -> str:
        return "goes by the output position of one request"

    @property
    def rests(self) -> bool:
        return 0 in self.plan()

    @property
    def begins(self) -> int:
        return self.plan()[0]

    @property
    def longest(self) -> int:
        return max(self.plan())


@Policies.add
class Schedule(ByPosition):
    """κ by output position: a plan made beforehand, such as the optimum for rates that are known.

    Parameters
    ----------
    kappas : list of int
        ``kappas[i]``: κ of a round that starts when i tokens are out; the last entry serves all later ones.

    References
    ----------
    `simspec.theory.optimal_plan` makes the best one.

    Examples
    --------
    >>> plan = Schedule(kappas=[4, 4, 2])
    >>> plan.begins, plan.longest
    (4, 4)
    """

    type: Literal["schedule"] = "schedule"
    kappas: tuple[Length, ...] = Field(min_length=1, description="κ by tokens out")

    def plan(self) -> tuple[int, ...]:
        return self.kappas


@Policies.add
class BatchTable(ByPosition):
    """κ by batch size, as engines take it from a table; the batch is given by output position.

    Parameters
    ----------
    table : list of (int, int, int)
        (first batch, last batch, κ), as vLLM's ``num_speculative_tokens_per_batch_size``; the first range begins at a
        batch of 1, and a batch behind a range and before the next one, if any, keeps the κ of that range.
    draft_len_schedule : dict, instead of ``table``
        {largest batch: κ}, as TensorRT-LLM's: each κ serves batches up to its key and above the key before it, and
        none is drafted beyond the last key.
    batches : list of int
        Batch size when i tokens are out; the last entry serves all later ones.

    Notes
    -----
    In earlier releases of TensorRT-LLM a key was the *smallest* batch of its range; a schedule written for those has to
    be rewritten.

    References
    ----------
    vLLM, docs/features/speculative_decoding/dynamic_speculative_decoding.md and vllm/v1/spec_decode/dynamic/utils.py;
    TensorRT-LLM, tensorrt_llm/_torch/speculative/utils.py, ``get_draft_len_for_batch_size``.

    Examples
    --------
    >>> BatchTable(table=[[1, 64, 3], [65, 128, 1]], batches=[200, 100, 30]).plan()
    (1, 1, 3)
    >>> BatchTable(draft_len_schedule={64: 3, 128: 1}, batches=[200, 100, 30]).plan()
    (0, 1, 3)
    """

    type: Literal["batch_table"] = "batch_table"
    table: tuple[tuple[int, int, Length], ...] = Field(
        min_length=1, description="(first, last batch, κ); or draft_len_schedule = {last batch: κ}"
    )
    batches: tuple[Annotated[int, Field(ge=1)], ...] = Field(min_length=1, description="batch by tokens out")

    def __init__(self, /, *unnamed: Any, **data: Any) -> None:
        if "draft_len_schedule" in data:
            if "table" in data:
                raise ParameterError("table", "table stands beside draft_len_schedule; allowed: one of them")
            data["table"] = _ranges(data.pop("draft_len_schedule"))
        super().__init__(*unnamed, **data)
        ends = [0, *(last for _, last, _ in sorted(self.table))]
        for (first, last, _), before in zip(sorted(self.table), ends, strict=False):
            if first > last:
                raise ParameterError("table", f"table has batches from {first} to {last}; allowed: first ≤ last")
            if first <= before:
                told = f"table has batches from {first} to {last} behind a range that ends at {before}"
                raise ParameterError("table", f"{told}; allowed: ranges that do not overlap")
        if min(self.table)[0] != 1:
            told = f"table begins at a batch of {min(self.table)[0]}"
            raise ParameterError("table", f"{told}; allowed: a first range that begins at 1")

    def plan(self) -> tuple[int, ...]:
        return tuple(max(own for own in self.table if own[0] <= batch)[2] for batch in self.batches)


_MOST = 2**31 - 1
"""A batch that none is larger than."""


def _ranges(schedule: Any) -> tuple[tuple[int, int, int], ...]:
    """{largest batch: κ} as closed ranges; TOML and JSON write the batches as texts."""
    allowed = "allowed: a table of {largest batch: draft length}, batches ≥ 1"
    if not isinstance(schedule, Mapping) or not schedule:
        raise ParameterError("draft_len_schedule", f"draft_len_schedule = {shown(schedule)} is no table; {allowed}")
    own: dict[int, int] = {}
    for key, kappa in schedule.items():
        text = str(key).strip()
        if not (text.isascii() and text.isdigit() and int(text) >= 1):
            raise ParameterError("draft_len_schedule", f"draft_len_schedule has the key {shown(key)}; {allowed}")
        if int(text) in own:
            raise ParameterError("draft_len_schedule", f"draft_len_schedule has the batch {text} twice; {allowed}")
        if isinstance(kappa, bool) or not isinstance(kappa, int) or not 0 <= kappa <= POLICY_KAPPA_LIMIT:
            told = f"draft_len_schedule drafts {shown(kappa)} up to a batch of {text}"
            raise ParameterError("draft_len_schedule", f"{told}; allowed: 0 to {POLICY_KAPPA_LIMIT}")
        own[int(text)] = kappa
    ends = sorted(own)
    ranges = [(first + 1, last, own[last]) for first, last in pairwise([0, *ends])]
    return (*ranges, (ends[-1] + 1, _MOST, 0))
