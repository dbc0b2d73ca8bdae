"""How do the experiments on the open questions read?  Markdown tables, every figure computed from the stored tables."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

COMMAND = "python -m simspec.claims.experiments"
HEADING = "# The open questions, tried"
TAGS = (".05", ".10", ".20")
"""β in the names of columns."""
_EDGES = (-1.0, -0.1, -0.02, 0.02, 0.1, 0.3, 1.0)


def readme(tables: Mapping[str, pd.DataFrame], seed: int) -> str:
    """The README of ``results/open_questions``."""
    scan, checked = tables["correlation"], tables["correlation_checked"]
    parts = [
        HEADING,
        f"Section 8 of the article asks three questions. `{COMMAND} --seed {seed}` tries them and writes this page and "
        "the Parquet files beside it; exact values unless called simulated. Cost unit: one plain target step; "
        "β = c_d, verification of further tokens free unless said.",
        "## Can ρ_A be derived from the draft and target models?",
        _range_text(scan),
        _range_table(scan),
        _predictors(scan),
        _shift_text(scan),
        _shift_table(scan),
        _check_text(checked),
        _check_table(checked),
        "## Is there a closed-form adaptive κ*_i when α drifts?",
        _drift_text(tables["drift"]),
        _drift_table(tables["drift"]),
        _controller_text(tables["drift"]),
        "## What is the bound with K drafts?",
        _draws_text(tables["many_drafts"]),
        _draws_table(tables["many_drafts"]),
    ]
    return "\n\n".join(parts) + "\n"


def markdown(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table; the first column to the left, the others to the right.

    Examples
    --------
    >>> print(markdown(["K", "best"], [[1, "0.7"]]))
    | K | best |
    |---|--:|
    | 1 | 0.7 |
    """
    lines = ["| " + " | ".join(head) + " |", "|---|" + "--:|" * (len(head) - 1)]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows])


def _range_text(scan: pd.DataFrame) -> str:
    rho = scan["rho_1"]
    inside = ((rho >= -0.1) & (rho <= 0.3)).mean()
    return (
        "Not from a Jacobian: p_t is no function of p_d. From the two models' next-token laws themselves, yes. With "
        "B = min(P, Q), a = B1 and π the target's long-run law, verdicts k positions apart along the emitted text have "
        "P(both accepted) = π B P^(k−1) a (`simspec.theory.acceptance_correlation`). "
        f"On {len(scan):,} random pairs ρ_A(1) runs from {rho.min():.3f} to {rho.max():.3f}; {inside:.1%} lie in the "
        "article's [−.1, .3]. `free`: unrelated rows; `sticky`: the last token is repeated with .7; `topics`: two "
        "halves "
        "of the vocabulary, kept with .95 per token, the draft four times closer in one of them."
    )


def _range_table(scan: pd.DataFrame) -> str:
    rows: list[list[object]] = []
    for kind, own in scan.groupby("kind", sort=False):
        quantiles = np.quantile(own["rho_1"], (0.0, 0.05, 0.5, 0.95, 1.0))
        far = np.median(np.abs(own["rho_5"]))
        rows.append([kind, len(own), f"{own['alpha'].mean():.3f}", *(f"{q:.3f}" for q in quantiles), f"{far:.4f}"])
    head = ["pairs", "number", "mean α", "ρ_A(1) least", "5%", "median", "95%", "largest", "median abs ρ_A(5)"]
    return markdown(head, rows)


