"""What a LangGraph server says, as it was recorded from a real one, cut down to what is read: one run of a
graph with the nodes `desk`, `tools`, `review`, `note`, which does what the last message says."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]
Said = tuple[str, Any]
"""The name of an event and its data."""
ROOT = "00000000-0000-7000-8000-000000000001"
ASKED = {"question": "Approve it?", "document": "Hello"}


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

    def take(self, given: Json) -> None:
        for key, value in given.items():
            if key != "messages":
                self.values[key] = value
        for message in given.get("messages", ()):
            if message["type"] == "remove":
                held = self.values["messages"]
                self.values["messages"] = [item for item in held if item["id"] != message["id"]]
            else:
                number = len(self.values["messages"])
                self.values["messages"].append({"id": f"m-{number}", **message})


def happening(kind: str, name: str, data: Any, *, node: str = "", run: str = "r-model", **more: Any) -> Said:
    place = {"langgraph_node": node, "langgraph_checkpoint_ns": f"{node}:1"} if node else {}
    head = {"event": kind, "name": name, "run_id": run, "parent_ids": [ROOT] if node else []}
    return "events", {**head, "tags": more.pop("tags", []), "metadata": {**place, **more}, "data": data}


def enter(node: str, number: int) -> Said:
    return happening("on_chain_start", node, {}, node=node, run=f"n-{node}-{number}", tags=["graph:step:1"])


def leave(node: str, number: int) -> Said:
    return happening("on_chain_end", node, {}, node=node, run=f"n-{node}-{number}", tags=["graph:step:1"])


def chunk(id: str, content: Any = "", calls: list[Json] | None = None, **more: Any) -> Said:
    made = {"type": "AIMessageChunk", "id": id, "content": content, "tool_call_chunks": calls or []}
    return happening("on_chat_model_stream", "Script", {"chunk": made}, node="desk", **more)


def piece(index: int, args: str, id: str | None = None, name: str | None = None) -> Json:
    return {"index": index, "args": args, "id": id, "name": name, "type": "tool_call_chunk"}


class Run:
    """One run on a thread."""

    def __init__(self, thread: Thread) -> None:
        self.thread = thread
        self.steps = 0
        thread.runs += 1
        self.name = f"{thread.runs}-{len(thread.values['messages'])}"

    def play(self, body: Json) -> Iterator[Said]:
        thread = self.thread
        yield "metadata", {"run_id": ROOT, "attempt": 1}
        if "command" in body:
            yield from self.answered(body["command"]["resume"])
        else:
            thread.take(body.get("input") or {})
            thread.next, thread.interrupts = [], []
            yield "values", thread.values
            yield from self.desk()
        yield happening("on_chain_end", "desk", {})

    def step(self, node: str, inside: Iterator[Said], update: Json) -> Iterator[Said]:
        self.steps += 1
        number = self.steps
        yield enter(node, number)
        yield from inside
        yield leave(node, number)
        self.thread.take(update)
        if update.get("messages"):
            update = {**update, "messages": self.thread.values["messages"][-len(update["messages"]) :]}
        yield "updates", {node: update}
        yield "values", self.thread.values

    def desk(self) -> Iterator[Said]:
        last = self.thread.values["messages"][-1]
        text, calls = last["content"], []
        words = text.split() or [""]
        match "result" if last["type"] == "tool" else words[0]:
            case "result":
                yield from self.say(f"It is {text}.")
            case "add":
                calls = [{"id": f"add-{self.name}", "name": "add", "args": {"a": 2, "b": 3}}]
                yield from self.call(calls)
                yield from self.tools(calls)
                yield from self.desk()
                return
            case "paint":
                calls = [{"id": f"paint-{self.name}", "name": "paint", "args": {"colour": "red"}}]
                yield from self.call(calls)
                return
            case "boom":
                yield enter("desk", 1)
                yield "error", {"error": "ValueError", "message": "the graph's own secret words"}
                return
            case _:
                yield from self.say(f"You said {text}.")
        if words[0] == "ask":
            yield from self.ask()
        else:
            yield from self.note()

    def say(self, text: str) -> Iterator[Said]:
        id = f"lc_run--{self.name}-{self.steps}"
        message = {"type": "ai", "id": id, "content": text, "tool_calls": []}
        used = {"input_tokens": 5, "output_tokens": 3}

        def inside() -> Iterator[Said]:
            yield happening("on_chat_model_start", "Script", {}, node="desk", run=id)
            for word in text.split(" "):
                yield chunk(id, word if text.startswith(word) else f" {word}", run=id)
            # The last one is empty and has another id.
            yield chunk(f"{id}-last", run=id)
            output = {**message, "usage_metadata": used}
            yield happening("on_chat_model_end", "Script", {"output": output}, node="desk", run=id)

        yield from self.step("desk", inside(), {"messages": [message]})

    def call(self, calls: list[Json]) -> Iterator[Said]:
        id = f"lc_run--{self.name}-{self.steps}"
        message = {"type": "ai", "id": id, "content": "", "tool_calls": calls}

        def inside() -> Iterator[Said]:
            yield happening("on_chat_model_start", "Script", {}, node="desk", run=id)
            for number, made in enumerate(calls):
                yield chunk(id, calls=[piece(number, "", made["id"], made["name"])], run=id)
            for number, made in enumerate(calls):
                args = json.dumps(made["args"])
                for part in (args[:5], args[5:]):
                    yield chunk(id, calls=[piece(number, part)], run=id)
            yield happening("on_chat_model_end", "Script", {"output": message}, node="desk", run=id)

        yield from self.step("desk", inside(), {"messages": [message]})

    def tools(self, calls: list[Json]) -> Iterator[Said]:
        results = [{"type": "tool", "tool_call_id": made["id"], "content": "5"} for made in calls]

        def inside() -> Iterator[Said]:
            for result in results:
                yield happening("on_tool_end", "add", {"output": result}, node="tools", run="r-tool")

        yield from self.step("tools", inside(), {"messages": results})

    def note(self) -> Iterator[Said]:
        said = [*self.thread.values["notes"], f"{len(self.thread.values['messages'])} messages"]
        yield from self.step("note", iter(()), {"notes": said})

    def ask(self) -> Iterator[Said]:
        asked = [{"value": ASKED, "id": "0123456789abcdef", "response_schema": None}]
        self.thread.next, self.thread.interrupts = ["review"], asked
        yield enter("review", 0)
        yield "updates", {"__interrupt__": asked}
        yield "values", {**self.thread.values, "__interrupt__": asked}

    def answered(self, value: Any) -> Iterator[Said]:
        yield "values", self.thread.values
        self.thread.next, self.thread.interrupts = [], []
        words = {"type": "ai", "id": f"answer-{self.name}", "content": f"You answered {value}."}
        yield from self.step("review", iter(()), {"approved": value, "messages": [words]})
        yield from self.note()
