"""The model drafts with some of its own layers: Draft & Verify, LayerSkip, Kangaroo."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from simspec.model.base import Probability
from simspec.model.cost import Cost
from simspec.model.errors import ParameterError
from simspec.model.rounds import DraftLaw, RoundTable
from simspec.model.schemes.chain import chain_rounds
from simspec.model.schemes.scheme import Scheme, Schemes
from simspec.model.schemes.stop import Stop


@Schemes.add
class SelfDraft(Scheme):
    """A chain of at most κ drafts, each by a share of the target's own layers; the process says how they fare.

    A draft step costs ``layers + adapter`` plain target steps: it stands instead of ``c_d`` and ``draft_table`` of a
    cost.  With ``reuse`` the drafted tokens are not computed again in the layers that drafted them: the pass over those
    layers is 1 wide, for the last token, and only the pass over the others is as wide as the draft.  A narrow pass
    reads the same weights, so reuse saves arithmetic (``layers`` of c_v, or of what a ``verify_table`` rises), no pass.

    Parameters
    ----------
    layers : float
        Share of the layers that a draft step runs, 0 to 1.
    reuse : bool
        Whether verification goes on from the draft's own layers, the first ones (LayerSkip, Kangaroo), or runs all
        layers again, as it must where layers in between are skipped (Draft & Verify).
    adapter : float
        What a draft step costs besides, in plain target steps: an adapter and its head (Kangaroo).
    theta : float
        Confidence below which the draft ends (Kangaroo); without it every draft has κ tokens.
    rule, kmin, confidences
        As in the scheme ``stop``; they take ``theta``.

    References
    ----------
    Zhang et al. (2024), Draft & Verify; Elhoushi et al. (2024), LayerSkip, section 4.3; Liu et al. (2024), Kangaroo.

    Examples
    --------
    >>> print(SelfDraft(layers=0.25).priced(Cost(c_v=0.04)))
    c0 = 1, c_d = 0.25, c_v = 0.03, c_r = 0, off = 1
    >>> SelfDraft(layers=0.25, reuse=False).priced(Cost(verify_table=[1.0, 1.4])).verify_table
    (1.0, 1.4)
    """

    type: Literal["self_draft"] = "self_draft"
    layers: Probability = Field(description="share of the layers that a draft step runs")
    reuse: bool = Field(default=True, description="whether verification goes on from the draft's own layers")
    adapter: Annotated[float, Field(ge=0, le=1000)] = Field(
        default=0.0, description="what a draft step costs besides, in plain target steps"
    )
    theta: Probability | None = Field(default=None, description="confidence below which the draft ends")
    rule: Literal["survival", "confidence"] = "confidence"
    kmin: Annotated[int, Field(ge=1, le=1000)] = 1
    confidences: tuple[Probability, ...] | None = Field(default=None, description="believed rates by hidden state")

    @model_validator(mode="after")
    def _a_rule_has_a_threshold(self) -> SelfDraft:
        fields = type(self).model_fields
        given = [key for key in ("rule", "kmin", "confidences") if getattr(self, key) != fields[key].default]
        if self.theta is None and given:
            key = given[0]
            raise ParameterError(key, f"{key} without theta ends no draft; allowed: beside theta, the threshold")
        return self

    @property
    def chained(self) -> bool:
        return self.theta is None

    @property
    def pays(self) -> str:
        told = f"a draft step costs {self.layers + self.adapter:g} plain steps, in place of c_d"
        return f"{told}; a verified token {1.0 - self.layers:g} of c_v" if self.reuse else told

    @property
    def stop(self) -> Stop | None:
        """The rule that ends a draft, if there is one."""
        if self.theta is None:
            return None
        return Stop(theta=self.theta, rule=self.rule, kmin=self.kmin, confidences=self.confidences)

    def priced(self, cost: Cost) -> Cost:
        own = cost.changed(c_d=self.layers + self.adapter, draft_table=None)
        if not self.reuse:
            return own
        if cost.verify_table is None:
            return own.changed(c_v=cost.c_v * (1.0 - self.layers))
        narrow = self.layers * cost.verify_table[0]
        return own.changed(verify_table=tuple(narrow + (1.0 - self.layers) * wide for wide in cost.verify_table))

    def identity(self) -> dict[str, Any]:
        unused = () if self.theta is not None else ("rule", "kmin", "confidences")
        return {key: value for key, value in super().identity().items() if key not in unused}

    def rounds(self, draft: DraftLaw, kappa: int) -> RoundTable:
        return chain_rounds(draft, kappa) if self.stop is None else self.stop.rounds(draft, kappa)
