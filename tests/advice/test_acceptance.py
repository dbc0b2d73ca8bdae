"""Acceptance from figures and logs: what is known, with its error, and what is refused."""

import numpy as np
import pytest

import simspec
from simspec import ParameterError, theory
from simspec.advice.acceptance import acceptance_of_numbers, acceptance_of_source
from simspec.evidence.observed import Observed

V0 = (
    "INFO 09-01 10:00:00 metrics.py:373] Speculative metrics: Draft acceptance rate: 0.642, System efficiency: 0.598, "
    "Number of speculative tokens: 3, Number of accepted tokens: 8547, Number of draft tokens: 13311, "
    "Number of emitted tokens: 10616.\n"
)
EARLY = (
    "INFO [metrics.py:61] SpecDecoding metrics: Draft acceptance rate: 50.0%, Accepted: 6 tokens, Drafted: 12 tokens\n"
)


@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.7, 1.0])
def test_one_mean_in_three_words(alpha):
    """α, E and accepted ÷ drafted of the same i.i.d. drafts are one acceptance."""
    emitted = theory.window(simspec.Iid(alpha=alpha), 5).mean_tokens
    for given in ({"alpha": alpha}, {"emitted": emitted}, {"rate": (emitted - 1) / 5}):
        own = acceptance_of_numbers(kappa=5, **given)
        assert own.emitted == pytest.approx(emitted)
        assert own.alpha == pytest.approx(alpha, abs=1e-9)
        assert own.survival is None
        assert own.emitted_interval is None


def test_survival_and_conditional_rates_are_one_curve():
    first = acceptance_of_numbers(survival=[0.8, 0.4, 0.1], rounds=100)
    second = acceptance_of_numbers(conditional=[0.8, 0.5, 0.25], rounds=100)
    assert first.survival == pytest.approx(second.survival)
    assert first.conditional == pytest.approx((0.8, 0.5, 0.25))
    assert (first.kappa, first.emitted) == (3, pytest.approx(2.3))
    assert first.observed.reached().tolist() == [80, 40, 10]
    assert acceptance_of_numbers(survival=[0.8, 0.4, 0.1], kappa=2).emitted == pytest.approx(2.2)


def test_the_interval_covers():
    """2,000 runs of 200 rounds; a nominal 95% interval covers in 93–97%: 6e-5 would be chance at 4 sd, 1e-9 at 6 sd."""
    curve = np.array([0.7, 0.4, 0.2])
    pmf = -np.diff(np.concatenate([[1.0], curve]), append=0.0)
    counts = np.random.default_rng(1).multinomial(200, pmf, size=2000)
    hits = 0
    for exactly in counts:
        reached = np.cumsum(exactly[::-1])[::-1][1:] / 200
        low, high = acceptance_of_numbers(survival=reached, rounds=200).emitted_interval
        hits += low <= 2.3 <= high
    assert abs(hits / 2000 - 0.95) < 6 * np.sqrt(0.95 * 0.05 / 2000)


@pytest.mark.parametrize("given", ["emitted", "rate", "survival", "alpha"])
def test_rounds_that_are_all_alike_are_not_a_certainty(given):
    """0 or all of n: Clopper and Pearson (1934), 1 − 0.025^(1/n), on S_1 or S_κ, whatever the law of drafts."""
    ends = {"emitted": (1.0, 4.0), "rate": (0.0, 1.0), "survival": ([0.0] * 3, [1.0] * 3), "alpha": (0.0, 1.0)}[given]
    limit = 1.0 - 0.025 ** (1.0 / 161)
    for value, expected in zip(ends, ((1.0, 1.0 + 3 * limit), (4.0 - 3 * limit, 4.0)), strict=True):
        own = acceptance_of_numbers(kappa=3, rounds=161, **{given: value})
        assert own.emitted_interval == pytest.approx(expected)
    assert acceptance_of_numbers(kappa=3, rounds=1, emitted=1.0).emitted_interval == pytest.approx((1.0, 3.925))


