"""What do the models of other systems say of published figures, from published inputs alone?  Reported, never tuned.

Every row takes what its source measures of a draft (rates by depth, accuracies of heads, coverage of ranks) and
predicts what the same source, or a benchmark, reports of a round.  A miss says which input is missing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from simspec import theory
from simspec.model import Cost, DraftTree, Iid
from simspec.text import table

_LEVIATHAN = "Leviathan et al. 2023, Table 4"
_EAGLE = "EAGLE-1, Table 2, T = 0"
TOKENS = "tokens per round"
_TREE = "a tree was run: chances of ranks 2, 3, … are missing"


@dataclass(frozen=True)
class Predicted:
    """One published figure beside the model's.

    Attributes
    ----------
    system, source : str
    inputs : str
        What was taken from the source.
    quantity : str
    predicted, published : float
    missing : str
        The input that the model lacks; empty where it has all.
    """

    system: str
    source: str
    inputs: str
    quantity: str
    predicted: float
    published: float
    missing: str = ""

    @property
    def difference(self) -> float:
        """Predicted less published."""
        return self.predicted - self.published


LEVIATHAN = (
    ("EnDe T5-small T=0", 7, 0.75, 0.02, 3.2), ("EnDe T5-base T=0", 7, 0.80, 0.04, 3.3),
    ("EnDe T5-large T=0", 7, 0.82, 0.11, 2.5), ("EnDe T5-small T=1", 7, 0.62, 0.02, 2.3),
    ("EnDe T5-base T=1", 5, 0.68, 0.04, 2.4), ("EnDe T5-large T=1", 3, 0.71, 0.11, 2.0),
    ("CNNDM T5-small T=0", 5, 0.65, 0.02, 2.4), ("CNNDM T5-base T=0", 5, 0.73, 0.04, 2.6),
    ("CNNDM T5-large T=0", 3, 0.74, 0.11, 2.0), ("CNNDM T5-small T=1", 5, 0.53, 0.02, 1.9),
    ("CNNDM T5-base T=1", 3, 0.55, 0.04, 1.8), ("CNNDM T5-large T=1", 3, 0.56, 0.11, 1.6),
)  # fmt: skip
"""Task and draft, γ, α, c, and the column "expected"."""

EAGLE = (
    ("Vicuna-7B", (0.79, 0.74, 0.72, 0.73, 0.67), 3.94), ("Vicuna-13B", (0.79, 0.74, 0.72, 0.74, 0.70), 3.98),
    ("Vicuna-33B", (0.74, 0.69, 0.67, 0.67, 0.66), 3.68), ("LLaMA2-7B", (0.76, 0.69, 0.67, 0.68, 0.68), 3.62),
    ("LLaMA2-13B", (0.77, 0.69, 0.69, 0.70, 0.71), 3.90), ("LLaMA2-70B", (0.75, 0.69, 0.65, 0.64, 0.64), 3.81),
)  # fmt: skip
"""Model, chain acceptance 0-α … 4-α, and τ of the tree."""

MEDUSA_HEADS = (0.560, 0.316, 0.201, 0.147)
"""Top-1 accuracy of the four heads of Vicuna-7B, not conditional on the heads before (assets/medusa_acc.csv)."""

SHAPES = (
    ("Medusa, Vicuna-7B, MT-bench", (0.834, 0.485, 0.178, 0.021), 2.517),
    ("EAGLE, Vicuna-7B", (0.897, 0.720, 0.522, 0.270, 0.169), 3.579),
)
"""Survival of trees on Spec-Bench, and mean accepted tokens."""

SPECINFER = (
    ("stochastic, width 1", 0.545, 0.545, 1, 1.72), ("stochastic, width 5", 0.545, 0.965, 5, 2.29),
    ("greedy, width 1", 0.66, 0.66, 1, 2.73), ("greedy, width 5", 0.66, 0.87, 5, 3.91),
)  # fmt: skip
"""Setting, coverage of the first rank and of five (middle of the printed range), width, verified tokens per step."""


def figures() -> list[Predicted]:
    """All rows, in the order of the table."""
    rows: list[Predicted] = []
    for source in _SOURCES:
        rows += source()
    return rows


def _leviathan() -> list[Predicted]:
    return [
        Predicted(
            name, _LEVIATHAN, f"γ = {gamma}, α = {alpha:g}, c = {c:g}", "expected speed-up",
            theory.speedup(Iid(alpha=alpha), gamma, Cost(c_d=c)), expected,
        )
        for name, gamma, alpha, c, expected in LEVIATHAN
    ]  # fmt: skip


def _eagle() -> list[Predicted]:
    return [
        Predicted(
            f"EAGLE, {name}", _EAGLE, "0-α … 4-α of the chain", TOKENS,
            1.0 + theory.expected_accepted_heads(rates), tau, _TREE,
        )
        for name, rates, tau in EAGLE
    ]  # fmt: skip


def _medusa() -> list[Predicted]:
    independent, nested = 1.0 + theory.expected_accepted_heads(MEDUSA_HEADS), 1.0 + sum(MEDUSA_HEADS)
    lacks = "ranks 2, 3, … of the tree"
    return [
        Predicted("Medusa, Vicuna-7B", "Medusa, assets/medusa_acc.csv; Spec-Bench", inputs, TOKENS, own, tau, missing)
        for inputs, own, missing in (
            ("top-1 of four heads, taken as independent", independent, f"{lacks}, and that heads are right together"),
            ("top-1 of four heads, taken as nested", nested, f"{lacks}; nested is the most that top-1 heads can do"),
        )
        for tau in (SHAPES[0][2],)
    ]


def _shapes() -> list[Predicted]:
    rows = []
    for name, survival, tau in SHAPES:
        whole = 1.0 + float(np.sum(survival))
        alone = 1.0 + theory.expected_accepted(survival[0], len(survival))
        missing = "the fall of a tree's coverage with depth"
        rows.append(Predicted(name, "Spec-Bench", "all S_j", TOKENS, whole, tau))
        rows.append(Predicted(name, "Spec-Bench", "S_1 alone, i.i.d.", TOKENS, alone, tau, missing))
    return rows


def _specinfer() -> list[Predicted]:
    """Expansion ⟨1, 1, k, 1, 1, 1, 1, 1⟩: the third level has k children, every node goes on as a chain."""
    rows = []
    for name, first, covered, width, published in SPECINFER:
        others = [(covered - first) / (width - 1)] * (width - 1) if width > 1 else []
        rates = [[first]] * 2 + [[first, *others]] + [[first]] * 5
        tree = DraftTree.expanded([1, 1, width, 1, 1, 1, 1, 1], rates, "exclusive")
        rows.append(
            Predicted(
                f"SpecInfer, {name}", "SpecInfer, Tables 1 and 2", f"coverage {first:g}, {covered:g} at rank {width}",
                TOKENS, theory.tree_law(tree).mean_tokens, published,
                "coverage by depth; tokens counted with or without the bonus is not said",
            )
        )  # fmt: skip
    return rows


_SOURCES: tuple[Callable[[], list[Predicted]], ...] = (_leviathan, _eagle, _medusa, _shapes, _specinfer)


def figures_table() -> str:
    """The rows as text."""
    header = ["system", "from", "quantity", "predicted", "published", "difference", "missing"]
    body = [
        [row.system, row.inputs, row.quantity, f"{row.predicted:.2f}", f"{row.published:g}", f"{row.difference:+.2f}",
         row.missing]
        for row in figures()
    ]  # fmt: skip
    return table(header, body)
