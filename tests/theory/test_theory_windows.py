"""Do the exact window laws agree with a plain listing of every outcome?"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from theory_brute import carried_rows, carried_start, fresh_law, lane_counts, lane_counts_by_powers

from simspec.model.cost import Cost
from simspec.model.drift import Drift
from simspec.model.errors import ParameterError
from simspec.model.iid import Iid
from simspec.model.markov import Markov, lowest_rho
from simspec.model.mixture import BetaMixture, DiscreteMixture
from simspec.model.position import Position
from simspec.model.process import Process, Processes
from simspec.model.survival import Survival
from simspec.theory import mean_round_cost, speedup, survival_curve, unit_counts, window, window_start_full
from simspec.theory.routes import ROUTES

FRESH: list[Process] = [
    Iid(alpha=0.0),
    Iid(alpha=0.3),
    Iid(alpha=0.97),
    Iid(alpha=1.0),
    Markov(alpha=0.7, rho=0.3),
    Markov(alpha=0.8, rho=lowest_rho(0.8)),
    Markov(alpha=0.5, rho=-1.0),
    Markov(alpha=0.6, rho=1.0),
    Markov(alpha=0.0, rho=0.4),
    Markov(alpha=1.0, rho=0.4),
    Position(alphas=[0.79, 1.0, 0.72, 0.73, 0.5, 0.9, 0.0, 0.4]),
    BetaMixture(alpha=0.7, rho=0.3),
    BetaMixture(a=0.2, b=3.0),
    BetaMixture(alpha=0.7, rho=0.0),
    BetaMixture(alpha=0.7, rho=1.0),
    BetaMixture(alpha=0.0, rho=0.5),
    BetaMixture(alpha=1.0, rho=1.0),
    DiscreteMixture(alphas=[0.95, 0.45, 0.0], weights=[0.4, 0.4, 0.2]),
    DiscreteMixture(alphas=[1.0, 0.5], weights=[0.0, 1.0]),
    Survival(survival=[1.0, 0.8, 0.8, 0.3, 0.2, 0.1, 0.0, 0.0]),
]
CARRIED = [
    Markov(alpha=alpha, rho=rho, start="carry", steps_after_reject=after_reject, steps_after_full=after_full)
    for after_reject, after_full in ((1, 1), (1, 2), (2, 2), (3, 1), (5, 4))
    for alpha, rho in (
        (0.7, 0.3),
        (0.55, -0.4),
        (0.8, lowest_rho(0.8)),
        (0.2, lowest_rho(0.2)),
        (0.9, 0.99),
        (0.0, 0.5),
        (1.0, 0.5),
        (0.6, 0.0),
    )
]
EXACT = {"rtol": 1e-11, "atol": 1e-13}  # a few hundred roundings


@pytest.mark.parametrize("process", FRESH, ids=str)
@pytest.mark.parametrize("kappa", [0, 1, 2, 5, 8])
def test_a_fresh_window_has_the_law_of_its_listed_outcomes(process: Process, kappa: int) -> None:
    pmf, examined = fresh_law(process, kappa)
    accepted = np.arange(kappa + 1)
    law = window(process, kappa)
    assert_allclose(law.pmf_accepted, pmf, **EXACT)
    assert_allclose(law.mean_accepted, pmf @ accepted, **EXACT)
    assert_allclose(law.var_accepted, pmf @ accepted**2 - (pmf @ accepted) ** 2, rtol=1e-10, atol=1e-12)
    assert_allclose(law.mean_tokens, pmf @ accepted + 1, **EXACT)
    assert_allclose((law.p_zero_accepted, law.p_full), (pmf[0], pmf[-1]), **EXACT)
    assert_allclose(law.mean_examined, examined, **EXACT)
    assert law.mean_drafted == kappa
    assert_allclose(survival_curve(process, kappa), pmf[::-1].cumsum()[::-1][1:], **EXACT)


@pytest.mark.parametrize("process", CARRIED, ids=str)
@pytest.mark.parametrize("kappa", [1, 2, 4, 7])
def test_a_carried_window_has_the_law_of_its_literal_steps(process: Markov, kappa: int) -> None:
    rows = carried_rows(process, kappa)
    start = carried_start(rows)
    pmf, accepted = start @ rows, np.arange(kappa + 1)
    law = window(process, kappa)
    assert_allclose(window_start_full(process, kappa), start[1], **EXACT)
    assert_allclose(law.pmf_accepted, pmf, **EXACT)
    assert_allclose(law.p_full, start[1], **EXACT)
    assert_allclose(law.mean_examined, pmf @ np.minimum(accepted + 1, kappa), **EXACT)
    assert_allclose(law.var_accepted, pmf @ (accepted - pmf @ accepted) ** 2, **EXACT)


@pytest.mark.parametrize(("steps", "full"), [((1, 1), 0.5), ((1, 2), 1.0), ((2, 1), 0.0)])
def test_strict_alternation_has_a_long_run_wherever_one_exists(steps: tuple[int, int], full: float) -> None:
    process = Markov(alpha=0.5, rho=-1.0, start="carry", steps_after_reject=steps[0], steps_after_full=steps[1])
    assert window_start_full(process, 1) == full
    assert window_start_full(process, 2) == 0.0  # two acceptances in a row never happen


def test_a_window_without_drafts_rejects_nothing() -> None:
    for process in (*FRESH, *CARRIED):
        law = window(process, 0)
        assert law.pmf_accepted.tolist() == [1.0]
        assert (law.p_zero_accepted, law.p_full, law.mean_examined, law.mean_drafted) == (1.0, 1.0, 0.0, 0.0)
        assert (law.mean_tokens, law.var_accepted) == (1.0, 0.0)
        assert mean_round_cost(law, Cost(c0=1.5, c_r=9.0)) == 1.5
    assert window_start_full(CARRIED[0], 0) == 1.0


def test_independent_outcomes_are_the_same_in_every_form() -> None:
    plain = window(Iid(alpha=0.6), 6)
    for process in (Markov(alpha=0.6, rho=0.0), Markov(alpha=0.6, rho=0.0, start="carry", steps_after_full=2)):
        assert_allclose(window(process, 6).pmf_accepted, plain.pmf_accepted, **EXACT)


def test_speedup_is_a_ratio_of_means() -> None:
    cost = Cost(c_d=0.1, c_r=0.5)
    assert speedup(Iid(alpha=0.7), 4, cost) == pytest.approx(1.55797, abs=5e-6)  # docs/theory.md section 3
    assert speedup(Iid(alpha=0.7), 4, Cost(c_d=0.1, c_r=1.0)) == pytest.approx(1.28390, abs=5e-6)


@pytest.mark.parametrize("process", [FRESH[1], FRESH[4], FRESH[-1]], ids=str)
def test_counts_of_fresh_windows_are_multinomial(process: Process) -> None:
    pmf, _ = fresh_law(process, 3)
    mean, covariance = unit_counts(process, 3, 10)
    assert_allclose(mean, 10 * pmf, **EXACT)
    assert_allclose(covariance, 10 * (np.diag(pmf) - np.outer(pmf, pmf)), **EXACT)


@pytest.mark.parametrize("process", CARRIED, ids=str)
@pytest.mark.parametrize(("kappa", "rounds"), [(1, 1), (1, 6), (2, 4), (3, 4)])
def test_counts_of_a_short_lane_vary_as_its_listed_paths(process: Markov, kappa: int, rounds: int) -> None:
    for mine, listed in zip(unit_counts(process, kappa, rounds), lane_counts(process, kappa, rounds), strict=True):
        assert_allclose(mine, listed, rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("process", [CARRIED[0], CARRIED[4], CARRIED[10]], ids=str)
@pytest.mark.parametrize("rounds", [2, 37, 500])
def test_counts_of_a_long_lane_vary_as_its_pairs_of_windows(process: Markov, rounds: int) -> None:
    for mine, listed in zip(unit_counts(process, 3, rounds), lane_counts_by_powers(process, 3, rounds), strict=True):
        assert_allclose(mine, listed, rtol=1e-9, atol=1e-9)


def test_the_number_of_windows_in_a_lane_does_not_vary() -> None:
    _, covariance = unit_counts(CARRIED[0], 5, 10**9)
    assert np.abs(covariance.sum(axis=0)).max() < 1e-6  # of counts near 10⁹
    assert unit_counts(CARRIED[0], 0, 7)[1].tolist() == [[0.0]]


def test_every_process_with_a_law_has_a_route() -> None:
    """All built-in kinds, with every unit they can have; a trace is a measurement and has no law to be exact about."""
    assert {kind for kind, process in Processes.table.items() if process.__module__.startswith("simspec.model.")} == {
        "trace",
        *(kind for kind, _ in ROUTES),
    }
    assert {kind for kind, unit in ROUTES if unit == "lane"} == {"markov", "hmm", "token_chain"}
    assert {kind for kind, unit in ROUTES if unit == "generation"} == {"drift", "beta_mixture", "discrete_mixture"}
    assert all((route.curve is not None) == (unit == "window") for (_, unit), route in ROUTES.items())


@pytest.mark.parametrize(
    ("call", "key"),
    [
        (lambda: window(Iid(alpha=0.5), -1), "kappa"),
        (lambda: window(Iid(alpha=0.5), 1001), "kappa"),
        (lambda: window(Survival(survival=[0.5]), 2), "kappa"),
        (
            lambda: window(Markov(alpha=0.5, rho=-1.0, start="carry", steps_after_reject=2, steps_after_full=2), 1),
            "kappa",
        ),
        (lambda: survival_curve(CARRIED[0], 2), "process"),
        (lambda: survival_curve(Drift(shape="table", alphas=[0.5]), 2), "process"),
        (lambda: window_start_full(Iid(alpha=0.5), 2), "process"),
        (lambda: window_start_full(Markov(alpha=0.5, rho=0.1), 2), "process"),
        (lambda: unit_counts(Iid(alpha=0.5), 2, 0), "rounds"),
        (lambda: window(Process(type="dream"), 2), "type"),
    ],
)
def test_what_cannot_be_asked_is_refused_by_name(call, key: str) -> None:
    with pytest.raises(ParameterError) as caught:
        call()
    assert caught.value.key == key
    assert "allowed" in str(caught.value) or "ask for" in str(caught.value) or "known" in str(caught.value)
