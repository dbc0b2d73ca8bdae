"""What do the traces of a user's files say of the claims?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from simspec.claims.witness import Witness
from simspec.claims.witness_dense import dense_witnesses
from simspec.claims.witness_rounds import rounds_witnesses
from simspec.evidence.dense import DenseTrace, read_dense
from simspec.evidence.files import name_of, traces_of
from simspec.model import ParameterError, Trace
from simspec.model.identity import canonical_json
from simspec.run.traces import Rounds, load

FEWEST_REQUESTS = 2


def trace_witnesses(files: Iterable[str]) -> list[Witness]:
    """Witnesses of all traces in ``files``.

    Raises
    ------
    ParameterError, ScenarioError
        One line: which file, what is wrong, what to write.
    """
    found: list[Witness] = []
    heard: dict[str, str] = {}
    for file in files:
        for trace in traces_of(file):
            rows = canonical_json(trace.identity())
            if rows in heard:
                also = "twice" if heard[rows] == file else f"in {heard[rows]} as well"
                raise ParameterError("traces", f"{file}: {name_of(trace)} is given {also}; allowed: every trace once")
            heard[rows] = file
            found += (replace(own, yours=True) for own in _of(trace))
    return found


def _of(trace: Trace) -> Iterable[Witness]:
    data = load(trace)
    if len(data.offsets) - 1 < FEWEST_REQUESTS:
        raise ParameterError("traces", f"{trace.path}: holds one request; an error takes at least {FEWEST_REQUESTS}")
    if isinstance(data, Rounds):
        return rounds_witnesses(data, name_of(trace))
    dense: DenseTrace = read_dense(trace)
    return dense_witnesses(dense, name_of(trace))
