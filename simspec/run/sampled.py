"""What comes out of speculative sampling, token by token?  Counts of real tokens on threads, held against the target.

Words are those of the domain ``"sampling"`` and of the pair; neither κ nor the rule changes them, so that both rules
judge the same drafts.  A lane is the unit of an error.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simspec.kernels import sampling_twin
from simspec.kernels.jit import DISABLED
from simspec.kernels.sampling import KINDS, count_blocks, count_sampled
from simspec.kernels.token_tables import BlockTables, TokenTables
from simspec.model import ParameterError, TokenChain
from simspec.model.pairs import TokenPair, make_pair
from simspec.run.pairs import Asked
from simspec.run.processors import default_threads
from simspec.run.progress import Progress
from simspec.run.token_job import SampledJob, whole_number
from simspec.run.token_result import SampledTokens

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
THREADS_LIMIT = 4096
SKIPPED = 32
"""Rounds of a chain's lane played first and not counted, so that its start is forgotten."""


def play(job: SampledJob, chunks: Iterable[int]) -> tuple[Ints, Ints]:
    """``tokens[kind, context, token]`` and ``accepted[lane, a]`` of some chunks."""
    plan = job.layout
    tokens = np.zeros((len(KINDS), *job.laws[0].shape), np.int64)
    skipped = SKIPPED if isinstance(job.pair, TokenChain) else 0
    accepted = []
    for chunk in chunks:
        accepted.append(np.zeros((plan.lanes_of(chunk), job.kappa + 1), np.int64))
        where = (job.keys, chunk, len(accepted[-1]), skipped, plan.rounds, job.kappa)
        play_chunk(job.tables, where, tokens, accepted[-1])
    return tokens, np.concatenate(accepted)


Where = tuple[NDArray[np.uint64], int, int, int, int, int]
"""Keys, chunk, lanes, rounds skipped, rounds counted, κ."""


def play_chunk(tables: TokenTables | BlockTables, where: Where, tokens: Ints, accepted: Ints) -> None:
    """One chunk by the compiled kernel, or by its twin where there is no compiler."""
    draft, target = ((law.cumulative, law.guide) for law in (tables.draft, tables.target))
    if isinstance(tables, TokenTables):
        if DISABLED:
            sampling_twin.count_sampled(tables, *where, tokens, accepted)
            return
        laws = (*draft, tables.residual.cumulative, tables.residual.guide, *target, tables.draft.shift, tables.accept)
        count_sampled(*where, tables.start, *laws, tokens, accepted)
        return
    if DISABLED:
        sampling_twin.count_blocks(tables, *where, tokens, accepted)
        return
    account = (tables.ratio, tables.limits, tables.order, tables.below)
    count_blocks(*where, tables.start, *draft, *target, tables.draft.shift, *account, tokens, accepted)


def run_sampled(
    jobs: Iterable[SampledJob], threads: int | None = None, progress: Progress | None = None
) -> Iterator[tuple[SampledJob, Ints, Ints]]:
    """Play jobs on threads; yields each with its counts, the same for any number of threads."""
    workers = default_threads() if threads is None else whole_number("threads", threads, 1, THREADS_LIMIT)
    pool = ThreadPoolExecutor(workers, thread_name_prefix="simspec-sample")
    try:
        for job in jobs:
            yield job, *_played(pool, 16 * workers, job, progress)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _played(pool: ThreadPoolExecutor, pieces: int, job: SampledJob, progress: Progress | None) -> tuple[Ints, Ints]:
    """Counts of a job, cut into so many pieces."""
    job.prepare()
    tokens, accepted = np.zeros((len(KINDS), *job.laws[0].shape), np.int64), []
    cuts = np.linspace(0, job.layout.chunks, min(pieces, job.layout.chunks) + 1).astype(int)
    for more, lengths in pool.map(functools.partial(play, job), (range(a, b) for a, b in itertools.pairwise(cuts))):
        tokens += more
        accepted.append(lengths)
        if progress is not None:
            progress.add(int(lengths.sum()))
    return tokens, np.concatenate(accepted)


def sample(
    pair: Asked,
    kappa: int = 4,
    windows: int = 1_000_000,
    seed: int = 1,
    rule: str = "token",
    threads: int | None = None,
    progress: Progress | None = None,
    level: float = 0.95,
) -> SampledTokens:
    """Sample one pair token by token; see `simspec.sample_tokens`."""
    if not 0.5 <= level < 1.0:
        raise ParameterError("level", f"level = {level!r} is out of range; allowed: 0.5 ≤ level < 1")
    job = SampledJob(pair, kappa, windows, seed, rule)
    ((_, tokens, accepted),) = run_sampled([job], threads, progress)
    return SampledTokens(job, tokens, accepted, level)


def sample_tokens(
    pair: Asked | dict[str, Any],
    kappa: int = 4,
    windows: int = 1_000_000,
    seed: int = 1,
    rule: str = "token",
    threads: int | None = None,
    level: float = 0.95,
) -> SampledTokens:
    """Speculative sampling token by token: do the emitted tokens follow the target, and which follow the draft?

    Parameters
    ----------
    pair : dict, TokenPair or TokenChain
        ``{"target": [...], "draft": [...]}``; ``{"type": "dirichlet" | "zipf" | "logits", "vocabulary": 32_000, ...}``
        for random laws; or a `TokenChain` of laws by context.
    kappa : int
        Draft length, 0 to 256.
    windows : int
        Rounds, rounded up to whole lanes.
    seed : int
        0 ≤ seed < 2⁶⁴; that of a random pair is a key of the pair.
    rule : str
        ``"token"``: a draft x is kept with probability min(1, p(x)/q(x)).  ``"block"``: block verification, which keeps
        at least as many.
    threads : int, optional
        Worker threads; changes no number.
    level : float
        Confidence level of the intervals.

    Returns
    -------
    SampledTokens
        With ``is_lossless``, ``lossless`` (chi-square of emitted tokens against the target), ``alpha``,
        ``mean_accepted``, ``exact``, ``tokens``, ``to_dict()``, ``to_pandas()`` and a readable repr.

    Raises
    ------
    ParameterError
        A law does not add up to 1, or an argument is outside its range.

    References
    ----------
    Leviathan, Kalman, Matias (2023), Algorithm 1; Sun et al. (2025), Block Verification Accelerates Speculative
    Decoding, Algorithm 2; the article's sections 2.1 and 2.2.

    Examples
    --------
    >>> import simspec
    >>> found = simspec.sample_tokens({"target": [0.5, 0.3, 0.2], "draft": [0.2, 0.3, 0.5]}, windows=100_000)
    >>> found.is_lossless, bool(found.accepted_against_target.p_value < 1e-6), round(found.exact["alpha"], 6)
    (True, True, 0.7)
    """
    if isinstance(pair, dict):
        pair = make_pair(**pair)
    if not isinstance(pair, (TokenPair, TokenChain)):
        raise ParameterError("pair", f'pair = {pair!r}; allowed: {{"target": [...], "draft": [...]}} or a TokenChain')
    return sample(pair, kappa, windows, seed, rule, threads, level=level)
