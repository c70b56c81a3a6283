"""HTTP client of a llama-server: streamed completions, tokenization, embeddings, slots and health."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from typing import Any, Literal, TypeVar

import aiohttp
import msgspec
from yarl import URL

from rightseat.config.secret import Secret
from rightseat.errors import CallerError, RightseatError
from rightseat.http import address as http
from rightseat.http.sse import Reader
from rightseat.models.llamacpp import faults
from rightseat.models.llamacpp.silence import Silence
from rightseat.models.llamacpp.wire import Piece, Token, Tokens

_ERROR_BODY = 64 << 10
_REPLY = 64 << 20
_ERROR_SECONDS = 2.0
_CUT = (aiohttp.ClientError, OSError)

log = logging.getLogger(__name__)
T = TypeVar("T")


class Client:
    """Client of one llama-server. `own_server`: we started it, so it is known to be built with llguidance."""

    def __init__(
        self,
        url: str,
        key: Secret | None = None,
        *,
        ours: bool = False,
        connect_timeout: float = 10,
        first_token_timeout: float = 600,
        idle_timeout: float = 60,
    ) -> None:
        self._base = address(url)
        self._ours = ours
        self._headers = {
            "Content-Type": "application/json",
            "Accept-Encoding": "identity",
            "User-Agent": "rightseat",
            **({"Authorization": f"Bearer {key.reveal()}"} if key else {}),
        }
        self._connect = connect_timeout
        self._first = first_token_timeout
        self._idle = idle_timeout
        self._session: aiohttp.ClientSession | None = None
        self._closed = False

    async def close(self) -> None:
        """Close the session; running requests are cut off."""
        self._closed = True
        if self._session is not None:
            await self._session.close()

    async def completion(self, request: dict[str, Any]) -> AsyncIterator[Piece]:
        """Yield the chunks of one completion; the last one has `stop`. Closing the stream closes the
        connection, and the server then stops generating."""
        self._check_grammar(request.get("grammar"))
        # A server notices a disconnect only once its response has begun; progress events begin it early.
        asked = {**request, "stream": True, "return_progress": True}
        response = await self._answer("POST", "completion", asked, self._first)
        silence = Silence(response.close, min(self._first, self._idle))
        try:
            reader = Reader()
            begun = False
            # Several completions of one prompt (n_cmpl) are interleaved; each ends with its own `stop`.
            left = max(1, int(request.get("n_cmpl") or 1))
            while left > 0:
                data = await self._heard(response, silence, begun)
                for payload in reader.feed(data) if data else reader.close():
                    piece = _piece(payload)
                    if piece.prompt_progress is not None:
                        continue
                    begun = True
                    left -= piece.stop
                    yield piece
                if not data and left > 0:
                    raise faults.incomplete()
        finally:
            silence.stop()
            response.close()

    async def tokenize(self, text: str, *, special: bool = True, add: bool = False) -> list[int]:
        """Tokenize text. `special`: parse control tokens in it. `add`: prepend the model's BOS token."""
        body = {"content": text, "add_special": add, "parse_special": special}
        return (await self._call("tokenize", body, Tokens[int])).tokens

    async def pieces(self, text: str, *, special: bool = True) -> list[Token]:
        body = {"content": text, "add_special": False, "parse_special": special, "with_pieces": True}
        return (await self._call("tokenize", body, Tokens[Token])).tokens

    async def detokenize(self, tokens: list[int]) -> str:
        found = await self._call("detokenize", {"tokens": tokens}, dict[str, Any])
        text = found.get("content")
        if not isinstance(text, str):
            raise faults.garbled("no text for tokens")
        return text

    async def embed(self, body: dict[str, Any]) -> dict[str, Any]:
        return await self._call("v1/embeddings", body, dict[str, Any])

    async def props(self) -> dict[str, Any]:
        return await self._call("props", None, dict[str, Any])

    async def slots(self) -> list[dict[str, Any]]:
        return await self._call("slots", None, list[dict[str, Any]])

    async def slot(self, number: int, action: Literal["save", "restore", "erase"], file: str = "") -> None:
        """Save, restore or erase a slot. `file` is a name in the server's slot_save_path."""
        await self._call(f"slots/{number}?action={action}", {"filename": file}, dict[str, Any])

    async def health(self, seconds: float = 5) -> bool:
        """Return whether the server is reachable and has loaded its model."""
        try:
            response = await self._answer("GET", "health", None, seconds)
        except RightseatError:
            return False
        response.close()
        return True

    def _check_grammar(self, grammar: object) -> None:
        # A server built without llguidance aborts its whole process on such a grammar.
        if not self._ours and isinstance(grammar, str) and grammar.lstrip().startswith("%llguidance"):
            raise CallerError(
                "A %llguidance grammar is not passed on to an attached server: it could end it. Send GBNF.",
                param="grammar",
            )

    async def _call(self, path: str, body: dict[str, Any] | None, kind: type[T]) -> T:
        method = "GET" if body is None else "POST"
        response = await self._answer(method, path, body, self._first)
        try:
            return msgspec.json.decode(await self._whole(response), type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise faults.garbled(f"unexpected JSON from /{path.partition('?')[0]}") from error
        finally:
            response.close()

    async def _heard(self, response: aiohttp.ClientResponse, silence: Silence, begun: bool) -> bytes:
        patience = self._idle if begun else self._first
        silence.due = silence.time() + patience
        try:
            return await response.content.readany()
        except _CUT as error:
            if silence.too_long:
                raise faults.silent(patience, begun) from error
            raise faults.incomplete() from error
        finally:
            silence.due = Silence.NEVER

    async def _whole(self, response: aiohttp.ClientResponse) -> bytes:
        data = bytearray()
        try:
            async with asyncio.timeout(self._first):
                while piece := await response.content.readany():
                    data += piece
                    if len(data) > _REPLY:
                        raise faults.garbled(f"more than {_REPLY >> 20} MB")
        except TimeoutError as error:
            raise faults.silent(self._first, True) from error
        except _CUT as error:
            raise faults.incomplete() from error
        return bytes(data)

    async def _answer(
        self, method: str, path: str, body: dict[str, Any] | None, seconds: float
    ) -> aiohttp.ClientResponse:
        try:
            data = None if body is None else msgspec.json.encode(body)
        except UnicodeEncodeError as error:
            raise CallerError("The text contains half a character (a lone surrogate).") from error
        url = self._base.join(URL(path))
        try:
            async with asyncio.timeout(seconds):
                response = await self._connected().request(
                    method, url, data=data, headers=self._headers, allow_redirects=False
                )
        except aiohttp.ConnectionTimeoutError as error:
            raise faults.refused() from error
        except TimeoutError as error:
            raise faults.silent(seconds, False) from error
        except aiohttp.ClientConnectorError as error:
            raise faults.refused() from error
        except aiohttp.ClientResponseError as error:
            raise faults.garbled("not HTTP") from error
        except _CUT as error:
            # The request may have arrived, so it must not be retried.
            raise faults.incomplete() from error
        if response.status == 200:
            return response
        raise await _refusal(response)

    def _connected(self) -> aiohttp.ClientSession:
        if self._closed:
            raise faults.refused()
        if self._session is None:
            self._session = aiohttp.ClientSession(
                # A llama-server closes idle connections without notice, so reused ones sometimes break.
                connector=aiohttp.TCPConnector(limit=0, force_close=True),
                timeout=aiohttp.ClientTimeout(total=None, connect=self._connect),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                trust_env=False,
            )
        return self._session


def address(url: str) -> URL:
    found = http.address(url, "The llama-server's address")
    # Users often copy the address of the OpenAI API; the native endpoints are beside /v1.
    path = found.path.rstrip("/").removesuffix("/v1")
    return found.with_path(path + "/", encoded=True)


def _piece(payload: bytes) -> Piece:
    try:
        piece = msgspec.json.decode(payload, type=Piece)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise faults.garbled("a piece of an answer is not its JSON") from error
    if piece.error is not None:
        raise faults.of_error(500, piece.error)
    return piece


async def _refusal(response: aiohttp.ClientResponse) -> RightseatError:
    body = b""
    with contextlib.suppress(TimeoutError, *_CUT):
        async with asyncio.timeout(_ERROR_SECONDS):
            while len(body) < _ERROR_BODY and (data := await response.content.readany()):
                body += data
    response.close()
    log.debug("llama-server: HTTP %d %r", response.status, body[:300])
    return faults.of_status(response.status, body)
