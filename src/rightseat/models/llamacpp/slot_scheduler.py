"""Assign prompts to slots of our own llama-server, so that a conversation pays only for new tokens.

A slot keeps the KV cache of the prompt it read last. The server itself picks the most similar slot, so that
conversations with the same long system prompt overwrite each other in one slot while others stay empty.
Here a conversation returns to its own slot. Any other prompt gets the least recently used slot, and the
longest prefix that it shares with an idle slot or with a CachedPrefix is first copied there. The evicted
prompt goes to the server's prompt cache, from where it can return.

A prompt waits only when no slot is free. Slots of attached servers and of an engine that several workers share are not
managed.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
from collections import deque
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from msgspec import Struct

from rightseat.errors import ConfigError, ContextTooLong, RightseatError
from rightseat.models.llamacpp.brokered import find_engines_socket
from rightseat.models.llamacpp.child import LaunchOptions
from rightseat.models.llamacpp.client import ChatEvent, CompletionChunk, LlamaServer, LlamaServerClient
from rightseat.models.llamacpp.prefix_cache import CachedPrefix, PromptText, remove_file, save_prefix
from rightseat.types.model import Prompt
from rightseat.types.streams import closing

# Minimum shared prefix worth a copy; reading less again is faster.
_MIN_COPY_CHARS, _MIN_COPY_TOKENS = 256, 64

# Shares at most the BOS token with any prompt: reading it makes the server evict the slot's prompt.
_FILLER_PROMPT = " . ."
_MAX_EVICTED = 64
log = logging.getLogger(__name__)


class ConversationRef(Struct, frozen=True):
    """The conversation of a prompt, if known. `parent`: the conversation that it was forked from."""

    conversation: str | None = None
    parent: str | None = None


NO_CONVERSATION = ConversationRef()


@dataclass(slots=True, eq=False)
class ServerSlot:
    """A slot of the server. `prompt` was read last; `last_used` is the number of that request."""

    number: int
    prompt: PromptText = ""
    conversation: str | None = None
    busy: bool = False
    last_used: int = 0


class SlotScheduler:
    """Schedules prompts on the slots of one server process."""

    def __init__(self, launch: LaunchOptions) -> None:
        self.slots = [ServerSlot(number) for number in range(launch.slots)]
        self.prefixes: list[CachedPrefix] = []
        self._launch = launch
        self._free_slots = asyncio.Semaphore(launch.slots)
        # Serialized: a slot must stay idle while it is copied from.
        self._assignment = asyncio.Lock()
        self._evicted: deque[PromptText] = deque(maxlen=_MAX_EVICTED)
        self._count = 0

    @asynccontextmanager
    async def acquire_slot(
        self, prompt: PromptText, conversation: ConversationRef, client: LlamaServerClient
    ) -> AsyncIterator[ServerSlot]:
        async with self._free_slots:
            async with self._assignment:
                slot = self._find_own_slot(prompt, conversation)
                if slot is None:
                    slot = min(self._idle_slots(), key=lambda slot: slot.last_used)
                    await self._prepare_slot(slot, prompt, client)
                self._count += 1
                slot.busy, slot.last_used = True, self._count
                slot.prompt, slot.conversation = prompt, conversation.conversation
            try:
                yield slot
            finally:
                slot.busy = False

    def _idle_slots(self) -> list[ServerSlot]:
        return [slot for slot in self.slots if not slot.busy]

    def _find_own_slot(self, prompt: PromptText, conversation: ConversationRef) -> ServerSlot | None:
        """Return the idle slot that this prompt continues. A fork never takes its parent's slot."""
        for slot in sorted(self._idle_slots(), key=lambda slot: slot.last_used, reverse=True):
            shared, length = common_prefix_length(slot.prompt, prompt), len(slot.prompt)
            if (
                conversation.parent is not None
                and slot.conversation == conversation.parent != conversation.conversation
            ):
                continue
            # Templates and users change earlier messages, but one key may also be shared by conversations.
            known = conversation.conversation is not None and conversation.conversation == slot.conversation
            if length and (shared == length or (known and 2 * shared >= length)):
                return slot
        return None

    async def _prepare_slot(self, slot: ServerSlot, prompt: PromptText, client: LlamaServerClient) -> None:
        """Copy the shared prefix into the slot and let the server cache the evicted prompt."""
        evicted = slot.prompt
        min_copy = _MIN_COPY_CHARS if isinstance(prompt, str) else _MIN_COPY_TOKENS

        def shared(other: ServerSlot | CachedPrefix) -> int:
            length = common_prefix_length(other.prompt, prompt)
            # A copy covers the whole slot: if little of it is shared, reading is faster.
            return length if other is slot or 4 * length >= len(other.prompt) else 0

        shared_here = shared(slot)
        sources: list[ServerSlot | CachedPrefix] = [*self.prefixes, *self._idle_slots()]
        source = max(sources, key=shared)
        if shared(source) < shared_here + min_copy:
            source = slot
        in_server_cache = self._take_evicted(prompt, more_than=shared(source) + min_copy)
        copied = not in_server_cache and shared(source) >= min_copy
        loses_prompt = len(evicted) - shared_here >= min_copy
        # The server checks its prompt cache itself if a slot would lose more than half of its prompt.
        server_looks_itself = bool(evicted) and 2 * shared_here < len(evicted)
        evict = (
            loses_prompt
            if copied
            else (in_server_cache or self._is_in_busy_slot(prompt, shared_here + min_copy)) and not server_looks_itself
        )
        try:
            await self._fill_slot(slot, source if copied else None, client, evict=evict)
        except RightseatError as error:
            # An optimization only: without it the prompt is read again.
            log.debug("slot %d is not prepared: %s", slot.number, error)
        if loses_prompt:
            self._evicted.append(evicted)

    def _take_evicted(self, prompt: PromptText, *, more_than: int) -> bool:
        """Return whether the server's prompt cache has a longer prefix than any slot; forgets that entry."""
        if not self._evicted or not self._launch.cache_mib:
            return False
        best = max(self._evicted, key=lambda evicted: common_prefix_length(evicted, prompt))
        if common_prefix_length(best, prompt) < more_than:
            return False
        self._evicted.remove(best)
        return True

    def _is_in_busy_slot(self, prompt: PromptText, min_shared: int) -> bool:
        """Return whether a busy slot shares this prefix; the server's cache may have its earlier turns."""
        return any(slot.busy and common_prefix_length(slot.prompt, prompt) >= min_shared for slot in self.slots)

    async def _fill_slot(
        self, slot: ServerSlot, source: ServerSlot | CachedPrefix | None, client: LlamaServerClient, *, evict: bool
    ) -> None:
        evict = evict and self._launch.cache_mib > 0
        folder = self._launch.slot_save_path
        if folder is None or (source is slot and not evict):
            source = None
        if isinstance(source, CachedPrefix) and folder is not None and not source.is_intact(folder):
            self.prefixes.remove(source)
            source = None
        if source is None and not evict:
            return
        slot.prompt, slot.conversation = "", None
        copy = f"copy-{secrets.token_hex(8)}"
        name = source.file_name if isinstance(source, CachedPrefix) else copy
        try:
            if isinstance(source, ServerSlot):
                await client.run_slot_action(source.number, "save", copy)
            if evict:
                await read_prompt(client, _FILLER_PROMPT, slot.number)
            if source is not None:
                await client.run_slot_action(slot.number, "restore", name)
        finally:
            if isinstance(source, ServerSlot) and folder is not None:
                remove_file(folder / copy)


