"""Tests of two samples: they lie as rarely as stated, and see what they say they can see.

Seeds are fixed, so every test is deterministic; bounds are set so that another seed would fail with odds below 1e-6.
"""

import math

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from simspec.kernels.tally import SUMS
from simspec.model import Cost, Drift, Iid, Markov, Simulation, Survival
from simspec.run.engine import Job, play
from simspec.stats import difference as stats
from simspec.stats.counts import round_sums

PAIRS = 1000
COST = Cost(c_d=0.1, c_r=0.3)


def tally(process, windows, seed, kappa):
    job = Job(Simulation(process), (kappa,), windows, seed)
    return play(job, range(job.layout.chunks))[0]


def units(process, windows, seed, kappa):
    """Unit totals, and units alike of each: windows where they are independent."""
    own = tally(process, windows, seed, kappa)
    if process.unit != "window":
        return own.sums, np.ones(len(own.sums), np.int64)
    drafted, accepted = np.nonzero(own.histogram)
    return round_sums(drafted, accepted), own.histogram[drafted, accepted]


def many(process, windows, seeds, kappa):
    """Moments of one group per seed."""
    sums, weights = zip(*(units(process, windows, seed, kappa) for seed in seeds), strict=True)
    return stats.moments(np.concatenate(sums), np.cumsum([0, *map(len, sums)])[:-1], np.concatenate(weights))


def p_values(a, b):
    """(quantities, groups); unpaired."""
    own = [stats.independent(name, a, b).p_value for name in stats.WINDOW_QUANTITIES]
    return np.array(own + [stats.independent(name, a, b, COST).p_value for name in stats.PRICED_QUANTITIES])


@pytest.mark.parametrize(
    ("process", "kappa", "windows", "least"),
    [
        (Iid(alpha=0.7), 4, (2000, 2000), 5),
        (Markov(alpha=0.7, rho=0.4, start="carry"), 4, (4096, 4096), 5),
        (Drift(shape="linear", alpha_start=0.85, alpha_end=0.62, tokens=64), 4, (2000, 2000), 5),
        (Iid(alpha=0.7), 4, (1000, 16_000), 3),
        (Iid(alpha=0.999), 4, (2000, 2000), 0),
        (Iid(alpha=0.004), 4, (1000, 16_000), 0),
    ],
    ids=["iid", "carried", "drift", "budgets 1:16", "rare rejection", "rare acceptance, 1:16"],
)
def test_1000_pairs_of_the_same_law_pass_at_the_stated_error(process, kappa, windows, least):
    """At error .05 alarms are at most 50 + 5 sigma (odds < 1e-6), and not so few that the test could not fail."""
    first = many(process, windows[0], range(PAIRS), kappa)
    second = many(process, windows[1], range(PAIRS, 2 * PAIRS), kappa)
    alarms = sum((stats.holm(p) <= 0.05).any() for p in p_values(first, second).T)
    assert least <= alarms <= 50 + 5 * math.sqrt(50 * 0.95)


def test_single_tests_lie_at_their_level():
    """p of one quantity below .05 in 5% of 1,000 pairs: between the 1e-7 quantiles of the binomial."""
    own = p_values(*(many(Iid(alpha=0.7), 4000, range(s, s + PAIRS), 4) for s in (0, PAIRS)))
    for name, row in zip((*stats.WINDOW_QUANTITIES, *stats.PRICED_QUANTITIES), own, strict=True):
        alarms = (row < 0.05).sum()
        if name == "mean_drafted":
            assert alarms == 0
        else:
            assert binom.ppf(1e-7, PAIRS, 0.05) <= alarms <= binom.ppf(1 - 1e-7, PAIRS, 0.05), name


def test_a_planted_shift_is_found_at_the_budget_it_says_it_needs():
    """E[A] raised by .2%: found at the budget named in 9 of 10 cases, and rarely at a quarter of it."""
    base, repeats, level = Iid(alpha=0.7), 16, 1e-3 / 36
    pilot = many(base, 20_000, [100], 4), many(base, 20_000, [101], 4)
    shift, needed = stats.planning(*pilot, level, 0.002, 1)
    assert 0.03 < shift[0] < 0.06
    survival = [0.7**j * 1.002 for j in range(1, 5)]
    for share, least, most in (
        (1.0, 7, 16),
        (0.25, 0, 9),
    ):  # binomial(16, .9) ≥ 7 and binomial(16, .1) ≤ 9 but for 1e-6
        windows = int(needed[0] * share)
        a = many(base, windows, range(repeats), 4)
        b = many(Survival(survival=survival), windows, range(repeats), 4)
        found = (stats.independent("mean_accepted", a, b).p_value <= level).sum()
        assert least <= found <= most, (share, found)


