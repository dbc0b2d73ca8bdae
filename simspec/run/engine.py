"""How is a chunk played?  By its address alone: the same integers wherever, whenever and however often it is."""

from __future__ import annotations

import contextlib
import functools
import importlib
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from types import ModuleType

import numpy as np

from simspec.kernels import lower
from simspec.kernels.draw import draw_runs
from simspec.kernels.forms import Form, FreshRow, Steps
from simspec.kernels.forms import Policy as PolicyForm
from simspec.kernels.jit import DISABLED
from simspec.kernels.lower_schemes import KindTally, SchemeForm, form_bytes, join_kinds, scheme_form, tally_of
from simspec.kernels.tally import BY_LANE, Folded, Tally, together
from simspec.kernels.words import LANES, stream_keys
from simspec.model import Process, SimspecError, Simulation, Trace
from simspec.model.lately import Lately
from simspec.run.layout import FEWEST_LANES, Layout, layout, looks
from simspec.run.plans import steered_form_of, steering
from simspec.run.progress import Progress
from simspec.run.traces import trace_form, trace_layout

PIECE_WINDOWS, FRESH_PIECE_WINDOWS = 2**22, 2**24
"""Windows × κ in one piece of work: some milliseconds, so that dispatch is free and progress is smooth; fresh windows
are ten times cheaper and answer every κ at once."""
FORMS: Lately[SchemeForm] = Lately(2**28, form_bytes)
"""Schemes as integers, in bytes."""


