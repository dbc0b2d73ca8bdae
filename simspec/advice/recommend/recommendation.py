"""What is recommended, and how sure is it?  One answer with its table, as text, JSON and pandas."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from simspec.advice.acceptance import Acceptance
from simspec.advice.curves import conditional_of
from simspec.advice.recommend.by_process import Reading
from simspec.advice.recommend.decide import OFF, Choice, Floats
from simspec.advice.recommend.effort import NEAR, Effort
from simspec.advice.recommend.kappa_grid import GridAdvice
from simspec.advice.recommend.latency_limit import Limit
from simspec.advice.recommend.posterior import BY_PROCESS, MODEL, TokensPosterior
from simspec.evidence.costs.round_costs import RoundCosts
from simspec.text import kappa_set

if TYPE_CHECKING:
    import pandas as pd

RISING = 0.05
"""Rise of the conditional rate from the first position to the last that is said to show mixed requests."""


@dataclass(frozen=True, eq=False)
class Recommendation:
    """A draft length, how sure it is, and what would settle it.

    Attributes
    ----------
    acceptance : Acceptance
    costs : RoundCosts
    posterior : TokensPosterior
        E(κ).
    choice : Choice
        Off and every κ, compared.
    limits : tuple of Limit
        Latency limits that were asked for.
    effort : Effort or None
        Rounds needed to tell the chosen κ from its best rival.
    grid : GridAdvice or None
        κ by (batch, context).
    within : float
        Loss that counts as flat.
    readings : tuple of Reading
        The rounds as each process explains them.
    if_alike : Choice or None
        The same if all requests had one rate, where they are not told apart; `choice` lets them differ.
    """

    acceptance: Acceptance
    costs: RoundCosts
    posterior: TokensPosterior
    choice: Choice
    limits: tuple[Limit, ...]
    effort: Effort | None
    grid: GridAdvice | None
    within: float
    readings: tuple[Reading, ...] = ()
    if_alike: Choice | None = None

    @property
    def kappa_star(self) -> int:
        """κ with the least expected regret; 0 where speculation should be off."""
        return max(self.choice.kappa, 0)

    @property
    def switch_off(self) -> bool:
        """Whether speculation should be off: no κ ≥ 1 is worth it."""
        return self.choice.kappa <= 0

    @property
    def speedup(self) -> float:
        """Of the chosen option, in plain target steps."""
        return float(self.choice.speedup[self.choice.chosen])

    @property
    def band(self) -> tuple[int, ...]:
        """κ ≥ 1 that lose at most ``within`` of the best; empty where switching off is better by more."""
        return tuple(kappa for kappa in self.choice.within(self.within) if kappa > 0)

    @property
    def alike(self) -> tuple[int, ...]:
        """Options that the data cannot tell from the chosen one (`OFF` = −1)."""
        return self.choice.alike

    @property
    def known_error(self) -> bool:
        """Whether acceptance or costs have an error at all."""
        return len(self.choice.draws) > 1

    @property
    def sure_if_alike(self) -> float | None:
        """Sureness of the chosen option if all requests had one rate; None where they are told apart."""
        if self.if_alike is None:
            return None
        draws, choice = self.if_alike.draws, self.choice
        return float((draws[:, choice.chosen] >= (1.0 - NEAR) * draws[:, choice.allowed].max(axis=1)).mean())

    @functools.cached_property
    def rows(self) -> list[dict[str, Any]]:
        """One dictionary per option, off first."""
        choice, rows = self.choice, []
        best = float(choice.speedup[choice.allowed].max())
        for i, option in enumerate(choice.options):
            off = option == OFF
            before = choice.options.index(option - 1) if option - 1 in choice.options and option > 0 else None
            row: dict[str, Any] = {
                "kappa": None if off else option,
                "off": off,
                "emitted": float(choice.tokens[i]),
                "round_cost": float(choice.round_cost[i]),
                "speedup": float(choice.speedup[i]),
                "interval": list(choice.interval(i)) if self.known_error else None,
                "interval_if_requests_are_alike": None if self.if_alike is None else list(self.if_alike.interval(i)),
                "of_best": float(choice.speedup[i]) / best if choice.allowed[i] else None,
                "probability_best": float(choice.probability[i]) if self.known_error else None,
                "expected_regret": float(choice.regret[i]) if choice.allowed[i] else None,
                "extra_tokens": None if before is None else float(choice.tokens[i] - choice.tokens[before]),
                "extra_speedup": None if before is None else float(choice.speedup[i] - choice.speedup[before]),
                "acceptance_basis": None if off else self.posterior.basis[option],
                "extrapolated": not off and self._extrapolated(option),
                "cost_extrapolated": not off and self.costs.extrapolated(option),
                "within_limit": bool(choice.allowed[i]),
            }
            rows.append(row)
        return rows

    def _extrapolated(self, kappa: int) -> bool:
        return self.posterior.basis[kappa] == MODEL or self.costs.extrapolated(kappa)

    @property
    def next_position(self) -> dict[str, float] | None:
        """What κ + 1 would add, and the cost at which it would pay: tokens, and plain steps per round."""
        kappa = self.choice.kappa
        if kappa < 0 or kappa + 1 >= len(self.posterior.tokens):
            return None
        added = float(self.posterior.tokens[kappa + 1] - self.posterior.tokens[kappa])
        ratio = added / float(self.posterior.tokens[kappa])
        return {"tokens": added, "pays_below": ratio * float(self.choice.round_cost[self.choice.chosen])}

    @functools.cached_property
    def others(self) -> dict[str, int]:
        """κ that another reading of the same data would choose, by name (`OFF` = −1)."""
        return {name: self._best_under(tokens)[0] for name, tokens in self.posterior.others.items()}

    @functools.cached_property
    def by_process(self) -> list[dict[str, Any]]:
        """What each process would choose that can be fitted to the rounds, and whether the rounds leave it standing."""
        out = []
        for reading in self.readings:
            option, speedup = self._best_under(reading.tokens)
            out.append(
                {"name": reading.name, "kappa": option, "speedup": speedup, "adequate": reading.adequate,
                 "says_up_to": reading.up_to}
            )  # fmt: skip
        return out

    def _best_under(self, tokens: Floats) -> tuple[int, float]:
        """The best option, and its speed-up, were these the tokens per round."""
        choice = self.choice
        emitted = np.array([1.0 if option == OFF else tokens[option] for option in choice.options])
        speed = np.where(choice.allowed & ~np.isnan(emitted), emitted / choice.round_cost, -np.inf)
        return choice.options[int(speed.argmax())], float(speed.max())

    @property
    def no_kappa_keeps_the_limit(self) -> bool:
        """Whether a limit was asked for that every κ breaks, while switching off, or an empty round, keeps it."""
        return bool(self.limits) and not any(row["within_limit"] for row in self.rows if row["kappa"])

    def _tail(self) -> list[str]:
        """That the curve goes on by a process that the rounds reject, and what one that they do not reject says."""
        name = self.posterior.tail
        readings = {reading.name: reading for reading in self.readings}
        if name is None or name not in readings or readings[name].adequate:
            return []
        last = len(self.posterior.tokens) - 1
        said = (
            f'these rounds reject "{name}" as a whole: here it only carries the curve on beyond the positions seen, '
            "for the mix of requests as seen"
        )
        better = [own for own in self.readings if own.adequate and own.up_to is None]
        if better:
            mine, other = self.posterior.tokens[last], better[0].tokens[last]
            said += (
                f'; "{better[0].name}", which they do not reject, gives E = {other:.2f} at κ = {last}, not {mine:.2f}'
            )
        return [said]

    @property
    def _rising(self) -> bool:
        """Whether the last conditional rate is above the first, by more than chance where counts are known."""
        rates, observed = self.acceptance.conditional, self.acceptance.observed
        if rates is None or len(rates) < 3 or rates[-1] - rates[0] <= RISING:
            return False
        if observed is None:
            return True
        at_risk = observed.examined()[[0, len(rates) - 1]]
        variance = sum(rate * (1.0 - rate) / max(n, 1) for rate, n in zip((rates[0], rates[-1]), at_risk, strict=True))
        return rates[-1] - rates[0] > 3.0 * math.sqrt(variance)

    @property
    def assumptions(self) -> list[str]:
        """What the answer rests on."""
        lines = [self.posterior.method, *self.posterior.notes, *self._tail(), *self.costs.notes]
        if self.choice.redrawn > 0.0:
            lines.append(
                f"{max(self.choice.redrawn, 0.001):.1%} of the drawn costs had a round cheaper than a plain step, "
                "which none can be: drawn again"
            )
        if self.choice.kappa == self.choice.options[-1] > 0 and len(self.choice.options) > 2:
            lines.append(f"κ = {self.choice.kappa} is the longest considered: the best may lie beyond (--kappa-max)")
        lost = sorted(set(range(1, len(self.posterior.tokens))) - set(self.choice.options))
        if lost:
            lines.append(f"κ = {kappa_set(lost)} left out: its cost would be a guess below a plain step; measure it")
        emitted, kappa = self.acceptance.emitted, self.acceptance.kappa
        if emitted == 1.0:
            lines.append("no draft was accepted at all: a broken draft rather than a weak one")
        elif emitted is not None and kappa is not None and emitted == kappa + 1.0:
            lines.append(
                "every draft was accepted: check that the log is no replay and that E counts the bonus token once"
            )
        if self._rising:
            rates = self.acceptance.conditional or ()
            lines.append(
                f"acceptance rises with position, {rates[0]:.2f} to {rates[-1]:.2f}: the mark of easy and hard "
                "requests together; position 1 will read differently at another κ"
            )
        if self.acceptance.source is not None and self.acceptance.source.warn:
            lines.append(
                f"the log has warnings: {', '.join(sorted(self.acceptance.source.warn))} (simspec fit says more)"
            )
        return lines

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; `simspec export` takes it."""
        choice, work = self.choice, self.effort
        seen = None if BY_PROCESS in self.posterior.basis else self.acceptance.survival
        curve = seen or tuple(float(s) for s in self.posterior.survival)
        return {
            "kappa_star": self.kappa_star,
            "switch_off": self.switch_off,
            "speedup": self.speedup,
            "probability_within_1pct_of_best": choice.sureness if self.known_error else None,
            "probability_if_requests_are_alike": self.sure_if_alike,
            "expected_regret": float(choice.regret[choice.chosen]) if self.known_error else None,
            "band": {"within": self.within, "kappas": list(self.band)},
            "indistinguishable": [max(option, 0) for option in self.alike],
            "off": {key: value for key, value in self.rows[0].items() if key not in ("off", "kappa")}
            | {"cost": self.costs.off, "better": choice.kappa == OFF},
            "kappas": self.rows[1:],
            "next_position": self.next_position,
            "best_under_other_readings": {name: _name(kappa) for name, kappa in self.others.items()},
            "best_by_process": [own | {"kappa": _name(own["kappa"])} for own in self.by_process],
            "rounds_to_decide": None
            if work is None
            else {
                "rival": _name(work.rival),
                "difference": float(np.expm1(work.difference)),
                "matters": work.matters,
                **work.to_dict(),
            },
            "limits": [
                {
                    "quantity": limit.quantity,
                    "limit_ms": limit.limit_ms,
                    "tokens": limit.tokens,
                    "p99_ms": {str(_name(o)): float(t) for o, t in zip(choice.options, limit.times_ms, strict=True)},
                    "excluded": _names(o for o, ok in zip(choice.options, limit.kept, strict=True) if not ok),
                }
                for limit in self.limits
            ],
            "grid": [] if self.grid is None else self.grid.to_list(),
            "grid_summary": None if self.grid is None else self.grid.summary(),
            "acceptance": self.acceptance.to_dict(),
            "survival": list(curve),
            "conditional": conditional_of(curve),
            "survival_is": "measured" if seen is not None else "model",
            "plain_ms": self.costs.plain_ms,
            "origin": {"acceptance": self.acceptance.origin, "costs": self.costs.origin},
            "assumptions": [*([] if self.posterior.first is None else [self.posterior.first]), *self.assumptions],
        }

    def to_pandas(self) -> pd.DataFrame:
        """One row per option; κ is missing for off."""
        import pandas as pd

        return pd.DataFrame(self.rows)

    def __repr__(self) -> str:
        from simspec.advice.recommend.text import shown

        return shown(self)


def _name(option: int) -> int | str:
    return "off" if option == OFF else option


def _names(options: Any) -> list[int | str]:
    return [_name(option) for option in options]
