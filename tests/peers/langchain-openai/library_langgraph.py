"""Drives LangGraph's ReAct agent with LangChain's ChatOpenAI: see ../library_program.py."""

import importlib
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
program: Any = importlib.import_module("library_program")
# Only this peer's environment has them; the type checker's has not.
prebuilt: Any = importlib.import_module("langgraph.prebuilt")
ChatOpenAI: Any = importlib.import_module("langchain_openai").ChatOpenAI
Json = dict[str, Any]
BASE_URL = sys.argv[1]
LIMITS = {"recursion_limit": 2 * program.MAX_STEPS}


def make_agent(model: str, *tools: Any, **options: Any) -> Any:
    chat = ChatOpenAI(model=model, base_url=BASE_URL, api_key="any", max_retries=0, stream_usage=True)
    return prebuilt.create_react_agent(chat, list(tools), name="assistant", **options)


def ask(question: str) -> Json:
    return {"messages": [{"role": "user", "content": question, "name": "ada"}]}


async def use_tool(model: str, question: str) -> Json:
    state = await make_agent(model, program.get_weather).ainvoke(ask(question), LIMITS)
    return {"text": state["messages"][-1].content}


async def stream_run(agent: Any, question: str) -> Json:
    state: Json = {}
    async for mode, event in agent.astream(ask(question), LIMITS, stream_mode=["messages", "values"]):
        if mode == "values":
            state = event
        elif event[0].type == "AIMessageChunk":
            program.add_piece(event[0].content)
    return {"text": state["messages"][-1].content}


async def make_person(model: str) -> Json:
    agent = make_agent(model, response_format=program.Person)
    state = await agent.ainvoke(ask(program.PERSON_QUESTION), LIMITS)
    return {"people": [program.describe_person(state["structured_response"])]}


program.main(
    "langgraph",
    {
        "tool": lambda model: use_tool(model, program.WEATHER_QUESTION),
        "tool_stream": lambda model: stream_run(make_agent(model, program.get_weather), program.WEATHER_QUESTION),
        "stream": lambda model: stream_run(make_agent(model), program.GREETING),
        "structured": make_person,
        "cut": lambda model: use_tool(model, program.CUT_QUESTION),
        "cut_stream": lambda model: stream_run(make_agent(model, program.get_weather), program.CUT_QUESTION),
    },
)
