"""Dense traces: replay against enumeration, correlations against plain loops, errors that cover, shipped figures."""

from pathlib import Path

import numpy as np
import pytest
from evidence_traces import beta_by_request, hidden, iid, markov, trace_of

from simspec.evidence.dense import (
    DenseTrace,
    along_output,
    autocorrelation,
    halves,
    jackknife,
    mean_of,
    read_dense,
    slope,
    spread_by_halves,
    spread_of_requests,
)
from simspec.evidence.replay import replay
from simspec.model import ParameterError, Trace
from simspec.theory import window


def enumerated(chances, kappa):
    """Expected counts of A, and of pairs (A, A') of successive rounds, over all verdicts, round by round."""
    counts, pairs = np.zeros(kappa + 1), np.zeros((kappa + 1, kappa + 1))

    def play(at, weight, before):
        if at + kappa > len(chances):
            return
        for a in range(kappa + 1):
            chance = np.prod(chances[at : at + a]) * (1.0 - chances[at + a] if a < kappa else 1.0)
            counts[a] += weight * chance
            if before is not None:
                pairs[before, a] += weight * chance
            play(at + a + 1, weight * chance, a)

    play(0, 1.0, None)
    return counts, pairs


@pytest.mark.parametrize("kappa", [1, 2, 3, 5])
def test_replay_is_the_sum_over_all_verdicts(kappa):
    rng = np.random.default_rng(kappa)
    chances = rng.random(13)
    offsets = np.array([0, 6, 13])
    found = replay(DenseTrace.of(chances, offsets), kappa)
    lengths = np.arange(kappa + 1)
    for r in (0, 1):
        counts, pairs = enumerated(chances[offsets[r] : offsets[r + 1]], kappa)
        assert np.allclose(found.counts[r], counts, atol=1e-12)
        moments = [np.ones((kappa + 1,) * 2), lengths[:, None], lengths, np.outer(lengths, lengths)]
        moments += [lengths[:, None] ** 2, lengths**2]
        assert np.allclose(found.pairs[:, r], [(pairs * m).sum() for m in moments], atol=1e-12)


def test_replay_is_what_drawn_verdicts_do():
    """5,000 plays of one request by the rules, 5 standard errors; a bonus token forgotten would be found."""
    rng = np.random.default_rng(1)
    chances, kappa = rng.random(40) * 0.5 + 0.5, 3
    for bonus, fits in ((1, True), (0, False)):
        counts = np.zeros((5_000, kappa + 1))
        for own in counts:
            at = 0
            while at + kappa <= 40:
                run = rng.random(kappa) < chances[at : at + kappa]
                a = kappa if run.all() else int(run.argmin())
                own[a] += 1
                at += a + (1 if a < kappa else bonus)
        expected = replay(DenseTrace.of(chances, np.array([0, 40])), kappa).counts[0]
        error = counts.std(axis=0) / np.sqrt(5_000)
        assert (np.abs(counts.mean(axis=0) - expected) < 5 * error).all() is np.bool_(fits)


def test_replay_of_a_constant_chance_is_the_exact_route():
    from simspec.model import Iid

    found = replay(trace_of(np.full((3, 400), 0.7)), 4)
    law = window(Iid(alpha=0.7), 4)
    assert np.allclose(found.counts.sum(axis=0) / found.counts.sum(), law.pmf_accepted)
    assert abs(found.successive().value) < 1e-9
    assert abs(found.profile_slope().value) < 1e-9
    assert abs(found.full_over_power().value - 1.0) < 1e-9


def test_replay_of_a_markov_trace_is_the_carried_chain_with_a_bonus_position():
    """Verdicts of a chain, 2,000 × 200 positions, 5 standard errors; the chain without the bonus position fails."""
    from simspec.model import Markov

    found = replay(trace_of(markov(np.random.default_rng(2), 2000, 200, 0.7, 0.3)), 4)
    for steps, fits in ((2, True), (1, False)):
        law = window(Markov(alpha=0.7, rho=0.3, start="carry", steps_after_reject=1, steps_after_full=steps), 4)
        accepted = found.accepted()
        assert (abs(accepted.value - law.mean_accepted) < 5 * accepted.error) is fits


def plain_autocorrelation(rows, lag):
    """Pearson-like, by the definition: over all pairs, around the means of each side; over the variance of all."""
    first = np.concatenate([row[:-lag] for row in rows])
    second = np.concatenate([row[lag:] for row in rows])
    everything = np.concatenate(rows)
    covariance = (first * second).mean() - first.mean() * second.mean()
    return covariance / everything.var(), covariance / (everything.mean() * (1 - everything.mean()))


