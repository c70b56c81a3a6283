"""The kit's `/responses` is the one that OpenAI's own client reads: our adapter is tested against it."""

import asyncio
import json
from typing import Any

import pytest

from tests.kit.upstream import Upstream
from tests.kit.vendors import responses
from tests.peers.install import PLACE
from tests.peers.need import require
from tests.peers.rig import HERE

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600)]
NAME = "openai-py"
TURN = {"reason": "Let me think", "say": ["I ", "add."], "calls": [{"name": "add", "arguments": '{"a": 2}'}]}


@pytest.fixture(scope="module", autouse=True)
def client() -> None:
    require(NAME)


async def read(turn: dict[str, Any]) -> dict[str, Any]:
    async with Upstream() as upstream:
        upstream.reply = responses.of_turn(turn)
        line = (PLACE / NAME / "bin" / "python", HERE / NAME / "wires.py", upstream.url)
        pipe = asyncio.subprocess.PIPE
        child = await asyncio.create_subprocess_exec(*map(str, line), stdout=pipe, stderr=pipe)
        out, err = await child.communicate()
    assert child.returncode == 0, err.decode()
    found: dict[str, Any] = json.loads(out)
    return found


@pytest.mark.demand("models.wire_level_fakes_speak")
async def test_the_official_client_reads_what_the_kit_says() -> None:
    assert await read(TURN) == {
        "text": "I add.",
        "refusal": "",
        "thought": "Let me think",
        "arguments": {"2": '{"a": 2}'},
        "names": ["add"],
        "kept": [responses.CIPHER],
        "unknown": [],
        "usage": [7, 3],
        "end": "completed",
    }


async def test_and_where_it_ends() -> None:
    cut = await read({"say": "half", "finish": "length"})
    assert (cut["text"], cut["end"]) == ("half", "max_output_tokens")
