"""Do the exact answers for decoding systems follow from the papers' rules, listed outcome by outcome?"""

from __future__ import annotations

import math

import numpy as np
import pytest
import systems_brute as brute

from simspec import theory
from simspec.advice.solve import solve
from simspec.model import Cost, DraftTree, Iid
from simspec.theory.stop_worth import stop_bounds

CASES = range(50)
EDGES = (0.0, 1.0, 0.5)


def dice(seed: int, case: int) -> np.random.Generator:
    return np.random.default_rng([seed, case])


def a_rate(rng: np.random.Generator) -> float:
    """One time in four an edge."""
    return float(rng.choice(EDGES)) if rng.random() < 0.25 else float(rng.random())


def a_law(rng: np.random.Generator, size: int, holes: float = 0.2) -> list[float]:
    """Probabilities, some of them 0; one time in ten a sure token."""
    weights = rng.dirichlet(np.full(size, 0.8)) * (rng.random(size) >= holes)
    if weights.sum() < 1e-3 or rng.random() < 0.1:
        weights = np.eye(size)[rng.integers(size)]
    return [float(w) for w in weights / weights.sum()]


def a_cost(rng: np.random.Generator, most: int, tables: bool = True) -> Cost:
    c_r = float(rng.choice([0.0, 0.3, 2.0]))
    if tables and rng.random() < 0.5:
        passes = 1.0 + np.cumsum(rng.random(most + 1) * 0.3)
        drafting = (0.0, *np.cumsum(rng.random(most) * 0.2))
        return Cost(draft_table=drafting, verify_table=tuple(passes), c_r=c_r)
    c0, c_d, c_v = 0.5 + rng.random(), rng.random() * 0.3, float(rng.choice([0.0, rng.random() * 0.2]))
    return Cost(c0=c0, c_d=c_d, c_v=c_v, c_r=c_r)


def ranks(rng: np.random.Generator, sequential: bool, most: int = 3) -> list[float]:
    """Chances by rank; not always falling, sometimes with a sum of 1."""
    size = int(rng.integers(1, most + 1))
    if sequential:
        return [a_rate(rng) for _ in range(size)]
    return [float(p) for p in rng.dirichlet(np.ones(size)) * rng.choice([1.0, rng.random()])]


@pytest.mark.parametrize("case", CASES)
def test_a_walk_through_a_tree(case: int) -> None:
    rng = dice(1, case)
    sequential, nodes = bool(case % 2), int(rng.integers(0, 8))
    parents = [int(rng.integers(0, node)) for node in range(1, nodes + 1)]
    chances, left = list[float](), [1.0] * (nodes + 1)
    for parent in parents:
        own = a_rate(rng) * (1.0 if sequential else left[parent])
        left[parent] -= 0.0 if sequential else own
        chances.append(own)
    siblings = "sequential" if sequential else "exclusive"
    found = theory.tree_law(DraftTree(parents=tuple(parents), chances=tuple(chances), siblings=siblings))
    law, inner = brute.walk(parents, chances, sequential)
    mean = sum(j * p for j, p in law.items())
    assert found.pmf_accepted == pytest.approx([law[j] for j in range(found.depth + 1)], abs=1e-12)
    assert found.mean_accepted == pytest.approx(mean, abs=1e-12)
    assert found.var_accepted == pytest.approx(sum((j - mean) ** 2 * p for j, p in law.items()), abs=1e-12)
    assert found.p_rejected == pytest.approx(inner, abs=1e-12)
    cost = a_cost(rng, nodes)
    passes = cost.verify_table[nodes] if cost.verify_table else cost.c0 + cost.c_v * nodes
    drafting = cost.draft_table[found.depth] if cost.draft_table else cost.c_d * found.depth
    assert found.speedup(cost) == pytest.approx((1.0 + mean) / (passes + drafting + cost.c_r * inner))