@dataclass(frozen=True)
class Job:
    """One simulation at all its κ, with its budget and seed; ``failure`` says why it could not be played.

    ``method`` is ``"simulate"``, or ``"multinomial"``: the counts of all windows are one draw over the runs up to the
    longest κ, folded for the others.  Of a run that stops by itself, only the first ``prefix`` chunks are played, as
    decided at the last of so many ``looks``; no piece goes over one of the ``cuts``, at which it may stop, and where it
    ``grows`` its lanes do not depend on the budget.
    """

    simulation: Simulation
    kappas: tuple[int, ...]
    windows: int
    seed: int
    failure: str = ""
    method: str = "simulate"
    cuts: tuple[int, ...] = ()
    prefix: int = 0
    looks: int = 0
    grows: bool = False

    @property
    def process(self) -> Process:
        return self.simulation.process

    @functools.cached_property
    def layout(self) -> Layout:
        """How the budget is cut into lanes and chunks, as far as it is played."""
        own = self.whole
        return replace(own, lanes=min(own.lanes, LANES * self.prefix)) if self.prefix else own

    @functools.cached_property
    def whole(self) -> Layout:
        """The same for all of the budget."""
        if isinstance(self.process, Trace):
            return trace_layout(self.process, self.windows, max(self.kappas))
        if self.simulation.fresh:
            return layout(self.process, self.windows, self.kappas, LANES // 2, grows=self.grows)
        batch, rounds_only = self.simulation.serving.batch, not self.simulation.chained
        return layout(self.process, self.windows, self.kappas, FEWEST_LANES, rounds_only, batch, self.grows)

    @property
    def planned(self) -> int:
        """Rounds per κ, as far as it is played; requests end by themselves, of these it is what was asked for."""
        return self.planned_in(range(self.layout.chunks))

    def planned_in(self, chunks: range) -> int:
        """The share of some successive chunks in it: those of all chunks sum to it."""
        every = self.whole.played(self.whole.chunks)
        most = max(self.windows, every if self.whole.rounds else 0)
        first, last = (most * self.whole.played(end) // every for end in (chunks.start, chunks.stop))
        return last - first

    def at_look(self, number: int) -> Job:
        """The same as far as it is played at a look, the first being 1; after the last one, all of it."""
        cuts = looks(self.whole.chunks)
        return replace(self, cuts=cuts, prefix=cuts[min(number, len(cuts)) - 1], looks=number)

    @property
    def tracks(self) -> tuple[int, ...]:
        """κ under which counts are kept: the longest alone, where all are played at once."""
        at_once = self.simulation.fresh or self.method != "simulate"
        return (max(self.kappas),) if at_once else self.kappas

    @property
    def keys(self) -> np.ndarray:
        """Stream keys; they know the process and the seed, and neither κ nor policy nor cost."""
        domain = self.method
        if self.method == "simulate":
            domain = "windows" if self.simulation.chained else "rounds"
        return stream_keys(self.seed, self.simulation.process_id, domain)

    def scheme_form(self, kappa: int) -> SchemeForm:
        """The scheme as integers, made once, and not anew for a job of the same rounds that comes soon after."""
        own = self.simulation
        if kappa not in self._scheme_forms:
            self._scheme_forms[kappa] = FORMS.get((own.made_of, kappa), lambda: scheme_form(own.rounds(kappa)))
        return self._scheme_forms[kappa]

    def release(self) -> None:
        """Give up what is only needed while it is played: it may be larger than what comes of it."""
        vars(self).pop("_scheme_forms", None)

    @functools.cached_property
    def _scheme_forms(self) -> dict[int, SchemeForm]:
        return {}

    def pieces(self) -> list[range]:
        """Ranges of chunks that make one piece of work each; a last chunk of fewer lanes is one by itself."""
        if self.method != "simulate":
            return [range(1)]
        plan = self.layout
        per_chunk = LANES * (plan.rounds or self.windows * plan.length // self.whole.played(self.whole.chunks) + 1)
        most = FRESH_PIECE_WINDOWS
        if not self.simulation.fresh:
            most, per_chunk = PIECE_WINDOWS, per_chunk * len(self.kappas)
        whole, at, starts = plan.lanes // LANES, 0, list[int]()
        while at < whole:
            starts.append(at)
            at += max(1, most // (per_chunk * plan.growth(at)))
        ends = sorted({0, *starts, whole, plan.chunks, *(cut for cut in self.cuts if cut < plan.chunks)})
        return [range(*pair) for pair in itertools.pairwise(ends)]


def play(job: Job, chunks: Iterable[int], kappas: Sequence[int] = ()) -> Sequence[Tally]:
    """Tallies per κ of some successive chunks of a job, or of some of its κ; a draw counts as one chunk."""
    kappas = kappas or job.kappas
    if job.method == "multinomial":
        job.process.check_method(job.method)
        longest = max(job.kappas)
        return Folded(draw_runs(form_of(job.process, longest), job.keys, job.windows, longest)[None, :], job.kappas)
    if not job.simulation.chained:
        return [_play_scheme(job, kappa, list(chunks)) for kappa in kappas]
    if job.simulation.steered:
        return [_play_policy(job, kappa, list(chunks)) for kappa in kappas]
    runs = _play_once(job, form_of(job.process, max(job.kappas)), list(chunks))
    if runs is not None:
        return Folded(runs, job.kappas)
    return [_play_each(job, form_of(job.process, kappa), kappa, list(chunks)) for kappa in kappas]


def _play_scheme(job: Job, kappa: int, chunks: list[int]) -> KindTally:
    """Rounds by the table of a scheme."""
    plan, form = job.layout, job.scheme_form(kappa)
    played = [players().scheme_counts(form, job.keys, c, plan.lanes_of(c), plan.length_of(c)) for c in chunks]
    return tally_of(form.kinds, np.concatenate(played), kappa)


def _play_policy(job: Job, kappa: int, chunks: list[int]) -> Tally:
    """Rounds of the general loop: a policy chooses κ, at most ``kappa``, or requests are served together at one."""
    plan, policy, serving = job.layout, job.simulation.policy, job.simulation.serving
    rows = steered_form_of(job.process, kappa)
    steer, first = PolicyForm(lowest=kappa, highest=kappa, serving=serving), kappa
    if policy.adapts:
        steer, first = steering(job.process, policy, serving)
    played = [players().play(rows, job.keys, c, plan.lanes_of(c), plan.length_of(c), first, steer) for c in chunks]
    tally = replace(join(played), kappa=kappa)
    return together(tally, serving.batch) if serving.batch > 1 else tally


def _play_once(job: Job, form: Form, chunks: list[int]) -> np.ndarray | None:
    """Uncapped runs of fresh windows, which hold the answer for every κ; None if windows are not fresh."""
    plan, keys, play = job.layout, job.keys, players()
    if isinstance(form, FreshRow):
        windows = np.array([plan.windows_of(chunk) for chunk in chunks])
        out: np.ndarray = play.fresh_runs(form, keys, chunks[0], windows)
        return out
    if isinstance(form, Steps) and form.restarts:
        kappa = max(job.kappas)
        own = [play.step_runs(form, keys, c, plan.lanes_of(c), plan.length_of(c), kappa) for c in chunks]
        return np.concatenate(own)
    return None


@functools.cache
def players() -> ModuleType:
    """The compiled kernels, or their readable twins under ``NUMBA_DISABLE_JIT=1``; either is imported when needed."""
    return importlib.import_module("simspec.kernels.twin" if DISABLED else "simspec.kernels.play")


def form_of(process: Process, kappa: int) -> Form:
    """The integer form of a process; a trace is opened here, since kernels know no files."""
    return trace_form(process, kappa) if isinstance(process, Trace) else lower.form(process, kappa)


def _play_each(job: Job, form: Form, kappa: int, chunks: list[int]) -> Tally:
    plan, keys = job.layout, job.keys
    return join([players().play(form, keys, c, plan.lanes_of(c), plan.length_of(c), kappa) for c in chunks])


def join(parts: Sequence[Tally]) -> Tally:
    """One tally from those of successive chunks."""
    kinds = [part for part in parts if isinstance(part, KindTally)]
    if kinds:
        return join_kinds(kinds)
    histogram = np.sum([t.histogram for t in parts], axis=0)
    by_lane = {name: _concatenated([getattr(t, name) for t in parts]) for name in BY_LANE}
    return Tally(parts[0].kappa, np.concatenate([t.sums for t in parts]), histogram, **by_lane)


def _concatenated(own: Sequence[np.ndarray]) -> np.ndarray:
    """What some tallies have by lane; where nothing is counted, the other axes say nothing either."""
    counted = [array for array in own if array.size]
    return np.concatenate(counted) if counted else own[0]


Pieces = dict[int, list[tuple[range, Tally | Folded]]]
"""The pieces of one job by κ, in chunk order."""


def parted(outcome: Sequence[Tally]) -> dict[int, Tally | Folded]:
    """Tallies by κ; windows that are played once for all κ stand under the longest.

    Examples
    --------
    >>> list(parted(Folded(np.array([[3, 2, 1]]), (1, 2))))
    [2]
    """
    if isinstance(outcome, Folded):
        return {max(outcome.kappas): outcome}
    return {own.kappa: own for own in outcome}


def joined(own: Sequence[Tally | Folded]) -> Tally | Folded:
    """One from those of successive chunks at the same κ."""
    if len(own) == 1:
        return own[0]
    folded = [part for part in own if isinstance(part, Folded)]
    return Folded.join(folded) if folded else join([part for part in own if isinstance(part, Tally)])


def merge(pieces: Pieces) -> Sequence[Tally]:
    """The tallies of a job from its pieces."""
    whole = [joined([tally for _, tally in own]) for own in pieces.values()]
    return whole[0] if isinstance(whole[0], Folded) else [own for own in whole if isinstance(own, Tally)]


def warm(jobs: Iterable[Job], progress: Progress | None = None) -> None:
    """Compile (or load from the cache) the kernels that ``jobs`` need, and say so."""
    kinds = {}
    for job in jobs:
        if job.method == "simulate":
            chained = job.simulation.chained
            unit = job.simulation.policy.type if job.simulation.policy.adapts else job.process.unit
            kinds[(job.process.type, unit) if chained else ("schemes", "")] = job
    for (kind, _), job in kinds.items():
        if progress is not None:
            progress.say(f"preparing the kernel for {kind} (compiled once, then kept on disk)")
        with contextlib.suppress(SimspecError):  # said when the job itself is played
            play(Job(job.simulation, (min(job.kappas),), 1, job.seed), [0])
