"""An HTTP/1.1 client for answers that arrive token by token.

client.py keeps connections and asks; response.py is one answer as it comes in. Redirects are not followed,
cookies not kept, proxies not used, bodies not decompressed: what a server says is what is read.
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
        """Each is imported when first used: who needs one module of this folder does not load the others."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
