"""Our server with the embedded model, asked by the official client, and the engine alone for comparison."""

import json
from asyncio.subprocess import PIPE, create_subprocess_exec
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from evals.weather.cases import SCHEMAS, Json, Question
from rightseat.models.llamacpp import weights
from rightseat.models.llamacpp.process import LaunchOptions
from rightseat.models.llamacpp.servers import ManagedServer
from rightseat.types.schema import get_validator
from tests.kit.patience import STUCK
from tests.kit.server import Server
from tests.peers.install import PLACE, install

Ask = Callable[[Json], Awaitable["Seen"]]
PYTHON = "openai-py"


@dataclass(frozen=True)
class Seen:
    """What a client's user has in hand."""

    content: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    finish: str | None = None
    error: str = ""

    @property
    def broken(self) -> bool:
        """Calls that a program would carry out, and one of them does not satisfy its schema."""
        carried_out = self.finish not in ("length", None) or bool(self.error)
        return carried_out and not all(valid(*call) for call in self.calls)

    @property
    def called(self) -> bool:
        return bool(self.calls) and self.finish == "tool_calls" and not self.broken

    def right(self, question: Question) -> bool:
        return self.called and all(name == question.tool for name, _ in self.calls)

    def exact(self, question: Question) -> bool:
        """The right tool with the right place and number of days."""
        if not self.right(question):
            return False
        arguments = json.loads(self.calls[0][1])
        return question.place in arguments["location"] and question.days in (None, arguments.get("num_days"))


def valid(name: str, arguments: str) -> bool:
    try:
        return name not in SCHEMAS or get_validator(SCHEMAS[name]).find_problem(json.loads(arguments)) is None
    except ValueError:
        return False


@asynccontextmanager
async def server(options: str = "") -> AsyncIterator[Server]:
    """With the embedded model, and as it is without any options."""
    config = f'[models.default]\nspec = "local"\n{options}'
    env = {"RIGHTSEAT_CACHE": str(weights.cache_folder())}
    async with Server(config=config, env=env, patience=5 * STUCK) as running:
        yield running


@asynccontextmanager
async def client(url: str) -> AsyncIterator[tuple[str, Ask]]:
    """The official client's version, and what asks through it."""
    install(PYTHON)
    program = Path(__file__).with_name("client.py")
    process = await create_subprocess_exec(
        str(PLACE / PYTHON / "bin" / "python"), str(program), url, stdin=PIPE, stdout=PIPE, limit=1 << 22
    )
    assert process.stdin is not None
    assert process.stdout is not None
    stdin, stdout = process.stdin, process.stdout

    async def ask(request: Json) -> Seen:
        stdin.write(json.dumps(request).encode() + b"\n")
        await stdin.drain()
        answer = json.loads(await stdout.readline())
        return Seen(**{**answer, "calls": tuple((name, text) for name, text in answer.get("calls", ()))})

    try:
        yield json.loads(await stdout.readline())["version"], ask
    finally:
        stdin.close()
        await process.wait()


@asynccontextmanager
async def bare() -> AsyncIterator[Ask]:
    """The engine's own chat endpoint, which is llama.cpp's."""
    engine = ManagedServer(LaunchOptions(weights.require_weights()))
    await engine.start()
    try:
        own = await engine.client()

        async def ask(request: Json) -> Seen:
            answer = await own._request_json("v1/chat/completions", request, Json)
            choice = answer["choices"][0]
            made = choice["message"].get("tool_calls") or ()
            calls = tuple((call["function"]["name"], call["function"]["arguments"]) for call in made)
            return Seen(choice["message"].get("content") or "", calls, choice["finish_reason"])

        yield ask
    finally:
        await engine.close()
