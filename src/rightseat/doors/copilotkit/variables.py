"""Decode a request's variables into our Structs, with errors that name the field."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
from graphql import GraphQLError, coerce_input_value
from msgspec import Raw

from rightseat.doors.copilotkit.plan import Plan
from rightseat.doors.copilotkit.schema import input_type
from rightseat.doors.copilotkit.wire import Data
from rightseat.errors import CallerError
from rightseat.http.endpoint import decode

T = TypeVar("T")
LARGE = 256 * 1024


def planned_input(plan: Plan, variables: Raw) -> tuple[Data, dict[str, Any] | None]:
    """Decode `data` and `properties` of a planned document directly from the body."""
    given = by_name(variables)
    raw = given.get(plan.data)
    if raw is None:
        raise CallerError(f'Variable "${plan.data}" of required type was not provided.', param=plan.data)
    # Any object is valid.
    properties = loose(given[plan.properties], "properties") if plan.properties in given else None
    try:
        return decode(bytes(raw), Data), properties
    except CallerError:
        if (data := coerced(raw)) is None:
            raise
        return converted(data), properties


def coerced(raw: Raw) -> dict[str, Any] | None:
    """Coerce the input by GraphQL's rules, which accept a single value for a list; None if it is invalid or
    too large to be decoded twice."""
    if len(bytes(raw)) > LARGE:
        return None
    try:
        found = coerce_input_value(decode(bytes(raw), dict[str, Any]), input_type())
    except (CallerError, GraphQLError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def by_name(variables: Raw) -> dict[str, Raw]:
    return {} if absent(variables) else named(variables, "variables", dict[str, Raw])


def loose(variables: Raw, place: str = "variables") -> dict[str, Any] | None:
    return None if absent(variables) else named(variables, place, dict[str, Any])


def named(raw: Raw, place: str, kind: type[T]) -> T:
    """Decode a variable; the error names `place`, because variables may also come in a URL."""
    try:
        return decode(bytes(raw), kind)
    except CallerError as error:
        problem = error.message.removeprefix("The body is ")
        raise CallerError(f"{place}: {problem}", param=place) from None


def absent(raw: Raw) -> bool:
    return bytes(raw) in (b"", b"null")


def converted(data: dict[str, Any]) -> Data:
    """Convert input that graphql-core has coerced; only our own limits can fail."""
    try:
        return msgspec.convert(data, Data)
    except msgspec.ValidationError as error:
        problem, _, place = str(error).partition(" - at ")
        param = place.strip("`").removeprefix("$").lstrip(".") or None
        raise CallerError(f"{param}: {problem}" if param else problem, param=param) from None
