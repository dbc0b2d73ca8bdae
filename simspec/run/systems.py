"""Which way to draft keeps most for what it costs?  Rows of a run with several schemes, as sentence and table."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from simspec.model import Cost, Process, Processes, Scheme, Schemes, SimspecError
from simspec.model.identity import canonical_json
from simspec.model.loss import LOSSLESS
from simspec.model.scheme_readings import kappa_in_words, readings
from simspec.run.best_table import PRICES, process_names, scheme_names, with_interval
from simspec.run.system_notes import exact_notes, lost, why_lossy
from simspec.stats.intervals import level_of_look
from simspec.stats.request_tail import REQUEST_TOKENS, request_token_cost
from simspec.text import clean, kappa_set, number, table, wrapped
from simspec.theory.scheme_routes import scheme_law

HEADER = ("system", "best κ", "tied κ", "speed-up", "exact", "E[tokens]", "p99 round", "p99 token", "drafted", "wasted",
          "width", "steps", "loses")  # fmt: skip
FOOT = (
    "per round: p99 round is the cost of the dearest 1%, drafted the tokens verified, wasted those of them not kept, "
    "width what the target reads at once, steps those of the draft; p99 token: cost per token that 99% of answers of "
    f"{REQUEST_TOKENS} tokens stay below (normal approximation).  Costs in plain target steps.  loses: "
    "what is lost per emitted token, each lossy way by a measure of its own, told below.  κ+: the largest κ run."
)


@dataclass(frozen=True, eq=False)
class System:
    """One scheme at its best κ.

    Attributes
    ----------
    name : str
        Its label, else its type and what tells it apart.
    pair : str
        The process it runs on, in short.
    row : dict
        The row of κ* of the estimates.
    """

    name: str
    pair: str
    row: dict[str, Any]

    @property
    def scheme(self) -> Scheme | None:
        """The scheme; None if this version does not know it."""
        return scheme_of(self.row)

    @property
    def lossless(self) -> bool:
        """Whether the output is the target's; a scheme of a user's own is taken at its word, here or when it ran."""
        if self.scheme is None:
            return (self.row.get("loses") or LOSSLESS) == LOSSLESS
        return self.scheme.lossless

    @property
    def speedup(self) -> float:
        return float(self.row["speedup"])

    @property
    def width(self) -> float:
        """Tokens that the target reads in a pass."""
        return float(self.row["mean_drafted"]) + 1.0

    @property
    def request_p99(self) -> float:
        """Cost per token that 99% of answers stay below; NaN for exact values and where answers are units."""
        row, process = self.row, process_of(self.row)
        if process is not None and process.unit == "generation":
            return float(row["unit_token_cost_p99"])
        tokens = row["rounds"] * row["mean_tokens"]
        level = level_of_look(row["level"], row.get("looks", 0))
        return request_token_cost(row["speedup"], row["speedup_high"], level, int(row["units"]), tokens)

    @property
    def no_exact(self) -> str:
        """Why there is no exact speed-up; nothing if there is one."""
        if not math.isnan(self.row["speedup_exact"]):
            return ""
        scheme, process = self.scheme, process_of(self.row)
        if scheme is None or process is None:
            return "none was stored"
        try:
            scheme_law(scheme, process, int(self.row["kappa"])).speedup(cost_of(self.row))
        except SimspecError as error:
            return str(error)
        return "made by a version that had no exact route"

    @property
    def remarks(self) -> list[str]:
        """What must be said of it below a table."""
        scheme, process = self.scheme, process_of(self.row)
        told = [] if self.lossless else [why_lossy(self.row)]
        if scheme is None:
            named = clean(str(self.row.get("scheme")))
            told.append(f'type = "{named}" is not known here; its numbers are shown as stored: the '
                        "package that registers it is not installed or not imported")  # fmt: skip
        told += [f"no exact value: {self.no_exact}"] if self.no_exact else []
        if scheme is not None and process is not None:
            told += readings(scheme, process, cost_of(self.row), int(self.row["kappa"]))
        if scheme is not None:
            told += scheme.notes
            told += [] if process is None else exact_notes(scheme, process, int(self.row["kappa"]))
        return told

    def cells(self) -> list[str]:
        """What the table says of it."""
        row = self.row
        star = f"{row['kappa_star']}{'+' if row['at_kappa_max'] else ''}"
        return [
            self.name if self.lossless else f"{self.name} (lossy)",
            f"off ({row['kappa_star']})" if row["off_is_better"] else star,
            kappa_set(row["indistinguishable_kappas"]),
            with_interval(row, "speedup"),
            number(row["speedup_exact"]),
            number(row["mean_tokens"], 3),
            number(row["round_cost_p99"], 3),
            number(self.request_p99, 3),
            *(number(value, 2) for value in (row["mean_drafted"], row["mean_wasted"], self.width, row["mean_steps"])),
            lost(row, self.lossless),
        ]


def scheme_of(row: dict[str, Any]) -> Scheme | None:
    """The scheme behind a row; None if this version does not know it."""
    try:
        keys = json.loads(row.get("scheme_parameters") or "{}")
        return Schemes.make(type=row.get("scheme") or "chain", label=row.get("scheme_label") or "", **keys)
    except (SimspecError, TypeError):
        return None


def process_of(row: dict[str, Any]) -> Process | None:
    """The process behind a row; None if this version does not know it."""
    try:
        return Processes.make(type=row["process"], **json.loads(row["parameters"]))
    except (SimspecError, TypeError):
        return None


def cost_of(row: dict[str, Any]) -> Cost:
    """The cost of a row."""
    keys: dict[str, Any] = {key: float(row[key]) for key in PRICES} | json.loads(row.get("cost_tables") or "{}")
    return Cost(**keys)


def systems(
    records: Sequence[dict[str, Any]], every: set[tuple[str, str]], order: Sequence[Scheme] = ()
) -> list[System]:
    """The systems of `Dataset.best_records`, those of ``order`` in that order; a table lists them by process.

    ``every`` are the pairs of process and parameters, to name them briefly.
    """
    names, _ = process_names(list(records), every)
    named = zip(map(clean, scheme_names(records)), map(clean, names), records, strict=True)
    found = [System(*own) for own in named]
    place = {(one.type, canonical_json(one.parameters()), one.label): i for i, one in enumerate(order)}

    def rank(own: System) -> int:
        kind, parameters, label = (own.row.get(key) or "" for key in ("scheme", "scheme_parameters", "scheme_label"))
        return place.get((kind, parameters, label), len(place))

    return sorted(found, key=rank)


def families(found: Sequence[System]) -> list[list[System]]:
    """Systems that may be compared: at one price, and on one process unless each of them has its own."""
    out: dict[Any, list[System]] = {}
    for own in found:
        out.setdefault(_price(own), []).append(own)
    if any(len({own.name for own in same}) < len(same) for same in out.values()):
        out = {}
        for own in found:
            out.setdefault((_price(own), own.row["process"], own.row["parameters"], own.row["label"]), []).append(own)
    return list(out.values())


def _price(own: System) -> tuple[Any, ...]:
    return (*(own.row[key] for key in PRICES), own.row.get("cost_tables") or "{}")


def sentence(family: Sequence[System]) -> str:
    """Which system wins, by how much, and what it costs; those that change the output are told apart.

    Examples
    --------
    >>> row = {"method": "exact", "kappa_star": 4, "speedup": 2.0, "mean_drafted": 4.0, "mean_wasted": 2.2, "off": 1.0}
    >>> slow = {**row, "kappa_star": 5, "speedup": 1.6, "scheme": "chain"}
    >>> told = sentence([System("tree", "", row | {"scheme": "tree"}), System("chain", "", slow)])
    >>> told.partition(";")[0]
    'tree is fastest, 2.0000x a plain step at κ = 4, 1.250 times chain (second)'
    """
    rivals = [own for own in family if own.lossless] or list(family)
    best = max(rivals, key=lambda own: own.speedup)
    if best.row["off"] * best.speedup <= 1.0:
        return (
            f"none of these beats speculation switched off; the best is {best.name}, {best.speedup:.4f}x a plain step"
        )
    told = f"{best.name} is fastest, {with_interval(best.row, 'speedup')}x a plain step at κ = {best.row['kappa_star']}"
    others = sorted((own for own in rivals if own is not best), key=lambda own: -own.speedup)
    chain = next((own for own in rivals if (own.row.get("scheme") or "chain") == "chain"), best)
    against = [(own, " (second)") for own in others[:1]] + [(chain, "")] * (chain not in (best, *others[:1]))
    told += ", ".join(["", *(f"{best.speedup / own.speedup:.3f} times {own.name}{what}" for own, what in against)])
    told += f"; a round drafts {best.row['mean_drafted']:.1f} tokens and wastes {best.row['mean_wasted']:.1f}"
    alike = [own.name for own in rivals if own is not best and _overlap(own, best)]
    if alike:
        more = f" and {len(alike) - 5} more" if len(alike) > 5 else ""
        told += f"; its interval overlaps that of {' and '.join(alike[:5])}{more}"
    lossy = [f"{own.name} {own.speedup:.2f}x" for own in family if not own.lossless and own not in rivals]
    return told + (f"; lossy, so no rivals: {', '.join(lossy)}" if lossy else "")


def _overlap(own: System, best: System) -> bool:
    """Whether the intervals meet, which says nothing of them is proven, however their words are shared."""
    if own.row.get("method") == "exact":
        return abs(own.speedup - best.speedup) <= 1e-12
    return bool(own.row["speedup_high"] >= best.row["speedup_low"])


def systems_text(found: Sequence[System], most: int | None) -> str:
    """Sentence and table of every family, and why an exact value is missing."""
    lines, told, left = list[str](), list[System](), len(found) if most is None else most
    for family in families(found):
        if left <= 0:
            break
        shown, left = family[:left], left - len(family)
        told += shown
        pairs = list(dict.fromkeys(own.pair for own in family))
        lines += [wrapped(sentence(family)), "", _where(family, pairs)]
        header = HEADER if len(pairs) == 1 else ("system", "on", *HEADER[1:])
        rows = [own.cells() if len(pairs) == 1 else [own.cells()[0], own.pair, *own.cells()[1:]] for own in shown]
        lines += [table(header, rows), ""]
    lines += [wrapped(FOOT)]
    if any(not own.lossless for own in told):
        lines.append(
            wrapped("lossy: the output is not the target's, so its speed is not to be held against the others")
        )
    return "\n".join([*lines, *map(wrapped, remarks(told))])


def remarks(found: Sequence[System]) -> list[str]:
    """What κ counts, what is lossy and by which measure, why an exact value is missing, what is assumed; each once."""
    told: dict[str, list[str]] = {}
    for own in found:
        for remark in own.remarks:
            told.setdefault(remark, []).append(own.name)
    return [what_kappa_is(found), *(f"{', '.join(dict.fromkeys(names))}: {remark}" for remark, names in told.items())]


def what_kappa_is(found: Sequence[System]) -> str:
    """What κ counts in each system.

    Examples
    --------
    >>> what_kappa_is([System(kind, "", {"scheme": kind}) for kind in ("chain", "tree", "dynamic_tree")])
    'κ is drafts of a round (chain), nodes of the tree (tree, dynamic_tree)'
    """
    named: dict[str, list[str]] = {}
    for own in found:
        named.setdefault(kappa_in_words(own.row.get("scheme") or "chain"), []).append(own.name)
    return "κ is " + ", ".join(f"{what} ({', '.join(dict.fromkeys(names))})" for what, names in named.items())


def _where(family: Sequence[System], pairs: list[str]) -> str:
    cost = cost_of(family[0].row)
    return f"on {pairs[0]}; {cost}" if len(pairs) == 1 else f"at {cost}"
