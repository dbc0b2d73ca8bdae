"""Which columns of a table of rounds hold what, and when is it no table of rounds?"""

from __future__ import annotations

from dataclasses import dataclass

from simspec.evidence.costs.names import NAMES, PER_TOKEN, canonical
from simspec.evidence.readers.base import Options, Place
from simspec.model.errors import did_you_mean, shown

ACCEPTED = ("accepted", "num_accepted", "n_accepted", "accepted_tokens", "accepted_drafts", "akzeptiert")
"""Names that say by themselves that drafts are counted, without the bonus token."""
EMITTED = ("accept_len", "accept_length", "acceptance_length", "acc_len", "accept_lengths")
"""Names that engines use with the bonus token and papers without: the caller or the rows must tell."""
DRAFTED = (
    "kappa", "drafted", "num_draft_tokens", "num_draft", "draft_tokens", "gamma", "draft_len", "num_speculative_tokens",
)  # fmt: skip
REQUEST = ("request", "request_id", "question_id", "req_id")
TIMES = ("draft_ms", "verify_ms")
SWEEP = "a cost sweep goes to simspec costs or --costs"


@dataclass(frozen=True)
class Columns:
    """Which column holds what."""

    accepted: str
    drafted: str | int
    bonus: bool | None
    request: str | None
    times: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Of the columns to be read."""
        drafted = () if isinstance(self.drafted, int) else (self.drafted,)
        request = () if self.request is None else (self.request,)
        return tuple(dict.fromkeys((self.accepted, *drafted, *request, *self.times)))


def has_rounds(names: tuple[str, ...], options: Options) -> bool:
    """Whether a table is one of rounds, or a sweep that somebody takes for one."""
    known = (*ACCEPTED, *EMITTED) if options.accepted is None else (options.accepted,)
    return any(name in names for name in known) or bool(_means(names))


def _means(names: tuple[str, ...]) -> list[str]:
    """Columns of times per token in a table by κ: means over many rounds, as a sweep has them."""
    known = {name: NAMES.get(canonical(name)) for name in names}
    return [name for name, own in known.items() if own in PER_TOKEN] if {"kappa", "width"} & {*known.values()} else []


def choose(names: tuple[str, ...], given: Options, place: Place) -> Columns:
    """Columns by the caller's word, else by names that leave no doubt."""
    means = _means(names)
    if means and given.accepted is None and not any(name in names for name in ACCEPTED):
        place.refuse(f"column {shown(means[0])} is a mean over rounds, so this is no table of rounds; {SWEEP}")
    accepted = given.accepted or next((name for name in (*ACCEPTED, *EMITTED) if name in names), None)
    if accepted is None:
        place.refuse(f"no column of accepted lengths is known among {', '.join(names[:20])}; name it (--accepted)")
    drafted = given.drafted
    if drafted is None:  # a κ that contradicts the column is refused at the end
        drafted = next((name for name in DRAFTED if name in names), given.kappa)
    if drafted is None:
        told = ", ".join(map(shown, names[:20]))
        place.refuse(
            f"no column of drafts per round is known among {told}; known names: {', '.join(DRAFTED)}; name it or "
            "give a number (--drafted)"
        )
    request = given.request or next((name for name in REQUEST if name in names), None)
    for name in (accepted, drafted, request):
        if isinstance(name, str) and name not in names:
            place.refuse(f"no column {shown(name)}{did_you_mean(name, names)}")
    bonus = given.bonus_included if given.bonus_included is not None else (False if accepted in ACCEPTED else None)
    return Columns(accepted, drafted, bonus, request, tuple(name for name in TIMES if name in names))
