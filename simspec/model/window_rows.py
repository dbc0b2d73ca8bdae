"""How do windows follow each other?  A process as rows: what a window's drafts are like, and which row comes next.

A row is what the past left behind: how the last window ended, the rate that was drawn, a hidden state, an output
position.  One table here per kind of process; `simspec.model.carried_rounds` puts a scheme on top.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from simspec.model.beta_points import beta_points
from simspec.model.chains import Hmm, normalised
from simspec.model.draft_laws import conditional, draft_law
from simspec.model.drift import Drift
from simspec.model.errors import ParameterError
from simspec.model.markov import Markov
from simspec.model.mixture import BetaMixture, DiscreteMixture
from simspec.model.process import Process
from simspec.model.rounds import STATES_LIMIT, DraftLaw, RoundKind
from simspec.model.rows import RowProcess

Next = tuple[float, int, int]
"""A chance, the tokens that are then emitted, and the next row; −1 − d draws the row by law number d."""
_CERTAIN = 1e-15
"""An end of a request that is less likely is left out."""


@dataclass(frozen=True)
class WindowRows:
    """A process as rows.

    Attributes
    ----------
    size : int
        Rows.
    rates : callable
        ``rates(row)``: chance of draft 1, 2, … given that those before it were accepted.  A row may be shorter than κ:
        no deeper draft is of use.  The first row is the longest.
    after : callable
        ``after(row, kind)``: what follows a round of this kind, as a law.  In a row that moves it is the row of the
        last draft.
    begins : sequence of int
        Where a lane might begin, as in `Next`; its long-run law is found from there, and must be one.
    draws : sequence of laws
        Laws over rows.
    shape : sequence of float
        Rates a tree of one shape for all windows is grown on.
    moves : sequence of laws, optional
        Law of the row of a draft by that of the draft before it; without, a window stays in its row.
    drafts : callable, optional
        ``drafts(row)``: drafts that are in hidden states of which a scheme keeps track itself, instead of ``rates``;
        the mark of a kind is then the state that ``after`` asks for, and no more.
    alike : bool
        The rows stand for a law of which the draft model sees nothing, so that no rule of a scheme may tell them apart.
    """

    size: int
    rates: Callable[[int], Sequence[float]]
    after: Callable[[int, RoundKind], Sequence[Next]]
    begins: Sequence[int]
    shape: Sequence[float]
    draws: Sequence[Sequence[float]] = ()
    moves: Sequence[Sequence[float]] | None = None
    alike: bool = False
    drafts: Callable[[int], DraftLaw] | None = None

    def law(self, row: int) -> DraftLaw:
        """The drafts of a window in a row."""
        if self.drafts is not None:
            return self.drafts(row)
        return DraftLaw(tuple((rate,) for rate in self.rates(row)))


def by_outcome(rates: Sequence[Sequence[float]], on_reject: Sequence[int], on_full: Sequence[int]) -> WindowRows:
    """Rows that follow each other by whether the last verdict was a rejection; a round without a verdict changes none.

    Examples
    --------
    >>> rows = by_outcome([[0.5], [0.9]], on_reject=[0, 0], on_full=[1, 1])
    >>> rows.after(0, RoundKind(accepted=1, drafted=1, steps=1, rejected=False, tokens=2))
    [(1.0, 2, 1)]
    """

    def after(row: int, kind: RoundKind) -> list[Next]:
        judged = (on_reject if kind.rejected else on_full)[row]
        return [(1.0, kind.tokens, judged if kind.drafted else row)]

    return WindowRows(len(rates), rates.__getitem__, after, range(len(rates)), rates[0])


def markov_rows(process: Markov, kappa: int) -> WindowRows:
    """Row 0 after a rejection, row 1 after a full window; m_r and m_f steps lie between."""
    alpha, rho = process.alpha, process.rho
    again = min(max(alpha + rho * (1.0 - alpha), 0.0), 1.0)  # the admissible rho is known to 1e-12
    first = (
        alpha * (1.0 - rho**process.steps_after_reject),
        alpha + (1.0 - alpha) * rho**process.steps_after_full,
    )
    rates = [[min(max(own, 0.0), 1.0), *[again] * (kappa - 1)][:kappa] for own in first]
    return replace(by_outcome(rates, (0, 0), (1, 1)), shape=[alpha, *[again] * (kappa - 1)][:kappa])


def user_rows(process: RowProcess, kappa: int) -> WindowRows:
    """Those of the user's own table."""
    table = process.checked_rows(kappa)
    return by_outcome([conditional(curve) for curve in table.survival], table.on_reject, table.on_full)


