"""HTTP client of a llama-server: streamed completions, tokenization, embeddings, slots and health.

Response structs of a llama-server: only the fields that are used; others are ignored. Convert failures of a
llama-server to our errors.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from typing import Any, ClassVar, Generic, Literal, TypeVar

import aiohttp
import msgspec
from msgspec import Struct
from yarl import URL

from rightseat.config.secret import Secret
from rightseat.errors import (
    CallerError,
    ContextTooLong,
    RightseatError,
    UpstreamBusy,
    UpstreamOverloaded,
    UpstreamRejected,
    UpstreamTimeout,
)
from rightseat.http import client
from rightseat.http.idle import IdleTimer
from rightseat.http.sse import SseParser
from rightseat.http.upstream import ERROR_BODY, ERROR_BODY_SECONDS, StatusTable, UpstreamErrors
from rightseat.types.events import Usage

ItemT = TypeVar("ItemT")


class Timings(Struct, frozen=True):
    """Token counts and times: `cache_n` cached prompt tokens, `prompt_n` read, `predicted_n` generated."""

    cache_n: int = 0
    prompt_n: int = 0
    predicted_n: int = 0
    predicted_ms: float = 0


class CompletionChunk(Struct, frozen=True):
    """A chunk of a completion. Counts, timings and stop reason are set in the last one (`stop`)."""

    content: str = ""
    tokens: list[int] = []
    index: int = 0
    id_slot: int = -1
    stop: bool = False
    stop_type: str = ""
    truncated: bool = False
    tokens_evaluated: int = 0
    tokens_predicted: int = 0
    completion_probabilities: list[dict[str, Any]] = []
    timings: Timings | None = None
    prompt_progress: Any = None
    error: Any = None

    @property
    def cached_tokens(self) -> int:
        """Prompt tokens served from the KV cache."""
        return 0 if self.timings is None else self.timings.cache_n

    @property
    def usage(self) -> Usage:
        return Usage(self.tokens_evaluated, self.tokens_predicted, self.cached_tokens)


class TokenPiece(Struct, frozen=True):
    """A token id with its text; `piece` is a list of bytes if the token is not valid UTF-8."""

    id: int
    piece: str | list[int]


class TokenizeResponse(Struct, Generic[ItemT], frozen=True):
    tokens: list[ItemT]


_NOT_OFFERED = (
    UpstreamRejected,
    "does not offer this (HTTP {status}): check its address, and that it was started with what is asked of it.",
)
_NOT_TAKEN = (CallerError, "does not take this request: check its settings; the debug log has the reason.")


class LlamaServerErrors(UpstreamErrors):
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

    def first_token_timeout(self, seconds: float) -> RightseatError:
        return UpstreamTimeout(
            f"The llama-server did not begin to answer for {seconds:g} s: try again, or with less text."
        )

    def idle_timeout(self, seconds: float) -> RightseatError:
        return UpstreamTimeout(f"The llama-server fell silent for {seconds:g} s: try again, or with less text.")


ERRORS = LlamaServerErrors()


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
    if error.get("type") == "exceed_context_size_error" or "context size" in message:
        return _make_context_error(error)
    if status == 400 and "grammar" in message:
        return CallerError(
            "The model's server does not take this grammar: check it, or simplify the schema.", param="grammar"
        )
    return ERRORS.from_status(status, retry_after=1 if status == 503 else None)


def _make_context_error(error: dict[str, Any]) -> RightseatError:
    prompt_tokens, context_window = error.get("n_prompt_tokens"), error.get("n_ctx")
    if type(prompt_tokens) is int and type(context_window) is int:
        return ContextTooLong(
            f"The prompt has {prompt_tokens} tokens, and the model has room for {context_window}: "
            f"cut at least {max(1, prompt_tokens - context_window + 1)} tokens of messages or tools, "
            "or serve it with more."
        )
    return ContextTooLong(
        "The conversation does not fit the model's context: cut messages or tools, or serve it with more."
    )


_MAX_BODY = 64 << 20
_CONNECTION_ERRORS = (aiohttp.ClientError, OSError)
log = logging.getLogger(__name__)
T = TypeVar("T")


class LlamaServerClient:
    """Client of one llama-server. `own_server`: we started it, so it is known to be built with llguidance."""

    def __init__(
        self,
        url: str,
        key: Secret | None = None,
        *,
        own_server: bool = False,
        connect_timeout: float = 10,
        first_token_timeout: float = 600,
        idle_timeout: float = 60,
    ) -> None:
        self._base = parse_server_url(url)
        self._own_server = own_server
        self._headers = {
            "Content-Type": "application/json",
            "Accept-Encoding": "identity",
            "User-Agent": "rightseat",
            **({"Authorization": f"Bearer {key.reveal()}"} if key else {}),
        }
        self._connect_timeout = connect_timeout
        self._first_token_timeout = first_token_timeout
        self._idle_timeout = idle_timeout
        self._session: aiohttp.ClientSession | None = None
        self._closed = False

    async def close(self) -> None:
        """Close the session; running requests are cut off."""
        self._closed = True
        if self._session is not None:
            await self._session.close()

    async def stream_completion(self, request: dict[str, Any]) -> AsyncIterator[CompletionChunk]:
        """Yield the chunks of one completion; the last one has `stop`. Closing the stream closes the
        connection, and the server then stops generating."""
        self._check_grammar(request.get("grammar"))
        # A server notices a disconnect only once its response has begun; progress events begin it early.
        body = {**request, "stream": True, "return_progress": True}
        response = await self._open_response("POST", "completion", body, self._first_token_timeout)
        now = asyncio.get_running_loop().time
        timer = IdleTimer(self._idle_timeout, deadline=now() + self._first_token_timeout)
        try:
            reader = SseParser()
            # Several completions of one prompt (n_cmpl) are interleaved; each ends with its own `stop`.
            answers_left = max(1, int(request.get("n_cmpl") or 1))
            while answers_left > 0:
                # Progress events put the first token off.
                timer.deadline = now() + self._first_token_timeout
                data = await self._read_stream(response, timer)
                for payload in reader.feed(data) if data else reader.close():
                    piece = _decode_chunk(payload)
                    if piece.prompt_progress is not None:
                        continue
                    timer.begun = True
                    answers_left -= piece.stop
                    yield piece
                if not data and answers_left > 0:
                    raise ERRORS.incomplete_stream()
        finally:
            timer.stop()
            response.close()

    async def tokenize(self, text: str, *, special: bool = True, add: bool = False) -> list[int]:
        """Tokenize text. `special`: parse control tokens in it. `add`: prepend the model's BOS token."""
        body = {"content": text, "add_special": add, "parse_special": special}
        return (await self._request_json("tokenize", body, TokenizeResponse[int])).tokens

    async def tokenize_with_pieces(self, text: str, *, special: bool = True) -> list[TokenPiece]:
        body = {"content": text, "add_special": False, "parse_special": special, "with_pieces": True}
        return (await self._request_json("tokenize", body, TokenizeResponse[TokenPiece])).tokens

    async def detokenize(self, tokens: list[int]) -> str:
        found = await self._request_json("detokenize", {"tokens": tokens}, dict[str, Any])
        text = found.get("content")
        if not isinstance(text, str):
            raise ERRORS.invalid_response("no text for tokens")
        return text

    async def embed(self, body: dict[str, Any]) -> dict[str, Any]:
        return await self._request_json("v1/embeddings", body, dict[str, Any])

    async def get_props(self) -> dict[str, Any]:
        return await self._request_json("props", None, dict[str, Any])

    async def list_slots(self) -> list[dict[str, Any]]:
        return await self._request_json("slots", None, list[dict[str, Any]])

    async def run_slot_action(self, number: int, action: Literal["save", "restore", "erase"], file: str = "") -> None:
        """Save, restore or erase a slot. `file` is a name in the server's slot_save_path."""
        await self._request_json(f"slots/{number}?action={action}", {"filename": file}, dict[str, Any])

    async def is_healthy(self, seconds: float = 5) -> bool:
        """Return whether the server is reachable and has loaded its model."""
        try:
            response = await self._open_response("GET", "health", None, seconds)
        except RightseatError:
            return False
        response.close()
        return True

    def _check_grammar(self, grammar: object) -> None:
        # A server built without llguidance aborts its whole process on such a grammar.
        if not self._own_server and isinstance(grammar, str) and grammar.lstrip().startswith("%llguidance"):
            raise CallerError(
                "A %llguidance grammar is not passed on to an attached server: it could end it. Send GBNF.",
                param="grammar",
            )

    async def _request_json(self, path: str, body: dict[str, Any] | None, response_type: type[T]) -> T:
        method = "GET" if body is None else "POST"
        response = await self._open_response(method, path, body, self._first_token_timeout)
        try:
            return msgspec.json.decode(await self._read_body(response), type=response_type)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ERRORS.invalid_response(f"unexpected JSON from /{path.partition('?')[0]}") from error
        finally:
            response.close()

    async def _read_stream(self, response: aiohttp.ClientResponse, timer: IdleTimer) -> bytes:
        try:
            async with timer:
                return await response.content.readany()
        except _CONNECTION_ERRORS as error:
            if not timer.expired:
                raise ERRORS.incomplete_stream() from error
            if timer.begun:
                raise ERRORS.idle_timeout(self._idle_timeout) from error
            raise ERRORS.first_token_timeout(self._first_token_timeout) from error

    async def _read_body(self, response: aiohttp.ClientResponse) -> bytes:
        data = bytearray()
        try:
            async with asyncio.timeout(self._first_token_timeout):
                while piece := await response.content.readany():
                    data += piece
                    if len(data) > _MAX_BODY:
                        raise ERRORS.invalid_response(f"more than {_MAX_BODY >> 20} MB")
        except TimeoutError as error:
            raise ERRORS.idle_timeout(self._first_token_timeout) from error
        except _CONNECTION_ERRORS as error:
            raise ERRORS.incomplete_stream() from error
        return bytes(data)

    async def _open_response(
        self, method: str, path: str, body: dict[str, Any] | None, seconds: float
    ) -> aiohttp.ClientResponse:
        try:
            data = None if body is None else msgspec.json.encode(body)
        except UnicodeEncodeError as error:
            raise CallerError("The text contains half a character (a lone surrogate).") from error
        url = self._base.join(URL(path))
        try:
            async with asyncio.timeout(seconds):
                response = await self._get_session().request(
                    method, url, data=data, headers=self._headers, allow_redirects=False
                )
        except aiohttp.ConnectionTimeoutError as error:
            raise ERRORS.connection_refused() from error
        except TimeoutError as error:
            raise ERRORS.first_token_timeout(seconds) from error
        except aiohttp.ClientConnectorError as error:
            raise ERRORS.connection_refused() from error
        except aiohttp.ClientResponseError as error:
            raise ERRORS.invalid_response("not HTTP") from error
        except _CONNECTION_ERRORS as error:
            # The request may have arrived, so it must not be retried.
            raise ERRORS.incomplete_stream() from error
        if response.status == 200:
            return response
        raise await _read_error(response)

    def _get_session(self) -> aiohttp.ClientSession:
        if self._closed:
            raise ERRORS.connection_refused()
        if self._session is None:
            self._session = aiohttp.ClientSession(
                # A llama-server closes idle connections without notice, so reused ones sometimes break.
                connector=aiohttp.TCPConnector(limit=0, force_close=True),
                timeout=aiohttp.ClientTimeout(total=None, connect=self._connect_timeout),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                trust_env=False,
            )
        return self._session


def parse_server_url(url: str) -> URL:
    parsed = client.parse_base_url(url, "The llama-server's address")
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


async def _read_error(response: aiohttp.ClientResponse) -> RightseatError:
    body = b""
    with contextlib.suppress(TimeoutError, *_CONNECTION_ERRORS):
        async with asyncio.timeout(ERROR_BODY_SECONDS):
            while len(body) < ERROR_BODY and (data := await response.content.readany()):
                body += data
    response.close()
    log.debug("llama-server: HTTP %d %r", response.status, body[:300])
    return error_from_response(response.status, body)
