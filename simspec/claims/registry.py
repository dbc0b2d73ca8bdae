"""Which claims are judged?  All rows, section by section; a new module of claims is one line here."""

from __future__ import annotations

from simspec.claims import (
    control,
    correlation,
    dependence,
    divergences,
    fluctuation,
    grid,
    groundwork,
    guides,
    guides_in_loop,
    latency,
    literature,
    open_questions,
    optimum,
    regret,
    summary,
    systems,
    threshold,
    tokens,
)
from simspec.claims.claim import Claim

SECTIONS = (
    summary,
    groundwork,
    tokens,
    divergences,
    latency,
    grid,
    optimum,
    threshold,
    fluctuation,
    correlation,
    dependence,
    control,
    regret,
    guides,
    guides_in_loop,
    systems,
    open_questions,
    literature,
)


def all_claims() -> list[Claim]:
    """Every row, in the order of the article; a reading appears once."""
    rows = sorted((claim for section in SECTIONS for claim in section.claims()), key=lambda claim: claim.id)
    seen = set()
    for claim in rows:
        if (claim.id, claim.reading) in seen:
            raise ValueError(f"{claim.id} has the reading {claim.reading!r} twice")
        seen.add((claim.id, claim.reading))
    return rows
