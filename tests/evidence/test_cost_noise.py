"""Noise of a κ sweep: intervals of R cover, noise is no table, and a decision is as sure as it is right.

Sweeps are simulated with the same relative noise in every row, R(κ) = 1.1 + 0.12κ unless said.  Bounds are binomial,
with a false alarm of 1e-6 each.
"""

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import binom

import simspec
from simspec.advice.acceptance import acceptance_of_numbers
from simspec.advice.recommend.decide import compare
from simspec.advice.recommend.posterior import tokens_posterior
from simspec.evidence.costs.cell_fit import fit_cell
from simspec.evidence.costs.line import fit_line
from simspec.evidence.costs.means import sweep_of
from simspec.evidence.costs.noise import Noise, with_plain
from simspec.evidence.costs.round_costs import RoundCosts
from simspec.evidence.costs.rows import PLAIN, ROUND, Timed
from simspec.evidence.words import uniforms
from simspec.kernels.words import stream_keys

FIXED, SLOPE = 1.1, 0.12
FALSE_ALARM = 1e-6
LEVELS = [0.025, 0.975]
SWEEPS = 200


def words(name, count):
    return uniforms(stream_keys(20261130, name, "test of costs"), np.arange(count), 0) + 2.0**-54


def noise(name, count, size):
    return ndtri(words(name, count * size)).reshape(count, size)


def rows_of(kappa, ms):
    """Rows as a table of κ and round_ms gives them."""
    return [
        Timed(ROUND if k else PLAIN, int(k), float(own), 1.0, None, None, None, "", None, None, "")
        for k, own in zip(kappa, ms, strict=True)
    ]


def line(kappa):
    return FIXED + SLOPE * kappa


def sweeps(name, kappas, repeats, plain_rows, size, plain_size=None, model=None, curve=line, count=SWEEPS):
    """Round costs of ``count`` simulated sweeps."""
    kappa = np.repeat([0, *kappas], [plain_rows, *[repeats] * len(kappas)])
    cost = np.where(kappa > 0, curve(kappa), 1.0)
    size = np.where(kappa > 0, size, plain_size or size)
    return [fit_cell(rows_of(kappa, 10.0 * cost * (1.0 + size * z)), model) for z in noise(name, count, len(kappa))]


def covered(found, kappas, truth):
    """How many 95% intervals of draws hold the truth, by κ."""
    inside = np.zeros(len(kappas), int)
    for i, own in enumerate(found):
        low, high = np.quantile(own.draws(kappas, 400, i), LEVELS, axis=0)
        inside += (low <= truth) & (truth <= high)
    return inside


def least(count, level):
    """Hits of so many below which a rate of ``level`` is ruled out."""
    return binom.ppf(FALSE_ALARM, count, level)


DESIGNS = {
    "one row per κ, 3% noise": (range(1, 9), 1, 1, 0.03),
    "one row per κ, 5% noise": (range(1, 9), 1, 1, 0.05),
    "16 κ, five plain rows": (range(1, 17), 1, 5, 0.02),
    "two κ, two plain rows": ((2, 4), 1, 2, 0.02),
    "five repeats, two plain rows": ((1, 2, 4, 8), 5, 2, 0.03),
    "two repeats, a table": ((1, 2, 4, 8), 2, 1, 0.03, None, "table"),
    "plain rows steadier": (range(1, 9), 1, 5, 0.02, 0.005),
    "plain rows noisier": (range(1, 9), 1, 6, 0.02, 0.08),
}
"""κ, rows per κ, plain rows, noise, noise of plain rows, model."""


@pytest.mark.parametrize("name", DESIGNS)
def test_intervals_of_round_costs_cover(name):
    """Draws of R at the least and largest κ: not below 93% of 200 sweeps (false alarm 1e-6).

    Planted and caught: a plain step without error, a normal law (two κ, two plain rows), a table without errors.
    """
    found = sweeps(name, *DESIGNS[name])
    assert all(own.known_noise and own.plain_error > 0.0 for own in found)
    ends = np.array([DESIGNS[name][0][0], DESIGNS[name][0][-1]])
    assert (covered(found, ends, line(ends)) >= least(SWEEPS, 0.93)).all()


def test_plain_rows_and_rounds_share_their_noise_if_they_look_alike():
    rounds = Noise(0.02, 8.0)
    assert with_plain(rounds, Noise(0.0, 0.0), 1) == (rounds, 0.02)  # one plain row: as noisy as a round
    assert with_plain(Noise(0.0, 0.0), rounds, 9) == (rounds, pytest.approx(0.02 / 3))
    alike, error = with_plain(rounds, Noise(0.018, 8.0), 9)
    assert (alike.freedom, alike.share, error) == (16, pytest.approx(0.019026, abs=1e-6), alike.share / 3)
    own, error = with_plain(rounds, Noise(0.01, 8.0), 9)  # p = 0.066: steadier, perhaps
    assert (own, error) == (rounds, pytest.approx(0.015811 / 3, abs=1e-6))
    own, error = with_plain(rounds, Noise(0.2, 3.0), 4)
    assert (own, error) == (Noise(0.02, 3.0), 0.1)
    own, error = with_plain(rounds, Noise(0.001, 99.0), 100)
    assert (own, error) == (rounds, 0.0001)


