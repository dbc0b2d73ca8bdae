"""What are the exact means of a scheme where windows are not alike?  Laws of single windows, weighed by their long run.

A window in a row (after a rejection, with a drawn rate, at an output position) has rates by depth, and the scheme's own
exact law answers for those.  How often each row occurs follows from a small chain of rows, from a sum over rates, or
from one pass along a generation; nothing is shared with the table that is simulated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from simspec.model.chains import Hmm
from simspec.model.drift import Drift
from simspec.model.errors import ParameterError
from simspec.model.iid import Iid
from simspec.model.markov import Markov
from simspec.model.mixture import BetaMixture, DiscreteMixture
from simspec.model.position import Position
from simspec.model.process import Process
from simspec.model.rounds import DraftLaw
from simspec.model.rows import RowProcess
from simspec.model.scheme_pairs import check_pair
from simspec.model.schemes import (
    Ahead,
    BigLittle,
    Chain,
    Lookahead,
    Lookup,
    Scheme,
    SelfDraft,
    Stop,
    Tree,
)
from simspec.theory.depth_laws import ahead_drawn, stop_law
from simspec.theory.fresh import stay_accepted
from simspec.theory.hidden import hmm_curve
from simspec.theory.hidden_stops import carried_stop
from simspec.theory.lanes import long_run_law
from simspec.theory.law import FloatArray
from simspec.theory.mixtures import beta_curve, discrete_curve
from simspec.theory.quadrature import beta_nodes
from simspec.theory.row_trees import hidden_candidates, hidden_tree, hidden_windows, urn_tree
from simspec.theory.scheme_arguments import rates_of
from simspec.theory.scheme_generations import Round, generations, geometric_requests, plain_step
from simspec.theory.scheme_means import SchemeLaw

Ask = Callable[[Scheme, Process, int], SchemeLaw]
"""The exact law of a scheme on a process whose windows are alike."""
_NODES, _MORE = 256, 9


@dataclass(frozen=True)
class _Fixed:
    """A scheme in every row: a tree keeps one shape, cut where deeper drafts are of no use."""

    scheme: Scheme
    kappa: int
    ask: Ask

    def of(self, rates: Sequence[float]) -> SchemeLaw:
        """Its law in a row."""
        scheme, kappa = self.scheme, self.kappa
        if isinstance(scheme, Tree):
            scheme, kappa = cut(scheme, len(rates))
        else:
            kappa = min(kappa, len(rates))
        return self.ask(scheme, _process(rates), kappa)


def _process(rates: Sequence[float]) -> Process:
    """Windows with these rates by depth."""
    return Position(alphas=tuple(rates)) if len(set(rates)) > 1 else Iid(alpha=[*rates, 0.5][0])


def fixed(scheme: Scheme, rates: Sequence[float], kappa: int, ask: Ask) -> _Fixed:
    """The scheme as it is in all rows; a tree grows once, on rates that hold for all windows."""
    if not isinstance(scheme, Tree):
        return _Fixed(scheme, kappa, ask)
    parents, ranks = scheme.shape(DraftLaw(tuple((rate,) for rate in rates)), kappa)
    return _Fixed(_shaped(scheme, parents, ranks), len(parents), ask)


def _shaped(scheme: Tree, parents: Sequence[int], ranks: Sequence[int]) -> Tree:
    shape: dict[str, Any] = {"parents": tuple(parents), "ranks": tuple(ranks), "widths": None, "max_depth": None}
    return scheme.model_copy(update=shape)


def cut(scheme: Tree, depth: int) -> tuple[Tree, int]:
    """A tree of given shape without its levels beyond ``depth``, and its nodes.

    Examples
    --------
    >>> cut(Tree(parents=(0, 1, 2, 0), ranks=(1, 1, 1, 2), misses=(0.5,)), 2)[0].parents
    (0, 1, 0)
    """
    levels, kept = [0], list[int]()
    for node, parent in enumerate(scheme.parents or (), 1):
        levels.append(levels[parent] + 1)
        if levels[node] <= depth:
            kept.append(node)
    new = {0: 0} | {node: place for place, node in enumerate(kept, 1)}
    parents, ranks = scheme.parents or (), scheme.ranks or ()
    own = _shaped(scheme, [new[parents[node - 1]] for node in kept], [ranks[node - 1] for node in kept])
    return own, len(kept)


def mixed(shares: Sequence[float] | FloatArray, laws: Sequence[SchemeLaw]) -> SchemeLaw:
    """The law of a round that follows one of several laws.

    Examples
    --------
    >>> two = [SchemeLaw(1.0, 0.0, 1.0, 1.0, lambda cost: 1.0), SchemeLaw(2.0, 1.0, 1.0, 0.0, lambda cost: 1.5)]
    >>> own = mixed([0.5, 0.5], two)
    >>> own.mean_tokens, own.price(None)
    (1.5, 1.25)
    """
    kept = [(float(share), law) for share, law in zip(shares, laws, strict=True) if share > 0.0]
    names = ("mean_tokens", "mean_accepted", "mean_drafted", "p_rejected")
    tokens, accepted, drafted, rejected = (sum(share * getattr(law, name) for share, law in kept) for name in names)
    return SchemeLaw(
        tokens, accepted, drafted, rejected, lambda cost: sum(share * law.price(cost) for share, law in kept)
    )


def _no_law(told: str) -> ParameterError:
    return ParameterError("kappa", f"{told} is never left, so no long-run law exists; allowed: another κ or process")


def _by_outcome(rows: Sequence[Sequence[float]], after: Sequence[Sequence[int]], fix: _Fixed) -> SchemeLaw:
    """Rows that follow each other by whether the last verdict was a rejection; after = (on rejection, on full)."""
    size, scheme = len(rows), fix.scheme
    if isinstance(scheme, Lookup):
        return _by_regime(scheme, fix, rows, after)
    laws = [fix.of(own) for own in rows]
    unsure = (scheme.p_fallback or 0.0) if isinstance(scheme, BigLittle) else 0.0
    step = np.zeros((size, size))
    for row, law in enumerate(laws):
        idle = unsure if law.mean_drafted else 1.0  # no verdict, so the row stays
        step[row, row] += idle
        step[row, after[0][row]] += law.p_rejected
        step[row, after[1][row]] += 1.0 - law.p_rejected - idle
    law_of_rows = _of_begin(step)
    return mixed(law_of_rows, laws)


def _of_begin(step: FloatArray) -> FloatArray:
    """Long-run law of a chain that begins in state 0: states that it never reaches do not matter."""
    seen = {0}
    while True:
        more = seen | {int(j) for i in seen for j in np.flatnonzero(step[i] > 1e-15)}
        if more == seen:
            break
        seen = more
    known = sorted(seen)
    law = long_run_law(step[np.ix_(known, known)])
    if law is None:
        raise _no_law("a set of states")
    out = np.zeros(len(step))
    out[known] = law
    return out


def _by_regime(
    scheme: Lookup, fix: _Fixed, rows: Sequence[Sequence[float]], after: Sequence[Sequence[int]]
) -> SchemeLaw:
    """Lookup: a chain of κ where there is a match, a plain step that changes no row where there is none."""
    laws = [copied(fix.ask(Chain(), _process(own), len(own)), len(own)) for own in rows]
    move = np.zeros((len(rows), len(rows)))
    for row, law in enumerate(laws):
        move[row, after[0][row]] += law.p_rejected
        move[row, after[1][row]] += 1.0 - law.p_rejected
    return regimes(scheme, move if fix.kappa else np.eye(len(rows)), laws)


def regimes(scheme: Lookup, move: FloatArray, laws: Sequence[SchemeLaw]) -> SchemeLaw:
    """Long-run means of rounds with and without a match, ``move`` being the chain of rows over those with one."""
    size, chances = len(laws), (scheme.after_miss, scheme.after_match)
    step = np.block([[(1.0 - p) * np.eye(size), p * move] for p in chances])  # by (regime before, row)
    law = _of_begin(step).reshape(2, size)
    matched = law[0] * chances[0] + law[1] * chances[1]
    return mixed([*matched, 1.0 - matched.sum()], [*laws, plain_step()])


def copied(law: SchemeLaw, kappa: int) -> SchemeLaw:
    """A chain whose drafts are copies, which take no draft step."""
    return replace(law, price=lambda cost: cost.target_pass(kappa) + cost.c_r * law.p_rejected)


def _markov(process: Markov, scheme: Scheme, kappa: int, ask: Ask) -> SchemeLaw:
    again = stay_accepted(process)
    after_reject = process.alpha * (1.0 - process.rho**process.steps_after_reject)
    after_full = 1.0 - (1.0 - process.alpha) * (1.0 - process.rho**process.steps_after_full)
    rows = [[float(np.clip(own, 0.0, 1.0)), *[again] * kappa][:kappa] for own in (after_reject, after_full)]
    fix = fixed(scheme, [process.alpha, *[again] * kappa][:kappa], kappa, ask)
    return _by_outcome(rows, ((0, 0), (1, 1)), fix)


def _user(process: RowProcess, scheme: Scheme, kappa: int, ask: Ask) -> SchemeLaw:
    table = process.checked_rows(kappa)
    rows = [rates_of(np.asarray(curve, dtype=np.float64)) for curve in table.survival]
    return _by_outcome(rows, (table.on_reject, table.on_full), fixed(scheme, rows[0], kappa, ask))


def _discrete(process: DiscreteMixture, scheme: Scheme, kappa: int, ask: Ask) -> SchemeLaw:
    if isinstance(scheme, Ahead):
        return ahead_drawn(process.shares(), process.alphas, kappa)
    fix = fixed(scheme, rates_of(discrete_curve(process, kappa)), kappa, ask)
    return mixed(process.shares(), [fix.of([alpha] * kappa) for alpha in process.alphas])


def _beta(process: BetaMixture, scheme: Scheme, kappa: int, ask: Ask) -> SchemeLaw:
    """A tree by Pólya's urn along every path; other schemes as an average over rates."""
    rates = rates_of(beta_curve(process, kappa))
    fix = fixed(scheme, rates, kappa, ask)
    if isinstance(fix.scheme, Tree):
        return urn_tree(fix.scheme, *process.mean_and_rho(), fix.of([0.0] * kappa))
    if isinstance(scheme, (Lookup, BigLittle)):
        return fix.of(rates)  # one path: rates by depth say all
    if isinstance(scheme, (Stop, SelfDraft)):
        alpha, rho = process.mean_and_rho()
        random = rho > 0.0 and 0.0 < alpha < 1.0
        asked = kappa > scheme.kmin or (not getattr(scheme, "submits", True) and kappa == scheme.kmin)
        if random and kappa and ((scheme.theta and asked) or rho == 1.0):
            told = f"{scheme.type} drafts by rates that {process.type} does not tell the draft model"
            known = "iid, position, survival, markov, hmm, drift, discrete_mixture"
            raise ParameterError("process.type", f"{told}; allowed: {known}")
        return fix.of(rates)  # nothing is compared: one path again
    verdicts = kappa * (scheme.candidates if isinstance(scheme, Lookahead) else 1)
    nodes, weights = _beta_law(process, verdicts)
    if isinstance(scheme, Ahead):
        return ahead_drawn(weights, nodes, kappa)
    return mixed(weights, [fix.of([float(node)] * kappa) for node in nodes])


