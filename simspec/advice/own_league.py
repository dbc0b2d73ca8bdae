"""Which surroundings are a user's own?  A scenario's processes, a figure from a log, or what fits the log's rounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeGuard

from simspec.advice.acceptance import Acceptance
from simspec.advice.recommend.request_weights import one_length
from simspec.evidence.costs.points import EARLY
from simspec.evidence.kappa_seen import which_kappa
from simspec.evidence.observed import REQUEST, Observed
from simspec.evidence.rounds.fits import RoundFit
from simspec.evidence.rounds.processes import ProcessFits, fit_processes, rounds_of
from simspec.evidence.source import Source, Unknown
from simspec.model import BetaMixture, Cost, DiscreteMixture, Iid, ParameterError, Process, Scenario, Survival
from simspec.run.surroundings import Surrounding

CLOSE = 6.0
"""Difference of BIC up to which another process is worth a look (Kass and Raftery 1995: positive evidence)."""
MOST = 12
"""Processes of a scenario that are played."""
INDEPENDENT = (
    "rounds do not depend on each other here: no controller can beat the best fixed κ, and the table says what "
    "adapting loses"
)
ONE_FIGURE = (
    "one figure, or averages, do not tell how acceptance changes between requests and along the output, on which it "
    "depends whether adapting pays.  A table of rounds (request,kappa,accepted) or a record per request tells; so does "
    "a guess: simspec league --process FILE, e.g. with a discrete_mixture of two rates"
)
STILL = (
    "no fitted process drifts along the output or over the day: where α does, adapting may pay more than is shown "
    "(simspec league without a log has such surroundings)"
)

WEIGHED = (
    "each {unit} is taken as a request, which keeps its tokens at every κ while its rounds change; simspec recommend "
    "weighs {unit}s by the rounds they had, whatever κ: the two may name different best fixed κ"
)


@dataclass(frozen=True)
class OwnSurroundings:
    """What to play, and what to say below it.

    Attributes
    ----------
    where : dict of str to Surrounding
    longest : int
        Longest draft that suggests itself.
    notes : tuple of str
    cost : Cost or None
        Prices that a scenario gives.
    """

    where: dict[str, Surrounding]
    longest: int
    notes: tuple[str, ...]
    cost: Cost | None = None


def of_process(process: Process, name: str = "yours") -> OwnSurroundings:
    """One process."""
    notes = (INDEPENDENT,) if process.unit == "window" else ()
    return OwnSurroundings({name: Surrounding(process, str(process))}, 8, notes)


def of_scenario(path: str | Path) -> OwnSurroundings:
    """The processes of a scenario file, one for each point of their grids.

    Raises
    ------
    ParameterError, ScenarioError
        The file cannot be read, or holds too many.
    """
    scenario = Scenario.from_toml(path)
    processes = list({own.process_id: own.process for own, _ in scenario.simulations()}.values())
    if len(processes) > MOST:
        raise ParameterError("process", f"{path} has {len(processes)} processes; allowed: {MOST}")
    costs = list(scenario.costs()) if scenario.cost else []
    if len(costs) > 1:
        raise ParameterError("cost", f"{path} has {len(costs)} costs; allowed: one, or --draft-cost and the like")
    numbered = [own.label or f"{own.type} {i + 1}" for i, own in enumerate(processes)]
    names = [processes[0].label or "yours"] if len(processes) == 1 else numbered
    where = {name: Surrounding(own, str(own)) for name, own in zip(names, processes, strict=True)}
    still = all(own.unit == "window" for own in processes)
    return OwnSurroundings(where, 8, (INDEPENDENT,) if still else (), costs[0] if costs else None)


def of_acceptance(own: Acceptance) -> OwnSurroundings:
    """Independent rounds of a figure: its survival curve where there is one, else one rate.

    Raises
    ------
    ParameterError
        No rate is known.

    Examples
    --------
    >>> from simspec.advice.acceptance import acceptance_of_numbers
    >>> found = of_acceptance(acceptance_of_numbers(survival=[0.7, 0.5, 0.4]))
    >>> str(found.where["yours"].process), found.longest
    ('survival(survival = [0.7, 0.5, 0.4])', 3)
    """
    if own.survival is not None:
        process: Process = Survival(survival=own.survival)
    elif own.alpha is not None:
        process = Iid(alpha=min(own.alpha, 1.0))
    else:
        raise ParameterError("files", f"{own.origin}: {which_kappa(own.source)}")
    longest = len(own.survival) if own.survival is not None else _longest(own.kappa)
    seen = "" if own.rounds is None else f"; {own.rounds:,} round{'s' if own.rounds > 1 else ''}"
    where = {"yours": Surrounding(process, f"{own.origin}{seen}; {process}", kappa=own.kappa)}
    return OwnSurroundings(where, longest, (ONE_FIGURE,))


def of_source(source: Source, seed: int = 1, progress: Callable[[str], None] | None = None) -> OwnSurroundings | None:
    """Processes fitted to the rounds of a log; None where it holds too few rounds to fit any.

    The one that ``simspec fit`` names, and those of another kind of memory that explain the rounds about as well.
    """
    rounds = rounds_of(source)
    if isinstance(rounds, Unknown):
        return None
    fits = fit_processes(rounds, seed=seed, progress=progress)
    where, notes = {}, [fits.says]
    for fit in _worth_a_look(fits):
        process, said = as_long_as_the_log(fit.process, rounds)
        check = fits.checks.get(fit.name)
        adequate = "" if check is None or check.adequate else "; it does not explain all of the rounds"
        where[fit.name] = Surrounding(process, f"{fit.model.says}{said}{adequate}; {process}", kappa=_set_now(rounds))
    if all(own.process.unit == "window" for own in where.values()):
        notes.append(INDEPENDENT)
    # where κ moved, recommend takes E from a fitted process as well
    if rounds.unit != REQUEST and one_length(rounds) and any(_by_request(own.process) for own in where.values()):
        notes.append(WEIGHED.format(unit=rounds.unit))
    return OwnSurroundings(where, _longest(rounds.kappa_max), (*notes, STILL))


def _by_request(process: Process) -> TypeGuard[BetaMixture | DiscreteMixture]:
    """Whether each request has a rate of its own."""
    return isinstance(process, (BetaMixture, DiscreteMixture)) and process.by_request


def _set_now(rounds: Observed) -> int | None:
    """The draft length of rounds that have one, but for last drafts that are cut."""
    drafted = float(rounds.drafted @ rounds.count) / max(1, rounds.rounds)
    return rounds.kappa_max if drafted >= EARLY * rounds.kappa_max > 0.0 else None


def _longest(kappa: int | None) -> int:
    """Twice what was seen, at least 8, at most what the league takes."""
    return min(32, max(8, 2 * (kappa or 4)))


def _worth_a_look(fits: ProcessFits) -> Sequence[RoundFit]:
    """The named one, then by BIC those that are close and whose memory is of another kind."""
    chosen = [fits.best]
    for fit in sorted(fits.fits, key=lambda own: own.bic):
        check = fits.checks.get(fit.name)
        fair = (check is None or check.adequate) == (fits.adequate is not False)
        if fair and fit.bic - fits.best.bic <= CLOSE and fit.model.wants not in {own.model.wants for own in chosen}:
            chosen.append(fit)
    return chosen


def as_long_as_the_log(process: Process, rounds: Observed) -> tuple[Process, str]:
    """A process by request with requests of the log's mean length, and what is said of it.

    A fit takes very long requests, which make E that of the log; a controller would have all the time to learn one.

    Examples
    --------
    >>> seen = Observed.in_order([[4, 4], [4]], [[3, 0], [4]])
    >>> as_long_as_the_log(BetaMixture(alpha=0.7, rho=0.1, request_tokens=8000), seen)[0].request_tokens
    5
    """
    if not _by_request(process):
        return process, ""
    tokens = float((rounds.accepted + 1) @ rounds.count) / rounds.groups
    mean = max(1, round(tokens))
    keys = {key: getattr(process, key) for key in type(process).model_fields if key != "type"}
    own = type(process)(**(keys | {"request_tokens": mean, "truncate": True}))
    what = "requests" if rounds.unit == REQUEST else f"stretches of the log ({rounds.unit}s)"
    return own, f"; {what} have its mean of {mean:,} tokens"
