"""Fetching over real sockets; a sink stands where nothing may arrive."""

import asyncio
import ipaddress
import re
import ssl
import subprocess
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from rightseat.errors import AddressRefused, CallerError, UpstreamGarbled, UpstreamRefused, UpstreamTimeout
from rightseat.http.fetch import AddressRules, OutboundClient
from rightseat.http.fetch.exchange import FetchSession
from rightseat.http.fetch.target import Target, parse_target
from tests.kit.sinks import SinkServer
from tests.kit.timeouts import HANG_TIMEOUT
from tests.unit.http.fetch.canned_server import CannedServer, format_redirect, format_response

pytestmark = pytest.mark.io

# 127.0.0.2 plays the public internet, 127.0.0.1 what must not be reached.
OUTSIDE = "127.0.0.2"
RULES = AddressRules(allow=[f"{OUTSIDE}/32"])
DAY = timedelta(days=1)
Resolve = Callable[[str, int], Awaitable[list[str]]]


def make_resolver(*addresses: list[str]) -> tuple[Resolve, list[str]]:
    """A resolver that gives these answers in turn, the last one for ever, and the names it was asked for."""
    hosts: list[str] = []

    async def resolve(host: str, port: int) -> list[str]:
        hosts.append(host)
        return addresses[min(len(hosts), len(addresses)) - 1]

    return resolve, hosts


async def test_an_answer_comes_with_its_type_and_name() -> None:
    made = format_response(
        b"a,b", "Content-Type: text/csv; charset=utf-8", 'Content-Disposition: x; filename="r/t.csv"'
    )
    async with CannedServer(OUTSIDE, {"/x?q=%2B": made}) as served, OutboundClient(RULES) as outbound:
        found = await outbound.fetch(f"{served.url}/x?q=%2B", headers={"X-Api-Key": "k"})
        assert (found.status, found.data, found.content_type) == (200, b"a,b", "text/csv; charset=utf-8")
        assert found.name == "t.csv"
        other = await outbound.fetch(f"{served.url}/folder/my%20file.pdf?x=/y")
        assert other.name == "my file.pdf"
    head = served.requests[0].lower()
    assert "x-api-key: k" in head
    assert "user-agent: rightseat\r\n" in head
    assert "cookie" not in head


async def test_a_status_is_the_callers_to_judge() -> None:
    async with (
        CannedServer(OUTSIDE, {"/": format_response(b"no", status="404 Not Found")}) as served,
        OutboundClient(RULES) as outbound,
    ):
        found = await outbound.fetch(served.url)
        assert (found.status, found.data) == (404, b"no")


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "localhost",
        "localhost.",
        "LOCALHOST",
        "ｌｏｃａｌｈｏｓｔ",
        "2130706433",
        "0x7f000001",
        "017700000001",
        "0177.0.0.1",
        "127.1",
        "0",
        "0.0.0.0",
        "127。0。0。1",
        "127.0.0.1.",
        "[::ffff:127.0.0.1]",
        "[::]",
        "[::1]",
        "[::1%25lo]",
        "x@127.0.0.1",
        "public.example@127.0.0.1",
        "public.example#@127.0.0.1",
    ],
)
async def test_no_spelling_of_this_machine_is_called(host: str) -> None:
    async with SinkServer() as sink, OutboundClient() as outbound:
        port = sink.url.rpartition(":")[2]
        # The part behind a # is no host: without a name for the rest nothing can be reached either.
        with pytest.raises((AddressRefused, UpstreamRefused)):
            await outbound.fetch(f"http://{host}:{port}/")
        sink.assert_unreached()


async def test_the_sink_can_be_reached_when_it_is_allowed() -> None:
    async with SinkServer() as sink, OutboundClient(AddressRules(allow=["127.0.0.0/8"])) as outbound:
        assert (await outbound.fetch(sink.url)).data == b"{}"
        assert len(sink.connections) == 1
    async with SinkServer() as sink, OutboundClient(AddressRules(allow=["localhost"])) as outbound:
        port = sink.url.rpartition(":")[2]
        assert (await outbound.fetch(f"http://localhost:{port}/")).status == 200
        with pytest.raises(AddressRefused):
            await outbound.fetch(sink.url)


