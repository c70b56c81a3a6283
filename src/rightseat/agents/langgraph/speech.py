"""Texts, reasoning and calls of a graph's models → events. Model runs are tracked separately, because nodes
run in parallel; calls are tracked by index, because one answer may have several."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import msgspec

from rightseat.agents.langgraph.partial import partial
from rightseat.agents.langgraph.wire import CallChunk, Chunk, Metadata, texts, thoughts
from rightseat.types.events import (
    CallArgs,
    CallEnd,
    CallResult,
    CallStart,
    Event,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    TextDelta,
    TextEnd,
    TextStart,
    Usage,
)

encode = msgspec.json.Encoder().encode


class Speech:
    """Model outputs of one run. `client_tools` are the names of the client's tools, `known_ids` the ids of
    the thread's earlier messages, `open_calls` their calls without a result."""

    def __init__(self, clients: Collection[str], known: Collection[str], waiting: Collection[str]) -> None:
        self.clients = frozenset(clients)
        self.known = set(known)
        self.answerable = set(waiting)
        self.calls: dict[str, bool] = {}
        """Calls emitted and ended in this run: by id, whether the client runs it."""
        self.said: set[str] = set()
        """Emitted texts: a node may return a new message with its model's text."""
        self.answered: set[str] = set()
        self.usage: Usage | None = None
        self.open: dict[str, Utterance] = {}

    def started(self, run: str, metadata: Metadata) -> None:
        self.open[run] = Utterance(self, metadata)

    def streamed(self, run: str, metadata: Metadata, chunk: Chunk) -> list[Event]:
        utterance = self.open.get(run)
        if utterance is None:
            # A rejoined stream may begin within an output.
            utterance = self.open[run] = Utterance(self, metadata)
        return utterance.take(chunk)

    def ended(self, run: str, metadata: Metadata, output: Any) -> Iterator[Event]:
        utterance = self.open.pop(run, None) or Utterance(self, metadata)
        yield from utterance.close()
        message = final(output)
        if message is None:
            return
        if isinstance(id := message.get("id"), str):
            self.known.add(id)
        self.count(message.get("usage_metadata"))
        if utterance.silent:
            yield from self.whole(message, metadata)

    def whole(self, message: dict[str, Any], metadata: Metadata) -> Iterator[Event]:
        """Emit a message that was not streamed."""
        id = str(message.get("id") or f"message-{len(self.known)}")
        text = texts(message.get("content"))
        if text and metadata.messages is not False:
            self.said.add(text)
            yield from (TextStart(id), TextDelta(id, text), TextEnd(id))
        for call in message.get("tool_calls") or ():
            match call:
                case {"id": str(call_id), "name": str(name)} if metadata.shows(name):
                    yield from self.call(call_id, name, call.get("args"), id)

    def call(self, id: str, name: str, args: Any, message: str) -> Iterator[Event]:
        """Emit a complete call, unless it was emitted before."""
        if id in self.calls:
            return
        client = self.calls[id] = name in self.clients
        json = args if isinstance(args, str) else encode(args or {}).decode()
        yield from (CallStart(id, name, message, client), CallArgs(id, json or "{}"), CallEnd(id))

    def emitted(self, id: str, text: str) -> list[Event]:
        """Emit a text that the graph sends explicitly."""
        if not text or id in self.known:
            return []
        self.known.add(id)
        self.said.add(text)
        return [TextStart(id), TextDelta(id, text), TextEnd(id)]

    def added(self, message: Any) -> Iterator[Event]:
        """Emit a message that a node added to the state: a tool result, or a text that was not streamed."""
        match message:
            case {"type": "tool", "tool_call_id": str()}:
                yield from self.result(message)
            case {"type": "ai", "id": str(id)} if id not in self.known:
                self.known.add(id)
                if texts(message.get("content")) in self.said:
                    message = {**message, "content": ""}
                yield from self.whole(message, Metadata())

    def result(self, message: Any) -> Iterator[Event]:
        match message:
            case {"tool_call_id": str(id)} if id in self.calls or id in self.answerable:
                if id not in self.answered:
                    self.answered.add(id)
                    yield CallResult(id, worded(message.get("content")), message.get("status") == "error")

    def close(self) -> Iterator[Event]:
        """End all open outputs."""
        for utterance in self.open.values():
            yield from utterance.close()
        self.open.clear()

    def settle(self) -> Iterator[Event]:
        """Emit empty results for the graph's own calls that it left unanswered."""
        for id, client in self.calls.items():
            if not client and id not in self.answered:
                yield CallResult(id, "")

    @property
    def pending(self) -> tuple[str, ...]:
        return tuple(id for id, client in self.calls.items() if client and id not in self.answered)

    def count(self, used: Any) -> None:
        match used:
            case {"input_tokens": int(read), "output_tokens": int(written)}:
                details = used.get("input_token_details")
                cached = details.get("cache_read") if isinstance(details, dict) else 0
                self.usage = (self.usage or Usage()) + Usage(read, written, cached or 0)


