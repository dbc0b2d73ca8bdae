"""How do counts become the three tables?  Many simulations at once: a column is one array, not a row one object."""

from __future__ import annotations

import functools
import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from simspec.kernels.lower_schemes import KindTally
from simspec.kernels.tally import SUMS, Folded, Tally
from simspec.kernels.words import LANES, STREAM_VERSION
from simspec.model import Cost, Process
from simspec.model.identity import canonical_json
from simspec.model.serving import KEYS as SERVING
from simspec.model.simulation import point_ids
from simspec.run.columns import column, words
from simspec.run.engine import Job
from simspec.run.plans import known_speedup
from simspec.run.policy_columns import policy_columns
from simspec.run.schema import TABLES, WHOLE_CHUNK
from simspec.run.scheme_columns import losses, scheme_laws, scheme_speedups
from simspec.stats.counts import Counts, Ints, fold_sums
from simspec.stats.intervals import level_of_look
from simspec.stats.known import known_estimates, scheme_estimates
from simspec.stats.point import priced_estimates, window_estimates
from simspec.stats.prices import Prices
from simspec.theory.law import WindowLaw
from simspec.theory.routes import has_route, route_of, speedups
from simspec.theory.scheme_means import SchemeLaw

SLAB = 2**17
"""Numbers per array of one step of arithmetic, so that a step stays in the cache and its overhead is shared."""
ROUNDING = 1e-12
"""Relative difference of two ways to one number that says nothing: sums over lanes are taken in another order."""


@dataclass(frozen=True)
class Block:
    """One finished simulation with the costs it is priced at: its tallies, or its exact laws by κ."""

    job: Job
    tallies: Sequence[Tally]
    costs: Sequence[Cost]
    level: float
    laws: Sequence[WindowLaw] | Sequence[SchemeLaw] = ()

    @property
    def each(self) -> float:
        """Level of the intervals of which ``level`` is that at all looks together."""
        return float(level_of_look(self.level, self.job.looks))

    @property
    def fresh(self) -> bool:
        """Whether windows are independent."""
        return self.job.simulation.fresh

    def at(self, costs: slice) -> Block:
        """The same at some of its costs."""
        return replace(self, costs=self.costs[costs])

    @functools.cached_property
    def prices(self) -> list[Cost]:
        """What rounds of the scheme pay at each cost."""
        return [self.job.simulation.scheme.priced(cost) for cost in self.costs]

    @functools.cached_property
    def means(self) -> Sequence[SchemeLaw | None]:
        """The exact law of the scheme by κ, where it is no chain; None where there is no exact route."""
        known = [law for law in self.laws if isinstance(law, SchemeLaw)]
        return known or scheme_laws(self.job.simulation, self.job.kappas)

    @functools.cached_property
    def runs(self) -> Ints:
        """Windows by chunk and uncapped run, where they are independent; all in one row if chunks were not kept."""
        if not isinstance(self.tallies, Folded):
            return np.asarray(self.tallies[-1].histogram[-1:])
        runs: Ints = self.tallies.runs
        lanes = len(runs) > self.job.layout.chunks
        return np.add.reduceat(runs, np.arange(0, len(runs), LANES), axis=0) if lanes else runs

    @functools.cached_property
    def kind(self) -> tuple[Any, ...]:
        """Blocks of one kind are computed together; the first two entries are the size of one."""
        if self.laws:
            kappas, priced = self.job.kappas, (self.level, id(self.costs))
            scheme = self.job.simulation.scheme
            return (kappas[-1] + 1) * len(self.costs), len(kappas), "laws", self.fresh, scheme, kappas, *priced
        job, shape = self.job, self.runs.shape if self.fresh else self.tallies[0].sums.shape
        kinds = () if self.fresh else tuple(t.kinds for t in self.tallies if isinstance(t, KindTally))
        policy, serving = job.simulation.policy, job.simulation.serving
        chosen = policy.adapts, policy.rejects, serving.batch, job.simulation.scheme, kinds
        same = (shape, self.fresh, job.kappas, job.windows, self.level, job.looks, id(self.costs), *chosen)
        return max(shape), len(job.kappas), *same


