"""Hidden states that move with every token: the hidden Markov model, and real token laws of a draft and a target."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from simspec.model.base import Probability
from simspec.model.errors import ParameterError
from simspec.model.markov import Steps
from simspec.model.process import Process, Processes

Row = tuple[Probability, ...]
STATES_LIMIT = 256


def check_stochastic(key: str, matrix: tuple[Row, ...]) -> None:
    """Raise `ParameterError` unless ``matrix`` is square with rows that add up to 1 (to 1e-6)."""
    size = len(matrix)
    if not 1 <= size <= STATES_LIMIT:
        raise ParameterError(key, f"{key} has {size} rows; allowed: 1 to {STATES_LIMIT}")
    for i, row in enumerate(matrix):
        if len(row) != size:
            raise ParameterError(key, f"{key}[{i}] has {len(row)} entries; allowed: {size}, as many as rows")
        if abs(sum(row) - 1.0) > 1e-6:
            raise ParameterError(key, f"{key}[{i}] adds up to {sum(row):.9g}; allowed: a sum of 1")


def closed_classes(matrix: tuple[Row, ...]) -> list[set[int]]:
    """Sets of states that, once entered, are never left; a chain has one long-run law exactly if there is one."""
    reach = [_reachable(matrix, i) for i in range(len(matrix))]
    return [own for i, own in enumerate(reach) if i == min(own) and all(i in reach[j] for j in own)]


def _reachable(matrix: tuple[Row, ...], start: int) -> set[int]:
    found, open_ = {start}, [start]
    while open_:
        here = open_.pop()
        new = {j for j, p in enumerate(matrix[here]) if p > 0.0} - found
        found |= new
        open_ += new
    return found


def check_one_class(key: str, matrix: tuple[Row, ...]) -> None:
    """Raise `ParameterError` if the chain can get stuck in more than one place."""
    classes = closed_classes(matrix)
    if len(classes) > 1:
        raise ParameterError(
            key, f"{key} has {len(classes)} sets of states that are never left, so no long-run law exists; allowed: one"
        )


def normalised(matrix: tuple[Row, ...]) -> list[list[float]]:
    """The rows divided by their sums."""
    return [[entry / sum(row) for entry in row] for row in matrix]


@Processes.add
class Hmm(Process):
    """Hidden Markov model: in state s a draft is accepted with probability alphas[s]; the state moves each token.

    Parameters
    ----------
    P : list of list of float
        Transition matrix, row = state now; rows add up to 1 and there is one closed class.
    alphas : list of float
        Acceptance rate by state.
    start : {"stationary", "carry"}
        ``"stationary"``: each window's first draft is in a state drawn from the long-run law.  ``"carry"``: the state
        moves on from the rejected draft, or from the last accepted one.
    steps_after_reject, steps_after_full : int
        With ``"carry"``: moves from there to the next window's first draft, 1 to 1000.

    Examples
    --------
    >>> Hmm(P=[[0.9, 0.1], [0.1, 0.9]], alphas=[0.98, 0.42]).unit
    'window'
    """

    type: Literal["hmm"] = "hmm"
    P: tuple[Row, ...] = Field(description="the transition matrix, a list of rows")
    alphas: tuple[Probability, ...] = Field(description="the acceptance rate by state")
    start: Literal["stationary", "carry"] = "stationary"
    steps_after_reject: Steps = 1
    steps_after_full: Steps = 1

    @model_validator(mode="after")
    def _fits(self) -> Hmm:
        check_stochastic("P", self.P)
        check_one_class("P", self.P)
        if len(self.alphas) != len(self.P):
            raise ParameterError("alphas", f"alphas has {len(self.alphas)} values for {len(self.P)} states")
        return self

    @property
    def carried(self) -> bool:
        return self.start == "carry"

    @property
    def unit(self) -> str:
        return "lane" if self.carried else "window"

    def identity(self) -> dict[str, Any]:
        own = super().identity()
        if not self.carried:
            del own["steps_after_reject"], own["steps_after_full"]
        return own

    def parameters(self) -> dict[str, Any]:
        own = self.identity()
        del own["type"]
        return own


@Processes.add
class TokenChain(Process):
    """Speculative sampling on real token laws: context = last emitted token, carried over windows; ρ arises by itself.

    In context c a draft x ~ draft[c] is accepted with probability min(1, target[c][x]/draft[c][x]) and becomes the
    context.  A rejection emits a token from the residual (target[c] − draft[c])₊ and ends the round; after κ
    acceptances a bonus token is drawn from target[c].

    Parameters
    ----------
    target, draft : list of list of float
        Next-token laws by context, row = context; rows add up to 1, and the target has one closed class.

    References
    ----------
    Leviathan, Kalman, Matias (2023), Algorithm 1.

    Examples
    --------
    >>> TokenChain(target=[[0.7, 0.3], [0.4, 0.6]], draft=[[0.5, 0.5], [0.5, 0.5]]).unit
    'lane'
    """

    type: Literal["token_chain"] = "token_chain"
    target: tuple[Row, ...] = Field(description="next-token laws of the target by context")
    draft: tuple[Row, ...] = Field(description="next-token laws of the draft by context")

    @model_validator(mode="after")
    def _fits(self) -> TokenChain:
        check_stochastic("target", self.target)
        check_one_class("target", self.target)
        check_stochastic("draft", self.draft)
        if len(self.draft) != len(self.target):
            raise ParameterError("draft", f"draft has {len(self.draft)} contexts, target {len(self.target)}")
        return self

    @property
    def unit(self) -> str:
        return "lane"
