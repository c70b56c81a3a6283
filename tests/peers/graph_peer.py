"""A LangGraph graph of two nodes whose model needs no network, for the peers that serve one. `ask` makes it
ask, `weather` call a tool of its own, `card` one of the page's, `explode` fail."""

import importlib
from collections.abc import Iterator
from typing import Annotated, Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage, BaseMessage, ToolMessage
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from typing_extensions import TypedDict

# Only the peers' environments have it; the type checker's has not.
graphs: Any = importlib.import_module("langgraph.graph")
memory: Any = importlib.import_module("langgraph.checkpoint.memory")
interrupt: Any = importlib.import_module("langgraph.types").interrupt


class ScriptedChatModel(BaseChatModel):
    """Says what the last message asks for."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        whole = None
        for piece in self._stream(messages):
            whole = piece if whole is None else whole + piece
        assert whole is not None
        return ChatResult(generations=[ChatGeneration(message=AIMessage(whole.message.content))])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        last = messages[-1]
        if last.type == "tool":
            yield from stream_words("Found: ", str(last.content))
        elif last.content == "weather":
            yield from stream_call("get_weather", '{"ci', 'ty":"Oslo"}')
        elif last.content == "card":
            yield from stream_call("show_card", '{"title":', '"Oslo"}')
        elif last.content == "explode":
            raise RuntimeError("CANARY")
        else:
            yield from stream_words("Hello ", "from ", "the graph.")


def stream_words(*texts: str) -> Iterator[ChatGenerationChunk]:
    for text in texts:
        yield ChatGenerationChunk(message=AIMessageChunk(content=text))


def stream_call(name: str, *pieces: str) -> Iterator[ChatGenerationChunk]:
    for number, piece in enumerate(pieces):
        first = {"name": None, "id": None} if number else {"name": name, "id": "g1"}
        chunk = tool_call_chunk(**first, args=piece, index=0)
        yield ChatGenerationChunk(message=AIMessageChunk(content="", tool_call_chunks=[chunk]))


class State(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], graphs.add_messages]
    document: str
    tools: list[Any]


async def draft(state: State) -> State:
    last = state["messages"][-1]
    reply = await ScriptedChatModel().ainvoke(state["messages"])
    calls = getattr(reply, "tool_calls", [])
    added: list[AnyMessage] = [reply]
    if calls and calls[0]["name"] == "get_weather":
        added.append(ToolMessage("Oslo 21C", tool_call_id=calls[0]["id"]))
        added.append(await ScriptedChatModel().ainvoke([*state["messages"], *added]))
    return {"messages": added, "document": f"about {last.content}"}


async def review(state: State) -> State:
    if state["messages"][-2:] and any(m.type == "human" and m.content == "ask" for m in state["messages"][-2:]):
        answer = interrupt({"question": "Approve?", "document": state["document"]})
        return {"messages": [AIMessage(f"Got {answer}.")], "document": "reviewed"}
    return {"document": state["document"] + ", reviewed"}


def graph() -> Any:
    built = graphs.StateGraph(State)
    built.add_node("draft", draft)
    built.add_node("review", review)
    built.add_edge(graphs.START, "draft")
    built.add_edge("draft", "review")
    built.add_edge("review", graphs.END)
    return built.compile(checkpointer=memory.InMemorySaver())
