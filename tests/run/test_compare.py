"""Two result folders against each other: what is matched, what is found, what is left out, what is written.

Seeds are fixed: each test is deterministic.  Same-law comparisons use error 1e-6 for the sake of other seeds.
"""

import argparse
import dataclasses
import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from simspec.cli import compare as command
from simspec.kernels.tally import SUMS
from simspec.model import DatasetError, ParameterError, Scenario, Simulation, Survival
from simspec.run import planning, store
from simspec.run.compare import compare
from simspec.run.engine import Job, play
from simspec.run.schema import TABLES
from simspec.run.sweep import sweep
from simspec.run.tables import Block, chunk_table, count_table
from simspec.stats.counts import round_sums

DATA = Path(__file__).parents[2] / "scenarios" / "data"
CARRIED = {"type": "markov", "alpha": 0.7, "rho": 0.3, "start": "carry"}
DRIFT = {"type": "drift", "alpha_start": 0.85, "alpha_end": 0.62, "tokens": 64}


@pytest.fixture
def run(tiny, tmp_path):
    """Run the tiny scenario with changes into a folder of its own."""
    made = iter(range(100))

    def go(**changes):
        return sweep(Scenario.from_dict(tiny | changes), tmp_path / f"run{next(made)}").path

    return go


def rewrite(folder, change, part=0, name="chunks"):
    """Replace a part by ``change(frame)``."""
    path = store.part_path(folder, name, part)
    frame = change(pq.read_table(path).to_pandas())
    store.write_table(pa.Table.from_pandas(frame, schema=TABLES[name], preserve_index=False), path)


def plant(folder, process, windows, seed):
    """Put another law under the ids of the only simulation of a run."""

    kappas = tuple(int(k) for k in pq.read_table(store.part_path(folder, "chunks", 0))["kappa"].unique().to_pylist())
    job = Job(Simulation(process), kappas, windows, seed)
    block = Block(job, play(job, range(job.layout.chunks)), [], 0.95)
    for name, made in (("chunks", chunk_table([block])), ("counts", count_table([block]))):
        own = made.to_pandas()
        rewrite(folder, lambda frame, own=own: own.assign(simulation_id=frame["simulation_id"].iloc[0]), name=name)


def cli(*arguments):
    """Exit code of the command, parsed as the command line does."""
    top = argparse.ArgumentParser()
    command.add(top.add_subparsers())
    args = top.parse_args(["compare", *map(str, arguments)])
    return args.do(args)


def test_a_run_equals_itself_bit_for_bit(run):
    found = compare(run(), run())
    assert not found.differs
    assert set(found.pairs["how"]) == {"identical"}
    assert (found.frame["difference"] == 0.0).all()
    assert (found.frame["error"] == 0.0).all()
    assert found.compared == {"simulations": 2, "kappas": 3, "points": 4, "quantities": 9, "comparisons": 64}
    assert found.left_out == ()
    assert "no difference beyond chance" in repr(found)
    assert "6 identical" in repr(found)


@pytest.mark.parametrize("process", [{"type": "iid", "alpha": [0.6, 0.7]}, CARRIED, DRIFT], ids=lambda p: p["type"])
@pytest.mark.parametrize("windows", [20_000, 300_000])
def test_other_seeds_and_budgets_of_the_same_law_pass(run, process, windows):
    found = compare(run(process=process), run(process=process, seed=2, windows=windows), error=1e-6)
    assert not found.differs
    assert set(found.pairs["how"]) == {"independent"}
    seen = found.frame.query("quantity == 'mean_accepted' and kappa == 4")
    assert (seen["error"] > 0.0).all()


def test_the_same_seed_with_other_budgets_is_not_paired(run):
    found = compare(run(), run(windows=40_000), error=1e-6)
    assert set(found.pairs["how"]) == {"independent"}
    assert not found.differs


