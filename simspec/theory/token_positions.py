"""Which token is kept behind which context, and which is drawn instead?  By rule, at every depth of a tree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from simspec.model.errors import ParameterError
from simspec.model.schemes.tokens import Tokens
from simspec.theory.law import FloatArray
from simspec.theory.lenience import lenient_acceptance
from simspec.theory.multidraft import k_seq, naive_matching, recursive_rejection, recursive_rejection_distinct
from simspec.theory.token_tuples import Contexts, agreeing
from simspec.theory.transport import SET_TOKENS_LIMIT, drawn_sets


@dataclass(frozen=True, eq=False)
class Asked:
    """A scheme as arrays.

    Attributes
    ----------
    root : int, optional
        The context in which rounds start, where that is all the drafts know.
    """

    scheme: Tokens
    kappa: int
    target: FloatArray
    models: list[FloatArray]
    root: int | None = None

    def law(self, model: int, context: int, depth: int) -> FloatArray:
        """Law of the draft of a model, at depth + 1."""
        rows = self.models[model]
        if self.root is None:
            return np.asarray(rows[context])
        return np.asarray(np.linalg.matrix_power(rows, depth + 1)[self.root])

    def children(self, context: int, depth: int) -> list[FloatArray]:
        """Laws of the drafts of a node, whose children stand at depth + 1."""
        many = 1 if self.scheme.widths is None else self.scheme.widths[depth]
        if self.scheme.drafts == "likeliest":
            order = np.argsort(-self.law(0, context, depth), kind="stable")[:many]
            return [np.eye(len(self.target))[token] for token in order]
        return [self.law(min(i, len(self.models) - 1), context, depth) for i in range(many)]


def fresh(asked: Asked) -> tuple[list[FloatArray], list[FloatArray], Contexts]:
    """By depth: mass kept (context → next context) and drawn instead; and the context of a state."""
    kept, lost, known = list[FloatArray](), list[FloatArray](), dict[Any, tuple[FloatArray, FloatArray]]()
    for depth in range(asked.kappa):
        same = (len(asked.children(0, depth)), depth if asked.root is not None else 0)
        if same not in known:
            rows = [_judged(asked, p, asked.children(context, depth)) for context, p in enumerate(asked.target)]
            known[same] = np.array([own for own, _ in rows]), np.array([other for _, other in rows])
        kept.append(known[same][0])
        lost.append(known[same][1])
    return kept, lost, np.arange(len(asked.target))


def in_sequences(asked: Asked) -> tuple[list[FloatArray], list[FloatArray], Contexts]:
    """The same where a state is a context and the sequences that agree with the path."""
    many, scheme, tokens = asked.scheme.sequences or 1, asked.scheme, len(asked.target)
    found = []
    for depth in range(asked.kappa if asked.root is not None else 1):
        models = [
            np.array([asked.law(i if scheme.others else 0, context, depth) for context in range(tokens)])
            for i in range(many)
        ]
        found.append(agreeing(asked.target, models, scheme.rule, scheme.lenience or 1.0))
    times = asked.kappa // len(found)
    return [own for own, _, _ in found] * times, [lost for _, lost, _ in found] * times, found[0][2]


def _judged(asked: Asked, p: FloatArray, laws: list[FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Mass of a kept draft, and of a token drawn instead."""
    rule = asked.scheme.rule
    there = int(np.count_nonzero(laws[0]))
    if rule in ("rrs_wor", "otm_wor") and there < len(laws):
        told = f"widths asks for {len(laws)} different drafts of a law of {there}"
        raise ParameterError("widths", f"{told}; allowed: at most {there}")
    if rule in ("otm", "otm_wor"):
        kept = first_tokens_first(p, _drafted(laws, rule == "otm_wor"))
        return kept, p - kept
    if rule == "lenient":
        return _lenient(p, laws, asked.scheme.lenience or 1.0)
    rules: dict[str, Callable[[], Any]] = {
        "rrs": lambda: recursive_rejection(p, laws),
        "naive": lambda: naive_matching(p, laws),
        "rrs_wor": lambda: recursive_rejection_distinct(p, laws[0], len(laws)),
        "kseq": lambda: k_seq(p, laws[0], len(laws)),
    }
    found = rules[rule]()
    return found.kept, np.maximum(found.output_law - found.kept, 0.0)


def _lenient(p: FloatArray, laws: list[FloatArray], lenience: float) -> tuple[FloatArray, FloatArray]:
    """Draft by draft: what is left of the target after one is the target of the next."""
    kept, reached, owed = np.zeros_like(p), 1.0, p
    for law in laws:
        one = lenient_acceptance(owed, law, lenience)
        own = np.minimum(law, owed / lenience)
        kept += reached * own
        if one.acceptance >= 1.0 - 1e-15:
            return kept, np.zeros_like(p)
        reached, owed = reached * (1.0 - one.acceptance), (one.output_law - own) / (1.0 - one.acceptance)
        owed = np.maximum(owed, 0.0)
        owed /= owed.sum()
    return kept, reached * owed


def first_tokens_first(p: FloatArray, drafted: FloatArray) -> FloatArray:
    """How often each token is kept by the optimal transport that keeps token 0 as often as it can, then token 1, …

    Parameters
    ----------
    p : array, shape (V,)
        The target, at most 20 tokens.
    drafted : array, shape (2^V,)
        P(some draft is in the set), the set being the binary digits of the index.

    Returns
    -------
    array, shape (V,)

    Notes
    -----
    A law of kept tokens is possible iff no set of them is kept more often than drafted (Hall's condition for flows): a
    polymatroid, in which being greedy is best.  Together with p the first i tokens can be kept with
    min over J of P(some draft in J) + p(the others of them).

    Examples
    --------
    >>> first_tokens_first(np.array([0.5, 0.5]), np.array([0.0, 0.2, 0.8, 1.0]))
    array([0.2, 0.5])
    """
    if p.size > SET_TOKENS_LIMIT:
        raise ParameterError("process", f"target has {p.size} tokens; allowed: {SET_TOKENS_LIMIT} for this rule")
    best, before = np.zeros(p.size), 0.0
    mass = np.zeros(1)
    for token, own in enumerate(p):
        mass = np.concatenate((mass, mass + own))
        most = float((drafted[: mass.size] + mass[::-1]).min())
        best[token], before = most - before, most
    return np.maximum(best, 0.0)


def _drafted(laws: list[FloatArray], unlike: bool) -> FloatArray:
    """P(some draft is in the set), by set."""
    tokens = laws[0].size
    if tokens > SET_TOKENS_LIMIT:
        raise ParameterError("process", f"target has {tokens} tokens; allowed: {SET_TOKENS_LIMIT} for this rule")
    outside = np.zeros(1 << tokens)
    if unlike:
        members = np.arange(1 << tokens)
        for drawn, chance in drawn_sets(laws[0], len(laws)).items():
            outside[(members & sum(1 << token for token in drawn)) == 0] += chance
        return 1.0 - outside
    outside += 1.0
    for law in laws:
        inside = np.zeros(1)
        for own in law:
            inside = np.concatenate((inside, inside + own))
        outside *= np.maximum(1.0 - inside, 0.0)
    return 1.0 - outside
