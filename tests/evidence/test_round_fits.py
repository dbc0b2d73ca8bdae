"""Fits to rounds: likelihoods by enumeration, parameters found again under any rule for κ, errors that hold."""

import itertools
import tomllib

import numpy as np
import pytest
from rounds_played import beta_requests, curve, fixed, heuristic, hmm, iid, markov, two_kinds, without_order

from simspec.evidence import hidden_fit
from simspec.evidence.observed import Observed
from simspec.evidence.rounds.adequacy import _chances
from simspec.evidence.rounds.fits import fit_rounds
from simspec.evidence.rounds.hidden import hidden_by_group, hidden_pieces, hidden_point
from simspec.evidence.rounds.models import MODELS
from simspec.evidence.rounds.process_toml import toml_of
from simspec.model import Iid, Markov, ParameterError
from simspec.model.process import Processes
from simspec.stats.logits import logit
from simspec.theory import survival_curve, window
from simspec.theory.quadrature import beta_nodes

SURE = 5.0
"""Standard errors; a false alarm of 6e-7 per comparison."""
BY_NAME = {model.name: model for model in MODELS}
TRUTHS = {
    "i.i.d.": (lambda seed, rule: iid(seed, 0.7, 40, 100, rule), {"alpha": 0.7}),
    "geometric tail": (lambda seed, rule: curve(seed, [0.75, 0.55], 40, 100, rule), {"S_1": 0.75, "q": 0.55}),
    "position": (
        lambda seed, rule: curve(seed, [0.8, 0.5, 0.7, 0.6], 40, 100, rule),
        {"alpha_1": 0.8, "alpha_2": 0.5, "alpha_3": 0.7, "alpha_4": 0.6},
    ),
    "Markov": (lambda seed, rule: markov(seed, 0.7, 0.3, 40, 100, rule), {"alpha": 0.7, "rho": 0.3}),
    "Beta by request": (lambda seed, rule: beta_requests(seed, 6, 3, 120, 40, rule), {"alpha": 2 / 3, "rho": 0.1}),
    "2 classes of requests": (
        lambda seed, rule: two_kinds(seed, 0.85, 0.45, 0.4, 100, 40, rule),
        {"alpha_1": 0.85, "alpha_2": 0.45, "share_1": 0.4},
    ),
    "hidden Markov": (
        lambda seed, rule: hmm(seed, (0.9, 0.4), (0.95, 0.95), 40, 150, rule),
        {"alpha_high": 0.9, "alpha_low": 0.4, "stay_high": 0.95, "stay_low": 0.95},
    ),
}


@pytest.mark.parametrize("rule", [fixed(4), heuristic], ids=["fixed", "heuristic"])
@pytest.mark.parametrize("name", TRUTHS)
def test_parameters_are_found_again_whatever_rule_chose_kappa(name, rule):
    """Every estimate within 5 standard errors of the truth; those errors are small enough to see a wrong one."""
    make, truth = TRUTHS[name]
    found = fit_rounds(make(3, rule), [name])[0].estimates
    for key, value in truth.items():
        estimate, error = found[key]
        assert abs(estimate - value) < SURE * error
        assert error < 0.05


@pytest.mark.parametrize("name", BY_NAME)
def test_the_likelihood_is_the_product_of_what_each_round_was_expected_to_be(name):
    """Two routes: numbers of verdicts, and the chance of each round given those before it."""
    observed = hmm(5, (0.9, 0.4), (0.95, 0.95), 12, 30, heuristic)
    fit = fit_rounds(observed, [name])[0]
    chance = _chances(fit.ahead(observed), observed.drafted)
    ahead = np.log(chance[np.arange(observed.rounds), observed.accepted]).sum()
    assert fit.log_likelihood == pytest.approx(ahead, abs=1e-3)


def test_a_place_without_a_verdict_is_summed_over():
    """The likelihood with a missing verdict is that with it accepted plus that with it rejected."""
    rng = np.random.default_rng(1)
    bits, parameters = rng.random((1, 8)) < 0.6, np.array([0.9, 0.35, 0.8, 0.6])
    known = np.ones((1, 8), bool)
    known[0, [2, 5]] = False
    total = 0.0
    for filled in itertools.product((False, True), repeat=2):
        bits[0, [2, 5]] = filled
        total += np.exp(hidden_fit.log_likelihood(parameters, bits, np.array([8]))[0])
    assert hidden_fit.log_likelihood(parameters, bits, np.array([8]), known)[0] == pytest.approx(np.log(total))