def test_autocorrelation_is_that_of_plain_loops_and_knows_gaps():
    rng = np.random.default_rng(3)
    rows = [rng.random(n) for n in (30, 12, 25)]
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    trace = DenseTrace.of(np.concatenate(rows), offsets)
    for lag in (1, 2, 7):
        expected = plain_autocorrelation(rows, lag)
        assert np.isclose(autocorrelation(trace, lag, verdicts=False).value, expected[0])
        assert np.isclose(autocorrelation(trace, lag).value, expected[1])
    thinned = DenseTrace.of(trace.chance, offsets, 2 * trace.position)  # every second output position
    assert np.isnan(autocorrelation(thinned, 1).value)
    assert np.isclose(autocorrelation(thinned, 4).value, autocorrelation(trace, 2).value)
    assert not thinned.whole
    with pytest.raises(ParameterError, match="missing"):
        replay(thinned, 2)


def test_taking_means_off_is_put_right():
    """Within 500 × 20 positions without memory: 0 within 5 standard errors, not the −1/20 of the plain estimate."""
    trace = trace_of(iid(np.random.default_rng(4), 500, 20))
    found = autocorrelation(trace, 1, within=True)
    assert abs(found.value) < 5 * found.error < 0.05
    rows = trace.grid(trace.chance)
    rows = rows - rows.mean(axis=1, keepdims=True)
    plain = (rows[:, 1:] * rows[:, :-1]).mean() / (rows**2).mean()
    assert plain < -5 * found.error


INTERVALS = {
    "mean": (lambda t: mean_of(t, t.alpha), 0.6),
    "correlation": (lambda t: autocorrelation(t, 1), 0.3),
    "halves": (halves, 0.0),
    "slope": (slope, 0.0),
    "accepted": (lambda t: replay(t, 3).accepted(), None),
    "full": (lambda t: replay(t, 3).full(), None),
}


@pytest.mark.parametrize("name", INTERVALS)
def test_intervals_cover(name):
    """95% intervals of 300 traces of 24 × 80: fewer than 262 covering has chance 1e-6; a third of the width fails."""
    from simspec.model import Markov

    rng, (figure, truth) = np.random.default_rng(5), INTERVALS[name]
    law = window(Markov(alpha=0.6, rho=0.3, start="carry", steps_after_full=2), 3)
    truth = {"accepted": law.mean_accepted, "full": law.p_full}.get(name, truth)
    found = [figure(trace_of(markov(rng, 24, 80))) for _ in range(300)]
    gaps = np.array([abs(f.value - truth) for f in found])
    wide = np.array([(f.high - f.low) / 2 for f in found])
    assert (gaps < wide).sum() >= 262
    assert (gaps < wide / 3).sum() < 262


def test_spread_of_requests_is_that_of_the_beta_law_and_nothing_without_one():
    rng = np.random.default_rng(6)
    found = spread_of_requests(trace_of(beta_by_request(rng, 400, 100)))
    truth = np.sqrt(0.6 * 0.4 / 11.0)
    assert abs(found.value - truth) < 5 * found.error < truth / 2
    assert spread_of_requests(trace_of(iid(rng, 400, 100))).value < 0.02


def test_memory_enlarges_the_spread_and_less_so_that_of_halves():
    """Requests of one law, whose rate moves slowly inside them: the truth is 0, the docstring says .11 and .05."""
    found = [trace_of(hidden(np.random.default_rng(seed), 200, 200)) for seed in range(10)]
    plain, halved = (np.mean([f(t).value for t in found]) for f in (spread_of_requests, spread_by_halves))
    assert abs(plain - 0.106) < 0.01  # ten standard errors, as of 20 other seeds
    assert abs(halved - 0.046) < 0.02


def test_spread_by_halves_is_that_of_the_beta_law_and_nothing_without_one():
    rng = np.random.default_rng(6)
    found = spread_by_halves(trace_of(beta_by_request(rng, 400, 100)))
    truth = np.sqrt(0.6 * 0.4 / 11.0)
    assert abs(found.value - truth) < 5 * found.error < truth / 2
    assert found.low < truth < found.high
    none = spread_by_halves(trace_of(iid(rng, 400, 100)))
    assert none.low == 0.0
    assert none.value < 0.03
    assert np.isnan(spread_by_halves(trace_of(iid(rng, 2, 100))).value)


def test_memory_is_seen_within_and_differences_only_between():
    rng = np.random.default_rng(7)
    differing = trace_of(beta_by_request(rng, 200, 100, 3.0, 2.0))
    pooled, within = (autocorrelation(differing, 1, own) for own in (False, True))
    assert pooled.value > 5 * pooled.error
    assert abs(within.value) < 5 * within.error
    chain = trace_of(markov(rng, 200, 100))
    assert autocorrelation(chain, 1, True).value > 5 * autocorrelation(chain, 1, True).error
    moving = trace_of(hidden(rng, 200, 200))
    assert autocorrelation(moving, 10, True, False).value > 5 * autocorrelation(moving, 10, True, False).error


