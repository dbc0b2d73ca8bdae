"""Which kernel plays which form?  One table; a chunk in, integers out."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from simspec.kernels import fields, loop, policy_types
from simspec.kernels.arithmetic import levels, padded_levels
from simspec.kernels.cells import count_cells, list_cells
from simspec.kernels.chain import count_chain
from simspec.kernels.forms import Dense, Drawn, Form, FreshRow, Policy, Replay, Requests, Rows, Steps, Urn
from simspec.kernels.grow import count_grown
from simspec.kernels.lower_schemes import Grown, Machine, SchemeForm, TokenPool
from simspec.kernels.lower_stale import doubled
from simspec.kernels.machine import count_kinds
from simspec.kernels.policies import RULES
from simspec.kernels.pool import count_pool
from simspec.kernels.steps import count_steps
from simspec.kernels.tally import SUMS, AtMarks, Tally, fold
from simspec.kernels.words import LANES
from simspec.model import ParameterError
from simspec.model.serving import Serving

_NEVER, _ALWAYS = 0, 2**32
_NO_LEVELS = np.zeros(0, np.int32)
_HOME = np.zeros(LANES, np.int32)
_NO_URN = np.zeros(0)
_UNRECORDED = np.zeros((3, 0, LANES), np.int32)
_NO_MOVES = np.zeros((0, 8), np.int32)
_NO_MARKS, _NO_SNAPS = np.zeros(0, np.int64), np.zeros((0, 1), np.int32)
_ROOM = 2**14
"""Rounds per lane for which there is always room; before more are listed they are counted."""


def fresh_runs(form: FreshRow, keys: np.ndarray, first: int, windows: np.ndarray) -> np.ndarray:
    """``out[i, g]`` = windows of chunk ``first`` + i whose run is g; the last bin holds all longer ones."""
    out = np.zeros((len(windows), len(form.cells) + 1), np.int64)
    count_cells(keys, first, windows, form.cells, form.lows, out)
    return out


def play(
    form: Form, keys: np.ndarray, chunk: int, lanes: int, length: int, kappa: int, policy: Policy | None = None
) -> Tally:
    """Tally of one chunk of ``lanes`` lanes with ``length`` rounds each, or requests if the form has them.

    Parameters
    ----------
    form : Form
        Not `FreshRow` without a policy, whose chunks have no lanes: see `fresh_runs`.
    kappa : int
        Draft length; with a policy the first one.
    policy : Policy, optional
        Default: the same κ in every round.  Forms that replay rounds have none, and those that move per draft are
        first made rows (`simspec.kernels.lower_steered`).
    """
    if policy is not None and not isinstance(form, (FreshRow, Rows, Drawn, Requests, Urn, Dense)):
        raise TypeError(f"a {type(form).__name__} is played at a fixed κ only")
    if policy is None and isinstance(form, Rows) and form.two_state:
        return _chain(form, keys, chunk, lanes, length, kappa)
    return _PLAYERS[type(form)](form, keys, chunk, lanes, length, kappa, policy)


def scheme_counts(form: SchemeForm, keys: np.ndarray, chunk: int, lanes: int, rounds: int) -> np.ndarray:
    """``out[lane, kind]`` = rounds of the lane of each kind."""
    return _SCHEME_PLAYERS[type(form)](form, keys, chunk, lanes, rounds)


def grown_counts(form: Grown, keys: np.ndarray, chunk: int, lanes: int, rounds: int) -> np.ndarray:
    """The same for trees that grow by confidence."""
    counts = np.zeros((lanes, len(form.kinds)), np.int64)
    law = padded_levels(form.law[None, :], _ALWAYS)
    trees = form.trees
    cells = padded_levels(np.pad(form.cells, ((0, 0), (0, 1)), constant_values=_ALWAYS), _ALWAYS)
    count_grown(keys, chunk, lanes, rounds, form.confidences, cells, law, trees.depth, trees.nodes, counts)
    return counts


def machine_counts(form: Machine, keys: np.ndarray, chunk: int, lanes: int, rounds: int) -> np.ndarray:
    """``out[lane, kind]`` = rounds of the lane of each kind."""
    cells = padded_levels(form.cells, _ALWAYS)
    follow = np.empty(cells.shape, np.int32)
    follow[:, : form.follow.shape[1]] = form.follow
    follow[:, form.follow.shape[1] :] = form.follow[:, -1:]
    counts = np.zeros((LANES, len(form.kinds)), np.int64)
    start = padded_levels(form.start[None, :], _ALWAYS)
    after, kind_of = form.after.astype(np.int32), form.kind_of.astype(np.int32)
    count_kinds(keys, chunk, rounds, cells, follow, after, kind_of, start, counts)
    return counts[:lanes]


def pool_counts(form: TokenPool, keys: np.ndarray, chunk: int, lanes: int, rounds: int) -> np.ndarray:
    """The same for drafts out of the text itself; a lane fills its memory before its rounds count."""
    counts = np.zeros((lanes, len(form.kinds)), np.int64)
    rule = (form.rule, np.array([*form.numbers, *[0] * 4][:4]))
    laws = (form.target.cumulative, form.target.guide, form.target.shift, form.guess.cumulative, form.guess.guide)
    count_pool(keys, chunk, lanes, form.skipped, rounds, form.kappa, *rule, form.start, *laws, counts)
    return counts


_SCHEME_PLAYERS: dict[type, Callable[..., np.ndarray]] = {
    Machine: machine_counts,
    Grown: grown_counts,
    TokenPool: pool_counts,
}


def rounds_of(
    form: Form, keys: np.ndarray, chunk: int, lanes: int, length: int, kappa: int, most: int = 2**31,
    room: np.ndarray = _NO_LEVELS,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """The rounds of a chunk: position, drafts and accepted length, int32 (rounds, lanes) each; −1 drafts: none.

    The same words give the same rounds as in `play` and `fresh_runs`; fresh windows stand in one column.  At most the
    first ``most`` rounds of each lane are given.  What is the same in all rounds is one number, seen as an array.  If
    they fit, rounds stand in the flat int32 array ``room``.
    """
    if isinstance(form, FreshRow):
        runs = _within(room, lanes * min(length, most))
        list_cells(keys, chunk, form.cells, form.lows, runs)
        return _all_alike(np.minimum(runs, kappa, out=runs)[:, None], kappa)
    if isinstance(form, Steps):
        raw = _within(room, min(length, most), LANES)
        step_runs(form, keys, chunk, lanes, len(raw), kappa, raw)
        return _all_alike(raw[:, :lanes], kappa)
    if isinstance(form, Replay):
        position, drafted, accepted = _replay_rounds(form, chunk, lanes, kappa)[:, :most]
        return position, drafted, accepted
    where = (form, keys, chunk, lanes, length, kappa, None)
    if isinstance(form, Rows):
        out = _within(room, 1, min(length, most), LANES)
        _loop(*where, out)
        return _all_alike(out[0, :, :lanes], kappa)
    if most > _ROOM:
        most = min(_loop(*where)[1], most)
    out = _within(room, 3, most, LANES)
    played = min(_loop(*where, out)[1], most)
    position, drafted, accepted = out[:, :played, :lanes]
    return position, drafted, accepted


def _within(room: np.ndarray, *shape: int) -> np.ndarray:
    """An array in ``room``, or a new one if that is too small."""
    size = math.prod(shape)
    return room[:size].reshape(shape) if size <= room.size else np.empty(shape, np.int32)


def _all_alike(accepted: np.ndarray, kappa: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rounds without positions and with κ drafts each."""
    position, drafted = (np.broadcast_to(np.int32(value), accepted.shape) for value in (0, kappa))
    return position, drafted, accepted


