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
from tests.kit.server import RightseatProcess
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.upstream import FakeUpstream
from tests.peers.client_runner import CONFIG, HERE, ClientProcess, ClientReport, start_client, stream_or_hang
from tests.peers.echo_upstream import EchoReply
from tests.peers.install import PEERS_FOLDER, hold_lock

PEER = "copilotkit-react"
GENERATIONS = ("1.10", "1.50", "newest")
LEAVE_CASES = ("leave", "leave_waiting", "leave_rejoined")
GENERATIONS_OF_CASE = {
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
class ReactPage:
    """A page of one generation, and what was seen on it."""

    generation: str
    version: str
    client: ClientProcess
    cases: dict[str, Json] = field(default_factory=dict)

    async def run_cases(self, cases: tuple[str, ...], endless_upstream: FakeUpstream) -> None:
        for case in cases:
            if self.generation in GENERATIONS_OF_CASE.get(case, GENERATIONS):
                self.cases[f"{case} stream"] = await self.client.run_case(case, endless_upstream)


async def run_pages(cases: tuple[str, ...]) -> dict[str, ClientReport]:
    """What the person saw of all cases, by generation."""
    await bundle_pages()
    async with FakeUpstream() as echo, FakeUpstream() as faulty, FakeUpstream() as endless:
        echo.reply, endless.reply = EchoReply(), stream_or_hang
        script = HERE / PEER / "script.json"
        config = CONFIG.format(script=script, mirror=echo.base_url, faulty=faulty.base_url, endless=endless.base_url)
        env = {"ADA_KEY": "ada-key", "BOB_KEY": "bob-key", "PYTHONPATH": str(HERE)}
        async with RightseatProcess(config=config, env=env) as server, contextlib.AsyncExitStack() as stack:
            pages = [await stack.enter_async_context(open_page(name, server)) for name in GENERATIONS]
            await asyncio.gather(*(page.run_cases(cases, endless) for page in pages))
            # One after another: the upstream that they leave is one.
            for page in pages:
                await page.run_cases(LEAVE_CASES, endless)
            ledger = tuple((server.folder / "ledger").read_text("utf-8").splitlines())
            return {
                page.generation: ClientReport(page.version, page.cases, ledger, page.client.console) for page in pages
            }


@contextlib.asynccontextmanager
async def open_page(generation: str, server: RightseatProcess) -> AsyncIterator[ReactPage]:
    line = ["node", str(HERE / PEER / "drive.mjs"), str(PEERS_FOLDER / PEER), generation, server.url]
    async with start_client(line, server.folder / f"notes-{generation}") as client:
        version = (await client.read_reply(f"the start of {generation}"))["version"]
        yield ReactPage(generation, version, client)


async def bundle_pages() -> None:
    """Bundles the pages, unless they stand there as their sources are."""
    sources = sorted(path for path in (HERE / PEER).iterdir() if path.is_file())
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
    stamp = PEERS_FOLDER / PEER / "built" / ".stamp"
    with hold_lock(f"{PEER}-bundle"):
        if not stamp.is_file() or stamp.read_text("utf-8") != digest:
            await run_bundler()
            stamp.write_text(digest, "utf-8")


async def run_bundler() -> None:
    line = ("node", str(HERE / PEER / "bundle.mjs"), str(PEERS_FOLDER / PEER))
    process = await asyncio.create_subprocess_exec(*line, stdout=PIPE, stderr=STDOUT)
    try:
        output, _ = await asyncio.wait_for(process.communicate(), 5 * HANG_TIMEOUT)
    except TimeoutError:
        process.kill()
        await process.wait()
        raise AssertionError("the bundler hangs") from None
    assert process.returncode == 0, output.decode()
