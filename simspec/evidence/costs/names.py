"""Which names of columns mean the same in a table of measurements, and what is said of one that nobody knows?"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

from simspec.evidence.figure_names import ACCEPTED, DRAFTED, EMITTED, KAPPA, ROUNDS, TOKENS
from simspec.model.errors import ParameterError, shown

SYNONYMS = {
    "kappa": " ".join(KAPPA),
    "width": "verify_width query_len block_size",
    "round_ms": "step_ms iteration_ms round_time_ms iter_latency_ms measured_round_ms implied_round_ms",
    "verify_ms": "target_ms verification_ms",
    "draft_ms": "drafting_ms",
    "tpot_ms": "tpot mean_tpot_ms mean_tpot ms_per_token time_per_output_token_ms",
    "tok_s": "tps tokens_per_s tokens_per_second token_s t_s speed",
    "tok_s_total": "total_tok_s throughput output_throughput output_tok_s output_token_throughput total_tps",
    "tok_s_per_request": "predicted_per_second tps_per_user tok_s_per_user request_tok_s",
    "emitted": " ".join(EMITTED),
    "accepted": "mean_accepted accepted_per_round mean_accepted_per_round akzeptiert",
    "rate": "draft_acceptance_rate acceptance_rate accept_rate ar acceptance",
    "accepted_tokens": " ".join(ACCEPTED),
    "draft_tokens": " ".join(DRAFTED),
    "drafts": " ".join(ROUNDS),
    "predicted_n": " ".join(TOKENS[1:]),
    "predicted_ms": "decode_ms generation_ms",
    "batch": "batch_size bs concurrency running max_concurrency streams conc",
    "context": "ctx context_len context_length prompt_len input_len seq_len",
    "kind": "speculation mode baseline baseline_flag",
}
"""Names of columns that mean the same, lower case, with _ for anything else."""

NAMES = {other: name for name, own in SYNONYMS.items() for other in (name, *own.split())}
TIMES = ("round_ms", "verify_ms", "tpot_ms", "tok_s", "tok_s_total", "tok_s_per_request", "predicted_ms")
PER_TOKEN = frozenset(("tpot_ms", "tok_s", "tok_s_total", "tok_s_per_request"))
"""Times that are means over many rounds."""
NEEDED = "a column of κ (k, n_max, …) and one of time (round_ms, tpot_ms, tok_s, …)"
PLAIN_CELLS = frozenset(("plain", "baseline", "base", "vanilla", "off", "no_spec", "nospec", "no_speculation"))
"""Words in a column of κ that mean plain decoding."""
_HINTS = (
    (r"(.*_)?itl(_.*)?|inter_token_latency.*", "ITL is per round in some versions of an engine, per token in others: "
     "name it round_ms or tpot_ms, whichever yours is"),
    (r".*_(s|sec|seconds|us|ns)", "times are in ms: name it …_ms and convert it"),
)  # fmt: skip
"""Column, as compared → what to do with one that is not known."""


@functools.lru_cache(1024)
def canonical(name: str) -> str:
    """A column's name as compared.

    Examples
    --------
    >>> canonical("TPOT (ms)"), canonical("Accept length"), canonical("κ")
    ('tpot_ms', 'accept_length', 'κ')
    """
    return re.sub(r"[^\wκγ]+", "_", name.strip().lower()).strip("_")


def holds_times(columns: Sequence[str]) -> bool:
    """Whether such a table is one of measurements: a κ or width, or a batch, and a time.

    Examples
    --------
    >>> holds_times(["k", "TPOT", "AL"]), holds_times(["accepted", "kappa", "request"])
    (True, False)
    """
    names = {NAMES.get(canonical(column)) for column in columns}
    return bool(names & {"kappa", "width"}) and bool(names & set(TIMES))


def refuse_half(name: str, columns: Sequence[str]) -> None:
    """Refuse a table that has κ without a time, or a time per token without κ: say what each column was taken for."""
    names = {column: NAMES.get(canonical(column)) for column in columns}
    kappa = bool({"kappa", "width"} & set(names.values()))
    if not kappa and not PER_TOKEN & set(names.values()):
        return
    known = ", ".join(f"{shown(column)} ({own})" for column, own in names.items() if own)
    unknown = [column for column, own in names.items() if own is None]
    hints = [f"{shown(c)}: {hint}" for c in unknown for form, hint in _HINTS if re.fullmatch(form, canonical(c))]
    said = [f"known: {known}", f"not known: {', '.join(map(shown, unknown[:8]))}" if unknown else "", *hints]
    if "draft_tokens" in names.values() and not kappa:
        said.append("drafted tokens are a count; the draft length goes under k")
    told = "; ".join(part for part in said if part)
    missing = "holds no time of a round: no column of time is known" if kappa else "no column of κ is known"
    raise ParameterError("files", f"{name}: {missing}; {told}; needed: {NEEDED}")
