"""How many draft steps does it take to draft so many levels and nodes: one per level, per window, or per node?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from simspec.model.cost import Cost
from simspec.model.errors import ParameterError
from simspec.model.process import KAPPA_LIMIT
from simspec.model.rounds import DraftLaw
from simspec.model.schemes.scheme import Scheme


class Drafting(Scheme):
    """A scheme whose draft steps may be fewer, or more, than its levels.

    Parameters
    ----------
    drafting : {"depth", "window", "node"}
        A draft step per level (a draft model, EAGLE, a prediction head used again and again), one for all levels of a
        window (Medusa and other heads side by side, block drafters), or one per node (candidates drafted in turn).
    heads : int
        Levels that one step drafts, with ``drafting = "depth"``: n heads side by side that are used again at depth
        n + 1 take ⌈depth / n⌉ steps.
    """

    drafting: Literal["depth", "window", "node"] = Field(
        default="depth", description="what a draft step is paid for: a level, the window, or a node"
    )
    heads: Annotated[int, Field(ge=1, le=KAPPA_LIMIT)] = Field(default=1, description="levels that one step drafts")

    @model_validator(mode="after")
    def _heads_by_depth(self) -> Drafting:
        if self.heads > 1 and self.drafting != "depth":
            raise ParameterError(
                "heads", f'heads = {self.heads} beside drafting = "{self.drafting}"; allowed: with drafting = "depth"'
            )
        return self

    @property
    def pays(self) -> str:
        if self.drafting == "depth":
            return f"a draft step makes {self.heads} levels" if self.heads > 1 else ""
        return {"window": "a draft step makes all levels of a round", "node": "a draft step per node"}[self.drafting]

    def steps(self, depth: int, nodes: int) -> int:
        """Draft steps of a round with so many levels and nodes.

        Examples
        --------
        >>> from simspec.model.schemes import Tree
        >>> [Tree(drafting=word).steps(4, 9) for word in ("depth", "window", "node")], Tree(heads=3).steps(4, 9)
        ([4, 1, 9], 2)
        """
        return {"depth": -(-depth // self.heads), "window": min(depth, 1), "node": nodes}[self.drafting]

    def identity(self) -> dict[str, Any]:
        """What is usual is left out, so that a scheme is the same as before there was a choice."""
        usual = {"drafting": "depth", "heads": 1}
        return {key: value for key, value in super().identity().items() if usual.get(key) != value}


def by_steps(cost: Cost, steps: Sequence[int]) -> Cost:
    """The cost whose draft of κ tokens takes ``steps[κ]`` draft steps, as far as its own table of them goes.

    Examples
    --------
    >>> by_steps(Cost(c_d=0.1, c_v=0.02), [0, 1, 1, 2]).draft_table
    (0.0, 0.1, 0.1, 0.2)
    """
    most = max(steps) if cost.draft_table is None else len(cost.draft_table) - 1
    prices = [cost.drafting(number) for number in range(most + 1)]
    return cost.changed(c_d=0.0, draft_table=tuple(prices[own] for own in steps if own <= most))


def undrafted(cost: Cost) -> Cost:
    """The cost without what a draft model costs, for schemes that have none.

    Examples
    --------
    >>> undrafted(Cost(draft_table=[0.01, 0.1], c_v=0.02)).base(3)
    1.06
    """
    return cost if cost.c_d == 0.0 and cost.draft_table is None else cost.changed(c_d=0.0, draft_table=None)


def always_drafted(cost: Cost) -> Cost:
    """The cost without what a draft of no token costs, for schemes whose draft model never rests.

    Examples
    --------
    >>> always_drafted(Cost(draft_table=[0.01, 0.1])).draft_table
    (0.0, 0.1)
    """
    return cost if cost.draft_table is None else cost.changed(draft_table=(0.0, *cost.draft_table[1:]))


def one_rate(draft: DraftLaw, kappa: int, unit: str) -> float:
    """The rate of every draft, for schemes between whose windows or blocks stands no token of the target.

    Raises
    ------
    ParameterError
        Nothing is drafted, or rates are not measured or differ.

    Examples
    --------
    >>> one_rate(DraftLaw(((0.5,),) * 2), 2, "windows")
    0.5
    """
    rates = draft.rates(kappa)
    if kappa < 1 or len(rates) < kappa:
        raise ParameterError("kappa", f"kappa = {kappa} is out of range; allowed: 1 to the measured positions")
    if len(set(rates)) > 1:
        raise ParameterError("process", f"rates differ by position, but {unit} follow each other; allowed: iid")
    return rates[0]