def test_bins_and_drift():
    rising = trace_of(np.tile(np.linspace(0.2, 0.8, 64), (12, 1)))
    (low, high, first), (_, _, second) = along_output(rising)
    assert (low, high) == (0, 31)
    assert np.isclose(second.value - first.value, 32 * 0.6 / 63)
    assert np.isclose(halves(rising).value, 32 * 0.6 / 63)
    assert np.isclose(slope(rising).value, 100 * 0.6 / 63)


def test_a_jackknife_of_one_request_has_no_error():
    assert np.isnan(jackknife(np.array([[1.0], [2.0]]), lambda s: s[0] / s[1]).error)


def shipped(draft, temperature):
    where = {"draft": draft, "temperature": temperature}
    return read_dense(Trace(path="shipped:smollm2", alpha="tok_accept", request="request", where=where))


ALPHAS = {
    ("L6", 1.0): (0.072, 0.003), ("L12", 1.0): (0.092, 0.004), ("L18", 1.0): (0.111, 0.005),
    ("L24", 1.0): (0.249, 0.007), ("L27", 1.0): (0.355, 0.009), ("tl12", 1.0): (0.321, 0.006),
    ("tl24", 1.0): (0.546, 0.005), ("q3", 1.0): (0.464, 0.006), ("ng3", 1.0): (0.164, 0.004),
    ("plu2", 1.0): (0.373, 0.025), ("tl24", 0.7): (0.601, 0.021), ("q3", 0.7): (0.535, 0.014),
    ("L27", 0.7): (0.482, 0.014), ("tl24", 0.0): (0.670, 0.041), ("q3", 0.0): (0.623, 0.036),
    ("L27", 0.0): (0.584, 0.043),
}  # fmt: skip
"""Mean α (T > 0) or share of matches (T = 0), and its error, as they were worked out when the trace was made."""


@pytest.mark.parametrize(("draft", "temperature"), ALPHAS)
def test_the_shipped_trace_has_the_means_it_was_published_with(draft, temperature):
    trace = shipped(draft, temperature)
    value, error = ALPHAS[draft, temperature]
    found = mean_of(trace, trace.alpha)
    assert abs(found.value - value) <= 0.00051
    assert abs(found.error - error) <= 0.0011  # ratio estimator there, jackknife here


PUBLISHED = [
    ("tl24", lambda t: [autocorrelation(t, k, False, False, t.alpha) for k in (1, 2, 5, 10, 20)],
     [0.162, 0.110, 0.057, 0.062, 0.059], 0.0011),
    ("q3", lambda t: [autocorrelation(t, k, False, False, t.alpha) for k in (1, 2, 5, 10, 20)],
     [0.185, 0.145, 0.069, 0.069, 0.072], 0.0011),
    ("L27", lambda t: [autocorrelation(t, k, False, False, t.alpha) for k in (1, 2, 5, 10, 20)],
     [0.050, 0.159, 0.079, 0.080, 0.086], 0.0011),
    ("tl24", lambda t: [figure for *_, figure in along_output(t)],
     [0.520, 0.511, 0.545, 0.545, 0.554, 0.565, 0.556, 0.557, 0.572, 0.559], 0.0011),
    ("tl24", lambda t: replay(t, 8).by_position(),
     [0.530, 0.547, 0.569, 0.565, 0.559, 0.581, 0.623, 0.582], 0.0031),
    ("tl24", lambda t: [halves(t), spread_of_requests(t)], [0.030, 0.034], 0.0016),
    ("q3", lambda t: [spread_of_requests(t)], [0.039], 0.0031),
    ("tl24", lambda t: [replay(t, 8).accepted(), replay(t, 8).full()], [1.190, 0.011], 0.0011),
    ("tl24", lambda t: [replay(t, 8).full_over_power()], [1.39], 0.011),
    ("q3", lambda t: [replay(t, 8).full_over_power()], [1.56], 0.011),
]  # fmt: skip
"""Draft at T = 1, figures, what was published, and how far another estimator of the same thing may lie."""


@pytest.mark.parametrize("case", range(len(PUBLISHED)))
def test_the_shipped_trace_has_the_figures_it_was_published_with(case):
    draft, figures, expected, tolerance = PUBLISHED[case]
    found = [f.value for f in figures(shipped(draft, 1.0))]
    assert np.abs(np.array(found) - expected).max() <= tolerance


def test_the_shipped_recording_of_real_rounds_agrees_with_its_replay():
    """Accepted per round at κ = 8, within 4 joint standard errors; another draft's trace does not."""
    import simspec

    keys = {"request": "request", "accepted": "accepted_full", "drafted": 8, "bonus_included": False}
    real = dict(simspec.trace("shipped:smollm2_windows", **keys).rows)["tokens per round E"]
    for draft, fits in (("tl24", True), ("q3", False)):
        found = replay(shipped(draft, 1.0), 8).accepted()
        assert bool(abs(found.value + 1 - real.value) < 4 * np.hypot(found.error, real.error)) is fits


