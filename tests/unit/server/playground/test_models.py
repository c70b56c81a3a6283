"""Connecting a model over HTTP: found, tried by real calls, used at once, written to rightseat.toml, refused."""

import json
import stat
import tomllib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from rightseat import Runtime
from tests.kit.answers import write_json
from tests.kit.app_server import FakeModel, serve_runtime
from tests.kit.client import RawHttpClient
from tests.kit.connection import Connection, ReceivedRequest
from tests.kit.model_server import ModelServer
from tests.kit.server import RightseatProcess

pytestmark = pytest.mark.io

CONFIG = """\
# Our shop.
[models.default]   # the one that answers
spec = "scripted:script.json"
# Cheap at night.
input_cost = 1.0

# The second one.
[models.other]
spec = "scripted:script.json"
"""
KEYS = """
[auth]
admins = ["ann"]

[auth.keys]
ann = "env:ANN_KEY"
bob = "env:BOB_KEY"
"""
ENV = {"ANN_KEY": "ann-sesame-1", "BOB_KEY": "bob-sesame-2"}
SECRET = "sk-very-secret-key-77"


@asynccontextmanager
async def serve(config: str | None = CONFIG, **options: Any) -> AsyncIterator[RightseatProcess]:
    server = RightseatProcess(config=config, **options)
    (server.folder / "script.json").write_text('{"turns": [{"say": "The script says this."}]}')
    async with server:
        yield server


async def call(url: str, path: str, body: object = None, headers: Mapping[str, str] | None = None) -> tuple[int, Any]:
    async with RawHttpClient(url) as client:
        if body is None:
            await client.get(path, headers)
        else:
            await client.post_json(path, body, headers)
        head = await client.read_head()
        text = await client.read_body()
    if head.headers.get("content-type") == "application/x-ndjson":
        return head.status, [json.loads(line) for line in text.splitlines()]
    return head.status, json.loads(text)


async def ask(url: str, headers: Mapping[str, str] | None = None, model: str = "default") -> str:
    body = {"model": model, "messages": [{"role": "user", "content": "Hello"}]}
    status, found = await call(url, "/v1/chat/completions", body, headers)
    assert status == 200, found
    return str(found["choices"][0]["message"]["content"]).strip()


def describe(upstream: ModelServer, **more: Any) -> dict[str, Any]:
    return {"provider": "compatible", "model": "qwen3:8b", "base_url": upstream.base_url, **more}


@pytest.mark.demand("playground.connect_model")
async def test_the_models_of_ollama_are_found() -> None:
    async with ModelServer() as upstream, serve(env={"OLLAMA_HOST": f"127.0.0.1:{upstream.port}"}) as server:
        status, found = await call(server.url, "/playground/models")
    assert status == 200
    assert found["admin"]
    assert found["now"]["provider"] == "scripted"
    providers = {one["name"]: one for one in found["providers"]}
    assert set(providers) == {"ollama", "lmstudio", "openai", "anthropic", "google", "azure", "compatible", "gguf"}
    assert [one["name"] for one in providers["ollama"]["models"]] == ["qwen3:8b", "llama3.2:3b"]
    assert providers["ollama"]["models"][0]["bytes"] == 5_200_000_000


@pytest.mark.demand("playground.connect_model")
async def test_a_model_is_tried_by_real_calls() -> None:
    # A model that no table knows: what it can do is found out.
    async with ModelServer(["own"], abilities=("tools", "images")) as upstream, serve() as server:
        body = describe(upstream, model="own")
        status, lines = await call(server.url, "/playground/models-test", body)
        assert status == 200
        found = [(line["check"], line["state"], line["code"]) for line in lines]
        assert found == [
            ("reached", "good", "reached"),
            ("answers", "good", "first_word"),
            ("tool", "good", "valid"),
            ("images", "good", "yes"),
        ]
        assert all(line["ms"] >= 1 for line in lines)
        posts = [request for request in upstream.requests if request.method == "POST"]
        assert len(posts) == 3
        upstream.abilities = ()
        _, lines = await call(server.url, "/playground/models-test", body)
        assert [(line["state"], line["code"]) for line in lines[2:]] == [("broken", "no_call"), ("skipped", "no")]
        # A trial changes nothing.
        assert await ask(server.url) == "The script says this."


