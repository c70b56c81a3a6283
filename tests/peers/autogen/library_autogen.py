"""Drives an assistant agent of AutoGen: see ../library_program.py."""

import importlib
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
program: Any = importlib.import_module("library_program")
# Only this peer's environment has them; the type checker's has not.
AssistantAgent: Any = importlib.import_module("autogen_agentchat.agents").AssistantAgent
messages: Any = importlib.import_module("autogen_agentchat.messages")
ModelInfo: Any = importlib.import_module("autogen_core.models").ModelInfo
OpenAIChatCompletionClient: Any = importlib.import_module("autogen_ext.models.openai").OpenAIChatCompletionClient
Json = dict[str, Any]
BASE_URL = sys.argv[1]
INFO = ModelInfo(vision=False, function_calling=True, json_output=True, structured_output=True, family="unknown")


def make_agent(model: str, **options: Any) -> Any:
    client = OpenAIChatCompletionClient(
        model=model, base_url=BASE_URL, api_key="any", max_retries=0, model_info=INFO, parallel_tool_calls=True
    )
    return AssistantAgent("assistant", client, max_tool_iterations=program.MAX_STEPS, **options)


async def use_tool(model: str, question: str) -> Json:
    result = await make_agent(model, tools=[program.get_weather]).run(task=question)
    return {"text": result.messages[-1].content}


async def stream_run(model: str, question: str, **options: Any) -> Json:
    result: Any = None
    async for event in make_agent(model, model_client_stream=True, **options).run_stream(task=question):
        if isinstance(event, messages.ModelClientStreamingChunkEvent):
            program.add_piece(event.content)
        result = event
    return {"text": result.messages[-1].content}


async def make_person(model: str) -> Json:
    result = await make_agent(model, output_content_type=program.Person).run(task=program.PERSON_QUESTION)
    return {"people": [program.describe_person(result.messages[-1].content)]}


program.main(
    "autogen-ext",
    {
        "tool": lambda model: use_tool(model, program.WEATHER_QUESTION),
        "tool_stream": lambda model: stream_run(model, program.WEATHER_QUESTION, tools=[program.get_weather]),
        "stream": lambda model: stream_run(model, program.GREETING),
        "structured": make_person,
        "cut": lambda model: use_tool(model, program.CUT_QUESTION),
        "cut_stream": lambda model: stream_run(model, program.CUT_QUESTION, tools=[program.get_weather]),
    },
)
