"""How does regret grow over ten million rounds, and from when on is learning better than a bad habit?  Claim C45."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from simspec.claims.claim import below
from simspec.claims.judge import decide
from simspec.claims.setup import STANDARD, USUAL
from simspec.model.policies import Exp3, Exp3Spec, Policy, Rolling, Schedule, Thompson, Ucb, UcbSpec
from simspec.run.processors import default_threads
from simspec.run.progress import Progress
from simspec.run.regret import RegretCurve, crossover, regret

if TYPE_CHECKING:
    import pandas as pd

LAST = 10_000_000
LEVEL = 1 - 1e-6 / 32
"""Of the intervals that verdicts rest on; those of the table are at 95%."""
CLAIMED = below(0.6)
"""O(√T), slope 1/2, as the claim is judged elsewhere."""
BOUNDS: dict[str, Any] = {"first": 4, "lowest": 1, "highest": 8}

HABITS: dict[str, Policy] = {
    "κ = 5": Schedule(kappas=(5,)),
    "rolling .85": Rolling(**BOUNDS),
    "article's loop": Rolling(**BOUNDS, rule="article", guard=0.25),
    "rolling .99": Rolling(**BOUNDS, smoothing=0.99),
}
"""What never settles, or never moves."""
LEARNERS: dict[str, Policy] = {
    "UCB1": Ucb(**BOUNDS),
    "UCB1, narrow": Ucb(**BOUNDS, width=1.0),
    "EXP3": Exp3(**BOUNDS),
    "EXP3, tried less": Exp3(**BOUNDS, rate=0.01, even=0.005),
    "Thompson": Thompson(**BOUNDS),
    "UCBSpec": UcbSpec(highest=8),
    "UCBSpec, throughput": UcbSpec(highest=8, reward="throughput"),
    "EXP3Spec": Exp3Spec(**BOUNDS),
}


def marks(last: int = LAST) -> list[int]:
    """Eight rounds per decade, 10 to ``last``."""
    found, step = [], 0
    while (mark := round(10 ** (1 + step / 8))) < last:
        found.append(mark)
        step += 1
    return [*found, last]


def curves(last: int = LAST, seed: int = 1, progress: Progress | None = None) -> dict[str, RegretCurve]:
    """Regret of all on 64 lanes each; independent drafts, α = .7, β = .1."""

    def play(own: tuple[str, Policy]) -> RegretCurve:
        curve = regret(USUAL, own[1], STANDARD, marks(last), seed)
        if progress is not None:
            progress.say(f"regret of {own[0]} over {last:,} rounds")
        return curve

    every = {**LEARNERS, **HABITS}  # the slow ones first
    with ThreadPoolExecutor(default_threads()) as pool:
        found = dict(zip(every, pool.map(play, every.items()), strict=True))
    return {name: found[name] for name in (*HABITS, *LEARNERS)}


def grown(found: dict[str, RegretCurve]) -> pd.DataFrame:
    """A row per policy and mark."""
    import pandas as pd

    rows = [
        {"policy": name, "parameters": str(own.policy), "rounds": int(own.marks[i]), "regret": float(own.mean[i])}
        | {"half": float(own.half[i]), "lanes": own.against["fixed"].by_lane.shape[1]}
        for name, own in found.items()
        for i in range(len(own.marks))
    ]
    return pd.DataFrame(rows)


def slopes(found: dict[str, RegretCurve]) -> pd.DataFrame:
    """A row per policy: slope of the last decade, its verdict, and from which round on it is ahead of each habit."""
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for name, own in found.items():
        half = own.slope_half(LEVEL)
        row: dict[str, Any] = {"policy": name, "regret": float(own.mean[-1]), "half": float(own.half[-1])}
        row |= {"slope": own.slope, "slope_half": own.slope_half()}
        row["verdict"] = decide(CLAIMED, own.slope - half, own.slope + half) or "inconclusive"
        row |= {f"ahead of {habit}": crossover(own, found[habit]) for habit in HABITS if habit != name}
        rows.append(row)
    return pd.DataFrame(rows)
