"""What are the probabilities of a pair of token laws?  Given ones as they are, random ones from addressed words.

This stands in `run` because a pair takes words from `kernels` and probabilities to `theory` and `kernels` alike.  The
same seed gives the same pair with any number of threads; the normal and gamma quantiles are scipy's, so that another
scipy or machine may differ in the last digits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simspec.kernels.addressed import words_at
from simspec.kernels.words import stream_keys
from simspec.model import TokenChain
from simspec.model.chains import normalised
from simspec.model.identity import digest
from simspec.model.pairs import DirichletPair, GivenPair, LogitPair, TokenPair, ZipfPair

Floats = NDArray[np.float64]
Laws = tuple[Floats, Floats]
"""Target and draft, rows = contexts, (contexts, V) each; every row adds up to 1."""

Asked = TokenPair | TokenChain
"""What can be sampled token by token."""


def laws_of(pair: Asked) -> Laws:
    """Target and draft probabilities, a row per context.

    Examples
    --------
    >>> target, draft = laws_of(ZipfPair(vocabulary=4, exponent=1.0, sigma=0.0))
    >>> (target * 25).round(6).tolist(), bool((target == draft).all())
    ([[12.0, 6.0, 4.0, 3.0]], True)
    """
    if isinstance(pair, TokenChain):
        return np.array(normalised(pair.target)), np.array(normalised(pair.draft))
    target, draft = _MAKERS[type(pair)](pair)
    return scaled(target)[None, :], scaled(draft)[None, :]


def scaled(weights: Floats) -> Floats:
    """Weights divided by their sum along the last axis."""
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def uniforms(keys: NDArray[np.uint64], address: int, many: int) -> Floats:
    """Uniform numbers inside (0, 1) from the words of an address, 53 bits each.

    Examples
    --------
    >>> from simspec.kernels.words_twin import aside_word
    >>> keys = stream_keys(1, "example", domain="pairs")
    >>> float(uniforms(keys, 7, 3)[2]) == ((aside_word(keys, 7, 2) >> 11) + 0.5) / 2**53
    True
    """
    words = words_at(keys, np.array([address]), np.arange(many))
    return np.asarray(((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53)


def normals(keys: NDArray[np.uint64], address: int, many: int) -> Floats:
    """Standard normal numbers of an address, by inversion."""
    from scipy.special import ndtri

    return np.asarray(ndtri(uniforms(keys, address, many)))


def dirichlet(concentration: float, first: Floats, second: Floats) -> Floats:
    """Symmetric Dirichlet weights along the last axis from two arrays of uniform numbers, the largest scaled to 1.

    A Gamma(c) number is a Gamma(c + 1) number times U^(1/c): in logarithms nothing underflows, however small c.

    Examples
    --------
    >>> dirichlet(1e-3, np.array([0.5, 0.5]), np.array([0.5, 0.1])).tolist()
    [1.0, 0.0]
    """
    from scipy.special import gammaincinv

    logs = np.log(gammaincinv(concentration + 1.0, first)) + np.log(second) / concentration
    return np.asarray(np.exp(logs - logs.max(axis=-1, keepdims=True)))


def softmax(logits: Floats, temperature: float) -> Floats:
    """Weights exp(logits/temperature), the largest scaled to 1; at temperature 0 only the first largest logit has any.

    Examples
    --------
    >>> softmax(np.array([1.0, 3.0]), 0.0).tolist(), softmax(np.array([1.0, 1.0]), 2.0).tolist()
    ([0.0, 1.0], [1.0, 1.0])
    """
    if temperature == 0.0:
        out = np.zeros(logits.shape)
        np.put_along_axis(out, logits.argmax(axis=-1)[..., None], 1.0, axis=-1)
        return out
    with np.errstate(over="ignore"):
        return np.asarray(np.exp((logits - logits.max(axis=-1, keepdims=True)) / temperature))


def _keys(pair: Any) -> NDArray[np.uint64]:
    """The stream knows what is drawn, not the temperatures: those of one seed share their logits."""
    drawn = {"type": pair.type, "vocabulary": pair.vocabulary}
    return stream_keys(pair.seed, digest(drawn), domain="pairs")


def _given(pair: Any) -> Laws:
    return np.array(pair.target), np.array(pair.draft)


def _dirichlet(pair: Any) -> Laws:
    words = [uniforms(_keys(pair), address, pair.vocabulary) for address in range(4)]
    return dirichlet(pair.concentration, *words[:2]), dirichlet(pair.concentration, *words[2:])


def _zipf(pair: Any) -> Laws:
    target = np.arange(1.0, pair.vocabulary + 1.0) ** -pair.exponent
    errors = np.log(target) + pair.sigma * normals(_keys(pair), 0, pair.vocabulary)
    return target, softmax(errors, 1.0) if pair.sigma > 0.0 else target


def _logits(pair: Any) -> Laws:
    own, other = (normals(_keys(pair), address, pair.vocabulary) for address in (0, 1))
    near = pair.correlation * own + np.sqrt(1.0 - pair.correlation**2) * other
    target, draft = softmax(pair.scale * own, pair.temperature), softmax(pair.scale * near, pair.draft_temperature)
    return target, draft


_MAKERS: dict[type[TokenPair], Callable[[Any], Laws]] = {
    GivenPair: _given,
    DirichletPair: _dirichlet,
    ZipfPair: _zipf,
    LogitPair: _logits,
}
