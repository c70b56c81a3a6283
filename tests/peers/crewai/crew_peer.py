"""A crew and a flow with a model that needs no network. It answers by what it is asked, word by word."""

import importlib
from typing import Any

from pydantic import BaseModel

# Only this peer's environment has it; the type checker's has not.
crewai: Any = importlib.import_module("crewai")
bus: Any = importlib.import_module("crewai.events.event_bus").crewai_event_bus
Chunk: Any = importlib.import_module("crewai.events.types.llm_events").LLMStreamChunkEvent
flows: Any = importlib.import_module("crewai.flow.flow")
BaseLLM: Any = importlib.import_module("crewai.llms.base_llm").BaseLLM
make_tool: Any = importlib.import_module("crewai.tools").tool


def call(self: Any, messages: Any, *args: Any, **kwargs: Any) -> str:
    """Speaks as agents without native tool calls do."""
    told = messages if isinstance(messages, str) else "\n".join(str(m["content"]) for m in messages)
    if "explode" in told:
        raise RuntimeError("CANARY")
    if "the weather" not in told:
        pieces = ["Thought: easy.\nFinal Answer: ", "Hello ", "from ", "the crew."]
    elif "Oslo 21C" not in told:
        pieces = ["Thought: I look.\n", "Action: get_weather\n", 'Action Input: {"city": "Oslo"}\n']
    else:
        pieces = ["Thought: I know.\n", "Final ", "Answer: It is ", "21C in Oslo."]
    for piece in pieces:
        bus.emit(self, event=Chunk(chunk=piece, call_id=str(id(pieces)), from_agent=kwargs.get("from_agent")))
    return "".join(pieces)


def never(self: Any) -> bool:
    return False


Offline: Any = type(
    "Offline",
    (BaseLLM,),
    {"__module__": __name__, "call": call, "supports_function_calling": never, "supports_stop_words": never},
)


def get_weather(city: str) -> str:
    """The weather of a city."""
    return f"{city} 21C"


def crew() -> Any:
    writer = crewai.Agent(
        role="writer",
        goal="answer",
        backstory="brief",
        llm=Offline(model="offline"),
        tools=[make_tool(get_weather)],
        allow_delegation=False,
        max_retry_limit=0,
    )
    task = crewai.Task(name="reply", description="Answer this: {question}", expected_output="words", agent=writer)
    return crewai.Crew(agents=[writer], tasks=[task], verbose=False)


class Draft(BaseModel):
    request: str = ""
    document: str = ""


def draft(self: Any) -> None:
    self.state.document = f"Draft of {self.state.request}"


def review(self: Any) -> str:
    self.state.document += ", reviewed"
    return "Done."


first: Any = flows.start()(draft)
Writing: Any = type(
    "Writing", (flows.Flow[Draft],), {"__module__": __name__, "draft": first, "review": flows.listen(first)(review)}
)
team = crew()
