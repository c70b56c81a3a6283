"""[models] and [assistants.NAME] models: fallbacks, shares, choices, and which model is chosen by a key."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from rightseat import Runtime
from rightseat.config.load import load_config
from rightseat.config.settings import Config
from rightseat.errors import ConfigError
from rightseat.types.events import Event, RunFailed, TextDelta
from rightseat.types.messages import ImageMessagePart, Message
from rightseat.wiring.default_model import choose_model
from rightseat.wiring.from_config import build_runtime
from tests.kit import answers, faults
from tests.kit.cases import each_case
from tests.kit.upstream import FakeUpstream
from tests.unit.engine.turns import run_turn

SCRIPT = '{"turns": [{"when": {}, "say": "by %s"}]}'


def write_config(folder: Path, text: str) -> Config:
    for name in ("fast", "big"):
        (folder / f"{name}.json").write_text(SCRIPT % name)
    path = folder / "rightseat.toml"
    path.write_text(text)
    return load_config(path, env={})


@asynccontextmanager
async def open_runtime(config: Config) -> AsyncIterator[Runtime]:
    runtime = build_runtime(config, env={})
    try:
        yield runtime
    finally:
        await runtime.close()


def join_text(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


FALLBACK = """
[models.default]
spec = "openai:kit"
base_url = "{first}"
tries = 1
fallbacks = ["second", "scripted:fast.json"]
input_cost = 1
output_cost = 1
[models.second]
spec = "openai:kit"
base_url = "{second}"
tries = 1
fallbacks = ["default"]
"""


@pytest.mark.demand("models.models_name_fallbacks_next")
@pytest.mark.io
async def test_the_next_model_of_the_file_answers_when_one_is_down(tmp_path: Path) -> None:
    async with FakeUpstream() as first, FakeUpstream() as second:
        config = write_config(tmp_path, FALLBACK.format(first=first.base_url, second=second.base_url))
        first.reply = faults.fail_with_status(503)
        second.reply = answers.answer_text()
        async with open_runtime(config) as runtime:
            assert join_text(await run_turn(runtime)) == "w0 w1 w2"
            second.reply = faults.fail_with_status(401)
            assert join_text(await run_turn(runtime)) == "by fast"
            # Each may stand in for the other, and neither for itself.
            first.reply = answers.answer_text()
            assert join_text(await run_turn(runtime, assistant="second")) == "w0 w1 w2"
    assert (len(first.requests), len(second.requests)) == (3, 3)


@pytest.mark.demand("models.models_name_limits_own")
async def test_a_share_of_the_file_is_kept(tmp_path: Path) -> None:
    text = '[models.default]\nspec="scripted:fast.json"\nrequests_per_minute=1\nfallbacks=["scripted:big.json"]'
    async with open_runtime(write_config(tmp_path, text)) as runtime:
        assert [join_text(await run_turn(runtime)) for _ in range(2)] == ["by fast", "by big"]


CHOICE = """
[models.fast]
spec = "scripted:fast.json"
context = 500
[models.big]
spec = "scripted:big.json"
context = 900
[assistants.helper]
models = ["fast", "big", "scripted:demo"]
[assistants.clerk]
model = "big"
models = ["fast"]
[assistants.plain]
model = "fast"
"""


@pytest.mark.demand("models.front_end_choose_among")
async def test_the_models_of_an_assistant(tmp_path: Path) -> None:
    async with open_runtime(write_config(tmp_path, CHOICE)) as runtime:
        helper, clerk = runtime.assistants["helper"], runtime.assistants["clerk"]
        assert list(helper.models) == ["fast", "big", "scripted:demo"]
        assert [seat.context for seat in helper.models.values()] == [500, 900, None]
        assert list(clerk.models) == ["big", "fast"]
        assert (helper.context, clerk.context) == (500, 900)
        assert helper.model is helper.models["fast"].model is clerk.models["fast"].model
        assert runtime.assistants["plain"].models == {}
        assert join_text(await run_turn(runtime, assistant="helper", model="big")) == "by big"
        assert join_text(await run_turn(runtime, assistant="clerk")) == "by big"
        counted = runtime.meters.model_calls.values
        assert counted == {("big", "ok"): 2}


async def test_a_model_of_the_command_line_can_be_chosen_back(tmp_path: Path) -> None:
    path = tmp_path / "rightseat.toml"
    write_config(tmp_path, CHOICE)
    config = load_config(path, model="big", env={})
    async with open_runtime(config) as runtime:
        assert list(runtime.assistants["default"].models) == ["big", "fast", "scripted:demo"]
        assert join_text(await run_turn(runtime)) == "by big"
        assert join_text(await run_turn(runtime, model="fast")) == "by fast"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[models.a]\nspec='local'\nfallbacks=['bb']\n[models.b]\nspec='local'",
         "models.a.fallbacks: there is no model 'bb'. Did you mean b?"),
        ("[models.a]\nspec='local'\n[assistants.x]\nmodels=['zzz']",
         "assistants.x.models: there is no model 'zzz'. Write [models.zzz]"),
        ("[models.a]\nspec='local'\nconcurrent=-1", "models.a.concurrent"),
        ("[models.a]\nspec='local'\nfallbacks='b'", "models.a.fallbacks"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        write_config(tmp_path, text)
    assert said in caught.value.message


@pytest.mark.parametrize("table", ['fallbacks=["scripted:big.json"]', '\n[assistants.x]\nmodels=["scripted:big.json"]'])
def test_money_needs_the_price_of_all_that_may_answer(tmp_path: Path, table: str) -> None:
    priced = '[models.a]\nspec="scripted:fast.json"\ninput_cost=1\noutput_cost=1'
    text = f"[limits]\nspend_per_day=1\n{priced}\n{table}"
    with pytest.raises(ConfigError, match=r"the model scripted:big\.json has no costs"):
        build_runtime(write_config(tmp_path, text), env={})


@pytest.mark.demand("models.unknown_tuning_knobs_ignored")
async def test_who_sees_no_picture_names_who_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY", "k")
    text = """
