"""Do rounds of every scheme follow the exact law of the scheme?  Chi-square by kind of round, false alarm 1e-6."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.special import chdtri
from token_cases import FEW as TOKENS

from simspec import theory
from simspec.kernels import play, twin
from simspec.kernels.lower_schemes import scheme_form
from simspec.kernels.words import LANES, stream_keys
from simspec.model import Cost, Hmm, Iid, Markov, ParameterError, Position, Survival, TokenChain
from simspec.model.draft_laws import draft_law
from simspec.model.rounds import RoundTable
from simspec.model.schemes import (
    Ahead,
    BigLittle,
    Chain,
    Copy,
    DynamicTree,
    Lookahead,
    Lookup,
    NgramPool,
    Parallel,
    Pool,
    Scheme,
    Schemes,
    SelfDraft,
    Stop,
    Tree,
    Unmask,
)  # fmt: skip
from simspec.theory.scheme_routes import SCHEME_LAWS, dynamic_arguments, stop_arguments

FALSE_ALARM = 1e-6
ROUNDS = 2000
CHUNKS = 8
SHARES = (0.4, 0.2, 0.1)


def counts_of(scheme, process, kappa, chunks=CHUNKS):
    """Kinds of round, and how many there were of each."""
    own = scheme_form(scheme.rounds(draft_law(process, kappa), kappa))
    keys = stream_keys(11, f"{scheme} {process}")
    return own.kinds, sum(play.scheme_counts(own, keys, c, LANES, ROUNDS).sum(axis=0) for c in range(chunks))


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


STICKY = Hmm(P=((0.9, 0.1), (0.2, 0.8)), alphas=(0.95, 0.4))
REDRAWN = Hmm(P=((0.6, 0.3, 0.1),) * 3, alphas=(0.95, 0.6, 0.2))
STOPS = [
    (Stop(theta=0.35), REDRAWN, 10),
    (Stop(theta=0.6, rule="confidence"), REDRAWN, 10),
    (Stop(theta=0.5, rule="confidence", kmin=2), STICKY, 8),
    (Stop(theta=0.2, kmin=3), STICKY, 7),
    (Stop(theta=0.5, rule="confidence", confidences=(0.9, 0.6, 0.3)), REDRAWN, 6),
    (Stop(theta=0.3, confidences=(0.5, 0.9)), STICKY, 6),
    (Stop(theta=0.3), Iid(alpha=0.7), 6),
    (Stop(theta=0.0), Iid(alpha=1.0), 3),
    (Stop(theta=1.0), STICKY, 0),
]
TURNS = [
    (BigLittle(p_fallback=0.2), Iid(alpha=0.9), 8),
    (BigLittle(p_fallback=0.0), Iid(alpha=0.5), 3),
    (BigLittle(p_fallback=1.0), Iid(alpha=0.9), 4),
    (BigLittle(p_fallback=0.5), Iid(alpha=1.0), 4),
    (BigLittle(p_fallback=0.1), Iid(alpha=0.0), 4),
    (BigLittle(p_fallback=0.1), Iid(alpha=0.4), 0),
]
SIDES = [
    (Lookahead(candidates=7, window=5), Iid(alpha=0.5), 4),
    (Lookahead(candidates=15, window=15, good=0.4), Iid(alpha=0.3), 4),
    (Lookahead(candidates=1), Iid(alpha=0.8), 6),
    (Lookahead(candidates=3), Iid(alpha=0.0), 2),
    (Lookahead(candidates=3), Iid(alpha=1.0), 2),
]
CARRIED = [
    (Lookup(after_match=0.8, after_miss=0.2), Iid(alpha=0.9), 5),
    (Lookup(after_match=0.3, after_miss=0.5), Survival(survival=(0.7, 0.6, 0.2)), 3),
    (Lookup(after_match=0.0, after_miss=1.0), Iid(alpha=0.5), 2),
    (Lookup(after_match=1.0, after_miss=0.3), Iid(alpha=0.5), 4),
    (Lookup(after_match=0.5, after_miss=0.0), Iid(alpha=0.5), 4),
    (Ahead(), Iid(alpha=0.7), 4),
    (Ahead(), Iid(alpha=0.95), 10),
    (Ahead(), Iid(alpha=0.0), 3),
    (Ahead(), Iid(alpha=1.0), 2),
    (Ahead(), Iid(alpha=0.4), 1),
    (Ahead(pre_verify=True), Iid(alpha=0.7), 4),
    (Ahead(pre_verify=True), Iid(alpha=0.9), 10),
    (Ahead(pre_verify=True), Iid(alpha=0.5), 1),
    (Ahead(pre_verify=True), Iid(alpha=1.0), 3),
    (Ahead(pre_verify=True), Iid(alpha=0.0), 3),
    (Parallel(), Iid(alpha=0.7), 1),
    (Parallel(), Iid(alpha=0.7), 5),
    (Parallel(), Iid(alpha=0.95), 12),
    (Parallel(), Iid(alpha=0.0), 3),
    (Parallel(), Iid(alpha=1.0), 3),
    (Unmask(), Iid(alpha=0.3), 15),
    (Unmask(), Iid(alpha=0.05), 31),
    (Unmask(), Iid(alpha=0.0), 7),
    (Unmask(), Iid(alpha=1.0), 7),
    (Unmask(), Iid(alpha=0.6), 1),
]
BEAM = {"misses": (0.4, 0.2), "breadth": 2}
TWO = Hmm(P=((0.7, 0.3),) * 2, alphas=(0.9, 0.3))
GROWN = [
    (DynamicTree(**BEAM, depth=3), TWO, 4),
    (DynamicTree(**BEAM, depth=4), TWO, 8),
    (DynamicTree(misses=(0.4, 0.2), breadth=3, depth=2), REDRAWN, 5),
    (DynamicTree(**BEAM, depth=3, confidences=(0.4, 0.8)), TWO, 5),
    (DynamicTree(breadth=1, depth=5), TWO, 3),
    (DynamicTree(misses=(0.5,), breadth=2, depth=3), Iid(alpha=1.0), 4),
    (DynamicTree(misses=(0.5,), breadth=2, depth=3), Iid(alpha=0.0), 4),
    (DynamicTree(misses=(0.5,), breadth=2, depth=1), Iid(alpha=0.6), 1),
    (DynamicTree(misses=(0.0,), breadth=2, depth=2), Iid(alpha=0.6), 9),
]


def text(*rows):
    return TokenChain(target=rows, draft=rows)


POOLS = [
    (Pool(), text((0.5, 0.5), (0.9, 0.1)), 2),
    (Pool(), text((0.5, 0.5), (0.9, 0.1)), 0),
    (Pool(), text((0.1, 0.8, 0.1), (0.1, 0.1, 0.8), (0.9, 0.05, 0.05)), 4),
    (Pool(), text((0.0, 1.0), (1.0, 0.0)), 2),  # what was will be again
    (Pool(), text((0.25,) * 4, (0.7, 0.1, 0.1, 0.1), (0.0, 0.0, 0.5, 0.5), (1.0, 0.0, 0.0, 0.0)), 5),
]
DRAFTED = [
    (SelfDraft(layers=0.25), Iid(alpha=0.7), 5),
    (SelfDraft(layers=0.5, reuse=False, adapter=0.05), Position(alphas=(0.8, 0.5)), 2),
    (SelfDraft(layers=0.0625, adapter=0.03, theta=0.6), REDRAWN, 6),
    (SelfDraft(layers=0.25, theta=0.3, rule="survival", kmin=2), STICKY, 6),
    (SelfDraft(layers=1.0, theta=0.5), Iid(alpha=1.0), 3),
    (Chain(drafting="window"), Iid(alpha=0.6), 4),
    (Chain(heads=2), Survival(survival=(0.76, 0.62, 0.51)), 3),
    (Tree(misses=SHARES, drafting="window"), Iid(alpha=0.7), 16),
    (Tree(misses=SHARES, drafting="node"), Iid(alpha=0.7), 16),
    (Tree(misses=SHARES, heads=3), Iid(alpha=0.9), 16),
]
REMEMBERED = [(Copy(memory=5), POOLS[2][1], 3), (NgramPool(candidates=2), POOLS[0][1], 2)]
ALL = [*TOKENS, *REMEMBERED, *DRAFTED, *POOLS, *GROWN, *TREES, *STOPS, *TURNS, *SIDES, *CARRIED]


@pytest.mark.parametrize(("scheme", "process", "kappa"), STOPS, ids=str)
def test_drafts_that_stop(scheme, process, kappa):
    joint = theory.stopped_draft(**stop_arguments(scheme, process, kappa)).joint
    law = {(a, d, a < d): float(joint[d, a]) for d in range(kappa + 1) for a in range(d + 1) if joint[d, a] > 0.0}
    assert_law(*counts_of(scheme, process, kappa), law)


@pytest.mark.parametrize(("scheme", "process", "kappa"), GROWN, ids=str)
def test_trees_that_grow(scheme, process, kappa):
    """Against a listing of all confidences; the walk may end at a leaf at any depth, so bins are by nodes and depth."""
    law = theory.dynamic_tree(**dynamic_arguments(scheme, process, kappa))
    kinds, counts = counts_of(scheme, process, kappa)
    pooled = [replace(kind, rejected=False) for kind in kinds]
    joint = {(a, n, False): float(p) for (n, a), p in np.ndenumerate(law.joint) if p > 0.0}
    assert_law(pooled, counts, joint)


@pytest.mark.parametrize(("scheme", "process", "kappa"), POOLS, ids=str)
def test_lengths_from_a_pool(scheme, process, kappa):
    """Shares of lanes, which are independent, by accepted length."""
    own = scheme_form(scheme.rounds(draft_law(process, kappa), kappa))
    keys = stream_keys(13, f"{process}")
    lanes = np.concatenate([play.scheme_counts(own, keys, c, LANES, ROUNDS) for c in range(CHUNKS)])
    for length, exact in enumerate(theory.pool_law(process.target, kappa).pmf_accepted):
        share = lanes @ np.array([kind.accepted == length and kind.drafted == kappa for kind in own.kinds]) / ROUNDS
        assert abs(share.mean() - exact) <= 5.5 * share.std(ddof=1) / np.sqrt(share.size) + 1e-9


def test_kappa_cuts_the_text_and_never_changes_it():
    """Tokens of a lane until all are drawn: a longer draft needs fewer rounds for the same text."""
    process = POOLS[2][1]
    for kappa in (0, 3):
        own = scheme_form(Pool().rounds(draft_law(process, kappa), kappa))
        counts = play.scheme_counts(own, stream_keys(1, "text"), 0, 4, 500)
        emitted = counts @ [kind.tokens for kind in own.kinds]
        assert (emitted == 500).all() if kappa == 0 else (emitted > 500).all()


@pytest.mark.parametrize("target", [((0.5, 0.5), (0.9, 0.1)), POOLS[2][1].target, POOLS[4][1].target])
def test_the_memory_of_the_last_token_is_a_draw_of_its_own(target):
    """The Markov chain tree theorem against the chain of states: P(agreement) is that of a draft of one per token."""
    rows, tokens = np.array(target), len(target)
    weight, agreement = 0.0, 0.0
    for last in range(tokens):
        for memory in product(range(tokens), repeat=tokens):
            if all(leads_to(memory, token, last) for token in range(tokens)):
                own = np.prod([rows[token, memory[token]] for token in range(tokens)])
                weight += own
                agreement += own * rows[last, memory[last]]
    assert theory.pool_law(target, 1).agreement == pytest.approx(agreement / weight)


def leads_to(memory, token, last):
    for _ in memory:
        if token == last:
            return True
        token = memory[token]
    return token == last


@pytest.mark.parametrize(("scheme", "process", "kappa"), TURNS, ids=str)
def test_turns_of_two_models(scheme, process, kappa):
    joint = theory.big_little(scheme.p_fallback, 1.0 - process.alpha, kappa).joint
    law = {(a, d, a < d): float(joint[d, a]) for d in range(kappa + 1) for a in range(d + 1) if joint[d, a] > 0.0}
    assert_law(*counts_of(scheme, process, kappa), law)


@pytest.mark.parametrize(("scheme", "process", "kappa"), SIDES, ids=str)
def test_candidates_side_by_side(scheme, process, kappa):
    pmf = theory.lookahead_step(process.alpha, kappa, scheme.candidates).pmf_best * scheme.good
    pmf[0] += 1.0 - scheme.good
    width = kappa * (scheme.candidates + scheme.window)
    law = {(a, width, a < kappa): float(p) for a, p in enumerate(pmf) if p > 0.0}
    assert_law(*counts_of(scheme, process, kappa), law)


@pytest.mark.parametrize(("scheme", "process", "kappa"), ALL, ids=str)
def test_means_and_prices_of_every_scheme(scheme, process, kappa):
    """Means over lanes, which are independent, within 5.5 of their standard errors: false alarm 4e-8 each."""
    own, law = scheme_form(scheme.rounds(draft_law(process, kappa), kappa)), theory.scheme_law(scheme, process, kappa)
    keys = stream_keys(12, f"{scheme} {process}")
    lanes = np.concatenate([play.scheme_counts(own, keys, c, LANES, ROUNDS) for c in range(CHUNKS)])
    cost = Cost(c_d=0.07) if isinstance(scheme, (Ahead, Parallel)) else Cost(c_d=0.07, c_v=0.01, c_r=0.2)
    for values, exact in (
        ([kind.tokens for kind in own.kinds], law.mean_tokens),
        ([kind.accepted for kind in own.kinds], law.mean_accepted),
        ([kind.drafted for kind in own.kinds], law.mean_drafted),
        ([kind.rejected for kind in own.kinds], law.p_rejected),
        ([kind.price(scheme.priced(cost)) for kind in own.kinds], law.price(cost)),
    ):
        means = lanes @ np.array(values, float) / ROUNDS
        error = means.std(ddof=1) / np.sqrt(means.size)
        assert abs(means.mean() - exact) <= 5.5 * error + 1e-9, (values, means.mean(), exact, error)


def test_every_scheme_is_held_against_theory():
    assert {type(scheme) for scheme, _, _ in ALL} == set(SCHEME_LAWS) == set(Schemes.table.values())


@pytest.mark.parametrize(("scheme", "process", "kappa"), ALL, ids=str)
def test_a_scheme_is_played_alike_by_the_twin(scheme, process, kappa):
    own = scheme_form(scheme.rounds(draft_law(process, kappa), kappa))
    keys = stream_keys(2, "twin of schemes")
    fast, slow = (player.scheme_counts(own, keys, 1, 5, 40) for player in (play, twin))
    assert fast.tolist() == slow.tolist()


def test_what_a_scheme_cannot_be_asked():
    for make, named in (
        (lambda: Schemes.make(type="treee"), "type"),
        (lambda: Schemes.make(widths=[1]), "type"),
        (lambda: Tree(misses=(0.6, 0.6)), "misses"),
        (lambda: Tree(misses=((0.1,), (0.6, 0.6))), "misses[1]"),
        (lambda: Tree(widths=(2,)), "misses"),
        (lambda: Tree(widths=(1,), max_depth=2), "max_depth"),
        (lambda: Tree(parents=(0,)), "ranks"),
        (lambda: Tree(parents=(1,), ranks=(1,)), "parents[0]"),
        (lambda: Tree(parents=(0, 0), ranks=(1, 1), misses=(0.1,)), "ranks[1]"),
        (lambda: Tree(widths=(1, 1)).rounds(draft_law(Iid(alpha=0.5), 3), 3), "kappa"),
        (lambda: Tree(widths=(1, 1, 1)).rounds(draft_law(Position(alphas=(0.5, 0.4)), 3), 3), "kappa"),
        (lambda: Tree().rounds(draft_law(STICKY, 3), 3), "process"),
        (lambda: Lookup(after_match=1.0, after_miss=0.0), "after_match"),
        (lambda: Stop(theta=1.5), "theta"),
        (lambda: Stop(theta=0.5, confidences=(0.1, 0.2)).rounds(draft_law(Iid(alpha=0.5), 3), 3), "confidences"),
        (lambda: BigLittle(), "p_fallback"),
        (lambda: DynamicTree(breadth=2, depth=2), "breadth"),
        (lambda: DynamicTree(misses=(0.6, 0.6), breadth=2, depth=2), "misses"),
        (lambda: DynamicTree(breadth=1, depth=2).rounds(draft_law(TWO, 3), 0), "kappa"),
        (lambda: DynamicTree(breadth=1, depth=2).rounds(draft_law(STICKY, 3), 3), "process"),
        (lambda: DynamicTree(breadth=1, depth=2, confidences=(0.1,)).rounds(draft_law(TWO, 3), 3), "confidences"),
        (
            lambda: scheme_form(DynamicTree(misses=(0.01,) * 63, breadth=64, depth=64).rounds(draft_law(TWO, 3), 3)),
            "breadth",
        ),
        (lambda: Ahead().rounds(draft_law(Iid(alpha=0.5), 3), 0), "kappa"),
        (lambda: Parallel().rounds(draft_law(Iid(alpha=0.5), 3), 0), "kappa"),
        (lambda: Parallel().rounds(draft_law(Position(alphas=(0.5, 0.4)), 2), 2), "process"),
        (lambda: Ahead().rounds(draft_law(Position(alphas=(0.5, 0.4)), 2), 2), "process"),
        (lambda: draft_law(Markov(alpha=0.7, rho=0.3, start="carry"), 3), "process.type"),
        (lambda: theory.matched_share(1.0, 0.0), "after_match"),
        (lambda: theory.pool_law([[0.0, 1.0], [1.0, 0.0]], 3), "kappa"),
        (lambda: theory.pool_law([[1.0, 0.0], [0.5, 0.5]], 3), "target"),
        (lambda: theory.pool_law([[0.2] * 5] * 5, 3), "target"),
        (lambda: Pool().rounds(draft_law(Iid(alpha=0.5), 3), 3), "process"),
        (lambda: Stop(theta=0.5).rounds(draft_law(POOLS[0][1], 3), 3), "process"),
        (lambda: DynamicTree(breadth=1, depth=2).rounds(draft_law(POOLS[0][1], 3), 3), "process"),
        (lambda: Chain().rounds(draft_law(POOLS[0][1], 3), 3), "process"),
    ):
        with pytest.raises(ParameterError) as caught:
            make()
        assert caught.value.key == named


def test_two_schemes_cannot_share_a_name():
    class Other(Scheme):
        type: str = "tree"

    with pytest.raises(ParameterError, match="already taken"):
        Schemes.add(Other)


def test_steps_of_a_round_meet_the_same_words_in_every_scheme():
    """A chain and the tree that is a chain play the same rounds, so that their difference has no noise."""
    law = draft_law(Iid(alpha=0.7), 5)
    chain, tree = (scheme_form(scheme.rounds(law, 5)) for scheme in (Chain(), Tree(widths=(1,) * 5)))
    keys = stream_keys(1, "same words")

    def by_length(own):
        counts = play.scheme_counts(own, keys, 0, LANES, 500)
        return {kind.accepted: counts[:, i].tolist() for i, kind in enumerate(own.kinds)}

    assert by_length(chain) == by_length(tree)


def test_a_table_of_many_states_is_refused(monkeypatch):
    monkeypatch.setattr("simspec.model.schemes.stop.STATES_LIMIT", 2000)
    with pytest.raises(ParameterError, match="too many products"):
        Stop(theta=0.0).rounds(draft_law(REDRAWN, 50), 50)
    assert isinstance(Stop(theta=0.5).rounds(draft_law(REDRAWN, 20), 20), RoundTable)
