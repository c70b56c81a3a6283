"""A model behind an HTTP API: requests, retries, the stream of one answer."""

from __future__ import annotations

import asyncio
import copy
import logging
from abc import abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from typing import Any, ClassVar, TypeVar

import msgspec
from msgspec import Struct
from yarl import URL

from rightseat.config.secret import find_variable
from rightseat.errors import CallerError, RightseatError
from rightseat.http.client import HttpClient, Response, check_headers, format_request_head
from rightseat.http.idle import IdleTimer
from rightseat.http.retry import call_with_retry
from rightseat.http.upstream import ERROR_BODY, read_error_body, read_head, send_request
from rightseat.models._vendor.errors import RETRYABLE, VendorErrors
from rightseat.models._vendor.exchange import StreamExchange, Timeouts
from rightseat.models._vendor.parser import StreamParser
from rightseat.types.chunks import ModelChunk
from rightseat.types.messages import measure_messages
from rightseat.types.model import Model, Prompt
from rightseat.types.workers import run_sized

T = TypeVar("T")
LONE_SURROGATE = "A message contains half a character (a lone surrogate): send valid text."
_HEADERS = {
    "Content-Type": "application/json",
    "Accept": "text/event-stream",
    # No compression: it delays streams and allows decompression bombs.
    "Accept-Encoding": "identity",
    "User-Agent": "rightseat",
}


class VendorRequest(Struct):
    """A body to post, and the parser of each answer to it: a retry needs a new one."""

    body: dict[str, Any]
    make_parser: Callable[[], StreamParser]
    headers: Mapping[str, str] = {}


class VendorModel(Model):
    """A model whose answers stream from POST `url`. `headers` are the operator's and replace `own_headers`, the
    vendor's. `secrets` are masked in the debug log."""

    errors: VendorErrors
    exchange_type: ClassVar[type[StreamExchange[Any]]] = StreamExchange

    def __init__(
        self,
        name: str,
        url: URL,
        *,
        own_headers: Mapping[str, str],
        headers: Mapping[str, str],
        secrets: Iterable[str | None],
        timeouts: Timeouts,
        tries: int,
    ) -> None:
        self.name = name
        self._url = url
        self._headers = merge_headers(merge_headers(_HEADERS, own_headers), headers)
        check_headers(self._headers)
        self._secrets = [secret for secret in secrets if secret]
        if variable := next(filter(None, map(find_variable, self._secrets)), None):
            # An error names the variable that the operator has chosen.
            self.errors = copy.copy(self.errors)
            self.errors.key = f"{variable}, which the configuration names"
        self._timeouts = timeouts
        self._tries = tries
        self._client = HttpClient(url, connect_timeout=timeouts.connect)
        self._log = logging.getLogger(type(self).__module__)

    async def close(self) -> None:
        self._client.close()

    @abstractmethod
    def _build_request(self, prompt: Prompt) -> VendorRequest: ...

    async def _fetch_headers(self) -> Mapping[str, str]:
        """Return the headers that are made anew for each prompt."""
        return {}

    def _encode_request(self, prompt: Prompt) -> tuple[VendorRequest, bytes]:
        request = self._build_request(prompt)
        try:
            return request, msgspec.json.encode(request.body)
        except UnicodeEncodeError as error:
            raise CallerError(LONE_SURROGATE) from error

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        request, body = await run_sized(measure_messages(prompt.messages), self._encode_request, prompt)
        head = await self._make_head(self._url, request.headers)
        try:
            exchange, chunks = await self._retry(lambda: self._start_exchange(head, body, request.make_parser()))
        except asyncio.CancelledError:
            await let_connections_close()
            raise
        try:
            response = exchange.response
            for chunk in chunks:
                yield chunk
            while not exchange.done:
                if response.ready:
                    for chunk in exchange.read():
                        yield chunk
                else:
                    await response.next_arrival()
            for chunk in exchange.finish():
                yield chunk
            await exchange.drain()
        finally:
            exchange.close()
            if not exchange.response.complete:
                await let_connections_close()

    async def _retry(self, attempt: Callable[[], Awaitable[T]]) -> T:
        return await call_with_retry(attempt, is_retryable=lambda error: type(error) in RETRYABLE, tries=self._tries)

    async def _make_head(self, url: URL, headers: Mapping[str, str]) -> bytes:
        fetched = await self._fetch_headers()
        return format_request_head("POST", url, merge_headers(self._headers, {**headers, **fetched}))

    async def _start_exchange(
        self, head: bytes, body: bytes, parser: StreamParser
    ) -> tuple[StreamExchange[Any], list[ModelChunk]]:
        """Post the request and read until the first chunks; errors up to there may be retried."""
        response, timer = await self._post(head, body)
        exchange = self.exchange_type(
            response, parser, timer, self._timeouts, lambda payload: self._log_upstream("in the stream", payload)
        )
        chunks: list[ModelChunk] = []
        started = False
        try:
            while not (chunks or exchange.done):
                if response.ready:
                    chunks = exchange.read()
                else:
                    await response.next_arrival()
            if not chunks:
                exchange.raise_error()
            started = True
        finally:
            if not started:
                exchange.close()
        return exchange, chunks

    async def _post(self, head: bytes, body: bytes) -> tuple[Response, IdleTimer]:
        """POST and wait for the response headers; return the response and its timer."""
        seconds = self._timeouts.first_token
        deadline = asyncio.get_running_loop().time() + seconds
        response = await send_request(self._client, head, body, self.errors, deadline=deadline, seconds=seconds)
        timer = IdleTimer(self._timeouts.idle, response, response.abort, deadline=deadline)
        await read_head(response, timer, self.errors, seconds, self._make_status_error)
        return response, timer

    async def _make_status_error(self, response: Response) -> RightseatError:
        body = await read_error_body(response)
        self._log_upstream(f"HTTP {response.status}", body)
        return self.errors.from_response(response.status, response.headers, body)

    def _log_upstream(self, context: str, body: bytes) -> None:
        """Log an upstream body at debug level; upstream text appears nowhere else."""
        if self._log.isEnabledFor(logging.DEBUG):
            # Mask before truncating: a truncated key would not match.
            text = body[:ERROR_BODY].decode(errors="replace")
            for secret in self._secrets:
                text = text.replace(secret, "***")
            self._log.debug("model %r, %s: %r", self.name, context, text[:300])


async def let_connections_close() -> None:
    """Let the loop close the connections that were aborted in this turn, for speed alone: of clients that leave
    together, each one's upstream is closed before the first one's run is taken down. uvloop closes in the second turn.
    """
    await asyncio.sleep(0)
    await asyncio.sleep(0)


def merge_headers(headers: Mapping[str, str], overrides: Mapping[str, str]) -> dict[str, str]:
    """Return the headers with `overrides` over them, whatever the case of their names."""
    overridden = {name.lower() for name in overrides}
    return {name: value for name, value in headers.items() if name.lower() not in overridden} | dict(overrides)
