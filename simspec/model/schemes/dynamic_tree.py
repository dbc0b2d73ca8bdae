"""A tree that grows where the draft model is confident: EAGLE-2."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from simspec.model.base import Probability
from simspec.model.errors import ParameterError
from simspec.model.grown import GrownTrees
from simspec.model.rounds import DraftLaw
from simspec.model.schemes.scheme import Scheme, Schemes


@Schemes.add
class DynamicTree(Scheme):
    """The κ nodes with the largest products of confidences, of all that a beam of ``breadth`` names.

    A node's likeliest child is the target's token with the rate of the node's hidden state (an ``hmm`` with equal rows
    draws one for every node); ranks 2, 3, … recover ``misses`` of what it misses.  The draft believes these rates, or
    others.

    Parameters
    ----------
    misses : list of float
        Share of the misses of rank 1 that rank 2, 3, … is; a sum of at most 1.
    breadth : int
        k: nodes expanded per layer, children each of them names, at most one more than there are ``misses``.
    depth : int
        Layers.
    confidences : list of float
        What the draft believes of rank 1 in each hidden state, if it is not calibrated; ranks 2, 3, … follow.

    References
    ----------
    Li, Wei, Zhang, Zhang (2024), EAGLE-2.

    Examples
    --------
    >>> draft = DraftLaw(((0.9, 0.4),), first=(0.5, 0.5), moves=((0.5, 0.5), (0.5, 0.5)))
    >>> DynamicTree(misses=[0.5], breadth=2, depth=3).rounds(draft, 4).confidences
    ((0.9, 0.04999999999999999), (0.4, 0.3))
    """

    usual_kappas: ClassVar[tuple[int, ...]] = (1, 2, 4, 8, 16, 32, 64)

    type: Literal["dynamic_tree"] = "dynamic_tree"
    misses: tuple[Probability, ...] = Field(
        default=(), description="what ranks 2, 3, … recover of the misses of rank 1"
    )
    breadth: Annotated[int, Field(ge=1, le=64)] = Field(description="nodes expanded per layer")
    depth: Annotated[int, Field(ge=1, le=64)] = Field(description="layers")
    confidences: tuple[Probability, ...] | None = Field(default=None, description="believed rates by hidden state")

    @model_validator(mode="after")
    def _fits(self) -> DynamicTree:
        if sum(self.misses) > 1.0 + 1e-9:
            raise ParameterError("misses", f"misses adds up to {sum(self.misses):g}; allowed: at most 1")
        if self.breadth > len(self.misses) + 1:
            most = len(self.misses) + 1
            raise ParameterError(
                "breadth", f"breadth = {self.breadth} is out of range; allowed: 1 to {most}, the ranks"
            )
        return self

    def rounds(self, draft: DraftLaw, kappa: int) -> GrownTrees:
        if draft.tokens is not None:
            draft.rates(kappa)  # says that tokens have no rates
        if kappa < 1 or not draft.alphas:
            raise ParameterError("kappa", f"kappa = {kappa} is out of range; allowed: at least 1 node")
        if len(set(draft.moves)) > 1 or len(set(draft.alphas)) > 1:
            raise ParameterError(
                "process", "rates depend on the depth or on the state before; allowed: iid, or hmm with equal rows"
            )
        believed = self.confidences or draft.alphas[0]
        if len(believed) != draft.states:
            raise ParameterError(
                "confidences", f"confidences has {len(believed)} entries; allowed: {draft.states}, one per state"
            )
        rows = [self._children(own, true) for own, true in zip(believed, draft.alphas[0], strict=True)]
        confidences, acceptance = (tuple(tuple(pair[i] for pair in row) for row in rows) for i in (0, 1))
        return GrownTrees(confidences, acceptance, draft.first, self.breadth, self.depth, kappa)

    def _children(self, believed: float, true: float) -> list[tuple[float, float]]:
        """Confidence and chance of the children that are named, what is believed likeliest first."""
        shares = self.misses[: self.breadth - 1]
        own = [(believed, true), *(((1.0 - believed) * share, (1.0 - true) * share) for share in shares)]
        return sorted(own, key=lambda pair: -pair[0])
