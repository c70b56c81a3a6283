"""Assign prompts to slots of our own llama-server, so that a conversation pays only for new tokens.

A slot keeps the KV cache of the prompt it read last. The server itself picks the most similar slot, so that
conversations with the same long system prompt overwrite each other in one slot while others stay empty.
Here a conversation returns to its own slot. Any other prompt gets the least recently used slot, and the
longest prefix that it shares with an idle slot or with a CachedPrefix is first copied there. The evicted
prompt goes to the server's prompt cache, from where it can return.

A prompt waits only when no slot is free. Slots of attached servers are not managed.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from msgspec import Struct

from rightseat.errors import RightseatError
from rightseat.models.llamacpp.client import Client
from rightseat.models.llamacpp.prefixes import Prefix, removed
from rightseat.models.llamacpp.process import Launch
from rightseat.types.streams import closing

# A prompt as sent: text, or token ids if it contains foreign control tokens.
Text = str | list[int]
# Minimum shared prefix worth a copy; reading less again is faster.
_LEAST_TEXT, _LEAST_TOKENS = 256, 64
# Shares at most the BOS token with any prompt: reading it makes the server evict the slot's prompt.
_NOTHING = " . ."
_REMEMBERED = 64

log = logging.getLogger(__name__)


class Talk(Struct, frozen=True):
    """The conversation of a prompt, if known. `parent`: the conversation that it was forked from."""

    conversation: str | None = None
    parent: str | None = None


NOBODY = Talk()


@dataclass(slots=True, eq=False)
class Slot:
    """A slot of the server. `prompt` was read last; `last_used` is the number of that request."""

    number: int
    held: Text = ""
    conversation: str | None = None
    busy: bool = False
    used: int = 0


class Seats:
    """Schedules prompts on the slots of one server process."""

    def __init__(self, launch: Launch) -> None:
        self.slots = [Slot(number) for number in range(launch.slots)]
        self.prefixes: list[Prefix] = []
        self._launch = launch
        self._room = asyncio.Semaphore(launch.slots)
        # Serialized: a slot must stay idle while it is copied from.
        self._choosing = asyncio.Lock()
        self._gone: deque[Text] = deque(maxlen=_REMEMBERED)
        self._count = 0

    @asynccontextmanager
    async def seat(self, text: Text, talk: Talk, client: Client) -> AsyncIterator[Slot]:
        async with self._room:
            async with self._choosing:
                slot = self._own(text, talk)
                if slot is None:
                    slot = min(self._resting(), key=lambda slot: slot.used)
                    await self._prepare(slot, text, client)
                self._count += 1
                slot.busy, slot.used = True, self._count
                slot.held, slot.conversation = text, talk.conversation
            try:
                yield slot
            finally:
                slot.busy = False

    def _resting(self) -> list[Slot]:
        return [slot for slot in self.slots if not slot.busy]

    def _own(self, text: Text, talk: Talk) -> Slot | None:
        """Return the idle slot that this prompt continues. A fork never takes its parent's slot."""
        for slot in sorted(self._resting(), key=lambda slot: slot.used, reverse=True):
            shared, length = common(slot.held, text), len(slot.held)
            if talk.parent is not None and slot.conversation == talk.parent != talk.conversation:
                continue
            # Templates and users change earlier messages, but one key may also be shared by conversations.
            known = talk.conversation is not None and talk.conversation == slot.conversation
            if length and (shared == length or (known and 2 * shared >= length)):
                return slot
        return None

    async def _prepare(self, slot: Slot, text: Text, client: Client) -> None:
        """Copy the shared prefix into the slot and let the server cache the evicted prompt."""
        held, least = slot.held, _least(text)

        def shared(other: Slot | Prefix) -> int:
            found = common(other.held, text)
            # A copy covers the whole slot: if little of it is shared, reading is faster.
            return found if other is slot or 4 * found >= len(other.held) else 0

        here = shared(slot)
        sources: list[Slot | Prefix] = [*self.prefixes, *self._resting()]
        source = max(sources, key=shared)
        if shared(source) < here + least:
            source = slot
        back = self._called_back(text, more_than=shared(source) + least)
        copied = not back and shared(source) >= least
        lost = len(held) - here >= least
        # The server checks its prompt cache itself if a slot would lose more than half of its prompt.
        looks = bool(held) and 2 * here < len(held)
        let_go = lost if copied else (back or self._under_way(text, here + least)) and not looks
        try:
            await self._filled(slot, source if copied else None, client, let_go=let_go)
        except RightseatError as error:
            # An optimization only: without it the prompt is read again.
            log.debug("slot %d is not prepared: %s", slot.number, error)
        if lost:
            self._gone.append(held)

    def _called_back(self, text: Text, *, more_than: int) -> bool:
        """Return whether the server's prompt cache has a longer prefix than any slot; forgets that entry."""
        if not self._gone or not self._launch.cache_mib:
            return False
        best = max(self._gone, key=lambda held: common(held, text))
        if common(best, text) < more_than:
            return False
        self._gone.remove(best)
        return True

    def _under_way(self, text: Text, least: int) -> bool:
        """Return whether a busy slot shares this prefix; the server's cache may have its earlier turns."""
        return any(slot.busy and common(slot.held, text) >= least for slot in self.slots)

    async def _filled(
        self, slot: Slot, source: Slot | Prefix | None, client: Client, *, let_go: bool
    ) -> None:
        let_go = let_go and self._launch.cache_mib > 0
        folder = self._launch.saves
        if folder is None or (source is slot and not let_go):
            source = None
        if isinstance(source, Prefix) and folder is not None and not source.intact(folder):
            self.prefixes.remove(source)
            source = None
        if source is None and not let_go:
            return
        slot.held, slot.conversation = "", None
        copy = f"copy-{secrets.token_hex(8)}"
        name = source.name if isinstance(source, Prefix) else copy
        try:
            if isinstance(source, Slot):
                await client.slot(source.number, "save", copy)
            if let_go:
                await asked(client, _NOTHING, slot.number)
            if source is not None:
                await client.slot(slot.number, "restore", name)
        finally:
            if isinstance(source, Slot) and folder is not None:
                removed(folder / copy)


def common(one: Text, other: Text) -> int:
    """Return the length of the common prefix (0 for text against tokens)."""
    if type(one) is not type(other):
        return 0
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _least(text: Text) -> int:
    return _LEAST_TEXT if isinstance(text, str) else _LEAST_TOKENS


async def asked(client: Client, prompt: Text, slot: int) -> None:
    """Let a slot process a prompt without generating."""
    request = {"prompt": prompt, "n_predict": 0, "id_slot": slot, "cache_prompt": True}
    async with closing(client.completion(request)) as pieces:
        async for _ in pieces:
            pass
