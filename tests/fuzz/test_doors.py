"""Random and mutated requests at both doors: never a 5xx, never a hang, and the next request works."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.parsers.door_app import DoorApp, RequestBuildingModel
from tests.fuzz.valid_requests import (
    CHAT_PATH,
    RUN_PATH,
    VALID_CHAT,
    VALID_LEGACY_CHAT,
    VALID_OTHER_CHAT,
    VALID_RUN,
    list_paths,
    set_at,
)
from tests.kit.rounds import limit_rounds
from tests.security import asgi_client

pytestmark = pytest.mark.io

WORDS = "add look default user tool function yes {user} ^(a+)+$ #/ http://127.0.0.1:9/ file:///etc/passwd"
ODD_TEXTS = ["", "\0", "\r\n\r\n", "a" * 3000, "call_" + "0" * 32 + "_1"]
TEXTS = st.text(max_size=8) | st.sampled_from([*ODD_TEXTS, *WORDS.split()])
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(allow_nan=False, allow_infinity=False), TEXTS
)
FIELDS = """type text role content messages id name function arguments tool_calls toolCalls parameters
properties $ref pattern enum url source value mimeType resume payload interruptId status tool_call_id
toolCallId stream model tools tool_choice state"""
KEYS = st.sampled_from(FIELDS.split()) | TEXTS
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)


class FuzzTarget(DoorApp):
    """The doors, with what every answer must be."""

    def post(self, path: str, data: bytes, **headers: str) -> asgi_client.AsgiResponse:
        return self.send("POST", path, [(name.replace("_", "-"), value) for name, value in headers.items()], data)

    def assert_handled(self, path: str, data: bytes, **headers: str) -> None:
        answer = self.post(path, data, **headers)
        assert answer.status < 500, answer.body
        assert b'"code":"internal"' not in answer.body, answer.body
        self.assert_works()

    def assert_works(self) -> None:
        body = {"messages": [{"role": "user", "content": "add"}]}
        assert b"The sum is 3" in self.post(CHAT_PATH, json.dumps(body).encode()).body
        assert self.app.runtime.active_runs == 0


@pytest.fixture(scope="module")
def fuzz_target() -> Iterator[FuzzTarget]:
    fuzz_target = FuzzTarget()
    yield fuzz_target
    fuzz_target.close()


many_examples = settings(
    max_examples=limit_rounds(150), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
over_paths = pytest.mark.parametrize("path", [CHAT_PATH, RUN_PATH])


@st.composite
def mutate_value(draw: st.DrawFn, valid: dict[str, Any]) -> Any:
    value: Any = valid
    for _ in range(draw(st.integers(1, 3))):
        value = set_at(value, draw(st.sampled_from(list(list_paths(value)))), draw(VALUES))
    return value


@pytest.mark.demand("engine.random_mutated_json_both")
@over_paths
@many_examples
@given(value=VALUES)
def test_any_json(fuzz_target: FuzzTarget, path: str, value: Any) -> None:
    fuzz_target.assert_handled(path, json.dumps(value).encode("utf-8", "surrogatepass"))


@pytest.mark.demand("engine.random_mutated_json_both")
@over_paths
@many_examples
@given(data=st.data())
def test_a_valid_request_that_was_mutated(fuzz_target: FuzzTarget, path: str, data: st.DataObject) -> None:
    value = data.draw(mutate_value(VALID_CHAT if path == CHAT_PATH else VALID_RUN))
    fuzz_target.assert_handled(path, json.dumps(value).encode())


@pytest.mark.demand("openai.client_shapes")
@pytest.mark.parametrize("valid", [VALID_OTHER_CHAT, VALID_LEGACY_CHAT], ids=["other", "legacy"])
@many_examples
@given(data=st.data())
def test_other_shapes_that_were_mutated(fuzz_target: FuzzTarget, valid: dict[str, Any], data: st.DataObject) -> None:
    assert fuzz_target.post(CHAT_PATH, json.dumps(valid).encode()).status == 200
    fuzz_target.assert_handled(CHAT_PATH, json.dumps(data.draw(mutate_value(valid))).encode())


@over_paths
@many_examples
@given(cut=st.integers(0, 2000), junk=st.binary(max_size=6), length=st.integers(0, 8))
def test_a_valid_request_with_broken_bytes(
    fuzz_target: FuzzTarget, path: str, cut: int, junk: bytes, length: int
) -> None:
    whole = json.dumps(VALID_CHAT if path == CHAT_PATH else VALID_RUN).encode()
    at = cut % len(whole)
    fuzz_target.assert_handled(path, whole[:at] + junk + whole[at + length :])


@pytest.mark.demand("engine.random_mutated_json_both")
@over_paths
@many_examples
@given(schema=VALUES)
def test_any_schema_of_a_tool(fuzz_target: FuzzTarget, path: str, schema: Any) -> None:
    valid = VALID_CHAT if path == CHAT_PATH else VALID_RUN
    at = ("tools", 0, "function", "parameters") if path == CHAT_PATH else ("tools", 0, "parameters")
    fuzz_target.assert_handled(path, json.dumps(set_at(valid, at, schema)).encode())


@over_paths
@many_examples
@given(
    name=st.sampled_from(["x_thread_id", "x_request_id", "content_type", "origin", "content_encoding", "cookie"]),
    value=st.text(st.characters(max_codepoint=255), max_size=30),
)
def test_any_header(fuzz_target: FuzzTarget, path: str, name: str, value: str) -> None:
    valid = VALID_CHAT if path == CHAT_PATH else VALID_RUN
    fuzz_target.assert_handled(path, json.dumps(valid).encode(), **{name: value})


@many_examples
@given(agent=st.text(max_size=20))
def test_any_path(fuzz_target: FuzzTarget, agent: str) -> None:
    fuzz_target.assert_handled(f"/agui/{agent}".partition("?")[0], json.dumps(VALID_RUN).encode())


@over_paths
def test_the_valid_requests_are_valid(fuzz_target: FuzzTarget, path: str) -> None:
    answer = fuzz_target.post(path, json.dumps(VALID_CHAT if path == CHAT_PATH else VALID_RUN).encode())
    assert answer.status == 200
    assert (b"[DONE]" if path == CHAT_PATH else b"RUN_FINISHED") in answer.body


def test_a_crash_is_seen(fuzz_target: FuzzTarget, monkeypatch: pytest.MonkeyPatch) -> None:
    """What these tests would say if a door let an exception through, or a run failed inside."""

    def broken(*_: object) -> object:
        raise ZeroDivisionError

    monkeypatch.setattr("rightseat.doors.openai.routes.read_chat", broken)
    with pytest.raises(AssertionError, match="internal"):
        fuzz_target.assert_handled(CHAT_PATH, b"{}")
    monkeypatch.setattr(RequestBuildingModel, "stream", broken)
    with pytest.raises(AssertionError, match="internal"):
        fuzz_target.assert_handled(RUN_PATH, json.dumps(VALID_RUN).encode())
