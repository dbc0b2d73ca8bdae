"""The folder results/control: the page is that of its tables, and the tables are what the code plays today."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from simspec import theory
from simspec.claims.control_figures import growth, heuristic, losses, short
from simspec.claims.control_figures.__main__ import LEAGUE, PARTS, README, TABLES, main
from simspec.claims.control_figures.__main__ import stored as stored_files
from simspec.claims.control_figures.page import HEADING, readme
from simspec.claims.control_figures.rules import COST, RULES
from simspec.claims.loops import steady_again
from simspec.claims.setup import STANDARD, USUAL
from simspec.model import BetaMixture, Drift, Processes
from simspec.run.regret import regret

STORED = Path(__file__).parents[2] / "results" / "control"


def stored(name):
    return pd.read_parquet(STORED / f"{name}.parquet")


def test_the_page_is_that_of_the_tables():
    found, note = stored_files(STORED)
    text = readme({name: found[name] for name in TABLES}, found[LEAGUE], note)
    assert text == (STORED / README).read_text(encoding="utf-8")
    assert set(note["commits"]) == set(PARTS)
    assert all(note["commits"].values())


def test_losses_are_exact_today_and_were_played():
    """Exact values today; simulated ones within six standard errors, 98 cells."""
    own = stored("losses")
    assert len(own) == sum(len(smoothings) for _, smoothings in losses.LOOPS.values()) * len(losses.PLACES)
    assert own.z.abs().max() < 6.0
    assert 0.1 < (own.z**2).mean() < 2.0
    cell = {(row.loop, row.smoothing, row.place): row for row in own.itertuples()}
    for (name, smoothing, place), row in cell.items():
        loop = losses.LOOPS[name][0]
        process = losses.PLACES[place]
        if name == "κ*(estimate)" and smoothing == 0.85 and not isinstance(process, Drift):
            assert row.exact == pytest.approx(loop.steady_speed(process, smoothing).exact(), rel=1e-9)
            assert row.exact == pytest.approx(steady_again(loop, process.alpha), abs=3e-3)
            assert row.best_fixed == pytest.approx(theory.optimum(process, STANDARD, 64).best_speedup, rel=1e-9)
    assert (own.lost - (1 - own.exact / own.best_fixed)).abs().max() < 1e-12


def test_regret_is_replayed_to_the_last_digit():
    """Marks of a lane do not depend on what comes after them: the first thousand rounds of all, played again."""
    own = stored("regret")
    assert own["rounds"].max() == growth.LAST == 10**7
    assert (own.lanes == 64).all()
    marks = [mark for mark in growth.marks() if mark <= 1000]
    for name, policy in {**growth.HABITS, **growth.LEARNERS}.items():
        was = own[(own.policy == name) & (own["rounds"] <= 1000)]
        now = regret(USUAL, policy, STANDARD, marks, 1)
        assert was.regret.to_numpy() == pytest.approx(now.mean, rel=1e-12)


def test_slopes_follow_from_regret_and_say_what_claim_c45_says():
    own, grown = stored("slopes").set_index("policy"), stored("regret")
    for name, row in own.iterrows():
        curve = grown[grown.policy == name].set_index("rounds").regret
        if row.slope > 1e-6:
            assert row.slope == pytest.approx(np.log10(curve[10**7] / curve[10**6]), abs=1e-9)
    linear = ["κ = 5", "rolling .85", "article's loop", "rolling .99"]
    assert own.slope[linear].tolist() == pytest.approx([1.0] * 4, abs=0.01)
    assert own.verdict[linear].tolist() == ["refuted"] * 4
    assert own.verdict[["UCB1", "Thompson"]].tolist() == ["supported"] * 2
    for bandit in ("UCB1", "EXP3", "Thompson"):
        assert own.regret[bandit] < own.regret["rolling .85"]
        first = int(own["ahead of rolling .85"][bandit])
        behind = [
            grown[(grown.policy == who) & (grown["rounds"] == first)].regret.item() for who in (bandit, "rolling .85")
        ]
        assert behind[0] < behind[1]


def test_marks_are_eight_to_a_decade():
    own = growth.marks(1000)
    assert own[0] == 10
    assert own[8] == 100
    assert own[-1] == 1000
    assert (np.diff(own) > 0).all()
    assert len(own) == 17


def test_short_generations_agree_and_a_slip_is_seen():
    """The exact figures of some pairs today; a heuristic that starts one lower lies outside at once."""
    own = stored("short")
    assert own.inside.all()
    assert len(own) == len(RULES) * len(short.PROCESSES) * len(short.FIGURES)
    for name, where in (("+2/−1 heuristic", "falls"), ("the article's loop", "rises"), ("UCB1", "runs")):
        cell = own[(own.controller == name) & (own.process == where)].set_index("figure")
        assert cell.exact.to_dict() == pytest.approx(short.exactly(name, where), rel=1e-12)
    slip = own[(own.controller == "+2/−1 heuristic") & (own.process == "falls")].copy()
    wrong = theory.enumerate_policy(short.PROCESSES["falls"], lambda r: RULES["+2/−1 heuristic"][1](r) + (not r), COST)
    slip["exact"] = slip["exact"].where(slip.figure != "cost", wrong.mean_cost / 12)
    assert not short._judged(slip).inside.all()


def test_the_heuristic_on_the_fitted_process_is_replayed():
    """The nearest family, 2²² rounds: the same integers; and its ten figures stay within their limits."""
    own = stored("heuristic")
    turn = own[own.family == "a rate per turn"]
    process = Processes.make(**json.loads(turn.identity.iloc[0]))
    assert isinstance(process, BetaMixture)
    now = heuristic.simulated(process, 2**18)
    assert turn.simulated.to_numpy()[:10] == pytest.approx(now[:10], abs=0.02)
    assert heuristic.within(turn.simulated.tolist()) == heuristic.within(now) == len(heuristic.FITTED) == 10
    misfits = {name: heuristic.misfit(rows.simulated.tolist()) for name, rows in own.groupby("family")}
    assert min(misfits, key=misfits.get) == "a rate per turn"
    assert misfits["independent drafts"] > misfits["runs of verdicts"] > 1.0


def test_a_few_short_outputs_are_played_again(monkeypatch):
    """Fewer rounds than stored, all inside; a rule that never moves in place of the heuristic lies outside."""
    name = "+2/−1 heuristic"
    monkeypatch.setattr(short, "PROCESSES", {key: short.PROCESSES[key] for key in ("falls", "two kinds", "hidden")})
    monkeypatch.setattr(short, "RULES", {name: RULES[name]})
    assert short.compared(2**14, seed=5, chunks=32).inside.all()
    monkeypatch.setattr(short, "RULES", {name: (RULES[name][0], lambda rounds: 3)})
    seen = short.compared(2**14, seed=5, chunks=32)
    assert not seen.groupby("process").inside.all().any()


def test_figures_of_rounds_by_hand():
    """Three rounds: κ = 1 accepted, κ = 2 with one accepted, κ = 2 with none."""
    rounds = np.zeros((41, 41), np.int64)
    rounds[1, 1] = rounds[2, 1] = rounds[2, 0] = 1
    found = dict(
        zip((f.name for f in (*heuristic.FITTED, *heuristic.PREDICTED)), heuristic.of_rounds(rounds), strict=False)
    )
    assert found["tokens per round"] == pytest.approx(5 / 3)
    assert found["mean κ"] == pytest.approx(5 / 3)
    assert found["rate at depth 1"] == pytest.approx(2 / 3)
    assert found["rate at depth 2"] == 0.0
    assert found["share of full rounds"] == pytest.approx(1 / 3)
    assert found["accepted of examined drafts"] == pytest.approx(2 / 4)
    assert found["share of rounds with κ = 1"] == pytest.approx(1 / 3)
    assert found["rate at depth 1 where κ is 1 or 2"] == pytest.approx(2 / 3)


def test_another_folder_is_not_touched(tmp_path, capsys):
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    assert main([str(tmp_path), "--quiet"]) == 2
    assert "holds other files" in capsys.readouterr().err
    assert main([str(tmp_path / "new"), "--seed", "-1"]) == 2
    assert "seed" in capsys.readouterr().err
    assert main([str(tmp_path / "new"), "--only", "short", "--quiet"]) == 2
    assert "is missing; allowed: a folder that" in capsys.readouterr().err
    assert [entry.name for entry in tmp_path.iterdir()] == ["notes.txt"]
    assert HEADING.startswith("# ")
