"""The operators' door: health, readiness, metrics, files of answers, and the pages of errors."""

from __future__ import annotations

import asyncio
import importlib
import re
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import quote

import msgspec

from rightseat.engine.artifacts import load_file
from rightseat.errors import NotFound, RightseatError
from rightseat.http.descriptors import NO_DESCRIPTOR, DescriptorReserve
from rightseat.http.endpoint import Door, Request, Route, format_error_headers, make_full_response, make_reply
from rightseat.http.reply import Reply, ResponseStart
from rightseat.runtime.metrics import CONTENT_TYPE
from rightseat.server.error_pages import ERROR_ROUTES
from rightseat.wiring.runtime import Runtime
from rightseat.wiring.storage import SETUP_HEADER

if TYPE_CHECKING:
    from rightseat.server.workers.link import SupervisorLink


def make_operations_door(
    runtime: Callable[[], Runtime],
    descriptors: DescriptorReserve,
    worker: Callable[[], SupervisorLink | None] = lambda: None,
    *,
    metrics: str,
    get_setup: Callable[[], str] = lambda: "",
) -> Door:
    """Make the operators' door. `/health` and `/ready` need no key; `/metrics` needs one unless `metrics` is
    "open". Among several workers `/metrics` tells of all, the others of the one that is asked."""

    def serve_health(request: Request, host: object) -> Reply:
        # 200 in both cases: a restart would end the answers that still run. /ready tells a proxy to send no more.
        state = {"status": "degraded", "descriptors": NO_DESCRIPTOR} if descriptors.exhausted else {"status": "ok"}
        link = worker()
        engines = runtime().get_engine_states() if "store" in request.query else {}
        if any(engine.state != "ok" for engine in engines.values()):
            state["status"] = "degraded"
        body = {**state, **(link.describe_health() if link else {}), **engines}
        setup = get_setup()
        headers = ((SETUP_HEADER.encode(), setup.encode()),) if setup else ()
        return make_reply(200, msgspec.json.encode(body), *headers)

    def serve_readiness(request: Request, host: object) -> Reply:
        current = runtime()
        ready = current.ready and not descriptors.exhausted
        problems = {"store": current.store_failure, "descriptors": NO_DESCRIPTOR if descriptors.exhausted else None}
        body = {"ready": ready, **{name: text for name, text in problems.items() if text}}
        return make_reply(200 if ready else 503, msgspec.json.encode(body))

    async def serve_metrics(request: Request, host: object) -> Reply:
        # Importing it takes a while: not on the event loop.
        await asyncio.to_thread(importlib.import_module, "prometheus_client")
        runtime().meters.count_tasks()
        runtime().count_outages()
        runtime().compare_configs()
        link = worker()
        meters = await link.sum_metrics() if link else runtime().meters
        yield make_full_response(200, meters.to_prometheus(), content_type=CONTENT_TYPE)

    async def serve_file(request: Request, host: object) -> Reply:
        stored_file = await load_file(runtime().store, request.params["ticket"])
        if stored_file is None:
            yield make_error_response(NotFound("There is no such file, or it is no longer kept. Ask for it again."))
        else:
            headers, media_type = make_download_headers(stored_file.name), safe_content_type(stored_file.media_type)
            yield make_full_response(200, stored_file.data, *headers, content_type=media_type)

    routes = [
        Route("GET", "/health", serve_health, public=True),
        Route("GET", "/ready", serve_readiness, public=True),
        # Public: the link is the credential; a browser that follows it sends no key.
        Route("GET", "/files/{ticket}/{name}", serve_file, public=True, summary="A file of an answer"),
        *ERROR_ROUTES,
    ]
    if metrics != "off":
        routes.append(Route("GET", "/metrics", serve_metrics, public=metrics == "open"))
    return Door("operations", tuple(routes), make_error_reply, lambda base: f"curl {base}/health")


def safe_content_type(media_type: str) -> bytes:
    """Return the media type as a header value; a malformed one becomes application/octet-stream."""
    well_formed = re.fullmatch(r"[\w.+-]+/[\w.+-]+", media_type, re.ASCII)
    return media_type.encode() if well_formed else b"application/octet-stream"


def make_download_headers(name: str) -> tuple[tuple[bytes, bytes], ...]:
    """Return headers by which browsers save a file and never render it on our origin."""
    return (
        (b"content-disposition", f"attachment; filename*=UTF-8''{quote(name, safe='')}".encode()),
        (b"content-security-policy", b"sandbox; default-src 'none'"),
        (b"x-content-type-options", b"nosniff"),
        (b"cache-control", b"private, no-store"),
    )


def make_error_response(error: RightseatError) -> ResponseStart:
    body = msgspec.json.encode({"error": {"message": error.message, "code": error.code}})
    return make_full_response(error.status, body, *format_error_headers(error))


async def make_error_reply(error: RightseatError) -> Reply:
    yield make_error_response(error)
