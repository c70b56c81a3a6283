"""Which headers go on to agents and tools."""

import pytest

from rightseat.config.secret import Secret
from rightseat.config.settings import AuthSettings
from rightseat.http.auth import Authenticator
from rightseat.http.forwarding import HeaderForwarding, merge_headers
from tests.kit.cases import each_case

SENT = {
    "authorization": "Bearer person",
    "x-tenant": "acme",
    "x-api-key": "theirs",
    "cookie": "session=1",
    "host": "example.com",
    "content-type": "application/json",
    "x-forwarded-for": "10.0.0.1",
    "x-forwarded-anything": "1",
    "x-real-ip": "10.0.0.1",
    "x-request-id": "1",
    "x-amzn-trace-id": "1",
    "x-amz-cf-id": "1",
    "x-vercel-id": "1",
    "x-copilotcloud-public-api-key": "ck_1",
}


@pytest.mark.demand("copilotkit.headers_forwarded_agents_allow")
def test_the_persons_own_go_on_and_the_ways_do_not() -> None:
    passed = HeaderForwarding().select_headers(SENT)
    assert passed == {"authorization": "Bearer person", "x-tenant": "acme", "x-api-key": "theirs"}


@pytest.mark.demand("copilotkit.headers_forwarded_agents_allow")
@each_case(
    ("allowed", "passed"),
    [
        ((), set()),
        (("",), set()),
        (("Cookie", "X-Tenant"), {"cookie", "x-tenant"}),
        (("x-t*",), {"x-tenant"}),
        # What is named is meant.
        (("x-real-ip", "x-f*"), {"x-real-ip"}),
        (("*",), {"authorization", "x-tenant", "x-api-key", "cookie", "host", "content-type"}),
    ],
)
def test_the_rule_is_the_operators(allowed: tuple[str, ...], passed: set[str]) -> None:
    assert set(HeaderForwarding(allowed).select_headers(SENT)) == passed


@pytest.mark.demand("copilotkit.headers_forwarded_agents_allow")
@pytest.mark.parametrize("carrier", ["authorization", "x-api-key", "x-copilotcloud-public-api-key"])
@pytest.mark.parametrize("scheme", ["Bearer ", "bearer  ", ""])
def test_a_key_of_ours_never_does(carrier: str, scheme: str) -> None:
    auth = Authenticator(AuthSettings(keys={"ada": Secret("canary")}, proxy_header="X-User"))
    headers = {carrier: f"{scheme}canary", "x-user": "ada", "x-tenant": "acme"}
    everything = HeaderForwarding(("*", carrier, "x-user"))
    assert everything.select_headers(headers, auth.list_credential_headers(headers)) == {"x-tenant": "acme"}
    other = {carrier: f"{scheme}not-ours"}
    assert everything.select_headers(other, auth.list_credential_headers(other)) == other


@pytest.mark.demand("copilotkit.headers_forwarded_agents_allow")
def test_what_the_server_sets_wins() -> None:
    ours = {"Authorization": "Bearer service", "X-Ours": "1"}
    theirs = {"authorization": "Bearer person", "x-tenant": "acme"}
    assert merge_headers(ours, theirs) == {"authorization": "Bearer service", "x-ours": "1", "x-tenant": "acme"}
