"""Drives OpenAI's Agents SDK over chat completions: see ../library_program.py."""

import importlib
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
program: Any = importlib.import_module("library_program")
# Only this peer's environment has them; the type checker's has not.
agents: Any = importlib.import_module("agents")
openai: Any = importlib.import_module("openai")
Json = dict[str, Any]
BASE_URL = sys.argv[1]
# Traces would go to OpenAI.
agents.set_tracing_disabled(True)
client = openai.AsyncOpenAI(base_url=BASE_URL, api_key="any", max_retries=0)
settings = agents.ModelSettings(parallel_tool_calls=True, store=False, include_usage=True, metadata={"case": "peer"})


def make_agent(model: str, **options: Any) -> Any:
    chat = agents.OpenAIChatCompletionsModel(model=model, openai_client=client)
    return agents.Agent(name="Assistant", model=chat, model_settings=settings, **options)


def make_tool_agent(model: str) -> Any:
    return make_agent(model, tools=[agents.function_tool(program.get_weather)])


async def use_tool(model: str, question: str) -> Json:
    result = await agents.Runner.run(make_tool_agent(model), question, max_turns=program.MAX_STEPS)
    return {"text": result.final_output}


async def stream_run(agent: Any, question: str) -> Json:
    result = agents.Runner.run_streamed(agent, question, max_turns=program.MAX_STEPS)
    async for event in result.stream_events():
        if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
            program.add_piece(event.data.delta)
    return {"text": result.final_output}


async def make_person(model: str) -> Json:
    result = await agents.Runner.run(make_agent(model, output_type=program.Person), program.PERSON_QUESTION)
    return {"people": [program.describe_person(result.final_output)]}


program.main(
    "openai-agents",
    {
        "tool": lambda model: use_tool(model, program.WEATHER_QUESTION),
        "tool_stream": lambda model: stream_run(make_tool_agent(model), program.WEATHER_QUESTION),
        "stream": lambda model: stream_run(make_agent(model), program.GREETING),
        "structured": make_person,
        "cut": lambda model: use_tool(model, program.CUT_QUESTION),
        "cut_stream": lambda model: stream_run(make_tool_agent(model), program.CUT_QUESTION),
    },
)
