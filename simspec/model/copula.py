"""Outcomes from a Gaussian process that is cut at a threshold: long memory without a two-state chain."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from simspec.model.base import Probability
from simspec.model.errors import ParameterError
from simspec.model.process import Process, Processes

Correlation = Annotated[float, Field(ge=-1.0, le=1.0)]


@Processes.add
class GaussianCopulaAr1(Process):
    """Draft j is accepted when a stationary Gaussian AR(1) lies below Φ⁻¹(α); every window starts afresh.

    Parameters
    ----------
    alpha : float
        Marginal rate, 0 ≤ alpha ≤ 1.
    phi : float
        Correlation of neighbouring latent values, −1 ≤ phi ≤ 1; or
    rho : float
        correlation of neighbouring outcomes, from which phi follows:
        Φ₂(z, z; phi) − α² = ρα(1 − α) with z = Φ⁻¹(α).

    Examples
    --------
    >>> GaussianCopulaAr1(alpha=0.7, rho=0.3).rho
    0.3
    """

    type: Literal["gaussian_copula_ar1"] = "gaussian_copula_ar1"
    alpha: Probability = Field(description="the marginal rate")
    phi: Correlation | None = Field(default=None, description="correlation of neighbouring latent values")
    rho: Correlation | None = Field(default=None, description="correlation of neighbouring outcomes")

    @model_validator(mode="after")
    def _one_way(self) -> GaussianCopulaAr1:
        if (self.phi is None) == (self.rho is None):
            raise ParameterError("phi", "give either phi (latent) or rho (of outcomes), not both and not neither")
        if self.rho is not None and self.rho < self.lowest_rho() - 1e-12:
            raise ParameterError(
                "rho",
                f"rho = {self.rho:g} is impossible at alpha = {self.alpha:g}; "
                f"allowed: {self.lowest_rho():.6g} ≤ rho ≤ 1",
            )
        return self

    def lowest_rho(self) -> float:
        """ρ at phi = −1: (max(0, 2α − 1) − α²)/(α(1 − α))."""
        spread = self.alpha * (1.0 - self.alpha)
        return (max(0.0, 2.0 * self.alpha - 1.0) - self.alpha**2) / spread if spread > 0.0 else 0.0

    def identity(self) -> dict[str, Any]:
        return {key: value for key, value in super().identity().items() if value is not None}

    def parameters(self) -> dict[str, Any]:
        own = self.identity()
        del own["type"]
        return own
