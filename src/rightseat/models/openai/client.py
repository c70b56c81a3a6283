"""Streams a Prompt through an OpenAI-compatible server. All I/O of this model is here."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from typing import Any

import aiohttp
import msgspec
from yarl import URL

from rightseat.errors import (
    CallerError,
    ConfigError,
    RightseatError,
    UpstreamBusy,
    UpstreamError,
    UpstreamOverloaded,
    UpstreamRefused,
)
from rightseat.fragments import Fragment
from rightseat.models.openai import faults, request
from rightseat.models.openai.answer import Answer
from rightseat.models.openai.exchange import Exchange
from rightseat.prompt import Prompt
from rightseat.retry import retrying

OPENAI_URL = "https://api.openai.com/v1"

_ERROR_BODY = 64 << 10
_EMBEDDINGS = 64 << 20
_ERROR_BODY_SECONDS = 2.0
# Only these may pass by themselves; a rejection or a wrong key will not.
_AGAIN = {UpstreamError, UpstreamRefused, UpstreamBusy, UpstreamOverloaded}

log = logging.getLogger(__name__)


class OpenAI:
    """Any OpenAI-compatible server. `name` is the model's name there.

    `developer_role` None: the role `developer` goes to api.openai.com only, elsewhere it becomes `system`.
    `strict_tools`: the server enforces every tool's schema. `usage`: the server takes stream_options.
    """

    def __init__(
        self,
        name: str,
        *,
        base_url: str = OPENAI_URL,
        api_key: str | None = None,
        headers: Mapping[str, str] = {},
        connect_timeout: float = 10,
        first_token_timeout: float = 120,
        idle_timeout: float = 60,
        developer_role: bool | None = None,
        strict_tools: bool = False,
        usage: bool = True,
        tries: int = 3,
    ) -> None:
        base = _address(base_url)
        vendor = is_openai(base_url)
        self.name = name
        self.address = str(base)
        """Where `rightseat doctor` looks whether anyone is there."""
        self._url = (base / "chat" / "completions").with_query(base.query)
        self._embeddings = (base / "embeddings").with_query(base.query)
        self._headers = {
            "Content-Type": "application/json",
            "Accept": "text/event-stream",
            # A compressed answer could be a bomb, and a compressed stream is a late one.
            "Accept-Encoding": "identity",
            "User-Agent": "rightseat",
            **({"Authorization": f"Bearer {api_key}"} if api_key else {}),
            **headers,
        }
        _check_headers(self._headers)
        self._secrets = [secret for secret in (api_key, *headers.values(), *base.query.values()) if secret]
        self._connect_timeout = connect_timeout
        self._first_token_timeout = first_token_timeout
        self._idle_timeout = idle_timeout
        self._dialect = request.Dialect(
            developer_role=vendor if developer_role is None else developer_role,
            completion_tokens=vendor,
            strict_tools=strict_tools,
            usage=usage,
        )
        self._tries = tries
        self.enforces_schema = strict_tools
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[Fragment]:
        exchange = await self._ask(prompt)
        try:
            while (fragments := await exchange.read()) is not None:
                for fragment in fragments:
                    yield fragment
            for fragment in exchange.end():
                yield fragment
            await exchange.linger()
        finally:
            exchange.close()

    async def embed(self, body: dict[str, Any]) -> dict[str, Any]:
        """The server's own answer to an embeddings request, with its vectors as they are."""
        sent = msgspec.json.encode({**body, "model": self.name})
        response, deadline = await self._begun(self._embeddings, sent)
        try:
            async with asyncio.timeout_at(deadline):
                data = await _capped(response)
            found = msgspec.json.decode(data)
        except TimeoutError as error:
            raise faults.first_token_timeout(self._first_token_timeout) from error
        except (aiohttp.ClientError, OSError) as error:
            raise faults.incomplete() from error
        except (msgspec.DecodeError, RecursionError) as error:
            raise faults.garbled("not the JSON of embeddings") from error
        finally:
            response.close()
        if not isinstance(found, dict) or not isinstance(found.get("data"), list):
            raise faults.garbled("not the JSON of embeddings")
        return found

    async def _begun(self, url: URL, body: bytes) -> tuple[aiohttp.ClientResponse, float]:
        return await retrying(
            lambda: self._post(url, body), again=lambda error: type(error) in _AGAIN, tries=self._tries
        )

    async def _ask(self, prompt: Prompt) -> Exchange:
        try:
            body = msgspec.json.encode(request.body(self.name, prompt, self._dialect))
        except UnicodeEncodeError as error:
            raise CallerError(
                "A message contains half a character (a lone surrogate): send valid text."
            ) from error
        response, deadline = await self._begun(self._url, body)
        strict = prompt.tools if self._dialect.strict_tools else ()
        answer = Answer(frozenset(tool.name for tool in strict))
        return Exchange(
            response,
            answer,
            deadline=deadline,
            first=self._first_token_timeout,
            idle=self._idle_timeout,
            note=lambda payload: self._log("in the stream", payload),
        )

    async def _post(self, url: URL, body: bytes) -> tuple[aiohttp.ClientResponse, float]:
        """An answer that has begun, and when its first token is due."""
        deadline = asyncio.get_running_loop().time() + self._first_token_timeout
        try:
            async with asyncio.timeout_at(deadline):
                response = await self._connected().post(
                    url, data=body, headers=self._headers, allow_redirects=False
                )
        except aiohttp.ConnectionTimeoutError as error:
            raise faults.connect_timeout(self._connect_timeout) from error
        except TimeoutError as error:
            raise faults.first_token_timeout(self._first_token_timeout) from error
        except aiohttp.ClientResponseError as error:
            # What came was no HTTP.
            raise faults.garbled("not HTTP") from error
        except (aiohttp.ClientError, OSError) as error:
            raise faults.refused() from error
        if 200 <= response.status < 300:
            return response, deadline
        raise await self._refusal(response)

    async def _refusal(self, response: aiohttp.ClientResponse) -> RightseatError:
        body = b""
        try:
            async with asyncio.timeout(_ERROR_BODY_SECONDS):
                while len(body) < _ERROR_BODY and (data := await response.content.readany()):
                    body += data
        except (TimeoutError, aiohttp.ClientError, OSError):
            log.debug("the body of an error answer did not arrive whole")
        finally:
            response.close()
        self._log(f"HTTP {response.status}", body)
        return faults.of_status(response.status, response.headers, body[:_ERROR_BODY])

    def _log(self, where: str, said: bytes) -> None:
        """The server's own words go to the debug log and nowhere else."""
        if log.isEnabledFor(logging.DEBUG):
            # Masked before it is cut, else the cut could leave half of a key.
            text = said[:_ERROR_BODY].decode(errors="replace")
            for secret in self._secrets:
                text = text.replace(secret, "***")
            log.debug("model %r, %s: %r", self.name, where, text[:300])

    def _connected(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0),
                timeout=aiohttp.ClientTimeout(total=None, connect=self._connect_timeout),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                trust_env=False,
            )
        return self._session


async def _capped(response: aiohttp.ClientResponse) -> bytes:
    data = b""
    while piece := await response.content.readany():
        data += piece
        if len(data) > _EMBEDDINGS:
            raise faults.garbled(f"more than {_EMBEDDINGS} bytes of embeddings")
    return data


def is_openai(base_url: str) -> bool:
    return URL(base_url).host == "api.openai.com"


def _address(base_url: str) -> URL:
    try:
        url = URL(base_url)
        port = url.port
    except ValueError as error:
        raise ConfigError("base_url is not an address: it looks like http://127.0.0.1:8080/v1") from error
    if url.scheme not in ("http", "https") or not url.host or not port:
        raise ConfigError("base_url must begin with http:// or https:// and name a host.")
    if url.user or url.password:
        raise ConfigError("base_url must not contain a user or a password: use api_key or headers.")
    return url.with_fragment(None)


def _check_headers(headers: Mapping[str, str]) -> None:
    for name, value in headers.items():
        if not (name + value).isascii() or not (name + value).isprintable():
            raise ConfigError(
                f"The header {name!r} (api_key, headers) has a character that HTTP does not take."
            )
