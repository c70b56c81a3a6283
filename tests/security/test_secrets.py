"""A canary in every slot that holds a secret, every fault at DEBUG: nobody ever sees one (row 28)."""

import asyncio

import pytest

from rightseat.config.secret import Secret
from tests.faults.protocols import PROTOCOLS
from tests.kit.answers import UpstreamReply, write_json
from tests.kit.catalogue import FAULTS, STATUSES
from tests.kit.chunks import encode_frame, make_error_body
from tests.kit.connection import Connection, ReceivedRequest
from tests.kit.framing import send_raw
from tests.security.conftest import (
    ALICE,
    BOB,
    CANARIES,
    COOKIE,
    QUERY,
    UPSTREAM_HEADER,
    UPSTREAM_KEY,
    UPSTREAM_QUERY,
    WRONG,
    Deployment,
)

pytestmark = [pytest.mark.io, pytest.mark.asyncio(loop_scope="session")]

CREDENTIAL_HEADERS = {"Authorization": f"Bearer {ALICE}", "Cookie": f"session={COOKIE}"}
FAULT_NAMES = [*STATUSES, *FAULTS, "silent"]


def format_headers(request: ReceivedRequest) -> str:
    """What a careless upstream says: everything that it was sent as a header."""
    return str(request.headers)


def fail_with_headers(status: int) -> UpstreamReply:
    async def reply(connection: Connection, request: ReceivedRequest) -> None:
        await write_json(connection, status, make_error_body(f"bad key: {format_headers(request)}", "invalid_api_key"))

    return reply


def fail_midway_with_headers() -> UpstreamReply:
    async def reply(connection: Connection, request: ReceivedRequest) -> None:
        await send_raw([encode_frame(make_error_body(f"bad key: {format_headers(request)}", "invalid_api_key"))])(
            connection, request
        )

    return reply


def find_canaries(deployment: Deployment, bodies: list[bytes]) -> list[str]:
    """Who saw which canary."""
    places = {"log": deployment.server.stderr, "stdout": deployment.server.stdout}
    places |= {f"answer {number}": body.decode("latin-1") for number, body in enumerate(bodies)}
    return [f"{canary} in {place}" for canary in CANARIES for place, text in places.items() if canary in text]


@pytest.mark.demand("engine.security_row_28_secret", "models.secrets_prompts_never_messages")
async def test_no_canary_is_seen_anywhere(deployment: Deployment) -> None:
    said: list[bytes] = []
    for fault in FAULT_NAMES:
        deployment.upstream.reply = None
        outcomes = await asyncio.gather(
            *(f(deployment.server.url, f"fault-{fault}", headers=CREDENTIAL_HEADERS) for f in PROTOCOLS)
        )
        said += [part for o in outcomes for part in (o.body, str(o.headers).encode())]
    for reply in (*map(fail_with_headers, (400, 401, 403, 429, 500)), fail_midway_with_headers()):
        deployment.upstream.reply = reply
        outcomes = await asyncio.gather(
            *(f(deployment.server.url, "hello", headers=CREDENTIAL_HEADERS) for f in PROTOCOLS)
        )
        said += [o.body for o in outcomes]
    carriers = (
        {"X-Api-Key": WRONG},
        {"Authorization": f"Bearer {WRONG}"},
        {"X-Api-Key": BOB + ALICE},
        CREDENTIAL_HEADERS,
    )
    for headers in carriers:
        for target in (f"/v1/models?key={QUERY}", f"/agui/default?api_key={QUERY}", f"/nothing?key={QUERY}"):
            head, body = await deployment.send_request("GET", target, headers)
            said += [body, str(head.headers).encode()]
    bad = b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\nX-Api-Key: " + WRONG.encode() + b"\r\nbroken\r\n\r\n"
    said.append((await deployment.send_raw(bad))[1])
    assert find_canaries(deployment, said) == []
    assert "Traceback" not in deployment.server.stderr
    await deployment.assert_works()


async def test_the_secrets_did_reach_the_upstream(deployment: Deployment) -> None:
    """Else the test above would be green for nothing."""
    await deployment.assert_works()
    last = deployment.upstream.requests[-1]
    assert last.headers["authorization"] == f"Bearer {UPSTREAM_KEY}"
    assert last.headers["x-upstream-secret"] == UPSTREAM_HEADER
    assert UPSTREAM_QUERY in last.target
    everything = f"{last.headers}{last.target}{last.body!r}"
    assert not [canary for canary in (ALICE, BOB, WRONG, COOKIE, QUERY) if canary in everything]


async def test_the_log_speaks_at_debug(deployment: Deployment) -> None:
    deployment.upstream.reply = fail_with_headers(401)
    await PROTOCOLS[1](deployment.server.url, "hello", headers=CREDENTIAL_HEADERS)
    assert "HTTP 401" in deployment.server.stderr
    assert "***" in deployment.server.stderr
    await deployment.assert_works()


async def test_a_key_in_the_address_of_an_upstream_is_masked_too(deployment: Deployment) -> None:
    async def reply(connection: Connection, request: ReceivedRequest) -> None:
        await write_json(connection, 400, make_error_body(f"bad request: {request.target}", "bad"))

    deployment.upstream.reply = reply
    before = len(deployment.server.stderr)
    outcomes = [await face(deployment.server.url, "hello", headers=CREDENTIAL_HEADERS) for face in PROTOCOLS]
    assert "HTTP 400" in deployment.server.stderr[before:]
    assert not [outcome for outcome in outcomes if UPSTREAM_QUERY.encode() in outcome.body]
    await deployment.assert_works()
    assert UPSTREAM_QUERY not in deployment.server.stderr[before:]


async def test_without_the_mask_it_goes_red(deployment: Deployment) -> None:
    assert ALICE not in f"{Secret(ALICE)!r} {Secret(ALICE)} {Secret(ALICE):>40}"
    assert f"{ALICE} in answer 0" in find_canaries(deployment, [Secret(ALICE).reveal().encode()])