class Utterance:
    """One streamed answer of one model. `is_empty`: no content has arrived."""

    def __init__(self, speech: Speech, metadata: Metadata) -> None:
        self.speech = speech
        self.metadata = metadata
        self.predictions = metadata.predictions
        self.predicted: dict[str, Any] = {}
        """Predicted state from partial call arguments; the event mapper takes and resets it."""
        self.silent = True
        self.message = ""
        self.text = ""
        """The id of the open text."""
        self.thinking = ""
        self.texts: list[str] = []
        self.count = 0
        self.calls: dict[int | str, Calling] = {}
        self.last: Calling | None = None

    def take(self, chunk: Chunk) -> list[Event]:
        content = chunk.content
        calls = chunk.tool_call_chunks
        text = content if type(content) is str else texts(content)
        if not calls and text and text is content and self.text:
            # Fast path: nearly every chunk continues the open text.
            self.texts.append(text)
            return [TextDelta(self.text, text)]
        out: list[Event] = []
        thought = thoughts(content, chunk.additional_kwargs)
        if thought or text or calls:
            # The last chunk is empty with an id of its own, and starts nothing.
            self.silent = False
            self.message = self.message or chunk.id or ""
        if thought and self.metadata.messages is not False:
            out += self.think(thought)
        if text and self.metadata.messages is not False:
            out += self.say(text)
        for item in calls or ():
            out += self.call(item)
        return out

    def think(self, thought: str) -> Iterator[Event]:
        if not self.thinking:
            self.count += 1
            self.thinking = f"{self.message}-thought-{self.count}"
            yield ReasoningStart(self.thinking)
        yield ReasoningDelta(self.thinking, thought)

    def say(self, text: str) -> Iterator[Event]:
        yield from self.thought()
        if not self.text:
            # Text after a call is a new text: an id is never started twice.
            taken = self.message in self.speech.known
            self.count += taken
            self.text = f"{self.message}-{self.count + 1}" if taken else self.message
            self.speech.known.add(self.text)
            yield TextStart(self.text)
        self.texts.append(text)
        yield TextDelta(self.text, text)

    def call(self, item: CallChunk) -> Iterator[Event]:
        calling = self.find(item)
        if calling is None:
            return
        if not calling.begun:
            calling.begun = True
            yield from self.thought()
            yield from self.quiet()
            if calling.shown:
                yield CallStart(calling.id, calling.name, self.message, calling.client)
        if item.args:
            calling.args += item.args
            if calling.shown:
                calling.said = True
                yield CallArgs(calling.id, item.args)
            self.predict(calling)

    def find(self, item: CallChunk) -> Calling | None:
        """Return the call of a chunk: by its index, else by its id, else the last one."""
        key: int | str | None = item.index if item.index is not None else item.id
        if item.id and item.name and (key not in self.calls or self.calls[key].id != item.id):
            shown = self.metadata.shows(item.name) and item.id not in self.speech.calls
            client = item.name in self.speech.clients
            self.last = self.calls[item.id if key is None else key] = Calling(
                item.id, item.name, shown, client
            )
        elif key is not None and key in self.calls:
            self.last = self.calls[key]
        return self.last

    def predict(self, calling: Calling) -> None:
        prediction = self.predictions.get(calling.name)
        if prediction is None:
            return
        value = partial(calling.args)
        if prediction.argument is not None:
            value = value.get(prediction.argument) if isinstance(value, dict) else None
        if value is not None:
            self.predicted[prediction.key] = value

    def thought(self) -> Iterator[Event]:
        if self.thinking:
            yield ReasoningEnd(self.thinking)
            self.thinking = ""

    def quiet(self) -> Iterator[Event]:
        if self.text:
            self.speech.said.add("".join(self.texts))
            self.texts = []
            yield TextEnd(self.text)
            self.text = ""

    def close(self) -> Iterator[Event]:
        yield from self.thought()
        yield from self.quiet()
        for calling in self.calls.values():
            if calling.shown:
                self.speech.calls[calling.id] = calling.client
                if not calling.said:
                    yield CallArgs(calling.id, "{}")
                yield CallEnd(calling.id)
        self.calls.clear()


class Calling:
    """A call that is being streamed."""

    def __init__(self, id: str, name: str, shown: bool, client: bool) -> None:
        self.id = id
        self.name = name
        self.shown = shown
        self.client = client
        self.begun = False
        self.said = False
        self.args = ""


def final(output: Any) -> dict[str, Any] | None:
    """Return the final message of a model run, from either of LangChain's forms."""
    match output:
        case {"generations": [[{"message": dict(message)}, *_], *_]}:
            return message
        case dict():
            return output
        case _:
            return None


def worded(content: Any) -> str:
    """Convert a tool result to text."""
    if isinstance(content, str):
        return content
    return texts(content) or encode(content).decode()