def test_a_trace_of_several_drafts_at_once_is_refused():
    trace = Trace(path="shipped:smollm2", alpha="tok_accept", request="request")
    with pytest.raises(ParameterError, match="is a draft chosen"):
        read_dense(trace)


def written(tmp_path, **changed):
    """A file of 3 × 4 positions with some columns changed, as a trace; ``row`` is their order."""
    import pandas as pd

    own = {"request": np.repeat([0, 1, 2], 4), "position": np.tile(np.arange(4), 3), "tok_accept": np.arange(12) / 20}
    pd.DataFrame(own | changed).to_csv(tmp_path / "t.csv", index=False)
    return Trace(path=str(tmp_path / "t.csv"), alpha="tok_accept", request="request")


POSITIONS = np.tile(np.arange(4), 3)
UNUSABLE = [
    ({"alpha": np.arange(12) / 10}, "alpha", "'alpha' holds values outside 0 … 1"),
    ({"alpha": np.arange(12) / 20 - 0.1}, "alpha", "'alpha' holds values outside 0 … 1"),
    ({"position": POSITIONS + 0.5 * (np.arange(12) == 5)}, "position", "not whole numbers"),
    ({"position": POSITIONS - 1}, "position", "falls to -1; the first position must be 0"),
    ({"position": POSITIONS + 2**62}, "position", "allowed: at most 1,000,000,000"),
    ({"position": POSITIONS[::-1]}, "request", "allowed: rows in the order of the text"),
]


@pytest.mark.parametrize(("changed", "key", "said"), UNUSABLE, ids=lambda value: str(value)[:20])
def test_columns_beside_the_chances_are_checked(changed, key, said, tmp_path):
    with pytest.raises(ParameterError, match=said) as caught:
        read_dense(written(tmp_path, **changed))
    assert caught.value.key == key
    assert "\n" not in str(caught.value)


def test_positions_counted_from_one_are_those_counted_from_zero(tmp_path):
    plain = read_dense(written(tmp_path))
    moved = read_dense(written(tmp_path, position=POSITIONS + 1))
    assert (plain.counted_from, moved.counted_from, moved.take(np.array([1])).counted_from) == (0, 1, 1)
    assert moved.whole
    assert moved.position.tolist() == plain.position.tolist()
    mixed = POSITIONS + (np.arange(12) < 4)  # only one request begins at 1: its first position is missing
    assert read_dense(written(tmp_path, position=mixed)).counted_from == 0
    assert not read_dense(written(tmp_path, position=mixed)).whole


def test_shipped_names_are_resolved_and_hashed_as_their_files(tmp_path):
    from simspec.model.trace import SHIPPED_FILES, file_of

    for name, file in SHIPPED_FILES.items():
        found = file_of(f"shipped:{name}")
        assert found.endswith(file)
        copy = tmp_path / file
        copy.write_bytes(Path(found).read_bytes())
        keys = {"alpha": "alpha", "request": "request"}
        assert Trace(path=f"shipped:{name}", **keys).identity() == Trace(path=str(copy), **keys).identity()
    with pytest.raises(ParameterError, match="did you mean"):
        Trace(path="shipped:smolm2", alpha="alpha", request="request")


def test_package_data_is_declared_and_there():
    """What the wheel takes along: every file of evidence/data, the traces and what they are."""
    import tomllib

    import simspec

    declared = tomllib.loads((Path(simspec.__file__).parents[1] / "pyproject.toml").read_text())
    assert declared["tool"]["setuptools"]["package-data"]["simspec.evidence"] == ["data/*"]
    files = {p.name for p in (Path(simspec.__file__).parent / "evidence" / "data").iterdir()}
    assert {"README.md", "smollm2_dense_alpha.parquet", "smollm2_windows_k8.parquet"} <= files


@pytest.mark.deep
def test_the_wheel_has_the_traces(tmp_path):
    """Builds it from a copy; needs a build backend, which pip may have to fetch."""
    import shutil
    import subprocess
    import sys
    import zipfile

    import simspec

    root = Path(simspec.__file__).parents[1]
    source = tmp_path / "source"
    shutil.copytree(root / "simspec", source / "simspec", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(root / name, source / name)
    subprocess.run([sys.executable, "-m", "pip", "wheel", "--no-deps", "-q", "-w", tmp_path, source], check=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    wanted = ("README.md", "smollm2_dense_alpha.parquet", "smollm2_windows_k8.parquet")
    assert {f"simspec/evidence/data/{name}" for name in wanted} <= set(names)
