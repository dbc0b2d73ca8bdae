"""Do schemes with several drafts accept what a listing gives, and is the optimum that of a linear program?"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import linprog
from theory_laws import BACK, SKEW, law_lists

from simspec.model.errors import ParameterError
from simspec.theory import (
    k_seq,
    naive_matching,
    overlap,
    recursive_rejection,
    recursive_rejection_distinct,
    top_candidates,
    transport_optimum,
    transport_optimum_distinct,
)
from simspec.theory.transport import drawn_sets, included_distinct

EXACT = {"rtol": 1e-9, "atol": 1e-12}


def independent(laws: list[np.ndarray]) -> Iterator[tuple[tuple[int, ...], float]]:
    """Every tuple of drafts with its chance."""
    for tokens in product(range(laws[0].size), repeat=len(laws)):
        yield tokens, float(np.prod([q[token] for q, token in zip(laws, tokens, strict=True)]))


def distinct(q: np.ndarray, draws: int) -> Iterator[tuple[tuple[int, ...], float]]:
    for tokens in permutations(np.flatnonzero(q > 0), draws):
        chance = 1.0
        for i, token in enumerate(tokens):
            chance *= q[token] / sum(q[other] for other in np.flatnonzero(q > 0) if other not in tokens[:i])
        yield tokens, chance


def best_by_program(p: np.ndarray, tuples: list[tuple[tuple[int, ...], float]]) -> float:
    """Largest P(emitted token is among the drafts): a transport from tuples to tokens, solved as a linear program."""
    gain = np.array([[-float(token in drafted) for token in range(p.size)] for drafted, _ in tuples])
    rows, columns = gain.shape
    supply = np.kron(np.eye(rows), np.ones(columns))
    demand = np.kron(np.ones(rows), np.eye(columns))
    mass = np.concatenate([[chance for _, chance in tuples], p])
    # presolve takes chances near its tolerance for a contradiction
    found = linprog(
        gain.ravel(), A_eq=np.vstack([supply, demand])[:-1], b_eq=mass[:-1], method="highs", options={"presolve": False}
    )
    assert found.status == 0
    return float(-found.fun)


def try_in_turn(p: np.ndarray, laws, tuples) -> tuple[float, np.ndarray]:
    """Recursive rejection, one tuple of drafts after the other; ``laws(i, drafted before)`` is the law of draft i."""
    accepted, output = 0.0, np.zeros(p.size)
    for tokens, chance in tuples:
        alive, remaining = chance, p
        for i, token in enumerate(tokens):
            q = laws(i, tokens[:i])
            yes = min(1.0, remaining[token] / q[token])
            accepted += alive * yes
            output[token] += alive * yes
            alive *= 1.0 - yes
            left = np.maximum(remaining - q, 0.0)
            if alive < 1e-15 or left.sum() < 1e-15:
                alive = 0.0
                break
            remaining = left / left.sum()
        output += alive * remaining
    return accepted, output


def without(q: np.ndarray, gone: tuple[int, ...]) -> np.ndarray:
    rest = q.copy()
    rest[list(gone)] = 0.0
    return rest / rest.sum()


HARD = [
    (SKEW, [BACK]), (SKEW, [BACK] * 2), (SKEW, [BACK] * 3), (SKEW, [SKEW] * 3), ([0.4, 0.6], [[0.6, 0.4]] * 2),
    ([1.0, 0.0], [[0.0, 1.0]] * 2), ([0.7, 0.3, 0.0], [[0.7, 0.0, 0.3]] * 3), ([0.1, 0.9], [[0.5, 0.5], [1.0, 0.0]]),
    (SKEW, [BACK, SKEW]), (SKEW, [[0.1, 0.8, 0.1], BACK, [0.0, 0.0, 1.0]]), ([0.25] * 4, [[0.7, 0.1, 0.1, 0.1]] * 3),
]  # fmt: skip


@pytest.mark.parametrize(("target", "drafts"), HARD, ids=str)
def test_schemes_token_by_token(target: list[float], drafts: list[list[float]]) -> None:
    p, laws = np.array(target), [np.array(draft) for draft in drafts]
    tuples = [pair for pair in independent(laws) if pair[1] > 0]
    accepted, output = try_in_turn(p, lambda i, _: laws[i], tuples)
    found = recursive_rejection(target, drafts)
    assert_allclose(found.acceptance, accepted, **EXACT)
    assert_allclose(found.output_law, output, **EXACT)
    assert_allclose(found.output_law, p, **EXACT)
    stages = np.nan_to_num(found.stages, nan=0.0)
    assert_allclose(1 - np.prod(1 - stages), accepted, **EXACT)

    naive = naive_matching(target, drafts)
    hit = sum(p[token] * chance for tokens, chance in tuples for token in set(tokens))
    assert_allclose(naive.acceptance, hit, **EXACT)
    assert_allclose(1 - np.prod(1 - np.nan_to_num(naive.stages)), hit, **EXACT)

    best = transport_optimum(target, drafts)
    assert_allclose(best.acceptance, best_by_program(p, tuples), atol=1e-9)
    cut = list(best.min_cut)
    assert_allclose(1 + p[cut].sum() - np.prod([q[cut].sum() for q in laws]), best.acceptance, **EXACT)


@pytest.mark.parametrize(
    ("target", "draft", "draws"),
    [
        (SKEW, BACK, 1), (SKEW, BACK, 2), (SKEW, BACK, 3), (SKEW, SKEW, 2), ([0.0, 1.0], [0.5, 0.5], 2),
        ([0.25] * 4, [0.7, 0.1, 0.1, 0.1], 3), ([0.3, 0.0, 0.5, 0.2], [0.4, 0.35, 0.25, 0.0], 2),
        ([0.05, 0.1, 0.15, 0.2, 0.5], [0.5, 0.2, 0.15, 0.1, 0.05], 3),
    ],
)  # fmt: skip
def test_distinct_drafts_token_by_token(target: list[float], draft: list[float], draws: int) -> None:
    p, q = np.array(target), np.array(draft)
    tuples = list(distinct(q, draws))
    accepted, output = try_in_turn(p, lambda _, before: without(q, before), tuples)
    found = recursive_rejection_distinct(target, draft, draws)
    assert_allclose(found.acceptance, accepted, **EXACT)
    assert_allclose(found.output_law, output, **EXACT)
    assert_allclose(found.output_law, p, **EXACT)
    best = transport_optimum_distinct(target, draft, draws)
    assert_allclose(best.acceptance, best_by_program(p, tuples), atol=1e-9)
    cut = set(best.min_cut)
    inside = sum(chance for tokens, chance in tuples if cut.issuperset(tokens))
    assert_allclose(1 + p[list(cut)].sum() - inside, best.acceptance, **EXACT)
    included = [sum(chance for tokens, chance in tuples if token in tokens) for token in range(p.size)]
    assert_allclose(included_distinct(q, draws), included, **EXACT)
    sets = drawn_sets(q, draws)
    for drawn, chance in sets.items():
        assert_allclose(chance, sum(c for tokens, c in tuples if drawn == set(tokens)), **EXACT)


@example(pair=[[0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.999755859375, 0.000244140625]], draws=3)
@given(law_lists(2, most=4), st.integers(1, 3))
@settings(deadline=None, max_examples=80)
def test_one_law_equals_the_program(pair: list[list[float]], draws: int) -> None:
    p, q = (np.array(law) for law in pair)
    found = transport_optimum(p, [q] * draws)
    assert_allclose(found.acceptance, best_by_program(p, list(independent([q] * draws))), atol=1e-7)


@given(law_lists(2, most=8), st.integers(1, 5))
@settings(deadline=None, max_examples=300)
def test_sorted_sets_are_as_good_as_all_sets(pair: list[list[float]], draws: int) -> None:
    """All 2^V sets, against the V + 1 beginnings of the sorted tokens."""
    p, q = (np.array(law) for law in pair)
    every = [np.array(chosen) for chosen in product((False, True), repeat=p.size)]
    least = min(float(p[chosen].sum() - q[chosen].sum() ** draws) for chosen in every)
    assert_allclose(transport_optimum(p, [q] * draws).acceptance, 1.0 + least, atol=1e-11)


@given(law_lists(3, most=5))
@settings(deadline=None, max_examples=200)
def test_schemes_keep_their_order(laws: list[list[float]]) -> None:
    """Naive ≤ rrs and kseq ≤ the optimum ≤ Σ min(p, chance of being drafted); one draft makes all but naive equal."""
    p, q, other = (np.array(law) for law in laws)
    draws = 3
    alpha, best = overlap(p, q).alpha, transport_optimum(p, [q] * draws).acceptance
    turns, one_pass = recursive_rejection(p, [q] * draws), k_seq(p, q, draws)
    low = naive_matching(p, [q] * draws).acceptance
    assert low <= turns.acceptance + 1e-9
    assert turns.acceptance <= one_pass.acceptance + 1e-9
    assert one_pass.acceptance <= best + 1e-9
    assert one_pass.acceptance >= (1 - (1 - 1 / draws) ** draws) * best - 1e-9  # Sun et al. (2023), Theorem 2
    assert one_pass.acceptance <= 1 - (1 - alpha) ** draws + 1e-9
    assert best <= float(np.minimum(p, 1 - (1 - q) ** draws).sum()) + 1e-9
    stages = turns.stages[~np.isnan(turns.stages)]
    assert np.all(np.diff(stages) <= 1e-6)
    for found in (turns, one_pass):
        assert_allclose(found.output_law, p, atol=1e-9)
    for found in (recursive_rejection(p, [q]), k_seq(p, q, 1), transport_optimum(p, [q])):
        assert_allclose(found.acceptance, alpha, atol=1e-9)
    mixed = transport_optimum(p, [q, other]).acceptance
    assert recursive_rejection(p, [q, other]).acceptance <= mixed + 1e-9
    assert_allclose(mixed, transport_optimum(p, [other, q]).acceptance, atol=1e-12)
    several = min(2, int(np.count_nonzero(q)))
    apart = recursive_rejection_distinct(p, q, several).acceptance
    assert apart <= transport_optimum_distinct(p, q, several).acceptance + 1e-9
    assert transport_optimum_distinct(p, q, several).acceptance >= transport_optimum(p, [q] * several).acceptance - 1e-9


@pytest.mark.parametrize("draws", [1, 2, 3, 6])
@pytest.mark.parametrize(
    ("target", "draft"), [(SKEW, BACK), (SKEW, SKEW), ([1.0, 0.0], [0.5, 0.5]), ([0.4, 0.6], [1, 0])]
)
def test_k_seq_draft_by_draft(target: list[float], draft: list[float], draws: int) -> None:
    p, q = np.array(target), np.array(draft, dtype=float)
    best = k_seq(target, draft, draws)
    for rho in (best.rho, best.rho + 0.5, draws + 1.0):
        found = k_seq(target, draft, draws, rho)
        output, alive = np.zeros(p.size), 1.0
        for _ in range(draws):
            kept = q * np.minimum(1.0, np.divide(p, rho * q, out=np.ones_like(p), where=q > 0))
            output += alive * kept
            alive *= 1.0 - kept.sum()
        assert_allclose(found.acceptance, 1.0 - alive, **EXACT)
        assert np.all(output <= p + 1e-12)  # what is left of the target is a law
        assert_allclose(found.output_law, p, **EXACT)
        assert found.acceptance <= best.acceptance + 1e-12


FIGURES = [
    (2, {"naive": 0.483, "rrs": 0.76, "kseq": 0.791355, "otm": 0.86, "rrs_wor": 0.82, "otm_wor": 0.985714}),
    (3, {"naive": 0.6161, "rrs": 0.808, "kseq": 0.858519, "otm": 0.988, "rrs_wor": 1.0, "otm_wor": 1.0}),
]
"""p = (.5, .3, .2), q = (.2, .3, .5): by listing and by linear program, to six digits."""


@pytest.mark.parametrize(("draws", "expected"), FIGURES)
def test_the_figures_of_the_skewed_pair(draws: int, expected: dict[str, float]) -> None:
    found = {
        "naive": naive_matching(SKEW, [BACK] * draws).acceptance,
        "rrs": recursive_rejection(SKEW, [BACK] * draws).acceptance,
        "kseq": k_seq(SKEW, BACK, draws).acceptance,
        "otm": transport_optimum(SKEW, [BACK] * draws).acceptance,
        "rrs_wor": recursive_rejection_distinct(SKEW, BACK, draws).acceptance,
        "otm_wor": transport_optimum_distinct(SKEW, BACK, draws).acceptance,
    }
    for scheme, value in expected.items():
        assert found[scheme] == pytest.approx(value, abs=6e-7), scheme


def test_the_optimum_can_exceed_independent_chances() -> None:
    """p = (.4, .6), q = (.6, .4), two drafts: 1 against 1 − (1 − .8)² = .96."""
    assert_allclose(transport_optimum([0.4, 0.6], [[0.6, 0.4]] * 2).acceptance, 1.0)
    assert_allclose(recursive_rejection([0.4, 0.6], [[0.6, 0.4]] * 2).acceptance, 0.88)


def test_candidates_without_chance() -> None:
    found, candidates = top_candidates([0.1, 0.2, 0.3, 0.4], [0.25, 0.25, 0.4, 0.1], 3)
    assert candidates == (2, 0, 1)
    assert_allclose(found.acceptance, 0.6)
    assert_allclose(found.stages, [0.3, 0.1 / 0.7, 0.2 / 0.6])
    assert_allclose(found.output_law, [0.1, 0.2, 0.3, 0.4])
    assert top_candidates([0.9, 0.1], [0.6, 0.4], 1)[0].acceptance == pytest.approx(0.9)


def test_a_large_vocabulary_needs_no_list_of_sets() -> None:
    """Zipf laws of 50,000 tokens with shifted ranks; more drafts help and never reach 1."""
    rank = np.arange(1.0, 50_001.0)
    p, q = 1 / rank**1.2, 1 / (rank + 5.0)
    found = [transport_optimum(p / p.sum(), [q / q.sum()] * draws).acceptance for draws in (1, 2, 4, 8)]
    assert_allclose(found[0], overlap(p / p.sum(), q / q.sum()).alpha, rtol=1e-12)
    assert np.all(np.diff(found) > 0)
    assert found[-1] < 1.0


@pytest.mark.parametrize(
    ("call", "key"),
    [
        (lambda: naive_matching(SKEW, []), "drafts"),
        (lambda: recursive_rejection(SKEW, [BACK, [0.5, 0.5]]), "drafts[1]"),
        (lambda: recursive_rejection_distinct(SKEW, [1.0, 0.0, 0.0], 2), "draws"),
        (lambda: recursive_rejection_distinct([0.02] * 50, [0.02] * 50, 5), "draws"),
        (lambda: transport_optimum_distinct(SKEW, BACK, 4), "draws"),
        (lambda: transport_optimum_distinct([0.04] * 25, [0.04] * 25, 2), "target"),
        (lambda: transport_optimum([0.04] * 25, [[0.04] * 25, [0.03] * 24 + [0.28]]), "target"),
        (lambda: k_seq(SKEW, BACK, 2, rho=0.5), "rho"),
        (lambda: k_seq(SKEW, BACK, 2, rho=1.2), "rho"),
        (lambda: k_seq(SKEW, BACK, 0), "draws"),
        (lambda: top_candidates(SKEW, BACK, 4), "draws"),
    ],
)
def test_what_is_out_of_range_is_named(call, key: str) -> None:
    with pytest.raises(ParameterError) as caught:
        call()
    assert caught.value.key == key
    assert "allowed" in str(caught.value)
