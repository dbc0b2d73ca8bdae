"""Which roofline fits rows of batch × context × width, and what can these rows not tell?"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from simspec.evidence.costs.roofline import NAMES, UNSTATED, Roofline, design_of
from simspec.evidence.costs.round_costs import Floats
from simspec.evidence.costs.rows import EITHER, LOOP, PLAIN, VERIFY, Timed
from simspec.model.errors import ParameterError

Bools = NDArray[np.bool_]

_SWAPS = 50
_SINGULAR = 1e-9
_NOTHING = 1e-20
_ROUNDING = 1e-12
"""A value whose part of every row is smaller, and a miss that is, come from rounding."""


def fit_roofline(rows: Sequence[Timed], draft_cost: float = 0.0, origin: str = "") -> Roofline:
    """A roofline through whatever rows there are, least squares of relative residuals, no value below 0.

    Parameters
    ----------
    rows : sequence of Timed
        Each with a batch; a context too if some have one.  Rows of speculation with κ = 0 are left out.
    draft_cost : float
        One draft in plain steps, where the rows are target passes alone.

    Raises
    ------
    ParameterError
        A row lacks its batch or context, times are not in ms, there are fewer than three loads, or no row is plain.

    References
    ----------
    Williams, Waterman and Patterson (2009), Roofline: the slower of memory and arithmetic sets the time.
    """
    from scipy.optimize import nnls

    kept = [row for row in rows if row.kind != LOOP]
    if not any(row.kappa == 0 for row in kept):
        raise ParameterError("kappa", "no row of plain decoding (κ = 0) at any load, so R is unknown")
    loads, ms = _loads(kept), np.array([row.ms for row in kept])
    passes = np.array([row.kind in (VERIFY, PLAIN) for row in kept])
    memory, compute = design_of(loads, passes)
    scale = 1.0 / ms

    def solved(bound: Bools) -> Floats:
        design = np.where(bound[:, None], compute, memory)
        values = np.asarray(nnls(design * scale[:, None], ms * scale)[0])
        return np.where(values * (design * scale[:, None]).max(axis=0) < _ROUNDING, 0.0, values)

    def missed(values: Floats) -> float:
        rest = float(np.linalg.norm((np.maximum(memory @ values, compute @ values) - ms) * scale))
        return rest if rest > _ROUNDING else 0.0

    tried = (_settled(solved, start, memory, compute) for start in _starts(loads))
    values, alone = min(tried, key=missed), solved(np.zeros(len(kept), bool))
    if not _better(missed(values), missed(alone), len(kept)):
        values = alone
    bound = compute @ values > memory @ values
    design = np.where(bound[:, None], compute, memory)
    fitted = np.maximum(memory @ values, compute @ values)
    if fitted.min() <= 0.0:
        raise ParameterError("model", "the rows fit no roofline: some load would take no time")
    free = values > 0.0
    unknown, spread, freedom = _errors(design * scale[:, None], free, missed(values), bound, loads)
    tokens = loads[:, 0] * (loads[:, 2] + 1.0)
    ridge_above = None if bound.any() else float(tokens.max())
    if not bound.any():
        unknown["compute_ms"] = f"no row is bound by compute, up to {tokens.max():g} tokens per step"
    return Roofline(
        values, spread, freedom, float(np.abs(ms / fitted - 1.0).max()), unknown, ridge_above,
        (float(loads[:, 0].max()), float(loads[:, 1].max()), float(loads[:, 2].max())),
        not passes.all(), 0.0 if not passes.all() else draft_cost, origin,
    )  # fmt: skip


def _loads(rows: Sequence[Timed]) -> Floats:
    """Batch, context and drafts per round of each row."""
    with_context = any(row.context is not None for row in rows)
    for row in rows:
        if row.batch is None or (with_context and row.context is None):
            raise ParameterError("batch", f"{row.place}: a roofline needs batch (and context, where any row has it)")
        if row.speed_of == EITHER and row.batch > 1:
            raise ParameterError(
                "tok_s", f"{row.place}: tok_s at batch {row.batch:g}: name it tok_s_per_request or tok_s_total"
            )
    loads = np.array(
        [[row.batch, UNSTATED if row.context is None else row.context, _made(row)] for row in rows], np.float64
    )
    if len(np.unique(loads, axis=0)) < 3:
        raise ParameterError("model", "a roofline needs at least three different loads (batch, context, κ)")
    return loads


def _made(row: Timed) -> float:
    return float(row.kappa) if row.drafted is None else row.drafted


def _starts(loads: Floats) -> list[Bools]:
    """Rows taken as bound by compute to begin with: those with most tokens per step, or most per token of context."""
    tokens = loads[:, 0] * (loads[:, 2] + 1.0)
    out = [np.zeros(len(loads), bool)]
    held = loads[:, 0] * loads[:, 1]
    for key in (tokens, tokens / (1.0 + held / max(1.0, float(held.mean())))):
        for least in np.unique(key)[1:][-16:]:
            out.append(key >= least)
    return out


def _settled(solved: Callable[[Bools], Floats], bound: Bools, memory: Floats, compute: Floats) -> Floats:
    """Values for rows bound as said, then rows bound as the values say, until both agree."""
    values = solved(bound)
    for _ in range(_SWAPS):
        again = compute @ values > memory @ values
        if (again == bound).all():
            break
        bound, values = again, solved(again)
    return values


def _better(with_compute: float, without: float, rows: int) -> bool:
    """Whether rows bound by compute are more than the noise of single rows (three times the charge of BIC)."""
    gain = rows * math.log((without**2 + _NOTHING) / (with_compute**2 + _NOTHING))
    return gain > 3.0 * math.log(rows)


def _errors(
    scaled: Floats, free: Bools, rest: float, bound: Bools, loads: Floats
) -> tuple[dict[str, str], Floats, float]:
    """What the rows cannot tell; and how the values vary, from the scatter of the residuals."""
    unknown: dict[str, str] = {}
    if bound.all():
        unknown["weights_ms"] = unknown["kv_ms"] = "every row is bound by compute"
    if len(np.unique(loads[:, 2][loads[:, 2] > 0.0])) < 2:
        unknown["round_ms"] = unknown["draft_ms"] = "one κ: a fixed cost per round and drafting cannot be told apart"
    if not loads[:, 1].any():  # stated, as 0
        unknown["kv_ms"] = unknown["draft_kv_ms"] = "no context was given: what grows with it is in the rest"
    columns = np.flatnonzero(free)
    size = np.linalg.norm(scaled[:, columns], axis=0)
    part = scaled[:, columns] / size  # values differ by powers of ten
    values, vectors = np.linalg.eigh(part.T @ part)
    flat = values < _SINGULAR * values.max()
    for direction in vectors.T[flat]:
        mixed = [NAMES[columns[i]] for i in np.flatnonzero(np.abs(direction) > 0.1)]
        for name in mixed:
            others = ", ".join(other for other in mixed if other != name)
            unknown.setdefault(name, f"only a sum with {others or 'others'} is told")
    freedom = len(scaled) - int((~flat).sum())
    spread = np.zeros((len(NAMES), int((~flat).sum())))
    if freedom > 0:
        spread[columns] = vectors[:, ~flat] * (rest / math.sqrt(freedom) / np.sqrt(values[~flat])) / size[:, None]
    else:
        spread = np.zeros((len(NAMES), 0))
    return unknown, spread, float(freedom) if freedom > 0 else math.inf