def test_the_plain_step_varies_by_the_same_law():
    """20,000 draws with an error of 1% from 3 degrees of freedom: tails of Student's law, twice those of the normal.

    The share beyond ±3.18 (5%) and beyond ±5.84 (1%) within 5 standard errors.
    """
    own = RoundCosts.affine(1.0, 0.0, plain_error=0.01, freedom=3.0)
    z = np.abs(1.0 / own.draws([1], 20_000, 7)[:, 0] - 1.0) / 0.01
    for quantile, share in ((3.182, 0.05), (5.841, 0.01)):
        assert (z > quantile).mean() == pytest.approx(share, abs=5 * np.sqrt(share / 20_000))


def test_structure_is_a_table_with_the_noise_about_it():
    """An edge of 0.4 and a bend, one row per κ at 1%: tables whose points have errors that cover in 91% at least.

    The scatter about line and step, or about a parabola, is the noise; none at all covers 0% and fails.
    """

    def step(kappa):
        return 1.1 + 0.05 * kappa + 0.4 * (kappa > 5)

    def bent(kappa):
        return 1.1 + 0.012 * kappa**2

    for curve in (step, bent):
        found = sweeps(f"structure {curve.__name__}", range(1, 11), 1, 1, 0.01, curve=curve, count=150)
        assert sum(own.model == "table" for own in found) >= 0.95 * 150
        assert all(own.spread.any() for own in found)
        assert (covered(found, [2, 9], curve(np.array([2, 9]))) >= least(150, 0.91)).all()


@pytest.mark.parametrize(("kappas", "repeats"), [(4, 2), (8, 2)])
def test_few_repeats_rule_a_true_line_out_in_one_percent(kappas, repeats):
    """400 sweeps; χ² with a noise from so few repeats does so in 7–10% and fails."""
    kappa = np.repeat(np.arange(1, kappas + 1), repeats)
    z = noise(f"misfit {kappas} {repeats}", 400, len(kappa))
    out = sum(fit_line(sweep_of(rows_of(kappa, line(kappa) * (1.0 + 0.02 * own)))).misfit < 0.01 for own in z)
    assert out <= binom.ppf(1 - FALSE_ALARM, 400, 0.01)


KAPPAS = np.arange(1, 9)
TRUTHS = {
    "lines": lambda a, b: 1.0 + 0.6 * a + (0.05 + 0.2 * b) * KAPPAS,
    "steps": lambda a, b: (
        1.1
        + 0.1 * KAPPAS
        + 0.15 * ((KAPPAS > 2) & (KAPPAS < 6))
        + 0.35 * a * (KAPPAS > 5)
        + 0.1 * b * np.sin(2 * KAPPAS)
    ),
}


@pytest.mark.parametrize(("truth", "size"), [("lines", 0.03), ("lines", 0.05), ("steps", 0.01), ("steps", 0.05)])
def test_what_recommend_is_sure_of_is_so(truth, size):
    """One row per κ, costs drawn at large: "within 1% of the best" is true as often as said, or more (z above −4.9).

    Planted and caught: a table without errors (lines: says 1.00, true in 48%), and a line unless an edge or a curvature
    is proved (steps: says 0.94, true in 3%).
    """
    tokens = tokens_posterior(acceptance_of_numbers(survival=[0.7**j for j in KAPPAS], rounds=10**6), 8, 400)
    emitted = np.cumsum(0.7 ** np.arange(9))[1:]
    count = 150
    place, z = words(f"{truth} {size}", 2 * count).reshape(2, count), noise(f"sure {truth} {size}", count, 9)
    said, true = np.zeros(count), np.zeros(count)
    for i in range(count):
        cost = TRUTHS[truth](*place[:, i])
        ms = np.array([10.0, *(10.0 * cost)]) * (1.0 + size * z[i])
        own = compare(tokens, fit_cell(rows_of(range(9), ms)), 0.95, 400, i)
        speeds = np.concatenate([[1.0], emitted / cost])
        said[i] = own.sureness
        true[i] = speeds[max(own.kappa, 0)] >= 0.99 * speeds.max()
    assert (true - said).sum() > -4.9 * np.sqrt((said * (1.0 - said)).sum())


def test_where_errors_come_from_is_said():
    def notes(kappa, ms):
        return " ".join(simspec.costs(kappa=kappa, round_ms=ms).at().notes)

    one = notes([0, 1, 2, 3], [10, 12, 13.1, 14.9])
    assert "scatter about the line" in one
    assert "plain decoding was measured once" in one
    lent = simspec.costs(kappa=[0, 0, 0, 2, 4], round_ms=[10, 10.2, 9.9, 13, 15]).at()
    assert any("scatter of the 3 plain rows" in note for note in lent.notes)
    assert (lent.freedom, lent.spread.any()) == (2, True)
    assert "nothing is known about noise" in notes([0, 2, 4], [10, 13, 15])
    assert "nothing is known about noise" in notes([0, 0, 0, 2, 4], [10, 10, 10, 13, 15])  # agree: rounded, not exact
    assert "noise or a bend" in notes([0, 1, 2, 4], [10, 12, 14, 15.5])
    bent = simspec.costs(kappa=[0, 1, 2, 4], round_ms=[10, 12, 16, 17]).at()
    assert (bent.model, bent.freedom) == ("table", 1)
    assert any("as if all of it were noise" in note for note in bent.notes)


def test_rows_of_a_pass_by_width_lend_their_noise_once():
    """Plain decoding is a point of the sweep there: its rows count as repeats of width 1."""
    own = simspec.costs(width=[1, 1, 2, 2, 4, 4], verify_ms=[10, 10.1, 11, 11.1, 13, 13.1], draft_cost=0.1).at()
    assert own.freedom == 4  # six rows less a line
    assert own.plain_error == pytest.approx(own.measured[0].error)
