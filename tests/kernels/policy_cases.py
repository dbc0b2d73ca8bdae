"""Policies that the tests of the general loop play: every pass, with edges."""

from simspec.model import Cost
from simspec.model.policies import (
    BatchTable,
    Exp3,
    Exp3Spec,
    Gate,
    Goodput,
    Heuristic,
    Rolling,
    Schedule,
    Steps,
    Thompson,
    Ucb,
    UcbSpec,
)

COST = Cost(c_d=0.1, c_v=0.02, c_r=0.3)
CODED = Cost(c_d=0.1, c_v=0.5, c_r=1.0)
BOUNDS = {"first": 3, "lowest": 1, "highest": 7}

CASES = {
    "heuristic": Heuristic(**BOUNDS),
    "heuristic kept": Heuristic(**BOUNDS, keeps=True),
    "schedule": Schedule(kappas=(7, 0, 3, 1, 4)),
    "batch table": BatchTable(table=((1, 4, 5), (5, 8, 2), (9, 64, 0)), batches=(30, 8, 6, 3, 1)),
    "article": Rolling(**BOUNDS, rule="article", cost=CODED, guard=0.25),
    "article once": Rolling(**BOUNDS, rule="article", cost=CODED, guard=0.25, degrade="once", keeps=True),
    "corrected": Rolling(**BOUNDS, cost=COST),
    "corrected slow": Rolling(**BOUNDS, smoothing=0.98, cost=COST, keeps=True),
    "rolling drafted": Rolling(**BOUNDS, of="drafted", cost=COST),
    "rolling round": Rolling(first=4, lowest=0, highest=7, of="round", smoothing=0.6, cost=COST, keeps=True),
    "rolling off": Rolling(first=0, lowest=0, highest=7, initial=0.1, cost=COST),
    "table": Rolling(first=4, lowest=0, highest=9, rule="table", cuts=(0.4, 0.6, 0.8), kappas=(0, 2, 4, 9)),
    "steps": Steps(),
    "steps quick": Steps(candidates=(0, 1, 3, 6), first=3, warm_up=0, interval=1, down=0.0),
    "steps below a ceiling": Steps(candidates=(1, 3, 5, 7), warm_up=2, interval=1, ceiling=1.4, keeps=True),
    "goodput": Goodput(**BOUNDS, cost=COST),
    "goodput slow": Goodput(first=2, lowest=0, highest=7, keep=1.0, interval=3, cost=COST, keeps=True),
    "ucb": Ucb(first=1, lowest=1, highest=7, cost=COST),
    "ucb discounted": Ucb(first=0, lowest=0, highest=4, width=0.3, keep=0.95, cost=COST, keeps=True),
    "ucb window": Ucb(first=1, lowest=0, highest=5, width=0.5, window=9, cost=COST),
    "ucb one round": Ucb(first=1, lowest=1, highest=3, window=1, cost=COST, keeps=True),
    "ucb spec": UcbSpec(keeps=True),
    "ucb spec throughput": UcbSpec(lowest=0, highest=3, confidence=1.0, reward="throughput", cost=COST),
    "exp3": Exp3(first=1, lowest=1, highest=7, cost=COST),
    "exp3 even": Exp3(first=2, lowest=2, highest=5, even=1.0, cost=COST, keeps=True),
    "exp3 spec": Exp3Spec(first=1, highest=5),
    "exp3 spec kept": Exp3Spec(first=3, lowest=0, highest=3, keeps=True),
    "thompson": Thompson(**BOUNDS, cost=COST),
    "thompson short": Thompson(first=0, lowest=0, highest=5, keep=0.9, cost=COST, keeps=True),
    "gate": Gate(first=4, highest=4, rounds=5, least=0.4),
    "gate tried again": Gate(first=3, highest=4, rounds=4, least=0.5, probe=3, trial=2),
    "gate share": Gate(first=4, highest=4, of="share", rounds=5, least=0.4, keeps=True),
    "gate share tried again": Gate(first=3, highest=3, of="share", rounds=6, least=0.6, probe=4, trial=1),
    "gate length": Gate(first=5, highest=5, of="length", rounds=3, least=1.2, probe=1, keeps=True),
    "gate shut": Gate(first=4, highest=4, rounds=1, least=1.0, keeps=True),
}
