"""Is the text of every way to verify drafts the target's own, and if not, how far off is it?  Ten million tokens each.

``python -m simspec.claims.lossless FOLDER`` writes ``lossless.md`` and ``lossless.parquet``: every rule and shape on
one pair of token laws, pairs of successive emitted tokens counted and held against those of the target.
"""

from __future__ import annotations

import argparse
import functools
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from simspec import theory
from simspec.claims.commands import check_page, ended, write_all
from simspec.kernels.lower_schemes import scheme_form
from simspec.kernels.words import LANES, stream_keys
from simspec.model import Simulation, TokenChain
from simspec.model.draft_laws import draft_law
from simspec.model.schemes import Tokens
from simspec.model.token_rules.rounds import spelt
from simspec.run.engine import players
from simspec.run.progress import Progress
from simspec.run.token_job import whole_number
from simspec.text import table
from simspec.theory.law import FloatArray

COMMAND = "python -m simspec.claims.lossless"
HEADING = "# Is the output the target's?"
FOLDER = Path("results") / "systems"
NAME = "lossless"
TOKENS = 10_000_000
FALSE_ALARM = 1e-6
KAPPA, ROUNDS = 3, 1000

TARGET = ((0.02, 0.94, 0.03, 0.01), (0.3, 0.3, 0.2, 0.2), (0.1, 0.2, 0.6, 0.1), (0.05, 0.45, 0.05, 0.45))
DRAFT = ((0.1, 0.7, 0.1, 0.1), (0.2, 0.5, 0.2, 0.1), (0.3, 0.2, 0.3, 0.2), (0.1, 0.3, 0.2, 0.4))
SECOND = ((0.6, 0.2, 0.1, 0.1), (0.4, 0.2, 0.1, 0.3), (0.0, 0.3, 0.7, 0.0), (0.25, 0.25, 0.25, 0.25))
SELDOM = ((0.0, 1.0, 0.0, 0.0), (0.4, 0.3, 0.3, 0.0), (0.0, 0.5, 0.0, 0.5), (1.0, 0.0, 0.0, 0.0))
SURE = ((0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0), (0.0, 0.0, 0.0, 1.0), (1.0, 0.0, 0.0, 0.0))
PAIR = TokenChain(target=TARGET, draft=DRAFT)
"""A sure, a flat and two usual contexts."""
SPARSE = TokenChain(target=SELDOM, draft=DRAFT)
"""A target that never draws many of the tokens."""
ZERO = TokenChain(target=SURE, draft=DRAFT)
"""A target at temperature 0, which is sure of every token."""
TREE, NARROW = (2, 2, 1), (3, 1, 1)
HELPERS: dict[str, Any] = {"epsilon": 0.3, "delta": 0.09}
HEADS: dict[str, Any] = {"widths": TREE, "drafts": "likeliest", "drafting": "window"}


@dataclass(frozen=True)
class Case:
    """A way to verify, as the table calls it."""

    system: str
    shape: str
    scheme: Tokens
    pair: TokenChain = PAIR