@pytest.mark.demand("playground.connect_model")
async def test_what_does_not_work_is_said_in_words() -> None:
    async with ModelServer(key="right") as upstream, serve() as server:
        path = "/playground/models-test"
        _, lines = await call(server.url, path, describe(upstream, api_key="wrong-key-1"))
        assert [line["state"] for line in lines] == ["good", "broken", "skipped", "skipped"]
        assert lines[1]["code"] == "upstream_denied"
        assert "wrong-key-1" not in json.dumps(lines)
        _, lines = await call(server.url, path, describe(upstream, api_key="right", model="missing"))
        assert lines[1]["code"] == "upstream_rejected"
        assert "model's name" in lines[1]["text"]
        closed = {"provider": "compatible", "model": "x", "base_url": "http://127.0.0.1:1/v1"}
        _, lines = await call(server.url, path, closed)
        assert (lines[0]["code"], lines[0]["text"]) == ("unreachable", "nothing listens there")
        _, lines = await call(server.url, path, {"provider": "gguf", "model": "/nowhere/x.gguf"})
        assert lines[0]["state"] == "broken"
        assert "/nowhere/x.gguf" in lines[0]["text"]
        _, lines = await call(server.url, path, {"provider": "openai", "model": "gpt-5-mini"})
        assert "needs a key" in lines[0]["text"]
        for body, said in (
            ({"provider": "ollama"}, "Name the model."),
            ({"provider": "compatible", "model": "x"}, "Name the server's address"),
            ({"provider": "gguf", "model": "x.bin"}, ".gguf file"),
            ({"provider": "other", "model": "x"}, "provider"),
            ({"provider": "ollama", "model": "x\ny"}, "printable"),
        ):
            status, found = await call(server.url, path, body)
            assert status == 400, body
            assert said in found["error"]["message"]


async def test_a_redirect_is_not_followed() -> None:
    async def redirect(connection: Connection, request: ReceivedRequest) -> None:
        await write_json(connection, 307, {}, Location=f"{target.origin}{request.target}")

    async with ModelServer() as upstream, ModelServer() as target, serve() as server:
        upstream.reply = redirect
        _, lines = await call(server.url, "/playground/models-test", describe(upstream))
        assert (lines[0]["state"], lines[0]["code"]) == ("broken", "redirect")
        _, found = await call(server.url, "/playground/models-list", describe(upstream))
        assert found == {"models": None}
        assert not target.requests


@pytest.mark.demand("playground.connect_model")
async def test_a_model_is_used_at_once_and_until_the_next_start() -> None:
    async with ModelServer() as upstream, serve() as server:
        assert await ask(server.url) == "The script says this."
        _, found = await call(server.url, "/playground/models-list", describe(upstream))
        assert [one["name"] for one in found["models"]] == ["qwen3:8b", "llama3.2:3b"]
        status, found = await call(server.url, "/playground/models-use", describe(upstream))
        assert (status, found) == (200, {"model": "qwen3:8b", "written": ""})
        assert await ask(server.url) == "Hello from the model server."
        assert await ask(server.url, model="other") == "The script says this."
        _, found = await call(server.url, "/playground/models")
        assert (found["now"]["name"], found["now"]["chosen"]) == ("qwen3:8b", True)
        # The file is as it was, and its next change is still noticed.
        assert (server.folder / "rightseat.toml").read_text() == CONFIG


@pytest.mark.demand("playground.connect_model")
async def test_an_unconfigured_server_keeps_its_examples() -> None:
    async with ModelServer() as upstream, serve(config=None) as server:
        status, _ = await call(server.url, "/playground/models-use", describe(upstream))
        assert status == 200
        _, about = await call(server.url, "/playground/about")
        assert about["model"]["name"] == "qwen3:8b"
        assert len(about["examples"]) == 3
        assert await ask(server.url) == "Hello from the model server."


@pytest.mark.demand("playground.model_written_to_file")
async def test_a_model_is_written_to_the_file_and_its_key_to_another(tmp_path: Path) -> None:
    env = {"RIGHTSEAT_DATA": str(tmp_path)}
    async with ModelServer(key=SECRET) as upstream, serve(env=env) as server:
        file = server.folder / "rightseat.toml"
        file.chmod(0o640)
        body = describe(upstream, api_key=SECRET, write=True)
        _, preview = await call(server.url, "/playground/models-preview", body)
        assert "[models.default]" in preview["text"]
        assert SECRET not in preview["text"]
        status, found = await call(server.url, "/playground/models-use", body)
        assert (status, found["written"]) == (200, str(file.resolve()))
        assert await ask(server.url) == "Hello from the model server."
        text = file.read_text()
        table = tomllib.loads(text)["models"]["default"]
        key_file = tmp_path / Path(table.pop("api_key").removeprefix("file:")).relative_to(tmp_path)
        assert table == {"spec": "openai:qwen3:8b", "base_url": upstream.base_url}
        assert key_file.read_text() == SECRET
        assert stat.S_IMODE(key_file.stat().st_mode) == 0o600
        # Comments and the other table stay; the old values are comments.
        for line in ("# Our shop.", "# Cheap at night.", '# spec = "scripted:script.json"', "# The second one."):
            assert line in text.splitlines()
        assert tomllib.loads(text)["models"]["other"] == {"spec": "scripted:script.json"}
        assert stat.S_IMODE(file.stat().st_mode) == 0o640
        # The same key again is no second file.
        assert (await call(server.url, "/playground/models-use", body))[0] == 200
        assert len(list(key_file.parent.iterdir())) == 1
        for said in (text, json.dumps(found), server.stdout, server.stderr):
            assert SECRET not in said
        # A person's own change of the file counts from then on.
        file.write_text(CONFIG)
        while await ask(server.url) != "The script says this.":
            pass


