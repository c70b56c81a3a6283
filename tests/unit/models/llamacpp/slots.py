"""A llama-server's slots without a model: what they hold, what its memory keeps, and which prompt waits.

Characters stand for tokens. The rules are those found by measuring the real one: a slot that is named is
taken and waited for; where less than half of what it holds is kept, that goes to the memory and the most like
the prompt comes out of it; with every prompt that begins, what rests is copied to the memory.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from rightseat.errors import ContextTooLong, UpstreamError
from rightseat.models.llamacpp.client import CompletionChunk, LlamaServerClient, Timings
from rightseat.models.llamacpp.process import LaunchOptions
from rightseat.models.llamacpp.slot_scheduler import ConversationRef, PromptText, common_prefix_length, stream_in_slot

ANSWER = " and so on"
ROOM = 100_000


class Slots(LlamaServerClient):
    """The client's side of it. `gate` holds answers back, once their slot is taken."""

    def __init__(self, number: int, folder: Path | None, *, memory: bool = True) -> None:
        super().__init__("http://127.0.0.1:1")
        self.held: list[PromptText] = [""] * number
        self.memory: list[PromptText] | None = [] if memory else None
        self.free = [asyncio.Lock() for _ in range(number)]
        self.gate = asyncio.Event()
        self.gate.set()
        self.broken = False
        self.waited = 0
        self.done: list[str] = []
        self.most = 0
        self._folder = folder

    async def run_slot_action(self, number: int, action: str, file: str = "") -> None:
        self.done.append(action)
        if self.broken or self._folder is None:
            raise UpstreamError("no")
        assert not self.free[number].locked(), "a busy slot would be waited for"
        if action == "save":
            (self._folder / file).write_text(json.dumps(self.held[number]))
        else:
            # What is no JSON fails the test; it would end the real one.
            self.held[number] = json.loads((self._folder / file).read_text())

    async def stream_completion(self, request: dict[str, Any]) -> AsyncIterator[CompletionChunk]:
        number, prompt = request["id_slot"], request["prompt"]
        if len(prompt) > ROOM:
            raise ContextTooLong(f"has {len(prompt)}, room for {ROOM}")
        self.waited += self.free[number].locked()
        async with self.free[number]:
            self.most = max(self.most, sum(lock.locked() for lock in self.free))
            self._remember(number, prompt)
            cached = common_prefix_length(self.held[number], prompt)
            self.held[number] = prompt
            if request["n_predict"]:
                yield CompletionChunk(content=ANSWER)
                await self.gate.wait()
                if isinstance(prompt, str):
                    self.held[number] = prompt + ANSWER
            else:
                self.done.append("read")
            yield CompletionChunk(
                stop=True,
                id_slot=number,
                tokens_evaluated=len(prompt),
                timings=Timings(cache_n=cached, prompt_n=len(prompt) - cached),
            )

    def _remember(self, number: int, prompt: PromptText) -> None:
        held = self.held[number]
        keep, like = common_prefix_length(held, prompt) / (len(held) or 1), common_prefix_length(held, prompt)
        if self.memory is not None and held and keep < 0.5:
            self._keep(held)
            best = None
            for text in self.memory:
                kept = common_prefix_length(text, prompt) / len(text)
                if kept >= 0.25 and kept > keep and common_prefix_length(text, prompt) > like:
                    best, keep, like = text, kept, common_prefix_length(text, prompt)
            if best is not None:
                self.held[number] = best
                self.memory.remove(best)
        for text, lock in zip(self.held, self.free, strict=True):
            if text and not lock.locked():
                self._keep(text)

    def _keep(self, text: PromptText) -> None:
        """What begins another text is not kept beside it."""
        if self.memory is not None and not any(common_prefix_length(one, text) == len(text) for one in self.memory):
            self.memory = [*(one for one in self.memory if common_prefix_length(one, text) < len(one)), text]


class Server:
    """What a model holds: as an Engine is."""

    def __init__(self, slots: int, folder: Path | None, *, memory: bool = True) -> None:
        self.launch = LaunchOptions(Path(__file__), slots=slots, slot_save_path=folder, cache_mib=512 if memory else 0)
        self.slots = Slots(slots, folder, memory=memory)

    async def client(self) -> LlamaServerClient:
        return self.slots

    def stream_completion(self, request: dict[str, Any], /) -> AsyncIterator[CompletionChunk]:
        return self.slots.stream_completion(request)

    async def ask(
        self, prompt: PromptText, conversation: str | None = None, parent: str | None = None
    ) -> CompletionChunk:
        """The end of the answer: its slot, and what was known of the prompt."""
        request = {"prompt": prompt, "n_predict": 9}
        return [piece async for piece in stream_in_slot(self, request, ConversationRef(conversation, parent))][-1]
