"""What operators ask for: a door of its own, beside the front ends'."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from rightseat.door import Door, Request, Route, retry_header, whole
from rightseat.errors import RightseatError
from rightseat.pump import Reply


def operations(ready: Callable[[], bool], doors: Sequence[Door]) -> Door:
    """What needs no key: `/` says what is here, `/health` that it answers, `/ready` that it takes work."""

    def index(request: Request, host: object) -> Reply:
        base = f"http://{request.headers['host']}"
        lines = "".join(f"  {door.name:<8}{door.hint(base)}\n" for door in doors)
        text = f"rightseat is running. Its doors, and how a client finds them:\n\n{lines}"
        return whole(200, text.encode(), kind=b"text/plain; charset=utf-8")

    def health(request: Request, host: object) -> Reply:
        return whole(200, b'{"status":"ok"}')

    def readiness(request: Request, host: object) -> Reply:
        return whole(200, b'{"ready":true}') if ready() else whole(503, b'{"ready":false}')

    pages = {"/": index, "/health": health, "/ready": readiness}
    routes = tuple(Route("GET", path, page, open=True) for path, page in pages.items())
    return Door("operations", routes, refuse, lambda base: f"curl {base}/health")


def refuse(error: RightseatError) -> Reply:
    body = msgspec.json.encode({"error": {"message": error.message, "code": error.code}})
    return whole(error.status, body, *retry_header(error))