async def test_a_name_that_leads_inside_is_refused() -> None:
    async with SinkServer() as sink:
        port = sink.url.rpartition(":")[2]
        for found in (["127.0.0.1"], ["8.8.8.8", "127.0.0.1"], ["::ffff:127.0.0.1"], ["fe80::1%lo"], ["rubbish"]):
            resolve, asked = make_resolver(found)
            async with OutboundClient(resolve=resolve) as outbound:
                with pytest.raises(AddressRefused, match="does not lead to a public address"):
                    await outbound.fetch(f"http://evil.example:{port}/")
            assert asked == ["evil.example"]
        sink.assert_unreached()


async def test_dns_is_asked_once_and_its_answer_is_the_one_that_is_called() -> None:
    async with CannedServer(OUTSIDE) as served, CannedServer("127.0.0.1") as inside:
        resolve, asked = make_resolver([OUTSIDE], ["127.0.0.1"])
        async with OutboundClient(RULES, resolve=resolve) as outbound:
            assert (await outbound.fetch(f"http://flips.example:{served.port}/")).data == b"ok"
            assert asked == ["flips.example"]
            with pytest.raises(AddressRefused):
                await outbound.fetch(f"http://flips.example:{inside.port}/")
        assert served.requests[0].startswith("GET / HTTP/1.1\r\n")
        assert f"Host: flips.example:{served.port}" in served.requests[0]
        assert inside.requests == []


async def test_a_redirect_asks_dns_again_and_checks_again() -> None:
    async with CannedServer(OUTSIDE) as served, SinkServer() as sink:
        resolve, asked = make_resolver([OUTSIDE], ["127.0.0.1"])
        port = sink.url.rpartition(":")[2]
        served.responses["/"] = format_redirect(f"http://flips.example:{port}/")
        async with OutboundClient(RULES, resolve=resolve) as outbound:
            with pytest.raises(AddressRefused):
                await outbound.fetch(f"http://flips.example:{served.port}/")
        assert len(asked) == 2
        sink.assert_unreached()


async def test_no_socket_is_made_for_a_refused_address_whatever_led_there() -> None:
    async with SinkServer() as sink:
        found = parse_target(sink.url)
        line = FetchSession(RULES, make_resolver([found.host])[0])
        try:
            with pytest.raises(AddressRefused):
                await line.send(Target("http", found.host, found.port, found.url), "GET", {}, None, 100)
        finally:
            line.close()
        sink.assert_unreached()


@pytest.mark.parametrize("where", ["http://127.0.0.1:{port}/", "//127.0.0.1:{port}/", "http://localhost:{port}/x"])
@pytest.mark.parametrize("status", ["301 x", "302 x", "303 x", "307 x", "308 x"])
async def test_a_redirect_inside_is_not_followed(where: str, status: str) -> None:
    async with CannedServer(OUTSIDE) as served, SinkServer() as sink, OutboundClient(RULES) as outbound:
        served.responses["/"] = format_redirect(where.format(port=sink.url.rpartition(":")[2]), status)
        with pytest.raises(AddressRefused):
            await outbound.fetch(served.url, headers={"Authorization": "secret"})
        sink.assert_unreached()
        assert len(served.requests) == 1


