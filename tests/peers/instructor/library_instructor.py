"""Drives instructor, whose tools are classes that a call must match: see ../library_program.py."""

import importlib
import sys
from pathlib import Path
from typing import Any

from pydantic import BaseModel, create_model

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
program: Any = importlib.import_module("library_program")
# Only this peer's environment has them; the type checker's has not.
instructor: Any = importlib.import_module("instructor")
openai: Any = importlib.import_module("openai")
Json = dict[str, Any]
BASE_URL = sys.argv[1]


# The class is the tool, and its name is the tool's.
GetWeather: Any = create_model("get_weather", city=(str, ...), __doc__="Get the weather in a city.")


class Answer(BaseModel):
    """Answer the user."""

    text: str


def connect(model: str, mode: Any = instructor.Mode.TOOLS) -> Any:
    client = openai.AsyncOpenAI(base_url=BASE_URL, api_key="any", max_retries=0)
    return instructor.from_openai(client, model=model, mode=mode)


def ask(text: str) -> list[Json]:
    return [{"role": "user", "content": text}]


async def use_tool(model: str, question: str) -> Json:
    """A call, its result posted, and the answer as a second call."""
    client, messages = connect(model), ask(question)
    call, completion = await client.create_with_completion(response_model=GetWeather, messages=messages)
    asked = completion.choices[0].message.tool_calls[0]
    messages += [
        {"role": "assistant", "content": None, "tool_calls": [asked.model_dump()]},
        {"role": "tool", "tool_call_id": asked.id, "content": program.get_weather(call.city)},
    ]
    answer = await client.create(response_model=Answer, messages=messages)
    return {"text": answer.text}


async def use_tool_streamed(model: str, question: str) -> Json:
    """A call that grows in a stream and is run at its end, and the answer from its result."""
    client, messages, call = connect(model), ask(question), None
    async for partial in client.create_partial(response_model=GetWeather, messages=messages):
        call = partial
    assert call is not None, "no call in the stream"
    messages += ask(program.get_weather(call.city))
    answer = await client.create(response_model=Answer, messages=messages)
    return {"text": answer.text}


async def stream_text(model: str) -> Json:
    """Partial objects as they grow: each is the last one with more in it."""
    text = ""
    async for answer in connect(model).create_partial(response_model=Answer, messages=ask(program.GREETING)):
        grown = answer.text or ""
        assert grown.startswith(text), (text, grown)
        program.add_piece(grown.removeprefix(text))
        text = grown
    return {"text": text}


async def make_person(model: str) -> Json:
    """A person by a forced call, and the same by a schema of the answer."""
    modes = (instructor.Mode.TOOLS, instructor.Mode.JSON_SCHEMA)
    messages = ask(program.PERSON_QUESTION)
    people = [await connect(model, mode).create(response_model=program.Person, messages=messages) for mode in modes]
    return {"people": [program.describe_person(person) for person in people]}


program.main(
    "instructor",
    {
        "tool": lambda model: use_tool(model, program.WEATHER_QUESTION),
        "tool_stream": lambda model: use_tool_streamed(model, program.WEATHER_QUESTION),
        "stream": stream_text,
        "structured": make_person,
        "cut": lambda model: use_tool(model, program.CUT_QUESTION),
        # The tool has another name in a stream, and the script must know which to call.
        "cut_stream": lambda model: use_tool_streamed(model, f"{program.CUT_QUESTION} Answer in parts."),
    },
)