@pytest.mark.demand("playground.model_written_to_file")
async def test_a_new_file_keeps_the_data_folder() -> None:
    async with ModelServer() as upstream, serve(config=None) as server:
        status, found = await call(server.url, "/playground/models-use", describe(upstream, write=True))
        assert (status, found["override"]) == (200, "RIGHTSEAT_MODEL")
        text = (server.folder / "rightseat.toml").read_text()
        assert tomllib.loads(text)["store"]["path"] == str(server.folder / ".data" / "rightseat" / "default")
        assert await ask(server.url) == "Hello from the model server."


@pytest.mark.demand("playground.model_written_to_file")
async def test_a_file_that_cannot_be_edited_stays_as_it_is() -> None:
    inline = 'models = {default = {spec = "scripted:script.json"}}\n'
    async with ModelServer() as upstream, serve(config=inline, model="scripted:demo") as server:
        status, found = await call(server.url, "/playground/models-use", describe(upstream, write=True))
        assert status == 400
        assert "by hand" in found["error"]["message"]
        assert (server.folder / "rightseat.toml").read_text() == inline
    named = '[assistants.shop]\nmodel = "scripted:script.json"\n'
    async with ModelServer() as upstream, serve(config=named, model="scripted:demo") as server:
        status, found = await call(server.url, "/playground/models-use", describe(upstream, write=True))
        assert (status, "[assistants.shop]" in found["error"]["message"]) == (409, True)


@pytest.mark.demand("playground.model_only_for_admins")
async def test_only_an_admin_changes_the_model() -> None:
    async with ModelServer() as upstream, serve(CONFIG + KEYS, env=ENV) as server:
        ann, bob = ({"authorization": f"Bearer {key}"} for key in ENV.values())
        for path in ("list", "test", "preview", "use"):
            status, found = await call(server.url, f"/playground/models-{path}", describe(upstream), bob)
            assert status == 403
            assert "admins" in found["error"]["message"]
            assert (await call(server.url, f"/playground/models-{path}", describe(upstream)))[0] == 401
        assert not upstream.requests
        _, found = await call(server.url, "/playground/models", None, bob)
        assert (found["admin"], found["why"], found["providers"]) == (False, "admin", [])
        assert (await call(server.url, "/playground/models-use", describe(upstream), ann))[0] == 200
        assert await ask(server.url, bob) == "Hello from the model server."


@pytest.mark.demand("playground.model_only_for_admins")
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": "http://127.0.0.1:1"}, 403),
        ({"origin": "https://evil.example"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"x-forwarded-for": "203.0.113.9"}, 403),
        ({"content-type": "text/plain"}, 415),
    ],
)
async def test_no_other_page_and_no_proxy_changes_the_model(headers: dict[str, str], status: int) -> None:
    async with ModelServer() as upstream, serve() as server:
        found, _ = await call(server.url, "/playground/models-use", describe(upstream), headers)
        assert found == status
        assert not upstream.requests
        assert await ask(server.url) == "The script says this."


async def test_a_server_inside_another_program_says_so() -> None:
    async with serve_runtime(Runtime(model=FakeModel())) as server:
        _, found = await call(server.url, "/playground/models")
        assert (found["admin"], found["why"]) == (False, "part")
        status, _ = await call(server.url, "/playground/models-use", {"provider": "ollama", "model": "x"})
        assert status == 403


@pytest.mark.slow
@pytest.mark.demand("playground.connect_model")
async def test_several_workers_change_together() -> None:
    async with ModelServer() as upstream, serve(args=["--workers", "2"]) as server:
        status, found = await call(server.url, "/playground/models-use", describe(upstream))
        assert (status, "rightseat.toml" in found["error"]["message"]) == (409, True)
        assert (await call(server.url, "/playground/models-use", describe(upstream, write=True)))[0] == 200
        same = 0
        while same < 12:
            same = same + 1 if await ask(server.url) == "Hello from the model server." else 0
