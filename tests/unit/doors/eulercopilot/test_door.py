"""EulerCopilot's web client 0.9.1 and its shell client: chat, conversations, records, plugins, files, votes.

The bodies are those that the clients of that release send.
"""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from msgspec.structs import replace

from rightseat import Artifact, Hooks, Runtime, tool
from rightseat.config.secret import Secret
from rightseat.config.settings import AuthSettings
from rightseat.engine.loop import Assistant
from rightseat.http.auth import Authenticator
from rightseat.plugins.catalog import LoadedPlugin, PluginCatalog
from rightseat.plugins.selection import ToolSelection
from rightseat.types.chunks import FinishChunk, ModelChunk, TextChunk
from rightseat.types.messages import FileMessagePart
from rightseat.types.model import Prompt
from rightseat.types.turn import Feedback
from rightseat.wiring.runtime import RuntimeParts
from tests.contract.doors.eulercopilot import EulerClient
from tests.kit.app_server import FakeModel, reply_calls, reply_text, serve_runtime
from tests.kit.away_store import AwayStore
from tests.kit.timeouts import HANG_TIMEOUT
from tests.unit.plugins.catalogs import make_plugin

pytestmark = [pytest.mark.io, pytest.mark.demand("eulercopilot.web_client")]


@asynccontextmanager
async def serve(runtime: Runtime, **more: Any) -> AsyncIterator[httpx.AsyncClient]:
    async with serve_runtime(runtime, **more) as server, httpx.AsyncClient(base_url=server.url) as client:
        client.timeout = httpx.Timeout(HANG_TIMEOUT)
        yield client


async def ask(client: httpx.AsyncClient, conversation: str, question: str, **more: Any) -> list[dict[str, Any]]:
    body: dict[str, Any] = {"question": question, "conversation_id": conversation, "record_id": None, "files": []}
    body |= {"user_selected_plugins": [], "language": "zh", **more}
    answer = await client.post("/api/chat", json=body, headers={"X-CSRF-Token": "t"})
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/event-stream")
    *frames, done, rest = answer.text.split("\n\n")
    assert (done, rest) == ("data: [DONE]", "")
    return [json.loads(frame.removeprefix("data: ")) for frame in frames]


def join_text(frames: list[dict[str, Any]]) -> str:
    return "".join(frame.get("content", "") for frame in frames)


async def test_a_conversation_from_its_beginning_to_its_end() -> None:
    model = FakeModel(reply_text("你好", "！"), reply_text("二"), reply_text("三"))
    async with serve(Runtime(model=model)) as client:
        assert (await client.get("/api/auth/user")).json()["result"]["username"]
        assert (await client.get("/api/conversation")).json() == {"code": 200, "message": "success", "result": []}
        created = (await client.post("/api/conversation", json={})).json()["result"]["conversation_id"]
        # While it has no question, it is listed, named, and no second one is made.
        [listed] = (await client.get("/api/conversation")).json()["result"]
        assert listed["conversation_id"] == created
        assert (await client.post("/api/conversation", json={})).json()["result"]["conversation_id"] == created
        renamed = await client.put("/api/conversation", params={"conversation_id": created}, json={"title": "问候"})
        assert renamed.json()["result"]["conversation"]["title"] == "问候"
        assert (await client.get("/api/record", params={"conversation_id": created})).json()["result"] == []

        frames = await ask(client, created, "你好吗")
        assert join_text(frames) == "你好！"
        first = next(frame["record_id"] for frame in frames if "qa_record_id" in frame)
        await ask(client, created, "一加一")
        assert [message.text for message in model.prompts[1].messages][-3:] == ["你好吗", "你好！", "一加一"]
        records = (await client.get("/api/record", params={"conversation_id": created})).json()["result"]
        assert [(record["question"], record["answer"]) for record in records] == [
            ("你好吗", "你好！"),
            ("一加一", "二"),
        ]
        assert records[0]["record_id"] == first
        [listed] = (await client.get("/api/conversation")).json()["result"]
        assert listed["title"] == "问候"

        # The last answer is given anew: the old one is in no prompt and no record.
        await ask(client, created, "一加一", record_id=records[1]["record_id"])
        assert [message.text for message in model.prompts[2].messages][-3:] == ["你好吗", "你好！", "一加一"]
        records = (await client.get("/api/record", params={"conversation_id": created})).json()["result"]
        assert [record["answer"] for record in records] == ["你好！", "三"]

        deleted = await client.post("/api/conversation/delete", json={"conversation_list": [created, "unknown"]})
        assert deleted.json()["result"] == {"conversation_id_list": [created]}
        gone = (await client.get("/api/record", params={"conversation_id": created})).json()
        assert (gone["code"], gone["result"]) == (204, {})


