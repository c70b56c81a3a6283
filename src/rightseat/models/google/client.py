"""Stream a Prompt through Google's `streamGenerateContent`."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from rightseat.errors import ConfigError
from rightseat.http.client import parse_base_url
from rightseat.models._vendor.client import VendorModel, VendorRequest
from rightseat.models._vendor.exchange import StreamExchange, Timeouts
from rightseat.models.google.errors import ERRORS
from rightseat.models.google.request import SETTINGS, THINKING_SETTINGS, GoogleRequestOptions, build_body
from rightseat.models.google.stream_parser import GeminiStreamParser
from rightseat.types.model import Capabilities, Prompt


class GoogleExchange(StreamExchange[GeminiStreamParser]):
    event_limit = 4 << 20
    # Google marks the end by neither an event nor, behind some gateways, the end of the body.
    finish_seconds = 2.0


class GoogleModel(VendorModel):
    """A Gemini model. `name` is its name at Google."""

    errors = ERRORS
    exchange_type = GoogleExchange
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
        versioned = base if base.name in ("v1beta", "v1alpha") else base.joinpath("v1")
        resource = name if name.startswith(("models/", "tunedModels/")) else f"models/{name}"
        super().__init__(
            name,
            versioned.joinpath(f"{resource}:streamGenerateContent").with_query(alt="sse"),
            own_headers={"x-goog-api-key": api_key} if api_key else {},
            headers=headers,
            secrets=(api_key, *headers.values()),
            timeouts=timeouts,
            tries=tries,
        )
        self.address = str(base)
        names = SETTINGS | THINKING_SETTINGS if capabilities.reasoning else SETTINGS
        self.capabilities = replace(capabilities, settings=frozenset(names))
        self._request_options = request_options

    def _build_request(self, prompt: Prompt) -> VendorRequest:
        return VendorRequest(build_body(prompt, self._request_options), GeminiStreamParser)
