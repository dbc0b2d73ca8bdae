"""Which claims are judged?  All rows, section by section; a new module of claims is one line here."""

from __future__ import annotations

from simspec.claims import correlation, grid, optimum, threshold
from simspec.claims.claim import Claim

SECTIONS = (grid, optimum, threshold, correlation)


def all_claims() -> list[Claim]:
    """Every row, in the order of the article; a reading appears once."""
    rows = sorted((claim for section in SECTIONS for claim in section.claims()), key=lambda claim: claim.id)
    seen = set()
    for claim in rows:
        if (claim.id, claim.reading) in seen:
            raise ValueError(f"{claim.id} has the reading {claim.reading!r} twice")
        seen.add((claim.id, claim.reading))
    return rows
