"""What does a κ sweep say about R(κ)?  A straight line, or a table where the sweep has edges, in plain target steps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from simspec.evidence.costs.doubts import doubts, off_of
from simspec.evidence.costs.edges import edges
from simspec.evidence.costs.line import Line, fit_line
from simspec.evidence.costs.means import Sweep, mean_of, squares_of, sweep_of
from simspec.evidence.costs.model import chosen_model, noise_of
from simspec.evidence.costs.noise import Noise, with_plain
from simspec.evidence.costs.points import AFFINE, THROUGH_PLAIN, Edge, Point
from simspec.evidence.costs.round_costs import Floats, RoundCosts
from simspec.evidence.costs.rows import EITHER, PLAIN, ROUND, VERIFY, Timed
from simspec.model.errors import ParameterError

FAR = 300.0
"""A round of more than so many plain steps, or fewer than one in so many, is a matter of units."""


def fit_cell(
    rows: Sequence[Timed],
    model: str | None = None,
    draft_cost: float | None = None,
    draft_ms: float | None = None,
    origin: str = "",
) -> RoundCosts:
    """R(κ) from the rows of one load.

    Parameters
    ----------
    rows : sequence of Timed
        Plain decoding, rounds (or target passes by width), and perhaps speculation with κ = 0.
    model : str, optional
        ``"affine"`` or ``"table"``.  By default a line, unless there is an edge or the line misses a round by more than
        noise explains (`simspec.evidence.costs.model.chosen_model`); then the table.
    draft_cost, draft_ms : float, optional
        One draft token, in plain steps or ms: needed beside target passes, and splits whole rounds.
    origin : str
        Where the rows come from.

    Raises
    ------
    ParameterError
        There is no plain decoding to compare with, no round, or the rows cannot be compared.
    """
    base = _plain_rows(rows)
    plain, plain_error = mean_of(base)
    kind, measured = _rounds(rows)
    sweep = sweep_of([*base, *measured] if kind == VERIFY else measured)
    _same_units(sweep, plain)
    draft = draft_cost if draft_ms is None else draft_ms / plain
    draft = _draft_of(measured, plain) if draft is None else draft
    booked = (draft or 0.0) if kind == VERIFY else 0.0
    line = fit_line(sweep) if len(sweep.kappas) > 1 else None
    found = edges(sweep.drafted, sweep.ms, sweep.errors) if line is not None else []
    gaps = [gap for gap, _ in found]
    chosen, why = chosen_model(model, line, gaps, sweep)
    noise, relative = with_plain(noise_of(chosen, sweep, line, gaps), _noise_of_plain(base, plain, kind), len(base))
    known = _whose(rows)
    common: dict[str, Any] = {
        "plain_error": relative,
        "draft": draft,
        "plain_ms": plain if known else None,
        "measured": tuple(_point(sweep, i, plain, booked, noise) for i in range(len(sweep.kappas))),
        "edges": tuple(Edge(float(sweep.drafted[i]), float(sweep.drafted[i + 1]), step / plain) for i, step in found),
        "origin": origin,
        "batch": rows[0].batch,
        "context": rows[0].context,
    }
    off, doubt = off_of(rows, plain, plain_error)
    own = _built(chosen, sweep, line, noise, plain, booked, off, common)
    notes = [*why, *doubts(own, kind, sweep, known, len(base)), *doubt]
    return RoundCosts(**(vars(own) | {"notes": tuple(notes)}))


def _noise_of_plain(base: Sequence[Timed], plain: float, kind: str) -> Noise:
    """From the repeats of plain decoding, where these are not already points of the sweep."""
    freedom = float(len(base) - 1) if kind != VERIFY else 0.0
    return Noise(math.sqrt(squares_of(base, plain) / freedom), freedom) if freedom else Noise(0.0, 0.0)


def _plain_rows(rows: Sequence[Timed]) -> list[Timed]:
    plain = [row for row in rows if row.kind == PLAIN or (row.kind == VERIFY and row.kappa == 0)]
    if not plain:
        raise ParameterError(
            "base_tpot",
            f"{_load(rows)}plain decoding is missing, so R is unknown: add a row with κ = 0, or give --base-tpot MS or "
            f"--base-speed TOK/S of the same load{_known_so_far(rows)}",
        )
    return plain


def _same_units(sweep: Sweep, plain: float) -> None:
    """Refuse what only another unit explains."""
    for kappa, ms in zip(sweep.kappas, sweep.ms, strict=True):
        if not 1.0 / FAR <= ms / plain <= FAR:
            raise ParameterError(
                "round_ms",
                f"a round of κ = {kappa} takes {ms:.4g} ms and plain decoding {plain:.4g}: are all times in ms?",
            )


def _known_so_far(rows: Sequence[Timed]) -> str:
    """Rounds in ms, to say that not all is lost."""
    rounds = [row for row in rows if row.kind == ROUND]
    if not rounds or any(row.speed_of == EITHER for row in rounds):
        return ""
    sweep = sweep_of(rounds)
    told = [f"{ms:.4g} ms at κ = {kappa}" for kappa, ms in zip(sweep.kappas, sweep.ms, strict=True)]
    return f"; what is known: a round takes {', '.join(told[:8])}"


def _rounds(rows: Sequence[Timed]) -> tuple[str, list[Timed]]:
    """Rounds, or target passes: not both."""
    measured = [row for row in rows if row.kind in (ROUND, VERIFY) and row.kappa > 0]
    kinds = {row.kind for row in measured}
    if not measured:
        raise ParameterError("kappa", f"{_load(rows)}no round with drafts was measured; give rows with κ ≥ 1")
    if len(kinds) > 1:
        raise ParameterError("verify_ms", f"{measured[0].place}: whole rounds and target passes alone are mixed")
    return kinds.pop(), measured


def _load(rows: Sequence[Timed]) -> str:
    own = rows[0]
    parts = [f"{n} {v:g}" for n, v in (("batch", own.batch), ("context", own.context)) if v is not None]
    return f"{', '.join(parts)}: " if parts else ""


def _whose(rows: Sequence[Timed]) -> bool:
    """Whether ms are ms; refuses speeds of one request beside those of nobody knows how many."""
    kinds = {row.speed_of for row in rows}
    if EITHER in kinds and len(kinds) > 1:
        row = next(row for row in rows if row.speed_of == EITHER)
        raise ParameterError(
            "tok_s",
            f"{row.place}: tok_s at batch {row.batch:g}: of one request or of all together? name it tok_s_per_request "
            "or tok_s_total",
        )
    return EITHER not in kinds


def _draft_of(rows: Sequence[Timed], plain: float) -> float | None:
    """One draft token in plain steps, where drafting was timed in every row."""
    if any(row.draft_ms is None for row in rows):
        return None
    kappa, ms = np.array([float(row.kappa) for row in rows]), np.array([float(row.draft_ms or 0.0) for row in rows])
    slope = float(np.polyfit(kappa, ms, 1)[0]) if len(set(kappa)) > 1 else float((ms / kappa).mean())
    return max(slope, 0.0) / plain


def _built(
    model: str,
    sweep: Sweep,
    line: Line | None,
    noise: Noise,
    plain: float,
    booked: float,
    off: float,
    common: dict[str, Any],
) -> RoundCosts:
    covariance, freedom = (None, 0.0) if line is None else line.covariance(noise)
    figures = _figures(line, covariance, plain, booked)
    if model == AFFINE and line is not None:
        return RoundCosts.affine(
            line.fixed / plain, line.slope / plain + booked,
            covariance=None if covariance is None else covariance / plain**2,
            figures=figures, freedom=freedom or math.inf, off=off, **common,
        )  # fmt: skip
    points = common["measured"]
    nodes = sweep.drafted if model == THROUGH_PLAIN else np.array([point.at for point in points])
    mean = np.array([point.cost for point in points])
    errors = sweep.unit * noise.share / plain
    spread = np.diag(errors) if noise.known else np.zeros((len(nodes), 0))
    if nodes[0] > 0.0 and model == THROUGH_PLAIN:
        nodes, mean = np.array([0.0, *nodes]), np.array([1.0, *mean])
        doubt = abs(mean[1] - 1.0) / math.sqrt(12.0)  # a fixed cost of any share of the rest is as likely
        spread = np.vstack([np.zeros((1, spread.shape[1])), spread])
        spread = np.hstack([spread, [[doubt], [0.0]]])
    elif nodes[0] > 0.0 and off != 1.0:  # a round of no drafts was measured too
        nodes, mean = np.array([0.0, *nodes]), np.array([off, *mean])
        spread = np.vstack([np.zeros((1, spread.shape[1])), spread])
    return RoundCosts(model, nodes, mean, spread, freedom=noise.freedom or math.inf, figures=figures, off=off, **common)


def _figures(line: Line | None, covariance: Floats | None, plain: float, booked: float) -> dict[str, float | None]:
    if line is None:
        return {}
    errors = (None, None) if covariance is None else tuple(np.sqrt(np.diag(covariance)) / plain)
    return {
        "fixed": line.fixed / plain,
        "fixed_error": None if errors[0] is None else float(errors[0]),
        "slope": line.slope / plain + booked,
        "slope_error": None if errors[1] is None else float(errors[1]),
        "largest_residual": line.worst if len(line.residuals) > 2 else None,
        "fixed_ms": line.fixed,
        "slope_ms": line.slope + booked * plain,
    }


def _point(sweep: Sweep, i: int, plain: float, booked: float, noise: Noise) -> Point:
    error = float(sweep.unit[i]) * noise.share / plain if noise.known else None
    cost = float(sweep.ms[i]) / plain + booked * float(sweep.drafted[i])
    return Point(sweep.kappas[i], float(sweep.drafted[i]), cost, error, sweep.rows[i], sweep.emitted[i])
