"""What a recommendation may not say: costs that cannot be, κ outside its band, a regret below nothing, two losses."""

import dataclasses
import json

import numpy as np
import pytest

import simspec
from simspec import ParameterError, recommend
from simspec.advice.acceptance import acceptance_of_numbers
from simspec.advice.export.configuration import export
from simspec.advice.recommend.decide import compare
from simspec.advice.recommend.posterior import tokens_posterior
from simspec.advice.recommend.text import sentence
from simspec.evidence.costs.draws import possible_draws
from simspec.evidence.costs.roofline import TRUSTED
from simspec.evidence.costs.round_costs import RoundCosts

KAPPA, LENGTH = [0, 2, 4] * 3, [1.0, 2.376, 3.026] * 3
BATCH, TPOT = [1] * 3 + [32] * 3 + [128] * 3, [12.5, 7.0, 6.2, 16.0, 10.0, 10.5, 22.0, 17.0, 19.5]
SEEN = {"survival": [0.80, 0.58, 0.40, 0.26, 0.17], "rounds": 17_000}


def sweep(tpot=TPOT):
    return simspec.costs(kappa=KAPPA, emitted=LENGTH, tpot_ms=tpot, batch=BATCH)


def test_plain_steps_of_a_batch_sweep_grow_with_the_batch():
    """No context column: 12.5, 16 and 22 ms of plain decoding are 12.9 + 0.074·batch ms within 5%."""
    own = sweep().surface
    for batch, ms in ((1, 12.5), (32, 16.0), (128, 22.0)):
        assert own.at(batch, None).plain_ms == pytest.approx(ms, rel=0.06)
    assert own.largest_residual < 0.10
    stated = simspec.costs(kappa=KAPPA, emitted=LENGTH, tpot_ms=TPOT, batch=BATCH, context=[1024] * 9).surface
    assert stated.at(8, 1024).at(4) == pytest.approx(own.at(8, None).at(4))


def test_a_roofline_that_misses_its_rows_advises_nowhere_else():
    wild = [12.5, 7.0, 6.2, 11.0, 15.0, 6.5, 30.0, 12.0, 25.0]
    grid = sweep(wild)
    assert grid.surface.largest_residual > TRUSTED
    with pytest.raises(ParameterError, match=r"costs at batch 8 would come from a roofline that misses a row by \d+%"):
        recommend(SEEN, grid, batches=[8])
    assert recommend(SEEN, grid, batches=[32]).costs.plain_ms == 11.0  # its own rows
    assert any("the roofline misses a row by" in note for note in grid.at(8).notes)


def test_no_drawn_round_is_cheaper_than_a_plain_step_and_that_is_said():
    costs = RoundCosts.affine(1.02, 0.12, (1, 2, 4), covariance=np.diag([0.1, 0.03]) ** 2)
    draws, again = possible_draws(costs, range(9), 2000, 1)
    assert costs.draws(range(1, 9), 2000, 1).min() < 0.9
    assert draws[:, 1:].min() >= 1.0 - 1e-9
    assert 0.05 < again < 0.3
    own = recommend(SEEN, costs)
    assert own.choice.draws.max() <= 10.0
    assert f"{own.choice.redrawn:.1%} of the drawn costs had a round cheaper than a plain step" in " ".join(
        str(own).split()
    )


def test_a_round_measured_below_a_plain_step_draws_as_it_was_measured():
    """R = 0.95 at κ = 1: suspect, and said elsewhere; no draw is thrown away for it."""
    costs = RoundCosts.affine(0.9, 0.05, (1, 2, 4), covariance=np.diag([1e-3, 0.0]) ** 2)
    assert possible_draws(costs, [1], 500, 1)[1] == 0.0


def test_costs_of_which_next_to_nothing_can_be_are_refused():
    costs = RoundCosts.affine(1.0, 1e-4, (1, 2), covariance=np.diag([0.0, 10.0]) ** 2, plain_error=0.0)
    centred = RoundCosts("table", np.arange(12.0), np.full(12, 1.0001), np.eye(12))
    assert possible_draws(costs, [1, 2], 100, 1)[1] == pytest.approx(0.5, abs=0.2)
    with pytest.raises(ParameterError, match="errors are too large to advise from"):
        possible_draws(centred, range(12), 100, 1)


@pytest.mark.parametrize("within", [0.0, 0.02])
def test_the_chosen_kappa_lies_in_its_own_band(within):
    """The least expected regret lies at κ = 9, far from the best single estimate: errors of costs this skew."""
    posterior = tokens_posterior(acceptance_of_numbers(**SEEN), 10, 400)
    costs = RoundCosts.affine(1.0, 0.09, (1, 2, 4), covariance=np.diag([1e-6, 0.2]) ** 2)
    free, held = (compare(posterior, costs, 0.95, 400, 1, flat) for flat in (1.0, within))
    assert free.kappa not in free.within(within)
    assert held.kappa in held.within(within)
    assert recommend(SEEN, costs, within=within).kappa_star in recommend(SEEN, costs, within=within).choice.within(
        within
    )


COSTS = RoundCosts.affine(1.13, 0.0935, (1, 2, 3, 4), covariance=np.diag([0.01, 0.002]) ** 2, plain_ms=12.5)
MEAN = {"kappa": 3, "emitted": 2.29}


