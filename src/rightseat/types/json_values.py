"""JSON values of what Python tools return: numbers, dates, tables and models of other libraries.

No library is imported for it: pandas, Polars, NumPy, PyArrow and pydantic are recognized by their types' modules.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from operator import methodcaller
from typing import Any, cast
from uuid import UUID

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

MAX_SMALL = 1000
MAX_SMALL_TEXT = 64 << 10
MAX_ITEMS = 10_000_000
"""A longer range or collection of a foreign type is not read: it may fill the memory."""
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
        # The search by a pattern is slow: most texts need none.
        may_be_invalid = (b"NaN" in encoded or b"Inf" in encoded) and _NOT_A_NUMBER.search(encoded)
        return _encoder.encode(_make_plain(value)) if may_be_invalid else encoded
    except RecursionError:
        raise NotJsonError(f"{_name_type(value)}: {TOO_DEEP}") from None
    except NotJsonError:
        raise
    except Exception as error:
        raise NotJsonError(f"{_name_type(value)}: {type(error).__name__}: {error}"[:300]) from error


def is_large(value: Any) -> bool:
    """Whether encoding the value may take long enough to delay an event loop."""
    todo, visited = [value], 0
    while todo:
        item = todo.pop()
        visited += 1
        if isinstance(item, str | bytes):
            is_long = len(item) > MAX_SMALL_TEXT
        elif isinstance(item, list | tuple | set | frozenset | dict):
            is_long = visited + len(todo) + len(item) > MAX_SMALL
            todo += () if is_long else item.values() if isinstance(item, dict) else item
        else:
            # Models, dataclasses and data frames may hold anything.
            is_long = item is not None and type(item).__module__ not in _SMALL_TYPES
        if is_long or visited > MAX_SMALL:
            return True
    return False


def to_json_value(value: Any) -> Any:
    """Return the value as JSON decodes it: dicts, lists, strings, numbers, booleans and None."""
    if value is None or type(value) is bool:
        return value
    return decode_encoded(value, encode_json(value))


def decode_encoded(value: Any, encoded: bytes) -> Any:
    """Decode the JSON of a value. A number that is too large for JSON's readers becomes text."""
    try:
        return msgspec.json.decode(encoded)
    except msgspec.DecodeError:
        return msgspec.json.decode(_encoder.encode(_make_plain(value)))


def to_table_value(value: Any) -> Any:
    """Return the JSON value of a table: a Series becomes rows, anything else is as `to_json_value` has it."""
    return to_json_value(series_to_frame(value))


def series_to_frame(value: Any) -> Any:
    """Return the data frame of a Series of pandas or Polars, and any other value as it is."""
    is_series = find_library(value) in ("pandas", "polars") and type(value).__name__ == "Series"
    return value.to_frame() if is_series else value


def convert_foreign_value(value: Any) -> Any:
    """Return a simpler form of a value that msgspec cannot encode; its text if there is none."""
    convert = _find_converter(type(value))  # type: ignore[arg-type]  # A class is hashable.
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
    if isinstance(value, Iterable) and hasattr(value, "__len__"):
        return _list_items(value)
    # Reading an iterator changes it, and it may have no end.
    if isinstance(value, Iterator | AsyncIterable | Awaitable):
        raise NotJsonError(f"a {type(value).__name__} has no values yet: return a list")
    has_text = any(getattr(type(value), name) is not getattr(object, name) for name in ("__str__", "__repr__"))
    return str(value) if has_text else f"<{_name_type(value)} object>"


def _list_items(value: Any) -> list[Any]:
    if len(value) > MAX_ITEMS:
        raise NotJsonError(f"it has more than {MAX_ITEMS} items: return a part of it")
    return list(value)


_encoder = msgspec.json.Encoder(enc_hook=convert_foreign_value, decimal_format="number")


def find_library(value: Any) -> str:
    """Return the name of the library that defines the type of a value."""
    return type(value).__module__.partition(".")[0]


def _name_type(value: Any) -> str:
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def _convert_numpy(value: Any) -> Any:
    # `tolist` makes plain numbers of dates in nanoseconds, so dates become text first.
    if value.dtype.kind in "mM":
        return _replace_not_a_time(value.astype(str).tolist())
    plain = value.tolist()
    if isinstance(plain, complex):
        return str(plain)
    # `tolist` returns a number with more digits than Python's as it is.
    return float(plain) if find_library(plain) == "numpy" and value.dtype.kind == "f" else plain


def _replace_not_a_time(texts: Any) -> Any:
    if isinstance(texts, list):
        return [_replace_not_a_time(text) for text in texts]
    return None if texts == "NaT" else texts


