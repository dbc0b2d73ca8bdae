"""How do fitted processes read on a terminal?  A sentence, a table, what is left open, and what to paste."""

from __future__ import annotations

import textwrap

from simspec.evidence.rounds.adequacy import Adequacy
from simspec.evidence.rounds.fits import RoundFit
from simspec.evidence.rounds.process_toml import toml_of
from simspec.evidence.rounds.processes import ProcessFits, tokens_at
from simspec.text import number, plural, table

_PARAMETERS = 4
_WIDTH = 118


def shown_processes(found: ProcessFits) -> str:
    """Which process to use, all of them side by side, warnings, limits, and ``[process]``."""
    parts = [f"processes\n{wrapped(found.says)}", _table(found), _legend(found)]
    if found.rule_says is not None:
        parts.append(wrapped(found.rule_says))
    if found.adequate is False:
        parts.append(wrapped(f'Why "{found.best.name}" is not adequate: {found.checks[found.best.name].says}'))
    if found.left_out:
        parts.append("not fitted\n" + _by_reason(list(found.left_out.items())))
    if any(fit.notes for fit in found.fits):
        parts.append("notes\n" + _by_reason([(fit.name, note) for fit in found.fits for note in fit.notes]))
    parts.append("cannot be told from these rounds\n" + "\n".join(map(wrapped, found.cannot_tell)))
    parts.append(f'"{found.best.name}" in a scenario file:\n\n{textwrap.indent(toml_of(found.best.process), "    ")}')
    return "\n\n".join(parts)


def _by_reason(pairs: list[tuple[str, str]]) -> str:
    """Names with the same text on one line."""
    names: dict[str, list[str]] = {}
    for name, text in pairs:
        names.setdefault(text, []).append(name)
    return "\n".join(wrapped(f"{', '.join(own)}: {text}") for text, own in names.items())


def wrapped(text: str) -> str:
    """Indented lines of at most 118 characters."""
    return textwrap.fill(
        text, _WIDTH, initial_indent="  ", subsequent_indent="    ", break_long_words=False, break_on_hyphens=False
    )


def _table(found: ProcessFits) -> str:
    least_aic, least_bic = (min(getattr(fit, name) for fit in found.fits) for name in ("aic", "bic"))
    rows = []
    for fit in found.fits:
        emitted = [_with_error(*tokens_at(fit, kappa), 3) for kappa in found.kappas]
        behind = [f"{fit.bic - least_bic:.1f}", f"{fit.aic - least_aic:.1f}"]
        rows.append([fit.name, _verdict(found.checks.get(fit.name)), *behind, *emitted, _parameters(fit)])
    heads = [f"E at κ = {kappa}" for kappa in found.kappas]
    return table(["process", "adequate", "ΔBIC", "ΔAIC", *heads, "parameters"], rows)


def _verdict(check: Adequacy | None) -> str:
    if check is None or not check.statistics:
        return "–" if check is None else "nothing to check"
    failed = sum(own.rejected for own in check.statistics)
    return f"no, fails {failed} of {len(check.statistics)}" if failed else "yes"


def _parameters(fit: RoundFit) -> str:
    pairs = [f"{name} {_with_error(*pair, 3)}" for name, pair in list(fit.estimates.items())[:_PARAMETERS]]
    more = len(fit.estimates) - _PARAMETERS
    return ", ".join(pairs) + (f", … {more} more" if more > 0 else "")


def _with_error(value: float, error: float, digits: int) -> str:
    return number(value, digits) + (f" ± {error:.{digits}f}" if error == error else "")


def _legend(found: ProcessFits) -> str:
    own = found.best
    rounds = own.observed
    among = f"between {rounds.unit}s" if rounds.clustered else "as if rounds were independent"
    counted = plural(own.units, rounds.unit if own.units != rounds.rounds else "round")
    text = (
        f"E: tokens per round at a fixed κ, the bonus token counted.  ±: standard error {among}; BIC counts {counted}."
    )
    if found.checks:
        check = found.checks[own.name]
        text += (
            f"  adequate: no statistic of the rounds is out of line with replicates drawn from the process, at a false "
            f"alarm of {check.level:.0%} for each process ({plural(check.replicates, 'replicate')} of "
            f"{plural(check.rounds, 'round')})."
        )
    return wrapped(text)
