"""What does vLLM take: ``--speculative-config``, its tables by batch and context, its synthetic acceptance?

References
----------
vllm-project/vllm: vllm/config/speculative.py (commit 002e77c), vllm/v1/spec_decode/dynamic/utils.py and
vllm/v1/core/sched/scheduler.py (commit 14b450c, the branch of PR 48944),
docs/features/speculative_decoding/dynamic_speculative_decoding.md (commit 015a47e); PR 32374, 40662, 48944, 52087;
issues 48494, 49548, 51510.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from simspec.advice.export.parts import BATCH, CONTEXT, ONE, Cell, Engine, Form, Names, Synthetic, Written
from simspec.advice.export.table import by_batch, by_batch_and_context, one_kappa, over_contexts

OPEN_END = 2**31 - 1
"""Upper end of the last context range; vLLM opens that range itself, whatever stands there."""

_DYNAMIC = (
    "beyond the last batch range vLLM keeps its κ, and K above num_speculative_tokens is cut to it",
    "with data parallelism (--data-parallel-size above 1) vLLM drops the table and drafts num_speculative_tokens",
    "measure after switching it on: tables have slowed engines down (issue 49548: a fall of throughput where K becomes "
    "0; issue 51510: model runner V2 ignored K; issue 48494: MTP needs cudagraph_mode PIECEWISE)",
)
_OFF_IN_TABLE = (
    "K = 0 inside a table is not plain decoding: it cost 6.6% at 2 requests and 21.6% at 189 (PR 52087); where every "
    "load is off, leave --speculative-config out"
)
_HEADS = (
    "κ above the number of MTP heads must be a multiple of it (vLLM checks num_speculative_tokens against n_predict)"
)
_WITHOUT_MODEL = ("ngram", "ngram_gpu", "suffix", "mtp")


def write(form: str, cells: Sequence[Cell], most: int | None, names: Names) -> Written:
    """``--speculative-config`` with one κ or a table."""
    losses: list[str] = []
    config = _draft(names)
    notes: tuple[str, ...] = ()
    if form == "static":
        kappa, losses = one_kappa(cells)
        config["num_speculative_tokens"] = kappa
    else:
        if form == "batch":
            flat, losses = over_contexts(cells)
            table = [[span.first, span.last, kappa] for span, kappa in by_batch(flat, most)]
        else:
            grid = by_batch_and_context(cells, most)
            end = max(c.last for _, c, _ in grid)
            table = [
                [b.first, b.last, c.first, OPEN_END if c.last == end else c.last, kappa] for b, c, kappa in grid
            ]  # fmt: skip
        config["num_speculative_tokens"] = max(row[-1] for row in table)
        config["num_speculative_tokens_per_batch_size"] = table
        notes = (*_DYNAMIC, *([_OFF_IN_TABLE] if any(row[-1] == 0 for row in table) else []))
        if form == "context":
            notes = ("this form is not in a release: it needs the branch of PR 48944, where the context of a batch is "
                     "the largest, mean or median of its decoding requests", *notes)  # fmt: skip
        elif losses:
            notes = ("a table by batch and context is --form context (PR 48944, open when read)", *notes)
    notes += (_HEADS,) if names.method == "mtp" else ()
    return Written({"speculative_config": config}, _words(config), losses=tuple(losses), notes=notes)


def _draft(names: Names) -> dict[str, Any]:
    config: dict[str, Any] = {} if names.method is None else {"method": names.method}
    if names.draft != "DRAFT" or names.method not in _WITHOUT_MODEL:
        config["model"] = names.draft
    return config


def imitate(wanted: Synthetic, names: Names) -> Written:
    """Synthetic acceptance: unconditional rates, one per position."""
    kappa = wanted.kappa
    config = {**_draft(names), "num_speculative_tokens": kappa, "rejection_sample_method": "synthetic"}
    losses: tuple[str, ...] = ()
    if wanted.survival is not None:
        rates = [round(s, 6) for s in wanted.survival]
        config["synthetic_acceptance_rates"] = rates
        emitted = 1.0 + sum(rates)
    else:
        emitted = round(wanted.emitted, 6)
        config["synthetic_acceptance_length"] = emitted
        full, part = divmod(emitted - 1.0, 1.0)
        rates = ([1.0] * int(full) + [part] + [0.0] * kappa)[:kappa]
        losses = (
            "only the mean is imitated: vLLM accepts the first drafts always and the last never, real rounds spread "
            "more; give --survival for their shape",
        )
    rate = 100.0 * (emitted - 1.0) / kappa
    shows = (
        f"Mean acceptance length: {emitted:.2f}, Per-position acceptance rate: "
        f"{', '.join(f'{rate:.3f}' for rate in rates)}, Avg Draft acceptance rate: {rate:.1f}%"
    )
    return Written({"speculative_config": config}, _words(config), losses=losses, shows=shows)


def _words(config: dict[str, Any]) -> tuple[str, ...]:
    return ("--speculative-config", json.dumps(config))


VLLM = Engine(
    name="vllm",
    title="vLLM",
    setting="num_speculative_tokens",
    command="vllm serve {model}",
    forms={
        "static": Form(ONE, "every version with --speculative-config", "vllm/config/speculative.py at 002e77c"),
        "batch": Form(
            BATCH,
            "since PR 32374 (merged mid 2026)",
            "dynamic_speculative_decoding.md at 015a47e; dynamic/utils.py at 14b450c",
        ),
        "context": Form(
            CONTEXT,
            "PR 48944, open when read (September 2026)",
            "dynamic/utils.py and scheduler.py at 14b450c, on that branch",
        ),
    },
    fixed="static",
    table="batch",
    off="vLLM refuses num_speculative_tokens = 0: to switch speculation off, leave --speculative-config out",
    write=write,
    imitate=imitate,
    imitate_since="since PR 40662 (April 2026)",
    imitate_verified="vllm/config/speculative.py at 002e77c; PR 40662, whose log shows the rates as given",
)