@pytest.mark.parametrize("case", CASES)
def test_no_listed_tree_is_better_or_faster(case: int) -> None:
    rng = dice(2, case)
    sequential, by_depth = bool(case % 2), bool(rng.integers(2))
    siblings = "sequential" if sequential else "exclusive"
    depth, nodes = int(rng.integers(1, 4)), int(rng.integers(0, 5))
    levels = [ranks(rng, sequential) for _ in range(depth)] if by_depth else [ranks(rng, sequential)] * depth
    asked = levels if by_depth else levels[0]
    if by_depth:  # lists of one length, to list trees by
        width = min(map(len, levels))
        asked = levels = [row[:width] for row in levels]
    cost = a_cost(rng, 6)

    def price(many: int, deep: int, inner: float) -> float:
        passes = cost.verify_table[many] if cost.verify_table else cost.c0 + cost.c_v * many
        drafting = cost.draft_table[deep] if cost.draft_table else cost.c_d * deep
        return passes + drafting + cost.c_r * inner

    most = fastest = 0.0
    by_size = [0.0] * (nodes + 1)
    for tree in brute.rank_trees(len(levels[0]), nodes, depth, prefix=sequential):
        parents, chances = brute.numbered(tree, levels)
        mean = sum(j * p for j, p in brute.walk(parents, chances, sequential)[0].items())
        most = max(most, mean)
        by_size[len(tree)] = max(by_size[len(tree)], mean)
        fastest = max(fastest, brute.tree_speed(parents, chances, sequential, price))
    found = theory.best_tree(asked, nodes, depth, siblings)
    assert found.mean_accepted == pytest.approx(most, abs=1e-12)
    own = brute.walk(found.tree.parents, found.tree.chances, sequential)[0]
    assert sum(j * p for j, p in own.items()) == pytest.approx(most, abs=1e-12)
    assert found.tree.nodes <= nodes
    assert theory.best_accepted(asked, nodes, depth, siblings) == pytest.approx(np.maximum.accumulate(by_size))
    fast = theory.fastest_tree(asked, nodes, cost, depth, siblings)
    assert fast.speedup == pytest.approx(fastest, rel=1e-12)
    assert brute.tree_speed(list(fast.tree.parents), list(fast.tree.chances), sequential, price) == pytest.approx(
        fastest, rel=1e-12
    )


@pytest.mark.parametrize("case", CASES)
def test_a_draft_that_stops(case: int) -> None:
    rng = dice(3, case)
    size, kmax = int(rng.integers(1, 4)), int(rng.integers(0, 5))
    values = [a_rate(rng) for _ in range(size)]
    first = a_law(rng, size)
    accepts = values if rng.random() < 0.5 else [a_rate(rng) for _ in range(size)]
    rows = [first] * size if rng.random() < 0.5 else [a_law(rng, size) for _ in range(size)]
    kmin, rule, theta = int(rng.integers(0, kmax + 1)), ("survival", "confidence")[case % 2], a_rate(rng)

    def ends(drawn: list[float]) -> bool:
        return len(drawn) >= kmin and (math.prod(drawn) if rule == "survival" else drawn[-1]) < theta - 1e-13

    law = brute.stopped(values, first, rows, accepts, ends, kmax)
    found = theory.stopped_draft(values, first, theta, rule, kmin, kmax, accepts, rows)
    for (d, a), p in np.ndenumerate(found.joint):
        assert p == pytest.approx(law.get((d, a), 0.0), abs=1e-12)
    assert found.p_full == pytest.approx(sum(p for (d, a), p in law.items() if a == d), abs=1e-12)
    cost = Cost(c0=0.9, c_d=0.2, c_v=0.05, c_r=0.7)
    price = sum(p * (0.9 + 0.25 * d + 0.7 * (a < d)) for (d, a), p in law.items())
    assert found.speedup(cost) == pytest.approx(sum(p * (a + 1) for (_, a), p in law.items()) / price)


@pytest.mark.parametrize("case", CASES)
def test_no_rule_of_any_kind_beats_the_best_threshold(case: int) -> None:
    rng = dice(4, case)
    size, kmax = int(rng.integers(1, 4)), int(rng.integers(1, 6))
    values = [float(rng.choice([0.0, 1.0, rng.random()], p=[0.2, 0.2, 0.6])) for _ in range(size)]
    weights = a_law(rng, size, holes=0.0)
    cost = a_cost(rng, kmax, tables=False)
    theta, found = theory.best_threshold(values, weights, cost, kmax)
    best = brute.best_plan(values, weights, (cost.c_d + cost.c_v) / cost.c0, cost.c_r / cost.c0, kmax) / cost.c0
    assert found.speedup(cost) == pytest.approx(best, rel=1e-9)
    own = theory.stopped_draft(values, weights, theta or 0.0, kmax=kmax if theta is not None else 1)
    assert own.speedup(cost) == pytest.approx(best, rel=1e-9)  # and the threshold it names is that rule