def _predictors(scan: pd.DataFrame) -> str:
    rho = scan["rho_1"].to_numpy()
    worst = float((np.abs(rho) / scan["bound"]).max())

    def fit(x: np.ndarray, y: np.ndarray = rho) -> float:
        return float(np.corrcoef(x, y)[0, 1] ** 2)

    share, second = scan["rate_share"].to_numpy(), scan["second_eigenvalue"].to_numpy()
    same = float(((rho > 0) == (scan["rho_1_uncoupled"] > 0)).mean())
    return (
        "What predicts it: the spread of the rates over contexts. |ρ_A| never exceeds √(Var a/(α(1−α))) (the largest "
        f"share of it reached is {worst:.2f}). Share of the variance of ρ_A(1) over pairs that a straight line "
        "explains: "
        f"autocovariance of the rates {fit(scan['rho_1_uncoupled'].to_numpy()):.2f}, Var a/(α(1−α)) {fit(share):.2f}, "
        f"that times the second eigenvalue {fit(share * second):.2f}, the second eigenvalue alone {fit(second):.2f}. "
        f"Drawing verdicts from the rates alone gives the right sign in {same:.0%}: the accepted token itself also "
        "tells "
        "which context follows."
    )


def _shift_text(scan: pd.DataFrame) -> str:
    parts = []
    for tag in TAGS:
        shift = scan[f"kappa_star_{tag}"] - scan[f"kappa_of_alpha_{tag}"]
        by_rho = scan[f"kappa_star_{tag}"] == scan[f"kappa_of_rho_{tag}"]
        parts.append(
            f"β = {tag}: κ* of independent drafts of the same α is right in {(shift == 0).mean():.0%} (shift "
            f"{shift.min():+d} "
            f"to {shift.max():+d}, costing {scan[f'loss_of_alpha_{tag}'].mean():.3%} on average, at most "
            f"{scan[f'loss_of_alpha_{tag}'].max():.2%}); with (α, ρ_A) in a two-state chain it is right in "
            f"{by_rho.mean():.0%} "
            f"({scan[f'loss_of_rho_{tag}'].mean():.3%}, at most {scan[f'loss_of_rho_{tag}'].max():.2%})"
        )
    return "Does one number predict κ*? " + "; ".join(parts) + ". Shift of κ* against ρ_A(1), β = .10:"


def _shift_table(scan: pd.DataFrame) -> str:
    shift = scan["kappa_star_.10"] - scan["kappa_of_alpha_.10"]
    columns = sorted(shift.unique())
    rows = []
    for low, high in itertools.pairwise(_EDGES):
        own = shift[(scan["rho_1"] > low) & (scan["rho_1"] <= high)]
        rows.append([f"{low:g} < ρ_A ≤ {high:g}", len(own), *(int((own == value).sum()) for value in columns)])
    return markdown(["pairs", "number", *(f"{value:+d}" for value in columns)], rows)


def _check_text(checked: pd.DataFrame) -> str:
    return (
        f"Verdicts simulated along the text (262,144 rounds at κ = 64, error over 128 lanes): largest |z| of "
        f"{len(checked)} is {checked['z'].abs().max():.2f}."
    )


def _check_table(checked: pd.DataFrame) -> str:
    rows = [
        [row.pair, row.lag, f"{row.exact:.5f}", f"{row.simulated:.5f} ± {row.error:.5f}"]
        for row in checked.itertuples(index=False)
    ]
    return markdown(["pair", "lag", "exact ρ_A", "simulated"], rows)


def _drift_text(drift: pd.DataFrame) -> str:
    def worst(column: str, least: int) -> float:
        own = drift[drift["tokens"] >= least]
        return float((1.0 - own[column] / own["optimal"]).max())

    return (
        "Practically yes. With the rates known, the exact optimum is a backward induction "
        "(`optimal_plan`). κ*(α_i), the best length if the rate stayed as it is, loses at most "
        f"{worst('local', 1024):.3%} of it from 1,024 tokens on ({worst('local', 64):.2%} at 64); its closed form, "
        "Lambert's W "
        f"rounded to a whole number, {worst('closed', 1024):.3%} ({worst('closed', 64):.2%}). A stop rule on the "
        "survival "
        f"product with one price of a token for the whole generation loses up to {worst('threshold', 1024):.2%}; "
        "with the "
        f"local price S*(α_i) it loses {worst('threshold_local', 1024):.3%}. The best fixed κ loses "
        f"{worst('fixed', 64):.1%} at most. All {len(drift)} cases are in `drift.parquet`; c_r = 0 here, loss "
        "against the "
        "optimum:"
    )


