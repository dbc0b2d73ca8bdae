"""How does a recommendation read on a terminal?  The answer in one sentence, the table, what it rests on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from simspec.advice.recommend.by_process import HIDDEN
from simspec.advice.recommend.decide import OFF
from simspec.advice.recommend.effort import NEAR
from simspec.advice.recommend.kappa_grid import LITTLE
from simspec.advice.recommend.posterior import BY_PROCESS, MODEL
from simspec.text import clean, kappa_set, table, wrapped

if TYPE_CHECKING:
    from simspec.advice.recommend.kappa_grid import GridAdvice
    from simspec.advice.recommend.recommendation import Recommendation

ROWS = 12


def shown(own: Recommendation) -> str:
    """The whole answer as text."""
    if own.grid is not None:
        return "\n".join([*_grid(own.grid), "", *_details(own, f"at {own.grid.cells[0].where}")])
    return "\n".join([wrapped(sentence(own)), *_details(own, "")])


def sentence(own: Recommendation) -> str:
    """What to do, what it gives, how sure.

    Examples
    --------
    >>> from simspec import recommend
    >>> sentence(recommend({"alpha": 0.4}, {"c_d": 1 / 7}))
    'use κ = 1 (num_speculative_tokens): 1.23x a plain step'
    """
    choice = own.choice
    if own.no_kappa_keeps_the_limit:
        return _nothing_keeps(own)
    if choice.kappa == OFF:
        said = f"switch speculation off: no κ is worth it, {_best_drafting(own)}"
    elif choice.kappa == 0:
        said = f"do not draft: κ = 0 gives {own.speedup:.2f}x, {_best_drafting(own)}"
    else:
        said = f"use κ = {choice.kappa} (num_speculative_tokens): {own.speedup:.2f}x a plain step"
    if own.known_error:
        said += f", {_percent(choice.sureness)} sure to be within {NEAR:.0%} of the best{_kept(own)}{_condition(own)}"
        alike = own.alike
        if len(alike) > 1:
            said += f"; {_options(alike)} cannot be told apart"
    return said


def _kept(own: Recommendation) -> str:
    return " that keeps the limit" if own.limits else ""


def _condition(own: Recommendation) -> str:
    """On what the sureness rests that the rounds do not show."""
    if own.sure_if_alike is not None and _percent(own.sure_if_alike) != _percent(own.choice.sureness):
        alike = f" ({_percent(own.sure_if_alike)} if requests are alike)"
    else:
        alike = ""
    rests = "acceptance is exactly that" if own.posterior.sure else own.posterior.rests_on
    return alike if rests is None else f"{alike} if {rests}"


def _best_drafting(own: Recommendation) -> str:
    drafting = [row for row in own.rows if row["kappa"] and row["within_limit"]]
    best = max(drafting, key=lambda row: row["speedup"])
    return f"the best, κ = {best['kappa']}, gives {best['speedup']:.2f}x against {_off(own):.2f}x"


def _nothing_keeps(own: Recommendation) -> str:
    """That every κ breaks the limit, how near the shortest draft comes, and what would do without the limit."""
    choice, drafting = own.choice, [i for i, option in enumerate(own.choice.options) if option > 0]
    best = max(drafting, key=lambda i: choice.speedup[i])
    do = "switch speculation off" if choice.kappa == OFF else "do not draft, κ = 0"
    broken = next((limit for limit in own.limits if not any(limit.kept[i] for i in drafting)), None)
    if broken is None:
        said, chosen = "no κ keeps both limits", ""
    else:
        least = min(drafting, key=lambda i: broken.times_ms[i])
        said = (
            f"no κ keeps the limit of {broken.limit_ms:g} ms on the {broken.short}: the least is "
            f"{broken.times_ms[least]:.2f} ms, at κ = {choice.options[least]}"
        )
        chosen = f", {broken.times_ms[choice.chosen]:.2f} ms"
    return (
        f"{said}; {do} ({own.speedup:.2f}x{chosen}), or allow more: without a limit κ = {choice.options[best]} would "
        f"give {choice.speedup[best]:.2f}x"
    )


def _off(own: Recommendation) -> float:
    return float(own.choice.speedup[0])


def _percent(share: float) -> str:
    return "more than 99%" if share > 0.995 else f"{share:.0%}"


def _options(options: Iterable[int]) -> str:
    """``off, κ = 1-3``."""
    options = list(options)
    kappas = [option for option in options if option != OFF]
    parts = (["off"] if OFF in options else []) + ([f"κ = {kappa_set(kappas)}"] if kappas else [])
    return " and ".join(parts)


def _details(own: Recommendation, where: str) -> list[str]:
    lines = [wrapped(f"{where}: {sentence(own)}")] if where else []
    lines += _near(own)
    lines += ["", _table(own), ""]
    lines += [wrapped(line, "", "  ") for line in (*_limits(own), *_settling(own))]
    lines += ["", f"acceptance: {clean(own.acceptance.origin)}", f"costs: {clean(own.costs.origin)}"]
    return lines + [wrapped(clean(line), "- ", "  ") for line in own.assumptions]


def _near(own: Recommendation) -> list[str]:
    lines = [] if own.posterior.first is None else [own.posterior.first]
    if own.costs.origin.startswith("the default"):
        lines.append(f"with {own.costs.origin}")
    if own.band:
        only = "" if len(own.band) > 1 else "only "
        lines.append(f"flat: {only}κ = {kappa_set(own.band)} within {own.within:.0%} of the best{_kept(own)}")
    off = _off(own)
    if own.choice.kappa > 0:
        lines.append(f"off gives {off:.2f}x: κ = {own.choice.kappa} is {own.speedup / off:.2f}x of off")
    more = own.next_position
    if more is not None and own.choice.kappa > 0:
        lines.append(
            f"one more position brings {more['tokens']:.2f} tokens per round and pays if it costs less than "
            f"{more['pays_below']:.3f} plain steps"
        )
    return [wrapped(line, "", "  ") for line in lines]


def _table(own: Recommendation) -> str:
    sure = own.known_error
    header = ["κ", "tokens E", "round R", "speed-up", *(["interval", "P(best)", "regret"] if sure else ["of best"])]
    header += ["+tokens", "+speed-up", "model", ""]
    body = []
    for row in _chosen_rows(own):
        cells = ["off" if row["off"] else str(row["kappa"]), *(f"{row[k]:.3f}" for k in ("emitted", "round_cost"))]
        cells.append(f"{row['speedup']:.3f}")
        if sure:
            low, high = row["interval"]
            cells += [f"[{low:.2f}, {high:.2f}]", f"{row['probability_best']:.0%}", _share(row["expected_regret"])]
        else:
            cells.append(_share(row["of_best"]))
        for key in ("extra_tokens", "extra_speedup"):
            cells.append("–" if row[key] is None else f"{row[key]:+.3f}")
        body.append([*cells, _extrapolated(row), _mark(own, row)])
    lines = [table(header, body)]
    if any(row["extra_tokens"] is not None for row in own.rows):
        lines.append("+: what the last position of this κ adds")
    if any(row["extrapolated"] for row in own.rows):
        lines.append("model: acceptance (a) or cost (c) at this κ is extrapolated, by a model, not measured")
    return "\n".join(lines)


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"


def _extrapolated(row: dict[str, Any]) -> str:
    if not row["extrapolated"]:
        return ""
    return ("a" if row["acceptance_basis"] == MODEL else "") + ("c" if row["cost_extrapolated"] else "")


def _chosen_rows(own: Recommendation) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = own.rows
    if len(rows) <= ROWS + 1:
        return rows
    place = own.choice.chosen
    last = min(len(rows), max(ROWS, place + 4))
    return [rows[0], *rows[max(1, last - ROWS) : last]]


def _mark(own: Recommendation, row: dict[str, Any]) -> str:
    marks = []
    if row["kappa"] == (None if own.choice.kappa == OFF else own.choice.kappa):
        marks.append("← use")
    if not row["within_limit"]:
        marks.append("over limit")
    if row["acceptance_basis"] == BY_PROCESS and row["kappa"]:
        marks.append(BY_PROCESS)
    return ", ".join(marks)


def _limits(own: Recommendation) -> list[str]:
    lines = []
    for limit in own.limits:
        over = [o for o, ok in zip(own.choice.options, limit.kept, strict=True) if not ok]
        here = limit.times_ms[own.choice.chosen]
        fate = f"left out: {_options(over)}" if over else "nothing is left out"
        chosen = _options([own.choice.kappa])
        lines.append(f"limit {limit.limit_ms:g} ms on the {limit.quantity}: {here:.2f} ms at {chosen}; {fate}")
    return lines


def _settling(own: Recommendation) -> list[str]:
    if own.no_kappa_keeps_the_limit:
        return []
    lines, work = [], own.effort
    if work is not None:
        mine, rival = _options([own.choice.kappa]), _options([work.rival])
        lines.append(work.says(mine, rival))
    readings = {name: kappa for name, kappa in own.others.items() if kappa != own.choice.kappa}
    if readings:
        said = "; ".join(f"{_options([kappa])} if {name}" for name, kappa in readings.items())
        lines.append(f"another reading of the same figures would choose: {said}")
    elif own.others:
        lines.append(f"the choice is the same under: {', '.join(own.others)}")
    return lines + _by_process(own)


def _by_process(own: Recommendation) -> list[str]:
    """κ under each process that the rounds leave standing, and under those that they reject."""
    lines = []
    for adequate, said in ((True, "best under processes that these rounds do not reject"), (False, "rejected by them")):
        names: dict[int, list[str]] = {}
        for found in own.by_process:
            if found["adequate"] == adequate:
                ends = "" if found["says_up_to"] is None else f" (which ends at κ = {found['says_up_to']})"
                names.setdefault(found["kappa"], []).append(found["name"] + ends)
        if names:
            told = "; ".join(f"{_options([kappa])} under {', '.join(own_names)}" for kappa, own_names in names.items())
            lines.append(f"{said}: {told}")
    if own.by_process and not any(found["adequate"] for found in own.by_process):
        untried = HIDDEN not in {found["name"] for found in own.by_process} and _ordered(own)
        also = f", and tries {HIDDEN} too" if untried else ""
        lines = [f"no process explains these rounds (simspec fit says why{also}); {lines[0]}"]
    return lines


def _ordered(own: Recommendation) -> bool:
    return own.posterior.observed is not None and own.posterior.observed.ordered


def _grid(grid: GridAdvice) -> list[str]:
    body: list[Sequence[str]] = []
    for cell in grid.cells:
        choice = cell.own.choice
        row = [
            "–" if cell.batch is None else f"{cell.batch:g}",
            "–" if cell.context is None else f"{cell.context:g}",
            "off" if cell.kappa == OFF else str(cell.kappa),
            f"{cell.own.speedup:.2f}x",
            kappa_set(cell.own.band) or "–",
            f"{choice.regret[choice.chosen]:.1%}" if cell.own.known_error else "–",
            f"{cell.loss(grid.single):.1%}",
        ]
        if grid.by_batch is not None:
            row.append(f"{cell.loss(grid.by_batch[cell.batch or 0.0]):.1%}")
        body.append(row)
    header = ["batch", "context", "κ", "speed-up", "flat", "expected regret", "loss with one κ"]
    if grid.by_batch is not None:
        header.append("loss with a batch table")
    mean, most = grid.single_loss
    lines = [
        f"κ by load; one for all would be {_options([grid.single])}: expected loss {mean:.1%} on average, "
        f"{most:.1%} at most"
    ]
    if grid.by_batch is not None and grid.by_batch_loss is not None:
        mean, most = grid.by_batch_loss
        entries = ", ".join(f"batch {b:g}: {_options([k])}" for b, k in grid.by_batch.items())
        lines.append(f"a table by batch alone ({entries}): expected loss {mean:.1%} on average, {most:.1%} at most")
    lines = [*map(wrapped, lines), "", table(header, body)]
    for batch in sorted({cell.batch for cell in grid.cells}, key=lambda value: value or 0.0):
        ends = ", ".join(
            f"κ = {kappa}: {context:,.0f}" for kappa, context in list(grid.crossings(batch).items())[:ROWS]
        )
        if ends:
            load = "" if batch is None else f"batch {batch:g}: "
            lines.append(wrapped(f"{load}slower than off beyond a context of {ends} tokens", "", "  "))
    if grid.probes:
        lines += ["", "worth measuring next, by what not knowing may cost:"]
        for probe in grid.probes:
            load = " ".join(f"{n} {v:g}," for n, v in (("batch", probe.batch), ("context", probe.context)) if v)
            said = f"{load} {_options([probe.kappa])}: best with {probe.probability_best:.0%}; expected regret there "
            lines.append(wrapped(f"{said}{probe.expected_regret:.1%}", "- ", "  "))
    elif any(cell.own.known_error for cell in grid.cells):
        lines += ["", f"nothing is worth measuring first: what is not known costs at most {LITTLE:.1%} at any load"]
    return lines
