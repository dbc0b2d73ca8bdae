"""Is the best draft length the best, in closed form and among whole numbers?"""

from __future__ import annotations

import math
import random
import time

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar
from scipy.special import lambertw

from simspec.model.cost import Cost
from simspec.model.drift import Drift
from simspec.model.errors import ParameterError
from simspec.model.iid import Iid
from simspec.model.markov import Markov
from simspec.model.survival import Survival
from simspec.theory import (
    break_even_alpha,
    break_even_alpha_off,
    foresight_bound,
    integer_kappa_for_share,
    kappa_for_share,
    kappa_star_continuous,
    optimum,
    speedup,
    speedup_continuous,
    window,
)

TABLE_1_4 = {
    0.02: "4/1.7940 6/2.1697 7/2.4264 8/2.7576 9/3.0990 9/3.1989 11/3.8167 14/4.7534 19/6.3654 31/9.9542",
    0.05: "3/1.6304 4/1.9213 5/2.1133 6/2.3529 6/2.5991 7/2.6663 8/3.0921 10/3.7007 13/4.6741 21/6.5997",
    0.10: "2/1.4583 3/1.6738 3/1.8055 4/1.9808 5/2.1431 5/2.1921 6/2.4696 7/2.8530 10/3.4309 15/4.4790",
    0.15: "2/1.3462 2/1.5077 3/1.6187 3/1.7469 4/1.8704 4/1.9067 5/2.1082 6/2.3839 8/2.7845 12/3.4761",
    0.20: "1/1.2500 2/1.4000 2/1.4804 3/1.5831 3/1.6830 3/1.7090 4/1.8676 5/2.0762 7/2.3731 10/2.8747",
}
TABLE_ALPHAS = (0.5, 0.6, 0.65, 0.7, 0.74, 0.75, 0.8, 0.85, 0.9, 0.95)
SEED_COST = Cost(c_d=0.1, c_v=0.5, c_r=1.0)


def random_costs(count: int) -> list[tuple[float, Cost]]:
    draw = random.Random(20261130)
    return [
        (
            draw.uniform(0.02, 0.98),
            Cost(
                c0=draw.uniform(0.5, 2), c_d=draw.choice([0.01, 0.1, 0.4]) * draw.random() + 1e-3,
                c_v=draw.choice([0.0, 0.1]), c_r=draw.choice([0.0, 0.5, 1.0]), off=draw.uniform(0.5, 2),
            ),
        )
        for _ in range(count)
    ]  # fmt: skip


@pytest.mark.parametrize("beta", TABLE_1_4)
def test_the_optimum_is_the_table_of_section_1_4(beta: float) -> None:
    for alpha, entry in zip(TABLE_ALPHAS, TABLE_1_4[beta].split(), strict=True):
        best = optimum(Iid(alpha=alpha), Cost(c_d=beta))
        assert f"{best.kappa_star}/{best.best_speedup:.4f}" == entry


def test_the_speedup_by_kappa_is_that_of_section_1_4() -> None:
    found = optimum(Iid(alpha=0.7), Cost(c_d=0.1), kappa_max=100).speedup_by_kappa
    assert_allclose(found[:9], [1, 1.5455, 1.8250, 1.9485, 1.9808, 1.9608, 1.9118, 1.8477, 1.7771], atol=5.1e-5)
    assert found[100] == pytest.approx(0.3030, abs=5e-5)


def test_every_process_is_searched_as_its_windows_one_by_one() -> None:
    cost = Cost(c0=1.2, c_d=0.1, c_v=0.02, c_r=0.4)
    for process in (
        Iid(alpha=0.8),
        Survival(survival=[0.7, 0.6, 0.55, 0.2]),
        Markov(alpha=0.7, rho=0.3),
        Markov(alpha=0.7, rho=-0.3, start="carry", steps_after_full=2),
        Drift(shape="linear", alpha_start=0.9, alpha_end=0.5, tokens=30),
        Drift(shape="linear", alpha_start=0.9, alpha_end=0.5, tokens=30, truncate=False),
        Drift(shape="table", alphas=[0.5, 0.0, 1.0]),
        Drift(shape="table", alphas=[0.5]),
    ):
        best = optimum(process, cost, kappa_max=4)
        one_by_one = [speedup(process, kappa, cost) for kappa in range(5)]
        tokens = [window(process, kappa).mean_tokens for kappa in range(5)]
        assert_allclose(best.speedup_by_kappa, one_by_one, rtol=1e-12)
        assert_allclose(best.extra_tokens, np.diff(tokens), atol=1e-12)
        assert_allclose(best.extra_speedup, np.diff(one_by_one), atol=1e-12)
        assert best.kappa_star == int(np.argmax(one_by_one))
        assert best.best_speedup == pytest.approx(max(one_by_one))


