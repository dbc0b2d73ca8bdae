"""What do the article's open questions (section 8) answer when they are tried?  Three experiments and their tables.

``python -m simspec.claims.experiments`` writes ``results/open_questions/``: a small Parquet file per table, and the
README.md that reads them, in about a minute.  Same seed, same figures.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from simspec import theory
from simspec.claims.commands import check_place, ended, write_all
from simspec.claims.experiment_tables import COMMAND, HEADING, readme
from simspec.claims.random_pairs import PAIRS, Words, random_chain
from simspec.model import Cost, Drift, Iid, Simulation, TokenChain
from simspec.run.engine import Job
from simspec.run.pages import pages
from simspec.run.progress import Progress
from simspec.run.token_job import whole_number
from simspec.stats.intervals import ratio, standard_error
from simspec.theory.law import FloatArray
from simspec.theory.routes import route_of

FOLDER = Path("results") / "open_questions"
README = "README.md"
KINDS = ("free", "sticky", "topics")
SIZES, SHARPNESS, DISTANCES, CHAINS = (4, 8, 16), (1, 3), (0.3, 0.6, 1.0), 30
BETAS = (0.05, 0.1, 0.2)
KAPPA_MAX = 48
CHECK_KAPPA, CHECK_ROUNDS, CHECK_LAGS = 64, 2**18, (1, 2, 3, 5, 10)


def cells() -> Iterator[tuple[str, int, int, float, int]]:
    """Kind, size, sharpness, distance and number of every chain of the scan."""
    yield from itertools.product(KINDS, SIZES, SHARPNESS, DISTANCES, range(CHAINS))


def correlation_scan(seed: int, chains: int = CHAINS) -> pd.DataFrame:
    """ρ_A of random pairs of token laws, what predicts it, and what one number ρ_A says of κ*."""
    rows = []
    for kind, size, sharpness, distance, number in cells():
        if number >= chains:
            continue
        name = f"{kind}/{size}/{sharpness}/{distance}/{number}"
        pair = random_chain(kind, size, sharpness, distance, Words(name, seed))
        found = theory.acceptance_correlation(pair, 5)
        row: dict[str, Any] = {"kind": kind, "tokens": size, "sharpness": sharpness, "distance": distance}
        row |= {"number": number, "alpha": found.alpha, "rho_1": found.rho[0], "rho_2": found.rho[1]}
        row |= {"rho_5": found.rho[4], "rho_1_uncoupled": found.rho_uncoupled[0], "rate_share": found.rate_share}
        row |= {"bound": found.bound, "second_eigenvalue": found.second_eigenvalue}
        rows.append(row | _best_lengths(pair, found.alpha))
    return pd.DataFrame(rows)


def _best_lengths(pair: TokenChain, alpha: float) -> dict[str, Any]:
    """κ* of the pair, of independent drafts of its α, and of the two-state chain of its α and ρ_A, by β."""
    means = [
        route_of(process).sweep(process, KAPPA_MAX) for process in (pair, Iid(alpha=alpha), theory.matching_chain(pair))
    ]
    out: dict[str, Any] = {}
    for beta in BETAS:
        true, free, two = (mean.speedup(Cost(c_d=beta)) for mean in means)
        best, by_alpha, by_rho = (int(np.nanargmax(curve)) for curve in (true, free, two))
        tag = f"{beta:.2f}"[1:]
        out |= {f"kappa_star_{tag}": best, f"kappa_of_alpha_{tag}": by_alpha, f"kappa_of_rho_{tag}": by_rho}
        out |= {f"loss_of_alpha_{tag}": 1.0 - true[by_alpha] / true[best]}
        out |= {f"loss_of_rho_{tag}": 1.0 - true[by_rho] / true[best]}
    return out


def checked_pairs(seed: int) -> dict[str, TokenChain]:
    """The pairs whose ρ_A is also counted in simulated verdicts."""
    named = {f"{kind}, {size} tokens": (kind, size) for kind, size in (("free", 4), ("sticky", 8), ("topics", 8))}
    pairs = {n: random_chain(k, s, 3, 0.6, Words(f"check {n}", seed)) for n, (k, s) in named.items()}
    return pairs | {"one bad context": TokenChain(target=((0.9, 0.1), (0.5, 0.5)), draft=((0.5, 0.5), (0.0, 1.0)))}


def correlation_check(seed: int, rounds: int = CHECK_ROUNDS) -> pd.DataFrame:
    """Exact ρ_A beside that of verdicts simulated along the text; the standard error is over lanes."""
    rows = []
    for name, pair in checked_pairs(seed).items():
        exact = theory.acceptance_correlation(pair, max(CHECK_LAGS)).rho
        for lag, (seen, error) in zip(CHECK_LAGS, simulated_correlation(pair, CHECK_LAGS, rounds, seed), strict=True):
            off = (seen - float(exact[lag - 1])) / error
            rows.append(
                {"pair": name, "lag": lag, "exact": exact[lag - 1], "simulated": seen, "error": error, "z": off}
            )
    return pd.DataFrame(rows)


def simulated_correlation(pair: TokenChain, lags: tuple[int, ...], rounds: int, seed: int) -> list[tuple[float, float]]:
    """Correlation of verdicts ``lag`` positions apart along simulated texts, and its standard error over lanes.

    At κ = 64 a round shows every verdict up to its rejection, and the next round goes on at the next position: A ones
    and a zero, round after round, are the verdicts along the text.  A full round would leave out its bonus token; lanes
    with one are cut before it.
    """
    job = Job(Simulation(pair), (CHECK_KAPPA,), rounds, seed)
    sums = []
    for table in pages(job, CHECK_KAPPA, rounds, 1):
        unit, accepted = (table.column(name).to_numpy().copy() for name in ("unit", "accepted"))
        for own in np.split(accepted, np.flatnonzero(np.diff(unit)) + 1):
            sums.append(_lane_sums(own, lags))
    n, ones, *rest = np.array(sums, dtype=np.float64).T
    products, firsts, seconds, pairs = (np.array(rest[i::4]) for i in range(4))
    rate = ones.sum() / n.sum()
    out = []
    for both, first, second, many in zip(products, firsts, seconds, pairs, strict=True):
        cross = both - rate * (first + second) + rate**2 * many
        found = ratio(cross[None, :], rate * (1.0 - rate) * many[None, :])
        rho = float(found.value[0])
        of_rate = rho * (1.0 - 2.0 * rate) / (rate * (1.0 - rate)) * (ones - rate * n) / n.sum()
        out.append((rho, float(standard_error(found.influence[0] - of_rate))))
    return out


def _lane_sums(accepted: np.ndarray, lags: tuple[int, ...]) -> list[float]:
    full = np.flatnonzero(accepted == CHECK_KAPPA)
    own = accepted[: full[0]] if full.size else accepted
    ends = np.cumsum(own.astype(np.int64) + 1) - 1
    verdicts = np.ones(int(ends[-1]) + 1 if ends.size else 0)
    verdicts[ends] = 0.0
    out = [float(verdicts.size), float(verdicts.sum())]
    for lag in lags:
        first, second = verdicts[:-lag], verdicts[lag:]
        out += [float(first @ second), float(first.sum()), float(second.sum()), float(first.size)]
    return out


def drift_scan() -> pd.DataFrame:
    """Rules that know the rates, one fixed κ, and controllers that do not know them, along linear drifts."""
    rows = []
    for (start, end), tokens in itertools.product(((0.85, 0.62), (0.62, 0.85), (0.95, 0.3)), (64, 256, 1024, 4096)):
        drift = Drift(shape="linear", alpha_start=start, alpha_end=end, tokens=tokens)
        for beta, c_r in itertools.product(BETAS, (0.0, 0.5, 1.0)):
            cost = Cost(c_d=beta, c_r=c_r)
            found = theory.stop_rules(drift, cost)
            row = {"alpha_start": start, "alpha_end": end, "tokens": tokens, "beta": beta, "c_r": c_r}
            rows.append(row | vars(found) | _controllers(drift, cost))
    return pd.DataFrame(rows)


def _controllers(drift: Drift, cost: Cost) -> dict[str, float]:
    start = drift.rates()[0]

    def rule(estimates: FloatArray) -> np.ndarray:
        return theory.plug_in_kappas(estimates, cost)

    return {
        f"ewma_{str(smoothing)[1:]}": theory.controller_generation(drift, rule, cost, smoothing, start, 513).speedup
        for smoothing in (0.85, 0.95, 0.99)
    }


def draws_scan(most: int = 16) -> pd.DataFrame:
    """Acceptance with K drafts by scheme, the linear programme beside it, and the best speed it allows."""
    rows = []
    for name, (target, draft) in PAIRS.items():
        found = theory.acceptance_by_draws(target, draft, most)
        for k in range(1, most + 1):
            best = float(found.optimum[k - 1])
            row: dict[str, Any] = {"pair": name, "draws": k}
            for field in ("naive", "recursive", "k_seq", "optimum", "tokens_bound", "independent"):
                row[field] = float(getattr(found, field)[k - 1])
            row |= {"programme": theory.transport_programme(target, draft, k), "limit": found.limit}
            for tag, c_v, serial in (("", 0.0, False), ("_c_v_.01", 0.01, False), ("_serial", 0.0, True)):
                cost = Cost(c_d=0.1, c_v=c_v)
                speeds = [theory.many_drafts_speedup(best, kappa, k, cost, serial) for kappa in range(65)]
                row |= {f"kappa_star{tag}": int(np.argmax(speeds)), f"speedup{tag}": max(speeds)}
            rows.append(row)
    return pd.DataFrame(rows)


def main(arguments: list[str] | None = None) -> int:
    """Run all experiments and write tables and README: 0 written, 2 bad input, 130 stopped; then all is as it was."""
    own = argparse.ArgumentParser(prog=COMMAND, description=(__doc__ or "").splitlines()[0])
    own.add_argument("-o", "--output", type=Path, default=FOLDER, help=f"folder; default {FOLDER}")
    own.add_argument(
        "--seed", type=int, default=1, help="of the random pairs and their check, 0 to 2^64 - 1; default 1"
    )
    own.add_argument("--quiet", action="store_true", help="no progress lines on stderr")
    chosen = own.parse_args(arguments)
    return ended(COMMAND, lambda: _write(chosen.output, chosen.seed, chosen.quiet))


def _write(folder: Path, seed: int, quiet: bool) -> int:
    whole_number("seed", seed, 0, 2**64 - 1)
    check_place(folder, COMMAND, _ours)
    scans: dict[str, Callable[[], pd.DataFrame]] = {
        "correlation": lambda: correlation_scan(seed),
        "correlation_checked": lambda: correlation_check(seed),
        "drift": drift_scan,
        "many_drafts": draws_scan,
    }
    tables: dict[str, pd.DataFrame] = {}
    began = time.monotonic()
    with Progress(quiet=quiet) as progress:
        for name, scan in scans.items():
            progress.say(f"table {len(tables) + 1} of {len(scans)}: {name}")
            tables[name] = scan()
    files = {f"{name}.parquet": functools.partial(_to_parquet, table) for name, table in tables.items()}
    text = readme(tables, seed)
    write_all(folder, {**files, README: lambda path: path.write_text(text, encoding="utf-8")})
    print(f"{folder}: {len(tables)} tables, {time.monotonic() - began:.0f} s", file=sys.stderr)
    return 0


def _to_parquet(table: pd.DataFrame, path: Path) -> None:
    table.to_parquet(path, index=False, compression="zstd")


def _ours(folder: Path) -> bool:
    """Whether this command wrote the folder: its page begins with the page's heading."""
    page = folder / README
    return page.is_file() and page.read_text(encoding="utf-8", errors="replace").startswith(HEADING)


if __name__ == "__main__":
    raise SystemExit(main())
