"""Our server with the embedded model, asked by the official client, and the engine alone for comparison."""

import json
from asyncio.subprocess import PIPE, create_subprocess_exec
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from evals.weather.cases import SCHEMAS, Json, Question
from rightseat.models.llamacpp import weights
from rightseat.models.llamacpp.child import LaunchOptions
from rightseat.models.llamacpp.supervision import ManagedServer
from rightseat.types.schema import get_validator
from tests.kit.server import RightseatProcess
from tests.kit.timeouts import HANG_TIMEOUT
from tests.peers.install import PEERS_FOLDER, install

AskModel = Callable[[Json], Awaitable["ToolAnswer"]]
PYTHON = "openai-py"


@dataclass(frozen=True)
class ToolAnswer:
    """What a client's user has in hand."""

    content: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    finish: str | None = None
    error: str = ""

    @property
    def has_invalid_call(self) -> bool:
        """Calls that a program would carry out, and one of them does not satisfy its schema."""
        carried_out = self.finish not in ("length", None) or bool(self.error)
        return carried_out and not all(is_valid_call(*call) for call in self.calls)

    @property
    def has_valid_calls(self) -> bool:
        return bool(self.calls) and self.finish == "tool_calls" and not self.has_invalid_call

    def has_right_tool(self, question: Question) -> bool:
        return self.has_valid_calls and all(name == question.tool for name, _ in self.calls)

    def has_right_arguments(self, question: Question) -> bool:
        """The right tool with the right place and number of days."""
        if not self.has_right_tool(question):
            return False
        arguments = json.loads(self.calls[0][1])
        return question.place in arguments["location"] and question.days in (None, arguments.get("num_days"))


def is_valid_call(name: str, arguments: str) -> bool:
    try:
        return name not in SCHEMAS or get_validator(SCHEMAS[name]).find_problem(json.loads(arguments)) is None
    except ValueError:
        return False


@asynccontextmanager
async def serve_model(options: str = "") -> AsyncIterator[RightseatProcess]:
    """With the embedded model, and as it is without any options."""
    config = f'[models.default]\nspec = "local"\n{options}'
    env = {"RIGHTSEAT_CACHE": str(weights.cache_folder())}
    async with RightseatProcess(config=config, env=env, start_timeout=5 * HANG_TIMEOUT) as running:
        yield running


@asynccontextmanager
async def open_client(url: str) -> AsyncIterator[tuple[str, AskModel]]:
    """The official client's version, and what asks through it."""
    install(PYTHON)
    program = Path(__file__).with_name("client.py")
    process = await create_subprocess_exec(
        str(PEERS_FOLDER / PYTHON / "bin" / "python"), str(program), url, stdin=PIPE, stdout=PIPE, limit=1 << 22
    )
    assert process.stdin is not None
    assert process.stdout is not None
    stdin, stdout = process.stdin, process.stdout

    async def ask(request: Json) -> ToolAnswer:
        stdin.write(json.dumps(request).encode() + b"\n")
        await stdin.drain()
        answer = json.loads(await stdout.readline())
        return ToolAnswer(**{**answer, "calls": tuple((name, text) for name, text in answer.get("calls", ()))})

    try:
        yield json.loads(await stdout.readline())["version"], ask
    finally:
        stdin.close()
        await process.wait()


@asynccontextmanager
async def open_engine() -> AsyncIterator[AskModel]:
    """The engine's own chat endpoint, which is llama.cpp's."""
    engine = ManagedServer(LaunchOptions(weights.require_weights()))
    await engine.start()
    try:
        own = await engine.client()

        async def ask(request: Json) -> ToolAnswer:
            answer = await own._request_json("v1/chat/completions", request, Json)
            choice = answer["choices"][0]
            made = choice["message"].get("tool_calls") or ()
            calls = tuple((call["function"]["name"], call["function"]["arguments"]) for call in made)
            return ToolAnswer(choice["message"].get("content") or "", calls, choice["finish_reason"])

        yield ask
    finally:
        await engine.close()
