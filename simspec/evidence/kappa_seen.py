"""Which draft lengths does a source hold, and does what the caller says of κ contradict them?"""

from __future__ import annotations

from simspec.evidence.source import POOLED, Source, Unknown
from simspec.model.errors import ParameterError

_LISTED = 10


def kappas_in(source: Source) -> frozenset[int]:
    """The draft lengths at which a source ran; empty where it does not hold them.

    Examples
    --------
    >>> sorted(kappas_in(Source("some", "engine", {"segments": [{"kappa": 3}, {"kappa": 5}]})))
    [3, 5]
    """
    segments = source.body.get("segments", [])
    blocks = [source.body.get(name) for name in POOLED]
    blocks += segments if isinstance(segments, list) else []
    found = {block["kappa"] for block in blocks if isinstance(block, dict) and isinstance(block.get("kappa"), int)}
    return frozenset(found or source.kappas)


def which_kappa(source: Source | None) -> str:
    """What to do where tokens per round are known and the draft length is not.

    Examples
    --------
    >>> which_kappa(Source("some", "engine", kappas=(1, 7)))
    'it ran at κ = 1, 7 and holds means only: take a stretch of it at one κ'
    """
    seen = sorted(kappas_in(source)) if source is not None else []
    if len(seen) > 1:
        ran = ", ".join(map(str, seen[:_LISTED]))
        return f"it ran at κ = {ran} and holds means only: take a stretch of it at one κ"
    return "tokens per round at which κ? the source does not say; give --kappa"


def check_kappa(source: Source, kappa: int | None) -> None:
    """Refuse a draft length that contradicts what the source holds.

    Parameters
    ----------
    source : Source
    kappa : int or None
        As given by the caller; None contradicts nothing.

    Raises
    ------
    ParameterError
        The source ran at another κ, or has drafts longer than ``kappa``.

    Examples
    --------
    >>> check_kappa(Source("some", "engine", {"pooled": {"kappa": 5}}, files=["a.log"]), 3)
    Traceback (most recent call last):
    ...
    simspec.model.errors.ParameterError: a.log: kappa = 3 contradicts it: it ran at κ = 5; leave --kappa out
    """
    if kappa is None:
        return
    where, seen = ", ".join(source.files) or source.shape, kappas_in(source)
    if seen and seen != {kappa}:
        ran = ", ".join(map(str, sorted(seen)[:_LISTED]))
        raise ParameterError(
            "kappa", f"{where}: kappa = {kappa} contradicts it: it ran at κ = {ran}; leave --kappa out"
        )
    longest = 0 if isinstance(source.observed, Unknown) else source.observed.kappa_max
    if longest > kappa:
        raise ParameterError(
            "kappa", f"{where}: kappa = {kappa} contradicts it: it has drafts of {longest} tokens; leave --kappa out"
        )