def test_the_slope_with_missing_verdicts_is_that_of_the_likelihood():
    rng = np.random.default_rng(2)
    bits, known, lengths = rng.random((5, 30)) < 0.6, rng.random((5, 30)) < 0.7, np.array([30, 10, 1, 25, 30])
    point = np.log(np.array([4.0, 0.4, 9.0, 2.0]))
    _, slope = hidden_fit._slope(hidden_fit._rate(point), bits, lengths, known)
    for i in range(4):
        step = np.eye(4)[i] * 1e-5
        up, down = (
            hidden_fit.log_likelihood(hidden_fit._rate(point + s), bits, lengths, known).sum() for s in (step, -step)
        )
        assert slope[i] == pytest.approx((up - down) / 2e-5, rel=1e-5, abs=1e-6)


def test_a_chain_takes_one_step_from_a_rejection_and_two_over_a_bonus_token():
    again, back = 0.8, 0.4
    moves = np.array([[1 - back, back], [1 - again, again]])
    long_run = np.linalg.matrix_power(moves, 200)[0, 1]
    over_bonus = np.linalg.matrix_power(moves, 2)[1, 1]
    rounds = Observed.in_order([[1, 1, 1]], [[1, 0, 1]])
    ahead = BY_NAME["Markov"].ahead(logit(np.array([again, back])), rounds)
    assert np.allclose(ahead[:, 0], [long_run, over_bonus, back])


def test_positions_beyond_kappa_are_unobserved_and_no_rejections():
    """Half of the rounds at κ = 1: were they rejections at draft 2, its rate would halve."""
    mixed = Observed.of_counts([(1, 1000, [700]), (2, 1000, [700, 350])])
    estimates = fit_rounds(mixed, ["position"])[0].estimates
    assert estimates["alpha_1"][0] == pytest.approx(0.7)
    assert estimates["alpha_2"][0] == pytest.approx(0.5)


def test_errors_of_one_rate_are_those_of_a_proportion():
    """Rounds as one group: √(α(1 − α)/verdicts)."""
    own = fit_rounds(Observed.of_counts([(1, 400, [280])]), ["i.i.d."])[0].estimates["alpha"]
    assert own == pytest.approx((0.7, np.sqrt(0.7 * 0.3 / 400)), rel=1e-4)


def test_errors_between_requests_hold_where_requests_differ():
    """60 samples: squared deviations over squared errors average 1 ± 5·√(2/60); as if independent they would be 6."""
    ratio, plain = [], []
    for seed in range(60):
        observed = beta_requests(100 + seed, 6, 3, 60, 30, fixed(4))
        value, error = fit_rounds(observed, ["geometric tail"])[0].estimates["S_1"]
        alone = fit_rounds(without_groups(observed), ["geometric tail"])[0].estimates["S_1"][1]
        ratio.append(((value - 2 / 3) / error) ** 2)
        plain.append(((value - 2 / 3) / alone) ** 2)
    assert abs(np.mean(ratio) - 1.0) < 5 * np.sqrt(2 / 60)
    assert np.mean(plain) > 1.0 + 5 * np.sqrt(2 / 60)


def without_groups(observed):
    return Observed.of_counts([(4, observed.rounds, observed.reached().tolist())])


def test_rules_for_kappa_bias_rates_without_memory_and_not_those_with():
    """Requests of two rates under the rule of Hugging Face: draft 3 looks far better than it is at a fixed κ."""
    observed = two_kinds(4, 0.9, 0.5, 0.5, 300, 40, heuristic)
    position, classes = fit_rounds(observed, ["position", "2 classes of requests"])
    at_fixed = (0.9**3 + 0.5**3) / (0.9**2 + 0.5**2)
    value, error = position.estimates["alpha_3"]
    assert value - at_fixed > SURE * error
    for name, truth in (("alpha_1", 0.9), ("alpha_2", 0.5)):
        value, error = classes.estimates[name]
        assert abs(value - truth) < SURE * error


def test_fresh_chain_and_geometric_tail_are_one_law():
    """What the fit says nobody can tell apart: S_1 = α and q = α + ρ(1 − α)."""
    fit = fit_rounds(Observed.of_counts([(5, 1000, [700, 490, 350, 240, 170])]), ["geometric tail"])[0]
    alpha, q = (fit.estimates[name][0] for name in ("S_1", "q"))
    fresh = Markov(alpha=alpha, rho=(q - alpha) / (1 - alpha))
    assert np.allclose(survival_curve(fresh, 12), survival_curve(fit.process, 12))


def test_predictions_are_those_of_the_exact_route():
    fit = fit_rounds(iid(1, 0.6, 20, 50, fixed(4)), ["i.i.d."])[0]
    assert fit.mean_tokens(9) == window(Iid(alpha=fit.estimates["alpha"][0]), 9).mean_tokens


