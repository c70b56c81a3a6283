"""Convert a server's elicitations to Asks, and answers to ElicitResults."""

from __future__ import annotations

from typing import Any

import mcp_types as types

from rightseat.types.tools import APPROVAL_SCHEMA, Ask, is_approved


def parse_elicitation(params: Any) -> Ask | None:
    """Return the Ask of an elicitation; None if it is of an unknown kind."""
    match params:
        case types.ElicitRequestURLParams(message=message, url=url):
            return Ask(f"{message}\nOpen {url} and agree here when it is done.", "confirm", APPROVAL_SCHEMA)
        case types.ElicitRequestFormParams(message=message, requested_schema=schema):
            # A form without fields is a confirmation.
            if not schema.get("properties"):
                return Ask(message, "confirm", APPROVAL_SCHEMA)
            return Ask(message, "form", schema)
        case _:
            return None


def make_elicit_result(ask: Ask, value: Any) -> types.ElicitResult:
    if ask.kind == "confirm":
        return types.ElicitResult(action="accept" if is_approved(value) else "decline", content={})
    return types.ElicitResult(action="accept", content=value if isinstance(value, dict) else {})
