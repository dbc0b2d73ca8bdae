"""How often does the judge say something false of true claims, if he is allowed to in 5% of all runs?"""

import math
from collections import defaultdict

import pytest

from simspec.claims import judge as judging
from simspec.claims import quantity as q
from simspec.claims.claim import Claim, Says
from simspec.claims.judge import judge
from simspec.claims.lab import Lab
from simspec.model import Cost, Iid, Simulation, Survival
from simspec.run.dispatch import run_jobs
from simspec.run.engine import Job
from simspec.stats.counts import Counts

STAGES = (2**12, 2**14, 2**16)
DEAR = Cost(c_d=0.1, c_r=0.5)
CURVE = Survival(survival=(0.7617, 0.6158, 0.5125, 0.4243))
QUANTITIES = (
    q.Speedup(Iid(alpha=0.7), 4, Cost(c_d=0.1)),
    q.Speedup(CURVE, 4, DEAR),
    q.NoneAccepted(Iid(alpha=0.7), 4),
    q.NoneAccepted(CURVE, 3),
)
LEVEL = 0.05


class Drawn(Lab):
    """Counts of independent windows in one multinomial draw, which takes microseconds."""

    def simulate(self, needs, windows):
        kappas = defaultdict(set)
        for need in needs:
            kappas[need.process].update(need.kappas)
        for process, own in kappas.items():
            job = Job(Simulation(process), tuple(sorted(own)), windows, self.seed, method="multinomial")
            ((_, tallies),) = run_jobs([job], 1)
            self._counts[job.simulation.id] = Counts.of(tallies, fresh=True)


def planted():
    """True claims with the truth on their very edge, above and below: the worst there are."""
    return [
        Claim(f"X{i}", "0", side, "", says, own, "")
        for i, own in enumerate(QUANTITIES)
        for side, says in (("above", Says(own.exact(), math.inf)), ("below", Says(-math.inf, own.exact())))
    ]


def share_of_false(seeds):
    claims, wrong = planted(), 0
    for seed in seeds:
        found = {verdict.verdict for verdict in judge(claims, Drawn(seed), STAGES)}
        wrong += bool(found & {"refuted", "engine-disagreement"})
    return wrong / len(seeds)


@pytest.fixture(autouse=True)
def lenient(monkeypatch):
    monkeypatch.setattr(judging, "JUDGE_SHARE", LEVEL)


@pytest.mark.deep
def test_a_judge_at_five_percent_is_wrong_in_no_more():
    """20,000 seeds; four standard errors of 5% are .62%."""
    found = share_of_false(range(20_000))
    print(f"false verdicts in {found:.4f} of 20,000 seeds")
    assert found <= LEVEL + 4 * math.sqrt(LEVEL * (1 - LEVEL) / 20_000)


def test_few_seeds_do_not_contradict_it():
    """200 seeds; more than 32 false ones have odds below 1e-7 at 5%."""
    assert share_of_false(range(200)) * 200 <= 32
