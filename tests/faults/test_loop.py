"""Worst texts at every door with every option on: no turn of the server's event loop takes over 100 ms of CPU."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from rightseat.types.messages import MAX_MESSAGES
from tests.contract.doors.members import MEMBERS
from tests.kit.answers import answer_tokens
from tests.kit.client import RawHttpClient
from tests.kit.loop_meter import measure_slowness
from tests.kit.metered_server import MeteredServer
from tests.kit.upstream import FakeUpstream
from tests.unit.doors.copilotkit.client import make_text_message
from tests.unit.plugins.folders import write_plugin

pytestmark = [pytest.mark.io, pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

MAX_TURN = 0.1 * max(1.0, measure_slowness())
"""CPU seconds of the loop's thread in one turn; more on a machine that is slower than a server's."""
BODY_BYTES = 10_000_000
"""The default of `max_body_mb`."""
OVERHEAD_BYTES = 4_000
CONFIG = """
[models.default]
spec = "openai:kit"
base_url = "{upstream}"
api_key = "env:KIT_KEY"
context = 90000000
tries = 1
[models.small]
spec = "openai:kit"
base_url = "{upstream}"
api_key = "env:KIT_KEY"
context = 20000
tries = 1
[assistants.default]
model = "default"
models = ["default", "small"]
date = true
summarise = true
[[plugins]]
path = "{plugins}"
[store]
record = "all"
[guardrails.default]
redact_results = ["all"]
mark_untrusted = true
confirm_after_untrusted = "all"
topics = {{ money = ["stocks", "bond market"], pets = ["cats", "猫咪"] }}
[guardrails.default.input]
deny = ["forbidden fruit", "禁果"]
deny_topics = ["money"]
patterns = ["(x+x+)+y", "secret-[0-9]{{4}}$", "(a|b|c)[a-t]{{100}}z"]
max_tokens = 1000000000
redact = ["all"]
[guardrails.default.output]
deny = ["forbidden fruit"]
patterns = ["(x+x+)+y"]
redact = ["all"]
"""
# Apart from the words: this is no key.
DASHES = "-" * 5
UNITS = (
    *(
        "a@b.co ",
        "'a.b@",
        ".",
        "4111 1111 1111 1111 ",
        "+1 (2",
        "eyJaaaaaaaaaaaaaa.",
        f"{DASHES}BEGIN PRIVATE KEY{DASHES}",
    ),
    *(
        "1.1.1.",
        "a:",
        " ",
        "\n",
        "<a <!--",
        "|a|\n|-|\n",
        '{"a":[',
        "yes ok ",
        "xx",
        "forbidden frui ",
        "abcdefghijklmnopqrst",
    ),
    *("中文", "é̂", "```\n", "AA00 AAAA ", "\u200b", "DE89 3704 0044 0532 0130 00 "),
)
"""What each rule finds hardest, or often."""


def make_worst_text(size: int) -> str:
    """Make a text of this many bytes as JSON, of equal parts of each unit."""
    share = size // len(UNITS)
    return "".join(unit * (share // (len(json.dumps(unit)) - 2)) for unit in UNITS)


WORST_TEXT = make_worst_text(BODY_BYTES - OVERHEAD_BYTES)
SHORT_WORST_TEXT = make_worst_text(BODY_BYTES // 20)


def make_plugin_document() -> dict[str, Any]:
    """Make an API with more operations than a prompt holds, so that the question selects some."""
    operations = {
        f"/hosts/{number}": {
            "get": {
                "operationId": f"find_{number}",
                "description": f"Finds the hosts of rack {number} by their names.",
                "responses": {"200": {"description": "Hosts"}},
            }
        }
        for number in range(40)
    }
    return {
        "openapi": "3.0.0",
        "info": {"title": "hosts", "version": "1"},
        "servers": [{"url": "https://api.example.com"}],
        "paths": operations,
    }


class Deployment:
    """A metered server and the upstream of its models."""

    def __init__(self, server: MeteredServer, upstream: FakeUpstream) -> None:
        self.server = server
        self.upstream = upstream

    def assert_loop_is_free(self) -> None:
        """Assert that no turn was long since the last call."""
        long_turns = [delay for delay in self.server.take_delays() if delay.kind == "turn" and delay.seconds > MAX_TURN]
        assert not long_turns, "\n".join(map(str, long_turns[:3]))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def deployment(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Deployment]:
    plugins: Path = tmp_path_factory.mktemp("plugins")
    write_plugin(plugins, make_plugin_document())
    async with FakeUpstream() as upstream:
        config = CONFIG.format(upstream=upstream.base_url, plugins=plugins)
        async with MeteredServer(config, {"KIT_KEY": "k"}) as server:
            deployment = Deployment(server, upstream)
            # The first request imports modules and compiles patterns.
            await MEMBERS["openai-streamed"](server.url).send_message("hello a@b.co")
            server.take_delays()
            yield deployment


async def send_worst_text(deployment: Deployment, member: str, text: str) -> None:
    """Send a text and get one of the same kind as the answer; assert that the loop stays free meanwhile."""
    deployment.upstream.reply = answer_tokens(["w0 ", SHORT_WORST_TEXT[:100_000], " w2"])
    seen = await MEMBERS[member](deployment.server.url).send_message(text)
    assert (seen.error, seen.text[:3]) == (None, "w0 ")
    deployment.assert_loop_is_free()


@pytest.mark.demand("security.loop_stays_free")
@pytest.mark.parametrize("member", MEMBERS)
async def test_half_a_megabyte_of_the_worst_text_holds_no_turn_of_the_loop(deployment: Deployment, member: str) -> None:
    await send_worst_text(deployment, member, SHORT_WORST_TEXT)


@pytest.mark.long
@pytest.mark.demand("security.loop_stays_free")
@pytest.mark.parametrize("member", MEMBERS)
async def test_the_largest_body_of_the_worst_text_holds_no_turn_of_the_loop(
    deployment: Deployment, member: str
) -> None:
    await send_worst_text(deployment, member, WORST_TEXT)


def make_history_message(member: str, number: int) -> dict[str, Any]:
    """Make a short message of a history as this door's client posts it."""
    role = "assistant" if number % 2 else "user"
    if member.startswith("openbb"):
        return {"role": "ai" if number % 2 else "human", "content": "a"}
    if member in ("copilotkit-planned", "copilotkit-executed", "copilotkit-whole"):
        return make_text_message("a", role, f"m{number}")
    return {"id": f"m{number}", "role": role, "content": "a"}


