"""Do many points stay cheap?  Few files, few rows in memory, and work that grows with points and no faster."""

import gc
import sys
import time

import numpy as np
import pyarrow.parquet as pq
import pytest

from simspec.kernels.lower_schemes import form_bytes
from simspec.model import Iid, Scenario, Simulation, simulation
from simspec.model.lately import Lately
from simspec.model.rounds import DraftLaw
from simspec.model.schemes import Tree
from simspec.run import count_files, engine, keeping, planning
from simspec.run.count_files import MOST_FILES, Rows, held, write
from simspec.run.dataset import read
from simspec.run.dispatch import run_jobs
from simspec.run.engine import play
from simspec.run.keeping import Kept, run_of
from simspec.run.planning import plan
from simspec.run.played import arrays_in, played_of
from simspec.run.store import PartWriter, portions
from simspec.run.sweep import sweep
from simspec.run.tables import Block, estimate_table


def scenario(points, costs=2, **changes):
    alpha = [number * costs / points for number in range(points // costs)]
    table = {"name": "many", "windows": 64, "kappa": [1, 3], "process": {"type": "iid", "alpha": alpha}}
    c_d = [0.05 * (1 + number) for number in range(costs)]
    return Scenario.from_dict(table | {"cost": {"c_d": c_d}} | changes)


def test_few_files_however_long_it_takes(tmp_path, monkeypatch):
    """Each of 100 pieces of work comes to the disk by itself, in three runs; what is kept is the same."""
    monkeypatch.setattr(keeping, "FLUSH_SECONDS", 0.0)
    monkeypatch.setattr(keeping, "FLUSH_SHARE", 0.0)
    own, most = scenario(100, costs=1), 0
    jobs = list(plan(own).jobs)
    assert len(jobs) == 100
    for number in range(3):
        kept = Kept(tmp_path, run=run_of(own), again=number == 1)
        for job in jobs[number::3]:
            kept.keep(job, range(1), play(job, [0]))
            most = max(most, len(kept.files()))
        if number == 1:  # what was kept in the same run, and moved since
            assert_kept(kept, jobs[number::3])
    assert most == MOST_FILES
    again = Kept(tmp_path, run=run_of(own))
    assert len(again.files()) <= MOST_FILES
    assert_kept(again, jobs)


def assert_kept(kept, jobs):
    for job in jobs:
        (work,) = kept.split(job)
        assert np.array_equal(work.outcome().runs, play(job, [0]).runs)


def test_rows_are_read_a_group_at_a_time(tmp_path, monkeypatch):
    """Also where a stretch stands in two groups."""
    monkeypatch.setattr(count_files, "OPEN_GROUPS", 2)
    chain = {"type": "markov", "alpha": [0.6, 0.7], "rho": 0.3, "start": "carry"}
    jobs = plan(scenario(8, process=chain)).jobs
    done = [own for job, out in run_jobs(jobs, 1) for own in played_of(job, range(1), out)]
    path = write(tmp_path, done)
    whole = pq.read_table(path)
    with pq.ParquetWriter(tmp_path / "cut.parquet", whole.schema) as writer:
        writer.write_table(whole, row_group_size=3)
    rows = Rows()
    for at, own in zip(held(tmp_path / "cut.parquet"), done, strict=True):
        assert at.stretch == own.stretch
        found = arrays_in(rows.of(at.path, at.rows))
        assert found.keys() == own.arrays.keys()
        assert all(np.array_equal(found[name], own.arrays[name]) for name in found)
        assert len(rows._groups) <= 2


def test_estimates_are_made_a_few_at_a_time():
    """Many simulations, and one of many costs: the same rows, never more than asked for."""
    own = scenario(60, costs=20)
    blocks = [Block(job, out, list(own.costs()), 0.95) for job, out in run_jobs(plan(own).jobs, 1)]
    whole = estimate_table(blocks)
    for most in (7, 40, 100, 10**6):
        tables = [estimate_table(some) for some in portions(blocks, most)]
        assert all(len(table) <= most for table in tables)
        assert len(tables) >= len(whole) / most
        rows = [row for table in tables for row in table.to_pylist()]
        assert rows == whole.to_pylist()


class Calls:
    """Python functions that are called: a measure of work that no other process disturbs."""

    def __enter__(self):
        self.count = 0
        sys.setprofile(self._note)
        return self

    def _note(self, frame, event, argument):
        self.count += event == "call"

    def __exit__(self, *error):
        sys.setprofile(None)


@pytest.mark.parametrize(
    ("costs", "fewer"), [(1, 200), (100, 500), pytest.param(1, 500, marks=pytest.mark.deep)], ids=str
)
def test_work_grows_with_points_and_no_faster(costs, fewer, tmp_path, monkeypatch):
    """Calls of twice as many points, of planning, playing, going on, and reading: twice as many, and not four times."""
    monkeypatch.setattr(planning, "SIMULATIONS_PER_SECTION", 50)
    sweep(scenario(200, costs), tmp_path / "warm", threads=1)
    counts = []
    for points in (fewer, 2 * fewer):
        place = tmp_path / str(points)
        with Calls() as planned:
            own = scenario(points, costs)
            assert plan(own).points == points
        with Calls() as played:
            sweep(own, place, threads=1)
        with Calls() as extended:
            sweep(scenario(points, costs, level=0.99), place, threads=1)
        with Calls() as shown:
            read(place).summary()
            assert len(read(place).estimates) == 2 * points
        counts.append([calls.count for calls in (planned, played, extended, shown)])
    ratios = np.array(counts[1]) / np.array(counts[0])
    assert np.all(ratios < 2.2), counts


TREE = {"type": "tree", "misses": [0.4, 0.2]}


def of_trees():
    drift = {"type": "drift", "alpha_start": 0.8, "alpha_end": [0.6, 0.7], "tokens": 40}
    table = {"name": "trees", "windows": 64, "kappa": [2, 4], "process": drift, "scheme": TREE}
    return Scenario.from_dict(table)


def test_a_table_of_rounds_is_made_once(tmp_path, monkeypatch):
    """For the check, for the kernel, and for what plays; the same numbers as if nothing had been kept."""
    made, make = [], simulation.process_rounds
    monkeypatch.setattr(simulation, "process_rounds", lambda *asked: made.append(asked) or make(*asked))
    own = of_trees()
    own.check()
    sweep(own, tmp_path / "kept")
    assert len(made) == 4
    for lately in (simulation.TABLES, engine.FORMS):
        monkeypatch.setattr(lately, "_most", 0)
        lately.clear()
    sweep(of_trees(), tmp_path / "anew")
    assert len(made) > 8
    assert read(tmp_path / "kept").estimates.equals(read(tmp_path / "anew").estimates)


def test_tables_that_differ_are_told_apart():
    """By each parameter of process and scheme, by κ, and by the class behind a name; a label is none."""
    iid = Iid(alpha=0.7)

    class Worse(Tree):
        def rounds(self, draft, kappa):
            return super().rounds(DraftLaw(tuple((rate / 2,) for (rate,) in draft.alphas)), kappa)

    tables = [
        Simulation(process, scheme).rounds(kappa)
        for process, scheme, kappa in [
            (iid, Tree(misses=[0.4]), 6),
            (iid, Tree(misses=[0.4]), 7),
            (iid, Tree(misses=[0.3]), 6),
            (Iid(alpha=0.6), Tree(misses=[0.4]), 6),
            (iid, Worse(misses=[0.4]), 6),
        ]
    ]
    assert len({str(table.states) for table in tables}) == len(tables)
    assert Simulation(Iid(alpha=0.7, label="x"), Tree(misses=[0.4], label="y")).rounds(6) is tables[0]


def test_tables_are_kept_up_to_a_bound(tmp_path):
    """Forms of more jobs than there is room for: no job holds its own when it is done."""
    todo = plan(of_trees())
    for job, _ in run_jobs(todo.jobs, 1):
        assert "_scheme_forms" not in vars(job)
    lately = Lately(10**4, form_bytes)
    for job in todo.jobs:
        for kappa in job.kappas:
            lately.get((job.simulation.id, kappa), lambda job=job, kappa=kappa: job.scheme_form(kappa))
            assert sum(map(form_bytes, lately._things.values())) == lately._filled <= 10**4
    assert lately._things


@pytest.mark.deep
def test_a_hundred_thousand_points(tmp_path):
    """Planned within 10 s and read within 2 s of a processor; at most 64 files at any time; memory does not grow.

    Seconds are of the processor; the time to read is that of the second reading, since the first imports pandas.
    """
    began = time.process_time()
    own = scenario(100_000, costs=1)
    assert plan(own).points == 100_000
    assert time.process_time() - began < 10.0
    grown, most = [], 0
    price = PartWriter.price

    def watched(self, blocks):
        nonlocal most
        price(self, blocks)
        grown.append(len(gc.get_objects()))
        most = max(most, sum(path.is_file() for path in tmp_path.rglob("*")))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PartWriter, "price", watched)
        sweep(own, tmp_path)
    assert most <= 64
    assert sum(path.is_file() for path in tmp_path.rglob("*")) <= 64
    assert max(grown[3:]) < 1.1 * grown[2], grown
    assert len(read(tmp_path).estimates) == 200_000
    began = time.process_time()
    assert len(read(tmp_path).estimates) == 200_000
    assert time.process_time() - began < 2.0
