"""Stream a Prompt through Anthropic's Messages API, using the official SDK."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
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
from rightseat.http.address import check_headers, parse_base_url
from rightseat.http.client import HttpClient
from rightseat.http.response import Response
from rightseat.http.retry import call_with_retry
from rightseat.models.anthropic import faults
from rightseat.models.anthropic.answer import MessageStreamParser
from rightseat.models.anthropic.exchange import AnthropicExchange
from rightseat.models.anthropic.request import AnthropicRequest, AnthropicRequestOptions, build_request
from rightseat.models.anthropic.thoughts import ThinkingCache
from rightseat.types.capabilities import Capabilities, lookup_capabilities
from rightseat.types.chunks import ModelChunk
from rightseat.types.model import Prompt

if TYPE_CHECKING:
    import anthropic

ANTHROPIC_URL = "https://api.anthropic.com"

# Transient errors; a rejected request or a wrong key is not retried.
_RETRYABLE = {UpstreamError, UpstreamRefused, UpstreamBusy, UpstreamOverloaded}

log = logging.getLogger(__name__)


class AnthropicModel:
    """A model of Anthropic or of any Messages API server. `name` is the model's name there."""

    versioned = False
    """Whether `address` ends with the API version; the SDK adds `/v1` itself."""

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
        """The URL that `rightseat doctor` probes."""
        self.capabilities = capabilities or lookup_capabilities("anthropic", name)
        self.images = self.capabilities.images
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
            raise CallerError(
                "A message contains half a character (a lone surrogate): send valid text."
            ) from error
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