CASES = (
    Case("speculative sampling", "chain", Tokens()),
    Case("speculative sampling, sparse target", "chain", Tokens(), SPARSE),
    Case("speculative sampling, greedy target", "chain", Tokens(), ZERO),
    Case("speculative sampling, argmax draft", "chain", Tokens(drafts="likeliest")),
    Case("greedy match", "chain", Tokens(rule="naive")),
    Case("greedy match, argmax draft", "chain", Tokens(rule="naive", drafts="likeliest")),
    Case("block verification", "chain", Tokens(rule="block")),
    Case("block verification, sparse target", "chain", Tokens(rule="block"), SPARSE),
    Case("lenience 1", "chain", Tokens(rule="lenient", lenience=1.0)),
    Case("naive", "tree 2, 2, 1", Tokens(rule="naive", widths=TREE)),
    Case("multi-step rejection", "tree 2, 2, 1", Tokens(widths=TREE)),
    Case("multi-step rejection", "tree 3, 1, 1", Tokens(widths=NARROW)),
    Case("multi-step rejection, sparse target", "tree 2, 2, 1", Tokens(widths=TREE), SPARSE),
    Case("multi-step rejection, greedy target", "tree 2, 2, 1", Tokens(widths=TREE), ZERO),
    Case("multi-step rejection, two draft models", "tree 2, 2, 2", Tokens(widths=(2, 2, 2), others=(SECOND,))),
    Case("multi-step rejection, top-2 drafts", "tree 2, 2, 1", Tokens(widths=TREE, drafts="likeliest")),
    Case("rejection without replacement", "tree 2, 2, 1", Tokens(rule="rrs_wor", widths=TREE)),
    Case("rejection without replacement", "tree 3, 1, 1", Tokens(rule="rrs_wor", widths=NARROW)),
    Case("K-SEQ", "tree 2, 2, 1", Tokens(rule="kseq", widths=TREE)),
    Case("optimal transport", "tree 2, 2, 1", Tokens(rule="otm", widths=TREE)),
    Case("optimal transport, two draft models", "tree 2, 2, 2", Tokens(rule="otm", widths=(2, 2, 2), others=(SECOND,))),
    Case("optimal transport, distinct drafts", "tree 2, 2, 1", Tokens(rule="otm_wor", widths=TREE)),
    Case("naive", "2 sequences", Tokens(rule="naive", sequences=2)),
    Case("multi-step rejection", "2 sequences", Tokens(sequences=2)),
    Case("multi-step rejection", "3 sequences", Tokens(sequences=3)),
    Case("multi-step rejection, two draft models", "2 sequences", Tokens(sequences=2, others=(SECOND,))),
    Case("K-SEQ", "2 sequences", Tokens(rule="kseq", sequences=2)),
    Case("heads side by side, block verification", "chain", Tokens(rule="block", drafting="window")),
    Case("heads side by side, multi-step rejection", "tree 2, 2, 1", Tokens(widths=TREE, drafting="window")),
    Case("heads side by side, multi-step rejection", "2 sequences", Tokens(sequences=2, drafting="window")),
    Case("lenience .5", "chain", Tokens(rule="lenient", lenience=0.5)),
    Case("lenience .1", "chain", Tokens(rule="lenient", lenience=0.1)),
    Case("lenience .5", "tree 2, 2, 1", Tokens(rule="lenient", lenience=0.5, widths=TREE)),
    Case("lenience .5", "2 sequences", Tokens(rule="lenient", lenience=0.5, sequences=2)),
    Case("typical, paper", "chain", Tokens(rule="typical", epsilon=0.09)),
    Case("typical, paper", "tree 2, 2, 1", Tokens(rule="typical", epsilon=0.09, widths=TREE)),
    Case("typical, paper, greedy first token", "chain", Tokens(rule="typical", epsilon=0.09, ends="greedy")),
    Case(
        "typical, paper, top-2 heads, greedy first token",
        "tree 2, 2, 1",
        Tokens(rule="typical", epsilon=0.09, **HEADS, ends="greedy"),
    ),
    Case("typical, helper defaults", "chain", Tokens(rule="typical", **HELPERS)),
    Case("typical, helper defaults", "tree 2, 2, 1", Tokens(rule="typical", **HELPERS, widths=TREE)),
    Case("typical, helper defaults, greedy first token", "chain", Tokens(rule="typical", **HELPERS, ends="greedy")),
    Case("typical, helper defaults, top-2 heads", "tree 2, 2, 1", Tokens(rule="typical", **HELPERS, **HEADS)),
    Case(
        "typical, helper defaults, top-2 heads, greedy first token",
        "tree 2, 2, 1",
        Tokens(rule="typical", **HELPERS, **HEADS, ends="greedy"),
    ),
)
"""Medusa's paper takes ε = .09, δ = √ε = .3, and its released generation runs them; two helper functions of that code
default to ε = .3, δ = .09, where ε never binds, and no caller leaves them so."""


