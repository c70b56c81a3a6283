"""The variables of a request: checked against our own shapes, with an error that names the place."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw

from rightseat.door import decode
from rightseat.doors.copilotkit.plan import Plan
from rightseat.doors.copilotkit.wire import Data
from rightseat.errors import CallerError


def planned_input(plan: Plan, variables: Raw) -> tuple[Data, dict[str, Any] | None]:
    """The input of a planned document and its properties, straight from the body."""
    given = by_name(variables)
    raw = given.get(plan.data)
    if raw is None:
        raise CallerError(f'Variable "${plan.data}" of required type was not provided.', param=plan.data)
    # An object, whatever is in it.
    properties = loose(given[plan.properties]) if plan.properties in given else None
    return decode(bytes(raw), Data), properties


def by_name(variables: Raw) -> dict[str, Raw]:
    return {} if absent(variables) else decode(bytes(variables), dict[str, Raw])


def loose(variables: Raw) -> dict[str, Any] | None:
    return None if absent(variables) else decode(bytes(variables), dict[str, Any])


def absent(raw: Raw) -> bool:
    return bytes(raw) in (b"", b"null")


def converted(data: dict[str, Any]) -> Data:
    """What graphql-core has coerced already: only our own limits can be broken."""
    try:
        return msgspec.convert(data, Data)
    except msgspec.ValidationError as error:
        problem, _, place = str(error).partition(" - at ")
        param = place.strip("`").removeprefix("$").lstrip(".") or None
        raise CallerError(f"{param}: {problem}" if param else problem, param=param) from None
