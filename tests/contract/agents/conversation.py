"""A conversation with whoever answers, as a client has it: its history by ids, its thread, its tools. Every
run in it is held against the grammar."""

from collections.abc import Mapping
from typing import Any

from rightseat import Runtime
from rightseat.types.events import (
    CallArgs,
    CallEnd,
    CallResult,
    CallStart,
    Event,
    Interrupt,
    RunFailed,
    RunFinished,
    StateDelta,
    StateSnapshot,
    StepStart,
    TextDelta,
    TextStart,
)
from rightseat.types.messages import Message, TextMessagePart, ToolCall, text_message
from rightseat.types.model import ToolSpec
from rightseat.types.streams import closing
from rightseat.types.turn import InterruptAnswer, Owner, Turn
from tests.contract.agents.verifier import verify_events

COLOUR_SCHEMA = {"type": "object", "properties": {"colour": {"type": "string"}}, "required": ["colour"]}
PAINT_TOOL = ToolSpec("paint", "Paints the page.", COLOUR_SCHEMA)


class RunResult:
    """What one run showed."""

    def __init__(self, events: list[Event]) -> None:
        self.events = events
        self.text = "".join(event.text for event in events if isinstance(event, TextDelta))
        self.calls = {event.id: event for event in events if isinstance(event, CallStart)}
        self.results = {event.id: event.content for event in events if isinstance(event, CallResult)}
        self.questions = [event for event in events if isinstance(event, Interrupt)]
        self.steps = [event.name for event in events if isinstance(event, StepStart)]
        self.states = [event.state for event in events if isinstance(event, StateSnapshot)]
        self.state_patches = [event.patch for event in events if isinstance(event, StateDelta)]
        self.last_event = events[-1]

    @property
    def finish_reason(self) -> str:
        assert isinstance(self.last_event, RunFinished), self.last_event
        return self.last_event.reason

    @property
    def pending(self) -> tuple[str, ...]:
        assert isinstance(self.last_event, RunFinished), self.last_event
        return self.last_event.pending

    @property
    def error(self) -> RunFailed:
        assert isinstance(self.last_event, RunFailed), self.last_event
        return self.last_event

    def join_arguments(self, id: str) -> str:
        return "".join(event.json for event in self.events if isinstance(event, CallArgs) and event.id == id)

    def find_call_id(self, name: str) -> str:
        """The id of the only call to this tool."""
        (id,) = [id for id, call in self.calls.items() if call.name == name]
        return id


class Conversation:
    def __init__(self, runtime: Runtime, name: str = "desk", thread: str = "t-1", **turn: Any) -> None:
        self.runtime = runtime
        self.turn: dict[str, Any] = {
            "assistant": name,
            "thread": thread,
            "owner": Owner("ada"),
            "tools": (PAINT_TOOL,),
            **turn,
        }
        self.history: list[Message] = []
        self.count = 0
        self.unanswered: set[str] = set()
        """Calls without a result so far: a later run may bring one."""

    async def send_message(self, text: str) -> RunResult:
        self.count += 1
        self.history.append(text_message("user", text, id=f"u-{self.turn['thread']}-{self.count}"))
        return await self.run_turn()

    async def send_results(self, results: Mapping[str, str]) -> RunResult:
        """The results of the client's own calls."""
        for id, text in results.items():
            self.history.append(text_message("tool", text, call_id=id, id=f"result-{id}"))
            self.unanswered.discard(id)
        return await self.run_turn()

    async def answer_question(self, question: Interrupt, text: str) -> RunResult:
        return await self.run_turn(answers=(InterruptAnswer(question.id, text=text),))

    async def run_turn(self, **turn: Any) -> RunResult:
        events: list[Event] = []
        request = Turn(messages=tuple(self.history), **{**self.turn, **turn})
        async with closing(self.runtime.run(request)) as stream:
            async for event in stream:
                events += [event]
        verify_events(events, earlier_calls=self.unanswered, has_state=request.state is not None)
        self.append_events(events)
        return RunResult(events)

    def append_events(self, events: list[Event]) -> None:
        """As AG-UI's clients do: a message for each text, its calls beside it, and results."""
        messages: dict[str, Message] = {}
        calls: dict[str, tuple[CallStart, list[str]]] = {}
        for event in events:
            match event:
                case TextStart(id):
                    messages[id] = Message("assistant", id=id)
                case TextDelta(id, text):
                    messages[id] = Message(
                        "assistant", (TextMessagePart(messages[id].text + text),), messages[id].calls, id=id
                    )
                case CallStart(id):
                    calls[id] = (event, [])
                    messages.setdefault(event.message, Message("assistant", id=event.message))
                case CallArgs(id, json):
                    calls[id][1].append(json)
                case CallEnd(id):
                    start, pieces = calls[id]
                    parent = messages[start.message]
                    call = ToolCall(id, start.name, "".join(pieces))
                    messages[start.message] = Message(
                        "assistant", parent.parts, (*parent.calls, call), id=start.message
                    )
                    self.unanswered.add(id)
                case CallResult(id, content):
                    messages[f"result-{id}"] = text_message("tool", content, call_id=id, id=f"result-{id}")
                    self.unanswered.discard(id)
                case _:
                    pass
        self.history += messages.values()
