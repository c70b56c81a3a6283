"""`@tool`: the schema that goes out, the typed values that come in, what is refused."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Annotated, Any, Literal

import pydantic
import pytest

from rightseat.errors import ConfigError
from rightseat.tools.function import as_tool, parse_param_docs, tool
from rightseat.types.events import Event, StepStart
from rightseat.types.streams import closing
from rightseat.types.tools import Ask, AskSignal, Effect, Pause, Result, Tool, ToolContext
from rightseat.types.turn import Turn
from tests.kit.cases import each_case


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Address(pydantic.BaseModel):
    street: str
    title: str = "Mr"


class Person(pydantic.BaseModel):
    name: str
    home: Address


@dataclass
class Point:
    x: int
    y: int = 0


async def call_tool(tool: Tool, args: dict[str, Any], **context: Any) -> list[Any]:
    assert tool.call is not None
    async with closing(tool.call(args, ToolContext(Turn(messages=()), **context))) as items:
        return [item async for item in items]


def get_parameter_schema(hint: Any, default: Any = ...) -> dict[str, Any]:
    """The schema of a tool's only parameter."""

    def one(x: Any = None) -> None: ...

    one.__annotations__ = {"x": hint}
    one.__defaults__ = () if default is ... else (default,)
    schema: dict[str, Any] = tool(one).parameters
    assert schema.get("required", []) == (["x"] if default is ... else [])
    return dict(schema["properties"]["x"])


@pytest.mark.demand("engine.tool_tool_typed_function")
@each_case(
    ("hint", "default", "schema"),
    [
        (str, ..., {"type": "string"}),
        (int, 3, {"type": "integer", "default": 3}),
        (float, ..., {"type": "number"}),
        (bool, False, {"type": "boolean", "default": False}),
        (int | None, None, {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None}),
        (int | None, ..., {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
        (Literal["a", "b"], ..., {"type": "string", "enum": ["a", "b"]}),
        (list[int], ..., {"type": "array", "items": {"type": "integer"}}),
        (dict[str, int], ..., {"type": "object", "additionalProperties": {"type": "integer"}}),
        (datetime, ..., {"type": "string", "format": "date-time"}),
        (
            Annotated[int, pydantic.Field(ge=1, le=9, description="How many")],
            ...,
            {"type": "integer", "minimum": 1, "maximum": 9, "description": "How many"},
        ),
        (Colour, ..., {"$ref": "#/$defs/Colour"}),
        (Any, ..., {}),
    ],
)
def test_a_parameter_as_a_schema(hint: Any, default: Any, schema: dict[str, Any]) -> None:
    assert get_parameter_schema(hint, default) == schema


def google(city: str, days: int = 1) -> str:
    """Tell the weather.

    Args:
        city (str): Where, as a name: "Rome".
        days: How far ahead.

    Returns:
        city: not a parameter's note.
    """
    return city * days


def sphinx(city: str, days: int = 1) -> str:
    """Tell the weather.
    :param str city: Where, as a name: "Rome".
    :param days: How far ahead.
    :returns: text
    """
    return city * days


@pytest.mark.demand("engine.tool_tool_typed_function")
@pytest.mark.parametrize("function", [google, sphinx])
def test_both_docstring_forms_say_the_same(function: Callable[..., str]) -> None:
    made = tool(function)
    assert made.name == function.__name__
    assert made.description == "Tell the weather."
    assert made.parameters == {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": 'Where, as a name: "Rome".'},
            "days": {"type": "integer", "description": "How far ahead.", "default": 1},
        },
        "required": ["city"],
    }


def test_no_docstring_is_no_description() -> None:
    def bare(a: int) -> int:
        return a

    assert tool(bare).description == ""
    assert parse_param_docs("") == {}


def test_name_description_and_flags_can_be_given() -> None:
    made = tool(name="add-2", description="Adds.", confirm=True, timeout=2.5)(google)
    assert (made.name, made.description, made.confirm, made.timeout) == ("add-2", "Adds.", True, 2.5)
    assert made.function is google
    assert as_tool(made) is made
    assert as_tool(google).name == "google"


@pytest.mark.parametrize("effect", ["reads", "writes", "dangerous"])
def test_an_author_says_which_effect_a_call_may_have(effect: Effect) -> None:
    assert tool(effect=effect)(google).effect == effect
    assert tool(effect=effect, isolate=True)(google).effect == effect


def test_without_a_word_a_call_may_write() -> None:
    assert tool(google).effect == tool()(google).effect == "writes"


@pytest.mark.parametrize("effect", ["read", "", None, ["reads"]])
def test_an_unknown_effect_is_refused_with_those_that_there_are(effect: Any) -> None:
    with pytest.raises(ConfigError, match=r"Tool google: effect .*: use reads, writes or dangerous"):
        tool(effect=effect)(google)


@pytest.mark.parametrize("name", ["has space", "ünï", "a" * 65, "semi;colon", "new\nline"])
def test_bad_names_are_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="Tool name"):
        tool(name=name)(google)


def test_a_name_of_64_is_taken() -> None:
    assert tool(name="a" * 64)(google).name == "a" * 64


def test_a_lambda_has_no_usable_name() -> None:
    with pytest.raises(ConfigError):
        tool(lambda: 1)


def test_parameters_that_have_no_name_are_refused() -> None:
    def many(*args: int) -> None: ...
    def keyed(**more: int) -> None: ...
    def placed(a: int, /) -> None: ...

    for function in (many, keyed, placed):
        with pytest.raises(ConfigError, match="is positional-only"):
            tool(function)


