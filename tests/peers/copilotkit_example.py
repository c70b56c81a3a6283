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

from tests.kit.server import RightseatProcess, find_executable
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.upstream import FakeUpstream
from tests.peers.browser import BrowserTab
from tests.peers.install import PEERS_FOLDER
from tests.peers.prerequisites import require

EXAMPLE = Path(__file__).parents[2] / "examples" / "copilotkit"
CLIENT_PACKAGE = "@copilotkit/react-core"
PEER = "copilotkit-react"
NODE_MODULES = PEERS_FOLDER / PEER / "node_modules"
SEND_BUTTON = '[data-testid="copilot-send-button"]'
KEYS_CONFIG = '\n[auth.keys]\nada = "env:ADA_KEY"\n'


@dataclass(frozen=True, slots=True)
class ExampleSite:
    upstream: FakeUpstream
    server: RightseatProcess
    page_url: str
    """The page that speaks to the server."""
    locked_page_url: str
    """The same, where the server wants a key."""


def list_packages() -> dict[str, str]:
    """The packages that the example is made of, with their versions."""
    package = json.loads((EXAMPLE / "package.json").read_text("utf-8"))
    return {**package["dependencies"], "esbuild": package["devDependencies"]["esbuild"]}


def link_packages(folder: Path, packages: dict[str, str]) -> None:
    """Puts the packages into the folder, out of what the React clients' peer has installed: the same versions,
    and half a gigabyte less."""
    for name, version in packages.items():
        link = folder / "node_modules" / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(find_package(name, version))


def find_package(name: str, version: str) -> Path:
    """The installed package of this version, or of one that begins so: `19` finds 19.3.1. Generations of
    react-ui are installed under names of their own."""
    places = (NODE_MODULES / name, *NODE_MODULES.glob(f"copilotkit-ui-*/node_modules/{name}"))
    if name == "@copilotkit/react-ui":
        places = tuple(NODE_MODULES.glob("copilotkit-ui-*"))
    package = next((place for place in places if f"{read_version(place)}.".startswith(f"{version}.")), None)
    assert package is not None, f"{name} {version} is not in the lock of {PEER}"
    return package


def read_version(package: Path) -> str:
    try:
        version: str = json.loads((package / "package.json").read_text("utf-8"))["version"]
    except FileNotFoundError:
        return ""
    return version


def bundle_page(folder: Path) -> Path:
    """The folder with the page, made by the example's own command."""
    require(PEER)
    shutil.copytree(EXAMPLE, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("node_modules", "build"))
    link_packages(folder, list_packages())
    scripts: dict[str, str] = json.loads((EXAMPLE / "package.json").read_text("utf-8"))["scripts"]
    program, *options = shlex.split(scripts["bundle"])
    program = str(folder / "node_modules" / program / "bin" / program)
    done = subprocess.run(
        [program, *options, "--minify"], cwd=folder, capture_output=True, text=True, timeout=HANG_TIMEOUT
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return folder / "site"


@contextlib.contextmanager
def serve_folder(folder: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(QuietHandler, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing: what matters is seen in the browser."""


@contextlib.asynccontextmanager
async def open_site(site: Path) -> AsyncIterator[ExampleSite]:
    """`site` is what `bundled` made."""
    index = (site / "index.html").read_text("utf-8")
    async with (
        FakeUpstream() as upstream,
        start_server(upstream) as server,
        start_server(upstream, KEYS_CONFIG) as locked,
    ):
        for name, url in (("desk.html", server.url), ("locked.html", locked.url)):
            (site / name).write_text(index.replace("http://127.0.0.1:7777", url), "utf-8")
        with serve_folder(site) as page:
            yield ExampleSite(upstream, server, f"{page}/desk.html", f"{page}/locked.html")


@contextlib.asynccontextmanager
async def start_server(upstream: FakeUpstream, extra_config: str = "") -> AsyncIterator[RightseatProcess]:
    files = {name: (EXAMPLE / name).read_text("utf-8") for name in ("rightseat.toml", "shop.py")}
    files["rightseat.toml"] += extra_config
    async with serve_files(upstream, files) as server:
        yield server


@contextlib.asynccontextmanager
async def serve_files(upstream: FakeUpstream, files: dict[str, str]) -> AsyncIterator[RightseatProcess]:
    """`rightseat serve` in a folder with these files; the upstream is the model."""
    env = {"RIGHTSEAT_MODEL": "openai:desk", "OPENAI_API_KEY": "unused", "OPENAI_BASE_URL": upstream.base_url}
    server = RightseatProcess(command=[find_executable(), "serve", "--port", "0"], env={**env, "ADA_KEY": "ada-key"})
    for name, content in files.items():
        (server.folder / name).write_text(content, "utf-8")
    async with server:
        yield server


async def send_message(tab: BrowserTab, text: str) -> None:
    # While a run is going on, the same button stops it; with nothing to send or to stop it is off.
    await tab.wait_visible(f"{SEND_BUTTON}:disabled")
    await tab.fill_text('[data-testid="copilot-chat-textarea"]', text)
    await tab.click(SEND_BUTTON)
