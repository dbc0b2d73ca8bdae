"""What can measured costs not tell, and what about them looks wrong?"""

from __future__ import annotations

import math
from collections.abc import Sequence

from simspec.evidence.costs.means import Sweep, mean_of
from simspec.evidence.costs.points import AFFINE, THROUGH_PLAIN
from simspec.evidence.costs.round_costs import NO_NOISE, RoundCosts
from simspec.evidence.costs.rows import LOOP, ROUND, VERIFY, Timed

LOW_END = 0.8
"""A line that meets κ = 0 below so many plain steps is not to be trusted towards 0."""
BY_CHANCE = 3.0
"""Standard errors within which a round below one plain step may be chance."""
BELOW = 0.03
"""Share below plain decoding from which a loop with κ = 0 is strange."""


def off_of(rows: Sequence[Timed], plain: float, plain_error: float) -> tuple[float, list[str]]:
    """Cost of a token with the loop of speculation running and κ = 0, and what is strange about it."""
    loop = [row for row in rows if row.kind == LOOP]
    if not loop:
        return 1.0, []
    ms, error = mean_of(loop)
    noise = math.hypot(error if error == error else 0.0, plain_error if plain_error == plain_error else 0.0)
    if ms < plain - max(BY_CHANCE * noise, BELOW * plain):
        return 1.0, [
            f"suspect: speculation with κ = 0 takes {ms / plain:.2f} plain steps per token, less than plain decoding: "
            "drafts are made in secret (κ is at least 1), so this is not the cost of off"
        ]
    return ms / plain, [f"off costs {ms / plain:.3f} plain steps per token: the loop of speculation runs with κ = 0"]


def doubts(own: RoundCosts, kind: str, sweep: Sweep, known: bool, plain_rows: int) -> list[str]:
    """What these numbers cannot tell, and what looks wrong."""
    notes = []
    low = [
        p
        for p in own.measured
        if p.kappa > 0 and p.cost < 1.0 - BY_CHANCE * math.hypot(p.error or 0.0, own.plain_error)
    ]
    if low:
        notes.append(
            f"suspect: R = {low[0].cost:.3f} at κ = {low[0].kappa} is below one plain step, though a round holds a "
            "whole target pass: were plain and speculative measured at the same batch, content and settings, and is E "
            "of the same run, bonus token counted once?"
        )
    low_end = own.figures.get("fixed")
    if own.model == AFFINE and low_end is not None and low_end < LOW_END and min(own.kappas) > 1:
        notes.append(
            f"the line meets κ = 0 at {low_end:.2f}, below one plain step: costs bend, and below "
            f"κ = {min(own.kappas)} the line says too little"
        )
    early = [p for p in own.measured if p.stops_early]
    if early:
        notes.append(
            f"drafts stop early: {early[-1].drafted:.2f} per round at κ = {early[-1].kappa}; R(κ) is by drafts made"
        )
    notes += _of_noise(own, sweep, plain_rows)
    if own.figures and own.figures["slope"] is not None and own.figures["slope"] <= 0.0:
        notes.append("suspect: a round gets cheaper with more drafts; the rows differ in something else")
    if kind == VERIFY and own.draft is None:
        notes.append("drafting is not in these passes and was taken as free; give --draft-cost or --draft-ms")
    if kind == ROUND and own.draft is None:
        notes.append(
            "whole rounds do not tell drafting from wider verification; --draft-cost would (or draft_ms by round)"
        )
    if not known:
        notes.append("tok_s at a batch above 1 may be of one request or of all: R holds, ms of a step are unknown")
    return notes


def _of_noise(own: RoundCosts, sweep: Sweep, plain_rows: int) -> list[str]:
    """Where the errors come from, where that is not the repeats of each."""
    if not any(point.error is not None for point in own.measured):
        return ["the noise of the one row is in none of the errors" if own.model == THROUGH_PLAIN else NO_NOISE]
    notes = []
    if not sweep.freedom:
        curve = "line" if own.model == AFFINE else "curve"
        scatter = f"the scatter about the {curve}, as there is one row per κ"
        lent = f"the scatter of the {plain_rows} plain rows, as rows of rounds are too few to tell"
        notes.append(f"errors come from {scatter if len(sweep.kappas) > 2 else lent}")
    if plain_rows == 1:
        notes.append("plain decoding was measured once: its error is taken to be that of a row of rounds")
    return notes
