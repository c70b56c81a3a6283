"""Starts the real server with the models that a client's cases need, and drives one client through them.

A client is one process: it reads `CASE MODE` lines and answers each with a JSON line (see the drive.* files).
Its arguments are the server's address, that of a second server with one model and no keys, options.json, and
the address of a third server that waits for no body: nothing but what never comes is too late there, and with
the others nothing is.

All of a client's cases run in one go, because starting a server, two upstreams and a client costs more than
the cases do; the tests then look at what was seen.
"""

import asyncio
import contextlib
import json
import os
import tempfile
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.kit.chunks import Json
from tests.kit.connection import Connection, ReceivedRequest
from tests.kit.connection_faults import send_head_only
from tests.kit.faults import send_endlessly
from tests.kit.server import RightseatProcess
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.upstream import FakeUpstream
from tests.peers.echo_upstream import EchoReply
from tests.peers.install import PEERS_FOLDER

HERE = Path(__file__).resolve().parent
SHORT_TIMEOUT_CONFIG = "[server]\nbody_timeout = 0.5\n"
CONFIG = """
[server]
keep_alive = 0.1
max_body_mb = 1

[auth.keys]
ada = "env:ADA_KEY"
bob = "env:BOB_KEY"

[models.script]
spec = "scripted:{script}"
[models.mirror]
spec = "openai:mirror"
base_url = "{mirror}"
[models.faulty]
spec = "openai:faulty"
base_url = "{faulty}"
tries = 1
[models.limping]
spec = "openai:limping"
base_url = "{mirror}"
tries = 1
[models.endless]
spec = "openai:endless"
base_url = "{endless}"
[models.plain]
spec = "openai:vendor/plain-1"
base_url = "{mirror}"
[models.slow]
spec = "openai:slow"
base_url = "{faulty}"
first_token_timeout = 0.3
tries = 1

[assistants.default]
model = "script"
tools = ["client_tools:TOOLS"]
[assistants.mirror]
model = "mirror"
system = "Be brief."
tools = ["client_tools:add"]
[assistants.faulty]
model = "faulty"
[assistants.limping]
model = "limping"
tools = ["client_tools:charge"]
[assistants.endless]
model = "endless"
"""


@dataclass(frozen=True, slots=True)
class ClientReport:
    """What one client saw of all cases, and what happened on the server meanwhile."""

    version: str
    cases: dict[str, Json]
    ledger: tuple[str, ...]
    console: str
    """What the client wrote to its user's console besides."""

    def get_turns(self, case: str, mode: str = "stream") -> list[Json]:
        turns: list[Json] = self.cases[f"{case} {mode}"]["turns"]
        return turns

    def count_bookings(self, words: str) -> int:
        """How often the tool with the side effect really ran with these words."""
        return sum(f" {words} " in f" {line} " for line in self.ledger)


def find_command(name: str) -> list[str]:
    home = PEERS_FOLDER / name
    # No two of them have one name: folders with a dash are no packages, so the type checker sees only names.
    for driver in (HERE / name).glob("drive*.py"):
        return [str(home / "bin" / "python"), str(driver)]
    # Node looks for packages beside the program, not where it was started.
    for program in (HERE / name).glob("*.mjs"):
        install_program(program, home / program.name)
    return ["node", str(home / "drive.mjs")]


def install_program(program: Path, target: Path) -> None:
    """Puts a program there in one go: another process may just be starting it."""
    code = program.read_bytes()
    if target.is_file() and target.read_bytes() == code:
        return
    with tempfile.NamedTemporaryFile(dir=target.parent, delete=False) as temporary:
        temporary.write(code)
    Path(temporary.name).replace(target)


async def run_client(name: str, cases: Iterable[str]) -> ClientReport:
    async with FakeUpstream() as echo, FakeUpstream() as faulty, FakeUpstream() as endless:
        echo.reply, endless.reply = EchoReply(), stream_or_hang
        config = CONFIG.format(
            script=HERE / "script.json", mirror=echo.base_url, faulty=faulty.base_url, endless=endless.base_url
        )
        env = {"ADA_KEY": "ada-key", "BOB_KEY": "bob-key", "PYTHONPATH": str(HERE)}
        model = f"scripted:{HERE / 'script.json'}"
        alone, hurried = RightseatProcess(model=model), RightseatProcess(model=model, config=SHORT_TIMEOUT_CONFIG)
        async with RightseatProcess(config=config, env=env) as server, alone, hurried:
            arguments = [*find_command(name), server.url, alone.url, str(HERE / "options.json"), hurried.url]
            async with start_client(arguments, server.folder / "notes") as client:
                version = (await client.read_reply("start"))["version"]
                seen = {case: await client.run_case(case, endless) for case in cases}
            ledger = server.folder / "ledger"
            lines = ledger.read_text("utf-8").splitlines() if ledger.exists() else []
            return ClientReport(version, seen, tuple(lines), client.console)


class ClientProcess:
    """The process of a real client: a line in, a line out."""

    def __init__(self, process: Process, console_file: Path, reply_timeout: float = HANG_TIMEOUT) -> None:
        self.process = process
        self.console_file = console_file
        self.reply_timeout = reply_timeout

    async def run_case(self, case: str, endless_upstream: FakeUpstream) -> Json:
        """One case. A client that leaves does so while its upstream is at it, and `closed` says whether that
        was then closed although the client lives on."""
        count = len(endless_upstream.requests) + 1
        await self.send_line(case)
        if not case.startswith("leave"):
            return await self.read_reply(case)
        await endless_upstream.wait_requests(count)
        await self.send_line("now")
        answer = await self.read_reply(case)
        try:
            await endless_upstream.wait_closed(count)
        except AssertionError:
            return {**answer, "closed": False}
        return {**answer, "closed": True}

    async def send_line(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n".encode())
        await self.process.stdin.drain()

    async def read_reply(self, case: str) -> Json:
        assert self.process.stdout is not None
        try:
            line = await asyncio.wait_for(self.process.stdout.readline(), self.reply_timeout)
        except TimeoutError:
            raise AssertionError(f"the client hangs in {case!r}\n{self.console}") from None
        assert line, f"the client died in {case!r}\n{self.console}"
        reply: Json = json.loads(line)
        return reply

    @property
    def console(self) -> str:
        return self.console_file.read_text("utf-8")

    async def stop(self) -> None:
        """The end of its input ends it; one that hangs in a case is killed."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            await asyncio.wait_for(self.process.wait(), HANG_TIMEOUT)
        except TimeoutError:
            self.process.kill()
            await self.process.wait()


@contextlib.asynccontextmanager
async def start_client(
    command: list[str],
    console_file: Path,
    *,
    variables: Mapping[str, str] | None = None,
    reply_timeout: float = HANG_TIMEOUT,
) -> AsyncIterator[ClientProcess]:
    env = {key: os.environ[key] for key in ("PATH", "LANG") if key in os.environ} | dict(variables or {})
    with console_file.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=PIPE, stderr=output, env=env, limit=1 << 20
        )
    client = ClientProcess(process, console_file, reply_timeout)
    try:
        yield client
    finally:
        await client.stop()


async def stream_or_hang(connection: Connection, request: ReceivedRequest) -> None:
    """Speaks for ever, or never: the client ends it."""
    reply = send_head_only() if request.last_user_text() == "wait" else send_endlessly(rate=50)
    await reply(connection, request)
