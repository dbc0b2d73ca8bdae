"""Which points does a dataset hold, what are they called, and what is the exact answer for each?"""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simspec import theory
from simspec.model import Cost, Process, Processes, SimspecError
from simspec.model.cost import CHANGES
from simspec.model.policies import Policies
from simspec.model.serving import Serving

if TYPE_CHECKING:
    import pandas as pd

_WORDS = {
    "iid": "i.i.d.",
    "markov": "Markov",
    "survival": "measured survival",
    "position": "rates by position",
    "beta_mixture": "Beta mixture",
    "discrete_mixture": "discrete mixture",
    "gaussian_copula_ar1": "Gaussian copula AR(1)",
    "hmm": "hidden Markov",
    "token_chain": "token chain",
}
_STEADY = ("beta_mixture", "discrete_mixture", "gaussian_copula_ar1", "hmm")
"""Processes whose drafts all have the same marginal rate, so that two of them show α and ρ."""
_SIGNS = {"alpha": "α", "rho": "ρ"}
_STEPS = ("steps_after_reject", "steps_after_full")
_BOUNDARIES = {(1, 1): "carried (1, 1)", (1, 2): "by position (1, 2)", (2, 2): "advanced (2, 2)"}


@dataclass(frozen=True, eq=False)
class Point:
    """A process at a price: its rows of the estimates table, ascending in κ.

    Attributes
    ----------
    point_id, simulation_id : str
    kind, label : str
        Type word of the process, and the label the scenario gave it.
    parameters : dict
        Parameters of the process.
    cost : Cost
    rows : list of dict
        One per κ, columns as in the estimates table.
    """

    point_id: str
    simulation_id: str
    kind: str
    label: str
    parameters: dict[str, Any]
    cost: Cost
    rows: list[dict[str, Any]]

    @property
    def kappas(self) -> list[int]:
        return [int(row["kappa"]) for row in self.rows]

    @property
    def best(self) -> dict[str, Any]:
        """The row of κ*."""
        return next(row for row in self.rows if row["kappa"] == row["kappa_star"])

    @property
    def method(self) -> str:
        """How the numbers came about."""
        said = self.rows[0].get("method")
        return said if isinstance(said, str) else "simulate"  # of before there were several

    @property
    def known(self) -> bool:
        """Whether the numbers themselves are exact values."""
        return self.method == "exact"

    @property
    def indistinguishable(self) -> list[int]:
        return [int(row["kappa"]) for row in self.rows if row["indistinguishable"]]

    @functools.cached_property
    def process(self) -> Process | None:
        """The process itself; None if this version does not know it."""
        if self.scheme:  # what is known of its windows is not what is known of the scheme's rounds
            return None
        try:
            return Processes.make(type=self.kind, **self.parameters)
        except SimspecError:
            return None

    @functools.cached_property
    def exact(self) -> Exact | None:
        """The exact answer at the κ that were run; None where no exact route exists."""
        values = [row.get("speedup_exact") for row in self.rows]
        if any(value is None or value != value for value in values):
            return None
        return Exact(self.process, self.kappas, [float(str(value)) for value in values])

    @functools.cached_property
    def rates(self) -> tuple[float | None, float | None]:
        """α and ρ: as given, else those of the first two outcomes of a window, if all its outcomes have one rate."""
        alpha, rho = (self.parameters.get(key) for key in _SIGNS)
        given = tuple(value if isinstance(value, float) else None for value in (alpha, rho))
        if None in given and self.kind in _STEADY and self.process is not None:
            return _implied(self.process)
        return given[0], given[1]

    @property
    def what(self) -> str:
        """Process and scheme in words, without the label."""
        return self._with_scheme(describe(self.kind, self.parameters))

    @property
    def scheme(self) -> str:
        """The drafting scheme by its label or in words; empty for a plain chain."""
        first = self.rows[0] if self.rows else {}
        kind = first.get("scheme")
        if not isinstance(kind, str) or (kind == "chain" and first.get("scheme_parameters") in (None, "{}")):
            return ""
        label = first.get("scheme_label")
        if isinstance(label, str) and label:
            return label
        own = json.loads(first.get("scheme_parameters") or "{}")
        return " ".join([kind, *(f"{key} = {_short(value)}" for key, value in own.items())])

    @property
    def policy(self) -> str:
        """Who chooses κ, by its label or in words; empty where it is fixed."""
        first = self.rows[0] if self.rows else {}
        kind, label = first.get("policy"), first.get("policy_label")
        if not isinstance(kind, str) or kind == "fixed":
            return ""
        served = [self.served] if self.served else []
        if isinstance(label, str) and label:
            return " ".join([label, *served])
        own, fields = json.loads(first.get("policy_parameters") or "{}"), Policies.fields(kind)
        usual = {key: list(x.default) if isinstance(x.default, tuple) else x.default for key, x in fields.items()}
        told = {key: value for key, value in own.items() if key not in ("cost", "code") and value != usual.get(key)}
        return " ".join([kind, *(f"{key} = {_short(value)}" for key, value in told.items()), *served])

    @property
    def served(self) -> str:
        """Under which conditions rounds ran, in words; empty where nothing was said."""
        return str(Serving.of_row(self.rows[0])) if self.rows else ""

    def _with_scheme(self, text: str) -> str:
        return "; ".join([text, *(own for own in (self.scheme, self.policy or self.served) if own)])

    @property
    def name(self) -> str:
        """The label if there is one, else the process in words; with the scheme."""
        return self._with_scheme(self.label) if self.label else self.what

    @property
    def question(self) -> str:
        """Process and scheme, whoever chooses κ."""
        return "; ".join(own for own in (self.label or describe(self.kind, self.parameters), self.scheme) if own)

    @property
    def price(self) -> str:
        """The costs that are not at their default; the draft cost always."""
        usual, own, tables = Cost().numbers(), self.cost.numbers(), self.cost.tables()
        own |= {key: value for key, value in self.cost.of_changes().items() if value}
        replaced = {"c_d": "draft_table", "c0": "verify_table"}
        words = [
            f"{key} = {own[key]:g}"
            for key in own
            if (key == "c_d" or own[key] != usual.get(key)) and replaced.get(key) not in tables
        ]
        return ", ".join(words + [f"{key} of {len(value)} entries" for key, value in tables.items()])

    @property
    def family(self) -> tuple[str, str]:
        """What stays the same while rates are varied: type, label and all parameters that are not rates."""
        rest = {key: value for key, value in self.parameters.items() if not isinstance(value, (float, list))}
        label = self.label if isinstance(self.parameters.get("alpha"), float) else ""
        return self.kind, json.dumps([label, rest, self.scheme, self.served], sort_keys=True)


