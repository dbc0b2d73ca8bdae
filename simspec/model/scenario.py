"""Which points does a scenario ask for?  TOML in, checked with line numbers, simulations and costs out."""

from __future__ import annotations

import functools
import itertools
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from simspec.model import grid
from simspec.model.cost import Cost
from simspec.model.errors import ParameterError, ScenarioError, did_you_mean, shown
from simspec.model.identity import canonical_json
from simspec.model.policies import Policies, Policy
from simspec.model.process import KAPPA_LIMIT, Process, Processes
from simspec.model.scenario_axes import axes, policy_axes, process_axes, scheme_axes, tables
from simspec.model.scenario_text import at_its_line, read_text, syntax_error
from simspec.model.scenario_values import a_level, a_method, a_name, a_stop, decimals, many_kappas, plain, whole
from simspec.model.schemes import Scheme, Schemes
from simspec.model.serving import KEYS, Serving
from simspec.model.simulation import Simulation
from simspec.model.stop import Stop

CHAIN = {"type": "chain"}
FIXED = {"type": "fixed"}
DEFAULT_SEED = 1
DEFAULT_WINDOWS = 1_000_000
DEFAULT_LONGEST = 16
SEED_LIMIT = 2**64
WINDOWS_LIMIT = 10**12
POINTS_LIMIT = 10**6


_KEYS = (
    "name", "method", "seed", "windows", "kappa", "level", "process", "scheme", "policy", "serving", "cost", "stop",
)  # fmt: skip


