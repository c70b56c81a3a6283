"""HTTP in and out, below every family.

Server side: endpoint (doors, routes, requests), reply (writes to ASGI), sse, static, auth (keys, JWT),
security (Host, Origin, body limits, proxies, header forwarding), agui/ (AG-UI as bytes and values).
Client side: client (HTTP/1.1 to a configured server, streaming), retry, fetch/ (URLs that a stranger names).

The client follows no redirects, keeps no cookies, uses no proxies and decompresses nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rightseat.http.client import Client, ConnectTimeout, request_head
    from rightseat.http.response import Cut, NotHttp, Response

_HOMES = {
    "Client": "client",
    "ConnectTimeout": "client",
    "Cut": "response",
    "NotHttp": "response",
    "Response": "response",
    "request_head": "client",
}

__all__ = [
    "Client",
    "ConnectTimeout",
    "Cut",
    "NotHttp",
    "Response",
    "request_head",
]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Import a public name on first use, so that one module of this folder does not load the others."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