@dataclass(frozen=True)
class Exact:
    """Exact speed-ups of a process at the κ that were run."""

    process: Process | None
    kappas: Sequence[int]
    speedups: Sequence[float]

    @property
    def kappa_star(self) -> int:
        """Smallest κ, among those run, within 1e-12 of the best."""
        top = max(self.speedups)
        return next(k for k, s in zip(self.kappas, self.speedups, strict=True) if s >= top - 1e-12)

    def speedup(self, kappa: int) -> float:
        """Exact speed-up at one κ that was run."""
        return self.speedups[list(self.kappas).index(kappa)]

    def mean_tokens(self, kappa: int) -> float | None:
        """Exact E[tokens] of a round; None if this version does not know the process."""
        return None if self.process is None else theory.window(self.process, kappa).mean_tokens


def points(estimates: pd.DataFrame) -> list[Point]:
    """The points of an estimates table, in its order.

    Examples
    --------
    >>> import simspec
    >>> result = simspec.simulate({"type": "iid", "alpha": 0.7}, {"c_d": 0.1}, kappa=[0, 4], windows=10_000)
    >>> frame = result.to_pandas().assign(
    ...     point_id="p", simulation_id="s", process="iid", parameters='{"alpha":0.7}', label="",
    ...     c0=1.0, c_d=0.1, c_v=0.0, c_r=0.0, off=1.0)
    >>> [(point.name, point.price, point.exact.kappa_star) for point in points(frame)]
    [('i.i.d. α = 0.7', 'c_d = 0.1', 4)]
    """
    grouped: dict[str, list[dict[str, Any]]] = {}
    for record in estimates.to_dict("records"):
        row = {str(key): value for key, value in record.items()}
        grouped.setdefault(str(row["point_id"]), []).append(row)
    return [_point(rows) for rows in grouped.values()]


def _point(rows: list[dict[str, Any]]) -> Point:
    rows = sorted(rows, key=lambda row: int(row["kappa"]))
    first = rows[0]
    prices: dict[str, Any] = {key: float(first[key]) for key in Cost().numbers()}
    prices |= {key: float(first.get(key, 0.0)) for key in CHANGES}  # files of before there were any hold none
    cost = Cost(**prices, **json.loads(first.get("cost_tables", "{}")))
    ids = str(first["point_id"]), str(first["simulation_id"])
    return Point(*ids, str(first["process"]), str(first["label"] or ""), json.loads(first["parameters"]), cost, rows)


