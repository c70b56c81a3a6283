"""A llama-server in the test's own process: what it says is given, what it was asked is kept."""

from collections.abc import AsyncIterator
from typing import Any

from rightseat.models.llamacpp.child import LaunchOptions
from rightseat.models.llamacpp.client import ChatEvent, CompletionChunk, TokenPiece


class InProcessServer:
    """Both the server and its client."""

    def __init__(self, *answer: CompletionChunk) -> None:
        self.answer = answer
        self.requests: list[dict[str, Any]] = []
        self.started = self.closed = 0
        self.ready = True
        self.launch: LaunchOptions | None = None

    async def start(self) -> None:
        self.started += 1

    async def close(self) -> None:
        self.closed += 1

    async def client(self) -> Any:
        return self

    async def stream_completion(self, request: dict[str, Any], /) -> AsyncIterator[CompletionChunk]:
        self.requests.append(request)
        for piece in self.answer:
            yield piece

    async def stream_chat(self, request: dict[str, Any], /) -> AsyncIterator[ChatEvent]:
        self.requests.append(request)
        yield ChatEvent(b"[DONE]", stop=True)

    async def tokenize(self, text: str, *, special: bool = True, add: bool = False) -> list[int]:
        return [*([1] if add else []), *map(ord, text)]

    async def tokenize_with_pieces(self, text: str, *, special: bool = True) -> list[TokenPiece]:
        return [TokenPiece(ord(letter), letter) for letter in text]

    async def detokenize(self, tokens: list[int]) -> str:
        return "".join(map(chr, tokens))

    async def embed(self, body: dict[str, Any]) -> dict[str, Any]:
        self.requests.append(body)
        return {"object": "list", "data": [{"embedding": [0.5], "index": 0}], "usage": {"prompt_tokens": 2}}
