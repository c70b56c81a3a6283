"""What operators ask for: a door of its own, beside the front ends'."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from rightseat.door import Door, Request, Route, retry_header, whole
from rightseat.errors import RightseatError
from rightseat.metrics import CONTENT_TYPE, Meters
from rightseat.pump import Reply


class Running(Protocol):
    """The part of a Runtime that operators ask about."""

    @property
    def ready(self) -> bool: ...
    @property
    def meters(self) -> Meters: ...


def operations(runtime: Callable[[], Running], doors: Sequence[Door], *, metrics: str = "key") -> Door:
    """`/` says what is here, `/health` that it answers, `/ready` that it takes work: these need no key.
    `/metrics` has the numbers, which tell how a business goes: they need one unless set to "open"."""

    def index(request: Request, host: object) -> Reply:
        lines = "".join(f"  {door.name:<8}{door.hint(request.base)}\n" for door in doors)
        text = f"rightseat is running. Its doors, and how a client finds them:\n\n{lines}"
        return whole(200, text.encode(), kind=b"text/plain; charset=utf-8")

    def health(request: Request, host: object) -> Reply:
        return whole(200, b'{"status":"ok"}')

    def readiness(request: Request, host: object) -> Reply:
        return whole(200, b'{"ready":true}') if runtime().ready else whole(503, b'{"ready":false}')

    async def numbers(request: Request, host: object) -> Reply:
        # The first time this loads a library, for which no answer should stand still.
        await asyncio.to_thread(importlib.import_module, "prometheus_client")
        async for part in whole(200, runtime().meters.text(), kind=CONTENT_TYPE):
            yield part

    pages = {"/": index, "/health": health, "/ready": readiness}
    routes = [Route("GET", path, page, open=True) for path, page in pages.items()]
    if metrics != "off":
        routes.append(Route("GET", "/metrics", numbers, open=metrics == "open"))
    return Door("operations", tuple(routes), refuse, lambda base: f"curl {base}/health")


def refuse(error: RightseatError) -> Reply:
    body = msgspec.json.encode({"error": {"message": error.message, "code": error.code}})
    return whole(error.status, body, *retry_header(error))
