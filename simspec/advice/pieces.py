"""What do several logs say together?  Pieces of one log are read as one; other logs are no one source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from simspec.advice.acceptance import Acceptance, acceptance_of_source
from simspec.advice.explain.same_content import one_acceptance, unlike
from simspec.evidence.readers.base import Options
from simspec.evidence.recognise import join_pieces
from simspec.evidence.source import Source
from simspec.model.errors import ParameterError


def acceptance_of_sources(
    sources: Sequence[Source], level: float = 0.95, kappa: int | None = None, one_content: bool = False
) -> Acceptance:
    """Acceptance of what was read: one source, or pieces of one log, such as a rotated one.

    Parameters
    ----------
    sources : sequence of Source
        From `simspec.fit`, at least one; files of one shape at one κ are pieces, and are read again as one log.
    level : float
    kappa : int, optional
        Draft length, for shapes that do not hold it.
    one_content : bool
        Refuse pieces that differ by more than chance; else the difference is said in ``origin``.

    Raises
    ------
    ParameterError
        There is no acceptance in them, they are no pieces, or differ.

    Examples
    --------
    >>> source = Source("some", "engine", {"pooled": {"kappa": 2, "drafts": 10, "mean_emitted_per_round": 2.1}})
    >>> acceptance_of_sources([source]).emitted
    2.1
    """
    if len(sources) == 1:
        return acceptance_of_source(sources[0], level, kappa)
    whole = join_pieces(sources, Options(level, kappa))
    if whole is None and not one_content:
        names = ", ".join(f"{', '.join(source.files)} ({source.shape})" for source in sources)
        raise ParameterError(
            "files", f"{len(sources)} sources: {names}; allowed: one, or pieces of one log (one shape, the same κ)"
        )
    found = [acceptance_of_source(source, level, kappa) for source in sources]
    differ = [why for other in found[1:] if (why := unlike(found[0], other, level)) is not None]
    if one_content:
        together = None if differ or whole is None else _speaks(whole, level, kappa)
        return one_acceptance(found, level) if together is None else together
    assert whole is not None
    own = acceptance_of_source(whole, level, kappa)
    said = f"; the files differ by more than chance: {differ[0]}" if differ else ""
    return replace(own, origin=own.origin + said)


def _speaks(whole: Source, level: float, kappa: int | None) -> Acceptance | None:
    """Acceptance of all pieces; None where restarts or several runs have a block each, which are added up then."""
    try:
        return acceptance_of_source(whole, level, kappa)
    except ParameterError:
        return None
