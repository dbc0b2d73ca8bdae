"""Do the tables of rounds that kernels play say what the papers' rules say?  Walked exactly, with no random number."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
import pytest
import systems_brute as brute
from test_systems_bruteforce import CASES, a_law, a_rate, dice, ranks

from simspec.kernels import play, twin
from simspec.kernels.lower_schemes import scheme_form, tally_of
from simspec.kernels.words import LANES, stream_keys
from simspec.model import Cost, Hmm, Iid
from simspec.model.draft_laws import draft_law
from simspec.model.rounds import DraftLaw, End, RoundKind, RoundTable
from simspec.model.schemes import Ahead, BigLittle, DynamicTree, Lookahead, Lookup, Parallel, Stop, Tree, Unmask


def from_state(table: RoundTable, start: int) -> dict[RoundKind, float]:
    """Law of the kind of a round that starts there."""
    here, law = {start: 1.0}, defaultdict[RoundKind, float](float)
    while here:
        state = min(here)
        chance = here.pop(state)
        for own, target in table.states[state]:
            if isinstance(target, End):
                law[table.kinds[target.kind]] += chance * own
            elif own > 0.0:
                here[target] = here.get(target, 0.0) + chance * own
    return law


def in_the_long_run(table: RoundTable) -> dict[RoundKind, float]:
    """Law of the kind of the first round of a lane, which must be that of every later one."""
    begin, law = defaultdict[int, float](float), defaultdict[RoundKind, float](float)
    for share, state in table.first:
        begin[state] += share
    after = defaultdict[int, float](float)
    for state, share in begin.items():
        for kind, chance in from_state(table, state).items():
            law[kind] += share * chance
            after[kind.start] += share * chance
    assert sum(begin.values()) == pytest.approx(1.0)
    for state in {*begin, *after}:
        assert after[state] == pytest.approx(begin[state], abs=1e-12), "the next round starts by another law"
    return law


def by(law: dict[RoundKind, float], *names: str) -> dict[tuple[int, ...], float]:
    """The same law by some attributes of a kind."""
    out = defaultdict[tuple[int, ...], float](float)
    for kind, chance in law.items():
        out[tuple(int(getattr(kind, name)) for name in names)] += chance
    return out


def assert_same(found: dict[tuple[int, ...], float], exact: dict[tuple[int, ...], float]) -> None:
    for key in {*found, *exact}:
        assert found.get(key, 0.0) == pytest.approx(exact.get(key, 0.0), abs=1e-12), key


@pytest.mark.parametrize("case", CASES)
def test_a_tree_grows_to_the_best_and_is_walked_as_its_chances_say(case: int) -> None:
    """Where chances fall with rank: no tree of so many nodes, so deep, keeps more."""
    rng = dice(31, case)
    sequential, kappa = bool(case % 2), int(rng.integers(0, 6))
    deepest = int(rng.integers(1, 4)) if rng.random() < 0.5 else None
    rate = 0.5 + 0.5 * float(rng.random())
    misses = sorted(ranks(rng, sequential=False, most=2), reverse=True)
    if sequential:  # falling chances to be reached, not only falling chances
        misses = [share * (1.0 - rate) for share in misses]
    siblings = "sequential" if sequential else "exclusive"
    scheme = Tree(misses=tuple(misses), siblings=siblings, max_depth=deepest)
    found = in_the_long_run(scheme.rounds(draft_law(Iid(alpha=rate), kappa), kappa))
    levels = [[rate, *(share if sequential else (1.0 - rate) * share for share in misses)]] * max(kappa, 1)
    most, laws = 0.0, []
    for tree in brute.rank_trees(len(levels[0]), kappa, deepest or kappa, prefix=True):
        parents, chances = brute.numbered(tree, levels)
        law, inner = brute.walk(parents, chances, sequential)
        most = max(most, mean := sum(j * p for j, p in law.items()))
        laws.append((mean, len(tree), dict(law), inner))
    assert sum(kind.accepted * p for kind, p in found.items()) == pytest.approx(most, abs=1e-12)
    by_length = by(found, "accepted")
    assert any(
        mean == pytest.approx(most, abs=1e-12)
        and all(by_length.get((j,), 0.0) == pytest.approx(p, abs=1e-12) for j, p in law.items())
        and sum(p for kind, p in found.items() if kind.rejected) == pytest.approx(inner, abs=1e-12)
        and {kind.drafted for kind in found} == {nodes}
        for mean, nodes, law, inner in laws
    )


@pytest.mark.parametrize("case", CASES)
def test_a_table_of_a_draft_that_stops(case: int) -> None:
    """Thresholds are often close to a product that can be met, on either side of it."""
    rng = dice(32, case)
    size, kappa = int(rng.integers(1, 4)), int(rng.integers(0, 5))
    values, first = [a_rate(rng) for _ in range(size)], a_law(rng, size)
    accepts = values if rng.random() < 0.5 else [a_rate(rng) for _ in range(size)]
    rows = [first] * size if rng.random() < 0.5 else [a_law(rng, size) for _ in range(size)]
    kmin, rule = int(rng.integers(1, 4)), ("survival", "confidence")[case % 2]
    met = math.prod(rng.choice(values, size=int(rng.integers(1, 4))))
    theta = min(met * float(rng.choice([1.0 - 1e-4, 1.0 + 1e-4])), 1.0) if rng.random() < 0.7 else a_rate(rng)

    def ends(drawn: list[float]) -> bool:
        return len(drawn) >= kmin and (math.prod(drawn) if rule == "survival" else drawn[-1]) < theta - 1e-13

    draft = DraftLaw((tuple(accepts),) * kappa, tuple(first), tuple(map(tuple, rows)))
    scheme = Stop(theta=theta, rule=rule, kmin=kmin, confidences=tuple(values))
    found = in_the_long_run(scheme.rounds(draft, kappa))
    exact = brute.stopped(values, first, rows, accepts, ends, kappa)
    assert_same(by(found, "drafted", "accepted"), exact)
    assert all(kind.steps == kind.drafted and kind.rejected == (kind.accepted < kind.drafted) for kind in found)


@pytest.mark.parametrize("case", CASES)
def test_tables_of_turns_and_of_candidates(case: int) -> None:
    rng = dice(33, case)
    f, keep, kappa = a_rate(rng), a_rate(rng), int(rng.integers(0, 5))
    turn = in_the_long_run(BigLittle(p_fallback=f).rounds(draft_law(Iid(alpha=keep), kappa), kappa))
    assert_same(by(turn, "drafted", "steps", "accepted"), brute.turns(f, 1.0 - keep, kappa))
    many, window, good = int(rng.integers(1, 5)), int(rng.integers(0, 4)), a_rate(rng)
    gamma = int(rng.integers(0, 4))
    scheme = Lookahead(candidates=many, window=window, good=good)
    step = in_the_long_run(scheme.rounds(draft_law(Iid(alpha=keep), gamma), gamma))
    exact = {(j, int(j < gamma)): good * p for j, p in enumerate(brute.best_of(keep, gamma, many))}
    exact[0, int(gamma > 0)] += 1.0 - good
    assert_same(by(step, "accepted", "rejected"), exact)
    assert {(kind.drafted, kind.steps) for kind in step} == {(gamma * (many + window), 0)}


@pytest.mark.parametrize("case", CASES)
def test_tables_that_go_on_by_the_clock(case: int) -> None:
    """Long-run tokens per time of overlapped schedules, masks of a block, and rounds with a match."""
    rng = dice(34, case)
    alpha, length = float(rng.choice([0.0, 0.3, 0.9, 0.9 * rng.random()])), int(rng.integers(1, 6))
    cost, early = Cost(c0=0.5 + float(rng.random()), c_d=float(rng.choice([0.05, 0.5, rng.random()]))), bool(case % 2)
    law = draft_law(Iid(alpha=alpha), length)

    def speed(table: RoundTable, price: Cost) -> float:
        rounds = in_the_long_run(table)
        return sum(p * k.tokens for k, p in rounds.items()) / sum(p * k.price(price) for k, p in rounds.items())

    clock = brute.by_runs(alpha, lambda run: brute.pearl_time(run, cost.c_d, length, cost.c0, early))
    assert speed(Ahead(pre_verify=early).rounds(law, length), cost) == pytest.approx(clock)
    clock = brute.by_runs(alpha, lambda run: brute.dsi_time(run, cost.c_d, length))
    assert speed(Parallel().rounds(law, length), Cost(c_d=cost.c_d)) == pytest.approx(clock)

    sure = a_rate(rng)
    passes, _ = brute.passes_to_unmask(length + 1, sure)
    masks = in_the_long_run(Unmask().rounds(draft_law(Iid(alpha=sure), length), length))
    tokens = sum(kind.tokens * p for kind, p in masks.items())
    assert tokens == pytest.approx((length + 1) / sum(s * p for s, p in passes.items()))

    hold, come = (0.1 + 0.8 * float(rng.random()) for _ in range(2))
    found = in_the_long_run(Lookup(after_match=hold, after_miss=come).rounds(law, length))
    chain = np.linalg.matrix_power(np.array([[1.0 - come, come], [1.0 - hold, hold]]), 4096)[0]
    exact = {(length, j): chain[1] * alpha**j * (1.0 - alpha if j < length else 1.0) for j in range(length + 1)}
    assert_same(by(found, "drafted", "accepted"), {**exact, (0, 0): chain[0]})


@pytest.mark.parametrize("case", range(5))
def test_totals_of_a_tally_are_sums_over_rounds(case: int) -> None:
    """Kinds in which tokens, accepted drafts and rejections do not say each other."""
    rng = dice(35, case)
    kinds = [RoundKind(a, d, 1, bool(r), t) for a in (0, 1, 3) for d in (0, 3) for r in (0, 1) for t in (1, 2, 4)]
    counts = rng.integers(0, 50, size=(4, len(kinds)))
    found = tally_of(tuple(kinds), counts, 2)
    columns = {
        "n": lambda k: 1, "accepted": lambda k: k.accepted, "accepted_sq": lambda k: k.accepted**2,
        "rejected": lambda k: int(k.rejected), "accepted_rejected": lambda k: k.accepted if k.rejected else 0,
        "zero": lambda k: int(k.accepted == 0), "drafted": lambda k: k.drafted, "tokens": lambda k: k.tokens,
    }  # fmt: skip
    for name, of in columns.items():
        for lane in range(4):
            total = sum(int(count) * of(kind) for count, kind in zip(counts[lane], kinds, strict=True))
            assert int(found.column(name)[lane]) == total, name
    for d, a in np.ndindex(found.histogram.shape):
        own = [i for i, kind in enumerate(kinds) if (kind.drafted, kind.accepted) == (d, a)]
        assert found.histogram[d, a] == counts[:, own].sum()


@pytest.mark.parametrize("nodes", [3, 7, 9, 12])
def test_equally_likely_nodes_are_taken_in_the_order_of_making(nodes: int) -> None:
    """All products of a layer are equal, and their chances are not: any other order gives other rounds."""
    process = Hmm(P=((0.5, 0.5),) * 2, alphas=(0.9, 0.3))
    scheme = DynamicTree(misses=(1.0,), breadth=2, depth=4, confidences=(0.5, 0.5))
    own, keys = scheme_form(scheme.rounds(draft_law(process, nodes), nodes)), stream_keys(3, "ties")
    fast, slow = (player.scheme_counts(own, keys, 0, LANES, 60) for player in (play, twin))
    assert fast.tolist() == slow.tolist()
    assert (fast.sum(axis=0) > 0).sum() > 2
