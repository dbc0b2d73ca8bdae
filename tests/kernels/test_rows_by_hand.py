"""Schemes on rows by other ways than rows: integration, listings, recursion; and the points of a Beta law."""

import itertools
import math

import numpy as np
import pytest
from row_cases import COST, SHARES, THREE, means_of
from scipy.integrate import quad
from scipy.special import beta as beta_function

from simspec import theory
from simspec.model import BetaMixture, DiscreteMixture, Drift, Hmm, Iid, Markov
from simspec.model.beta_points import beta_points
from simspec.model.carried_rounds import process_rounds
from simspec.model.schemes import Lookahead, Lookup, Tree

SHAPE = Tree(parents=(0, 0, 0, 1, 1, 2, 4), ranks=(1, 2, 3, 1, 2, 1, 1), misses=(0.5, 0.2))


def listed_walk(scheme, rates, draw=None):
    """P(accepted length) of a tree by a listing of verdicts; ``rates`` by level."""
    law = np.zeros(len(rates) + 1)

    def walk(node, depth, chance):
        children = [i for i, parent in enumerate(scheme.parents, 1) if parent == node]
        left = chance
        for child in children:
            rank = scheme.ranks[child - 1]
            rate = rates[depth]
            if scheme.siblings == "exclusive":
                own = chance * (rate if rank == 1 else (1 - rate) * scheme.misses[rank - 2])
            else:
                own = left * (rate if rank == 1 else scheme.misses[rank - 2])
            left -= own
            walk(child, depth + 1, own)
        law[depth] += left

    walk(0, 0, 1.0)
    return law


@pytest.mark.parametrize("siblings", ["exclusive", "sequential"])
def test_a_beta_mixture_on_a_tree_by_integration(siblings):
    """Not the urn, not Gauss points: numeric integration of the law at every rate."""
    scheme = SHAPE.model_copy(update={"siblings": siblings})

    def density(p, a, b, j):
        return p ** (a - 1) * (1 - p) ** (b - 1) * listed_walk(scheme, [p] * 3)[j] / beta_function(a, b)

    for a, b in ((2.0, 1.0), (5.0, 3.0), (1.0, 1.0)):
        law = [quad(density, 0, 1, args=(a, b, j))[0] for j in range(4)]
        mean = theory.scheme_law(scheme, BetaMixture(a=a, b=b), 7).mean_accepted
        assert mean == pytest.approx(np.arange(4) @ law, abs=1e-8)


@pytest.mark.parametrize("siblings", ["exclusive", "sequential"])
def test_hidden_states_on_a_tree_by_listing_all_of_them(siblings):
    scheme = SHAPE.model_copy(update={"siblings": siblings})
    moves, alphas = np.array(THREE), (0.95, 0.4, 0.1)
    start = np.linalg.matrix_power(moves, 200)[0]
    law = np.zeros(4)
    for path in itertools.product(range(3), repeat=3):
        chance = start[path[0]] * moves[path[0], path[1]] * moves[path[1], path[2]]
        law += chance * listed_walk(scheme, [alphas[state] for state in path])
    mean = theory.scheme_law(scheme, Hmm(P=THREE, alphas=alphas), 7).mean_accepted
    assert mean == pytest.approx(np.arange(4) @ law, abs=1e-12)


def test_candidates_on_hidden_states_by_listing_all_of_them():
    moves, alphas = np.array(THREE), (0.95, 0.4, 0.1)
    start = np.linalg.matrix_power(moves, 200)[0]
    for many in (1, 2, 7, 24):
        mean = 0.0
        for path in itertools.product(range(3), repeat=4):
            chance = start[path[0]] * math.prod(moves[a, b] for a, b in itertools.pairwise(path))
            reach = np.cumprod([alphas[state] for state in path])
            mean += chance * (1 - (1 - reach) ** many).sum()
        law = theory.scheme_law(Lookahead(candidates=many), Hmm(P=THREE, alphas=alphas), 4)
        assert law.mean_accepted == pytest.approx(mean, abs=1e-8)


