"""Send prompts to their slots (SlotScheduler) and precache prefixes on disk."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from rightseat.errors import ConfigError, ContextTooLong
from rightseat.models.llamacpp.client import LlamaServerClient
from rightseat.models.llamacpp.prefixes import CachedPrefix, save_prefix
from rightseat.models.llamacpp.process import LaunchOptions
from rightseat.models.llamacpp.seats import (
    NO_CONVERSATION,
    ConversationRef,
    PromptText,
    SlotScheduler,
    read_prompt,
)
from rightseat.models.llamacpp.wire import CompletionChunk
from rightseat.types.model import Prompt
from rightseat.types.streams import closing


class CompletionServer(Protocol):
    """A ManagedServer, SharedServer or AttachedServer; the first two have a `launch`."""

    async def client(self) -> LlamaServerClient: ...
    def stream_completion(self, request: dict[str, Any], /) -> AsyncIterator[CompletionChunk]: ...


# By client: a restarted process has a new client and empty slots.
_schedulers: WeakKeyDictionary[LlamaServerClient, SlotScheduler] = WeakKeyDictionary()
# By launch: files outlive the process.
_prefixes: dict[LaunchOptions, list[CachedPrefix]] = {}


def get_scheduler(launch: LaunchOptions, client: LlamaServerClient) -> SlotScheduler:
    scheduler = _schedulers.get(client)
    if scheduler is None:
        scheduler = _schedulers[client] = SlotScheduler(launch)
    scheduler.prefixes = _prefixes.get(launch, [])
    return scheduler


def get_conversation(prompt: Prompt) -> ConversationRef:
    return ConversationRef(prompt.conversation, prompt.parent)


async def stream_in_slot(
    server: CompletionServer, request: dict[str, Any], conversation: ConversationRef = NO_CONVERSATION
) -> AsyncIterator[CompletionChunk]:
    """Stream a completion in the slot that has most of the prompt; attached servers choose themselves."""
    launch: LaunchOptions | None = getattr(server, "launch", None)
    if launch is None:
        async with closing(server.stream_completion(request)) as pieces:
            async for piece in pieces:
                yield piece
        return
    client = await server.client()
    async with get_scheduler(launch, client).acquire_slot(
        _slot_prompt(request), conversation, client
    ) as slot:
        stream = server.stream_completion({**request, "id_slot": slot.number})
        async with closing(stream) as pieces:
            async for piece in pieces:
                yield piece


def _slot_prompt(request: dict[str, Any]) -> PromptText:
    """Return the prompt as the slot's key: with the adapter the KV cache differs, so the key does too."""
    prompt: PromptText = request["prompt"]
    if not request.get("lora"):
        return prompt
    return f"\0{prompt}" if isinstance(prompt, str) else [-1, *prompt]


async def precache_prefix(server: CompletionServer, prefix: PromptText) -> None:
    """Ensure that a prompt prefix is cached on disk; processes and saves it if it is not."""
    launch: LaunchOptions | None = getattr(server, "launch", None)
    if launch is None or launch.slot_save_path is None:
        return
    client = await server.client()
    known = _prefixes.setdefault(launch, [])
    if any(one.prompt == prefix and one.is_intact(launch.slot_save_path) for one in known):
        return
    known[:] = [one for one in known if one.prompt != prefix]
    cached = await asyncio.to_thread(CachedPrefix.find, launch, prefix)
    if cached is None:
        try:
            async with get_scheduler(launch, client).acquire_slot(prefix, NO_CONVERSATION, client) as slot:
                await read_prompt(client, prefix, slot.number)
                cached = await save_prefix(client, slot.number, launch, prefix)
        except ContextTooLong as error:
            raise ConfigError(f"precache: {error.message}", param="precache") from error
    known.append(cached)