async def test_plugins_are_listed_chosen_and_recommended() -> None:
    shop = make_plugin("shop", "网店", {"sell": "Sell a thing"}, question="今天卖了什么？")
    bees = make_plugin("bees", "Beekeeping", {"smoke": "Smoke the hive"})
    described = LoadedPlugin(replace(bees.plugin, description="Keeps bees."), bees.tools)
    catalog = PluginCatalog([shop, described])
    model = FakeModel(reply_text("好"), reply_text("好"))
    assistant = Assistant("default", model, toolset=ToolSelection(catalog, max_tools=10))
    async with serve(Runtime(assistants=[assistant], parts=RuntimeParts(plugins=catalog))) as client:
        for path in ("/api/plugin", "/api/client/plugin"):
            listed = (await client.get(path)).json()["result"]
            assert [(one["id"], one["plugin_name"]) for one in listed] == [("shop", "网店"), ("bees", "Beekeeping")]
            assert listed[1]["plugin_description"] == "Keeps bees."
        # The web client sends the names that it shows; the shell sends ids.
        frames = await ask(client, "c1", "卖", user_selected_plugins=["网店"])
        assert [spec.name for spec in model.prompts[0].tools] == ["shop_sell"]
        [suggestions] = [frame["search_suggestions"] for frame in frames if "search_suggestions" in frame]
        assert suggestions == [{"id": "", "name": "网店", "question": "今天卖了什么？"}]
        await ask(client, "c1", "卖", user_selected_plugins=["auto"])
        assert [spec.name for spec in model.prompts[1].tools] == ["shop_sell", "bees_smoke"]


@tool
async def draw() -> AsyncIterator[Artifact]:
    """Draw the sales."""
    rows = [{"month": "May", "sold": 3}, {"month": "June", "sold": 31}]
    yield Artifact("c", "chart", "Sales", {"data": rows, "chart": {"type": "column", "x": "month", "y": ["sold"]}})
    yield Artifact("t", "table", "Cities", [{"city": "Oslo", "sold": 3}])


async def test_a_chart_is_drawn_and_a_table_is_text() -> None:
    model = FakeModel(reply_calls(("draw", "{}")), reply_text("Done."))
    async with serve(Runtime(model=model, tools=[draw])) as client:
        frames = await ask(client, "c1", "draw")
    [option] = [json.loads(frame["data"]) for frame in frames if frame.get("type") == "render"]
    assert option["xAxis"]["data"] == ["May", "June"]
    assert [(series["type"], series["data"]) for series in option["series"]] == [("bar", [3, 31])]
    assert "| Oslo | 3 |" in join_text(frames)
    assert join_text(frames).endswith("Done.")


@tool(confirm=True)
def order(what: str) -> str:
    return f"{what} ordered"


async def test_an_approval_is_a_question_that_the_next_message_answers() -> None:
    model = FakeModel(reply_calls(("order", '{"what": "tea"}')), reply_text("It is ordered."))
    async with serve(Runtime(model=model, tools=[order])) as client:
        assert "order" in join_text(await ask(client, "c1", "order tea"))
        frames = await ask(client, "c1", "yes")
    assert join_text(frames) == "It is ordered."
    assert [frame["data"] for frame in frames if frame.get("type") == "api"] == ["tea ordered"]


async def test_files_come_with_the_question_that_names_them() -> None:
    model = FakeModel(reply_text("Read."))
    async with serve(Runtime(model=model)) as client:
        form = [("files", ("notes.txt", b"the sky is green", "text/plain"))]
        [id] = (await client.post("/api/file", files=form)).json()["files"]
        await ask(client, "c1", "what is in it?", files=[id])
        [_, file] = model.prompts[0].messages[-1].parts
        assert isinstance(file, FileMessagePart)
        assert (file.name, base64.b64decode(file.data or "")) == ("notes.txt", b"the sky is green")
        body = {"question": "and this?", "conversation_id": "c1", "files": ["0" * 32]}
        missing = await client.post("/api/chat", json=body)
        assert "Send it again. (not_found)" in missing.text
        empty = await client.post("/api/file", json={})
        assert (empty.status_code, "multipart/form-data" in empty.json()["message"]) == (400, True)


