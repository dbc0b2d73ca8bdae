"""κ as an arm of a bandit: confidence bounds, exponential weights, posterior draws."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from simspec.model.errors import ParameterError
from simspec.model.policies.policy import Policies, Priced


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

    References
    ----------
    Auer, Cesa-Bianchi, Fischer (2002); Garivier, Moulines (2011) for the discount; Hou et al. (2025), BanditSpec, arXiv
    2505.15141, whose arms are the lengths 1 to 4.
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

    References
    ----------
    Auer et al. (2002), EXP3; EXP3Spec in Hou et al. (2025).
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
        What a round leaves of older verdicts.
    accepted, rejected : float
        Verdicts known beforehand.

    Notes
    -----
    The rate is normal with mean and variance of its Beta law.  Drafts are taken for independent; where they are not,
    the bandits that compare κ with κ are safer.

    References
    ----------
    Thompson (1933); Agrawal, Goyal (2012).
    """

    type: Literal["thompson"] = "thompson"
    keep: float = Field(default=1.0, gt=0, le=1, description="share of older verdicts that a round leaves")
    accepted: float = Field(default=1.0, gt=0, le=1e9, description="accepted drafts known beforehand")
    rejected: float = Field(default=1.0, gt=0, le=1e9, description="rejected drafts known beforehand")