def test_a_ratio_has_the_error_of_the_delta_method():
    a, b = (units(Markov(alpha=0.7, rho=0.3, start="carry"), 20_000, seed, 4)[0] for seed in (1, 2))
    own = stats.independent("alpha_examined", *(stats.moments(s, np.array([0])) for s in (a, b)))
    variance = 0.0
    for sums in (a, b):
        accepted = sums[:, SUMS.index("accepted")].astype(float)
        examined = accepted + sums[:, SUMS.index("rejected")]
        rest = accepted - accepted.sum() / examined.sum() * examined
        variance += len(sums) / (len(sums) - 1) * (rest**2).sum() / examined.sum() ** 2
    assert math.isclose(own.error[0], math.sqrt(variance), rel_tol=1e-9)


def test_a_sample_without_spread_does_not_make_the_other_surer():
    """Pooled variance where it is larger: ten lanes that happen to be alike, against a few hundred that are not."""
    a = units(Markov(alpha=0.7, rho=0.3, start="carry"), 20_000, 1, 4)[0]
    b = np.repeat(a[:1], 10, axis=0)
    n, means = len(a), a[:, SUMS.index("accepted")] / a[:, SUMS.index("n")]
    pooled = (n - 1) * means.var(ddof=1) / (n + 10 - 2) * (1 / n + 1 / 10)
    own = stats.independent("mean_accepted", *(stats.moments(s, np.array([0])) for s in (a, b)))
    assert math.isclose(own.error[0], math.sqrt(pooled), rel_tol=1e-9)
    assert pooled > 10 * means.var(ddof=1) / n


def rounds(lanes, each, events):
    """κ = 1; ``events`` lanes have one rejected round."""
    sums = np.zeros((lanes, len(SUMS)), np.int64)
    lost = (np.arange(lanes) < events).astype(np.int64)
    filled = {"n": each, "accepted": each - lost, "accepted_sq": each - lost, "rejected": lost, "zero": lost}
    for name, value in (filled | {"drafted": each, "tokens": 2 * each - lost}).items():
        sums[:, SUMS.index(name)] = value
    return sums


def one(sums):
    return stats.moments(sums, np.array([0]))


def test_rare_events_are_judged_by_the_exact_test():
    """0 events against 12 in a tenth of the rounds: binomial, where a normal statistic would be far too sure."""
    a, b = rounds(640, 100, 0), rounds(64, 100, 12)
    p = stats.independent("p_zero_accepted", one(a), one(b)).p_value[0]
    assert math.isclose(p, 2 * binomtest(12, 12, 1 / 11, "greater").pvalue, rel_tol=1e-6)
    few = stats.independent("p_zero_accepted", one(rounds(64, 100, 5)), one(rounds(640, 100, 0))).p_value[0]
    assert math.isclose(few, 2 * (1 / 11) ** 5, rel_tol=1e-6)


def test_events_that_are_rare_in_the_smaller_sample_only_are_judged_by_the_exact_test():
    """12 of 162 events in 64 of 1088 lanes."""
    p = stats.independent("p_zero_accepted", one(rounds(1024, 100, 150)), one(rounds(64, 100, 12))).p_value[0]
    assert math.isclose(p, 2 * binomtest(12, 162, 1 / 17, "greater").pvalue, rel_tol=1e-6)


def test_events_in_one_cluster_count_once():
    clustered = rounds(64, 100, 0)
    clustered[0] = rounds(1, 100, 0)[0] + 0
    for name, value in {"accepted": 80, "accepted_sq": 80, "rejected": 20, "zero": 20, "tokens": 180}.items():
        clustered[0, SUMS.index(name)] = value
    assert stats.independent("p_zero_accepted", one(rounds(64, 100, 0)), one(clustered)).p_value[0] > 0.3


def test_no_spread_is_a_difference_only_as_far_as_exchanging_units_can_tell():
    full, none = rounds(64, 10, 0), rounds(64, 10, 0)
    for name, value in {"accepted": 0, "accepted_sq": 0, "rejected": 10, "zero": 10, "tokens": 10}.items():
        none[:, SUMS.index(name)] = value
    many_units = stats.independent("mean_accepted", one(full), one(none))
    assert many_units.error[0] == 0.0
    assert many_units.p_value[0] < 1e-30
    assert stats.independent("mean_accepted", one(full[:2]), one(none[:2])).p_value[0] == pytest.approx(1 / 3)
    assert stats.independent("mean_accepted", one(full), one(full)).p_value[0] == 1.0
    start = np.array([0])
    assert stats.paired("mean_accepted", one(full), one(none), stats.shared(full, none, start)).p_value[0] == 2.0**-63


