"""Drives a tool-calling agent of smolagents, which answers by a tool too: see ../library_program.py."""

import asyncio
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
program: Any = importlib.import_module("library_program")
# Only this peer's environment has them; the type checker's has not.
smolagents: Any = importlib.import_module("smolagents")
Json = dict[str, Any]
BASE_URL = sys.argv[1]


def connect(model: str) -> Any:
    return smolagents.OpenAIModel(
        model, api_base=BASE_URL, api_key="any", client_kwargs={"max_retries": 0}, retry=False
    )


def use_tool(model: str, question: str, stream: bool = False) -> Json:
    agent = smolagents.ToolCallingAgent(
        [smolagents.tool(program.get_weather)],
        connect(model),
        max_steps=program.MAX_STEPS,
        stream_outputs=stream,
        verbosity_level=0,
    )
    return {"text": str(agent.run(question))}


def ask(question: str) -> list[Any]:
    return [smolagents.ChatMessage(role="user", content=[{"type": "text", "text": question}])]


def stream_text(model: str) -> Json:
    text = ""
    for delta in connect(model).generate_stream(ask(program.GREETING)):
        program.add_piece(delta.content)
        text += delta.content or ""
    return {"text": text}


def make_person(model: str) -> Json:
    schema = {"name": "person", "schema": program.Person.model_json_schema(), "strict": True}
    answer = connect(model).generate(
        ask(program.PERSON_QUESTION), response_format={"type": "json_schema", "json_schema": schema}
    )
    return {"people": [program.describe_person(program.Person.model_validate_json(answer.content))]}


def in_thread(case: Callable[..., Json], *arguments: Any) -> Any:
    return lambda model: asyncio.to_thread(case, model, *arguments)


program.main(
    "smolagents",
    {
        "tool": in_thread(use_tool, program.WEATHER_QUESTION),
        "tool_stream": in_thread(use_tool, program.WEATHER_QUESTION, True),
        "stream": in_thread(stream_text),
        "structured": in_thread(make_person),
        "cut": in_thread(use_tool, program.CUT_QUESTION),
        "cut_stream": in_thread(use_tool, program.CUT_QUESTION, True),
    },
)
