"""examples/copilotkit as a person would have it: the page bundled by its own command, the server started in
its folder, and in the place of the model one that a test tells what to say."""

import contextlib
import functools
import json
import shlex
import shutil
import subprocess
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.kit.patience import STUCK
from tests.kit.server import Server, executable
from tests.kit.upstream import Upstream
from tests.peers.browser import Tab
from tests.peers.install import PLACE
from tests.peers.need import require

EXAMPLE = Path(__file__).parents[2] / "examples" / "copilotkit"
CLIENT = "@copilotkit/react-core"
PEER = "copilotkit-react"
NODE_MODULES = PLACE / PEER / "node_modules"
SEND = '[data-testid="copilot-send-button"]'
KEYS = '\n[auth.keys]\nada = "env:ADA_KEY"\n'


@dataclass(frozen=True, slots=True)
class Desk:
    upstream: Upstream
    server: Server
    page: str
    """The page that speaks to the server."""
    locked: str
    """The same, where the server wants a key."""


def wanted() -> dict[str, str]:
    """The packages that the example is made of, with their versions."""
    package = json.loads((EXAMPLE / "package.json").read_text("utf-8"))
    return {**package["dependencies"], "esbuild": package["devDependencies"]["esbuild"]}


def linked(folder: Path) -> None:
    """Puts the example's packages into the folder, out of what the React clients' peer has installed: the
    same versions, and half a gigabyte less."""
    for name, version in wanted().items():
        places = (NODE_MODULES, *NODE_MODULES.glob("copilotkit-ui-*/node_modules"))
        found = next((place / name for place in places if version_of(place / name) == version), None)
        assert found is not None, f"{name} {version} is not in the lock of {PEER}"
        link = folder / "node_modules" / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(found)


def version_of(package: Path) -> str:
    try:
        found: str = json.loads((package / "package.json").read_text("utf-8"))["version"]
    except FileNotFoundError:
        return ""
    return found


def bundled(folder: Path) -> Path:
    """The folder with the page, made by the example's own command."""
    require(PEER)
    shutil.copytree(EXAMPLE, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("node_modules", "build"))
    linked(folder)
    scripts: dict[str, str] = json.loads((EXAMPLE / "package.json").read_text("utf-8"))["scripts"]
    program, *options = shlex.split(scripts["bundle"])
    program = str(folder / "node_modules" / program / "bin" / program)
    done = subprocess.run([program, *options, "--minify"], cwd=folder, capture_output=True, text=True, timeout=STUCK)
    assert done.returncode == 0, done.stderr[-2000:]
    return folder / "site"


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing: what matters is seen in the browser."""


@contextlib.asynccontextmanager
async def opened(site: Path) -> AsyncIterator[Desk]:
    """`site` is what `bundled` made."""
    index = (site / "index.html").read_text("utf-8")
    async with Upstream() as upstream, started(upstream) as server, started(upstream, KEYS) as locked:
        for name, url in (("desk.html", server.url), ("locked.html", locked.url)):
            (site / name).write_text(index.replace("http://127.0.0.1:7777", url), "utf-8")
        with served(site) as page:
            yield Desk(upstream, server, f"{page}/desk.html", f"{page}/locked.html")


@contextlib.asynccontextmanager
async def started(upstream: Upstream, more: str = "") -> AsyncIterator[Server]:
    env = {"RIGHTSEAT_MODEL": "openai:desk", "OPENAI_API_KEY": "unused", "OPENAI_BASE_URL": upstream.url}
    server = Server(command=[executable(), "serve", "--port", "0"], env={**env, "ADA_KEY": "ada-key"})
    for name in ("rightseat.toml", "shop.py"):
        shutil.copy(EXAMPLE / name, server.folder)
    with (server.folder / "rightseat.toml").open("a", encoding="utf-8") as config:
        config.write(more)
    async with server:
        yield server


async def ask(tab: Tab, text: str) -> None:
    # While a run is going on, the same button stops it; with nothing to send or to stop it is off.
    await tab.see(f"{SEND}:disabled")
    await tab.write('[data-testid="copilot-chat-textarea"]', text)
    await tab.click(SEND)
