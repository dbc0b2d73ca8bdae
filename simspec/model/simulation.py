"""What exactly is simulated?  A process, a drafting scheme and a policy; κ, cost, seed and budget stand beside it."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any, Literal

from simspec.model.base import Model
from simspec.model.cost import Cost
from simspec.model.identity import digest
from simspec.model.process import Process


class Chain(Model):
    """Drafting scheme: one chain of κ drafts per round, verified in one target pass (Leviathan et al. 2023)."""

    type: Literal["chain"] = "chain"


class Fixed(Model):
    """Policy: the same κ in every round."""

    type: Literal["fixed"] = "fixed"


@dataclass(frozen=True)
class Simulation:
    """One question to the engine.  Its id does not depend on κ, cost, seed or number of windows.

    Examples
    --------
    >>> from simspec.model import Iid
    >>> Simulation(Iid(alpha=0.7)).id[:12]
    '1a10c3fa3b07'
    """

    process: Process
    scheme: Chain = field(default_factory=Chain)
    policy: Fixed = field(default_factory=Fixed)

    def identity(self) -> dict[str, Any]:
        """What the id is the hash of."""
        return {
            "process": self.process.identity(),
            "scheme": self.scheme.identity(),
            "policy": self.policy.identity(),
        }

    @functools.cached_property
    def id(self) -> str:
        """SHA-256 of the canonical JSON of `identity`, 64 hexadecimal digits."""
        return digest(self.identity())

    def point_id(self, cost: Cost) -> str:
        """Id of this simulation priced with ``cost``."""
        return digest({"simulation": self.id, "cost": cost.identity()})
