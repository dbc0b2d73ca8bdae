"""Which fitted process predicts rounds best that it has not seen?  Half of the requests fit, the other half judges.

Every process is fitted to the verdicts of one half and asked, through the exact route, what rounds at several κ would
accept; the replay of the other half says what they did accept; then the halves change places.  That the mean at one κ
fits proves little: with a = accepted/examined, E[A] = a(1 − P_full)/(1 − a) holds for any process.  So several κ, the
share of full rounds, the acceptance by draft position and the likelihood of unseen verdicts are asked as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from simspec.evidence.dense import DenseTrace, Floats, Ints
from simspec.evidence.fits import MODELS, Fit, Model, Verdicts, draw_verdicts
from simspec.evidence.replay import Replay, replay
from simspec.model.errors import ParameterError
from simspec.stats.clusters import by_request
from simspec.stats.intervals import student
from simspec.text import plural

KAPPAS = (2, 4, 8, 12)
PROFILE_KAPPA = 8
GROUPS = 32
"""Groups of requests left out in turn for an error; every request on its own where there are fewer."""
FEWEST_REQUESTS = 8
FEWEST_FULL = 0.5
"""Expected full rounds in a half, less any group, below which a κ says nothing about them."""
CRITERIA = ("accepted per round", "full rounds", "position profile", "unseen verdicts")
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Prediction:
    """How one process did.  Pairs are (value, standard error), over both halves.

    Attributes
    ----------
    model : str
    accepted : dict of int to pair
        κ → log of predicted over observed accepted length per round.
    full : dict of int to pair
        κ → log of predicted over observed share of full rounds.
    profile : pair
        Mean squared error of the acceptance by draft position at `Contest.profile_kappa`, weighted by examined drafts.
    log_likelihood : pair
        Per output position, of unseen verdicts, above that of the first model.
    loss : dict of str to pair
        By criterion, how much worse than the best: 0 for the best itself.
    tied : dict of str to bool
        By criterion, whether it cannot be told apart from the best.
    """

    model: str
    accepted: dict[int, tuple[float, float]]
    full: dict[int, tuple[float, float]]
    profile: tuple[float, float]
    log_likelihood: tuple[float, float]
    loss: dict[str, tuple[float, float]]
    tied: dict[str, bool]


@dataclass(frozen=True)
class Contest:
    """All processes on one trace.

    Attributes
    ----------
    predictions : list of Prediction
    profile_kappa : int
    fits : dict of str to dict
        Parameters of each process fitted to all requests.
    """

    predictions: list[Prediction]
    profile_kappa: int
    fits: dict[str, dict[str, object]]

    def best(self, criterion: str) -> list[str]:
        """The best process first, then those that cannot be told apart from it."""
        order = sorted(self.predictions, key=lambda one: one.loss[criterion][0])
        return [one.model for one in order if one.tied[criterion]]


@dataclass(frozen=True, eq=False)
class _Half:
    """What one half has: verdicts to fit to, and rounds to judge by."""

    verdicts: Verdicts
    rounds: dict[int, Replay]

    def without(self, out: Ints) -> _Half:
        """Less some of its requests."""
        kept = np.setdiff1d(np.arange(self.verdicts.trace.requests), out)
        return _Half(self.verdicts.take(kept), {k: _some(one, kept) for k, one in self.rounds.items()})


def _some(rounds: Replay, kept: Ints) -> Replay:
    return Replay(rounds.kappa, rounds.counts[kept], rounds.pairs[:, kept])


def contest(
    trace: DenseTrace,
    kappas: Sequence[int] = KAPPAS,
    seed: int = 1,
    level: float = 0.95,
    models: Sequence[Model] = MODELS,
    progress: Progress | None = None,
) -> Contest:
    """Fit every process to half of the requests and judge it by the other half, both ways.

    Parameters
    ----------
    trace : DenseTrace
        At least 8 requests, no output position missing; every second request, in the order of the file, is one half.
    kappas : sequence of int
        Draft lengths to predict; left out are those longer than half of the requests, and those for which only one
        group of a half has requests that are long enough.
    seed : int
        Of the verdicts drawn for the fits.
    level : float
        A process is told apart from the best where a Student interval of this level on the difference of their losses
        excludes 0.  Each is compared on its own.
    models : sequence of Model
    progress : callable, optional
        Told what is being fitted.

    Returns
    -------
    Contest

    Raises
    ------
    ParameterError
        Too few requests, or too short ones, positions are missing, or every verdict is the same.

    Notes
    -----
    Errors are those of a jackknife that leaves out a group of requests at a time, fits included: a prediction errs
    because of the half it was fitted to, an observation because of the half it was made on.

    References
    ----------
    Kott (2001) for the delete-a-group jackknife.

    Examples
    --------
    >>> rates = np.where(np.arange(16) % 4 < 2, 0.85, 0.35)  # two kinds of requests, both in each half
    >>> own = DenseTrace.of(np.repeat(rates, 60), np.arange(0, 961, 60))
    >>> contest(own, kappas=(2, 4), models=MODELS[:4]).best("unseen verdicts")[0]
    'Beta by request'
    """
    if why := why_not(trace, kappas):
        raise ParameterError("alpha", f"no process is fitted: {why}")
    kappas = _judged(trace, kappas)
    verdicts = draw_verdicts(trace, seed)
    halves = []
    for side in (0, 1):
        own = verdicts.take(np.arange(side, trace.requests, 2))
        halves.append(_Half(own, {kappa: replay(own.trace, kappa) for kappa in kappas}))
    pairs = _less_a_group(halves)
    some = [half for pair in (halves, *pairs) for half in pair]
    full = [kappa for kappa in kappas if all(half.rounds[kappa].counts[:, -1].sum() >= FEWEST_FULL for half in some)]
    profile = max([kappa for kappa in kappas if kappa <= PROFILE_KAPPA], default=min(kappas))
    asked = _Asked(tuple(kappas), tuple(full), profile)
    whole = _measure_all(halves, asked, models, progress)
    if progress is not None:
        progress(f"leaving out {len(pairs)} groups of requests in turn")
    left_out = np.stack([_measure_all(pair, asked, models, None, whole[1])[0] for pair in pairs])
    fitted = {model.name: model.fit(verdicts, None).process.parameters() for model in models}
    return Contest(_predictions(whole[0], left_out, asked, models, level), asked.profile, fitted)


def why_not(trace: DenseTrace, kappas: Sequence[int] = KAPPAS) -> str:
    """Why no process can be fitted to one half and judged by the other; empty if it can.

    Examples
    --------
    >>> why_not(DenseTrace.of(np.ones(2), np.array([0, 2])))
    '1 request is too few to fit and to judge; allowed: at least 8'
    >>> why_not(DenseTrace.of(np.ones(9), np.arange(10)))
    'the median request has 1 output position, too short for rounds of κ = 2; allowed: at least 2'
    """
    if trace.requests < FEWEST_REQUESTS:
        said = f"{plural(trace.requests, 'request')} {'is' if trace.requests == 1 else 'are'}"
        return f"{said} too few to fit and to judge; allowed: at least {FEWEST_REQUESTS}"
    if not trace.whole:
        return "output positions are missing; allowed: a chance of acceptance at every one"
    least, median = min(kappas), int(np.median(trace.sizes))
    if median < least:
        said = f"the median request has {plural(median, 'output position')}"
        return f"{said}, too short for rounds of κ = {least}; allowed: at least {least}"
    if not _judged(trace, kappas):
        return f"too few requests of one half have {least} output positions; allowed: at least two in different groups"
    for side in (0, 1):
        if len(_groups_with(trace, side, by_request(trace.chance, trace.offsets) > 0.0)) < 2:
            return "in one half hardly a request accepts anything; allowed: at least two in different groups"
    if (trace.chance == 1.0).all():
        return "every verdict is the same; allowed: some that differ"
    return ""


def _judged(trace: DenseTrace, kappas: Sequence[int]) -> list[int]:
    """κ that at most half of the requests are too short for; both halves have rounds, whichever group is left out."""
    short_of = np.median(trace.sizes)
    fits = [k for k in kappas if k <= short_of]
    return [k for k in fits if all(len(_groups_with(trace, side, trace.sizes >= k)) > 1 for side in (0, 1))]


def _groups_with(trace: DenseTrace, side: int, chosen: np.ndarray) -> Ints:
    """Groups of one half that hold a chosen request."""
    own = chosen[side::2]
    return np.unique(np.flatnonzero(own) % _groups(len(own)))


def _groups(requests: int) -> int:
    return min(GROUPS // 2, requests)


@dataclass(frozen=True)
class _Asked:
    """Which κ are predicted, which of them have full rounds, and which κ shows the profile."""

    kappas: tuple[int, ...]
    full: tuple[int, ...]
    profile: int


def _less_a_group(halves: list[_Half]) -> list[list[_Half]]:
    sizes = [half.verdicts.trace.requests for half in halves]
    out = []
    for side, size in enumerate(sizes):
        groups = _groups(size)
        for group in range(groups):
            pair = list(halves)
            pair[side] = halves[side].without(np.arange(group, size, groups))
            out.append(pair)
    return out


Fits = list[list[tuple[_Half, Fit]]]


def _measure_all(
    halves: list[_Half], asked: _Asked, models: Sequence[Model], progress: Progress | None, before: Fits | None = None
) -> tuple[Floats, Fits]:
    """Measures by model, mean over both ways; fits to a half that is the same as before are not made again."""
    measures, fits = [], []
    for i, model in enumerate(models):
        if progress is not None:
            progress(f"fitting {model.name}")
        own, both = [], []
        for side, half in enumerate(halves):
            known = None if before is None else before[i][side]
            if known is not None and known[0] is half:
                fit = known[1]
            else:
                fit = model.fit(half.verdicts, None if known is None else known[1].parameters)
            own.append((half, fit))
            both.append(_measure(model, fit, halves[1 - side], asked))
        measures.append(np.mean(both, axis=0))
        fits.append(own)
    return np.array(measures), fits


def _measure(model: Model, fit: Fit, other: _Half, asked: _Asked) -> Floats:
    """Logs of both ratios by κ, mean squared error of the profile, log-likelihood per position."""
    out = []
    for kappa in asked.kappas:
        counts = other.rounds[kappa].counts.sum(axis=0)
        said = fit.law(kappa).mean_accepted
        out.append(np.log(said / (counts @ np.arange(kappa + 1.0) / counts.sum())))
    for kappa in asked.full:
        counts = other.rounds[kappa].counts.sum(axis=0)
        out.append(np.log(max(fit.law(kappa).p_full, 1e-300) / (counts[-1] / counts.sum())))
    reach = other.rounds[asked.profile].reach().sum(axis=0)
    survival = fit.law(asked.profile).pmf_accepted[::-1].cumsum()[::-1]
    examined = reach[:-1] > 0.0  # a draft that is never examined weighs nothing
    error = (survival[1:] / survival[:-1])[examined] - (reach[1:] / np.where(examined, reach[:-1], 1.0))[examined]
    out.append((error**2 * reach[:-1][examined]).sum() / reach[:-1].sum())
    out.append(model.score(fit, other.verdicts).sum() / len(other.verdicts.trace.chance))
    return np.array(out)


def _error(left_out: Floats) -> Floats:
    """Standard error from values without each group in turn; groups along the first axis."""
    groups = len(left_out)
    return np.asarray(np.sqrt((groups - 1) / groups * ((left_out - left_out.mean(axis=0)) ** 2).sum(axis=0)))


def _losses(measures: Floats, asked: _Asked) -> Floats:
    """(…, models, criteria): mean |log ratio| over κ, twice; profile error; minus the log-likelihood."""
    k, f = len(asked.kappas), len(asked.full)
    full = np.abs(measures[..., k : k + f]).mean(axis=-1) if f else np.full(measures.shape[:-1], np.nan)
    accepted = np.abs(measures[..., :k]).mean(axis=-1)
    return np.stack([accepted, full, measures[..., -2], -measures[..., -1]], axis=-1)


def _predictions(
    whole: Floats, left_out: Floats, asked: _Asked, models: Sequence[Model], level: float
) -> list[Prediction]:
    k, f = len(asked.kappas), len(asked.full)
    errors = _error(left_out)
    loss, loss_out = _losses(whole, asked), _losses(left_out, asked)
    limit = student(level, len(left_out))
    gain, gain_out = whole[:, -1] - whole[0, -1], left_out[:, :, -1] - left_out[:, :1, -1]
    gain_error = _error(gain_out)
    best = [int(np.argmin(column)) if np.isfinite(column).all() else 0 for column in loss.T]
    out = []
    for i, model in enumerate(models):
        behind = {c: (float(loss[i, n] - loss[best[n], n]), float(_error(loss_out[:, i, n] - loss_out[:, best[n], n])))
                  for n, c in enumerate(CRITERIA)}  # fmt: skip
        pairs = [(float(value), float(error)) for value, error in zip(whole[i], errors[i], strict=True)]
        out.append(
            Prediction(
                model.name,
                dict(zip(asked.kappas, pairs[:k], strict=True)),
                dict(zip(asked.full, pairs[k : k + f], strict=True)),
                pairs[-2],
                (float(gain[i]), float(gain_error[i])),
                behind,
                {c: not worse > limit * error for c, (worse, error) in behind.items()},
            )
        )
    return out
