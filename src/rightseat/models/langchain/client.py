"""Stream a Prompt through a LangChain model, Runnable or function."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Iterator
from typing import Any

from rightseat.models.langchain import request
from rightseat.models.langchain.answer import Answer
from rightseat.models.langchain.binding import bound, declared
from rightseat.models.langchain.reading import END, Reading, Times, threaded
from rightseat.models.langchain.source import Source
from rightseat.types.capabilities import Abilities
from rightseat.types.chunks import Fragment
from rightseat.types.model import Prompt


class LangChain:
    """A chat model, Runnable or function. `name`: its spec; `input_key`: the chain's key for messages."""

    enforces_schema = False

    def __init__(
        self, name: str, source: Source, *, abilities: Abilities, times: Times, input_key: str | None = None
    ) -> None:
        self.name = name
        self.abilities = abilities
        self.images = abilities.images
        self._source = source
        self._times = times
        self._input_key = input_key

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[Fragment]:
        answer = Answer(self.name)
        reading = Reading(self._times)
        # A Runnable may yield iterators: read the innermost first.
        streams = [self._asked(prompt)]
        try:
            while streams:
                value = await reading.next(streams[-1])
                if value is END:
                    streams.pop()
                elif (inner := _stream(value)) is not None:
                    streams.append(inner)
                else:
                    for fragment in answer.take(value):
                        reading.spoken = True
                        yield fragment
            for fragment in answer.end():
                yield fragment
        finally:
            await reading.close()

    async def _asked(self, prompt: Prompt) -> AsyncIterator[Any]:
        """Call the source and yield one value: the answer, or an iterator of it."""
        messages = request.messages(prompt, self.name)
        function = self._source.answers
        if function is not None:
            more = {"tools": declared(prompt.callable)} if self._source.asks_tools else {}
            if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
                given = function(messages, **more)
            else:
                given = await asyncio.to_thread(function, messages, **more)
            yield await given if inspect.isawaitable(given) else given
            return
        source = bound(await self._source.runnable(), prompt)
        given = messages if self._input_key is None else {self._input_key: messages}
        # No callbacks: they would receive user messages.
        yield source.astream(given, config={"callbacks": []})


def _stream(value: Any) -> AsyncIterator[Any] | None:
    if hasattr(value, "__aiter__"):
        found: AsyncIterator[Any] = aiter(value)
        return found
    return threaded(value) if isinstance(value, Iterator) else None
