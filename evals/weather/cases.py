"""The two weather tools of the seed, questions for them, and requests that are nothing for a tool."""

from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]
CURRENT, FORECAST = "get_current_weather", "get_n_day_weather_forecast"
_PLACE: Json = {
    "location": {"type": "string", "description": "The city and state, e.g. San Francisco, CA"},
    "format": {
        "type": "string",
        "enum": ["celsius", "fahrenheit"],
        "description": "The temperature unit to use. Infer this from the users location.",
    },
}
_DAYS: Json = {"num_days": {"type": "integer", "description": "The number of days to forecast"}}


def function(name: str, description: str, properties: Json) -> Json:
    schema = {"type": "object", "properties": properties, "required": [*properties]}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TOOLS = [
    function(CURRENT, "Get the current weather", _PLACE),
    function(FORECAST, "Get an N-day weather forecast", {**_PLACE, **_DAYS}),
]
SCHEMAS: dict[str, Json] = {tool["function"]["name"]: tool["function"]["parameters"] for tool in TOOLS}


@dataclass(frozen=True)
class Question:
    """`place` and `days`: what the arguments should hold."""

    text: str
    tool: str
    place: str
    days: int | None = None


QUESTIONS = (
    Question("What is the weather in Paris right now?", CURRENT, "Paris"),
    Question("Is it raining in Seattle at the moment?", CURRENT, "Seattle"),
    Question("How warm is it in Tokyo now?", CURRENT, "Tokyo"),
    Question("what's the current temperature in Chicago, IL", CURRENT, "Chicago"),
    Question("Tell me the weather in Glasgow today.", CURRENT, "Glasgow"),
    Question("Do I need an umbrella in London right now?", CURRENT, "London"),
    Question("Current weather for Berlin, in celsius please", CURRENT, "Berlin"),
    Question("How cold is it outside in Oslo?", CURRENT, "Oslo"),
    Question("What is it like outside in San Francisco, CA?", CURRENT, "San Francisco"),
    Question("Is it windy in Cape Town now?", CURRENT, "Cape Town"),
    Question(
        "what is the weather going to be like in San Francisco and Glasgow over the next 4 days",
        FORECAST,
        "San Francisco",
        4,
    ),
    Question("Give me a 5 day forecast for Madrid.", FORECAST, "Madrid", 5),
    Question("Will it rain in Boston, MA over the next 3 days?", FORECAST, "Boston", 3),
    Question("What will the weather be in Rome for the coming week?", FORECAST, "Rome", 7),
    Question("Forecast for Sydney, 10 days", FORECAST, "Sydney", 10),
    Question("How will the weather develop in Denver, CO in the next two days?", FORECAST, "Denver", 2),
    Question("I travel to Lisbon for 6 days. What weather should I expect?", FORECAST, "Lisbon", 6),
    Question("weather forecast for Toronto for the next 7 days in celsius", FORECAST, "Toronto", 7),
    Question("Show me the weather for the next 2 days in Miami, FL", FORECAST, "Miami", 2),
    Question("Will next week be sunny in Athens?", FORECAST, "Athens", 7),
)
PROMPTS_WITHOUT_TOOL = (
    "Write a short poem about the sea.",
    "What is the capital of France?",
    "Who wrote Hamlet?",
    "Hello, how are you?",
    "Tell me a joke.",
)

# The seed's three requests as it has them, but for the model's name, which is nobody's here.
_PYTHON = {"name": "eval_python", "parameters": {"properties": {"expression": {"type": "string"}}}}
_CAREFUL = (
    "Do not make assumptions about what values to plug into functions. "
    "Ask for clarification if a user request is ambiguous."
)
SEED: tuple[Json, ...] = (
    {
        "tools": TOOLS,
        "messages": [{"role": "system", "content": _CAREFUL}, {"role": "user", "content": QUESTIONS[10].text}],
    },
    {
        "messages": [{"role": "user", "content": "What is 15315*3/55 ?"}],
        "tools": [{"type": "function", "function": _PYTHON}],
        "max_tokens": 100,
    },
    {
        "messages": [{"role": "user", "content": "What is life?"}],
        "tools": [{"type": "function", "function": _PYTHON}],
        "max_tokens": 100,
    },
)


def make_request(text: str, mode: str, tool: str = CURRENT) -> Json:
    choice = {"type": "function", "function": {"name": tool}} if mode == "named" else mode
    return {
        "messages": [{"role": "user", "content": text}],
        "tools": TOOLS,
        "tool_choice": choice,
        "temperature": 0,
        "seed": 1,
        "max_tokens": 300,
    }
