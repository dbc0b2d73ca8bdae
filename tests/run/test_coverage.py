"""How often do intervals hold the exact value, of a fixed budget and at all looks of a run that stops by itself?

Played and counted by `simspec.claims.coverage`, which see; other seeds than in results/coverage.
"""

import functools
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from simspec import theory
from simspec.claims.coverage import __main__ as command
from simspec.claims.coverage.judged import STAGES, Judged
from simspec.claims.coverage.page import page
from simspec.claims.coverage.play import FIGURES, LEVEL, held, tables
from simspec.claims.coverage.rows import judge_table, rows_of
from simspec.claims.coverage.settings import KAPPA, KAPPAS, LEAST, PROCESSES, SETTINGS, USUAL, Setting, tied
from simspec.claims.coverage.units import chain_of, lane_law, request_law, token_cost_quantile
from simspec.model import Drift, Scenario
from simspec.run.sweep import sweep
from simspec.run.tables import Block
from simspec.stats import point

REPLICATIONS, FEW, SEED = 20_000, 400, 2**31
SHARP = [figure for figure in FIGURES if figure.sharp]
EDGE = binom.ppf(5e-7, FEW, LEVEL), binom.isf(5e-7, FEW, LEVEL)
"""356 and 397 of 400: fewer, or more, have odds below 1e-6 if 95% are held."""
SHORT = Setting("Markov, carried", 2**13, stopped=True, lanes=2**9)
LONG = Setting("independent", 2**16, stopped=True, lanes=2**12)


@functools.cache
def played(setting, replications=REPLICATIONS):
    return held(setting, replications, SEED)


def few(setting, figure="speedup"):
    """How many of 400 runs held at every look."""
    (own,) = (own for own in FIGURES if own.column == figure)
    return held(setting, FEW, SEED).at_any_look(own).sum()


@pytest.mark.deep
@pytest.mark.parametrize("setting", [own for own in SETTINGS if own.windows in (LEAST, SHORT.windows)], ids=str)
def test_intervals_cover_as_often_as_stated(setting):
    """20,000 runs; 94.2% to 95.8% is five standard errors about 95%, and 94.4% four below."""
    for row in rows_of(setting, played(setting)):
        print(f"{row['process']} {row['budget']} {row['figure']} {row['when']} {row['coverage']:.4f}")
        assert row["inside"], row


TOGETHER = [Setting(name, LEAST) for name in ("independent", "Markov, carried", "hidden Markov")]


def pooled(play):
    """Share of intervals of S that hold, of three processes with words of their own."""
    return np.mean([play(own).at_any_look(SHARP[1]).mean() for own in TOGETHER])


ROOM = 5 * np.sqrt(LEVEL * (1 - LEVEL) / (REPLICATIONS * len(TOGETHER)))


@pytest.mark.deep
def test_three_processes_together_cover_within_half_a_percent():
    assert abs(pooled(played) - LEVEL) <= ROOM


@pytest.mark.deep
def test_three_percent_narrower_would_be_seen(monkeypatch):
    student = point.student
    monkeypatch.setattr(point, "student", lambda level, units: 0.97 * student(level, units))
    found = pooled(lambda own: held(own, REPLICATIONS, SEED))
    print(f"3% narrower: {found:.4f}")
    assert found < LEVEL - ROOM


@pytest.mark.parametrize("setting", [Setting("Markov, carried", LEAST), SHORT], ids=["fixed", "stopped"])
def test_few_runs_do_not_contradict_the_level(setting):
    assert EDGE[0] <= few(setting) <= (FEW if setting.stopped else EDGE[1])


def test_looks_without_care_would_be_seen(monkeypatch):
    monkeypatch.setattr(Block, "each", property(lambda block: block.level))
    assert few(LONG) < EDGE[0]


def test_windows_taken_as_independent_would_be_seen(monkeypatch):
    monkeypatch.setattr(Block, "fresh", property(lambda block: True))
    assert few(Setting("hidden Markov", LEAST), "mean_accepted") < EDGE[0]


