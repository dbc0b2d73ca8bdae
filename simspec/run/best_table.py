"""How do the best points of a run read?  One line per point, in the words of the scenario."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from simspec.model import Schemes
from simspec.model.serving import Serving
from simspec.text import kappa_set, number, table

PRICES = ("c0", "c_d", "c_v", "c_r", "off", "c_switch", "c_wake")


def best_table(records: list[dict[str, Any]], kinds: dict[str, set[Any]]) -> str:
    """Text table of `Dataset.best_records`; parameters that all rows of a process share stand above it."""
    names, shared = process_names(records, kinds["parameters"])
    varies = [key for key in PRICES if key == "c_d" or len(kinds[key]) > 1]
    dear_off = kinds["off"] != {1.0}
    rows, chooses = [], policy_names(records)
    steered = any(chooses)
    for name, who, row in zip(names, chooses, records, strict=True):
        star = f"{row['kappa_star']}{' (largest run)' if row['at_kappa_max'] else ''}"
        adapts = (row.get("policy") or "fixed") != "fixed"
        star = f"mean {_mean_kappa(row):.2f}" if adapts else star
        rows.append(
            [
                name,
                *([who or "fixed"] if steered else []),
                *(f"{row[key]:g}" for key in varies),
                f"off ({row['kappa_star']})" if row["off_is_better"] else star,
                "–" if adapts else kappa_set(row["indistinguishable_kappas"]),
                "–" if adapts else kappa_set(row["within_2pct_kappas"]),
                with_interval(row, "speedup"),
                number(row["speedup_exact"]),
                *([_gain(row)] if steered else []),
                *([f"{row['speedup'] * row['off']:.4f}"] if dear_off else []),
                number(row["mean_tokens"]),
                number(row["p_zero_accepted"]),
            ]
        )
    header = [
        "process",
        *(["who chooses κ"] if steered else []),
        *varies,
        "best κ",
        "tied κ",
        "within 2%",
        "speed-up",
        "exact",
        *(["over best fixed κ"] if steered else []),
    ]
    header += [*(["against off"] if dear_off else []), "E[tokens]", "P(A=0)"]
    return "\n".join([*shared, table(header, rows)])


def _mean_kappa(row: dict[str, Any]) -> float:
    """Mean κ; drafts made, in files of before κ itself was counted."""
    asked = float(row.get("mean_kappa", math.nan))
    return float(row["mean_drafted"]) if math.isnan(asked) else asked


def _gain(row: dict[str, Any]) -> str:
    """Speed over that of the best fixed κ, exact, in percent, and half its interval."""
    loss, high = (float(row.get(name, math.nan)) for name in ("loss_fixed", "loss_fixed_high"))
    return "–" if math.isnan(loss) else f"{-100 * loss:+.2f}% ± {100 * (high - loss):.2f}"


def with_interval(row: dict[str, Any], name: str) -> str:
    """An estimate and its interval; an exact value alone.

    Examples
    --------
    >>> row = {"method": "simulate", "speedup": 1.5, "speedup_low": 1.4, "speedup_high": 1.6}
    >>> with_interval(row, "speedup"), with_interval(row | {"method": "exact"}, "speedup")
    ('1.5000 [1.4000, 1.6000]', '1.5000')
    """
    if row.get("method") == "exact":
        return number(row[name])
    return f"{number(row[name])} [{number(row[f'{name}_low'])}, {number(row[f'{name}_high'])}]"


def process_names(records: list[dict[str, Any]], every: set[tuple[str, str]]) -> tuple[list[str], list[str]]:
    """A short name per row, and a line per process type with what all points of that type have in common."""
    parameters = [json.loads(record["parameters"]) for record in records]
    seen: dict[tuple[str, str], set[str]] = {}
    for kind, text in every:
        for key, value in json.loads(text).items():
            seen.setdefault((kind, key), set()).add(str(value))
    common = {where for where, values in seen.items() if len(values) == 1 and where[1] not in ("alpha", "rho")}
    names = []
    for record, own in zip(records, parameters, strict=True):
        inside = _short_all({key: value for key, value in own.items() if (record["process"], key) not in common})
        names.append(record["label"] or " ".join([record["process"], *inside]))
    lines = []
    for kind in dict.fromkeys(record["process"] for record in records):
        own = next(p for record, p in zip(records, parameters, strict=True) if record["process"] == kind)
        inside = _short_all({key: value for key, value in own.items() if (kind, key) in common})
        if inside:
            lines.append(f"every {kind} here has {', '.join(inside)}")
    return names, [*lines, ""] if lines else []


def scheme_names(records: Sequence[dict[str, Any]]) -> list[str]:
    """The label of each scheme, else its type; with what differs where that alone names several.

    Examples
    --------
    >>> own = {"scheme": "stop", "scheme_label": "mine"}
    >>> rows = [own | {"scheme_parameters": f'{{"theta": {theta}}}'} for theta in (0.3, 0.5)]
    >>> scheme_names(rows), scheme_names(rows[:1])
    (['mine theta=0.3', 'mine theta=0.5'], ['mine'])
    >>> scheme_names([*rows[:1], {"scheme": "chain", "scheme_label": "mine"}])
    ['mine (stop)', 'mine (chain)']
    """
    own = [(r.get("scheme") or "chain", json.loads(r.get("scheme_parameters") or "{}")) for r in records]
    keys = {(kind, key) for kind, parameters in own for key in parameters}
    differ = {(kind, key) for kind, key in keys if len({str(p.get(key)) for k, p in own if k == kind}) > 1}
    borne: dict[str, dict[str, set[str]]] = {}  # by label: the parameters of each type that bears it
    for record, (kind, parameters) in zip(records, own, strict=True):
        borne.setdefault(record.get("scheme_label") or "", {}).setdefault(kind, set()).add(str(parameters))
    names = []
    for record, (kind, parameters) in zip(records, own, strict=True):
        fields = Schemes.table[kind].model_fields if kind in Schemes.table else {}
        told = {key: value for key, value in parameters.items() if (kind, key) in differ}
        told = {key: value for key, value in told.items() if key not in fields or value != fields[key].default}
        label = record.get("scheme_label") or ""
        name = (f"{label} ({kind})" if len(borne[label]) > 1 else label) if label else kind
        alone = bool(label) and len(borne[label][kind]) == 1
        names.append(name if alone else " ".join([name, *_short_all(told)]))
    return names


def policy_names(records: Sequence[dict[str, Any]]) -> list[str]:
    """The label of each policy that changes κ, else its type, with what differs between those and how it is served.

    Empty where κ is fixed and nothing was said of serving.

    Examples
    --------
    >>> rows = [{"policy": "rolling", "policy_parameters": f'{{"smoothing": {x}, "lowest": 1}}'} for x in (0.85, 0.99)]
    >>> policy_names([{"policy": "fixed"}, *rows, {"policy": "exp3", "policy_label": "mine", "serving_delay": 2}])
    ['', 'rolling smoothing=0.85', 'rolling smoothing=0.99', 'mine delay=2']
    >>> policy_names([{"policy": "fixed", "serving_batch": 4}])
    ['fixed batch=4']
    """
    own = [(r.get("policy") or "fixed", json.loads(r.get("policy_parameters") or "{}")) for r in records]
    names = []
    for record, (kind, parameters) in zip(records, own, strict=True):
        others = [p for k, p in own if k == kind]
        differ = {key: v for key, v in parameters.items() if any(p.get(key) != v for p in others) and key != "cost"}
        label = record.get("policy_label") or " ".join([kind, *_short_all(differ)])
        told = _short_all(Serving.of_row(record).identity())
        names.append("" if kind == "fixed" and not told else " ".join([label, *told]))
    return names


def _short_all(parameters: dict[str, Any]) -> list[str]:
    """``alpha=0.7 rho=0.3 carry(1, 2)``: the boundary between windows in one word."""
    own = dict(parameters)
    reject, full = own.pop("steps_after_reject", None), own.pop("steps_after_full", None)
    out = [_short(key, value) for key, value in own.items() if key != "start"]
    if "start" in own or reject is not None or full is not None:
        steps = "" if reject is None and full is None else f"({'·' if reject is None else reject}, {full or '·'})"
        out.append(f"{own.get('start', 'carry')}{steps}")
    return out


def _short(key: str, value: Any) -> str:
    if isinstance(value, list):
        few = len(value) <= 4 and all(isinstance(entry, (int, float)) for entry in value)
        return f"{key}={','.join(f'{entry:g}' for entry in value)}" if few else f"{len(value)} values of {key}"
    if isinstance(value, bool):
        return f"{key}={str(value).lower()}"
    return f"{key}={value:g}" if isinstance(value, float) else f"{key}={value}"
