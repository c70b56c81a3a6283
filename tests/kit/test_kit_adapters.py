"""The bench of adapters reads what it claims to read, and goes red where words are missing."""

from typing import Any

import pytest

from bench import adapters, official
from bench.scenarios import all_scenarios
from bench.scenarios.adapters import find_sdk_python
from tests.kit import answers
from tests.kit.chunks import make_words
from tests.kit.upstream import FakeUpstream

pytestmark = pytest.mark.io


@pytest.fixture(autouse=True)
def short_bench(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (adapters, official):
        monkeypatch.setattr(module, "TOKENS", 5)
        monkeypatch.setattr(module, "RATE", 1000)
    monkeypatch.setattr(official, "STREAMS", 2)
    monkeypatch.setattr(adapters, "TURN", {"say": make_words(5), "pace_ms": 1})


@pytest.mark.demand("models.bench_cpu_per_token")
@pytest.mark.parametrize("name", adapters.ADAPTERS)
async def test_every_adapter_is_measured(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    async with FakeUpstream() as upstream:
        upstream.reply = adapters.reply_in_wire_format
        await adapters.print_cost(name, upstream.origin)
    assert float(capsys.readouterr().out) > 0


@pytest.mark.demand("models.bench_cpu_per_token")
async def test_a_word_that_is_missing_is_no_figure() -> None:
    async with FakeUpstream() as upstream:
        upstream.reply = answers.answer_text(4)
        model: Any = adapters.ADAPTERS["openai"](upstream.origin)
        with pytest.raises(SystemExit, match="expected 5 words"):
            await official.measure_cost(adapters.make_stream_reader(model))
        await model.close()


@pytest.mark.demand("models.bench_cpu_per_token")
def test_the_scenario_is_found_and_langchain_has_no_sdk_of_its_own() -> None:
    assert not all_scenarios()["adapters"].short
    assert find_sdk_python("langchain") is None
    assert find_sdk_python("anthropic") is not None
