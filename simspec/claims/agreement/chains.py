"""Which systems draft a chain?  Draft models, overlap, the target's own layers, heads, and drafts that stop."""

from __future__ import annotations

from collections.abc import Sequence

from simspec.claims.agreement.case import Case, System, foresight_by
from simspec.model import (
    BetaMixture,
    Cost,
    DiscreteMixture,
    Drift,
    GaussianCopulaAr1,
    Hmm,
    Iid,
    Markov,
    Position,
    Process,
    Scheme,
    Survival,
)
from simspec.model.schemes import Ahead, Chain, Parallel, SelfDraft, Stop
from simspec.theory.stop_worth import stop_bounds

DRAFTED = "chain; overlapped drafting"
SELF = "self-speculation"
HEADS = "EAGLE chain; MTP heads"
DEPTH = "dynamic depth"

STICKY = Hmm(P=((0.9, 0.1), (0.25, 0.75)), alphas=(0.92, 0.35))
CARRIED = Hmm(P=((0.9, 0.1), (0.25, 0.75)), alphas=(0.92, 0.35), start="carry")
APART = Hmm(P=((0.55, 0.3, 0.15),) * 3, alphas=(0.95, 0.6, 0.15))
"""Confidences that are drawn anew for every draft."""
MIXED = DiscreteMixture(alphas=(0.9, 0.35), weights=(0.6, 0.4))
BY_REQUEST = DiscreteMixture(alphas=(0.9, 0.35), weights=(0.6, 0.4), weights_of="requests", request_tokens=20)
BETA = BetaMixture(alpha=0.7, rho=0.25)
DRIFT = Drift(alpha_start=0.85, alpha_end=0.55, tokens=40)
FELL = Position(alphas=(0.79, 0.74, 0.72, 0.73, 0.67))
MARKOV = Markov(alpha=0.7, rho=0.3, start="carry")
SWINGS = Markov(alpha=0.6, rho=-0.4, start="carry", steps_after_full=2)

Sets = tuple[tuple[Process, int, str], ...]
"""Processes, κ, and what is at its limit."""

ENDS: Sets = (
    (Iid(alpha=0.0), 4, "α = 0"),
    (Iid(alpha=1.0), 4, "α = 1"),
    (Iid(alpha=0.7), 1, "κ = 1"),
    (Iid(alpha=0.7), 0, "κ = 0"),
)
DEPENDENT: Sets = (
    (Position(alphas=(0.85, 0.6, 0.5, 0.3)), 4, ""),
    (MARKOV, 5, ""),
    (SWINGS, 4, ""),
    (STICKY, 5, ""),
    (CARRIED, 5, ""),
    (MIXED, 5, ""),
    (BETA, 5, ""),
    (BY_REQUEST, 5, ""),
    (DRIFT, 5, ""),
)


def on(scheme: Scheme, sets: Sets, price: Cost | None = None) -> tuple[Case, ...]:
    """One scheme on several processes.

    Examples
    --------
    >>> [case.edge for case in on(Chain(), ENDS)]
    ['α = 0', 'α = 1', 'κ = 1', 'κ = 0']
    """
    own = Case.price if price is None else price
    return tuple(Case(process, kappa, scheme, edge, own) for process, kappa, edge in sets)


OVERLAPPED: Sets = (
    (Iid(alpha=0.7), 4, ""),
    (Iid(alpha=0.93), 10, ""),
    (Iid(alpha=0.4), 3, ""),
    (Iid(alpha=0.85), 6, ""),
    *ENDS[:3],
)
"""κ = 0 drafts nothing that could be made ahead."""
DRAWN: Sets = ((MIXED, 3, ""), (BETA, 3, ""))


def drafted() -> tuple[System, ...]:
    """Chains of a draft model, one after the other and overlapped."""
    chain = on(Chain(), ((Iid(alpha=0.7), 5, ""), (GaussianCopulaAr1(alpha=0.7, rho=0.3), 4, ""), *DEPENDENT, *ENDS))
    rigid = on(Chain(), ((BetaMixture(alpha=0.7, rho=1.0), 5, "ρ = 1"),))
    renewal = "renewal between rejections"
    return (
        System(DRAFTED, "Leviathan, Chen", "closed forms, chain of rows, pass over positions", (*chain, *rigid)),
        System(DRAFTED, "PEARL", renewal, on(Ahead(pre_verify=True), OVERLAPPED)),
        System(DRAFTED, "PEARL, post-verify alone", renewal, on(Ahead(), (*OVERLAPPED, *DRAWN))),
        System(DRAFTED, "DSI", renewal, on(Parallel(), (*OVERLAPPED, *DRAWN))),
    )


def own_layers() -> tuple[System, ...]:
    """Drafts by some of the target's own layers."""
    usual = ((Iid(alpha=0.8), 6, ""), *DEPENDENT, *ENDS)
    confident = (
        (APART, 6, ""),
        (STICKY, 6, ""),
        (CARRIED, 5, ""),
        (BY_REQUEST, 5, ""),
        (DRIFT, 5, ""),
        *ENDS,
    )
    kangaroo = SelfDraft(layers=0.0625, adapter=0.03, theta=0.6)
    return (
        System(
            SELF, "Draft & Verify", "as a chain, layers priced apart", on(SelfDraft(layers=0.5, reuse=False), usual)
        ),
        System(SELF, "LayerSkip", "as a chain, layers priced apart", on(SelfDraft(layers=0.25), usual)),
        System(
            SELF,
            "Kangaroo",
            "chain of products of confidences",
            (
                *on(kangaroo, confident),
                *on(SelfDraft(layers=0.0625, theta=1.0), ((APART, 6, "θ = 1"),)),
                *on(SelfDraft(layers=0.0, theta=0.0), ((APART, 6, "no layers, θ = 0"),)),
                *on(SelfDraft(layers=1.0, theta=0.6), ((APART, 6, "all layers"),)),
            ),
        ),
    )