def describe(kind: str, parameters: dict[str, Any]) -> str:
    """A process in words.

    Examples
    --------
    >>> describe("markov", {"alpha": 0.7, "rho": 0.3, "start": "carry", "steps_after_reject": 1, "steps_after_full": 2})
    'Markov α = 0.7, ρ = 0.3, by position (1, 2)'
    >>> describe("drift", {"alpha_end": 0.6, "alpha_start": 0.8, "shape": "linear", "tokens": 9, "truncate": True})
    'drift, alpha_start = 0.8, alpha_end = 0.6, tokens = 9'
    >>> describe("survival", {"survival": [0.7, 0.5, 0.4]})
    'measured survival, 3 values'
    """
    given = _telling(kind, parameters)
    rates = [f"{sign} = {given[key]:g}" for key, sign in _SIGNS.items() if isinstance(given.get(key), float)]
    parts = rates + [text for text in [construction(kind, given)] if text]
    join = " " if rates else ", "
    return _WORDS.get(kind, kind) + (join + ", ".join(parts) if parts else "")


def short_name(kind: str, parameters: dict[str, Any]) -> str:
    """What a process is apart from its parameters; a chain is named by its boundary between windows.

    Examples
    --------
    >>> short_name("beta_mixture", {"alpha": 0.7, "rho": 0.3}), short_name("markov", {"start": "carry"})
    ('Beta mixture', 'carried (1, 1)')
    """
    return _boundary(parameters) if kind == "markov" else _WORDS.get(kind, kind)


def construction(kind: str, parameters: dict[str, Any]) -> str:
    """What a process has besides α and ρ, in words; for a chain, its boundary between windows.

    Examples
    --------
    >>> construction("markov", {"alpha": 0.7, "rho": 0.3, "start": "stationary"})
    'each window fresh'
    """
    if kind == "markov":
        return _boundary(parameters)
    rest = {key: value for key, value in _telling(kind, parameters).items() if not _is_rate(key, value)}
    if list(rest) == ["survival"]:
        return f"{len(rest['survival'])} values"
    if isinstance(rest.get("path"), str):
        rest["path"] = rest["path"].rpartition("/")[2]  # the whole path stands with the scenario
    return ", ".join(f"{key} = {_short(value)}" for key, value in rest.items())


def _telling(kind: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters that are given and not at their default, in the order of the class if it is known."""
    given = {key: value for key, value in parameters.items() if value is not None}
    known = Processes.table.get(kind)
    if known is None or kind == "markov":
        return given
    usual = {key: field.default for key, field in known.model_fields.items()}
    order = [key for key in usual if key in given] + [key for key in given if key not in usual]
    return {key: given[key] for key in order if given[key] != usual.get(key)}


def _boundary(parameters: dict[str, Any]) -> str:
    if parameters.get("start") != "carry":
        return "each window fresh"
    steps = tuple(int(parameters.get(key, 1)) for key in _STEPS)
    return _BOUNDARIES.get((steps[0], steps[1]), f"carried {steps}")


def _is_rate(key: str, value: Any) -> bool:
    return key in _SIGNS and isinstance(value, float)


def _implied(process: Process) -> tuple[float | None, float | None]:
    """α and ρ of the first two outcomes of a fresh window, from its survival curve."""
    if getattr(process, "weights_of", "windows") not in ("windows", "requests"):
        return None, None  # weights of tokens or rounds are not those of the rate itself
    fresh = {"start": "stationary", "weights_of": "windows", "request_tokens": None}
    own = {key: value for key, value in fresh.items() if key in type(process).model_fields}
    try:
        once, twice = theory.survival_curve(process.model_copy(update=own), 2)
    except SimspecError:
        return None, None
    spread = once * (1.0 - once)
    return float(once), float((twice - once**2) / spread) if spread > 0 else None


def _short(value: Any) -> str:
    if isinstance(value, list):
        plain = len(value) <= 4 and all(isinstance(entry, float) for entry in value)
        return f"[{', '.join(f'{entry:.4g}' for entry in value)}]" if plain else f"[{len(value)} values]"
    return f"{value:g}" if isinstance(value, float) else str(value)
