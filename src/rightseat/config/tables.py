"""Check a table of the file against a Struct: unknown keys, wrong types, references to secrets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import Struct

from rightseat.config.lines import Key
from rightseat.config.problems import ConfigProblems
from rightseat.config.secret import Secret, resolve_reference
from rightseat.errors import ConfigError

S = TypeVar("S", bound=Struct)


def get_tables(raw: dict[str, Any], name: str, problems: ConfigProblems) -> dict[str, Any]:
    table = raw.get(name, {})
    if isinstance(table, dict):
        return table
    problems.add_wrong_type((name,), f"tables such as [{name}.NAME]", table)
    return {}


def check_named_tables(
    raw: dict[str, Any],
    name: str,
    check_table: Callable[[Any, Key, Path, ConfigProblems], S | None],
    folder: Path,
    problems: ConfigProblems,
) -> dict[str, S]:
    """Check the tables [name.NAME] and return the valid ones by NAME."""
    checked = {
        table_name: check_table(table, (name, table_name), folder, problems)
        for table_name, table in get_tables(raw, name, problems).items()
    }
    return {table_name: settings for table_name, settings in checked.items() if settings is not None}


def check_struct(table: Any, kind: type[S], key: Key, problems: ConfigProblems) -> S | None:
    if not isinstance(table, dict):
        problems.add_wrong_type(key, "a table", table)
        return None
    before = len(problems.items)
    fields = {f.name: f for f in msgspec.structs.fields(kind)}
    for name, value in table.items():
        if name in fields:
            _check_value(value, fields[name].type, (*key, name), problems)
        else:
            problems.add_unknown_key((*key, name), fields)
    for name, field in fields.items():
        if field.required and name not in table:
            problems.add(key, f"{name} is missing.")
    return msgspec.convert(table, kind, dec_hook=_decode_secret) if len(problems.items) == before else None


def _check_value(value: Any, kind: Any, key: Key, problems: ConfigProblems) -> None:
    options = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    inner = next((o for o in options if isinstance(o, type) and issubclass(o, Struct)), None)
    if inner is not None:
        check_struct(value, inner, key, problems)
    elif get_origin(kind) is dict and isinstance(value, dict):
        for name, item in value.items():
            _check_value(item, get_args(kind)[1], (*key, name), problems)
    elif get_origin(kind) is Literal:
        if value not in get_args(kind):
            problems.add_wrong_type(key, f"one of {', '.join(get_args(kind))}", value)
    else:
        try:
            msgspec.convert(value, kind, dec_hook=_decode_secret)
        except msgspec.ValidationError as error:
            problems.add_invalid_value(key, str(error))


def _decode_secret(kind: type, value: Any) -> Secret:
    if isinstance(value, str):
        return Secret(value)
    raise ValueError("Expected `str`, such as 'env:NAME'")


def resolve_secret(reference: str, key: Key, folder: Path, problems: ConfigProblems) -> Secret:
    try:
        return resolve_reference(reference, ".".join(key), folder=folder)
    except ConfigError as error:
        problems.add_sentence(key, error.message)
        return Secret("")
