"""Signed tokens: only the issuer's, for us, in time; and its keys are asked for no more than needed."""

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any

import jwt
import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import HMACAlgorithm, RSAAlgorithm

from rightseat.config.settings import JwtSettings
from rightseat.errors import Unauthorized, Unavailable
from rightseat.http.auth import EXPIRE_SECONDS, REFRESH_SECONDS, RETRY_SECONDS, Authenticator, JwtVerifier, fetch_jwks
from rightseat.types.turn import Owner
from tests.kit.app_server import serve_app

POLICY = JwtSettings(issuer="https://issuer/", audience="rightseat", jwks="https://issuer/keys")
KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER = rsa.generate_private_key(public_exponent=65537, key_size=2048)


def format_jwks(key: rsa.RSAPrivateKey = KEY, key_id: str = "k1") -> bytes:
    listed = RSAAlgorithm.to_jwk(key.public_key(), as_dict=True) | {"kid": key_id, "use": "sig", "alg": "RS256"}
    return json.dumps({"keys": [listed]}).encode()


def sign_token(key: Any = KEY, algorithm: str = "RS256", kid: str = "k1", **claims_override: Any) -> str:
    claims = {"iss": "https://issuer/", "aud": "rightseat", "sub": "ada", "exp": time.time() + 60} | claims_override
    given = {name: value for name, value in claims.items() if value is not None}
    return jwt.encode(given, key, algorithm, headers={"kid": kid})


class FakeIssuer:
    def __init__(self, *answers: bytes | Exception) -> None:
        self.answers = list(answers)
        self.requests = 0

    async def __call__(self, url: str) -> bytes:
        assert url == POLICY.jwks
        self.requests += 1
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.mark.demand("engine.owners_named_key_jwt")
async def test_a_good_token_names_its_owner() -> None:
    issuer = FakeIssuer(format_jwks())
    tokens = JwtVerifier(POLICY, issuer)
    assert await tokens(sign_token()) == Owner("jwt:ada")
    assert await tokens(sign_token(sub="bob")) == Owner("jwt:bob")
    assert issuer.requests == 1


FORGED: dict[str, Callable[[], str]] = {
    "other key": lambda: sign_token(OTHER),
    "expired": lambda: sign_token(exp=time.time() - 1),
    "no expiry": lambda: sign_token(exp=None),
    "other audience": lambda: sign_token(aud="somebody"),
    "other issuer": lambda: sign_token(iss="https://evil/"),
    "no owner": lambda: sign_token(sub=None),
    "empty owner": lambda: sign_token(sub=""),
    "blank owner": lambda: sign_token(sub=" \t"),
    "unsigned": lambda: sign_token(None, "none"),
    "public key as secret": lambda: sign_token("x" * 64, "HS256"),
    "not a token": lambda: "abc",
    "unknown key id": lambda: sign_token(kid="k9"),
}


@pytest.mark.demand("engine.owners_named_key_jwt")
@pytest.mark.parametrize("kind", FORGED)
async def test_anything_else_names_nobody(kind: str) -> None:
    tokens = JwtVerifier(POLICY, FakeIssuer(format_jwks()))
    assert await tokens(FORGED[kind]()) is None
    with pytest.raises(Unauthorized):
        await Authenticator(None, tokens)({"authorization": f"Bearer {FORGED[kind]()}"}, None)


async def test_a_shared_secret_among_the_issuers_public_keys_signs_nothing() -> None:
    """Everybody can read the keys, so that a symmetric one of them would let everybody sign."""
    secret = "s" * 64
    listed = HMACAlgorithm.to_jwk(secret.encode(), as_dict=True) | {"kid": "k2", "use": "sig", "alg": "HS256"}
    keys = json.dumps({"keys": [*json.loads(format_jwks())["keys"], listed]}).encode()
    tokens = JwtVerifier(POLICY, FakeIssuer(keys))
    assert await tokens(sign_token()) == Owner("jwt:ada")
    assert await tokens(sign_token(secret, "HS256", "k2")) is None


async def test_unknown_key_ids_do_not_make_us_ask_the_issuer_each_time() -> None:
    issuer = FakeIssuer(format_jwks())
    tokens = JwtVerifier(POLICY, issuer)
    for number in range(20):
        assert await tokens(sign_token(kid=f"guess{number}")) is None
    assert issuer.requests == 1


async def test_an_issuer_that_is_down_is_said_and_later_does_no_harm() -> None:
    issuer = FakeIssuer(OSError("down"), format_jwks(), OSError("down"))
    tokens = JwtVerifier(POLICY, issuer)
    with pytest.raises(Unavailable):
        await tokens(sign_token())
    tokens.tried_at = float("-inf")
    assert await tokens(sign_token()) == Owner("jwt:ada")
    tokens.tried_at = float("-inf")
    assert await tokens(sign_token()) == Owner("jwt:ada")
    assert tokens.refreshing is not None
    await tokens.refreshing
    assert await tokens(sign_token()) == Owner("jwt:ada")
    assert issuer.requests == 3


