"""A Runtime behind its real HTTP server, in the test's own loop: sockets are real, models are the test's."""

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import uvicorn

from rightseat import fragments
from rightseat.app import App
from rightseat.auth import Authenticator
from rightseat.cli.protocol import Protocol
from rightseat.config import ServerSettings
from rightseat.fragments import Fragment
from rightseat.library import Runtime
from rightseat.prompt import Prompt
from rightseat.pump import Pace
from rightseat.registry import every

Script = Iterable[Fragment] | Callable[[Prompt], AsyncIterator[Fragment]]


class Lines:
    """A model that says the given lines, one per model call, and keeps what it was asked."""

    def __init__(self, *lines: Script) -> None:
        self.lines = list(lines)
        self.asked: list[Prompt] = []

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[Fragment]:
        self.asked.append(prompt)
        line = self.lines.pop(0)
        if callable(line):
            async for fragment in line(prompt):
                yield fragment
        else:
            for fragment in line:
                yield fragment


def says(*texts: str, finish: str = "stop") -> list[Fragment]:
    return [*(fragments.Text(text) for text in texts), fragments.Finish(finish)]  # type: ignore[arg-type]


def calls(*pairs: tuple[str, str], text: str = "", enforced: bool = False) -> list[Fragment]:
    """A model turn that calls tools: (name, arguments as JSON text) each."""
    made: list[Fragment] = [fragments.Text(text)] if text else []
    for index, (name, arguments) in enumerate(pairs):
        made += [fragments.CallName(index, name, enforced), fragments.CallArgs(index, arguments)]
    return [*made, fragments.Finish("calls")]


@dataclass(frozen=True, slots=True)
class House:
    url: str
    app: App


@asynccontextmanager
async def house(
    runtime: Runtime,
    settings: ServerSettings | None = None,
    authenticate: Authenticator | None = None,
    pace: Pace | None = None,
) -> AsyncIterator[House]:
    settings = settings or ServerSettings(port=0)
    app = App(runtime, settings, every("doors"), authenticate=authenticate, pace=pace or Pace())
    config = uvicorn.Config(
        app, port=0, log_config=None, access_log=False, ws="none", lifespan="off", http=Protocol
    )
    server = uvicorn.Server(config)
    config.load()
    server.lifespan = config.lifespan_class(config)
    await server.startup()
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield House(f"http://127.0.0.1:{port}", app)
    finally:
        await server.shutdown()
        await runtime.close()
