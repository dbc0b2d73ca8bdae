"""Which rows stand against each other where two policies are compared?  Those of the same process, scheme and price.

Simulations that differ by who chooses κ have ids of their own.  Here each side is cut to one policy, and what remains
gets the name of its question: process, scheme and batch.  All policies met the same words, so that units are paired.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from simspec.model import DatasetError, ParameterError
from simspec.model.errors import did_you_mean
from simspec.model.identity import digest
from simspec.model.serving import KEYS as SERVING
from simspec.run.best_table import policy_names, process_names, scheme_names
from simspec.text import kappa_set

if TYPE_CHECKING:
    import pandas as pd

_QUESTION = ["process", "parameters", "label", "scheme", "scheme_parameters", "serving_batch"]
_WHO = ["policy", "policy_parameters", "policy_label", *(f"serving_{key}" for key in SERVING)]


@dataclass(frozen=True)
class Part:
    """What of a folder is compared.

    Attributes
    ----------
    name : str
        Who chooses κ, in words.
    question : dict
        Simulation id to the name of its question.
    kappa : int, optional
        The one κ that counts, where it is fixed.
    """

    name: str
    question: dict[str, str]
    kappa: int | None


def names_of(points: pd.DataFrame) -> pd.Series:
    """Who chooses κ, for each point, as tables call it; "fixed" where nobody does."""
    told = policy_names(_records(points[_WHO]))
    return points["policy"].where(points["policy"] == "fixed", told)


def question_names(points: pd.DataFrame) -> dict[str, str]:
    """What each question is called: process, and scheme where it is no chain; without who chooses κ."""
    own = _records(points.drop_duplicates("simulation_id"))
    names, _ = process_names(own, {(row["process"], row["parameters"]) for row in own})
    told = [" ".join(name.split()) for name in names]
    schemes = [
        f"{name}, " if row["scheme"] != "chain" else "" for name, row in zip(scheme_names(own), own, strict=True)
    ]
    return {row["simulation_id"]: f"{scheme}{name}" for row, scheme, name in zip(own, schemes, told, strict=True)}


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(key): value for key, value in row.items()} for row in frame.to_dict("records")]


def part_of(points: pd.DataFrame, kappas: Sequence[int], asked: str, path: object) -> Part:
    """The part of a folder that one policy played.

    Parameters
    ----------
    points : DataFrame
        One row per point, with who chooses κ.
    kappas : sequence of int
        Those at which the fixed ones ran.
    asked : str
        A type, a label, the name that `simspec show` has, or a whole number: a fixed κ.
    path : path
        Named in errors.

    Raises
    ------
    ParameterError
        There is no such policy.
    DatasetError
        Several are meant.
    """
    names = names_of(points)
    fixed = points["policy"] == "fixed"
    if asked.strip().isdigit():
        kappa = int(asked)
        if kappa not in kappas:
            raise ParameterError(
                "policy", f"{path}: has no fixed κ = {kappa}; fixed κ there: {kappa_set(kappas) or 'none'}"
            )
        return _part(points[fixed], f"κ = {kappa}", kappa, path)
    chosen = names == asked  # a whole name is meant, although longer ones may be of its type
    if not chosen.any():
        chosen = (points["policy"] == asked) | (points["policy_label"] == asked)
    if not chosen.any():
        known = [*dict.fromkeys(names[~fixed]), *map(str, sorted(kappas))]
        raise ParameterError("policy", f"{path}: has no policy {asked}{did_you_mean(asked, known)}")
    own = points[chosen]
    if (own["policy"] == "fixed").all():
        if len(kappas) != 1:
            raise DatasetError(f"{path}: has fixed κ = {kappa_set(kappas)}; allowed: one of them, as a number")
        return _part(own, f"κ = {kappas[0]}", kappas[0], path)
    meant = list(dict.fromkeys(names[chosen]))
    if len(meant) > 1:
        raise DatasetError(f"{path}: has several policies {asked}: {', '.join(meant)}; allowed: one of these names")
    return _part(own, meant[0], None, path)


def only_policy(points: pd.DataFrame, kappas: Sequence[int], path: object) -> str | None:
    """The name of the only policy of a folder, a number for a fixed κ; None if there are several."""
    names = list(dict.fromkeys(names_of(points)))
    if len(names) != 1 or (names == ["fixed"] and len(kappas) != 1):
        return None
    return str(kappas[0]) if names == ["fixed"] else str(names[0])


def _part(points: pd.DataFrame, name: str, kappa: int | None, path: object) -> Part:
    question: dict[str, str] = {}
    for row in points.drop_duplicates("simulation_id").to_dict("records"):
        question[row["simulation_id"]] = digest({key: row[key] for key in _QUESTION})
    if len(set(question.values())) < len(question):
        raise DatasetError(f"{path}: has one process twice under {name}; allowed: policies with a label each")
    return Part(name, question, kappa)


def asked_alike(frame: pd.DataFrame, part: Part) -> pd.DataFrame:
    """The rows of a table that a part holds, called by question; κ, which says nothing now, is 0."""
    own = frame[frame["simulation_id"].isin(list(part.question))]
    if part.kappa is not None and "kappa" in own:
        own = own[own["kappa"] == part.kappa]
    own = own.assign(simulation_id=own["simulation_id"].astype(object).map(part.question))
    return own.assign(kappa=np.int16(0)) if "kappa" in own else own
