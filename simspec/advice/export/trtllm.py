"""What does TensorRT-LLM take: max_draft_len, draft_len_schedule in its two meanings, a forced number of drafts?

References
----------
NVIDIA/TensorRT-LLM: tensorrt_llm/llmapi/llm_args.py before and after PR 10860; PR 8194, 10860, 12262, 13569, 16888;
tensorrt_llm/_torch/speculative/interface.py (TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simspec.advice.export.parts import BATCH, ONE, Cell, Engine, Form, Names, Synthetic, Written, decimal
from simspec.advice.export.table import Span, by_batch, joined, one_kappa, over_contexts
from simspec.model.errors import ParameterError

FILE = "speculative.yaml"
FORCED = "TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS"

_REFRESH = (
    "where the length is 0 a drafter inside the engine (Eagle3 one-model, MTP, DFlash) is not refreshed, and requests "
    "that live through it accept less afterwards (PR 16888, open when read)"
)
_MTP = "whether MTP wants num_nextn_predict_layers for max_draft_len in your build was not verified"
_KEYS = {
    "from": ("a key holds from its batch size up (before PR 10860; since then the same numbers mean the other end)",),
    "upto": (
        "a key holds up to its batch size (since PR 10860; before it the same numbers meant the other end)",
        "draft_len_schedule and max_concurrency exclude each other",
        "whether a key must be a batch size of a CUDA graph was not verified",
    ),
}


def write(form: str, cells: Sequence[Cell], most: int | None, names: Names) -> Written:
    """The ``speculative_config`` of the LLM API, as a YAML file."""
    config: dict[str, Any] = {"decoding_type": names.method or "METHOD", "speculative_model": names.draft}
    notes: tuple[str, ...] = ()
    if form == "static":
        kappa, losses = one_kappa(cells)
        config["max_draft_len"] = kappa
    else:
        if form == "upto" and most is None and len(cells) == 1:
            raise ParameterError(
                "max_batch", "form = 'upto' ends speculation above its last batch, and the advice names no load; give "
                "--max-batch, your max_batch_size"
            )  # fmt: skip
        flat, losses = over_contexts(cells)
        table, cut = _capped(by_batch(flat, most))
        losses += cut
        config["max_draft_len"] = table[0][1]
        config["draft_len_schedule"] = _schedule(form, table)
        notes = _notes(form, table, most)
    notes += (_MTP,) if names.method == "MTP" else ()
    words = ("--extra_llm_api_options", FILE)
    return Written({"speculative_config": config}, words, {}, {FILE: _yaml(config)}, tuple(losses), notes)


def _capped(table: list[tuple[Span, int]]) -> tuple[list[tuple[Span, int]], list[str]]:
    """The smallest batch must have the longest draft: TensorRT-LLM refuses any other schedule."""
    top = table[0][1]
    if top == 0:
        raise ParameterError(
            "grid", "TensorRT-LLM cannot be off at the smallest batch and on above it: the schedule begins with "
            "max_draft_len, which must be above 0; allowed: --form static, or leave speculative_config out"
        )  # fmt: skip
    above = [f"{span.first:,} to {span.last:,}: {kappa}" for span, kappa in table if kappa > top]
    lost = f"no batch may draft more than the smallest one: κ is cut to {top} (wanted at batch {'; '.join(above)})"
    return joined((span, min(kappa, top)) for span, kappa in table), [lost] if above else []


def _schedule(form: str, table: list[tuple[Span, int]]) -> dict[int, int]:
    if form == "from":
        return {span.first: kappa for span, kappa in table}
    return {span.last: kappa for span, kappa in (table if table[-1][1] else table[:-1])}


def _notes(form: str, table: list[tuple[Span, int]], most: int | None) -> tuple[str, ...]:
    last, kappa = table[-1]
    ends_on = form == "upto" and kappa > 0 and most is None
    beyond = f"above batch {last.last:,} TensorRT-LLM does not speculate: give --max-batch, your max_batch_size"
    off = ends_on or any(own == 0 for _, own in table)
    return (*_KEYS[form], *([beyond] if ends_on else []), *([_REFRESH] if off else []))


def imitate(wanted: Synthetic, names: Names) -> Written:
    """A forced number of accepted drafts: without the bonus token, its mean only."""
    forced = round(wanted.emitted - 1.0, 6)
    if forced <= 0.0:
        raise ParameterError(
            "emitted", f"TensorRT-LLM cannot imitate E = 1: {FORCED} = 0 means that nothing is forced; allowed: above 1"
        )
    whole = float(forced).is_integer()
    losses = (
        "only the mean is imitated: every round accepts the same whole number of drafts"
        + ("" if whole else ", and one more with the chance behind the point")
        + "; survival by position cannot be given",
    )
    notes: tuple[str, ...] = ("the number counts drafts only, without the token of the target: E - 1",)
    if not whole:
        notes += ("before PR 13569 a fraction is ignored with a warning, and drafts are accepted as usual",)
    shows = f"mean accepted drafts {decimal(forced)} per iteration, {decimal(forced + 1.0)} tokens"
    base = write("static", [Cell(wanted.kappa)], None, names)
    environment = {FORCED: decimal(forced)}
    return Written(base.settings, base.words, environment, base.files, losses, notes, shows)


def _yaml(config: dict[str, Any]) -> str:
    lines = ["speculative_config:"]
    for key, value in config.items():
        if isinstance(value, dict):
            lines += [f"  {key}:", *(f"    {own}: {length}" for own, length in value.items())]
        else:
            lines.append(f"  {key}: {_scalar(value)}")
    return "\n".join(lines)


def _scalar(value: Any) -> str:
    return str(value) if isinstance(value, int) else '"' + str(value).replace("\\", "\\\\").replace('"', '\\"') + '"'


TRTLLM = Engine(
    name="trtllm",
    title="TensorRT-LLM",
    setting="max_draft_len",
    command="trtllm-serve {model}",
    forms={
        "static": Form(ONE, "every version of the LLM API", "llm_args.py"),
        "upto": Form(BATCH, "since PR 10860 (merged early 2026)", "llm_args.py after PR 10860"),
        "from": Form(BATCH, "from PR 8194 (October 2025) until PR 10860", "llm_args.py before PR 10860"),
    },
    fixed="static",
    table="upto",
    off="TensorRT-LLM refuses max_draft_len = 0: to switch speculation off, leave speculative_config out",
    write=write,
    imitate=imitate,
    imitate_since="fractions since PR 13569 (merged mid 2026)",
    imitate_verified="_torch/speculative/interface.py, with and without fractions",
)
