"""What does a row of a table say about time?  Milliseconds of one step or round, whatever unit it was printed in."""

from __future__ import annotations

from dataclasses import dataclass

from simspec.evidence.costs.choice import is_plain
from simspec.evidence.costs.names import TIMES
from simspec.evidence.costs.tables import Record
from simspec.model.errors import ParameterError

PLAIN, LOOP, ROUND, VERIFY = "plain decoding", "speculation with κ = 0", "a round", "a target pass by width"
LOOP_WORDS = frozenset(("loop", "speculation", "on", "yes", "true", "spec"))
LONGEST = 1000
ONE_REQUEST, ALL_REQUESTS, EITHER = "one request", "all requests", "one request or all"


@dataclass(frozen=True)
class Timed:
    """One measured time.

    Attributes
    ----------
    kind : str
        `PLAIN`, `LOOP`, `ROUND`, or `VERIFY`: a target pass without drafting; κ = 0 of these is plain.
    kappa : int
        Drafts of the round, as configured; width − 1 of a pass.
    ms : float
        Of one step or round.
    weight : float
        Rounds behind it, 1 where unknown.
    drafted, emitted : float or None
        Drafts and tokens per round, where told.
    draft_ms : float or None
        Drafting, of ``ms``.
    speed_of : str
        Whose speed it was, where it was one: `ONE_REQUEST`, `ALL_REQUESTS`, or `EITHER`; else "".
    batch, context : float or None
    place : str
    """

    kind: str
    kappa: int
    ms: float
    weight: float
    drafted: float | None
    emitted: float | None
    draft_ms: float | None
    speed_of: str
    batch: float | None
    context: float | None
    place: str


def timed(record: Record) -> Timed:
    """The time of a row.

    Raises
    ------
    ParameterError
        A figure is missing or out of range, with file, line and what to give.

    Examples
    --------
    >>> from simspec.evidence.costs.tables import record_of
    >>> round(timed(record_of({"k": 2, "tpot": 4.37, "AL": 2.1}, "x.csv:2")).ms, 3)
    9.177
    """
    own = _Row(record)
    batch, context = own.optional("batch", 1.0), own.optional("context", 0.0)
    kappa, kind = own.kappa_and_kind()
    emitted, drafted, weight = (1.0, 0.0, own.plain_weight()) if kappa == 0 else own.lengths(kappa)
    draft_ms = None if kappa == 0 else own.optional("draft_ms", 0.0)
    ms, speed = own.time(emitted, batch)
    if draft_ms is not None and "verify_ms" in own.has and "round_ms" not in own.has:
        ms += draft_ms
    return Timed(kind, kappa, ms, weight, drafted, emitted, draft_ms, speed, batch, context, record.place)


