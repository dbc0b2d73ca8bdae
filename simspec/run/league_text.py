"""How is the league read?  The answer in a sentence, then who gains how much where, then what was assumed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simspec.text import number, table, wrapped

if TYPE_CHECKING:
    from simspec.run.league import League
    from simspec.run.league_stage import Place

COLUMNS = 7
"""Surroundings side by side."""
ABREAST = 3
"""Up to so many surroundings each have a table of their own, which says more."""
_MARKS = {"beats": "*", "loses": " ", "cannot tell": "~"}


def shown(found: League) -> str:
    """The whole league as text."""
    where = list(dict.fromkeys(place.surrounding for place in found.places))
    tables = _one_by_one(found, where) if len(where) <= ABREAST else _side_by_side(found, where)
    return "\n".join([wrapped(answer(found)), "", *tables, "", *_assumed(found)])


def answer(found: League) -> str:
    """Whether adapting beats the best fixed κ, where, by whom and by how much.

    Examples
    --------
    >>> from simspec.model import Iid
    >>> from simspec.run.league import league
    >>> from simspec.run.surroundings import Surrounding
    >>> own = league(windows=20_000, where={"mine": Surrounding(Iid(alpha=0.7), "my drafts")})
    >>> print(answer(own)[:58])
    mine: no controller beats the best fixed κ = 4 (S = 1.981)
    """
    where = list(dict.fromkeys(place.surrounding for place in found.places))
    if len(where) <= ABREAST:
        parts = [[place for place in found.places if place.surrounding == name] for name in where]
        return "\n".join(_said(found, own) for own in parts)
    ahead = [name for name in where if any(_ahead(found, [p for p in found.places if p.surrounding == name]))]
    least: dict[str, list[float]] = {}
    for place in _played(found.places):
        least.setdefault(place.controller, []).append(place.gain)
    safe = max(least, key=lambda name: min(least[name]))
    mean = max(least, key=lambda name: sum(least[name]) / len(least[name]))
    names = ", ".join(ahead) or "none"
    return (
        f"Adapting beats the best fixed κ in {len(ahead)} of {len(where)} surroundings ({names}).  "
        f"Best on average: {mean}, {_percent(sum(least[mean]) / len(least[mean]))} (at worst "
        f"{_percent(min(least[mean]))}); safest: {safe}, at worst {_percent(min(least[safe]))}."
    )


def _said(found: League, places: list[Place]) -> str:
    """The answer for one of the surroundings."""
    best = max(_played(places), key=lambda place: place.gain)
    name, fixed = best.surrounding, f"the best fixed κ = {best.kappa_star} (S = {best.best_fixed:.3f})"
    gain = f"{_percent(best.gain)} ± {100 * best.gain_half:.2f}%"
    today = next((f"; {place.controller}, makes {_percent(place.gain)}" for place in places if _today(place)), "")
    if best not in _ahead(found, places):
        close = "the closest is" if best.gain < 0.0 else "not even the first can be told from it,"
        why = ", as rounds are taken not to depend on each other" if name in found.forgetful else ""
        return f"{name}: no controller beats {fixed}{why}; {close} {best.controller} with {gain}{today}."
    pays = best.break_even_switch
    price = "" if pays != pays else f"; at {pays:.3g} plain steps per change of κ nothing is left of it"
    return f"{name}: adapting pays: {best.controller} is {gain} ahead of {fixed}{price}{today}."


def _today(place: Place) -> bool:
    """Whether it is the draft length that is set now, and another is best."""
    from simspec.run.contenders import NOW, now

    return place.controller.endswith(NOW) and place.controller != now(place.kappa_star)


def _ahead(found: League, places: list[Place]) -> list[Place]:
    """Those that beat the best fixed κ at the level of the league, as one family."""
    own = _played(places)
    return [place for place in own if place.surely_ahead(found.level, len(own))]


def _played(places: list[Place]) -> list[Place]:
    """Those that were played and that change κ; a league of none has only fixed ones."""
    own = [place for place in places if not place.informed]
    return [place for place in own if place.flips_per_1000 > 0.0] or own


def _percent(share: float) -> str:
    return f"{100 * share:+.2f}%"


def _side_by_side(found: League, where: list[str]) -> list[str]:
    """Gains in %, some surroundings beside each other."""
    who = list(dict.fromkeys(place.controller for place in found.places))
    cell = {(place.controller, place.surrounding): place for place in found.places}
    fixed = {place.surrounding: place for place in found.places}
    out = []
    for first in range(0, len(where), COLUMNS):
        some = where[first : first + COLUMNS]
        rows = [["best fixed κ: S", *(_best(fixed[x], cell) for x in some)]]
        rows += [
            [name, *(_cell(cell.get((name, x))) for x in some)] for name in who if any((name, x) in cell for x in some)
        ]
        out += ["", table(["gain over it in %", *some], rows)]
    return out[1:]


def _best(place: Place, cell: object) -> str:
    return "by period" if place.period else f"{place.kappa_star}: {place.best_fixed:.3f}"


def _cell(place: Place | None) -> str:
    if place is None:
        return "–"
    mark = "=" if place.informed else _MARKS[place.verdict]
    return f"{100 * place.gain:+.2f}{mark}" + (f" {place.period:>3}" if place.period else "")


def _one_by_one(found: League, where: list[str]) -> list[str]:
    """A table for each of few surroundings: gain, speed, drafts, changes, and what a change may cost."""
    out = []
    for name in where:
        own = [place for place in found.places if place.surrounding == name]
        rows = [["best fixed κ", "", f"{own[0].best_fixed:.4f}", str(own[0].kappa_star), "0", ""]]
        rows += [_row(place) for place in sorted(own, key=lambda place: -place.gain)]
        head = [name, "gain in %", "S", "mean drafts", "changes per 1,000 rounds", "a change may cost"]
        out += ["", table(head, rows)]
    return out[1:]


def _row(place: Place) -> list[str]:
    if place.exact:
        return [f"{place.controller} (exact)", f"{100 * place.gain:+.2f}=", f"{place.speedup:.4f}", "", "", ""]
    mark = "=" if place.informed else _MARKS[place.verdict]
    gain = f"{100 * place.gain:+.2f} ± {100 * place.gain_half:.2f}{mark}"
    pays = float("nan") if place.informed else place.break_even_switch
    return [
        place.controller, gain, f"{place.speedup:.4f}", f"{place.mean_drafted:.2f}", f"{place.flips_per_1000:.0f}",
        "" if pays != pays else number(pays, 3),
    ]  # fmt: skip


def _assumed(found: League) -> list[str]:
    """What stands behind the figures."""
    from simspec.run.contenders import GATE, WHO

    widest = max(place.gain_half for place in found.places)
    shut = [place for place in found.places if place.controller == GATE and place.share_off > 0.5]
    told = [
        "* beats the best fixed κ, which nobody knows beforehand, taken by itself; ~ cannot be told from it at "
        f"{found.level:.0%} (intervals are at most ±{100 * widest:.2f})"
        + ("; = knows what no controller is told." if any(place.informed for place in found.places) else "."),
        f"{found.cost}; κ from 1 to {found.longest}; {found.windows:,} rounds each, seed {found.seed}"
        + (f"; {found.serving}." if found.serving.identity() else "."),
        *(f"{name}: {says}." for name, says in found.where.items()),
        WHO,
    ]
    if any(place.period for place in found.places):
        told.append("adversary: behind each gain the tokens between two changes, against the best fixed κ for them.")
    if shut:
        names = ", ".join(place.surrounding for place in shut)
        told.append(
            f"{GATE} looks every 32 rounds and cannot open again: chance alone shuts it in the end (1.7% of looks at "
            f"α = .7 and κ = 4, simspec.gate_trips).  Less than half of its rounds drafted in {names}."
        )
    return [line for text in told for line in wrapped(text, "", "  ").split("\n")]