@pytest.mark.demand("security.jwks_read_whole")
async def test_nobody_waits_for_a_refresh_of_known_keys() -> None:
    released = asyncio.Event()
    answers = [format_jwks(), format_jwks(OTHER, "k2")]

    async def fetch(url: str) -> bytes:
        if len(answers) == 1:
            await released.wait()
        return answers.pop(0)

    tokens = JwtVerifier(POLICY, fetch)
    assert await tokens(sign_token()) == Owner("jwt:ada")
    tokens.tried_at -= REFRESH_SECONDS + 1
    assert await tokens(sign_token()) == Owner("jwt:ada")
    assert await tokens(sign_token()) == Owner("jwt:ada")
    released.set()
    assert tokens.refreshing is not None
    await tokens.refreshing
    assert await tokens(sign_token(OTHER, kid="k2")) == Owner("jwt:ada")
    assert await tokens(sign_token()) is None


@pytest.mark.demand("security.jwks_read_whole")
async def test_keys_that_could_not_be_refreshed_for_a_day_are_dropped() -> None:
    tokens = JwtVerifier(POLICY, FakeIssuer(format_jwks(), OSError("down")))
    assert await tokens(sign_token()) == Owner("jwt:ada")
    tokens.tried_at = tokens.fetched_at = time.monotonic() - EXPIRE_SECONDS - 1
    with pytest.raises(Unavailable):
        await tokens(sign_token())


@pytest.mark.demand("security.jwks_read_whole")
async def test_keys_that_expire_during_a_refresh_that_fails_leave_no_error_behind() -> None:
    """A refresh in the background that nobody waits for: its caller is told, and the event loop logs nothing."""
    released = asyncio.Event()
    answers: list[bytes] = [format_jwks()]

    async def fetch(url: str) -> bytes:
        if answers:
            return answers.pop()
        await released.wait()
        raise OSError("down")

    tokens = JwtVerifier(POLICY, fetch)
    assert await tokens(sign_token()) == Owner("jwt:ada")
    tokens.tried_at -= REFRESH_SECONDS + 1
    assert await tokens(sign_token()) == Owner("jwt:ada")
    refreshing = tokens.refreshing
    assert refreshing is not None
    await asyncio.sleep(0)
    tokens.fetched_at -= EXPIRE_SECONDS
    assert await tokens(sign_token()) is None
    released.set()
    await asyncio.wait([refreshing])
    assert refreshing.exception() is None
    tokens.tried_at -= RETRY_SECONDS + 1
    with pytest.raises(Unavailable):
        await tokens(sign_token())


@pytest.mark.io
async def test_keys_come_over_http() -> None:
    async def issuer(scope: Any, receive: Any, send: Any) -> None:
        status = 200 if scope["path"] == "/keys" else 302
        headers = [(b"location", b"http://127.0.0.1:1/")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": format_jwks()})

    async with serve_app(issuer) as url:
        assert await fetch_jwks(f"{url}/keys") == format_jwks()
        with pytest.raises(OSError, match="302"):
            await fetch_jwks(f"{url}/elsewhere")
    with pytest.raises(ConnectionRefusedError):
        await fetch_jwks(f"{url}/keys")


@pytest.mark.io
@pytest.mark.demand("security.jwks_read_whole")
@pytest.mark.parametrize("size", [1, 7, 4000])
async def test_keys_that_arrive_in_pieces_are_read_to_the_end(size: int) -> None:
    keys = format_jwks() + b" " * 8000

    async def issuer(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for start in range(0, len(keys), size):
            await send({"type": "http.response.body", "body": keys[start : start + size], "more_body": True})
            await asyncio.sleep(0)
        await send({"type": "http.response.body"})

    async with serve_app(issuer) as url:
        tokens = JwtVerifier(msgspec.structs.replace(POLICY, jwks=f"{url}/keys"), fetch_jwks)
        assert await tokens(sign_token()) == Owner("jwt:ada")


@pytest.mark.io
@pytest.mark.demand("security.jwks_read_whole")
@pytest.mark.parametrize(("path", "reason"), [("/cut", "."), ("/large", "more than 1048576 bytes")])
async def test_keys_that_are_cut_or_too_large_are_not_used(path: str, reason: str) -> None:
    async def issuer(scope: Any, receive: Any, send: Any) -> None:
        length = [(b"content-length", b"100000")] if scope["path"] == "/cut" else []
        await send({"type": "http.response.start", "status": 200, "headers": length})
        await send({"type": "http.response.body", "body": format_jwks(), "more_body": True})
        for _ in range(40 if scope["path"] == "/large" else 0):
            await send({"type": "http.response.body", "body": b" " * 65536, "more_body": True})

    async with serve_app(issuer) as url:
        with pytest.raises(OSError, match=reason):
            await fetch_jwks(f"{url}{path}")
