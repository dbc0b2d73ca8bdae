"""Pages and tables of runs in which policies choose κ; the shipped scenario of controllers."""

import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import simspec
from simspec.model import Scenario
from simspec.report.points import points
from simspec.report.steered import groups, rows_of
from simspec.run import store

ROOT = Path(__file__).parents[2]
TABLE = {
    "name": "who",
    "windows": 5_000,
    "kappa": [0, 2, 3, 4],
    "process": [{"type": "iid", "alpha": 0.6}, {"type": "drift", "alpha_start": 0.9, "alpha_end": 0.5, "tokens": 64}],
    "policy": [{"type": "fixed"}, {"type": "rolling"}, {"type": "heuristic", "label": "<b>HF</b>"}],
    "cost": {"c_d": 0.1, "c_switch": [0.0, 0.05]},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return simspec.sweep(TABLE, output=tmp_path_factory.mktemp("pages") / "run").path


def section(page, name):
    found = re.search(rf'<section id="{name}".*?</section>', page, re.DOTALL)
    return found.group(0) if found else ""


def test_a_page_names_who_chooses_and_holds_it_against_the_best_fixed(folder, tmp_path):
    page = simspec.write_report(folder, tmp_path / "page.html").read_text(encoding="utf-8")
    own = section(page, "policies")
    assert own.count("<svg") == 4  # two processes at two prices
    assert "κ = 3, fixed" in own
    assert own.count("line: the best fixed κ&nbsp;=&nbsp;3, exact S&nbsp;=&nbsp;1.6738") == 2  # Leviathan's formula
    assert own.count("dotted: the best κ by output position") == 2  # of the drift
    assert "rolling" in own
    assert "&lt;b&gt;HF&lt;/b&gt;" in own
    assert "<b>HF</b>" not in page
    row = simspec.read(folder).where(policy="rolling", process="drift", c_switch=0.05).estimates.iloc[0]
    assert f"{-100 * row.loss_fixed:+.2f}%" in own
    curves = section(page, "kappa")
    assert curves.count("<svg") == 4  # of fixed κ alone: a policy has no curve
    assert "rolling" not in curves
    assert "rolling" not in section(page, "accepted")
    assert "mean 2." in section(page, "summary")


def test_a_page_of_policies_alone_has_no_curve(folder, tmp_path):
    page = simspec.write_report(folder, tmp_path / "page.html", where={"policy": "rolling"}).read_text(encoding="utf-8")
    assert section(page, "kappa") == section(page, "accepted") == ""
    assert section(page, "policies").count("<svg") == 4


def test_a_page_of_fixed_lengths_says_nothing_of_policies(folder, tmp_path):
    page = simspec.write_report(folder, tmp_path / "page.html", where={"policy": "fixed"}).read_text(encoding="utf-8")
    assert section(page, "policies") == ""
    assert "Who chooses" not in page


def test_rows_of_a_figure_are_those_of_one_process_and_price(folder):
    found = groups(points(simspec.read(folder).estimates))
    for own, star in zip(found, (3, 3, 4, 4), strict=True):
        assert [name for name, _ in rows_of(own)] == [f"κ = {star}, fixed", "rolling", "<b>HF</b>"]
        assert len({(row["c_switch"], row["process"]) for _, row in rows_of(own)}) == 1


def test_a_folder_of_before_there_were_prices_of_changes_opens(folder, tmp_path, capsys):
    """Without the columns of changes, conditions and κ: the summary, the page and a comparison say what they can."""
    old = simspec.sweep(TABLE | {"cost": {"c_d": 0.1}}, output=tmp_path / "old").path
    path = store.part_path(old, "estimates", 0)
    whole = pq.read_table(path)
    first = whole.column_names.index("mean_kappa")
    gone = [
        name for name in whole.column_names if name in ("c_switch", "c_wake", "wakes_per_1000") or "serving" in name
    ]
    gone += whole.column_names[first : whole.column_names.index("mean_steps")]
    assert len(gone) > 10
    pq.write_table(whole.drop_columns(gone), path)
    text = str(simspec.read(old))
    assert re.search(r"rolling +0\.1 +mean 3\.\d\d", text)
    assert simspec.write_report(old, tmp_path / "page.html").exists()
    assert not simspec.compare(old, folder).differs


def test_the_shipped_controllers_run_and_the_articles_loop_is_far_behind(tmp_path):
    scenario = Scenario.from_toml(ROOT / "scenarios" / "controllers.toml", windows=20_000)
    assert len([one for one, _ in scenario.simulations() if one.policy.adapts]) == 2 * 12
    frame = simspec.sweep(scenario, output=tmp_path / "run").estimates
    assert sorted(frame["c_switch"].unique()) == [0.0, 0.01, 0.05]
    steered = frame[(frame["policy"] != "fixed") & (frame["c_switch"] == 0.0)].set_index("policy_label")
    assert not steered["loss_fixed"].isna().any()
    for label in ("falls", "code and prose"):
        own = steered[steered["label"] == label]
        assert len(own) == 12
        assert own["loss_fixed"]["article's loop"] > own["loss_fixed"]["rolling .85"] + 0.05
        assert own["loss_fixed"]["rolling .99"] < 0.02
        assert own["best_schedule"].isna().all() == (label != "falls")
