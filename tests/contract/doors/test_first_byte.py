"""A model that is silent for long, at every door: a stream has its head and a byte, and errors keep their shape."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

import pytest

from rightseat import Runtime
from rightseat.config.settings import ServerSettings
from rightseat.errors import UpstreamRefused
from rightseat.types.chunks import FinishChunk, ModelChunk, TextChunk
from rightseat.types.model import Prompt
from rightseat.types.turn import Owner
from tests.contract.doors.members import DETACHED_MEMBERS, MEMBERS, DoorClient
from tests.kit.app_server import FakeModel, serve_runtime
from tests.kit.client import RawHttpClient, ResponseHead
from tests.kit.timeouts import HANG_TIMEOUT

pytestmark = [pytest.mark.io, pytest.mark.demand("server.first_byte")]
SOON = ServerSettings(port=0, first_byte=0.02)
LATE = ServerSettings(port=0, first_byte=10 * HANG_TIMEOUT)
WHOLE_MEMBERS = ("openai-whole", "copilotkit-executed", "copilotkit-whole")
"""Those whose answer is one JSON object: its status is that of the run, so nothing is sent before its end."""
ACCEPTED = "multipart/mixed, text/event-stream"
STARTS = {
    "agui": b"id: run-1\ndata: ",
    "copilotkit-single": b"id: ",
    "copilotkit-routes": b"id: ",
    "copilotkit-planned": b"\r\n---",
}
STREAMED_MEMBERS = [member for member in MEMBERS if member not in WHOLE_MEMBERS]


@dataclass
class SilentModel:
    """A model's reply that waits for `release`, then fails or says one word."""

    error: UpstreamRefused | None = None
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    release: asyncio.Event = field(default_factory=asyncio.Event)
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    async def reply(self, prompt: Prompt) -> AsyncIterator[ModelChunk]:
        self.asked.set()
        try:
            await self.release.wait()
            if self.error is not None:
                raise self.error
            yield TextChunk("Hello")
            yield FinishChunk("stop")
        finally:
            self.ended.set()

    def make_runtime(self) -> Runtime:
        return Runtime(model=FakeModel(self.reply))


def watch_head(monkeypatch: pytest.MonkeyPatch, on_head: Callable[[], None]) -> None:
    """Call `on_head` when any client has the head of its response."""
    read_head = RawHttpClient.read_head

    async def read_and_tell(client: RawHttpClient) -> ResponseHead:
        head = await read_head(client)
        on_head()
        return head

    monkeypatch.setattr(RawHttpClient, "read_head", read_and_tell)


def make_waiting_client(member: str, url: str) -> DoorClient:
    client = MEMBERS[member](url)
    client.history.append({"id": "1", "role": "user", "content": "hi"})
    return client


@pytest.mark.parametrize("member", STREAMED_MEMBERS)
async def test_a_stream_begins_while_the_model_is_silent(member: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = SilentModel()
    watch_head(monkeypatch, model.release.set)
    async with serve_runtime(model.make_runtime(), SOON) as server:
        seen = await MEMBERS[member](server.url).send_message("hi")
    assert (seen.text, seen.error) == ("Hello", None)


@pytest.mark.parametrize("member", STREAMED_MEMBERS)
async def test_an_error_after_the_head_is_in_the_stream(member: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = SilentModel(UpstreamRefused("The model's server cannot be reached."))
    watch_head(monkeypatch, model.release.set)
    async with serve_runtime(model.make_runtime(), SOON) as server:
        seen = await MEMBERS[member](server.url).send_message("hi")
    assert (seen.text, seen.error, seen.status) == ("", "upstream_unreachable", 200)


@pytest.mark.parametrize("member", MEMBERS)
async def test_an_error_before_the_head_has_its_own_status(member: str) -> None:
    model = SilentModel(UpstreamRefused("The model's server cannot be reached."))
    model.release.set()
    async with serve_runtime(model.make_runtime(), LATE) as server:
        seen = await MEMBERS[member](server.url).send_message("hi")
    assert seen.error == "upstream_unreachable"
    assert seen.status == (502 if member.startswith("openai") else 200)


@pytest.mark.parametrize("member", STREAMED_MEMBERS)
async def test_leaving_during_the_wait_cancels_the_model(member: str) -> None:
    model = SilentModel()
    runtime = model.make_runtime()
    async with serve_runtime(runtime, SOON) as server:
        target, body = make_waiting_client(member, server.url).build_request()
        async with RawHttpClient(server.url) as client:
            await client.post_json(target, body, {"Accept": ACCEPTED})
            assert (await client.read_head()).status == 200
            # An event where the protocol has one for the begin of a run, else a comment.
            assert (await client.read_piece()).startswith(STARTS.get(member, b": keep-alive\n\n"))
            await asyncio.wait_for(model.asked.wait(), HANG_TIMEOUT)
            assert not model.ended.is_set()
        if member in DETACHED_MEMBERS:
            assert await runtime.threads.stop(Owner(), "t1")
        await asyncio.wait_for(model.ended.wait(), HANG_TIMEOUT)
    assert runtime.active_runs == 0


@pytest.mark.parametrize("member", WHOLE_MEMBERS)
async def test_an_answer_in_one_piece_waits_for_its_status(member: str) -> None:
    model = SilentModel(UpstreamRefused("The model's server cannot be reached."))
    async with serve_runtime(model.make_runtime(), ServerSettings(port=0, first_byte=0.001)) as server:
        answer = asyncio.ensure_future(MEMBERS[member](server.url).send_message("hi"))
        await asyncio.wait_for(model.asked.wait(), HANG_TIMEOUT)
        # Another answer is whole in the meantime: the time of the first byte is over.
        async with RawHttpClient(server.url) as client:
            await client.get("/health")
            assert (await client.read_head()).status == 200
            await client.read_body()
        assert not answer.done()
        model.release.set()
        seen = await asyncio.wait_for(answer, HANG_TIMEOUT)
    assert seen.error == "upstream_unreachable"
    assert seen.status == (502 if member.startswith("openai") else 200)


@pytest.mark.parametrize("member", ["openbb-today", "openbb-2024"])
async def test_openbb_s_test_harness_gets_no_comment_before_the_first_event(member: str) -> None:
    model = SilentModel()
    async with serve_runtime(model.make_runtime(), SOON) as server:
        target, body = make_waiting_client(member, server.url).build_request()
        async with RawHttpClient(server.url) as client:
            await client.post_json(target, body, {"Accept": "*/*"})
            assert (await client.read_head()).status == 200
            model.release.set()
            assert (await client.read_body()).startswith(b"event: copilotMessageChunk\n")


class RawModel(FakeModel):
    completes = True


async def test_the_door_of_llama_cpp_begins_while_the_model_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    model = SilentModel(UpstreamRefused("The model's server cannot be reached."))
    watch_head(monkeypatch, model.release.set)
    runtime = Runtime(model=RawModel(model.reply))
    async with serve_runtime(runtime, SOON) as server, RawHttpClient(server.url) as client:
        await client.post_json("/completion", {"prompt": "hi", "stream": True})
        head, said = await client.read_head(), await client.read_body()
    assert head.status == 200
    assert said.startswith(b": keep-alive\n\n")
    assert b'data: {"error":{"code":502' in said