def test_replays_of_one_trace_are_paired_by_request(run):
    """Measured rounds know no seed; a dense replay of another seed differs by its own noise, not by the requests."""
    dense = {"type": "trace", "path": str(DATA / "smollm2_dense_tl24.parquet"), "request": "request"}
    rounds = dense | {"path": str(DATA / "smollm2_windows_k8.parquet"), "accepted": "accepted_full", "drafted": 8}
    found = []
    for process in (rounds | {"bonus_included": False}, dense | {"alpha": "tok_accept"}):
        found.append(compare(*(run(process=process, kappa=[4], seed=seed) for seed in (1, 2)), error=1e-6))
        assert not found[-1].differs
        assert found[-1].pairs[["detectable_shift", "windows_needed"]].isna().all(axis=None)
    assert [set(own.pairs["how"]) for own in found] == [{"identical"}, {"paired"}]
    error = found[1].frame.query("quantity == 'mean_accepted'")["error"].iloc[0]
    assert 0.0 < error < 0.03  # between requests alone the mean has a standard error of .05


def test_1000_simulations_of_the_same_law_raise_no_alarm(run):
    """One family of 18,000 comparisons at error 1e-3; in seconds."""
    grid = {"type": "iid", "alpha": {"from": 0.4005, "to": 0.9, "step": 0.0005}}
    both = [run(process=grid, kappa=[2, 5], windows=1000, seed=seed, cost={}) for seed in (1, 2)]
    found = compare(*both)
    assert found.compared["simulations"] == 1000
    assert found.compared["comparisons"] == 18_000
    assert not found.differs
    assert (found.frame["p_value"] < 0.01).sum() > 30  # it could fail: p-values are not all 1


def test_a_planted_shift_is_found_at_the_budget_named_and_nothing_at_a_pilot(run):
    """E[A] .2% higher under the same id: power .9 at the budget, deterministic for these seeds."""
    small = {"kappa": [4], "cost": {}, "process": {"type": "iid", "alpha": 0.7}}
    moved = Survival(survival=[0.7**j * 1.002 for j in range(1, 5)])
    first, second = run(**small), run(**small, seed=2)
    plant(second, moved, 20_000, 2)
    pilot = compare(first, second)
    assert not pilot.differs
    needed = int(pilot.pairs["windows_needed"].max())
    assert f"{needed:,} windows" in repr(pilot)
    budget = small | {"windows": needed}
    first, second, third = run(**budget), run(**budget, seed=2), run(**budget, seed=3)
    assert not compare(first, third).differs
    plant(second, moved, needed, 2)
    found = compare(first, second)
    assert found.differs
    assert "mean_accepted" in {row.quantity for row in found.differences}
    assert found.pairs["detectable_shift"].max() < 0.0021
    assert cli(first, second) == 1
    assert cli(first, third) == 0


def test_more_comparisons_need_a_larger_budget(run):
    """The same windows at κ = 4: each of more comparisons is made at a smaller share of the error."""
    few, more = (
        compare(run(kappa=kappas, process=CARRIED), run(kappa=kappas, process=CARRIED, seed=2)).pairs.set_index("kappa")
        for kappas in ([4], [2, 3, 4])
    )
    for name in ("windows_needed", "detectable_shift"):
        assert more.loc[4, name] > 1.02 * few.loc[4, name]


def test_the_same_words_find_a_shift_that_other_words_hide(run):
    """A regression on the same seed: the shared words cancel, so a small run suffices."""
    small = {"kappa": [4], "cost": {}, "process": CARRIED | {"rho": 0.05}, "windows": 100_000}
    first, second = run(**small), run(**small)

    def change(frame):
        lucky = (frame["lane"] % 4 == 0).astype(int)
        for name, step in {
            "sum_accepted": 4,
            "sum_tokens": 4,
            "sum_accepted_sq": 16,
            "sum_rejected": -1,
            "sum_zero": -1,
        }.items():
            frame[name] += step * lucky
        return frame

    rewrite(second, change)
    found = compare(first, second)
    assert set(found.pairs["how"]) == {"paired"}
    assert {row.quantity for row in found.differences} >= {"mean_accepted", "p_full", "speedup", "var_accepted"}
    assert "mean_drafted" not in {row.quantity for row in found.differences}
    rewrite(second, lambda frame: frame.assign(seed=np.uint64(9)))
    assert not compare(first, second).differs


