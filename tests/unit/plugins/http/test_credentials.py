"""Who a call is made as: every kind of auth, where it goes, and where it never does."""

import asyncio
import json
import logging
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from msgspec.structs import replace

from rightseat.config.secret import Secret
from rightseat.errors import ConfigError
from rightseat.plugins.http.credentials import AccessToken, TokenClient
from rightseat.plugins.http.policy import PluginPolicy
from rightseat.plugins.http.tools import make_operation_tools
from tests.unit.plugins.http.plugin_values import (
    LOCAL_POLICY,
    call_tool,
    make_auth,
    make_object_body,
    make_operation,
    make_parameter,
    make_plugin,
    open_tools,
)
from tests.unit.plugins.http.recording_api import RecordedRequest, RecordingApi, make_json_response, make_raw_response

pytestmark = pytest.mark.io

CANARY = "canary-0123456789"
METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]


@pytest.mark.demand("plugins.auth_header_param_query", "plugins.bug_original_loader_calling")
@pytest.mark.parametrize("method", METHODS)
async def test_param_auth_is_in_the_query_of_every_method(api: RecordingApi, method: str) -> None:
    """The original sent it with GET only, and under the seed's own name `param` never."""
    body = None if method == "GET" else make_object_body("application/json", a={"type": "string"})
    asked = make_operation(method, "/x", make_parameter("q", "query"), body=body, url=api.url)
    async with open_tools(make_plugin(asked, auth=(make_auth("param", {"api key": CANARY + "&"}),))) as (tool,):
        await call_tool(tool, {"q": 1, "a": "b"})
    assert api.last_request.query == [("q", "1"), ("api key", CANARY + "&")]
    assert CANARY not in api.last_request.body.decode()


@pytest.mark.demand("plugins.auth_header_param_query", "plugins.real_http_server_tests")
async def test_several_kinds_at_once(api: RecordingApi) -> None:
    kinds = (
        make_auth("header", {"Authorization": f"Bearer {CANARY}", "X-Tenant": "demo"}),
        make_auth("param", {"key": "k"}),
        make_auth("cookie", {"SESSION": "c 9;x"}),
    )
    asked = make_operation("GET", "/x", make_parameter("theme", "cookie"), url=api.url)
    async with open_tools(make_plugin(asked, auth=kinds)) as (tool,):
        await call_tool(tool, {"theme": "dark"})
    got = api.last_request
    assert (got.headers["authorization"], got.headers["x-tenant"]) == (f"Bearer {CANARY}", "demo")
    assert got.query == [("key", "k")]
    assert got.headers["cookie"] == "theme=dark; SESSION=c%209%3Bx"


@pytest.mark.demand("plugins.auth_header_param_query")
async def test_no_argument_takes_the_place_of_a_credential(api: RecordingApi) -> None:
    kinds = (
        make_auth("header", {"X-Key": CANARY}),
        make_auth("param", {"key": CANARY}),
        make_auth("cookie", {"sid": CANARY}),
    )
    asked = make_operation(
        "GET",
        "/x",
        make_parameter("x-key", "header"),
        make_parameter("key", "query"),
        make_parameter("free", "query", {"type": "object"}),
        make_parameter("sid", "cookie"),
        make_parameter("Cookie", "header"),
        url=api.url,
    )
    forged = {"x-key": "f", "key": "f", "free": {"key": "f", "KEY": "f", "z": 1}, "sid": "f", "Cookie": "sid=f"}
    async with open_tools(make_plugin(asked, auth=kinds)) as (tool,):
        await call_tool(tool, forged)
    got = api.last_request
    assert got.headers["x-key"] == CANARY
    assert (got.header_names.count("x-key"), got.header_names.count("cookie")) == (1, 1)
    assert got.query == [("z", "1"), ("key", CANARY)]
    assert got.headers["cookie"] == f"sid={CANARY}"


