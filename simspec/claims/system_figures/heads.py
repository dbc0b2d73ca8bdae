"""Heads and their trees: do EAGLE's rates by depth and Medusa's accuracies by rank give the tokens of a round?"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

from simspec import theory
from simspec.claims.system_figures.row import (
    TOKENS,
    UNIT,
    Given,
    Group,
    Played,
    Predicted,
    Span,
    between,
    chained,
    spread,
)
from simspec.model import DraftTree, Position
from simspec.model.schemes import Tree
from simspec.model.schemes.systems_table import COVERAGE_MEDUSA
from simspec.theory import TreeLaw

Path = tuple[int, ...]

EAGLE = (
    ("Vicuna-7B", 0, (0.79, 0.74, 0.72, 0.73, 0.67), 3.94), ("Vicuna-13B", 0, (0.79, 0.74, 0.72, 0.74, 0.70), 3.98),
    ("Vicuna-33B", 0, (0.74, 0.69, 0.67, 0.67, 0.66), 3.68), ("LLaMA2-7B", 0, (0.76, 0.69, 0.67, 0.68, 0.68), 3.62),
    ("LLaMA2-13B", 0, (0.77, 0.69, 0.69, 0.70, 0.71), 3.90), ("LLaMA2-70B", 0, (0.75, 0.69, 0.65, 0.64, 0.64), 3.81),
    ("Vicuna-7B", 1, (0.71, 0.68, 0.66, 0.66, 0.65), 3.17), ("Vicuna-13B", 1, (0.73, 0.68, 0.68, 0.67, 0.69), 3.20),
    ("Vicuna-33B", 1, (0.71, 0.67, 0.64, 0.64, 0.64), 3.22), ("LLaMA2-7B", 1, (0.71, 0.66, 0.66, 0.66, 0.64), 3.30),
    ("LLaMA2-13B", 1, (0.73, 0.69, 0.66, 0.67, 0.67), 3.45), ("LLaMA2-70B", 1, (0.73, 0.67, 0.64, 0.66, 0.65), 3.46),
)  # fmt: skip
"""Model, temperature, 0-α … 4-α of chains, and τ of the tree."""

EAGLE_TREE: dict[int, tuple[Path, ...]] = {
    1: ((0,), (1,), (2,), (3,)),
    2: ((0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (2, 0), (2, 1), (3, 0)),
    3: ((0, 0, 0), (0, 0, 1), (0, 0, 2), (0, 1, 0), (0, 1, 1), (0, 2, 0), (0, 2, 1), (1, 0, 0)),
    4: ((0, 0, 0, 0), (0, 0, 0, 1), (0, 0, 0, 2)),
    5: ((0, 0, 0, 0, 0), (0, 0, 0, 0, 1)),
}
"""Nodes of the released tree by depth: ranks from 0 along the way (eagle/model/choices.py @08dc06c)."""

EAGLE2 = (
    ("EAGLE-2, Vicuna-7B, Spec-Bench", "Vicuna-7B", 4.34), ("EAGLE-2, Vicuna-13B, Spec-Bench", "Vicuna-13B", 4.43),
    ("EAGLE-2, Vicuna-33B, Spec-Bench", "Vicuna-33B", 4.05), ("EAGLE-2, Vicuna-13B, MT-bench", "Vicuna-13B", 4.83),
)  # fmt: skip
EAGLE2_DEPTH = 6

HEADS = {
    "Vicuna-7B": COVERAGE_MEDUSA,
    "Vicuna-13B": ((0.5939, 0.7053, 0.7578, 0.7925, 0.8161), (0.3397, 0.4400, 0.5068, 0.5465, 0.5803),
                   (0.2161, 0.3085, 0.3612, 0.4030, 0.4364), (0.1500, 0.2317, 0.2878, 0.3234, 0.3541)),
    "Vicuna-33B": ((0.6046, 0.7162, 0.7649, 0.7983, 0.8223), (0.3558, 0.4690, 0.5287, 0.5692, 0.5961),
                   (0.2246, 0.3197, 0.3785, 0.4210, 0.4462), (0.1596, 0.2488, 0.3073, 0.3480, 0.3755)),
}  # fmt: skip
"""Chance that the token is among the first 1 … 5 of head 1 … 4, not conditional on the heads before."""

MEDUSA_TREE: dict[Path, int] = {
    (): 10, (0,): 10, (1,): 7, (2,): 3, (3,): 2, (4,): 1, (5,): 1, (6,): 1, (7,): 1, (8,): 1, (9,): 1,
    (0, 0): 10, (0, 1): 3, (0, 2): 2, (0, 3): 1, (0, 4): 1, (0, 5): 1, (0, 6): 1, (0, 7): 1, (1, 0): 2, (2, 0): 1,
    (0, 0, 0): 2,
}  # fmt: skip
"""Children of each node of the released tree of 63 nodes, likeliest first (medusa_choices.py @11af0aa)."""

MEDUSA_TAU = (
    ("Vicuna-7B", "MT-bench", 2.517, 0.001), ("Vicuna-7B", "Spec-Bench", 2.31, 0.01),
    ("Vicuna-13B", "MT-bench", 2.59, 0.01), ("Vicuna-13B", "Spec-Bench", 2.39, 0.01),
    ("Vicuna-33B", "Spec-Bench", 2.33, 0.01),
)  # fmt: skip
MEDUSA_SURVIVAL = (0.8340, 0.4851, 0.1776, 0.0205)
"""S_1 … S_4 of the tree with Vicuna-7B on MT-bench, computed from 16,996 published rounds."""


def groups() -> list[Group]:
    """Rows on heads."""
    return [_eagle(), _medusa(), _medusa_shape(), _eagle2()]


def tree_of_paths(paths: Sequence[Path], chances: Sequence[Sequence[float]]) -> DraftTree:
    """A tree of nodes named by ranks from 0; ``chances[depth][rank]``, and 0 for ranks that it does not hold."""
    number = {path: i for i, path in enumerate(paths, 1)} | {(): 0}
    own = [chances[len(path) - 1] for path in paths]
    return DraftTree(
        parents=tuple(number[path[:-1]] for path in paths),
        chances=tuple(row[path[-1]] if path[-1] < len(row) else 0.0 for path, row in zip(paths, own, strict=True)),
    )


def _eagle() -> Group:
    rows = []
    paths = [path for level in EAGLE_TREE.values() for path in level]
    for model, temperature, rates, tau in EAGLE:
        name, inputs = f"EAGLE, {model}, T = {temperature}", "0-α … 4-α: " + " ".join(f"{r:.2f}"[1:] for r in rates)
        chain = spread(chained, *(Given(rate, UNIT[2]) for rate in rates))
        full = theory.tree_law(tree_of_paths(paths, [[rate, 1.0 - rate] for rate in rates])).mean_tokens
        lacks = "how often ranks 2, 3, … are right where rank 1 is not"
        played = Played(Position(alphas=rates), len(rates))
        rows += [
            Predicted(name, f"{inputs}, as a chain", TOKENS, chain, tau, UNIT[2], f"a tree was run: {lacks}", played),
            Predicted(name, f"{inputs}, the released tree", TOKENS, between(chain.low, full), tau, UNIT[2], lacks),
        ]
    return Group(
        "EAGLE", "Li et al. 2024, EAGLE, arXiv 2401.15077, Table 2 (MT-bench); eagle/model/choices.py @08dc06c",
        "chain: 1 + Σ products of the rates; tree: the 25 released nodes, ranks beyond the first right never (low) or "
        "always when rank 1 is not (high)", tuple(rows),
        "τ is of a tree and the rates are of chains: the chain is .25 to .85 short, and every τ lies "
        "in the range that the released tree allows.  Rates by rank are not published.",
    )  # fmt: skip


def medusa_paths() -> list[Path]:
    """Nodes of Medusa's tree, parents first."""
    return [(*path, rank) for path, children in MEDUSA_TREE.items() for rank in range(children)]


