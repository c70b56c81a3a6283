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
from rightseat.http import Client, Response
from rightseat.http.address import address, check_headers
from rightseat.http.retry import retrying
from rightseat.models.anthropic import faults
from rightseat.models.anthropic.answer import Answer
from rightseat.models.anthropic.exchange import Exchange
from rightseat.models.anthropic.request import Asked, Manner, asked
from rightseat.models.anthropic.thoughts import Thoughts
from rightseat.types.capabilities import Abilities, known
from rightseat.types.chunks import Fragment
from rightseat.types.model import Prompt

if TYPE_CHECKING:
    import anthropic

ANTHROPIC_URL = "https://api.anthropic.com"

# Transient errors; a rejected request or a wrong key is not retried.
_AGAIN = {UpstreamError, UpstreamRefused, UpstreamBusy, UpstreamOverloaded}

log = logging.getLogger(__name__)


class Anthropic:
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
        manner: Manner | None = None,
        abilities: Abilities | None = None,
        tries: int = 3,
    ) -> None:
        # The SDK adds /v1 itself; accept a base_url that already has it.
        base = address(base_url.rstrip("/").removesuffix("/v1"), "base_url")
        self.name = name
        self.address = str(base)
        """The URL that `rightseat doctor` probes."""
        self.abilities = abilities or known("anthropic", name)
        self.images = self.abilities.images
        self._manner = manner or Manner(schema=self.abilities.schema)
        self._connect_timeout = connect_timeout
        self._first_token_timeout = first_token_timeout
        self._idle_timeout = idle_timeout
        self._tries = tries
        self._thoughts = Thoughts()
        self._secrets = [secret for secret in (api_key, *headers.values()) if secret]
        check_headers({**headers, "api_key": api_key or ""})
        self._client = Client(base, connect_timeout=connect_timeout)
        sdk = _sdk()
        self._sdk: anthropic.AsyncAnthropic = sdk.sdk(base, api_key, headers, self._client)
        self._source: str = sdk.SOURCE

    async def close(self) -> None:
        # Keep the SDK's client open, since it could not be reused; it holds no connections of its own.
        self._client.close()

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[Fragment]:
        prompt = self._thoughts.recalled(prompt)
        request = asked(self.name, prompt, self._manner)
        exchange, found = await retrying(
            lambda: self._begun(request), again=lambda error: type(error) in _AGAIN, tries=self._tries
        )
        answer: list[Fragment] = []
        try:
            while True:
                answer += found
                for fragment in found:
                    yield fragment
                if exchange.over:
                    break
                found = await exchange.more()
            found = exchange.end()
            self._thoughts.keep(prompt, answer + found)
            for fragment in found:
                yield fragment
            await exchange.linger()
        finally:
            exchange.close()

    async def _begun(self, request: Asked) -> tuple[Exchange, list[Fragment]]:
        """Post the request and read until the first chunks; errors up to there may be retried."""
        deadline = asyncio.get_running_loop().time() + self._first_token_timeout
        exchange = Exchange(
            await self._post(request.body, deadline),
            Answer(self.name, request.names, request.enforced),
            deadline=deadline,
            first=self._first_token_timeout,
            idle=self._idle_timeout,
            note=lambda payload: self._log("in the stream", payload),
        )
        found: list[Fragment] = []
        begun = False
        try:
            while not (found or exchange.over):
                found = await exchange.more()
            if not found:
                exchange.check()
            begun = True
        finally:
            if not begun:
                exchange.close()
        return exchange, found

    async def _post(self, body: dict[str, Any], deadline: float) -> Response:
        import anthropic

        try:
            async with asyncio.timeout_at(deadline):
                answered = await self._sdk.messages.with_raw_response.create(**body)
        except TimeoutError as error:
            raise faults.first_token_timeout(self._first_token_timeout) from error
        except anthropic.APIStatusError as error:
            raise self._refusal(error) from error
        except anthropic.APIConnectionError as error:
            raise faults.of_connection(error.__cause__, self._connect_timeout) from error
        except UnicodeEncodeError as error:
            raise CallerError(
                "A message contains half a character (a lone surrogate): send valid text."
            ) from error
        response: Response = answered.http_response.extensions[self._source]
        return response

    def _refusal(self, error: anthropic.APIStatusError) -> RightseatError:
        response = error.response
        self._log(f"HTTP {response.status_code}", response.content)
        return faults.of_status(response.status_code, response.headers, error.body)

    def _log(self, where: str, said: bytes) -> None:
        """Log an upstream body at debug level; upstream text appears nowhere else."""
        if log.isEnabledFor(logging.DEBUG):
            # Mask before truncating: a truncated key would not match.
            text = said.decode(errors="replace")
            for secret in self._secrets:
                text = text.replace(secret, "***")
            log.debug("model %r, %s: %r", self.name, where, text[:300])


def _sdk() -> Any:
    """Import the transport module, which needs the SDK, on first use."""
    try:
        from rightseat.models.anthropic import transport
    except ModuleNotFoundError as error:
        raise ConfigError(
            "Models of Anthropic need its SDK, which is not installed: pip install 'rightseat[anthropic]'"
        ) from error
    return transport