@pytest.mark.demand("plugins.auth_values_env_name")
async def test_values_by_environment_file_and_configuration(
    api: RecordingApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("SHOP_KEY", "from-env-1")
    (tmp_path / "secret").write_text("from-file-1\n")
    args = {"X-Env": "env:SHOP_KEY", "X-File": "file:secret", "X-Set": "env:NOT_SET_1", "X-Empty": ""}
    made = replace(
        make_plugin(make_operation("GET", "/x", url=api.url), auth=(make_auth("header", args),)), folder=tmp_path
    )
    gate = replace(LOCAL_POLICY, credentials={"x-set": Secret("env:SHOP_KEY")})
    async with open_tools(made, gate) as (tool,):
        await call_tool(tool)
        assert [api.last_request.headers.get(name) for name in ("x-env", "x-file", "x-set", "x-empty")] == [
            "from-env-1",
            "from-file-1",
            "from-env-1",
            None,
        ]
        # A file that is written anew counts at once.
        (tmp_path / "secret").write_text("from-file-2\n")
        await call_tool(tool)
    assert api.last_request.headers["x-file"] == "from-file-2"
    assert caplog.text == ""


@pytest.mark.parametrize("kind", ["header", "oidc"])
@pytest.mark.parametrize("given", ["file:../key", "file:~/key", "file:{}/key", "file:link"])
async def test_a_plugin_sends_no_file_but_its_own(
    api: RecordingApi, tmp_path: Path, caplog: pytest.LogCaptureFixture, given: str, kind: str
) -> None:
    """It may come from anyone; only the operator names files elsewhere."""
    folder = tmp_path / "shop"
    folder.mkdir()
    (tmp_path / "key").write_text(CANARY)
    (folder / "link").symlink_to(tmp_path / "key")
    value = given.format(tmp_path)
    options = {"token_url": f"{api.url}/token", "client_id": "me", "client_secret": Secret(value)}
    own = make_auth("header", {"X-Key": value}) if kind == "header" else make_auth("oidc", {}, **options)
    made = replace(make_plugin(make_operation("GET", "/x", url=api.url), auth=(own,)), folder=folder)
    async with open_tools(made) as (tool,):
        result = await call_tool(tool)
    assert "is not set up here" in result.error["message"]
    assert "not in the plugin's folder" in caplog.text
    assert api.requests == []
    if kind == "header":
        gate = replace(LOCAL_POLICY, credentials={"X-Key": Secret(f"file:{tmp_path}/key")})
        async with open_tools(made, gate) as (tool,):
            await call_tool(tool)
        assert api.last_request.headers["x-key"] == CANARY


@pytest.mark.demand("plugins.auth_values_env_name")
async def test_a_secret_that_is_not_there_stops_the_call_and_tells_the_operator_only(
    api: RecordingApi, caplog: pytest.LogCaptureFixture
) -> None:
    made = make_plugin(
        make_operation("GET", "/x", url=api.url), auth=(make_auth("header", {"X-Key": "env:NOT_SET_1"}),)
    )
    async with open_tools(made) as (tool,):
        result = await call_tool(tool)
    assert "X-Key" in result.error["message"]
    assert "NOT_SET_1" not in result.error["message"]
    assert "NOT_SET_1" in caplog.text
    assert api.requests == []


@pytest.mark.demand("plugins.credentials_never_logged_never")
def test_a_plain_secret_is_warned_of_without_being_shown(caplog: pytest.LogCaptureFixture) -> None:
    make_operation_tools(make_plugin(auth=(make_auth("header", {"X-Key": CANARY}),)), PluginPolicy())
    assert "X-Key" in caplog.text
    assert CANARY not in caplog.text


@pytest.mark.parametrize("field", ["credentials", "caller_headers"])
def test_a_credential_that_the_plugin_does_not_use_is_a_mistake(field: str) -> None:
    made = make_plugin(auth=(make_auth("header", {"X-Key": "env:A"}),))
    value: Any = {"X-Kee": Secret("env:A") if field == "credentials" else "X-User"}
    with pytest.raises(ConfigError, match="x-key"):
        make_operation_tools(made, replace(LOCAL_POLICY, **{field: value}))


@pytest.mark.demand("plugins.per_user_credentials_come")
async def test_each_callers_own_credential(api: RecordingApi) -> None:
    made = make_plugin(make_operation("GET", "/x", url=api.url), auth=(make_auth("header", {"Authorization": CANARY}),))
    async with open_tools(made, replace(LOCAL_POLICY, caller_headers={"Authorization": "X-Shop-Token"})) as (tool,):
        await call_tool(tool, headers={"x-shop-token": "Bearer alice"}, owner="alice")
        await call_tool(tool, headers={"x-shop-token": "Bearer bob"}, owner="bob")
        # The shared one is no substitute: it may be allowed more than this caller is.
        without = await call_tool(tool, owner="carol")
    assert [got.headers["authorization"] for got in api.requests] == ["Bearer alice", "Bearer bob"]
    assert "X-Shop-Token" in without.error["message"]


@pytest.mark.demand("plugins.credentials_never_logged_never")
async def test_credentials_are_blotted_out_of_whatever_comes_back(
    api: RecordingApi, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    kinds = (make_auth("header", {"Authorization": f"Bearer {CANARY}"}), make_auth("param", {"key": "per/cent-9 x"}))

    def echo(status: int) -> Any:
        def reply(got: RecordedRequest) -> Any:
            return make_json_response({"headers": got.headers, "line": got.raw_target, "query": got.query}, status)

        return reply

    api.replies = [echo(200), echo(400), echo(401)]
    async with open_tools(make_plugin(make_operation("POST", "/x", url=api.url), auth=kinds)) as (tool,):
        shown = [(await call_tool(tool)).result.text for _ in range(3)]
    # The server on the other side keeps a log too, and is told who calls.
    logged = [record.getMessage() for record in caplog.records if not record.name.startswith("uvicorn")]
    for text in (*shown, *logged):
        assert CANARY not in text
        assert "per/cent-9" not in text
        assert "per%2Fcent-9" not in text
    assert all("***" in text for text in shown)
    assert "header Authorization and param key" in shown[2]


async def test_a_refusal_names_the_credentials_to_check(api: RecordingApi) -> None:
    api.replies = [make_raw_response(status=403), make_raw_response(status=401)]
    one = make_operation("GET", "/x", url=api.url)
    async with open_tools(make_plugin(one, auth=(make_auth("cookie", {"SESSION": "s"}),))) as (tool,):
        assert "cookie SESSION" in (await call_tool(tool)).error["message"]
    async with open_tools(make_plugin(one)) as (tool,):
        assert "no credentials" in (await call_tool(tool)).error["message"]


# oidc


def answer_by_path(api: RecordingApi, *pairs: tuple[str, Any]) -> None:
    """The sign-in server and the API are one: answers by path."""
    given = dict(pairs)

    def reply(got: RecordedRequest) -> Any:
        found = given.get(got.path)
        return found(got) if callable(found) else make_json_response({"path": got.path})

    api.replies = [reply] * 50


def make_counting_token_reply(**more: Any) -> Any:
    numbers = iter(range(1, 100))
    return lambda got: make_json_response({"access_token": f"token-{next(numbers)}", **more})


def make_oidc_plugin(api: RecordingApi, **options: Any) -> Any:
    options = {"token_url": f"{api.url}/token", "client_id": "me", "client_secret": CANARY, **options}
    return make_plugin(make_operation("GET", "/x", url=api.url), auth=(make_auth("oidc", **options),))


@pytest.mark.demand("plugins.auth_header_param_query", "plugins.oidc_client_credentials_token")
async def test_client_credentials(api: RecordingApi) -> None:
    answer_by_path(api, ("/token", make_counting_token_reply(expires_in=3600)))
    async with open_tools(make_oidc_plugin(api, scope="read", audience="shop")) as (tool,):
        await call_tool(tool)
        await call_tool(tool, owner="another")
    asked, first, second = api.requests
    assert parse_qs(asked.body.decode()) == {
        "client_id": ["me"],
        "client_secret": [CANARY],
        "grant_type": ["client_credentials"],
        "scope": ["read"],
        "audience": ["shop"],
    }
    assert [got.headers["authorization"] for got in (first, second)] == ["Bearer token-1"] * 2


async def test_the_clients_secret_in_the_head(api: RecordingApi) -> None:
    answer_by_path(api, ("/token", make_counting_token_reply()))
    async with open_tools(make_oidc_plugin(api, client_auth="basic", client_secret="a b:c")) as (tool,):
        await call_tool(tool)
    assert api.requests[0].headers["authorization"] == "Basic bWU6YStiJTNBYw=="
    assert b"client_id" not in api.requests[0].body


@pytest.mark.demand("plugins.oidc_client_credentials_token")
async def test_the_originals_exchange_is_per_user(api: RecordingApi) -> None:
    def exchange(got: RecordedRequest) -> Any:
        return make_json_response(
            {"code": 200, "data": {"access_token": f"for-{json.loads(got.body)['access_token']}"}}
        )

    answer_by_path(api, ("/accounts/accesstoken", exchange))
    options = {"access_token_url": f"{api.url}/accounts/accesstoken", "token_expire_time": 1440}
    made = make_plugin(
        make_operation("GET", "/x", url=api.url),
        auth=(make_auth("oidc", {"access-token": ""}, domain="aops", client_id="me", **options),),
    )
    async with open_tools(made, replace(LOCAL_POLICY, caller_headers={"access_token": "X-Token"})) as (tool,):
        for user in ("alice", "bob", "alice"):
            await call_tool(tool, owner=user, headers={"x-token": f"Bearer {user}"})
        without = await call_tool(tool, owner="alice")
    calls = [got for got in api.requests if got.path == "/x"]
    assert [got.headers["access-token"] for got in calls] == ["for-alice", "for-bob", "for-alice"]
    exchanges = [json.loads(got.body) for got in api.requests if got.path != "/x"]
    assert exchanges == [{"client_id": "me", "access_token": user} for user in ("alice", "bob")]
    assert "X-Token" in without.error["message"]


async def test_an_exchange_that_nobody_configured_says_what_to_write(api: RecordingApi) -> None:
    made = make_plugin(
        make_operation("GET", "/x", url=api.url),
        auth=(make_auth("oidc", {"access-token": ""}, access_token_url=f"{api.url}/t"),),
    )
    async with open_tools(made) as (tool,):
        assert "user_headers = {access_token" in (await call_tool(tool)).error["message"]
    assert api.requests == []


@pytest.mark.demand("plugins.oidc_client_credentials_token")
async def test_token_exchange_by_rfc_8693(api: RecordingApi) -> None:
    answer_by_path(api, ("/token", make_counting_token_reply(expires_in="600")))
    made = make_oidc_plugin(api, grant="token_exchange", audience="shop")
    async with open_tools(made, replace(LOCAL_POLICY, caller_headers={"access_token": "X-Token"})) as (tool,):
        await call_tool(tool, headers={"x-token": "subject"})
    form = parse_qs(api.requests[0].body.decode())
    assert form["grant_type"] == ["urn:ietf:params:oauth:grant-type:token-exchange"]
    assert form["subject_token"] == ["subject"]
    assert form["subject_token_type"] == ["urn:ietf:params:oauth:token-type:access_token"]
    assert api.last_request.headers["authorization"] == "Bearer token-1"


@pytest.mark.demand("plugins.oidc_client_credentials_token")
async def test_a_token_that_is_not_taken_is_renewed_once(api: RecordingApi) -> None:
    def choosy(got: RecordedRequest) -> Any:
        return make_json_response({}, 401 if got.headers["authorization"] == "Bearer token-1" else 200)

    answer_by_path(api, ("/token", make_counting_token_reply()), ("/x", choosy))
    async with open_tools(make_oidc_plugin(api)) as (tool,):
        assert not (await call_tool(tool)).result.failed
    assert [got.path for got in api.requests] == ["/token", "/x", "/token", "/x"]
    answer_by_path(api, ("/token", make_counting_token_reply()), ("/x", lambda got: make_json_response({}, 401)))
    api.requests.clear()
    async with open_tools(make_oidc_plugin(api)) as (tool,):
        assert (await call_tool(tool)).error["code"] == "http_401"
    assert [got.path for got in api.requests] == ["/token", "/x", "/token", "/x"]


@pytest.mark.demand("plugins.oidc_client_credentials_token")
async def test_an_ended_token_is_refreshed_and_else_fetched_anew(
    api: RecordingApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    def grant(got: RecordedRequest) -> Any:
        kind = parse_qs(got.body.decode())["grant_type"][0]
        asked.append(kind)
        if kind == "refresh_token" and asked.count(kind) > 1:
            return make_json_response({"error": "used up"}, 400)
        return make_json_response({"access_token": f"t{len(asked)}", "refresh_token": "again", "expires_in": 100})

    asked: list[str] = []
    answer_by_path(api, ("/token", grant))
    now = [1000.0]
    monkeypatch.setattr("rightseat.plugins.http.credentials.monotonic", lambda: now[0])
    async with open_tools(make_oidc_plugin(api)) as (tool,):
        # A hundred seconds less a tenth: it ends before the server says so.
        for seconds in (0, 89, 2, 95):
            now[0] += seconds
            await call_tool(tool)
    assert asked == ["client_credentials", "refresh_token", "refresh_token", "client_credentials"]
    sent_tokens = [got.headers["authorization"] for got in api.requests if got.path == "/x"]
    assert sent_tokens == ["Bearer t1", "Bearer t1", "Bearer t2", "Bearer t4"]


@pytest.mark.demand("plugins.oidc_client_credentials_token")
async def test_many_calls_at_once_fetch_one_token(api: RecordingApi) -> None:
    answer_by_path(api, ("/token", make_counting_token_reply()))
    async with open_tools(make_oidc_plugin(api)) as (tool,):
        await asyncio.gather(*(call_tool(tool) for _ in range(10)))
    assert [got.path for got in api.requests].count("/token") == 1
    assert len(api.requests) == 11


@pytest.mark.parametrize(
    "reply",
    [
        lambda got: make_json_response({"error": f"bad secret {CANARY}"}, 400),
        lambda got: make_json_response({"no": "token"}),
        lambda got: make_raw_response("<html>", "text/html"),
        lambda got: make_raw_response(b"[" * 200_000, "application/json"),
        lambda got: make_json_response({"access_token": 7}),
        lambda got: make_raw_response(status=302, location="http://127.0.0.1:9/elsewhere"),
    ],
)
async def test_a_sign_in_server_that_gives_no_token(api: RecordingApi, reply: Any) -> None:
    answer_by_path(api, ("/token", reply))
    async with open_tools(make_oidc_plugin(api)) as (tool,):
        result = await call_tool(tool)
    assert CANARY not in result.result.text
    assert result.error["code"].startswith(("upstream_", "address_refused"))
    assert [got.path for got in api.requests] == ["/token"]


async def test_a_sign_in_server_at_a_private_address_is_allowed_as_any_other(api: RecordingApi) -> None:
    async with open_tools(make_oidc_plugin(api), PluginPolicy()) as (tool,):
        assert 'allow = ["127.0.0.1"]' in (await call_tool(tool)).error["message"]
    assert api.requests == []


def test_tokens_do_not_show_themselves() -> None:
    assert CANARY not in repr(AccessToken(CANARY, 1.0, CANARY))


async def test_tokens_of_many_users_are_bounded() -> None:
    tokens = TokenClient("shop", make_auth("oidc", token_url="https://a.example/t"), PluginPolicy(), lambda *_: "")
    for number in range(1100):
        tokens.slot_for(str(number))
    assert len(tokens.slots) == 1000