FRESH = {"kappa": [4], "cost": {}, "process": {"type": "iid", "alpha": 0.7}}


def grow(folder, *chunks):
    """Append whole chunks of fresh windows, with these counts of A = 0 … 4, to a small run."""
    tables = {name: pq.read_table(store.part_path(folder, name, 0)).to_pandas() for name in ("chunks", "counts")}
    for counts in chunks:
        row = tables["chunks"].iloc[[0]].assign(chunk=tables["chunks"]["chunk"].max() + 1)
        row[[n if n == "n" else f"sum_{n}" for n in SUMS]] = counts @ round_sums(np.full(5, 4), np.arange(5))
        tables["chunks"] = pd.concat([tables["chunks"], row], ignore_index=True)
        tables["counts"]["count"] += counts
    for name, frame in tables.items():
        rewrite(folder, lambda _, frame=frame: frame, name=name)


def test_fresh_windows_are_the_units_and_equal_chunks_are_shared(run):
    """Equal chunks in both, one more in the second: the difference has variance σ²(1/N − 1/M)."""
    first, second, third = (run(**FRESH, windows=1000) for _ in range(3))
    n, plain = int(compare(first, second).pairs["rounds_a"].iloc[0]), np.array([300, 210, 147, 103, 240])
    grow(first, plain)
    grow(second, plain, plain)
    grow(third, 2 * plain)  # the same address with another number of windows: these are not compared
    found = compare(first, second)
    pair = found.pairs.iloc[0]
    assert (pair["how"], pair["units_a"], pair["units_b"]) == ("paired", n + 1000, n + 2000)
    counts = pq.read_table(store.part_path(second, "counts", 0)).to_pandas()
    spread = np.repeat(counts["accepted"], counts["count"]).var()
    error = found.frame.query("quantity == 'mean_accepted'")["error"].iloc[0]
    assert error == pytest.approx(np.sqrt(spread * (1 / (n + 1000) - 1 / (n + 2000))), rel=0.02)
    assert compare(first, third).pairs["how"].iloc[0] == "paired"
    rewrite(third, lambda frame: frame.assign(seed=np.uint64(9)))
    assert compare(first, third).pairs["how"].iloc[0] == "independent"


def test_lanes_of_other_numbers_of_rounds_are_not_paired(run):
    """Equal lanes of equal words, but one played a round more: not the same units."""
    first, second = (run(process=CARRIED, kappa=[4]) for _ in range(2))
    step = {"n": 1, "sum_zero": 1, "sum_rejected": 1, "sum_drafted": 4, "sum_tokens": 1}
    rewrite(second, lambda f: f.assign(**{name: f[name] + (f.index == 0) * more for name, more in step.items()}))
    assert set(compare(first, second).pairs["how"]) == {"independent"}


def test_a_chunk_of_the_same_address_that_differs_shares_nothing(run):
    """The same words give the same integers; where they do not, they were others."""
    first, second = (run(**FRESH, windows=1000) for _ in range(2))
    grow(first, np.array([300, 210, 147, 103, 240]))
    grow(second, np.array([301, 209, 147, 103, 240]))
    found = compare(first, second)
    assert found.pairs["how"].iloc[0] == "independent"
    assert not found.differs


@pytest.mark.parametrize("change", [{"seed": np.uint64(9)}, {"stream_version": np.int16(1)}, {"method": "multinomial"}])
@pytest.mark.parametrize("process", [{"type": "iid", "alpha": 0.7}, CARRIED], ids=lambda p: p["type"])
def test_only_words_of_one_origin_are_shared(run, process, change):
    """Seed, stream version and method: equal counts of another origin are equal by chance."""
    first, second = run(process=process), run(process=process)
    assert set(compare(first, second).pairs["how"]) == {"identical"}
    rewrite(second, lambda frame: frame.assign(**change))
    assert set(compare(first, second).pairs["how"]) == {"independent"}


