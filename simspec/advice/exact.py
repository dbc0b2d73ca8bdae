"""Which κ is best, what does each position buy, and should speculation be on at all?  Answered exactly, at once."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

from simspec import theory
from simspec.advice.scheme_answer import SchemeAnswer
from simspec.model import Cost, Iid, ParameterError, Process, Scheme, Survival
from simspec.model.schemes import Chain
from simspec.text import kappa_set, number, table, wrapped

if TYPE_CHECKING:
    import pandas as pd

ROWS_ON_SCREEN = 11


def exact_answer(process: Process, cost: Cost, kappa_max: int | None, scheme: Scheme) -> ExactAnswer | SchemeAnswer:
    """The answer of a chain, or of another way to draft."""
    if isinstance(scheme, Chain) and not scheme.parameters():
        return ExactAnswer(process, cost, kappa_max, scheme)
    return SchemeAnswer(scheme, process, cost, kappa_max)


class ExactAnswer:
    """The exact answer for one process at one cost.

    Attributes
    ----------
    process : Process
    cost : Cost
    optimum : simspec.theory.Optimum
        Speed-up at every κ, κ*, ties.
    scheme : Scheme
        A chain, which may bear the name of a system.
    """

    def __init__(self, process: Process, cost: Cost, kappa_max: int | None, scheme: Scheme) -> None:
        self.process, self.cost, self.scheme = process, cost, scheme
        if kappa_max is not None and (isinstance(kappa_max, bool) or not isinstance(kappa_max, int)):
            raise ParameterError("kappa_max", f"kappa_max = {kappa_max!r} is not a whole number; allowed: 0 to 1000")
        self.optimum = theory.optimum(process, cost, kappa_max)

    @property
    def kappa_star(self) -> int:
        """Best κ among 0 … kappa_max."""
        return self.optimum.kappa_star

    @functools.cached_property
    def rows(self) -> list[dict[str, Any]]:
        """One dictionary per κ: law of the window, cost and speed-up."""
        rows = []
        for kappa, speed in enumerate(self.optimum.speedup_by_kappa):
            if math.isnan(speed):
                continue
            law = theory.window(self.process, kappa)
            row = {
                "kappa": kappa,
                "speedup": float(speed),
                "mean_accepted": law.mean_accepted,
                "mean_tokens": law.mean_tokens,
                "var_accepted": law.var_accepted,
                "p_zero_accepted": law.p_zero_accepted,
                "p_full": law.p_full,
                "mean_examined": law.mean_examined,
                "mean_cost": theory.mean_round_cost(law, self.cost),
                "extra_tokens": float(self.optimum.extra_tokens[kappa - 1]) if kappa else None,
                "extra_speedup": float(self.optimum.extra_speedup[kappa - 1]) if kappa else None,
            }
            if self._first_rate is not None:
                row["mean_tokens_if_iid"] = theory.window(Iid(alpha=self._first_rate), kappa).mean_tokens
            rows.append(row)
        return rows

    @property
    def _first_rate(self) -> float | None:
        """S_1 of a measured curve: what an i.i.d. reading would take for α."""
        return self.process.survival[0] if isinstance(self.process, Survival) else None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; keys as in the machine interface."""
        best = self.optimum
        out: dict[str, Any] = {
            "process": self.process.identity(),
            **({"system": self.scheme.label} if self.scheme.label else {}),
            "cost": self.cost.identity(),
            "kappa_star": best.kappa_star,
            "best_speedup": best.best_speedup,
            "ties": list(best.ties),
            "at_kappa_max": best.at_kappa_max,
            "within_1pct": list(best.within(0.01)),
            "within_2pct": list(best.within(0.02)),
            "off_speedup": best.off_speedup,
            "off_is_better": best.off_is_better,
            "speedup_by_kappa": [None if math.isnan(s) else float(s) for s in best.speedup_by_kappa],
            "by_kappa": self.rows,
        }
        if isinstance(self.process, Iid) and not self.cost.tables():
            out["kappa_star_continuous"] = _finite(theory.kappa_star_continuous(self.process.alpha, self.cost))
            out["break_even_alpha"] = _finite(theory.break_even_alpha(self.cost))
            out["break_even_alpha_off"] = _finite(theory.break_even_alpha_off(self.cost))
        return out

    def to_pandas(self) -> pd.DataFrame:
        """One row per κ."""
        import pandas as pd

        return pd.DataFrame(self.rows)

    def __repr__(self) -> str:
        best = self.optimum
        lines = [
            *self._named(),
            f"{self.process}",
            f"cost in plain target steps: {self.cost}",
            "",
            f"best draft length: κ = {best.kappa_star} (num_speculative_tokens), {best.best_speedup:.4f}x a plain step",
            f"within 1%: κ = {kappa_set(best.within(0.01))}; within 2%: κ = {kappa_set(best.within(0.02))}",
            self._off_line(),
            *self._notes(),
            "",
            self._table(),
        ]
        if self._first_rate is not None:
            lines.append(
                f"i.i.d. tokens: what a single rate α = {self._first_rate:g}, that of position 1, would promise"
            )
        return "\n".join(lines)

    def _named(self) -> list[str]:
        """Which system it was asked for as, with its source; nothing for a chain without a name."""
        if not self.scheme.label:
            return []
        system = self.scheme.system
        source = "" if system is None else f" ({system.source})"
        return [wrapped(f"{self.scheme.label}: a chain of κ drafts{source}")]

    def _off_line(self) -> str:
        best, off = self.optimum, self.cost.off
        if best.off_is_better:
            return f"switch speculation off: off gives {best.off_speedup:.4f}x, the best κ {best.best_speedup:.4f}x"
        if best.kappa_star == 0:
            return "do not draft: no κ ≥ 1 beats κ = 0"
        gain = f"; κ = {best.kappa_star} is {best.best_speedup * off:.4f}x of off" if off != 1.0 else ""
        return f"keep speculation on: off gives {best.off_speedup:.4f}x{gain}"

    def _notes(self) -> list[str]:
        notes = [self._cost_line()]
        best, longest = self.optimum, self.process.longest_draft
        if best.at_kappa_max and self.kappa_star > 0:
            more = "measure more positions" if self.kappa_star == longest else "raise the largest κ (--kappa-max)"
            notes.append(f"κ = {self.kappa_star} is the longest tried and the best may lie beyond: {more}")
        if isinstance(self.process, Iid) and not self.cost.tables():
            notes.append(
                f"drafting pays above α = {number(theory.break_even_alpha(self.cost))}; "
                f"continuous optimum κ = {number(theory.kappa_star_continuous(self.process.alpha, self.cost))}"
            )
        if max(self.cost.c_d, self.cost.c_v) > 1.0 or not 0.2 <= self.cost.c0 <= 5.0:
            notes.append("note: costs are in plain target steps; a draft token usually costs 0.01 to 0.3 of one")
        return notes

    def _cost_line(self) -> str:
        """Where the time of a round at κ* goes."""
        row, cost, kappa = self.rows[self.kappa_star], self.cost, self.kappa_star
        law = theory.window(self.process, kappa)
        drafting = cost.base(kappa) - cost.model_copy(update={"c_d": 0.0, "draft_table": None}).base(kappa)
        drafting *= law.mean_drafted / kappa if kappa else 1.0
        rollback = (1.0 - law.p_full) * cost.c_r
        wider = law.mean_drafted * cost.c_v
        passes = row["mean_cost"] - drafting - rollback - wider
        parts = {"target pass": passes, "drafting": drafting, "wider verification": wider, "rollback": rollback}
        shares = ", ".join(f"{name} {part / row['mean_cost']:.0%}" for name, part in parts.items() if part > 0.0)
        return f"a round at κ = {kappa} costs {row['mean_cost']:.4f} plain steps: {shares}"

    def _table(self) -> str:
        last = max(min(self.kappa_star + 4, ROWS_ON_SCREEN - 1), min(8, ROWS_ON_SCREEN - 1))
        chosen = [row for row in self.rows if row["kappa"] <= last]
        if self.kappa_star > last - 2:
            near = [row for row in self.rows if abs(row["kappa"] - self.kappa_star) <= 3]
            chosen = [row for row in self.rows if row["kappa"] <= 6 and row not in near] + near
        header = [
            "κ",
            "speed-up",
            "of best",
            "E[tokens]",
            "E[cost]",
            "P(A=0)",
            "P(A=κ)",
            "κ adds tokens",
            "adds speed-up",
        ]
        if self._first_rate is not None:
            header.append("i.i.d. tokens")
        body = []
        for row in chosen:
            cells = [
                f"{row['kappa']}",
                number(row["speedup"]),
                f"{row['speedup'] / self.optimum.best_speedup:.1%}",
                *(number(row[key]) for key in ("mean_tokens", "mean_cost", "p_zero_accepted", "p_full")),
                "–" if row["extra_tokens"] is None else f"{row['extra_tokens']:+.4f}",
                "–" if row["extra_speedup"] is None else f"{row['extra_speedup']:+.4f}",
            ]
            if self._first_rate is not None:
                cells.append(number(row["mean_tokens_if_iid"]))
            body.append(cells)
        return table(header, body)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