def common_prefix_length(left: PromptText, right: PromptText) -> int:
    """Return the length of the common prefix (0 for text against tokens)."""
    if type(left) is not type(right):
        return 0
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


async def read_prompt(client: LlamaServerClient, prompt: PromptText, slot: int) -> None:
    """Let a slot process a prompt without generating."""
    request = {"prompt": prompt, "n_predict": 0, "id_slot": slot, "cache_prompt": True}
    async with closing(client.stream_completion(request)) as pieces:
        async for _ in pieces:
            pass


# By client: a restarted process has a new client and empty slots.
_schedulers: WeakKeyDictionary[LlamaServerClient, SlotScheduler] = WeakKeyDictionary()

# By launch: files outlive the process.
_prefixes: dict[LaunchOptions, list[CachedPrefix]] = {}


def add_prefixes(launch: LaunchOptions, prefixes: Iterable[CachedPrefix]) -> None:
    """Offer saved states to the engine of a launch, in place of those of the same prompts."""
    known = _prefixes.setdefault(launch, [])
    added = list(prefixes)
    prompts = [entry.prompt for entry in added]
    known[:] = [*(entry for entry in known if entry.prompt not in prompts), *added]


def get_scheduler(launch: LaunchOptions, client: LlamaServerClient) -> SlotScheduler:
    scheduler = _schedulers.get(client)
    if scheduler is None:
        scheduler = _schedulers[client] = SlotScheduler(launch)
    scheduler.prefixes = _prefixes.get(launch, [])
    return scheduler


