"""What is known of a job without counting?  The exact law of its windows at each κ, or why there is none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from simspec import theory
from simspec.model import ParameterError, SimspecError
from simspec.run.engine import Job
from simspec.theory.law import WindowLaw
from simspec.theory.routes import has_route


def laws_of(job: Job) -> tuple[WindowLaw, ...]:
    """Exact laws of the windows of a job, by κ.

    Raises
    ------
    ParameterError
        The process has no exact route, or no long-run law at one of the κ.

    Examples
    --------
    >>> from simspec.model import Iid, Simulation
    >>> [law.mean_tokens for law in laws_of(Job(Simulation(Iid(alpha=0.5)), (0, 2), 1, 1, method="exact"))]
    [1.0, 1.75]
    """
    process = job.process
    process.check_method("exact")
    if not has_route(process):  # of a class of the user's own
        raise ParameterError("method", f'method = "exact" is impossible for {process}: there is no exact route')
    return tuple(theory.window(process, kappa) for kappa in job.kappas)


def known_jobs(jobs: Iterable[Job]) -> Iterator[tuple[Job, tuple[WindowLaw, ...]]]:
    """Each job with its laws, in the order given; one that has none says why in ``job.failure``."""
    for job in jobs:
        try:
            yield job, laws_of(job)
        except SimspecError as error:
            yield replace(job, failure=str(error)), ()
