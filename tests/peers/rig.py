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
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.kit.breaks import silent
from tests.kit.chunks import Json
from tests.kit.connection import Connection, Received
from tests.kit.faults import endless
from tests.kit.patience import STUCK
from tests.kit.server import Server
from tests.kit.upstream import Upstream
from tests.peers.install import PLACE
from tests.peers.mirror import Mirror

HERE = Path(__file__).resolve().parent
HURRIED = "[server]\nbody_timeout = 0.5\n"
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
tools = ["plant:TOOLS"]
[assistants.mirror]
model = "mirror"
system = "Be brief."
tools = ["plant:add"]
[assistants.faulty]
model = "faulty"
[assistants.limping]
model = "limping"
[assistants.endless]
model = "endless"
"""


@dataclass(frozen=True, slots=True)
class Seen:
    """What one client saw of all cases, and what happened on the server meanwhile."""

    version: str
    cases: dict[str, Json]
    ledger: tuple[str, ...]
    notes: str
    """What the client wrote to its user's console besides."""

    def turns(self, case: str, mode: str = "stream") -> list[Json]:
        found: list[Json] = self.cases[f"{case} {mode}"]["turns"]
        return found

    def booked(self, what: str) -> int:
        """How often the tool with the side effect really ran with these words."""
        return sum(f" {what} " in f" {line} " for line in self.ledger)


def command(name: str) -> list[str]:
    home = PLACE / name
    # No two of them have one name: folders with a dash are no packages, so the type checker sees only names.
    for driver in (HERE / name).glob("drive*.py"):
        return [str(home / "bin" / "python"), str(driver)]
    # Node looks for packages beside the program, not where it was started.
    for program in (HERE / name).glob("*.mjs"):
        put(program, home / program.name)
    return ["node", str(home / "drive.mjs")]


def put(program: Path, place: Path) -> None:
    """Puts a program there in one go: another process may just be starting it."""
    code = program.read_bytes()
    if place.is_file() and place.read_bytes() == code:
        return
    with tempfile.NamedTemporaryFile(dir=place.parent, delete=False) as made:
        made.write(code)
    Path(made.name).replace(place)


async def see(name: str, cases: Iterable[str]) -> Seen:
    async with Upstream() as mirror, Upstream() as faulty, Upstream() as leaving:
        mirror.reply, leaving.reply = Mirror(), go_or_wait
        config = CONFIG.format(script=HERE / "script.json", mirror=mirror.url, faulty=faulty.url, endless=leaving.url)
        env = {"ADA_KEY": "ada-key", "BOB_KEY": "bob-key", "PYTHONPATH": str(HERE)}
        model = f"scripted:{HERE / 'script.json'}"
        alone, hurried = Server(model=model), Server(model=model, config=HURRIED)
        async with Server(config=config, env=env) as server, alone, hurried:
            line = [*command(name), server.url, alone.url, str(HERE / "options.json"), hurried.url]
            async with started(line, server.folder / "notes") as client:
                version = (await client.reply("start"))["version"]
                seen = {case: await client.drive(case, leaving) for case in cases}
            ledger = server.folder / "ledger"
            lines = ledger.read_text("utf-8").splitlines() if ledger.exists() else []
            return Seen(version, seen, tuple(lines), client.said)


class Client:
    """The process of a real client: a line in, a line out."""

    def __init__(self, process: Process, notes: Path) -> None:
        self.process = process
        self.notes = notes

    async def drive(self, case: str, leaving: Upstream) -> Json:
        """One case. A client that leaves does so while its upstream is at it, and `closed` says whether that
        was then closed although the client lives on."""
        count = len(leaving.requests) + 1
        await self.tell(case)
        if not case.startswith("leave"):
            return await self.reply(case)
        await leaving.received(count)
        await self.tell("now")
        answer = await self.reply(case)
        try:
            await leaving.all_closed(count)
        except AssertionError:
            return {**answer, "closed": False}
        return {**answer, "closed": True}

    async def tell(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n".encode())
        await self.process.stdin.drain()

    async def reply(self, case: str) -> Json:
        assert self.process.stdout is not None
        try:
            line = await asyncio.wait_for(self.process.stdout.readline(), STUCK)
        except TimeoutError:
            raise AssertionError(f"the client hangs in {case!r}\n{self.said}") from None
        assert line, f"the client died in {case!r}\n{self.said}"
        found: Json = json.loads(line)
        return found

    @property
    def said(self) -> str:
        return self.notes.read_text("utf-8")

    async def stop(self) -> None:
        """The end of its input ends it; one that hangs in a case is killed."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            await asyncio.wait_for(self.process.wait(), STUCK)
        except TimeoutError:
            self.process.kill()
            await self.process.wait()


@contextlib.asynccontextmanager
async def started(line: list[str], notes: Path) -> AsyncIterator[Client]:
    kept = {key: os.environ[key] for key in ("PATH", "LANG") if key in os.environ}
    with notes.open("wb") as said:
        process = await asyncio.create_subprocess_exec(
            *line, stdin=PIPE, stdout=PIPE, stderr=said, env=kept, limit=1 << 20
        )
    client = Client(process, notes)
    try:
        yield client
    finally:
        await client.stop()


async def go_or_wait(connection: Connection, request: Received) -> None:
    """Speaks for ever, or never: the client ends it."""
    reply = silent() if request.last_user_text() == "wait" else endless(rate=50)
    await reply(connection, request)