def _chain(form: Rows, keys: np.ndarray, chunk: int, lanes: int, rounds: int, kappa: int) -> Tally:
    table = padded_levels(form.thresholds, _NEVER)
    runs = np.zeros((LANES, kappa + 1), np.int64)
    count_chain(keys, chunk, rounds, kappa, table[0], table[1], levels(form.start)[0], runs)
    return fold(runs[:lanes], kappa)


def _rows(form: Any, *where: Any) -> Tally:
    return _loop(form, *where)[0]


def _loop(
    form: Form, keys: np.ndarray, chunk: int, lanes: int, quota: int, kappa: int, policy: Policy | None,
    raw: np.ndarray = _UNRECORDED, marks: np.ndarray = _NO_MARKS, snaps: np.ndarray = _NO_SNAPS,
) -> tuple[Tally, int]:  # fmt: skip
    """Tally of a chunk by the general loop, and rounds in lock step."""
    chosen = policy or Policy(lowest=kappa, highest=kappa)
    longest = max(kappa, chosen.highest)
    rows, stale = form, chosen.serving.stale
    if stale:
        rows = doubled(form.requests(chunk, lanes, longest) if isinstance(form, Dense) else form, stale.factor)
    process, ends = _LOOP_ARGUMENTS[type(rows)](rows, chunk, lanes, longest)
    own = policy_types.no_policy() if chosen.own is None else policy_types.own_policy(chosen.own)
    rule = policy_types.compiled_rule(RULES[chosen.rule])
    kind = fields.OWN if chosen.own is not None else fields.FIXED if policy is None else fields.HEURISTIC
    kind = fields.RULE if chosen.rule else fields.FORESEES if chosen.foresees else kind
    numbers = np.array(
        [chosen.up, chosen.down, chosen.lowest, longest, chosen.keeps, chosen.random, chosen.strict], np.int32
    )
    sums, histogram = np.zeros((lanes, len(SUMS)), np.int64), np.zeros((longest + 1, longest + 1), np.int64)
    discarded, flips, wakes = np.zeros((3, LANES), np.int64)
    serving = _conditions(chosen.serving, len(process[0]) // 2)
    steps = np.zeros((LANES if chosen.serving.batch > 1 else 0, 2 * (longest + 1)), np.int64)
    choice = (np.int32(kappa), kind, numbers, own, rule, chosen.figures, chosen.initial, serving)
    steered = lanes if policy else 0
    drafts = np.zeros((2, LANES if policy else 0, longest + 1), np.int64)
    room = loop.room(chosen.initial.size, chosen.serving.delay)
    out = (sums, histogram, steps, drafts, discarded, flips, wakes, raw, marks, snaps, room)
    try:
        played = loop.kernel()(keys, chunk, lanes, quota, *process, *ends, *choice, *out)
    except Exception as error:  # only a user's own pass raises
        _play_again(form, keys, chunk, lanes, quota, kappa, chosen, f"{type(error).__name__}: {error}")
    if played < 0:
        rounds = min(quota, -played) if isinstance(form, (FreshRow, Rows, Drawn)) else quota
        _play_again(form, keys, chunk, lanes, rounds, kappa, chosen, f"a κ out of bounds in round {-played}")
    by_step = steps[:lanes].reshape(-1, longest + 1, 2)
    turns = {"flips": flips[:steered], "wakes": wakes[:steered], "made": drafts[0, :lanes], "asked": drafts[1, :lanes]}
    return Tally(kappa, sums, histogram, steps=by_step, **turns), played


def _conditions(serving: Serving, fresh: int) -> np.ndarray:
    """As the loop reads them, by the entries named in `simspec.kernels.serving`."""
    rounds = serving.stale.rounds if serving.stale else 0
    return np.array([serving.delay, serving.batch, serving.shares_kappa, rounds, fresh], np.int32)


def _play_again(
    form: Form, keys: np.ndarray, chunk: int, lanes: int, quota: int, kappa: int, policy: Policy, told: str
) -> NoReturn:  # fmt: skip
    """Play a chunk in plain Python, which names lane, round and state of what went wrong in a user's pass."""
    from simspec.kernels import own_twin, twin

    if not policy.serving.shares_kappa:
        own_twin.find_fault(form, keys, chunk, lanes, quota, kappa, policy)
    twin.play(form, keys, chunk, lanes, quota, kappa, policy)
    raise ParameterError("policy", f"policy fails compiled and not in plain Python ({told}); chunk {chunk}")


def steered_rounds(
    form: Form, keys: np.ndarray, chunk: int, lanes: int, most: int, kappa: int, policy: Policy
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """Position, drafts and accepted length of the rounds of one request per lane, (rounds, lanes) each; −1: none.

    Without requests, of the first ``most`` rounds, all at position 0.
    """
    out = np.empty((3, most, LANES), np.int32)
    quota = most if isinstance(form, (FreshRow, Rows, Drawn)) else 1
    played = min(_loop(form, keys, chunk, lanes, quota, kappa, policy, out)[1], most)
    position, drafted, accepted = out[:, :played, :lanes]
    return position, drafted, accepted


def counts_at(
    form: Form, keys: np.ndarray, chunk: int, marks: np.ndarray, kappa: int, policy: Policy, lanes: int = LANES
) -> AtMarks:  # fmt: skip
    """What each of ``lanes`` lanes has after its first ``marks[mark]`` rounds, or requests if the form has them."""
    width = max(kappa, policy.highest) + 1
    cells = width * width
    snaps = np.zeros((len(marks), LANES * (cells + 3)), np.int32)
    _loop(form, keys, chunk, lanes, int(marks[-1]), kappa, policy, marks=marks, snaps=snaps)
    counts, *beside = np.split(snaps, [LANES * (cells + more) for more in range(3)], axis=1)
    shaped = counts.reshape(len(marks), LANES, width, width)
    return AtMarks(shaped[:, :lanes], *(own[:, :lanes] for own in beside))


def _row_arguments(
    thresholds: np.ndarray, walk: int, start: np.ndarray = _NO_LEVELS, follow: Any = None, offsets: np.ndarray = _HOME,
    classes: np.ndarray = _NO_LEVELS, moves: np.ndarray = _NO_MOVES,
) -> tuple[Any, ...]:  # fmt: skip
    following = (np.ascontiguousarray(rows, np.int32) for rows in follow or (_NO_LEVELS,) * 3)
    return padded_levels(thresholds, _NEVER), walk, *following, moves, start, offsets, classes, _NO_URN


_ENDLESS = (_NO_LEVELS, _NO_LEVELS, 0)


def _fresh(form: FreshRow, chunk: int, lanes: int, longest: int) -> Any:
    coarse = form.cells * 2**20 + (form.lows >> np.uint64(32)).astype(np.int64)
    return _row_arguments(coarse[None, :longest], fields.KEEP), _ENDLESS


def _carried(form: Rows, chunk: int, lanes: int, longest: int) -> Any:
    start = levels(form.start[:-1])
    return _row_arguments(form.thresholds, fields.CARRY, start, form.follow), _ENDLESS


def _drawn(form: Drawn, chunk: int, lanes: int, longest: int) -> Any:
    if form.thresholds.shape[1] < longest:
        raise ValueError(f"rows for {form.thresholds.shape[1]} drafts are played at {longest}")
    moves = padded_levels(form.moves, _ALWAYS)
    return _row_arguments(form.thresholds, fields.DRAWN, levels(form.start[:-1]), moves=moves), _ENDLESS


def _requests(form: Requests, chunk: int, lanes: int, longest: int) -> Any:
    offsets, lengths = _HOME, np.full(LANES, form.ends.tokens, np.int32)
    if form.offsets is not None:  # lanes that are not in use play the last request, unseen
        own = np.minimum(np.arange(LANES), lanes - 1)
        offsets = form.offsets[own].astype(np.int32)
        lengths = np.diff(form.offsets)[own].astype(np.int32)
    walk = fields.ALONG if form.along else fields.KEEP
    process = _row_arguments(form.thresholds, walk, offsets=offsets, classes=levels(form.classes))
    return process, _ends(form, lengths)


def _urn(form: Urn, chunk: int, lanes: int, longest: int) -> Any:
    nothing = np.zeros((1, 8), np.int64)
    process = (*_row_arguments(nothing, fields.KEEP)[:-1], np.array([form.alpha, form.rho]))
    return process, _ends(form, np.full(LANES, form.ends.tokens, np.int32))


def _dense(form: Dense, chunk: int, lanes: int, longest: int) -> Any:
    return _requests(form.requests(chunk, lanes, longest), chunk, lanes, longest)


def _ends(form: Requests | Urn, lengths: np.ndarray) -> Any:
    random = form.ends.bits.size > 0
    return _NO_LEVELS if random else lengths, levels(form.ends.bits), int(form.ends.truncate)


def step_runs(
    form: Steps, keys: np.ndarray, chunk: int, lanes: int, rounds: int, kappa: int,
    raw: np.ndarray = _UNRECORDED[0],
) -> np.ndarray:  # fmt: skip
    """``out[lane, a]`` = windows of the lane with accepted length a; ``raw[round, lane]`` receives the first ones."""
    moves = padded_levels(np.concatenate([form.after_reject, form.after_full]), _ALWAYS)
    tables = (padded_levels(form.cells, _ALWAYS), moves, padded_levels(form.start[None, :], _ALWAYS))
    runs = np.zeros((LANES, kappa + 1), np.int64)
    count_steps(keys, chunk, rounds, kappa, *tables, runs, raw)
    return runs[:lanes]


def _steps(form: Steps, keys: np.ndarray, chunk: int, lanes: int, rounds: int, kappa: int, policy: None) -> Tally:
    return fold(step_runs(form, keys, chunk, lanes, rounds, kappa), kappa)


def _replay(
    form: Replay, keys: np.ndarray, chunk: int, lanes: int, repeats: int, kappa: int, policy: None = None
) -> Tally:
    """The requests of one chunk at min(A, κ)."""
    out = np.zeros((lanes, kappa + 1), np.int64)
    for lane in range(lanes):
        out[lane] = np.bincount(np.minimum(form.of_lane(chunk, lane), kappa), minlength=kappa + 1) * repeats
    return fold(out, kappa)


def _replay_rounds(form: Replay, chunk: int, lanes: int, kappa: int) -> np.ndarray:
    each = [np.minimum(form.of_lane(chunk, lane), kappa) for lane in range(lanes)]
    out = np.zeros((3, max(map(len, each)), lanes), np.int32)
    out[1] = -1
    for lane, accepted in enumerate(each):
        n = len(accepted)
        out[0, :n, lane] = np.cumsum(accepted + 1) - accepted - 1
        out[1, :n, lane], out[2, :n, lane] = kappa, accepted
    return out


_LOOP_ARGUMENTS: dict[type, Callable[..., Any]] = {
    FreshRow: _fresh,
    Rows: _carried,
    Drawn: _drawn,
    Requests: _requests,
    Urn: _urn,
    Dense: _dense,
}
_PLAYERS: dict[type, Callable[..., Tally]] = {
    **dict.fromkeys(_LOOP_ARGUMENTS, _rows),
    Steps: _steps,
    Replay: _replay,
}
