"""Where do observations come from?  One simulation per process, shared by all claims that need it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from simspec.kernels.tally import Tally
from simspec.kernels.words import LANES
from simspec.model import Cost, Iid, Process, Scheme, Simulation, TokenChain
from simspec.model.identity import digest
from simspec.model.policies import Fixed, Policy
from simspec.model.schemes import Chain
from simspec.run.dispatch import run_jobs
from simspec.run.engine import Job
from simspec.run.judged import JudgedJob, run_judged
from simspec.run.pairs import Asked, laws_of
from simspec.run.progress import Progress
from simspec.run.regret import RegretCurve, regret
from simspec.run.sampled import run_sampled
from simspec.run.token_job import SampledJob
from simspec.run.token_result import SampledTokens
from simspec.stats.counts import Counts

CHAIN, FIXED = Chain(), Fixed()


@dataclass(frozen=True)
class Observed:
    """An estimate with its interval and the number of windows behind it."""

    value: float
    low: float
    high: float
    windows: int

    @staticmethod
    def around(value: float, half: float, windows: int) -> Observed:
        return Observed(value, value - half, value + half, windows)


@dataclass(frozen=True)
class Need:
    """A process that must be simulated at some κ; ``judged`` asks for a verdict on every draft.

    ``scheme`` is how it drafts, ``policy`` chooses κ, ``costs`` are those the stored estimates are priced at.
    """

    process: Process
    kappas: tuple[int, ...]
    judged: bool = False
    costs: tuple[Cost, ...] = ()
    scheme: Scheme = CHAIN
    policy: Policy = FIXED

    @property
    def simulation(self) -> Simulation:
        """What is played: windows of chains, rounds of another scheme, or rounds between which κ changes."""
        return Simulation(self.process, self.scheme, self.policy)


@dataclass(frozen=True)
class TokenNeed(Need):
    """Token laws that must be sampled at one κ under a rule; made by `TokenNeed.of`.

    ``process`` is what the verdicts of the token rule amount to: independent for one context, else the chain itself.
    ``judged`` is set, as such a run belongs to no table of window simulations.
    """

    pair: Asked | None = None
    rule: str = "token"

    @staticmethod
    def of(pair: Asked, kappa: int, rule: str = "token") -> TokenNeed:
        """Sample ``pair`` at κ = ``kappa``.

        Examples
        --------
        >>> from simspec.model.pairs import GivenPair
        >>> TokenNeed.of(GivenPair(target=[0.5, 0.5], draft=[0.75, 0.25]), 4).process.alpha
        0.75
        """
        if isinstance(pair, TokenChain):
            return TokenNeed(pair, (kappa,), judged=True, pair=pair, rule=rule)
        target, draft = laws_of(pair)
        alpha = min(float(np.minimum(target, draft).sum()), 1.0)
        return TokenNeed(Iid(alpha=alpha), (kappa,), judged=True, pair=pair, rule=rule)

    @property
    def key(self) -> tuple[str, int, str]:
        """What names the run in the lab."""
        assert self.pair is not None  # `of` sees to it
        return digest(self.pair.identity()), self.kappas[0], self.rule

    def job(self, windows: int, seed: int) -> SampledJob:
        """The run with so many rounds."""
        assert self.pair is not None
        return SampledJob(self.pair, self.kappas[0], windows, seed, self.rule)


@dataclass(frozen=True)
class RegretNeed(Need):
    """Lanes that must be played under a policy for long, their regret taken at marks; made by `RegretNeed.of`.

    A larger budget plays more lanes, 64 at least, each as long as before.
    """

    cost: Cost = field(default_factory=Cost)
    marks: tuple[int, ...] = ()

    @staticmethod
    def of(process: Process, policy: Policy, cost: Cost, marks: tuple[int, ...]) -> RegretNeed:
        """Play ``policy``, which knows the prices it reads, to the last mark."""
        return RegretNeed(process, (policy.longest,), judged=True, policy=policy, cost=cost, marks=marks)

    def chunks(self, windows: int) -> int:
        """How often 64 lanes are played at a budget."""
        return max(1, windows // (LANES * self.marks[-1]))


class Lab:
    """Simulations at one budget after another; a larger budget contains the smaller one."""

    def __init__(self, seed: int, threads: int | None = None, progress: Progress | None = None) -> None:
        self.seed, self.threads, self.progress = seed, threads, progress
        self._played: dict[str, tuple[Job, Sequence[Tally]]] = {}
        self._counts: dict[str, Counts] = {}
        self._judged: dict[tuple[str, int], tuple[JudgedJob, np.ndarray]] = {}
        self._sampled: dict[tuple[str, int, str], SampledTokens] = {}
        self._grown: dict[RegretNeed, tuple[int, RegretCurve]] = {}

    def simulate(self, needs: Iterable[Need], windows: int) -> None:
        """Play everything in ``needs`` with ``windows`` rounds per κ, once per process; κ played before stay."""
        kappas: dict[str, set[int]] = {}
        simulations: dict[str, Simulation] = {}
        judged: dict[tuple[str, int], JudgedJob] = {}
        sampled: dict[tuple[str, int, str], SampledJob] = {}
        grown: list[RegretNeed] = []
        for need in needs:
            if isinstance(need, TokenNeed):
                sampled[need.key] = need.job(windows, self.seed)
                continue
            if isinstance(need, RegretNeed):
                grown.append(need)
                continue
            key = need.simulation.id
            if need.judged:
                for kappa in need.kappas:
                    judged[key, kappa] = JudgedJob(need.process, kappa, windows, self.seed)
            else:
                simulations[key] = need.simulation
                before = self._counts[key].kappas if key in self._counts else ()
                kappas.setdefault(key, set(before)).update(need.kappas)
        jobs = [Job(own, tuple(sorted(kappas[key])), windows, self.seed) for key, own in simulations.items()]
        for job, tallies in run_jobs(jobs, self.threads, self.progress):
            key = job.simulation.id
            self._played[key] = (job, tallies)
            self._counts[key] = Counts.of(tallies, job.simulation.fresh)
        for key_kappa, outcome in zip(judged, run_judged(judged.values(), self.threads, self.progress), strict=True):
            self._judged[key_kappa] = outcome
        for name, drawn in zip(sampled, run_sampled(sampled.values(), self.threads, self.progress), strict=True):
            self._sampled[name] = SampledTokens(*drawn)
        for need in dict.fromkeys(grown):
            if self.progress is not None:
                self.progress.say(f"{need.marks[-1]:,} rounds a lane under {need.policy.type}")
            chunks = need.chunks(windows)
            if need not in self._grown or self._grown[need][0] < chunks:
                curve = regret(need.process, need.policy, need.cost, need.marks, self.seed, chunks)
                self._grown[need] = chunks, curve

    def counts(self, process: Process, scheme: Scheme = CHAIN, policy: Policy = FIXED) -> Counts:
        """Counts of a simulated process, drafting in a chain at fixed κ unless another scheme or policy is named."""
        return self._counts[Simulation(process, scheme, policy).id]

    def tallies(self, process: Process) -> Sequence[Tally]:
        """Tallies of a simulated process, by ascending κ."""
        return self._played[Simulation(process).id][1]

    def judged(self, process: Process, kappa: int) -> np.ndarray:
        """``[lane, s]`` = windows of the lane in which s of the κ judged drafts would have been accepted."""
        return self._judged[Simulation(process).id, kappa][1]

    def sampled(self, need: TokenNeed) -> SampledTokens:
        """Tokens of a sampled pair at its last budget."""
        return self._sampled[need.key]

    def regret(self, need: RegretNeed) -> RegretCurve:
        """Regret of a policy at its last budget."""
        return self._grown[need][1]

    def played(self) -> Sequence[tuple[Job, Sequence[Tally]]]:
        """All window simulations at their last budget."""
        return list(self._played.values())

    def all_sampled(self) -> Sequence[SampledTokens]:
        """All token-level runs, at their last budget."""
        return list(self._sampled.values())

    def all_judged(self) -> Sequence[tuple[JudgedJob, np.ndarray]]:
        """All simulations with every draft judged, at their last budget."""
        return list(self._judged.values())
