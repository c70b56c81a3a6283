"""`rightseat.asgi`: the doors as an app that another app mounts."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.routing import Mount

import rightseat
from rightseat.config.secret import Secret
from rightseat.config.settings import AuthSettings
from rightseat.errors import ConfigError, UpstreamRefused
from rightseat.http.auth import Authenticator
from rightseat.server.app import ENCODED_SLASH, get_path, mark_encoded_slashes
from rightseat.testing import ScriptedModel, TestClient
from tests.kit.cases import each_case

COMPLETIONS = "/v1/chat/completions"
HI = {"messages": [{"role": "user", "content": "hi"}]}


class StartedModel(ScriptedModel):
    """A model that counts its starts and closes."""

    starts = closes = 0

    async def start(self) -> None:
        await asyncio.sleep(0)
        self.starts += 1

    async def close(self) -> None:
        self.closes += 1


def content(response: Any) -> str:
    assert response.status == 200, response.text
    text: str = response.json["choices"][0]["message"]["content"]
    return text


@pytest.mark.demand("engine.library_use_runtime_mount")
async def test_a_fastapi_app_with_a_lifespan_starts_and_closes_the_runtime() -> None:
    model = StartedModel("one", "two")
    runtime = rightseat.Runtime(model=model)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with runtime:
            yield

    app = FastAPI(lifespan=lifespan)
    app.mount("/copilot", rightseat.asgi(runtime))

    @app.get("/own")
    def own() -> str:
        return "mine"

    async with TestClient(app) as client:
        assert (model.starts, runtime.is_started) == (1, True)
        assert content(await client.post_json(f"/copilot{COMPLETIONS}", HI)) == "one"
        events = [event async for event in client.stream("/copilot/agui/default", HI)]
        assert "two" in [event.get("delta") for event in events]
        assert (await client.get("/own")).json == "mine"
        assert (await client.post_json(COMPLETIONS, HI)).status == 404
    assert (model.starts, model.closes, runtime.is_closed) == (1, 1, True)


@pytest.mark.demand("engine.mounted_refusals")
async def test_a_refusal_names_the_argument_and_the_page_below_the_mount() -> None:
    app = FastAPI()
    app.mount("/copilot", rightseat.asgi(rightseat.Runtime(model=ScriptedModel("one")), max_body_mb=0.001))
    client = TestClient(app)
    models, page = "/copilot/v1/models", {"origin": "https://page.example"}
    foreign = await client.get(models, {"host": "x.example"})
    assert foreign.json["error"]["message"].endswith(
        'If it should be, write rightseat.asgi(runtime, hosts=["x.example"])'
    )
    assert foreign.json["error"]["doc_url"] == "/copilot/docs/errors/forbidden"
    assert "x.example/" not in foreign.text, "a refused Host is not repeated as an address"
    malformed = await client.get(models, {"host": "a b"})
    origin = await client.get(models, page)
    assert origin.json["error"]["message"].endswith('If it should, write rightseat.asgi(runtime, cors=["THE ORIGIN"])')
    large = await client.post_json(f"/copilot{COMPLETIONS}", {"x": "x" * 2000})
    local = {"origin": "http://localhost:3000", "content-type": "text/plain"}
    plain = await client.post_json(f"/copilot{COMPLETIONS}", HI, local)
    refusals = [foreign, malformed, origin, large, plain]
    assert [refusal.status for refusal in refusals] == [403, 400, 403, 413, 415]
    for refusal in refusals:
        address = refusal.json["error"]["doc_url"]
        assert (await client.get(address[address.index("/copilot") :])).status == 200


async def test_without_a_lifespan_the_first_requests_start_the_runtime_once() -> None:
    model = StartedModel("one", "two")
    runtime = rightseat.Runtime(model=model)
    client = TestClient(Starlette(routes=[Mount("/copilot", rightseat.asgi(runtime))]))
    answers = await asyncio.gather(*(client.post_json(f"/copilot{COMPLETIONS}", HI) for _ in range(2)))
    assert sorted(map(content, answers)) == ["one", "two"]
    assert (model.starts, model.closes) == (1, 0)
    await runtime.close()
    assert model.closes == 1


async def test_the_outermost_app_starts_and_closes_by_its_own_lifespan() -> None:
    model = StartedModel("one")
    async with TestClient(rightseat.asgi(rightseat.Runtime(model=model))) as client:
        assert model.starts == 1
        assert content(await client.post_json(COMPLETIONS, HI)) == "one"
    assert model.closes == 1


async def test_a_runtime_started_by_its_maker_is_closed_by_its_maker() -> None:
    model = StartedModel()
    async with rightseat.Runtime(model=model) as runtime:
        async with TestClient(rightseat.asgi(runtime)):
            assert model.starts == 1
        assert model.closes == 0
    assert model.closes == 1


async def test_a_start_that_fails_is_told_to_the_server() -> None:
    class Broken(ScriptedModel):
        async def start(self) -> None:
            raise ConfigError("No weights.")

    with pytest.raises(rightseat.RightseatError, match="No weights"):
        async with TestClient(rightseat.asgi(rightseat.Runtime(model=Broken()))):
            pass


async def test_a_model_that_is_away_does_not_keep_the_app_from_starting() -> None:
    class Away(ScriptedModel):
        async def start(self) -> None:
            raise UpstreamRefused("Nobody there.")

    client = TestClient(rightseat.asgi(rightseat.Runtime(model=Away("ok"))))
    assert content(await client.post_json(COMPLETIONS, HI)) == "ok"


@each_case(
    ("path", "root", "outer", "inner"),
    [
        ("/v1/models", "", "", "/v1/models"),
        ("/copilot/v1/models", "/copilot", "", "/v1/models"),
        ("/copilot/", "/copilot", "", "/"),
        ("/copilot", "/copilot", "", "/"),
        ("/api/copilot/v1/models", "/api/copilot", "/api", "/v1/models"),
        # A proxy has removed /api; the outer app was told of it by its own root_path.
        ("/copilot/v1/models", "/api/copilot", "/api", "/v1/models"),
        # An outer app that removes the prefix itself.
        ("/v1/models", "/copilot", "", "/v1/models"),
        ("/copilots/v1", "/copilot", "", "/copilots/v1"),
    ],
)
def test_the_path_below_the_mount(path: str, root: str, outer: str, inner: str) -> None:
    assert get_path({"path": path, "root_path": root, "app_root_path": outer}) == inner


@each_case(
    ("path", "raw", "inner", "marked"),
    [
        ("/threads/a/b", b"/threads/a%2Fb", "/threads/a/b", "/threads/a|b"),
        ("/threads/a/b", b"/threads/a%2fb?x=%2F", "/threads/a/b", "/threads/a|b"),
        ("/copilot/threads/a/b/", b"/copilot/threads/a%2fb%2F", "/threads/a/b/", "/threads/a|b|"),
        ("/threads/ü/%2F", b"/threads/%C3%BC%2F%252F", "/threads/ü/%2F", "/threads/ü|%2F"),
        # No mark where the raw path is missing or another one, as behind an app that rewrites paths.
        ("/threads/a/b", b"", "/threads/a/b", "/threads/a/b"),
        ("/threads/a/b", None, "/threads/a/b", "/threads/a/b"),
        ("/threads/a/b", b"/other/a%2Fc", "/threads/a/b", "/threads/a/b"),
        ("/threads/a/b", b"/threads/a/b", "/threads/a/b", "/threads/a/b"),
        # An outer app that removes the prefix from one of the two.
        ("/threads/a/b", b"/copilot/threads/a%2Fb", "/threads/a/b", "/threads/a|b"),
    ],
)
def test_encoded_slashes_are_told_from_others(path: str, raw: bytes | None, inner: str, marked: str) -> None:
    scope = {"path": path, "raw_path": raw, "root_path": "/copilot" if path.startswith("/copilot") else ""}
    assert get_path(scope) == inner
    assert mark_encoded_slashes(scope, inner).replace(ENCODED_SLASH, "|") == marked


async def test_a_slash_that_is_encoded_without_need_separates_segments() -> None:
    client = TestClient(rightseat.asgi(rightseat.Runtime(model=ScriptedModel("ok"))))
    assert content(await client.post_json("/v1%2Fchat%2Fcompletions", HI)) == "ok"
    found = await client.get("/v1/models/no%2Fsuch")
    assert (found.status, "no/such" in found.text) == (404, True)


@pytest.mark.parametrize("prefix", ["", "/api"])
async def test_a_proxy_before_the_app_may_keep_its_prefix_or_remove_it(prefix: str) -> None:
    app = FastAPI()
    app.mount("/copilot", rightseat.asgi(rightseat.Runtime(model=ScriptedModel("ok"))))

    async def proxied(scope: Any, receive: Any, send: Any) -> None:
        await app({**scope, "root_path": "/api"}, receive, send)

    assert content(await TestClient(proxied).post_json(f"{prefix}/copilot{COMPLETIONS}", HI)) == "ok"


async def test_links_have_the_mounts_prefix() -> None:
    app = FastAPI()
    app.mount("/copilot", rightseat.asgi(rightseat.Runtime(model=ScriptedModel("ok"))))
    listed = (await TestClient(app).get("/copilot/openapi.json")).json
    assert listed["servers"][0]["url"] == "http://127.0.0.1/copilot"


async def test_without_keys_only_loopback_is_answered() -> None:
    app = rightseat.asgi(rightseat.Runtime(model=ScriptedModel("ok")))
    assert content(await TestClient(app).post_json(COMPLETIONS, HI)) == "ok"
    evil = await TestClient(app, host="evil.example").post_json(COMPLETIONS, HI, {"origin": "http://evil.example"})
    assert evil.status == 403


async def test_with_hosts_or_keys_others_are_too() -> None:
    named = rightseat.asgi(rightseat.Runtime(model=ScriptedModel("ok")), hosts=["app.example"], keep_alive=3)
    assert named.app.timeouts.keep_alive == 3
    assert content(await TestClient(named, host="app.example").post_json(COMPLETIONS, HI)) == "ok"
    keys = Authenticator(AuthSettings(keys={"ann": Secret("k-ann")}))
    keyed = TestClient(
        rightseat.asgi(rightseat.Runtime(model=ScriptedModel("ok")), authenticate=keys), host="any.example"
    )
    assert (await keyed.post_json(COMPLETIONS, HI)).status == 401
    assert content(await keyed.post_json(COMPLETIONS, HI, {"authorization": "Bearer k-ann"})) == "ok"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"host": ["x"]}, "has no option 'host'. Did you mean 'hosts'?"),
        ({"keepalive": 3}, "Did you mean 'keep_alive'?"),
        ({"keep_alive": "long"}, "keep_alive"),
    ],
)
def test_a_wrong_option_is_told(options: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        rightseat.asgi(rightseat.Runtime(model=ScriptedModel()), **options)
    assert told in caught.value.message


@pytest.mark.demand("release.app_login")
@pytest.mark.parametrize("is_async", [False, True])
async def test_the_applications_own_login_decides(is_async: bool) -> None:
    seen: list[tuple[str, object]] = []

    @rightseat.tool
    def who(ctx: rightseat.ToolContext) -> str:
        """Say who asks."""
        seen.append((ctx.turn.owner.name, dict(ctx.turn.client.headers)))
        return ctx.turn.owner.name

    def find_user(headers: Mapping[str, str]) -> str | None:
        return {"session=1": "ada", "session=2": "grace"}.get(headers.get("cookie", ""))

    async def find_user_later(headers: Mapping[str, str]) -> str | None:
        return find_user(headers)

    runtime = rightseat.Runtime(model=ScriptedModel(("who", {}), "Yes.", ("who", {}), "Yes."), tools=[who])
    app = rightseat.asgi(runtime, authenticate=find_user_later if is_async else find_user)
    client = TestClient(app, host="shop.example")
    for cookie in ("session=1", "session=2"):
        headers = {"cookie": cookie, "authorization": "Bearer token-of-the-app", "x-tenant": "shop"}
        assert content(await client.post_json(COMPLETIONS, HI, headers)) == "Yes."
    assert seen == [("ada", {"x-tenant": "shop"}), ("grace", {"x-tenant": "shop"})]
    for refused in ({}, {"cookie": "session=3"}, {"authorization": "Bearer any"}):
        reply = await client.post_json(COMPLETIONS, HI, refused)
        assert reply.status == 401
        assert reply.json["error"]["message"].startswith("Nobody is logged in with this request.")
