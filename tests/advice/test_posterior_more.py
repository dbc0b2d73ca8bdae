"""Which κ count as measured, what re-weighting does draw by draw, and the spread of few groups."""

import math

import numpy as np
import pytest
from scipy.special import logit

from simspec.advice.acceptance import Acceptance
from simspec.advice.recommend import posterior
from simspec.advice.recommend.posterior import MEASURED, MODEL, REWEIGHTED, tokens_posterior
from simspec.advice.recommend.rate_draws import bootstrapped, group_weights, wider
from simspec.advice.recommend.tails import BETA_ROUND, CANDIDATES, GEOMETRIC, IID, tail_of
from simspec.evidence.observed import Observed
from simspec.evidence.rounds.fits import fit_rounds


def requests(rng, alphas, rounds=60, kappa=3):
    lengths = [np.minimum(rng.geometric(1.0 - alpha, rounds) - 1, kappa).tolist() for alpha in alphas]
    return Observed.in_order([[kappa] * rounds] * len(alphas), lengths)


def seen(own):
    survival = own.reached() / own.rounds
    kappa, emitted = own.kappa_max, 1.0 + survival.sum()
    return Acceptance(kappa, emitted, None, tuple(survival), float(kappa), own, "simulated", rounds=own.rounds)


def test_only_the_kappa_of_the_log_is_measured_without_weighting():
    own = tokens_posterior(seen(requests(np.random.default_rng(1), [0.9, 0.4] * 15)), 5)
    assert own.basis == (MEASURED, REWEIGHTED, REWEIGHTED, MEASURED, MODEL, MODEL)


def test_a_position_that_few_groups_reach_is_a_models():
    """Two of twelve requests ever accept a first draft. (Once a ValueError.)"""
    own = tokens_posterior(seen(requests(np.random.default_rng(2), [0.9, 0.9] + [1e-9] * 10)), 5)
    assert own.basis[1:] == (REWEIGHTED, MODEL, MODEL, MODEL, MODEL)
    assert (np.diff(own.tokens) > 0).all()


def test_every_draw_of_requests_is_weighted_anew(monkeypatch):
    log = seen(requests(np.random.default_rng(3), [0.9, 0.4] * 15))
    again = tokens_posterior(log, 4)
    monkeypatch.setattr(posterior, "why_not", lambda observed: "for this test")
    factor = again.draws / tokens_posterior(log, 4).draws
    assert factor[:, 3] == pytest.approx(1.0)
    assert np.ptp(factor[:, 1]) > 0.01
    assert np.median(factor[:, 1]) > 1.0  # easy requests need fewer rounds, so that hard ones weigh less at a short κ


def test_few_groups_are_spread_as_students_law():
    table = np.array([[70.0], [55.0], [62.0], [48.0]])
    weights = group_weights(4, 4000, 1)
    few, many = (logit(bootstrapped(table, np.full((4, 1), 100.0), weights, n)).std() for n in (4, 1000))
    assert few / many == pytest.approx(wider(4) / wider(1000), rel=1e-6)


def test_drafts_cut_short_tell_no_share_of_full_rounds():
    assert Acceptance(4, 2.0, None, None, 2.0, None, "given", alpha=0.55).rejecting is None
    assert Acceptance(4, 2.0, None, None, 4.0, None, "given", alpha=0.5).rejecting == 1.0 - 0.5**4


def test_tails_weigh_by_bic_and_those_of_one_shape_together():
    own = Observed.of_counts([(3, 1000, [700, 490, 343])])
    bic = {fit.name: fit.bic for fit in fit_rounds(own, CANDIDATES)}
    share = {name: math.exp((min(bic.values()) - value) / 2) for name, value in bic.items()}
    weights = [shape.weight for shape in tail_of(own, 3, 5, None).shapes]
    assert weights == pytest.approx([share[IID] + share[GEOMETRIC], share[BETA_ROUND]])