@dataclass(frozen=True)
class Binding:
    """Where a scheme runs: labels of its processes (none: on all), and its own κ."""

    processes: tuple[str, ...] = ()
    kappas: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Scenario:
    """A batch of points: processes × costs, each simulated at every κ.

    Parameters
    ----------
    name : str
        Name of the result folder: letters, digits, ``. _ -``.
    process : tuple of dict
        One table per ``[process]``; a key may hold one value, a list, or a range ``{from, to, step}``.
    cost : dict
        The ``[cost]`` table, likewise.
    kappa : tuple of int or None
        Draft lengths; None runs 0 … 16, or 0 … n for a curve of n measured positions.
    windows : int
        Rounds per simulation and κ, 1 to 10¹².
    seed : int
        0 ≤ seed < 2⁶⁴, the only source of randomness.
    level : float
        Confidence level of every interval, 0.5 ≤ level < 1.
    scheme : tuple of dict
        One table per ``[scheme]``, a chain if there is none: how rounds draft and verify, on every process or on those
        whose label ``process`` names, at the κ of the scenario or at its own ``kappa``.
    method : str
        ``"simulate"``: rounds are played.  ``"multinomial"``: the counts of all windows are drawn at once, which takes
        independent windows and a time that does not grow with ``windows``; the bits are those of numpy's binomial
        numbers, which another numpy may draw differently.  ``"exact"``: exact values, nothing is drawn or counted.
    policy : tuple of dict
        One table per ``[policy]``, fixed if there is none: who chooses κ between rounds.  A policy that does runs once,
        at the longest κ that it may choose; a fixed one at every κ of the scenario.
    serving : dict
        The ``[serving]`` table: under which conditions policies run, likewise with several values.
    stop : Stop, optional
        The ``[stop]`` table: how precise a point is to be before it is played no further; ``windows`` is then the most
        that is played.
    base : str
        Folder in which relative trace paths are looked up before the working folder; not part of the identity.
    """

    name: str
    process: tuple[dict[str, Any], ...]
    cost: dict[str, Any]
    kappa: tuple[int, ...] | None = None
    windows: int = DEFAULT_WINDOWS
    seed: int = DEFAULT_SEED
    level: float = 0.95
    method: str = "simulate"
    scheme: tuple[dict[str, Any], ...] = (CHAIN,)
    policy: tuple[dict[str, Any], ...] = (FIXED,)
    serving: dict[str, Any] = field(default_factory=dict)
    stop: Stop | None = None
    base: str = ""

    @staticmethod
    def from_toml(
        path: str | Path, seed: int | None = None, windows: int | None = None, most: int | None = None,
        method: str | None = None,
    ) -> Scenario:  # fmt: skip
        """Read and check a scenario file; every point of it is valid afterwards.

        ``seed``, ``windows`` and ``method`` override those of the file; ``most`` the largest number of points.

        Raises
        ------
        ScenarioError
            One line: file, line, key, what was wrong and what is allowed.
        """
        text = read_text(Path(path))
        try:
            table = tomllib.loads(text, parse_float=Decimal)
        except (ValueError, RecursionError) as error:  # tomllib's own error is a ValueError
            raise ScenarioError(syntax_error(path, text, str(error))) from None
        table.setdefault("name", Path(path).stem)
        for key, value in (("seed", seed), ("windows", windows), ("method", method)):
            if value is not None:
                table[key] = value
        try:
            scenario = replace(Scenario.from_dict(table), base=str(Path(path).parent))
            scenario.check(POINTS_LIMIT if most is None else most)
        except ParameterError as error:
            raise at_its_line(path, error, text) from None
        return scenario

    @staticmethod
    def from_dict(table: dict[str, Any]) -> Scenario:
        """The same from a dictionary with the keys of the file; raises `ParameterError`."""
        for key in table:
            if key not in _KEYS:
                raise ParameterError(key, f'unknown key "{key}"{did_you_mean(key, _KEYS)}')
        if "process" not in table:
            raise ParameterError("process", 'there is no [process] table; the least is [process] with type = "iid"')
        processes, schemes = tables("process", table["process"]), tables("scheme", table.get("scheme", CHAIN))
        cost = table.get("cost", {})
        if not isinstance(cost, dict):
            raise ParameterError("cost", "cost is not a table; allowed: [cost] with c0, c_d, c_v, c_r, off")
        if not isinstance(table.get("serving", {}), dict):
            raise ParameterError("serving", f"serving is not a table; allowed: [serving] with {', '.join(KEYS)}")
        return Scenario(
            name=table.get("name", ""),
            process=processes,
            scheme=schemes,
            policy=tables("policy", table.get("policy", FIXED)),
            serving=table.get("serving", {}),
            cost=cost,
            kappa=table.get("kappa"),
            windows=table.get("windows", DEFAULT_WINDOWS),
            seed=table.get("seed", DEFAULT_SEED),
            level=table.get("level", 0.95),
            method=table.get("method", "simulate"),
            stop=a_stop(table.get("stop")),
        )

    def __post_init__(self) -> None:
        """Check what stands above the tables; points are checked by `check`."""
        plain = {
            "name": a_name(self.name),
            "process": tuple(decimals(entry) for entry in self.process),
            "scheme": tuple(decimals(entry) for entry in self.scheme),
            "policy": tuple(decimals(entry) for entry in self.policy),
            "serving": decimals(self.serving),
            "cost": decimals(self.cost),
            "kappa": many_kappas(self.kappa) if self.kappa is not None else None,
            "windows": whole("windows", self.windows, 1, WINDOWS_LIMIT),
            "seed": whole("seed", self.seed, 0, SEED_LIMIT - 1),
            "level": a_level(self.level),
            "method": a_method(self.method),
        }
        for key, value in plain.items():
            object.__setattr__(self, key, value)
        if self.stop is not None:
            self.stop.check_method(self.method)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready dictionary that `from_dict` reads back into an equal scenario."""
        own: dict[str, Any] = {"name": self.name, "seed": self.seed, "windows": self.windows, "level": self.level}
        own["method"] = self.method
        own["kappa"] = list(self.kappa) if self.kappa is not None else None
        own["process"] = [plain(entry) for entry in self.process]
        if self.scheme != (CHAIN,):  # a run of chains is the same run as before there were others
            own["scheme"] = [plain(entry) for entry in self.scheme]
        if self.policy != (FIXED,):
            own["policy"] = [plain(entry) for entry in self.policy]
        if self.serving:
            own["serving"] = plain(self.serving)
        own["cost"] = plain(self.cost)
        if self.stop is not None:
            own["stop"] = self.stop.keys()
        return own

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scenario) and canonical_json(self.to_dict()) == canonical_json(other.to_dict())

    def __hash__(self) -> int:
        return hash(canonical_json(self.to_dict()))

    def points(self) -> int:
        """Number of points of the grid, counted without making them."""
        sizes = [grid.size(scheme_axes(self.scheme, i)[1]) for i in range(len(self.scheme))]
        schemes = [(self._binding(i).processes, size) for i, size in enumerate(sizes)]
        simulations = 0
        for index, table in enumerate(self.process):
            own = sum(size for only, size in schemes if not only or table.get("label") in only)
            simulations += own * grid.size(process_axes(self.process, index)[1])
        policies = sum(grid.size(policy_axes(self.policy, i)[1]) for i in range(len(self.policy)))
        servings = grid.size(axes("serving", self.serving, Serving.model_fields))
        return simulations * policies * servings * grid.size(axes("cost", self.cost, Cost.model_fields))

    def check_size(self, most: int = POINTS_LIMIT) -> None:
        """Raise `ParameterError` unless there are at most ``most`` points."""
        if self.points() > most:
            many = f"{self.points():,}" if self.points() < 10**18 else "over 10^18"
            raise ParameterError(
                "process" if len(self.process) == 1 else "process[0]",
                f"the grid has {many} points; allowed: {most:,} (raise it with --max-points)",
            )

    def check(self, most: int = POINTS_LIMIT) -> None:
        """Raise `ParameterError` unless there are at most ``most`` points and each of them is valid."""
        self.check_size(most)
        _ = self._sound

    @functools.cached_property
    def _sound(self) -> bool:
        """Whether each point is valid: looked at once, since a scenario does not change; raises if one is not."""
        costs, longest = list(self.costs()), dict[Scheme, int]()
        for simulation, kappas in self.simulations():
            if simulation.chained and not simulation.policy.adapts:
                longest[simulation.scheme] = max(longest.get(simulation.scheme, 0), *kappas)
        for cost, (scheme, kappa) in itertools.product(costs, longest.items()):
            scheme.priced(cost).check_kappa(kappa)
        for simulation, kappas in self.simulations():  # every table of rounds is made once, before anything runs
            simulation.check(kappas, costs)
        return True

    def _servings(self) -> list[Serving]:
        """All conditions, in the order of the file; each key that says something matters to some policy."""
        out = []
        for keys in grid.combinations(axes("serving", self.serving, Serving.model_fields)):
            try:
                out.append(Serving(**keys))
            except ParameterError as error:
                raise error.under("serving") from None
        policies = [policy for policy, _ in self._policies()]
        for serving in out:
            serving.check(*policies)
        return out

    def _policies(self) -> list[tuple[Policy, str]]:
        """Every policy, told the prices that it reads, and how its table is called."""
        out, costs = [], tuple(self.costs())
        for index in range(len(self.policy)):
            prefix, axes = policy_axes(self.policy, index)
            for keys in grid.combinations(axes):
                try:
                    out.append((Policies.make(**keys).told(costs), prefix))
                except ParameterError as error:
                    raise error.under(prefix) from None
        return out

    def _binding(self, index: int) -> Binding:
        """On which processes a scheme runs, by label, and at which κ, where its table says so."""
        table = self.scheme[index]
        prefix, labels = scheme_axes(self.scheme, index)[0], [str(own.get("label", "")) for own in self.process]
        asked = table.get("process", [])
        only = tuple(asked) if isinstance(asked, list) else (asked,)
        for label in only:
            if not label or label not in labels:
                known = [x for x in labels if x]
                near = did_you_mean(str(label), known) if known else "; none has a label"
                told = f"{prefix}.process = {shown(label)} is no label of a [[process]]"
                raise ParameterError(f"{prefix}.process", f"{told}{near}")
        try:
            return Binding(only, many_kappas(table["kappa"]) if "kappa" in table else None)
        except ParameterError as error:
            raise error.under(prefix) from None

    def schemes(self) -> list[Scheme]:
        """Every scheme, in the order of the file."""
        return [scheme for scheme, _, _ in self._schemes()]

    def _schemes(self) -> list[tuple[Scheme, Binding, str]]:
        """Every scheme, where it runs, and how its table is called."""
        out = []
        for index in range(len(self.scheme)):
            prefix, axes = scheme_axes(self.scheme, index)
            for keys in grid.combinations(axes):
                try:
                    out.append((Schemes.make(**keys), self._binding(index), prefix))
                except ParameterError as error:
                    raise error.under(prefix) from None
        return out

    def simulations(self) -> Sequence[tuple[Simulation, tuple[int, ...]]]:
        """Each simulation with its draft lengths, in the order of the file; made and checked once."""
        return self._simulations

    @functools.cached_property
    def _simulations(self) -> tuple[tuple[Simulation, tuple[int, ...]], ...]:
        return tuple(self._make_simulations())

    def _make_simulations(self) -> Iterator[tuple[Simulation, tuple[int, ...]]]:
        seen: dict[str, Simulation] = {}
        schemes, ways = self._schemes(), itertools.product(self._policies(), self._servings())
        policies = [(policy, at, serving.under(policy)) for (policy, at), serving in ways]
        for index in range(len(self.process)):
            prefix, axes = process_axes(self.process, index)
            for keys in grid.combinations(axes):
                self._find_trace(keys)
                try:
                    process = Processes.make(**keys)
                except ParameterError as error:
                    raise error.under(prefix) from None
                process.check_method(self.method)
                if self.stop is not None:
                    self.stop.check(process)
                for scheme, binding, where in schemes:
                    if binding.processes and process.label not in binding.processes:
                        continue
                    for policy, at, serving in policies:
                        simulation = Simulation(process, scheme, policy, serving)
                        before = seen.get(simulation.id)
                        if before is not None:  # e.g. steps_after_full under start = "stationary", without effect there
                            _check_same_name(before, simulation, where, at)
                            continue
                        seen[simulation.id] = simulation
                        yield simulation, self.kappas_for(simulation, binding.kappas)

    def kappas_for(self, simulation: Simulation, own: tuple[int, ...] | None = None) -> tuple[int, ...]:
        """κ at which a simulation is run, ``own`` being what its scheme asks for.

        Raises
        ------
        ParameterError
            One cannot be asked.
        """
        asked = self.kappa if own is None else own
        if simulation.policy.adapts:
            if self.method != "simulate":
                told = f'method = "{self.method}" knows no round after another, and {simulation.policy.type} chooses κ'
                raise ParameterError("method", f'{told}; allowed with this policy: "simulate"')
            return (simulation.policy.longest,)
        if simulation.serving.batch > 1 and self.method != "simulate":
            told = f'method = "{self.method}" plays no requests together'
            raise ParameterError("method", f'{told}; allowed with serving.batch > 1: "simulate"')
        if simulation.chained:
            return self.kappas_of(simulation.process, asked)
        if self.method == "multinomial":
            told = f'method = "multinomial" draws windows of chains, and {simulation.scheme.type} is none'
            raise ParameterError("method", f'{told}; allowed with this scheme: "simulate", "exact"')
        return simulation.scheme.kappas if asked is None else asked

    def _find_trace(self, keys: dict[str, Any]) -> None:
        path = keys.get("path")
        if self.base and isinstance(path, str) and "\0" not in path and (Path(self.base) / path).exists():
            keys["path"] = str(Path(self.base) / path)

    def kappas_of(self, process: Process, asked: tuple[int, ...] | None) -> tuple[int, ...]:
        """Draft lengths at which ``process`` is simulated; raises `ParameterError` if one cannot be asked."""
        if asked is None:
            longest = process.longest_draft
            kappas = tuple(range(1 + min(KAPPA_LIMIT, longest if longest is not None else DEFAULT_LONGEST)))
        else:
            kappas = asked
        limitless = process.longest_draft is None and type(process).check_kappa is Process.check_kappa
        for kappa in () if limitless else kappas:
            try:
                process.check_kappa(kappa)
            except ParameterError as error:
                raise ParameterError("kappa", f"{error.message} ({process})") from None
        return kappas

    def costs(self) -> Iterator[Cost]:
        """Each cost, in the order of the file."""
        for keys in grid.combinations(axes("cost", self.cost, Cost.model_fields)):
            try:
                yield Cost(**keys)
            except ParameterError as error:
                raise error.under("cost") from None


def _check_same_name(before: Simulation, again: Simulation, where: str, at: str) -> None:
    """Two names for one thing would leave one of them out of every table."""
    if before.policy.label != again.policy.label:
        told = f"{at}.label = {shown(again.policy.label)} is the same simulation as {shown(before.policy.label)}"
        raise ParameterError(f"{at}.label", f"{told}; allowed: policies that differ in a parameter")
    if before.scheme.label != again.scheme.label:
        told = f"{where}.label = {shown(again.scheme.label)} is the same simulation as {shown(before.scheme.label)}"
        raise ParameterError(f"{where}.label", f"{told}; allowed: schemes that differ, in a parameter or a process")
