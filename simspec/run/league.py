"""Which controller is best where, and by how much does it beat the best fixed κ?

The best fixed κ is known exactly.  It also plays, with the words that all controllers meet, and its luck is taken off
theirs; intervals come from lanes.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from simspec.model import Cost, ParameterError
from simspec.model.scenario import WINDOWS_LIMIT
from simspec.model.serving import NORMAL, Serving
from simspec.run.comparators import FIXED, best_fixed
from simspec.run.contenders import contenders
from simspec.run.league_stage import Place, Stage
from simspec.run.progress import Progress
from simspec.run.regret import check_alone, check_asked
from simspec.run.surroundings import PERIODS, Surrounding, by_turns, surroundings

LONGEST = 8
"""Longest draft of every controller, and of the fixed κ that they are held against."""
LONGEST_LIMIT = 32
DEFAULT_WINDOWS = 1_000_000
ADVERSARY = "adversary"


class League:
    """All places, surrounding by surrounding.

    Attributes
    ----------
    places : list of Place
    where : dict of str to str
        What each of the surroundings is.
    forgetful : frozenset of str
        Those in which no round tells of the next.
    cost : Cost
    windows, seed, longest : int
    level : float
    serving : Serving
    """

    def __init__(
        self, places: list[Place], where: Mapping[str, str], cost: Cost, windows: int, seed: int, level: float,
        longest: int, serving: Serving = NORMAL, forgetful: frozenset[str] = frozenset(),
    ) -> None:  # fmt: skip
        self.places, self.where, self.cost, self.windows = places, dict(where), cost, windows
        self.seed, self.level, self.longest, self.serving, self.forgetful = seed, level, longest, serving, forgetful

    def records(self) -> list[dict[str, object]]:
        """One plain dictionary per place."""
        return [place.record() for place in self.places]

    def __repr__(self) -> str:
        from simspec.run.league_text import shown

        return shown(self)


def league(
    cost: Cost | None = None, windows: int = DEFAULT_WINDOWS, seed: int = 1, level: float = 0.95,
    threads: int | None = None, where: Mapping[str, Surrounding] | None = None, longest: int = LONGEST,
    progress: Progress | None = None, serving: Serving = NORMAL,
) -> League:  # fmt: skip
    """Play every controller in all surroundings.

    Parameters
    ----------
    cost : Cost, optional
        Prices of the rounds, known to the controllers that read prices, and of changes of κ, of which they do not
        know; default c_d = .1.
    windows : int
        Rounds of each controller in each of the surroundings; whole requests, so often more are played.
    seed : int
        All controllers of one surrounding meet the same random words.
    level : float
        Confidence level of the intervals.
    threads : int, optional
        Changes no number.
    where : dict of str to Surrounding, optional
        Own surroundings by name; default those of `simspec.run.surroundings`, and an adversary: the same high and low
        rate by turns as in "regimes", at the period that is worst for each controller.
    longest : int
        Longest draft of all controllers and fixed κ, 1 to 32; shorter where a process or the prices end before.
    progress : Progress, optional
        Told what is being done.
    serving : Serving
        Under which conditions controllers choose, requests one by one, e.g. news that come late.

    Returns
    -------
    League

    Raises
    ------
    ParameterError
        An argument is out of range, or no policy can play a process.

    Examples
    --------
    >>> from simspec.model import Iid
    >>> found = league(windows=20_000, where={"mine": Surrounding(Iid(alpha=0.7), "my drafts")})
    >>> own = {place.controller: place.gain for place in found.places}
    >>> own["article's loop"] < -0.1 < own["rolling .85"] < 0.0
    True
    """
    _check(windows, seed, level, longest)
    check_alone(serving)
    cost = Cost(c_d=0.1) if cost is None else cost
    tried = surroundings() if where is None else where
    places, says = [], dict[str, str]()
    for name, surrounding in tried.items():
        if progress is not None:
            progress.say(f"playing in {name}")
        stage = Stage(name, surrounding, cost, windows, seed, level, longest, None, serving)
        places += stage.places(threads, progress)
        ends = f"; κ up to {stage.longest}, where it ends" if stage.longest < longest else ""
        says[name] = surrounding.says + ends
    if where is None:
        places += _adversary(cost, windows, seed, level, threads, longest, progress, serving)
        says[ADVERSARY] = f"α is .9 and .45 by turns of {PERIODS[0]} to {PERIODS[-1]} tokens: the worst for each one"
    forgetful = frozenset(name for name, surrounding in tried.items() if surrounding.forgets)
    return League(places, says, cost, windows, seed, level, longest, serving, forgetful)


def _check(windows: int, seed: int, level: float, longest: int) -> None:
    if not 1 <= windows <= WINDOWS_LIMIT:
        allowed = f"allowed: 1 ≤ windows ≤ {WINDOWS_LIMIT}"
        raise ParameterError("windows", f"windows = {windows} is out of range; {allowed}")
    check_asked(None, seed, level)
    if not 1 <= longest <= LONGEST_LIMIT:
        raise ParameterError("longest", f"longest = {longest} is out of range; allowed: 1 ≤ longest ≤ {LONGEST_LIMIT}")


def _adversary(
    cost: Cost, windows: int, seed: int, level: float, threads: int | None, longest: int, progress: Progress | None,
    serving: Serving,
) -> list[Place]:  # fmt: skip
    """Each controller at the period of two rates that is worst for it.

    The period is found with an eighth of the rounds and other words, so that the worst of eight is no luck of words.
    """
    stages, worst = dict[int, Stage](), dict[str, tuple[float, int]]()
    for period in PERIODS:
        if progress is not None:
            progress.say(f"an adversary tries {period} tokens")
        setting = Surrounding(by_turns(period), "")
        held = {FIXED: best_fixed(setting.process, cost.without_changes(), longest)}
        look = Stage(ADVERSARY, setting, cost, max(1, windows // 8), seed + 1, level, longest, held, serving)
        stages[period] = Stage(ADVERSARY, setting, cost, windows, seed, level, longest, held, serving)
        for place in look.play(contenders(cost, look.longest), threads):
            worst[place.controller] = min(worst.get(place.controller, (np.inf, 0)), (place.gain, period))
    places = dict[str, Place]()
    for period, stage in stages.items():
        own = {name: policy for name, policy in contenders(cost, stage.longest).items() if worst[name][1] == period}
        places |= {place.controller: _at(place, period) for place in stage.play(own, threads, progress)}
    return [places[name] for name in worst]


def _at(place: Place, period: int) -> Place:
    return Place(**(vars(place) | {"period": period}))