def rank_chances(model: str) -> list[list[float]]:
    """Chance of rank 1 … 5 of every head."""
    return [[after - before for before, after in pairwise((0.0, *head))] for head in HEADS[model]]


def medusa_rounds(model: str) -> TreeLaw:
    """Exact law of a round of the released tree, ranks taken as right independently of head."""
    return theory.tree_law(tree_of_paths(medusa_paths(), rank_chances(model)))


def medusa_scheme(model: str) -> tuple[Tree, Position]:
    """The released tree as a scheme: what ranks 2, 3, … recover of the misses of rank 1, by head."""
    paths, chances = medusa_paths(), rank_chances(model)
    number = {path: i for i, path in enumerate(paths, 1)} | {(): 0}
    most = max(MEDUSA_TREE.values())
    misses = tuple(tuple(chance / (1.0 - row[0]) for chance in row[1:]) + (0.0,) * (most - len(row)) for row in chances)
    parents, ranks = tuple(number[path[:-1]] for path in paths), tuple(path[-1] + 1 for path in paths)
    return Tree(parents=parents, ranks=ranks, misses=misses), Position(alphas=tuple(row[0] for row in chances))


def _medusa() -> Group:
    rows = []
    for model, where, tau, unit in MEDUSA_TAU:
        first = [head[0] for head in HEADS[model]]
        name, told = f"Medusa, {model}, {where}", "top-1 of four heads: " + " ".join(f"{x:.3f}"[1:] for x in first)
        nested, together = 1.0 + sum(first), "that heads are right together"
        tree = medusa_rounds(model).mean_tokens
        scheme, process = medusa_scheme(model)
        lacks = "ranks 2, 3, … of the tree"
        rows += [
            Predicted(name, f"{told}; independent", TOKENS, spread(chained, *(Given(x, UNIT[4]) for x in first)), tau,
                      unit, f"{lacks}, and {together}", Played(process, len(first))),
            Predicted(name, f"{told}; nested", TOKENS, Span(nested, nested, nested), tau, unit,
                      f"{lacks}; nested is the most that rank 1 alone can do"),
            Predicted(name, "top-1 … top-5 of four heads, the released tree; independent", TOKENS,
                      Span(tree, tree, tree), tau, unit, f"ranks 6 … 10, and {together}",
                      Played(process, len(scheme.parents or ()), scheme)),
        ]  # fmt: skip
    return Group(
        "Medusa", "FasterDecoding/Medusa assets/medusa_acc.csv @5d374e9 and medusa_choices.py @11af0aa; τ: Spec-Bench "
        "answers BNukhkadiev/Spec-Bench @0f00011 (7B, MT-bench), EAGLE-3 paper (13B, MT-bench), Spec-Bench "
        "Leaderboard.md @fd2c1cd (A100)",
        "sums of path products of the accuracies of heads; ranks 6 … 10 of the tree taken as never right", tuple(rows),
        "The released tree with the published ranks comes within .2 of every τ; top-1 heads alone, taken as "
        "independent, miss .45 to .75.  Accuracies are of the training text, and no joint ones are published.",
    )  # fmt: skip