@pytest.mark.parametrize("case", CASES)
def test_a_turn_of_two_models(case: int) -> None:
    rng = dice(5, case)
    f, r, kmax = a_rate(rng), a_rate(rng), int(rng.integers(0, 6))
    found, law = theory.big_little(f, r, kmax), brute.turns(f, r, kmax)
    tokens = sum(p * written for (written, _, _), p in law.items())
    passes = sum(p * paid for (_, paid, _), p in law.items())
    kept = sum(p * good for (_, _, good), p in law.items())
    back = sum(p for (written, _, good), p in law.items() if good < written)
    assert found.mean_small_tokens == pytest.approx(tokens, abs=1e-12)
    assert found.mean_small_passes == pytest.approx(passes, abs=1e-12)
    assert found.mean_kept == pytest.approx(kept, abs=1e-12)
    assert found.p_rollback == pytest.approx(back, abs=1e-12)
    cost = Cost(c0=0.8, c_d=0.3, c_v=0.02, c_r=0.4)
    assert found.mean_cost(cost) == pytest.approx(0.8 + 0.3 * passes + 0.02 * tokens + 0.4 * back)


@pytest.mark.parametrize("case", CASES)
def test_rates_of_two_thresholds(case: int) -> None:
    rng = dice(6, case)
    size, contexts = int(rng.integers(1, 5)), int(rng.integers(1, 6))
    large, small = ([a_law(rng, size) for _ in range(contexts)] for _ in range(2))
    weights = a_law(rng, contexts)
    low, high = a_rate(rng), float(rng.choice([0.0, 0.5, 1.0, 5.0]))
    if case % 5 == 0:  # met exactly: neither "below" nor "above"
        low, high = max(small[0]), -math.log(max(large[0][int(np.argmax(small[0]))], 1e-9))
    found = theory.big_little_rates(large, small, weights, low, high)
    written = [(w, p, q.index(max(q))) for w, p, q in zip(weights, large, small, strict=True) if not max(q) < low]
    kept = [(w, p, t) for w, p, t in written if not (p[t] == 0.0 or -math.log(p[t]) > high)]
    share, left = sum(w for w, _, _ in written), sum(w for w, _, _ in kept)
    assert found.p_fallback == pytest.approx(1.0 - share, abs=1e-12)
    assert found.p_rollback == pytest.approx(1.0 - left / share if share > 0 else 0.0, abs=1e-12)
    other = sum(w for w, p, t in kept if t != p.index(max(p)))
    assert found.disagreement == pytest.approx(other / left if left > 0 else 0.0, abs=1e-12)
    lost = sum(w * math.log(max(p) / p[t]) for w, p, t in kept)
    assert found.excess_entropy == pytest.approx(lost / left if left > 0 else 0.0, abs=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_passes_until_no_mask_is_left(case: int) -> None:
    rng = dice(7, case)
    length, p = int(rng.integers(1, 8)), a_rate(rng)
    law, forced = brute.passes_to_unmask(length, p)
    found = theory.parallel_unmask(length, p)
    mean = sum(s * q for s, q in law.items())
    assert found.pmf_steps == pytest.approx([law.get(s, 0.0) for s in range(length + 1)], abs=1e-12)
    assert found.mean_steps == pytest.approx(mean)
    assert found.tokens_per_pass == pytest.approx(length / mean)
    assert found.var_steps == pytest.approx(sum((s - mean) ** 2 * q for s, q in law.items()), abs=1e-10)
    assert found.p_unsure == pytest.approx(forced / length, abs=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_schedules_and_how_sure_they_are(case: int) -> None:
    rng = dice(8, case)
    blocks, size, each = (int(rng.integers(1, most)) for most in (4, 40, 50))
    found = theory.unmask_schedule(blocks * size, blocks * each, size).tolist()
    base, more = size // each, size % each
    assert found == [base + (i < more) for _ in range(blocks) for i in range(each)]
    one = theory.unmask_schedule(size, each)
    left, total = size, 0.0
    for filled in one:  # the largest of n uniform numbers has n/(n + 1), the next one less by 1/(n + 1), …
        total += sum((left - i) / (left + 1) for i in range(int(filled)))
        left -= int(filled)
    assert left == 0
    assert theory.schedule_confidence(one) == pytest.approx(total / size)


@pytest.mark.parametrize("case", CASES)
def test_the_best_of_several_candidates(case: int) -> None:
    rng = dice(9, case)
    alpha, gamma, many = a_rate(rng), int(rng.integers(0, 4)), int(rng.integers(1, 5))
    period, window = 1.0 + float(rng.choice([0.0, 3.0 * rng.random()])), int(rng.integers(0, 4))
    pmf = brute.best_of(alpha, gamma, many)
    found = theory.lookahead_step(alpha, gamma, many, period)
    mean = sum(j * p for j, p in enumerate(pmf))
    assert found.pmf_best == pytest.approx(pmf, abs=1e-12)
    assert found.mean_tokens == pytest.approx(mean + 1.0)
    assert found.step_compression == pytest.approx((period - 1.0 + mean + 1.0) / period)
    lost = (1.0 - pmf[gamma]) / period + (1.0 - 1.0 / period) if gamma else 0.0
    price = 1.2 + 0.03 * gamma * (many + window) + 0.5 * lost
    assert found.mean_cost(Cost(c0=1.2, c_d=9.0, c_v=0.03, c_r=0.5), window) == pytest.approx(price)


@pytest.mark.parametrize("case", CASES)
def test_overlapped_schedules_by_the_clock(case: int) -> None:
    rng = dice(10, case)
    alpha = float(rng.choice([0.0, 0.3, 0.9, rng.random() * 0.9]))
    c_d, length, c0 = float(rng.choice([0.05, 0.5, rng.random()])), int(rng.integers(1, 7)), float(0.5 + rng.random())
    early = bool(case % 2)
    ahead = brute.by_runs(alpha, lambda run: brute.pearl_time(run, c_d, length, c0, early))
    assert theory.draft_ahead(alpha, c_d, length, c0, early).speedup == pytest.approx(ahead)
    for run in range(9):
        clock = brute.pearl_time(run, c_d, length, c0, early)
        assert theory.draft_ahead_time(run, c_d, length, c0, early) == pytest.approx(clock)
    parallel = brute.by_runs(alpha, lambda run: brute.dsi_time(run, c_d, length))
    found = theory.speculation_parallel(alpha, c_d, length)
    assert found.speedup == pytest.approx(parallel)
    starts = np.arange(0.0, 5.0, length * c_d)  # of the passes; those under way just after each of them has started
    assert found.targets == max(int(((starts <= at) & (at < starts + 1.0 - 1e-9)).sum()) for at in starts)


@pytest.mark.parametrize("case", CASES)
def test_prices_of_a_models_own_layers(case: int) -> None:
    rng = dice(11, case)
    share, head, c_v, kappa = a_rate(rng), float(rng.random()), float(rng.random()), int(rng.integers(0, 9))
    for reuse in (True, False):
        cost = theory.self_draft_cost(share, head, c_v, 0.3, reuse)
        own = 1.0 + kappa * (share + head) + kappa * c_v * (1.0 - share if reuse else 1.0)
        assert cost.of_round(kappa, rejected=False) == pytest.approx(own)
        assert cost.of_round(kappa, rejected=True) == pytest.approx(own + 0.3)


@pytest.mark.parametrize("case", CASES)
def test_a_tree_that_grows_where_the_draft_is_sure(case: int) -> None:
    rng = dice(17, case)
    breadth, many = int(rng.integers(1, 3)), int(rng.integers(1, 3))
    depth = int(rng.integers(1, 4))
    nodes = int(rng.integers(1, 7))

    def shares() -> list[float]:
        return sorted((float(x) for x in rng.dirichlet(np.ones(3))[:2] * rng.choice([1.0, 0.7])), reverse=True)

    believed = [shares() if rng.random() < 0.8 else [float(rng.random()), 0.0] for _ in range(many)]
    true = believed if case % 2 else [[float(x) for x in rng.dirichlet(np.ones(3))[:2]] for _ in range(many)]
    weights = a_law(rng, many)
    joint, belief, inner = brute.grown(believed, weights, true, breadth, depth, nodes)
    found = theory.dynamic_tree(believed, weights, breadth, depth, nodes, true)
    for (n, a), p in np.ndenumerate(found.joint):
        assert p == pytest.approx(joint.get((n, a), 0.0), abs=1e-12)
    assert found.mean_confidence == pytest.approx(belief)
    assert found.p_rejected == pytest.approx(inner, abs=1e-12)
    mean = sum(a * p for (_, a), p in joint.items())
    price = sum(p * (1.0 + 0.02 * n) for (n, _), p in joint.items()) + 0.1 * depth + 0.3 * inner
    assert found.speedup(Cost(c_d=0.1, c_v=0.02, c_r=0.3)) == pytest.approx((1.0 + mean) / price)


@pytest.mark.parametrize("case", range(12))
def test_a_pool_token_by_token(case: int) -> None:
    rng = dice(18, case)
    size, kappa = int(rng.integers(2, 4)), int(rng.integers(0, 3))
    rows = [[(x + 0.02) / (1 + 0.02 * size) for x in a_law(rng, size)] for _ in range(size)]
    pmf, agreement = brute.pool(rows, kappa)
    found = theory.pool_law(rows, kappa)
    assert found.pmf_accepted == pytest.approx(pmf, abs=1e-9)
    assert found.agreement == pytest.approx(agreement, abs=1e-9)


def test_a_later_rank_that_is_likelier() -> None:
    """Exclusive siblings may be of any rank, sequential ones are the first."""
    assert theory.best_tree([0.2, 0.3], 1).mean_accepted == pytest.approx(0.3)
    assert theory.best_tree([0.2, 0.3], 1).ranks == (2,)
    assert theory.best_tree([0.2, 0.3], 1, siblings="sequential").mean_accepted == pytest.approx(0.2)
    assert theory.best_accepted([0.1, 0.2, 0.3], 2) == pytest.approx([0.0, 0.3, 0.5])
    assert theory.best_tree([[0.1, 0.2], [0.3, 0.6]], 2).ranks == (2, 2)
    assert theory.fastest_tree([0.1, 0.0, 0.6], 1, Cost(c_d=0.1)).speedup == pytest.approx(1.6 / 1.1)


def test_no_tree_costs_what_drafting_nothing_costs() -> None:
    cost = Cost(draft_table=(0.5, 5.0, 9.0))
    nothing = theory.fastest_tree([0.1], 2, cost)
    assert nothing.tree.nodes == 0
    assert nothing.speedup == pytest.approx(1.0 / 1.5)
    assert nothing.speedup == pytest.approx(theory.speedup(Iid(alpha=0.1), 0, cost))  # a chain of no drafts


def test_one_draft_is_best_beside_a_sure_confidence() -> None:
    """No product is below 1 there, so that only a limit of one draft says the rule."""
    values, weights, cost = [0.14, 1.0], [0.7, 0.3], Cost(c0=0.57, c_d=0.39)
    theta, best = theory.best_threshold(values, weights, cost, 5)
    assert theta is None
    assert best.pmf_drafted == pytest.approx([0.0, 1.0])
    own = theory.stopped_draft(values, weights, 0.0, kmax=1)
    assert own.speedup(cost) == pytest.approx(best.speedup(cost))
    bounds = stop_bounds(values, weights, cost, 5)
    assert (bounds.theta, bounds.most) == (0.0, 1)


@pytest.mark.parametrize(
    ("case", "told"),
    [
        ([(5, 0, 0.6), (7, 5, 0.6), (9, 5, 0.6)], "tree.nodes with parent = 5 have chances that add up to 1.2;"),
        ([("a", 0, 0.5), ("b", "a", 1.5)], "tree.nodes[1].p = 1.5 is out of range; allowed: 0 ≤ p ≤ 1"),
        ([(1, 2, 0.5), (2, 1, 0.5)], "tree.nodes[0].parent leads in a circle;"),
        ([(1, 0, 0.5), (1, 0, 0.2)], "tree.nodes[1].id = 1 is taken;"),
    ],
)
def test_a_bad_tree_is_told_in_the_users_words(case: list[tuple[object, object, float]], told: str) -> None:
    nodes = [{"id": own, "parent": parent, "p": p} for own, parent, p in case]
    error = solve([{"id": 1, "kind": "tree", "tree": {"nodes": nodes}}])[0]["error"]
    assert error["message"].startswith(told)
    assert error["key"].startswith("tree.nodes")
