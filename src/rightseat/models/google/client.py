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

from rightseat.errors import (
    CallerError,
    ConfigError,
    RightseatError,
    UpstreamBusy,
    UpstreamError,
    UpstreamOverloaded,
    UpstreamRefused,
)
from rightseat.http.address import address, check_headers
from rightseat.http.retry import retrying
from rightseat.models.google import request
from rightseat.models.google.answer import Answer
from rightseat.models.google.exchange import Exchange, Times, tracing
from rightseat.models.google.request import Manner
from rightseat.models.google.sdk import genai, types
from rightseat.types.capabilities import Abilities
from rightseat.types.chunks import Fragment
from rightseat.types.model import Prompt

# Transient errors; a rejected request or a wrong key is not retried.
_AGAIN = {UpstreamError, UpstreamRefused, UpstreamBusy, UpstreamOverloaded}
# The SDK requires a key even if a gateway needs none.
_NO_KEY = "none"
_LONGEST_LINE = 4 << 20

log = logging.getLogger(__name__)


class Google:
    """A Gemini model. `name` is its name at Google."""

    enforces_schema = False
    versioned = False
    """Whether `address` ends with the API version; the SDK adds it itself."""

    def __init__(
        self,
        name: str,
        *,
        base_url: str,
        api_key: str | None,
        headers: Mapping[str, str],
        times: Times,
        abilities: Abilities,
        manner: Manner,
        tries: int = 3,
    ) -> None:
        base = address(base_url, "base_url")
        if base.query:
            raise ConfigError("base_url of a google: model takes no query: give what it says as headers.")
        check_headers({"x-goog-api-key": api_key or "", **headers})
        self.name = name
        self.address = str(base)
        """The URL that `rightseat doctor` probes."""
        self.abilities = abilities
        self.images = abilities.images
        self._key = api_key or _NO_KEY
        self._secrets = [secret for secret in (api_key, *headers.values()) if secret]
        # No compression: it delays streams and allows decompression bombs.
        self._headers = {"Accept-Encoding": "identity", **headers}
        self._times = times
        self._manner = manner
        self._tries = tries
        self._session: aiohttp.ClientSession | None = None
        self._client: genai.Client | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def start(self) -> None:
        """Create the SDK client, which is slow, before the first request."""
        self._made()

    async def close(self) -> None:
        client, self._client = self._client, None
        session, self._session = self._session, None
        if client is not None:
            client.close()
            await client.aio.aclose()
        if session is not None:
            await session.close()

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[Fragment]:
        answer = Answer()
        exchange, chunk = await self._ask(prompt)
        try:
            while chunk is not None:
                for fragment in answer.feed(chunk):
                    exchange.begun = True
                    yield fragment
                exchange.finished = answer.finished
                chunk = await exchange.next()
            for fragment in answer.end():
                yield fragment
        finally:
            await exchange.close()

    async def _ask(self, prompt: Prompt) -> tuple[Exchange, types.GenerateContentResponse | None]:
        """Send the request; return the exchange and its first chunk. Retries transient errors."""
        contents = request.contents(prompt, self._manner)
        config = request.config(prompt, self._manner)
        try:
            msgspec.json.encode([contents, config])
        except UnicodeEncodeError as error:
            raise CallerError(
                "A message contains half a character (a lone surrogate): send valid text."
            ) from error
        parsed = types.GenerateContentConfig.model_validate(config)

        async def attempt() -> tuple[Exchange, types.GenerateContentResponse | None]:
            models = self._made().aio.models
            stream = await models.generate_content_stream(model=self.name, contents=contents, config=parsed)
            exchange = Exchange(stream, self._times, self._log)
            try:
                return exchange, await exchange.next()
            except BaseException:
                await exchange.close()
                raise

        return await retrying(attempt, again=_passes, tries=self._tries)

    def _made(self) -> genai.Client:
        loop = asyncio.get_running_loop()
        # Connections belong to the event loop that created them.
        if self._client is None or self._loop is not loop:
            _hush()
            self._loop = loop
            tls = _trust()
            # Our own session: redirects must not leak the key, and each response must be closable.
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0),
                trace_configs=[tracing()],
                auto_decompress=False,
                cookie_jar=aiohttp.DummyCookieJar(),
                read_bufsize=_LONGEST_LINE,
            )
            options = types.HttpOptions(
                base_url=self.address,
                headers=dict(self._headers),
                aiohttp_client=self._session,
                client_args={"verify": tls},
                async_client_args={"verify": tls, "ssl": tls, "allow_redirects": False},
                retry_options=types.HttpRetryOptions(attempts=1),
            )
            self._client = genai.Client(vertexai=False, api_key=self._key, http_options=options)
        return self._client

    def _log(self, where: str, said: bytes) -> None:
        """Log an upstream body at debug level; upstream text appears nowhere else."""
        if log.isEnabledFor(logging.DEBUG):
            # Mask before truncating: a truncated key would not match.
            text = said.decode(errors="replace")
            for secret in self._secrets:
                text = text.replace(secret, "***")
            log.debug("model %r, %s: %r", self.name, where, text[:300])


def _passes(error: RightseatError) -> bool:
    return type(error) in _AGAIN


@functools.cache
def _trust() -> ssl.SSLContext:
    """Return one shared TLS context; the SDK would create four, its slowest step."""
    return ssl.create_default_context()


def _hush() -> None:
    """Silence the SDK's logs and warnings, which contain user messages."""
    logging.getLogger("google_genai").setLevel(logging.CRITICAL)
    warnings.filterwarnings("ignore", module=r"google\.genai(\.|$)")
