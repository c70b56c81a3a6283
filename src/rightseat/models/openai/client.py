"""Stream a Prompt through an OpenAI-compatible server."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace
from yarl import URL

from rightseat.errors import CallerError, RightseatError
from rightseat.http.client import (
    HttpClient,
    IncompleteResponse,
    Response,
    check_headers,
    format_request_head,
    parse_base_url,
    parse_host,
)
from rightseat.http.idle import IdleTimer
from rightseat.http.retry import call_with_retry
from rightseat.http.upstream import read_error_body, read_head, send_request
from rightseat.models._vendor.errors import LONE_SURROGATE, is_retryable, log_upstream
from rightseat.models._vendor.exchange import Timeouts
from rightseat.models.catalog import lookup_capabilities, override_capabilities
from rightseat.models.openai import faults
from rightseat.models.openai.exchange import OpenAIExchange
from rightseat.models.openai.faults import ERRORS
from rightseat.models.openai.vendor import ApiPath, OpenAIVendor, fetch_token
from rightseat.types.chunks import ModelChunk
from rightseat.types.model import Capabilities, Model, Prompt

OPENAI_URL = "https://api.openai.com/v1"
EMBEDDINGS_PATH: ApiPath = ("embeddings",)

_EMBEDDINGS_LIMIT = 64 << 20

log = logging.getLogger(__name__)


class OpenAIModel(Model):
    """Any OpenAI-compatible server. `name` is the model's name there.

    `developer_role` None: only api.openai.com gets the role `developer`, other servers get `system`.
    `strict_tools`: the server enforces tool schemas. `usage`: the server accepts stream_options.
    `capabilities` None: taken from the capability table, with `images` overriding.
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
        capabilities: Capabilities | None = None,
        vendor: OpenAIVendor | None = None,
    ) -> None:
        base = parse_base_url(base_url, "base_url")
        vendor = vendor or OpenAIVendor(kind="openai" if is_openai(base_url) else "compatible")
        self.name = name
        self._upstream_name = vendor.deployment or name
        capabilities = capabilities or override_capabilities(lookup_capabilities(vendor.kind, name), {"images": images})
        self.capabilities = replace(
            capabilities,
            advertises_images=capabilities.images and (images is not None or vendor.knows_model(name)),
            enforces_schema=strict_tools and capabilities.schema,
        )
        self.address = str(base)
        self._headers = {
            "Content-Type": "application/json",
            "Accept": "text/event-stream",
            # No compression: it delays streams and allows decompression bombs.
            "Accept-Encoding": "identity",
            "User-Agent": "rightseat",
            **vendor.make_auth_headers(api_key),
            **headers,
        }
        check_headers(self._headers)
        self._secrets = [secret for secret in (api_key, *headers.values(), *base.query.values()) if secret]
        self._timeouts = Timeouts(connect_timeout, first_token_timeout, idle_timeout)
        self._api = vendor.make_api(capabilities, developer_role=developer_role, strict_tools=strict_tools, usage=usage)
        self._urls: dict[ApiPath, URL] = {
            path: base.joinpath(*path).with_query(base.query) for path in (self._api.path, EMBEDDINGS_PATH)
        }
        self._request_heads = {
            path: format_request_head("POST", url, self._headers) for path, url in self._urls.items()
        }
        self._token_provider, self._credential = vendor.token_provider, vendor.credential_name
        self._current_token = ""
        self._tries = tries
        self._client = HttpClient(base, connect_timeout=connect_timeout)

    async def close(self) -> None:
        self._client.close()

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        exchange = await self._start_exchange(prompt)
        try:
            response = exchange.response
            while not exchange.done:
                if not response.ready:
                    await response.next_arrival()
                    continue
                for chunk in exchange.read():
                    yield chunk
            for chunk in exchange.finish():
                yield chunk
            await exchange.drain()
        finally:
            exchange.close()

    async def embed(self, body: dict[str, Any]) -> dict[str, Any]:
        """Post an embeddings request and return the server's reply unchanged."""
        payload = msgspec.json.encode({**body, "model": self._upstream_name})
        response, timer = await self._start_response(EMBEDDINGS_PATH, payload)
        try:
            data = await response.read_body(_EMBEDDINGS_LIMIT + 1)
            if len(data) > _EMBEDDINGS_LIMIT:
                raise ERRORS.invalid_response(f"more than {_EMBEDDINGS_LIMIT} bytes of embeddings")
            reply = msgspec.json.decode(data)
        except IncompleteResponse as error:
            if timer.expired:
                raise ERRORS.first_token_timeout(self._timeouts.first_token) from error
            raise ERRORS.incomplete_stream() from error
        except (msgspec.DecodeError, RecursionError) as error:
            raise ERRORS.invalid_response("not the JSON of embeddings") from error
        finally:
            timer.stop()
            response.close()
        if not isinstance(reply, dict) or not isinstance(reply.get("data"), list):
            raise ERRORS.invalid_response("not the JSON of embeddings")
        return reply

    async def _start_response(self, path: ApiPath, body: bytes) -> tuple[Response, IdleTimer]:
        head = self._request_heads[path]
        if self._token_provider is not None:
            self._current_token = await fetch_token(self._token_provider, self._timeouts.first_token)
            headers = {**self._headers, "Authorization": f"Bearer {self._current_token}"}
            check_headers(headers)
            head = format_request_head("POST", self._urls[path], headers)
        return await call_with_retry(lambda: self._post(head, body), is_retryable=is_retryable, tries=self._tries)

    async def _start_exchange(self, prompt: Prompt) -> OpenAIExchange:
        try:
            body = msgspec.json.encode(self._api.build_body(self._upstream_name, prompt))
        except UnicodeEncodeError as error:
            raise CallerError(LONE_SURROGATE) from error
        response, timer = await self._start_response(self._api.path, body)
        return OpenAIExchange(
            response,
            self._api.make_parser(prompt),
            timer,
            self._timeouts,
            lambda payload: self._log_upstream("in the stream", payload),
        )

    async def _post(self, head: bytes, body: bytes) -> tuple[Response, IdleTimer]:
        """POST and wait for the response headers; return the response and its timer."""
        seconds = self._timeouts.first_token
        deadline = asyncio.get_running_loop().time() + seconds
        response = await send_request(self._client, head, body, ERRORS, deadline=deadline, seconds=seconds)
        timer = IdleTimer(self._timeouts.idle, response, response.abort, deadline=deadline)
        await read_head(response, timer, ERRORS, seconds, self._make_status_error)
        return response, timer

    async def _make_status_error(self, response: Response) -> RightseatError:
        body = await read_error_body(response)
        self._log_upstream(f"HTTP {response.status}", body)
        return faults.from_status(response.status, response.headers, body, self._credential)

    def _log_upstream(self, context: str, body: bytes) -> None:
        log_upstream(log, self.name, context, body, filter(None, (*self._secrets, self._current_token)))


def is_openai(base_url: str) -> bool:
    return parse_host(base_url) == "api.openai.com"
