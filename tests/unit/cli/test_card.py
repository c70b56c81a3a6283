from __future__ import annotations

import io
from pathlib import Path

import pytest

from rightseat.cli.serve import list_startup_rows, print_startup
from rightseat.config.secret import Secret
from rightseat.config.settings import AuthSettings, Config, JwtSettings, ModelSettings
from rightseat.wiring.default_model import choose_model
from rightseat.wiring.lookup import load_all

BASE = "http://127.0.0.1:1234"


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
    assert 12 <= len(text.splitlines()) <= 24
    for needed in (
        f"is ready on {BASE}\n",
        "local (SmolLM2-135M-Instruct, embedded)",
        "on this machine",
        f"{BASE}/   open it in a browser",
        f"{BASE}/v1/chat/completions",
        f"export OPENAI_BASE_URL={BASE}/v1\n",
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
