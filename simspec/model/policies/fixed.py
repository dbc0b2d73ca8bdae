"""The same κ in every round, and κ by output position."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from simspec.model.errors import ParameterError
from simspec.model.policies.policy import POLICY_KAPPA_LIMIT, Policies, Policy

Length = Annotated[int, Field(ge=0, le=POLICY_KAPPA_LIMIT)]


@Policies.add
class Fixed(Policy):
    """The same κ in every round: the κ of the scenario."""

    type: Literal["fixed"] = "fixed"

    @property
    def adapts(self) -> bool:
        return False


@Policies.add
class Schedule(Policy):
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

    @property
    def begins(self) -> int:
        return self.kappas[0]

    @property
    def longest(self) -> int:
        return max(self.kappas)


@Policies.add
class BatchTable(Policy):
    """κ by batch size, as engines take it from a table; the batch is given by output position.

    Parameters
    ----------
    table : list of (int, int, int)
        (first batch, last batch, κ), as vLLM's ``num_speculative_tokens_per_batch_size``; κ = 0 outside of all ranges.
    batches : list of int
        Batch size when i tokens are out; the last entry serves all later ones.

    References
    ----------
    vLLM, docs/features/speculative_decoding/dynamic_speculative_decoding.md; TensorRT-LLM's ``draft_len_schedule`` is
    the same with open ranges.

    Examples
    --------
    >>> BatchTable(table=[[1, 64, 3], [65, 128, 1]], batches=[200, 100, 30]).kappas
    (0, 1, 3)
    """

    type: Literal["batch_table"] = "batch_table"
    table: tuple[tuple[int, int, Length], ...] = Field(min_length=1, description="(first, last batch, κ)")
    batches: tuple[Annotated[int, Field(ge=1)], ...] = Field(min_length=1, description="batch by tokens out")

    @property
    def kappas(self) -> tuple[int, ...]:
        """κ by output position."""
        return tuple(self._kappa(batch) for batch in self.batches)

    def _kappa(self, batch: int) -> int:
        found = [kappa for first, last, kappa in self.table if first <= batch <= last]
        if len(found) > 1:
            raise ParameterError("table", f"table has {len(found)} entries for a batch of {batch}; allowed: one")
        return found[0] if found else 0

    @property
    def begins(self) -> int:
        return self.kappas[0]

    @property
    def longest(self) -> int:
        return max(self.kappas)
