"""What a LangGraph server says, as it was recorded from a real one, cut down to what is read: one run of a
graph with the nodes `desk`, `tools`, `review`, `note`, which does what the last message says."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]
GraphStreamEvent = tuple[str, Any]
"""The name of an event and its data."""
ROOT_RUN_ID = "00000000-0000-7000-8000-000000000001"
QUESTION = {"question": "Approve it?", "document": "Hello"}


@dataclass
class Thread:
    values: Json = field(default_factory=lambda: {"messages": [], "notes": []})
    next: list[str] = field(default_factory=list)
    interrupts: list[Json] = field(default_factory=list)
    metadata: Json = field(default_factory=dict)
    runs: int = 0

    @property
    def state(self) -> Json:
        tasks = [{"name": node, "interrupts": self.interrupts} for node in self.next]
        return {"values": self.values, "next": self.next, "tasks": tasks, "metadata": {}}

    def apply_update(self, update: Json) -> None:
        for key, value in update.items():
            if key != "messages":
                self.values[key] = value
        for message in update.get("messages", ()):
            if message["type"] == "remove":
                messages = self.values["messages"]
                self.values["messages"] = [item for item in messages if item["id"] != message["id"]]
            else:
                number = len(self.values["messages"])
                self.values["messages"].append({"id": f"m-{number}", **message})


def make_event(
    kind: str, name: str, data: Any, *, node: str = "", run: str = "r-model", **metadata: Any
) -> GraphStreamEvent:
    place = {"langgraph_node": node, "langgraph_checkpoint_ns": f"{node}:1"} if node else {}
    head = {"event": kind, "name": name, "run_id": run, "parent_ids": [ROOT_RUN_ID] if node else []}
    return "events", {**head, "tags": metadata.pop("tags", []), "metadata": {**place, **metadata}, "data": data}


def make_node_start(node: str, number: int) -> GraphStreamEvent:
    return make_event("on_chain_start", node, {}, node=node, run=f"n-{node}-{number}", tags=["graph:step:1"])


def make_node_end(node: str, number: int) -> GraphStreamEvent:
    return make_event("on_chain_end", node, {}, node=node, run=f"n-{node}-{number}", tags=["graph:step:1"])


def make_model_chunk(id: str, content: Any = "", calls: list[Json] | None = None, **more: Any) -> GraphStreamEvent:
    message = {"type": "AIMessageChunk", "id": id, "content": content, "tool_call_chunks": calls or []}
    return make_event("on_chat_model_stream", "Script", {"chunk": message}, node="desk", **more)


def make_tool_call_chunk(index: int, args: str, id: str | None = None, name: str | None = None) -> Json:
    return {"index": index, "args": args, "id": id, "name": name, "type": "tool_call_chunk"}


class GraphRun:
    """One run on a thread."""

    def __init__(self, thread: Thread) -> None:
        self.thread = thread
        self.steps = 0
        thread.runs += 1
        self.id_suffix = f"{thread.runs}-{len(thread.values['messages'])}"

    def stream_events(self, body: Json) -> Iterator[GraphStreamEvent]:
        thread = self.thread
        yield "metadata", {"run_id": ROOT_RUN_ID, "attempt": 1}
        if "command" in body:
            yield from self.resume(body["command"]["resume"])
        else:
            thread.apply_update(body.get("input") or {})
            thread.next, thread.interrupts = [], []
            yield "values", thread.values
            yield from self.reply_to_last_message()
        yield make_event("on_chain_end", "desk", {})

    def run_node(self, node: str, events: Iterator[GraphStreamEvent], update: Json) -> Iterator[GraphStreamEvent]:
        self.steps += 1
        number = self.steps
        yield make_node_start(node, number)
        yield from events
        yield make_node_end(node, number)
        self.thread.apply_update(update)
        if update.get("messages"):
            update = {**update, "messages": self.thread.values["messages"][-len(update["messages"]) :]}
        yield "updates", {node: update}
        yield "values", self.thread.values

    def reply_to_last_message(self) -> Iterator[GraphStreamEvent]:
        last = self.thread.values["messages"][-1]
        text, calls = last["content"], []
        words = text.split() or [""]
        match "result" if last["type"] == "tool" else words[0]:
            case "result":
                yield from self.stream_text(f"It is {text}.")
            case "add":
                calls = [{"id": f"add-{self.id_suffix}", "name": "add", "args": {"a": 2, "b": 3}}]
                yield from self.stream_tool_calls(calls)
                yield from self.run_tools(calls)
                yield from self.reply_to_last_message()
                return
            case "paint":
                calls = [{"id": f"paint-{self.id_suffix}", "name": "paint", "args": {"colour": "red"}}]
                yield from self.stream_tool_calls(calls)
                return
            case "boom":
                yield make_node_start("desk", 1)
                yield "error", {"error": "ValueError", "message": "the graph's own secret words"}
                return
            case _:
                yield from self.stream_text(f"You said {text}.")
        if words[0] == "ask":
            yield from self.interrupt()
        else:
            yield from self.append_note()

    def stream_text(self, text: str) -> Iterator[GraphStreamEvent]:
        id = f"lc_run--{self.id_suffix}-{self.steps}"
        message = {"type": "ai", "id": id, "content": text, "tool_calls": []}
        used = {"input_tokens": 5, "output_tokens": 3}

        def inside() -> Iterator[GraphStreamEvent]:
            yield make_event("on_chat_model_start", "Script", {}, node="desk", run=id)
            for word in text.split(" "):
                yield make_model_chunk(id, word if text.startswith(word) else f" {word}", run=id)
            # The last one is empty and has another id.
            yield make_model_chunk(f"{id}-last", run=id)
            output = {**message, "usage_metadata": used}
            yield make_event("on_chat_model_end", "Script", {"output": output}, node="desk", run=id)

        yield from self.run_node("desk", inside(), {"messages": [message]})

    def stream_tool_calls(self, calls: list[Json]) -> Iterator[GraphStreamEvent]:
        id = f"lc_run--{self.id_suffix}-{self.steps}"
        message = {"type": "ai", "id": id, "content": "", "tool_calls": calls}

        def inside() -> Iterator[GraphStreamEvent]:
            yield make_event("on_chat_model_start", "Script", {}, node="desk", run=id)
            for number, made in enumerate(calls):
                yield make_model_chunk(id, calls=[make_tool_call_chunk(number, "", made["id"], made["name"])], run=id)
            for number, made in enumerate(calls):
                args = json.dumps(made["args"])
                for part in (args[:5], args[5:]):
                    yield make_model_chunk(id, calls=[make_tool_call_chunk(number, part)], run=id)
            yield make_event("on_chat_model_end", "Script", {"output": message}, node="desk", run=id)

        yield from self.run_node("desk", inside(), {"messages": [message]})

    def run_tools(self, calls: list[Json]) -> Iterator[GraphStreamEvent]:
        results = [{"type": "tool", "tool_call_id": made["id"], "content": "5"} for made in calls]

        def inside() -> Iterator[GraphStreamEvent]:
            for result in results:
                yield make_event("on_tool_end", "add", {"output": result}, node="tools", run="r-tool")

        yield from self.run_node("tools", inside(), {"messages": results})

    def append_note(self) -> Iterator[GraphStreamEvent]:
        notes = [*self.thread.values["notes"], f"{len(self.thread.values['messages'])} messages"]
        yield from self.run_node("note", iter(()), {"notes": notes})

    def interrupt(self) -> Iterator[GraphStreamEvent]:
        interrupts = [{"value": QUESTION, "id": "0123456789abcdef", "response_schema": None}]
        self.thread.next, self.thread.interrupts = ["review"], interrupts
        yield make_node_start("review", 0)
        yield "updates", {"__interrupt__": interrupts}
        yield "values", {**self.thread.values, "__interrupt__": interrupts}

    def resume(self, value: Any) -> Iterator[GraphStreamEvent]:
        yield "values", self.thread.values
        self.thread.next, self.thread.interrupts = [], []
        words = {"type": "ai", "id": f"answer-{self.id_suffix}", "content": f"You answered {value}."}
        yield from self.run_node("review", iter(()), {"approved": value, "messages": [words]})
        yield from self.append_note()
