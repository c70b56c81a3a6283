"""LangGraph's stream → our events, without I/O: for a server, a graph in this process, and CopilotKit's
remote endpoints, which send the same events (`on_event`)."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Iterator
from typing import Any

import msgspec

from rightseat.agents._peer.faults import Faults
from rightseat.agents.langgraph import wire
from rightseat.agents.langgraph.mould import Mould
from rightseat.agents.langgraph.questions import Open, opened, phrase, question
from rightseat.agents.langgraph.speech import Speech
from rightseat.agents.langgraph.states import States
from rightseat.agents.langgraph.wire import Happening
from rightseat.errors import RightseatError
from rightseat.types.events import Custom, Event, Reason, RunFinished

INTERRUPT = "__interrupt__"


class Mapping:
    """Mapper of one run: `feed` each event, then `finish`. Raises the errors that the graph reports."""

    def __init__(
        self,
        faults: Faults,
        thread: uuid.UUID,
        *,
        clients: Collection[str] = (),
        known: Collection[str] = (),
        waiting: Collection[str] = (),
        outputs: Collection[str] | None = None,
        nested: bool = False,
        talks: bool = False,
        handed: bool = False,
    ) -> None:
        """`asks_in_chat`: CopilotKit interrupts are chat texts, and the next message is the answer.
        `is_delegated`: another assistant started this run."""
        self.faults = faults
        self.thread = thread
        self.speech = Speech(clients, known, waiting)
        self.states = States(outputs, nested=nested)
        self.mould = Mould()
        self.interrupts: dict[str, Open] = {}
        self.talks = talks and not handed
        self.handed = handed
        self.over = False
        """The graph has ended, not only its stream."""
        self.paused = False
        """The graph waits at a breakpoint."""

    def feed(self, event: str, data: bytes) -> Iterable[Event]:
        try:
            match event:
                case "events":
                    if (words := self.mould.words(data)) is not None:
                        return words
                    return self.happen(wire.happening(data), data)
                case "values":
                    return self.values(wire.anything(data))
                case "updates":
                    return self.updates(wire.anything(data))
                case "error":
                    raise self.failure(wire.anything(data))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, AttributeError) as error:
            raise self.faults.garbled(f"an event {event[:20]!r} that is none of LangGraph's") from error
        return ()

    def failure(self, said: Any) -> RightseatError:
        kind = said.get("error") if isinstance(said, dict) else None
        return self.faults.failed(kind if isinstance(kind, str) else "")

    # Events.

    def happen(self, event: Happening, data: bytes = b"") -> Iterable[Event]:
        """Map one LangChain event. `data` is its encoded form, from which the fast path learns."""
        match event.event:
            case "on_chat_model_stream":
                return self.streamed(event, data)
            case "on_chat_model_start":
                self.speech.started(event.run_id, event.metadata)
            case "on_chat_model_end":
                return self.spoken(event)
            case "on_chain_start" if event.is_node:
                return self.states.entered(event)
            case "on_chain_end":
                self.over = self.over or event.parents == []
                self.states.left(event)
            case "on_tool_end":
                return self.speech.result(wire.ended(event.data).output)
            case "on_custom_event":
                return self.custom(event.name or "", wire.anything(event.data))
        return ()

    def streamed(self, event: Happening, data: bytes) -> Iterable[Event]:
        if event.tags and any(tag in wire.SILENT for tag in event.tags):
            return ()
        chunk = wire.streamed(event.data).chunk
        events = self.speech.streamed(event.run_id, event.metadata, chunk)
        utterance = self.speech.open[event.run_id]
        if utterance.text and type(chunk.content) is str and not chunk.tool_call_chunks:
            self.mould.learn(data, chunk.content, utterance)
        if utterance.predicted:
            parts, utterance.predicted = utterance.predicted, {}
            events += self.states.predicted(parts)
        return events

    def spoken(self, event: Happening) -> Iterable[Event]:
        if any(tag in wire.SILENT for tag in event.tags):
            return ()
        return self.speech.ended(event.run_id, event.metadata, wire.ended(event.data).output)

    def custom(self, name: str, data: Any) -> Iterable[Event]:
        """Map a custom event; three names belong to CopilotKit's helpers."""
        match name, data:
            case "copilotkit_manually_emit_message", {"message": str(text)}:
                return self.speech.emitted(str(data.get("message_id") or uuid.uuid4()), text)
            case "copilotkit_manually_emit_tool_call", {"name": str(called)}:
                id = str(data.get("id") or uuid.uuid4())
                return self.speech.call(id, called, data.get("args"), id)
            case "copilotkit_manually_emit_intermediate_state", _:
                return self.states.emitted(data)
            case _:
                return (Custom(name, data),)

    # State.

    def values(self, state: Any) -> Iterator[Event]:
        if isinstance(state, dict):
            self.ask(state.get(INTERRUPT))
        return self.states.values(state)

    def updates(self, told: Any) -> Iterator[Event]:
        for node, update in told.items() if isinstance(told, dict) else ():
            if node == INTERRUPT:
                self.ask(update)
                continue
            # A node may return several updates as a list.
            for part in update if isinstance(update, list) else (update,):
                messages = part.get("messages") if isinstance(part, dict) else None
                for message in messages if isinstance(messages, list) else (messages,):
                    yield from self.speech.added(message)

    def ask(self, items: Any) -> None:
        self.paused = self.paused or items == []
        for item in opened(items):
            self.interrupts.setdefault(item.id, item)

    def end(self) -> Iterator[Event]:
        yield from self.speech.close()
        if not self.interrupts:
            yield from self.speech.settle()
        yield from self.states.close()
        asked = False
        for item in self.interrupts.values():
            calls = list(item.calls)
            for call in calls:
                # A call to one of the page's tools asks; its result is the answer.
                self.speech.clients |= {str(call.get("name"))}
                yield from self.speech.call(call["id"], str(call.get("name")), call.get("args"), call["id"])
            if item.by_copilotkit and self.talks and not calls:
                # The question is a chat text, and the next message is the answer.
                yield from self.speech.emitted(f"question-{item.id}", phrase(item.asked))
            elif not calls:
                asked = True
                yield question(item, self.thread, in_words=self.handed)
        pending = self.speech.pending
        reason: Reason = "interrupt" if asked else "calls" if pending else "stop"
        yield RunFinished(reason, self.speech.usage, pending)