@pytest.mark.demand("security.loop_stays_free")
@pytest.mark.parametrize("member", MEMBERS)
async def test_the_longest_conversation_holds_no_turn_of_the_loop(deployment: Deployment, member: str) -> None:
    deployment.upstream.reply = None
    client = MEMBERS[member](deployment.server.url)
    client.history = [make_history_message(member, number) for number in range(MAX_MESSAGES - 1)]
    assert (await client.send_history()).error is None
    deployment.assert_loop_is_free()


@pytest.mark.demand("security.loop_stays_free")
async def test_the_oldest_of_many_messages_are_dropped_and_summarised(deployment: Deployment) -> None:
    deployment.upstream.reply = None
    messages = [make_history_message("openai", number) for number in range(MAX_MESSAGES - 1)]
    async with RawHttpClient(deployment.server.url) as client:
        await client.post_json("/v1/chat/completions", {"model": "default/small", "messages": messages})
        head, answer = await client.read_head(), await client.read_json()
    assert head.status == 200, answer
    deployment.assert_loop_is_free()


@pytest.mark.demand("security.loop_stays_free")
@pytest.mark.parametrize(
    ("target", "body"),
    [
        ("/v1/chat/completions", {}),
        ("/v1/query", {}),
        ("/agui/default", {"threadId": "t", "runId": "r", "tools": [], "context": [], "state": {}}),
    ],
)
async def test_more_messages_are_refused(deployment: Deployment, target: str, body: dict[str, Any]) -> None:
    member = "openbb" if target == "/v1/query" else "agui"
    messages = [make_history_message(member, number) for number in range(12 * MAX_MESSAGES)]
    async with RawHttpClient(deployment.server.url) as client:
        await client.post_json(target, {**body, "messages": messages})
        head, answer = await client.read_head(), await client.read_body()
    assert head.status in (400, 422), answer
    assert f"{MAX_MESSAGES}" in answer.decode()
    deployment.assert_loop_is_free()


@pytest.mark.demand("security.loop_stays_free")
async def test_a_long_result_of_a_clients_tool_holds_no_turn_of_the_loop(deployment: Deployment) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "show", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "show it"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": SHORT_WORST_TEXT},
    ]
    deployment.upstream.reply = None
    async with RawHttpClient(deployment.server.url) as client:
        await client.post_json("/v1/chat/completions", {"messages": messages})
        assert (await client.read_head()).status == 200
        await client.read_json()
    deployment.assert_loop_is_free()
