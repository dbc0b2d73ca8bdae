"""Do the exact answers for token rules follow from the papers' rules, draft by draft and coin by coin?"""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
import systems_brute as brute
from test_systems_bruteforce import CASES, a_law, a_rate, dice

from simspec import theory
from simspec.advice.solve import solve
from simspec.model import TokenChain


@pytest.mark.parametrize("case", CASES)
def test_one_draft_that_need_not_be_exact(case: int) -> None:
    rng = dice(12, case)
    size = int(rng.integers(1, 6))
    p, q = a_law(rng, size), a_law(rng, size)
    lenience = float(rng.choice([1.0, 0.5, 0.05 + 0.95 * rng.random()]))
    keep = [min(1.0, p[t] / (lenience * q[t])) if q[t] > 0.0 else 0.0 for t in range(size)]
    accepted = sum(q[t] * keep[t] for t in range(size))
    law = np.array(q) * keep
    if accepted < 1.0 - 1e-12:
        law = law + (1.0 - accepted) * brute.residual(p, lenience * np.array(q))
    found = theory.lenient_acceptance(p, q, lenience)
    assert found.acceptance == pytest.approx(accepted)
    assert found.output_law == pytest.approx(law, abs=1e-12)
    assert found.tv_output_target == pytest.approx(np.abs(law - p).sum() / 2, abs=1e-12)
    assert found.lossless_alpha == pytest.approx(sum(map(min, p, q)))

    epsilon, delta = a_rate(rng), float(rng.choice([0.0, 0.3, 2.0 * rng.random()]))
    entropy = -sum(x * math.log(x) for x in p if x > 0.0)
    keep = [x > min(epsilon, delta * math.exp(-entropy)) for x in p]
    instead = np.array(p) if case % 2 or sum(map(min, p, q)) > 1.0 - 1e-12 else brute.residual(p, q)
    law = sum((q[t] * (np.eye(size)[t] if keep[t] else instead) for t in range(size)), np.zeros(size))
    typical = theory.typical_acceptance(p, q, epsilon, delta, "target" if case % 2 else "residual")
    assert typical.acceptance == pytest.approx(sum(q[t] for t in range(size) if keep[t]), abs=1e-12)
    assert typical.output_law == pytest.approx(law, abs=1e-12)
    assert typical.tv_output_target == pytest.approx(np.abs(law - p).sum() / 2, abs=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_block_verification_by_every_draft_and_coin(case: int) -> None:
    """Lossless for whole sequences, and the law of A; in one context or in several."""
    rng = dice(13, case)
    size, kappa, one = int(rng.integers(2, 4)), int(rng.integers(0, 4)), bool(case % 2)
    many = 1 if one else size
    rows_p, rows_q = ([a_law(rng, size, 0.2 if one else 0.0) for _ in range(many)] for _ in range(2))
    rows_p, rows_q = [rows_p[i % many] for i in range(size)], [rows_q[i % many] for i in range(size)]
    if not one:
        rows_p, rows_q = [[[(x + 0.1) / (1 + 0.1 * size) for x in row] for row in rows] for rows in (rows_p, rows_q)]
    by_context = [brute.block(rows_p, rows_q, kappa, here) for here in range(size)]
    moves, lengths = np.zeros((size, size)), np.zeros((size, kappa + 1))
    for here, law in enumerate(by_context):
        ahead = {}
        for (a, tokens), chance in law.items():
            moves[here, tokens[-1]] += chance
            lengths[here, a] += chance
            for more in product(range(size), repeat=kappa - a):  # what follows is drawn from the target
                line, own = (*tokens, *more), chance
                for i in range(a, kappa):
                    own *= rows_p[line[i]][line[i + 1]]
                ahead[line] = ahead.get(line, 0.0) + own
        for line in product(range(size), repeat=kappa + 1):
            exact = math.prod(rows_p[c][t] for c, t in zip((here, *line), line, strict=False))
            assert ahead.get(line, 0.0) == pytest.approx(exact, abs=1e-12)
    rounds = np.linalg.matrix_power(moves, 4096)[0]
    chain = TokenChain(target=tuple(map(tuple, rows_p)), draft=tuple(map(tuple, rows_q)))
    found = (
        theory.block_verification(rows_p[0], rows_q[0], kappa) if one else theory.block_verification(chain, None, kappa)
    )
    assert found.pmf_accepted == pytest.approx(rounds @ lengths, abs=1e-9)


def draws_of(rng: np.random.Generator) -> tuple[list[float], list[list[float]]]:
    size = int(rng.integers(1, 5))
    drafts = [a_law(rng, size) for _ in range(int(rng.integers(1, 4)))]
    return a_law(rng, size), drafts if rng.random() < 0.5 else [drafts[0]] * len(drafts)


@pytest.mark.parametrize("case", CASES)
def test_several_drafts_tuple_by_tuple(case: int) -> None:
    p, drafts = draws_of(dice(14, case))
    tuples = brute.draft_tuples(drafts)
    accepted, law = brute.recursive(p, tuples, lambda before: drafts[len(before)])
    found = theory.recursive_rejection(p, drafts)
    assert found.acceptance == pytest.approx(accepted, abs=1e-12)
    assert law == pytest.approx(p, abs=1e-12)
    assert found.output_law == pytest.approx(law, abs=1e-12)
    missed = 1.0
    for stage in found.stages[~np.isnan(found.stages)]:
        missed *= 1.0 - stage
    assert missed == pytest.approx(1.0 - accepted, abs=1e-12)
    hit = sum(chance * sum(p[t] for t in set(drawn)) for drawn, chance in tuples)
    naive = theory.naive_matching(p, drafts)
    assert naive.acceptance == pytest.approx(hit, abs=1e-12)
    assert naive.output_law == pytest.approx(p)
    best = theory.transport_optimum(p, drafts)
    assert best.acceptance == pytest.approx(brute.transport(p, tuples), abs=1e-9)
    least, size = brute.smallest_cut(p, tuples)
    inside = sum(chance for drawn, chance in tuples if set(drawn) <= set(best.min_cut))
    assert 1.0 + sum(p[t] for t in best.min_cut) - inside == pytest.approx(least, abs=1e-12)
    assert len(best.min_cut) == size


@pytest.mark.parametrize("case", CASES)
def test_distinct_and_sure_drafts_tuple_by_tuple(case: int) -> None:
    rng = dice(15, case)
    size = int(rng.integers(1, 5))
    p, q = a_law(rng, size), a_law(rng, size)
    draws = int(rng.integers(1, np.count_nonzero(q) + 1))
    tuples = brute.distinct_tuples(q, draws)

    def without(before: tuple[int, ...]) -> np.ndarray:
        left = np.array(q)
        left[list(before)] = 0.0
        return left / left.sum()

    accepted, law = brute.recursive(p, tuples, without)
    found = theory.recursive_rejection_distinct(p, q, draws)
    assert found.acceptance == pytest.approx(accepted, abs=1e-12)
    assert law == pytest.approx(p, abs=1e-12)
    assert found.output_law == pytest.approx(law, abs=1e-12)
    best = theory.transport_optimum_distinct(p, q, draws)
    assert best.acceptance == pytest.approx(brute.transport(p, tuples), abs=1e-9)
    assert len(best.min_cut) == brute.smallest_cut(p, tuples)[1]
    top = sorted(range(size), key=lambda token: (-q[token], token))[:draws]
    sure, candidates = theory.top_candidates(p, q, draws)
    assert list(candidates) == top
    assert sure.acceptance == pytest.approx(sum(p[token] for token in top))
    assert sure.output_law == pytest.approx(p, abs=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_k_seq_with_the_smallest_parameter_that_is_lossless(case: int) -> None:
    rng = dice(16, case)
    size, draws = int(rng.integers(1, 5)), int(rng.integers(1, 5))
    p, q = (np.array(a_law(rng, size)) for _ in range(2))

    def played(rho: float) -> tuple[float, np.ndarray]:
        keep = np.array([min(1.0, p[t] / (rho * q[t])) if q[t] > 0.0 else 0.0 for t in range(size)])
        one, accepted, law = float(q @ keep), 0.0, np.zeros(size)
        for i in range(draws):
            law += (1.0 - one) ** i * q * keep
            accepted += (1.0 - one) ** i * one
        return accepted, law

    found = theory.k_seq(p, q, draws)
    accepted, law = played(found.rho)
    assert found.acceptance == pytest.approx(accepted, abs=1e-9)
    assert (law <= p + 1e-9).all()
    assert found.output_law == pytest.approx(p, abs=1e-9)
    for rho in np.linspace(1.0, draws, 60):  # none that is lossless accepts more
        other, law = played(float(rho))
        if (law <= p + 1e-12).all():
            assert other <= accepted + 1e-9


@pytest.mark.parametrize("asked", [1, 64, 65, 1000, 100_000, 300_000])
def test_hardly_more_positions_are_played_than_were_asked_for(asked: int) -> None:
    case = {"kind": "multidraft", "p": [0.5, 0.5], "q": [0.4, 0.6], "K": 2, "scheme": "rrs"}
    played = solve([case], windows=asked)[0]["simulated"]["windows"]
    assert asked <= played < asked + 128