def _beta_law(process: BetaMixture, verdicts: int) -> tuple[FloatArray, FloatArray]:
    """Rates and weights, with more points than so many verdicts can tell apart."""
    alpha, rho = process.mean_and_rho()
    if rho == 0.0 or alpha in (0.0, 1.0):
        return np.array([alpha]), np.ones(1)
    if rho == 1.0:
        return np.array([0.0, 1.0]), np.array([1.0 - alpha, alpha])
    size = (1.0 - rho) / rho
    many = min(verdicts // 2 + _MORE, _NODES)
    return beta_nodes(process.a or alpha * size, process.b or (1.0 - alpha) * size, many)


def _hidden(process: Hmm, scheme: Scheme, kappa: int, ask: Ask) -> SchemeLaw:
    """Carried or fresh: matrices over the hidden state along a tree; one path that is fresh has rates by depth."""
    rates = rates_of(hmm_curve(process.model_copy(update={"start": "stationary"}), kappa))
    fix = fixed(scheme, rates, kappa, ask)
    if isinstance(fix.scheme, Tree):
        return hidden_tree(fix.scheme, process, fix.of([0.0] * kappa))
    if isinstance(scheme, Lookahead):
        return hidden_candidates(scheme, process, kappa, fix.of([0.0] * kappa))
    if not process.carried:
        return fix.of(rates)
    assert isinstance(scheme, Lookup)  # `_check` lets no other through
    chain = fixed(Tree(parents=tuple(range(kappa)), ranks=(1,) * kappa), [0.0] * kappa, kappa, ask)
    assert isinstance(chain.scheme, Tree)
    laws, move = hidden_windows(chain.scheme, process, chain.of([0.0] * kappa))
    return regimes(scheme, move if kappa else np.eye(len(laws)), [copied(law, kappa) for law in laws])


def _drift(process: Drift, scheme: Scheme, kappa: int, ask: Ask) -> SchemeLaw:
    rates, n = process.rates(), process.n_tokens
    fix = fixed(scheme, [sum(rates) / n] * kappa, kappa, ask)
    padded = rates + [rates[-1]] * kappa
    most = [min(kappa, n - 1 - i) if process.truncate else kappa for i in range(n)]
    return generations([[_rounds(fix, padded[i : i + most[i]]) for i in range(n)]], [1.0])


def _requests(process: DiscreteMixture, scheme: Scheme, kappa: int, ask: Ask) -> SchemeLaw:
    n, by_rounds = int(process.request_tokens or 1), process.weights_of == "rounds"
    windows = DiscreteMixture(alphas=process.alphas, weights=process.weights)
    fix = fixed(scheme, rates_of(discrete_curve(windows, kappa)), kappa, ask)
    if process.geometric:
        each = [_rounds(fix, [alpha] * kappa) for alpha in process.alphas]
        return geometric_requests(each, process.shares(), n, by_rounds)
    along = []
    for alpha in process.alphas:
        known = {depth: _rounds(fix, [alpha] * depth) for depth in {kappa, *range(min(kappa, n))}}
        along.append([known[min(kappa, n - 1 - i) if process.truncate else kappa] for i in range(n)])
    return generations(along, process.shares(), by_rounds)


def _rounds(fix: _Fixed, rates: Sequence[float]) -> list[list[Round]]:
    """The rounds of a row by the regime before: a chance, a law and the regime after."""
    if not isinstance(fix.scheme, Lookup):
        return [[(1.0, fix.of(rates), 0)]]
    depth = min(fix.kappa, len(rates))
    law = copied(stop_law(Stop(theta=0.0), rates[:depth]), depth)
    chances = (fix.scheme.after_miss, fix.scheme.after_match)
    return [[(p, law, 1), (1.0 - p, plain_step(), 0)] for p in chances]


ROW_ROUTES: dict[tuple[str, str], Callable[[Any, Scheme, int, Ask], SchemeLaw]] = {
    ("markov", "lane"): _markov,
    ("hmm", "window"): _hidden,
    ("hmm", "lane"): _hidden,
    ("discrete_mixture", "window"): _discrete,
    ("discrete_mixture", "generation"): _requests,
    ("beta_mixture", "window"): _beta,
    ("drift", "generation"): _drift,
}
"""(type, independent unit) → means over rows."""


def over_rows(scheme: Scheme, process: Process, kappa: int, ask: Ask) -> SchemeLaw | None:
    """Long-run means of a scheme on a process whose windows are not alike; None if they are.

    Raises
    ------
    ParameterError
        The scheme has no meaning there.
    """
    key = (process.type, process.unit)
    routes: dict[tuple[str, str], Callable[[Any, Scheme, int, Ask], SchemeLaw]] = {**ROW_ROUTES}
    if isinstance(process, RowProcess):
        routes[key] = _user
    route = routes.get(key)
    if route is None or scheme.chained:
        return None
    check_pair(scheme, process)
    if isinstance(process, Hmm) and not isinstance(scheme, (Tree, Lookup, Lookahead, BigLittle)):
        return (
            carried_stop(scheme, process, kappa) if process.carried and isinstance(scheme, (Stop, SelfDraft)) else None
        )
    return route(process, scheme, kappa, ask)
