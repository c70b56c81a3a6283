"""A flow and a crew that do what they are told, with the events that CrewAI's would have."""

import importlib
import os
import sys
import time
from itertools import count
from types import SimpleNamespace
from typing import Any

publish: Any = importlib.import_module("crewai.events.stream_context").publish_stream_event
event_ids = count()
waiting_requests: list[str] = []


def emit_event(type: str, **fields: Any) -> str:
    id = str(next(event_ids))
    publish(None, SimpleNamespace(type=type, event_id=id, **fields))
    return id


def emit_text(*pieces: str) -> None:
    call = str(next(event_ids))
    for piece in pieces:
        emit_event("llm_stream_chunk", chunk=piece, call_id=call, tool_call=None)
    emit_event("llm_call_completed", call_id=call)


class Flow:
    def __init__(self) -> None:
        self.state: dict[str, Any] = {}

    def kickoff(self, inputs: dict[str, Any]) -> str:
        self.state |= {"request": inputs["request"]}
        emit_event("method_execution_started", method_name="desk", state=self.state)
        said = self.reply(inputs["request"])
        self.state["done"] = True
        emit_event("method_execution_finished", method_name="desk", state=self.state)
        return said

    def reply(self, request: str) -> str:
        match (request.split() or [""])[0]:
            case "add":
                about = {"tool_name": "add", "tool_args": {"a": 2, "b": 3}}
                started = emit_event("tool_usage_started", **about)
                emit_event("tool_usage_finished", **about, output="5", started_event_id=started)
                return "It is 5."
            case "boom":
                raise ValueError("the crew's own secret words")
            case "die":
                os._exit(3)
            case "wait":
                waiting_requests.append(request)
                try:
                    emit_text("Waiting.")
                    while True:
                        time.sleep(0.02)
                        emit_event("llm_stream_chunk", chunk=".", call_id="w", tool_call=None)
                finally:
                    waiting_requests.remove(request)
            case "waiting":
                return f"{len(waiting_requests)} wait."
            case "where":
                known = [os.environ.get(name) for name in ("DESK_KEY", "SECRET_OF_OURS")]
                return f"{known} {sys.stdin.readline()!r}"
            case _:
                emit_text("Thought: easy.\nFinal ", "Answer: You said ", f"{request}.")
                return f"You said {request}."


class Crew:
    agents: tuple[Any, ...] = ()
    tasks = ("reply",)

    def __init__(self) -> None:
        self.runs = 0

    def copy(self) -> "Crew":
        return Crew()

    def fetch_inputs(self) -> set[str]:
        return {"topic"}

    def kickoff(self, inputs: dict[str, Any]) -> Any:
        self.runs += 1
        task = SimpleNamespace(name=None, agent=SimpleNamespace(role="writer"))
        emit_event("task_started", task=task)
        emit_event("task_completed", task=task)
        used = SimpleNamespace(total_tokens=7, prompt_tokens=4, completion_tokens=3)
        return SimpleNamespace(raw=f"{inputs['topic']} {self.runs}", token_usage=used)


team = Crew()
