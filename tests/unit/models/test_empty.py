import pytest

from rightseat.config.settings import Config
from rightseat.errors import ConfigError, Misused
from rightseat.models.empty import model
from rightseat.types.events import RunFailed
from rightseat.types.messages import ImageMessagePart, Message
from rightseat.types.model import Prompt, ToolChoice, ToolSpec
from rightseat.types.turn import Turn
from rightseat.wiring.from_config import build_runtime
from rightseat.wiring.lookup import make_model
from tests.unit.engine.turns import run_turn


@pytest.mark.demand("models.empty_set_ups_agents")
async def test_whoever_asks_it_is_told_what_to_do() -> None:
    made = make_model("empty")
    with pytest.raises(Misused, match="Name an agent"):
        await anext(made.stream(Prompt(messages=())))


@pytest.mark.demand("models.empty_set_ups_agents")
async def test_every_turn_to_it_fails_alike() -> None:
    runtime = build_runtime(Config(model="empty", model_from="--model"), env={})
    tool = ToolSpec("x", "", {"type": "object"})
    picture = Message("user", (ImageMessagePart("https://x.test/a.png"),))
    turn = Turn(messages=(picture,), tools=(tool,), tool_choice=ToolChoice("required"))
    for asked in ({}, {"messages": turn.messages, "tools": turn.tools, "tool_choice": turn.tool_choice}):
        last = (await run_turn(runtime, **asked))[-1]
        assert isinstance(last, RunFailed)
        assert last.code == "misuse"


def test_it_has_neither_a_name_nor_options() -> None:
    with pytest.raises(ConfigError, match="no options"):
        model("", {"tries": 2})
    with pytest.raises(ConfigError, match="no name"):
        make_model("empty:x")
