"""How much is done is said in parts of what was planned: requests play more rounds than that, and no run 101%."""

import re
from io import StringIO
from pathlib import Path

import pytest

from simspec.model import Scenario
from simspec.run.dispatch import expected_of
from simspec.run.planning import plan, windows_of
from simspec.run.progress import Progress
from simspec.run.record import Recording
from simspec.run.shards import Shard, combine, play_shard
from simspec.run.sweep import sweep

DRIFT = {"type": "drift", "alpha_start": 0.85, "alpha_end": 0.62, "tokens": 128}
MIXTURE = {"type": "discrete_mixture", "alphas": [0.9, 0.5], "weights": [0.5, 0.5], "weights_of": "requests",
           "request_tokens": 256}  # fmt: skip
DATA = Path(__file__).parents[2] / "scenarios" / "data"
TRACES = [
    {"type": "trace", "path": str(DATA / "smollm2_windows_k8.parquet"), "request": "request", "drafted": 8,
     "accepted": "accepted_full", "bonus_included": False},
    {"type": "trace", "path": str(DATA / "smollm2_dense_tl24.parquet"), "request": "request", "alpha": "tok_accept"},
]  # fmt: skip
PROCESSES = [
    {"type": "iid", "alpha": 0.7},
    {"type": "markov", "alpha": 0.7, "rho": 0.3, "start": "carry"},
    {"type": "hmm", "P": [[0.9, 0.1], [0.2, 0.8]], "alphas": [0.95, 0.4]},
    DRIFT,
    MIXTURE,
]


class Noted(Progress):
    """Notes what it would print after each piece."""

    def __init__(self):
        super().__init__(quiet=True, stream=StringIO())
        self.shares, self.lines = [], []

    def add(self, windows, expected=None):
        super().add(windows, expected)
        self.shares.append(self.ready / self.total)
        self.lines.append(self.line())


def _scenario(process, windows=1_000_000, **more):
    return Scenario.from_dict({"name": "p", "windows": windows, "kappa": [0, 4], "process": process} | more)


@pytest.mark.parametrize("process", [DRIFT, MIXTURE], ids=["drift", "mixture"])
def test_requests_play_more_rounds_than_planned_and_end_at_100(process, tmp_path):
    with Noted() as progress:
        own = sweep(_scenario(process), tmp_path / "out", progress=progress, threads=1)
    assert progress.done == own.counts["count"].sum() > 1.5 * progress.total
    assert progress.ready == progress.total == 2_000_000
    assert progress.shares == sorted(progress.shares)
    assert len(progress.shares) > 1
    said = [float(found[1]) for line in progress.lines if (found := re.search(r"(\d+)%", line))]
    assert said
    assert max(said) <= 100


def test_every_kind_of_work_counts_as_it_was_planned(tmp_path):
    """Pieces sum to the plan, whatever κ they are played at, and with a policy, a scheme, a trace, a last odd lane."""
    table = [_scenario(PROCESSES, 100_003), _scenario(PROCESSES[:2], 100_003, policy={"type": "heuristic"})]
    table += [
        _scenario(PROCESSES[0], 100_003, scheme={"type": "tree", "misses": [0.4, 0.2]}),
        _scenario(TRACES, 100_003),
    ]
    for number, own in enumerate(table):
        with Progress(quiet=True) as progress:
            assert not sweep(own, tmp_path / f"{number}", progress=progress).failed
        assert progress.ready == progress.total == sum(windows_of(job) for job in plan(own).jobs)


def test_of_a_run_that_goes_on_what_is_kept_is_not_waited_for(tmp_path):
    few, more = (_scenario(PROCESSES, windows) for windows in (1_000_000, 1_700_000))
    sweep(few, tmp_path / "out")
    with Progress(quiet=True) as progress:
        sweep(more, tmp_path / "out", progress=progress)
    assert 0 < progress.ready == progress.total < sum(windows_of(job) for job in plan(more).jobs) - 2_000_000


def test_a_shard_counts_its_own_share_and_what_of_it_is_left(tmp_path):
    own, totals = _scenario(PROCESSES, 3_000_000), []
    for number in (1, 2, 3):
        with Progress(quiet=True) as progress:
            play_shard(own, Shard(number, 3), tmp_path / f"{number}", progress=progress)
        assert progress.ready == progress.total > 0
        totals.append(progress.total)
    assert sum(totals) == sum(windows_of(job) for job in plan(own).jobs)
    with Progress(quiet=True) as progress:
        play_shard(own, Shard(1, 3), tmp_path / "1", progress=progress)
    assert (progress.done, progress.total) == (0, 0)
    assert combine(tmp_path / "all", [tmp_path / str(number) for number in (1, 2, 3)]).complete


def test_parts_of_a_job_sum_to_the_plan_where_lanes_grow():
    own = _scenario(PROCESSES, 10**9, stop={"speedup": 1e-3})
    for job in plan(own).jobs:
        assert sum(job.planned_in(piece) for piece in job.pieces()) == job.planned
        later = job.at_look(5)
        assert sum(later.planned_in(piece) for piece in later.pieces()) == later.planned < job.planned


def test_nothing_drawn_at_once_is_counted():
    job = next(plan(_scenario(PROCESSES[0], method="multinomial")).jobs)
    assert expected_of(job, None) == 0


def test_recorded_requests_that_end_early_are_done_all_the_same(tmp_path):
    with Progress(quiet=True) as progress:
        sweep(_scenario(DRIFT, 100_000), tmp_path / "out", progress=progress, recording=Recording(10**6))
    assert progress.done < progress.ready == progress.total
