"""What does a round cost at another batch and context?  A roofline over batch × context × width, in measured ms."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simspec.evidence.costs.round_costs import Floats, RoundCosts
from simspec.model.errors import ParameterError

WEIGHTS, CONTEXT, COMPUTE, ROUND, DRAFT, DRAFT_CONTEXT = range(6)
NAMES = ("weights_ms", "kv_ms", "compute_ms", "round_ms", "draft_ms", "draft_kv_ms")
MEANING = (
    "reading the weights, per step",
    "reading the cache, per request and token of context (per request where no context was stated)",
    "arithmetic, per token of the pass",
    "a round of speculation, beyond its pass and drafts",
    "one draft of the whole batch",
    "one draft, per request and token of context",
)
LONGEST = 64
UNSTATED = 1.0
"""Tokens of context of a request whose context no row states: what grows with the batch is then per request."""
TRUSTED = 0.15
"""A roofline that misses a row by more says nothing of loads that were not measured."""


@dataclass(frozen=True, eq=False)
class Roofline:
    """ms of a step = max(weights + batch·context·kv, batch·(κ + 1)·compute) + [κ > 0]·round + κ·draft.

    Drafting grows with the context too: draft + batch·context·draft_kv.

    Attributes
    ----------
    values : float array (6,)
        In the order of `NAMES`, ms, each ≥ 0.
    spread : float array (6, m)
        The values vary as ``values + spread @ z``, z independent of mean 0 and variance 1.
    freedom : float
    largest_residual : float
        Share of the fitted time.
    unknown : mapping
        Value that the rows cannot tell → why.
    ridge_above : float or None
        All rows were bound by memory: the ridge lies above so many tokens per step.
    loads : tuple
        Largest batch, context and κ measured.
    draft_known : bool
        Whether drafting is in the rows.
    draft_cost : float
        One draft in plain steps, said by the caller, where it is not.
    origin : str

    Examples
    --------
    >>> values = np.array([6.0, 1e-5, 0.05, 0.5, 0.4, 0.0])
    >>> own = Roofline(values, np.zeros((6, 0)), math.inf, 0.0, {}, None, (600.0, 4096.0, 3.0), True)
    >>> [round(own.at(batch, 500).at(3), 2) for batch in (1, 600)]
    [1.28, 4.06]
    """

    values: Floats
    spread: Floats
    freedom: float
    largest_residual: float
    unknown: Mapping[str, str]
    ridge_above: float | None
    loads: tuple[float, float, float]
    draft_known: bool
    draft_cost: float = 0.0
    origin: str = ""

    def ms(self, batch: float, context: float, kappa: float) -> float:
        """Time of a plain step (κ = 0) or of a round, in ms."""
        design, other = design_of(np.array([[batch, context, kappa]]))
        return float(max(design @ self.values, other @ self.values)[0])

    def ridge(self, context: float = 0.0) -> float | None:
        """Tokens per step (batch · width) at which one request's context meets the compute bound; None if unknown."""
        if self.values[COMPUTE] <= 0.0:
            return None
        return float((self.values[WEIGHTS] + self.values[CONTEXT] * context) / self.values[COMPUTE])

    def at(self, batch: float, context: float | None) -> RoundCosts:
        """R(κ) at this load, κ up to 64.

        Raises
        ------
        ParameterError
            The load is out of range.
        """
        if not batch >= 1.0 or not (context is None or context >= 0.0):
            raise ParameterError("batch", f"batch = {batch}, context = {context}; allowed: 1 ≤ batch, 0 ≤ context")
        kappas = np.arange(LONGEST + 1.0)
        asked = np.stack([np.full_like(kappas, batch), np.full_like(kappas, _context(context)), kappas], axis=1)
        memory, compute = design_of(asked)
        bound = (compute @ self.values > memory @ self.values)[:, None]
        active = np.where(bound, compute, memory)
        ms = active @ self.values
        if ms[0] <= 0.0:
            raise ParameterError("batch", f"batch = {batch:g}: plain decoding would take no time by the roofline")
        spread = active @ self.spread  # of the ms: R shares the plain step's errors, which cancel in part
        beyond = batch > self.loads[0] or _context(context) > self.loads[1]
        relative = spread / ms[0] - (ms / ms[0] ** 2)[:, None] * spread[0]
        return RoundCosts(
            "roofline", kappas, ms / ms[0] + self.draft_cost * kappas, relative, freedom=self.freedom,
            plain_ms=float(ms[0]), seen=(0.0, 0.0) if beyond else (1.0, self.loads[2]),
            notes=tuple(self._notes(batch, _context(context))), origin=self.origin, batch=batch, context=context,
            draft=self._draft(batch, _context(context), float(ms[0])),
        )  # fmt: skip

    def _draft(self, batch: float, context: float, plain: float) -> float | None:
        if not self.draft_known:
            return self.draft_cost
        if "draft_ms" in self.unknown:
            return None
        return float(self.values[DRAFT] + batch * context * self.values[DRAFT_CONTEXT]) / plain

    def _notes(self, batch: float, context: float) -> list[str]:
        notes = []
        for name, asked, most in (("batch", batch, self.loads[0]), ("context", context, self.loads[1])):
            if asked > most:
                notes.append(f"extrapolated: {name} {asked:g} is beyond the {most:g} measured")
        if self.largest_residual > TRUSTED:
            notes.append(f"the roofline misses a row by {self.largest_residual:.0%}")
        if self.ridge_above is not None:
            notes.append(f"no row was bound by compute: beyond {self.ridge_above:g} tokens per step R may be higher")
        return notes

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; `from_dict` reads it again."""
        return {
            "values": {
                n: v if v or n not in self.unknown else None for n, v in zip(NAMES, self.values.tolist(), strict=True)
            },
            "meaning": dict(zip(NAMES, MEANING, strict=True)),
            "errors": dict(zip(NAMES, np.sqrt((self.spread**2).sum(axis=1)).tolist(), strict=True)),
            "spread": self.spread.tolist(),
            "freedom": self.freedom if math.isfinite(self.freedom) else None,
            "largest_residual": self.largest_residual,
            "unknown": dict(self.unknown),
            "ridge_tokens_per_step": self.ridge(),
            "ridge_above": self.ridge_above,
            "largest_measured": list(self.loads),
            "draft_known": self.draft_known,
            "draft_cost": self.draft_cost,
            "origin": self.origin,
        }

    @classmethod
    def from_dict(cls, own: Mapping[str, Any]) -> Roofline:
        """What `to_dict` wrote."""
        spread = np.asarray(own["spread"], np.float64).reshape(len(NAMES), -1)
        freedom = math.inf if own["freedom"] is None else float(own["freedom"])
        batch, context, kappa = own["largest_measured"]
        return cls(
            np.array([own["values"][name] or 0.0 for name in NAMES], np.float64), spread, freedom,
            float(own["largest_residual"]), dict(own["unknown"]), own["ridge_above"],
            (float(batch), float(context), float(kappa)), bool(own["draft_known"]),
            float(own["draft_cost"]), str(own["origin"]),
        )  # fmt: skip


def _context(context: float | None) -> float:
    return UNSTATED if context is None else context


def design_of(loads: Floats, passes: NDArray[np.bool_] | None = None) -> tuple[Floats, Floats]:
    """Columns of the six values if memory binds, and if compute does."""
    batch, context, kappa = loads.T
    drafts = kappa if passes is None else np.where(passes, 0.0, kappa)
    rounds = (drafts > 0.0).astype(np.float64)
    zero = np.zeros_like(batch)
    rest = [rounds, drafts, drafts * batch * context]
    memory = np.stack([zero + 1.0, batch * context, zero, *rest], axis=1)
    compute = np.stack([zero, zero, batch * (kappa + 1.0), *rest], axis=1)
    return memory, compute