def pair_counts(scheme: Tokens, pair: TokenChain, kappa: int, tokens: int, seed: int) -> tuple[FloatArray, FloatArray]:
    """Play rounds until so many tokens are emitted, and count pairs of successive tokens.

    Parameters
    ----------
    scheme : Tokens
        How drafts are made and verified.
    pair : TokenChain
        Laws of target and draft.
    kappa : int
        Levels.
    tokens : int
        At least so many, over all lanes.
    seed : int
        Of the random words.

    Returns
    -------
    pairs : array, shape (lanes, V, V)
        Pairs (x, y) by lane; lanes are independent.
    totals : array, shape (lanes, 2)
        Rounds and accepted drafts by lane.

    Examples
    --------
    >>> pairs, totals = pair_counts(Tokens(), PAIR, 3, 100_000, 1)
    >>> int(pairs.sum()) == int(totals.sum()), bool(pairs.sum() >= 100_000)  # A + 1 tokens per round
    (True, True)
    """
    size = len(pair.target)
    form = scheme_form(scheme.table(draft_law(pair, kappa), kappa, paths=True))
    inside = np.zeros((len(form.kinds), size, size))
    for number, kind in enumerate(form.kinds):
        path = spelt(kind.mark, kind.tokens, size)
        np.add.at(inside[number], (path[:-1], path[1:]), 1.0)
    keys, lanes, seen = stream_keys(seed, Simulation(pair, scheme).id, domain="rounds"), list[FloatArray](), 0.0
    emitted = np.array([kind.tokens for kind in form.kinds])
    while seen < tokens:
        lanes.append(players().scheme_counts(form, keys, len(lanes), LANES, ROUNDS).astype(float))
        seen += float((lanes[-1] @ emitted).sum())
    counts = np.concatenate(lanes)
    accepted = np.array([kind.accepted for kind in form.kinds])
    return np.tensordot(counts, inside, axes=1), np.stack([counts.sum(axis=1), counts @ accepted], axis=1)


def chi_square(pairs: FloatArray, rows: FloatArray) -> float:
    """Chance of pairs at least so far from those of a text of the chain ``rows``; 0 if one is impossible.

    Examples
    --------
    >>> rows = np.array([[0.5, 0.5], [1.0, 0.0]])
    >>> chi_square(np.array([[50.0, 50.0], [50.0, 0.0]]), rows), chi_square(np.array([[50.0, 50.0], [49.0, 1.0]]), rows)
    (1.0, 0.0)
    """
    from scipy.special import chdtrc

    there = rows > 0.0
    if pairs[~there].any():
        return 0.0
    expected = pairs.sum(axis=1, keepdims=True) * rows
    used = there & (expected > 0.0)
    free = int((used.sum(axis=1) - used.any(axis=1)).sum())
    return float(chdtrc(free, ((pairs - expected)[used] ** 2 / expected[used]).sum())) if free else 1.0


def distance(pairs: FloatArray, goal: FloatArray) -> tuple[float, float]:
    """Total variation between the pairs of many lanes and ``goal``, and its standard error.

    Which pairs are too frequent is read from every other lane, how much too frequent from the rest: without bias
    upwards where both are the same.

    Examples
    --------
    >>> lanes = np.tile([[30.0, 20.0], [20.0, 30.0]], (6, 1, 1))
    >>> value, error = distance(lanes, np.full((2, 2), 0.25))
    >>> round(value, 9), error < 1e-9
    (0.1, True)
    """
    first, rest = pairs[::2], pairs[1::2]
    sign = np.sign(first.sum(axis=0) / first.sum() - goal)
    over, many = (rest * sign).sum(axis=(1, 2)), rest.sum(axis=(1, 2))
    value = over.sum() / many.sum()
    spread = (over - value * many).std(ddof=1) * math.sqrt(len(many)) / many.sum()
    return 0.5 * float(value - (sign * goal).sum()), 0.5 * float(spread)


def lossless_table(seed: int = 1, tokens: int = TOKENS, cases: Sequence[Case] = CASES) -> pd.DataFrame:
    """A row per case: exact and simulated accepted length, and how far the emitted pairs are from the target's.

    Examples
    --------
    >>> row = lossless_table(tokens=300_000, cases=CASES[:1]).iloc[0]
    >>> bool(row.lossless), bool(row.p_value > 1e-6), bool(row.tv_exact < 1e-12)
    (True, True, True)
    """
    rows = []
    for case in cases:
        law = theory.token_walk(case.scheme, case.pair, KAPPA)
        pairs, totals = pair_counts(case.scheme, case.pair, KAPPA, tokens, seed)
        mean = totals[:, 1].sum() / totals[:, 0].sum()
        tv, error = distance(pairs, law.target_pairs)
        lossless = case.scheme.lossless
        rows.append(
            {
                "system": case.system,
                "shape": case.shape,
                "scheme": str(case.scheme),
                "nodes": law.nodes,
                "lossless": lossless,
                "accepted_exact": law.mean_accepted,
                "accepted": mean,
                "accepted_error": float((totals[:, 1] / totals[:, 0]).std(ddof=1) / math.sqrt(len(totals))),
                "tokens": int(pairs.sum()),
                "p_value": chi_square(pairs.sum(axis=0), np.array(case.pair.target)) if lossless else math.nan,
                "tv_exact": law.tv_pairs,
                "tv": tv,
                "tv_error": error,
                "tv_tokens_exact": law.tv_tokens,
            }
        )
    return pd.DataFrame(rows)


