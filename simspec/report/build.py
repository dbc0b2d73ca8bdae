"""How does a result folder become one page?  Read, chosen, drawn, escaped, written in one step."""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simspec.model import DatasetError
from simspec.report import curves, panel
from simspec.report import lengths as accepted
from simspec.report.draw import need_matplotlib
from simspec.report.origin import origin
from simspec.report.page import document, esc, figure, gallery, paragraph, table
from simspec.report.points import Point, points
from simspec.report.select import choose, shown, spread
from simspec.report.steered import steered_section
from simspec.report.summary import summary
from simspec.report.systems import systems_section
from simspec.report.verdicts import alarm, sentences, verdict_section
from simspec.run.best_table import with_interval
from simspec.run.dataset import Dataset, read
from simspec.text import kappa_set, number, plural

if TYPE_CHECKING:
    import pandas as pd

    from simspec.claims.validation import Validation

Section = tuple[str, str, str]


_HOW = {
    "simulate": "{windows:,} windows per simulation and κ",
    "multinomial": "{windows:,} windows per simulation and κ, their counts drawn at once (multinomial)",
    "exact": "exact values: nothing was drawn or counted, and intervals have no width",
}
"""What was done, by method."""
_LINES = {
    "simulate": "simulated, with its interval",
    "multinomial": "drawn, with its interval",
    "exact": "exact values",
}
"""What a line or bar shows, by method."""


def report(
    results: str | Path, output: str | Path = "report.html", where: Mapping[str, Any] | None = None
) -> Path:  # fmt: skip
    """Write a result folder as one self-contained offline HTML page.

    Parameters
    ----------
    results : str or Path
        A folder that ``simspec run`` or ``simspec validate`` wrote.
    output : str or Path
        The file to write; one that exists is replaced.  No script, no font, no image and no link leads out of it.
    where : mapping, optional
        Only the rows whose columns say so, as for `simspec.run.dataset.Dataset.where`.

    Returns
    -------
    Path
        The file written.

    Raises
    ------
    DatasetError
        The folder cannot be read, or the file cannot be written.
    SimspecError
        matplotlib is missing.

    Examples
    --------
    >>> import simspec, tempfile, pathlib
    >>> table = {"name": "tiny", "windows": 10_000, "kappa": [0, 4], "process": {"type": "iid", "alpha": 0.7}}
    >>> with tempfile.TemporaryDirectory() as place:
    ...     data = simspec.sweep(table, output=pathlib.Path(place) / "tiny")
    ...     page = report(data.path, pathlib.Path(place) / "tiny.html").read_text(encoding="utf-8")
    >>> page[:15], "i.i.d. α = 0.7" in page
    ('<!DOCTYPE html>', True)
    """
    need_matplotlib()
    target = Path(output)
    _check_target(target)
    data = read(results)
    data = data.where(**where) if where else data
    try:
        page = build(data)
    except (KeyError, TypeError, ValueError, StopIteration) as error:
        raise DatasetError(f"{data.path}: is damaged ({type(error).__name__}: {error})") from None
    _write(page, target)
    return target


def build(data: Dataset) -> str:
    """The page of an opened folder."""
    held = points(data.estimates)
    if not held:
        why = f"its {plural(len(data.failed), 'simulation')} failed" if data.failed else "run the scenario again"
        raise DatasetError(f"{data.path}: holds no estimates; {why}")
    judged, counts = _judged(data), data.counts  # what cannot be read is said before anything is drawn
    fixed = [point for point in held if not point.policy]
    shared = [
        ("policies", "Who chooses κ", steered_section(held)),
        ("kappa", "Speed-up against κ", kappa_curves(fixed)),
        ("correlation", "What the construction of a correlation decides", correlation(fixed)),
        ("accepted", "Accepted length against the exact law", accepted_lengths(fixed, counts)),
        ("provenance", "Provenance", origin(data.place, data.manifest, held)),
    ]
    if judged is not None:
        return _claims_page(judged, shared)
    name = data.scenario.name
    how = _HOW[data.scenario.method].format(windows=data.scenario.windows)
    lead = paragraph(f"A simspec sweep: {plural(len(held), 'point')}, {how}.", "lead")
    ways = ("systems", "Ways to draft and to verify", systems_section(data))
    sections = [ways, ("summary", "Best draft length", summary(held)), *shared]
    return document(name, lead, sections)


def _judged(data: Dataset) -> Validation | None:
    if data.manifest.get("kind") != "claims":
        return None
    from simspec.claims.validation import Validation

    return Validation.stored(data)


def _claims_page(found: Validation, shared: Sequence[Section]) -> str:
    from simspec.claims.judge import FALSE_VERDICT

    lead = (
        "Predictions about speculative decoding, simulated and held against the exact answer. κ is the number of draft "
        "tokens per round, α the acceptance rate of one examined draft, S the speed-up against one plain target step."
    )
    sections = [
        ("true", "What is true instead" if found.agrees else "Nothing is judged",
         alarm(found.disagreements) + sentences(found.sentences)),
        ("verdicts", "Verdicts", verdict_section(found.rows, FALSE_VERDICT)),
        *shared,
    ]  # fmt: skip
    return document("The claims, judged", paragraph(lead, "lead"), sections)