class Columns:
    """A table in the making: pieces of its columns; texts are kept as numbers of a dictionary."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.pieces: dict[str, list[NDArray[Any]]] = defaultdict(list)
        self.words: dict[str, dict[str, int]] = {
            field.name: {} for field in TABLES[name] if pa.types.is_dictionary(field.type)
        }

    def codes(self, name: str, values: Iterable[str]) -> NDArray[np.int32]:
        """Numbers of some texts of a column."""
        known = self.words[name]
        return np.array([known.setdefault(value, len(known)) for value in values], np.int32)

    def add(self, rows: int, columns: dict[str, Any]) -> None:
        """Append ``rows`` rows; a single value stands for all of them."""
        for name, values in columns.items():
            self.pieces[name].append(np.broadcast_to(values, (rows,)))

    def add_origin(self, slab: Sequence[Block], which: Ints) -> None:
        """Append the columns every table ends with, a row for each of some blocks by number."""
        method = self.codes("method", [slab[0].job.method])
        seeds = np.array([block.job.seed for block in slab], np.uint64)
        self.add(len(which), {"seed": seeds[which], "method": method, "stream_version": np.int16(STREAM_VERSION)})

    def table(self) -> pa.Table:
        """The finished table; NaN becomes null."""
        schema = TABLES[self.name]
        return pa.Table.from_arrays([self._array(field) for field in schema], schema=schema)

    def _array(self, field: pa.Field) -> pa.Array:
        pieces = self.pieces[field.name]
        found = np.concatenate(pieces) if pieces else np.empty(0, np.int64)
        if field.name in self.words:
            return words(found, list(self.words[field.name]))
        return column(found, field.type)


def slabs(blocks: Sequence[Block]) -> Iterator[list[Block]]:
    """Successive blocks of one kind, few enough for the cache."""
    for kind, same in itertools.groupby(blocks, key=lambda block: block.kind):
        most = max(1, SLAB // (kind[0] * kind[1]))
        while part := list(itertools.islice(same, most)):
            yield part


def counts_of(slab: Sequence[Block]) -> Counts:
    """Counts of blocks of one kind."""
    if slab[0].fresh:
        own = Counts.windows(slab[0].job.kappas, _runs(slab).sum(axis=1))
    else:
        own = Counts.stack([block.tallies for block in slab], fresh=False)
    simulation = slab[0].job.simulation
    return replace(own, steps_of=simulation.scheme.chain_steps, rejects=simulation.policy.rejects)


def chunk_table(blocks: Sequence[Block]) -> pa.Table:
    """Totals by lane, or by chunk where its windows are independent; ordered by simulation, κ, chunk, lane."""
    out = Columns("chunks")
    for slab in slabs([block for block in blocks if not block.laws]):
        sums = _totals(slab)
        many, kappas, units, _ = sums.shape
        rows = many * kappas * units
        unit = np.arange(units) * slab[0].job.simulation.serving.batch
        chunk, lane = (unit, WHOLE_CHUNK + 0 * unit) if slab[0].fresh else (unit // LANES, unit % LANES)
        ids = out.codes("simulation_id", (block.job.simulation.id for block in slab))
        flat = sums.reshape(rows, len(SUMS))
        out.add(rows, {
            "simulation_id": np.repeat(ids, kappas * units),
            "kappa": np.tile(np.repeat(np.array(slab[0].job.kappas, np.int16), units), many),
            "chunk": np.tile(chunk.astype(np.int32), many * kappas),
            "lane": np.tile(lane.astype(np.int16), many * kappas),
            **{("n" if name == "n" else f"sum_{name}"): flat[:, i] for i, name in enumerate(SUMS)},
        })  # fmt: skip
        out.add_origin(slab, np.repeat(np.arange(many), kappas * units))
    return out.table()


def _runs(slab: Sequence[Block]) -> Ints:
    """(simulations, chunks, run) of fresh windows."""
    return np.stack([block.runs for block in slab])


def _totals(slab: Sequence[Block]) -> Ints:
    """(simulations, κ, units, 8): units are lanes, or chunks where windows are independent."""
    if not slab[0].fresh:
        return np.stack([[t.sums for t in block.tallies] for block in slab])
    return fold_sums(_runs(slab), slab[0].job.kappas).transpose(0, 2, 1, 3)


def count_table(blocks: Sequence[Block]) -> pa.Table:
    """Rounds by κ, drafted and accepted; rows that were never seen are left out."""
    out = Columns("counts")
    for slab in slabs([block for block in blocks if not block.laws]):
        kappas = np.array(slab[0].job.kappas)
        if slab[0].fresh:
            folded = _fold(_runs(slab).sum(axis=1), kappas)
            which, at, accepted = np.nonzero(folded)
            seen, drafted = folded[which, at, accepted], kappas[at]
        else:
            own = counts_of(slab)
            which, _, at, cell = np.nonzero(own.rounds)
            seen = own.rounds[which, 0, at, cell]
            drafted, accepted = own.drafted[at, cell], own.accepted[at, cell]
        ids = out.codes("simulation_id", (block.job.simulation.id for block in slab))
        out.add(len(seen), {
            "simulation_id": ids[which],
            "kappa": kappas[at].astype(np.int16),
            "drafted": drafted.astype(np.int16),
            "accepted": accepted.astype(np.int16),
            "count": seen,
        })  # fmt: skip
        out.add_origin(slab, which)
    return out.table()


def _fold(runs: Ints, kappas: Ints) -> Ints:
    """Counts of A = min(G, κ), (simulations, κ, accepted), from those of the run G."""
    longer = np.cumsum(runs[:, ::-1], axis=1)[:, ::-1]
    accepted = np.arange(runs.shape[1])
    at_end = np.where(accepted == kappas[:, None], longer[:, None], 0)
    return np.where(accepted < kappas[:, None], runs[:, None], at_end)


def estimate_table(blocks: Sequence[Block]) -> pa.Table:
    """One row per simulation, cost and κ."""
    out = Columns("estimates")
    for slab in slabs(blocks):
        _add_estimates(out, slab)
    return out.table()


def _add_estimates(out: Columns, slab: Sequence[Block]) -> None:
    job, costs, level, scheme = slab[0].job, slab[0].costs, slab[0].each, slab[0].job.simulation.scheme
    shape = (len(slab), len(costs), len(job.kappas))
    rows = shape[0] * shape[1] * shape[2]
    exact = _exact_speedups(slab)
    counts = None if slab[0].laws else counts_of(slab)
    if counts is None:
        values = _known(slab, exact) | _ALONE
    else:
        values = (
            window_estimates(counts, level) | _priced(counts, slab[0].prices, level) | {"units": np.array(counts.units)}
        )
    values |= meeting(values, exact)
    values |= policy_columns(slab, values)
    values |= {
        "speedup_exact": exact,
        "windows": np.array(job.windows),
        "level": np.array(slab[0].level),
        "looks": np.array(job.looks),
    }
    values |= losses(scheme, [] if scheme.lossless else [block.means for block in slab], counts, level)
    own = _of_processes(out, slab)
    points = point_ids((block.job.simulation for block in slab), costs)
    own["point_id"] = out.codes("point_id", points).reshape(shape[:2])
    numbers = [cost.numbers() | cost.of_changes() for cost in costs]
    own |= {name: np.array([one[name] for one in numbers]) for name in numbers[0]}
    own["cost_tables"] = out.codes("cost_tables", (canonical_json(cost.tables()) for cost in costs))
    values |= {name: value[..., None] for name, value in own.items()}
    values |= {name: values[name][..., None] for name in ("kappa_star", "at_kappa_max", "off_is_better")}
    out.add(rows, {name: np.broadcast_to(value, shape).reshape(rows) for name, value in values.items()})
    out.add_origin(slab, np.repeat(np.arange(len(slab)), shape[1] * shape[2]))


_ALONE = {f"straggling{end}": np.zeros(()) for end in ("", "_low", "_high")}
"""Exact values are those of requests that nobody waits for."""


def meeting(values: dict[str, Any], exact: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    """The interval of the speed-up, holding an exact value from which the estimate differs by rounding alone.

    Where nothing varies (α = 0 or 1) the interval has no width, and two ways to one number differ in the last digits.

    Examples
    --------
    >>> ends = {f"speedup{end}": np.array([2.5, 2.5]) for end in ("", "_low", "_high")}
    >>> {name: end.tolist() for name, end in meeting(ends, np.array([2.5 + 4e-15, 2.6])).items()}
    {'speedup_low': [2.5, 2.5], 'speedup_high': [2.500000000000004, 2.5]}
    """
    same = np.abs(values["speedup"] - exact) <= ROUNDING * np.abs(exact)  # never where there is no exact value
    return {
        "speedup_low": np.where(same, np.fmin(values["speedup_low"], exact), values["speedup_low"]),
        "speedup_high": np.where(same, np.fmax(values["speedup_high"], exact), values["speedup_high"]),
    }


def _known(slab: Sequence[Block], exact: NDArray[np.float64]) -> dict[str, Any]:
    """Estimates of blocks that hold laws: those of windows, or those of a scheme, which know means only."""
    costs, level = slab[0].costs, slab[0].level
    windows = [[law for law in block.laws if isinstance(law, WindowLaw)] for block in slab]
    if windows[0]:
        steps_of = slab[0].job.simulation.scheme.chain_steps
        return known_estimates(windows, exact, slab[0].prices, level, slab[0].fresh, steps_of)
    means = [[law for law in block.laws if isinstance(law, SchemeLaw)] for block in slab]
    return scheme_estimates(means, slab[0].job.kappas, exact, costs, level)


def _priced(counts: Counts, costs: Sequence[Cost], level: float) -> dict[str, NDArray[Any]]:
    """Estimates at all costs, a few at a time."""
    prices = Prices.of(costs, counts.longest)
    step = max(1, SLAB // (counts.rounds.size // counts.rounds.shape[-1] * counts.weight.shape[-1]))
    found = [priced_estimates(counts, prices.part(slice(i, i + step)), level) for i in range(0, len(costs), step)]
    wide = [{name: _with_costs(value, part) for name, value in part.items()} for part in found]
    return {name: np.concatenate([part[name] for part in wide], axis=1) for name in wide[0]}


def _with_costs(value: NDArray[Any], part: dict[str, NDArray[Any]]) -> NDArray[Any]:
    """(simulations, costs, …) also for what is the same at all costs, or in all simulations."""
    lead = part["speedup"].shape[:2]
    value = value.reshape(*(1,) * (len(lead) - value.ndim), *value.shape)
    return np.broadcast_to(value, (*lead, *value.shape[2:]))


def _of_processes(out: Columns, slab: Sequence[Block]) -> dict[str, NDArray[Any]]:
    """What the columns say of the process, (simulations, 1)."""
    processes = [block.job.process for block in slab]
    schemes = [block.job.simulation.scheme for block in slab]
    policies = [block.job.simulation.policy for block in slab]
    servings = [block.job.simulation.serving for block in slab]
    parameters = [process.parameters() for process in processes]
    columns: dict[str, NDArray[Any]] = {
        "simulation_id": out.codes("simulation_id", (block.job.simulation.id for block in slab)),
        "process": out.codes("process", (process.type for process in processes)),
        "alpha": _numbers(own.get("alpha") for own in parameters),
        "rho": _numbers(own.get("rho") for own in parameters),
        "parameters": out.codes("parameters", map(canonical_json, parameters)),
        "label": out.codes("label", (process.label for process in processes)),
        "scheme": out.codes("scheme", (scheme.type for scheme in schemes)),
        "scheme_parameters": out.codes("scheme_parameters", (canonical_json(one.parameters()) for one in schemes)),
        "scheme_label": out.codes("scheme_label", (one.label for one in schemes)),
        "policy": out.codes("policy", (one.type for one in policies)),
        "policy_parameters": out.codes("policy_parameters", (canonical_json(one.parameters()) for one in policies)),
        "policy_label": out.codes("policy_label", (one.label for one in policies)),
        **{f"serving_{key}": np.array([getattr(one, key) for one in servings]) for key in SERVING},
        "loses": out.codes("loses", (one.loss_in_words for one in schemes)),
    }
    return {name: value[:, None] for name, value in columns.items()}


def _numbers(values: Iterable[object]) -> NDArray[np.float64]:
    """Numbers of a column; NaN (stored as null) where a process has none (a trace's alpha is a column's name)."""
    return np.array([value if isinstance(value, float) else np.nan for value in values])


def _exact_speedups(slab: Sequence[Block]) -> NDArray[np.float64]:
    job, costs = slab[0].job, slab[0].costs
    if job.simulation.steered:
        known = [[known_speedup(block.job.simulation, cost) for cost in costs] for block in slab]
        return np.broadcast_to(np.array(known)[..., None], (len(slab), len(costs), len(job.kappas)))
    if job.simulation.chained:
        return exact_speedups([block.job.process for block in slab], job.kappas, slab[0].prices)
    return np.array([scheme_speedups(block.means, costs) for block in slab])


def exact_speedups(processes: Sequence[Process], kappas: Sequence[int], costs: Sequence[Cost]) -> NDArray[np.float64]:
    """Speed-ups of the exact route, (processes, costs, κ); NaN (stored as null) where there is no route.

    Examples
    --------
    >>> from simspec.model import Iid
    >>> exact_speedups([Iid(alpha=0.5)], [0, 2], [Cost(), Cost(c0=2.0)]).tolist()
    [[[1.0, 1.75], [0.5, 0.875]]]
    """
    longest, chosen = max(kappas), list(kappas)
    out = np.full((len(processes), len(costs), len(kappas)), np.nan)
    known = [i for i, process in enumerate(processes) if has_route(process)]
    if any(cost.longest_draft is not None for cost in costs):  # rounds cut short are priced by their law
        for i, (j, cost) in itertools.product(known, enumerate(costs)):
            out[i, j] = speedups(processes[i], longest, cost)[chosen]
    elif known:  # costs are arithmetic on the means
        sweeps = {own: route_of(own).sweep(own, longest) for own in dict.fromkeys(processes[i] for i in known)}
        means = [sweeps[processes[i]] for i in known]
        names = ("mean_tokens", "mean_drafted", "p_full")
        tokens, drafted, full = (np.array([getattr(m, name) for m in means])[:, None, chosen] for name in names)
        c0, c_d, c_v, c_r, _ = np.array([tuple(cost.numbers().values()) for cost in costs]).T[..., None]
        out[known] = tokens / (c0 + drafted * (c_d + c_v) + c_r * (1.0 - full))
    return out
