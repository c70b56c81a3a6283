"""Stream a Prompt through an OpenAI-compatible server."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from typing import Any

import msgspec
from yarl import URL

from rightseat.errors import (
    CallerError,
    RightseatError,
    UpstreamBusy,
    UpstreamError,
    UpstreamOverloaded,
    UpstreamRefused,
)
from rightseat.http import Client, ConnectTimeout, Cut, NotHttp, Response, request_head
from rightseat.http.address import address, check_headers, host
from rightseat.http.retry import retrying
from rightseat.models.openai import faults
from rightseat.models.openai.api import Path
from rightseat.models.openai.azure import token
from rightseat.models.openai.exchange import Exchange
from rightseat.models.openai.vendor import Vendor
from rightseat.models.openai.watchdog import Watchdog
from rightseat.types.capabilities import Abilities, known, said
from rightseat.types.chunks import Fragment
from rightseat.types.model import Prompt

OPENAI_URL = "https://api.openai.com/v1"
EMBEDDINGS: Path = ("embeddings",)

_ERROR_BODY = 64 << 10
_EMBEDDINGS = 64 << 20
_ERROR_BODY_SECONDS = 2.0
# Transient errors; a rejected request or a wrong key is not retried.
_AGAIN = {UpstreamError, UpstreamRefused, UpstreamBusy, UpstreamOverloaded}

log = logging.getLogger(__name__)


class OpenAI:
    """Any OpenAI-compatible server. `name` is the model's name there.

    `developer_role` None: only api.openai.com gets the role `developer`, other servers get `system`.
    `strict_tools`: the server enforces tool schemas. `usage`: the server accepts stream_options.
    `abilities` None: taken from the capability table, with `images` overriding.
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
        images: bool | None = None,
        tries: int = 3,
        abilities: Abilities | None = None,
        vendor: Vendor | None = None,
    ) -> None:
        base = address(base_url, "base_url")
        vendor = vendor or Vendor(kind="openai" if is_openai(base_url) else "compatible")
        self.name = name
        self._served = vendor.served or name
        able = self.abilities = abilities or said(known(vendor.kind, name), {"images": images})
        self.address = str(base)
        """The URL that `rightseat doctor` probes."""
        self._headers = {
            "Content-Type": "application/json",
            "Accept": "text/event-stream",
            # No compression: it delays streams and allows decompression bombs.
            "Accept-Encoding": "identity",
            "User-Agent": "rightseat",
            **vendor.key(api_key),
            **headers,
        }
        check_headers(self._headers)
        self._secrets = [secret for secret in (api_key, *headers.values(), *base.query.values()) if secret]
        self._connect_timeout = connect_timeout
        self._first_token_timeout = first_token_timeout
        self._idle_timeout = idle_timeout
        self._api = vendor.asked(able, developer_role=developer_role, strict_tools=strict_tools, usage=usage)
        self._places: dict[Path, URL] = {
            path: base.joinpath(*path).with_query(base.query) for path in (self._api.path, EMBEDDINGS)
        }
        self._heads = {path: request_head("POST", url, self._headers) for path, url in self._places.items()}
        self._token, self._credential = vendor.token, vendor.credential
        self._fresh = ""
        self._tries = tries
        self.enforces_schema = strict_tools and able.schema
        self.images = able.images and (images is not None or vendor.knows(name))
        self._client = Client(base, connect_timeout=connect_timeout)

    async def close(self) -> None:
        self._client.close()

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[Fragment]:
        exchange = await self._ask(prompt)
        try:
            response = exchange.response
            while not exchange.over:
                if not response.ready:
                    await response.arrival()
                    continue
                for fragment in exchange.read():
                    yield fragment
            for fragment in exchange.end():
                yield fragment
            await exchange.linger()
        finally:
            exchange.close()

    async def embed(self, body: dict[str, Any]) -> dict[str, Any]:
        """Post an embeddings request and return the server's reply unchanged."""
        sent = msgspec.json.encode({**body, "model": self._served})
        response, watch = await self._begun(EMBEDDINGS, sent)
        try:
            data = await response.read(_EMBEDDINGS + 1)
            if len(data) > _EMBEDDINGS:
                raise faults.garbled(f"more than {_EMBEDDINGS} bytes of embeddings")
            found = msgspec.json.decode(data)
        except Cut as error:
            if watch.expired:
                raise faults.first_token_timeout(self._first_token_timeout) from error
            raise faults.incomplete() from error
        except (msgspec.DecodeError, RecursionError) as error:
            raise faults.garbled("not the JSON of embeddings") from error
        finally:
            watch.stop()
            response.close()
        if not isinstance(found, dict) or not isinstance(found.get("data"), list):
            raise faults.garbled("not the JSON of embeddings")
        return found

    async def _begun(self, path: Path, body: bytes) -> tuple[Response, Watchdog]:
        head = self._heads[path]
        if self._token is not None:
            self._fresh = await token(self._token, self._first_token_timeout)
            headers = {**self._headers, "Authorization": f"Bearer {self._fresh}"}
            check_headers(headers)
            head = request_head("POST", self._places[path], headers)
        return await retrying(
            lambda: self._post(head, body), again=lambda error: type(error) in _AGAIN, tries=self._tries
        )

    async def _ask(self, prompt: Prompt) -> Exchange:
        try:
            body = msgspec.json.encode(self._api.body(self._served, prompt))
        except UnicodeEncodeError as error:
            raise CallerError(
                "A message contains half a character (a lone surrogate): send valid text."
            ) from error
        response, watch = await self._begun(self._api.path, body)
        return Exchange(
            response,
            self._api.reading(prompt),
            watch,
            first=self._first_token_timeout,
            idle=self._idle_timeout,
            note=lambda payload: self._log("in the stream", payload),
        )

    async def _post(self, head: bytes, body: bytes) -> tuple[Response, Watchdog]:
        """POST and wait for the response headers; return the response and its idle-timeout watchdog."""
        deadline = asyncio.get_running_loop().time() + self._first_token_timeout
        try:
            response = await self._client.send(head, body, deadline)
        except ConnectTimeout as error:
            raise faults.connect_timeout(self._connect_timeout) from error
        except TimeoutError as error:
            raise faults.first_token_timeout(self._first_token_timeout) from error
        except OSError as error:
            raise faults.refused() from error
        watch = Watchdog(response, deadline, self._idle_timeout)
        accepted = False
        try:
            await response.head()
            accepted = 200 <= response.status < 300
            if not accepted:
                raise await self._refusal(response)
        except NotHttp as error:
            raise faults.garbled("not HTTP") from error
        except Cut as error:
            if watch.expired:
                raise faults.first_token_timeout(self._first_token_timeout) from error
            raise faults.refused() from error
        finally:
            if not accepted:
                watch.stop()
                response.close()
        return response, watch

    async def _refusal(self, response: Response) -> RightseatError:
        body = b""
        try:
            async with asyncio.timeout(_ERROR_BODY_SECONDS):
                body = await response.read(_ERROR_BODY)
        except (TimeoutError, Cut):
            log.debug("the body of an error answer did not arrive whole")
        self._log(f"HTTP {response.status}", body)
        return faults.of_status(response.status, response.headers, body[:_ERROR_BODY], self._credential)

    def _log(self, where: str, said: bytes) -> None:
        """Log an upstream body at debug level; upstream text appears nowhere else."""
        if log.isEnabledFor(logging.DEBUG):
            # Mask before truncating: a truncated key would not match.
            text = said[:_ERROR_BODY].decode(errors="replace")
            for secret in filter(None, (*self._secrets, self._fresh)):
                text = text.replace(secret, "***")
            log.debug("model %r, %s: %r", self.name, where, text[:300])


def is_openai(base_url: str) -> bool:
    return host(base_url) == "api.openai.com"
