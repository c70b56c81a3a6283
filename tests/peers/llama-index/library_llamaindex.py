"""Drives LlamaIndex with its OpenAI-like model: see ../library_program.py."""

import importlib
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
program: Any = importlib.import_module("library_program")
# Only this peer's environment has them; the type checker's has not.
workflow: Any = importlib.import_module("llama_index.core.agent.workflow")
ChatMessage: Any = importlib.import_module("llama_index.core.llms").ChatMessage
OpenAILike: Any = importlib.import_module("llama_index.llms.openai_like").OpenAILike
Json = dict[str, Any]
BASE_URL = sys.argv[1]


def connect(model: str, **options: Any) -> Any:
    return OpenAILike(
        model=model,
        api_base=BASE_URL,
        api_key="any",
        max_retries=0,
        context_window=8192,
        is_chat_model=True,
        is_function_calling_model=True,
        **options,
    )


def run_agent(model: str, question: str, streaming: bool) -> Any:
    agent = workflow.FunctionAgent(tools=[program.get_weather], llm=connect(model), streaming=streaming)
    return agent.run(question, max_iterations=program.MAX_STEPS)


async def use_tool(model: str, question: str) -> Json:
    answer = await run_agent(model, question, streaming=False)
    return {"text": answer.response.content}


async def stream_agent(model: str, question: str) -> Json:
    run = run_agent(model, question, streaming=True)
    async for event in run.stream_events():
        if isinstance(event, workflow.AgentStream):
            program.add_piece(event.delta)
    return {"text": (await run).response.content}


async def stream_text(model: str) -> Json:
    text = ""
    async for response in await connect(model).astream_chat([ChatMessage(role="user", content=program.GREETING)]):
        program.add_piece(response.delta)
        text = response.message.content
    return {"text": text}


async def make_person(model: str) -> Json:
    """A person by a forced call, and the same by a schema of the answer."""
    people = []
    for by_schema in (False, True):
        chat = connect(model, should_use_structured_outputs=by_schema).as_structured_llm(program.Person)
        people.append(program.describe_person((await chat.acomplete(program.PERSON_QUESTION)).raw))
    return {"people": people}


program.main(
    "llama-index-llms-openai-like",
    {
        "tool": lambda model: use_tool(model, program.WEATHER_QUESTION),
        "tool_stream": lambda model: stream_agent(model, program.WEATHER_QUESTION),
        "stream": stream_text,
        "structured": make_person,
        "cut": lambda model: use_tool(model, program.CUT_QUESTION),
        "cut_stream": lambda model: stream_agent(model, program.CUT_QUESTION),
    },
)
