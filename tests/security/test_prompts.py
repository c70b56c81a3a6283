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
from rightseat.wiring.registry import make_model
from tests.faults.faces import FACES, Face
from tests.kit.answers import write_json
from tests.kit.chunks import error
from tests.kit.connection import Connection, Received
from tests.kit.house import Lines, Script, calls, house, says
from tests.kit.upstream import Upstream

pytestmark = pytest.mark.io

PROMPT, HEADER, BEARER, COOKIE = "canary-prompt-1", "canary-header-2", "canary-bearer-3", "canary-cookie-4"
CANARIES = (PROMPT, HEADER, BEARER, COOKIE)
HEADERS = {"X-Secret": HEADER, "Authorization": f"Bearer {BEARER}", "Cookie": COOKIE}


class Written(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []
        self.words = False

    def emit(self, record: logging.LogRecord) -> None:
        self.lines += [kind(foreign_text=self.words).format(record) for kind in (JsonFormatter, ConsoleFormatter)]


@pytest.fixture
def written() -> Iterator[Written]:
    root, handler = logging.getLogger(), Written()
    before = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield handler
    root.removeHandler(handler)
    root.setLevel(before)


def raising(failure: RightseatError | None, *texts: str) -> Script:
    """Without an error: somebody's code fails, and says what it was asked."""

    async def line(prompt: Prompt) -> AsyncIterator[ModelChunk]:
        for text in texts:
            yield TextChunk(text)
        raise failure or ValueError(repr(prompt))

    return line


def seen(*places: str) -> list[str]:
    return [canary for canary in CANARIES for place in places if canary in place]


def tattling(given: Any) -> None:
    raise ValueError(repr(given))


def made(kind: type[RightseatError]) -> RightseatError:
    return kind("Ours.", allow="POST") if issubclass(kind, errors.MethodNotAllowed) else kind("Ours.")


@pytest.mark.demand("models.secrets_prompts_never_messages")
@pytest.mark.parametrize("face", FACES, ids=lambda face: face.name)
async def test_no_error_tells_what_was_asked(face: Face, written: Written) -> None:
    heard: list[Incident] = []

    def listening(incident: Incident) -> None:
        heard.append(incident)
        tattling(incident)

    kinds = list(errors.errors_by_code().values())
    scripts = [raising(made(kind)) for kind in kinds] + [raising(made(kinds[0]), "a"), raising(None)]
    hooks = Hooks(on_before_request=lambda asked: None, on_error=listening)
    bodies: list[str] = []
    async with house(Runtime(model=Lines(*scripts), hooks=hooks)) as server:
        for _ in scripts:
            outcome = await face(server.url, PROMPT, headers=HEADERS)
            bodies.append(outcome.body.decode() + str(outcome.headers))
    assert len(heard) == len(scripts)
    assert {incident.code for incident in heard} == {kind.code for kind in kinds}
    told = [msgspec.json.encode(incident).decode() for incident in heard]
    assert seen(*bodies, *written.lines, *told) == []
    assert sum("the hook on_error failed" in line for line in written.lines) == 2 * len(scripts)


@pytest.mark.demand("models.secrets_prompts_never_messages")
async def test_neither_do_hooks_and_tools_that_fail(written: Written) -> None:
    @tool
    def fail(text: str) -> str:
        """Fail."""
        raise ValueError(text)

    lines = Lines(calls(("fail", f'{{"text": "{PROMPT}"}}')), says("Sorry."))
    async with house(Runtime(model=lines, tools=[fail], hooks=Hooks(on_after_request=tattling))) as server:
        assert (await FACES[0](server.url, PROMPT, headers=HEADERS)).finished
    told = "".join(written.lines)
    assert "tool fail failed" in told
    assert "the hook on_after_request failed" in told
    assert seen(told) == []


@pytest.mark.demand("models.secrets_prompts_never_messages")
async def test_neither_does_a_request_that_a_hook_refuses(written: Written) -> None:
    async def before(asked: HookRequest) -> None:
        raise LookupError(repr(asked))

    async with house(Runtime(model=Lines(), hooks=Hooks(on_before_request=before))) as server:
        outcome = await FACES[1](server.url, PROMPT, headers=HEADERS)
    assert outcome.failures == ["internal"]
    lines = "".join(written.lines)
    assert "LookupError" in lines
    assert seen(lines, outcome.body.decode()) == []


async def echoing(connection: Connection, request: Received) -> None:
    await write_json(connection, 400, error(f"cannot take {request.raw!r} {request.headers}", "bad"))


@pytest.mark.demand("models.secrets_prompts_never_messages")
@pytest.mark.parametrize("words", [False, True])
async def test_neither_does_an_upstream_that_repeats_it(words: bool, written: Written) -> None:
    written.words = words
    async with Upstream() as upstream:
        upstream.reply = echoing
        options = {"base_url": upstream.url, "api_key": BEARER, "tries": 1}
        async with house(Runtime(model=make_model("openai:kit", options))) as server:
            outcome = await FACES[0](server.url, PROMPT, headers=HEADERS)
    assert outcome.failures == ["upstream_rejected"]
    lines = "".join(written.lines)
    assert "HTTP 400" in lines
    # The key is masked even then.
    assert seen(lines) == ([PROMPT] if words else [])
    assert seen(outcome.body.decode()) == []


async def test_with_words_it_goes_red(written: Written) -> None:
    """Else the tests above would be green for nothing."""
    written.words = True
    async with house(Runtime(model=Lines(raising(None)))) as server:
        await FACES[0](server.url, PROMPT, headers=HEADERS)
    assert PROMPT in seen(*written.lines)
