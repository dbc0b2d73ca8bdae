"""How long are rounds on real tokens, and is the text they emit the target's?  By chains of contexts, rule by rule.

Where every node has drafts of its own, one matrix per depth says which token is kept behind which context; sequences
that agree with the path so far are part of the state, and their next tokens are all listed; typical acceptance follows
the depth of subtrees, which are independent; block verification lists paths by the share it owes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from simspec.model.chains import TokenChain, normalised
from simspec.model.errors import ParameterError
from simspec.model.process import Process
from simspec.model.schemes.tokens import Tokens
from simspec.theory.lanes import long_run_law
from simspec.theory.law import FloatArray, moments
from simspec.theory.scheme_means import SchemeLaw
from simspec.theory.token_paths import Rounds, blocks, chained, joined, plain, typical
from simspec.theory.token_positions import Asked, fresh, in_sequences

MERGED_LIMIT = 1_000_000
"""Paths of one merged tree."""
MERGED_CELLS = 8_000_000
"""Paths × sequences."""


@dataclass(frozen=True, eq=False)
class TokenWalk:
    """Long-run law of rounds on real tokens, and of the text they emit.

    Attributes
    ----------
    nodes : int
        Drafted tokens of a round.
    pmf_accepted : array, shape (kappa + 1,)
        P(A = j).
    mean_accepted, var_accepted : float
        Of A; A + 1 tokens are emitted.
    start_law : array, shape (V,)
        Law of the context in which a round starts, the token that ended the one before.
    pairs : array, shape (V, V)
        Share of all pairs of successive tokens in the emitted text that are (x, y).
    target_pairs : array, shape (V, V)
        The same of a text of the target.
    """

    nodes: int
    pmf_accepted: FloatArray
    mean_accepted: float
    var_accepted: float
    start_law: FloatArray
    pairs: FloatArray
    target_pairs: FloatArray

    @property
    def p_rejected(self) -> float:
        """P(A < kappa)."""
        return float(self.pmf_accepted[:-1].sum())

    @property
    def emitted_law(self) -> FloatArray:
        """Share of every token in the emitted text."""
        return np.asarray(self.pairs.sum(axis=0))

    @property
    def tv_pairs(self) -> float:
        """Total variation between pairs of tokens here and in a text of the target; 0 if nothing is lost."""
        return 0.5 * float(np.abs(self.pairs - self.target_pairs).sum())

    @property
    def tv_tokens(self) -> float:
        """The same of single tokens, never larger."""
        return 0.5 * float(np.abs((self.pairs - self.target_pairs).sum(axis=0)).sum())


def token_walk(scheme: Tokens, process: TokenChain, kappa: int) -> TokenWalk:
    """Accepted length and emitted text of drafts of real tokens.

    Parameters
    ----------
    scheme : Tokens
        Rule and shape.
    process : TokenChain
        Laws of target and draft by context, the last emitted token.
    kappa : int
        Levels of drafts, ≥ 0.

    Returns
    -------
    TokenWalk

    Raises
    ------
    ParameterError
        There are too many drafts or tokens to list, or rounds have no long-run law.

    References
    ----------
    Those of the rules, at `simspec.model.schemes.Tokens`.

    Examples
    --------
    >>> pair = TokenChain(target=[[0.7, 0.3], [0.4, 0.6]], draft=[[0.5, 0.5], [0.5, 0.5]])
    >>> law = token_walk(Tokens(widths=[2, 1]), pair, 2)
    >>> round(law.mean_accepted, 6), law.tv_pairs < 1e-12
    (1.695948, True)
    """
    target = np.array(normalised(process.target))
    models = [np.array(normalised(rows)) for rows in (process.draft, *(scheme.others or ()))]
    _check(scheme, len(target), kappa)
    asked = Asked(scheme, kappa, target, models)
    if kappa == 0:
        found = plain(target)
    elif scheme.drafting == "window":
        found = joined([_rounds(replace(asked, root=root)) for root in range(len(target))])
    else:
        found = _rounds(asked)
    law = long_run_law(found.last)
    if law is None:
        raise ParameterError("kappa", f"kappa = {kappa} never mixes the contexts in which rounds start")
    pmf = law @ found.pmf
    pmf /= pmf.sum()
    mean, variance = moments(pmf)
    pairs = np.tensordot(law, found.pairs, axes=1)
    text = long_run_law(target)
    assert text is not None  # the process has one closed class
    levels = np.cumprod([1, *(scheme.widths or ())])[1 : kappa + 1].sum()
    nodes = int(levels) if scheme.widths is not None else kappa * (scheme.sequences or 1)
    return TokenWalk(nodes, pmf, mean, variance, law, pairs / pairs.sum(), text[:, None] * target)


def _check(scheme: Tokens, tokens: int, kappa: int) -> None:
    """Raise unless there is a level for every draft, and a law for every context."""
    levels = kappa if scheme.widths is None else len(scheme.widths)
    if kappa > levels:
        raise ParameterError(
            "kappa", f"kappa = {kappa} is beyond the {levels} levels of widths; allowed: 0 to {levels}"
        )
    for i, rows in enumerate(scheme.others or ()):
        if len(rows) != tokens:
            told = f"others[{i}] has {len(rows)} contexts, the target {tokens}"
            raise ParameterError(f"others[{i}]", f"{told}; allowed: as many")


def _rounds(asked: Asked) -> Rounds:
    if asked.scheme.rule == "block":
        return blocks(asked)
    if asked.scheme.rule == "typical":
        return typical(asked)
    positions = fresh if asked.scheme.sequences is None else in_sequences
    return chained(asked.target, *positions(asked))


def merged_nodes(scheme: Tokens, process: TokenChain, kappa: int) -> float:
    """Mean number of different nodes where several sequences are merged; the scheme counts κ per sequence.

    Parameters
    ----------
    scheme : Tokens
        With ``sequences``.
    process : TokenChain
        Laws of target and draft.
    kappa : int
        Levels, ≥ 0.

    Returns
    -------
    float
        Σ over paths of 1 − Π_k(1 − P(sequence k follows the path)), averaged over the contexts in which rounds start.

    Raises
    ------
    ParameterError
        The scheme has no sequences, or there are too many paths.

    References
    ----------
    Miao et al. (2024), SpecInfer, section 3 (merging of token trees).

    Examples
    --------
    >>> pair = TokenChain(target=[[0.7, 0.3], [0.4, 0.6]], draft=[[0.5, 0.5], [0.5, 0.5]])
    >>> merged_nodes(Tokens(sequences=2), pair, 2)
    3.25
    """
    if scheme.sequences is None:
        raise ParameterError("sequences", "sequences is missing; allowed: schemes with whole sequences")
    tokens = len(process.target)
    if tokens ** (kappa + 1) > MERGED_LIMIT:
        told = f"kappa = {kappa} over {tokens} tokens makes more than {MERGED_LIMIT:,} paths"
        raise ParameterError("kappa", f"{told}; allowed: a smaller kappa or vocabulary")
    if scheme.sequences * tokens ** (kappa + 1) > MERGED_CELLS:
        told = f"sequences = {scheme.sequences} of {tokens ** (kappa + 1):,} paths each are too many"
        raise ParameterError("sequences", f"{told}; allowed: {MERGED_CELLS // tokens ** (kappa + 1)}")
    matrices = [np.array(normalised(rows)) for rows in (process.draft, *(scheme.others or ()))]
    models = [matrices[min(i, len(matrices) - 1)] for i in range(scheme.sequences)]
    start = token_walk(scheme, process, kappa).start_law
    reached = np.ones((len(models), tokens, 1))  # by sequence, first context, path; the last token is path mod V
    last, total = np.arange(tokens)[:, None], 0.0
    for depth in range(kappa):
        unseen = scheme.drafting == "window"
        laws = [np.linalg.matrix_power(rows, depth + 1)[:, None] if unseen else rows[last] for rows in models]
        reached = np.stack([own[:, :, None] * law for own, law in zip(reached, laws, strict=True)])
        reached = reached.reshape(len(models), tokens, -1)
        last = np.tile(np.arange(tokens), (tokens, reached.shape[2] // tokens))
        total += float(start @ (1.0 - np.prod(1.0 - reached, axis=0)).sum(axis=1))
    return total


def token_means(scheme: Tokens, process: Process, kappa: int) -> SchemeLaw:
    """Long-run means of rounds, for `simspec.theory.scheme_law`.

    Examples
    --------
    >>> pair = TokenChain(target=[[0.7, 0.3], [0.4, 0.6]], draft=[[0.5, 0.5], [0.5, 0.5]])
    >>> token_means(Tokens(sequences=2), pair, 3).mean_drafted
    6
    """
    if not isinstance(process, TokenChain):
        raise ParameterError("process", 'the process has no tokens; allowed: type = "token_chain"')
    law = token_walk(scheme, process, kappa)
    steps = {"depth": kappa, "window": min(kappa, 1), "node": law.nodes}[scheme.drafting]
    return SchemeLaw(
        law.mean_accepted + 1.0,
        law.mean_accepted,
        law.nodes,
        law.p_rejected,
        lambda cost: cost.drafting(steps) + cost.target_pass(law.nodes) + cost.c_r * law.p_rejected,
        loss=None if scheme.lossless else law.tv_pairs,
    )
