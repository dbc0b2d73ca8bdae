"""Which equation of the article is which function, and how was it judged?  The last tables of docs/theory.md.

``python -m simspec.claims.handbook docs/theory.md results/validation`` writes both from the committed outcome.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from simspec.claims.commands import ended
from simspec.claims.validation import read_rows
from simspec.model import DatasetError
from simspec.run import store

Row = dict[str, Any]

EQUATIONS = (
    ("(1)", "2.1", "accept if r ≤ min(1, p_t/p_d)", ("sample_tokens",), ("C07", "C08")),
    ("(2)", "2.2", "α = E min(1, p_t/p_d) = 1 − D_TV/2", ("theory.overlap", "article.alpha_from_distance"),
     ("C09", "C10", "C11")),
    ("(3)", "2.2", "a bound of α by D_λ, λ ∈ [0, 1], that contains D_½; readings",
     ("article.renyi_bound", "theory.alpha_bounds_from_half", "theory.alpha_upper_chernoff"), ("C12", "C13", "C14")),
    ("(4)", "2.3", "Â_κ/κ ~ N(α, α(1 − α)/κ)", ("article.normal_share", "theory.accepted_variance"), ("C15", "C16")),
    ("(5)", "3.1", "T(κ); five readings, R1 to R4 and R6, of which R1 and R4 fit the text",
     ("article.latency_r1", "article.latency_r4", "article.latency_by_reading", "theory.mean_round_cost"), ("C17",)),
    ("(6), (7)", "3.1", "ρ(κ) = κc_t/T(κ)", ("article.rho_r1", "article.rho_r4", "article.rho_by_reading",
                                             "theory.speedup"), ("C18",)),
    ("(8)", "3.2", "∂ρ/∂κ = 0 is 1 − α = 0", ("article.rho_r1", "theory.optimum"), ("C20",)),
    ("(9)", "3.2", "ρ_∞ = 1/(α + β)", ("article.rho_infinity", "article.rho_limit", "theory.foresight_bound"),
     ("C21", "C22")),
    ("(10)", "3.2", "T(κ) = κ(c_d + c_v) + c_0 + c_r(1 − α^κ)", ("article.latency_constrained",), ("C23",)),
    ("(11)", "3.2", "c_r α^κ ln(1/α) = c_d + c_v", ("article.stationarity", "article.kappa_of_stationarity"), ("C24",)),
    ("(12)", "3.2", "κ* = ln(c_r ln(1/α)/(c_d + c_v))/ln α, as coded",
     ("article.kappa_star_as_coded", "theory.kappa_star_continuous"), ("C24", "C25", "C26", "C27", "C50")),
    ("(13)", "4.1", "ρ = ρ_∞(1 − (1 − α)/((α + β)κ) + …)", ("article.rho_expansion",), ("C29",)),
    ("(14)", "4.1", "κ_0.9 = 9(1 − α)/(α + β)", ("article.kappa_09_r1", "article.kappa_09_first_order",
                                                 "article.kappa_09_r4", "theory.kappa_for_share"), ("C30", "C32")),
    ("α_c", "4.1", "1 − β − √((1 − β)² − β²/9)", ("article.alpha_c_formula", "theory.critical_alphas"),
     ("C31", "C33", "C37")),
    ("(15)", "4.2", "relative fluctuation σ_κ; two readings",
     ("article.relative_fluctuation_a", "article.relative_fluctuation_b"), ("C34",)),
    ("Hoeffding", "4.2", "Pr[Â_κ = 0] = (1 − α)^κ", ("article.all_rejected", "article.hoeffding_bound",
                                                      "theory.tail_risks"), ("C35", "C36")),
    ("(16)", "5.1", "variance with ρ_A; three factors",
     ("article.variance_factor_nearest", "article.variance_factor_asymptotic", "article.variance_factor_exchangeable",
      "article.corrected_variance", "theory.judged_variance_factor"), ("C39", "C40", "C41", "C52")),
    ("(17)", "5.2", "α̂_i = λα̂_{i−1} + (1 − λ)A_i", ("article.ewma_step", "theory.ewma_moments",
                                                      "theory.controller_long_run"), ("C44", "C45")),
    ("branch", "6.1", "α replaced by E[α_branch]", ("article.accepted_by_mean_confidence", "theory.lookahead_step"),
     ("C46",)),
    ("ᾱ", "6.2", "geometric mean of the heads' rates",
     ("article.geometric_mean_rate", "article.accepted_by_geometric_mean", "theory.expected_accepted_heads"),
     ("C47", "C48")),
    ("guard", "7", "shorten κ if σ_κ/α > .25", ("article.guard_fires", "article.guard_settles_at"), ("C51",)),
    ("ρ_∞(K)", "8", "bound of K drafts", ("theory.acceptance_by_draws", "theory.transport_optimum"), ("C55",)),
)  # fmt: skip
"""Number as the article refers to it, section, what it says, functions (the article's first), claims."""

SHORT = {"not-testable": "not testable"}
COMMAND = "python -m simspec.claims.handbook"
MARK = "<!-- {name}: written by python -m simspec.claims.handbook -->\n"
END = "<!-- end of {name} -->"


def equations_table(rows: Sequence[Row]) -> str:
    """Equation, code and verdict.

    Parameters
    ----------
    rows : sequence of dict
        As in `simspec.claims.validation.Validation.rows`.
    """
    lines = ["| equation | section | says | code | claims: verdicts by reading |", "|---|---|---|---|---|"]
    for number, section, says, code, claims in EQUATIONS:
        functions = ", ".join(f"`{name}`" for name in code)
        judged = "; ".join(f"{claim}: {verdicts(rows, claim)}" for claim in claims)
        lines.append(f"| {number} | {section} | {says} | {functions} | {judged} |")
    return "\n".join(lines) + "\n"


def claims_table(rows: Sequence[Row]) -> str:
    """Every claim: where the article makes it, how its readings were judged, what is true instead."""
    lines = ["| claim | section | verdicts by reading | on data | what is true instead (first reading) |"]
    lines += ["|---|---|---|---|---|"]
    for claim in dict.fromkeys(row["id"] for row in rows):
        own = [row for row in rows if row["id"] == claim]
        data = Counter(row["evidence_verdict"] for row in own if row["evidence_verdict"] != "none")
        cells = (claim, own[0]["section"], verdicts(rows, claim), _counted(data) or "–", own[0]["instead"])
        lines.append("| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def verdicts(rows: Sequence[Row], claim: str) -> str:
    """How many readings of a claim have which verdict.

    Examples
    --------
    >>> verdicts([{"id": "C1", "verdict": "refuted"}, {"id": "C1", "verdict": "not-testable"}], "C1")
    '1 refuted, 1 not testable'
    """
    return _counted(Counter(row["verdict"] for row in rows if row["id"] == claim))


def _counted(tally: Counter[str]) -> str:
    return ", ".join(f"{count} {SHORT.get(word, word)}" for word, count in tally.items())


def with_tables(text: str, rows: Sequence[Row]) -> str:
    """The document with both tables as the rows have them.

    Raises
    ------
    DatasetError
        The document has no place for a table.
    """
    for name, table in (("equations", equations_table(rows)), ("claims", claims_table(rows))):
        start, end = MARK.format(name=name), END.format(name=name)
        place = re.compile(re.escape(start) + ".*?" + re.escape(end), re.DOTALL)
        if not place.search(text):
            raise DatasetError(f"the document has no lines {start.strip()} … {end}")
        text = place.sub(lambda _, block=start + "\n" + table + "\n" + end: block, text)  # type: ignore[misc]
    return text


def main(arguments: Sequence[str] | None = None) -> int:
    """Rewrite the tables of a document."""
    own = argparse.ArgumentParser(
        prog=COMMAND, description="Write the tables of docs/theory.md from a committed outcome."
    )
    own.add_argument("document", type=Path, help="docs/theory.md")
    own.add_argument("reference", type=Path, help="results/validation")
    args = own.parse_args(arguments)
    return ended(COMMAND, lambda: _rewrite(args.document, args.reference))


def _rewrite(document: Path, reference: Path) -> int:
    text = with_tables(document.read_text(encoding="utf-8"), read_rows(reference))
    with store.whole(document) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
