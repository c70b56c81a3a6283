"""Mistakes of library users: wrong arguments are told when the Runtime is made, exceptions of a model are the cause of
what `ask` raises, and no client over HTTP learns of them."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

import rightseat
from rightseat.errors import INTERNAL_ERROR, ConfigError, RightseatError
from rightseat.testing import ScriptedModel, TestClient
from tests.kit.cases import each_case

HI = {"messages": [{"role": "user", "content": "hi"}]}


class NoStream:
    """A model without `stream`."""


class PlainStream:
    """A model whose `stream` is a plain generator."""

    def stream(self, prompt: Any) -> Iterator[Any]:
        yield rightseat.TextChunk("x")


class ReturnedText:
    """A model whose `stream` returns instead of yielding."""

    async def stream(self, prompt: Any) -> str:
        return "x"


class PlainModel(rightseat.Model):
    """A subclass of Model whose `stream` is a plain generator."""

    def stream(self, prompt: Any) -> Any:
        yield rightseat.TextChunk("x")


class YieldsText:
    """A model that yields a text instead of a chunk."""

    async def stream(self, prompt: Any) -> AsyncIterator[Any]:
        yield "x"


class ReturnsList:
    """A model whose `stream` returns a list."""

    def stream(self, prompt: Any) -> Any:
        return [rightseat.TextChunk("x")]


class RaisesKeyError:
    """A model with a bug of its own."""

    async def stream(self, prompt: Any) -> AsyncIterator[Any]:
        yield rightseat.TextChunk("a")
        raise KeyError("private-key-name")


@pytest.mark.demand("engine.library_mistakes")
@each_case(
    ("arguments", "told"),
    [
        ({"model": NoStream()}, "model: NoStream has no method stream. Give"),
        ({"model": 3}, "model: int has no method stream. Give"),
        ({"model": PlainStream()}, "model: the method stream of PlainStream is no async generator. Write `async def"),
        ({"model": ReturnedText()}, "model: the method stream of ReturnedText is no async generator."),
        ({"model": PlainModel()}, "model: the method stream of PlainModel is no async generator."),
        ({"model": YieldsText}, "model: YieldsText is a class. Give an object of it, such as YieldsText()."),
        (
            {"model": ScriptedModel(), "tools": ["add"]},
            "tools: 'add' is a str, not a function or a tool. Give functions",
        ),
        ({"model": ScriptedModel(), "tools": [3]}, "tools: 3 is a int, not a function or a tool."),
        ({"model": ScriptedModel(), "tools": print}, "tools: a builtin_function_or_method is no list. Give a list"),
    ],
)
def test_a_wrong_argument_is_told_when_the_runtime_is_made(arguments: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        rightseat.Runtime(**arguments)
    assert caught.value.message.startswith(told)


@pytest.mark.demand("engine.library_mistakes")
def test_an_assistant_takes_no_spec() -> None:
    with pytest.raises(ConfigError, match="a spec is for Runtime"):
        rightseat.Assistant("a", "openai:gpt-5-mini")  # type: ignore[arg-type]


@pytest.mark.demand("engine.library_mistakes")
@pytest.mark.parametrize(
    ("model", "kind", "said"),
    [
        (RaisesKeyError(), KeyError, "private-key-name"),
        (YieldsText(), TypeError, "yields chunks such as rightseat.TextChunk, not str."),
        (ReturnsList(), TypeError, "list"),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_ask_raises_from_the_models_own_exception(model: Any, kind: type[Exception], said: str) -> None:
    async with rightseat.Runtime(model=model) as runtime:
        with pytest.raises(RightseatError) as caught:
            await runtime.ask("hi")
    assert type(caught.value.__cause__) is kind
    assert said in str(caught.value.__cause__)
    assert str(caught.value).startswith(f"A run of the model {type(model).__name__} failed: {kind.__name__}.")
    assert caught.value.message == INTERNAL_ERROR.message, "doors send the message"


@pytest.mark.demand("engine.library_mistakes")
async def test_no_client_learns_of_the_models_exception() -> None:
    """Neither of one in the server's own model, nor of one that a Responder meets by `ask`."""
    inner = rightseat.Runtime(model=RaisesKeyError())

    async def respond(turn: rightseat.Turn) -> AsyncIterator[rightseat.Event]:
        await inner.ask("hi")
        yield rightseat.Suggestions(())

    for runtime in (inner, rightseat.Runtime(agents={"default": respond})):
        client = TestClient(rightseat.asgi(runtime))
        replies = [(await client.post_json("/v1/chat/completions", HI)).text]
        replies += [str(event) async for event in client.stream("/agui/default", HI)]
        assert INTERNAL_ERROR.message in " ".join(replies)
        for secret in ("RaisesKeyError", "KeyError", "private-key-name"):
            assert secret not in " ".join(replies)
    await inner.close()
