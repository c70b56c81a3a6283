"""Hosts, origins and bodies, as tables."""

import asyncio
from typing import Any

import pytest

from rightseat.config.settings import ServerSettings
from rightseat.errors import CallerError, Forbidden, NotJson, RequestTimeout, TooLarge
from rightseat.http.reply import Message
from rightseat.http.security import RequestGuard, is_loopback, parse_host_header
from tests.kit.cases import each_case

JSON = {"content-type": "application/json"}


def make_guard(**settings: Any) -> RequestGuard:
    return RequestGuard(ServerSettings(**settings))


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST", "127.0.0.1", "127.9.9.9", "::1"])
def test_loopback(host: str) -> None:
    assert is_loopback(host)


@each_case("host", ["", "localhost.evil.com", "127.0.0.1.evil.com", "0.0.0.0", "10.0.0.1", "2130706433"])
def test_not_loopback(host: str) -> None:
    assert not is_loopback(host)


@each_case(
    ("value", "name"),
    [
        ("example.com", "example.com"),
        ("Example.COM:8080", "example.com"),
        ("[::1]:7777", "::1"),
        ("127.0.0.1", "127.0.0.1"),
        ("", None),
        ("a b", None),
        ("user@localhost", None),
        ("localhost:port", None),
        ("localhost:123456", None),
        ("localhost/evil", None),
        ("localhost\n", None),
        ("localhost, evil.com", None),
        ("[::1", None),
        ("::1", None),
    ],
)
def test_the_name_in_a_host(value: str, name: str | None) -> None:
    assert parse_host_header(value) == name


OWN_HOSTS = {"hosts": ("copilot.lan",), "public_url": "https://seat.example:8443/x"}


@each_case("host", ["localhost:7777", "127.0.0.1", "[::1]:7777", "copilot.lan", "COPILOT.lan:1", "seat.example:8443"])
def test_our_hosts(host: str) -> None:
    make_guard(**OWN_HOSTS).check_host([host])


@pytest.mark.parametrize("host", ["evil.com", "localhost.evil.com", "127.0.0.1.nip.io", "10.0.0.7", "lan"])
def test_foreign_hosts(host: str) -> None:
    with pytest.raises(Forbidden, match=r"\[server\] hosts"):
        make_guard(**OWN_HOSTS).check_host([host])


@pytest.mark.parametrize("values", [[], ["localhost", "localhost"], [""], ["local host"]])
def test_a_host_is_exactly_one(values: list[str]) -> None:
    with pytest.raises(CallerError, match="Host header") as caught:
        make_guard(hosts=("*",)).check_host(values)
    assert caught.value.status == 400


@pytest.mark.parametrize("settings", [{"host": "0.0.0.0"}, {"hosts": ("*",)}])
def test_beyond_loopback_any_host_is_taken(settings: dict[str, Any]) -> None:
    make_guard(**settings).check_host(["whatever.example"])


LISTED = {"cors": ("https://App.example/", "http://other.example:3000")}


@each_case(
    ("origin", "host", "credentials"),
    [
        ("http://localhost:3000", "localhost:7777", False),
        ("https://127.0.0.1", "localhost:7777", False),
        ("http://[::1]:5173", "localhost:7777", False),
        ("https://app.example", "localhost:7777", True),
        ("http://other.example:3000", "localhost:7777", True),
        ("http://seat.example:8443", "seat.example:8443", False),
    ],
)
def test_origins_that_may_call(origin: str, host: str, credentials: bool) -> None:
    allowed = dict(make_guard(**LISTED).check_origin({"origin": origin, "host": host, **JSON}, has_body=True))
    assert allowed[b"access-control-allow-origin"] == origin.encode()
    assert allowed[b"vary"] == b"Origin"
    assert (allowed.get(b"access-control-allow-credentials") == b"true") is credentials


@each_case(
    "origin",
    [
        "null",
        "",
        "https://evil.example",
        "http://other.example",
        "http://other.example:3001",
        "http://localhost.evil.com",
        "http://127.0.0.1@evil.com",
        "http://evil.com#@localhost",
        "http://localhost/path",
        "file://localhost",
        "chrome-extension://localhost",
        "https://app.example.evil.com",
    ],
)
def test_origins_that_may_not(origin: str) -> None:
    with pytest.raises(Forbidden, match=r"\[server\] cors"):
        make_guard(**LISTED).check_origin({"origin": origin, "host": "localhost:7777", **JSON}, has_body=False)


