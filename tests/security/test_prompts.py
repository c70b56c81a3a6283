"""What people ask, and the keys that come with it, in every error at DEBUG: neither logs nor incidents nor
refusals hold any of it, whatever hooks, tools and models do (row 28)."""

import logging
from collections.abc import AsyncIterator, Iterator
from typing import Any

import msgspec
import pytest

from rightseat import Runtime, errors, tool
from rightseat.cli.log import ConsoleFormatter, JsonFormatter
from rightseat.errors import RightseatError
from rightseat.middleware.hooks import HookRequest, Hooks
from rightseat.runtime.incidents import Incident
from rightseat.types.chunks import ModelChunk, TextChunk
from rightseat.types.model import Prompt
from rightseat.wiring.lookup import make_model
from tests.faults.protocols import PROTOCOLS, ProtocolClient
from tests.kit.answers import write_json
from tests.kit.app_server import FakeModel, ModelReply, reply_calls, reply_text, serve_runtime
from tests.kit.chunks import make_error_body
from tests.kit.connection import Connection, ReceivedRequest
from tests.kit.upstream import FakeUpstream

pytestmark = pytest.mark.io

PROMPT, HEADER, BEARER, COOKIE = "canary-prompt-1", "canary-header-2", "canary-bearer-3", "canary-cookie-4"
CANARIES = (PROMPT, HEADER, BEARER, COOKIE)
HEADERS = {"X-Secret": HEADER, "Authorization": f"Bearer {BEARER}", "Cookie": COOKIE}


class LogCapture(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []
        self.shows_foreign_text = False

    def emit(self, record: logging.LogRecord) -> None:
        self.lines += [
            kind(foreign_text=self.shows_foreign_text).format(record) for kind in (JsonFormatter, ConsoleFormatter)
        ]


@pytest.fixture
def log_capture() -> Iterator[LogCapture]:
    root, handler = logging.getLogger(), LogCapture()
    before = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield handler
    root.removeHandler(handler)
    root.setLevel(before)


def fail_after_texts(failure: RightseatError | None, *texts: str) -> ModelReply:
    """Without an error: somebody's code fails, and says what it was asked."""

    async def reply(prompt: Prompt) -> AsyncIterator[ModelChunk]:
        for text in texts:
            yield TextChunk(text)
        raise failure or ValueError(repr(prompt))

    return reply


def find_canaries(*places: str) -> list[str]:
    return [canary for canary in CANARIES for place in places if canary in place]


def raise_input(value: Any) -> None:
    raise ValueError(repr(value))


def make_error(kind: type[RightseatError]) -> RightseatError:
    return kind("Ours.", allow="POST") if issubclass(kind, errors.MethodNotAllowed) else kind("Ours.")


@pytest.mark.demand("models.secrets_prompts_never_messages")
@pytest.mark.parametrize("face", PROTOCOLS, ids=lambda face: face.name)
async def test_no_error_tells_what_was_asked(face: ProtocolClient, log_capture: LogCapture) -> None:
    heard: list[Incident] = []

    def listening(incident: Incident) -> None:
        heard.append(incident)
        raise_input(incident)

    kinds = list(errors.errors_by_code().values())
    scripts = [fail_after_texts(make_error(kind)) for kind in kinds] + [
        fail_after_texts(make_error(kinds[0]), "a"),
        fail_after_texts(None),
    ]
    hooks = Hooks(on_before_request=lambda asked: None, on_error=listening)
    bodies: list[str] = []
    async with serve_runtime(Runtime(model=FakeModel(*scripts), hooks=hooks)) as server:
        for _ in scripts:
            outcome = await face(server.url, PROMPT, headers=HEADERS)
            bodies.append(outcome.body.decode() + str(outcome.headers))
    assert len(heard) == len(scripts)
    assert {incident.code for incident in heard} == {kind.code for kind in kinds}
    told = [msgspec.json.encode(incident).decode() for incident in heard]
    assert find_canaries(*bodies, *log_capture.lines, *told) == []
    assert sum("the hook on_error failed" in line for line in log_capture.lines) == 2 * len(scripts)


@pytest.mark.demand("models.secrets_prompts_never_messages")
async def test_neither_do_hooks_and_tools_that_fail(log_capture: LogCapture) -> None:
    @tool
    def fail(text: str) -> str:
        """Fail."""
        raise ValueError(text)

    lines = FakeModel(reply_calls(("fail", f'{{"text": "{PROMPT}"}}')), reply_text("Sorry."))
    async with serve_runtime(Runtime(model=lines, tools=[fail], hooks=Hooks(on_after_request=raise_input))) as server:
        assert (await PROTOCOLS[0](server.url, PROMPT, headers=HEADERS)).finished
    told = "".join(log_capture.lines)
    assert "tool fail failed" in told
    assert "the hook on_after_request failed" in told
    assert find_canaries(told) == []


@pytest.mark.demand("models.secrets_prompts_never_messages")
async def test_neither_does_a_request_that_a_hook_refuses(log_capture: LogCapture) -> None:
    async def before(asked: HookRequest) -> None:
        raise LookupError(repr(asked))

    async with serve_runtime(Runtime(model=FakeModel(), hooks=Hooks(on_before_request=before))) as server:
        outcome = await PROTOCOLS[1](server.url, PROMPT, headers=HEADERS)
    assert outcome.failures == ["internal"]
    lines = "".join(log_capture.lines)
    assert "LookupError" in lines
    assert find_canaries(lines, outcome.body.decode()) == []


async def reply_echo(connection: Connection, request: ReceivedRequest) -> None:
    await write_json(connection, 400, make_error_body(f"cannot take {request.body!r} {request.headers}", "bad"))


@pytest.mark.demand("models.secrets_prompts_never_messages")
@pytest.mark.parametrize("words", [False, True])
async def test_neither_does_an_upstream_that_repeats_it(words: bool, log_capture: LogCapture) -> None:
    log_capture.shows_foreign_text = words
    async with FakeUpstream() as upstream:
        upstream.reply = reply_echo
        options = {"base_url": upstream.base_url, "api_key": BEARER, "tries": 1}
        async with serve_runtime(Runtime(model=make_model("openai:kit", options))) as server:
            outcome = await PROTOCOLS[0](server.url, PROMPT, headers=HEADERS)
    assert outcome.failures == ["upstream_rejected"]
    lines = "".join(log_capture.lines)
    assert "HTTP 400" in lines
    # The key is masked even then.
    assert find_canaries(lines) == ([PROMPT] if words else [])
    assert find_canaries(outcome.body.decode()) == []


async def test_with_words_it_goes_red(log_capture: LogCapture) -> None:
    """Else the tests above would be green for nothing."""
    log_capture.shows_foreign_text = True
    async with serve_runtime(Runtime(model=FakeModel(fail_after_texts(None)))) as server:
        await PROTOCOLS[0](server.url, PROMPT, headers=HEADERS)
    assert PROMPT in find_canaries(*log_capture.lines)
