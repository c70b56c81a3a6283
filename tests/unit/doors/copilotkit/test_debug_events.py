"""The feed of CopilotKit's inspector: closed unless it is opened, then all events of one's own runs."""

import pytest

from rightseat import Runtime
from rightseat.config.secret import Secret
from rightseat.config.settings import AuthSettings, ServerSettings
from rightseat.http.auth import Authenticator
from tests.contract.doors.members import MEMBERS
from tests.kit.app_server import FakeModel, reply_text, serve_runtime
from tests.kit.client import RawHttpClient

pytestmark = [pytest.mark.io, pytest.mark.demand("copilotkit.debug_events")]
FEED = "/copilotkit/cpk-debug-events"


async def test_the_feed_is_closed() -> None:
    async with serve_runtime(Runtime(model=FakeModel())) as server, RawHttpClient(server.url) as client:
        await client.get(FEED)
        head = await client.read_head()
        assert (head.status, (await client.read_json())["code"]) == (404, "not_found")


@pytest.mark.parametrize("member", ["copilotkit-routes", "copilotkit-single"])
async def test_the_inspector_sees_what_the_page_sees(member: str) -> None:
    runtime = Runtime(model=FakeModel(reply_text("Hel", "lo.")))
    settings = ServerSettings(debug_events=True)
    client = MEMBERS[member]("")
    client.history.append({"id": "u", "role": "user", "content": "hi"})
    path, body = client.build_request()
    run_input = body.get("body", body)
    async with (
        serve_runtime(runtime, settings) as server,
        RawHttpClient(server.url) as inspector,
        RawHttpClient(server.url) as page,
    ):
        await inspector.get(FEED)
        assert (await inspector.read_head()).status == 200
        await page.post_json(path, body)
        await page.read_head()
        seen = [frame.json async for frame in page.iterate_frames() if frame.data]
        envelopes = []
        async for frame in inspector.iterate_frames():
            if frame.data:
                envelopes.append(frame.json)
            if len(envelopes) == len(seen):
                break
    assert [envelope["event"] for envelope in envelopes] == seen
    ids = {(envelope["agentId"], envelope["threadId"], envelope["runId"]) for envelope in envelopes}
    assert ids == {("default", run_input["threadId"], run_input["runId"])}
    assert all(isinstance(envelope["timestamp"], int) for envelope in envelopes)


async def test_nobody_sees_the_runs_of_another_key() -> None:
    runtime = Runtime(model=FakeModel(reply_text("Secret."), reply_text("Mine.")))
    client = MEMBERS["copilotkit-routes"]("")
    client.history.append({"id": "u", "role": "user", "content": "hi"})
    authenticate = Authenticator(AuthSettings(keys={"ann": Secret("key-of-ann"), "bob": Secret("key-of-bob")}))
    async with (
        serve_runtime(runtime, ServerSettings(debug_events=True), authenticate=authenticate) as server,
        RawHttpClient(server.url) as inspector,
    ):
        await inspector.get(FEED, {"Authorization": "Bearer key-of-bob"})
        assert (await inspector.read_head()).status == 200
        for key in ("key-of-ann", "key-of-bob"):
            path, body = client.build_request()
            body["threadId"] = key
            async with RawHttpClient(server.url) as page:
                await page.post_json(path, body, {"Authorization": f"Bearer {key}"})
                await page.read_head()
                await page.read_body()
        async for frame in inspector.iterate_frames():
            if frame.data:
                assert frame.json["threadId"] == "key-of-bob"
                if frame.json["event"]["type"] == "RUN_FINISHED":
                    break
