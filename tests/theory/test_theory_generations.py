"""Do the generation programs agree with a listing of every path a short generation can take?"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from theory_brute import generation_paths

from simspec.model.cost import Cost
from simspec.model.drift import Drift
from simspec.model.errors import ParameterError
from simspec.model.iid import Iid
from simspec.theory import generation, generations, optimum, speedup, unit_counts, window

COST = Cost(c0=1.1, c_d=0.1, c_v=0.05, c_r=0.7)
SHORT = [
    Drift(shape="linear", alpha_start=0.9, alpha_end=0.3, tokens=tokens, truncate=truncate)
    for tokens in (1, 2, 5, 8)
    for truncate in (True, False)
] + [
    drift
    for truncate in (True, False)
    for drift in (
        Drift(shape="table", alphas=[0.0, 1.0, 0.4, 1.0, 0.0, 0.7], truncate=truncate),
        Drift(shape="exponential", alpha_start=0.9, alpha_end=0.2, half_life=1.5, tokens=7, truncate=truncate),
        Drift(shape="piecewise", alphas=[0.8, 0.1, 1.0], lengths=[3, 1, 3], truncate=truncate),
    )
]
EXACT = {"rtol": 1e-11, "atol": 1e-12}


@pytest.mark.parametrize("process", SHORT, ids=str)
@pytest.mark.parametrize("kappa", [0, 1, 2, 4, 9])
def test_a_generation_has_the_moments_of_its_listed_paths(process: Drift, kappa: int) -> None:
    paths = list(generation_paths(process, kappa))
    chance = np.array([path.chance for path in paths])
    rounds = np.array([len(path.rounds) for path in paths])
    price = np.array([path.cost(COST) for path in paths])
    counts = np.array([path.counts(kappa) for path in paths])
    drafted = chance @ [sum(drafts for _, drafts, _ in path.rounds) for path in paths]
    rejections = chance @ [sum(rejected for _, _, rejected in path.rounds) for path in paths]
    examined = chance @ [sum(accepted + rejected for accepted, _, rejected in path.rounds) for path in paths]
    assert_allclose(chance.sum(), 1.0, **EXACT)

    law = generation(process, kappa, COST)
    assert_allclose(law.expected_counts, chance @ counts, **EXACT)
    assert_allclose(law.mean_rounds, chance @ rounds, **EXACT)
    assert_allclose(law.var_rounds, chance @ (rounds - chance @ rounds) ** 2, **EXACT)
    assert_allclose(law.mean_cost, chance @ price, **EXACT)
    assert_allclose(law.var_cost, chance @ (price - chance @ price) ** 2, **EXACT)
    assert_allclose(law.mean_accepted_total, chance @ counts @ np.arange(kappa + 1), **EXACT)
    assert_allclose(
        (law.mean_drafted, law.mean_rejections, law.mean_examined_total), (drafted, rejections, examined), **EXACT
    )
    assert_allclose(law.speedup, process.n_tokens / (chance @ price), **EXACT)

    per_round = window(process, kappa)
    assert_allclose(per_round.pmf_accepted, chance @ counts / (chance @ rounds), **EXACT)
    assert_allclose(per_round.mean_tokens, process.n_tokens / (chance @ rounds), **EXACT)
    assert_allclose(per_round.p_full, 1 - rejections / (chance @ rounds), **EXACT)
    assert_allclose(per_round.mean_examined, examined / (chance @ rounds), **EXACT)
    assert_allclose(per_round.mean_drafted, drafted / (chance @ rounds), **EXACT)
    assert_allclose(speedup(process, kappa, COST), law.speedup, **EXACT)

    mean, covariance = unit_counts(process, kappa, 1)
    assert_allclose(mean, chance @ counts, **EXACT)
    assert_allclose(covariance, (counts - mean).T @ (chance[:, None] * (counts - mean)), **EXACT)


def test_shapes_that_name_the_same_rates_have_the_same_law() -> None:
    """Half of .6 is lost every token: .8, .5, .35; stretches of one token are a table."""
    exponential = Drift(shape="exponential", alpha_start=0.8, alpha_end=0.2, half_life=1.0, tokens=3)
    pieces = Drift(shape="piecewise", alphas=[0.8, 0.5, 0.35], lengths=[1, 1, 1])
    table = Drift(shape="table", alphas=[0.8, 0.5, 0.35])
    for process in (exponential, pieces):
        assert_allclose(window(process, 2).pmf_accepted, window(table, 2).pmf_accepted, **EXACT)
        assert_allclose(unit_counts(process, 2, 1)[1], unit_counts(table, 2, 1)[1], **EXACT)


def test_a_cut_draft_that_is_all_accepted_is_full() -> None:
    law = window(Drift(shape="table", alphas=[1.0, 1.0, 1.0]), 9)
    assert (law.p_full, law.mean_tokens, law.mean_drafted, law.mean_examined) == (1.0, 3.0, 2.0, 2.0)


def test_one_token_costs_one_round_without_drafts() -> None:
    law = generation(Drift(shape="linear", alpha_start=0.9, alpha_end=0.3, tokens=1), 5, COST)
    assert (law.mean_rounds, law.var_rounds, law.mean_drafted, law.mean_rejections) == (1.0, 0.0, 0.0, 0.0)
    assert law.mean_cost == COST.c0


def test_long_generations_are_read_in_blocks_without_a_seam(monkeypatch: pytest.MonkeyPatch) -> None:
    process = Drift(shape="linear", alpha_start=0.85, alpha_end=0.62, tokens=50)
    whole, whole_covariance = generation(process, 4, COST), unit_counts(process, 4, 1)[1]
    whole_sweep = optimum(process, COST, 9).speedup_by_kappa
    monkeypatch.setattr(generations, "_BLOCK_CELLS", 7 * 6)
    assert_allclose(optimum(process, COST, 9).speedup_by_kappa, whole_sweep, **EXACT)
    parts = generation(process, 4, COST)
    assert_allclose(parts.expected_counts, whole.expected_counts, **EXACT)
    assert_allclose((parts.var_rounds, parts.var_cost), (whole.var_rounds, whole.var_cost), **EXACT)
    assert_allclose(unit_counts(process, 4, 1)[1], whole_covariance, **EXACT)


def test_a_long_even_generation_has_the_window_law_of_iid_drafts() -> None:
    """Only the last κ + 1 of 20,000 tokens differ."""
    process = Drift(shape="linear", alpha_start=0.7, alpha_end=0.7, tokens=20_000)
    assert_allclose(window(process, 4).pmf_accepted, window(Iid(alpha=0.7), 4).pmf_accepted, atol=2e-4)


@pytest.mark.parametrize(
    ("kappa", "mean", "deviation"),
    [
        (1, 83.03, 2.58), (2, 70.42, 3.64), (3, 66.00, 4.52), (4, 64.93, 5.32), (5, 65.55, 6.09), (6, 67.16, 6.83),
        (8, 72.00, 8.22),
    ],
)  # fmt: skip
def test_128_tokens_take_the_known_time(kappa: int, mean: float, deviation: float) -> None:
    """docs/theory.md section 7; figures worked out beforehand; 66.0049 at κ = 3."""
    process = Drift(shape="linear", alpha_start=0.7, alpha_end=0.7, tokens=128)
    law = generation(process, kappa, Cost(c_d=0.1))
    assert law.mean_cost == pytest.approx(mean, abs=0.0051)
    assert law.var_cost**0.5 == pytest.approx(deviation, abs=0.0051)


@pytest.mark.parametrize(("beta", "best"), [(0.05, 2.54369), (0.1, 2.10288), (0.2, 1.66175)])
def test_drift_has_the_best_fixed_kappa_of_c44(beta: float, best: float) -> None:
    process = Drift(shape="linear", alpha_start=0.85, alpha_end=0.62, tokens=1024)
    found = optimum(process, Cost(c_d=beta), kappa_max=12)
    assert found.best_speedup == pytest.approx(best, abs=5e-6)
    assert found.kappa_star == {0.05: 6, 0.1: 4, 0.2: 3}[beta]


def test_only_a_drift_has_generations() -> None:
    with pytest.raises(ParameterError, match="no generations"):
        generation(Iid(alpha=0.5), 2, COST)