def test_ties_go_to_the_shorter_draft() -> None:
    best = optimum(Iid(alpha=0.25), Cost(c_d=0.25))  # alpha = c: S(0) = S(1)
    assert (best.kappa_star, best.ties) == (0, (0, 1))


def test_free_drafts_are_best_at_the_end_of_the_search() -> None:
    assert optimum(Iid(alpha=0.99), Cost(), kappa_max=20).at_kappa_max
    assert not optimum(Iid(alpha=0.7), Cost(c_d=0.1)).at_kappa_max


def test_switching_off_wins_when_the_loop_itself_is_dear() -> None:
    dear = optimum(Iid(alpha=0.1), Cost(c0=1.2, c_d=0.1))
    assert (dear.off_speedup, dear.off_is_better) == (1.0, True)
    assert not optimum(Iid(alpha=0.05), Cost(c_d=0.1)).off_is_better  # κ = 0 is the plain step


def test_the_search_ends_where_the_measured_curve_ends() -> None:
    curve = Survival(survival=[0.8, 0.7, 0.6])
    assert optimum(curve, Cost(c_d=0.01)).kappas.tolist() == [0, 1, 2, 3]
    with pytest.raises(ParameterError, match="beyond the 3 measured positions"):
        optimum(curve, Cost(), kappa_max=4)


def test_a_kappa_without_long_run_is_left_out() -> None:
    process = Markov(alpha=0.5, rho=-1.0, start="carry", steps_after_reject=2, steps_after_full=2)
    best = optimum(process, Cost(c_d=0.1), kappa_max=4)
    assert np.isnan(best.speedup_by_kappa).tolist() == [False, True, False, False, False]
    assert best.kappa_star == 0
    assert optimum(process, Cost(c_d=0.1), kappa_max=1).kappa_star == 0


def test_the_closed_form_is_the_maximum_of_the_curve() -> None:
    for alpha, cost in random_costs(300):
        peak = kappa_star_continuous(alpha, cost)
        found = minimize_scalar(
            lambda kappa, alpha=alpha, cost=cost: -speedup_continuous(alpha, kappa, cost),
            bounds=(0.0, 2.0 * peak + 5.0), method="bounded", options={"xatol": 1e-10},
        )  # fmt: skip
        assert speedup_continuous(alpha, peak, cost) >= -found.fun - 1e-12
        assert peak == pytest.approx(found.x, abs=2e-5)  # a flat top hides κ to the root of a rounding


