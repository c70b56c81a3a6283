"""The lines of docs/models.md about local models, run in their order against a hub of our own."""

import hashlib
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from rightseat.config.settings import Config
from rightseat.models.llamacpp import curated
from rightseat.models.llamacpp.curated import CURATED_MODELS
from rightseat.wiring.default_model import choose_model
from tests.kit.command import run_command
from tests.kit.hub import FakeHub, send_file
from tests.unit.models.llamacpp.gguf_files import make_gguf, make_usual_entries

PAGE = Path(__file__).parents[2] / "docs" / "models.md"
SECTION = PAGE.read_text(encoding="utf-8").partition("## A better local model\n")[2].partition("\n## ")[0]
GGUF = make_gguf(*make_usual_entries())


@pytest.mark.demand("llamacpp.pull_named_or_any_model", "llamacpp.models_use_remove")
@pytest.mark.io
async def test_the_lines_do_what_they_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    digest = hashlib.sha256(GGUF).hexdigest()
    small = tuple(replace(model, size=len(GGUF), sha256=digest) for model in CURATED_MODELS)
    monkeypatch.setattr(curated, "CURATED_MODELS", small)
    monkeypatch.setenv("RIGHTSEAT_CACHE", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    lines = [line for line in SECTION.splitlines() if line.startswith("rightseat models ")]
    assert len(lines) == 8
    async with FakeHub() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
        hub.files["Qwen/Qwen3-4B-GGUF/Qwen3-4B-Q4_K_M.gguf"] = GGUF
        hub.files["Qwen/Qwen3-4B-GGUF/Qwen3-4B-Q5_K_M.gguf"] = GGUF
        for line in lines:
            if "models.example.com" in line:
                line = line.replace("https://models.example.com", hub.store.origin)
                hub.store.queue_replies(send_file(GGUF))
            result = await run_command(*shlex.split(line, comments=True)[1:])
            assert result.code == 0, f"{line}: {result.err}"
            if " use " in line:
                name = shlex.split(line, comments=True)[-1]
                assert choose_model(Config(), {}).model.removeprefix("local:") == name
    assert (tmp_path / "models" / "pulled" / "my-model" / "my-model.gguf").is_file()
    assert not (tmp_path / "models" / "pulled" / "qwen3-4b").exists()


@pytest.mark.demand("llamacpp.pull_named_or_any_model")
def test_the_table_is_that_of_the_code() -> None:
    for model in CURATED_MODELS:
        size = f"{model.size / 1e9:.1f} GB" if model.size >= 1e9 else f"{model.size / 1e6:.0f} MB"
        row = f"| `{model.name}` | {size} | {model.licence} | {model.memory / 1e9:.1f} GB |"
        speeds = [curated.estimate_speed(model.size, threads) for threads in (1, 4, 8)]
        text = " / ".join(f"{speed:.0f}" if speed > 4 else f"{speed:.1f}" for speed in speeds)
        assert f"{row} {text} |" in SECTION
