from typing import Any

import pytest

from rightseat.errors import ConfigError
from rightseat.models.openai import OpenAIModel, model
from rightseat.models.openai.options import OpenAIOptions
from tests.kit.cases import each_case
from tests.kit.upstream import FakeUpstream
from tests.unit.models.model_calls import collect_chunks


@pytest.fixture(autouse=True)
def empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def test_openai_needs_a_key() -> None:
    with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
        model("gpt", {})
    assert isinstance(model("gpt", {"api_key": "sk"}), OpenAIModel)
    assert isinstance(model("gpt", {"headers": {"authorization": "Bearer x"}}), OpenAIModel)


def test_another_server_needs_none() -> None:
    assert model("m", {"base_url": "http://127.0.0.1:8080/v1"}).name == "m"


@pytest.mark.io
async def test_the_environment_gives_what_the_options_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    async with FakeUpstream() as upstream:
        monkeypatch.setenv("OPENAI_BASE_URL", upstream.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-env")
        for options, key in (({}, "sk-env"), ({"api_key": "sk-own"}, "sk-own")):
            made = model("m", options)
            await collect_chunks(made)
            await made.close()
            assert upstream.requests[-1].headers["authorization"] == f"Bearer {key}"


def test_options_and_constructor_agree() -> None:
    defaults = OpenAIModel.__init__.__kwdefaults__ or {}
    shared = [name for name in OpenAIOptions.__struct_fields__ if name in defaults]
    made = {"capabilities", "vendor"}
    assert {name: getattr(OpenAIOptions(), name) for name in shared} == {
        name: value for name, value in defaults.items() if name not in made
    }


@each_case(
    ("options", "message"),
    [
        ({"base_ulr": "x"}, "Did you mean 'base_url'"),
        ({"zzz": 1}, "Known: base_url, api_key"),
        ({"tries": "many"}, "tries"),
        ({"tries": 0}, "tries above 0"),
        ({"idle_timeout": -1}, "idle_timeout above 0"),
        ({"tools": "magic"}, "tools"),
        ({"idle_timeout": float("nan")}, "idle_timeout above 0"),
    ],
)
def test_a_wrong_option(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        model("m", {"api_key": "sk", **options})


def test_a_name_is_needed() -> None:
    with pytest.raises(ConfigError, match="needs a model's name"):
        model("", {"api_key": "sk"})


def test_the_environments_key_is_not_shown_to_another_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-real")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert "Authorization" not in model("m", {"base_url": "http://127.0.0.1:1/v1"})._headers
    assert model("m", {})._headers["Authorization"] == "Bearer sk-real"
    own = model("m", {"base_url": "http://127.0.0.1:1/v1", "api_key": "sk-own"})
    assert own._headers["Authorization"] == "Bearer sk-own"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:2/v1")
    assert model("m", {})._headers["Authorization"] == "Bearer sk-real"
