"""What does llama.cpp take: draft length, confidence limit, synthetic acceptance, under old and new names?

References
----------
ggml-org/llama.cpp: tools/server/README.md (commit 00dc805), docs/speculative.md (commit 067318e), common/common.h;
PR 22397 and 22964 (new names), 27711 (synthetic acceptance).
"""

from __future__ import annotations

from collections.abc import Sequence

from simspec.advice.export.parts import ONE, Cell, Engine, Form, Names, Synthetic, Written, decimal
from simspec.advice.export.table import one_kappa

_NAMES = {
    "spec-draft": ("--spec-draft-n-max", "--spec-draft-n-min", "--spec-draft-p-min"),
    "draft": ("--draft-max", "--draft-min", "--draft-p-min"),
}
_P_MIN = (
    "p-min = 0 makes every round draft κ tokens, as this advice assumes; above 0 a draft stops where the draft model "
    "is unsure, and κ is only a cap (old builds stop at 0.75 unless told)"
)
_TYPE = "add --spec-type (draft-simple, draft-eagle3, draft-mtp, …) with --method; without it your build may not draft"


def write(form: str, cells: Sequence[Cell], most: int | None, names: Names) -> Written:
    """One κ for all loads."""
    kappa, losses = one_kappa(cells)
    longest, shortest, least = _NAMES[form]
    settings: dict[str, int | float | str] = {longest: kappa, shortest: 0, least: 0}
    notes: tuple[str, ...] = (_P_MIN,)
    words = ["-md", names.draft]
    if form == "spec-draft":
        words += ["--spec-type", names.method] if names.method is not None else []
        notes += () if names.method is not None else (_TYPE,)
    words += [word for flag, value in settings.items() for word in (flag, str(value))]
    if len(cells) > 1:
        notes += ("llama.cpp has no table by batch or context",)
    return Written(
        {flag.lstrip("-"): value for flag, value in settings.items()}, tuple(words), {}, {}, tuple(losses), notes
    )


def imitate(wanted: Synthetic, names: Names) -> Written:
    """Synthetic acceptance: unconditional rates, or the mean length with the bonus token."""
    base = write("spec-draft", [Cell(wanted.kappa)], None, names)
    losses: tuple[str, ...] = ()
    if wanted.survival is not None:
        rates = [round(s, 6) for s in wanted.survival]
        emitted = 1.0 + sum(rates)
        flag, value = "--spec-synth-rates", ",".join(map(decimal, rates))
        at = f", acceptance rate per position = ({', '.join(f'{rate:.3f}' for rate in rates)})"
    else:
        emitted, at = round(wanted.emitted, 6), ""
        flag, value = "--spec-synth-len", decimal(emitted)
        losses = (
            "only the mean is imitated: llama.cpp takes the same chance for every draft; give --survival for more",
        )
    settings = {**base.settings, flag.lstrip("-"): value}
    shows = f"mean acceptance length = {emitted:.2f}{at}"
    return Written(settings, (*base.words, flag, value), losses=losses, notes=base.notes, shows=shows)


LLAMACPP = Engine(
    name="llamacpp",
    title="llama.cpp",
    setting="--spec-draft-n-max",
    command="llama-server -m {model}",
    forms={
        "spec-draft": Form(ONE, "since PR 22397 (April 2026)", "tools/server/README.md at 00dc805"),
        "draft": Form(ONE, "before PR 22397", "docs/speculative.md at 067318e"),
    },
    fixed="spec-draft",
    table=None,
    off="llama.cpp drafts wherever a draft is given: to switch speculation off, leave -md and --spec-type out (or "
    "--spec-type none)",
    write=write,
    imitate=imitate,
    imitate_since="since PR 27711 (merged mid 2026)",
    imitate_verified="tools/server/README.md at 00dc805; PR 27711",
)
