"""What does `simspec solve` say of token laws: divergences, several drafts for one position, typical acceptance?

Each kind answers one case exactly; what its keys and answers mean is in docs/solve.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, cast

import numpy as np

from simspec import theory
from simspec.advice import fields
from simspec.kernels.lower_schemes import scheme_form
from simspec.kernels.words import LANES, stream_keys
from simspec.model import ParameterError
from simspec.model.errors import shown
from simspec.model.identity import digest
from simspec.model.rounds import RoundTable
from simspec.model.token_rules import TURNS, Judge, distinct, in_turn, matching, one_position, transport, typical
from simspec.run.engine import players
from simspec.run.layout import USUAL_ROUNDS
from simspec.stats.intervals import proportion
from simspec.theory.law import FloatArray
from simspec.theory.multidraft import DRAWS_LIMIT, check_distinct
from simspec.theory.ranges import EXACT_KAPPA_LIMIT, check_least
from simspec.theory.transport import included_distinct

LEVEL = 0.95
USUAL_ORDERS = (0, 0.5, 1, 2, "inf")
_IN_THE_USERS_WORDS = {"draws": "K", "target": "p", "draft": "q"}


def divergence(case: fields.Case) -> dict[str, Any]:
    """Acceptance rate, distances and what a divergence says of it; an infinite divergence is None.

    Examples
    --------
    >>> answer = divergence({"target": [0.5, 0.3, 0.2], "draft": [0.2, 0.3, 0.5], "orders": [1, "inf"]})
    >>> round(answer["alpha"], 6), round(answer["renyi_target_draft"]["1"], 6)
    (0.7, 0.274887)
    """
    fields.check_known(case, "target", "draft", "orders")
    target = fields.law(case, "target")
    draft = fields.law(case, "draft", target.size)
    orders = _orders(case)
    both = theory.overlap(target, draft)
    forth = {order: theory.renyi(target, draft, order) for order in {0.5, 1.0, math.inf, *orders.values()}}
    back = {order: theory.renyi(draft, target, order) for order in forth}
    lower, upper = theory.alpha_bounds_from_half(forth[0.5])
    least, largest = (min(forth[order], back[order]) for order in (1.0, math.inf))  # α is symmetric: the better one
    return {
        "alpha": both.alpha,
        "tv": both.total_variation,
        "l1": 2.0 * both.total_variation,
        "bhattacharyya": both.bhattacharyya,
        "hellinger2": both.hellinger2,
        "renyi_draft_target": {text: fields.finite(back[order]) for text, order in orders.items()},
        "renyi_target_draft": {text: fields.finite(forth[order]) for text, order in orders.items()},
        "alpha_lower_from_half": lower,
        "alpha_upper_from_half": upper,
        "alpha_lower_pinsker": theory.alpha_lower_pinsker(least),
        "alpha_lower_bretagnolle_huber": theory.alpha_lower_bretagnolle_huber(least),
        "alpha_lower_dinf": theory.alpha_lower_max_ratio(largest),
        "accepted_token_law": fields.listed(both.accepted_law),
        "residual_law": fields.listed(both.residual_law),
    }


def _orders(case: fields.Case) -> dict[str, float]:
    """The orders asked for, by what they are called in the answer: as they were written."""
    given = case.get("orders", USUAL_ORDERS)
    if not isinstance(given, (list, tuple)):
        raise ParameterError("orders", f'orders = {shown(given)} is not a list; allowed: a list of numbers or "inf"')
    orders = {}
    for i, order in enumerate(given):
        key = f"orders[{i}]"
        value = math.inf if order == "inf" or order == math.inf else fields.number({key: order}, key)
        check_least(key, value, 0)
        orders[str(order)] = value
    return orders


def typical_acceptance(case: fields.Case, positions: int | None = None, seed: int = 1) -> dict[str, Any]:
    """One draft under typical acceptance; with ``positions`` also played so often.

    Examples
    --------
    >>> laws = {"target": [0.5, 0.3, 0.2], "draft": [0.2, 0.3, 0.5]}
    >>> typical_acceptance({**laws, "epsilon": 0.25, "delta": 1.0})["accepted_tokens"]
    [0, 1]
    """
    fields.check_known(case, "target", "draft", "epsilon", "delta", "on_reject")
    target = fields.law(case, "target")
    draft = fields.law(case, "draft", target.size)
    epsilon = fields.number(case, "epsilon", 0.09)
    delta = fields.number(case, "delta") if "delta" in case else None
    instead = fields.one_of(case, "on_reject", ("target", "residual"), "target")
    found = theory.typical_acceptance(target, draft, epsilon, delta, cast(Literal["target", "residual"], instead))
    played = {}
    if positions is not None:
        least = math.sqrt(epsilon) if delta is None else delta
        rule = in_turn(partial(typical, epsilon=epsilon, delta=least, residual=instead == "residual"))
        table = one_position(rule, target.tolist(), [draft.tolist()])
        played = {"simulated": _positions(table, case, target, positions, seed)}
    return {
        "entropy": found.entropy,
        "threshold": found.threshold,
        "accepted_tokens": list(found.accepted_tokens),
        "acceptance": found.acceptance,
        "lossless_alpha": found.lossless_alpha,
        "output_law": fields.listed(found.output_law),
        "tv_output_target": found.tv_output_target,
        **played,
    }


@dataclass(frozen=True)
class Drafts:
    """The target law p and the laws of K drafts; ``rho`` for kseq."""

    p: FloatArray
    drafts: list[FloatArray]
    rho: float | None

    @property
    def q(self) -> FloatArray:
        return self.drafts[0]

    @property
    def draws(self) -> int:
        return len(self.drafts)


@dataclass(frozen=True)
class Answer:
    """What a scheme makes of them; ``more`` holds the answers that only this scheme has."""

    acceptance: float
    output_law: FloatArray
    stages: FloatArray | None
    more: dict[str, Any]


def _in_turn(scheme: Callable[..., theory.MultiDraft]) -> Callable[[Drafts], Answer]:
    def answer(asked: Drafts) -> Answer:
        found = scheme(asked.p, asked.drafts)
        return Answer(found.acceptance, found.output_law, found.stages, {})

    return answer


def _single(asked: Drafts) -> Answer:
    found = theory.recursive_rejection(asked.p, asked.drafts[:1])
    return Answer(found.acceptance, found.output_law, found.stages, {})


def _distinct(asked: Drafts) -> Answer:
    found = theory.recursive_rejection_distinct(asked.p, asked.q, asked.draws)
    return Answer(found.acceptance, found.output_law, found.stages, {})


def _k_seq(asked: Drafts) -> Answer:
    found = theory.k_seq(asked.p, asked.q, asked.draws, asked.rho)
    return Answer(found.acceptance, found.output_law, found.stages, {"rho": found.rho, "beta": found.beta})


def _transport(asked: Drafts) -> Answer:
    found = theory.transport_optimum(asked.p, asked.drafts)
    return Answer(found.acceptance, asked.p, None, {"min_cut": list(found.min_cut)})


def _transport_distinct(asked: Drafts) -> Answer:
    found = theory.transport_optimum_distinct(asked.p, asked.q, asked.draws)
    return Answer(found.acceptance, asked.p, None, {"min_cut": list(found.min_cut)})


def _top(asked: Drafts) -> Answer:
    found, candidates = theory.top_candidates(asked.p, asked.q, asked.draws)
    return Answer(found.acceptance, found.output_law, found.stages, {"candidates": list(candidates)})


def _among_independent(asked: Drafts) -> FloatArray:
    missed = np.ones_like(asked.p)
    for q in asked.drafts:
        missed *= 1.0 - q
    return 1.0 - missed


def _among_distinct(asked: Drafts) -> FloatArray:
    check_distinct(asked.q, asked.draws)
    return included_distinct(asked.q, asked.draws)


def _among_top(asked: Drafts) -> FloatArray:
    among = np.zeros_like(asked.p)
    among[list(theory.top_candidates(asked.p, asked.q, asked.draws)[1])] = 1.0
    return among


@dataclass(frozen=True)
class Scheme:
    """How drafts are made and judged: the answer, its rounds, P(token is drafted), whether drafts may differ in law."""

    answer: Callable[[Drafts], Answer]
    rounds: Callable[[Drafts, Answer], RoundTable]
    among: Callable[[Drafts], FloatArray] = _among_independent
    several_laws: bool = False


def _one_hots(asked: Drafts, found: Answer) -> list[FloatArray]:
    """The candidates as laws that draw one token."""
    return [np.eye(asked.p.size)[token] for token in found.more["candidates"]]


def _played(judge: Judge, asked: Drafts, drafts: Sequence[FloatArray] | None = None) -> RoundTable:
    return one_position(judge, asked.p.tolist(), [law.tolist() for law in (asked.drafts if drafts is None else drafts)])


_REJECTION = in_turn(TURNS["rrs"])
SCHEMES: dict[str, Scheme] = {
    "single": Scheme(_single, lambda a, _: _played(_REJECTION, a, a.drafts[:1]), several_laws=True),
    "naive": Scheme(_in_turn(theory.naive_matching), lambda a, _: _played(matching, a), several_laws=True),
    "rrs": Scheme(_in_turn(theory.recursive_rejection), lambda a, _: _played(_REJECTION, a), several_laws=True),
    "rrs_wor": Scheme(_distinct, lambda a, _: _played(distinct, a), _among_distinct),
    "kseq": Scheme(_k_seq, lambda a, found: _played(in_turn(partial(TURNS["kseq"], rho=found.more["rho"])), a)),
    "otm": Scheme(_transport, lambda a, _: _played(transport(), a), several_laws=True),
    "otm_wor": Scheme(_transport_distinct, lambda a, _: _played(transport(unlike=True), a), _among_distinct),
    "topk_deterministic": Scheme(_top, lambda a, found: _played(_REJECTION, a, _one_hots(a, found)), _among_top),
}


def multidraft(case: fields.Case, positions: int | None = None, seed: int = 1) -> dict[str, Any]:
    """K drafts for one position under one scheme; with ``positions`` also played so often, token by token.

    Examples
    --------
    >>> laws = {"p": [0.5, 0.3, 0.2], "q": [0.2, 0.3, 0.5], "K": 2}
    >>> [round(multidraft({**laws, "scheme": scheme})["acceptance"], 6) for scheme in ("naive", "rrs", "kseq", "otm")]
    [0.483, 0.76, 0.791355, 0.86]
    """
    fields.check_known(case, "p", "q", "drafts", "K", "scheme", "rho", "depth")
    name = fields.one_of(case, "scheme", tuple(SCHEMES))
    asked = _drafts(case, name)
    depth = fields.whole(case, "depth", 0, EXACT_KAPPA_LIMIT, default=1)
    try:
        found = SCHEMES[name].answer(asked)
        among = SCHEMES[name].among(asked)
    except ParameterError as error:
        raise fields.renamed(error, _IN_THE_USERS_WORDS) from None
    alphas = [min(float(np.minimum(asked.p, q).sum()), 1.0) for q in asked.drafts]
    played = {}
    if positions is not None:
        seen = _positions(SCHEMES[name].rounds(asked, found), case, asked.p, positions, seed)
        seen["mean_accepted_depth"] = math.fsum(seen["acceptance"] ** j for j in range(1, depth + 1))
        played = {"simulated": seen}
    return {
        "acceptance": found.acceptance,
        "output_law": fields.listed(found.output_law),
        "tv_output_target": 0.5 * float(np.abs(found.output_law - asked.p).sum()),
        "stage_acceptance": fields.listed(found.stages),
        "mean_accepted_depth": math.fsum(found.acceptance**j for j in range(1, depth + 1)),
        **found.more,
        "single_draft_alpha": alphas[0],
        "one_minus_miss_power": 1.0 - math.prod(1.0 - alpha for alpha in alphas),
        "singleton_bound": min(float(np.minimum(asked.p, among).sum()), 1.0),
        **played,
    }


def _positions(table: RoundTable, case: fields.Case, p: FloatArray, positions: int, seed: int) -> dict[str, Any]:
    """Positions played one by one: how many kept a draft, and which tokens came out."""
    form, identity = scheme_form(table), digest({key: case[key] for key in case if key not in ("id", "depth")})
    keys = stream_keys(seed, identity, domain="rounds")
    chunks = -(-positions // (LANES * USUAL_ROUNDS))
    each = -(-positions // (LANES * chunks))
    counts = sum(players().scheme_counts(form, keys, c, LANES, each).sum(axis=0) for c in range(chunks))
    accepted = np.array([kind.accepted for kind in form.kinds])
    emitted = np.zeros(p.size)
    np.add.at(emitted, [kind.mark for kind in form.kinds], counts)
    total = np.array(float(counts.sum()))
    rate = np.array(float(counts @ accepted)) / total
    low, high = proportion(rate, None, total, int(total), True, LEVEL)
    law = emitted / total
    return {
        "acceptance": float(rate),
        "acceptance_interval": [float(low), float(high)],
        "output_law": law.tolist(),
        "tv_output_target": 0.5 * float(np.abs(law - p).sum()),
        "windows": int(total),
        "level": LEVEL,
        "seed": seed,
    }


def _drafts(case: fields.Case, name: str) -> Drafts:
    p = fields.law(case, "p")
    if ("q" in case) == ("drafts" in case):
        raise ParameterError("q", "give either q, one law for all drafts, or drafts, a list of laws")
    if "drafts" in case and not SCHEMES[name].several_laws:
        raise ParameterError("drafts", f'drafts has no meaning for scheme = "{name}"; allowed: q, one law')
    if "rho" in case and name != "kseq":
        raise ParameterError("rho", f'rho has no meaning for scheme = "{name}"; allowed with kseq')
    rho = fields.number(case, "rho") if "rho" in case else None
    if "q" in case:
        q = fields.law(case, "q", p.size)
        return Drafts(p, [q] * fields.whole(case, "K", 1, DRAWS_LIMIT, default=1), rho)
    laws: Sequence[FloatArray] = fields.laws(case, "drafts", p.size)
    if len(laws) > DRAWS_LIMIT:
        raise ParameterError("drafts", f"drafts has {len(laws)} laws; allowed: 1 to {DRAWS_LIMIT}")
    draws = fields.whole(case, "K", 1, DRAWS_LIMIT, default=len(laws))
    if draws != len(laws):
        raise ParameterError("K", f"K = {draws} differs from the laws of drafts; allowed: {len(laws)}, or left out")
    return Drafts(p, list(laws), rho)
