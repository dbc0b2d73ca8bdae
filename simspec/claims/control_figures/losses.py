"""What do closed loops lose to the best fixed κ, steady and along a fall (C44)?  Played, and by their exact law."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from simspec import theory
from simspec.claims.control import ALPHAS, FALLING
from simspec.claims.guides_in_loop import DROP
from simspec.claims.lab import Lab
from simspec.claims.loops import ARTICLE, CODED, GUARDED, LOWERED_ONCE, PLUG_IN, Loop
from simspec.claims.policy_quantity import PolicySpeed
from simspec.claims.setup import STANDARD
from simspec.model import Drift, Iid
from simspec.run.progress import Progress

if TYPE_CHECKING:
    import pandas as pd

ROUNDS = 2**23
SMOOTHINGS = (0.85, 0.95, 0.98, 0.99)
LOOPS: dict[str, tuple[Loop, tuple[float, ...]]] = {
    "κ*(estimate)": (PLUG_IN, SMOOTHINGS),
    "the same, lowered once where the guard fires": (LOWERED_ONCE, (0.85,)),
    "the same, lowered while the guard fires": (GUARDED, (0.85,)),
    "equation (12) at the estimate": (CODED, SMOOTHINGS),
    "the article's loop: (12) and guard": (ARTICLE, SMOOTHINGS),
}
"""Name → loop, and the λ that it is played with."""
PLACES: dict[str, Iid | Drift] = {
    **{f"α = {alpha:g}": Iid(alpha=alpha) for alpha in ALPHAS},
    "falls .85 to .62": FALLING,
    "drops .85 to .6": DROP,
}
ONE_ERROR = 0.6826894921370859
"""Level of an interval of one standard error."""


def cells() -> Iterator[tuple[str, float, str, PolicySpeed, float]]:
    """Loop, λ, place, what is played there, and S of the best fixed κ."""
    for name, (loop, smoothings) in LOOPS.items():
        for smoothing in smoothings:
            for place, process in PLACES.items():
                if isinstance(process, Iid):
                    speed = loop.steady_speed(process, smoothing)
                else:
                    speed = loop.speed_along(process, smoothing)
                yield name, smoothing, place, speed, theory.optimum(process, STANDARD, 64).best_speedup


def played(rounds: int = ROUNDS, seed: int = 1, progress: Progress | None = None) -> pd.DataFrame:
    """A row per loop, λ and place."""
    import pandas as pd

    lab, every = Lab(seed, progress=progress), list(cells())
    lab.simulate((need for *_, speed, _ in every for need in speed.needs), rounds)
    rows: list[dict[str, Any]] = []
    for name, smoothing, place, speed, fixed in every:
        seen, exact = speed.observe(lab, ONE_ERROR), speed.exact()
        error = seen.high - seen.value - speed.off
        rows.append(
            {"loop": name, "smoothing": smoothing, "place": place, "best_fixed": fixed, "exact": exact}
            | {"off": speed.off, "simulated": seen.value, "error": error, "rounds": seen.windows}
            | {"z": (seen.value - exact) / (error + speed.off), "lost": 1 - exact / fixed}
            | {"lost_simulated": 1 - seen.value / fixed, "lost_error": error / fixed}
        )
    return pd.DataFrame(rows)
