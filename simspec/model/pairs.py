"""Which target and draft law is a token drawn from?  A pair for one context: given, or drawn at random from a seed.

A pair only holds its parameters; `simspec.run.pairs.laws_of` makes the probabilities.  Laws of several contexts are a
`TokenChain`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from simspec.model.base import Model, Probability
from simspec.model.errors import ParameterError, did_you_mean, shown
from simspec.text import plural

VOCABULARY_LIMIT = 150_000
"""Largest vocabulary of a pair; those of today's models have 32,000 to 152,000 tokens."""

Vocabulary = Annotated[int, Field(ge=2, le=VOCABULARY_LIMIT, description="number of tokens, 2 to 150,000")]
Temperature = Annotated[float, Field(ge=0.0, le=100.0)]
PairSeed = Annotated[int, Field(ge=0, lt=2**64, description="which of the random pairs, 0 ≤ seed < 2⁶⁴")]


class TokenPair(Model):
    """Laws of the target (p) and of the draft (q) over one vocabulary, in one context."""

    type: str

    @property
    def unit(self) -> str:
        """Windows are independent."""
        return "window"

    def __str__(self) -> str:
        keys = self.model_dump(mode="json", exclude={"type"})
        return f"{self.type}({', '.join(f'{key} = {_short(value)}' for key, value in keys.items())})"


PAIRS: dict[str, type[TokenPair]] = {}
"""The registry: ``type`` word → class."""


def _add(kind: type[TokenPair]) -> type[TokenPair]:
    PAIRS[kind.model_fields["type"].default] = kind
    return kind


def make_pair(**keys: Any) -> TokenPair:
    """Build a pair from its keys; without ``type`` the laws are given.

    Raises
    ------
    ParameterError
        A key is unknown or outside its range.

    Examples
    --------
    >>> str(make_pair(target=[0.5, 0.5], draft=[0.9, 0.1]))
    'given(2 tokens)'
    >>> str(make_pair(type="zipf", vocabulary=32_000))
    'zipf(vocabulary = 32,000, exponent = 1, sigma = 1, seed = 1)'
    """
    kind = keys.get("type", "given")
    if not isinstance(kind, str) or kind not in PAIRS:
        near = did_you_mean(kind, PAIRS) if isinstance(kind, str) else f"; known: {', '.join(PAIRS)}"
        raise ParameterError("type", f"type = {shown(kind)} is no kind of pair{near}")
    made = PAIRS[kind](**keys)
    return made


def _short(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}" if isinstance(value, float) else str(value)


@_add
class GivenPair(TokenPair):
    """Two laws, typed in.

    Parameters
    ----------
    target, draft : list of float
        Probabilities by token, of equal length, each adding up to 1 (to 1e-6); 1 to 150,000 tokens.

    Raises
    ------
    ParameterError
        A law does not add up to 1, or their lengths differ.

    References
    ----------
    Leviathan, Kalman, Matias (2023), section 2.3: p and q.

    Examples
    --------
    >>> GivenPair(target=[0.5, 0.3, 0.2], draft=[0.2, 0.3, 0.5]).vocabulary
    3
    """

    type: Literal["given"] = "given"
    target: tuple[Probability, ...] = Field(description="the target's probabilities by token")
    draft: tuple[Probability, ...] = Field(description="the draft's probabilities by token")

    @model_validator(mode="after")
    def _fits(self) -> GivenPair:
        for key, law in (("target", self.target), ("draft", self.draft)):
            if not 1 <= len(law) <= VOCABULARY_LIMIT:
                raise ParameterError(key, f"{key} has {len(law)} entries; allowed: 1 to {VOCABULARY_LIMIT:,}")
            if abs(sum(law) - 1.0) > 1e-6:
                raise ParameterError(key, f"{key} adds up to {sum(law):.9g}; allowed: a sum of 1")
        if len(self.draft) != len(self.target):
            raise ParameterError("draft", f"draft has {len(self.draft)} tokens, target {len(self.target)}")
        return self

    @property
    def vocabulary(self) -> int:
        return len(self.target)

    def __str__(self) -> str:
        return f"given({plural(self.vocabulary, 'token')})"


@_add
class DirichletPair(TokenPair):
    """Target and draft drawn independently from one symmetric Dirichlet law.

    Parameters
    ----------
    vocabulary : int
        Number of tokens, 2 to 150,000.
    concentration : float
        Below 1 few tokens hold most of the mass, above 1 all are alike; 0.001 to 10⁶, default 1: uniform.
    seed : int
        Which of the random pairs.

    Examples
    --------
    >>> str(DirichletPair(vocabulary=50, concentration=0.5))
    'dirichlet(vocabulary = 50, concentration = 0.5, seed = 1)'
    """

    type: Literal["dirichlet"] = "dirichlet"
    vocabulary: Vocabulary
    concentration: Annotated[float, Field(ge=1e-3, le=1e6)] = 1.0
    seed: PairSeed = 1


@_add
class ZipfPair(TokenPair):
    """Target p ∝ rank^−exponent; the draft errs by a factor exp(sigma·normal) in every token.

    Parameters
    ----------
    vocabulary : int
        Number of tokens, 2 to 150,000.
    exponent : float
        Of the target's power law, 0 ≤ exponent ≤ 10, default 1.
    sigma : float
        Spread of the draft's errors in ln q, 0 ≤ sigma ≤ 20, default 1; 0 makes the draft perfect.
    seed : int
        Which of the random pairs.

    Examples
    --------
    >>> ZipfPair(vocabulary=32_000, sigma=0.5).vocabulary
    32000
    """

    type: Literal["zipf"] = "zipf"
    vocabulary: Vocabulary
    exponent: Annotated[float, Field(ge=0.0, le=10.0)] = 1.0
    sigma: Annotated[float, Field(ge=0.0, le=20.0)] = 1.0
    seed: PairSeed = 1


@_add
class LogitPair(TokenPair):
    """Gaussian logits, correlated between target and draft, through a softmax at a temperature each.

    Parameters
    ----------
    vocabulary : int
        Number of tokens, 2 to 150,000.
    scale : float
        Standard deviation of the logits, 0 ≤ scale ≤ 50, default 3.
    correlation : float
        Between the logits of a token in target and draft, −1 ≤ correlation ≤ 1, default 0.9.
    temperature, draft_temperature : float
        0 to 100, default 1; 0 puts all mass on the largest logit (greedy decoding).
    seed : int
        Which of the random pairs.

    Examples
    --------
    >>> LogitPair(vocabulary=1000, temperature=0.0).draft_temperature
    1.0
    """

    type: Literal["logits"] = "logits"
    vocabulary: Vocabulary
    scale: Annotated[float, Field(ge=0.0, le=50.0)] = 3.0
    correlation: Annotated[float, Field(ge=-1.0, le=1.0)] = 0.9
    temperature: Temperature = 1.0
    draft_temperature: Temperature = 1.0
    seed: PairSeed = 1
