"""Which addresses count as public, and which URLs are read at all (rows 1 and 12)."""

import ipaddress

import pytest

from rightseat.errors import AddressRefused, ConfigError
from rightseat.http.fetch.rules import AddressRules, is_public
from rightseat.http.fetch.target import parse_target, resolve_redirect
from tests.kit.cases import each_case

NOT_PUBLIC = [
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "100.64.0.1",
    "100.100.100.200",
    "127.0.0.1",
    "127.255.255.254",
    "168.63.129.16",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.192",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::7f00:1",
    "::ffff:127.0.0.1",
    "::ffff:8.8.8.8",
    "64:ff9b::7f00:1",
    "64:ff9b:1::1",
    "100::1",
    "2001::1",
    "2001:db8::1",
    "2002:7f00:1::1",
    "3fff::1",
    "5f00::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%eth0",
    "2606:4700::1111%eth0",
    "fec0::1",
    "ff02::1",
]
PUBLIC = [
    "1.1.1.1",
    "8.8.8.8",
    "100.128.0.1",
    "172.15.0.1",
    "172.32.0.1",
    "193.0.0.1",
    "2606:4700::1111",
    "2a00:1450::1",
]


@each_case("address", NOT_PUBLIC)
def test_an_address_that_is_not_public_is_refused(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))
    with pytest.raises(AddressRefused) as caught:
        AddressRules().check_address("inside.example", address)
    assert address not in caught.value.message


@each_case("address", PUBLIC)
def test_a_public_address_is_fine(address: str) -> None:
    AddressRules().check_address("outside.example", address)
    AddressRules().check_host(address, 443)


def test_a_network_is_allowed_by_itself_only() -> None:
    rules = AddressRules(allow=["10.1.0.0/16"])
    rules.check_address("x", "10.1.2.3")
    for other in ("10.2.0.1", "127.0.0.1", "::ffff:10.1.2.3"):
        with pytest.raises(AddressRefused):
            rules.check_address("x", other)


def test_an_allowed_name_may_be_private_but_never_link_local() -> None:
    rules = AddressRules(allow=["Intranet.example."])
    rules.check_address("intranet.example", "10.0.0.1")
    for host, address in [("intranet.example", "169.254.169.254"), ("other.example", "10.0.0.1")]:
        with pytest.raises(AddressRefused):
            rules.check_address(host, address)


@each_case(
    ("host", "port", "fits"),
    [
        ("api.example", 443, True),
        ("API.example.", 8080, True),
        ("a.b.wide.example", 443, True),
        ("wide.example", 443, False),
        ("evilwide.example", 443, False),
        ("ported.example", 8443, True),
        ("ported.example", 443, False),
        ("api.example.evil.com", 443, False),
    ],
)
def test_a_list_of_hosts(host: str, port: int, fits: bool) -> None:
    rules = AddressRules(hosts=["api.example", "*.wide.example", "ported.example:8443"])
    if fits:
        rules.check_host(host, port)
    else:
        with pytest.raises(AddressRefused, match="not on the list"):
            rules.check_host(host, port)


def test_a_listed_private_address_is_still_private() -> None:
    with pytest.raises(AddressRefused, match="public address"):
        AddressRules(hosts=["127.0.0.1"]).check_host("127.0.0.1", 80)


def test_a_wrong_entry_is_said() -> None:
    with pytest.raises(ConfigError, match="neither a network"):
        AddressRules(allow=["10.0.0.0/99"])


BAD_URLS = [
    "",
    "x",
    "//host/x",
    "ftp://host/x",
    "file:///etc/passwd",
    "javascript:alert(1)",
    "gopher://host:70/x",
    "http://",
    "http:///x",
    "http://user@host/",
    "http://user:secret@host/",
    "http://public.example@127.0.0.1/",
    "http://host:99999/",
    "http://host:0/",
    "http://host:80:80/",
    "http://ho st/",
    "http://host\\@127.0.0.1/",
    "http://host/a b",
    "http://host/\r\nX: y",
    "http://host/\x00",
    "http://host/\ud800",
    "http://[fe80::1%25eth0]/",
    "http://[fe80::1%eth0]/",
    "http://[::1]evil.example/",
    "http://[::1/",
    "http://[x]/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0x7f.1/",
    "http://0177.0.0.1/",
    "http://127.1/",
    "http://127.0.1/",
    "http://0/",
    "http://127.0.0.1.1/",
    "http://127.0.0.08/",
    "http://exa%6dple.com/",
    "http://a..b/",
    "http://-/",
    "http://" + "a" * 9000,
    "http://" + "a." * 150 + "example/",
]


@each_case("url", BAD_URLS)
def test_a_url_of_two_readings_is_refused(url: str) -> None:
    with pytest.raises(AddressRefused) as caught:
        parse_target(url)
    assert caught.value.message.endswith(".")


@each_case(
    "url",
    [
        "http://127.0.0.1/",
        "http://127。0。0。1/",
        "http://①②⑦.0.0.1/",
        "http://１２７.0.0.1/",
        "http://127.0.0.1./",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[0:0:0:0:0:0:0:1]/",
        "http://[::ffff:7f00:1]/",
        "http://169.254.169.254/latest/meta-data",
    ],
)
def test_a_private_address_in_disguise_is_refused_by_its_name(url: str) -> None:
    found = parse_target(url)
    with pytest.raises(AddressRefused):
        AddressRules().check_host(found.host, found.port)


def test_a_url_goes_out_as_it_was_written() -> None:
    found = parse_target("https://Host.Example:8443/a%2Fb/%7Ex/../y?sig=%2B+%7E&x=a%20b#part")
    assert str(found.url) == "https://host.example:8443/a%2Fb/%7Ex/../y?sig=%2B+%7E&x=a%20b"
    assert found.origin == ("https", "host.example", 8443)
    assert str(parse_target("http://host/ü?q=ü").url) == "http://host/%C3%BC?q=%C3%BC"
    assert str(parse_target("http://host/{a}|b?c={d}").url) == "http://host/%7Ba%7D%7Cb?c=%7Bd%7D"
    assert parse_target("http://bücher.example/").host == "xn--bcher-kva.example"


def test_a_redirect_is_read_by_the_same_rules() -> None:
    here = parse_target("https://host.example/a/b?x=1")
    assert str(resolve_redirect(here, "../c").url) == "https://host.example/c"
    assert resolve_redirect(here, "//other.example/x").host == "other.example"
    with pytest.raises(AddressRefused):
        resolve_redirect(here, "file:///etc/passwd")
