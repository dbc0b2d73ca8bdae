"""How does a numpy array become an Arrow column, and back?  Without pandas, which ``pyarrow.array`` would import."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa


def dtype_of(kind: pa.DataType) -> np.dtype[Any]:
    """The numpy type of a column of numbers; Arrow's own ``to_pandas_dtype`` imports pandas in some versions.

    Examples
    --------
    >>> dtype_of(pa.float64()), dtype_of(pa.int16())
    (dtype('float64'), dtype('int16'))
    """
    return np.dtype({"double": "float64", "float": "float32"}.get(str(kind), str(kind)))


def column(values: Any, kind: pa.DataType) -> pa.Array:
    """An Arrow array of numbers or truth values that shares the memory of ``values`` where it can; NaN becomes null.

    ``pyarrow.array`` asks pandas whether an array is categorical, and importing pandas takes longer than a small run.

    Parameters
    ----------
    values : array
        Numbers for a numeric ``kind``; whole ones for an integer ``kind``.
    kind : pyarrow.DataType
        Integer, floating or boolean.

    Raises
    ------
    TypeError
        Numbers with a fraction where whole ones belong.
    OverflowError
        A number does not fit.

    Examples
    --------
    >>> column(np.array([0.5, np.nan]), pa.float64()).to_pylist()
    [0.5, None]
    """
    given = np.asarray(values)
    if given.size == 0:  # an empty array has no type of its own
        return pa.nulls(0, kind)
    if pa.types.is_boolean(kind):
        bits = np.packbits(given.astype(np.bool_, casting="safe"), bitorder="little")
        return pa.Array.from_buffers(kind, len(given), [None, pa.py_buffer(bits)])
    wanted = dtype_of(kind)
    if wanted.kind in "iu":
        _check_fits(given, wanted)
    own = np.ascontiguousarray(given, wanted)
    missing = np.isnan(own) if wanted.kind == "f" else np.zeros(0, np.bool_)
    there = pa.py_buffer(np.packbits(~missing, bitorder="little")) if missing.any() else None
    return pa.Array.from_buffers(kind, len(own), [there, pa.py_buffer(own)], null_count=int(missing.sum()))


def _check_fits(given: np.ndarray, wanted: np.dtype[Any]) -> None:
    if given.dtype.kind not in "iu":
        raise TypeError(f"{given.dtype} values for a column of {wanted}; allowed: whole numbers")
    limits = np.iinfo(wanted)
    if given.size and not (int(given.min()) >= limits.min and int(given.max()) <= limits.max):
        raise OverflowError(f"{int(given.min())} to {int(given.max())} does not fit a column of {wanted}")


def words(codes: np.ndarray, known: list[str]) -> pa.DictionaryArray:
    """A column of words that repeat: ``known[codes[row]]``; the memory of int32 ``codes`` is shared.

    Examples
    --------
    >>> words(np.array([0, 0, 1]), ["iid", "markov"]).to_pylist()
    ['iid', 'iid', 'markov']
    """
    encoded = [word.encode() for word in known]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    dictionary = pa.StringArray.from_buffers(len(known), pa.py_buffer(ends), pa.py_buffer(b"".join(encoded)))
    kind = pa.dictionary(pa.int32(), pa.string())
    indices = pa.py_buffer(np.ascontiguousarray(codes, np.int32))
    return pa.DictionaryArray.from_buffers(kind, len(codes), [None, indices], dictionary)


def rows_of(table: pa.Table, positions: np.ndarray) -> list[dict[str, Any]]:
    """Some rows as plain Python values, null numbers as NaN, as ``DataFrame.to_dict("records")`` gives them.

    Examples
    --------
    >>> rows_of(pa.table({"kappa": [0, 1, 2], "alpha": [0.5, None, 0.7]}), np.array([0, 1]))
    [{'kappa': 0, 'alpha': 0.5}, {'kappa': 1, 'alpha': nan}]
    """
    columns = [values(table, name)[positions].tolist() for name in table.column_names]
    return [dict(zip(table.column_names, row, strict=True)) for row in zip(*columns, strict=True)]


def values(table: pa.Table, name: str) -> np.ndarray:
    """One column as a numpy array; words as Python strings, null numbers as NaN.

    Examples
    --------
    >>> values(pa.table({"alpha": [0.5, None, 0.7]}), "alpha")
    array([0.5, nan, 0.7])
    """
    stored = table.column(name)
    if pa.types.is_dictionary(stored.type):  # its words are looked up once, not once for every row group
        stored = pa.chunked_array([stored.combine_chunks()])
    parts = [_plain(part) for part in stored.chunks]
    return np.concatenate(parts) if parts else np.empty(0)


def _plain(part: pa.Array) -> np.ndarray:
    if pa.types.is_dictionary(part.type):
        known, numbers = np.array([*part.dictionary.to_pylist(), None], object), _numbers_of(part.indices)
        return known[np.where(np.isnan(numbers), -1, numbers).astype(np.int64)]
    return _numbers_of(part) if pa.types.is_primitive(part.type) else np.array(part.to_pylist(), object)


def _numbers_of(part: pa.Array) -> np.ndarray:
    """The inverse of `column`; ``Array.to_numpy`` imports pandas."""
    if part.null_count == len(part):
        return np.full(len(part), np.nan)
    there, data = part.buffers()
    if pa.types.is_boolean(part.type):
        numbers = _bits(data, part)
    else:
        numbers = np.frombuffer(data, dtype_of(part.type))[part.offset : part.offset + len(part)]
    return np.where(_bits(there, part), numbers, np.nan) if part.null_count else numbers


def _bits(buffer: pa.Buffer, part: pa.Array) -> np.ndarray:
    whole = np.unpackbits(np.frombuffer(buffer, np.uint8), bitorder="little")
    return whole[part.offset : part.offset + len(part)].astype(np.bool_)