def drawn(alphas: Sequence[float], shares: Sequence[float], kappa: int) -> WindowRows:
    """A rate per row, drawn anew for every window."""
    curve = [sum(w * a**j for w, a in zip(shares, alphas, strict=True)) for j in range(1, kappa + 1)]
    return WindowRows(
        len(alphas),
        lambda row: [alphas[row]] * kappa,
        lambda row, kind: [(1.0, kind.tokens, -1)],
        [-1],
        conditional(curve),
        draws=[shares],
    )


def beta_rows(process: BetaMixture, kappa: int, verdicts: int) -> WindowRows:
    """Rates with the same moments as the Beta law, up to as many as a round has verdicts."""
    alpha, rho = process.mean_and_rho()
    if rho == 0.0 or alpha in (0.0, 1.0):
        return drawn([alpha], [1.0], kappa)
    urn = [alpha, *((alpha * (1.0 - rho) + hits * rho) / (1.0 - rho + hits * rho) for hits in range(1, kappa))][:kappa]
    if rho == 1.0:
        return replace(drawn([0.0, 1.0], [1.0 - alpha, alpha], kappa), shape=urn, alike=True)
    size = (1.0 - rho) / rho
    a, b = (process.a, process.b) if process.a and process.b else (alpha * size, (1.0 - alpha) * size)
    return replace(drawn(*beta_points(a, b, verdicts), kappa), shape=urn, alike=True)


def hidden_rows(process: Hmm, kappa: int) -> WindowRows:
    """A row per hidden state: it moves with every draft, and m_r or m_f times to the next window if it is carried."""
    moves, size = normalised(process.P), len(process.P)
    law = draft_law(process.model_copy(update={"start": "stationary"}), 1).first
    curve, alive = list[float](), list(law)
    for _ in range(kappa):
        alive = [own * alpha for own, alpha in zip(alive, process.alphas, strict=True)]
        curve.append(sum(alive))
        alive = _times(alive, moves)
    shape = conditional(curve)

    def rates(row: int) -> list[float]:
        return [process.alphas[row]] * kappa

    if not process.carried:
        return WindowRows(size, rates, lambda row, kind: [(1.0, kind.tokens, -1)], [-1], shape, [law], moves)
    lags = (process.steps_after_reject, process.steps_after_full)
    draws = [_steps(moves, state, many) for many in lags for state in range(size)]

    def after(row: int, kind: RoundKind) -> list[Next]:
        draw = -1 - row - (0 if kind.rejected else size)
        return [(1.0, kind.tokens, draw if kind.drafted else row)]

    return WindowRows(size, rates, after, range(size), shape, draws, moves)


def marked_rows(process: Hmm, kappa: int) -> WindowRows:
    """For schemes that follow hidden states within a window: a row per state that ended the last one, twice."""
    moves, size = normalised(process.P), len(process.P)
    lags = (process.steps_after_reject, process.steps_after_full)
    firsts = [_steps(moves, state, many) for many in lags for state in range(size)]
    rows = tuple(tuple(row) for row in moves)

    def drafts(row: int) -> DraftLaw:
        return DraftLaw((process.alphas,) * kappa, tuple(firsts[row]), rows, marked=True)

    def after(row: int, kind: RoundKind) -> list[Next]:
        judged = kind.mark + (0 if kind.rejected else size)
        return [(1.0, kind.tokens, judged if kind.drafted else row)]

    return WindowRows(2 * size, lambda row: (), after, range(2 * size), (), drafts=drafts)


