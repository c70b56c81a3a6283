"""Error pages: what an error code means, in docs/errors and at /docs/errors/CODE of every server."""

from __future__ import annotations

import re

from rightseat import errors
from rightseat.errors import NotFound, RightseatError
from rightseat.http.endpoint import Request, Route, whole
from rightseat.http.reply import Reply

DRAWN = re.compile(r"^[ │├└─]*(\w+) +(\d{3})(?: +(?:ours|caller|upstream)(?= |$))? +(\S.*)$", re.MULTILINE)
FAULTS = {
    "ours": "this server, or its set-up",
    "caller": "the request",
    "upstream": "a server behind this one: a model's, an agent's",
}


def meanings() -> dict[str, str]:
    """Parse the tree in the docstring of errors.py: "Class status" → meaning."""
    return {f"{name} {status}": said for name, status, said in DRAWN.findall(errors.__doc__ or "")}


def meaning(kind: type[RightseatError]) -> str:
    said = meanings().get(f"{kind.__name__} {kind.status}", "")
    return f"{said[:1].upper()}{said[1:]}"


def page(kind: type[RightseatError]) -> str:
    above = [one for one in kind.__mro__[1:] if issubclass(one, RightseatError)]
    family = " < ".join(f"`{one.__name__}`" for one in (kind, *above))
    return "\n".join(
        (
            f"# `{kind.code}`\n",
            f"{meaning(kind)}.\n",
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


def served(request: Request, host: object) -> Reply:
    kind = errors.by_code().get(request.params["code"])
    if kind is None:
        raise NotFound("There is no error of that code.")
    return whole(200, page(kind).encode(), kind=b"text/plain; charset=utf-8")


# Public: the error for a missing key links to its page too.
ROUTE = Route("GET", "/docs/errors/{code}", served, open=True, summary="What an error means")
