"""κ as an arm of a bandit: confidence bounds, exponential weights, posterior draws."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from simspec.model.errors import ParameterError
from simspec.model.policies.policy import Bounded, Costed, Policies, Priced


@Policies.add
class Ucb(Priced):
    """The κ with the highest upper confidence bound of tokens − Ŝ·cost per round, Ŝ = all tokens over all costs.

    Parameters
    ----------
    width : float
        The bound is the mean plus width·√(ln t/n), in tokens.  At 1 some lanes keep a wrong κ for 10⁵ rounds.
    keep : float
        What a round leaves of older rounds: 1 for UCB1, below 1 for discounted UCB.
    window : int, optional
        Only the last so many rounds count: sliding-window UCB.

    Notes
    -----
    A κ of which no round counts any more is tried next, the shortest first.  A draft that was cut at the end of a
    request says nothing of its κ; it ages the others.

    References
    ----------
    Auer, Cesa-Bianchi, Fischer (2002); Garivier, Moulines (2011) for the discount.  ``ucb_spec`` is the UCB published
    for speculative decoding.
    """

    type: Literal["ucb"] = "ucb"
    highest: int = Field(default=8, ge=0, le=64, description="largest κ")
    width: float = Field(default=2.0, ge=0, le=1e6, description="of the confidence bound, in tokens")
    keep: float = Field(default=1.0, gt=0, le=1, description="share of older rounds that a round leaves")
    window: int | None = Field(default=None, ge=1, le=4096, description="rounds that count")

    def __init__(self, /, *unnamed: Any, **data: Any) -> None:
        super().__init__(*unnamed, **data)
        if self.window is not None and self.keep != 1.0:
            raise ParameterError("window", f"window = {self.window} beside keep = {self.keep:g}; allowed: one of them")


@Policies.add
class Exp3(Priced):
    """A κ drawn by the exponential of what it was worth, each round counted over the chance that it had.

    Parameters
    ----------
    rate : float
        Learning rate per round.
    even : float
        Share of rounds in which κ is drawn evenly.

    Notes
    -----
    A round is worth (tokens − Ŝ·cost)/(``highest`` + 1), Ŝ = all tokens over all costs up to and with it.

    References
    ----------
    Auer et al. (2002), EXP3.  ``exp3_spec`` is the EXP3 published for speculative decoding.
    """

    type: Literal["exp3"] = "exp3"
    highest: int = Field(default=8, ge=0, le=64, description="largest κ")
    rate: float = Field(default=0.05, gt=0, le=100, description="learning rate")
    even: float = Field(default=0.05, gt=0, le=1, description="share of rounds drawn evenly")


@Policies.add
class Thompson(Priced):
    """The best κ for a rate drawn from what is known of it.

    Parameters
    ----------
    keep : float
        What a round leaves of older verdicts; what is known beforehand is not forgotten.
    accepted, rejected : float
        Verdicts known beforehand, at least a tenth of one each.

    Notes
    -----
    The rate is a Beta(accepted, rejected) number.  Drafts are taken for independent; where they are not, the bandits
    that compare κ with κ are safer.

    References
    ----------
    Thompson (1933); Agrawal, Goyal (2012), Algorithm 1; Raj, Kalyani (2017) for counts that fade beside a prior that
    does not.
    """

    type: Literal["thompson"] = "thompson"
    keep: float = Field(default=1.0, gt=0, le=1, description="share of older verdicts that a round leaves")
    accepted: float = Field(default=1.0, ge=0.1, le=1e9, description="accepted drafts known beforehand")
    rejected: float = Field(default=1.0, ge=0.1, le=1e9, description="rejected drafts known beforehand")


@Policies.add
class UcbSpec(Costed):
    """UCBSpec: the κ with the highest mean reward plus a radius; every κ is tried once first, the shortest at once.

    Parameters
    ----------
    lowest, highest : int
        The arms are the draft lengths between them.
    confidence : float
        δ of the radius, 0 < confidence ≤ 1.
    reward : str
        ``"tokens"``: tokens of the round, as the algorithm is written and its regret is proved.  ``"throughput"``:
        tokens over the cost of the round, as its authors' experiment with draft lengths has it.
    cost : Cost, optional
        Prices of a throughput; those of the run if left out.
    keeps : bool
        Whether what was learned outlives a request.

    Notes
    -----
    The paper minimises *rounds* (stopping-time regret); a draft costs nothing there.  Tokens of a round grow with κ, so
    with draft lengths as arms it settles at ``highest``, whatever that costs.  A mean of throughputs weighs a short
    round like a long one and is no S; S is a ratio of means.

    The radius is r·√((1 + n)/n²·(1 + 2 ln(K t²√(1 + n)/δ))) with r = L/2, half the range of the reward; for throughput
    the paper names no radius, and r is half the range of that.  δ = ½ ends the proof.  The authors' code has another
    one for draft lengths: its √(6 ln t/Σn) is the same for every arm, so that it never explores after its seven
    opening rounds.

    References
    ----------
    Hou et al. (2025), BanditSpec, arXiv 2505.15141: Algorithms 4 and 8, equations (5)–(7); section 6.2 for throughput;
    appendix D.2 for δ.  Code: github.com/sail-sg/BanditSpec, generate_utils.py, ``ucb_length_spec_generate``.

    Examples
    --------
    >>> UcbSpec().reads_cost, UcbSpec(reward="throughput").reads_cost
    (False, True)
    """

    type: Literal["ucb_spec"] = "ucb_spec"
    lowest: int = Field(default=1, ge=0, le=64, description="least κ, and the first one")
    highest: int = Field(default=4, ge=1, le=64, description="largest κ")
    confidence: float = Field(default=0.5, gt=0, le=1, description="δ of the radius")
    reward: Literal["tokens", "throughput"] = Field(default="tokens", description="what a round is worth")
    keeps: bool = Field(default=False, description="whether what was learned outlives a request")

    def __init__(self, /, *unnamed: Any, **data: Any) -> None:
        super().__init__(*unnamed, **data)
        if self.lowest > self.highest:
            told = f"lowest = {self.lowest} is above highest = {self.highest}"
            raise ParameterError("lowest", f"{told}; allowed: lowest ≤ highest")
        if self.cost is not None and not self.reads_cost:
            raise ParameterError("cost", 'cost has no meaning with reward = "tokens"; allowed: reward = "throughput"')

    @property
    def reads_cost(self) -> bool:
        return self.reward == "throughput"

    @property
    def begins(self) -> int:
        return self.lowest

    @property
    def longest(self) -> int:
        return self.highest


@Policies.add
class Exp3Spec(Bounded):
    """EXP3Spec: κ is drawn by the exponential of −η_t times what it lost, each loss over the chance that it had.

    Notes
    -----
    A round of κ loses (L + 1 − tokens)/L, L = ``highest``; η_t = √(ln K/(tK)), K arms.  As for ``ucb_spec``, rounds are
    what it minimises and drafts are free, so long drafts lose least.

    The paper draws the first κ evenly; here it is ``first``, for sure.  A round whose draft was cut at the end of a
    request is not counted.

    References
    ----------
    Hou et al. (2025), BanditSpec, arXiv 2505.15141: Algorithms 5 and 9, equations (13), (14).
    """

    type: Literal["exp3_spec"] = "exp3_spec"
    highest: int = Field(default=4, ge=1, le=64, description="largest κ")