class _Row:
    """Figures of one row, asked by name."""

    def __init__(self, record: Record) -> None:
        self.record, self.has = record, record.figures

    def missing(self, key: str, message: str) -> ParameterError:
        """As `refuse`, with the columns that may have held it."""
        others = ", ".join(sorted(map(str, self.record.others))[:8])
        return self.refuse(key, message + (f"; columns not known: {others}" if others else ""))

    def refuse(self, key: str, message: str) -> ParameterError:
        return ParameterError(key, f"{self.record.place}: {message}")

    def positive(self, name: str) -> float:
        value = float(self.has[name])
        if not value > 0.0:
            raise self.refuse(name, f"{name} = {value:g} is out of range; allowed: {name} > 0")
        return value

    def optional(self, name: str, least: float) -> float | None:
        if name not in self.has:
            return None
        value = float(self.has[name])
        if value < least:
            raise self.refuse(name, f"{name} = {value:g} is out of range; allowed: {least:g} ≤ {name}")
        return value

    def kappa_and_kind(self) -> tuple[int, str]:
        """κ, and what the row is: κ = 0 is plain decoding unless the row says that the loop of speculation ran."""
        if is_plain(self.record):
            return 0, PLAIN
        name = "kappa" if "kappa" in self.has else "width"
        if name not in self.has:
            raise self.missing("kappa", "kappa is missing; give it (num_speculative_tokens, n_max), or mark plain rows")
        value = float(self.has[name]) - (1.0 if name == "width" else 0.0)
        if value != int(value) or not 0 <= value <= LONGEST:
            raise self.refuse(
                name, f"{name} = {self.has[name]:g} is out of range; allowed: whole numbers up to {LONGEST}"
            )
        if "verify_ms" in self.has and "draft_ms" not in self.has:
            return int(value), VERIFY
        if value == 0.0:
            return 0, LOOP if str(self.has.get("kind", "")) in LOOP_WORDS else PLAIN
        return int(value), ROUND

    def plain_weight(self) -> float:
        return self.optional("predicted_n", 1.0) or 1.0

    def lengths(self, kappa: int) -> tuple[float | None, float | None, float]:
        """Tokens per round, drafts per round, rounds."""
        accepted, drafted = self.optional("accepted_tokens", 0.0), self.optional("draft_tokens", 0.0)
        rounds = self.optional("drafts", 1.0)
        predicted = self.optional("predicted_n", 1.0)
        if rounds is None and predicted is not None and accepted is not None:
            rounds = predicted - accepted
            if rounds < 1.0:
                raise self.refuse(
                    "accepted_tokens", f"{accepted:g} accepted of {predicted:g} tokens leaves no round; one token each"
                )
        made = drafted / rounds if rounds is not None and drafted is not None else None
        if made == 0.0:
            raise self.refuse("draft_tokens", f"nothing was drafted at κ = {kappa}: this row says nothing of a round")
        emitted = self._emitted(kappa, accepted, drafted, rounds)
        limit = kappa + 1.0
        if emitted is not None and not 1.0 <= emitted <= limit + 1e-9:
            raise self.refuse(
                "emitted",
                f"{emitted:.4g} tokens per round do not fit κ = {kappa}; allowed: 1 ≤ E ≤ {limit:g} (accept length, "
                "bonus token included)",
            )
        return emitted, made, rounds or 1.0

    def _emitted(self, kappa: int, accepted: float | None, drafted: float | None, rounds: float | None) -> float | None:
        if "emitted" in self.has:
            return float(self.has["emitted"])
        if accepted is not None and rounds:
            return 1.0 + accepted / rounds
        if accepted is not None and drafted:
            return 1.0 + kappa * accepted / drafted
        if "accepted" in self.has:
            return 1.0 + float(self.has["accepted"])
        if "rate" in self.has:
            rate = float(self.has["rate"])
            if not 0.0 <= rate <= 1.0:
                raise self.refuse("rate", f"rate = {rate:g} is out of range; accepted ÷ drafted is meant, 0 to 1")
            return 1.0 + kappa * rate
        return None

    def time(self, emitted: float | None, batch: float | None) -> tuple[float, str]:
        """ms of a round, and whose speed it came from."""
        name = next((time for time in TIMES if time in self.has), None)
        if name is None:
            raise self.missing("round_ms", "no time; give round_ms, tpot_ms, tok_s, or predicted_ms with predicted_n")
        if name in ("round_ms", "verify_ms"):
            return self.positive(name), ""
        if emitted is None:
            raise self.missing(
                "emitted",
                f"{name} is a time per token, and a round emits several: give emitted (accept length, bonus token "
                "included), accepted (without it), rate (accepted ÷ drafted), or counts",
            )
        if name == "tpot_ms":
            return emitted * self.positive(name), ""
        if name == "predicted_ms":
            if "predicted_n" not in self.has:
                raise self.refuse("predicted_n", "predicted_ms without predicted_n")
            return emitted * self.positive(name) / self.positive("predicted_n"), ONE_REQUEST
        if name == "tok_s_total" and batch is None:
            raise self.refuse("batch", "tok_s_total without batch: how many requests share it?")
        whose = {"tok_s_total": ALL_REQUESTS, "tok_s_per_request": ONE_REQUEST}.get(name, EITHER)
        whose = ONE_REQUEST if whose == EITHER and (batch is None or batch == 1.0) else whose
        share = 1.0 if whose == ONE_REQUEST else float(batch or 1.0)
        return 1000.0 * emitted * share / self.positive(name), whose
