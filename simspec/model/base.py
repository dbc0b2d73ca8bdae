"""What do all model classes share?  Frozen, no unknown keys, and errors that read as one plain line."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar, get_origin

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo

from simspec.model.errors import ParameterError, did_you_mean, shown

Kind = TypeVar("Kind", bound=BaseModel)

Probability = Annotated[float, Field(ge=0.0, le=1.0)]
"""A probability, 0 ≤ x ≤ 1."""

NonNegative = Annotated[float, Field(ge=0.0, le=1e9, allow_inf_nan=False)]
Positive = Annotated[float, Field(ge=1e-9, le=1e9, allow_inf_nan=False)]
"""Costs, in plain target steps: bounded so that nothing overflows."""

_KINDS = {
    "float_type": "a number",
    "finite_number": "a finite number",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "string_type": "a text",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
}


ELSEWHERE = {
    "kappa": "; kappa stands at the top of the file, above [process]",
    "windows": "; windows stands at the top of the file, above [process]",
    "seed": "; seed stands at the top of the file, above [process]",
    "beta": '; did you mean "c_d" (the draft cost, in [cost])?',
    "draft": '; did you mean "c_d"?',
    "draft_cost": '; did you mean "c_d"?',
    "verify_cost": '; did you mean "c_v"?',
    "rollback_cost": '; did you mean "c_r"?',
    "switch_cost": '; did you mean "c_switch"?',
    "wake_cost": '; did you mean "c_wake"?',
}
"""Words people write where they have no meaning, and where the meaning is."""


class Model(BaseModel):
    """Frozen parameters of one thing; a bad value raises `ParameterError` from the constructor."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)

    def __init__(self, /, *unnamed: Any, **data: Any) -> None:
        if unnamed:
            first = next(name for name in type(self).model_fields if name not in ("type", "label"))
            raise ParameterError(
                first, f"{type(self).__name__} takes its parameters by name, e.g. {first} = {unnamed[0]!r}"
            )
        plain = {key: _tuples(value) for key, value in data.items()}
        try:
            super().__init__(**plain)
        except ValidationError as error:
            raise _first_error(error, type(self), plain) from None

    def identity(self) -> dict[str, Any]:
        """The parameters that decide the numbers, as plain JSON values; what `simspec.model.identity` hashes."""
        return self.model_dump(mode="json")


def _number_in(value: Any) -> str:
    """``"0.7"`` or ``"70%"`` in quotes: say how to write it."""
    text = value.strip() if isinstance(value, str) else ""
    scale = 100.0 if text.endswith("%") else 1.0
    try:
        return f"; write {float(text.rstrip('%')) / scale:g}, without quotes"
    except ValueError:
        return ""


