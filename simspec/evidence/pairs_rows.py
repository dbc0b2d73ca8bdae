"""What does one output position say about a target and a draft?  The columns of a dense trace, from two laws."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from simspec.evidence.ngram_model import drawn
from simspec.evidence.words import DOMAIN
from simspec.kernels.words import stream_keys
from simspec.model import ParameterError
from simspec.model.errors import shown
from simspec.model.identity import digest

_NAME = pa.dictionary(pa.int8(), pa.string())
SCHEMA = pa.schema(
    [
        ("request", pa.int16()),
        ("kind", _NAME),
        ("temperature", pa.float32()),
        ("position", pa.int16()),
        ("draft", _NAME),
        ("alpha", pa.float32()),
        ("match", pa.uint8()),
        ("accept", pa.uint8()),
        ("entropy", pa.float32()),
        ("bc", pa.float32()),
        ("kl", pa.float32()),
        ("tok_accept", pa.float32()),
    ]
)
"""One row per request, output position and draft.

alpha = Σ min(p, q); match: both laws have the same likeliest token; accept: one draw x ~ q, kept with chance
min(1, p(x)/q(x)), that the text knows nothing of; tok_accept = min(1, q(y)/p(y)) of the token y that the target wrote,
so bits drawn from it are coupled with the text; entropy of p in nats; bc = Σ √(p q); kl = KL(q‖p) in nats.  At
temperature 0 accept and tok_accept are match, and the other columns compare the laws of temperature 1.
"""
_LEAST = np.float32(-1e4)
"""ln p of a token that a model forbids (logit −∞), so that KL stays a number."""


@dataclass(frozen=True)
class Laws:
    """Laws of the next token in n cases, one row each.

    Attributes
    ----------
    log, chance : float32 array (n, vocabulary)
        ln p and p.
    best : int64 array (n,)
        The likeliest token.
    """

    log: np.ndarray
    chance: np.ndarray
    best: np.ndarray

    @classmethod
    def of(cls, logits: np.ndarray, temperature: float) -> Laws:
        """The softmax of logits at a temperature; at 0 the law of temperature 1, whose best token is the same.

        Raises
        ------
        ParameterError
            A logit is not a number, or infinite.
        """
        scaled = np.asarray(logits, np.float32)
        if temperature not in (0.0, 1.0):
            scaled = scaled / np.float32(temperature)
        top = scaled.max(axis=-1, keepdims=True)
        if not np.isfinite(top).all():
            raise ParameterError("weights", "a model computed logits that are no numbers; allowed: sound weights")
        log = np.maximum(scaled - top, _LEAST)
        chance = np.exp(log)
        sums = chance.sum(axis=-1, keepdims=True, dtype=np.float64)
        chance /= sums
        log -= np.log(sums)
        return cls(log, chance, log.argmax(axis=-1))

    def rows(self, chosen: np.ndarray) -> Laws:
        """Some of the cases."""
        return Laws(self.log[chosen], self.chance[chosen], self.best[chosen])

    def draw(self, uniform: np.ndarray) -> np.ndarray:
        """One token per case, by inversion of the cumulative law at ``uniform``."""
        return drawn(self.chance.astype(np.float64), uniform)

    @property
    def entropy(self) -> np.ndarray:
        """Entropy in nats."""
        return np.asarray(-np.sum(self.chance * self.log, axis=-1, dtype=np.float64))


Figures = dict[str, np.ndarray]
"""The columns from ``alpha`` on, one entry per case."""


def compare(
    target: Laws, draft: Laws, written: np.ndarray, uniform: np.ndarray, temperature: float, entropy: np.ndarray
) -> Figures:
    """The figures of a draft that has a law.

    Parameters
    ----------
    target, draft : Laws
        p and q in the same n cases.
    written : int64 array (n,)
        The token the target wrote.
    uniform : float64 array (n, 2)
        Uniform numbers that draw the draft's token and decide about it.
    temperature : float
        0 or above.
    entropy : float64 array (n,)
        ``target.entropy``, asked once for many drafts.

    Returns
    -------
    dict of arrays (n,)
        Sums are taken in float64 over float32 terms, so alpha and bc are right to some 1e-6.

    References
    ----------
    Leviathan, Kalman, Matias (2023), Eqs. (2)–(4): α = E Σ min(p, q), acceptance with chance min(1, p(x)/q(x)).
    """
    p, q = target.chance, draft.chance
    alpha = np.minimum(p, q).sum(axis=-1, dtype=np.float64)
    bc = np.sqrt(p * q).sum(axis=-1, dtype=np.float64)
    kl = (q * (draft.log - target.log)).sum(axis=-1, dtype=np.float64)
    match = target.best == draft.best
    case = np.arange(len(written))
    if temperature == 0.0:
        accept = tok_accept = match
    else:
        drawn = draft.draw(uniform[:, 0])
        accept = uniform[:, 1] < np.exp(_gap(target.log, draft.log, case, drawn))
        tok_accept = np.exp(_gap(draft.log, target.log, case, written))
    return {
        "alpha": np.minimum(alpha, 1.0), "match": match, "accept": accept, "entropy": entropy,
        "bc": np.minimum(bc, 1.0), "kl": np.maximum(kl, 0.0), "tok_accept": tok_accept,
    }  # fmt: skip


def _gap(upper: np.ndarray, lower: np.ndarray, case: np.ndarray, token: np.ndarray) -> np.ndarray:
    return np.asarray(np.minimum(upper[case, token].astype(np.float64) - lower[case, token], 0.0))


def compare_guess(
    target: Laws, guess: np.ndarray, written: np.ndarray, uniform: np.ndarray, temperature: float, entropy: np.ndarray
) -> Figures:
    """The figures of a draft that proposes one token without a law: q is the point mass on ``guess``."""
    log = target.log[np.arange(len(guess)), guess].astype(np.float64)
    alpha, match = np.exp(log), target.best == guess
    greedy = temperature == 0.0
    return {
        "alpha": np.minimum(alpha, 1.0), "match": match, "accept": match if greedy else uniform[:, 1] < alpha,
        "entropy": entropy, "bc": np.exp(np.minimum(log, 0.0) / 2), "kl": np.maximum(-log, 0.0),
        "tok_accept": match if greedy else written == guess,
    }  # fmt: skip


def draw_keys(seed: int, source: str, draw: str) -> np.ndarray:
    """Keys of the random words of one purpose.

    Number i of a request lies at index i of address ``request``.  ``draw`` says what is drawn (``"text"``, or a draft's
    name), so the text does not depend on which drafts are watched, nor a draft's bits on other drafts; temperatures
    share their numbers.

    Raises
    ------
    ParameterError
        ``seed`` is outside 0 … 2⁶⁴ − 1.
    """
    if not 0 <= seed < 2**64:
        raise ParameterError("seed", f"seed = {shown(seed)} is out of range; allowed: 0 ≤ seed < 2⁶⁴")
    return stream_keys(seed, digest({"source": source, "draw": draw}), DOMAIN)


class RequestRows:
    """The growing rows of one request.

    Parameters
    ----------
    request : int
    kind : str
    temperature : float
    """

    def __init__(self, request: int, kind: str, temperature: float) -> None:
        self.request, self.kind, self.temperature = request, kind, temperature
        self._parts: list[tuple[np.ndarray, str, Figures]] = []

    def add(self, positions: np.ndarray, draft: str, figures: Figures) -> None:
        """Rows of one draft at some positions."""
        self._parts.append((np.asarray(positions), draft, figures))

    def table(self) -> pa.Table:
        """All rows by position, drafts in the order in which they came first."""
        drafts = list(dict.fromkeys(draft for _, draft, _ in self._parts))
        number = np.concatenate([np.full(len(at), drafts.index(draft)) for at, draft, _ in self._parts])
        position = np.concatenate([at for at, _, _ in self._parts])
        order = np.lexsort((number, position))
        zero = np.zeros(len(order), np.int8)
        named = {"kind": (zero, [self.kind]), "draft": (number[order].astype(np.int8), drafts)}
        plain = {
            "request": zero.astype(np.int16) + np.int16(self.request),
            "temperature": zero.astype(np.float32) + np.float32(self.temperature),
            "position": position[order],
        }
        arrays = []
        for field in SCHEMA:
            if field.name in named:
                codes, names = named[field.name]
                arrays.append(pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(names)))
                continue
            values = plain.get(field.name)
            if values is None:
                values = np.concatenate([figures[field.name] for _, _, figures in self._parts])[order]
            arrays.append(pa.array(values.astype(field.type.to_pandas_dtype())))
        return pa.Table.from_arrays(arrays, schema=SCHEMA)


def joined(tables: list[pa.Table]) -> pa.Table:
    """The requests of a trace as one table, in their order, with one dictionary of names."""
    first = sorted(tables, key=lambda table: int(table["request"][0].as_py()))
    return (pa.concat_tables(first) if first else SCHEMA.empty_table()).unify_dictionaries().combine_chunks()