def test_the_closed_form_is_lamberts() -> None:
    for alpha, cost in random_costs(300):
        rate, per_draft = -math.log(alpha), cost.c_d + cost.c_v
        ratio = (cost.c0 - cost.c_r * (1 - alpha) / alpha) / per_draft
        if rate * (ratio - 1) > 700:  # the exponential underflows, and scipy has no answer
            continue
        below = rate * (ratio - 1) < 0  # the argument is below −1/e
        lambert = 0.0 if below else -(1 + lambertw(-math.exp(-1 - rate * (ratio - 1)), k=-1).real) / rate - ratio
        assert kappa_star_continuous(alpha, cost) == pytest.approx(max(0.0, lambert), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(
    ("alpha", "beta", "kappa"), [(0.7, 0.01, 9.342), (0.99, 0.1, 38.521), (0.999, 0.1, 130.196), (0.7, 0.1, 4.0245)]
)
def test_the_closed_form_has_the_figures_of_section_1_2(alpha: float, beta: float, kappa: float) -> None:
    assert kappa_star_continuous(alpha, Cost(c_d=beta)) == pytest.approx(kappa, abs=6e-4)


def test_the_whole_optimum_is_a_neighbour_of_the_real_one() -> None:
    for alpha, cost in random_costs(400):
        peak = kappa_star_continuous(alpha, cost)
        if peak < 900:
            assert optimum(Iid(alpha=alpha), cost, 1000).kappa_star in (math.floor(peak), math.ceil(peak))


@pytest.mark.parametrize(
    ("alpha", "cost", "kappa"),
    [
        (0.0, Cost(c_d=0.1), 0.0),
        (0.0, Cost(), 0.0),
        (1.0, Cost(c_d=0.1), math.inf),
        (1.0, Cost(c_d=1.0), 0.0),  # S = 1 whatever κ
        (1.0, Cost(c_d=2.0, c_r=1.0), 0.0),
        (1.0, Cost(), math.inf),
        (0.7, Cost(), math.inf),
        (0.7, Cost(c_r=1.0), math.inf),
        (0.5, Cost(c_r=1.0), 0.0),  # break-even exactly: S = 1 whatever κ
        (0.3, Cost(c_r=1.0), 0.0),
        (1e-300, Cost(c_d=0.1, c_r=1.0), 0.0),
        (0.7, Cost(c_d=1e-310), math.inf),
        (0.5, Cost(c_d=0.5, c_r=1.0), 0.0),
    ],
)
def test_the_edges_of_the_closed_form(alpha: float, cost: Cost, kappa: float) -> None:
    assert kappa_star_continuous(alpha, cost) == kappa


def test_the_curve_has_its_limits() -> None:
    assert speedup_continuous(0.7, math.inf, Cost()) == pytest.approx(1 / 0.3)
    assert speedup_continuous(0.7, math.inf, Cost(c_d=0.1)) == 0.0
    assert speedup_continuous(1.0, math.inf, Cost(c_d=0.1)) == 10.0
    assert speedup_continuous(1.0, math.inf, Cost()) == math.inf
    assert speedup_continuous(1.0, 4, Cost(c_d=0.1)) == pytest.approx(5 / 1.4)
    assert speedup_continuous(0.0, 0.5, Cost(c_r=1.0)) == 0.5
    assert speedup_continuous(0.0, 0.0, Cost(c_r=1.0)) == 1.0


def test_drafting_pays_exactly_above_the_break_even() -> None:
    for _, cost in random_costs(100):
        edge = break_even_alpha(cost)
        if 0.01 < edge < 0.99:
            assert optimum(Iid(alpha=edge - 1e-6), cost).kappa_star == 0
            assert optimum(Iid(alpha=edge + 1e-6), cost).kappa_star >= 1


def test_switching_off_loses_exactly_above_its_break_even() -> None:
    for _, cost in random_costs(100):
        edge = break_even_alpha_off(cost)
        if 0.01 < edge < 0.97:
            assert optimum(Iid(alpha=edge - 1e-6), cost, 500).best_speedup < 1 / cost.off
            assert optimum(Iid(alpha=edge + 1e-6), cost, 500).best_speedup > 1 / cost.off


@pytest.mark.parametrize(
    ("cost", "edge"),
    [
        (Cost(c_d=0.1), 0.1),
        (SEED_COST, 0.8),
        (Cost(c0=0.9, c_d=0.1), 0.0),
        (Cost(c_d=1.0), math.inf),
        (Cost(c0=1.5, c_d=1.2), math.inf),
        (Cost(c0=2.0), 0.5),  # free drafts: 1/(2(1 − α)) > 1
        (Cost(c0=1.5, c_r=0.5), 0.5),
    ],
)
def test_the_edges_of_switching_off(cost: Cost, edge: float) -> None:
    assert break_even_alpha_off(cost) == pytest.approx(edge, abs=1e-12)


C30 = {
    0.05: (1.161, 1.724, 2.542, 2.993, 3.905, 6.937),
    0.1: (0.780, 1.199, 1.793, 2.114, 2.752, 4.797),
    0.2: (0.364, 0.650, 1.045, 1.254, 1.663, 2.929),
}


@pytest.mark.parametrize("beta", C30)
def test_ninety_percent_of_the_best_takes_the_draft_of_c30(beta: float) -> None:
    for alpha, kappa in zip((0.5, 0.6, 0.7, 0.74, 0.8, 0.9), C30[beta], strict=True):
        assert kappa_for_share(alpha, Cost(c_d=beta)) == pytest.approx(kappa, abs=6e-4)


def test_ninety_percent_in_whole_drafts_is_that_of_c30() -> None:
    found = [integer_kappa_for_share(Iid(alpha=alpha), Cost(c_d=0.1)) for alpha in (0.6, 0.7, 0.74, 0.8, 0.9)]
    assert found == [2, 2, 3, 3, 5]


def test_the_draft_for_a_share_just_reaches_it() -> None:
    for alpha, cost in random_costs(100):
        kappa = kappa_for_share(alpha, cost, 0.95)
        goal = 0.95 * speedup_continuous(alpha, kappa_star_continuous(alpha, cost), cost)
        assert speedup_continuous(alpha, kappa, cost) >= goal
        assert kappa == 0 or speedup_continuous(alpha, kappa - 1e-6, cost) < goal


def test_the_edges_of_a_share() -> None:
    assert kappa_for_share(0.7, Cost()) == pytest.approx(math.log(0.1) / math.log(0.7) - 1)  # C30, beta = 0
    assert kappa_for_share(1.0, Cost(c_d=0.1)) == pytest.approx(80)  # (κ + 1)/(1 + κ/10) = 9
    assert kappa_for_share(1.0, Cost()) == math.inf
    assert kappa_for_share(0.7, Cost(), share=1.0) == math.inf
    assert kappa_for_share(0.7, Cost(c_d=0.1), share=1.0) == kappa_star_continuous(0.7, Cost(c_d=0.1))
    assert kappa_for_share(0.0, Cost(c_d=0.1)) == 0.0
    with pytest.raises(ParameterError, match="0 < share ≤ 1"):
        kappa_for_share(0.7, Cost(), share=0.0)


@pytest.mark.parametrize("beta", [0.05, 0.1, 0.2])
@pytest.mark.parametrize("c_r", [0.0, 0.5, 1.0])
def test_the_true_draft_for_ninety_percent_never_falls_with_alpha(beta: float, c_r: float) -> None:
    """Claim C32: the article sees it fall, then rise."""
    cost = Cost(c_d=beta, c_r=c_r)
    alphas = np.linspace(0.02, 0.98, 193)
    assert (np.diff([kappa_for_share(alpha, cost) for alpha in alphas]) >= 0).all()
    assert (np.diff([integer_kappa_for_share(Iid(alpha=alpha), cost, kappa_max=200) for alpha in alphas]) >= 0).all()


def test_foresight_bounds_every_fixed_draft() -> None:
    assert foresight_bound(0.7, 0.1) == pytest.approx(2.7027, abs=5e-5)
    assert foresight_bound(1.0, 0.0) == math.inf
    for alpha in (0.0, 0.3, 0.7, 0.95, 1.0):
        assert optimum(Iid(alpha=alpha), Cost(c_d=0.1)).best_speedup <= foresight_bound(alpha, 0.1)


def test_within_names_the_drafts_that_lose_little() -> None:
    best = optimum(Iid(alpha=0.7), Cost(c_d=0.1))
    assert best.within(0.0) == (4,)
    assert best.within(0.01) == (4,)  # κ = 5 is 1.008% below
    assert best.within(0.0102) == (4, 5)
    assert best.within(1.0) == tuple(range(65))


def test_the_search_is_quick() -> None:
    """Budget: 5 ms for a chain, 1 s for a drift of 1,024 tokens; measured .1 ms and .03 s."""

    def seconds(process, repeats: int) -> float:
        begin = time.perf_counter()
        for _ in range(repeats):
            optimum(process, Cost(c_d=0.1))
        return (time.perf_counter() - begin) / repeats

    for process in (Iid(alpha=0.7), Markov(alpha=0.7, rho=0.3), Markov(alpha=0.7, rho=0.3, start="carry")):
        assert seconds(process, 20) < 0.005
    assert seconds(Drift(shape="linear", alpha_start=0.85, alpha_end=0.62, tokens=1024), 1) < 1.0
