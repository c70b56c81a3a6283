"""Stream a Prompt through a LangChain model, Runnable or function."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Iterator
from typing import Any

from rightseat.models.langchain import request
from rightseat.models.langchain.answer import LangChainStreamParser
from rightseat.models.langchain.binding import bind_prompt, format_tools
from rightseat.models.langchain.reading import END, LangChainTimeouts, TimedReader, iterate_in_thread
from rightseat.models.langchain.source import RunnableSource
from rightseat.types.capabilities import Capabilities
from rightseat.types.chunks import ModelChunk
from rightseat.types.model import Prompt


class LangChainModel:
    """A chat model, Runnable or function. `name`: its spec; `input_key`: the chain's key for messages."""

    enforces_schema = False

    def __init__(
        self,
        name: str,
        source: RunnableSource,
        *,
        capabilities: Capabilities,
        timeouts: LangChainTimeouts,
        input_key: str | None = None,
    ) -> None:
        self.name = name
        self.capabilities = capabilities
        self.images = capabilities.images
        self._source = source
        self._timeouts = timeouts
        self._input_key = input_key

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        parser = LangChainStreamParser(self.name)
        reader = TimedReader(self._timeouts)
        # A Runnable may yield iterators: read the innermost first.
        streams = [self._call_source(prompt)]
        try:
            while streams:
                value = await reader.read(streams[-1])
                if value is END:
                    streams.pop()
                elif (inner := _as_async_iterator(value)) is not None:
                    streams.append(inner)
                else:
                    for chunk in parser.feed(value):
                        reader.started = True
                        yield chunk
            for chunk in parser.finish():
                yield chunk
        finally:
            await reader.close()

    async def _call_source(self, prompt: Prompt) -> AsyncIterator[Any]:
        """Call the source and yield one value: the answer, or an iterator of it."""
        messages = request.build_messages(prompt, self.name)
        function = self._source.answer_function
        if function is not None:
            tool_arguments = (
                {"tools": format_tools(prompt.callable_tools)} if self._source.wants_tools else {}
            )
            if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
                value = function(messages, **tool_arguments)
            else:
                value = await asyncio.to_thread(function, messages, **tool_arguments)
            yield await value if inspect.isawaitable(value) else value
            return
        runnable = bind_prompt(await self._source.get_runnable(), prompt)
        value = messages if self._input_key is None else {self._input_key: messages}
        # No callbacks: they would receive user messages.
        yield runnable.astream(value, config={"callbacks": []})


def _as_async_iterator(value: Any) -> AsyncIterator[Any] | None:
    if hasattr(value, "__aiter__"):
        iterator: AsyncIterator[Any] = aiter(value)
        return iterator
    return iterate_in_thread(value) if isinstance(value, Iterator) else None