_RULES = ("fixed", "local", "closed", "threshold", "threshold_local", "ewma_.85", "ewma_.95", "ewma_.99")


def _drift_table(drift: pd.DataFrame) -> str:
    rows: list[list[object]] = []
    for row in drift[drift["c_r"] == 0.0].to_dict("records"):
        losses = [f"{1.0 - row[rule] / row['optimal']:.3%}" for rule in _RULES]
        span = f"{row['alpha_start']:g} → {row['alpha_end']:g}"
        rows.append([span, row["tokens"], f"{row['beta']:g}", f"{row['optimal']:.4f}", row["fixed_kappa"], *losses])
    head = ["α", "N", "β", "S optimal", "best fixed κ", "fixed", "κ*(α_i)", "closed form", "one price", "local price"]
    return markdown([*head, "EWMA .85", "EWMA .95", "EWMA .99"], rows)


def _controller_text(drift: pd.DataFrame) -> str:
    mild = drift[(drift["alpha_start"] != 0.95) & (drift["c_r"] == 0.0) & (drift["tokens"] >= 1024)]
    behind = int((mild["ewma_.85"] < mild["fixed"]).sum())
    ahead = int((mild["ewma_.99"] > mild["fixed"]).sum())
    return (
        "Without the rates, the article's estimate (λ = .85, drafts of 1 to 20, first estimate α_0) is behind the "
        "best fixed "
        f"κ in {behind} of the {len(mild)} mild drifts of 1,024 tokens or more; λ = .99 is ahead of it in {ahead}. "
        "Grid of "
        "513 estimates, error some 1e-4 of S."
    )


def _draws_text(draws: pd.DataFrame) -> str:
    gap = float((draws["optimum"] - draws["programme"]).abs().max())
    done = {
        str(name): own.loc[own["optimum"] >= own["limit"] - 1e-12, "draws"].min()
        for name, own in draws.groupby("pair", sort=False)
    }
    reached = ", ".join(f"{name} {int(k)}" for name, k in done.items() if not np.isnan(k))
    return (
        "α*_K = 1 + min over token sets H of p(H) − q(H)^K for K independent drafts: an optimal transport; no further "
        f"divergence is needed. A linear programme gives the same to {gap:.0e}. It rises to p(supp q), the target's "
        "mass on tokens the draft can draw, and reaches it at a finite K, the first with q(H)^K ≤ p(H) + 1 − p(supp q) "
        f"for every H ({reached}). It may exceed 1 − (1 − α)^K, which bounds recursive rejection and K-SEQ only. The "
        "speed is "
        "(1 + α_K + … + α_K^κ)/(1 + βκ + verification), so (κ + 1)/(1 + βκ + …) at α_K = 1; S at β = .1 with the best "
        "κ ≤ 64: drafts side by side and free verification, .01 per verified token, and drafts one after the other."
    )


def _draws_table(draws: pd.DataFrame) -> str:
    rows: list[list[object]] = []
    for row in draws[draws["draws"].isin((1, 2, 3, 4, 8, 16))].to_dict("records"):
        shares = ("naive", "recursive", "k_seq", "optimum", "tokens_bound", "independent")
        speeds = ("speedup", "speedup_c_v_.01", "speedup_serial")
        rows.append([row["pair"], row["draws"], *(f"{row[s]:.4f}" for s in shares), *(f"{row[s]:.3f}" for s in speeds)])
    head = ["pair", "K", "matching", "recursive", "K-SEQ", "optimum", "Σ min(p, 1−(1−q)^K)", "1−(1−α)^K"]
    return markdown([*head, "S", "S, c_v = .01", "S, serial"], rows)
