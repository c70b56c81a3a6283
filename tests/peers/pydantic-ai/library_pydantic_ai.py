"""Drives an agent of pydantic-ai over chat completions: see ../library_program.py."""

import importlib
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
program: Any = importlib.import_module("library_program")
# Only this peer's environment has them; the type checker's has not.
ai: Any = importlib.import_module("pydantic_ai")
OpenAIChatModel: Any = importlib.import_module("pydantic_ai.models.openai").OpenAIChatModel
OpenAIProvider: Any = importlib.import_module("pydantic_ai.providers.openai").OpenAIProvider
Json = dict[str, Any]
BASE_URL = sys.argv[1]
settings = {"parallel_tool_calls": True, "openai_store": False, "openai_user": "ada"}
limits = ai.UsageLimits(request_limit=program.MAX_STEPS)


def make_agent(model: str, **options: Any) -> Any:
    chat = OpenAIChatModel(model, provider=OpenAIProvider(base_url=BASE_URL, api_key="any"))
    return ai.Agent(chat, model_settings=settings, **options)


def make_tool_agent(model: str) -> Any:
    return make_agent(model, tools=[program.get_weather])


async def use_tool(model: str, question: str) -> Json:
    return {"text": (await make_tool_agent(model).run(question, usage_limits=limits)).output}


async def stream_run(agent: Any, question: str) -> Json:
    async with agent.run_stream(question, usage_limits=limits) as run:
        async for piece in run.stream_text(delta=True, debounce_by=None):
            program.add_piece(piece)
        return {"text": await run.get_output()}


async def make_person(model: str) -> Json:
    """A person by a forced call, and the same by a schema of the answer."""
    people = []
    for output_type in (program.Person, ai.NativeOutput(program.Person, strict=True)):
        agent = make_agent(model, output_type=output_type)
        result = await agent.run(program.PERSON_QUESTION, usage_limits=limits)
        people.append(program.describe_person(result.output))
    return {"people": people}


program.main(
    "pydantic-ai-slim",
    {
        "tool": lambda model: use_tool(model, program.WEATHER_QUESTION),
        "tool_stream": lambda model: stream_run(make_tool_agent(model), program.WEATHER_QUESTION),
        "stream": lambda model: stream_run(make_agent(model), program.GREETING),
        "structured": make_person,
        "cut": lambda model: use_tool(model, program.CUT_QUESTION),
        "cut_stream": lambda model: stream_run(make_tool_agent(model), program.CUT_QUESTION),
    },
)
