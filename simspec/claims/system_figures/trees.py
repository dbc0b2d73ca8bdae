"""Trees of other systems: do coverages of ranks give SpecInfer's and Sequoia's tokens per round?"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product

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
from simspec.model.schemes.systems_table import COVERAGE

SPECINFER = {
    "greedy": {
        "Alpaca": (2.95, 3.43), "CP": (2.58, 3.69), "WebQA": (2.27, 3.07), "CIP": (2.73, 3.91), "PIQA": (2.18, 3.21),
    },
    "stochastic": {
        "Alpaca": (1.79, 2.38), "CP": (1.69, 2.28), "WebQA": (1.64, 2.21), "CIP": (1.72, 2.29), "PIQA": (1.67, 2.21),
    },
}  # fmt: skip
"""Verified tokens a step at width 1 and 5, by data set."""
WIDE, BEFORE, AFTER = 5, 2, 5
"""Expansion ⟨1, 1, k, 1, 1, 1, 1, 1⟩: levels before and after the wide one."""

SEQUOIA_VECTOR = (
    0.634183, 0.107946, 0.056972, 0.022489, 0.01949, 0.014993, 0.004498, 0.002999, 0.011994, 0.004498, 0.007496,
    0.004498, 0.005997, 0.002999, 0.001499, 0.002999, 0.001499, 0.002999, 0.0, 0.002999, 0.002999, 0.002999, 0.0,
    0.001499, 0.0, 0.001499, 0.0, 0.0, 0.0, 0.001499, 0.001499, 0.001499,
)  # fmt: skip
"""Chance that child 1, 2, … is the accepted one; the pair of models is not recorded."""
SEQUOIA = (
    ("C4, T = 0", 10, 5.08, 4.04), ("C4, T = 0.6", 7, 3.92, 3.18), ("OpenWebText, T = 0", 7, 3.86, 3.22),
    ("OpenWebText, T = 0.6", 6, 3.33, 2.71), ("CNN Daily, T = 0", 7, 4.05, 3.41), ("CNN Daily, T = 0.6", 6, 3.45, 2.83),
    ("MT Bench, T = 0", 10, 4.98, 4.03), ("MT Bench, T = 0.6", 7, 3.96, 3.18),
)  # fmt: skip
"""Text and temperature, levels of the tree, tokens a step and speed-up of Llama-2-7B with a draft of 68M."""
SEQUOIA_NODES, SEQUOIA_TIMES = 128, (0.5, 24.2)
"""Nodes of each tree; ms of a draft step and of a plain step."""


def groups() -> list[Group]:
    """Rows on trees."""
    return [_specinfer(), _sequoia(), _sequoia_speed()]


def _tokens(first: float, covered: float, width: int) -> float:
    others = [(covered - first) / (width - 1)] * (width - 1) if width > 1 else []
    rates = [[first]] * BEFORE + [[first, *others]] + [[first]] * AFTER
    tree = DraftTree.expanded([1] * BEFORE + [width] + [1] * AFTER, rates, "exclusive")
    return theory.tree_law(tree).mean_tokens


def _played(first: float, covered: float, width: int) -> Played:
    levels = BEFORE + 1 + AFTER
    share = (covered - first) / (1.0 - first) / (WIDE - 1)
    misses = tuple((share,) * (width - 1) if level == BEFORE else () for level in range(levels))
    scheme = Tree(widths=tuple([1] * BEFORE + [width] + [1] * AFTER), misses=misses if width > 1 else ())
    return Played(Position(alphas=(first,) * levels), BEFORE + width * (AFTER + 1), scheme)


def _corners(tokens: Callable[[float, float], float], one: float, five: float) -> Span:
    """At both coverages, and over the corners that their rounding leaves: it need not be monotone."""
    half = UNIT[2] / 2
    ends = [tokens(one + a, five + b) for a, b in product((-half, half), repeat=2)]
    return Span(tokens(one, five), min(ends), max(ends))


def _specinfer() -> Group:
    rows = []
    for rule, sets in SPECINFER.items():
        for name, (narrow, wide) in sets.items():
            rows += _of_set(rule, name, COVERAGE[rule][name], narrow, wide)
    return Group(
        "SpecInfer", "Miao et al. 2024, SpecInfer, arXiv 2305.09781, Tables 1 and 2 (width 1 and 5), section 6.4",
        "the tree ⟨1, 1, k, 1, 1, 1, 1, 1⟩ with the coverage of its data set, the same at every level; both readings "
        "of a verified token", tuple(rows),
        "Width 1 lies between the two readings on every data set, and so does width 5 of stochastic decoding; greedy, "
        "width 5 is above both.  The gain from width 5, 16 to 47%, is more than one wide level can give in either "
        "reading, 7 to 23%: as if what follows a saved miss were accepted more often than coverage says.",
    )  # fmt: skip


def _of_set(rule: str, name: str, covered: tuple[float, ...], narrow: float, wide: float) -> list[Predicted]:
    first, five = covered[0], covered[WIDE - 1]
    told, both = f"rank 1 covers {first:g}", f"rank 1 covers {first:g}, five {five:g}"
    rows: list[tuple[str, Callable[[float, float], float], float, str, Played | None, bool]] = []
    for bonus in (True, False):
        one, more, gain = (partial(reading, bonus=bonus) for reading in (_narrow, _wide, _gain))
        for width, own, seen, inputs in ((1, one, narrow, told), (WIDE, more, wide, both)):
            rows.append((f"verified tokens, width {width}", own, seen, inputs, _played(first, five, width), bonus))
        rows.append((f"width {WIDE} over width 1", gain, round(wide / narrow, 4), both, None, bonus))
    lacks = "what counts as verified, and coverage by depth and of one text"
    return [
        Predicted(f"SpecInfer, {rule}, {name}", f"{inputs}; bonus {'' if bonus else 'not '}counted", quantity,
                  _corners(own, first, five), seen, UNIT[2], lacks, played if bonus else None)
        for quantity, own, seen, inputs, played, bonus in rows
    ]  # fmt: skip


def _narrow(first: float, _: float, bonus: bool) -> float:
    return _tokens(first, first, 1) - (not bonus)


def _wide(first: float, covered: float, bonus: bool) -> float:
    return _tokens(first, covered, WIDE) - (not bonus)


def _gain(first: float, covered: float, bonus: bool) -> float:
    return _wide(first, covered, bonus) / _narrow(first, covered, bonus)


def _sequoia() -> Group:
    lacks = "the vector of this pair, text and temperature"
    rows = []
    for name, levels, tokens, _ in SEQUOIA:
        own = 1.0 + float(theory.best_accepted([*SEQUOIA_VECTOR], SEQUOIA_NODES, levels)[-1])
        rows.append(
            Predicted(f"Sequoia, {name}", f"a released vector of 32 ranks, the best tree of {SEQUOIA_NODES} nodes and "
                      f"{levels} levels", TOKENS, Span(own, own, own), tokens, UNIT[2], lacks)
        )  # fmt: skip
    return Group(
        "Sequoia", "Chen et al. 2024, Sequoia, arXiv 2402.12374, Table 1 (Llama-2-7B + 68M); "
        "acceptance-rate-vector.pt @0ff3ff7", "exact best tree of so many nodes and levels", tuple(rows),
        "4.1 to 4.2 tokens at every depth, against 3.3 to 5.1: the vector that was released names neither text "
        "nor temperature.",
    )  # fmt: skip


def _sequoia_speed() -> Group:
    draft, plain = SEQUOIA_TIMES
    c = draft / plain
    (name, levels, tokens, speed), *others = SEQUOIA
    most = tokens / (1.0 + levels * c)
    told = f"{tokens:g} tokens a step, {levels} levels of {draft:g} ms, {plain:g} ms"
    rows = [
        Predicted(f"Sequoia, {name}", told, SPEED, between(0.0, most), speed, UNIT[2],
                  f"the pass over {SEQUOIA_NODES} nodes")
    ]  # fmt: skip
    for other, deep, own, seen in others:

        def price(emitted: float, from_tokens: float, from_speed: float, deep: int = deep) -> float:
            return emitted / (from_tokens / from_speed + (deep - levels) * c)

        span = spread(price, Given(own, UNIT[2]), Given(tokens, UNIT[2], -1), Given(speed, UNIT[2]))
        rows.append(
            Predicted(f"Sequoia, {other}", f"{own:g} tokens a step, {deep} levels; the pass over {SEQUOIA_NODES} nodes "
                      f"as {tokens:g}/{speed:g} leaves it: {tokens / speed - levels * c:.3f}", SPEED, span, seen,
                      UNIT[2], "what a step costs beside drafts and the pass: at .6 drawing without replacement too")
        )  # fmt: skip
    return Group(
        "Sequoia, speed", "Chen et al. 2024, Sequoia, arXiv 2402.12374, Table 1 (Llama-2-7B + 68M)",
        "tokens over levels·c and the pass, which the first row alone gives", tuple(rows),
        "At temperature 0 within 2%; at .6 all are 3 to 5% too fast, as if drawing without replacement cost that much.",
    )  # fmt: skip
