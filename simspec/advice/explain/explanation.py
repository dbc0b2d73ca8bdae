"""What do a pair of speeds and an acceptance say?  Figures, intervals, the loss, and what is not known."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from simspec.advice.acceptance import Acceptance
from simspec.advice.explain.flags import flags
from simspec.advice.explain.speeds import Measured, Speeds
from simspec.advice.explain.split import IDEAL, Part, Prices, split
from simspec.advice.explain.words import notes, printed, verdict
from simspec.evidence.block import alpha_from_mean
from simspec.evidence.source import Unknown
from simspec.model.errors import ParameterError

if TYPE_CHECKING:
    import pandas as pd

_SLACK = 1e-9
ACCOUNTING = (
    "plain steps per emitted token: R/E = 1/(κ+1) + (1/E − 1/(κ+1)) for rejected drafts + (R − 1)/E for the round"
)


class Explanation:
    """What a pair of speeds and an acceptance say.

    Attributes
    ----------
    acceptance : Acceptance or None
    level : float
        Confidence level of the intervals.
    rate : float or None
        Set where acceptance was given as accepted ÷ drafted.
    read : mapping
        Figure → where in the log it was read; those typed in do not stand here.
    """

    def __init__(
        self,
        acceptance: Acceptance | None,
        own: Speeds,
        prices: Prices | None,
        level: float,
        rate: float | None = None,
        read: Mapping[str, str] | None = None,
    ) -> None:
        self.acceptance, self.speeds, self.prices, self.level, self.rate = acceptance, own, prices, level, rate
        self.read = dict(read or {})

    @property
    def emitted(self) -> float | None:
        """E, tokens per round, bonus token counted."""
        return None if self.acceptance is None else self.acceptance.emitted

    @property
    def kappa(self) -> int | None:
        """Draft length asked for."""
        return None if self.acceptance is None else self.acceptance.kappa

    @property
    def drafts(self) -> float | None:
        """Drafts per round: κ unless drafts are cut short."""
        return None if self.acceptance is None else self.acceptance.drafts

    @functools.cached_property
    def speedup(self) -> Measured | None:
        """Plain time ÷ speculative time per token."""
        if self.speeds.ratio is not None:
            return self.speeds.ratio
        if self.speeds.round_cost is None or self.emitted is None:
            return None
        cost = self.speeds.round_cost
        return Measured(self.emitted / cost.value, math.hypot(cost.half, self._emitted_half))

    @functools.cached_property
    def round_cost(self) -> Measured | None:
        """R, plain target steps per round."""
        if self.speeds.round_cost is not None:
            return self.speeds.round_cost
        if self.speeds.ratio is None or self.emitted is None:
            return None
        ratio = self.speeds.ratio
        return Measured(self.emitted / ratio.value, math.hypot(ratio.half, self._emitted_half))

    @property
    def emitted_interval(self) -> list[float] | None:
        """Of E; None where no error is known."""
        ends = None if self.acceptance is None else self.acceptance.emitted_interval
        return None if ends is None else list(ends)

    @property
    def _emitted_half(self) -> float:
        """On the scale of logarithms; all of an interval that lies on one side of E."""
        ends, emitted = self.emitted_interval, self.emitted
        if ends is None or emitted is None:
            return 0.0
        wide = math.log(ends[1] / ends[0])
        return wide if min(ends[1] - emitted, emitted - ends[0]) < _SLACK else wide / 2

    @property
    def ceiling(self) -> float | Unknown:
        """Speed-up if every draft were accepted at this round cost."""
        if self.round_cost is None:
            return Unknown("R is not known")
        if self.drafts is None:
            return Unknown("κ is not known: pass --kappa")
        return (self.drafts + 1.0) / self.round_cost.value

    @property
    def break_even_alpha(self) -> float | Unknown:
        """The i.i.d. α at which a round of κ drafts emits R tokens."""
        if self.round_cost is None:
            return Unknown("R is not known")
        if self.drafts is None:
            return Unknown("κ is not known: pass --kappa")
        if self.kappa is None or self.acceptance is None or not self.acceptance.one_length:
            return Unknown("drafts have no one length κ, and α needs one")
        cost = self.round_cost.value
        if cost <= 1.0:
            return 0.0
        if cost > self.kappa + 1.0:
            return Unknown(
                f"no α helps: a round costs {cost:.3g} plain steps and emits at most κ + 1 = {self.kappa + 1}"
            )
        return alpha_from_mean(cost - 1.0, self.kappa)

    @property
    def break_even_rate(self) -> float | None:
        """accepted ÷ drafted at which E = R: where a gate on the rate belongs; None if none does, or κ is unknown."""
        if self.round_cost is None or not self.drafts:
            return None
        rate = (self.round_cost.value - 1.0) / self.drafts
        return rate if 0.0 <= rate <= 1.0 else None

    @functools.cached_property
    def parts(self) -> tuple[Part, ...] | Unknown:
        """The loss, part by part; `ACCOUNTING` says how they add up."""
        if self.round_cost is None or self.emitted is None:
            return Unknown("needs E and both speeds")
        if self.drafts is None:
            return Unknown("κ is not known: pass --kappa")
        if self.round_cost.value < 1.0:
            return Unknown("R is below 1: there is no round cost beyond a plain step to split")
        if self.drafts == 0.0:
            return split(self.round_cost.value, self.emitted, 0.0, Prices())
        return split(self.round_cost.value, self.emitted, self.drafts, self.prices or Prices())

    @property
    def round_ms(self) -> float | None:
        """Time of a round, where the plain step is known in ms."""
        if self.round_cost is None or self.speeds.plain_ms is None:
            return None
        return self.round_cost.value * self.speeds.plain_ms

    def interval(self, own: Measured | None) -> list[float] | None:
        """Of a figure, at ``level``; None where no error is known."""
        if own is None or own.half == 0.0:
            return None
        return [own.value * math.exp(-own.half), own.value * math.exp(own.half)]

    @property
    def verdict(self) -> str:
        """The answer in one sentence."""
        return verdict(self)

    @functools.cached_property
    def flags(self) -> dict[str, str]:
        """What looks wrong: code → what was seen."""
        return flags(self)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; what is not known is None and stands in ``reasons``."""
        unknown = {"ceiling_speedup": self.ceiling, "break_even_alpha": self.break_even_alpha, "parts": self.parts}
        reasons = {name: value.reason for name, value in unknown.items() if isinstance(value, Unknown)}
        if self.emitted is None:
            reasons["emitted"] = "not given"
        parts = [] if isinstance(self.parts, Unknown) else [part.to_dict() for part in self.parts]
        cost, speedup = self.round_cost, self.speedup
        return {
            "verdict": self.verdict,
            "acceptance": None if self.acceptance is None else self.acceptance.to_dict(),
            "kappa": self.kappa,
            "emitted": self.emitted,
            "emitted_interval": self.emitted_interval,
            "speedup": None if speedup is None else speedup.value,
            "speedup_interval": self.interval(speedup),
            "round_cost": None if cost is None else cost.value,
            "round_cost_interval": self.interval(cost),
            "round_cost_over_emitted": None if speedup is None else 1.0 / speedup.value,
            "level": self.level,
            "plain_ms": self.speeds.plain_ms,
            "round_ms": self.round_ms,
            "read_from_log": self.read,
            "break_even_emitted": None if cost is None else cost.value,
            "break_even_rate": self.break_even_rate,
            "break_even_alpha": None if "break_even_alpha" in reasons else self.break_even_alpha,
            "ceiling_speedup": None if "ceiling_speedup" in reasons else self.ceiling,
            "ideal_per_token": 1.0 / (self.drafts + 1.0) if parts and self.drafts is not None else None,
            "parts": parts or None,
            "accounting": ACCOUNTING,
            "flags": self.flags,
            "reasons": reasons,
            "notes": notes(self),
        }

    def to_pandas(self) -> pd.DataFrame:
        """One row per part of the loss, the ideal first."""
        import pandas as pd

        if isinstance(self.parts, Unknown):
            raise ParameterError("parts", f"the loss cannot be split: {self.parts.reason}")
        assert self.drafts is not None
        ideal = Part(IDEAL, 1.0, 1.0 / (self.drafts + 1.0), math.nan, None)
        return pd.DataFrame([part.to_dict() for part in (ideal, *self.parts)])

    def __repr__(self) -> str:
        return printed(self)
