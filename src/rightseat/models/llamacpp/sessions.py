"""Send prompts to their slots (SlotScheduler) and precache prefixes on disk."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from rightseat.errors import ConfigError, ContextTooLong
from rightseat.models.llamacpp.client import Client
from rightseat.models.llamacpp.prefixes import Prefix, saved
from rightseat.models.llamacpp.process import Launch
from rightseat.models.llamacpp.seats import NOBODY, Seats, Talk, Text, asked
from rightseat.models.llamacpp.wire import Piece
from rightseat.types.model import Prompt
from rightseat.types.streams import closing


class Server(Protocol):
    """A ManagedServer, SharedServer or AttachedServer; the first two have a `launch`."""

    async def client(self) -> Client: ...
    def completion(self, request: dict[str, Any], /) -> AsyncIterator[Piece]: ...


# By client: a restarted process has a new client and empty slots.
_seats: WeakKeyDictionary[Client, Seats] = WeakKeyDictionary()
# By launch: files outlive the process.
_prefixes: dict[Launch, list[Prefix]] = {}


def seats(launch: Launch, client: Client) -> Seats:
    found = _seats.get(client)
    if found is None:
        found = _seats[client] = Seats(launch)
    found.prefixes = _prefixes.get(launch, [])
    return found


def talk(prompt: Prompt) -> Talk:
    return Talk(prompt.conversation, prompt.parent)


async def completion(server: Server, request: dict[str, Any], whose: Talk = NOBODY) -> AsyncIterator[Piece]:
    """Stream a completion in the slot that has most of the prompt; attached servers choose themselves."""
    launch: Launch | None = getattr(server, "launch", None)
    if launch is None:
        async with closing(server.completion(request)) as pieces:
            async for piece in pieces:
                yield piece
        return
    client = await server.client()
    async with seats(launch, client).seat(_read(request), whose, client) as slot:
        answering = server.completion({**request, "id_slot": slot.number})
        async with closing(answering) as pieces:
            async for piece in pieces:
                yield piece


def _read(request: dict[str, Any]) -> Text:
    """Return the prompt as the slot's key: with the adapter the KV cache differs, so the key does too."""
    prompt: Text = request["prompt"]
    if not request.get("lora"):
        return prompt
    return f"\0{prompt}" if isinstance(prompt, str) else [-1, *prompt]


async def precache(server: Server, prefix: Text) -> None:
    """Ensure that a prompt prefix is cached on disk; processes and saves it if it is not."""
    launch: Launch | None = getattr(server, "launch", None)
    if launch is None or launch.saves is None:
        return
    client = await server.client()
    known = _prefixes.setdefault(launch, [])
    if any(one.held == prefix and one.intact(launch.saves) for one in known):
        return
    known[:] = [one for one in known if one.held != prefix]
    place = await asyncio.to_thread(Prefix.found, launch, prefix)
    if place is None:
        try:
            async with seats(launch, client).seat(prefix, NOBODY, client) as slot:
                await asked(client, prefix, slot.number)
                place = await saved(client, slot.number, launch, prefix)
        except ContextTooLong as error:
            raise ConfigError(f"precache: {error.message}", param="precache") from error
    known.append(place)
