import asyncio
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rightseat.errors import ConfigError, RightseatError
from rightseat.models.scripted import DEMO, ScriptFileModel, load_script, model
from rightseat.types.chunks import (
    FinishChunk,
    ModelChunk,
    ReasoningChunk,
    TextChunk,
    ToolCallArgs,
    ToolCallStart,
    UsageChunk,
)
from rightseat.types.events import Usage
from rightseat.types.messages import Message, ToolCall, text_message
from rightseat.types.model import Model, Prompt, ToolSpec
from rightseat.types.streams import closing
from tests.kit.cases import each_case

CALLED = (
    text_message("user", 'add "it"'),
    text_message("assistant", "", calls=(ToolCall("c1", "add", "{}"),)),
    text_message("tool", "5", call_id="c1"),
)


def make_scripted_model(*turns: dict[str, Any]) -> ScriptFileModel:
    return ScriptFileModel(load_script(msgspec.json.encode({"turns": turns}), "test.json"))


async def collect_chunks(model: Model, *messages: Message) -> list[ModelChunk]:
    async with closing(model.stream(Prompt(messages=messages))) as stream:
        return [fragment async for fragment in stream]


async def collect_text(model: Model, *messages: Message) -> str:
    return "".join(f.text for f in await collect_chunks(model, *messages) if isinstance(f, TextChunk))


async def test_all_that_a_turn_can_say() -> None:
    turn = {
        "reason": "hm so",
        "say": ["a", "", "b c"],
        "calls": [{"name": "add", "arguments": {"a": 1}}, {"name": "sub", "arguments": "not json", "enforced": True}],
        "usage": {"input": 1, "output": 2},
    }
    assert await collect_chunks(make_scripted_model(turn), text_message("user", "x")) == [
        ReasoningChunk("hm"), ReasoningChunk(" so"), TextChunk("a"), TextChunk(""), TextChunk("b c"),
        ToolCallStart(0, "add"), ToolCallArgs(0, '{"a":1}'), ToolCallStart(1, "sub", True), ToolCallArgs(1, "not json"),
        UsageChunk(Usage(1, 2)), FinishChunk("calls"),
    ]  # fmt: skip


async def test_the_first_turn_that_matches_answers() -> None:
    both = make_scripted_model(
        {"when": {"user": "^b"}, "say": "B"},
        {"when": {"tool": "sub"}, "say": "no"},
        {"when": {"tool": "add", "user": "nothing"}, "say": "no"},
        {"when": {"tool": "add", "user": "add"}, "say": "tool {result} of {user}"},
        {"when": {"user": "add"}, "say": "user"},
        {"say": "else"},
    )
    assert (
        await collect_text(
            both, text_message("user", "a b"), text_message("assistant", "x"), text_message("user", "b a")
        )
        == "B"
    )
    assert await collect_text(both, *CALLED) == 'tool 5 of add "it"'
    assert await collect_text(both, *CALLED[:1]) == "user"
    assert await collect_text(both, *CALLED, text_message("assistant", "5"), text_message("user", "and?")) == "else"


async def test_a_turn_for_the_user_does_not_answer_a_tool() -> None:
    model = make_scripted_model({"when": {"user": "add"}, "calls": [{"name": "add"}]})
    assert (await collect_chunks(model, *CALLED[:1]))[0] == ToolCallStart(0, "add")
    assert 'You said: add "it"' in await collect_text(model, *CALLED)
    assert "You said" in await collect_text(model, CALLED[0], text_message("tool", "5", call_id="unknown"))


async def test_marks_inside_arguments_stay_json() -> None:
    model = make_scripted_model({"calls": [{"name": "add", "arguments": {"q": "{user} {result} {other}"}}]})
    pieces = [f.json for f in await collect_chunks(model, *CALLED) if isinstance(f, ToolCallArgs)]
    assert msgspec.json.decode("".join(pieces)) == {"q": 'add "it" 5 {other}'}


async def test_a_text_that_contains_a_mark_is_not_filled_again() -> None:
    assert await collect_text(make_scripted_model({"say": "{user}"}), text_message("user", "{result}")) == "{result}"


@pytest.mark.parametrize("code", ["incomplete", "upstream_busy", "context_too_long", "internal"])
async def test_raising(code: str) -> None:
    with pytest.raises(RightseatError, check=lambda error: error.code == code):
        await collect_chunks(make_scripted_model({"finish": f"raise:{code}"}), text_message("user", "x"))


