"""Acceptance rates that differ between windows, or between requests: two mixtures and the finite request."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from simspec.model.base import Probability
from simspec.model.errors import ParameterError
from simspec.model.process import Process, Processes

REQUEST_LIMIT = 1_000_000


class _Mixture(Process):
    """What both mixtures share: for how long a drawn rate holds.

    ``request_tokens`` absent: a new rate for each window.  Present: a new rate for each request, which ends after
    exactly that many tokens (``request_law = "fixed"``) or after each emitted token with probability 1/request_tokens
    (``"geometric"``).  ``truncate`` cuts the draft of a fixed request to what is still needed, κ_i = min(κ, N − 1 − i);
    otherwise, and always for geometric ones, whose end nobody knows, surplus tokens are discarded.
    """

    request_tokens: Annotated[int, Field(ge=1, le=REQUEST_LIMIT)] | None = Field(default=None, description="N")
    request_law: Literal["fixed", "geometric"] = "fixed"
    truncate: bool = True

    @property
    def by_request(self) -> bool:
        """Whether a rate holds for a whole request."""
        return self.request_tokens is not None

    @property
    def geometric(self) -> bool:
        """Whether requests end at random."""
        return self.by_request and self.request_law == "geometric"

    @property
    def unit(self) -> str:
        return "generation" if self.by_request else "window"

    def identity(self) -> dict[str, Any]:
        own = {key: value for key, value in super().identity().items() if value is not None}
        without = {"request_law", "truncate"} if not self.by_request else {"truncate"} if self.geometric else set()
        return {key: value for key, value in own.items() if key not in without}

    def parameters(self) -> dict[str, Any]:
        own = self.identity()
        del own["type"]
        return own


@Processes.add
class DiscreteMixture(_Mixture):
    """A rate drawn from a list, held for a window or for a request.

    Parameters
    ----------
    alphas : list of float
        The rates, each in [0, 1].
    weights : list of float
        Their weights, ≥ 0 with sum 1 (to 1e-6; normalised).
    weights_of : {"windows", "requests", "tokens", "rounds"}
        What the weights are shares of.  ``"windows"`` (default) goes without ``request_tokens``, the others with it.
        ``"rounds"``: shares of rounds at the κ in question, so that requests with low rates, which need more rounds,
        are rarer than their weight.
    request_tokens, request_law, truncate
        See the module: how long a request is.

    References
    ----------
    vLLM pull request 48892 shows the fingerprint of such a mix: conditional rates that rise with position.

    Examples
    --------
    >>> DiscreteMixture(alphas=[0.95, 0.45], weights=[0.5, 0.5]).unit
    'window'
    """

    type: Literal["discrete_mixture"] = "discrete_mixture"
    alphas: tuple[Probability, ...] = Field(description="the list of rates")
    weights: tuple[Annotated[float, Field(ge=0.0, allow_inf_nan=False)], ...] = Field(description="their weights")
    weights_of: Literal["windows", "requests", "tokens", "rounds"] = "windows"

    @model_validator(mode="after")
    def _fits(self) -> DiscreteMixture:
        if not 1 <= len(self.alphas) <= 1000:
            raise ParameterError("alphas", f"alphas has {len(self.alphas)} values; allowed: 1 to 1000")
        if len(self.weights) != len(self.alphas):
            raise ParameterError(
                "weights", f"weights has {len(self.weights)} values for {len(self.alphas)} alphas; allowed: one each"
            )
        if abs(sum(self.weights) - 1.0) > 1e-6:
            raise ParameterError("weights", f"weights add up to {sum(self.weights):.9g}; allowed: a sum of 1")
        if self.by_request == (self.weights_of == "windows"):
            wanted = '"requests", "tokens" or "rounds"' if self.by_request else '"windows", or request_tokens as well'
            raise ParameterError("weights_of", f'weights_of = "{self.weights_of}" does not fit; allowed here: {wanted}')
        return self

    def shares(self) -> list[float]:
        """The weights with sum exactly 1."""
        total = sum(self.weights)
        return [weight / total for weight in self.weights]


@Processes.add
class BetaMixture(_Mixture):
    """A rate drawn from a Beta law, held for a window or for a request.

    Parameters
    ----------
    alpha, rho : float
        Mean rate in [0, 1] and correlation of two outcomes under the same rate, 0 ≤ rho ≤ 1.
    a, b : float
        The Beta parameters themselves, > 0, instead of alpha and rho: alpha = a/(a + b), rho = 1/(a + b + 1).
    request_tokens, request_law, truncate
        See the module: how long a request is.

    Notes
    -----
    Outcomes are exchangeable: after i acceptances in a row the next has probability
    (alpha(1 − rho) + i·rho)/(1 − rho + i·rho).

    Examples
    --------
    >>> BetaMixture(a=7.0, b=3.0).mean_and_rho()
    (0.7, 0.09090909090909091)
    """

    type: Literal["beta_mixture"] = "beta_mixture"
    alpha: Probability | None = Field(default=None, description="the mean rate")
    rho: Probability | None = Field(default=None, description="the correlation of two outcomes under one rate")
    a: float | None = Field(default=None, ge=1e-9, le=1e9, description="first Beta parameter")
    b: float | None = Field(default=None, ge=1e-9, le=1e9, description="second Beta parameter")

    @model_validator(mode="after")
    def _one_way(self) -> BetaMixture:
        given = {key for key in ("alpha", "rho", "a", "b") if getattr(self, key) is not None}
        if given not in ({"alpha", "rho"}, {"a", "b"}):
            said = ", ".join(sorted(given)) or "nothing"
            raise ParameterError("alpha", f"{said} given; allowed: either alpha and rho, or a and b")
        return self

    def mean_and_rho(self) -> tuple[float, float]:
        """(alpha, rho), from whichever pair was given."""
        if self.alpha is not None and self.rho is not None:
            return self.alpha, self.rho
        assert self.a is not None  # `_one_way` saw to it
        assert self.b is not None
        return self.a / (self.a + self.b), 1.0 / (self.a + self.b + 1.0)
