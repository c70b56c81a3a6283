"""HTTP client of a llama-server: streamed completions, tokenization, embeddings, slots and health."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeVar

import msgspec
from msgspec import Struct
from yarl import URL

from rightseat.config.secret import Secret
from rightseat.errors import (
    CallerError,
    ContextTooLong,
    RightseatError,
    UpstreamBusy,
    UpstreamGarbled,
    UpstreamOverloaded,
    UpstreamRejected,
    UpstreamTimeout,
)
from rightseat.http.client import (
    HttpClient,
    IncompleteResponse,
    Response,
    check_headers,
    format_request_head,
    parse_base_url,
)
from rightseat.http.idle import IdleTimer
from rightseat.http.sse import SseParser
from rightseat.http.upstream import STATUSES, StatusTable, UpstreamErrors, read_error_body, read_head, send_request
from rightseat.models._vendor.errors import VendorErrors
from rightseat.models._vendor.exchange import Timeouts
from rightseat.models.llamacpp.child import LaunchOptions
from rightseat.types.events import Usage

T = TypeVar("T")


class Timings(Struct, frozen=True):
    """Token counts and times: `cache_n` cached prompt tokens, `prompt_n` read, `predicted_n` generated."""

    cache_n: int = 0
    prompt_n: int = 0
    prompt_ms: float = 0
    prompt_per_token_ms: float = 0
    prompt_per_second: float = 0
    predicted_n: int = 0
    predicted_ms: float = 0
    predicted_per_token_ms: float = 0
    predicted_per_second: float = 0


class CompletionChunk(Struct, frozen=True):
    """A chunk of a completion. Counts, timings and stop reason are set in the last one (`stop`)."""

    content: str = ""
    id_slot: int = -1
    stop: bool = False
    stop_type: str = ""
    tokens_evaluated: int = 0
    tokens_predicted: int = 0
    completion_probabilities: list[dict[str, Any]] = []
    tokens: list[int] = []
    prompt: str = ""
    stopping_word: str = ""
    has_new_line: bool = False
    truncated: bool = False
    tokens_cached: int = 0
    generation_settings: dict[str, Any] | None = None
    timings: Timings | None = None
    prompt_progress: Any = None
    error: Any = None

    @property
    def cached_tokens(self) -> int:
        return 0 if self.timings is None else self.timings.cache_n

    @property
    def usage(self) -> Usage:
        return Usage(self.tokens_evaluated, self.tokens_predicted, self.cached_tokens)


class ChatEvent(Struct, frozen=True):
    """An event of the chat route as it came; `stop` is set in the last one."""

    payload: bytes
    stop: bool = False
    prompt_progress: Any = None


ChunkT = TypeVar("ChunkT", bound=CompletionChunk | ChatEvent)


class TokenPiece(Struct, frozen=True):
    """A token id with its text; `piece` is a list of bytes if the token is not valid UTF-8."""

    id: int
    piece: str | list[int]


class TokenizeResponse(Struct, Generic[T], frozen=True):
    tokens: list[T]


class DetokenizeResponse(Struct, frozen=True):
    content: str


class ApplyTemplateResponse(Struct, frozen=True):
    prompt: str


class RerankResult(Struct, frozen=True):
    index: int
    relevance_score: float


class RerankUsage(Struct, frozen=True):
    prompt_tokens: int = 0


class RerankResponse(Struct, frozen=True):
    results: list[RerankResult]
    usage: RerankUsage = RerankUsage()


_NOT_OFFERED = (
    UpstreamRejected,
    "does not offer this (HTTP {status}): check its address, and that it was started with what is asked of it.",
)
_NOT_TAKEN = (CallerError, "does not take this request: check its settings; the debug log has the reason.")


class LlamaServerErrors(VendorErrors):
    server = "The llama-server"
    address = "its address"
    key = "its api_key"
    unreachable = "check that it runs, and its address"
    invalid = "check that the address is a llama-server's"
    unknown = rejected = ""
    statuses: ClassVar[StatusTable] = {
        **dict.fromkeys((300, 404, 405, 501), _NOT_OFFERED),
        **dict.fromkeys((400, 413, 422), _NOT_TAKEN),
        429: (UpstreamBusy, "has too much to do: try later."),
        503: (UpstreamOverloaded, "is still loading its model: try later."),
    }

    def from_status(self, status: int, retry_after: float | None = None) -> RightseatError:
        # Of other 4xx, which a proxy sends, nobody knows that the caller is at fault: fallbacks may serve.
        if 400 < status < 500 and status not in {*STATUSES, *self.statuses}:
            return UpstreamRejected(f"{self.server} does not take this request (HTTP {status}): check its address.")
        return super().from_status(status, retry_after)

    def connect_timeout(self, seconds: float) -> RightseatError:
        return self.connection_refused()

    def from_exception(self, error: BaseException | None, timeout: float, connect_timeout: float = 0) -> RightseatError:
        if type(error) is IncompleteResponse:
            # The request may have arrived, so it must not be retried.
            return self.incomplete_stream()
        return super().from_exception(error, timeout, connect_timeout)

    def from_payload(self, error: Any) -> RightseatError:
        return error_from_object(500, error)

    # The sentence of other servers, which names this one.
    incomplete_stream = UpstreamErrors.incomplete_stream

    def first_token_timeout(self, seconds: float) -> RightseatError:
        return UpstreamTimeout(
            f"The llama-server did not begin to answer for {seconds:g} s: try again, or with less text."
        )

    def idle_timeout(self, seconds: float) -> RightseatError:
        return UpstreamTimeout(f"The llama-server fell silent for {seconds:g} s: try again, or with less text.")


ERRORS = LlamaServerErrors()


# An embedding server's refusal, which comes as a failure of its own (HTTP 500).
_BATCH_TOO_SMALL = re.compile(r"input \((\d{1,9}) tokens\) is too large to process.{0,99}batch size: (\d{1,9})")


def error_from_response(status: int, body: bytes) -> RightseatError:
    try:
        parsed = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        parsed = None
    return error_from_object(status, parsed.get("error") if isinstance(parsed, dict) else None)


def error_from_object(status: int, error: Any) -> RightseatError:
    """Return the error for an `error` object in a response body or in a stream."""
    error = error if isinstance(error, dict) else {}
    code = error.get("code")
    status = code if isinstance(code, int) and 400 <= code < 600 else status
    message = error.get("message")
    message = message.lower() if isinstance(message, str) else ""
    # Embedding and reranking engines read a text in one batch.
    if match := _BATCH_TOO_SMALL.search(message):
        tokens, window = int(match[1]), int(match[2])
        return ContextTooLong(
            f"The text has {tokens} tokens, and the llama-server takes {window} at once: send less, or start it with a "
            "larger --ubatch-size.",
            tokens=tokens,
            window=window,
        )
    too_long = "context size" in message or "too large to process" in message
    if error.get("type") == "exceed_context_size_error" or too_long:
        return _make_context_error(error)
    if status == 400 and "failed to load image" in message:
        return CallerError("The model's server cannot read an image: check it, or send it as PNG or JPEG.")
    if status == 400 and "grammar" in message:
        return CallerError(
            "The model's server does not take this grammar: check it, or simplify the schema.", param="grammar"
        )
    if "does not match the expected" in message or "failed to parse" in message:
        return make_format_error("the engine cannot read it")
    return ERRORS.from_status(status, retry_after=1 if status == 503 else None)


def make_format_error(why: object) -> RightseatError:
    return UpstreamGarbled(f"The local model broke its tool format ({why}): try again.")


def _make_context_error(error: dict[str, Any]) -> RightseatError:
    prompt_tokens, context_window = error.get("n_prompt_tokens"), error.get("n_ctx")
    if type(prompt_tokens) is int and type(context_window) is int:
        return ContextTooLong(
            f"The prompt has {prompt_tokens} tokens, and the model has room for {context_window}: "
            f"cut at least {max(1, prompt_tokens - context_window + 1)} tokens of messages or tools, "
            "or serve it with more.",
            tokens=prompt_tokens,
            window=context_window,
        )
    return ContextTooLong(
        "The conversation does not fit the model's context: cut messages or tools, or serve it with more."
    )


class LlamaServer(Protocol):
    """A ManagedServer, SharedServer or AttachedServer. `launch`: how we started it, None if we did not."""

    @property
    def ready(self) -> bool: ...
    @property
    def launch(self) -> LaunchOptions | None: ...
    async def start(self) -> None: ...
    async def close(self) -> None: ...
    async def client(self) -> LlamaServerClient: ...
    def stream_completion(self, request: dict[str, Any], /) -> AsyncIterator[CompletionChunk]: ...
    def stream_chat(self, request: dict[str, Any], /) -> AsyncIterator[ChatEvent]: ...


_MAX_BODY = 64 << 20
# A long prompt takes minutes on a small machine.
DEFAULT_TIMEOUTS = Timeouts(first_token=600)
log = logging.getLogger(__name__)


class LlamaServerClient:
    """Client of one llama-server. `own_server`: we started it, so it is known to be built with llguidance."""

    def __init__(
        self, url: str, key: Secret | None = None, *, own_server: bool = False, timeouts: Timeouts = DEFAULT_TIMEOUTS
    ) -> None:
        self._base = parse_server_url(url)
        self._own_server = own_server
        self._headers = {
            "Content-Type": "application/json",
            "Accept-Encoding": "identity",
            "User-Agent": "rightseat",
            # A llama-server closes idle connections without notice, so reused ones sometimes break.
            "Connection": "close",
            **({"Authorization": f"Bearer {key.reveal()}"} if key else {}),
        }
        check_headers(self._headers)
        self._timeouts = timeouts
        self._http = HttpClient(self._base, connect_timeout=timeouts.connect)
        self._closed = False

    async def close(self) -> None:
        """Close all connections; running requests are cut off."""
        self._closed = True
        self._http.close()

    def stream_completion(self, request: dict[str, Any]) -> AsyncIterator[CompletionChunk]:
        """Stream one completion of a prompt."""
        self._check_grammar(request.get("grammar"))
        return self._stream("completion", request, _decode_chunk)

    def stream_chat(self, request: dict[str, Any]) -> AsyncIterator[ChatEvent]:
        """Stream one answer of the engine's own chat route, which renders, constrains and parses itself."""
        return self._stream("v1/chat/completions", request, _decode_chat_event)

    async def _stream(
        self, path: str, request: dict[str, Any], decode: Callable[[bytes], ChunkT]
    ) -> AsyncIterator[ChunkT]:
        """Yield the chunks of one answer; the last one has `stop`. Closing the stream closes the
        connection, and the server then stops generating."""
        # A server notices a disconnect only once its response has begun; progress events begin it early.
        body = {**request, "stream": True, "return_progress": True}
        reader = SseParser()
        ended = False
        async with self._exchange("POST", path, body, self._timeouts.first_token) as (response, timer):
            while not ended:
                if not response.ready:
                    # Progress events put the first token off.
                    timer.deadline = asyncio.get_running_loop().time() + self._timeouts.first_token
                    await response.next_arrival()
                ended, complete = response.ended, response.complete
                payloads = reader.feed(response.take_body())
                for payload in [*payloads, *reader.close()] if complete else payloads:
                    chunk = decode(payload)
                    if chunk.prompt_progress is None:
                        timer.begun = True
                        yield chunk
                    if chunk.stop:
                        return
            if not timer.expired:
                raise ERRORS.incomplete_stream()
            if timer.begun:
                raise ERRORS.idle_timeout(self._timeouts.idle)
            raise ERRORS.first_token_timeout(self._timeouts.first_token)

    async def tokenize(self, text: str, *, special: bool = True, add: bool = False) -> list[int]:
        """Tokenize text. `special`: parse control tokens in it. `add`: prepend the model's BOS token."""
        body = {"content": text, "add_special": add, "parse_special": special}
        return (await self._request_json("tokenize", body, TokenizeResponse[int])).tokens

    async def tokenize_with_pieces(self, text: str, *, special: bool = True) -> list[TokenPiece]:
        body = {"content": text, "add_special": False, "parse_special": special, "with_pieces": True}
        return (await self._request_json("tokenize", body, TokenizeResponse[TokenPiece])).tokens

    async def detokenize(self, tokens: list[int]) -> str:
        return (await self._request_json("detokenize", {"tokens": tokens}, DetokenizeResponse)).content

    async def embed(self, body: dict[str, Any]) -> dict[str, Any]:
        return await self._request_json("v1/embeddings", body, dict[str, Any])

    async def rerank(self, query: str, documents: list[str]) -> RerankResponse:
        return await self._request_json("v1/rerank", {"query": query, "documents": documents}, RerankResponse)

    async def get_props(self) -> dict[str, Any]:
        return await self._request_json("props", None, dict[str, Any])

    async def apply_template(self, body: dict[str, Any]) -> str:
        """Return the prompt that the engine renders from a chat request."""
        return (await self._request_json("apply-template", body, ApplyTemplateResponse)).prompt

    async def list_slots(self) -> list[dict[str, Any]]:
        return await self._request_json("slots", None, list[dict[str, Any]])

    async def run_slot_action(self, number: int, action: Literal["save", "restore"], file: str) -> None:
        """Save or restore a slot. `file` is a name in the server's slot_save_path."""
        await self._request_json(f"slots/{number}?action={action}", {"filename": file}, dict[str, Any])

    async def is_healthy(self, seconds: float = 5) -> bool:
        """Return whether the server is reachable and has loaded its model."""
        try:
            async with self._exchange("GET", "health", None, seconds):
                return True
        except RightseatError:
            return False

    def _check_grammar(self, grammar: object) -> None:
        # A server built without llguidance aborts its whole process on such a grammar.
        if not self._own_server and isinstance(grammar, str) and grammar.lstrip().startswith("%llguidance"):
            raise CallerError(
                "A %llguidance grammar is not passed on to an attached server: it could end it. Send GBNF.",
                param="grammar",
            )

    async def _request_json(self, path: str, body: dict[str, Any] | None, response_type: type[T]) -> T:
        method = "GET" if body is None else "POST"
        async with self._exchange(method, path, body, self._timeouts.first_token) as (response, timer):
            try:
                data = await response.read_body(_MAX_BODY + 1)
            except IncompleteResponse as error:
                silent = timer.expired
                raise (
                    ERRORS.idle_timeout(self._timeouts.first_token) if silent else ERRORS.incomplete_stream()
                ) from error
        if len(data) > _MAX_BODY:
            raise ERRORS.invalid_response(f"more than {_MAX_BODY >> 20} MB")
        try:
            return msgspec.json.decode(data, type=response_type)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ERRORS.invalid_response(f"unexpected JSON from /{path.partition('?')[0]}") from error

    @asynccontextmanager
    async def _exchange(
        self, method: str, path: str, body: dict[str, Any] | None, seconds: float
    ) -> AsyncIterator[tuple[Response, IdleTimer]]:
        """Send a request and wait `seconds` for the headers; yields the response and its timer, which now has
        the first token's deadline. The connection is closed at the end."""
        try:
            data = None if body is None else msgspec.json.encode(body)
        except UnicodeEncodeError as error:
            raise CallerError("The text contains half a character (a lone surrogate).") from error
        if self._closed:
            raise ERRORS.connection_refused()
        now = asyncio.get_running_loop().time
        deadline = now() + seconds
        head = format_request_head(method, self._base.join(URL(path)), self._headers)
        response = await send_request(self._http, head, data, ERRORS, deadline=deadline, seconds=seconds)
        if self._closed:
            # Closed while this request was connecting.
            response.abort()
            response.close()
            raise ERRORS.connection_refused()
        timer = IdleTimer(self._timeouts.idle, response, response.abort, deadline=deadline)
        try:
            await read_head(response, timer, ERRORS, seconds, _read_error)
            timer.deadline = now() + self._timeouts.first_token
            yield response, timer
        finally:
            timer.stop()
            response.abort()
            response.close()


def parse_server_url(url: str) -> URL:
    parsed = parse_base_url(url, "The llama-server's address")
    # Users often copy the address of the OpenAI API; the native endpoints are beside /v1.
    path = parsed.path.rstrip("/").removesuffix("/v1")
    return parsed.with_path(path + "/", encoded=True)


def _decode_chunk(payload: bytes) -> CompletionChunk:
    try:
        chunk = msgspec.json.decode(payload, type=CompletionChunk)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ERRORS.invalid_response("a piece of an answer is not its JSON") from error
    if chunk.error is not None:
        raise error_from_object(500, chunk.error)
    return chunk


def _decode_chat_event(payload: bytes) -> ChatEvent:
    # A quote inside of a JSON string is escaped, so this is a key.
    progress = b'"prompt_progress":' in payload
    return ChatEvent(payload, payload == b"[DONE]", progress or None)


async def _read_error(response: Response) -> RightseatError:
    body = await read_error_body(response)
    log.debug("llama-server: HTTP %d %r", response.status, body[:300])
    return error_from_response(response.status, body)
