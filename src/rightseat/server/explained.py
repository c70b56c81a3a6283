"""Error pages: what an error code means, in docs/errors and at /docs/errors/CODE of every server."""

from __future__ import annotations

import re

from rightseat import errors
from rightseat.errors import NotFound, RightseatError
from rightseat.http.endpoint import Request, Route, make_reply
from rightseat.http.reply import Reply

TREE_LINE = re.compile(
    r"^[ │├└─]*(\w+) +(\d{3})(?: +(?:ours|caller|upstream)(?= |$))? +(\S.*)$", re.MULTILINE
)
FAULTS = {
    "ours": "this server, or its set-up",
    "caller": "the request",
    "upstream": "a server behind this one: a model's, an agent's",
}


def parse_meanings() -> dict[str, str]:
    """Parse the tree in the docstring of errors.py: "Class status" → meaning."""
    return {f"{name} {status}": meaning for name, status, meaning in TREE_LINE.findall(errors.__doc__ or "")}


def get_meaning(kind: type[RightseatError]) -> str:
    text = parse_meanings().get(f"{kind.__name__} {kind.status}", "")
    return f"{text[:1].upper()}{text[1:]}"


def format_error_page(kind: type[RightseatError]) -> str:
    bases = [one for one in kind.__mro__[1:] if issubclass(one, RightseatError)]
    family = " < ".join(f"`{one.__name__}`" for one in (kind, *bases))
    return "\n".join(
        (
            f"# `{kind.code}`\n",
            f"{get_meaning(kind)}.\n",
            f"**What to do:** {kind.hint}\n",
            "| | |",
            "|---|---|",
            f"| HTTP status | {kind.status} |",
            f"| Who erred | {FAULTS[kind.fault]} (`{kind.fault}`) |",
            f"| Shown as | {kind.visibility}, {kind.severity} |",
            f"| Class | {family} |",
            "",
        )
    )


def serve_error_page(request: Request, host: object) -> Reply:
    kind = errors.errors_by_code().get(request.params["code"])
    if kind is None:
        raise NotFound("There is no error of that code.")
    return make_reply(200, format_error_page(kind).encode(), content_type=b"text/plain; charset=utf-8")


# Public: the error for a missing key links to its page too.
ERROR_PAGE_ROUTE = Route(
    "GET", "/docs/errors/{code}", serve_error_page, public=True, summary="What an error means"
)
