from __future__ import annotations

import io
from pathlib import Path

import pytest

from rightseat.cli.serve import list_startup_rows, print_startup
from rightseat.config.secret import Secret
from rightseat.config.settings import AuthSettings, Config, JwtSettings, ModelSettings
from rightseat.models.llamacpp.machine import Machine
from rightseat.types.model import Capabilities, ModelInfo
from rightseat.wiring import model_notes
from rightseat.wiring.default_model import choose_model
from rightseat.wiring.lookup import load_all

BASE = "http://127.0.0.1:1234"
LAPTOP = Machine(processors=8, cores=4, memory=16 << 30, free=9 << 30)


class FakeTerminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def render_startup(config: Config, out: io.StringIO | None = None) -> str:
    out = out or io.StringIO()
    print_startup(list_startup_rows(config, choose_model(config, {}), BASE, load_all("doors")), BASE, out)
    return out.getvalue()


@pytest.mark.demand("engine.serve_prints_card_without")
def test_the_card_says_what_one_needs_to_begin() -> None:
    text = render_startup(Config())
    assert 12 <= len(text.splitlines()) <= 26
    for needed in (
        f"is ready on {BASE}\n",
        "local (SmolLM2-135M-Instruct, embedded)",
        "on this machine",
        f"{BASE}/   open it in a browser",
        f"{BASE}/v1/chat/completions",
        f"export OPENAI_BASE_URL={BASE}/v1 OPENAI_API_KEY=none\n",
        f'new HttpAgent({{ url: "{BASE}/agui/default" }})\n',
        f'<CopilotKit runtimeUrl="{BASE}/copilotkit">\n',
        "./rightseat.toml",
        "only this machine",
        "No telemetry. Ctrl-C stops.",
    ):
        assert needed in text


def test_a_terminal_gets_colours_and_unbroken_lines() -> None:
    text = render_startup(Config(), FakeTerminal())
    assert "\x1b[" in text
    assert f"export OPENAI_BASE_URL={BASE}/v1" in text


def test_the_file_the_model_and_the_kinds_of_auth_are_named() -> None:
    auth = AuthSettings(
        keys={"alice": Secret("hunter2")},
        proxy_header="X-User",
        jwt=JwtSettings(issuer="https://id.example", audience="a", jwks="j"),
    )
    config = Config(auth=auth, models={"big": ModelSettings(spec="openai:gpt-4o")}, path=Path("/etc/rightseat.toml"))
    text = render_startup(config)
    assert "openai:gpt-4o" in text
    assert "the first of [models] in /etc/rightseat.toml" in text
    assert "1 in [auth.keys], JWT of https://id.example, X-User from a trusted proxy" in text
    assert "hunter2" not in text


@pytest.mark.demand("engine.card_says_what_model_is_for")
def test_the_card_says_what_the_embedded_model_is_for_and_names_a_better_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_notes, "get_machine", lambda: LAPTOP)
    lines = [line.strip() for line in render_startup(Config()).splitlines()]
    assert "Good for: calling tools and answering from their results; short questions in English." in lines
    assert "Not for: reasoning, long texts, general knowledge in Chinese." in lines
    assert "Better on this machine: rightseat models pull qwen3-4b, then rightseat models use qwen3-4b" in lines


@pytest.mark.demand("engine.card_says_what_model_is_for")
def test_the_card_says_that_the_script_is_no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_notes, "get_machine", lambda: Machine(1, 1, 1 << 30, 1 << 29))
    text = render_startup(Config(model="scripted:demo"))
    assert "Not for: any other question. A script answers, not a model." in text
    assert "Better on this machine" not in text, "nothing better fits into 1 GB"


@pytest.mark.demand("engine.card_says_what_model_is_for")
def test_the_card_says_of_another_model_only_what_is_known() -> None:
    known = Capabilities(images=False, context=128_000)
    config = Config(model="openai:x")
    notes = model_notes.describe_model(ModelInfo("openai", "x"), known)
    texts = [text for _, text in list_startup_rows(config, choose_model(config, {}), BASE, [], notes=notes)]
    assert "Takes: text, tools; 128000 tokens of context." in texts
    assert "Does not take: images." in texts
    assert "Better on this machine" not in "".join(texts)
    assert "Takes" not in render_startup(config), "nothing is known of it"
