"""How far can the pooled figures of a source be from the truth?  Between its requests, or log lines, where it has some.

One place for every shape: readers count, and rounds by group (`Observed`) give the error.  Where nothing is known but
the rounds, the binomial intervals of the reader stay.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from simspec.evidence.block import ONE_BY_ONE
from simspec.evidence.observed import REQUEST, Observed
from simspec.evidence.source import POOLED, Source, Unknown
from simspec.stats.request_sums import RequestSums
from simspec.text import plural

WITHIN = "binomial: rounds are taken as independent; between requests figures differ by more, see pooled"
"""The method of a part, such as one request, in a source that tells its groups apart."""
_NEVER = Unknown("the position before was never accepted")
_NEIGHBOURS = "; neighbouring lines share requests, so that the true interval may be wider"


def give_intervals(source: Source, level: float) -> None:
    """Put intervals between groups in place of binomial ones, wherever the rounds of a block are known by group.

    Parameters
    ----------
    source : Source
        As its reader left it; changed in place.
    level : float
        Confidence level.

    Examples
    --------
    >>> from simspec.evidence.block import Counts, figures
    >>> own = Source("some", "engine", {"pooled": figures(Counts(1, 40, 40, 20, [20]), 0.95)})
    >>> own.observed = Observed.of_counts([(1, 10, [9]), (1, 10, [2]), (1, 10, [8]), (1, 10, [1])], REQUEST)
    >>> before = own.body["pooled"]["intervals"]["survival"][0]
    >>> give_intervals(own, 0.95)
    >>> after = own.body["pooled"]["intervals"]
    >>> [round(end, 2) for end in (*before, *after["survival"][0])], after["requests"]
    ([0.34, 0.66, 0.02, 0.98], 4)
    """
    observed = source.observed
    if isinstance(observed, Unknown) or not observed.clustered:
        return
    for name in POOLED:
        block = source.body.get(name)
        if isinstance(block, dict):
            _between(block, observed, level)
    segments = source.body.get("segments", [])
    for part in segments if isinstance(segments, list) else []:
        kappa = part.get("kappa") if isinstance(part, dict) else None
        if isinstance(kappa, int):
            _between(part, _at(observed, kappa), level)
    for own in source.body.values():
        _reworded(own)


def _between(block: dict[str, Any], observed: Observed, level: float) -> None:
    """Intervals of one block, if these are its rounds, or a known part of them; never narrower than binomial ones."""
    drafts, known = block.get("drafts"), block.get("intervals")
    if not (observed.clustered and isinstance(drafts, int)) or observed.rounds + observed.left_out != drafts:
        return
    if known is not None and known["method"] != ONE_BY_ONE:  # by request, from all of them, in the reader
        return
    emitted = block.get("mean_emitted_per_round")
    sums = sums_of(observed)
    own: dict[str, Any] = {
        "level": level,
        "method": _method(observed),
        "requests" if observed.unit == REQUEST else "groups": sums.requests,
    }
    if isinstance(block.get("survival"), list):
        positions = range(len(sums.reached))
        if len(block["survival"]) != len(positions):
            return
        own["survival"] = [sums.survival(j, level) for j in positions]
        own["cond_alpha"] = [sums.conditional(j, level) or _NEVER for j in positions]
    if isinstance(emitted, float):
        shift = emitted - sums.accepted / sums.rounds  # a count from a rounded rate, or rounds without a group
        low, high = (min(max(1.0, end + shift), observed.kappa_max + 1.0) for end in sums.mean_accepted(level))
        alone = (known or {}).get("mean_emitted_per_round", (low, high))  # two groups may agree by chance
        own["mean_emitted_per_round"] = [min(low, alone[0]), max(high, alone[1])]
    block["intervals"] = own


def sums_of(observed: Observed) -> RequestSums:
    """Rounds by group, as the sums of `RequestSums`.

    Examples
    --------
    >>> sums_of(Observed.in_order([[2, 2], [2]], [[1, 2], [0]])).reached
    [2, 1]
    """
    sums = RequestSums()
    rounds = np.bincount(observed.group, observed.count, observed.groups).astype(np.int64)
    for own, reached in zip(rounds.tolist(), observed.reached_by_group().tolist(), strict=True):
        sums.add(own, reached)
    return sums


def _at(observed: Observed, kappa: int) -> Observed:
    """The rounds that were offered ``kappa`` drafts; groups without one are left out."""
    kept = observed.drafted == kappa
    sizes = np.bincount(observed.group[kept], minlength=observed.groups)
    offsets = np.concatenate([[0], np.cumsum(sizes[sizes > 0])])
    return Observed(
        observed.drafted[kept], observed.accepted[kept], observed.count[kept], offsets, observed.unit, observed.ordered
    )


def _method(observed: Observed) -> str:
    groups = plural(observed.groups, observed.unit)
    how = f"clustered by {observed.unit}: between {groups} (ratio estimator, Student's quantile)"
    if observed.left_out:
        how += f", from the {observed.rounds:,} of {observed.rounds + observed.left_out:,} rounds that they hold"
    return how + ("" if observed.unit == REQUEST else _NEIGHBOURS)


def _reworded(own: Any) -> None:
    """A part of a source that does tell groups apart must not say that it does not."""
    if isinstance(own, list):
        for part in own:
            _reworded(part)
    elif isinstance(own, dict):
        ends = own.get("intervals")
        if isinstance(ends, dict) and ends.get("method") == ONE_BY_ONE:
            own["intervals"] = ends | {"method": WITHIN}
        for part in own.values():
            if isinstance(part, (dict, list)):
                _reworded(part)
