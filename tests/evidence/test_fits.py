"""Fits: likelihoods by enumeration, parameters found again, and the right process wins on requests it has not seen."""

import itertools

import numpy as np
import pytest
from evidence_traces import beta_by_request, hidden, iid, markov, trace_of
from scipy.special import betaln

from simspec.evidence import hidden_fit, prediction
from simspec.evidence.dense import DenseTrace
from simspec.evidence.fits import MODELS, Fit, Verdicts, draw_verdicts
from simspec.evidence.prediction import CRITERIA, contest, why_not
from simspec.model import ParameterError
from simspec.theory import window

BY_NAME = {model.name: model for model in MODELS}
FAST = [model for model in MODELS if model.name != "hidden Markov"]


@pytest.fixture(autouse=True)
def few_groups(monkeypatch):
    """Errors from 8 groups of requests: a quarter of the usual work."""
    monkeypatch.setattr(prediction, "GROUPS", 8)


def summed_over_states(parameters, bits):
    """Likelihood of one sequence, every path of states counted."""
    rates, stay = parameters[:2], parameters[2:]
    moves = np.array([[stay[0], 1 - stay[0]], [1 - stay[1], stay[1]]])
    first = np.array([1 - stay[1], 1 - stay[0]]) / (2 - stay.sum())
    total = 0.0
    for path in itertools.product((0, 1), repeat=len(bits)):
        chance = first[path[0]]
        for t, state in enumerate(path):
            chance *= rates[state] if bits[t] else 1 - rates[state]
            chance *= moves[path[t - 1], state] if t else 1.0
        total += chance
    return total


def test_the_likelihood_of_hidden_states_is_the_sum_over_all_paths():
    rng = np.random.default_rng(1)
    bits, lengths = rng.random((6, 9)) < 0.6, np.array([9, 4, 1, 9, 7, 2])
    parameters = np.array([0.9, 0.35, 0.8, 0.6])
    found = hidden_fit.log_likelihood(parameters, bits, lengths)
    plain = [np.log(summed_over_states(parameters, own[:n])) for own, n in zip(bits, lengths, strict=True)]
    assert np.allclose(found, plain)


def test_the_slope_is_that_of_the_likelihood():
    rng = np.random.default_rng(2)
    bits, lengths = rng.random((5, 30)) < 0.6, np.array([30, 10, 1, 25, 30])
    point = np.log(np.array([4.0, 0.4, 9.0, 2.0]))
    value, slope = hidden_fit._slope(hidden_fit._rate(point), bits, lengths)
    for i in range(4):
        ends = [point.copy(), point.copy()]
        ends[0][i] += 1e-5
        ends[1][i] -= 1e-5
        up, down = (hidden_fit.log_likelihood(hidden_fit._rate(end), bits, lengths).sum() for end in ends)
        assert np.isclose((up - down) / 2e-5, slope[i], atol=1e-6)
    assert np.isclose(value, hidden_fit.log_likelihood(hidden_fit._rate(point), bits, lengths).sum())


def verdicts_of(grid):
    return draw_verdicts(trace_of(grid))


