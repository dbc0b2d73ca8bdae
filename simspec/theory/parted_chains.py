"""What do K drafts side by side keep?  Chains that part at the first token, as one tree; K = 1 is one chain."""

from __future__ import annotations

import numpy as np

from simspec.model.errors import ParameterError
from simspec.model.trees import DraftTree
from simspec.theory.best_trees import BestTree, Ranks, levels_of
from simspec.theory.ranges import check_whole
from simspec.theory.tree_laws import tree_law
from simspec.theory.tree_program import Siblings


def draft_chains(rank_chances: Ranks, drafts: int, kappa: int, siblings: Siblings = "exclusive") -> BestTree:
    """K drafts of κ tokens each, verified in one pass; they differ in their first token.

    Parameters
    ----------
    rank_chances : sequence of float, or one such sequence per depth
        Chance of the child of rank 1, 2, …, as in `best_tree`.
    drafts : int
        K ≥ 1: the first K ranks at depth 1, each followed by a chain of rank 1.
    kappa : int
        Tokens of each draft, ≥ 0; K·κ nodes in all.
    siblings : str
        As in `best_tree`.

    Returns
    -------
    BestTree
        The tree they are, and ranks of its nodes.

    Raises
    ------
    ParameterError
        If an argument is out of range, there are fewer ranks, or fewer depths.

    References
    ----------
    Sun et al. (2023), SpecTr: K drafts verified at once; Miao et al. (2024), SpecInfer: expansion ⟨K, 1, 1, …⟩.

    Examples
    --------
    >>> two = draft_chains([0.6, 0.2], drafts=2, kappa=3)
    >>> two.tree.parents, two.ranks, round(two.mean_accepted, 4)
    ((0, 0, 1, 2, 3, 4), (1, 2, 1, 1, 1, 1), 1.568)
    """
    check_whole("drafts", drafts, 1)
    check_whole("kappa", kappa, 0)
    levels = levels_of(rank_chances, drafts * kappa, None, siblings)
    if len(levels) < kappa:
        most = len(levels)
        raise ParameterError("kappa", f"kappa = {kappa} is beyond the {most} depths; allowed: 0 to {most}")
    if kappa and drafts > levels[0].size:
        raise ParameterError("drafts", f"drafts = {drafts} is beyond the ranks; allowed: 1 to {levels[0].size}")
    parents = [max(node - drafts, 0) for node in range(1, drafts * kappa + 1)]
    ranks = [node if node <= drafts else 1 for node in range(1, drafts * kappa + 1)]
    depths = (np.arange(drafts * kappa) // drafts).tolist()
    chances = [float(levels[depth][rank - 1]) for depth, rank in zip(depths, ranks, strict=True)]
    tree = DraftTree(parents=tuple(parents), chances=tuple(chances), siblings=siblings)
    return BestTree(tree, tuple(ranks), tree_law(tree).mean_accepted)
