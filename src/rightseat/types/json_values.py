"""JSON values of what Python tools return: numbers, dates, tables and models of other libraries.

No library is imported for it: pandas, Polars, NumPy, PyArrow and pydantic are recognized by their types' modules.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

MAX_SMALL = 1000
TOO_DEEP = "it contains itself, or is nested too deeply"


class NotJsonError(ValueError):
    """A value that has no JSON form. The message names its type and the reason."""


def encode_json(value: Any) -> bytes:
    """Encode a value as JSON. Not-a-number and infinity become null; a value of an unknown type becomes its text."""
    try:
        try:
            encoded = _encoder.encode(value)
        except (TypeError, ValueError, RecursionError):
            # Rare: a key of another type, lone surrogates.
            return _encoder.encode(_make_plain(value))
        # A Decimal that is not a number is written as it is, which is not JSON.
        may_be_invalid = b"NaN" in encoded or b"Infinity" in encoded
        return _encoder.encode(_make_plain(value)) if may_be_invalid else encoded
    except RecursionError:
        raise NotJsonError(f"{_name_type(value)}: {TOO_DEEP}") from None
    except Exception as error:
        raise NotJsonError(f"{_name_type(value)}: {type(error).__name__}: {error}"[:300]) from error


def is_large(value: Any) -> bool:
    """Whether encoding the value may take long enough to delay an event loop."""
    return _find_library(value) in _CONVERTERS or (isinstance(value, list | dict | tuple) and len(value) > MAX_SMALL)


def to_json_value(value: Any) -> Any:
    """Return the value as JSON decodes it: dicts, lists, strings, numbers, booleans and None."""
    if value is None or type(value) is bool:
        return value
    encoded = encode_json(value)
    try:
        return msgspec.json.decode(encoded)
    except msgspec.DecodeError as error:
        raise NotJsonError(f"{_name_type(value)}: {error}") from error


def to_table_value(value: Any) -> Any:
    """Return the JSON value of a table: a Series becomes rows, anything else is as `to_json_value` has it."""
    is_series = _find_library(value) in ("pandas", "polars") and type(value).__name__ == "Series"
    return to_json_value(value.to_frame() if is_series else value)


def convert_foreign_value(value: Any) -> Any:
    """Return a simpler form of a value that msgspec cannot encode; its text if there is none."""
    convert = _CONVERTERS.get(_find_library(value))
    if convert is not None:
        return convert(value)
    if hasattr(value, "model_dump"):
        return value.model_dump()
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    for base in (bool, int, float, str):
        if isinstance(value, base):
            return base(value)
    if isinstance(value, Mapping):
        return dict(value)
    # Iterators are left alone: reading them changes them, and they may have no end.
    is_sized = isinstance(value, Iterable) and hasattr(value, "__len__")
    return list(value) if is_sized else str(value)


_encoder = msgspec.json.Encoder(enc_hook=convert_foreign_value, decimal_format="number")


def _find_library(value: Any) -> str:
    return type(value).__module__.partition(".")[0]


def _name_type(value: Any) -> str:
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def _convert_numpy(value: Any) -> Any:
    # `tolist` makes plain numbers of dates in nanoseconds, so dates become text first.
    if value.dtype.kind in "mM":
        texts = value.astype(str)
        return None if texts.ndim == 0 and str(texts) == "NaT" else texts.tolist()
    plain = value.tolist()
    return str(plain) if isinstance(plain, complex) else plain


def _convert_pandas(value: Any) -> Any:
    match type(value).__name__:
        case "DataFrame":
            return _convert_frame(value)
        case "Series":
            return list(value) if _has_default_index(value) else dict(zip(map(_name, value.index), value, strict=True))
        case "NaTType" | "NAType":
            return None
        case "Timestamp" | "Timedelta":
            return value.isoformat()
        case _:
            return value.tolist() if hasattr(value, "tolist") else str(value)


def _convert_frame(frame: Any) -> list[dict[str, Any]]:
    """Return the rows of a pandas DataFrame. The index is a column, unless it only counts the rows."""
    skips_index = _has_default_index(frame)
    index_names = [] if skips_index else [name or "index" for name in frame.index.names]
    columns = _make_unique([*map(_name, index_names), *map(_name, frame.columns)])
    rows = frame.itertuples(index=not skips_index, name=None)
    if len(index_names) > 1:
        rows = ((*row[0], *row[1:]) for row in rows)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def _has_default_index(value: Any) -> bool:
    index = value.index
    return type(index).__name__ == "RangeIndex" and index.name is None


def _name(label: Any) -> str:
    """Return a column's or a row's label as text; the levels of a label are joined."""
    if isinstance(label, tuple):
        return " ".join(filter(None, map(_name, label)))
    return label.isoformat() if isinstance(label, datetime.date) else str(label)


def _make_unique(names: list[str]) -> list[str]:
    taken: set[str] = set()
    for number, name in enumerate(names):
        unique, copy = name, 2
        while unique in taken:
            unique, copy = f"{name} {copy}", copy + 1
        taken.add(unique)
        names[number] = unique
    return names


def _convert_polars(value: Any) -> Any:
    match type(value).__name__:
        case "DataFrame":
            return value.to_dicts()
        case "Series":
            return value.to_list()
        case "LazyFrame":
            raise NotJsonError("a LazyFrame has no rows yet: return frame.collect()")
        case _:
            return str(value)


def _convert_arrow(value: Any) -> Any:
    if hasattr(value, "to_pylist"):
        return value.to_pylist()
    return value.as_py() if hasattr(value, "as_py") else str(value)


_CONVERTERS: dict[str, Callable[[Any], Any]] = {
    "numpy": _convert_numpy,
    "pandas": _convert_pandas,
    "polars": _convert_polars,
    "pyarrow": _convert_arrow,
}


def _make_plain(value: Any) -> Any:
    """Return the value with text as keys, and without lone surrogates and decimals that are not numbers."""
    match value:
        case str():
            return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        case bool() | int() | float() | None:
            return value
        case Decimal():
            return value if value.is_finite() else None
        case dict():
            return {_make_plain(_name(key)): _make_plain(item) for key, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [_make_plain(item) for item in value]
        case datetime.date() | datetime.time() | datetime.timedelta() | UUID() | bytes() | bytearray():
            return msgspec.to_builtins(value, enc_hook=convert_foreign_value)
        case Enum():
            return _make_plain(value.value)
        case Struct():
            return _make_plain(asdict(value))
        case _ if is_dataclass(value) and not isinstance(value, type):
            return _make_plain({field.name: getattr(value, field.name) for field in fields(value)})
        case _:
            return _make_plain(convert_foreign_value(value))