def get_conversation(prompt: Prompt) -> ConversationRef:
    return ConversationRef(prompt.conversation, prompt.parent)


async def stream_in_slot(
    server: LlamaServer, request: dict[str, Any], conversation: ConversationRef = NO_CONVERSATION
) -> AsyncIterator[CompletionChunk]:
    """Stream a completion in the slot that has most of the prompt; attached servers choose themselves."""
    async with (
        _assign_slot(server, request, _prompt_key(request["prompt"]), conversation) as body,
        closing(server.stream_completion(body)) as chunks,
    ):
        async for chunk in chunks:
            yield chunk


async def stream_chat_in_slot(
    server: LlamaServer, request: dict[str, Any], prompt: PromptText, conversation: ConversationRef = NO_CONVERSATION
) -> AsyncIterator[ChatEvent]:
    """Stream an answer of the engine's chat route in a slot. `prompt`: what the template renders of the request."""
    async with _assign_slot(server, request, prompt, conversation) as body, closing(server.stream_chat(body)) as events:
        async for event in events:
            yield event


@asynccontextmanager
async def _assign_slot(
    server: LlamaServer, request: dict[str, Any], prompt: PromptText, conversation: ConversationRef
) -> AsyncIterator[dict[str, Any]]:
    """Acquire a slot of our own server; yields the request with its number."""
    if server.launch is None or find_engines_socket() is not None:
        yield request
        return
    client = await server.client()
    scheduler = get_scheduler(server.launch, client)
    async with scheduler.acquire_slot(_slot_key(request, prompt), conversation, client) as slot:
        yield {**request, "id_slot": slot.number}


def _slot_key(request: dict[str, Any], prompt: PromptText) -> PromptText:
    """Return the prompt as the slot's key: with the adapter the KV cache differs, so the key does too."""
    if not request.get("lora"):
        return prompt
    return f"\0{prompt}" if isinstance(prompt, str) else [-1, *prompt]


def _prompt_key(prompt: PromptText | dict[str, Any]) -> PromptText:
    """Return a text for a prompt with images: other images are another prompt, though the text is the same."""
    if not isinstance(prompt, dict):
        return prompt
    digest = hashlib.sha256("\0".join(prompt["multimodal_data"]).encode()).hexdigest()
    return f"\1{digest}{prompt['prompt_string']}"


async def precache_prefix(server: LlamaServer, prefix: PromptText) -> None:
    """Ensure that a prompt prefix is cached on disk; processes and saves it if it is not."""
    launch = server.launch
    if launch is None or launch.slot_save_path is None or find_engines_socket() is not None:
        return
    client = await server.client()
    known = _prefixes.setdefault(launch, [])
    if any(entry.prompt == prefix and entry.is_intact(launch.slot_save_path) for entry in known):
        return
    known[:] = [entry for entry in known if entry.prompt != prefix]
    cached = await asyncio.to_thread(CachedPrefix.find, launch, prefix)
    if cached is None:
        try:
            async with get_scheduler(launch, client).acquire_slot(prefix, NO_CONVERSATION, client) as slot:
                await read_prompt(client, prefix, slot.number)
                cached = await save_prefix(client, slot.number, launch, prefix)
        except ContextTooLong as error:
            raise ConfigError(f"precache: {error.message}", param="precache") from error
    known.append(cached)