def test_counts_that_do_not_add_up_to_their_chunks_are_left_out(run):
    first, second = (run(process={"type": "iid", "alpha": [0.6, 0.7]}) for _ in range(2))
    rewrite(second, lambda f: f.assign(count=f["count"] + (f.index == 1)), name="counts")
    found = compare(first, second)
    assert [entry.why for entry in found.left_out] == ["its counts do not add up to its chunks"]
    assert found.compared["simulations"] == 2
    assert len(found.pairs) == 5


def test_what_only_one_has_is_listed_and_the_rest_goes_on(run):
    first = run(process={"type": "iid", "alpha": [0.6, 0.7]}, kappa=[0, 2, 4])
    second = run(process={"type": "iid", "alpha": [0.7, 0.8]}, kappa=[2, 4, 6], cost={"c_d": [0.1, 0.2]}, seed=2)
    found = compare(first, second, error=1e-6)
    said = {(entry.what, entry.why) for entry in found.left_out}
    cost = "c0 = 1, c_d = {}, c_v = 0, c_r = 0, off = 1"
    assert said == {
        ("iid(alpha = 0.6)", f"only in {first}"),
        ("iid(alpha = 0.8)", f"only in {second}"),
        ("iid(alpha = 0.7); κ = 0", f"only in {first}"),
        ("iid(alpha = 0.7); κ = 6", f"only in {second}"),
        (f"iid(alpha = 0.7); {cost.format(0.05)}", f"only in {first}"),
        (f"iid(alpha = 0.7); {cost.format(0.2)}", f"only in {second}"),
    }
    assert found.compared == {"simulations": 1, "kappas": 2, "points": 1, "quantities": 9, "comparisons": 18}
    assert not found.differs
    assert "left out" in repr(found)


def test_no_price_in_common_is_no_agreement(run):
    """What no price changes is compared; but the answer asked for, the speed-up, is not: 0 would say too much."""
    small = {"kappa": [2], "process": {"type": "iid", "alpha": 0.7}}
    first, second = (run(cost={"c_d": price}, **small) for price in (0.1, 0.2))
    found = compare(first, second)
    assert not found.differs
    assert not found.same_price
    assert "costs and speed-ups were not compared" in repr(found)
    with pytest.raises(DatasetError, match="no price is in both folders"):  # exit code 2
        cli(first, second)
    assert cli(first, run(cost={"c_d": [0.1, 0.3]}, **small)) == 0
    plant(second, Survival(survival=[0.75, 0.6]), 100_000, 1)
    assert cli(first, second) == 1


def test_what_is_left_out_fits_a_screen(run):
    first, second = (run(process={"type": "iid", "alpha": alphas}) for alphas in ([0.6, 0.7], [0.7, 0.8]))
    told = [line for line in repr(compare(first, second)).splitlines() if "only in" in line]
    assert told
    assert max(len(line) for line in repr(compare(first, second)).splitlines()[-4:]) <= 110 + len(str(first))


@pytest.mark.parametrize("name", ["chunks", "estimates"])
def test_unreadable_parts_are_listed_and_the_rest_goes_on(run, monkeypatch, name):
    monkeypatch.setattr(planning, "ROWS_PER_PART", 1)
    first, second = run(), run()
    path = store.part_path(second, name, 1)
    path.write_bytes(b"rubbish")
    found = compare(first, second)
    assert any(entry.what == str(path) and "cannot be read" in entry.why for entry in found.left_out)
    assert found.compared["simulations"] == (1 if name == "chunks" else 2)
    assert found.compared["points"] == 2
    assert not found.differs


def test_a_damaged_page_is_listed_not_raised(run):
    first, second = run(), run()
    path = store.part_path(second, "chunks", 0)
    column = pq.read_metadata(path).row_group(0).column(TABLES["chunks"].names.index("sum_accepted"))
    data = bytearray(path.read_bytes())
    data[column.dictionary_page_offset or column.data_page_offset] ^= 0xFF
    data[(column.dictionary_page_offset or column.data_page_offset) + 24] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(DatasetError, match="in common"):
        compare(first, second)


