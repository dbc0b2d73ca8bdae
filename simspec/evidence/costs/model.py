"""Is a sweep a straight line or a table, and what about that choice is its noise?"""

from __future__ import annotations

from simspec.evidence.costs.line import Line
from simspec.evidence.costs.means import Sweep
from simspec.evidence.costs.noise import UNLIKELY, Noise, bend_basis, line_basis, noise_about, step_basis
from simspec.evidence.costs.points import AFFINE, TABLE, THROUGH_PLAIN
from simspec.model.errors import ParameterError

MODELS = (AFFINE, TABLE)
MISS = 0.03
"""A line that misses a measured round by more is none, if noise explains that in fewer than `UNLIKELY` cases."""
MISS_ALONE = 0.05
"""The same where hardly a row repeats, so that nothing tells noise from a bend.  A line there is sure of what a bend
would spoil; a table with the scatter about the line as its noise is right either way, and less sure."""


def chosen_model(model: str | None, line: Line | None, gaps: list[int], sweep: Sweep) -> tuple[str, list[str]]:
    """Which model, and why, where it was not asked for."""
    if model is not None and model not in MODELS:
        raise ParameterError("model", f'model = "{model}" is unknown; allowed: {", ".join(MODELS)}, roofline')
    if line is None:
        if model == AFFINE:
            raise ParameterError("model", f"a line needs two κ; only κ = {sweep.kappas[0]} was measured")
        alone = (
            "one κ was measured: R(κ) = 1 + sκ assumes that a round has no fixed cost; the errors hold that doubt, "
            "as if any share of R − 1 were as likely to be fixed, and a second κ would end it"
        )
        return (TABLE, []) if model == TABLE else (THROUGH_PLAIN, [alone])
    if model is not None:
        return model, []
    if gaps:
        return TABLE, [f"a table rather than a line: {len(gaps)} edge{'s' if len(gaps) > 1 else ''} found"]
    told = [chance for chance in (line.misfit, line.bend) if chance == chance]
    if line.worst > MISS and min(told, default=1.0) < UNLIKELY:
        return TABLE, [f"a table rather than a line, which misses by up to {line.worst:.1%}"]
    if line.worst <= MISS or sweep.freedom >= len(sweep.ms) - 2:
        return AFFINE, []
    doubt = (
        f"the line misses by up to {line.worst:.1%}: noise or a bend, which rows that repeat each κ would tell apart"
    )
    if line.worst > MISS_ALONE:
        return TABLE, [f"a table, as {doubt}; its errors are as if all of it were noise"]
    return AFFINE, [doubt]


def noise_of(chosen: str, sweep: Sweep, line: Line | None, gaps: list[int]) -> Noise:
    """Noise of one row: from its repeats, and from the scatter about the simplest curve that the points allow."""
    straight = line_basis(sweep.drafted)
    if line is None:
        return noise_about(sweep, straight[:, :1])
    if chosen == AFFINE or not (gaps or line.bend < UNLIKELY):
        return noise_about(sweep, straight)
    return noise_about(sweep, step_basis(sweep.drafted, gaps) if gaps else bend_basis(sweep.drafted))