def test_a_log_of_which_nothing_is_accepted_counts_requests_where_it_tells_them_apart(tmp_path):
    rows = [f"0,3,{request}" for request in "abcde" for _ in range(40)]
    (tmp_path / "one.csv").write_text("\n".join(["accepted,kappa", *(row[:3] for row in rows)]) + "\n")
    (tmp_path / "each.csv").write_text("\n".join(["accepted,kappa,request", *rows]) + "\n")
    for name, units in (("one.csv", 200), ("each.csv", 5)):
        own = acceptance_of_source(simspec.fit(tmp_path / name)[0])
        assert own.emitted_interval == pytest.approx((1.0, 1.0 + 3 * (1.0 - 0.025 ** (1.0 / units))))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "nothing given"),
        ({"emitted": 2.0, "alpha": 0.5, "kappa": 3}, "--emitted and --alpha given"),
        ({"emitted": 2.0}, "needs --kappa"),
        ({"rate": 0.4}, "needs --kappa"),
        ({"emitted": 5.0, "kappa": 3}, "allowed: 1 ≤ emitted ≤ 4"),
        ({"emitted": 0.9, "kappa": 3}, "without the bonus token is one less"),
        ({"alpha": 65.0}, "0.6500 for 65%"),
        ({"rate": 65.0, "kappa": 3}, "0.6500 for 65%"),
        ({"rate": 1.2, "kappa": 3}, "allowed: 0 to 1; a rate above 100% counts the bonus token"),
        ({"alpha": 1.2}, "allowed: 0 to 1$"),
        ({"survival": [0.8, 0.9]}, "never rises"),
        ({"survival": [74.3, 58.0]}, "for 74.3%"),
        ({"survival": []}, "allowed: 1 to"),
        ({"survival": [0.8], "kappa": 2}, "beyond the 1 positions"),
        ({"alpha": 0.5, "rounds": 0}, "rounds ≥ 1"),
        ({"alpha": 0.5, "kappa": 0}, "1 ≤ kappa"),
        ({"alpha": float("nan")}, "allowed: 0 to 1"),
    ],
)
def test_what_is_refused_says_what_is_allowed(given, says):
    with pytest.raises(ParameterError, match=says):
        acceptance_of_numbers(**given)


def test_a_log_gives_its_rounds_and_its_warnings(tmp_path):
    (tmp_path / "rounds.csv").write_text("accepted,kappa,request\n3,4,a\n0,4,a\n4,4,b\n1,4,b\n")
    own = acceptance_of_source(simspec.fit(tmp_path / "rounds.csv")[0])
    assert (own.kappa, own.emitted, own.rounds, own.survival) == (4, 3.0, 4, (0.75, 0.5, 0.5, 0.25))
    assert isinstance(own.observed, Observed)
    assert own.observed.groups == 2
    assert own.source.shape == "rounds-csv"


def test_one_segment_speaks_for_its_log(tmp_path):
    (tmp_path / "v0.log").write_text(V0)
    own = acceptance_of_source(simspec.fit(tmp_path / "v0.log")[0])
    assert (own.kappa, own.rounds) == (3, 4437)
    assert own.emitted == pytest.approx(2.3926, abs=1e-4)
    assert own.alpha == pytest.approx(0.6626, abs=1e-4)
    low, high = own.emitted_interval
    assert low < own.emitted < high


def test_a_log_that_does_not_know_its_draft_length_says_so(tmp_path):
    (tmp_path / "early.log").write_text(EARLY)
    with pytest.raises(ParameterError, match=r"early.log: tokens per round are not known: .*--emitted E --kappa N"):
        acceptance_of_source(simspec.fit(tmp_path / "early.log")[0])
    told = acceptance_of_source(simspec.fit(tmp_path / "early.log", kappa=3)[0])
    assert (told.kappa, told.emitted, told.rounds) == (3, 2.5, 4)


def test_unknown_figures_stay_unknown():
    own = acceptance_of_numbers(alpha=0.5)
    assert (own.kappa, own.emitted, own.rounds) == (None, None, None)
    assert acceptance_of_numbers(kappa=3, emitted=2.0).to_dict()["survival"] is None
