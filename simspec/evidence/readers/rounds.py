"""A table with one row per round (CSV) or per round or request (Parquet): accepted and drafted, perhaps times."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simspec.evidence.block import LONGEST_DRAFT, Counts, figures
from simspec.evidence.drift import Drift
from simspec.evidence.gather import Kept
from simspec.evidence.lines import Text
from simspec.evidence.observed import NO_UNIT
from simspec.evidence.readers.base import MOST, Options, Place
from simspec.evidence.readers.round_columns import SWEEP, Columns, choose, has_rounds
from simspec.evidence.readers.table import Body, TableReader, header
from simspec.evidence.source import Source, Unknown
from simspec.model.errors import shown
from simspec.stats.request_sums import RequestSums
from simspec.text import clean

CSV, PARQUET = "rounds-csv", "rounds-parquet"
FEWEST_EXAMINED = 6
"""Deep positions that fewer rounds reached are left out of the conditional rates."""
MANY_ROUNDS = 100
"""Rounds after which it is strange that none has no draft accepted."""
_STEP = LONGEST_DRAFT + 1
_MOST_REQUESTS = 300_000
Ints = NDArray[np.int64]


@dataclass(eq=False)
class Rounds(TableReader):
    """Rounds as pairs (drafted, accepted): all figures follow from how often each occurs."""

    shapes = (CSV, PARQUET)
    pairs: dict[int, int] = field(default_factory=dict)
    shape: str = CSV
    columns: Columns | None = None
    drift: Drift = field(default_factory=Drift)
    requests: RequestSums = field(default_factory=RequestSums)
    kept: Kept = field(default_factory=Kept)
    open_request: str | None = None
    open_pairs: dict[int, int] = field(default_factory=dict)
    closed: set[str] = field(default_factory=set)
    sums: dict[str, list[float]] = field(default_factory=dict)
    rows: int = 0
    empty: int = 0
    repeated: int = 0

    @classmethod
    def looks_like(cls, head: bytes, options: Options) -> bool:
        if head.startswith(b"PAR1"):
            return True
        own = header(head)
        return own is not None and has_rounds(own.columns, options)

    def read(self, text: Text, place: Place) -> None:
        if text.head(4).startswith(b"PAR1"):
            self.shape = PARQUET
            self._parquet(text, place)
        else:
            self._csv(text, place)
        self._close_request(place)

    def _csv(self, text: Text, place: Place) -> None:
        import pyarrow as pa
        from pyarrow import csv

        own = header(text.head())
        assert own is not None
        place.number = 1
        columns = self.columns = choose(own.columns, self.options, place)
        place.number = 0
        kinds = {name: pa.string() if name == columns.request else pa.float64() for name in columns.names}
        body = Body(text, own, place)
        try:
            stream = csv.open_csv(
                body,
                read_options=csv.ReadOptions(
                    block_size=2**18, use_threads=False, column_names=list(own.columns), skip_rows=1
                ),
                parse_options=csv.ParseOptions(delimiter=own.separator),
                convert_options=csv.ConvertOptions(
                    column_types=kinds, include_columns=list(kinds), decimal_point=own.decimal
                ),
                memory_pool=pa.system_memory_pool(),  # the default one holds on to what it had
            )
            for batch in stream:
                self._batch(batch, place)
        except pa.ArrowException as error:
            place.number = 1
            place.refuse(f"is no table of rounds: {clean(' '.join(str(error).split())[:200])}")
        self.repeated = body.repeated

    def _parquet(self, text: Text, place: Place) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        try:
            file = parquet.ParquetFile(text.name)
            columns = self.columns = choose(tuple(map(str, file.schema_arrow.names)), self.options, place)
            for batch in file.iter_batches(batch_size=2**16, columns=list(columns.names)):
                self._batch(batch, place)
        except (pa.ArrowException, OSError) as error:
            place.refuse(f"cannot be read as Parquet ({clean(str(error).splitlines()[0][:200])})")

    def _batch(self, batch: Any, place: Place) -> None:
        columns = self.columns
        assert columns is not None
        column = batch.column(columns.accepted)
        sizes = _sizes(column)
        lengths = _numbers(column if sizes is None else column.flatten(), columns.accepted, place)
        if isinstance(columns.drafted, int):
            drafted = np.full(len(lengths), float(columns.drafted))
        else:
            drafted = self._drafts_of(batch.column(columns.drafted), columns.drafted, sizes, place)
        kept = np.isfinite(lengths) & np.isfinite(drafted)
        rows = self.rows + np.flatnonzero(kept)
        self.rows, self.empty = self.rows + len(kept), self.empty + int((~kept).sum())
        accepted = self._whole(lengths[kept], columns.accepted, rows, place)
        drafts = self._whole(drafted[kept], columns.drafted, rows, place)
        accepted = accepted - self._bonus(accepted, drafts, place)
        self._check(accepted, drafts, rows, place)
        _count(self.pairs, accepted, drafts)
        if sizes is None and columns.request is None:
            self.drift.add(accepted, np.minimum(accepted + 1, drafts))
            self._keep(accepted, drafts, begins=False)
        if sizes is not None:
            owner = np.repeat(np.arange(len(sizes)), sizes)[kept]
            names = None if columns.request is None else batch.column(columns.request).to_pylist()
            self._by_list(np.searchsorted(owner, np.arange(len(sizes)), side="right"), accepted, drafts, names)
            return
        for name in columns.times:
            self._time(name, drafts, _numbers(batch.column(name), name, place)[kept], rows, place)
        if columns.request is not None:
            self._by_request(batch.column(columns.request).to_pylist(), kept, accepted, drafts, place)

    def _bonus(self, accepted: Ints, drafts: Ints, place: Place) -> int:
        """1 if the lengths count the bonus token: a zero proves that they do not, κ + 1 that they do."""
        columns = self.columns
        assert columns is not None
        if columns.bonus is None:
            zero, beyond = bool((accepted == 0).any()), bool((accepted == drafts + 1).any())
            if zero == beyond:
                place.number = 1
                place.refuse(
                    f"whether {columns.accepted} counts the bonus token cannot be told; "
                    "say it (--bonus-included yes or no)"
                )
            columns = self.columns = replace(columns, bonus=beyond)
        return int(bool(columns.bonus))

    def _whole(self, values: NDArray[np.float64], column: str | int, rows: Ints, place: Place) -> Ints:
        good = (values == np.floor(values)) & (values >= 0) & (values <= LONGEST_DRAFT + 1)
        if not good.all():
            i = int(np.flatnonzero(~good)[0])
            mean = f"; a table of means by κ is none of rounds: {SWEEP}" if values[i] != np.floor(values[i]) else ""
            where = f" (column {shown(column)})" if isinstance(column, str) else ""
            self._refuse(rows[i], f"{values[i]:g} is no whole number from 0 to {LONGEST_DRAFT}{where}{mean}", place)
        return values.astype(np.int64)

    def _check(self, accepted: Ints, drafts: Ints, rows: Ints, place: Place) -> None:
        bad = np.flatnonzero((accepted < 0) | (accepted > drafts) | (drafts > LONGEST_DRAFT))
        if bad.size:
            i = int(bad[0])
            found = f"{accepted[i]} accepted of {drafts[i]} drafts, the bonus token not counted"
            self._refuse(rows[i], f"{found}; allowed: 0 up to the drafts, at most {LONGEST_DRAFT}", place)

    def _refuse(self, row: int, message: str, place: Place) -> None:
        place.number = int(row) + (2 if self.shape == CSV else 1)  # a header stands before the rows
        place.refuse(message)

    def _time(self, name: str, drafts: Ints, ms: NDArray[np.float64], rows: Ints, place: Place) -> None:
        bad = np.flatnonzero((ms < 0.0) | (ms > MOST))
        if bad.size:
            i = int(bad[0])
            self._refuse(rows[i], f"{ms[i]:g} is no time (column {shown(name)}); allowed: 0 to {MOST:g}", place)
        good = np.isfinite(ms)
        x, y = drafts[good].astype(float), ms[good]
        now = [float(good.sum()), x.sum(), (x * x).sum(), y.sum(), (x * y).sum()]
        self.sums[name] = [a + b for a, b in zip(self.sums.get(name, [0.0] * 5), now, strict=True)]

    def _by_request(
        self, names: list[Any], kept: NDArray[np.bool_], accepted: Ints, drafts: Ints, place: Place
    ) -> None:
        ids = np.array([str(name)[:200] for name, keep in zip(names, kept, strict=True) if keep])
        edges = np.flatnonzero(ids[1:] != ids[:-1]) + 1 if len(ids) else np.array([], np.int64)
        for start, end in zip([0, *edges], [*edges, len(ids)], strict=True):
            if start == end:
                continue
            begins = ids[start] != self.open_request
            if begins:
                self._close_request(place)
                if str(ids[start]) in self.closed:
                    place.refuse(
                        f"the rounds of request {shown(str(ids[start]))} are not together; sort the table by request"
                    )
                self.open_request = str(ids[start])
            _count(self.open_pairs, accepted[start:end], drafts[start:end])
            self._keep(accepted[start:end], drafts[start:end], begins, self.open_request)

    def _drafts_of(self, column: Any, name: str, sizes: Ints | None, place: Place) -> NDArray[np.float64]:
        """Drafts of each round: a list beside that of the accepted lengths, or one number for all of it."""
        own = _sizes(column)
        if own is None:
            drafted = _numbers(column, name, place)
            return drafted if sizes is None else np.repeat(drafted, sizes)
        if sizes is None or not np.array_equal(own, sizes):
            place.refuse(f"the lists in column {shown(name)} are not as long as those of accepted lengths")
        return _numbers(column.flatten(), name, place)

    def _by_list(self, ends: NDArray[Any], accepted: Ints, drafts: Ints, names: list[Any] | None) -> None:
        start = 0
        for i, end in enumerate(map(int, ends)):
            own: dict[int, int] = {}
            _count(own, accepted[start:end], drafts[start:end])
            name = None if names is None else str(names[i])[:200]
            self._keep(accepted[start:end], drafts[start:end], begins=True, name=name)
            self._request_done(own)
            start = end

    def _keep(self, accepted: Ints, drafts: Ints, begins: bool, name: str | None = None) -> None:
        offered = drafts > 0
        self.kept.stretch(drafts[offered], accepted[offered], begins, name)

    def _close_request(self, place: Place) -> None:
        if self.open_request is not None:
            if len(self.closed) >= _MOST_REQUESTS:
                place.refuse(f"more than {_MOST_REQUESTS:,} requests; split the file")
            self.closed.add(self.open_request)
            self._request_done(self.open_pairs)
        self.open_request, self.open_pairs = None, {}

    def _request_done(self, pairs: dict[int, int]) -> None:
        rounds, _, accepted, reached, _, examined = _curves({key: n for key, n in pairs.items() if key >= _STEP})
        self.requests.add(rounds, reached)
        self.drift.add(np.array([accepted]), np.array([sum(examined)]))  # requests differ: they are the unit

    def finish(self) -> list[Source]:
        columns = self.columns
        assert columns is not None
        own = Source(self.shape, "table of rounds")
        idle = sum(n for key, n in self.pairs.items() if key < _STEP)
        rounds, drafted, accepted, reached, offered, examined = _curves(
            {k: n for k, n in self.pairs.items() if k >= _STEP}
        )
        kappas = sorted({key // _STEP for key in self.pairs if key >= _STEP})
        known = columns.request is not None or self.requests.requests > 0
        if not known:
            self.kept.unit = NO_UNIT
        own.observed = self.kept.observed()
        counts = Counts(max(kappas, default=0), rounds, drafted, accepted, reached)
        unknown = {}
        if len(kappas) != 1:
            unknown["kappa"] = Unknown(f"κ changes: {kappas[:20]}" if kappas else "no round with drafts")
        out = figures(counts, self.options.level, unknown, self.requests if known else None)
        out["mean_kappa"] = drafted / rounds if rounds else Unknown("no round with drafts")
        if len(kappas) > 1:
            hidden = Unknown(
                "κ changes from round to round: positions beyond it are unobserved; shares of all rounds mean nothing"
            )
            out |= {"survival": hidden, "cond_alpha": hidden}
            out.pop("intervals", None)
            own.say("KAPPA_CHANGED", f"κ from {kappas[0]} to {kappas[-1]}")
            own.say("CENSORED_BY_KAPPA", "use cond_alpha_given_offered")
        out |= {"offered_at_position": offered, "examined_at_position": examined}
        out["cond_alpha_given_offered"] = [
            r / e for r, e in zip(reached, examined, strict=True) if e >= FEWEST_EXAMINED
        ]
        if idle:
            out["rounds_without_draft"] = idle
        out |= self._costs()
        own.body["pooled"] = out
        self._say(own, rounds, accepted)
        own.conventions = {
            "accepted length": f"column {columns.accepted}, bonus token {'included' if columns.bonus else 'excluded'}",
            "drafts": f"{columns.drafted} in every round" if isinstance(columns.drafted, int) else columns.drafted,
            "request": "not told apart" if columns.request is None else columns.request,
        }
        own.rules = ["draft j is observed where j drafts were made and all before it were accepted"]
        return [own]

    def _say(self, own: Source, rounds: int, accepted: int) -> None:
        chance = self.drift.chance()
        if chance is not None and chance < self.drift.FALSE_ALARM:
            unit = "requests" if self.requests.requests else "rounds"
            own.say("NON_STATIONARY", f"as much movement between blocks of {unit} has probability {chance:.1e}")
        if rounds >= MANY_ROUNDS and accepted and not any(key % _STEP == 0 for key in self.pairs):
            own.ambiguous.append(
                f"in none of {rounds:,} rounds was the first draft rejected: does the column count the bonus token?"
            )
        if self.empty:
            own.say("EMPTY_ROWS", f"{self.empty:,} rows without a number")
        if self.repeated:
            own.ambiguous.append(
                f"the header stands {self.repeated + 1} times: several tables one after the other are read as one"
            )

    def _costs(self) -> dict[str, Any]:
        """Times as means, and as straight lines over κ, by least squares."""
        out: dict[str, Any] = {}
        for name, (n, x, xx, y, xy) in self.sums.items():
            stem = name.removesuffix("_ms")
            if n:
                out[f"{stem}_ms_per_round"] = y / n
            spread = n * xx - x * x
            if n < 3 or spread <= 0:
                out[f"{stem}_ms_per_token"] = Unknown("κ does not vary, so time per token cannot be told from the rest")
                continue
            slope = (n * xy - x * y) / spread
            out[f"{stem}_ms_per_token"] = slope
            out[f"{stem}_ms_base"] = (y - slope * x) / n
        return out


def _numbers(column: Any, name: str, place: Place) -> NDArray[np.float64]:
    import pyarrow as pa

    try:
        return np.asarray(column.cast(pa.float64()).to_numpy(zero_copy_only=False), np.float64)
    except pa.ArrowException:
        place.refuse(f"column {shown(name)} holds {column.type}; allowed: numbers")


def _sizes(column: Any) -> Ints | None:
    """Lengths of the lists in a column of lists; None for another column."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not (pa.types.is_list(column.type) or pa.types.is_large_list(column.type)):
        return None
    return np.asarray(pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False), np.int64)


def _count(pairs: dict[int, int], accepted: Ints, drafts: Ints) -> None:
    keys, times = np.unique(drafts * _STEP + accepted, return_counts=True)
    for key, n in zip(keys.tolist(), times.tolist(), strict=True):
        pairs[key] = pairs.get(key, 0) + n


def _curves(pairs: dict[int, int]) -> tuple[int, int, int, list[int], list[int], list[int]]:
    """Rounds, drafted, accepted; and per position: accepted, offered, examined."""
    deepest = max((key // _STEP for key in pairs), default=0)
    reached, offered = np.zeros(deepest + 2, np.int64), np.zeros(deepest + 2, np.int64)
    examined = np.zeros(deepest + 2, np.int64)
    for key, n in pairs.items():
        drafted, accepted = divmod(key, _STEP)
        reached[accepted] += n
        offered[drafted] += n
        examined[min(accepted + 1, drafted)] += n
    curves = [np.cumsum(own[::-1])[::-1][1 : deepest + 1].tolist() for own in (reached, offered, examined)]
    return sum(pairs.values()), sum(curves[1]), sum(curves[0]), *curves