def _tuples(value: Any) -> Any:
    """Lists of lists as tuples of tuples, since parameters are hashable; numpy values as plain ones."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    return tuple(_tuples(entry) for entry in value) if isinstance(value, (list, tuple)) else value


def _limits(name: str, field: FieldInfo) -> str:
    low = high = ""
    for rule in field.metadata:
        for attribute, sign in (("ge", "≤"), ("gt", "<")):
            if getattr(rule, attribute, None) is not None:
                low = f"{getattr(rule, attribute):g} {sign} "
        for attribute, sign in (("le", "≤"), ("lt", "<")):
            if getattr(rule, attribute, None) is not None:
                high = f" {sign} {getattr(rule, attribute):g}"
    return f"{low}{name}{high}" if low or high else f"a value for {name}"


def _allowed(name: str, model: type[BaseModel], kind: str = "") -> str:
    """Range of a scalar field, or of the entries of a list field; where there is none, what kind of value it takes."""
    field = model.model_fields[name]
    inner, of_list = _inner(field.annotation)
    told = _limits(name, field) if field.metadata else f"a value for {name}"
    if inner is not None and not field.metadata:
        told = _limits("each entry" if of_list else name, inner)
    if not told.startswith("a value"):
        return told
    return kind if kind == _KINDS["bool_type"] else field.description or kind or told


def _inner(annotation: Any) -> tuple[FieldInfo | None, bool]:
    """Range of a value that may be left out, or of the entries of a list."""
    for inner in getattr(annotation, "__args__", ()):
        rules = getattr(inner, "__metadata__", ())
        found, deeper = (rules[0], False) if rules and isinstance(rules[0], FieldInfo) else _inner(inner)
        if found is not None:
            return found, deeper or get_origin(annotation) is tuple
    return None, False


def _first_error(error: ValidationError, model: type[BaseModel], data: dict[str, Any]) -> ParameterError:
    details = error.errors(include_url=False)
    unknown = [d for d in details if d["type"] == "extra_forbidden"]
    detail = (unknown or details)[0]
    name = str(detail["loc"][0])
    branches = [d for d in details if d["loc"][0] == name and any(isinstance(i, str) for i in d["loc"][1:])]
    if branches and not unknown:  # of a union: the type that fits but for a value
        detail = next((d for d in branches if d["type"] not in _KINDS), detail)
    kind, where = detail["type"], detail["loc"]
    spelled = name + "".join(f"[{i}]" for i in where[1:] if isinstance(i, int))  # not the names of types in a union
    if kind == "extra_forbidden":
        return ParameterError(
            name, f'unknown key "{name}"{ELSEWHERE.get(name) or did_you_mean(name, model.model_fields)}'
        )
    if kind == "missing" and len(where) > 1:  # an entry of a list that is itself a list
        value = data[name][where[1]] if isinstance(where[1], int) else data[name]
        return ParameterError(
            name, f"{spelled.rpartition('[')[0]} = {shown(value)} is too short; it takes {_meaning(name, model)}"
        )
    if kind == "missing":
        return ParameterError(name, f"{name} is missing; it takes {_meaning(name, model)}")
    value = detail["input"]
    if kind == "literal_error":
        return ParameterError(name, f"{spelled} = {shown(value)} is unknown; allowed: {detail['ctx']['expected']}")
    if kind in _KINDS:
        told = f"{spelled} = {shown(value)} is not {_KINDS[kind]}; allowed: {_allowed(name, model, _KINDS[kind])}"
        return ParameterError(name, told + _number_in(value))
    if kind in ("too_short", "too_long"):
        ends = {"at least": detail["ctx"].get("min_length"), "at most": detail["ctx"].get("max_length")}
        allowed = next(f"{word} {end}" for word, end in ends.items() if end is not None)
        return ParameterError(name, f"{spelled} has {len(value)} values; allowed: {allowed}")
    if kind in ("greater_than_equal", "greater_than", "less_than_equal", "less_than"):
        told = f"{spelled} = {shown(value)} is out of range; allowed: {_allowed(name, model)}"
        fraction = told.endswith(" ≤ 1") and "allowed: 0 " in told  # a correlation from −1 on is none
        percent = fraction and isinstance(value, (int, float)) and 1 < value <= 100
        return ParameterError(
            name, told + (f"; a fraction is meant, {value / 100:g} rather than {value:g}%" if percent else "")
        )
    return ParameterError(name, f"{spelled} = {shown(value)}: {detail['msg']}")


def _meaning(name: str, model: type[BaseModel]) -> str:
    return model.model_fields[name].description or f"a value for {name}"


def enter(table: dict[str, type[Kind]], model: type[Kind]) -> type[Kind]:
    """Make a class known by its ``type`` in a registry; another version of the same class takes its place.

    Raises
    ------
    ParameterError
        Another class already bears that ``type``, or the class has none.
    """
    name = type_word(model)
    known = table.get(name)
    if known is not None and (known.__module__, known.__qualname__) != (model.__module__, model.__qualname__):
        raise ParameterError("type", f"type = {name!r} is already taken by {known.__module__}.{known.__qualname__}")
    table[name] = model
    return model


def type_word(model: type[BaseModel]) -> str:
    """The word that names a class in scenario files.

    Raises
    ------
    ParameterError
        The class gives none.
    """
    name = model.model_fields["type"].default
    if not isinstance(name, str):
        told = f'{model.__qualname__} has no type; allowed: a word of its own, type: Literal["mine"] = "mine"'
        raise ParameterError("type", told)
    return name
