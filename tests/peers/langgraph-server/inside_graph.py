"""The same graph in the process of rightseat: what it is asked comes in as lines, what happens goes out so.

A line in: {"text": ..., "thread": ..., "answer": null | {"id": ..., "text": ...}}. A line out: the events.
"""

import asyncio
import importlib
import sys
from typing import Any

import msgspec
import platform_graph

from rightseat.agents.langgraph import langgraph
from rightseat.types.events import Event
from rightseat.types.messages import text_message
from rightseat.types.model import ToolSpec
from rightseat.types.turn import InterruptAnswer, Turn

memory: Any = importlib.import_module("langgraph.checkpoint.memory")
kept = platform_graph.drawn().compile(checkpointer=memory.InMemorySaver())
PAINT = ToolSpec("paint", "Paints.", {"type": "object"})


async def asked(line: str) -> list[Event]:
    given = msgspec.json.decode(line)
    agent = langgraph("desk", {"graph": "inside_graph:kept"}).agents["desk"]
    answer = given["answer"]
    turn = Turn(
        messages=(text_message("user", given["text"], id=given["text"]),),
        thread=given["thread"],
        tools=(PAINT,),
        answers=(InterruptAnswer(answer["id"], text=answer["text"]),) if answer else (),
    )
    return [event async for event in agent(turn)]


def main() -> None:
    # Under its own name it is the module that the option names, with the same graph.
    sys.modules["inside_graph"] = sys.modules["__main__"]
    with asyncio.Runner() as runner:
        for line in sys.stdin:
            print(msgspec.json.encode(runner.run(asked(line))).decode(), flush=True)


if __name__ == "__main__":
    main()
