"""Where a vendor refuses a key, the error names the variable that the configuration names."""

from pathlib import Path

import pytest

from rightseat.config.load import load_config
from rightseat.errors import UpstreamDenied
from rightseat.wiring.from_config import build_runtime
from tests.kit.faults import fail_with_status
from tests.kit.upstream import FakeUpstream

pytestmark = pytest.mark.io


@pytest.mark.parametrize("spec", ["openai:gpt-5-mini", "anthropic:claude-sonnet-5", "google:gemini-2.5-flash"])
async def test_a_refused_key_is_named_as_in_the_file(
    spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DESK_MODEL_KEY", "sk-of-the-desk")
    async with FakeUpstream() as upstream:
        upstream.reply = fail_with_status(401)
        table = f'[models.default]\nspec = "{spec}"\nbase_url = "{upstream.origin}"\napi_key = "env:DESK_MODEL_KEY"\n'
        (tmp_path / "rightseat.toml").write_text(table)
        async with build_runtime(load_config(tmp_path / "rightseat.toml")) as runtime:
            with pytest.raises(UpstreamDenied, match=r"refused our key: check DESK_MODEL_KEY, which"):
                await runtime.ask("Hello")
