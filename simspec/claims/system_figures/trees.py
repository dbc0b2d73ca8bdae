"""Trees of other systems: do coverages of ranks give SpecInfer's and Sequoia's tokens per round?"""

from __future__ import annotations

from functools import partial

from simspec import theory
from simspec.claims.system_figures.row import (
    SPEED,
    TOKENS,
    UNIT,
    Given,
    Group,
    Played,
    Predicted,
    Span,
    between,
    spread,
)
from simspec.model import DraftTree, Position
from simspec.model.schemes import Tree

Ends = tuple[float, float]

SPECINFER: dict[str, tuple[Ends, Ends, float, float]] = {
    "stochastic": ((0.52, 0.57), (0.96, 0.97), 1.72, 2.29),
    "greedy": ((0.62, 0.70), (0.85, 0.89), 2.73, 3.91),
}
"""Coverage of rank 1 and of five ranks, from … to over data sets; verified tokens a step at width 1 and 5."""
WIDE, BEFORE, AFTER = 5, 2, 5
"""Expansion ⟨1, 1, k, 1, 1, 1, 1, 1⟩: levels before and after the wide one."""

SEQUOIA_VECTOR = (
    0.634183, 0.107946, 0.056972, 0.022489, 0.01949, 0.014993, 0.004498, 0.002999, 0.011994, 0.004498, 0.007496,
    0.004498, 0.005997, 0.002999, 0.001499, 0.002999, 0.001499, 0.002999, 0.0, 0.002999, 0.002999, 0.002999, 0.0,
    0.001499, 0.0, 0.001499, 0.0, 0.0, 0.0, 0.001499, 0.001499, 0.001499,
)  # fmt: skip
"""Chance that child 1, 2, … is the accepted one; the pair of models is not recorded."""
SEQUOIA = (5.08, 4.04, 0.5, 24.2)
"""Tokens a step, speed-up, ms of a draft step and of a plain step."""
BUDGETS = (64, 128)


def groups() -> list[Group]:
    """Rows on trees."""
    return [_specinfer(), _sequoia()]


def _tokens(first: float, covered: float, width: int, bonus: bool) -> float:
    others = [(covered - first) / (width - 1)] * (width - 1) if width > 1 else []
    rates = [[first]] * BEFORE + [[first, *others]] + [[first]] * AFTER
    tree = DraftTree.expanded([1] * BEFORE + [width] + [1] * AFTER, rates, "exclusive")
    return theory.tree_law(tree).mean_accepted + bonus


def _gain_span(one: Ends, five: Ends, bonus: bool) -> Span:
    """Width 5 over width 1 at the middle of both coverages, and over their four corners: it is not monotone."""

    def gain(first: float, covered: float) -> float:
        return _tokens(first, covered, WIDE, bonus) / _tokens(first, first, 1, bonus)

    corners = [gain(first, covered) for first in one for covered in five]
    return Span(gain(sum(one) / 2, sum(five) / 2), min(corners), max(corners))


def _played(first: float, covered: float, width: int) -> Played:
    levels = BEFORE + 1 + AFTER
    share = (covered - first) / (1.0 - first) / (WIDE - 1)
    misses = tuple((share,) * (width - 1) if level == BEFORE else () for level in range(levels))
    scheme = Tree(widths=tuple([1] * BEFORE + [width] + [1] * AFTER), misses=misses if width > 1 else ())
    return Played(Position(alphas=(first,) * levels), BEFORE + width * (AFTER + 1), scheme)


def _specinfer() -> Group:
    rows = []
    for rule, (one, five, narrow, wide) in SPECINFER.items():
        first, covered = (Given(sum(ends) / 2, ends[1] - ends[0]) for ends in (one, five))
        told = f"rank 1 covers {one[0]:g} … {one[1]:g}"
        lacks = "the tree of Table 2, and coverage by depth, by data set and of one text"
        for bonus, word in ((True, "bonus counted"), (False, "bonus not counted")):
            for width, tau, inputs in ((1, narrow, told), (WIDE, wide, f"{told}, five {five[0]:g} … {five[1]:g}")):
                span = spread(partial(_tokens, width=width, bonus=bonus), first, covered if width > 1 else first)
                played = _played(first.value, covered.value, width) if bonus else None
                name, quantity = f"SpecInfer, {rule}, width {width}", f"verified tokens, {word}"
                rows.append(Predicted(name, inputs, quantity, span, tau, UNIT[2], lacks, played))
            gain = _gain_span(one, five, bonus)
            rows.append(
                Predicted(f"SpecInfer, {rule}", f"{told}, five {five[0]:g} … {five[1]:g}",
                          f"width {WIDE} over width 1, {word}", gain, round(wide / narrow, 4), UNIT[2], lacks)
            )  # fmt: skip
    return Group(
        "SpecInfer", "Miao et al. 2024, SpecInfer, arXiv 2305.09781, Tables 1 and 2 (width 1 and 5)",
        "coverage the same at every level of ⟨1, 1, k, 1, 1, 1, 1, 1⟩, the paper's example of a tree; both readings of "
        "a verified token", tuple(rows),
        "At width 1 what was found lies between the two readings, or within the one with the bonus.  The gain from "
        "width 5 is larger than one wide level can give at any printed coverage: texts that a wide level saves go on "
        "to be accepted more often, or the trees were others.",
    )  # fmt: skip


def _sequoia() -> Group:
    tokens, speed, draft, plain = SEQUOIA
    few, many = (1.0 + float(theory.best_accepted([*SEQUOIA_VECTOR], nodes)[-1]) for nodes in BUDGETS)
    levels = int(tokens)  # a round of 5.08 tokens on average has rounds of six, of a tree of five levels at least
    most = tokens / (1.0 + levels * draft / plain)
    rows = (
        Predicted("Sequoia, LLaMA2-7B + 68M, C4", f"a released vector of 32 ranks, best trees of {BUDGETS[0]} … "
                  f"{BUDGETS[1]} nodes", TOKENS, between(few, many), tokens, UNIT[2],
                  "the vector of this pair, text and temperature; the size of the tree"),
        Predicted("Sequoia, LLaMA2-7B + 68M, C4", f"{tokens:g} tokens a step, .5 and 24.2 ms, {levels} levels or more",
                  SPEED, between(0.0, most), speed, UNIT[2], "levels of the tree, and the pass over it"),
    )  # fmt: skip
    return Group(
        "Sequoia", "Chen et al. 2024, Sequoia, arXiv 2402.12374, Table 1; acceptance-rate-vector.pt @0ff3ff7",
        "exact best tree of a budget; tokens over 1 + levels·c", rows,
        "Ranges only: the vector that was released is of another text or temperature, and the depth is not told.",
    )  # fmt: skip
