"""Pages with CopilotKit's React packages before one real server: three generations of them, side by side.

The pages, and the person before them, are the programs in copilotkit-react. React is the same for all three,
and so are the pages: what differs is the client underneath, and with it the protocol.
"""

import asyncio
import contextlib
import hashlib
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from tests.kit.chunks import Json
from tests.kit.patience import STUCK
from tests.kit.server import Server
from tests.kit.upstream import Upstream
from tests.peers.install import PLACE, alone
from tests.peers.mirror import Mirror
from tests.peers.rig import CONFIG, HERE, Client, Seen, go_or_wait, started

PEER = "copilotkit-react"
GENERATIONS = ("1.10", "1.50", "newest")
LEAVING = ("leave", "leave_waiting", "leave_rejoined")
ONLY = {
    # The later ones send no instructions of the chat, and of the text area one generation is enough.
    "instructions": ("1.10",),
    "textarea": ("1.10",),
    # The first knows no runs that go on without it, and asks for no question again.
    "leave_rejoined": ("1.50", "newest"),
    "reload_asked": ("1.50", "newest"),
    "interrupt": ("newest",),
    # At 1.50 the button asks an agent of before the page knew its own, and nothing happens.
    "regenerated": ("1.10", "newest"),
}
"""Cases that not every generation has."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page of one generation, and what was seen on it."""

    generation: str
    version: str
    client: Client
    cases: dict[str, Json] = field(default_factory=dict)

    async def drive(self, cases: tuple[str, ...], leaving: Upstream) -> None:
        for case in cases:
            if self.generation in ONLY.get(case, GENERATIONS):
                self.cases[f"{case} stream"] = await self.client.drive(case, leaving)


async def see(cases: tuple[str, ...]) -> dict[str, Seen]:
    """What the person saw of all cases, by generation."""
    await bundle()
    async with Upstream() as mirror, Upstream() as faulty, Upstream() as leaving:
        mirror.reply, leaving.reply = Mirror(), go_or_wait
        script = HERE / PEER / "script.json"
        config = CONFIG.format(script=script, mirror=mirror.url, faulty=faulty.url, endless=leaving.url)
        env = {"ADA_KEY": "ada-key", "BOB_KEY": "bob-key", "PYTHONPATH": str(HERE)}
        async with Server(config=config, env=env) as server, contextlib.AsyncExitStack() as stack:
            pages = [await stack.enter_async_context(opened(name, server)) for name in GENERATIONS]
            await asyncio.gather(*(page.drive(cases, leaving) for page in pages))
            # One after another: the upstream that they leave is one.
            for page in pages:
                await page.drive(LEAVING, leaving)
            ledger = tuple((server.folder / "ledger").read_text("utf-8").splitlines())
            return {page.generation: Seen(page.version, page.cases, ledger, page.client.said) for page in pages}


@contextlib.asynccontextmanager
async def opened(generation: str, server: Server) -> AsyncIterator[Page]:
    line = ["node", str(HERE / PEER / "drive.mjs"), str(PLACE / PEER), generation, server.url]
    async with started(line, server.folder / f"notes-{generation}") as client:
        version = (await client.reply(f"the start of {generation}"))["version"]
        yield Page(generation, version, client)


async def bundle() -> None:
    """Bundles the pages, unless they stand there as their sources are."""
    sources = sorted(path for path in (HERE / PEER).iterdir() if path.is_file())
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
    stamp = PLACE / PEER / "built" / ".stamp"
    with alone(f"{PEER}-bundle"):
        if not stamp.is_file() or stamp.read_text("utf-8") != digest:
            await build()
            stamp.write_text(digest, "utf-8")


async def build() -> None:
    line = ("node", str(HERE / PEER / "bundle.mjs"), str(PLACE / PEER))
    process = await asyncio.create_subprocess_exec(*line, stdout=PIPE, stderr=STDOUT)
    try:
        said, _ = await asyncio.wait_for(process.communicate(), 5 * STUCK)
    except TimeoutError:
        process.kill()
        await process.wait()
        raise AssertionError("the bundler hangs") from None
    assert process.returncode == 0, said.decode()
