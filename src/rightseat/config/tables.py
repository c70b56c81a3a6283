"""Check a table of the file against a Struct: unknown keys, wrong types, references to secrets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import Struct

from rightseat.config.lines import Key
from rightseat.config.problems import Problems
from rightseat.config.secret import Secret, resolve
from rightseat.errors import ConfigError

S = TypeVar("S", bound=Struct)


def tables(raw: dict[str, Any], name: str, problems: Problems) -> dict[str, Any]:
    found = raw.get(name, {})
    if isinstance(found, dict):
        return found
    problems.wrong((name,), f"tables such as [{name}.NAME]", found)
    return {}


def each(
    raw: dict[str, Any],
    name: str,
    one: Callable[[Any, Key, Path, Problems], S | None],
    folder: Path,
    problems: Problems,
) -> dict[str, S]:
    """Check the tables [name.NAME] and return the valid ones by NAME."""
    made = {
        given: one(table, (name, given), folder, problems)
        for given, table in tables(raw, name, problems).items()
    }
    return {given: settings for given, settings in made.items() if settings is not None}


def struct(table: Any, kind: type[S], key: Key, problems: Problems) -> S | None:
    if not isinstance(table, dict):
        problems.wrong(key, "a table", table)
        return None
    before = len(problems.found)
    fields = {f.name: f for f in msgspec.structs.fields(kind)}
    for name, value in table.items():
        if name in fields:
            _value(value, fields[name].type, (*key, name), problems)
        else:
            problems.unknown((*key, name), fields)
    for name, field in fields.items():
        if field.required and name not in table:
            problems.add(key, f"{name} is missing.")
    return msgspec.convert(table, kind, dec_hook=_unresolved) if len(problems.found) == before else None


def _value(value: Any, kind: Any, key: Key, problems: Problems) -> None:
    options = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    inner = next((o for o in options if isinstance(o, type) and issubclass(o, Struct)), None)
    if inner is not None:
        struct(value, inner, key, problems)
    elif get_origin(kind) is dict and isinstance(value, dict):
        for name, item in value.items():
            _value(item, get_args(kind)[1], (*key, name), problems)
    elif get_origin(kind) is Literal:
        if value not in get_args(kind):
            problems.wrong(key, f"one of {', '.join(get_args(kind))}", value)
    else:
        try:
            msgspec.convert(value, kind, dec_hook=_unresolved)
        except msgspec.ValidationError as error:
            problems.invalid(key, str(error))


def _unresolved(kind: type, value: Any) -> Secret:
    if isinstance(value, str):
        return Secret(value)
    raise ValueError("Expected `str`, such as 'env:NAME'")


def secret(reference: str, key: Key, folder: Path, problems: Problems) -> Secret:
    try:
        return resolve(reference, ".".join(key), folder=folder)
    except ConfigError as error:
        problems.say(key, error.message)
        return Secret("")