@pytest.mark.parametrize("origin", ["http://[::1", "http://]", "http://[x]"])
def test_an_origin_that_is_no_url_is_refused(origin: str) -> None:
    with pytest.raises(Forbidden):
        make_guard().check_origin({"origin": origin, "host": "localhost"}, has_body=False)


def test_without_an_origin_nothing_is_asked() -> None:
    assert make_guard().check_origin({"content-type": "text/plain"}, has_body=True) == ()


@each_case(
    ("media", "taken"),
    [
        ("application/json", True),
        ("Application/JSON; charset=utf-8", True),
        ("application/graphql+json", True),
        ("text/plain", False),
        ("", False),
        ("text/plain; application/json", False),
        ("application/x-www-form-urlencoded", False),
        ("multipart/form-data; boundary=+json", False),
    ],
)
def test_with_an_origin_a_body_must_be_json(media: str, taken: bool) -> None:
    headers = {"origin": "http://localhost", "content-type": media}
    if taken:
        assert make_guard().check_origin(headers, has_body=True)
    else:
        with pytest.raises(NotJson):
            make_guard().check_origin(headers, has_body=True)
        assert make_guard().check_origin(headers, has_body=False)


def test_a_preflight() -> None:
    asked = {
        "origin": "https://app.example",
        "access-control-request-headers": "authorization, content-type",
        "access-control-request-private-network": "true",
    }
    told = dict(make_guard(**LISTED).make_preflight_headers(asked))
    assert told[b"access-control-allow-headers"] == b"authorization, content-type"
    assert b"POST" in told[b"access-control-allow-methods"]
    assert told[b"access-control-allow-private-network"] == b"true"
    with pytest.raises(Forbidden):
        make_guard().make_preflight_headers(asked)
    assert make_guard().make_preflight_headers({}) == ()


def test_a_preflight_does_not_repeat_odd_names() -> None:
    asked = {"origin": "http://localhost", "access-control-request-headers": "x\r\nset-cookie: a=b"}
    assert dict(make_guard().make_preflight_headers(asked))[b"access-control-allow-headers"] == b""


class FakeReceiver:
    def __init__(self, *messages: Message, hang: bool = False) -> None:
        self.messages = list(messages)
        self.hang = hang

    async def receive(self) -> Message:
        if self.hang and not self.messages:
            await asyncio.Event().wait()
        return self.messages.pop(0)


def make_body_message(data: bytes, more_body: bool = True) -> Message:
    return {"type": "http.request", "body": data, "more_body": more_body}


async def test_a_body_in_pieces_up_to_the_limit() -> None:
    client = FakeReceiver(make_body_message(b"x" * 600), make_body_message(b"y" * 400, more_body=False))
    assert await make_guard(max_body_mb=0.001).read_body({}, client.receive) == b"x" * 600 + b"y" * 400


async def test_a_body_over_the_limit_is_refused_as_soon_as_it_is() -> None:
    client = FakeReceiver(
        make_body_message(b"x" * 600), make_body_message(b"y" * 401), make_body_message(b"", more_body=False)
    )
    with pytest.raises(TooLarge, match="1000 bytes"):
        await make_guard(max_body_mb=0.001).read_body({}, client.receive)
    assert len(client.messages) == 1


@pytest.mark.parametrize("length", ["1001", "9" * 400])
async def test_a_declared_length_over_the_limit_is_refused_unread(length: str) -> None:
    client = FakeReceiver(make_body_message(b""))
    with pytest.raises(TooLarge):
        await make_guard(max_body_mb=0.001).read_body({"content-length": length}, client.receive)
    assert len(client.messages) == 1


async def test_a_client_that_leaves_in_the_middle() -> None:
    client = FakeReceiver(make_body_message(b"half"), {"type": "http.disconnect"})
    assert await make_guard().read_body({}, client.receive) is None


async def test_a_body_that_never_comes() -> None:
    with pytest.raises(RequestTimeout, match=r"0\.02 s"):
        await make_guard(body_timeout=0.02).read_body({}, FakeReceiver(make_body_message(b"half"), hang=True).receive)


async def test_a_compressed_body_is_not_read() -> None:
    client = FakeReceiver(make_body_message(b"", more_body=False))
    with pytest.raises(CallerError, match="Content-Encoding"):
        await make_guard().read_body({"content-encoding": "gzip"}, client.receive)
    assert await make_guard().read_body({"content-encoding": "Identity"}, client.receive) == b""
