"""With an embedding model, tools are found by meaning too; without an answer from it, by words."""

import logging
import math
import random
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from rightseat.config.settings import Config, ModelSettings, PluginSettings, ToolSettings
from rightseat.errors import ConfigError, UpstreamRefused
from rightseat.plugins.catalog import FIND_TOOLS, PluginCatalog
from rightseat.plugins.search import VectorIndex, fuse_rankings
from rightseat.plugins.selection import ToolSelection
from rightseat.types.messages import text_message
from rightseat.types.tools import Tool
from rightseat.types.turn import Turn
from rightseat.wiring.from_config import build_runtime
from tests.unit.plugins.catalogs import make_small_catalog

AXES = {
    "weather": ("weather", "forecast", "temperature", "umbrella", "rain"),
    "hosts": ("主机", "漏洞", "machine", "vulnerabilities"),
    "books": ("book", "library", "novel", "author"),
}


class FakeEmbeddingModel:
    """An embedding model that knows three subjects, and keeps what it was asked."""

    def __init__(self) -> None:
        self.requests: list[list[str]] = []

    async def embed(self, body: dict[str, Any]) -> dict[str, Any]:
        texts = body["input"]
        self.requests.append(texts)
        data = [{"index": n, "embedding": make_vector(text)} for n, text in enumerate(texts)]
        return {"data": data[::-1]}


def make_vector(text: str) -> list[float]:
    noise = random.Random(text)
    strengths = [sum(word in text.lower() for word in words) for words in AXES.values()]
    found = []
    for axis, strength in enumerate(strengths):
        direction = random.Random(axis)
        found.append([strength * direction.gauss(0, 1) for _ in range(64)])
    return [sum(column) + noise.gauss(0, 0.1) for column in zip(*found, strict=True)]


def make_catalog(model: FakeEmbeddingModel, before: PluginCatalog | None = None) -> PluginCatalog:
    return PluginCatalog(make_small_catalog().loaded.values(), model.embed, before)


async def list_offered(catalog: PluginCatalog, question: str) -> list[str]:
    tools: dict[str, Tool] = {}
    await ToolSelection(catalog, max_tools=2).add_tools(tools, Turn(messages=(text_message("user", question),)), ())
    return [name for name in tools if name != FIND_TOOLS]


@pytest.mark.demand("plugins.embeddings_select_embedding_model")
@pytest.mark.parametrize(
    ("question", "plugin"),
    [
        ("Do I need an umbrella?", "weather"),
        ("Which machines have vulnerabilities?", "cmdb"),
        ("A good novel, please", "library"),
    ],
)
async def test_a_question_finds_what_it_shares_no_word_with(question: str, plugin: str) -> None:
    made = make_catalog(FakeEmbeddingModel())
    assert made.index.search(question) == [], "words alone would do"
    await made.start()
    assert all(name.startswith(plugin) for name in await list_offered(made, question))


async def test_nothing_is_asked_for_twice() -> None:
    model = FakeEmbeddingModel()
    first = make_catalog(model)
    part = first.make_subset(["weather"])
    await first.start()
    await make_catalog(model, first).start()
    assert len(model.requests) == 1
    assert part.vectors is not None
    assert len(part.vectors.sign_bits) == 2


async def raise_refused(body: dict[str, Any]) -> dict[str, Any]:
    raise UpstreamRefused("It cannot be reached.")


async def return_strange_vector(body: dict[str, Any]) -> dict[str, Any]:
    return {"data": [{"embedding": "AAAA"}]}


async def return_too_few_vectors(body: dict[str, Any]) -> dict[str, Any]:
    return {"data": [{"embedding": [1.0]}]}


@pytest.mark.demand("plugins.embeddings_select_embedding_model")
@pytest.mark.parametrize("embed", [raise_refused, return_strange_vector, return_too_few_vectors])
async def test_without_vectors_words_choose(
    embed: Callable[[dict[str, Any]], Awaitable[dict[str, Any]]], caplog: pytest.LogCaptureFixture
) -> None:
    made = PluginCatalog(make_small_catalog().loaded.values(), embed)
    await made.start()
    assert "chosen by words alone" in caplog.text
    assert "weather_forecast" in await list_offered(made, "a weather forecast")


async def test_a_model_that_fails_later_costs_a_turn_nothing_but_its_meaning(caplog: pytest.LogCaptureFixture) -> None:
    made = make_catalog(FakeEmbeddingModel())
    await made.start()
    assert made.vectors is not None
    made.vectors.embed = raise_refused
    assert "weather_forecast" in await list_offered(made, "a weather forecast")
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


@pytest.mark.demand("plugins.embeddings_select_embedding_model")
async def test_the_nearest_of_many_is_found() -> None:
    chance = random.Random(5)
    points = {f"t{n}": [chance.gauss(0, 1) for _ in range(96)] for n in range(1000)}

    async def embed(body: dict[str, Any]) -> dict[str, Any]:
        return {"data": [{"embedding": points[text]} for text in body["input"]]}

    vectors = VectorIndex(embed, list(points))
    await vectors.start()
    hits = 0
    for number in range(50):
        points["q"] = [value + chance.gauss(0, 0.3) for value in points[f"t{number}"]]
        hits += (await vectors.search("q"))[0] == number
    assert hits == 50
    assert math.isclose(math.hypot(*vectors.unit_vectors[0]), 1, abs_tol=1e-5)
    assert set(await vectors.search("q", {3, 4})) == {3, 4}


def test_two_orders_become_one() -> None:
    assert fuse_rankings([1, 2, 3], [3, 1, 4])[:2] == [1, 3]
    assert fuse_rankings([], [2]) == [2]


def test_a_model_without_embeddings_is_refused(tmp_path: Any) -> None:
    config = Config(
        models={"m": ModelSettings(spec="scripted:demo")},
        plugins=(PluginSettings(path=str(tmp_path)),),
        tools=ToolSettings(embeddings="m"),
    )
    with pytest.raises(ConfigError, match="the model m has no embeddings"):
        build_runtime(config, env={})
