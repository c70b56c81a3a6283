"""Signed tokens: only the issuer's, for us, in time; and its keys are asked for no more than needed."""

import json
import time
from collections.abc import Callable
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

from rightseat.config.settings import JwtSettings
from rightseat.errors import Unauthorized, Unavailable
from rightseat.http.auth import Authenticator, JwtVerifier, fetch_jwks
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


async def test_unknown_key_ids_do_not_make_us_ask_the_issuer_each_time() -> None:
    issuer = FakeIssuer(format_jwks())
    tokens = JwtVerifier(POLICY, issuer)
    for number in range(20):
        assert await tokens(sign_token(kid=f"guess{number}")) is None
    assert issuer.requests == 1


async def test_an_issuer_that_is_down_is_said_and_later_does_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    issuer = FakeIssuer(OSError("down"), format_jwks(), OSError("down"))
    tokens = JwtVerifier(POLICY, issuer)
    with pytest.raises(Unavailable):
        await tokens(sign_token())
    tokens.fetched_at = float("-inf")
    assert await tokens(sign_token()) == Owner("jwt:ada")
    tokens.fetched_at = float("-inf")
    assert await tokens(sign_token()) == Owner("jwt:ada")
    assert issuer.requests == 3


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
