"""Which systems judge real tokens?  Every rule and shape on laws usual, alike, apart, or with gaps."""

from __future__ import annotations

from typing import Any

from simspec.claims.agreement.case import Case, System
from simspec.claims.agreement.chains import DRAFTED
from simspec.claims.agreement.trees import MEDUSA, SPECINFER
from simspec.claims.lossless import PAIR as PEAKED
from simspec.model import TokenChain
from simspec.model.schemes import Tokens

SEVERAL = "several drafts"
COLD = "temperature 0"

TARGET = ((0.55, 0.3, 0.15), (0.1, 0.65, 0.25), (0.3, 0.35, 0.35))
DRAFT = ((0.25, 0.3, 0.45), (0.3, 0.4, 0.3), (0.5, 0.2, 0.3))
OTHER = ((0.4, 0.45, 0.15), (0.2, 0.5, 0.3), (0.1, 0.2, 0.7))
GAPS = ((0.7, 0.0, 0.3), (0.0, 0.5, 0.5), (0.0, 1.0, 0.0))
SURE = ((0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (1.0, 0.0, 0.0))
USUAL = TokenChain(target=TARGET, draft=DRAFT)
OFTEN = TokenChain(
    target=((0.2, 0.5, 0.3), (0.6, 0.3, 0.1), (0.25, 0.25, 0.5)),
    draft=((0.4, 0.35, 0.25), (0.5, 0.2, 0.3), (0.2, 0.45, 0.35)),
)
WIDER = TokenChain(
    target=((0.4, 0.3, 0.2, 0.1), (0.05, 0.7, 0.05, 0.2), (0.25, 0.25, 0.25, 0.25), (0.6, 0.1, 0.1, 0.2)),
    draft=((0.3, 0.2, 0.3, 0.2), (0.2, 0.5, 0.2, 0.1), (0.4, 0.3, 0.2, 0.1), (0.3, 0.3, 0.2, 0.2)),
)
FLATTER = TokenChain(
    target=((0.04, 0.5, 0.4, 0.06), (0.7, 0.15, 0.1, 0.05), (0.08, 0.02, 0.86, 0.04), (0.3, 0.07, 0.55, 0.08)),
    draft=((0.2, 0.4, 0.2, 0.2), (0.5, 0.2, 0.2, 0.1), (0.25, 0.25, 0.4, 0.1), (0.2, 0.3, 0.3, 0.2)),
)
RING = TokenChain(
    target=((0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0), (0.0, 0.0, 0.0, 1.0), (1.0, 0.0, 0.0, 0.0)),
    draft=((0.1, 0.5, 0.2, 0.2), (0.4, 0.3, 0.2, 0.1), (0.1, 0.1, 0.2, 0.6), (0.2, 0.4, 0.3, 0.1)),
)
"""Greedy target and drafts: nothing is drawn, and from every token rounds lead to all others."""
PAIRS = (
    (USUAL, ""),
    (OFTEN, ""),
    (WIDER, ""),
    (TokenChain(target=TARGET, draft=TARGET), "α = 1"),
    (
        TokenChain(
            target=((0.0, 0.5, 0.5), (1.0, 0.0, 0.0), (1.0, 0.0, 0.0)),
            draft=((1.0, 0.0, 0.0), (0.0, 0.4, 0.6), (0.0, 1.0, 0.0)),
        ),
        "α = 0",
    ),
    (TokenChain(target=TARGET, draft=GAPS), "gaps in the draft"),
    (TokenChain(target=GAPS, draft=DRAFT), "gaps in the target"),
    (TokenChain(target=SURE, draft=DRAFT), COLD),
    (TokenChain(target=((1.0,),), draft=((1.0,),)), "one token"),
)


def _goes(scheme: Tokens, pair: TokenChain) -> bool:
    """Whether the pair has as many different drafts as the scheme asks for, and its other models the same tokens."""
    widest, size = max(scheme.widths or (1,)), len(pair.target)
    if any(len(rows) != size for rows in scheme.others or ()):
        return False
    if scheme.drafts == "likeliest":
        return widest <= size
    return not scheme.rule.endswith("wor") or widest <= min(sum(own > 0 for own in row) for row in pair.draft)


def _on_pairs(scheme: Tokens) -> tuple[Case, ...]:
    """Three levels on every pair that goes, and one level and none on the first."""
    own = [Case(pair, 3, scheme, edge) for pair, edge in PAIRS if _goes(scheme, pair)]
    return (*own, Case(USUAL, 1, scheme, "κ = 1"), Case(USUAL, 0, scheme, "κ = 0"))


def _system(line: str, name: str, *schemes: Tokens, by: str = "matrices of contexts") -> System:
    return System(line, name, by, tuple(case for scheme in schemes for case in _on_pairs(scheme)))


def chains() -> tuple[System, ...]:
    """Chains judged by each rule."""
    return (
        _system(DRAFTED, "rejection", Tokens()),
        _system(DRAFTED, "rejection, argmax draft", Tokens(drafts="likeliest")),
        _system(DRAFTED, "greedy match", Tokens(rule="naive")),
        _system(DRAFTED, "greedy match, argmax draft", Tokens(rule="naive", drafts="likeliest")),
        _system(DRAFTED, "lenience 1, .5, .1", *(Tokens(rule="lenient", lenience=own) for own in (1.0, 0.5, 0.1))),
        _system(DRAFTED, "block verification", Tokens(rule="block"), by="listing of paths by the share they owe"),
    )


def _typical(name: str, *schemes: Tokens) -> System:
    """On the usual pairs nearly all drafts are typical; on two others some are not."""
    tight = ((FLATTER, 3, ""), (PEAKED, 3, ""), (PEAKED, 2, ""), (PEAKED, 1, "κ = 1"))
    cases = [*(case for own in schemes for case in _on_pairs(own))]
    cases += [Case(pair, kappa, own, edge) for own in schemes for pair, kappa, edge in tight]
    return System(MEDUSA, name, "depths of subtrees, by context", tuple(cases))


def medusa() -> tuple[System, ...]:
    """Heads side by side on real tokens, by the three ways to accept."""
    heads: dict[str, Any] = {"widths": (2, 2, 1), "drafting": "window"}
    released: dict[str, Any] = {"rule": "typical", "epsilon": 0.3, "delta": 0.09}
    likeliest = Tokens(**heads, drafts="likeliest"), Tokens(**heads, drafts="likeliest", rule="naive")
    greedy = [case for own in likeliest for case in (*_on_pairs(own), Case(RING, 3, own, COLD))]
    mixing = tuple(case for case in greedy if case.edge != COLD or case.process is RING)
    return (
        _system(MEDUSA, "Medusa, rejection", Tokens(**heads)),
        System(MEDUSA, "Medusa, greedy", "matrices of contexts", mixing),
        _typical(
            "Medusa, typical, paper",
            Tokens(**heads, rule="typical", epsilon=0.09),
            Tokens(rule="typical", epsilon=0.09),
        ),
        _typical(
            "Medusa, typical, helper defaults",
            Tokens(**heads, **released),
            Tokens(widths=(2, 1, 2), **released, ends="greedy"),
        ),
    )


def specinfer() -> tuple[System, ...]:
    """Token trees, and sequences that are merged."""
    tree: dict[str, Any] = {"widths": (2, 2, 1)}
    several: dict[str, Any] = {"sequences": 2, "others": (OTHER,)}
    merged = "listing of the next tokens of sequences"
    return (
        _system(SPECINFER, "multi-step rejection", Tokens(**tree), Tokens(widths=(3, 1, 1))),
        _system(SPECINFER, "naive", Tokens(**tree, rule="naive"), Tokens(widths=(3, 1, 1), rule="naive")),
        _system(
            SPECINFER, "merged trees, one model", Tokens(sequences=3), Tokens(sequences=2, rule="naive"), by=merged
        ),
        _system(SPECINFER, "merged trees, two models", Tokens(**several), Tokens(**several, rule="naive"), by=merged),
    )


def several_drafts() -> tuple[System, ...]:
    """Several drafts a position, from one model or from several."""
    tree: dict[str, Any] = {"widths": (2, 1, 2)}
    two: dict[str, Any] = {"widths": (2, 2, 2), "others": (OTHER,)}
    cut = "smallest cut over sets of tokens"
    rows = (
        ("naive", [Tokens(rule="naive", **tree)], "matrices of contexts"),
        ("rejection, with replacement", [Tokens(**tree)], "matrices of contexts"),
        ("rejection, without replacement", [Tokens(rule="rrs_wor", **tree)], "matrices of contexts"),
        ("K-SEQ, best ρ", [Tokens(rule="kseq", widths=(3, 1, 2)), Tokens(rule="kseq", sequences=3)], "root for ρ"),
        ("optimal transport", [Tokens(rule="otm", **tree)], cut),
        ("optimal transport, distinct drafts", [Tokens(rule="otm_wor", **tree)], cut),
        ("top-k", [Tokens(**tree, drafts="likeliest")], "matrices of contexts"),
        ("two models, naive", [Tokens(rule="naive", **two)], "matrices of contexts"),
        ("two models, rejection", [Tokens(**two)], "matrices of contexts"),
        ("two models, optimal transport", [Tokens(rule="otm", **two)], cut),
    )
    return tuple(_system(SEVERAL, name, *schemes, by=by) for name, schemes, by in rows)


def systems() -> tuple[System, ...]:
    """All of them."""
    return (*chains(), *medusa(), *specinfer(), *several_drafts())