def page(found: pd.DataFrame, seed: int) -> str:
    """The table as a page."""
    head = ["system", "shape", "nodes", "E[A] exact", "simulated", "±", "tokens", "p", "TV exact", "simulated", "±"]

    def line(row: Any) -> list[str]:
        p = f"{row.p_value:.3f}" if row.lossless else "–"
        off = [f"{value:.5f}" for value in (row.tv_exact, row.tv, row.tv_error)]
        means = [f"{row.accepted_exact:.4f}", f"{row.accepted:.4f}", f"{row.accepted_error:.4f}"]
        return [row.system, row.shape, str(row.nodes), *means, f"{row.tokens:,}", p, *off]

    def block(lossless: bool) -> str:
        own = found[found.lossless == lossless]
        return f"```text\n{table(head, [line(row) for row in own.itertuples()])}\n```"

    own = found[found.lossless]
    worst, fewest = own.p_value.min(), int(found.tokens.min())
    return f"""{HEADING}

`{COMMAND} --seed {seed}` wrote this page and `{NAME}.parquet`: every way to verify drafts
(`[scheme] type = "tokens"`), κ = {KAPPA} levels, on pairs of laws over {len(TARGET)} tokens.  {fewest:,} tokens are
emitted, or more.

* **p**: chance of pairs of successive emitted tokens at least so far from the target's law, if they follow it
  (chi-square).  The smallest of {len(own)} is {worst:.3f}; below {FALSE_ALARM:g} the rule would not be lossless.
* **TV**: total variation between pairs of successive emitted tokens and those of a text of the target: the share of
  pairs that are others.  Simulated, with one standard error; 0 if lossless.
* **nodes**: verified tokens, κ per sequence.

## Lossless

{block(True)}

## Not lossless

{block(False)}

Typical acceptance with the paper's thresholds (ε = .09, δ = √ε = .3), which Medusa's released generation runs, and with
the helper defaults of the released code (ε = .3, δ = .09; no caller uses them), where ε never binds, so that less is
refused.  Greedy first token: the one behind the drafts, the first of the next step, is the target's likeliest.  Heads:
all levels are drafted at once, from the last emitted token alone.
"""


def main(arguments: list[str] | None = None) -> int:
    """Play all cases and write the table: 0 written, 2 bad input, 130 stopped; then all is as it was."""
    own = argparse.ArgumentParser(prog=COMMAND, description=(__doc__ or "").splitlines()[0])
    own.add_argument("folder", type=Path, nargs="?", default=FOLDER, help=f"where both files go; default {FOLDER}")
    own.add_argument("--seed", type=int, default=1, help="of the random words, 0 to 2^64 - 1; default 1")
    own.add_argument("--tokens", type=int, default=TOKENS, help=f"emitted tokens per case; default {TOKENS:,}")
    own.add_argument("--quiet", action="store_true", help="no progress lines on stderr")
    chosen = own.parse_args(arguments)
    return ended(COMMAND, lambda: _write(chosen.folder, chosen.seed, chosen.tokens, chosen.quiet))


def _write(folder: Path, seed: int, tokens: int, quiet: bool) -> int:
    whole_number("seed", seed, 0, 2**64 - 1)
    whole_number("tokens", tokens, 1000, 10**10)
    check_page(folder / f"{NAME}.md", HEADING, COMMAND)
    began, parts = time.monotonic(), []
    with Progress(quiet=quiet) as progress:
        for number, case in enumerate(CASES, 1):
            progress.say(f"case {number} of {len(CASES)}: {case.system}, {case.shape}")
            parts.append(lossless_table(seed, tokens, [case]))
    found = pd.concat(parts, ignore_index=True)
    text = page(found, seed)
    to_parquet = functools.partial(found.to_parquet, index=False, compression="zstd")
    write_all(
        folder, {f"{NAME}.parquet": to_parquet, f"{NAME}.md": lambda path: path.write_text(text, encoding="utf-8")}
    )
    print(f"{folder}: {len(found)} ways to verify, {time.monotonic() - began:.0f} s", file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
