"""Which process is adequate on published rounds, and how far off is E(κ) at a κ that was not fitted?

    python results/fits/make.py FOLDER

FOLDER holds the tables named in README.md, which are not part of this project; what comes with simspec is used anyway.
Writes outcomes.json beside this file.
"""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from scipy.optimize import brentq

from simspec.evidence.observed import Observed
from simspec.evidence.rounds.adequacy import adequacy
from simspec.evidence.rounds.fits import RoundFit, fit_rounds
from simspec.evidence.rounds.kappa_rule import kappa_rule
from simspec.evidence.rounds.processes import fit_processes, tokens_at
from simspec.model import BetaMixture
from simspec.stats.clusters import share
from simspec.theory import window

CUTS = (2, 3)
"""κ' that rounds are cut to before a fit."""


def rows(file: Path) -> list[dict[str, Any]]:
    return pq.read_table(file).to_pylist() if file.suffix == ".parquet" else list(csv.DictReader(file.open()))


def by_question(own: list[dict[str, Any]], kappa: int | None = None) -> Observed:
    """Rounds of each question, its turns one after the other; without its own κ every round has ``kappa``."""
    drafted: dict[Any, list[int]] = {}
    accepted: dict[Any, list[int]] = {}
    for row in own:
        far = [length - 1 for length in row["accept_len"]]
        key = row.get("question_id", row.get("seq"))
        accepted.setdefault(key, []).extend(far)
        drafted.setdefault(key, []).extend(row["kappa"] if kappa is None else [kappa] * len(far))
    return Observed.in_order(list(drafted.values()), list(accepted.values()))


def cut(observed: Observed, kappa: int) -> Observed:
    """The same rounds as if no draft beyond ``kappa`` had been made."""
    return Observed(
        np.minimum(observed.drafted, kappa), np.minimum(observed.accepted, kappa), observed.count, observed.offsets,
        observed.unit, observed.ordered,
    )  # fmt: skip


def verdicts(observed: Observed) -> dict[str, Any]:
    """What fits and which is adequate."""
    found = fit_processes(observed)
    rule = kappa_rule(observed)
    return {
        "groups": observed.groups,
        "rounds": observed.rounds,
        "kappa": list(observed.kappas) if len(observed.kappas) < 4 else [observed.kappas[0], observed.kappas[-1]],
        "measured_E": 1.0 + float(observed.accepted @ observed.count) / observed.rounds,
        "says": found.says,
        "kappa_follows_acceptance": None if rule is None else rule.follows,
        "processes": {fit.name: one(fit, found.checks[fit.name], found.kappa) for fit in found.fits},
    }


def one(fit: RoundFit, check: Any, kappa: int) -> dict[str, Any]:
    return {
        "estimates": {name: [rounded(v) for v in pair] for name, pair in list(fit.estimates.items())[:8]},
        "bic": round(fit.bic, 1),
        "E": {str(kappa): [rounded(v) for v in tokens_at(fit, kappa)]},
        "adequate": check.adequate,
        "checked_rounds": check.rounds,
        "statistics": {
            own.name: {"p": rounded(own.p_value), "observed_over_expected": rounded(own.size)}
            for own in check.statistics
        },
    }


def rounded(value: float) -> float | None:
    return None if value != value else round(float(value), 4)


def fixed_kappa(observed: Observed, kappas: tuple[int, ...]) -> dict[str, Any]:
    """Fit half of the requests cut to κ', predict E(κ) on the other half, both ways: log of predicted over observed."""
    out: dict[str, Any] = {}
    halves = [np.arange(side, observed.groups, 2) for side in (0, 1)]
    for small in CUTS:
        wanted = [kappa for kappa in kappas if kappa > small]
        fits = [fit_rounds(cut(observed.take(half), small)) for half in halves]
        names = [fit.name for fit in fits[0] if fit.name != "position"]
        for kappa in wanted:
            seen = [held_out(cut(observed.take(half), kappa)) for half in halves[::-1]]
            for name in names:
                pairs = [next(fit for fit in own if fit.name == name) for own in fits]
                logs = [np.log(fit.mean_tokens(kappa) / e) for fit, (e, _) in zip(pairs, seen, strict=True)]
                errors = [
                    np.hypot(fit.error(kappa) / fit.mean_tokens(kappa), error / e)
                    for fit, (e, error) in zip(pairs, seen, strict=True)
                ]
                told = [rounded(np.mean(logs)), rounded(np.sqrt(np.sum(np.square(errors))) / 2)]
                out.setdefault(f"fitted at {small}", {}).setdefault(name, {})[str(kappa)] = told
    return out


def held_out(observed: Observed) -> tuple[float, float]:
    """E and its error between requests."""
    own = share(observed.accepted, np.ones(observed.rounds), observed.offsets)
    return 1.0 + own.value, own.error


