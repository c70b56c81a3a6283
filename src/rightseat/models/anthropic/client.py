"""Stream a Prompt through Anthropic's Messages API, using the official SDK.

One HTTP exchange: reads the response into a MessageStreamParser and enforces timeouts.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any

from rightseat.errors import CallerError, ConfigError, RightseatError
from rightseat.http.client import HttpClient, Response, check_headers, parse_base_url
from rightseat.http.idle import IdleTimer
from rightseat.http.retry import call_with_retry
from rightseat.http.sse import SseParser
from rightseat.models._vendor.errors import LONE_SURROGATE, is_retryable, log_upstream
from rightseat.models._vendor.exchange import PayloadSource, StreamExchange, Timeouts
from rightseat.models.anthropic import faults
from rightseat.models.anthropic.faults import ERRORS
from rightseat.models.anthropic.request import AnthropicRequest, AnthropicRequestOptions, build_request
from rightseat.models.anthropic.stream_parser import MessageStreamParser
from rightseat.models.anthropic.thinking_cache import ThinkingCache
from rightseat.models.catalog import lookup_capabilities
from rightseat.types.chunks import ModelChunk, merge_text_chunks
from rightseat.types.model import Capabilities, Model, Prompt

if TYPE_CHECKING:
    import anthropic


_EVENT_LIMIT = 1 << 20
_DELTA_PREFIX = b"event: content_block_delta\ndata: "


class AnthropicEventParser(SseParser):
    """An SseParser with a fast path for data that is exactly one content_block_delta event."""

    def feed(self, chunk: bytes) -> list[bytes]:
        start, end = len(_DELTA_PREFIX), len(chunk) - 2
        if (
            not self.pending_bytes
            and chunk[:start] == _DELTA_PREFIX
            and chunk[end:] == b"\n\n"
            and chunk.find(b"\n", start) == end
            and chunk.find(b"\r") < 0
            and end < _EVENT_LIMIT
        ):
            return [chunk[start:end]]
        return super().feed(chunk)


class AnthropicExchange(StreamExchange[MessageStreamParser]):
    """The first block must start before the deadline, even if it yields no chunk."""

    errors = ERRORS

    def _make_payloads(self, content_type: str) -> PayloadSource:
        if content_type != "text/event-stream":
            raise ERRORS.invalid_response("not an event stream")
        return AnthropicEventParser(_EVENT_LIMIT)

    async def read(self) -> list[ModelChunk]:
        """Wait for data and return its chunks, perhaps none."""
        response = self.response
        while not response.ready:
            await response.next_arrival()
        data = response.take_body()
        self._size += len(data)
        out = self._parse(data)
        self._timer.begun = self._parser.started
        return merge_text_chunks(out) if len(out) > 1 else out


ANTHROPIC_URL = "https://api.anthropic.com"
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
        self._timeouts = Timeouts(connect_timeout, first_token_timeout, idle_timeout)
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
            lambda: self._start_exchange(request), is_retryable=is_retryable, tries=self._tries
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
        deadline = asyncio.get_running_loop().time() + self._timeouts.first_token
        response = await self._post(request.body, deadline)
        exchange = AnthropicExchange(
            response,
            MessageStreamParser(self.name, request.tool_names, request.enforced),
            IdleTimer(self._timeouts.idle, response, response.abort, deadline=deadline),
            self._timeouts,
            lambda payload: self._log_upstream("in the stream", payload),
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
            raise ERRORS.first_token_timeout(self._timeouts.first_token) from error
        except anthropic.APIStatusError as error:
            raise self._make_status_error(error) from error
        except anthropic.APIConnectionError as error:
            seconds = self._timeouts
            raise ERRORS.from_exception(error.__cause__, seconds.first_token, seconds.connect) from error
        except UnicodeEncodeError as error:
            raise CallerError(LONE_SURROGATE) from error
        response: Response = raw_response.http_response.extensions[self._response_key]
        return response

    def _make_status_error(self, error: anthropic.APIStatusError) -> RightseatError:
        response = error.response
        self._log_upstream(f"HTTP {response.status_code}", response.content)
        return faults.from_status(response.status_code, response.headers, error.body)

    def _log_upstream(self, context: str, body: bytes) -> None:
        log_upstream(log, self.name, context, body, self._secrets)


def _load_transport() -> Any:
    """Import the transport module, which needs the SDK, on first use."""
    try:
        from rightseat.models.anthropic import transport
    except ModuleNotFoundError as error:
        raise ConfigError(
            "Models of Anthropic need its SDK, which is not installed: pip install 'rightseat[anthropic]'"
        ) from error
    return transport