def _times(law: Sequence[float], rows: Sequence[Sequence[float]]) -> list[float]:
    return [sum(own * row[j] for own, row in zip(law, rows, strict=True)) for j in range(len(rows))]


def _steps(rows: Sequence[Sequence[float]], start: int, many: int) -> list[float]:
    law = [float(state == start) for state in range(len(rows))]
    for _ in range(many):
        law = _times(law, rows)
    return law


def drift_rows(process: Drift, kappa: int) -> WindowRows:
    """A row per output position; after the last token comes the first one of the next generation."""
    n = process.n_tokens
    check_rows(n, process)
    rates = process.rates()

    def of(i: int) -> list[float]:
        most = min(kappa, n - 1 - i) if process.truncate else kappa
        return [rates[min(i + j, n - 1)] for j in range(most)]

    def after(row: int, kind: RoundKind) -> list[Next]:
        tokens = min(kind.tokens, n - row)
        return [(1.0, tokens, (row + tokens) % n)]

    return WindowRows(n, of, after, [0], [sum(rates) / n] * kappa)


def request_rows(process: DiscreteMixture, kappa: int, shares: Sequence[float]) -> WindowRows:
    """A row per rate and, where requests have a fixed length, per position; ``shares`` are those of requests."""
    n, alphas = int(process.request_tokens or 1), process.alphas
    shape = drawn(alphas, process.shares(), kappa).shape
    if process.geometric:

        def ended(row: int, kind: RoundKind) -> list[Next]:
            out, left = list[Next](), 1.0
            for token in range(1, kind.tokens + 1):
                out.append((left / n, token, -1))
                left *= 1.0 - 1.0 / n
            return [own for own in [*out, (left, kind.tokens, row)] if own[0] > _CERTAIN]

        return WindowRows(len(alphas), lambda row: [alphas[row]] * kappa, ended, [-1], shape, [shares])

    check_rows(n * len(alphas), process)

    def of(row: int) -> list[float]:
        return [alphas[row // n]] * (min(kappa, n - 1 - row % n) if process.truncate else kappa)

    def after(row: int, kind: RoundKind) -> list[Next]:
        position = row % n
        tokens = min(kind.tokens, n - position)
        return [(1.0, tokens, row + tokens if position + tokens < n else -1)]

    firsts = [share if i == 0 else 0.0 for share in shares for i in range(n)]
    return WindowRows(len(alphas) * n, of, after, [-1], shape, [firsts])


def check_rows(rows: int, process: Process) -> None:
    """Raise `ParameterError` if there are more rows than a table may have states."""
    if rows > STATES_LIMIT:
        told = f"tokens = {rows:,}: {process.type} has as many rows (times its rates)"
        raise ParameterError("process.tokens", f"{told}; allowed with schemes but chains: {STATES_LIMIT:,}")


ROWS: dict[tuple[str, str], Callable[[Any, int], WindowRows]] = {
    ("markov", "lane"): markov_rows,
    ("hmm", "window"): hidden_rows,
    ("hmm", "lane"): hidden_rows,
    ("discrete_mixture", "window"): lambda process, kappa: drawn(process.alphas, process.shares(), kappa),
    ("drift", "generation"): drift_rows,
}
"""(type, independent unit) → rows of windows of κ drafts; mixtures that need to know more of the scheme stand aside."""


def has_rows(process: Process) -> bool:
    """Whether windows of a process fall into rows.

    Examples
    --------
    >>> has_rows(Markov(alpha=0.7, rho=0.3, start="carry")), has_rows(Markov(alpha=0.7, rho=0.3))
    (True, False)
    """
    key = (process.type, process.unit)
    return isinstance(process, RowProcess) or key in ROWS or key in _ASIDE


_ASIDE = {("beta_mixture", "window"), ("discrete_mixture", "generation")}
