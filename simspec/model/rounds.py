"""How does a round of drafting go?  A table of states; in each, one draw leads to a later state or ends the round.

Whatever drafts and verifies by finitely many rules is such a table: a token tree (a state per node with children), a
draft that stops when it is unsure, two models in turn, n-grams side by side.  Kernels play it, whatever it means.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from simspec.model.cost import Cost
from simspec.model.errors import ParameterError

STATES_LIMIT, ENDS_LIMIT, KINDS_LIMIT = 250_000, 250_000, 10_000
CELLS_LIMIT = 20_000_000
"""States × outcomes of the widest one: kernels play rows of one width."""
_SUM_TOLERANCE = 1e-9


@dataclass(frozen=True)
class RoundKind:
    """What a price needs to know of a round.

    Attributes
    ----------
    accepted : int
        Drafts kept, A.
    drafted : int
        Drafts verified: the target pass is one wider.
    steps : int
        Draft steps paid: levels of a tree, passes of a small model.
    beside : int
        Draft steps made while the target pass runs; the longer of the two is paid.
    rejected : bool
        Whether the rollback price is paid.
    tokens : int
        Emitted tokens, usually A + 1.
    start : int
        State in which the next round starts; 0 where rounds are independent.
    waits : bool
        Whether the target pass is waited for at all; if not, only the draft steps are paid.
    mark : int
        What tells it apart besides, such as the token it ends with; no price.
    lost : int
        Emitted tokens that count as lost, by the measure of the scheme (`Scheme.loses`); no price.
    """

    accepted: int
    drafted: int
    steps: int
    rejected: bool
    tokens: int
    start: int = 0
    beside: int = 0
    mark: int = 0
    waits: bool = True
    lost: int = 0

    def price(self, cost: Cost) -> float:
        """Cost of such a round: drafting(steps) + max(target pass, drafting(beside)) if waited for + c_r if it rejects.

        Examples
        --------
        >>> RoundKind(accepted=1, drafted=3, steps=2, rejected=True, tokens=2).price(Cost(c_d=0.1, c_v=0.02, c_r=0.5))
        1.76
        """
        both = max(cost.target_pass(self.drafted), cost.drafting(self.beside)) if self.waits else 0.0
        return cost.drafting(self.steps) + both + (cost.c_r if self.rejected else 0.0)


@dataclass(frozen=True)
class DraftLaw:
    """What a process says of the drafts of one window, as far as a scheme may use it.

    Attributes
    ----------
    alphas : tuple of tuple of float
        Chance of acceptance at depth 1, 2, …, by the state the draft is in: what a calibrated draft model knows of it.
    first : tuple of float
        Law of the state of the first draft.
    moves : tuple of rows
        Law of the next draft's state, by this one's, the same at every depth.
    tokens : tuple of rows, optional
        Next-token laws of the target by the last token, where the process has real tokens; it then says no rates.
    drafts : tuple of rows, optional
        Next-token laws of the draft model by the last token, beside those of the target.
    marked : bool
        Whether the end of a round is to be marked with the hidden state of the draft that was rejected, or else of the
        last one.
    """

    alphas: tuple[tuple[float, ...], ...]
    first: tuple[float, ...] = (1.0,)
    moves: tuple[tuple[float, ...], ...] = ((1.0,),)
    tokens: tuple[tuple[float, ...], ...] | None = None
    drafts: tuple[tuple[float, ...], ...] | None = None
    marked: bool = False

    @property
    def states(self) -> int:
        return len(self.first)

    def rates(self, kappa: int) -> list[float]:
        """Chance of draft 1, …, kappa given that those before it were accepted, where there is one state.

        Raises
        ------
        ParameterError
            Drafts have hidden states, which branches would share.
        """
        if self.tokens is not None:
            raise ParameterError(
                "process", "this scheme takes rates, and a token_chain has tokens; allowed: a process of rates (iid, "
                "position, …), or a scheme for tokens: tokens (widths make a tree), pool, copy, ngram_pool, big_little"
            )  # fmt: skip
        if self.states > 1:
            raise ParameterError(
                "process", "the process has hidden states, which this scheme cannot use; allowed: iid, position, "
                "survival, or markov with fresh windows"
            )  # fmt: skip
        return [own[0] for own in self.alphas[:kappa]]


@dataclass(frozen=True)
class End:
    """The round ends here as kind number ``kind``."""

    kind: int


@dataclass
class RoundTable:
    """The table of a scheme, filled state by state.

    Attributes
    ----------
    states : list of list of (float, int or End)
        Outcomes of state 0, 1, …: their chance, and the later state they lead to, or the end.  Chances add up to 1.
    kinds : list of RoundKind
        In the order in which they were first met.
    first : list of (float, int)
        Law of the state in which the first round of a lane starts: its long-run law.

    Examples
    --------
    >>> table = RoundTable()
    >>> table.add([(0.7, table.end(accepted=1, drafted=1)), (0.3, table.end(accepted=0, drafted=1))])
    0
    >>> table.check()
    >>> table.kinds[1]
    RoundKind(accepted=0, drafted=1, steps=1, rejected=True, tokens=1, start=0, beside=0, mark=0, waits=True, lost=0)
    """

    states: list[Sequence[tuple[float, int | End]]] = field(default_factory=list)
    kinds: list[RoundKind] = field(default_factory=list)
    first: list[tuple[float, int]] = field(default_factory=lambda: [(1.0, 0)])
    _known: dict[RoundKind, End] = field(default_factory=dict)

    def end(
        self,
        accepted: int,
        drafted: int,
        steps: int | None = None,
        rejected: bool | None = None,
        tokens: int | None = None,
        start: int = 0,
        beside: int = 0,
        mark: int = 0,
        waits: bool = True,
        lost: int = 0,
    ) -> End:
        """An end of the round; unless given, steps = drafted, rejected = accepted < drafted, tokens = accepted + 1."""
        kind = RoundKind(
            accepted,
            drafted,
            drafted if steps is None else steps,
            accepted < drafted if rejected is None else rejected,
            accepted + 1 if tokens is None else tokens,
            start,
            beside,
            mark,
            waits,
            lost,
        )
        if kind not in self._known:
            self._known[kind] = End(len(self.kinds))
            self.kinds.append(kind)
        return self._known[kind]

    def add(self, outcomes: Sequence[tuple[float, int | End]]) -> int:
        """Append a state and return its number."""
        self.states.append(outcomes)
        return len(self.states) - 1

    def reserve(self) -> int:
        """The number of a state whose outcomes are set later, ``table.states[number] = …``."""
        return self.add([])

    @property
    def outcomes(self) -> int:
        """How many there are in all states: a measure of its size."""
        return sum(map(len, self.states))

    def check(self) -> None:
        """Raise `ParameterError` unless every round ends and every state is a law."""
        many = len(self.kinds)
        if many > KINDS_LIMIT:  # where the next round starts makes no other kind
            many = len({replace(kind, start=0) for kind in self.kinds})
        if not 1 <= len(self.states) <= STATES_LIMIT or many > KINDS_LIMIT or len(self.kinds) > ENDS_LIMIT:
            size = f"{len(self.states):,} states, {len(self.kinds):,} ends and {many:,} kinds of round"
            most = f"1 to {STATES_LIMIT:,}, {ENDS_LIMIT:,} and {KINDS_LIMIT:,}"
            raise ParameterError("scheme", f"the scheme has {size}; allowed: {most}")
        widest = max(map(len, self.states))
        if len(self.states) * widest > CELLS_LIMIT:
            size = f"{len(self.states):,} states of up to {widest:,} outcomes"
            raise ParameterError("scheme", f"the scheme has {size}; allowed: {CELLS_LIMIT:,} as states × outcomes")
        for number, outcomes in enumerate(self.states):
            total = 0.0
            for chance, target in outcomes:
                if not 0.0 <= chance <= 1.0 + _SUM_TOLERANCE:
                    raise ParameterError("scheme", f"state {number} has the chance {chance:g}; allowed: 0 to 1")
                if not isinstance(target, End) and not number < target < len(self.states):
                    raise ParameterError(
                        "scheme", f"state {number} leads to state {target}; allowed: a later one, so that rounds end"
                    )
                total += chance
            if abs(total - 1.0) > _SUM_TOLERANCE:
                raise ParameterError("scheme", f"chances of state {number} add up to {total:g}; allowed: 1")
        for kind in self.kinds:
            if not 0 <= kind.start < len(self.states):
                raise ParameterError(
                    "scheme", f"a round leads to state {kind.start}; allowed: 0 to {len(self.states) - 1}"
                )
            if min(kind.accepted, kind.drafted, kind.steps, kind.beside) < 0 or kind.tokens < 1:
                raise ParameterError(
                    "scheme", f"{kind} has a negative count or no token; allowed: counts ≥ 0, tokens ≥ 1"
                )
            if kind.accepted > kind.drafted:
                raise ParameterError("scheme", f"{kind} keeps more than it drafts; allowed: accepted ≤ drafted")
            if not 0 <= kind.lost <= kind.tokens:
                raise ParameterError("scheme", f"{kind} loses {kind.lost} of its tokens; allowed: 0 to {kind.tokens}")
