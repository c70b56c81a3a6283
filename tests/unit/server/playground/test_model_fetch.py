"""Fetching a local model over HTTP: its progress, a stop and what is kept, a client that leaves, what goes wrong."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from rightseat.models.llamacpp.curated import CURATED_MODELS
from rightseat.types.streams import closing
from tests.kit.answers import UpstreamReply
from tests.kit.client import RawHttpClient
from tests.kit.connection import Connection, ReceivedRequest
from tests.kit.hub import FakeHub, parse_range, send_file, send_status
from tests.kit.server import RightseatProcess
from tests.kit.waiting import wait_until
from tests.unit.models.llamacpp.gguf_files import make_gguf, make_tensor_info, make_usual_entries
from tests.unit.server.playground.test_models import CONFIG, ENV, KEYS, call

pytestmark = pytest.mark.io

GGUF = make_gguf(*make_usual_entries(), tensors=[make_tensor_info("w", [64_000])], data=bytes(range(256)) * 1000)
SOURCE = "hf:acme/Tiny-GGUF/Tiny-Q4.gguf"
FETCH = "/playground/models-fetch"
STOP = "/playground/models-fetch-stop"


@asynccontextmanager
async def serve(config: str = CONFIG, **options: Any) -> AsyncIterator[tuple[FakeHub, RightseatProcess]]:
    async with FakeHub() as hub:
        hub.files["acme/Tiny-GGUF/Tiny-Q4.gguf"] = GGUF
        env = {"HF_ENDPOINT": hub.endpoint, **options.pop("env", {})}
        server = RightseatProcess(config=config, env=env, **options)
        (server.folder / "script.json").write_text('{"turns": [{"say": "The script says this."}]}')
        async with server:
            yield hub, server


class HeldFile:
    """Answers with a file up to `until`, and with the rest when `go_on` is set."""

    def __init__(self, content: bytes, until: int) -> None:
        self.content, self.until = content, until
        self.go_on = asyncio.Event()

    async def __call__(self, connection: Connection, request: ReceivedRequest) -> None:
        start = parse_range(request, '"e1"') or 0
        headers = {"ETag": '"e1"', "Content-Length": str(len(self.content) - start)}
        if start:
            headers["Content-Range"] = f"bytes {start}-{len(self.content) - 1}/{len(self.content)}"
        await connection.write_head(206 if start else 200, headers)
        await connection.write(self.content[start : self.until])
        await self.go_on.wait()
        await connection.write(self.content[max(start, self.until) :])


async def claim_huge_file(connection: Connection, request: ReceivedRequest) -> None:
    await connection.write_head(200, {"Content-Length": str(1 << 60)})
    await connection.write(b"GGUF")


@asynccontextmanager
async def follow(url: str, source: str) -> AsyncIterator[AsyncIterator[dict[str, Any]]]:
    """Begin a download and yield its lines as they come."""
    async with RawHttpClient(url) as client:
        await client.post_json(FETCH, {"source": source})
        assert (await client.read_head()).status == 200

        async def read() -> AsyncIterator[dict[str, Any]]:
            rest = b""
            async for chunk in client.iterate_pieces():
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    yield json.loads(line)

        async with closing(read()) as lines:
            yield lines


async def read_until(lines: AsyncIterator[dict[str, Any]], size: int) -> dict[str, Any]:
    async for line in lines:
        if line["bytes"] >= size:
            return line
    raise AssertionError("the stream has ended")


@pytest.mark.demand("playground.fetch_local_model")
async def test_a_model_is_fetched_with_its_progress_and_found() -> None:
    async with serve() as (hub, server):
        status, lines = await call(server.url, FETCH, {"source": SOURCE})
        assert status == 200
        assert [line["state"] for line in lines][-1] == "done"
        last = lines[-1]
        assert (last["name"], last["bytes"], last["total"]) == ("Tiny-Q4", len(GGUF), len(GGUF))
        assert last["path"].endswith("/models/pulled/Tiny-Q4/Tiny-Q4.gguf")
        _, found = await call(server.url, "/playground/models")
        files = next(one for one in found["providers"] if one["name"] == "gguf")["models"]
        assert files == [{"name": last["path"], "bytes": len(GGUF)}]
        assert found["local"]["fetch"] is None
        # It is here: nothing is fetched twice.
        requests = len(hub.store.requests)
        _, again = await call(server.url, FETCH, {"source": SOURCE})
        assert (again[-1]["state"], again[-1]["path"]) == ("done", last["path"])
        assert len(hub.store.requests) == requests


@pytest.mark.demand("playground.fetch_local_model")
async def test_the_list_says_size_licence_and_what_fits() -> None:
    async with serve() as (_, server):
        _, found = await call(server.url, "/playground/models")
    models = found["local"]["models"]
    assert [one["name"] for one in models] == [model.name for model in CURATED_MODELS]
    assert all(one["bytes"] > 1e8 and one["licence"] and one["good_for"] for one in models)
    assert {one["fits"] for one in models} <= {"well", "slow", "no"}
    assert found["local"]["free"] > 0


@pytest.mark.demand("playground.fetch_goes_on")
async def test_a_client_that_leaves_finds_the_download_again() -> None:
    async with serve() as (hub, server):
        held = HeldFile(GGUF, 100_000)
        hub.store.queue_replies(held)
        async with follow(server.url, SOURCE) as lines:
            line = await read_until(lines, 100_000)
            assert (line["state"], line["total"]) == ("fetching", len(GGUF))
        _, found = await call(server.url, "/playground/models")
        assert found["local"]["fetch"]["bytes"] == 100_000
        status, other = await call(server.url, FETCH, {"source": "hf:acme/Tiny-GGUF/Other.gguf"})
        assert (status, "Tiny-Q4 is being fetched" in other["error"]["message"]) == (409, True)
        async with follow(server.url, "") as lines:
            assert (await anext(lines))["bytes"] == 100_000
            held.go_on.set()
            assert (await read_until(lines, len(GGUF)))["source"] == SOURCE
        assert len(hub.store.requests) == 1


@pytest.mark.demand("playground.fetch_goes_on")
async def test_a_stopped_download_goes_on_where_it_was() -> None:
    async with serve() as (hub, server):
        hub.store.queue_replies(HeldFile(GGUF, 100_000))
        async with follow(server.url, SOURCE) as lines:
            await read_until(lines, 100_000)
            status, stopped = await call(server.url, STOP, {})
            assert (status, stopped["state"], stopped["bytes"]) == (200, "stopped", 100_000)
            assert [line["state"] async for line in lines][-1] == "stopped"
        _, found = await call(server.url, "/playground/models")
        part = found["local"]["models"][-1]
        assert (part["source"], part["part"], part["bytes"]) == (SOURCE, 100_000, len(GGUF))
        assert (await call(server.url, STOP, {}))[0] == 404
        _, lines_again = await call(server.url, FETCH, {"source": SOURCE})
        assert lines_again[-1]["state"] == "done"
        assert hub.store.requests[-1].headers["range"] == "bytes=100000-"


@pytest.mark.demand("playground.fetch_goes_on")
async def test_a_cut_connection_is_no_end() -> None:
    async with serve() as (hub, server):
        hub.store.queue_replies(hub.cut(1000), hub.cut(50_000))
        _, lines = await call(server.url, FETCH, {"source": SOURCE})
        assert lines[-1]["state"] == "done"
        assert len(hub.store.requests) == 3


@pytest.mark.demand("playground.fetch_errors_in_words")
@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (send_file(b"MZ" + bytes(1000)), "is not a GGUF file; it was not kept."),
        (send_status(200, {"Content-Type": "text/html"}, b"<html>"), "sent a web page instead of a file."),
        (send_status(404), "does not exist at 127.0.0.1. Check the address."),
        (send_file(GGUF[:100_000]), "The file was deleted. Pull again"),
        (claim_huge_file, "Make room, or name another folder in RIGHTSEAT_CACHE."),
    ],
    ids=["no gguf", "page", "missing", "short", "disk"],
)
async def test_what_goes_wrong_is_said_in_words(reply: UpstreamReply, said: str) -> None:
    async with serve() as (hub, server):
        hub.store.reply = reply
        _, lines = await call(server.url, FETCH, {"source": f"{hub.store.origin}/own/file.gguf?token=secret-1"})
        assert lines[-1]["state"] == "failed"
        assert said in lines[-1]["text"], lines[-1]
        assert "secret-1" not in json.dumps(lines)
        _, found = await call(server.url, "/playground/models")
        assert found["local"]["fetch"] is None
        assert not any(one.get("path") for one in found["local"]["models"])


@pytest.mark.demand("playground.fetch_errors_in_words")
async def test_no_network_and_no_address_are_said() -> None:
    async with serve(env={"HF_ENDPOINT": "http://127.0.0.1:1"}) as (_, server):
        _, lines = await call(server.url, FETCH, {"source": SOURCE})
        assert lines[-1]["text"].startswith("There is no connection to 127.0.0.1. Is there a network?")
        for source, said in (
            ("model.bin", "Name a file of the hub"),
            ("https://example.com/model.bin", "Only .gguf files"),
            ("file:///etc/x.gguf", "begins with http://"),
            ("hf:acme", "is not a file of the hub"),
            ("x\ny", "printable"),
        ):
            status, found = await call(server.url, FETCH, {"source": source})
            assert (status, said in found["error"]["message"]) == (400, True), found
        assert (await call(server.url, FETCH, {}))[0] == 404


async def test_another_source_of_the_same_name_replaces_nothing() -> None:
    async with serve() as (hub, server):
        _, first = await call(server.url, FETCH, {"source": SOURCE})
        hub.store.reply = send_file(GGUF)
        _, second = await call(server.url, FETCH, {"source": f"{hub.store.origin}/Tiny-Q4.gguf"})
        assert second[-1]["state"] == "done"
        assert second[-1]["name"].startswith("Tiny-Q4-")
        assert first[-1]["path"] != second[-1]["path"]


@pytest.mark.demand("playground.model_only_for_admins")
async def test_only_an_admin_fetches() -> None:
    async with serve(CONFIG + KEYS, env=ENV) as (hub, server):
        ann, bob = ({"authorization": f"Bearer {key}"} for key in ENV.values())
        for path in (FETCH, STOP):
            assert (await call(server.url, path, {}, bob))[0] == 403
            assert (await call(server.url, path, {}))[0] == 401
            foreign = {**ann, "origin": "https://evil.example", "sec-fetch-site": "cross-site"}
            assert (await call(server.url, path, {}, foreign))[0] == 403
        assert not hub.site.requests
        _, found = await call(server.url, "/playground/models", None, bob)
        assert "local" not in found
        _, lines = await call(server.url, FETCH, {"source": SOURCE}, ann)
        assert lines[-1]["state"] == "done"


async def test_the_end_of_the_server_does_not_wait_for_a_download() -> None:
    async with serve() as (hub, server):
        hub.store.queue_replies(HeldFile(GGUF, 100_000))
        async with follow(server.url, SOURCE) as lines:
            await read_until(lines, 100_000)
        pulled = server.folder / ".cache" / "rightseat" / "models" / "pulled" / "Tiny-Q4" / "partial"
        await wait_until(lambda: pulled.stat().st_size == 100_000)
        await server.stop()
        assert pulled.stat().st_size == 100_000


@pytest.mark.slow
async def test_several_workers_say_how_else() -> None:
    async with serve(args=["--workers", "2"]) as (hub, server):
        status, found = await call(server.url, FETCH, {"source": SOURCE})
        assert (status, "rightseat models pull" in found["error"]["message"]) == (409, True)
        assert not hub.site.requests
