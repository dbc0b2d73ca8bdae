"""What is to be kept in mind when two runs are compared?  Sentences about κ, requests, and who is whom."""

from __future__ import annotations

from collections.abc import Iterator

from simspec.advice.ab.run import Run
from simspec.evidence.observed import REQUEST
from simspec.text import number, plural

ALIKE = 1.1
"""Batches, one over the other, whose speeds per request are compared."""


def together(first: Run, second: Run) -> Iterator[str]:
    """Notes of both runs, said once where they are the same."""
    for note in dict.fromkeys((*first.notes, *second.notes)):
        who = [name for name, run in (("A", first), ("B", second)) if note in run.notes]
        yield f"{' and '.join(who)}: {note}"


def of_cuts(first: Run, second: Run, kappa: int, pairs: int) -> Iterator[str]:
    """What was left out to compare like with like, and what stays different."""
    runs = [(name, run, run.observed) for name, run in (("A", first), ("B", second)) if run.observed is not None]
    for name, run, own in runs:
        if run.kappa is None:
            span = f"from {own.kappas[0]} to {own.kappas[-1]}"
            yield (
                f"{name}: κ varies {span}: E and S_j are compared up to draft {kappa}, "
                "which every round was offered, and α_j where draft j was examined; if κ follows past acceptance, deep "
                "positions come from good stretches, so that their α reads high"
            )
        short = own.rounds - int(own.count[own.drafted >= kappa].sum())
        if short:
            yield f"{name}: {plural(short, 'round')} with fewer than {plural(kappa, 'draft')} are left out of E and S_j"
        if pairs and own.groups > pairs:
            yield f"{name}: {plural(own.groups - pairs, 'request')} that the other run does not hold are left out"
    if first.kappa != second.kappa:
        ran = " and ".join(f"{name} {number(run.emitted or 0.0, 2)} at κ = {run.kappa or 'varying'}"
                           for name, run, _ in runs)  # fmt: skip
        known = all(own.unit == REQUEST and own.clustered for *_, own in runs)
        how = "by what each request emitted" if known else "as if any round might be a request of its own"
        yield (
            f"E is compared as if both had stopped after draft {kappa}; as they ran it is {ran}, and accepted ÷ drafted"
            " is not comparable at all.  Where requests differ, S_1 falls as κ grows with no change of the draft (hard "
            f"requests need a larger share of the rounds): p allows for that, {how}; run the same κ to judge a draft"
        )
    if len({own.rounds for *_, own in runs}) == 1 and all(
        (getattr(runs[0][2], column).tobytes() == getattr(runs[1][2], column).tobytes())
        for column in ("drafted", "accepted", "count")
    ):
        yield "A and B hold the very same rounds: is it one file twice?"


def speed_name(first: Run, second: Run) -> tuple[str | None, str | None]:
    """What the speeds of both runs are called, None where they are not of the same; and what to know of them."""
    if not (first.per_request or second.per_request):
        return "tok/s", None
    told = "a log prints the speed of all requests together; here it is ÷ requests running"
    if first.per_request and second.per_request:
        batches = first.at_once, second.at_once
        if None not in batches and max(batches) > ALIKE * min(batches):  # type: ignore[type-var, operator]
            ran = " and B ".join(f"{own:.3g}" for own in batches)
            return None, f"speeds are not compared: A ran {ran} requests at once, and a request is slower among more"
        return "tok/s per request", f"tok/s per request: {told}"
    one, other = ("A", second) if first.per_request else ("B", first)
    if other.source is not None:
        return None, f"speeds are not compared: {one}'s is of one request, the other of all of them together"
    return "tok/s", f"tok/s: {told}, in {one}; the other one, typed in, is taken to be per request too"


def other_kappa(first: Run, second: Run) -> str:
    """Why E of two runs, one of which gives only a mean, is not compared."""
    return (
        f"A ran κ = {first.kappa or 'unknown'} and B κ = {second.kappa or 'unknown'}, one of them with only a mean: "
        "E at different κ is not comparable, nor is accepted ÷ drafted; give the survival of both (survival=… rounds=N)"
    )
