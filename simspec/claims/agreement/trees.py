"""Which systems verify a tree whose ranks have chances of their own?  Fixed, grown by confidence, and best shapes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from simspec import theory
from simspec.claims.agreement.case import PRICE, Case, System, speed_by, tokens_by
from simspec.claims.agreement.chains import BETA, DEPENDENT, ENDS, HEADS, MARKOV, Sets, on
from simspec.model import Cost, Hmm, Iid, Position
from simspec.model.schemes import DynamicTree, Tree
from simspec.model.schemes.systems_table import COVERAGE_GREEDY, COVERAGE_STOCHASTIC, SYSTEM_OF, shares
from simspec.theory.tree_program import Siblings

GROWN = "EAGLE-2 dynamic tree"
MEDUSA = "Medusa"
SPECINFER = "SpecInfer"
BEST = "optimal trees"
RANKS = shares(COVERAGE_GREEDY)
IN_TURN = shares(COVERAGE_STOCHASTIC, in_turn=True)
MOST = 64
"""Nodes among which the fastest tree is sought."""

NODES: Sets = tuple((process, {5: 20, 4: 12}.get(kappa, kappa), edge) for process, kappa, edge in (*DEPENDENT, *ENDS))
"""The sets of chains, with more nodes; a tree whose rates are given for four depths has no more levels."""


def fixed() -> tuple[System, ...]:
    """Trees of one shape: heads by rank, expansion vectors, a shape node by node."""
    heads = Tree(misses=RANKS, drafting="window", max_depth=4)
    eagle = {key: SYSTEM_OF["eagle"].keys[key] for key in ("parents", "ranks")}
    shape = Tree(**eagle, misses=RANKS)
    ranks = (
        *on(heads, ((Iid(alpha=0.6), 63, ""), *NODES)),
        Case(Iid(alpha=0.6), 8, _tree(heads, misses=(0.0,)), "r = 0"),
    )
    sets = ((process, k) for process in (Iid(alpha=0.57), MARKOV, BETA) for k in (1, 2, 3, 4, 5))
    wide = tuple(Case(process, 2 + 6 * k, _in_turn(1, 1, k, 1, 1, 1, 1, 1), f"width {k}") for process, k in sets)
    vector = _in_turn(3, 2, 1, 1)
    closed = "chances of paths; urn, matrices by node"
    return (
        System(HEADS, "EAGLE, static tree of 25", closed, on(shape, ((Iid(alpha=0.75), 25, ""), *_upto(25)))),
        System(MEDUSA, "Medusa, tree by path products", closed, ranks),
        System(SPECINFER, "SpecInfer, widths 1 to 5", closed, wide),
        System(SPECINFER, "SpecInfer ⟨3, 2, 1, 1⟩", closed, on(vector, ((Iid(alpha=0.57), 21, ""), *_upto(21)))),
    )


def _upto(nodes: int) -> Sets:
    return tuple((process, min(kappa, nodes), edge) for process, kappa, edge in NODES)


def _in_turn(*widths: int) -> Tree:
    return Tree(widths=widths, siblings="sequential", misses=IN_TURN)


def _tree(own: Tree, **keys: Any) -> Tree:
    return Tree.model_validate(own.model_dump(exclude={"label"}) | keys)


SURE, TORN, LOST = (0.9, 0.05, 0.02), (0.5, 0.4, 0.05), (0.2, 0.15, 0.1)
TWO = Hmm(P=((0.7, 0.3),) * 2, alphas=(0.9, 0.3))
THREE = Hmm(P=((0.6, 0.3, 0.1),) * 3, alphas=(0.95, 0.6, 0.2))


def _named(kappa: int, edge: str = "", **keys: Any) -> Case:
    """A tree of vectors, on the rate that its first children have."""
    scheme = DynamicTree(**keys)
    assert scheme.vectors is not None
    right, weights = scheme.acceptance or scheme.vectors, scheme.weights or (1.0,) * len(scheme.vectors)
    first = [own[told.index(max(told))] for told, own in zip(scheme.vectors, right, strict=True)]
    rate = sum(w * chance for w, chance in zip(weights, first, strict=True)) / sum(weights)
    return Case(Iid(alpha=rate), kappa, scheme, edge)


def grown() -> tuple[System, ...]:
    """Trees that grow where the draft is confident, rightly or not."""
    beam: dict[str, Any] = {"misses": (0.4, 0.2), "breadth": 2}
    vectors = (SURE, TORN, LOST)
    calibrated = (
        _named(4, vectors=vectors, weights=(5, 3, 2), breadth=2, depth=3),
        _named(7, vectors=vectors, breadth=3, depth=3),
        _named(6, vectors=(SURE, LOST), weights=(1, 3), breadth=2, depth=4),
        _named(9, "one vector", vectors=(TORN,), breadth=3, depth=3),
        _named(1, "κ = 1", vectors=(SURE, TORN), breadth=1, depth=4),
        Case(TWO, 8, DynamicTree(**beam, depth=4)),
        Case(THREE, 5, DynamicTree(misses=(0.4, 0.2), breadth=3, depth=2)),
        Case(Iid(alpha=1.0), 4, DynamicTree(misses=(0.5,), breadth=2, depth=3), "α = 1"),
        Case(Iid(alpha=0.0), 4, DynamicTree(misses=(0.5,), breadth=2, depth=3), "α = 0"),
        Case(Iid(alpha=0.6), 9, DynamicTree(misses=(0.0,), breadth=2, depth=2), "r = 0"),
    )
    misled = (
        _named(4, vectors=vectors, acceptance=((0.7, 0.1, 0.1), TORN, (0.3, 0.3, 0.3)), breadth=2, depth=3),
        _named(5, "wrong way round", vectors=(SURE, TORN), acceptance=(TORN, SURE), breadth=2, depth=3),
        _named(3, "none right", vectors=(SURE,), acceptance=((0.0, 0.0, 0.0),), breadth=2, depth=2),
        Case(TWO, 5, DynamicTree(**beam, depth=3, confidences=(0.4, 0.8)), "wrong way round"),
        Case(THREE, 6, DynamicTree(**beam, depth=3, confidences=(0.99, 0.9, 0.8))),
        Case(TWO, 6, DynamicTree(**beam, depth=3, confidences=(0.5, 0.5)), "tells nothing apart"),
    )
    listing = "listing of all confidences"
    return (
        System(GROWN, "EAGLE-2, calibrated", listing, calibrated),
        System(GROWN, "EAGLE-2, misled", listing, misled),
    )


@dataclass(frozen=True)
class Asked:
    """Drafts by rank of which the best tree is sought."""

    process: Iid | Position
    misses: tuple[float, ...]
    siblings: Siblings = "exclusive"

    @property
    def ranks(self) -> list[list[float]] | list[float]:
        """Chances by rank, one list per depth where the rate changes with it.

        Examples
        --------
        >>> Asked(Iid(alpha=0.5), (0.5,)).ranks, Asked(Iid(alpha=0.5), (0.5,), "sequential").ranks
        ([0.5, 0.25], [0.5, 0.5])
        """
        if isinstance(self.process, Iid):
            return self._row(self.process.alpha)
        return [self._row(rate) for rate in self.process.alphas]

    def _row(self, rate: float) -> list[float]:
        missed = 1.0 if self.siblings == "sequential" else 1.0 - rate
        return [rate, *(missed * share for share in self.misses)]

    def grown(self, nodes: int, edge: str = "") -> Case:
        """The scheme that grows a tree by itself, from the likeliest node on."""
        return Case(self.process, nodes, Tree(misses=self.misses), edge)

    def shaped(self, best: theory.BestTree, edge: str = "", price: Cost = PRICE) -> Case:
        """A tree of the program, played node by node."""
        shape: dict[str, Any] = {"parents": best.tree.parents, "ranks": best.ranks}
        scheme = Tree(**shape, misses=self.misses, siblings=self.siblings)
        return Case(self.process, best.tree.nodes, scheme, edge, price)


def _asked(case: Case) -> Asked:
    scheme, process = case.scheme, case.process
    assert isinstance(scheme, Tree)
    assert isinstance(process, (Iid, Position))
    return Asked(process, tuple(share for share in scheme.misses if isinstance(share, float)), scheme.siblings)


def _best_tokens(case: Case) -> float:
    asked = _asked(case)
    return 1.0 + float(theory.best_accepted(asked.ranks, case.kappa, siblings=asked.siblings)[case.kappa])


def _fastest_speed(case: Case) -> float:
    found = theory.fastest_tree(_asked(case).ranks, MOST, case.price).speedup
    assert found is not None  # a cost was given
    return found


def _best(asked: Asked, nodes: int, edge: str = "") -> Case:
    return asked.shaped(theory.best_tree(asked.ranks, nodes, siblings=asked.siblings), edge)


def _fastest(asked: Asked, price: Cost, edge: str = "") -> Case:
    return asked.shaped(theory.fastest_tree(asked.ranks, MOST, price), edge, price)


def best() -> tuple[System, ...]:
    """Best shapes, found by a program and played."""
    few = (0.45, 0.25, 0.1)
    usual, steps = Asked(Iid(alpha=0.6), few), Asked(Position(alphas=(0.8, 0.6, 0.5)), few)
    program = (
        usual.grown(16),
        steps.grown(12),
        usual.grown(1, "κ = 1"),
        usual.grown(0, "κ = 0"),
        Asked(Iid(alpha=1.0), few).grown(6, "α = 1"),
        Asked(Iid(alpha=0.8), (0.0,)).grown(9, "r = 0"),
        _best(Asked(Iid(alpha=0.0), few), 6, "α = 0"),
        _best(Asked(Iid(alpha=0.6), (0.5, 0.3), "sequential"), 12),
        _best(Asked(Iid(alpha=0.35), (0.4, 0.4, 0.3), "sequential"), 24),
        _best(Asked(Position(alphas=(0.7, 0.5, 0.4)), (0.5, 0.3), "sequential"), 10),
    )
    fast = (
        _fastest(usual, PRICE),
        _fastest(usual, Cost(c_d=0.05, c_v=0.02)),
        _fastest(usual, Cost(c_d=0.05, verify_table=(*[1.0] * 17, *[1.4] * 48)), "pass in steps"),
        _fastest(steps, Cost(c_d=0.02, c_v=0.004)),
        _fastest(Asked(Iid(alpha=0.9), (0.0,)), PRICE, "r = 0"),
        _fastest(Asked(Iid(alpha=0.02), (0.1,)), Cost(c_d=0.3, c_v=0.05), "nothing pays"),
    )
    return (
        System(BEST, "best tree of n nodes", "program over levels, ranks, nodes", program, (tokens_by(_best_tokens),)),
        System(BEST, "fastest tree under a price", "program and λ", fast, (speed_by(_fastest_speed),)),
    )


def systems() -> tuple[System, ...]:
    """All of them."""
    return (*fixed(), *grown(), *best())
