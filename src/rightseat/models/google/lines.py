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


_CHUNK_DECODER = msgspec.json.Decoder(_Chunk)
_ERROR_DECODER = msgspec.json.Decoder(dict[str, Any] | list[dict[str, Any]])
_IGNORED_PREFIXES = (b":", b"event:", b"id:", b"retry:")


class CheckedStreamReader:
    """Replaces the content reader of a response; `log_payload` receives error payloads."""

    def __init__(self, content: aiohttp.StreamReader, log_payload: Callable[[str, bytes], None]) -> None:
        self._content = content
        self._log_payload = log_payload
        self._data: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._content, name)

    async def readline(self, **options: Any) -> bytes:
        while True:
            try:
                line = await self._content.readline(**options)
            except (LineTooLong, ValueError) as error:
                raise faults.garbled_error("an answer in one endless line") from error
            if not line.strip():
                self._check_event()
                return line
            if line.startswith(b"data:"):
                data = line[5:].removeprefix(b" ")
                self._data.append(data)
                return b"data: " + data
            if not line.startswith(_IGNORED_PREFIXES):
                raise faults.garbled_error("not an event stream")

    def _check_event(self) -> None:
        if not self._data:
            return
        payload, self._data = b"".join(self._data), []
        try:
            chunk = _CHUNK_DECODER.decode(payload)
        except RecursionError:
            # `from None`: the traceback of a RecursionError has a thousand useless frames.
            raise faults.garbled_error("JSON that is too deep") from None
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            self._raise_payload_error(payload)
            raise faults.garbled_error("not the JSON of an answer") from error
        if chunk.error is not None:
            self._raise_payload_error(payload)
            raise faults.garbled_error("an error that is none")

    def _raise_payload_error(self, payload: bytes) -> None:
        """Raise the error that the payload holds, if any."""
        try:
            error_object = faults.find_error(_ERROR_DECODER.decode(payload))
        except (msgspec.DecodeError, UnicodeDecodeError):
            return
        if error_object:
            self._log_payload("in the stream", payload)
            raise faults.from_error(faults.find_code(error_object), error_object, {})
