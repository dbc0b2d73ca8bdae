"""What if every draft got a verdict, also after a rejection?  The token-by-token checker on threads."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from simspec.kernels.jit import DISABLED
from simspec.kernels.rules import token_rule
from simspec.kernels.tokens import count_tokens
from simspec.kernels.words import stream_keys
from simspec.model import ParameterError, Process, SimspecError
from simspec.model.identity import digest
from simspec.run.layout import Layout, layout
from simspec.run.processors import default_threads
from simspec.run.progress import Progress


@dataclass(frozen=True)
class JudgedJob:
    """One process at one κ, played token by token."""

    process: Process
    kappa: int
    windows: int
    seed: int

    @property
    def layout(self) -> Layout:
        return layout(self.process, self.windows, [self.kappa])


def play_tokens(job: JudgedJob, chunks: Iterable[int]) -> tuple[np.ndarray, np.ndarray]:
    """``accepted[lane, drafted, a]`` and ``judged[lane, s]`` of some chunks, from words of their own."""
    if DISABLED:
        raise SimspecError("the token-by-token checker has no twin; unset NUMBA_DISABLE_JIT to judge claims")
    plan, rule = job.layout, token_rule(job.process, job.kappa)
    keys = stream_keys(job.seed, digest(job.process.identity()), domain="tokens")
    hidden = np.array([rule.hidden_after_reject, rule.hidden_after_full])
    accepted, judged = [], []
    for chunk in chunks:
        lanes = plan.lanes_of(chunk)
        accepted.append(np.zeros((lanes, job.kappa + 1, job.kappa + 1), np.int64))
        judged.append(np.zeros((lanes, job.kappa + 1), np.int64))
        length = plan.length
        given = (rule.after_accept, rule.after_reject, rule.first, hidden, rule.start, rule.tokens, rule.truncate)
        count_tokens(keys, chunk, lanes, length, job.kappa, *given, accepted[-1], judged[-1])
    return np.concatenate(accepted), np.concatenate(judged)


def run_judged(
    jobs: Iterable[JudgedJob], threads: int | None = None, progress: Progress | None = None
) -> Iterator[tuple[JudgedJob, np.ndarray]]:
    """Play jobs on threads; yields each with ``judged[lane, s]``.

    Raises
    ------
    ParameterError
        If outcomes after a rejection have no meaning for a process.
    """
    workers = threads or default_threads()
    with ThreadPoolExecutor(workers, thread_name_prefix="simspec-judge") as pool:
        for job in jobs:
            if not token_rule(job.process, job.kappa).judges_all:
                raise ParameterError("process", f"{job.process} does not say what happens after a rejection")
            cuts = np.linspace(0, job.layout.chunks, 4 * workers + 1).astype(int)
            pieces = [range(a, b) for a, b in itertools.pairwise(cuts) if b > a]
            parts = []
            for _, judged in pool.map(functools.partial(play_tokens, job), pieces):
                parts.append(judged)
                if progress is not None:
                    progress.add(int(judged.sum()))
            yield job, np.concatenate(parts)
