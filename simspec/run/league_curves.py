"""What does the league look like over time?  Regret of a few controllers, and the κ that they choose along a change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from simspec import theory
from simspec.model import Cost, Drift, Process, Trace
from simspec.model.serving import NORMAL, Serving
from simspec.run.contenders import contenders
from simspec.run.progress import Progress
from simspec.run.regret import RegretCurve, regret
from simspec.run.surroundings import surroundings
from simspec.run.trajectory import Trajectory, trajectory

FEW = ("+2/−1 kept", "article's loop", "rolling .85", "rolling .99 kept", "UCB", "EXP3", "Thompson")
"""Controllers that are drawn."""
ALONG = ("+2/−1 kept", "rolling .85", "rolling .99 kept", "Thompson")
"""Those whose κ is drawn along a change: their memory is empty at its start."""
ROUNDS, REQUEST_ROUNDS = 100_000, 20_000
STRETCH = 32


@dataclass(frozen=True, eq=False)
class LeagueCurves:
    """What is drawn.

    Attributes
    ----------
    says, says_drift : str
        Where regret is taken, and along what κ is followed.
    regrets : dict of str to RegretCurve
    drift : Drift
        Along what κ is followed.
    paths : dict of str to Trajectory
    plan : array
        The best κ by output position, for rates that are known.
    fixed : int
        The best fixed κ of the drift.
    example : bool
        Whether the drift is another process than the one that was asked for.
    """

    says: str
    says_drift: str
    regrets: Mapping[str, RegretCurve]
    drift: Drift
    paths: Mapping[str, Trajectory]
    plan: np.ndarray
    fixed: int
    example: bool

    def records(self) -> list[dict[str, object]]:
        """The regret curves: one plain dictionary per controller and comparator."""
        return [
            {"controller": name, "unit": own.unit, "marks": own.marks.tolist(), "tokens": own.tokens.tolist(),
             "against": against, "mean": other.mean.tolist(), "half": other.half.tolist()}
            for name, own in self.regrets.items() for against, other in own.against.items()
        ]  # fmt: skip


def league_curves(
    cost: Cost, process: Process | None = None, says: str = "", longest: int = 8, seed: int = 1, level: float = 0.95,
    progress: Progress | None = None, rounds: int | None = None, serving: Serving = NORMAL,
) -> LeagueCurves:  # fmt: skip
    """Regret over time in one of the surroundings, and κ along a drift.

    Parameters
    ----------
    cost : Cost
    process : Process, optional
        Where regret is taken; default "α .7" of the league.  Where it is a drift, κ is followed along it, else along
        "falls" of the league.
    says : str
        The process in words.
    longest, seed, level
        As for `simspec.run.league.league`.
    progress : Progress, optional
        Told what is being done.
    rounds : int, optional
        Rounds of a lane, where they have no end; default 100,000.
    serving : Serving
        Under which conditions controllers run.

    Examples
    --------
    >>> from simspec.model import Iid
    >>> found = league_curves(Cost(c_d=0.1), Iid(alpha=0.6), rounds=10_000)
    >>> found.regrets["UCB"].slope < 0.9 < found.regrets["rolling .85"].slope
    True
    """
    known = surroundings()
    usual, falls = known["α .7"], known["falls"]
    example = process is not None and not isinstance(process, Drift)
    if process is None:
        process, says = usual.process, "independent drafts, α = .7"
    drift, says_drift = (process, says) if isinstance(process, Drift) else (falls.process, falls.says)
    assert isinstance(drift, Drift)
    ends = [end for end in (process.longest_draft, cost.longest_draft) if end is not None]
    longest = min([longest, *ends])
    own = contenders(cost, longest)
    marks, regrets, paths = _marks(process, ROUNDS if rounds is None else rounds), {}, {}
    for name in FEW:
        if progress is not None:
            progress.say(f"regret of {name}")
        regrets[name] = regret(process, own[name], cost, marks, seed=seed, level=level, serving=serving)
    for name in ALONG:
        paths[name] = trajectory(drift, own[name], cost, stretch=STRETCH, seed=seed, level=level, serving=serving)
    free = cost.without_changes()
    plan = theory.optimal_plan(drift, free, longest).kappas
    fixed = theory.optimum(drift, free, longest).kappa_star
    return LeagueCurves(says or str(process), says_drift or str(drift), regrets, drift, paths, plan, fixed, example)


def _marks(process: Process, rounds: int) -> list[int]:
    """Rounds, or requests, in steps of even ratio."""
    if process.unit != "generation":
        last = rounds
    elif isinstance(process, Trace):
        last = 32
    else:
        each = process.n_tokens if isinstance(process, Drift) else getattr(process, "request_tokens", 1)
        last = max(8, REQUEST_ROUNDS // int(each))
    first = 10 if last >= 1000 else 1
    return sorted({round(mark) for mark in np.geomspace(first, last, 25)})
