"""Stream a Prompt through Anthropic's Messages API."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from msgspec.structs import replace

from rightseat.http.client import parse_base_url
from rightseat.http.sse import SseParser
from rightseat.models._vendor.client import VendorModel, VendorRequest
from rightseat.models._vendor.exchange import PayloadSource, StreamExchange, Timeouts
from rightseat.models._vendor.thinking_cache import ThinkingCache
from rightseat.models.anthropic.errors import ERRORS
from rightseat.models.anthropic.request import AnthropicRequestOptions, build_request, list_settings
from rightseat.models.anthropic.stream_parser import MessageStreamParser
from rightseat.models.catalog import lookup_capabilities
from rightseat.types.model import Capabilities, Prompt

ANTHROPIC_URL = "https://api.anthropic.com"
API_VERSION = "2026-10-21"
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
            and end < StreamExchange.event_limit
        ):
            return [chunk[start:end]]
        return super().feed(chunk)


class AnthropicExchange(StreamExchange[MessageStreamParser]):
    def _make_payloads(self, content_type: str) -> PayloadSource:
        super()._make_payloads(content_type)
        return AnthropicEventParser(self.event_limit)


class AnthropicModel(VendorModel):
    """A model of Anthropic or of any Messages API server. `name` is the model's name there."""

    errors = ERRORS
    exchange_type = AnthropicExchange
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
        # Accept a base_url that already has /v1.
        base = parse_base_url(base_url.rstrip("/").removesuffix("/v1"), "base_url")
        authorization = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        super().__init__(
            name,
            base.joinpath("v1", "messages").with_query(base.query),
            own_headers={"anthropic-version": API_VERSION, **authorization},
            headers=headers,
            secrets=(api_key, *headers.values()),
            timeouts=Timeouts(connect_timeout, first_token_timeout, idle_timeout),
            tries=tries,
        )
        self.address = str(base)
        self._request_options = request_options or AnthropicRequestOptions()
        self.capabilities = replace(
            capabilities or lookup_capabilities("anthropic", name), settings=list_settings(name, self._request_options)
        )
        self._thinking_cache = ThinkingCache()

    def _build_request(self, prompt: Prompt) -> VendorRequest:
        prompt = self._thinking_cache.restore(prompt)
        request = build_request(self.name, prompt, self._request_options, schema=self.capabilities.schema)
        return VendorRequest(
            request.body,
            lambda: MessageStreamParser(
                self.name, request.tool_names, request.enforced, partial(self._thinking_cache.store, prompt)
            ),
            request.headers,
        )
