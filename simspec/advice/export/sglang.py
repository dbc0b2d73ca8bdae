"""What does SGLang take: fixed steps, its adaptive file by batch, its simulated accept length?

References
----------
sgl-project/sglang: python/sglang/srt/speculative/adaptive_spec_params.py (commit 015c872), adaptive_step_router.py
(commit a12239f), spec_utils.py (commit 00731f0),
python/sglang/srt/arg_groups/speculative_hook.py (commit 004c82e),
docs/advanced_features/adaptive_speculative_decoding.md (commit 369fa46); PR 10771, 21599, 24055, 29645.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from simspec.advice.export.parts import BATCH, ONE, Cell, Engine, Form, Names, Synthetic, Written, decimal
from simspec.advice.export.table import by_batch, one_kappa, over_contexts
from simspec.model.errors import ParameterError

FILE = "adaptive_spec.json"
ADAPTIVE = ("EAGLE", "EAGLE3", "NEXTN")

_TABLE = (
    "one candidate per batch size pins the table; with several, SGLang moves between them by accepted length alone and "
    "does not know what a step costs",
    "a key holds from its batch size up, after the batch is padded to the next CUDA graph size",
    "adaptive needs EAGLE or EAGLE3 and topk 1; otherwise, and with attention DP, SGLang falls back to the fixed steps",
)


def write(form: str, cells: Sequence[Cell], most: int | None, names: Names) -> Written:
    """Launch flags, and the file of the adaptive forms."""
    if form == "static":
        kappa, losses = one_kappa(cells)
        settings = _steps(kappa)
        return Written(settings, _words(settings, names), losses=tuple(losses), notes=_other(names))
    if names.method is not None and names.method not in ADAPTIVE:
        raise ParameterError(
            "form", f"form = '{form}' needs --method EAGLE or EAGLE3, not {names.method}: SGLang's adaptive steps "
            "know no other; allowed: --form static"
        )  # fmt: skip
    content, losses, notes = _flat(cells) if form == "flat" else _by_batch(cells, most)
    settings = _steps(max(step for entry in _entries(content) for step in entry["candidate_steps"]))
    words = (*_words(settings, names), "--speculative-adaptive", "--speculative-adaptive-config", FILE)
    files = {FILE: json.dumps(content)}
    return Written({**settings, "adaptive_config": content}, words, {}, files, tuple(losses), notes)


def _entries(content: dict[str, Any]) -> list[dict[str, Any]]:
    return [content] if "candidate_steps" in content else list(content.values())


def _by_batch(cells: Sequence[Cell], most: int | None) -> tuple[dict[str, Any], list[str], tuple[str, ...]]:
    flat, losses = over_contexts(cells)
    content = {str(span.first): {"candidate_steps": [kappa]} for span, kappa in by_batch(flat, most)}
    return content, losses, _TABLE


def _flat(cells: Sequence[Cell]) -> tuple[dict[str, Any], list[str], tuple[str, ...]]:
    kappas = sorted({cell.kappa for cell in cells})
    if kappas[0] == 0:
        raise ParameterError(
            "form", "form = 'flat' has no 0 steps, and the advice is off somewhere; allowed: --form batch or static"
        )  # fmt: skip
    lost = "one list for all loads: SGLang chooses from it by accepted length, not by batch"
    return {"candidate_steps": kappas}, [lost] if len(kappas) > 1 else [], _TABLE[2:]


def imitate(wanted: Synthetic, names: Names) -> Written:
    """Simulated accept length: with the bonus token, its mean only."""
    emitted = round(wanted.emitted, 6)
    environment = {
        "SGLANG_SIMULATE_ACC_LEN": decimal(emitted),
        "SGLANG_SIMULATE_ACC_METHOD": "match-expected",
        "SGLANG_SIMULATE_ACC_TOKEN_MODE": "real-draft-token",
    }
    losses = (
        f"only the mean is imitated: all requests of a batch accept alike, {_two(emitted)}; survival by position "
        "cannot be given",
    )
    notes = (
        "the length counts the bonus token; the default method (multinomial) would round a normal draw of deviation 1 "
        "and miss the mean",
        "SGLANG_SIMULATE_ACC_TOKEN_MODE is read since PR 29645 (July 2026); before PR 10771 the names have no SGLANG_",
    )
    shows = f"accept len: {emitted:.2f}"
    settings = _steps(wanted.kappa)
    return Written(settings, _words(settings, names), environment, losses=losses, notes=notes, shows=shows)


def _two(emitted: float) -> str:
    low = int(emitted)
    share = emitted - low
    return f"{low} tokens" if share == 0.0 else f"{low} or {low + 1} tokens ({100 * share:.0f}% the latter)"


def _steps(kappa: int) -> dict[str, Any]:
    return {
        "speculative_num_steps": kappa,
        "speculative_eagle_topk": 1,
        "speculative_num_draft_tokens": kappa + 1,
    }


def _chain(settings: dict[str, Any]) -> tuple[str, ...]:
    return tuple(word for key, value in settings.items() for word in ("--" + key.replace("_", "-"), str(value)))


def _other(names: Names) -> tuple[str, ...]:
    if names.method is None or names.method in (*ADAPTIVE, "STANDALONE"):
        return ()
    return (f"what these flags mean with {names.method} was not verified: they were read for a chain of EAGLE's kind",)


def _words(settings: dict[str, Any], names: Names) -> tuple[str, ...]:
    own = ["--speculative-algorithm", names.method or "METHOD"]
    if names.draft != "DRAFT" or names.method != "NEXTN":  # the heads of the target draft for NEXTN
        own += ["--speculative-draft-model-path", names.draft]
    return (*own, *_chain(settings))


SGLANG = Engine(
    name="sglang",
    title="SGLang",
    setting="speculative_num_steps",
    command="python3 -m sglang.launch_server --model-path {model}",
    forms={
        "static": Form(ONE, "every version", "arg_groups/speculative_hook.py at 004c82e: topk 1 makes draft tokens "
                       "steps + 1"),
        "batch": Form(BATCH, "since PR 24055 (merged mid 2026)", "adaptive_spec_params.py at 015c872, "
                      "adaptive_step_router.py at a12239f; since when 0 steps are taken is not verified"),
        "flat": Form("one list of candidates", "from PR 21599 until PR 24055",
                     "adaptive_speculative_decoding.md at 369fa46"),
    },
    fixed="static",
    table="batch",
    off="SGLang has no fixed setting for κ = 0: to switch speculation off, leave --speculative-algorithm out",
    write=write,
    imitate=imitate,
    imitate_since="match-expected: since when is not verified",
    imitate_verified="spec_utils.py at 00731f0",
)  # fmt: skip
