"""Model, the objects that become one, and what is found through wrappers."""

import ast
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

import rightseat
from rightseat import Assistant, Runtime
from rightseat.middleware.model_wrappers import FallbackMember, FallbackModel
from rightseat.types.chunks import FinishChunk, ModelChunk
from rightseat.types.model import (
    UNDECLARED,
    BoundModel,
    Capabilities,
    CompletesText,
    Embeds,
    Model,
    ModelInfo,
    ModelWrapper,
    Prompt,
    Tokenizes,
    adapt_model,
    find_protocol,
)
from tests.kit.app_server import FakeModel
from tests.kit.cases import each_case

SOURCES = Path(rightseat.__file__).parent
CAPABILITIES = (
    {"stream", "embed", "tokenize", "detokenize", "completes", "images", "context", "info"}
    | {name for name in vars(Model) if not name.startswith("_")}
    | set(Capabilities.__struct_fields__)
)


class Plain:
    async def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        yield FinishChunk("stop")


class Rich(Plain):
    """An object that is no Model and has all that one may have."""

    name = "rich"
    address = "http://127.0.0.1:1"
    completes = True
    capabilities = Capabilities(images=True, context=9)
    ready = False

    def __init__(self) -> None:
        self.did: list[str] = []

    async def start(self) -> None:
        self.did.append("start")

    async def close(self) -> None:
        self.did.append("close")

    async def embed(self, body: dict[str, Any]) -> dict[str, Any]:
        return {"data": body}

    async def tokenize(self, text: str, *, add: bool, special: bool, pieces: bool) -> list[Any]:
        return [len(text)]

    async def detokenize(self, tokens: list[int]) -> str:
        return str(tokens)


class Wrapped(ModelWrapper):
    def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        return self.model.stream(prompt)


class Able(FakeModel):
    capabilities = Capabilities(images=False, context=9)


def test_a_model_is_no_model_without_stream() -> None:
    class Mute(Model):
        pass

    with pytest.raises(TypeError, match="stream"):
        Mute()  # type: ignore[abstract]


async def test_a_model_has_defaults() -> None:
    model = FakeModel()
    assert (model.name, model.capabilities, model.ready) == ("", UNDECLARED, True)
    assert (model.address, model.weights, model.info) == (None, None, ModelInfo("fake", "fake"))
    await model.start()
    await model.close()
    assert adapt_model(model) is model


def test_images_are_sent_and_not_advertised_where_nothing_is_declared() -> None:
    for model in (FakeModel(), adapt_model(Plain())):
        assert model.capabilities.images
        assert not model.capabilities.supports_images
    assert not Able().capabilities.supports_images


async def test_an_object_with_stream_becomes_a_model_once() -> None:
    source = Plain()
    model = adapt_model(source)
    assert (model.ready, model.capabilities, model.info) == (True, UNDECLARED, ModelInfo("plain", "plain"))
    await model.start()
    await model.close()
    assert [chunk async for chunk in model.stream(Prompt(messages=()))] == [FinishChunk("stop")]
    first, second = Runtime(model=source), Assistant("other", source)  # type: ignore[arg-type]
    assert second.model is model
    assert BoundModel.from_model(source).model is model
    await first.close()


async def test_what_an_object_declares_is_read() -> None:
    source = Rich()
    model = adapt_model(source)
    assert (model.address, model.capabilities) == (source.address, source.capabilities)
    assert model.info == ModelInfo("rich", "rich")
    assert not model.ready
    source.ready = True
    assert model.ready
    await model.start()
    await model.close()
    assert source.did == ["start", "close"]
    assert Assistant("a", model).context_window == 9


async def test_wrappers_have_what_their_model_has() -> None:
    source = Rich()
    inner = adapt_model(source)
    priced = ModelInfo("p", "m", 1.0)
    model = Wrapped(Wrapped(FallbackModel([FallbackMember("rich", inner, inner.info)]), priced))
    assert (model.info, model.name, model.ready) == (priced, "rich", False)
    for attribute in ("capabilities", "address", "versioned", "weights"):
        assert getattr(model, attribute) == getattr(inner, attribute)
    for protocol in (Embeds, Tokenizes, CompletesText):
        assert find_protocol(model, protocol) is source
        assert find_protocol(Wrapped(FakeModel()), protocol) is None
        assert find_protocol(None, protocol) is None
    await model.start()
    await model.close()
    assert source.did == ["start", "close"]


def find_capability_lookups(folder: str) -> Iterator[str]:
    """Yield calls of getattr and hasattr for a capability, and `__getattr__` methods."""
    for path in sorted((SOURCES / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            match node:
                case ast.Call(ast.Name("getattr" | "hasattr"), [_, ast.Constant(str(name)), *_]) if (
                    name in CAPABILITIES
                ):
                    yield f"{path.relative_to(SOURCES)}:{node.lineno}: {name}"
                case ast.FunctionDef(name="__getattr__"):
                    yield f"{path.relative_to(SOURCES)}:{node.lineno}: __getattr__"


@each_case("folder", ["engine", "runtime", "middleware", "wiring", "doctor", "plugins/flows"])
def test_capabilities_are_not_looked_up_by_name(folder: str) -> None:
    assert (SOURCES / folder).is_dir()
    assert list(find_capability_lookups(folder)) == []


def test_the_adapter_alone_looks_them_up() -> None:
    assert {line.partition(":")[0] for line in find_capability_lookups("types")} == {"types/model.py"}


@pytest.mark.parametrize("capabilities", [None, {"images": True}, "all"])
def test_an_attribute_of_another_library_declares_nothing(capabilities: object) -> None:
    source = Plain()
    source.capabilities = capabilities  # type: ignore[attr-defined]
    assert adapt_model(source).capabilities == UNDECLARED
