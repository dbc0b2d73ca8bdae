"""What must stand below a table of systems: what each lossy one loses, and what exact laws say of it besides?"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from simspec.model import ParameterError, Process, Scheme, TokenChain
from simspec.model.loss import LOSSLESS, NOT_KNOWN
from simspec.model.schemes import BigLittle, Tokens
from simspec.text import number
from simspec.theory.token_walks import merged_nodes
from simspec.theory.two_model_texts import big_little_text

NOT_STORED = "not stored"


def lost(row: Mapping[str, Any], lossless: bool) -> str:
    """The cell of a table: what a token loses, with its interval and the exact value, as far as the row knows them.

    Examples
    --------
    >>> lost({"loses": "share of bad tokens", "loss_exact": 0.25, "loss_per_token": math.nan}, False)
    '0.2500 (exact)'
    >>> counted = {"loss_per_token": 0.26, "loss_per_token_low": 0.24, "loss_per_token_high": 0.28}
    >>> lost({"loses": "share of bad tokens", "loss_exact": 0.25, **counted}, False), lost({}, True)
    ('0.2600 [0.2400, 0.2800], exact 0.2500', 'lossless')
    """
    if lossless:
        return LOSSLESS
    if not row.get("loses"):  # by a version that did not store it
        return NOT_STORED
    counted, exact = _figure(row["loss_per_token"]), _figure(row["loss_exact"])
    if math.isnan(counted) or row.get("method") == "exact":
        return NOT_KNOWN if math.isnan(exact) else f"{number(exact)} (exact)"
    ends = ", ".join(number(row[f"loss_per_token_{end}"]) for end in ("low", "high"))
    return f"{number(counted)} [{ends}]" + ("" if math.isnan(exact) else f", exact {number(exact)}")


def _figure(value: float | None) -> float:
    """A figure of a row; NaN for a null, as some readers give it."""
    return math.nan if value is None else float(value)


def why_lossy(row: Mapping[str, Any]) -> str:
    """What the number in that cell means.

    Examples
    --------
    >>> why_lossy({"loses": "share of bad tokens", "loss_per_token": 0.25})
    "the output is not the target's; lost: share of bad tokens"
    """
    words = row.get("loses")
    if not words:
        return f"the output is not the target's; what it loses is {NOT_STORED} in a run of this age: run it again"
    if words == NOT_KNOWN:
        return "the output is not the target's; what it loses is not known from acceptance rates alone"
    uncounted = math.isnan(_figure(row["loss_per_token"]))
    only = ", by the exact route alone, since rounds do not count it" if uncounted else ""
    return f"the output is not the target's; lost: {words}{only}"


def exact_notes(scheme: Scheme, process: Process, kappa: int) -> list[str]:
    """What exact laws say of a scheme at one κ beside its means; nothing of most."""
    if type(scheme) not in NOTES or not isinstance(process, TokenChain):
        return []
    what, told = NOTES[type(scheme)]
    try:
        return told(scheme, process, kappa)
    except ParameterError as error:
        return [f"{what} is not known: {error}"]


def _merged(scheme: Tokens, process: TokenChain, kappa: int) -> list[str]:
    if scheme.sequences is None or kappa == 0:
        return []
    nodes, differ = scheme.nodes(kappa), merged_nodes(scheme, process, kappa)
    return [
        f"merged into one tree, {number(differ, 2)} of its {nodes} drafted tokens differ (exact); c_v is paid for all "
        f"{nodes}"
    ]


def _drawn(scheme: BigLittle, process: TokenChain, kappa: int) -> list[str]:
    if not scheme.sampled:
        return []
    own = scheme.models(process.target, process.draft)
    text = big_little_text(process.target, process.draft, kappa, own.fallback, own.rollback, sampled=True)
    return [
        f"where the large model draws alone {number(text.own_disagreement)} of its tokens are not its likeliest; the "
        f"emitted token is {number(text.tv)} from its law in total variation (exact)"
    ]


NOTES: dict[type[Scheme], tuple[str, Callable[..., list[str]]]] = {
    Tokens: ("how many drafted tokens differ once merged", _merged),
    BigLittle: ("what the large model alone would write", _drawn),
}
"""Scheme → what its notes are about, and the notes."""
