"""A canary in every slot that holds a secret, every fault at DEBUG: nobody ever sees one (row 28)."""

import asyncio

import pytest

from rightseat.config.secret import Secret
from tests.faults.faces import FACES
from tests.kit.answers import Reply, write_json
from tests.kit.catalogue import FAULTS, STATUSES
from tests.kit.chunks import error, frame
from tests.kit.connection import Connection, Received
from tests.kit.framing import raw
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
    Stage,
)

pytestmark = [pytest.mark.io, pytest.mark.asyncio(loop_scope="session")]

KEY = {"Authorization": f"Bearer {ALICE}", "Cookie": f"session={COOKIE}"}
WORDS = [*STATUSES, *FAULTS, "silent"]


def echoed(request: Received) -> str:
    """What a careless upstream says: everything that it was sent as a header."""
    return str(request.headers)


def tattling(status: int) -> Reply:
    async def reply(connection: Connection, request: Received) -> None:
        await write_json(connection, status, error(f"bad key: {echoed(request)}", "invalid_api_key"))

    return reply


def tattling_midway() -> Reply:
    async def reply(connection: Connection, request: Received) -> None:
        await raw([frame(error(f"bad key: {echoed(request)}", "invalid_api_key"))])(connection, request)

    return reply


def seen(stage: Stage, said: list[bytes]) -> list[str]:
    """Who saw which canary."""
    places = {"log": stage.server.stderr, "stdout": stage.server.stdout}
    places |= {f"answer {number}": body.decode("latin-1") for number, body in enumerate(said)}
    return [f"{canary} in {place}" for canary in CANARIES for place, text in places.items() if canary in text]


@pytest.mark.demand("engine.security_row_28_secret", "models.secrets_prompts_never_messages")
async def test_no_canary_is_seen_anywhere(stage: Stage) -> None:
    said: list[bytes] = []
    for fault in WORDS:
        stage.upstream.reply = None
        outcomes = await asyncio.gather(*(f(stage.server.url, f"fault-{fault}", headers=KEY) for f in FACES))
        said += [part for o in outcomes for part in (o.body, str(o.headers).encode())]
    for reply in (*map(tattling, (400, 401, 403, 429, 500)), tattling_midway()):
        stage.upstream.reply = reply
        outcomes = await asyncio.gather(*(f(stage.server.url, "hello", headers=KEY) for f in FACES))
        said += [o.body for o in outcomes]
    carriers = ({"X-Api-Key": WRONG}, {"Authorization": f"Bearer {WRONG}"}, {"X-Api-Key": BOB + ALICE}, KEY)
    for headers in carriers:
        for target in (f"/v1/models?key={QUERY}", f"/agui/default?api_key={QUERY}", f"/nothing?key={QUERY}"):
            head, body = await stage.ask("GET", target, headers)
            said += [body, str(head.headers).encode()]
    bad = b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\nX-Api-Key: " + WRONG.encode() + b"\r\nbroken\r\n\r\n"
    said.append((await stage.raw(bad))[1])
    assert seen(stage, said) == []
    assert "Traceback" not in stage.server.stderr
    await stage.works()


async def test_the_secrets_did_reach_the_upstream(stage: Stage) -> None:
    """Else the test above would be green for nothing."""
    await stage.works()
    last = stage.upstream.requests[-1]
    assert last.headers["authorization"] == f"Bearer {UPSTREAM_KEY}"
    assert last.headers["x-upstream-secret"] == UPSTREAM_HEADER
    assert UPSTREAM_QUERY in last.target
    everything = f"{last.headers}{last.target}{last.raw!r}"
    assert not [canary for canary in (ALICE, BOB, WRONG, COOKIE, QUERY) if canary in everything]


async def test_the_log_speaks_at_debug(stage: Stage) -> None:
    stage.upstream.reply = tattling(401)
    await FACES[1](stage.server.url, "hello", headers=KEY)
    assert "HTTP 401" in stage.server.stderr
    assert "***" in stage.server.stderr
    await stage.works()


async def test_a_key_in_the_address_of_an_upstream_is_masked_too(stage: Stage) -> None:
    async def reply(connection: Connection, request: Received) -> None:
        await write_json(connection, 400, error(f"bad request: {request.target}", "bad"))

    stage.upstream.reply = reply
    before = len(stage.server.stderr)
    outcomes = [await face(stage.server.url, "hello", headers=KEY) for face in FACES]
    assert "HTTP 400" in stage.server.stderr[before:]
    assert not [outcome for outcome in outcomes if UPSTREAM_QUERY.encode() in outcome.body]
    await stage.works()
    assert UPSTREAM_QUERY not in stage.server.stderr[before:]


async def test_without_the_mask_it_goes_red(stage: Stage) -> None:
    assert ALICE not in f"{Secret(ALICE)!r} {Secret(ALICE)} {Secret(ALICE):>40}"
    assert f"{ALICE} in answer 0" in seen(stage, [Secret(ALICE).reveal().encode()])
