"""What exactly is simulated?  A process, a scheme, a policy, how it is served; κ, cost, seed and budget beside it."""

from __future__ import annotations

import functools
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from simspec.model.carried_rounds import process_rounds
from simspec.model.cost import Cost
from simspec.model.errors import ParameterError
from simspec.model.forms import Rounds
from simspec.model.identity import canonical_json
from simspec.model.lately import Lately
from simspec.model.policies.fixed import Fixed
from simspec.model.policies.policy import Policy
from simspec.model.process import Process
from simspec.model.rounds import RoundKind, RoundTable
from simspec.model.schemes.chain import Chain
from simspec.model.schemes.scheme import Scheme
from simspec.model.serving import NORMAL, Serving
from simspec.model.trace import Trace

_CHAIN, _FIXED = Chain(), Fixed()
TABLES: Lately[Rounds] = Lately(2**20, lambda rounds: rounds.outcomes if isinstance(rounds, RoundTable) else 2**14)
"""Tables of rounds, some hundred bytes an outcome: what is checked is played soon after."""


@dataclass(frozen=True)
class Simulation:
    """One question to the engine.  Its id does not depend on κ, cost, seed or number of windows.

    Examples
    --------
    >>> from simspec.model import Iid
    >>> Simulation(Iid(alpha=0.7)).id[:12]
    '1a10c3fa3b07'
    """

    process: Process
    scheme: Scheme = _CHAIN
    policy: Policy = _FIXED
    serving: Serving = NORMAL

    @property
    def chained(self) -> bool:
        """Whether drafts are one chain, which every process plays in a form of its own."""
        return self.scheme.chained

    @functools.cached_property
    def fresh(self) -> bool:
        """Whether windows are counted as independent units, one run of the longest draft holding every κ."""
        return self.chained and self.process.unit == "window" and not self.steered

    @property
    def steered(self) -> bool:
        """Whether rounds are played one after another in the general loop: κ may change, or a batch is in lock step."""
        return self.policy.adapts or self.serving.batch > 1

    def rounds(self, kappa: int) -> Rounds:
        """How a round of the scheme goes on this process.

        Raises
        ------
        ParameterError
            The scheme has no meaning for this process, or for this κ.
        """
        return TABLES.get((self.made_of, kappa), lambda: self._make_rounds(kappa))

    @property
    def made_of(self) -> Hashable:
        """What its rounds depend on: the parameters of scheme and process, and the classes, which say how."""
        return type(self.scheme), _canonical(self.scheme), type(self.process), self.process_id

    def _make_rounds(self, kappa: int) -> Rounds:
        table = process_rounds(self.scheme, self.process, kappa)
        if not isinstance(table, Rounds):  # of a user's own
            told = f"rounds of {self.scheme.type} returned {type(table).__name__}; allowed: a simspec.RoundTable"
            raise ParameterError("scheme", told)
        table.check()
        return table

    def check(self, kappas: Sequence[int], costs: Sequence[Cost]) -> None:
        """Raise `ParameterError` unless every round of the scheme can be played and priced; chains are checked by κ."""
        self.serving.check(self.policy)
        if self.serving.batch > 1:
            self._check_batch(costs)
        if self.policy.adapts:
            self._check_policy(costs)
        if self.chained:
            return
        costs = [self.scheme.priced(cost) for cost in costs]
        for kappa in kappas:
            try:
                for kind in self.rounds(kappa).kinds:
                    for cost in costs:
                        _check_price(kind, cost)
            except ParameterError as error:
                if error.key in Cost.model_fields:
                    raise error.under("cost") from None
                own = error.key not in ("kappa", "process", "process.type", "scheme")
                raise error.under("scheme") if own else error from None

    def _check_batch(self, costs: Sequence[Cost]) -> None:
        """Raise `ParameterError` unless requests of this process can be served together at a price."""
        told = f"batch = {self.serving.batch} serves"
        if not self.chained:
            raise ParameterError("serving.batch", f"{told} chains, and {self.scheme.type} is none; allowed: batch = 1")
        if isinstance(self.process, Trace):
            raise ParameterError("serving.batch", f"{told} requests that are drawn; allowed with a trace: batch = 1")
        if self.serving.shares_kappa and self.policy.of_one_request:
            told = f"policy {self.policy.type} {self.policy.of_one_request}"
            raise ParameterError("serving.shares", f"{told}; allowed: shares = false, or batch = 1")
        for cost in costs:
            unpriced = ("c_wake",) if self.serving.shares_kappa else ("c_switch", "c_wake")
            for key in unpriced if self.policy.adapts else ():
                if getattr(cost, key):
                    told = f"cost.{key} = {getattr(cost, key):g} has no price in a step of a batch"
                    raise ParameterError(f"cost.{key}", f"{told}; allowed with batch > 1: 0")

    def _check_policy(self, costs: Sequence[Cost]) -> None:
        """Raise `ParameterError` unless κ can change between the rounds of this process, and each κ has a price."""
        if not self.chained:
            told = f"policy {self.policy.type} chooses the length of a chain, and {self.scheme.type} is none"
            raise ParameterError("policy", f"{told}; allowed: no [scheme] but chain")
        if isinstance(self.process, Trace) and not self.process.dense:
            told = f"policy {self.policy.type} cannot be replayed on the rounds of {self.process.path}"
            told = f"{told}, which say nothing of another κ nor where the next round would begin after it"
            ways = "a dense trace (alpha = a column of chances by position), or the process that `simspec fit` finds"
            raise ParameterError("policy", f"{told}; allowed: {ways}")
        self.policy.check_process(self.process)
        self.serving.check_process(self.process)
        try:
            self.process.check_kappa(self.policy.longest)
            for cost in costs:
                self.scheme.priced(cost).check_kappa(self.policy.longest)
        except ParameterError as error:
            raise ParameterError("policy", f"{error.message} (longest draft of {self.policy.type})") from None

    def identity(self) -> dict[str, Any]:
        """What the id is the hash of; conditions of serving only where something is said of them."""
        own = {
            "process": self.process.identity(),
            "scheme": self.scheme.identity(),
            "policy": self.policy.identity(),
        }
        return own | ({"serving": self.serving.identity()} if self.serving.identity() else {})

    def __str__(self) -> str:
        plain = isinstance(self.scheme, Chain) and not self.scheme.parameters()
        own = str(self.process) if plain else f"{self.scheme} on {self.process}"
        own = f"{own}, {self.policy}" if self.policy.adapts else own
        return f"{own}, {self.serving}" if self.serving.identity() else own

    @functools.cached_property
    def id(self) -> str:
        """SHA-256 of the canonical JSON of `identity`, 64 hexadecimal digits."""
        process, rest = self._process, (_canonical(self.policy), _canonical(self.scheme))
        serving = _canonical(self.serving)
        said = f',"serving":{serving}' if serving != "{}" else ""
        return sha256(f'{{"policy":{rest[0]},"process":{process},"scheme":{rest[1]}{said}}}'.encode()).hexdigest()

    @property
    def process_id(self) -> str:
        """SHA-256 of the canonical JSON of the process alone: what its stream of random words is keyed by."""
        return sha256(self._process.encode()).hexdigest()

    @functools.cached_property
    def _process(self) -> str:
        return canonical_json(self.process.identity())

    def point_id(self, cost: Cost) -> str:
        """Id of this simulation priced with ``cost``."""
        return point_ids([self], [cost])[0]


def _check_price(kind: RoundKind, cost: Cost) -> None:
    if kind.price(cost) <= 0.0:
        raise ParameterError("c_d", f"c_d = {cost.c_d:g} makes rounds without a pass free; allowed: c_d > 0 here")


@functools.lru_cache(maxsize=64)
def _canonical(part: Scheme | Policy | Serving) -> str:
    return canonical_json(part.identity())


def point_ids(simulations: Iterable[Simulation], costs: Sequence[Cost]) -> list[str]:
    """Ids of simulations priced with each of ``costs``, cost by cost: SHA-256 of the canonical JSON of both.

    Examples
    --------
    >>> from simspec.model import Iid
    >>> point_ids([Simulation(Iid(alpha=0.7))], [Cost(), Cost(c_d=0.1)])[1][:12]
    'e32d3904d736'
    """
    heads = [f'{{"cost":{canonical_json(cost.identity())},"simulation":"' for cost in costs]
    return [sha256(f'{head}{one.id}"}}'.encode()).hexdigest() for one in simulations for head in heads]