def test_where_no_kappa_keeps_the_limit_exactly_that_is_said():
    own = recommend(MEAN, COSTS, p99_gap_ms=14.0)
    said = sentence(own)
    assert said.startswith(
        "no κ keeps the limit of 14 ms on the p99 gap between chunks: the least is 15.29 ms, at κ = 1"
    )
    assert "switch speculation off (1.00x, 12.50 ms)" in said
    assert "without a limit κ = " in said
    assert "no κ is worth it" not in str(own)


def test_two_limits_that_leave_nothing_together_are_both_named():
    """κ = 1 and 2 keep the gap; of all κ only 3 is taken to keep the time per token."""
    own = recommend(MEAN, COSTS, p99_gap_ms=17.0, p99_tpot_ms=50.0)
    gap, tpot = own.limits
    sure = np.where(np.array(own.choice.options) == 3, 1.0, np.where(np.array(own.choice.options) <= 0, 1.0, 0.0))
    other = dataclasses.replace(tpot, sure=sure)
    both = dataclasses.replace(own, limits=(gap, other), choice=own.choice.limited(gap.kept & other.kept))
    assert sentence(both).startswith("no κ keeps both limits; switch speculation off (1.00x), or allow more")


@pytest.mark.parametrize("gap", [14.0, 17.0])
def test_a_regret_is_of_what_keeps_the_limit_and_never_negative(gap):
    own = recommend(MEAN, COSTS, p99_gap_ms=gap)
    for row in own.rows:
        assert (row["expected_regret"] is None) == (not row["within_limit"]) == (row["of_best"] is None)
        assert row["expected_regret"] is None or row["expected_regret"] >= 0.0
    assert np.isnan(own.choice.regret[~own.choice.allowed]).all()
    json.dumps(own.to_dict(), allow_nan=False)
    if gap == 17.0:
        assert "flat: only κ = 2 within 2% of the best that keeps the limit" in str(own)


def test_a_loss_is_one_figure_wherever_it_stands():
    at = {2048: {"kappa": 3, "emitted": 2.30}, 20480: {"kappa": 3, "emitted": 1.40}}
    own = recommend(at, COSTS, contexts=[2048, 8192, 20480])
    single = own.grid.single
    for cell, entry in zip(own.grid.cells, own.grid.to_list(), strict=True):
        row = next(row for row in entry["kappas"] if row["kappa"] == single)
        assert cell.loss(single) == entry["loss_of_single"] == row["expected_regret"]
    lost = own.grid.cells[0].loss(single)
    assert lost > 0.02
    assert f"{100 * lost:.1f}% at context 2,048" in str(export(own, "llama.cpp"))
    assert own.grid.by_batch is None  # no batch is stated
    assert "batch 0" not in str(own)


def test_what_hardly_matters_is_not_worth_measuring():
    at = {2048: {"kappa": 3, "emitted": 2.30}, 20480: {"kappa": 3, "emitted": 1.40}}
    own = recommend(at, COSTS, contexts=[2048, 8192, 20480])
    assert all(probe.expected_regret > 0.001 for probe in own.grid.probes)
    assert 0 < len(own.grid.probes) < 3
    sure = recommend({"survival": [0.2, 0.04, 0.01], "rounds": 10**6}, COSTS, contexts=[1.0, 2.0])
    assert "nothing is worth measuring first: what is not known costs at most 0.1% at any load" in str(sure)


def test_a_tail_that_the_rounds_reject_is_said_to_only_carry_the_curve_on():
    """Lines of α = .85 and .5: rounds by a Beta law fit the pooled curve, and not how lines differ."""
    from simspec.advice.acceptance import Acceptance
    from simspec.evidence.observed import Observed

    rng, rates = np.random.default_rng(1), (0.85, 0.5)
    far = [np.minimum(rng.geometric(1.0 - rates[i % 2], 100) - 1, 5) for i in range(40)]
    tables = [np.array([(own >= j).sum() for j in range(1, 6)]).tolist() for own in far]
    observed = Observed.of_counts([(5, 100, own) for own in tables], unit="log line")
    survival = tuple(observed.reached() / observed.rounds)
    own = recommend(
        Acceptance(5, 1.0 + sum(survival), None, survival, 5.0, observed, "lines", rounds=observed.rounds), {"c_d": 0.1}
    )
    text = " ".join(str(own).split())
    assert 'these rounds reject "Beta by round" as a whole: here it only carries the curve on' in text


def test_no_line_is_longer_than_a_terminal():
    own = recommend(MEAN, COSTS, p99_gap_ms=17.0, kappa_max=20)
    assert max(map(len, str(own).splitlines())) <= 105


def test_a_run_that_accepted_nothing_claims_no_resolution(tmp_path):
    """Its units show no spread: what would be beyond chance is not known from them, and the interval is wider."""
    runs = ["kappa=3 rounds=900 survival=0,0,0", "kappa=3 rounds=900 survival=.8,.6,.4"]
    found = simspec.ab(*runs)
    assert found.power is None
    assert "beyond chance from" not in str(found)
    assert simspec.ab(runs[1], "kappa=3 rounds=900 survival=.7,.5,.3").power is not None
