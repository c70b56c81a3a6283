"""The spec `google:NAME` and its options."""

import re

import pytest
from msgspec.structs import replace

from rightseat.errors import ConfigError
from rightseat.models.catalog import lookup_capabilities
from rightseat.models.google import model
from rightseat.models.google.options import GOOGLE_URL
from rightseat.models.google.request import SETTINGS, THINKING_SETTINGS
from tests.kit.cases import each_case

VARIABLES = ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_GENAI_USE_VERTEXAI")


@pytest.fixture(autouse=True)
def empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("variable", ["GEMINI_API_KEY", "GOOGLE_API_KEY"])
def test_the_environments_key(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.setenv(variable, "from-env")
    made = model("gemini-2.5-flash", {})
    assert str(made.address).rstrip("/") == GOOGLE_URL
    assert made._headers["x-goog-api-key"] == "from-env"


def test_the_environments_key_is_shown_to_no_other_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "from-env")
    assert "x-goog-api-key" not in model("kit", {"base_url": "http://127.0.0.1:1"})._headers
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:2")
    assert model("kit", {})._headers["x-goog-api-key"] == "from-env"


def test_what_it_can_is_known_and_can_be_said() -> None:
    known = lookup_capabilities("google", "gemini-2.5-flash")
    thinking = replace(known, settings=frozenset(SETTINGS | THINKING_SETTINGS))
    assert model("gemini-2.5-flash", {"api_key": "k"}).capabilities == thinking
    made = model("gemini-2.5-flash", {"api_key": "k", "images": False, "reasoning": False, "tools": False})
    assert not made.capabilities.images
    assert made.capabilities == replace(known, tools=False, images=False, reasoning=False, settings=frozenset(SETTINGS))


@each_case(
    ("name", "options", "words"),
    [
        ("", {}, "needs a model's name"),
        ("kit", {}, "GEMINI_API_KEY"),
        ("kit", {"api_kee": "k"}, "Did you mean 'api_key'?"),
        ("kit", {"api_key": 7}, "wrong option"),
        ("kit", {"api_key": "k", "tries": 0}, "tries above 0"),
        ("kit", {"api_key": "k", "idle_timeout": -1.0}, "idle_timeout above 0"),
        ("kit", {"api_key": "k", "base_url": "ftp://x"}, "base_url must begin"),
        ("kit", {"api_key": "k", "base_url": "http://[x"}, "base_url is not an address"),
        ("kit", {"api_key": "k", "base_url": "http://x/?a=b"}, "takes no query"),
        ("kit", {"api_key": "k\n"}, "HTTP headers cannot contain"),
        ("kit", {"api_key": "k", "thinking_level": "huge"}, "wrong option"),
    ],
)
def test_a_wrong_one_says_what_to_do(name: str, options: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(words)):
        model(name, options)
