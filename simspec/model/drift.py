"""The acceptance rate changes along one output sequence; the generation is the statistical unit."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from simspec.model.base import Positive, Probability
from simspec.model.errors import ParameterError
from simspec.model.process import Process, Processes

TOKENS_LIMIT = 1_000_000
TABLE_LIMIT = 2**27
"""Largest table of rates by position and depth (1 GiB)."""

_NEEDS: dict[str, tuple[str, ...]] = {
    "linear": ("alpha_start", "alpha_end", "tokens"),
    "exponential": ("alpha_start", "alpha_end", "half_life", "tokens"),
    "piecewise": ("alphas", "lengths"),
    "table": ("alphas",),
}


@Processes.add
class Drift(Process):
    """A generation of N tokens whose acceptance rate α_i depends on the output position i = 0 … N − 1.

    A draft uses the α of the token it would become: in a round that starts after i emitted tokens, draft j (from 1)
    is accepted with probability α_{i+j−1}, given that the drafts before it were.

    Parameters
    ----------
    shape : {"linear", "exponential", "piecewise", "table"}
        ``"linear"``: α_i = alpha_start + (alpha_end − alpha_start)·i/(N − 1).  ``"exponential"``: α_i = alpha_end +
        (alpha_start − alpha_end)·2^(−i/half_life).  ``"piecewise"``: alphas[0] for the first lengths[0] tokens, and so
        on.  ``"table"``: α_i = alphas[i].
    alpha_start, alpha_end : float
        Rate of the first token and of the last (``"linear"``), or the limit (``"exponential"``), in [0, 1].
    tokens : int
        N, 1 to 1,000,000; with ``"table"`` and ``"piecewise"`` it follows from the lists and may be left out.
    half_life : float
        With ``"exponential"``: tokens in which the distance from the limit halves, > 0.
    alphas : list of float
        With ``"table"``: the N rates; with ``"piecewise"``: one per stretch.
    lengths : list of int
        With ``"piecewise"``: tokens per stretch, each ≥ 1.
    truncate : bool
        True: the draft of a round is cut to what is still needed, κ_i = min(κ, N − 1 − i), since the round emits one
        token by itself.  False: κ drafts to the end (rates past the end repeat the last), surplus tokens discarded.

    References
    ----------
    The article's section 5.2 (α falling from .85 to .62 along the output).

    Examples
    --------
    >>> Drift(shape="linear", alpha_start=0.85, alpha_end=0.62, tokens=1024).rates()[-1]
    0.62
    """

    type: Literal["drift"] = "drift"
    shape: Literal["linear", "exponential", "piecewise", "table"] = "linear"
    alpha_start: Probability | None = Field(default=None, description="the rate of the first token")
    alpha_end: Probability | None = Field(default=None, description="the rate of the last token")
    alphas: tuple[Probability, ...] | None = Field(default=None, description="the rates of all tokens")
    lengths: tuple[Annotated[int, Field(ge=1, le=TOKENS_LIMIT)], ...] | None = Field(
        default=None, description="tokens per stretch"
    )
    half_life: Positive | None = Field(default=None, description="tokens in which the distance from the limit halves")
    tokens: int | None = Field(default=None, ge=1, le=TOKENS_LIMIT, description="output length")
    truncate: bool = True

    @model_validator(mode="after")
    def _complete(self) -> Drift:
        wanted = _NEEDS[self.shape]
        for key in wanted:
            if getattr(self, key) is None:
                raise ParameterError(key, f'{key} is missing; shape = "{self.shape}" needs {", ".join(wanted)}')
        for key in ("alpha_start", "alpha_end", "half_life", "alphas", "lengths"):
            if key not in wanted and getattr(self, key) is not None:
                raise ParameterError(key, f'{key} has no meaning for shape = "{self.shape}"; leave it out')
        if self.lengths is not None and self.alphas is not None and len(self.lengths) != len(self.alphas):
            raise ParameterError("lengths", f"lengths has {len(self.lengths)} entries for {len(self.alphas)} alphas")
        if not 1 <= self.n_tokens <= TOKENS_LIMIT:
            raise ParameterError("alphas", f"the output has {self.n_tokens} tokens; allowed: 1 to {TOKENS_LIMIT}")
        if self.tokens is not None and self.tokens != self.n_tokens:
            raise ParameterError(
                "tokens", f"tokens = {self.tokens} differs from the {self.n_tokens} that the lists give"
            )
        return self

    @property
    def unit(self) -> str:
        return "generation"

    def check_kappa(self, kappa: int) -> None:
        if self.n_tokens * kappa > TABLE_LIMIT:
            raise ParameterError(
                "kappa",
                f"tokens × kappa = {self.n_tokens:,} × {kappa} needs a table of {self.n_tokens * kappa:,} rates; "
                f"allowed: {TABLE_LIMIT:,}",
            )

    @property
    def n_tokens(self) -> int:
        if self.lengths is not None:
            return sum(self.lengths)
        return len(self.alphas) if self.alphas is not None else int(self.tokens or 0)

    def rates(self) -> list[float]:
        """α_i for i = 0 … N − 1."""
        if self.alphas is not None:
            lengths = self.lengths or (1,) * len(self.alphas)
            return [alpha for alpha, length in zip(self.alphas, lengths, strict=True) for _ in range(length)]
        assert self.alpha_start is not None  # `_complete` saw to it
        assert self.alpha_end is not None
        n, first, last = self.n_tokens, self.alpha_start, self.alpha_end
        if self.half_life is not None:
            return [last + (first - last) * 0.5 ** (i / self.half_life) for i in range(n)]
        return [first] if n == 1 else [first + (last - first) * i / (n - 1) for i in range(n - 1)] + [last]

    def identity(self) -> dict[str, Any]:
        own = {key: value for key, value in super().identity().items() if value is not None}
        own["tokens"] = self.n_tokens
        return own

    def parameters(self) -> dict[str, Any]:
        own = self.identity()
        del own["type"]
        return own
