"""Decode a request's variables into our Structs, with errors that name the field."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
from graphql import GraphQLError, coerce_input_value
from msgspec import Raw

from rightseat.doors.copilotkit.plan import ResponsePlan
from rightseat.doors.copilotkit.schema import get_input_type
from rightseat.doors.copilotkit.wire import GenerateCopilotResponseInput
from rightseat.errors import CallerError
from rightseat.http.endpoint import decode_body

T = TypeVar("T")
MAX_COERCED_BYTES = 256 * 1024


def decode_planned_input(
    plan: ResponsePlan, variables: Raw
) -> tuple[GenerateCopilotResponseInput, dict[str, Any] | None]:
    """Decode `data` and `properties` of a planned document directly from the body."""
    raw_variables = split_variables(variables)
    raw = raw_variables.get(plan.data)
    if raw is None:
        raise CallerError(f'Variable "${plan.data}" of required type was not provided.', param=plan.data)
    # Any object is valid.
    properties = (
        decode_variables(raw_variables[plan.properties], "properties")
        if plan.properties in raw_variables
        else None
    )
    try:
        return decode_body(bytes(raw), GenerateCopilotResponseInput), properties
    except CallerError:
        if (data := coerce_input(raw)) is None:
            raise
        return convert_input(data), properties


def coerce_input(raw: Raw) -> dict[str, Any] | None:
    """Coerce the input by GraphQL's rules, which accept a single value for a list; None if it is invalid or
    too large to be decoded twice."""
    if len(bytes(raw)) > MAX_COERCED_BYTES:
        return None
    try:
        value = coerce_input_value(decode_body(bytes(raw), dict[str, Any]), get_input_type())
    except (CallerError, GraphQLError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def split_variables(variables: Raw) -> dict[str, Raw]:
    return {} if is_absent(variables) else decode_named(variables, "variables", dict[str, Raw])


def decode_variables(variables: Raw, place: str = "variables") -> dict[str, Any] | None:
    return None if is_absent(variables) else decode_named(variables, place, dict[str, Any])


def decode_named(raw: Raw, place: str, kind: type[T]) -> T:
    """Decode a variable; the error names `place`, because variables may also come in a URL."""
    try:
        return decode_body(bytes(raw), kind)
    except CallerError as error:
        problem = error.message.removeprefix("The body is ")
        raise CallerError(f"{place}: {problem}", param=place) from None


def is_absent(raw: Raw) -> bool:
    return bytes(raw) in (b"", b"null")


def convert_input(data: dict[str, Any]) -> GenerateCopilotResponseInput:
    """Convert input that graphql-core has coerced; only our own limits can fail."""
    try:
        return msgspec.convert(data, GenerateCopilotResponseInput)
    except msgspec.ValidationError as error:
        problem, _, place = str(error).partition(" - at ")
        param = place.strip("`").removeprefix("$").lstrip(".") or None
        raise CallerError(f"{param}: {problem}" if param else problem, param=param) from None