def kappa_curves(held: Sequence[Point]) -> str:
    """The κ-curves: what the marks mean, then the figures; nothing where a policy chooses κ everywhere."""
    if not held:
        return ""
    chosen = choose(held)
    key = _key(
        ("line", _LINES[held[0].method]), ("ring", "exact"), ("star", "best κ"),
        ("tint", "κ that cannot be told apart from the best"), ("dash", "speculation off, 1/off"),
    )  # fmt: skip
    intro = f"{_upper(shown(len(chosen), len(held), 'points'))}{_rule(len(chosen), len(held))}. " + (
        "Where the band is narrower than the line, the strip below a curve shows it enlarged."
    )
    figures = [
        figure(curves.curve(curves.drawn(p), f"k{i}"), f"{p.name} · {p.price}", _under_curve(p))
        for i, p in enumerate(chosen)
    ]
    return paragraph(intro) + key + gallery(figures)


def _under_curve(point: Point) -> list[str]:
    best, exact = point.best, point.exact
    lines = [
        point.what if point.label else "",
        f"best κ {best['kappa_star']}{' (largest run)' if best['at_kappa_max'] else ''}: "
        f"{with_interval(best, 'speedup')}; {curves.alike(point)}",
    ]
    beyond = [kappa for kappa in point.kappas if kappa > curves.drawn(point).kappas[-1]]
    return [
        *lines,
        f"exact: best κ {exact.kappa_star}, {number(max(exact.speedups))}"
        if exact
        else "no exact route for this process",
        f"also run, beyond the figure: κ = {kappa_set(beyond)}" if beyond else "",
    ]


def correlation(held: Sequence[Point]) -> str:
    """The panels of constructions at the same α and ρ; nothing if there are none."""
    found = panel.groups(held)
    chosen = spread(found, panel.MOST)
    if not chosen:
        return ""
    intro = (
        "The same acceptance rate α and the same lag-1 correlation ρ of neighbouring outcomes, but different rules for "
        "what happens between two windows, or different processes altogether. Bars are intervals, and for κ the set "
        f"that cannot be told apart. {_upper(shown(len(chosen), len(found), 'combinations'))}."
    )
    key = _key(
        ("bar", _LINES[held[0].method]), ("ring", "exact"), ("star", "best κ"),
        ("tint", "κ that cannot be told apart"), ("dash", "independent drafts"),
    )  # fmt: skip
    figures = [
        figure(panel.draw(group, f"c{i}"), f"α = {group.alpha:g}, ρ = {group.rho:g}", [group.price])
        for i, group in enumerate(chosen)
    ]
    heads = ("Construction", "Best κ", "Cannot be told apart", "Exact best κ", "E[tokens] at best κ", "Exact",
             "Speed-up at best κ", "Exact")  # fmt: skip
    tables = []
    for group in chosen:
        title = f"α = {group.alpha:g}, ρ = {group.rho:g}, {group.price}"
        tables.append(f"<h3>{esc(title)}</h3>\n{table(heads, panel.numbers(group), title)}")
    return paragraph(intro) + key + gallery(figures) + "\n" + "\n".join(tables)


def accepted_lengths(held: Sequence[Point], counts: pd.DataFrame) -> str:
    """Counted shares of the accepted length against its exact law, at the best κ."""
    if not held:
        return ""
    chosen = accepted.lengths(held, counts)
    if not chosen:
        return ""
    total = len(accepted.simulations(held))
    intro = (
        f"{_upper(shown(len(chosen), total, 'simulations'))}{_rule(len(chosen), total)}, each at its best κ "
        "(at its longest draft where the best is not to draft)."
    )
    figures = []
    for i, own in enumerate(chosen):
        lines = [own.point.what if own.point.label else "", f"κ = {own.kappa}, {own.rounds:,} rounds"]
        lines.append(f"largest difference from exact: {own.largest_gap:.5f}" if own.exact else "no exact route")
        figures.append(figure(accepted.histogram(own, f"a{i}"), own.point.name, lines))
    return paragraph(intro) + _key(("bar", _LINES[held[0].method].split(",")[0]), ("ring", "exact")) + gallery(figures)


def _key(*marks: tuple[str, str]) -> str:
    items = "".join(f'<li class="{kind}">{esc(text)}</li>' for kind, text in marks)
    return f'<ul class="key">{items}</ul>'


def _rule(drawn: int, total: int) -> str:
    return "" if drawn == total else ", a share of every kind, spread over its rates and prices by a fixed rule"


def _upper(text: str) -> str:
    return text[0].upper() + text[1:]


def _check_target(target: Path) -> None:
    """Refuse a place that cannot be written, before any work."""
    if target.is_dir():
        raise DatasetError(f"{target}: is a folder; allowed: a file, e.g. {target / 'report.html'}")
    if not target.parent.is_dir():
        raise DatasetError(f"{target}: cannot be written (there is no folder {target.parent})")


def _write(page: str, target: Path) -> None:
    """Write a file that is either whole or as it was before."""
    temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex}.tmp")
    try:
        temporary.write_text(page, encoding="utf-8", newline="\n")
        os.replace(temporary, target)
    except OSError as error:
        raise DatasetError(f"{target}: cannot be written ({error.strerror or error})") from None
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
