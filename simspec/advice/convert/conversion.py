"""What is one engine's acceptance figure in another's words?  What does not follow is null, with its reason."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from simspec.advice.convert.checks import contradiction, never_accepted, shown_value
from simspec.advice.convert.conventions import BY_NAME, CONVENTIONS, DEAD_ENDS, QUANTITIES, Convention, Printed
from simspec.advice.convert.rules import Derived, follow, why_not
from simspec.advice.convert.typed import given_quantities
from simspec.evidence.source import Unknown
from simspec.model.errors import ParameterError, did_you_mean, shown
from simspec.text import WIDTH, bullets, number, table, wrapped

_SLACK = 1e-6
_RARE = ("agreed_tokens", "naive_wrong_emitted_per_round", "alpha")
"""Quantities of one convention only, or a model's: not missed where they are not known."""


class Conversion:
    """Printed figures of one convention, and everything that follows.

    Attributes
    ----------
    convention : Convention
        Where they were printed.
    target : Convention or None
        Whose words are asked for; None: all quantities.
    derived : dict
        Quantity → value and the equation it came from.
    notes : list of str
        What a reader of the figures has to know.
    """

    def __init__(self, convention: Convention, target: Convention | None, derived: dict[str, Derived]) -> None:
        self.convention, self.target, self.derived = convention, target, derived
        self.notes = _notes(convention, derived)

    def __getitem__(self, name: str) -> Any:
        """A quantity; an `Unknown` with its reason where it does not follow."""
        if name not in QUANTITIES:
            raise KeyError(name)
        if name in self.derived:
            return self.derived[name].value
        return Unknown(why_not(name, self.convention.same_length))

    @property
    def fields(self) -> dict[str, Any]:
        """In the words of ``target``, ready to be typed into it; an `Unknown` where a field does not follow."""
        target = self.target or BY_NAME["plain"]
        out = {}
        for field in target.fields:
            own = target.printed(field)
            value = self[own.quantity]
            if not isinstance(value, Unknown):
                value = [1.0, *value] if own.leading else value - own.plus if own.plus else value
            out[field] = value
        return out

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; what does not follow is None and stands in ``reasons``."""
        fields = self.fields
        return {
            "from": self.convention.name,
            "to": None if self.target is None else self.target.name,
            "values": {name: None if isinstance(value, Unknown) else value for name, value in fields.items()},
            "how": {name: own.text for name, own in self.derived.items()},
            "reasons": {name: value.reason for name, value in fields.items() if isinstance(value, Unknown)},
            "notes": self.notes,
        }

    def __repr__(self) -> str:
        target = self.target or BY_NAME["plain"]
        known: list[list[str]] = []
        open_: dict[str, list[str]] = {}
        for field, value in self.fields.items():
            name = target.printed(field).quantity
            if not isinstance(value, Unknown):
                known.append([field, shown_value(value), *self._told(target.printed(field))])
            elif self.target is not None or name not in _RARE:
                open_.setdefault(value.reason, []).append(field)
        own = self.convention
        parts = [wrapped(self._sentence()), _known(known)]
        parts.append(wrapped(f"its words: {own.formula}{_cannot(own)}"))
        parts.append(bullets("note", self.notes))
        parts.append(bullets("not known", [f"{', '.join(fields)}: {reason}" for reason, fields in open_.items()]))
        return "\n\n".join(part for part in parts if part)

    def _told(self, printed: Printed) -> list[str]:
        """Where a printed figure comes from, and what it means; a figure that is not quite the quantity says so."""
        name = printed.quantity
        came, means = self.derived[name].text, QUANTITIES[name].means
        if printed.plus:
            came, means = f"{'κ' if name == 'kappa' else name} + {-printed.plus}", f"{means} + {-printed.plus}"
        return [came, f"1 for the target, then {means}" if printed.leading else means]

    def _sentence(self) -> str:
        own = {name: entry.value for name, entry in self.derived.items()}
        said = [
            f"E = {number(own['mean_emitted_per_round'])} tokens per round, bonus token counted"
            if "mean_emitted_per_round" in own
            else "E does not follow",
            f"accepted ÷ drafted = {number(own['draft_acceptance_rate'])}" if "draft_acceptance_rate" in own else "",
            f"κ = {own['kappa']}" if "kappa" in own else "",
        ]
        return f"{self.convention.engine} ({self.convention.name}): {'; '.join(part for part in said if part)}"


def convert(convention: str, to: str | None = None, **fields: Any) -> Conversion:
    """Acceptance figures of one engine in the words of another.

    Parameters
    ----------
    convention : str
        Where they were printed, e.g. ``"vllm-v0"``; `conventions` lists all, ``simspec convert --list`` shows them.
    to : str, optional
        Whose words are asked for; default: every quantity that follows.
    **fields
        The printed figures by name, numbers, lists or text (``"64.2%"``); ``kappa`` and ``drafts`` are always allowed.

    Returns
    -------
    Conversion
        ``own["mean_emitted_per_round"]`` is a number, or an `Unknown` with its reason; ``own.fields`` is in the words
        of ``to``.

    Raises
    ------
    ParameterError
        A name is unknown, figures contradict each other, or nothing of a round follows from them.

    References
    ----------
    The definitions are those of the engines' own documentation and source; the log lines are read by `simspec.fit`.

    Examples
    --------
    >>> own = convert("vllm-v0", k=3, drafted=13311, accepted=8547, emitted=10616)
    >>> own["drafts"], round(own["mean_emitted_per_round"], 4), own["survival"].reason[:12]
    (4437, 2.3926, 'follows from')
    >>> convert("sglang-before-23530", to="sglang", accept_len=2.17, num_draft_tokens=4).fields["accept_rate"]
    0.38999999999999996
    """
    own = _named(convention)
    target = None if to is None else _named(to)
    if not fields:
        raise ParameterError("fields", f"nothing given; {own.name} prints {', '.join(own.fields)}")
    given = given_quantities(own, fields)
    derived = follow(given, own.same_length)
    wrong = contradiction(given, derived, own.same_length)
    if wrong is not None:
        raise ParameterError(wrong[0], wrong[1] + _fits_elsewhere(own, fields))
    dead = [name for name in given if name in DEAD_ENDS]
    if dead and "mean_emitted_per_round" not in derived:
        raise ParameterError(dead[0], f"{own.name}: {dead[0]} cannot be converted: {DEAD_ENDS[dead[0]]}")
    return Conversion(own, target, derived)


def conventions() -> tuple[Convention, ...]:
    """Every convention known.

    Examples
    --------
    >>> [own.name for own in conventions()][:3]
    ['plain', 'iid', 'vllm-v0']
    """
    return CONVENTIONS


def listed() -> str:
    """All conventions as a table, and their fields.

    Examples
    --------
    >>> "sglang-before-23530" in listed()
    True
    """
    lines = [table(["name", "engine", "versions"], [[own.name, own.engine, own.versions] for own in CONVENTIONS]), ""]
    for own in CONVENTIONS:
        fields = QUANTITIES if own.name == "plain" else [*own.fields, "kappa", "drafts"]
        told = f"{own.name}\nmeans: {own.formula}{_cannot(own)}\nfields: {', '.join(dict.fromkeys(fields))}"
        lines += [wrapped(line, "  " if at else "", "    ") for at, line in enumerate(told.split("\n"))]
    return "\n".join(lines)


def _cannot(own: Convention) -> str:
    return "" if own.cannot == "–" else f"\ncannot give: {own.cannot}"


def _known(rows: list[list[str]]) -> str:
    """What is known, with its meaning beside it, or below where lines would be too long."""
    if not rows:
        return ""
    whole = table(["quantity", "value", "from", "meaning"], rows)
    if max(map(len, whole.split("\n"))) <= WIDTH:
        return whole
    values, means = [row[:3] for row in rows], [[row[0], row[3]] for row in rows]
    return f"{table(['quantity', 'value', 'from'], values)}\n\n{table(['quantity', 'meaning'], means)}"


def _fits_elsewhere(own: Convention, fields: dict[str, Any]) -> str:
    """Conventions with the same fields under which the figures agree."""
    fits = []
    for other in CONVENTIONS:
        if other is own or other.name == "plain":
            continue
        try:
            given = given_quantities(other, fields)
        except ParameterError:
            continue
        if not set(given) & set(DEAD_ENDS) and contradiction(given, *_read(given, other)) is None:
            fits.append(other.name)
    return f"; the figures fit {' and '.join(fits)}" if fits else ""


def _read(given: dict[str, Any], own: Convention) -> tuple[dict[str, Derived], bool]:
    return follow(given, own.same_length), own.same_length


def _named(name: str) -> Convention:
    if name not in BY_NAME:
        raise ParameterError("convention", f"unknown convention {shown(name)}{did_you_mean(name, BY_NAME)}")
    return BY_NAME[name]


def _notes(convention: Convention, derived: dict[str, Derived]) -> list[str]:
    """What is said beside the numbers."""
    value = {name: own.value for name, own in derived.items()}
    notes = [f"{name}: {DEAD_ENDS[name]}" for name in value if name in DEAD_ENDS]
    emitted, kappa, rounds = (value.get(name) for name in ("mean_emitted_per_round", "kappa", "drafts"))
    if "alpha" in value:
        notes.append("i.i.d. drafts are assumed: measured rates change with the position")
    if emitted is not None and abs(emitted - 1.0) < _SLACK:
        seen = f" {never_accepted(rounds)}" if rounds else ""
        notes.append(f"E is exactly 1: no draft was accepted{seen}; a broken draft rather than a weak one")
    if emitted is not None and kappa and abs(emitted - kappa - 1.0) < _SLACK:
        notes.append("E is exactly κ + 1: every draft was accepted; suspect a numeric fault in the verification")
    drafted = value.get("mean_drafted_per_round")
    if drafted is not None and drafted < 0.5:
        notes.append(
            f"{drafted:.2f} drafts per round: the rate says nothing where hardly anything is drafted; E = {emitted:.4g}"
            if emitted is not None
            else f"{drafted:.2f} drafts per round: the rate says nothing where hardly anything is drafted"
        )
    if not convention.same_length and "survival" in value:
        notes.append("drafts may be shorter than κ: 'not offered' and 'rejected' mix in the survival")
    notes += _rising(value.get("cond_alpha"))
    return notes


def _rising(alphas: Iterable[float | None] | None) -> list[str]:
    known = [a for a in alphas or () if a is not None]
    if len(known) > 2 and known[-1] > known[0] + 0.1:
        return [
            f"conditional α rises from {known[0]:.2f} to {known[-1]:.2f} with the position: easy and hard rounds are "
            "mixed; the mean hides it"
        ]
    return []
