"""Do rounds of every scheme follow the exact law of the scheme?  Chi-square by kind of round, false alarm 1e-6."""

import numpy as np
import pytest
from scipy.special import chdtri

from simspec import theory
from simspec.kernels import play, twin
from simspec.kernels.draft_laws import draft_law
from simspec.kernels.lower_schemes import machine
from simspec.kernels.words import LANES, stream_keys
from simspec.model import Iid, Markov, Position, Survival
from simspec.model.schemes import Chain, Tree

FALSE_ALARM = 1e-6
ROUNDS = 2000
CHUNKS = 8
SHARES = (0.4, 0.2, 0.1)


def counts_of(scheme, process, kappa, chunks=CHUNKS):
    """Kinds of round, and how many there were of each."""
    own = machine(scheme.rounds(draft_law(process, kappa), kappa))
    keys = stream_keys(11, f"{scheme} {process}")
    return own.kinds, sum(play.machine_counts(own, keys, c, LANES, ROUNDS).sum(axis=0) for c in range(chunks))


def assert_law(kinds, counts, law):
    """Chi-square of counts against ``law``: a dictionary by (accepted, drafted, rejected); rare bins are pooled."""
    seen = {}
    for kind, count in zip(kinds, counts, strict=True):
        key = (kind.accepted, kind.drafted, kind.rejected)
        seen[key] = seen.get(key, 0) + int(count)
    total = int(sum(seen.values()))
    impossible = {key for key, count in seen.items() if count and law.get(key, 0.0) < 1e-12}
    assert not impossible
    expected = np.array([law[key] for key in sorted(law)]) * total
    found = np.array([seen.get(key, 0) for key in sorted(law)], float)
    assert expected.sum() == pytest.approx(total)
    order = np.argsort(expected)
    few = order[: int(np.searchsorted(np.cumsum(expected[order]), 25.0)) + 1] if expected.min() < 25 else order[:0]
    keep = np.setdiff1d(order, few)
    bins = [(found[keep], expected[keep]), (found[few].sum(keepdims=True), expected[few].sum(keepdims=True))]
    parts = [((f - e) ** 2 / np.maximum(e, 1e-300)).sum() for f, e in bins if f.size]
    free = keep.size + (few.size > 0) - 1
    distance = sum(parts[: 1 + (few.size > 0)])
    assert distance <= (chdtri(free, FALSE_ALARM) if free > 0 else 1e-9), (distance, free)


TREES = [
    (Tree(misses=SHARES), Iid(alpha=0.7), 64),
    (Tree(misses=SHARES, max_depth=3), Iid(alpha=0.4), 20),
    (Tree(widths=(1, 1, 3, 1, 1), misses=(0.5, 0.3)), Iid(alpha=0.6), 11),
    (Tree(widths=(2, 2), misses=(0.3,), siblings="sequential"), Position(alphas=(0.8, 0.5)), 6),
    (Tree(misses=((0.5, 0.2), (0.1,), (0.4, 0.4))), Survival(survival=(0.76, 0.62, 0.51)), 12),
    (Tree(parents=(0, 0, 1, 2, 2), ranks=(1, 2, 1, 1, 2), misses=(1.0,)), Markov(alpha=0.7, rho=0.3), 5),
    (Tree(misses=SHARES), Iid(alpha=0.0), 8),
    (Tree(misses=SHARES), Iid(alpha=1.0), 8),
    (Tree(misses=SHARES), Iid(alpha=0.7), 0),
    (Chain(), Iid(alpha=0.7), 5),
    (Chain(), Survival(survival=(0.76, 0.62, 0.51)), 3),
]


def law_of_tree(scheme, process, kappa):
    """From the window's law of the exact route and the shape alone."""
    if isinstance(scheme, Chain):
        window = theory.window(process, kappa)
        return {(j, kappa, j < kappa): float(p) for j, p in enumerate(window.pmf_accepted)}
    own = theory.tree_of(scheme, process, kappa)
    law, out = theory.tree_law(own), {}
    for node, chance in enumerate(law.stopped):
        key = (own.depths[node], own.nodes, bool(own.children[node]))
        out[key] = out.get(key, 0.0) + float(chance)
    return out


@pytest.mark.parametrize(("scheme", "process", "kappa"), TREES, ids=str)
def test_walks_through_trees(scheme, process, kappa):
    """One million rounds each."""
    assert_law(*counts_of(scheme, process, kappa), law_of_tree(scheme, process, kappa))


def test_a_wrong_chance_would_be_seen():
    kinds, counts = counts_of(TREES[0][0], Iid(alpha=0.703), 64)
    with pytest.raises(AssertionError):
        assert_law(kinds, counts, law_of_tree(*TREES[0]))


@pytest.mark.parametrize(("scheme", "process", "kappa"), TREES, ids=str)
def test_a_scheme_is_played_alike_by_the_twin(scheme, process, kappa):
    own = machine(scheme.rounds(draft_law(process, kappa), kappa))
    keys = stream_keys(2, "twin of schemes")
    fast, slow = (player.machine_counts(own, keys, 1, 5, 40) for player in (play, twin))
    assert fast.tolist() == slow.tolist()
