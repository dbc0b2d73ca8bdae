"""Which κ is best for a way to draft that is no chain, and does it beat a chain?  Answered exactly, at once."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from simspec import theory
from simspec.model import Cost, ParameterError, Process, Scheme, SimspecError
from simspec.model.scheme_readings import kappa_in_words, readings
from simspec.text import kappa_set, number, plural, table, wrapped

if TYPE_CHECKING:
    import pandas as pd

MOST_KAPPAS = 256


class SchemeAnswer:
    """The exact answer for one scheme on one process at one cost.

    Attributes
    ----------
    scheme : Scheme
    process : Process
    cost : Cost
    rows : list of dict
        One per κ: exact means of a round, its cost and speed-up.
    skipped : str
        Why larger κ were not asked; nothing if none was left out.
    """

    def __init__(self, scheme: Scheme, process: Process, cost: Cost, kappa_max: int | None) -> None:
        self.scheme, self.process, self.cost = scheme, process, cost
        self.skipped = ""
        self.rows = [row for kappa in _kappas(scheme, kappa_max) if (row := self._row(kappa)) is not None]
        if not self.rows:
            raise ParameterError("kappa_max", self.skipped)

    def _row(self, kappa: int) -> dict[str, Any] | None:
        """The means at one κ; None, with the reason kept, where the scheme or process ends before it."""
        try:
            law = theory.scheme_law(self.scheme, self.process, kappa)
        except ParameterError as error:
            if error.key != "kappa":
                raise
            self.skipped = self.skipped or error.message
            return None
        spent = law.price(self.cost)
        return {
            "kappa": kappa, "speedup": law.mean_tokens / spent, "mean_accepted": law.mean_accepted,
            "mean_tokens": law.mean_tokens, "mean_cost": spent, "mean_drafted": law.mean_drafted,
            "mean_wasted": law.mean_drafted - law.mean_accepted, "p_rejected": law.p_rejected,
            "loss": 0.0 if self.scheme.lossless else law.loss,
        }  # fmt: skip

    @property
    def best(self) -> dict[str, Any]:
        """The row of κ*: the smallest κ within 1e-12 of the largest speed-up."""
        top = max(row["speedup"] for row in self.rows)
        return next(row for row in self.rows if row["speedup"] >= top - 1e-12)

    @property
    def kappa_star(self) -> int:
        """Best κ among those asked."""
        return int(self.best["kappa"])

    @functools.cached_property
    def chain(self) -> theory.Optimum | None:
        """The best chain on the same process at the same cost; None where the process has no chain, or the scheme
        changes the output, which a chain does not."""
        if not self.scheme.lossless:
            return None
        try:
            return theory.optimum(self.process, self.cost, None)
        except SimspecError:
            return None

    def within(self, share: float) -> list[int]:
        """κ whose speed-up is at most a share below the best."""
        return [row["kappa"] for row in self.rows if row["speedup"] >= (1.0 - share) * self.best["speedup"]]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        off = 1.0 / self.cost.off
        return {
            "process": self.process.identity(), "scheme": self.scheme.identity(), "cost": self.cost.identity(),
            **({"system": self.scheme.label} if self.scheme.label else {}),
            "lossless": self.scheme.lossless, "loses": self.scheme.loss_in_words,
            "notes": self._remarks(), "kappa_star": self.kappa_star,
            "best_speedup": self.best["speedup"], "within_2pct": self.within(0.02),
            "at_kappa_max": self.kappa_star == self.rows[-1]["kappa"], "off_speedup": off,
            "off_is_better": off > self.best["speedup"] + 1e-12, "by_kappa": self.rows,
            "best_chain": None if self.chain is None else {
                "kappa_star": self.chain.kappa_star, "speedup": self.chain.best_speedup,
            },
        }  # fmt: skip

    def to_pandas(self) -> pd.DataFrame:
        """One row per κ."""
        import pandas as pd

        return pd.DataFrame(self.rows)

    def __repr__(self) -> str:
        asked = f"{self.scheme.label}: {self.scheme}".removeprefix(": ")
        lines = [f"{asked} on {self.process}", f"cost in plain target steps: {self.cost}", "", self._sentence()]
        lines += [f"within 2%: κ = {kappa_set(self.within(0.02))}", *map(wrapped, self._notes()), "", self._table()]
        return "\n".join(lines)

    def _sentence(self) -> str:
        best, off = self.best, 1.0 / self.cost.off
        told = f"best: κ = {best['kappa']} ({kappa_in_words(self.scheme.type)}), {best['speedup']:.4f}x a plain step"
        if self.chain is not None:
            gain = best["speedup"] / self.chain.best_speedup
            told += f", {gain:.3f}x the best chain (κ = {self.chain.kappa_star}, {self.chain.best_speedup:.4f}x)"
        if off > best["speedup"] + 1e-12:
            told += f"; switched off is better, {off:.4f}x"
        return wrapped(told)

    def _notes(self) -> list[str]:
        best, tried = self.best, [row["kappa"] for row in self.rows]
        notes = [
            f"a round drafts {number(best['mean_drafted'], 2)} tokens and wastes {number(best['mean_wasted'], 2)}; the "
            f"target reads {number(best['mean_drafted'] + 1.0, 2)} at once",
            f"tried: κ = {kappa_set(tried)}" + (f"; no more: {self.skipped}" if self.skipped else ""),
        ]
        if best["kappa"] == tried[-1] and len(tried) > 1 and not self.skipped:
            notes.append(f"κ = {best['kappa']} is the largest tried and the best may lie beyond: raise --kappa-max")
        if best["mean_drafted"] > 8 and self.cost.c_v == 0.0 and self.cost.verify_table is None:
            notes.append("a wide target pass is taken to cost no more than a narrow one: measure it (--verify-cost)")
        if not self.scheme.lossless:
            notes.append("this changes the output: its speed is not to be held against that of a lossless way")
            words, loss = self.scheme.loss_in_words, best["loss"]
            notes.append(f"lost: {words}" if loss is None else f"lost: {number(loss)} ({words})")
        return [*notes, *self._remarks()]

    def _remarks(self) -> list[str]:
        """What the numbers do not say of themselves."""
        return [*readings(self.scheme, self.process, self.cost, self.kappa_star), *self.scheme.notes]

    def _table(self) -> str:
        keys = ("mean_tokens", "mean_cost", "mean_drafted", "mean_wasted", "p_rejected")
        rows = [
            [str(row["kappa"]), number(row["speedup"]), f"{row['speedup'] / self.best['speedup']:.1%}",
             *(number(row[key]) for key in keys)]
            for row in self._shown()
        ]  # fmt: skip
        heads = ["κ", "speed-up", "of best", "E[tokens]", "E[cost]", "drafted", "wasted", "P(rejection)"]
        left = len(self.rows) - len(rows)
        return table(heads, rows) + (f"\n{plural(left, 'row')} between left out; all: --json" if left else "")

    def _shown(self, most: int = 17) -> list[dict[str, Any]]:
        """All rows, or those that are near the best, and some of the others."""
        if len(self.rows) <= most:
            return self.rows
        step = -(-len(self.rows) // (most - 5))
        at = self.rows.index(self.best)
        return [row for i, row in enumerate(self.rows) if i % step == 0 or abs(i - at) <= 2]


def _kappas(scheme: Scheme, kappa_max: int | None) -> list[int]:
    """The usual κ of a scheme, or every one up to a largest."""
    usual = list(scheme.kappas)
    if kappa_max is None:
        return usual
    own = usual[0] > type(scheme).usual_kappas[0]  # a schedule of passes has a least
    least = usual[0] if own else min(usual[0], 1)
    if isinstance(kappa_max, bool) or not isinstance(kappa_max, int) or not least <= kappa_max <= MOST_KAPPAS:
        told = f"kappa_max = {kappa_max!r} is out of range; allowed: {least} to {MOST_KAPPAS} with this scheme"
        raise ParameterError("kappa_max", told)
    return list(range(least, kappa_max + 1))
