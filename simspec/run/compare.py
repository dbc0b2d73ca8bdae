"""Do two result folders follow the same law?  Matched by simulation, κ and point; judged with one family-wise error."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simspec.kernels.tally import SUMS
from simspec.model import Cost, DatasetError, ParameterError, Processes, Schemes, SimspecError, Simulation
from simspec.model.cost import CHANGES
from simspec.model.policies import Policies
from simspec.model.serving import Serving
from simspec.run.comparison import Comparison, LeftOut, Row
from simspec.run.dataset import Dataset
from simspec.run.lawful import UNKNOWN
from simspec.run.layout import USUAL_ROUNDS
from simspec.run.sides import COST, Side, Units
from simspec.run.versus import names_of, only_policy, part_of, question_names
from simspec.stats import difference as stats
from simspec.stats.intervals import level_of_look
from simspec.text import kappa_set

_N = SUMS.index("n")
_DISAGREE = "its counts do not add up to its chunks"


def compare(
    a: str | Path | Dataset, b: str | Path | Dataset, error: float = 1e-3, shift: float = 0.002,
    policies: Sequence[str] = (),
) -> Comparison:  # fmt: skip
    """Compare two stored runs, point by point and quantity by quantity.

    Parameters
    ----------
    a, b : path or Dataset
        Folders that ``simspec run`` wrote.
    error : float
        Probability that any difference at all is reported of runs of the same law (Holm), 0 < error < 1.
    shift : float
        Relative shift of E[A] whose budget is wanted, > 0.
    policies : (str, str), optional
        Compare who chooses κ: the name of a policy in ``a`` and of one in ``b``, which may be the same folder; a number
        is a fixed κ.  Matched are processes, schemes and prices.  Needed only where a folder holds several policies.

    Returns
    -------
    Comparison
        With ``differs``, ``differences``, ``pairs``, ``left_out``, ``to_pandas()`` and a readable repr.

    Raises
    ------
    DatasetError
        A folder is missing or no dataset, or the two have nothing in common.
    ParameterError
        ``error`` or ``shift`` is outside its range.

    Examples
    --------
    >>> import simspec, tempfile, pathlib
    >>> table = {"name": "tiny", "windows": 10_000, "kappa": [0, 4], "process": {"type": "iid", "alpha": 0.7}}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     runs = [simspec.sweep(table, pathlib.Path(folder) / f"{seed}", seed=seed) for seed in (1, 2)]
    ...     compare(*runs).differs
    False
    """
    if not 0.0 < error < 1.0:
        raise ParameterError("error", f"error = {error!r} is out of range; allowed: 0 < error < 1")
    if not 0.0 < shift < float("inf"):
        raise ParameterError("shift", f"shift = {shift!r} is out of range; allowed: shift > 0")
    one, two = Side(a), Side(b)
    told = cut_to_policies(one, two, policies)
    return Matching(one, two, error, shift, told).compare()


def cut_to_policies(one: Side, two: Side, asked: Sequence[str] = ()) -> tuple[str, str] | None:
    """Cut two sides to a policy each, if they were asked for, or have no simulation in common but differ by policy.

    Returns the names of the policies, or None where simulations are compared as they are.
    """
    if not asked and one.where.keys() & two.where.keys():
        return None
    kappas = [side.fixed_kappas() for side in (one, two)]
    if not asked:
        alone = [only_policy(side.points, own, side.path) for side, own in zip((one, two), kappas, strict=True)]
        if None in alone or alone[0] == alone[1]:
            return None
        asked = [str(name) for name in alone]
    if len(asked) != 2:
        raise ParameterError("policies", f"policies = {list(asked)!r}; allowed: two names, one for each folder")
    parts = [
        part_of(side.points, own, str(name), side.path)
        for side, own, name in zip((one, two), kappas, asked, strict=True)
    ]
    one.cut(parts[0])
    two.cut(parts[1])
    return parts[0].name, parts[1].name


class Matching:
    """The comparison in the making: batch by batch, so that memory holds one part of each side."""

    def __init__(
        self, one: Side, two: Side, error: float, shift: float, policies: tuple[str, str] | None = None
    ) -> None:  # fmt: skip
        self.one, self.two, self.error, self.shift, self.policies = one, two, error, shift, policies
        self.left_out: list[LeftOut] = []
        self.names = {own: f"simulation {own[:12]}" for own in one.where}
        self.steered: set[str] = set()
        every = [*one.points.to_dict("records"), *two.points.to_dict("records")]
        self.replays = {row["simulation_id"] for row in every if row["process"] == "trace"}
        for points in (two.points, one.points):
            for row in points.drop_duplicates("simulation_id").to_dict("records"):
                self.names[row["simulation_id"]] = _name(row)
                if row["policy"] != "fixed":
                    self.steered.add(row["simulation_id"])
        if policies is not None:
            self.names.update(question_names(one.points))
        self.points = one.points[one.points.index.isin(two.points.index)]
        plain = (self.points["scheme"] == "chain") & (self.points["scheme_parameters"] == "{}")  # priced by its sums
        paid = (self.points[list(CHANGES)] > 0.0).any(axis=1)  # which the sums do not hold, where κ changes
        paid &= (self.points["policy"] != "fixed") | (policies is not None)
        together = self.points["serving_batch"] > 1  # priced by steps
        self._by_kind = ~plain | (self.points["cost_tables"] != "{}") | paid | together
        self.frames: list[dict[str, Any]] = []
        self.pairs: list[dict[str, Any]] = []
        self.plans: list[tuple[stats.Moments, stats.Moments, NDArray[np.int64]]] = []

    def compare(self) -> Comparison:
        """Match, test, adjust."""
        import pandas as pd

        one, two = self.one, self.two
        for mine, other in ((one, two), (two, one)):
            self._only(mine, [self.names.get(own, own) for own in mine.where if own not in other.where])
            both = mine.points[mine.points["simulation_id"].isin(one.where.keys() & two.where.keys())]
            alone = both[~both.index.isin(other.points.index)]
            self._only(mine, [f"{self.names[r['simulation_id']]}; {_cost_name(r)}" for _, r in alone.iterrows()])
        for ids, a, b in self._batches():
            self._batch(ids, a, b)
        left_out = (*one.left_out, *two.left_out, *self.left_out)
        if not self.frames:
            why = f"; {left_out[0].what}: {left_out[0].why}" if left_out else ""
            raise DatasetError(
                f"{one.place} and {two.place}: have no simulation and κ in common{self._by_policy()}{why}"
            )
        order = [field.name for field in dataclasses.fields(Row)][:9]
        frame = pd.concat([pd.DataFrame(f)[order] for f in self.frames], ignore_index=True).dropna(subset=["p_value"])
        frame["p_holm"] = stats.holm(frame["p_value"].to_numpy())
        frame["differs"] = frame["p_holm"] <= self.error
        frame = frame.sort_values(["simulation_id", "kappa"], kind="stable", ignore_index=True)
        plans = [stats.planning(a, b, self.error / len(frame), self.shift, each) for a, b, each in self.plans]
        pairs = pd.concat([pd.DataFrame(f) for f in self.pairs], ignore_index=True)
        pairs["detectable_shift"], pairs["windows_needed"] = np.concatenate(plans, axis=1)
        no_budget = pairs["simulation_id"].isin(self.replays)  # more windows do not bring more requests
        no_budget |= pairs["how"] == "exact"  # one side has no budget
        pairs.loc[no_budget, ["detectable_shift", "windows_needed"]] = np.nan
        pairs = pairs.sort_values(["simulation_id", "kappa"], kind="stable", ignore_index=True)
        self.names.update({str(point): _cost_name(row) for point, row in self.points.iterrows()})
        folders, left_out = (one.place, two.place), tuple(dict.fromkeys(left_out))
        same_price = not self.points.empty
        return Comparison(
            *folders, self.error, self.shift, frame, pairs, left_out, self.names, same_price,
            frozenset(self.steered), self.policies,
        )  # fmt: skip

    def _by_policy(self) -> str:
        """How to compare what differs by policy only."""
        told = [", ".join(dict.fromkeys(names_of(side.points))) for side in (self.one, self.two)]
        if self.policies is not None or set(told) == {"fixed"}:
            return ""
        return f"; κ is chosen by {told[0]} in the first, by {told[1]} in the other: name one of each (--policy X Y)"

    def _only(self, side: Side, names: list[str]) -> None:
        self.left_out += [LeftOut(name, f"only in {side.place}") for name in names]

    def _batches(self) -> Iterator[tuple[list[str], Units, Units]]:
        """Simulations both sides have, by the parts that hold them, cut to the κ both have."""
        together: dict[tuple[tuple[Path, ...], tuple[Path, ...]], list[str]] = {}
        for own, held in self.one.where.items():
            if own in self.two.where:
                together.setdefault((held, self.two.where[own]), []).append(own)
        for parts, ids in together.items():
            a, b = self.one.units(parts[0], ids, self.names), self.two.units(parts[1], ids, self.names)
            if a is None or b is None:
                self.left_out += [LeftOut(self.names[own], "its part cannot be read") for own in ids]
                continue
            for side, other, keys, others in (
                (self.one, self.two, a.keys, b.keys), (self.two, self.one, b.keys, a.keys),
            ):  # fmt: skip
                kappas: dict[str, list[int]] = {}
                for key in keys[~np.isin(keys, others)].tolist():
                    if (ids[key // 2**16], key % 2**16) not in other.lawless:  # else told with its reason
                        kappas.setdefault(ids[key // 2**16], []).append(key % 2**16)
                self._only(side, [f"{self.names[own]}; κ = {kappa_set(found)}" for own, found in kappas.items()])
            a, b = a.take(np.isin(a.keys, b.keys)), b.take(np.isin(b.keys, a.keys))
            if self.policies is not None:
                a, b = a.within(b), b.within(a)
            enough = (a.moments.units > 1) & (b.moments.units > 1)
            broken = (a.moments.units == 0) | (b.moments.units == 0)
            for key, why in zip(a.keys[~enough], broken[~enough], strict=True):
                name = f"{self.names[ids[key // 2**16]]}; κ = {key % 2**16}"
                self.left_out.append(LeftOut(name, _DISAGREE if why else "a single unit has no error estimate"))
            if enough.any():
                self._stored_prices(parts, ids)
                yield ids, a.take(enough), b.take(enough)

    def _stored_prices(self, parts: tuple[tuple[Path, ...], tuple[Path, ...]], ids: list[str]) -> None:
        """Compare prices of kinds of rounds, of entries of a table, or of changes of κ by their stored intervals."""
        points = self.points.index[self.points["simulation_id"].isin(ids) & self._by_kind]
        if points.empty:
            return
        found = [side.estimates(held, points) for side, held in zip((self.one, self.two), parts, strict=True)]
        if found[0] is None or found[1] is None:
            self.left_out += [LeftOut(self.names[own], "its estimates cannot be read") for own in ids]
            return
        both = found[0].index.intersection(found[1].index)
        a, b = found[0].loc[both], found[1].loc[both]
        place = {"simulation_id": a["simulation_id"].to_numpy(), "kappa": both.get_level_values("kappa").to_numpy()}
        point = both.get_level_values("point_id").to_numpy()
        for quantity in stats.PRICED_QUANTITIES:
            done = stats.stored(_stored(a, quantity), _stored(b, quantity))
            self.frames.append({**place, "point_id": point, "quantity": quantity, **vars(done)})
            lost = np.isnan(done.p_value)
            for own, kappa in zip(place["simulation_id"][lost], place["kappa"][lost], strict=True):
                self.left_out.append(LeftOut(f"{self.names[own]}; κ = {kappa}; {quantity}", "it has no error estimate"))

    def _batch(self, ids: list[str], a: Units, b: Units) -> None:
        replayed = np.array([own in self.replays for own in ids])[a.keys // 2**16]  # units are the requests of one file
        paired, windows = a.paired(b, replayed, self.policies is not None), a.whole & b.whole
        for way, chosen in (("paired", paired), ("windows", windows), ("independent", ~paired & ~windows)):
            if chosen.any():
                self._groups(ids, way, a.take(chosen), b.take(chosen))

    def _groups(self, ids: list[str], way: str, x: Units, y: Units) -> None:
        first, second = x.moments, y.moments
        both: stats.Shared | stats.Moments | None = None
        how: Any = "independent"
        if way == "paired":
            both = stats.shared(x.sums, y.sums, x.starts)
            how = np.where(both.changed == 0.0, "identical", "paired")
        elif way == "windows":
            both = x.shared(y)
            all_shared = (both.units == first.units) & (both.units == second.units)
            how = np.where(all_shared, "identical", np.where(both.units > 0.0, "paired", "independent"))
        names = np.array(ids, object)[x.keys // 2**16]
        group = {"simulation_id": names, "kappa": x.keys % 2**16}
        lawful = x.lawful | y.lawful
        how = np.where(lawful, "exact", how)
        each = np.where(x.whole & y.whole, 1, USUAL_ROUNDS)
        self.plans.append((first, second, each))
        self.pairs.append(group | {
            "how": how, **_sizes("a", x), **_sizes("b", y),
            "mean_accepted": stats.estimate("mean_accepted", first.total + second.total)[0],
        })  # fmt: skip
        bare = self.one.means_only | self.two.means_only
        untold = np.array([own in bare for own in zip(names, group["kappa"].tolist(), strict=True)])
        for quantity in stats.WINDOW_QUANTITIES:
            self._test(quantity, group, None, first, second, both, None)
            if quantity in UNKNOWN and untold.any():
                self.frames[-1]["p_value"] = np.where(untold, np.nan, self.frames[-1]["p_value"])
        told = f"exact means alone do not hold {', '.join(UNKNOWN)}"
        self.left_out += [LeftOut(self.names[own], told) for own in dict.fromkeys(names[untold])]
        mine = self.points["simulation_id"].isin(ids) & ~self._by_kind
        for _, points in self.points[mine].groupby([*COST, "cost_tables"], observed=True):
            first_point = points.iloc[0]
            price = Cost(**{key: float(first_point[key]) for key in COST})  # type: ignore[arg-type]
            where = dict(zip(points["simulation_id"], points.index, strict=True))
            point = np.array([where.get(own) for own in names], object)
            has = np.array([own in where for own in names])
            if has.any():
                some = {name: values[has] for name, values in group.items()}
                moments = first.take(has), second.take(has), None if both is None else both.take(has)
                for quantity in stats.PRICED_QUANTITIES:
                    self._test(quantity, some, point[has], *moments, price)

    def _test(
        self, quantity: str, group: dict[str, Any], point: Any, a: stats.Moments, b: stats.Moments,
        both: stats.Shared | stats.Moments | None, cost: Cost | None,
    ) -> None:  # fmt: skip
        if isinstance(both, stats.Shared):
            done = stats.paired(quantity, a, b, both, cost)
        else:
            done = stats.independent(quantity, a, b, cost, both)
        self.frames.append({**group, "point_id": point, "quantity": quantity, **vars(done)})


def _stored(rows: Any, quantity: str) -> stats.Stored:
    value, high, level, looks, units = (
        rows[name].to_numpy(np.float64) for name in (quantity, f"{quantity}_high", "level", "looks", "units")
    )
    return stats.Stored(value, high, level_of_look(level, looks), units)


def _sizes(side: str, own: Units) -> dict[str, Any]:
    """Rounds and units per group; exact values have none."""
    counted = ~own.lawful
    return {
        f"rounds_{side}": np.where(counted, own.moments.total[:, _N], 0).astype(int),
        f"units_{side}": np.where(counted, own.moments.units, 0).astype(int),
    }


def _name(row: Any) -> str:
    try:
        process = Processes.make(type=row["process"], label=row["label"], **json.loads(row["parameters"]))
        scheme = Schemes.make(type=row["scheme"], **json.loads(row["scheme_parameters"]))
        served = Serving.of_row(row)
        own = f"{row['scheme_label']}: {Simulation(process, scheme)}{_who(row)}".removeprefix(": ")
        return f"{own}, {served}" if served.identity() else own
    except (SimspecError, ValueError, TypeError):  # of a process this version does not know
        return f"{row['label'] or row['process']} {row['simulation_id'][:12]}"


def _who(row: Any) -> str:
    """Who chooses κ: the label, else type and parameters."""
    if row["policy"] == "fixed":
        return ""
    keys = json.loads(row["policy_parameters"])
    keys.pop("code", None)  # which function a user's own policy is
    return f", {row['policy_label'] or Policies.make(type=row['policy'], **keys)}"


def _cost_name(row: Any) -> str:
    return ", ".join(f"{key} = {row[key]:g}" for key in COST if key not in CHANGES or row[key])