async def test_another_origin_gets_no_credentials() -> None:
    headers = {"Authorization": "canary", "Cookie": "canary=1", "X-Api-Key": "canary", "Accept": "text/csv"}
    async with CannedServer(OUTSIDE) as first, CannedServer(OUTSIDE) as second, OutboundClient(RULES) as outbound:
        first.responses["/"] = format_redirect("/again")
        first.responses["/again"] = format_redirect(f"{second.url}/there")
        second.responses["/there"] = format_redirect(f"{first.url}/back")
        found = await outbound.fetch(first.url, headers=headers)
        assert found.url == f"{first.url}/back"
        start, again, back = first.requests
        assert start.count("canary") == again.count("canary") == 3
        assert "canary" not in second.requests[0] + back
        assert "Accept: text/csv" in second.requests[0]
        with pytest.raises(AddressRefused, match="redirects this request"):
            await outbound.fetch(first.url, headers=headers, same_origin=True)
        assert len(second.requests) == 1


@pytest.mark.parametrize(("status", "method"), [("303 x", "GET"), ("302 x", "GET"), ("307 x", "POST")])
async def test_a_body_follows_as_the_status_says_but_never_to_strangers(status: str, method: str) -> None:
    async with CannedServer(OUTSIDE) as first, CannedServer(OUTSIDE) as second, OutboundClient(RULES) as outbound:
        first.responses |= {"/": format_redirect("/next", status), "/away": format_redirect(second.url, status)}
        await outbound.fetch(first.url, method="POST", body=b"canary", headers={"Content-Type": "text/plain"})
        assert first.requests[1].startswith(f"{method} /next")
        assert ("canary" in first.requests[1]) == ("text/plain" in first.requests[1]) == (method == "POST")
        if method == "POST":
            with pytest.raises(AddressRefused):
                await outbound.fetch(f"{first.url}/away", method="POST", body=b"canary")
            assert second.requests == []


async def test_redirects_end() -> None:
    async with CannedServer(OUTSIDE, {"/": format_redirect("/")}) as served, OutboundClient(RULES) as outbound:
        with pytest.raises(UpstreamGarbled, match="more than 5 times"):
            await outbound.fetch(served.url)
        assert len(served.requests) == 6


async def test_a_host_that_is_not_listed_is_not_even_looked_up() -> None:
    resolve, asked = make_resolver([OUTSIDE])
    async with (
        CannedServer(OUTSIDE) as served,
        OutboundClient(AddressRules(["good.example"], [f"{OUTSIDE}/32"]), resolve=resolve) as outbound,
    ):
        served.responses["/"] = format_redirect(f"http://bad.example:{served.port}/x")
        with pytest.raises(AddressRefused, match="not on the list"):
            await outbound.fetch(f"http://good.example:{served.port}/")
        assert asked == ["good.example"]


async def test_an_answer_that_never_ends_is_given_up() -> None:
    slow = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort"
    async with CannedServer(OUTSIDE, {"/hangs": slow}) as served, OutboundClient(RULES, seconds=0.2) as outbound:
        async with asyncio.timeout(HANG_TIMEOUT):
            with pytest.raises(UpstreamTimeout, match=r"within 0\.2 s"):
                await outbound.fetch(f"{served.url}/hangs")


async def test_who_is_not_there_is_said() -> None:
    async def nobody(host: str, port: int) -> list[str]:
        raise OSError("no such name")

    async with CannedServer(OUTSIDE) as served:
        closed = served.url
    async with OutboundClient(RULES, resolve=nobody) as outbound:
        for url, name in ((closed, closed.removeprefix("http://")), ("http://nohost.example/", "nohost.example:80")):
            with pytest.raises(UpstreamRefused, match=re.escape(f"Host {name!r} cannot be reached.")):
                await outbound.fetch(url)


async def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with CannedServer(OUTSIDE) as served, SinkServer() as proxy, OutboundClient(RULES) as outbound:
        for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY", "https_proxy"):
            monkeypatch.setenv(name, proxy.url)
        assert (await outbound.fetch(served.url)).data == b"ok"
        proxy.assert_unreached()


