"""Who asks: keys in both carriers, tokens, the word of a proxy."""

import pytest

from rightseat.config.secret import Secret
from rightseat.config.settings import AuthSettings
from rightseat.errors import Unauthorized
from rightseat.http.auth import LOCAL_OWNER, Authenticator, parse_credential
from rightseat.types.turn import Owner

KEYS = {"ann": Secret("key-of-ann"), "bob": Secret("key-of-bob")}
AUTHENTICATOR = Authenticator(AuthSettings(keys=KEYS))
ANN = Owner("key:ann")


async def test_without_any_rule_everyone_is_local() -> None:
    for authenticate in (Authenticator(), Authenticator(AuthSettings())):
        assert not authenticate.required
        assert await authenticate({"authorization": "Bearer whatever"}, "10.0.0.1") == LOCAL_OWNER


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": "Bearer key-of-ann"},
        {"authorization": "bearer   key-of-ann "},
        {"authorization": "key-of-ann"},
        {"x-api-key": "key-of-ann"},
        {"x-api-key": "Bearer key-of-ann"},
        {"authorization": "Bearer key-of-ann", "x-api-key": "key-of-ann"},
        {"authorization": "", "x-api-key": "key-of-ann"},
        {"authorization": "Bearer ", "x-api-key": "key-of-ann"},
    ],
)
async def test_a_key_in_either_carrier(headers: dict[str, str]) -> None:
    assert await AUTHENTICATOR(headers, "10.0.0.1") == ANN


@pytest.mark.parametrize(
    ("headers", "words"),
    [
        ({}, "needs a key"),
        ({"authorization": ""}, "needs a key"),
        ({"authorization": "Bearer"}, "needs a key"),
        ({"authorization": "Bearer wrong"}, "not known"),
        ({"authorization": "Basic key-of-ann"}, "not known"),
        ({"authorization": "Bearer key-of-an"}, "not known"),
        ({"authorization": "Bearer key-of-ann!"}, "not known"),
        ({"authorization": "Bearer KEY-OF-ANN"}, "not known"),
        ({"authorization": "Bearer \udcff"}, "not known"),
        ({"cookie": "key-of-ann"}, "needs a key"),
    ],
)
async def test_no_key_or_a_wrong_one(headers: dict[str, str], words: str) -> None:
    with pytest.raises(Unauthorized, match=words) as caught:
        await AUTHENTICATOR(headers, "127.0.0.1")
    assert caught.value.status == 401
    assert "X-Api-Key" in caught.value.message
    assert "key-of-ann" not in caught.value.message


@pytest.mark.parametrize("second", ["key-of-bob", "wrong"])
async def test_two_different_credentials_are_nobodys(second: str) -> None:
    for one, two in (("key-of-ann", second), (second, "key-of-ann")):
        with pytest.raises(Unauthorized):
            await AUTHENTICATOR({"authorization": f"Bearer {one}", "x-api-key": two}, None)


PROXY_SETTINGS = AuthSettings(proxy_header="X-Forwarded-User", proxy_addresses=("10.0.0.1",))


async def test_a_proxy_is_believed_only_from_its_address() -> None:
    authenticate = Authenticator(PROXY_SETTINGS)
    headers = {"x-forwarded-user": " ann "}
    assert await authenticate(headers, "10.0.0.1") == Owner("proxy:ann")
    for stranger in ("10.0.0.2", "127.0.0.1", "10.0.0.10", None):
        with pytest.raises(Unauthorized):
            await authenticate(headers, stranger)
    for nobody in ({}, {"x-forwarded-user": "  "}):
        with pytest.raises(Unauthorized):
            await authenticate(nobody, "10.0.0.1")


async def test_a_proxys_name_is_not_a_keys_name() -> None:
    both = Authenticator(AuthSettings(keys=KEYS, proxy_header="x-forwarded-user", proxy_addresses=("10.0.0.1",)))
    assert await both({"x-forwarded-user": "ann"}, "10.0.0.1") == Owner("proxy:ann")
    assert await both({"x-forwarded-user": "bob", "x-api-key": "key-of-ann"}, "10.0.0.2") == ANN
    assert await both({"x-api-key": "key-of-ann"}, "10.0.0.1") == ANN


async def test_tokens_come_after_keys() -> None:
    seen: list[str] = []

    async def tokens(value: str) -> Owner | None:
        seen.append(value)
        return Owner("jwt:carl") if value == "good.token.here" else None

    authenticate = Authenticator(AuthSettings(keys=KEYS), tokens)
    assert await authenticate({"authorization": "Bearer good.token.here"}, None) == Owner("jwt:carl")
    assert await authenticate({"authorization": "Bearer key-of-ann"}, None) == ANN
    with pytest.raises(Unauthorized):
        await authenticate({"authorization": "Bearer bad"}, None)
    assert seen == ["good.token.here", "bad"]
    assert Authenticator(None, tokens).required


async def test_a_key_beyond_ascii() -> None:
    authenticate = Authenticator(AuthSettings(keys={"ann": Secret("schlüssel")}))
    on_the_wire = "schlüssel".encode().decode("latin-1")
    assert await authenticate({"x-api-key": on_the_wire}, None) == ANN


@pytest.mark.parametrize(
    ("value", "found"), [("Bearer a b", "a b"), ("BEARER a", "a"), ("bearera", "bearera"), (" a ", "a"), ("", "")]
)
def test_the_scheme_decides_nothing(value: str, found: str) -> None:
    assert parse_credential(value) == found


async def test_a_credential_is_no_public_key() -> None:
    """What opens this server is handed to nobody; what a page has for CopilotKit's cloud is."""

    async def verify(token: str) -> Owner | None:
        return Owner("user:joe") if token == "token-of-joe" else None

    by_token = Authenticator(verify_token=verify)
    headers = {"x-copilotcloud-public-api-key": "token-of-joe"}
    assert by_token.find_public_key(headers, await by_token(headers, "10.0.0.1")) == ""
    headers = {"x-copilotcloud-public-api-key": "key-of-ann"}
    assert AUTHENTICATOR.find_public_key(headers, await AUTHENTICATOR(headers, "10.0.0.1")) == ""
    assert AUTHENTICATOR.find_public_key(headers, Owner("proxy:joe")) == ""
    headers = {"x-copilotcloud-public-api-key": "ck_pub_1"}
    assert AUTHENTICATOR.find_public_key(headers, Owner("proxy:joe")) == "ck_pub_1"
    assert Authenticator().find_public_key(headers, LOCAL_OWNER) == "ck_pub_1"
    for odd in ("", "x" * 300, "caf\xe9"):
        assert Authenticator().find_public_key({"x-copilotcloud-public-api-key": odd}, LOCAL_OWNER) == ""
