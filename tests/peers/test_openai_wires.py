"""The kit's `/responses` is the one that OpenAI's own client reads: our adapter is tested against it."""

import asyncio
import json
from typing import Any

import pytest

from tests.kit.upstream import FakeUpstream
from tests.kit.vendors import responses
from tests.peers.client_runner import HERE
from tests.peers.install import PEERS_FOLDER
from tests.peers.prerequisites import require

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600)]
PEER = "openai-py"
TURN = {"reason": "Let me think", "say": ["I ", "add."], "calls": [{"name": "add", "arguments": '{"a": 2}'}]}


@pytest.fixture(scope="module", autouse=True)
def installed_client() -> None:
    require(PEER)


async def read_turn(turn: dict[str, Any]) -> dict[str, Any]:
    async with FakeUpstream() as upstream:
        upstream.reply = responses.answer_turn(turn)
        line = (PEERS_FOLDER / PEER / "bin" / "python", HERE / PEER / "wires.py", upstream.base_url)
        pipe = asyncio.subprocess.PIPE
        child = await asyncio.create_subprocess_exec(*map(str, line), stdout=pipe, stderr=pipe)
        out, err = await child.communicate()
    assert child.returncode == 0, err.decode()
    result: dict[str, Any] = json.loads(out)
    return result


@pytest.mark.demand("models.wire_level_fakes_speak")
async def test_the_official_client_reads_what_the_kit_says() -> None:
    assert await read_turn(TURN) == {
        "text": "I add.",
        "refusal": "",
        "thought": "Let me think",
        "arguments": {"2": '{"a": 2}'},
        "names": ["add"],
        "kept": [responses.ENCRYPTED_REASONING],
        "unknown": [],
        "usage": [7, 3],
        "end": "completed",
    }


async def test_and_where_it_ends() -> None:
    cut = await read_turn({"say": "half", "finish": "length"})
    assert (cut["text"], cut["end"]) == ("half", "max_output_tokens")
