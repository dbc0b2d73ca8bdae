"""The check of a process: a true one fails as often as stated, under any rule for κ; each kind of misfit is caught."""

import numpy as np
import pytest
from rounds_played import beta_requests, curve, fixed, heuristic, hmm, iid, markov, two_kinds, without_order
from scipy.stats import binom

from simspec.evidence.observed import Observed
from simspec.evidence.rounds.adequacy import LEVEL, _chances, _score, adequacy
from simspec.evidence.rounds.fits import fit_rounds
from simspec.evidence.rounds.sample import one_by_one
from simspec.evidence.rounds.spread import spread_of

FALSE_ALARM = 1e-6
TRUE = {
    "i.i.d., heuristic": ("i.i.d.", lambda seed: iid(seed, 0.7, 20, 40, heuristic)),
    "tail, fixed": ("geometric tail", lambda seed: curve(seed, [0.7, 0.5], 20, 40, fixed(4))),
    "tail, heuristic": ("geometric tail", lambda seed: curve(seed, [0.7, 0.5], 20, 40, heuristic)),
    "Beta by request, heuristic": ("Beta by request", lambda seed: beta_requests(seed, 7, 3, 30, 30, heuristic)),
    "Beta by request, no order": (
        "Beta by request",
        lambda seed: without_order(beta_requests(seed, 7, 3, 30, 30, fixed(4))),
    ),
    "two classes, fixed": ("2 classes of requests", lambda seed: two_kinds(seed, 0.85, 0.45, 0.4, 30, 30, fixed(4))),
    "Markov, heuristic": ("Markov", lambda seed: markov(seed, 0.7, 0.3, 20, 40, heuristic)),
}


def failures(name, make, seeds):
    """How many of these logs are found inadequate."""
    failed = 0
    for seed in seeds:
        observed = make(seed)
        failed += not adequacy(fit_rounds(observed, [name])[0], observed, seed).adequate
    return failed


def test_a_true_process_fails_as_often_as_stated():
    """All kinds together, 28 logs; a check of twice its stated false alarm would show in the deep one below."""
    failed = sum(failures(name, make, range(1, 5)) for name, make in TRUE.values())
    assert binom.sf(failed - 1, 4 * len(TRUE), LEVEL) > FALSE_ALARM


def spreads(name, make, seeds):
    """Two-sided p-values of the spread between requests, of logs from the process itself."""
    out = []
    for seed in seeds:
        observed = make(seed)
        found = adequacy(fit_rounds(observed, [name])[0], observed, seed).statistics
        out += [own.p_value for own in found if own.name == "spread between requests"]
    return np.array(out)


def test_two_long_requests_of_one_rate_do_not_seem_to_differ():
    """60 logs of 2 × 300 rounds: p ≤ 0.05 in 5% of them; 14 or more would be a false alarm of 1e-6."""
    low = (spreads("i.i.d.", lambda seed: iid(seed, 0.7, 2, 300, fixed(4)), range(60)) <= 0.05).sum()
    assert binom.sf(low - 1, 60, 0.05) > FALSE_ALARM


def test_the_step_of_a_replicate_goes_where_a_fit_to_it_would():
    """Spread of ten other logs from the process: by one step from the first log's fit, and by fits of their own.

    Without the step group sums add up to anything, and the two differ by as much as the spread itself.
    """
    first = fit_rounds(iid(0, 0.7, 2, 300, fixed(4)), ["i.i.d."])[0]
    for seed in range(1, 11):
        other = iid(seed, 0.7, 2, 300, fixed(4))
        stepped, refitted = (
            spread_of(other, chance, *_score(fit, other, chance))
            for fit in (first, fit_rounds(other, ["i.i.d."])[0])
            for chance in [_chances(fit.ahead(other), other.drafted)]
        )
        usual = (stepped.centred[np.arange(600), other.accepted] ** 2).sum()
        apart = stepped.of(other.accepted) - refitted.of(other.accepted, fitted=True)
        assert abs(apart) < 0.1 * usual


FEW = {
    "2 long": ("i.i.d.", lambda seed: iid(seed, 0.7, 2, 600, fixed(4))),
    "4 long": ("i.i.d.", lambda seed: iid(seed, 0.7, 4, 300, fixed(4))),
    "10 of a chain": ("Markov", lambda seed: markov(seed, 0.7, 0.3, 10, 100, fixed(4))),
}


@pytest.mark.deep
@pytest.mark.parametrize("case", FEW)
def test_few_requests_seem_to_differ_as_often_as_stated(case):
    """300 logs: p ≤ 0.05 in 15 of them; 36 or more, or none, would be a false alarm of 1e-6."""
    low = (spreads(*FEW[case], range(2_000, 2_300)) <= 0.05).sum()
    assert binom.sf(low - 1, 300, 0.05) > FALSE_ALARM
    assert low > 0