[models.blind]
spec = "openai:gpt-3.5-turbo"
api_key = "env:KEY"
[models.seeing]
spec = "openai:gpt-4o"
api_key = "env:KEY"
"""
    path = tmp_path / "rightseat.toml"
    path.write_text(text)
    async with open_runtime(load_config(path, env={})) as runtime:
        picture = (Message("user", (ImageMessagePart("https://x.test/a.png"),)),)
        last = (await run_turn(runtime, assistant="blind", messages=picture))[-1]
    assert isinstance(last, RunFailed)
    assert last.message == "This model does not accept images. Ask one that does: seeing."


@each_case(
    ("env", "model"),
    [
        ({"ANTHROPIC_API_KEY": "k"}, "anthropic:claude-sonnet-5-5"),
        ({"ANTHROPIC_API_KEY": "k", "ANTHROPIC_MODEL": "claude-x"}, "anthropic:claude-x"),
        ({"GEMINI_API_KEY": "k"}, "google:gemini-3.8-flash"),
        ({"GOOGLE_API_KEY": "k", "GEMINI_MODEL": "g"}, "google:g"),
        ({"ANTHROPIC_API_KEY": "k", "GEMINI_API_KEY": "k"}, "anthropic:claude-sonnet-5-5"),
        ({"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"}, "openai:gpt-4o-mini"),
        ({"AZURE_OPENAI_ENDPOINT": "u", "AZURE_OPENAI_DEPLOYMENT": "d"}, "openai:d"),
    ],
)
def test_a_key_chooses_its_vendor(env: dict[str, str], model: str) -> None:
    choice = choose_model(Config(), env)
    assert choice.model == model
    assert "is set" in choice.why


@pytest.mark.demand("models.models_name_limits_own")
async def test_a_share_outlives_a_reload(tmp_path: Path) -> None:
    shared = '[models.default]\nspec="scripted:fast.json"\nrequests_per_minute=2\n[models.other]\n'
    shared += 'spec="scripted:big.json"\nfallbacks=["default"]\n[guardrails.default]\nmark_untrusted=true'
    config = write_config(tmp_path, shared)
    async with open_runtime(config) as before:
        assert join_text(await run_turn(before)) == "by fast"
        after = build_runtime(config, env={}, before=before)
        try:
            assert join_text(await run_turn(after)) == "by fast"
            last = (await run_turn(after))[-1]
            assert isinstance(last, RunFailed)
            assert (last.code, last.retry_after is not None) == ("upstream_busy", True)
        finally:
            await after.close()


@pytest.mark.demand("models.models_name_fallbacks_next")
def test_nobody_can_be_a_fallback(tmp_path: Path) -> None:
    config = write_config(tmp_path, '[models.default]\nspec="scripted:fast.json"\nfallbacks=["empty"]')
    with pytest.raises(ConfigError, match="`empty` cannot answer"):
        build_runtime(config, env={})