async def test_cookies_are_not_kept() -> None:
    async with (
        CannedServer(OUTSIDE, {"/": format_response(b"", "Set-Cookie: a=b; Path=/")}) as served,
        OutboundClient(RULES) as out,
    ):
        await out.fetch(served.url)
        await out.fetch(served.url)
        assert "a=b" not in served.requests[1]


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "other"},
        {"content-length": "0"},
        {"Transfer-Encoding": "chunked"},
        {"X": "a\r\nY: b"},
        {"X": "a\nb"},
        {"X": "\x00"},
        {"X": "ü"},
        {"A B": "x"},
        {"": "x"},
        {"X\r\nY": "x"},
    ],
)
async def test_a_header_that_would_change_the_request_is_refused(headers: dict[str, str]) -> None:
    async with CannedServer(OUTSIDE) as served, OutboundClient(RULES) as outbound:
        # By name: the client below refuses line breaks too, and would hide that this check is gone.
        with pytest.raises(CallerError, match=r"^(Header .* cannot be sent|The value of header .* (has a|is not))"):
            await outbound.fetch(served.url, headers=headers)
        with pytest.raises(CallerError, match="is not an HTTP method"):
            await outbound.fetch(served.url, method="GET / HTTP/1.1\r\nX:")
        assert served.requests == []


@pytest.fixture
def self_signed_tls(tmp_path: Path) -> ssl.SSLContext:
    """A server's side of TLS with a certificate for OUTSIDE that only it has signed."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, OUTSIDE)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now, now + DAY)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(OUTSIDE))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    encoding = serialization.Encoding.PEM
    plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    file = tmp_path / "both.pem"
    file.write_bytes(key.private_bytes(encoding, *plain) + made.public_bytes(encoding))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context


async def test_a_certificate_that_nobody_signed_is_refused(self_signed_tls: ssl.SSLContext) -> None:
    async with CannedServer(OUTSIDE, tls=self_signed_tls) as served, OutboundClient(RULES) as outbound:
        with pytest.raises(UpstreamRefused, match="certificate"):
            await outbound.fetch(served.url, headers={"Authorization": "canary"})
        assert served.requests == []


async def test_head_brings_headers_and_waits_for_no_body() -> None:
    made = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"
    async with CannedServer(OUTSIDE, {"/hangs": made}) as served, OutboundClient(RULES) as outbound:
        found = await outbound.fetch(f"{served.url}/hangs", method="HEAD")
    assert (found.status, found.data, found.headers["content-length"]) == (200, b"", "10")
    assert "content-length" not in served.requests[0].lower()


async def test_a_redirect_with_bare_utf8_is_followed() -> None:
    async with CannedServer(OUTSIDE, {"/": format_redirect("/caf\u00e9")}) as served, OutboundClient(RULES) as outbound:
        assert (await outbound.fetch(served.url)).url == f"{served.url}/caf%C3%A9"


async def test_a_kept_connection_that_the_server_closes_costs_no_answer() -> None:
    heads: list[bytes] = []

    async def close_on_second(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        await reader.read(1)
        writer.close()

    listener = await asyncio.start_server(close_on_second, OUTSIDE, 0)
    url = f"http://{OUTSIDE}:{listener.sockets[0].getsockname()[1]}/"
    async with OutboundClient(RULES) as outbound:
        for _ in range(2):
            assert (await outbound.fetch(url)).data == b"ok"
        with pytest.raises(UpstreamGarbled):
            await outbound.fetch(url, method="POST", body=b"x")
    listener.close()
    assert len(heads) == 2


def test_importing_it_does_not_import_the_client() -> None:
    code = "import rightseat.http.fetch, sys; sys.exit('httptools' in sys.modules or 'yarl' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


async def test_an_address_is_not_looked_up() -> None:
    async def lookup(host: str, port: int) -> list[str]:
        raise OSError("a machine without IPv4 finds no IPv4 address")

    rules = AddressRules(allow=["127.0.0.0/8"])
    async with SinkServer() as sink, OutboundClient(rules, resolve=lookup) as outbound:
        assert (await outbound.fetch(sink.url)).status == 200


def test_an_ipv6_address_stays_one() -> None:
    assert str(parse_target("http://[::1]:8080/x").url) == "http://[::1]:8080/x"
