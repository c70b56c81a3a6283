"""Run the official SDK on our HTTP client: the SDK shapes the request, we send it and read the response.

With the SDK's own client a token costs three times as much, and the garbage collector closes abandoned
streams.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from typing import Any, cast

import anthropic
import httpx2
from yarl import URL

from rightseat.http.client import HttpClient, Response, format_request_head
from rightseat.http.upstream import read_error_body

SOURCE = "rightseat.response"
"""Key in the httpx response's extensions that holds our Response."""

# Headers that our client sets. No compression: it delays streams and allows decompression bombs.
_CLIENT_HEADERS = frozenset({"host", "content-length", "transfer-encoding", "accept-encoding", "connection"})
_DROPPED_HEADERS = frozenset({"content-encoding", "content-length", "transfer-encoding", "set-cookie"})


def sdk(base: URL, api_key: str | None, headers: Mapping[str, str], client: HttpClient) -> anthropic.AsyncAnthropic:
    # At DEBUG these loggers write whole requests, including user messages.
    for name in ("anthropic", "httpx2", "httpcore2"):
        logging.getLogger(name).setLevel(logging.WARNING)
    no_authorization = {} if api_key else {"Authorization": anthropic.Omit()}
    return anthropic.AsyncAnthropic(
        # Without a value the SDK searches the environment and the disk.
        api_key=api_key or "none",
        base_url=str(base),
        max_retries=0,
        default_headers=cast(Mapping[str, str], {**no_authorization, **headers}),
        open_telemetry=False,
        http_client=httpx2.AsyncClient(transport=AnthropicTransport(client), follow_redirects=False, trust_env=False),
    )


class AnthropicTransport(httpx2.AsyncBaseTransport):
    def __init__(self, client: HttpClient) -> None:
        self._client = client

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        headers = {name: value for name, value in request.headers.items() if name not in _CLIENT_HEADERS}
        headers["accept-encoding"] = "identity"
        head = format_request_head(request.method, URL(str(request.url), encoded=True), headers)
        response = await self._client.send(head, await request.aread(), math.inf)
        accepted = False
        try:
            await response.wait_for_head()
            accepted = 200 <= response.status < 300
            if not accepted:
                body = await read_error_body(response)
                return httpx2.Response(response.status, headers=_filter_headers(response.headers), content=body)
        finally:
            if not accepted:
                response.close()
        return httpx2.Response(
            response.status,
            headers=_filter_headers(response.headers),
            stream=_UnreadBody(response),
            extensions={SOURCE: response},
        )

    async def aclose(self) -> None:
        self._client.close()


class _UnreadBody(httpx2.AsyncByteStream):
    """The body of a 2xx response, which is read from our Response; this object only closes it."""

    def __init__(self, response: Response) -> None:
        self._response = response

    def __aiter__(self) -> Any:
        raise RuntimeError("the body is read from the Response")

    async def aclose(self) -> None:
        self._response.close()


def _filter_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers without cookies and without those that describe the body's encoding."""
    return {name: value for name, value in headers.items() if name not in _DROPPED_HEADERS}