async def test_stop_ends_the_answers_of_this_client_only() -> None:
    asked = asyncio.Event()

    async def answer_slowly(_: Prompt) -> AsyncIterator[ModelChunk]:
        yield TextChunk("one ")
        asked.set()
        await asyncio.Event().wait()
        yield FinishChunk("stop")

    async with serve(Runtime(model=FakeModel(answer_slowly))) as client:
        running = asyncio.create_task(ask(client, "c1", "count"))
        await asked.wait()
        busy = await client.post("/api/chat", json={"question": "more", "conversation_id": "c1"})
        assert "already running. Wait for its answer or stop it. (conflict)" in busy.text
        assert (await client.post("/api/stop", json={})).json()["code"] == 200
        assert join_text(await running).startswith("one ")


async def test_votes_and_complaints_reach_the_hook() -> None:
    votes: list[Feedback] = []
    runtime = Runtime(model=FakeModel(), hooks=Hooks(on_feedback=votes.append))
    async with serve(runtime) as client:
        like = {"record_id": "r1", "is_like": 1, "dislike_reason": "", "reason_link": "", "reason_description": ""}
        dislike = {"record_id": "r2", "is_like": 0, "dislike_reason": "wrong", "reason_description": "It is 8."}
        assert (await client.post("/api/comment", json=like)).json()["code"] == 200
        assert (await client.post("/api/comment", json=dislike)).json()["code"] == 200
        assert (await client.post("/api/blacklist/complaint", json={"record_id": "r3", "reason": "rude"})).is_success
    assert [(vote.vote, vote.tags, vote.comment, vote.conversation) for vote in votes] == [
        ("thumbs_up", (), "", "r1"),
        ("thumbs_down", ("wrong",), "It is 8.", "r2"),
        ("thumbs_down", ("rude",), "", "r3"),
    ]


async def test_the_shell_client_with_its_key() -> None:
    keyed = Authenticator(AuthSettings(keys={"ada": Secret("ada-key")}))
    async with serve(Runtime(model=FakeModel(reply_text("Hi."))), authenticate=keyed) as client:
        assert (await client.get("/health_check")).text == "ok"
        refused = await client.post("/api/client/session", json={"session_id": ""})
        assert (refused.status_code, refused.json()["code"]) == (401, 401)
        assert (await client.get("/api/auth/refresh_token")).status_code == 401
        client.headers["Authorization"] = "Bearer ada-key"
        session = (await client.post("/api/client/session", json={"session_id": ""})).json()["result"]["session_id"]
        assert len(session) == 32
        conversation = (await client.post("/api/client/conversation")).json()["result"]["conversation_id"]
        body = {"session_id": session, "question": "hi", "language": "zh", "conversation_id": conversation}
        answer = await client.post("/api/client/chat", json=body | {"user_selected_plugins": [], "record_id": ""})
        assert '{"content":"Hi."}' in answer.text


@pytest.mark.parametrize(
    ("body", "status", "reason"),
    [
        ({"model": "llama3", "messages": [{"role": "user", "content": "hi"}]}, 404, "/v1/chat/completions"),
        ({"question": "hi"}, 400, "conversation_id"),
        ({"question": "hi", "conversation_id": "../x"}, 400, "conversation_id"),
        ({"question": " ", "conversation_id": "c", "user_selected_flow": "no/such"}, 400, "no/such"),
        ([], 400, "object"),
    ],
)
async def test_other_bodies_are_refused_in_words(body: Any, status: int, reason: str) -> None:
    async with serve(Runtime(model=FakeModel())) as client:
        answer = await client.post("/api/chat", json=body)
        assert (answer.status_code, answer.json()["code"]) == (status, status)
        assert reason in answer.json()["message"]


async def test_an_empty_question_and_a_store_that_is_away_are_told_in_the_answer() -> None:
    store = AwayStore()
    async with serve(Runtime(model=FakeModel(), store=store)) as client:
        assert "nothing to answer" in join_text(await ask(client, "c", ""))
        with store.be_away():
            assert "(store_failed)" in join_text(await ask(client, "c", "hi"))
            assert (await client.get("/api/conversation")).status_code == 503


async def test_a_failure_is_told_in_the_answer() -> None:
    async with serve_runtime(Runtime(model=FakeModel(lambda _: fail()))) as server:
        seen = await EulerClient(server.url).send_message("hi")
        assert seen.error == "internal"


async def fail() -> AsyncIterator[ModelChunk]:
    raise RuntimeError("broken")
    yield FinishChunk("stop")