def test_equal_nodes_make_one_tree_on_every_route():
    """Rates that are equal but for rounding, as curves give them: the same κ nodes of a tree with many equal ones."""
    tree = Tree(misses=(0.8366736619073679,), siblings="sequential", max_depth=4)
    for i in range(1, 40):
        rate = i / 41
        same = [Iid(alpha=rate), Hmm(P=((0.9, 0.1), (0.2, 0.8)), alphas=(rate, rate))]
        same.append(DiscreteMixture(alphas=(rate, rate), weights=(0.3, 0.7)))
        exact = [theory.scheme_law(tree, process, 6).p_rejected for process in same]
        played = [means_of(process_rounds(tree, process, 6), COST)[3] for process in same]
        assert exact + played == pytest.approx([exact[0]] * 6, abs=1e-12), rate


def test_a_generation_by_recursion():
    """Rounds of one generation, from its end: a tree that is cut near the end, on rates that change."""
    process, kappa = Drift(shape="table", alphas=(0.9, 0.2, 0.7, 0.5, 0.8)), 7
    rates, n = process.rates(), 5

    def rounds(i):
        if i >= n:
            return 0.0
        law = listed_walk(*cut_shape(n - 1 - i, rates[i:]))
        return 1.0 + sum(p * rounds(i + a + 1) for a, p in enumerate(law))

    law = theory.scheme_law(SHAPE, process, kappa)
    assert law.mean_tokens == pytest.approx(n / rounds(0), abs=1e-12)


def cut_shape(depth, rates):
    """The tree with at most ``depth`` levels, as a listing of its nodes."""
    depths = [0]
    for parent in SHAPE.parents:
        depths.append(depths[parent] + 1)
    kept = [node for node in range(1, 8) if depths[node] <= depth]
    new = {0: 0} | {node: i for i, node in enumerate(kept, 1)}
    tree = SHAPE.model_copy(
        update={
            "parents": tuple(new[SHAPE.parents[node - 1]] for node in kept),
            "ranks": tuple(SHAPE.ranks[node - 1] for node in kept),
        }
    )
    return tree, [*rates, 0.0, 0.0, 0.0][:3]


def test_two_outcomes_are_hidden_states_that_are_seen():
    """A Markov chain in a chain is a hidden chain with rates 0 and 1; in a tree it is not: see docs/systems.md."""
    alpha, rho = 0.7, 0.3
    up, down = alpha + rho * (1 - alpha), alpha * (1 - rho)
    seen = Hmm(P=((1 - down, down), (1 - up, up)), alphas=(0.0, 1.0), start="carry")
    markov = Markov(alpha=alpha, rho=rho, start="carry")
    for kappa in (1, 4):
        found = [theory.scheme_law(Lookup(after_match=0.8, after_miss=0.3), own, kappa) for own in (seen, markov)]
        assert found[0].mean_accepted == pytest.approx(found[1].mean_accepted, abs=1e-12)
    trees = [theory.scheme_law(Tree(misses=SHARES), own, 40).mean_accepted for own in (seen, markov)]
    assert trees[0] < trees[1] - 0.1


@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (0.4, 0.3), (70.0, 30.0), (1e-3, 2.0), (1e6, 1e7), (0.5, 0.5)])
def test_points_of_a_beta_law_have_its_moments(a, b):
    for degree in (0, 1, 7, 64, 255):
        rates, weights = (np.array(own) for own in beta_points(a, b, degree))
        moment = 1.0
        for j in range(degree + 1):
            assert weights @ rates**j == pytest.approx(moment, rel=1e-11)
            moment *= (a + j) / (a + b + j)
        assert len(rates) == degree // 2 + 1


def test_too_few_points_would_be_seen():
    rates, weights = (np.array(own) for own in beta_points(1.0, 1.0, 7))
    assert abs(weights @ rates**8 - 1 / 9) > 1e-5
