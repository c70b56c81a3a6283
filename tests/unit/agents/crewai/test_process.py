"""A crew's process: how it starts, what it knows, that it ends with us. The crew is a stand-in (home/)."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from rightseat import Runtime
from rightseat.agents._peer import source
from rightseat.agents.crewai import crewai
from rightseat.agents.crewai.agent import CrewSource
from rightseat.errors import ConfigError
from rightseat.types.events import RunFinished, TextDelta, Usage
from rightseat.types.messages import text_message
from rightseat.types.streams import closing
from rightseat.types.turn import Turn
from tests.contract.agents.conversation import Conversation
from tests.contract.agents.members import CREW_FOLDER, host_source
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.waiting import wait_until

pytestmark = pytest.mark.io

OPTIONS = {"crew": "desk_crew:Flow", "python": sys.executable, "folder": str(CREW_FOLDER)}


@pytest.fixture(autouse=True)
def fast_health_retry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "MIN_RETRY_DELAY", 0.05)


@asynccontextmanager
async def serve_crew(**options: Any) -> AsyncIterator[Runtime]:
    async with host_source(crewai("desk", {**OPTIONS, **options})) as runtime:
        yield runtime


@asynccontextmanager
async def start_source(**options: Any) -> AsyncIterator[CrewSource]:
    source = crewai("desk", {**OPTIONS, **options})
    await source.start()
    try:
        yield source
    finally:
        await source.close()


@pytest.mark.demand("agents.crewai_crew_flow_own")
async def test_a_flow_has_steps_and_state() -> None:
    async with serve_crew() as runtime:
        seen = await Conversation(runtime).send_message("say hello")
        assert seen.steps == ["desk"]
        assert seen.states[-1] == {"request": "say hello", "done": True}
        assert seen.text == "You said say hello.", "what was streamed is not said again as the result"


@pytest.mark.demand("agents.crewai_crew_flow_own")
async def test_a_crew_is_copied_for_each_question() -> None:
    async with serve_crew(crew="desk_crew:team") as runtime:
        talk = Conversation(runtime)
        for words in ("one", "two"):
            seen = await talk.send_message(words)
            assert seen.text == f"{words} 1", "its one blank is filled in with the question"
            assert seen.steps == ["writer"]
            assert seen.last_event == RunFinished("stop", Usage(4, 3))


@pytest.mark.demand("agents.crewai_crew_flow_own")
async def test_it_knows_only_what_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_OURS", "secret")
    async with serve_crew(env={"DESK_KEY": "given"}) as runtime:
        seen = await Conversation(runtime).send_message("where")
        assert seen.text == "['given', None] ''", "a crew that reads its terminal reads nothing"


RELATIVE_PATHS = {"python": os.path.relpath(sys.executable), "folder": os.path.relpath(CREW_FOLDER)}


async def test_paths_are_from_where_the_server_runs() -> None:
    async with serve_crew(**RELATIVE_PATHS) as runtime:
        assert "hello" in (await Conversation(runtime).send_message("say hello")).text


@pytest.mark.demand("agents.crewai_crew_flow_own")
async def test_it_is_started_again_when_it_dies() -> None:
    async with serve_crew() as runtime:
        talk = Conversation(runtime)
        assert (await talk.send_message("die")).error.code == "incomplete"
        seen = await talk.send_message("say hello")
        assert "You said say hello." in seen.text


@pytest.mark.demand("agents.crewai_crew_flow_own")
async def test_it_dies_with_us() -> None:
    async with start_source() as source:
        process = source._process._process
        assert process is not None
        assert process.stdin is not None
        # As the system does it, when we are killed: the pipe breaks.
        process.stdin.close()
        await asyncio.wait_for(process.wait(), HANG_TIMEOUT)
        assert process.returncode == 0
        await wait_until(lambda: source.agents["desk"].unavailable_reason == "")
        another = source._process._process
        assert another is not None
        assert another.pid != process.pid
    assert not is_running(another.pid)


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_who_leaves_stops_the_crew() -> None:
    async with serve_crew() as runtime:
        turn = Turn(messages=(text_message("user", "wait"),), assistant="desk")
        async with closing(runtime.run(turn)) as events:
            async for event in events:
                if isinstance(event, TextDelta):
                    break
        # Its thread ends at its next event, and others are answered meanwhile.
        async with asyncio.timeout(HANG_TIMEOUT):
            while (await Conversation(runtime).send_message("waiting")).text != "0 wait.":
                pass


@pytest.mark.demand("agents.crewai_crew_flow_own")
async def test_nobody_else_can_ask_it() -> None:
    async with start_source() as source:
        reach = await source._process.connect()
        reader, writer = await asyncio.open_connection("127.0.0.1", reach._base.port)
        writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}")
        assert b"401" in await reader.readline()
        writer.close()
        await writer.wait_closed()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"python": "/no/such/python"}, "cannot be run"),
        ({"folder": "/no/such/folder"}, "cannot be run"),
        ({"crew": "desk_crew:nobody"}, "AttributeError"),
        ({"crew": "no_module:nobody"}, "ModuleNotFoundError"),
    ],
)
async def test_a_crew_that_does_not_start_is_down_and_says_why(options: dict[str, Any], words: str) -> None:
    async with start_source(**options) as source:
        assert words in source.agents["desk"].unavailable_reason
        async with host_source(source) as runtime:
            assert (await Conversation(runtime).send_message("say hello")).error.code == "misuse"


async def test_an_environment_without_crewai(tmp_path: Path) -> None:
    async with start_source(folder=str(tmp_path)) as source:
        assert "has no crewai" in source.agents["desk"].unavailable_reason


async def test_a_crew_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    (tmp_path / "crewai").mkdir()
    (tmp_path / "crewai" / "__init__.py").write_text("import time; time.sleep(3600)")
    async with start_source(folder=str(tmp_path), start_timeout=0.3) as source:
        assert "did not start within 0.3 s" in source.agents["desk"].unavailable_reason
        assert source._process._process is None


@pytest.mark.parametrize(
    ("options", "words"),
    [({"crew": "desk"}, "module:attribute"), ({"crw": "x"}, "Did you mean 'crew'"), ({"timeout": -1}, "above 0")],
)
def test_wrong_options(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        crewai("desk", {**OPTIONS, **options})
