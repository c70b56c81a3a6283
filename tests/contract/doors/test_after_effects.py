"""A request that has had an effect: its client is not told to send it again when the rest of the answer fails.

Official clients repeat a request by themselves after a 5xx, unless `x-should-retry` says no.
"""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any, Literal

import pytest

from rightseat import Runtime, tool
from rightseat.errors import StoreFailed, UpstreamBusy
from rightseat.runtime.runs import EFFECT_NOTE
from rightseat.types.chunks import ModelChunk
from rightseat.types.model import Prompt
from tests.kit.app_server import FakeModel, reply_calls, reply_text, serve_runtime
from tests.kit.client import RawHttpClient

pytestmark = [pytest.mark.io, pytest.mark.demand("cluster.no_retry_after_effect")]
TARGET = "/v1/chat/completions"
REQUEST = {"messages": [{"role": "user", "content": "Charge order 7"}]}


@tool
def charge(order: str) -> str:
    """Charge an order."""
    return f"{order} is charged"


async def fail_as_busy(prompt: Prompt) -> AsyncIterator[ModelChunk]:
    raise UpstreamBusy("The model is busy.", retry_after=1)
    yield


async def break_down(prompt: Prompt) -> AsyncIterator[ModelChunk]:
    raise RuntimeError("a fault of the model's client")
    yield


async def lose_store(prompt: Prompt) -> AsyncIterator[ModelChunk]:
    raise StoreFailed("The database cannot be reached.", retry_after=5)
    yield


@pytest.mark.parametrize("failure", [fail_as_busy, break_down, lose_store])
@pytest.mark.parametrize("effect", ["writes", "reads"])
async def test_only_a_request_without_an_effect_may_be_sent_again(
    failure: Any, effect: Literal["writes", "reads"]
) -> None:
    model = FakeModel(reply_calls(("charge", '{"order": "7"}')), failure)
    async with (
        serve_runtime(Runtime(model=model, tools=[replace(charge, effect=effect)])) as server,
        RawHttpClient(server.url) as client,
    ):
        await client.post_json(TARGET, REQUEST)
        head = await client.read_head()
        message = (await client.read_json())["error"]["message"]
    assert head.status in (429, 500, 503)
    is_final = effect == "writes"
    assert head.headers.get("x-should-retry") == ("false" if is_final else None)
    assert (EFFECT_NOTE in message) == is_final
    if failure is not break_down:
        assert ("retry-after" in head.headers) == (not is_final)


async def test_an_effect_of_another_request_does_not_count() -> None:
    model = FakeModel(reply_calls(("charge", '{"order": "7"}')), reply_text("Done."), fail_as_busy)
    async with serve_runtime(Runtime(model=model, tools=[charge])) as server, RawHttpClient(server.url) as client:
        heads = []
        for _ in range(2):
            await client.post_json(TARGET, REQUEST)
            heads.append(await client.read_head())
            await client.read_body()
    assert [head.status for head in heads] == [200, 429]
    assert "x-should-retry" not in heads[1].headers
    assert heads[1].headers["retry-after"] == "1"
