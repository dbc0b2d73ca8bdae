"""Small promises of advice, one each: what is an option, who is paired, whose weights count, what is refused."""

from dataclasses import replace

import numpy as np
import pytest

import simspec
from simspec import ParameterError, recommend
from simspec.advice.ab.run import common, error_of, of_rounds, sides
from simspec.advice.acceptance import Acceptance, acceptance_of_numbers
from simspec.advice.explain.same_content import unlike
from simspec.advice.explain.speeds import speeds
from simspec.advice.explain.split import Prices
from simspec.advice.recommend.decide import OFF, compare
from simspec.advice.recommend.kappa_grid import at_context
from simspec.advice.recommend.mean_only import bent
from simspec.advice.recommend.posterior import MEASURED, MODEL, tokens_posterior
from simspec.evidence.costs.points import Edge
from simspec.evidence.costs.round_costs import RoundCosts
from simspec.evidence.observed import LOG_LINE, REQUEST, Observed
from simspec.evidence.source import Source
from simspec.stats.intervals import ratio


def test_an_empty_round_is_no_option_of_a_line_measured_from_1_on():
    seen = tokens_posterior(acceptance_of_numbers(alpha=0.7), 4)
    own = compare(seen, RoundCosts.affine(1.1, 0.1, (1, 2, 3)), 0.95, 9, 1)
    assert own.options == (OFF, 1, 2, 3, 4)


def test_the_rival_of_off_drafts():
    own = recommend({"alpha": 0.1}, {"c_d": 0.5})
    assert own.choice.kappa == OFF
    assert own.effort.rival == 1


def test_a_limit_kept_by_half_of_the_draws_is_not_kept():
    noisy = RoundCosts.affine(1.0, 0.1, (1, 2, 4), covariance=np.diag([0.02, 0.0]) ** 2)
    own = recommend({"alpha": 0.85}, noisy, p99_gap_ms=14.1, plain_ms=10.0)  # half a standard error above
    at = own.choice.options.index(4)
    assert 0.6 < own.limits[0].sure[at] < 0.8
    assert not own.choice.allowed[at]


def test_between_two_contexts_the_weaker_log_counts():
    ends = {n: acceptance_of_numbers(kappa=3, emitted=2.0, rounds=rounds) for n, rounds in ((1000, 100), (4000, 900))}
    assert at_context(ends, 2000).rounds == 100


@pytest.mark.parametrize("mean", [0.0, 1.29, 2.8, 3.0])
def test_a_bent_curve_has_its_mean_whether_or_not_it_can_bend(mean):
    assert bent(np.array([mean]), np.array([0.7]), 3, 3).sum() == pytest.approx(mean, abs=1e-9)


def test_a_position_that_few_log_lines_reach_is_a_models():
    rng = np.random.default_rng(2)
    lengths = [np.minimum(rng.geometric(1.0 - a, 60) - 1, 3).tolist() for a in [0.9, 0.9] + [1e-9] * 10]
    own = Observed.in_order([[3] * 60] * 12, lengths, LOG_LINE)
    survival = tuple(own.reached() / own.rounds)
    seen = Acceptance(3, 1 + sum(survival), None, survival, 3.0, own, "simulated", rounds=own.rounds)
    assert tokens_posterior(seen, 3).basis == (MEASURED, MEASURED, MODEL, MODEL)


def test_pairs_stand_together_or_not_at_all():
    one = replace(Observed.in_order([[2, 2], [2, 2]], [[1, 2], [0, 1]]), names=("x", "y"))
    short = replace(Observed.in_order([[2, 2], [1, 1]], [[1, 2], [0, 1]]), names=("x", "y"))
    left, right = sides((one, short), 2, pairs=True)
    assert left.rounds.tolist() == right.rounds.tolist() == [[0, 1, 1]] or (left.units, right.units) == (2, 2)
    assert left.rounds.sum() == right.rounds.sum() == 2  # y is left out of both
    assert common(one, replace(one, names=("x", "x"))) == ()


def test_the_error_of_e_weighs_rows_by_their_count():
    own = Observed.of_counts([(2, 100, [70, 40]), (2, 400, [200, 90]), (2, 50, [45, 40])], REQUEST)
    expected = ratio(np.array([[110, 290, 85]]), np.array([[100, 400, 50]])).error[0]
    assert error_of(of_rounds("A", own)) == (pytest.approx(expected), 3)


