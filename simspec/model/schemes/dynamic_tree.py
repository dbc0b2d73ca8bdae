"""A tree that grows where the draft model is confident: EAGLE-2."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from simspec.model.base import NonNegative, Probability
from simspec.model.errors import ParameterError
from simspec.model.grown import GrownTrees
from simspec.model.rounds import DraftLaw
from simspec.model.schemes.scheme import Scheme, Schemes

VECTORS_LIMIT = 1024
RATE_TOLERANCE = 1e-3
"""Rates of process and vectors may differ by as much: one of them has been typed in."""

Rows = tuple[tuple[float, ...], ...]
Children = list[tuple[float, float]]
"""Confidence and chance of a node's children."""


@Schemes.add
class DynamicTree(Scheme):
    """The κ nodes with the largest products of confidences, of all that a beam of ``breadth`` names.

    Every node that is expanded draws a vector of confidences of its own.  Either these are ``vectors``, and so is what
    they are worth; or a node's likeliest child is the target's token with the rate of the node's hidden state (an
    ``hmm`` with equal rows draws one for every node), and ranks 2, 3, … recover ``misses`` of what it misses.

    Parameters
    ----------
    vectors : list of list of float
        Confidences a node may have in its likeliest children, each list with a sum of at most 1.  The process then
        says no more than how often the first child is right, which must agree with them.
    weights : list of float
        How often a node has which of the vectors; equally often unless given.
    acceptance : list of list of float
        Chance that the child is the target's token, by vector and child; its confidence unless given (calibrated).
    temperature : float
        Instead of ``acceptance``: the vectors are too sharp by this temperature (over-confident above 1), as when
        chances are softmax(log confidence/temperature), all tokens not listed being one more child.
    misses : list of float
        Share of the misses of rank 1 that rank 2, 3, … is; a sum of at most 1.
    breadth : int
        k: nodes expanded per layer, children each of them names; at most one more than there are ``misses``.
    depth : int
        Layers.
    confidences : list of float
        What the draft believes of rank 1 in each hidden state, if it is not calibrated; ranks 2, 3, … follow.

    References
    ----------
    Li, Wei, Zhang, Zhang (2024), EAGLE-2: k = 10, 6 layers, 60 nodes (7B); Guo et al. (2017), temperature scaling.

    Examples
    --------
    >>> draft = DraftLaw(((0.9, 0.4),), first=(0.5, 0.5), moves=((0.5, 0.5), (0.5, 0.5)))
    >>> DynamicTree(misses=[0.5], breadth=2, depth=3).rounds(draft, 4).confidences
    ((0.9, 0.04999999999999999), (0.4, 0.3))
    >>> sharp = DynamicTree(vectors=[[0.6, 0.2, 0.1], [0.3, 0.3, 0.1]], temperature=2, breadth=2, depth=3)
    >>> grown = sharp.rounds(DraftLaw(((0.3486,),)), 4)
    >>> [[round(chance, 3) for chance in row] for row in grown.acceptance]
    [[0.418, 0.241], [0.28, 0.28]]
    """

    usual_kappas: ClassVar[tuple[int, ...]] = (1, 2, 4, 8, 16, 32, 64)

    type: Literal["dynamic_tree"] = "dynamic_tree"
    vectors: tuple[tuple[Probability, ...], ...] | None = Field(default=None, description="confidences of a node")
    weights: tuple[NonNegative, ...] | None = Field(default=None, description="how often a node has which vector")
    acceptance: tuple[tuple[Probability, ...], ...] | None = Field(default=None, description="chances by vector")
    temperature: Annotated[float, Field(gt=0, le=1000)] | None = Field(default=None, description="too sharp by this")
    misses: tuple[Probability, ...] = Field(
        default=(), description="what ranks 2, 3, … recover of the misses of rank 1"
    )
    breadth: Annotated[int, Field(ge=1, le=64)] = Field(description="nodes expanded per layer")
    depth: Annotated[int, Field(ge=1, le=64)] = Field(description="layers")
    confidences: tuple[Probability, ...] | None = Field(default=None, description="believed rates by hidden state")

    @property
    def kappas(self) -> tuple[int, ...]:
        """A system is run up to its own budget of nodes."""
        return self.within_budget(super().kappas)

    @model_validator(mode="after")
    def _fits(self) -> DynamicTree:
        if self.vectors is None:
            for key in ("weights", "acceptance", "temperature"):
                if getattr(self, key) is not None:
                    raise ParameterError(key, f"{key} without vectors; allowed: beside them")
            if sum(self.misses) > 1.0 + 1e-9:
                raise ParameterError("misses", f"misses adds up to {sum(self.misses):g}; allowed: at most 1")
            if self.breadth > len(self.misses) + 1:
                told = f"breadth = {self.breadth} is out of range; allowed: 1 to {len(self.misses) + 1}, the "
                told += "ranks with a chance (misses has those of ranks 2, 3, …)"
                raise ParameterError("breadth", told)
            return self
        for key in ("misses", "confidences"):
            if getattr(self, key):
                raise ParameterError(key, f"{key} beside vectors; allowed: one of them")
        if self.acceptance is not None and self.temperature is not None:
            raise ParameterError("temperature", "temperature beside acceptance; allowed: one of them")
        self._check_vectors(self.vectors)
        return self

    def _check_vectors(self, vectors: Rows) -> None:
        many = len(vectors)
        if not 1 <= many <= VECTORS_LIMIT or not all(vectors):
            raise ParameterError("vectors", f"vectors has {many} lists, or an empty one; allowed: 1 to {VECTORS_LIMIT}")
        weights, acceptance = self.weights or (1.0,) * many, self.acceptance or vectors
        if len(weights) != many:
            raise ParameterError("weights", f"weights has {len(weights)} entries; allowed: {many}, one per vector")
        if sum(weights) == 0.0:
            raise ParameterError("weights", "weights are all 0; allowed: at least one above 0")
        if [len(row) for row in acceptance] != [len(row) for row in vectors]:
            raise ParameterError("acceptance", "acceptance has another shape than vectors; allowed: an entry for each")
        for key, rows in (("vectors", vectors), ("acceptance", acceptance)):
            for i, row in enumerate(rows):
                if sum(row) > 1.0 + 1e-9:
                    raise ParameterError(f"{key}[{i}]", f"{key}[{i}] adds up to {sum(row):g}; allowed: at most 1")

    def identity(self) -> dict[str, Any]:
        """Without the ``misses`` that vectors replace."""
        return {key: value for key, value in super().identity().items() if key != "misses" or self.vectors is None}

    @property
    def notes(self) -> tuple[str, ...]:
        """With how far the draft is from what its confidences say."""
        if self.vectors is None or (self.acceptance is None and self.temperature is None):
            return super().notes
        told = f"calibration error {self.calibration_error():.3g}: mean distance of a confidence from its chance"
        return (*super().notes, told)

    def calibration_error(self) -> float:
        """How far a confidence is on average from how often a child with it is right, over the children named."""
        hits: dict[float, tuple[float, float]] = {}
        for weight, row in zip(self._law(), self._vectors(), strict=True):
            for confidence, chance in row[: self.breadth]:
                seen, right = hits.get(confidence, (0.0, 0.0))
                hits[confidence] = (seen + weight, right + weight * chance)
        total = sum(seen for seen, _ in hits.values())
        return sum(abs(right - seen * confidence) for confidence, (seen, right) in hits.items()) / total

    def rounds(self, draft: DraftLaw, kappa: int) -> GrownTrees:
        if draft.tokens is not None:
            draft.rates(kappa)  # says that tokens have no rates
        if kappa < 1 or not draft.alphas:
            raise ParameterError("kappa", f"kappa = {kappa} is out of range; allowed: at least 1 node")
        if len(set(draft.moves)) > 1 or len(set(draft.alphas)) > 1:
            raise ParameterError(
                "process", "rates depend on the depth or on the state before; allowed: iid, or hmm with equal rows"
            )
        rows, law = self._drawn(draft) if self.vectors is None else (self._vectors(), self._law())
        if self.vectors is not None:
            self._agree(draft, rows, law)
        rows = [row[: self.breadth] for row in rows]
        confidences, acceptance = (tuple(tuple(pair[i] for pair in row) for row in rows) for i in (0, 1))
        return GrownTrees(confidences, acceptance, law, self.breadth, self.depth, kappa)

    def _drawn(self, draft: DraftLaw) -> tuple[list[Children], tuple[float, ...]]:
        """The children of a node in each hidden state."""
        believed = self.confidences or draft.alphas[0]
        if len(believed) != draft.states:
            raise ParameterError(
                "confidences", f"confidences has {len(believed)} entries; allowed: {draft.states}, one per state"
            )
        return [self._children(own, true) for own, true in zip(believed, draft.alphas[0], strict=True)], draft.first

    def _children(self, believed: float, true: float) -> Children:
        """Confidence and chance of the children that are named, what is believed likeliest first."""
        shares = self.misses[: self.breadth - 1]
        own = [(believed, true), *(((1.0 - believed) * share, (1.0 - true) * share) for share in shares)]
        return sorted(own, key=lambda pair: -pair[0])

    def _law(self) -> tuple[float, ...]:
        weights = self.weights or (1.0,) * len(self.vectors or ())
        return tuple(weight / sum(weights) for weight in weights)

    def _vectors(self) -> list[Children]:
        """Confidence and chance of the children of a node by vector, what is believed likeliest first."""
        own = self.vectors or ()
        chances = self.acceptance or tuple(_cooled(row, self.temperature or 1.0) for row in own)
        return [
            sorted(zip(row, chance, strict=True), key=lambda pair: -pair[0])
            for row, chance in zip(own, chances, strict=True)
        ]

    def _agree(self, draft: DraftLaw, rows: list[Children], law: tuple[float, ...]) -> None:
        """Raise unless the process has the rate that the vectors give the first child: both are the same pair."""
        own = sum(weight * row[0][1] for weight, row in zip(law, rows, strict=True))
        rate = sum(share * alpha for share, alpha in zip(draft.first, draft.alphas[0], strict=True))
        if abs(own - rate) > RATE_TOLERANCE:
            told = f"a first child is right with {rate:.4g} in the process, with {own:.4g} in vectors"
            raise ParameterError("vectors", f"{told}; allowed: the same, e.g. alpha = {own:.6g}")


def _cooled(row: tuple[float, ...], temperature: float) -> tuple[float, ...]:
    """Chances behind confidences that are too sharp, the tokens not listed being one more."""
    powers = [confidence ** (1.0 / temperature) for confidence in (*row, max(1.0 - sum(row), 0.0))]
    return tuple(power / sum(powers) for power in powers[:-1])
