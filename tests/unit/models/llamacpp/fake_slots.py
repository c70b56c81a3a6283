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

import msgspec

from rightseat.errors import ContextTooLong, UpstreamError
from rightseat.models.llamacpp.child import LaunchOptions
from rightseat.models.llamacpp.client import ChatEvent, CompletionChunk, LlamaServerClient, Timings
from rightseat.models.llamacpp.prefix_cache import PromptText
from rightseat.models.llamacpp.slot_scheduler import ConversationRef, common_prefix_length, stream_in_slot
from rightseat.types.streams import closing

ANSWER = " and so on"
CONTEXT_SIZE = 100_000


class FakeSlotClient(LlamaServerClient):
    """The client's side of it. `gate` holds answers back, once their slot is taken."""

    def __init__(self, slot_count: int, folder: Path | None, *, memory: bool = True) -> None:
        super().__init__("http://127.0.0.1:1")
        self.slot_prompts: list[PromptText] = [""] * slot_count
        self.prompt_cache: list[PromptText] | None = [] if memory else None
        self.slot_locks = [asyncio.Lock() for _ in range(slot_count)]
        self.gate = asyncio.Event()
        self.gate.set()
        self.actions_fail = False
        self.waits = 0
        self.actions: list[str] = []
        self.max_busy = 0
        self._folder = folder

    async def run_slot_action(self, number: int, action: str, file: str = "") -> None:
        self.actions.append(action)
        if self.actions_fail or self._folder is None:
            raise UpstreamError("no")
        assert not self.slot_locks[number].locked(), "a busy slot would be waited for"
        if action == "save":
            (self._folder / file).write_text(json.dumps(self.slot_prompts[number]))
        else:
            # What is no JSON fails the test; it would end the real one.
            self.slot_prompts[number] = json.loads((self._folder / file).read_text())

    async def stream_completion(self, request: dict[str, Any]) -> AsyncIterator[CompletionChunk]:
        number, prompt = request["id_slot"], request["prompt"]
        if len(prompt) > CONTEXT_SIZE:
            raise ContextTooLong(f"has {len(prompt)}, room for {CONTEXT_SIZE}")
        self.waits += self.slot_locks[number].locked()
        async with self.slot_locks[number]:
            self.max_busy = max(self.max_busy, sum(lock.locked() for lock in self.slot_locks))
            self._load_best_prompt(number, prompt)
            cached = common_prefix_length(self.slot_prompts[number], prompt)
            self.slot_prompts[number] = prompt
            if request["n_predict"]:
                yield CompletionChunk(content=ANSWER)
                await self.gate.wait()
                if isinstance(prompt, str):
                    self.slot_prompts[number] = prompt + ANSWER
            else:
                self.actions.append("read")
            yield CompletionChunk(
                stop=True, id_slot=number, tokens_evaluated=len(prompt), timings=Timings(cache_n=cached)
            )

    def _load_best_prompt(self, number: int, prompt: PromptText) -> None:
        held = self.slot_prompts[number]
        keep, like = common_prefix_length(held, prompt) / (len(held) or 1), common_prefix_length(held, prompt)
        if self.prompt_cache is not None and held and keep < 0.5:
            self._cache_prompt(held)
            best = None
            for text in self.prompt_cache:
                kept = common_prefix_length(text, prompt) / len(text)
                if kept >= 0.25 and kept > keep and common_prefix_length(text, prompt) > like:
                    best, keep, like = text, kept, common_prefix_length(text, prompt)
            if best is not None:
                self.slot_prompts[number] = best
                self.prompt_cache.remove(best)
        for text, lock in zip(self.slot_prompts, self.slot_locks, strict=True):
            if text and not lock.locked():
                self._cache_prompt(text)

    def _cache_prompt(self, text: PromptText) -> None:
        """What begins another text is not kept beside it."""
        if self.prompt_cache is not None and not any(
            common_prefix_length(one, text) == len(text) for one in self.prompt_cache
        ):
            self.prompt_cache = [
                *(one for one in self.prompt_cache if common_prefix_length(one, text) < len(one)),
                text,
            ]


class FakeSlotServer:
    """What a model holds: as an Engine is."""

    def __init__(self, slots: int, folder: Path | None, *, memory: bool = True) -> None:
        self.ready = True
        self.launch = LaunchOptions(Path(__file__), slots=slots, slot_save_path=folder, cache_mib=512 if memory else 0)
        self.slots = FakeSlotClient(slots, folder, memory=memory)

    async def start(self) -> None: ...

    async def close(self) -> None: ...

    async def client(self) -> LlamaServerClient:
        return self.slots

    def stream_completion(self, request: dict[str, Any], /) -> AsyncIterator[CompletionChunk]:
        return self.slots.stream_completion(request)

    async def stream_chat(self, request: dict[str, Any], /) -> AsyncIterator[ChatEvent]:
        """Stream an answer to the text of the first message; the last event has its slot and what was known."""
        prompt = {"prompt": request["messages"][0]["content"], "n_predict": 9, "id_slot": request["id_slot"]}
        async with closing(self.slots.stream_completion(prompt)) as pieces:
            async for piece in pieces:
                yield ChatEvent(msgspec.json.encode([piece.id_slot, piece.cached_tokens]), piece.stop)

    async def complete(
        self, prompt: PromptText, conversation: str | None = None, parent: str | None = None
    ) -> CompletionChunk:
        """The end of the answer: its slot, and what was known of the prompt."""
        request = {"prompt": prompt, "n_predict": 9}
        return [piece async for piece in stream_in_slot(self, request, ConversationRef(conversation, parent))][-1]
