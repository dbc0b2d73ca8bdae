"""What is known of a job without counting?  The exact law of its windows at each κ, or why there is none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from simspec import theory
from simspec.model import Cost, ParameterError, SimspecError
from simspec.run.engine import Job
from simspec.theory.law import WindowLaw
from simspec.theory.routes import has_route
from simspec.theory.scheme_means import SchemeLaw

Laws = tuple[WindowLaw, ...] | tuple[SchemeLaw, ...]


def laws_of(job: Job, costs: Sequence[Cost] = ()) -> Laws:
    """Exact laws of the windows of a job, or means of the rounds of its scheme, by κ.

    ``costs`` are those the means must be able to price.

    Raises
    ------
    ParameterError
        The process or the scheme has no exact route, no long-run law at one of the κ, or no exact price.

    Examples
    --------
    >>> from simspec.model import Iid, Simulation
    >>> [law.mean_tokens for law in laws_of(Job(Simulation(Iid(alpha=0.5)), (0, 2), 1, 1, method="exact"))]
    [1.0, 1.75]
    """
    process, scheme = job.process, job.simulation.scheme
    if not job.simulation.chained:
        try:
            means = tuple(theory.scheme_law(scheme, process, kappa) for kappa in job.kappas)
            for law in means:
                for cost in costs:
                    law.price(cost)
        except ParameterError as error:
            told = f'method = "exact" is impossible for {job.simulation}: {error.message}'
            raise ParameterError("method", told) from None
        return means
    process.check_method("exact")
    if not has_route(process):  # of a class of the user's own
        raise ParameterError("method", f'method = "exact" is impossible for {process}: there is no exact route')
    return tuple(theory.window(process, kappa) for kappa in job.kappas)


def known_jobs(jobs: Iterable[Job], costs: Sequence[Cost] = ()) -> Iterator[tuple[Job, Laws]]:
    """Each job with its laws, in the order given; one that has none says why in ``job.failure``."""
    for job in jobs:
        try:
            yield job, laws_of(job, costs)
        except SimspecError as error:
            yield replace(job, failure=str(error)), ()
