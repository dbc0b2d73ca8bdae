"""κ from an estimate: the article's loop and its correction, and rates by depth."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import Field

from simspec.model.cost import Cost
from simspec.model.errors import ParameterError, shown
from simspec.model.policies.policy import POLICY_KAPPA_LIMIT, Policies, Policy, Priced

Share = Annotated[float, Field(ge=0, le=1)]
Length = Annotated[int, Field(ge=0, le=POLICY_KAPPA_LIMIT)]


@Policies.add
class Rolling(Priced):
    """An exponential average of verdicts, e ← λe + (1 − λ)·[accepted], and κ from it.

    Parameters
    ----------
    smoothing : float
        λ, 0 < smoothing < 1.
    initial : float
        The first estimate.
    of : str
        What is averaged.  ``"examined"``: every draft that was judged.  ``"drafted"``: accepted over drafted, one
        number a round.  ``"round"``: every draft of the round, those behind a rejection as if rejected.
    rule : str
        ``"best"``: the κ that is best for independent drafts at e.  ``"article"``: the article's κ* formula (12) as
        coded, rounded.  ``"table"``: ``kappas[i]`` where i of ``cuts`` are at most e.
    guard : float, optional
        κ is lowered while √((1 − e)/(κe)) exceeds it; the article's is .25.
    degrade : str
        ``"repeat"``: by one as long as the guard fires, so to ``lowest``.  ``"once"``: by one.
    cost : Cost, optional
        Prices for the first two rules.  If left out, those of the run; for the article's formula its own c_v = .5 and
        c_r = 1 beside the run's c_d.

    Notes
    -----
    The article's equation (17) does not say what is averaged.  Only ``"examined"`` knows α where λ nears 1; at α = .7
    and κ = 4 the others settle near E[A]/κ = .443.  And at the end of a round, which is when κ is chosen, a rejection
    has often just been seen: `simspec.theory.settled_estimate` has the mean exactly.

    References
    ----------
    The article's section 5.2 (λ = .85), section 7 (guides 1 and 2) and Figure 1; claims C44, C50, C51, C56.

    Examples
    --------
    >>> Rolling(rule="table", cuts=[0.5], kappas=[1, 4], highest=4).reads_cost
    False
    """

    later = frozenset({"of"})
    type: Literal["rolling"] = "rolling"
    smoothing: float = Field(default=0.85, gt=0, lt=1, description="λ, the weight of the past")
    initial: Share = Field(default=0.7, description="the first estimate")
    of: Literal["examined", "drafted", "round"] = Field(default="examined", description="what is averaged")
    rule: Literal["best", "article", "table"] = Field(default="best", description="how κ follows from the estimate")
    cuts: tuple[Share, ...] = Field(default=(), description="ascending estimates at which κ changes")
    kappas: tuple[Length, ...] = Field(default=(), description="draft lengths between the cuts")
    guard: float | None = Field(default=None, gt=0, le=1e6, description="largest σ/α that passes")
    degrade: Literal["repeat", "once"] = Field(default="repeat", description="how far the guard lowers κ")

    def __init__(self, /, *unnamed: Any, **data: Any) -> None:
        super().__init__(*unnamed, **data)
        if self.rule != "table":
            for key in ("cuts", "kappas"):
                if getattr(self, key):
                    raise ParameterError(
                        key, f'{key} has no meaning with rule = {self.rule!r}; allowed: rule = "table"'
                    )
            return
        if len(self.kappas) != len(self.cuts) + 1:
            many = f"{len(self.kappas)} entries for {len(self.cuts)} cuts"
            raise ParameterError("kappas", f"kappas has {many}; allowed: one more than cuts")
        if any(a >= b for a, b in pairwise(self.cuts)):
            raise ParameterError("cuts", f"cuts = {shown(list(self.cuts))} do not ascend; allowed: each above the last")

    @property
    def reads_cost(self) -> bool:
        return self.rule != "table"

    def told(self, costs: tuple[Cost, ...]) -> Policy:
        own = super().told(costs)
        if self.rule != "article" or self.cost is not None:
            return own
        return self.model_copy(update={"cost": Cost(c_d=costs[0].c_d, c_v=0.5, c_r=1.0)})


@Policies.add
class Goodput(Priced):
    """The κ with the most tokens per cost, by acceptance rates per depth of the drafts that were examined.

    Parameters
    ----------
    keep : float
        What a round leaves of older counts, 0 < keep ≤ 1; 1/(1 − keep) rounds are remembered.
    interval : int
        Rounds between choices.
    prior : float
        Rate of every depth before anything was seen, counted as one draft.

    Notes
    -----
    A depth that was not examined keeps its rate: unobserved is not rejected.  What vLLM released is a table by batch
    (``batch_table``); the manager proposed beside it counts accepted over *drafted* at each depth since the start, 0
    where nothing was drafted, and takes the first of the best κ as here.  SmartSpec's one moving rate for all depths is
    ``rolling``.

    References
    ----------
    vLLM, vllm/v1/spec_decode/dynamic/manager.py as proposed in pull request 32374; Liu et al. (2024), SmartSpec, arXiv
    2406.14066.
    """

    type: Literal["goodput"] = "goodput"
    keep: float = Field(default=0.98, gt=0, le=1, description="share of older counts that a round leaves")
    interval: int = Field(default=1, ge=1, le=10**6, description="rounds between choices")
    prior: float = Field(default=0.7, gt=0, lt=1, description="rate of a depth before anything was seen")