def test_titles_are_gone_but_a_property_called_title_stays() -> None:
    def book(title: str, person: Person) -> None: ...

    schema = tool(book).parameters
    assert schema["properties"]["title"] == {"type": "string"}
    assert schema["$defs"]["Address"]["properties"]["title"] == {"type": "string", "default": "Mr"}
    assert "title" not in schema
    assert "title" not in schema["$defs"]["Address"]
    assert schema["$defs"]["Person"]["required"] == ["name", "home"]


def test_a_default_with_a_key_title_keeps_it() -> None:
    assert get_parameter_schema(dict[str, str], {"title": "Mr"})["default"] == {"title": "Mr"}


async def test_values_come_in_typed() -> None:
    seen: list[Any] = []

    @tool
    async def take(when: datetime, who: Person, at: Point, colour: Colour, n: int | None = None) -> None:
        seen.extend([when, who, at, colour, n])

    args = {
        "when": "2024-05-01T10:00:00Z",
        "who": {"name": "Ann", "home": {"street": "High"}},
        "at": {"x": 1},
        "colour": "blue",
    }
    assert await call_tool(take, args) == [Result(None)]
    when, who, at, colour, n = seen
    assert when == datetime.fromisoformat("2024-05-01T10:00:00+00:00")
    assert who == Person(name="Ann", home=Address(street="High"))
    assert at == Point(1, 0)
    assert colour is Colour.BLUE
    assert n is None


async def test_what_the_schema_cannot_say_is_refused_by_the_type() -> None:
    @tool
    async def take(when: datetime) -> None: ...

    with pytest.raises(pydantic.ValidationError, match="when"):
        await call_tool(take, {"when": "next week"})


async def test_the_context_is_given_and_not_in_the_schema() -> None:
    @tool
    def who(a: int, ctx: ToolContext) -> str:
        return f"{ctx.call_id}/{a}"

    assert list(who.parameters["properties"]) == ["a"]
    assert await call_tool(who, {"a": 1, "ctx": "forged"}, call_id="c1") == [Result("c1/1")]


async def test_a_result_goes_through_as_it_is() -> None:
    @tool
    def fails() -> Result:
        return Result("no", failed=True)

    assert await call_tool(fails, {}) == [Result("no", failed=True)]


async def test_an_async_generator_streams_events_and_a_result() -> None:
    @tool
    async def work(n: int) -> AsyncIterator[Event | Result]:
        for number in range(n):
            yield StepStart(str(number))
        yield Result(n)

    assert await call_tool(work, {"n": 2}) == [StepStart("0"), StepStart("1"), Result(2)]


async def test_a_generator_tool_that_is_left_is_closed() -> None:
    closed: list[str] = []

    @tool
    async def work() -> AsyncIterator[Event]:
        try:
            yield StepStart("one")
            yield StepStart("two")
        finally:
            closed.append("now")

    assert work.call is not None
    async with closing(work.call({}, ToolContext(Turn(messages=())))) as items:
        assert await anext(items) == StepStart("one")
    assert closed == ["now"]


@pytest.mark.parametrize("kind", ["plain", "async"])
async def test_asking_pauses_and_the_answer_comes_back(kind: str) -> None:
    def plain(ctx: ToolContext) -> str:
        return f"on {ctx.ask('Which day?')}"

    async def slow(ctx: ToolContext) -> str:
        return f"on {ctx.ask('Which day?')}"

    made = tool(plain if kind == "plain" else slow)
    assert await call_tool(made, {}) == [Pause((Ask("Which day?"),))]
    assert await call_tool(made, {}, answers=("Monday",)) == [Result("on Monday")]


async def test_a_generator_tool_can_ask_too() -> None:
    @tool
    async def work(ctx: ToolContext) -> AsyncIterator[Event | Result]:
        yield StepStart("one")
        yield Result(ctx.ask("Which day?"))

    try:
        items = await call_tool(work, {})
    except AskSignal as asked:
        pytest.fail(f"asked out of the tool: {asked}")
    assert items == [StepStart("one"), Pause((Ask("Which day?"),))]


def test_a_parameter_may_be_called_schema_or_json() -> None:
    def query(schema: str, json: str, copy: bool = False) -> None: ...

    assert list(tool(query).parameters["properties"]) == ["schema", "json", "copy"]


def test_a_parameter_with_an_underscore_is_kept_or_refused() -> None:
    def query(_limit: int) -> None: ...

    try:
        made = tool(query)
    except ConfigError:
        return
    assert "_limit" in made.parameters["properties"]


def test_a_field_as_default_with_a_note_keeps_its_rules() -> None:
    def query(limit: int = pydantic.Field(5, ge=1)) -> None:
        """Ask.

        Args:
            limit: At most.
        """

    schema = tool(query).parameters["properties"]["limit"]
    assert schema == {"type": "integer", "minimum": 1, "default": 5, "description": "At most."}


def test_an_isolated_tool_has_no_context() -> None:
    def who(ctx: ToolContext) -> None: ...

    with pytest.raises(ConfigError, match="no ToolContext"):
        tool(isolate=True)(who)


class Plain:
    """Not a type that JSON knows."""


def plain(x: Plain) -> None: ...


def unknown(x: "Nope") -> None: ...  # type: ignore[name-defined]  # noqa: F821


@pytest.mark.parametrize("function", [plain, unknown])
def test_annotations_that_cannot_be_read_are_named(function: Callable[..., None]) -> None:
    with pytest.raises(ConfigError, match=f"Tool {function.__name__}: its annotations cannot be read"):
        tool(function)
