"""Stream a Prompt through an OpenAI-compatible server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from rightseat.errors import CallerError
from rightseat.http.client import IncompleteResponse, check_headers, parse_base_url, parse_host
from rightseat.models._vendor.chat_parser import ChatStreamParser
from rightseat.models._vendor.client import VendorModel, VendorRequest
from rightseat.models._vendor.exchange import Timeouts
from rightseat.models._vendor.reasoning import split_blob
from rightseat.models._vendor.thinking_cache import ThinkingCache
from rightseat.models.catalog import lookup_capabilities, override_capabilities
from rightseat.models.openai.errors import ERRORS, OpenAIErrors
from rightseat.models.openai.exchange import OpenAIExchange
from rightseat.models.openai.request import build_chat_body, build_responses_body
from rightseat.models.openai.responses_parser import ResponsesStreamParser
from rightseat.models.openai.speech import build_transcription_form, parse_transcription
from rightseat.models.openai.vendors import OpenAIVendor, fetch_token
from rightseat.types.model import Capabilities, Prompt
from rightseat.types.speech import Transcript, TranscriptionRequest

OPENAI_URL = "https://api.openai.com/v1"
_EMBEDDINGS_LIMIT = 64 << 20
_TRANSCRIPT_LIMIT = 16 << 20


class OpenAIChatParser(ChatStreamParser):
    errors = ERRORS


class OpenAIModel(VendorModel):
    """Any OpenAI-compatible server. `name` is the model's name there.

    `developer_role` None: only api.openai.com gets the role `developer`, other servers get `system`.
    `strict_tools`: the server enforces tool schemas. `usage`: the server accepts stream_options.
    `capabilities` None: taken from the capability table, with `images` overriding.
    """

    exchange_type = OpenAIExchange

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
        capabilities = capabilities or override_capabilities(lookup_capabilities(vendor.kind, name), {"images": images})
        self._uses_responses = vendor.api == "responses"
        self.errors = OpenAIErrors(vendor.credential_name)
        path = ("responses",) if self._uses_responses else ("chat", "completions")
        super().__init__(
            name,
            base.joinpath(*path).with_query(base.query),
            own_headers=vendor.make_auth_headers(api_key),
            headers=headers,
            secrets=(api_key, *headers.values(), *base.query.values()),
            timeouts=Timeouts(connect_timeout, first_token_timeout, idle_timeout),
            tries=tries,
        )
        self.address = str(base)
        self.capabilities = replace(
            capabilities,
            advertises_images=capabilities.images and (images is not None or vendor.knows_model(name)),
            enforces_schema=strict_tools and capabilities.schema,
            allowed_tools=vendor.kind == "openai",
            audio=capabilities.audio and not self._uses_responses,
            settings=vendor.list_settings(capabilities),
        )
        self._dialect = vendor.make_dialect(
            capabilities, developer_role=developer_role, strict_tools=strict_tools, usage=usage
        )
        self._upstream_name = vendor.deployment or name
        self._embeddings_url = base.joinpath("embeddings").with_query(base.query)
        self._transcriptions_url = base.joinpath("audio", "transcriptions").with_query(base.query)
        self._refuses_unknown_fields = vendor.kind != "compatible"
        self._token_provider = vendor.token_provider
        self._static_secrets = self._secrets
        self._thinking_cache = ThinkingCache(split_blob=split_blob)
        self._inline_thoughts = vendor.inline_thoughts

    def _build_request(self, prompt: Prompt) -> VendorRequest:
        dialect = self._dialect
        enforced = frozenset(tool.name for tool in prompt.tools if dialect.strict_tools)
        if self._uses_responses:
            body = build_responses_body(self._upstream_name, prompt, dialect)
            return VendorRequest(body, lambda: ResponsesStreamParser(enforced))
        rules = dialect.reasoning_rules
        if rules.active:
            prompt = self._thinking_cache.restore(prompt)
        body = build_chat_body(self._upstream_name, prompt, dialect)
        return VendorRequest(body, lambda: OpenAIChatParser(enforced, rules, self._inline_thoughts))

    async def _fetch_headers(self) -> Mapping[str, str]:
        if self._token_provider is None:
            return {}
        token = await fetch_token(self._token_provider, self._timeouts.first_token)
        headers = {"Authorization": f"Bearer {token}"}
        check_headers(headers)
        self._secrets = [*self._static_secrets, token]
        return headers

    async def embed(self, body: dict[str, Any]) -> dict[str, Any]:
        """Post an embeddings request and return the server's reply unchanged."""
        if self._refuses_unknown_fields and "embd_normalize" in body:
            raise CallerError(
                "embd_normalize: this model's vectors are normalized as they are. Leave it out.", param="embd_normalize"
            )
        payload = msgspec.json.encode({**body, "model": self._upstream_name})
        head = await self._make_head(self._embeddings_url, {})
        response, timer = await self._retry(lambda: self._post(head, payload))
        try:
            data = await response.read_body(_EMBEDDINGS_LIMIT + 1)
            if len(data) > _EMBEDDINGS_LIMIT:
                raise self.errors.invalid_response(f"more than {_EMBEDDINGS_LIMIT} bytes of embeddings")
            reply = msgspec.json.decode(data)
        except IncompleteResponse as error:
            if timer.expired:
                raise self.errors.first_token_timeout(self._timeouts.first_token) from error
            raise self.errors.incomplete_stream() from error
        except (msgspec.DecodeError, RecursionError) as error:
            raise self.errors.invalid_response("not the JSON of embeddings") from error
        finally:
            timer.stop()
            response.close()
        if not isinstance(reply, dict) or not isinstance(reply.get("data"), list):
            raise self.errors.invalid_response("not the JSON of embeddings")
        return reply

    async def transcribe(self, request: TranscriptionRequest, /) -> Transcript:
        """Post an audio file to /audio/transcriptions and return its transcript."""
        payload, content_type = build_transcription_form(request, self._upstream_name)
        head = await self._make_head(self._transcriptions_url, {"Content-Type": content_type})
        response, timer = await self._retry(lambda: self._post(head, payload))
        try:
            data = await response.read_body(_TRANSCRIPT_LIMIT + 1)
            if len(data) > _TRANSCRIPT_LIMIT:
                raise self.errors.invalid_response(f"more than {_TRANSCRIPT_LIMIT} bytes of a transcript")
            return parse_transcription(data)
        except IncompleteResponse as error:
            if timer.expired:
                raise self.errors.first_token_timeout(self._timeouts.first_token) from error
            raise self.errors.incomplete_stream() from error
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
            raise self.errors.invalid_response("not the JSON of a transcript") from error
        finally:
            timer.stop()
            response.close()


def is_openai(base_url: str) -> bool:
    return parse_host(base_url) == "api.openai.com"
