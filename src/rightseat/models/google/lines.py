"""Check the SSE lines of a response before the SDK reads them.

The SDK nests generators; an error raised in an outer one leaves the inner ones to the garbage collector. So
payload errors are raised here, below all of them. The SDK also supports neither comments nor `data:` without
a space.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import aiohttp
import msgspec
from aiohttp.http_exceptions import LineTooLong
from msgspec import Struct

from rightseat.models.google import faults


class _Call(Struct, gc=False):
    name: str | None = None
    args: dict[str, Any] | None = None
    id: str | None = None


class _Part(Struct, rename="camel", gc=False):
    text: str | None = None
    thought: bool | None = None
    thought_signature: str | None = None
    function_call: _Call | None = None


class _Content(Struct, gc=False):
    parts: list[_Part] | None = None
    role: str | None = None


class _Candidate(Struct, rename="camel", gc=False):
    content: _Content | None = None
    finish_reason: str | None = None
    index: int | None = None


class _Chunk(Struct, rename="camel", gc=False):
    candidates: list[_Candidate] | None = None
    usage_metadata: dict[str, Any] | None = None
    prompt_feedback: dict[str, Any] | None = None
    error: Any = None


_CHUNK = msgspec.json.Decoder(_Chunk)
_ERROR = msgspec.json.Decoder(dict[str, Any] | list[dict[str, Any]])
_IGNORED = (b":", b"event:", b"id:", b"retry:")


class Lines:
    """Replaces the content reader of a response; `log_payload` receives error payloads."""

    def __init__(self, content: aiohttp.StreamReader, note: Callable[[str, bytes], None]) -> None:
        self._content = content
        self._note = note
        self._data: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._content, name)

    async def readline(self, **options: Any) -> bytes:
        while True:
            try:
                line = await self._content.readline(**options)
            except (LineTooLong, ValueError) as error:
                raise faults.garbled("an answer in one endless line") from error
            if not line.strip():
                self._check()
                return line
            if line.startswith(b"data:"):
                data = line[5:].removeprefix(b" ")
                self._data.append(data)
                return b"data: " + data
            if not line.startswith(_IGNORED):
                raise faults.garbled("not an event stream")

    def _check(self) -> None:
        if not self._data:
            return
        payload, self._data = b"".join(self._data), []
        try:
            chunk = _CHUNK.decode(payload)
        except RecursionError:
            # `from None`: the traceback of a RecursionError has a thousand useless frames.
            raise faults.garbled("JSON that is too deep") from None
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            self._failed(payload)
            raise faults.garbled("not the JSON of an answer") from error
        if chunk.error is not None:
            self._failed(payload)
            raise faults.garbled("an error that is none")

    def _failed(self, payload: bytes) -> None:
        """Raise the error that the payload holds, if any."""
        try:
            found = faults.error_of(_ERROR.decode(payload))
        except (msgspec.DecodeError, UnicodeDecodeError):
            return
        if found:
            self._note("in the stream", payload)
            raise faults.of_error(faults.code_of(found), found, {})