def one_ahead(observed: Observed) -> dict[str, Any]:
    """κ as the rule chose it: fit half cut to κ', predict each round of the other half given the rounds before it."""
    out: dict[str, Any] = {}
    halves = [np.arange(side, observed.groups, 2) for side in (0, 1)]
    for small in (*CUTS, observed.kappa_max):
        for side, half in enumerate(halves):
            other = observed.take(halves[1 - side])
            at = np.arange(1, other.kappa_max + 1)
            deep = other.drafted >= 6
            for fit in fit_rounds(cut(observed.take(half), small)):
                if fit.name == "position":
                    continue
                offered = np.where(at <= other.drafted[:, None], fit.ahead(other), 0.0).sum(axis=1)
                logs = [
                    np.log((kept.sum() + offered[kept].sum()) / (kept.sum() + other.accepted[kept].sum()))
                    for kept in (np.ones(other.rounds, bool), ~deep, deep)
                ]
                key = "fitted to all" if small == observed.kappa_max else f"fitted at {small}"
                out.setdefault(key, {}).setdefault(fit.name, []).append(logs)
    names = ("all rounds", "κ < 6", "κ ≥ 6")
    return {
        key: {
            name: dict(zip(names, [rounded(v) for v in np.mean(both, axis=0)], strict=True))
            for name, both in own.items()
        }
        for key, own in out.items()
    }


def survival_tables(folder: Path) -> dict[str, Any]:
    """Tables by subset: all of them adequate or not, and E(κ) beyond the κ' fitted."""
    out: dict[str, Any] = {}
    for name, kappa, asked in (("eagle3_k3", 3, (3,)), ("dflash_k15", 15, (4, 6, 8, 11, 15))):
        own = rows(folder / f"speculators_{name}_survival_by_subset.csv")
        tables = {}
        for row in own:
            drafts = int(row["num_drafts"])
            reached = [round(float(row[f"acceptance_at_pos_{j}"]) * drafts) for j in range(kappa)]
            tables[row["subset"]] = (kappa, drafts, reached)
        by_subset = {}
        for subset, table in tables.items():
            observed = Observed.of_counts([table])
            checks = {fit.name: adequacy(fit, observed, most=50_000) for fit in fit_rounds(observed)}
            by_subset[subset] = {
                "adequate": [n for n, check in checks.items() if check.adequate and check.statistics],
                "size of full rounds": {
                    n: rounded(own.size)
                    for n, check in checks.items()
                    for own in check.statistics
                    if own.name == "full rounds"
                },
                "error": beyond(observed, asked),
            }
        out[name] = {"by_subset": by_subset, "worst": worst(by_subset)}
    return out