@pytest.mark.demand("engine.scripted_file_json_replays")
async def test_pace() -> None:
    began = time.monotonic()
    await collect_chunks(make_scripted_model({"say": ["a", "b", "c"], "pace_ms": 20}), text_message("user", "x"))
    assert time.monotonic() - began >= 0.06


async def test_a_script_without_pace_lets_others_run() -> None:
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    await collect_chunks(make_scripted_model({"say": ["a"] * 100}), text_message("user", "x"))
    task.cancel()
    assert turns >= 100


@each_case(
    ("script", "message"),
    [
        ("nonsense", "is not a script"),
        ("[]", "is not a script"),
        ('{"turns": 1}', "is not a script"),
        ('{"turn": []}', "Did you mean 'turns'"),
        ('{"turns": [{"sya": "x"}]}', r"turns\[0\] does not know 'sya'. Did you mean 'say'"),
        ('{"turns": [{"zzz": "x"}]}', "Known: when, say"),
        ('{"turns": [{}, {"when": {"usr": "x"}}]}', r"turns\[1\].when .* Did you mean 'user'"),
        ('{"turns": [{"when": {"user": "("}}]}', "not a regular expression"),
        ('{"turns": [{"calls": [{"name": "x", "args": {}}]}]}', "calls does not know 'args'"),
        ('{"turns": [{"usage": {"inputs": 1}}]}', "Did you mean 'input'"),
        ('{"turns": [{"finish": "stpo"}]}', "Did you mean 'stop'"),
        ('{"turns": [{"finish": "raise:upstream_bsy"}]}', "Did you mean 'raise:upstream_busy'"),
        ('{"turns": [{"pace_ms": -1}]}', "pace_ms"),
        ('{"turns": [{"say": 1}]}', "is not a script"),
        ("[" * 200_000, "is not a script"),
    ],
)
def test_a_wrong_script(script: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_script(script, "test.json")


@pytest.mark.demand("engine.scripted_file_json_replays")
async def test_a_script_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    path.write_text('{"turns": [{"say": "from a file"}]}', encoding="utf-8")
    assert await collect_text(model(str(path), {"pace_ms": 1}), text_message("user", "x")) == "from a file"


@pytest.mark.parametrize(
    ("options", "message"), [({"pace": 1}, "Did you mean 'pace_ms'"), ({"pace_ms": "x"}, "pace_ms")]
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        model("demo", options)


def test_a_script_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        model(str(tmp_path / "none.json"), {})


def make_demo_model() -> ScriptFileModel:
    script = load_script(DEMO.read_bytes(), "demo")
    return ScriptFileModel(msgspec.structs.replace(script, turns=[
        msgspec.structs.replace(turn, pace_ms=0) for turn in script.turns
    ]))  # fmt: skip


@pytest.mark.parametrize("asked", ["What time is it?", "现在几点"])
async def test_the_demo_calls_the_clock(asked: str) -> None:
    user = text_message("user", asked)
    offered = Prompt(messages=(user,), tools=(ToolSpec("demo_clock", "", {}),))
    async with closing(make_demo_model().stream(offered)) as stream:
        assert await anext(stream) == ToolCallStart(0, "demo_clock")
    assert "script" in await collect_text(make_demo_model(), user), "it calls no tool that is not offered"
    called = text_message("assistant", "", calls=(ToolCall("c1", "demo_clock", "{}"),))
    assert "12:00" in await collect_text(make_demo_model(), user, called, text_message("tool", "12:00", call_id="c1"))


@pytest.mark.parametrize("asked", ["hello", "what are you", "how do I plug in a real model?", "think hard", ""])
async def test_the_demo_says_that_it_is_a_script(asked: str) -> None:
    said_ = await collect_text(make_demo_model(), text_message("user", asked))
    assert "script" in said_ or "real model" in said_
    assert (await collect_chunks(make_demo_model(), text_message("user", asked)))[-1] == FinishChunk("stop")


async def test_the_demo_by_its_name() -> None:
    async with closing(model("demo", {}).stream(Prompt(messages=(text_message("user", "hello"),)))) as stream:
        assert await anext(stream) == TextChunk("Hello!")
