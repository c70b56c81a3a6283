"""A graph of ours for the real LangGraph server: it does what the last message says, by a model that is a
script. Its nodes: `desk` (the model), `tools`, `review` (asks a person), `note` (writes the state)."""

import asyncio
import importlib
import itertools
import operator
from collections.abc import AsyncIterator, Iterator
from typing import Annotated, Any, Literal

from langchain_core.callbacks.manager import adispatch_custom_event
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from typing_extensions import TypedDict

# Only the peer's environment has it; the type checker's has not.
graphs: Any = importlib.import_module("langgraph.graph")
prebuilt: Any = importlib.import_module("langgraph.prebuilt")
interrupt: Any = importlib.import_module("langgraph.types").interrupt

LONG = 60


class State(TypedDict, total=False):
    messages: Annotated[list[Any], graphs.add_messages]
    notes: Annotated[list[str], operator.add]
    document: str
    approved: Any
    tools: list[dict[str, Any]]
    copilotkit: dict[str, Any]


@tool
async def add(a: int, b: int) -> str:
    """The sum of two numbers."""
    return str(a + b)


def call(index: int, id: str, name: str, *pieces: str) -> Iterator[AIMessageChunk]:
    for number, args in enumerate(pieces):
        first = number == 0
        chunk = tool_call_chunk(name=name if first else None, id=id if first else None, args=args, index=index)
        yield AIMessageChunk(content="", tool_call_chunks=[chunk])


class Script(BaseChatModel):
    """Says what the last message asks for, word by word."""

    @property
    def _llm_type(self) -> str:
        return "script"

    def _generate(self, messages: list[BaseMessage], *args: Any, **more: Any) -> ChatResult:
        whole = AIMessageChunk(content="")
        for chunk in self.chunks(messages):
            whole = whole + chunk
        message = AIMessage(**whole.model_dump(exclude={"type"}))
        return ChatResult(generations=[ChatGeneration(message=message)])

    async def _astream(
        self, messages: list[BaseMessage], *args: Any, **more: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        slow = self.asked(messages).startswith("slow")
        for chunk in self.chunks(messages):
            if slow:
                await asyncio.sleep(0.02)
            yield ChatGenerationChunk(message=chunk)

    def asked(self, messages: list[BaseMessage]) -> str:
        return str(messages[-1].content)

    def chunks(self, messages: list[BaseMessage]) -> Iterator[AIMessageChunk]:
        last = messages[-1]
        if isinstance(last, ToolMessage):
            results = [str(m.content) for m in messages if isinstance(m, ToolMessage)]
            yield from self.words(f"It is {results[-1]}.")
            return
        match self.asked(messages).split():
            case ["add", *_]:
                yield from call(0, f"add-{len(messages)}", "add", "", '{"a": 2,', ' "b": 3}')
            case ["both", *_]:
                first = list(call(0, f"one-{len(messages)}", "add", "", '{"a": 1, "b": 1}'))
                second = list(call(1, f"two-{len(messages)}", "add", "", '{"a": 5, "b": 5}'))
                # Side by side, as vendors send them.
                yield from (first[0], second[0], first[1], second[1])
            case ["paint", *_]:
                yield from call(0, f"paint-{len(messages)}", "paint", "", '{"colour": ', '"red"}')
            case ["write", *_]:
                pieces = ('{"docu', 'ment": "He', "llo wor", 'ld"}')
                yield from call(0, f"write-{len(messages)}", "write_doc", "", *pieces)
            case ["slow", "for", "ever"]:
                yield from (AIMessageChunk(content=f"w{number} ") for number in itertools.count())
            case ["slow", *_]:
                yield from self.words(" ".join(f"w{number}" for number in range(LONG)))
            case ["think", *_]:
                yield AIMessageChunk(content=[{"type": "thinking", "thinking": "Let me see."}])
                yield AIMessageChunk(content=[{"type": "text", "text": "Seen."}])
            case words:
                yield from self.words(f"You said {' '.join(words)}.")
        yield AIMessageChunk(content="", response_metadata={"finish_reason": "stop"})

    def words(self, text: str) -> Iterator[AIMessageChunk]:
        for number, word in enumerate(text.split(" ")):
            yield AIMessageChunk(content=word if number == 0 else f" {word}")


PREDICTED = [{"state_key": "document", "tool": "write_doc", "tool_argument": "document"}]


async def desk(state: State, config: RunnableConfig) -> dict[str, Any]:
    asked = str(state["messages"][-1].content)
    if asked.startswith("boom"):
        raise ValueError("the graph's own secret words")
    if asked.startswith("tools?"):
        names = [item["name"] for item in state.get("tools", [])]
        return {"messages": [AIMessage(f"{names} {state.get('copilotkit')} {state.get('document')}")]}
    if asked.startswith("hand"):
        await adispatch_custom_event(
            "copilotkit_manually_emit_message", {"message": "By hand.", "message_id": "hand-1"}, config=config
        )
        await adispatch_custom_event("copilotkit_manually_emit_intermediate_state", {"document": "Half"}, config=config)
    quiet = {"copilotkit:emit-messages": False} if asked.startswith("quiet") else {}
    told: Any = {**config, "metadata": {"copilotkit:emit-intermediate-state": PREDICTED, **quiet}}
    return {"messages": [await Script().ainvoke(state["messages"], told)]}


def after(state: State) -> Literal["tools", "review", "note", "__end__"]:
    last = state["messages"][-1]
    if calls := getattr(last, "tool_calls", None):
        ours = {"add", "write_doc"}
        return "tools" if all(item["name"] in ours for item in calls) else "__end__"
    asked = [str(m.content) for m in state["messages"] if m.type == "human"]
    return "review" if asked and asked[-1].startswith("ask") else "note"


@tool
async def write_doc(document: str) -> str:
    """Write the document."""
    return f"written: {document}"


async def review(state: State) -> dict[str, Any]:
    answer = interrupt({"question": "Approve it?", "document": "Hello"})
    return {"approved": answer, "messages": [AIMessage(f"You answered {answer}.")]}


async def note(state: State) -> dict[str, Any]:
    return {"notes": [f"{len(state['messages'])} messages"]}


def drawn() -> Any:
    made = graphs.StateGraph(State)
    made.add_node("desk", desk)
    made.add_node("tools", prebuilt.ToolNode([add, write_doc]))
    made.add_node("review", review)
    made.add_node("note", note)
    made.add_edge(graphs.START, "desk")
    made.add_conditional_edges("desk", after)
    made.add_edge("tools", "desk")
    made.add_edge("review", "note")
    made.add_edge("note", graphs.END)
    return made


graph = drawn().compile()
stops = drawn().compile(interrupt_before=["note"])
