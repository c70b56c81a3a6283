from typing import Any

import pytest

from rightseat.config.settings import Config, ModelSettings
from rightseat.doctor.setup import list_required_extras
from rightseat.errors import ConfigError
from rightseat.models.anthropic import AnthropicModel, model
from rightseat.wiring.lookup import make_model
from tests.kit.cases import each_case
from tests.unit.models.anthropic.model_calls import collect_chunks, connect_model


@pytest.fixture(autouse=True)
def empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)


def test_anthropic_needs_a_key() -> None:
    with pytest.raises(ConfigError, match="ANTHROPIC_API_KEY"):
        model("claude", {})
    assert isinstance(model("claude", {"api_key": "sk"}), AnthropicModel)
    assert isinstance(model("claude", {"headers": {"x-api-key": "sk"}}), AnthropicModel)


def test_a_name_is_needed() -> None:
    with pytest.raises(ConfigError, match="needs a model's name"):
        model("", {"api_key": "sk"})


def test_the_registry_knows_it() -> None:
    made = make_model("anthropic:claude-opus-5-5", {"base_url": "http://127.0.0.1:1"})
    assert isinstance(made, AnthropicModel)
    assert made.name == "claude-opus-5-5"


@pytest.mark.io
async def test_the_environment_gives_what_the_options_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    async with connect_model() as (upstream, _):
        monkeypatch.setenv("ANTHROPIC_BASE_URL", upstream.origin)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-env")
        for options, key in (({}, "sk-env"), ({"api_key": "sk-own"}, "sk-own")):
            made = model("claude-opus-5-5", options)
            await collect_chunks(made)
            await made.close()
            assert upstream.requests[-1].headers["authorization"] == f"Bearer {key}"


@pytest.mark.io
async def test_the_environments_key_is_not_shown_to_another_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-env")
    async with connect_model() as (upstream, made):
        await collect_chunks(made)
        assert "authorization" not in upstream.requests[0].headers


def test_the_doctor_knows_that_its_extra_is_needed() -> None:
    assert "anthropic" in list_required_extras(Config(models={"m": ModelSettings(spec="anthropic:claude-opus-5-5")}))
    assert "anthropic" not in list_required_extras(Config())


def test_what_the_options_say_goes_over_the_table() -> None:
    given = {"api_key": "sk", "images": False, "parallel": False}
    made = model("claude-opus-5-5", given)
    assert (made.capabilities.images, made.capabilities.parallel, made.capabilities.tools) == (False, False, True)


@each_case(
    ("options", "message"),
    [
        ({"base_ulr": "x"}, "Did you mean 'base_url'"),
        ({"zzz": 1}, "Known: base_url, api_key"),
        ({"tries": "many"}, "tries"),
        ({"tries": 0}, "tries above 0"),
        ({"idle_timeout": -1}, "idle_timeout above 0"),
        ({"idle_timeout": float("nan")}, "idle_timeout above 0"),
        ({"max_tokens": 0}, "max_tokens above 0"),
        ({"effort": "gigantic"}, "effort"),
        ({"thinking": "much"}, "thinking"),
    ],
)
def test_a_wrong_option(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        model("m", {"api_key": "sk", **options})