@pytest.mark.deep
@pytest.mark.parametrize("case", TRUE)
def test_a_true_process_fails_as_often_as_stated_case_by_case(case):
    """400 logs: 20 expected to fail; 44 or more would be a false alarm of 1e-6, and so would be 2 or fewer."""
    name, make = TRUE[case]
    failed = failures(name, make, range(1_000, 1_400))
    assert binom.sf(failed - 1, 400, LEVEL) > FALSE_ALARM
    assert binom.cdf(failed, 400, LEVEL) > FALSE_ALARM


@pytest.mark.deep
def test_true_hidden_states_fail_as_often_as_stated():
    failed = failures("hidden Markov", lambda seed: hmm(seed, (0.9, 0.4), (0.95, 0.95), 30, 60, heuristic), range(60))
    assert binom.sf(failed - 1, 60, LEVEL) > FALSE_ALARM


WRONG = {
    "first drafts do worse": ("i.i.d.", lambda: curve(1, [0.55, 0.75], 40, 100, fixed(4)), "position profile"),
    "first drafts do worse, heuristic": (
        "i.i.d.",
        lambda: curve(1, [0.55, 0.75], 40, 100, heuristic),
        "position profile",
    ),
    "requests differ": ("i.i.d.", lambda: beta_requests(1, 6, 3, 60, 60, fixed(4)), "spread between requests"),
    "requests differ, whatever curve": (
        "position",
        lambda: beta_requests(1, 6, 3, 60, 60, fixed(4)),
        "spread between requests",
    ),
    "requests differ, no order": (
        "Beta by round",
        lambda: without_order(beta_requests(1, 6, 3, 60, 60, fixed(4))),
        "spread between requests",
    ),
    "rounds hang together": (
        "geometric tail",
        lambda: hmm(1, (0.9, 0.4), (0.95, 0.95), 40, 150, fixed(4)),
        "successive rounds",
    ),
    "rounds hang together beyond requests": (
        "Beta by request",
        lambda: hmm(1, (0.9, 0.4), (0.95, 0.95), 40, 150, fixed(4)),
        "successive rounds",
    ),
    "long drafts come from good requests": (
        "position",
        lambda: two_kinds(1, 0.9, 0.5, 0.5, 40, 50, heuristic),
        "accepted by κ",
    ),
    "full rounds are too many": ("i.i.d.", lambda: beta_requests(1, 2, 1, 60, 60, fixed(8)), "full rounds"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_process_is_caught_where_it_is_wrong(case):
    name, make, statistic = WRONG[case]
    observed = make()
    check = adequacy(fit_rounds(observed, [name])[0], observed)
    assert not check.adequate
    assert statistic in [own.name for own in check.statistics if own.rejected]
    assert {own.name: own for own in check.statistics}[statistic].says.split(" ")[0] in check.says


def test_what_a_fit_sets_by_itself_is_not_checked():
    """Free rates by position at one κ: the curve is the fit's own, and nothing is left to tell."""
    observed = Observed.of_counts([(3, 1000, [700, 350, 175])])
    check = adequacy(fit_rounds(observed, ["position"])[0], observed)
    assert check.adequate
    assert check.statistics == ()
    assert "nothing to check" in check.says


def test_a_parameter_at_its_edge_excuses_nothing():
    """Rates that fall with the position: a Beta law can do no better than one rate, and fails as that does."""
    observed = curve(1, [0.8, 0.5], 40, 100, fixed(3))
    one, beta = (adequacy(fit, observed) for fit in fit_rounds(observed, ["i.i.d.", "Beta by round"]))
    assert [own.rejected for own in beta.statistics] == [own.rejected for own in one.statistics]
    assert not beta.adequate


def test_the_same_seed_gives_the_same_verdict_and_another_nearly_so():
    observed = curve(1, [0.7, 0.5], 20, 40, fixed(4))
    fit = fit_rounds(observed, ["i.i.d."])[0]
    first, again, other = (adequacy(fit, observed, seed) for seed in (1, 1, 2))
    assert first == again
    assert [own.p_value for own in first.statistics] != [own.p_value for own in other.statistics]
    assert np.allclose([own.observed for own in first.statistics], [own.observed for own in other.statistics])


def test_rounds_put_one_by_one_are_the_same_rounds():
    groups = [(3, 1000, [700, 350, 175]), (3, 500, [400, 300, 200])]
    counts = Observed.of_counts(groups, "request")
    single = one_by_one(counts, 10_000, 1)
    assert (single.reached_by_group() == counts.reached_by_group()).all()
    assert single.accepted[:50].std() > 0.0  # shuffled, not sorted
    few = one_by_one(counts, 300, 1)
    assert few.rounds == 300
    assert few.reached()[0] == pytest.approx(0.2 * counts.reached()[0], rel=0.02)


def test_long_logs_are_checked_in_part_and_it_is_said():
    observed = iid(1, 0.6, 40, 100, fixed(3))
    check = adequacy(fit_rounds(observed, ["i.i.d."])[0], observed, most=1_000)
    assert 1_000 <= check.rounds + 100 <= 1_200
    assert f"{check.rounds:,} rounds" in check.says