def test_processes_by_request_emit_at_the_measured_kappa_what_was_measured():
    """Requests of low rate are short: weighed each once they would predict too little."""
    low, high = iid(1, 0.4, 30, 20, fixed(4)), iid(2, 0.85, 30, 200, fixed(4))
    both = Observed.in_order(
        [own.drafted[a:b].tolist() for own in (low, high) for a, b in itertools.pairwise(own.offsets)],
        [own.accepted[a:b].tolist() for own in (low, high) for a, b in itertools.pairwise(own.offsets)],
    )
    measured = 1.0 + both.accepted.mean()
    for name in ("Beta by request", "2 classes of requests"):
        fit = fit_rounds(both, [name])[0]
        assert fit.mean_tokens(4) == pytest.approx(measured, rel=0.02)


def short_requests(seed, tokens, groups):
    """Requests that stop with the round that reaches so many tokens; the log counts all of that round."""
    rng, rows = np.random.default_rng(seed), []
    for alpha in rng.beta(5.0, 2.2, groups):
        rows.append([])
        while sum(rows[-1]) + len(rows[-1]) < tokens:
            rows[-1].append(min(int(rng.geometric(1.0 - alpha)) - 1, 4))
    return Observed.in_order([[4] * len(own) for own in rows], rows)


@pytest.mark.parametrize("tokens", [12, 30, 80, 300])
def test_processes_by_request_emit_what_short_requests_emitted(tokens):
    """1,500 requests: within 1% of the log's own E, by the exact route and pasted into a scenario.

    How the fitted rates scatter about the log's E is 0.2%: 5 standard errors.  Requests as short as those of the log,
    whose surplus a scenario discards, would miss by 8.5%, 3.7% and 1.4% at the first three.
    """
    observed = short_requests(8, tokens, 1_500)
    measured = 1.0 + observed.accepted.mean()
    for name in ("Beta by request", "2 classes of requests", "3 classes of requests"):
        fit = fit_rounds(observed, [name])[0]
        pasted = Processes.make(**tomllib.loads(toml_of(fit.process))["process"])
        assert fit.mean_tokens(4) == pytest.approx(measured, rel=0.01)
        assert window(pasted, 4).mean_tokens == pytest.approx(measured, rel=0.01)


@pytest.mark.deep
def test_errors_of_predictions_hold_for_other_requests():
    """60 logs of requests with 40 rounds each: E(8) from κ = 4, in its errors, has mean 0 and spread 1 ± 5σ."""
    rates, shares = beta_nodes(6.0, 3.0, 32)
    at = {kappa: np.array([window(Iid(alpha=float(rate)), kappa).mean_tokens for rate in rates]) for kappa in (4, 8)}
    truth = shares @ at[4] / (shares @ (at[4] / at[8]))  # each request weighs by the tokens its 40 rounds emit
    apart = []
    for seed in range(60):
        fit = fit_rounds(beta_requests(500 + seed, 6, 3, 60, 40, fixed(4)), ["Beta by request"])[0]
        apart.append((fit.mean_tokens(8) - truth) / fit.error(8))
    assert abs(np.mean(apart)) < SURE / np.sqrt(60)
    assert abs(np.std(apart) - 1.0) < SURE / np.sqrt(120)


def test_without_order_or_groups_the_models_that_want_them_say_so():
    rounds = without_order(iid(1, 0.6, 1, 50, fixed(4)))
    assert BY_NAME["Markov"].why_not(rounds) == "the order of rounds is not in the source"
    assert "requests" in BY_NAME["Beta by request"].why_not(rounds)
    with pytest.raises(ParameterError, match="cannot be fitted: the order"):
        fit_rounds(rounds, ["hidden Markov"])
    with pytest.raises(ParameterError, match="unknown"):
        fit_rounds(rounds, ["hiden Markov"])
    with pytest.raises(ParameterError, match="no round"):
        fit_rounds(Observed.of_counts([]))


@pytest.mark.parametrize("seed", [101, 137])
def test_of_several_maxima_of_a_short_log_the_highest_is_found(seed):
    """12 × 8 rounds of one rate, where the three beginnings for long logs end 0.8 and 1.5 of ln L too low."""
    pieces = hidden_pieces(iid(seed, 0.7, 12, 8, fixed(4)))
    usual = hidden_fit.maximise(pieces.bits, pieces.lengths, known=pieces.known, steep=1e-6)
    gain = hidden_by_group(hidden_point(pieces), pieces).sum() - hidden_by_group(logit(usual), pieces).sum()
    assert gain > 0.7


@pytest.mark.parametrize("accepted", [[0] * 50, [4] * 50], ids=["never", "always"])
def test_drafts_that_always_or_never_succeed_are_fitted_without_an_error(accepted):
    observed = Observed.in_order([[4] * 50] * 10, [accepted] * 10)
    for fit in fit_rounds(observed):
        assert -0.3 < fit.log_likelihood < 1e-3
        assert fit.mean_tokens(4) == pytest.approx(1.0 + accepted[0], abs=1e-2)
        if fit.name != "hidden Markov":  # one of its states is never seen, and anything goes there
            assert np.isnan(next(iter(fit.estimates.values()))[1])