def by_depth() -> tuple[System, ...]:
    """Rates by depth, correlated ones, and draft steps by depth, by window or by several heads."""
    short = ((FELL, 1, "κ = 1"), (FELL, 0, "κ = 0"), (Position(alphas=(0.9, 0.0, 0.5)), 3, "a depth of rate 0"))
    depth = ((FELL, 5, ""), (FELL, 3, ""), (Survival(survival=(0.76, 0.62, 0.51)), 3, ""), *short, *ENDS[:2])
    tied = ((Markov(alpha=0.75, rho=0.3), 5, ""), *DEPENDENT, (GaussianCopulaAr1(alpha=0.75, rho=0.2), 5, ""))
    limits = (
        (Markov(alpha=0.5, rho=-1.0, start="carry", steps_after_full=2), 4, "ρ = −1"),
        (BetaMixture(alpha=0.7, rho=1.0), 4, "ρ = 1"),
        (Markov(alpha=0.7, rho=0.0, start="carry"), 4, "ρ = 0"),
    )
    closed = "survival curve; steps by window"
    return (
        System(HEADS, "EAGLE chain, α by depth", "survival curve", on(Chain(), depth)),
        System(HEADS, "EAGLE chain, correlated", "chain of rows, matrices, urn", on(Chain(), (*tied, *limits))),
        System(
            HEADS, "heads side by side, a step per window", closed, on(Chain(drafting="window"), (*depth, *tied[1:4]))
        ),
        System(
            HEADS, "MTP, one module reused", "survival curve", on(Chain(), ((Iid(alpha=0.87), 4, ""), *depth, *ENDS))
        ),
        System(
            HEADS,
            "MTP, n heads reused",
            closed,
            (*on(Chain(heads=2), (*depth, *tied[1:4])), *on(Chain(heads=3), ((FELL, 5, ""), (FELL, 3, "κ = n")))),
        ),
    )


def _foresight(case: Case) -> float:
    """By the best of all lengths for every number of right drafts, under the law of confidences."""
    process = case.process
    assert isinstance(process, Hmm)
    values, weights = process.alphas, process.P[0]
    return stop_bounds(values, weights, case.price, case.kappa).foresight


def _sees(alphas: Sequence[float], weights: Sequence[float]) -> Hmm:
    return Hmm(P=(tuple(weights),) * len(weights), alphas=tuple(alphas))


def _stops(name: str, usual: Stop) -> System:
    """A rule on every process, miscalibrated, and with thresholds that never and that always stop."""

    def other(**keys: object) -> Stop:
        return Stop.model_validate(usual.model_dump(exclude={"label"}) | keys)

    rated: Sets = ((APART, 8, ""), (STICKY, 7, ""))
    if usual.submits:  # else it is asked of fresh windows alone
        rated = (*rated, (CARRIED, 6, ""), (MARKOV, 6, ""), (BY_REQUEST, 6, ""), (DRIFT, 6, ""))
    changed = (
        ({"confidences": (0.8, 0.4, 0.1)}, "under-confident"),
        ({"confidences": (0.99, 0.8, 0.5)}, "over-confident"),
        ({"theta": 0.0}, "θ = 0"),
        ({"theta": 1.0}, "θ = 1"),
    )
    cases = (*on(usual, (*rated, *ENDS)), *(Case(APART, 8, other(**keys), edge) for keys, edge in changed))
    return System(DEPTH, name, "chain of products of confidences", cases)


def stopped() -> tuple[System, ...]:
    """Drafts that end by themselves."""
    bound = (
        (APART, 10, ""),
        (_sees((0.9, 0.3), (0.75, 0.25)), 20, ""),
        (_sees((0.99, 0.5), (0.5, 0.5)), 12, ""),
        (_sees((0.7,), (1.0,)), 16, "one confidence"),
        (APART, 1, "κ = 1"),
        (_sees((0.0, 0.0), (0.5, 0.5)), 5, "α = 0"),
        (_sees((1.0, 1.0), (0.5, 0.5)), 5, "α = 1"),
    )
    judged = on(Stop(theta=0.0, rule="confidence"), bound, Cost(c_d=0.1, c_v=0.01))
    return (
        _stops("SpecDec++", Stop(theta=0.3, kmin=2)),
        _stops("DISCO, DSD", Stop(theta=0.4, rule="confidence")),
        _stops("p_min", Stop(theta=0.75, rule="confidence")),
        _stops("p_min, failing draft not sent", Stop(theta=0.5, rule="confidence", submits=False)),
        System(DEPTH, "foresight bound", "best length for each number right", judged, (foresight_by(_foresight),)),
    )


def systems() -> tuple[System, ...]:
    """All of them."""
    return (*drafted(), *own_layers(), *by_depth(), *stopped())