def test_rows_are_frozen_and_the_frame_holds_them_all(run):
    found = compare(run(), run(seed=2))
    assert len(found.rows) == len(found.to_pandas()) == 64
    assert found.rows[0].point_id is None
    assert {row.point_id is None for row in found.rows} == {True, False}
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.rows[0].a = 1.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.error = 1.0
    pd.testing.assert_series_equal(
        found.frame["difference"], found.frame["b"] - found.frame["a"], check_names=False, atol=1e-12
    )


def test_json_is_json(run, capsys):
    assert cli(run(), run(seed=2), "--json", "--error", "1e-6") == 0
    said = json.loads(capsys.readouterr().out)
    assert said["differs"] is False
    assert said["compared"]["comparisons"] == 64
    zero = [pair for pair in said["pairs"] if pair["kappa"] == 0]
    assert all(pair["detectable_shift"] is None for pair in zero)


def test_junit_is_well_formed_with_hostile_names(run, tmp_path, capsys):
    hostile = {
        "type": "survival",
        "survival": [0.7, 0.5, 0.4, 0.3],
        "label": "a]]>\x00\x1b[31m<b c=\"&'\ufffe\ud83d\ude00",
    }
    hostile["label"] = hostile["label"].encode("utf-16", "surrogatepass").decode("utf-16")
    first, second = run(process=hostile), run(process=hostile | {"survival": [0.7, 0.5, 0.4, 0.3]}, seed=2)
    plant(second, Survival(survival=[0.9, 0.8, 0.7, 0.6]), 20_000, 2)
    third = run(process=hostile, kappa=[2], seed=3)
    report = tmp_path / "deep" / "junit.xml"
    report.parent.mkdir()
    assert cli(first, second, "--junit", report) == 1
    suite = ElementTree.parse(report).getroot()
    cases = suite.findall("testcase")
    assert len(cases) == int(suite.get("tests")) == 3 + 2 * 3
    assert int(suite.get("failures")) == len(suite.findall("testcase/failure")) == 6
    assert "mean_accepted" in suite.find("testcase/failure").text
    assert cases[0].get("classname").startswith("a]]>\ufffd")
    assert cli(first, third, "--junit", report, "--error", "1e-6") == 0
    suite = ElementTree.parse(report).getroot()
    assert suite.find("testcase/failure") is None
    assert len(suite.findall("testcase/skipped")) == int(suite.get("skipped")) == 1
    assert [path.name for path in report.parent.iterdir()] == ["junit.xml"]
    assert "\x1b" not in capsys.readouterr().out


def test_bad_input_is_one_clear_line(run, tmp_path):
    here = run()
    for place, said in ((tmp_path / "none", "no such folder"), (tmp_path, "not a simspec dataset")):
        with pytest.raises(DatasetError, match=said):
            cli(here, place)
    other = run(process={"type": "iid", "alpha": 0.65})
    with pytest.raises(DatasetError, match="no simulation and κ in common"):
        cli(here, other)
    for junit in (tmp_path / "missing" / "x.xml", tmp_path):
        with pytest.raises(DatasetError, match="cannot be written") as caught:
            cli(here, here, "--junit", junit)
        assert "\n" not in str(caught.value)
    for error in (0.0, 1.0, float("nan"), -1.0):
        with pytest.raises(ParameterError, match="allowed: 0 < error < 1"):
            compare(here, here, error=error)
    with pytest.raises(ParameterError, match="allowed: shift > 0"):
        compare(here, here, shift=0.0)
    for part in (here / "chunks").iterdir():
        part.unlink()
    with pytest.raises(DatasetError, match="holds no chunk tables"):
        cli(here, other)


def test_all_parts_unreadable_is_bad_input(run):
    here, there = run(), run()
    store.part_path(there, "chunks", 0).write_bytes(b"rubbish")
    with pytest.raises(DatasetError, match="cannot be read"):
        compare(here, there)


def test_a_single_unit_is_left_out(run):
    first, second = (run(kappa=[2], process=CARRIED, seed=seed) for seed in (1, 2))
    rewrite(second, lambda frame: frame.drop_duplicates("simulation_id"))
    with pytest.raises(DatasetError, match="single unit"):
        compare(first, second)