def test_rounds_to_detect_do_not_depend_on_which_run_comes_first():
    a, b = "kappa=2 rounds=500 survival=.7,.5", "kappa=2 rounds=5000 survival=.71,.5"
    assert simspec.ab(a, b, detect=0.1).needed[0] == pytest.approx(simspec.ab(b, a, detect=0.1).needed[0], rel=0.01)


def test_figures_that_are_apart_by_more_than_rounding_contradict():
    counts = {"drafts": 1000, "accepted_tokens": 1500}
    assert simspec.convert("plain", **counts, mean_accepted_per_round=1.51)["mean_emitted_per_round"] == 2.5
    with pytest.raises(ParameterError, match="contradicts"):
        simspec.convert("plain", **counts, mean_accepted_per_round=1.6)


def test_old_names_of_llama_cpp_have_no_type_and_a_schedule_that_ends_says_what_it_costs():
    assert "--spec-type" not in simspec.export(None, "llamacpp", kappa=3, form="draft", method="draft-simple").command
    grid = [{"batch": 1, "kappa": 4}, {"batch": 64, "kappa": 0}]
    own = simspec.export({"kappa_star": 4, "grid": grid}, "trtllm", max_batch=64)
    assert any("is not refreshed" in note for note in own.notes)


def test_logs_that_tell_requests_apart_are_compared_between_requests():
    def log(share, half):
        block = {"pooled": {"intervals": {"survival": [[share - half, share + half]]}}}
        own = acceptance_of_numbers(survival=[share], rounds=2000)
        return replace(own, source=Source("s", "e", block), emitted=None)

    assert "standard errors apart" in unlike(log(0.70, 0.01), log(0.64, 0.01), 0.95)
    assert unlike(log(0.70, 0.1), log(0.64, 0.1), 0.95) is None


def test_a_time_per_round_is_a_gap():
    assert speeds({"base_tpot_ms": 10.0, "spec_round_ms": 15.0}, None, 0.95).gap_ms == 15.0


def test_the_next_position_pays_below_the_share_of_the_round_that_it_adds():
    """(E + dE)/(R + x) = E/R at x = R·dE/E."""
    own = recommend({"alpha": 0.7}, {"c_d": 0.1})
    more, k = own.next_position, own.kappa_star
    r, e = own.choice.round_cost[own.choice.chosen], own.posterior.tokens
    assert e[k + 1] / (r + more["pays_below"]) == pytest.approx(e[k] / r)


def test_a_plain_step_that_is_given_comes_before_that_of_the_costs():
    costs = RoundCosts.affine(1.0, 0.1, (1, 2, 4), plain_ms=20.0)
    for given, ms in ((10.0, 14.0), (None, 28.0)):
        own = recommend({"alpha": 0.85}, costs, p99_gap_ms=100.0, plain_ms=given)
        assert own.limits[0].times_ms[own.choice.options.index(4)] == pytest.approx(ms)


def test_an_edge_costs_only_drafts_beyond_it():
    table = RoundCosts("table", np.arange(5.0), np.array([1.0, 1.1, 1.2, 1.8, 1.9]), np.zeros((5, 0)),
                       edges=(Edge(2.0, 3.0, 0.5),))  # fmt: skip
    assert [Prices.of(table, drafts).edges for drafts in (2.0, 2.5, 3.0, 4.0)] == [0.0, 0.0, 0.5, 0.5]


@pytest.mark.parametrize(("rounds", "said"), [(60, False), (20_000, True)])
def test_a_rise_that_may_be_chance_is_not_said(rounds, said):
    own = recommend({"conditional": [0.70, 0.74, 0.78], "rounds": rounds}, {"c_d": 0.1})
    assert any("acceptance rises with position" in line for line in own.assumptions) == said


def test_the_design_effect_behind_a_number_of_rounds_is_told():
    rng = np.random.default_rng(4)
    lengths = [np.minimum(rng.geometric(1.0 - a, 50) - 1, 4).tolist() for a in rng.choice([0.95, 0.35], 60)]
    own = Observed.in_order([[4] * 50] * 60, lengths)
    survival = tuple(own.reached() / own.rounds)
    seen = Acceptance(4, 1 + sum(survival), None, survival, 4.0, own, "simulated", rounds=own.rounds)
    for slope in (0.1, 0.2, 0.3, 0.45):
        found = recommend(seen, {"c_d": slope})
        if found.effort.matters and found.effort.design_effect > 1.05:
            assert f"design effect {found.effort.design_effect:.1f}" in str(found)
            return
    pytest.fail("no case with a design effect was met")