def test_paired_units_cancel_what_they_share():
    """The same words, E[A] .2% apart: found at a budget at which independent words see nothing."""
    a, c = (units(Markov(alpha=0.7, rho=0.05, start="carry"), 200_000, seed, 4)[0] for seed in (1, 2))
    gain = np.zeros_like(a)
    gain[::3, [SUMS.index("accepted"), SUMS.index("tokens")]] = 4
    both = stats.shared(a, a + gain, np.array([0]))
    together = stats.paired("mean_accepted", one(a), one(a + gain), both)
    apart = stats.independent("mean_accepted", one(a), one(a + gain))
    assert together.difference[0] == apart.difference[0]
    assert together.p_value[0] < 1e-12 < 1e-3 < apart.p_value[0]
    again = stats.paired("speedup", one(a), one(c), stats.shared(a, c, np.array([0])), COST)
    assert again.error[0] == pytest.approx(stats.independent("speedup", one(a), one(c), COST).error[0], rel=0.3)
    same = stats.paired("var_accepted", one(a), one(a), stats.shared(a, a, np.array([0])))
    assert (same.difference[0], same.error[0], same.p_value[0]) == (0.0, 0.0, 1.0)


def overlap(many, own, common):
    """Two samples of ``own`` fresh windows each, of which ``common`` are the same; ``many`` groups."""
    rng, cells = np.random.default_rng(7), round_sums(np.full(5, 4), np.arange(5))
    law = np.diff(np.append(1.0 - 0.7 ** np.arange(5.0), 1.0))
    both = rng.multinomial(common, law, many)
    starts, rows = np.arange(many) * 5, np.tile(cells, (many, 1))
    a, b = (stats.moments(rows, starts, (both + rng.multinomial(own - common, law, many)).ravel()) for _ in range(2))
    return a, b, stats.Moments(np.full(many, float(common)), both @ cells.astype(float), np.zeros((many, 8, 8)))


def test_windows_in_common_are_taken_off_the_variance():
    """Half of 2,000 windows shared: p < .05 in 5% of 2,000 pairs, within 1e-7 quantiles; blind, in next to none."""
    a, b, both = overlap(2000, 2000, 1000)
    least, most = binom.ppf(1e-7, 2000, 0.05), binom.ppf(1 - 1e-7, 2000, 0.05)
    for name in ("mean_accepted", "var_accepted", "alpha_examined"):
        assert least <= (stats.independent(name, a, b, None, both).p_value < 0.05).sum() <= most
        assert (stats.independent(name, a, b).p_value < 0.05).sum() < least
    assert (stats.independent("p_full", a, b, COST, both).p_value < 0.05).sum() <= most


def test_samples_that_share_all_their_windows_are_equal_without_error():
    a, b, both = overlap(3, 2000, 2000)
    for name in (*stats.WINDOW_QUANTITIES, *stats.PRICED_QUANTITIES):
        own = stats.independent(name, a, b, COST if name in stats.PRICED_QUANTITIES else None, both)
        assert (own.difference == 0.0).all()
        assert (own.error == 0.0).all()
        assert (own.p_value == 1.0).all()


def windows_of(windows, zero):
    """Moments of fresh windows at κ = 1, of which some accept nothing."""
    return stats.moments(round_sums(np.ones(2, int), np.arange(2)), np.array([0]), np.array([zero, windows - zero]))


def test_rare_events_of_windows_in_common_are_judged_by_those_that_are_not():
    """Ten thousand windows without an event against 3000 with six, 2000 in common: 8000 are left against 3000."""
    a, b, both = windows_of(10_000, 0), windows_of(3000, 6), windows_of(2000, 0)
    for first, second in ((a, b), (b, a)):
        p = stats.independent("p_zero_accepted", first, second, None, both).p_value[0]
        assert math.isclose(p, 2 * (3000 / 11_000) ** 6, rel_tol=1e-6)


def test_units_in_common_are_not_exchanged():
    """Four units on either side, two of them the same: 6!/(2!·2!·2!) = 90 ways, where nothing else limits p."""
    sums = np.zeros((2, 1, len(SUMS)))
    sums[:, 0, SUMS.index("n")], sums[1, 0, SUMS.index("accepted")] = 4.0, 16.0
    none, full = (stats.Moments(np.array([4.0]), total, np.zeros((1, 8, 8))) for total in sums)
    both = stats.Moments(np.array([2.0]), sums[0] / 2, np.zeros((1, 8, 8)))
    assert stats.independent("mean_accepted", none, full, None, both).p_value[0] == pytest.approx(2 / 90)


def test_a_pilot_seldom_names_too_small_a_budget():
    """Less than the variance of all pilots asks for in about a tenth of 500 pilots of 128 lanes, not in half of them.

    200 of 500 at a chance of .25 or less have odds below 1e-6.
    """
    process = Markov(alpha=0.7, rho=0.3, start="carry")
    pilots = [many(process, 512, range(s, s + 500), 4) for s in (0, 500)]
    whole = [one(np.concatenate([units(process, 512, seed, 4)[0] for seed in range(s, s + 500)])) for s in (0, 500)]
    needed, enough = (stats.planning(*pair, 1e-3, 0.002, 4096)[1] for pair in (pilots, whole))
    assert (needed < enough).sum() < 200


def test_holm_is_bonferroni_first_and_never_falls():
    p = np.array([0.04, 0.001, 0.03, 1.0])
    assert stats.holm(p).tolist() == pytest.approx([0.09, 0.004, 0.09, 1.0])
