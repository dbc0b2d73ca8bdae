"""Errors of fits where they can be had another way, the law a fit stands for, and what is said beside it."""

import math

import numpy as np
import pytest
from rounds_played import fixed, iid, markov, two_kinds

from simspec.evidence.observed import Observed
from simspec.evidence.rounds.fits import fit_rounds
from simspec.evidence.rounds.requests import tokens_by_group
from simspec.model import ParameterError
from simspec.stats.intervals import ratio


def ratio_error(hits, risk):
    return float(ratio(np.asarray(hits)[None], np.asarray(risk)[None]).error[0])


def mean_accepted(observed):
    """E − 1 of the rounds and its error between groups."""
    rounds = np.bincount(observed.group, observed.count, observed.groups)
    accepted = np.bincount(observed.group, observed.count * observed.accepted, observed.groups)
    return accepted.sum() / rounds.sum(), ratio_error(accepted, rounds)


@pytest.mark.parametrize(
    ("name", "observed"),
    [
        ("Markov", markov(7, 0.55, 0.6, 30, 300, fixed(2))),
        ("hidden Markov", markov(7, 0.55, 0.6, 30, 300, fixed(2))),
    ],
)
def test_a_chain_emits_what_its_rounds_emitted(name, observed):
    """The process of the exact route steps as the likelihood does: within 5 standard errors (6e-7)."""
    mean, error = mean_accepted(observed)
    assert error < 0.02
    assert abs(fit_rounds(observed, [name])[0].mean_tokens(2) - 1.0 - mean) < 5.0 * error


@pytest.mark.parametrize("name", ["2 classes of requests", "Beta by request"])
def test_requests_weigh_by_tokens_so_that_the_log_comes_back(name):
    """Easy requests emit three times the tokens of hard ones in as many rounds: E of the log is that of its rounds."""
    easy, hard = (iid(seed, alpha, 40, rounds, fixed(4)) for seed, alpha, rounds in ((1, 0.9, 60), (2, 0.4, 60)))
    runs = [own.take([group]) for own in (easy, hard) for group in range(own.groups)]
    both = Observed.in_order([own.drafted.tolist() for own in runs], [own.accepted.tolist() for own in runs])
    mean, _ = mean_accepted(both)
    assert np.ptp(tokens_by_group(both)) > 100
    assert fit_rounds(both, [name])[0].mean_tokens(4) - 1.0 == pytest.approx(mean, rel=0.02)


def test_with_few_requests_the_sandwich_is_the_error_of_the_ratio_estimator():
    """α of i.i.d. drafts is accepted ÷ examined: its error between 8 requests is known exactly, n/(n − 1) and all."""
    observed = two_kinds(3, 0.85, 0.45, 0.5, 8, 100, fixed(4))
    error = ratio_error(observed.reached_by_group().sum(axis=1), observed.examined_by_group().sum(axis=1))
    assert fit_rounds(observed, ["i.i.d."])[0].estimates["alpha"][1] == pytest.approx(error, rel=1e-3)


def test_few_requests_that_are_alike_do_not_make_a_certainty():
    observed = Observed.in_order([[4] * 50] * 3, [[2, 4, 0, 1, 3] * 10] * 3)
    examined = float(observed.examined().sum())
    alpha, error = fit_rounds(observed, ["i.i.d."])[0].estimates["alpha"]
    assert error == pytest.approx(math.sqrt(alpha * (1 - alpha) / examined), rel=1e-3)


def test_the_error_of_e_holds_that_of_the_requests():
    """At the κ of the log a mixture repeats E, so that its error is near that of the ratio estimator."""
    observed = two_kinds(4, 0.85, 0.45, 0.5, 60, 60, fixed(4))
    _, error = mean_accepted(observed)
    assert 0.9 * error < fit_rounds(observed, ["2 classes of requests"])[0].error(4) < 2.0 * error


def test_units_of_bic_are_requests_where_there_are_enough():
    many, few = iid(5, 0.7, 8, 50, fixed(4)), iid(5, 0.7, 7, 50, fixed(4))
    for observed, units in ((many, 8), (few, 350)):
        own = fit_rounds(observed, ["i.i.d."])[0]
        assert own.units == units
        assert own.bic == pytest.approx(math.log(units) - 2 * own.log_likelihood)
        assert own.aic == pytest.approx(2 - 2 * own.log_likelihood)


def test_a_parameter_at_its_edge_is_said_and_a_simpler_law_inside_keeps_its_errors():
    own = fit_rounds(Observed.of_counts([(2, 100, [100, 100])]), ["i.i.d."])[0]
    assert any("edge" in note for note in own.notes)
    fresh = fit_rounds(Observed.of_counts([(3, 10_000, [7000, 4900, 3430])]), ["Beta by round"])[0]
    assert fresh.estimates["rho"][0] < 1e-3
    assert 0.002 < fresh.estimates["alpha"][1] < 0.006  # as i.i.d. drafts: √(α(1 − α)/examined) = 0.0031
    assert 0.0 < fresh.error(3) < 0.05


def test_classes_take_four_requests_each_and_tails_reach_twice_the_draft():
    with pytest.raises(ParameterError, match="7 requests are too few; it takes 8"):
        fit_rounds(iid(6, 0.7, 7, 20, fixed(4)), ["2 classes of requests"])
    long = Observed.of_counts([(20, 1000, [round(1000 * 0.9**j) for j in range(1, 21)])])
    assert fit_rounds(long, ["geometric tail"])[0].process.longest_draft == 40