def beyond(observed: Observed, asked: tuple[int, ...]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for small in CUTS:
        for fit in fit_rounds(cut(observed, small), ["i.i.d.", "geometric tail", "Beta by round"]):
            for kappa in asked:
                if kappa > small:
                    e = 1.0 + float((np.minimum(observed.accepted, kappa) * observed.count).sum()) / observed.rounds
                    own = out.setdefault(f"fitted at {small}", {}).setdefault(fit.name, {})
                    own[str(kappa)] = rounded(np.log(fit.mean_tokens(kappa) / e))
    return out


def worst(by_subset: dict[str, Any]) -> dict[str, Any]:
    """Largest |log ratio| over the subsets."""
    out: dict[str, Any] = {}
    for own in by_subset.values():
        for key, fits in own["error"].items():
            for name, by_kappa in fits.items():
                for kappa, value in by_kappa.items():
                    at = out.setdefault(key, {}).setdefault(name, {})
                    at[kappa] = max(at.get(kappa, value), value, key=abs)
    return out


def sweep(folder: Path) -> dict[str, Any]:
    """E measured at several κ on the same requests; parameters from the smallest, E predicted at the others.

    Only means by request are in the table: rounds = tokens − accepted drafts.
    """
    runs: dict[tuple[str, str], dict[int, dict[str, tuple[float, float]]]] = {}
    for row in rows(folder / "thc1006_v100_dflash_mtp_nmax_sweep.csv"):
        if int(row["n_max"]):
            tokens, accepted = float(row["predicted_n"]), float(row["draft_n_accepted"])
            own = runs.setdefault((row["phase"], row["model"]), {}).setdefault(int(row["n_max"]), {})
            own[row["prompt_idx"]] = (tokens, tokens - accepted)
    return {f"{phase}, {model}": swept(own) for (phase, model), own in runs.items() if 1 in own}


def swept(run: dict[int, dict[str, tuple[float, float]]]) -> dict[str, Any]:
    prompts = sorted(run[1])
    data = {kappa: np.array([own[p] for p in prompts]) for kappa, own in run.items()}  # (prompts, tokens and rounds)
    kept = np.arange(len(prompts))
    whole = {name: predicted(name, data, kept) for name in FROM_MEANS}
    out: dict[str, Any] = {"measured_E": {str(k): rounded(e_of(data[k])) for k in sorted(data)}}
    for name, errors in whole.items():
        left = [predicted(name, data, np.delete(kept, i)) for i in kept]
        out[name] = {}
        for kappa, value in errors.items():
            spread = np.array([one[kappa] for one in left])
            error = np.sqrt((len(kept) - 1) / len(kept) * ((spread - spread.mean()) ** 2).sum())
            out[name][str(kappa)] = [rounded(value), rounded(error)]
    return out


def e_of(data: np.ndarray) -> float:
    return float(data[:, 0].sum() / data[:, 1].sum())


def iid_tokens(alpha: np.ndarray | float, kappa: int) -> Any:
    return sum(np.power(alpha, j) for j in range(kappa + 1))


def solve_alpha(e: float, kappa: int) -> float:
    if e <= 1.0 or e >= kappa + 1.0:
        return float(np.clip((e - 1.0) / kappa, 0.0, 1.0))
    return float(brentq(lambda a: iid_tokens(a, kappa) - e, 0.0, 1.0))


def from_iid(data: dict[int, np.ndarray], asked: int) -> float:
    return float(iid_tokens(solve_alpha(e_of(data[3]), 3), asked))


def from_requests(data: dict[int, np.ndarray], asked: int) -> float:
    """Each request keeps its own α, solved from its mean at κ = 3."""
    tokens, rounds = data[3].T
    own = np.array([solve_alpha(t / r, 3) for t, r in zip(tokens, rounds, strict=True)])
    return float(tokens.sum() / (tokens / iid_tokens(own, asked)).sum())


def from_tail(data: dict[int, np.ndarray], asked: int) -> float:
    """S_1 from κ = 1, q from κ = 3."""
    first, three = e_of(data[1]) - 1.0, e_of(data[3]) - 1.0
    q = brentq(lambda q: first * (1.0 + q + q * q) - three, 0.0, 1.0)
    return 1.0 + first * float(iid_tokens(q, asked - 1))


def from_urn(data: dict[int, np.ndarray], asked: int) -> float:
    """A Beta law by round with the same two means; none where the tail falls faster than i.i.d. drafts."""
    alpha, three = e_of(data[1]) - 1.0, e_of(data[3])
    if window(BetaMixture(alpha=alpha, rho=0.0), 3).mean_tokens > three:
        return float("nan")
    rho = brentq(lambda rho: window(BetaMixture(alpha=alpha, rho=rho), 3).mean_tokens - three, 0.0, 1.0)
    return window(BetaMixture(alpha=alpha, rho=float(rho)), asked).mean_tokens


FROM_MEANS = {
    "i.i.d. from κ = 3": from_iid,
    "a rate by request from κ = 3": from_requests,
    "geometric tail from κ = 1, 3": from_tail,
    "Beta by round from κ = 1, 3": from_urn,
}


def predicted(name: str, data: dict[int, np.ndarray], kept: np.ndarray) -> dict[int, float]:
    own = {kappa: values[kept] for kappa, values in data.items()}
    fitted = (1, 3) if "1, 3" in name else (3,)
    return {k: float(np.log(FROM_MEANS[name](own, k) / e_of(own[k]))) for k in sorted(own) if k not in fitted}


def shipped() -> Observed:
    """Real rounds that come with simspec, κ = 8."""
    import simspec.evidence as evidence

    file = Path(evidence.__file__).parent / "data" / "smollm2_windows_k8.parquet"
    drafted: dict[Any, list[int]] = {}
    accepted: dict[Any, list[int]] = {}
    for row in pq.read_table(file).to_pylist():
        drafted.setdefault(row["request"], []).append(8)
        accepted.setdefault(row["request"], []).append(row["accepted_full"])
    return Observed.in_order(list(drafted.values()), list(accepted.values()))


def main(folder: Path) -> None:
    published = rows(folder / "specbench_vicuna7b_accept_lengths.parquet")

    def answers(repo: str, method: str, dataset: str = "spec_bench") -> list[dict[str, Any]]:
        return [r for r in published if (r["repo"].split("/")[0], r["method"], r["dataset"]) == (repo, method, dataset)]

    trees = {
        "EAGLE tree, Spec-Bench": by_question(answers("yukiki-jc", "eagle"), 5),
        "Medusa tree, MT-bench": by_question(answers("BNukhkadiev", "medusa", "mt_bench"), 4),
        "Token Recycling tree, Spec-Bench": by_question(
            rows(folder / "zyning_token_recycling_tree_accept_lengths.parquet"), 6
        ),
        "SmolLM2 chain, shipped": shipped(),
    }
    chain = by_question(rows(folder / "specbench_sps_with_reconstructed_kappa.parquet"))
    found: dict[str, Any] = {"adequate": {}, "fixed κ": {}}
    for name, observed in {"SpS chain, Spec-Bench": chain, **trees}.items():
        print(name, flush=True)
        found["adequate"][name] = verdicts(observed)
        if len(observed.kappas) == 1:
            kappa = observed.kappa_max
            found["fixed κ"][name] = fixed_kappa(observed, tuple(range(3, kappa + 1)))
    print("one round ahead", flush=True)
    found["SpS one round ahead"] = one_ahead(chain)
    print("tables", flush=True)
    found["speculators"] = survival_tables(folder)
    found["sweep"] = sweep(folder)
    (Path(__file__).parent / "outcomes.json").write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
