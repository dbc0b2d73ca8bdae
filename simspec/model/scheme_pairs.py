"""Which schemes go with which processes of rows, and why not with the others?"""

from __future__ import annotations

from simspec.model.errors import ParameterError
from simspec.model.mixture import DiscreteMixture
from simspec.model.process import Process
from simspec.model.schemes import (
    Ahead,
    BigLittle,
    Chain,
    DynamicTree,
    Lookahead,
    Lookup,
    Parallel,
    Scheme,
    SelfDraft,
    Stop,
    Tree,
    Unmask,
)

BY_DEPTH = (Chain, Tree, Lookup, Lookahead, BigLittle)
"""Schemes in which a draft is one level deeper than the one before: what is hidden moves once per level, and drafts of
one level share it."""

MARKING = (Stop, SelfDraft)
"""Schemes that follow hidden states themselves, since they compare them, and mark the one in which a round ends."""

_DRAWN = (("discrete_mixture", "window"), ("beta_mixture", "window"))
_ALONE: dict[type[Scheme], tuple[str, tuple[tuple[str, str], ...]]] = {
    Unmask: ("a pass of it judges no draft, so nothing says what follows", (("hmm", "window"),)),
    Ahead: ("no token of the target stands between its windows, as the process takes for granted", _DRAWN),
    Parallel: ("no token of the target stands between its blocks, as the process takes for granted", _DRAWN),
    DynamicTree: ("its trees grow by confidences that are drawn anew for every node", (("hmm", "window"),)),
}
"""Scheme → why it goes with no process of rows, and with which it does nevertheless."""
_SAID = {"window": "by window", "lane": "carried over windows", "generation": "by generation or request"}


def check_pair(scheme: Scheme, process: Process) -> None:
    """Raise `ParameterError`, with the reason, where a scheme has no meaning on a process whose windows fall into rows.

    Examples
    --------
    >>> check_pair(Lookahead(candidates=3), DiscreteMixture(alphas=(0.9, 0.3), weights=(0.5, 0.5)))
    """
    kind = f"{process.type} {_SAID[process.unit]}"
    reason, known = next((own for one, own in _ALONE.items() if isinstance(scheme, one)), ("", None))
    if known is not None and (process.type, process.unit) not in known:
        others = "".join(f", {name} {_SAID[unit]}" for name, unit in known)
        raise ParameterError("process.type", f"{scheme.type} goes with no {kind}: {reason}; allowed: iid{others}")
    if isinstance(scheme, Ahead) and scheme.pre_verify:
        told = f"with pre_verify a window is judged in two passes, and {kind} would draw two rates for it"
        raise ParameterError("process.type", f"{told}; allowed: iid, or pre_verify = false")
    if isinstance(scheme, Lookahead) and scheme.good < 1.0 and process.unit == "lane":
        told = "a step without candidates judges no draft, so nothing says what follows"
        raise ParameterError("good", f"good = {scheme.good:g} on {kind}: {told}; allowed: good = 1")
    carried = process.type == "hmm" and process.unit == "lane"
    known_end = scheme.chained or isinstance(scheme, (*BY_DEPTH, *MARKING))
    if carried and (isinstance(scheme, BigLittle) or not known_end):
        told = f"{scheme.type} does not tell in which hidden state its round ends"
        names = "chain, tree, stop, lookup, lookahead"
        raise ParameterError("process", f'{told}, as start = "carry" asks; allowed: start = "stationary", or {names}')
    if carried and isinstance(scheme, Stop) and not scheme.submits:
        told = "submits = false leaves rounds without a verdict, so nothing says what follows"
        raise ParameterError("submits", f'{told}; allowed: submits = true, or start = "stationary"')
    by_rounds = isinstance(process, DiscreteMixture) and process.weights_of == "rounds"
    if by_rounds and isinstance(scheme, Lookup):
        told = 'weights_of = "rounds" depends on the matches of the request before'
        raise ParameterError("process.weights_of", f'{told}; allowed with lookup: "requests", "tokens"')