def _medusa_shape() -> Group:
    law = medusa_rounds("Vicuna-7B")
    survival = [1.0 - below for below in accumulate(law.pmf_accepted.tolist()[:-1])]
    rows = tuple(
        Predicted("Medusa, Vicuna-7B, MT-bench", "as above, the released tree", f"S_{j}", Span(*[float(own)] * 3), seen,
                  UNIT[4], "ranks 6 … 10, and that heads are right together")
        for j, (own, seen) in enumerate(zip(survival, MEDUSA_SURVIVAL, strict=True), 1)
    )  # fmt: skip
    return Group(
        "Medusa, survival", "Spec-Bench answers, BNukhkadiev/Spec-Bench @0f00011", "as above", rows,
        "Every S_j comes out .01 to .06 short: ranks 6 … 10 are missing at depth 1, and from depth 2 on heads are "
        "right together more often than independent ones.",
    )  # fmt: skip


def _eagle2() -> Group:
    rates = {model: row for model, temperature, row, _ in EAGLE if temperature == 0}
    rows = tuple(
        Predicted(name, f"0-α … 4-α of EAGLE, depth {EAGLE2_DEPTH}", TOKENS,
                  between(chained(*(rate - UNIT[2] / 2 for rate in rates[model])), EAGLE2_DEPTH + 1.0), tau, UNIT[2],
                  "the joint law of the confidences of a node's children")
        for name, model, tau in EAGLE2
    )  # fmt: skip
    return Group(
        "EAGLE-2", "Spec-Bench Leaderboard.md @fd2c1cd; EAGLE-3 paper (MT-bench, T = 0)",
        "EAGLE-1's draft: at least its chain of five, at most all six levels", rows,
        "No point can be predicted: dynamic trees live on confidences, of which no law is published.",
    )  # fmt: skip