def _convert_pandas(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    text = str(value)
    if _OBJECT_TEXT.search(text):
        # A GroupBy, a Resampler or a Styler: the text is its place in memory.
        raise NotJsonError(f"a {type(value).__name__} has no rows: return a DataFrame")
    return text


def _convert_series(series: Any) -> Any:
    """Return the values of a pandas Series; with their labels, if the index does not only count them."""
    if _has_default_index(series):
        return list(series)
    # Labels that repeat would overwrite each other.
    is_mapping = series.index.is_unique
    return dict(zip(map(_name, series.index), series, strict=True)) if is_mapping else series.to_frame()


def _convert_frame(frame: Any) -> list[dict[str, Any]]:
    """Return the rows of a pandas DataFrame. The index is a column, unless it only counts the rows."""
    index = frame.index
    # By level: the tuples of an index with levels are made of all values of each level, also for a few rows.
    levels = [] if _has_default_index(frame) else [index.get_level_values(number) for number in range(index.nlevels)]
    names = [_name("index" if level.name is None else level.name) for level in levels]
    columns = _make_unique([*names, *map(_name, frame.columns)])
    if not levels and _has_one_number_type(frame):
        # Reading column by column is slow for thousands of columns.
        rows: Iterable[Iterable[Any]] = frame.to_numpy().tolist()
    else:
        cells = (_list_cells(frame.iloc[:, number]) for number in range(frame.shape[1]))
        rows = zip(*levels, *cells, strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def _list_cells(column: Any) -> Iterable[Any]:
    """Return the cells of a column. Decimals that are not numbers are replaced here: `encode_json` is slow for them."""
    if column.dtype.kind != "O":
        return cast(Iterable[Any], column)
    return (None if type(cell) is Decimal and not cell.is_finite() else cell for cell in column)


def _has_one_number_type(frame: Any) -> bool:
    dtypes = set(frame.dtypes)
    return len(dtypes) == 1 and all(find_library(dtype) == "numpy" and dtype.kind in "iufb" for dtype in dtypes)


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


def _refuse_lazy_frame(value: Any) -> Any:
    raise NotJsonError("a LazyFrame has no rows yet: return frame.collect()")


def _convert_arrow(value: Any) -> Any:
    if hasattr(value, "to_pylist"):
        return value.to_pylist()
    return value.as_py() if hasattr(value, "as_py") else str(value)


_NOT_A_NUMBER = re.compile(rb"(?:\A|[:,\[])-?s?(?:NaN|Inf)")
_OBJECT_TEXT = re.compile(r" object at 0x[0-9a-f]+>\Z")
_SMALL_TYPES = ("builtins", "datetime", "decimal", "uuid")


@lru_cache(maxsize=500)
def _find_converter(kind: type) -> Callable[[Any], Any] | None:
    """Return the function that converts the values of a foreign type. Looked up once: a table has millions of cells."""
    library = kind.__module__.partition(".")[0]
    names = _CONVERTERS.get(library, {})
    return names.get(kind.__name__) or names.get("")


_CONVERTERS: dict[str, dict[str, Callable[[Any], Any]]] = {
    "numpy": {"": _convert_numpy},
    "pandas": {
        "DataFrame": _convert_frame,
        "Series": _convert_series,
        "NaTType": lambda value: None,
        "NAType": lambda value: None,
        "Timestamp": methodcaller("isoformat"),
        "Timedelta": methodcaller("isoformat"),
        "": _convert_pandas,
    },
    "polars": {
        "DataFrame": methodcaller("to_dicts"),
        "Series": methodcaller("to_list"),
        "LazyFrame": _refuse_lazy_frame,
        "": str,
    },
    "pyarrow": {"": _convert_arrow},
}
"""By library and name of the type; an empty name stands for its other types."""


def _make_plain(value: Any) -> Any:
    """Return the value with text as keys, and without lone surrogates and decimals that are not numbers."""
    match value:
        case str():
            return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        case bool() | int() | float() | Decimal() | None:
            return _make_plain_number(value)
        case dict():
            names = _make_unique([_make_plain(_name(key)) for key in value])
            return dict(zip(names, map(_make_plain, value.values()), strict=True))
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


def _make_plain_number(value: float | Decimal | None) -> float | Decimal | str | None:
    """Return the number; text if it is larger than JSON's readers can read, None if it is not a number."""
    match value:
        case Decimal() if not value.is_finite():
            return None
        case Decimal():
            return value if math.isfinite(float(value)) else str(value)
        case _:
            return value
