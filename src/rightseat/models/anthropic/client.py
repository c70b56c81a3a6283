"""Stream a Prompt through Anthropic's Messages API, using the official SDK."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from typing import TYPE_CHECKING, Any

from rightseat.errors import (
    CallerError,
    ConfigError,
    RightseatError,
    UpstreamBusy,
    UpstreamError,
    UpstreamOverloaded,
    UpstreamRefused,
)
from rightseat.http.client import HttpClient, Response, check_headers, parse_base_url
from rightseat.http.retry import call_with_retry
from rightseat.http.sse import SseParser
from rightseat.models.anthropic import faults
from rightseat.models.anthropic.request import AnthropicRequest, AnthropicRequestOptions, build_request
from rightseat.models.anthropic.stream_parser import MessageStreamParser
from rightseat.models.anthropic.thinking_cache import ThinkingCache
from rightseat.models.catalog import lookup_capabilities
from rightseat.types.chunks import ModelChunk, merge_text_chunks
from rightseat.types.model import Capabilities, Model, Prompt

if TYPE_CHECKING:
    import anthropic


# A longer answer is treated as a server that never stops.
_ANSWER_LIMIT = 256 << 20
_EVENT_LIMIT = 1 << 20
_DELTA_PREFIX = b"event: content_block_delta\ndata: "

# How long to wait after message_stop for the end of the body, so that the connection can be reused.
_DRAIN_SECONDS = 0.1


class AnthropicExchange:
    """Reads until `done`. The first block must start before `deadline`; after that, no wait may exceed
    `idle_timeout`. `log_payload` receives payloads that are errors or cannot be parsed."""

    def __init__(
        self,
        response: Response,
        parser: MessageStreamParser,
        *,
        deadline: float,
        first_token_timeout: float,
        idle_timeout: float,
        log_payload: Callable[[bytes], None],
    ) -> None:
        self.done = False
        self._response = response
        self._parser = parser
        self._deadline = deadline
        self._first_token_timeout = first_token_timeout
        self._idle_timeout = idle_timeout
        self._log_payload = log_payload
        self._reader = SseParser(_EVENT_LIMIT)
        self._size = 0
        self._error = _find_header_error(response.headers)
        if self._error is not None:
            self.done = True
        self._loop = asyncio.get_running_loop()
        self._timer = self._loop.call_at(min(deadline, self._loop.time() + idle_timeout), self._check_timeouts)

    async def read(self) -> list[ModelChunk]:
        """Wait for data and return its chunks, perhaps none."""
        response = self._response
        while not response.ready:
            await response.next_arrival()
        return self._parse(response.take_body())

    def _check_timeouts(self) -> None:
        """Check for silence with one timer per answer; only the time the reader waits counts."""
        now = self._loop.time()
        started = self._parser.started
        due = self._response.waiting_since + self._idle_timeout if started else self._deadline
        if now < due:
            # A wait that starts after now is overdue at the earliest in `idle_timeout` seconds.
            self._timer = self._loop.call_at(min(due, now + self._idle_timeout), self._check_timeouts)
            return
        if not self._parser.done:
            self._fail(
                faults.idle_timeout_error(self._idle_timeout)
                if started
                else faults.first_token_timeout_error(self._first_token_timeout)
            )
        self._response.abort()

    def _split_payloads(self, data: bytes) -> list[bytes]:
        # Fast path: the data is exactly one content_block_delta event.
        start, end = len(_DELTA_PREFIX), len(data) - 2
        if (
            not self._reader.pending_bytes
            and data[:start] == _DELTA_PREFIX
            and data[end:] == b"\n\n"
            and data.find(b"\n", start) == end
            and data.find(b"\r") < 0
            and end < _EVENT_LIMIT
        ):
            return [data[start:end]]
        return self._reader.feed(data)

    def _parse(self, data: bytes) -> list[ModelChunk]:
        # Chunks before an error are still returned; finish() raises the error.
        out: list[ModelChunk] = []
        parser, response = self._parser, self._response
        self._size += len(data)
        payload = b""
        try:
            for payload in self._split_payloads(data):
                out += parser.feed(payload)
            if response.ended and not parser.done:
                for payload in self._reader.close():
                    out += parser.feed_tail(payload)
        except RightseatError as error:
            self._fail(error)
            self._log_payload(payload)
        if self._size > _ANSWER_LIMIT:
            self._fail(faults.garbled_error("an answer without end"))
        if response.ended or parser.done:
            self.done = True
        return merge_text_chunks(out) if len(out) > 1 else out

    def _fail(self, error: RightseatError) -> None:
        self._error = self._error or error
        self.done = True

    def raise_error(self) -> None:
        """Raise the recorded error, if any."""
        if (error := self._error) is not None:
            # Drop the reference: error → traceback → self would be a cycle that delays closing.
            self._error = None
            try:
                raise error
            finally:
                del error

    def finish(self) -> list[ModelChunk]:
        self.raise_error()
        return self._parser.finish()

    async def drain(self) -> None:
        """Read the bytes after the last event, so that the connection can be reused."""
        response = self._response
        try:
            async with asyncio.timeout(_DRAIN_SECONDS):
                while not response.ended:
                    await response.next_arrival()
                    response.take_body()
        except TimeoutError:
            # The answer is complete; only the connection is lost.
            return

    def close(self) -> None:
        self._timer.cancel()
        self._response.close()


def _find_header_error(headers: Mapping[str, str]) -> RightseatError | None:
    if headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        return faults.garbled_error("a compressed answer, which was not asked for")
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in ("", "text/event-stream", "text/plain", "application/octet-stream"):
        return faults.garbled_error("not an event stream")
    return None


ANTHROPIC_URL = "https://api.anthropic.com"

# Transient errors; a rejected request or a wrong key is not retried.
_RETRYABLE = {UpstreamError, UpstreamRefused, UpstreamBusy, UpstreamOverloaded}
log = logging.getLogger(__name__)


class AnthropicModel(Model):
    """A model of Anthropic or of any Messages API server. `name` is the model's name there."""

    # The SDK adds `/v1` itself.
    versioned = False

    def __init__(
        self,
        name: str,
        *,
        base_url: str = ANTHROPIC_URL,
        api_key: str | None = None,
        headers: Mapping[str, str] = {},
        connect_timeout: float = 10,
        first_token_timeout: float = 120,
        idle_timeout: float = 60,
        request_options: AnthropicRequestOptions | None = None,
        capabilities: Capabilities | None = None,
        tries: int = 3,
    ) -> None:
        # The SDK adds /v1 itself; accept a base_url that already has it.
        base = parse_base_url(base_url.rstrip("/").removesuffix("/v1"), "base_url")
        self.name = name
        self.address = str(base)
        self.capabilities = capabilities or lookup_capabilities("anthropic", name)
        self._request_options = request_options or AnthropicRequestOptions(schema=self.capabilities.schema)
        self._connect_timeout = connect_timeout
        self._first_token_timeout = first_token_timeout
        self._idle_timeout = idle_timeout
        self._tries = tries
        self._thinking_cache = ThinkingCache()
        self._secrets = [secret for secret in (api_key, *headers.values()) if secret]
        check_headers({**headers, "api_key": api_key or ""})
        self._client = HttpClient(base, connect_timeout=connect_timeout)
        transport = _load_transport()
        self._sdk: anthropic.AsyncAnthropic = transport.sdk(base, api_key, headers, self._client)
        self._response_key: str = transport.SOURCE

    async def close(self) -> None:
        # Keep the SDK's client open, since it could not be reused; it holds no connections of its own.
        self._client.close()

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        prompt = self._thinking_cache.restore(prompt)
        request = build_request(self.name, prompt, self._request_options)
        exchange, chunks = await call_with_retry(
            lambda: self._start_exchange(request),
            is_retryable=lambda error: type(error) in _RETRYABLE,
            tries=self._tries,
        )
        all_chunks: list[ModelChunk] = []
        try:
            while True:
                all_chunks += chunks
                for chunk in chunks:
                    yield chunk
                if exchange.done:
                    break
                chunks = await exchange.read()
            chunks = exchange.finish()
            self._thinking_cache.store(prompt, all_chunks + chunks)
            for chunk in chunks:
                yield chunk
            await exchange.drain()
        finally:
            exchange.close()

    async def _start_exchange(self, request: AnthropicRequest) -> tuple[AnthropicExchange, list[ModelChunk]]:
        """Post the request and read until the first chunks; errors up to there may be retried."""
        deadline = asyncio.get_running_loop().time() + self._first_token_timeout
        exchange = AnthropicExchange(
            await self._post(request.body, deadline),
            MessageStreamParser(self.name, request.tool_names, request.enforced),
            deadline=deadline,
            first_token_timeout=self._first_token_timeout,
            idle_timeout=self._idle_timeout,
            log_payload=lambda payload: self._log_upstream("in the stream", payload),
        )
        chunks: list[ModelChunk] = []
        started = False
        try:
            while not (chunks or exchange.done):
                chunks = await exchange.read()
            if not chunks:
                exchange.raise_error()
            started = True
        finally:
            if not started:
                exchange.close()
        return exchange, chunks

    async def _post(self, body: dict[str, Any], deadline: float) -> Response:
        import anthropic

        try:
            async with asyncio.timeout_at(deadline):
                raw_response = await self._sdk.messages.with_raw_response.create(**body)
        except TimeoutError as error:
            raise faults.first_token_timeout_error(self._first_token_timeout) from error
        except anthropic.APIStatusError as error:
            raise self._make_status_error(error) from error
        except anthropic.APIConnectionError as error:
            raise faults.from_connection_error(error.__cause__, self._connect_timeout) from error
        except UnicodeEncodeError as error:
            raise CallerError("A message contains half a character (a lone surrogate): send valid text.") from error
        response: Response = raw_response.http_response.extensions[self._response_key]
        return response

    def _make_status_error(self, error: anthropic.APIStatusError) -> RightseatError:
        response = error.response
        self._log_upstream(f"HTTP {response.status_code}", response.content)
        return faults.from_status(response.status_code, response.headers, error.body)

    def _log_upstream(self, context: str, body: bytes) -> None:
        """Log an upstream body at debug level; upstream text appears nowhere else."""
        if log.isEnabledFor(logging.DEBUG):
            # Mask before truncating: a truncated key would not match.
            text = body.decode(errors="replace")
            for secret in self._secrets:
                text = text.replace(secret, "***")
            log.debug("model %r, %s: %r", self.name, context, text[:300])


def _load_transport() -> Any:
    """Import the transport module, which needs the SDK, on first use."""
    try:
        from rightseat.models.anthropic import transport
    except ModuleNotFoundError as error:
        raise ConfigError(
            "Models of Anthropic need its SDK, which is not installed: pip install 'rightseat[anthropic]'"
        ) from error
    return transport
