"""A whole agent: functions of this program as tools of a model behind /v1, by the official OpenAI client.

    python agent.py "What will the weather be in London over the next 4 days?"

The model asks for calls, this program runs them and posts the results, until the model answers in text.
"""

import argparse
import inspect
import json
import sys
from collections.abc import Callable
from typing import Any, Literal, get_args, get_origin, get_type_hints

from openai import OpenAI

Unit = Literal["celsius", "fahrenheit"]
JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}
MAX_STEPS = 10
SYSTEM = (
    "Do not make assumptions about what values to plug into functions. "
    "Ask for clarification if a user request is ambiguous."
)


# ---- the tools: put your own functions here


def get_current_weather(location: str, format: Unit) -> dict[str, Any]:
    """Get the current weather. `location` is the city and state, e.g. San Francisco, CA."""
    return {"location": location, "temperature": 12 if format == "celsius" else 54, "sky": "cloudy"}


def get_n_day_weather_forecast(location: str, format: Unit, num_days: int) -> list[dict[str, Any]]:
    """Get an N-day weather forecast. `location` is the city and state, e.g. San Francisco, CA."""
    if not 1 <= num_days <= 14:
        raise ValueError("num_days must be between 1 and 14")
    return [{"day": day, **get_current_weather(location, format)} for day in range(1, num_days + 1)]


TOOLS: list[Callable[..., Any]] = [get_current_weather, get_n_day_weather_forecast]


# ---- the loop


def describe_type(hint: Any) -> dict[str, Any]:
    choices = list(get_args(hint))
    return {"type": "string", "enum": choices} if get_origin(hint) is Literal else {"type": JSON_TYPES[hint]}


def describe_tool(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the definition of a tool, from the function's signature and docstring."""
    hints = get_type_hints(function)
    parameters = inspect.signature(function).parameters
    schema = {
        "type": "object",
        "properties": {name: describe_type(hints[name]) for name in parameters},
        "required": [name for name, parameter in parameters.items() if parameter.default is parameter.empty],
    }
    definition = {"name": function.__name__, "description": inspect.getdoc(function) or "", "parameters": schema}
    return {"type": "function", "function": definition}


def run_call(name: str, arguments: str) -> str:
    """Return the result of a call as text; a mistake is told to the model, which may try again."""
    print(f"→ {name}({arguments})", file=sys.stderr)
    known = {function.__name__: function for function in TOOLS}
    try:
        return json.dumps(known[name](**json.loads(arguments)))
    except (KeyError, TypeError, ValueError) as error:
        return json.dumps({"error": f"{type(error).__name__}: {error}"})


def run_agent(client: OpenAI, model: str, question: str) -> str:
    messages: list[Any] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": question}]
    tools: list[Any] = [describe_tool(function) for function in TOOLS]
    for _ in range(MAX_STEPS):
        completion = client.chat.completions.create(model=model, messages=messages, tools=tools)
        message = completion.choices[0].message
        if not message.tool_calls:
            return message.content or ""
        messages.append(message.model_dump(exclude_none=True))
        for call in message.tool_calls:
            result = run_call(call.function.name, call.function.arguments)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
    return f"No answer after {MAX_STEPS} steps."


def main() -> None:
    options = argparse.ArgumentParser(description="Ask a model that may call the functions of this program.")
    options.add_argument("question")
    options.add_argument("--base-url", default="http://127.0.0.1:7777/v1")
    options.add_argument("--api-key", default="none")
    options.add_argument("--model", default="default")
    given = options.parse_args()
    print(run_agent(OpenAI(base_url=given.base_url, api_key=given.api_key), given.model, given.question))


if __name__ == "__main__":
    main()