def test_chunks_taken_for_units_would_be_seen(monkeypatch):
    student = point.student
    monkeypatch.setattr(point, "student", lambda level, units: student(level, units // 64))
    assert few(Setting("Markov, carried", LEAST)) > EDGE[1]


@pytest.mark.parametrize("name", [name for name, own in PROCESSES.items() if own.unit == "lane"])
def test_the_law_of_a_lane_has_the_means_of_its_windows(name):
    process = PROCESSES[name]
    law, rounds = theory.window(process, KAPPA), 3
    chances = lane_law(chain_of(process), KAPPA, rounds)
    accepted, rejected = (np.arange(size) for size in chances.shape)
    assert chances.sum() == pytest.approx(1.0)
    assert chances.sum(axis=1) @ accepted == pytest.approx(rounds * law.mean_accepted)
    assert chances.sum(axis=0) @ rejected == pytest.approx(rounds * (1.0 - law.p_full))


def test_the_law_of_a_request_has_the_moments_of_generations():
    drift = PROCESSES["drift"]
    law = request_law(np.array(drift.rates())[:, None], np.ones(1), KAPPA)
    price = np.array([USUAL.c0, USUAL.c_d + USUAL.c_v, USUAL.c_r])
    spent, chances = np.array(list(law)) @ price, np.array(list(law.values()))
    known = theory.generation(drift, KAPPA, USUAL)
    assert chances.sum() == pytest.approx(1.0)
    assert chances @ spent == pytest.approx(known.mean_cost)
    assert chances @ (spent - chances @ spent) ** 2 == pytest.approx(known.var_cost)


def test_a_request_without_luck_or_misfortune_has_one_cost():
    for alpha, spent in ((0.0, 8 * 1.0 + 0.12 * (4 * 4 + 3 + 2 + 1) + 0.3 * 7), (1.0, 2 * 1.0 + 0.12 * (4 + 2))):
        drift = Drift(shape="table", alphas=(alpha,) * 8)
        for share in (0.01, 0.99):
            assert token_cost_quantile(drift, 4, USUAL, 0, share) == pytest.approx(spent / 8)


@pytest.mark.parametrize("name", PROCESSES)
def test_both_kappas_are_equally_fast_where_the_best_is_asked_for(name):
    first, second = (theory.speedup(PROCESSES[name], kappa, tied(PROCESSES[name])) for kappa in KAPPAS)
    assert first == pytest.approx(second, rel=1e-12)


def test_a_sweep_that_stops_is_what_is_looked_at_here(tmp_path):
    """Same look, same interval to the last bit."""
    setting = Setting("Markov, carried", 2**21, stopped=True)
    wanted = 0.0035
    scenario = Scenario.from_dict({
        "name": "same", "windows": setting.windows, "seed": 7, "kappa": list(KAPPAS), "stop": {"speedup": wanted},
        "process": {"type": "markov", "alpha": 0.7, "rho": 0.3, "start": "carry"},
        "cost": {key: value for key, value in USUAL.numbers().items() if key in ("c_d", "c_v", "c_r")},
    })  # fmt: skip
    own = sweep(scenario, tmp_path / "own").estimates
    ends = ["speedup_low", "speedup_high"]
    for number, table in enumerate(tables(setting, [7]), start=1):  # noqa: B007
        here = table.to_pandas().iloc[: len(KAPPAS)]
        if ((here.speedup_high - here.speedup_low) / 2 <= wanted).all():
            break
    assert number > 1
    assert (own["looks"] == number).all()
    assert (own[ends].to_numpy() == here[ends].to_numpy()).all()


COMMITTED = Path(__file__).parents[2] / "results" / "coverage"


def test_what_is_committed_keeps_its_word_and_its_page_follows_from_its_tables():
    found, note = command.stored(COMMITTED)
    coverage = found["coverage"]
    assert (COMMITTED / "README.md").read_text(encoding="utf-8") == page(found, note)
    assert not any(commit.endswith("-dirty") for commit in note["commits"].values())
    assert (coverage.replications == REPLICATIONS).all()
    assert (found["judge"].seeds == REPLICATIONS).all()
    sharp = coverage.figure.isin([own.name for own in SHARP])
    assert coverage.held[sharp & (coverage.budget == "fixed")].between(0.942 * REPLICATIONS, 0.958 * REPLICATIONS).all()
    assert (coverage.held[coverage.budget == "fixed"] >= 0.942 * REPLICATIONS).all()
    assert (coverage.held[coverage.budget == "stopped"] >= 0.944 * REPLICATIONS).all()
    assert {*coverage.process} == {*PROCESSES}


def test_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(command, "SETTINGS", (Setting("independent", LEAST), Setting("independent", *SHORT_RUN)))
    monkeypatch.setattr(command, "LIMITS", (Setting("independent", LEAST),))
    monkeypatch.setitem(command.PARTS, "judge", lambda many, seed, progress: judge_table(JUDGED._replace(seeds=many)))
    folder = tmp_path / "own"
    assert command.main([str(folder), "--replications", "500", "--seed", "5", "--quiet"]) == 0
    assert "21 rows, 0 outside; the judge is wrong in 2.00% of at most 5%" in capsys.readouterr().out
    found, note = command.stored(folder)
    assert note["seed"] == 5
    assert {name: len(own) for name, own in found.items()} == {"coverage": 7 + 2 * 7, "limits": 7, "judge": 5}
    assert command.main([str(folder), "--replications", "500", "--seed", "6", "--only", "limits"]) == 2
    assert "has 500 replications from seed 5; allowed with --only: the same" in capsys.readouterr().err
    monkeypatch.setattr(point, "student", lambda level, units: 1.0)
    asked = [str(folder), "--replications", "500", "--seed", "5", "--quiet", "--only"]
    assert command.main([*asked, "limits"]) == 0  # of which nothing is demanded
    again, _ = command.stored(folder)
    assert again["coverage"].equals(found["coverage"])
    assert not again["limits"].equals(found["limits"])
    assert command.main([*asked, "coverage"]) == 1
    said = "does not keep its word: independent, 8,192 windows, stopped at every look: S 0."
    assert said in capsys.readouterr().err


JUDGED = Judged(500, dict.fromkeys(STAGES, 2), 50, {"S": dict.fromkeys(STAGES, 10)})
SHORT_RUN = 2**13, True, 2**9


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["--replications", "499"], "replications = 499 is out of range; allowed: 500 ≤ replications ≤"),
        (["--seed", "-1"], "seed = -1 is out of range"),
        (["--only", "judge"], "manifest.json: is missing; allowed: a folder that python -m simspec.claims.coverage"),
    ],
)
def test_what_cannot_be_played(asked, said, tmp_path, capsys):
    assert command.main([str(tmp_path / "own"), *asked]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "own").exists()


def test_a_folder_of_others_is_left_alone(tmp_path, capsys):
    (tmp_path / "README.md").write_text("mine")
    assert command.main([str(tmp_path)]) == 2
    assert "holds other files" in capsys.readouterr().err
    assert (tmp_path / "README.md").read_text() == "mine"
