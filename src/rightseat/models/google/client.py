"""Stream a Prompt through Google's SDK."""

from __future__ import annotations

import asyncio
import functools
import logging
import ssl
import warnings
from collections.abc import AsyncIterator, Mapping

import aiohttp
import msgspec

from rightseat.errors import CallerError, ConfigError
from rightseat.http.client import check_headers, parse_base_url
from rightseat.http.retry import call_with_retry
from rightseat.models._vendor.errors import LONE_SURROGATE, is_retryable, log_upstream
from rightseat.models._vendor.exchange import Timeouts
from rightseat.models.google import request
from rightseat.models.google.exchange import GoogleExchange, make_trace_config
from rightseat.models.google.request import GoogleRequestOptions
from rightseat.models.google.sdk import genai, types
from rightseat.models.google.stream_parser import GeminiStreamParser
from rightseat.types.chunks import ModelChunk
from rightseat.types.model import Capabilities, Model, Prompt

# The SDK requires a key even if a gateway needs none.
_PLACEHOLDER_KEY = "none"
_MAX_LINE_BYTES = 4 << 20

log = logging.getLogger(__name__)


class GoogleModel(Model):
    """A Gemini model. `name` is its name at Google."""

    # The SDK adds the version itself.
    versioned = False

    def __init__(
        self,
        name: str,
        *,
        base_url: str,
        api_key: str | None,
        headers: Mapping[str, str],
        timeouts: Timeouts,
        capabilities: Capabilities,
        request_options: GoogleRequestOptions,
        tries: int = 3,
    ) -> None:
        base = parse_base_url(base_url, "base_url")
        if base.query:
            raise ConfigError("base_url of a google: model takes no query: give what it says as headers.")
        check_headers({"x-goog-api-key": api_key or "", **headers})
        self.name = name
        self.address = str(base)
        self.capabilities = capabilities
        self._key = api_key or _PLACEHOLDER_KEY
        self._secrets = [secret for secret in (api_key, *headers.values()) if secret]
        # No compression: it delays streams and allows decompression bombs.
        self._headers = {"Accept-Encoding": "identity", **headers}
        self._timeouts = timeouts
        self._request_options = request_options
        self._tries = tries
        self._session: aiohttp.ClientSession | None = None
        self._client: genai.Client | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def start(self) -> None:
        """Create the SDK client, which is slow, before the first request."""
        self._get_client()

    async def close(self) -> None:
        client, self._client = self._client, None
        session, self._session = self._session, None
        if client is not None:
            client.close()
            await client.aio.aclose()
        if session is not None:
            await session.close()

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        parser = GeminiStreamParser()
        exchange, chunk = await self._start_exchange(prompt)
        try:
            while chunk is not None:
                for model_chunk in parser.feed(chunk):
                    exchange.mark_started()
                    yield model_chunk
                exchange.finished = parser.finished
                chunk = await exchange.read_chunk()
            for model_chunk in parser.finish():
                yield model_chunk
        finally:
            await exchange.close()

    async def _start_exchange(self, prompt: Prompt) -> tuple[GoogleExchange, types.GenerateContentResponse | None]:
        """Send the request; return the exchange and its first chunk. Retries transient errors."""
        contents = request.build_contents(prompt, self._request_options)
        config = request.build_config(prompt, self._request_options)
        try:
            msgspec.json.encode([contents, config])
        except UnicodeEncodeError as error:
            raise CallerError(LONE_SURROGATE) from error
        parsed = types.GenerateContentConfig.model_validate(config)

        async def attempt() -> tuple[GoogleExchange, types.GenerateContentResponse | None]:
            models = self._get_client().aio.models
            stream = await models.generate_content_stream(model=self.name, contents=contents, config=parsed)
            exchange = GoogleExchange(stream, self._timeouts, self._log_upstream)
            try:
                return exchange, await exchange.read_chunk()
            except BaseException:
                await exchange.close()
                raise

        return await call_with_retry(attempt, is_retryable=is_retryable, tries=self._tries)

    def _get_client(self) -> genai.Client:
        loop = asyncio.get_running_loop()
        # Connections belong to the event loop that created them.
        if self._client is None or self._loop is not loop:
            _silence_sdk()
            self._loop = loop
            tls_context = _make_tls_context()
            # Our own session: redirects must not leak the key, and each response must be closable.
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0),
                trace_configs=[make_trace_config()],
                auto_decompress=False,
                cookie_jar=aiohttp.DummyCookieJar(),
                read_bufsize=_MAX_LINE_BYTES,
            )
            options = types.HttpOptions(
                base_url=self.address,
                headers=dict(self._headers),
                aiohttp_client=self._session,
                client_args={"verify": tls_context},
                async_client_args={"verify": tls_context, "ssl": tls_context, "allow_redirects": False},
                retry_options=types.HttpRetryOptions(attempts=1),
            )
            self._client = genai.Client(vertexai=False, api_key=self._key, http_options=options)
        return self._client

    def _log_upstream(self, context: str, body: bytes) -> None:
        log_upstream(log, self.name, context, body, self._secrets)


@functools.cache
def _make_tls_context() -> ssl.SSLContext:
    """Return one shared TLS context; the SDK would create four, its slowest step."""
    return ssl.create_default_context()


def _silence_sdk() -> None:
    """Silence the SDK's logs and warnings, which contain user messages."""
    logging.getLogger("google_genai").setLevel(logging.CRITICAL)
    warnings.filterwarnings("ignore", module=r"google\.genai(\.|$)")