SCORES = {
    "i.i.d.": (np.array([0.7]), lambda b: np.where(b, np.log(0.7), np.log(0.3)).sum()),
    "Markov": (
        np.array([0.6, 0.5, 0.8]),
        lambda b: (np.log(0.6 if b[0] else 0.4) + sum(
            np.log((0.8 if x else 0.5) if y else (0.2 if x else 0.5)) for x, y in itertools.pairwise(b))),
    ),
    "Beta by request": (
        np.array([0.6, 0.1]), lambda b: betaln(5.4 + b.sum(), 3.6 + len(b) - b.sum()) - betaln(5.4, 3.6),
    ),
    "Beta by window": (
        np.array([0.6, 0.1]),
        lambda b: sum(betaln(5.4 + c.sum(), 3.6 + len(c) - c.sum()) - betaln(5.4, 3.6) for c in (b[:8], b[8:])),
    ),
    "hidden Markov": (
        np.array([0.9, 0.4, 0.8, 0.7]), lambda b: np.log(summed_over_states(np.array([0.9, 0.4, 0.8, 0.7]), b)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SCORES)
def test_scores_are_log_likelihoods_by_request(name):
    """11 positions, so that the blocks of a window are 8 and 3 long."""
    bits = np.random.default_rng(3).random((4, 11)) < 0.6
    parameters, plain = SCORES[name]
    found = BY_NAME[name].score(Fit(None, parameters), verdicts_of(bits))
    assert np.allclose(found, [plain(own) for own in bits])


FOUND = {
    "i.i.d.": (lambda rng: iid(rng, 100, 200), [0.6], [0.02]),
    "Markov": (lambda rng: markov(rng, 100, 200), [0.6, 0.42, 0.72], [0.02, 0.02, 0.02]),
    "Beta by request": (lambda rng: beta_by_request(rng, 300, 100), [0.6, 1 / 11], [0.04, 0.04]),
    "Beta by window": (
        lambda rng: rng.random((100, 200)) < np.repeat(rng.beta(6, 4, (100, 25)), 8, axis=1),
        [0.6, 1 / 11], [0.02, 0.03],
    ),
    "hidden Markov": (lambda rng: hidden(rng, 100, 200), [0.95, 0.4, 0.97, 0.97], [0.02, 0.03, 0.015, 0.015]),
}  # fmt: skip


@pytest.mark.parametrize("name", FOUND)
def test_parameters_are_found_again(name):
    """Within about five standard errors of estimates of this size."""
    make, truth, tolerance = FOUND[name]
    found = BY_NAME[name].fit(verdicts_of(make(np.random.default_rng(4))), None).parameters
    assert (np.abs(found - truth) < tolerance).all()


def test_a_fit_from_a_start_is_the_fit_without_one():
    own = verdicts_of(hidden(np.random.default_rng(5), 20, 100))
    for name in ("Beta by request", "hidden Markov"):
        fresh = BY_NAME[name].fit(own, None).parameters
        again = BY_NAME[name].fit(own, np.array([0.8, 0.3, 0.8, 0.9][: len(fresh)])).parameters
        assert np.allclose(fresh, again, atol=2e-3)


@pytest.mark.parametrize("rho", [0.001, 0.4])
def test_the_stand_in_of_a_beta_law_is_that_law(rho):
    rng = np.random.default_rng(11)
    rates = rng.beta(0.6 * (1 - rho) / rho, 0.4 * (1 - rho) / rho, 40)
    own = BY_NAME["Beta by request"].fit(verdicts_of(rng.random((40, 50)) < rates[:, None]), None)
    for kappa in (2, 12):
        law, same = window(own.process, kappa), own.law(kappa)
        assert np.allclose(law.pmf_accepted, same.pmf_accepted, atol=1e-6)
        assert np.isclose(law.mean_accepted, same.mean_accepted, rtol=1e-6)


def test_soft_evidence_would_mislead_and_drawn_verdicts_do_not():
    """A chance of .6 everywhere: the rate found is .6, where log(c·a + (1 − c)(1 − a)) is largest at a = 1."""
    found = BY_NAME["hidden Markov"].fit(verdicts_of(np.full((10, 100), 0.6)), None)
    law = window(found.process, 4)
    assert abs(law.pmf_accepted[0] - 0.4) < 0.05
    rates = np.linspace(0.01, 0.99, 99)
    assert rates[np.argmax(np.log(0.6 * rates + 0.4 * (1 - rates)))] > 0.98


WINNERS = {
    "i.i.d.": lambda rng: iid(rng, 60, 150),
    "Markov": lambda rng: markov(rng, 60, 150),
    "Beta by request": lambda rng: beta_by_request(rng, 60, 150),
}


@pytest.mark.parametrize("name", WINNERS)
def test_the_process_that_made_the_trace_wins_or_ties(name):
    """Tied for the best by every criterion, its predictions within 5 errors; i.i.d. is worse where it should be."""
    found = contest(trace_of(WINNERS[name](np.random.default_rng(6))), models=FAST)
    own = next(one for one in found.predictions if one.model == name)
    assert all(name in found.best(criterion) for criterion in CRITERIA)
    for value, error in (*own.accepted.values(), *own.full.values()):
        assert abs(value) < 5 * error
    if name != "i.i.d.":
        assert found.best("unseen verdicts")[0] == name
        assert "i.i.d." not in found.best("unseen verdicts")
        assert "i.i.d." not in found.best("full rounds")


def test_hidden_states_win_where_there_are_some():
    found = contest(trace_of(hidden(np.random.default_rng(7), 24, 150)))
    assert found.best("unseen verdicts")[0] == "hidden Markov"
    assert "i.i.d." not in found.best("unseen verdicts")
    own = found.predictions[-1]
    assert abs(own.accepted[8][0]) < 5 * own.accepted[8][1]


def test_a_wrong_prediction_is_found():
    """A rate .05 too high, planted in the i.i.d. fit: E is off by more than 5 errors at every κ."""
    from dataclasses import replace

    from simspec.model import Iid

    right = BY_NAME["i.i.d."]

    def planted(verdicts, start):
        alpha = right.fit(verdicts, start).parameters[0] + 0.05
        return Fit(Iid(alpha=alpha), np.array([alpha]))

    models = [right, replace(right, name="planted", fit=planted)]
    found = contest(trace_of(iid(np.random.default_rng(8), 60, 150)), models=models)
    good, bad = found.predictions
    assert all(abs(value) < 5 * error for value, error in good.accepted.values())
    assert all(value > 5 * error for value, error in bad.accepted.values())
    assert all(found.best(criterion)[0] == "i.i.d." for criterion in CRITERIA)
    assert "planted" not in found.best("accepted per round")


def test_a_half_is_judged_by_the_other_one():
    """Rates .45 and .75 in turn: what is fitted to one half is worse on the other than the rate between them."""
    from dataclasses import replace

    from simspec.model import Iid

    own = BY_NAME["i.i.d."]
    between = replace(own, name="between", fit=lambda verdicts, start: Fit(Iid(alpha=0.6), np.array([0.6])))
    grid = np.random.default_rng(12).random((40, 100)) < np.where(np.arange(40) % 2, 0.45, 0.75)[:, None]
    found = contest(trace_of(grid), models=[own, between])
    assert found.best("unseen verdicts") == ["between"]


def test_errors_of_predictions_cover(monkeypatch):
    """Of 100 i.i.d. traces the 95% interval of log E ratio at κ = 4 holds 0 at least 81 times (false alarm 1e-6)."""
    from simspec.stats.intervals import student

    monkeypatch.setattr(prediction, "GROUPS", 32)
    rng, inside, narrow = np.random.default_rng(9), 0, 0
    for _ in range(100):
        found = contest(trace_of(iid(rng, 32, 60)), kappas=(4,), models=FAST[:1])
        value, error = found.predictions[0].accepted[4]
        inside += abs(value) < student(0.95, 32) * error
        narrow += abs(value) < student(0.95, 32) * error / 3
    assert inside >= 81
    assert narrow < 81


def test_which_requests_are_whose_does_not_change_verdicts():
    trace = trace_of(hidden(np.random.default_rng(10), 6, 40))
    own = draw_verdicts(trace, seed=3)
    part = own.take(np.array([1, 4]))
    assert (part.bits == own.bits[:, np.r_[40:80, 160:200]]).all()
    assert part.trace.offsets.tolist() == [0, 40, 80]
    assert len(draw_verdicts(trace_of(np.ones((2, 5)))).bits) == 1


REFUSED = [
    (trace_of(np.full((3, 20), 0.5)), "too few"),
    (trace_of(np.ones((9, 20))), "every verdict is the same"),
    (DenseTrace.of(np.full(40, 0.5), np.arange(0, 41, 4), np.tile([0, 1, 3, 4], 10)), "missing"),
]


@pytest.mark.parametrize(("trace", "said"), REFUSED, ids=[said for _, said in REFUSED])
def test_what_cannot_be_fitted_is_said(trace, said):
    assert said in why_not(trace)
    with pytest.raises(ParameterError, match=said):
        contest(trace)
    assert isinstance(Verdicts(trace, np.zeros((1, len(trace.chance)), bool)), Verdicts)
