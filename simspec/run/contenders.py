"""Who chooses κ in the league?  Controllers of engines and of papers, by name, within the same bounds."""

from __future__ import annotations

from typing import Any

from simspec.model import Cost
from simspec.model.policies import (
    Exp3,
    Exp3Spec,
    Gate,
    Goodput,
    Heuristic,
    Policy,
    Rolling,
    Schedule,
    Steps,
    Thompson,
    Ucb,
    UcbSpec,
)

GATE = "gate .3"
_STEPS = (1, 3, 5, 7)
"""Draft lengths of SGLang's adaptive steps."""


WHO = (
    "names: +2/−1 is Hugging Face's rule, steps SGLang's, goodput vLLM's proposal (memory in rounds), gate "
    "TensorRT-LLM's; UCBSpec and EXP3Spec are BanditSpec's.  Rolling: the best κ for a moving average (weight λ) of "
    "judged drafts; accepted/drafted: of all drafts; kept: for longer than a request."
)
"""What the names stand for, for who has read nothing."""


NOW = ", as now"


def now(kappa: int) -> str:
    """What the draft length that is set now is called."""
    return f"κ = {kappa}{NOW}"


def contenders(cost: Cost, longest: int, kappa: int | None = None) -> dict[str, Policy]:
    """Who takes part, by name, knowing the prices of rounds but not those of changes of κ.

    Parameters
    ----------
    cost : Cost
        For those that read prices.
    longest : int
        The largest κ of all of them, at least 1; the least is 1.
    kappa : int, optional
        A draft length that is set now, which plays in place of κ = 4 if it is no longer.

    Examples
    --------
    >>> own = contenders(Cost(c_d=0.1), 8)
    >>> len(own) >= 24, max(policy.longest for policy in own.values())
    (True, 8)
    """
    first = min(4, longest)
    bounds: dict[str, Any] = {"first": first, "lowest": 1, "highest": longest}
    lengths = tuple(kappa for kappa in _STEPS if kappa <= longest)
    again: dict[str, Any] = {"first": first, "highest": longest, "of": "share", "probe": 256, "trial": 8}
    still = {f"κ = {first}": first} if kappa is None or kappa > longest else {now(kappa): kappa}
    own: dict[str, Policy] = {
        **{name: Schedule(kappas=(length,)) for name, length in still.items()},
        "+2/−1": Heuristic(**bounds),
        "+2/−1 kept": Heuristic(**bounds, keeps=True),
        "article's loop": Rolling(**bounds, rule="article", guard=0.25),
        "article, no guard": Rolling(**bounds, rule="article"),
        "guard alone": Rolling(**bounds, guard=0.25),
        "rolling .85": Rolling(**bounds),
        "rolling .95": Rolling(**bounds, smoothing=0.95),
        "rolling .99 kept": Rolling(**bounds, smoothing=0.99, keeps=True),
        "accepted/drafted": Rolling(**bounds, smoothing=0.95, of="drafted"),
        "SGLang steps": Steps(candidates=lengths, keeps=True),
        "goodput 50": Goodput(**bounds, keep=0.98, keeps=True),
        "goodput 500": Goodput(**bounds, keep=0.998, keeps=True),
        "UCB": Ucb(**bounds, keeps=True),
        "UCB 200": Ucb(**bounds, keep=0.995, keeps=True),
        "UCB last 500": Ucb(**bounds, window=500, keeps=True),
        "UCBSpec": UcbSpec(highest=longest, keeps=True),
        "UCBSpec per cost": UcbSpec(highest=longest, reward="throughput", keeps=True),
        "EXP3": Exp3(**bounds, keeps=True),
        "EXP3Spec": Exp3Spec(**bounds, keeps=True),
        "Thompson": Thompson(**bounds, keeps=True),
        "Thompson 50": Thompson(**bounds, keep=0.98, keeps=True),
        GATE: Gate(first=first, highest=longest, keeps=True),
        "gate, tried again": Gate(**again, keeps=True),
    }
    return {name: policy.told((cost.without_changes(),)) for name, policy in own.items()}
