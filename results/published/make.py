"""Is the recommended κ as good as the best measured one?  Published sweeps over κ: acceptance at one κ, costs of all.

    python results/published/make.py [FOLDER] > results/published/README.md

FOLDER holds ``thc1006_v100_dflash_mtp_nmax_sweep.csv`` (thc1006/qwen3.6-speculative-decoding-v100 at commit e989488,
data/distilled/all_records.csv, MIT); without it only the figures typed in here are used.
"""

from __future__ import annotations

import sys
from pathlib import Path

import simspec
from simspec.advice.recommend.recommendation import Recommendation
from simspec.text import kappa_set, table

ISSUE = {
    "EAGLE-1": ((2.10, 2.29, 2.39, 2.43, 2.45, 2.47), (4.37, 4.29, 4.48, 4.71, 4.94, 5.20)),
    "EAGLE-3": ((2.36, 2.79, 3.08, 3.32, 3.46, 3.54), (4.32, 4.09, 4.05, 4.13, 4.20, 4.29)),
}
"""vllm-project/vllm issue 20780: Llama 3.1 8B, H100, batch 1; tokens per round and TPOT in ms at κ = 2 … 7."""
KAPPAS, PLAIN_MS, SEEN = (2, 3, 4, 5, 6, 7), 7.07, 3
SWEPT = "thc1006_v100_dflash_mtp_nmax_sweep.csv"
SEEN_SWEEP = 4


def advice(kappas: list[int], tpot: list[float], emitted: list[float], plain: float, seen: int) -> Recommendation:
    """From E at κ = ``seen`` alone, and R at every κ."""
    costs = simspec.costs(kappa=kappas, tpot_ms=tpot, emitted=emitted, base_tpot_ms=plain)
    return simspec.recommend({"emitted": emitted[kappas.index(seen)], "kappa": seen}, costs, kappa_max=max(kappas))


def issue() -> str:
    """vLLM issue 20780, both drafts."""
    parts = []
    for name, (emitted, tpot) in ISSUE.items():
        own = advice(list(KAPPAS), list(tpot), list(emitted), PLAIN_MS, SEEN)
        measured = {k: PLAIN_MS / t for k, t in zip(KAPPAS, tpot, strict=True)}
        at = {row["kappa"]: row for row in own.rows if row["kappa"]}
        rows = []
        for k, seen in zip(KAPPAS, emitted, strict=True):
            low, high = at[k]["interval"]
            rows.append([
                str(k), f"{seen:.2f}", f"{at[k]['emitted']:.2f}", f"{measured[k]:.3f}", f"{at[k]['speedup']:.3f}",
                f"{at[k]['speedup'] / measured[k] - 1:+.1%}", f"[{low:.2f}, {high:.2f}]",
            ])  # fmt: skip
        best = max(measured, key=lambda k: measured[k])
        loss = 1 - measured[own.kappa_star] / measured[best]
        header = ["κ", "E seen", "E predicted", "measured", "predicted", "error", "interval"]
        out = [k for k in KAPPAS if not at[k]["interval"][0] <= measured[k] <= at[k]["interval"][1]]
        missed = f"Outside its interval at κ = {kappa_set(out)}." if out else "Inside its interval at every κ."
        parts.append(
            f"### {name}\n\n`{str(own).splitlines()[0]}`\n\nBest measured: κ = {best}, {measured[best]:.3f}x; the κ "
            f"recommended loses {loss:.1%}.  {missed}\n\n```\n{table(header, rows)}\n```"
        )
    return "\n\n".join(parts)


def sweeps(file: Path) -> str:
    """Every sweep of the file: E at n_max = 4 alone."""
    import pandas as pd

    data, rows = pd.read_csv(file), []
    for (phase, model), own in data.groupby(["phase", "model"], sort=False):
        total = own.groupby("n_max")[["predicted_n", "predicted_ms", "draft_n_accepted"]].sum()
        if 0 not in total.index or SEEN_SWEEP not in total.index or len(total) < 4:
            continue
        emitted = total.predicted_n / (total.predicted_n - total.draft_n_accepted)
        tpot = total.predicted_ms / total.predicted_n
        kappas = [int(k) for k in total.index if k]
        answer = advice(kappas, [tpot[k] for k in kappas], [emitted[k] for k in kappas], tpot[0], SEEN_SWEEP)
        measured = {k: tpot[0] / tpot[k] for k in kappas} | {0: 1.0}
        best = max(measured, key=lambda k: measured[k])
        chosen = min(measured, key=lambda k: (abs(k - answer.kappa_star), k))
        at = {row["kappa"]: row for row in answer.rows if row["kappa"] is not None}
        errors = [at[k]["speedup"] / measured[k] - 1 for k in kappas if k in at]
        inside = [at[k]["interval"][0] <= measured[k] <= at[k]["interval"][1] for k in kappas if k in at]
        rows.append([
            f"{phase}, {model}", f"{best}: {measured[best]:.2f}x", str(answer.kappa_star),
            f"{1 - measured[chosen] / measured[best]:.1%}" + ("" if chosen == answer.kappa_star else f" (at {chosen})"),
            f"{min(errors):+.1%} … {max(errors):+.1%}", f"{sum(inside)} of {len(inside)}",
        ])  # fmt: skip
    header = ["sweep", "best measured", "κ recommended", "loses", "error of the speed-up", "inside interval"]
    return f"```\n{table(header, rows)}\n```"


def main() -> None:
    """The page."""
    print(PAGE.format(issue=issue(), sweeps=sweeps(Path(sys.argv[1]) / SWEPT) if len(sys.argv) > 1 else "not made"))


PAGE = """\
# Recommended against measured: published sweeps over κ

Made by `python results/published/make.py FOLDER`.  `simspec recommend` is told tokens per round at **one** κ and the
round costs of the sweep (`simspec costs`); what it predicts at the other κ is held against what was measured there.

## vLLM issue 20780: acceptance from κ = 3 alone

{issue}

Only a mean is known, so one α stands for all positions in the table.  It promises too much at depth, since α falls with
position in both drafts: that is the missing figure, and per-position rates would bring it.  The doubt lets α after
position 1 be 0.7 to 1.1 of that at 1; EAGLE-1 falls at the lower end of that range and beyond, hence κ outside their
interval.

## A sweep over n_max in llama.cpp: acceptance from n_max = 4 alone

Requests of 384 tokens, two V100; rounds are predicted − accepted tokens.

{sweeps}
"""

if __name__ == "__main__":
    main()
