"""The app of docs/copilotkit.md as it is printed there: the configuration, the tools, and one React file for each
generation of CopilotKit, compiled and bundled by the printed command."""

import contextlib
import re
import shlex
import subprocess
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from tests.kit.server import RightseatProcess
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.upstream import FakeUpstream
from tests.peers.copilotkit_example import EXAMPLE, NODE_MODULES, link_packages, serve_files, serve_folder

PAGE = Path(__file__).parents[2] / "docs" / "copilotkit.md"
PRINTED_URL = "http://127.0.0.1:7777"
SOURCE = "desk.tsx"
# What only the type check needs, beside what the page tells to install.
TYPE_PACKAGES = {"@types/react": "19", "@types/react-dom": "19"}


@dataclass(frozen=True, slots=True)
class ChatParts:
    """Where the parts of a chat are on the pages of one generation."""

    version: str
    textarea: str
    ready_button: str
    """The button that sends, while no run is going on."""
    assistant_message: str
    user_message: str
    suggestion: str


CHATS = (
    ChatParts(
        "1.10.6",
        ".copilotKitInput textarea",
        "[data-test-id=copilot-chat-ready]",
        ".copilotKitAssistantMessage",
        ".copilotKitUserMessage",
        "button.suggestion",
    ),
    ChatParts(
        "1.74.0",
        '[data-testid="copilot-chat-textarea"]',
        '[data-testid="copilot-send-button"]',
        '[data-testid="copilot-assistant-message"]',
        '[data-testid="copilot-user-message"]',
        '[data-testid="copilot-suggestion"]',
    ),
)


@dataclass(frozen=True, slots=True)
class PrintedSite:
    chat: ChatParts
    upstream: FakeUpstream
    server: RightseatProcess
    page_url: str


def find_block(kind: str, opening: str) -> str:
    """The one block of code of this kind that begins so."""
    blocks = re.findall(rf"^```{kind}\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    [block] = [block for block in blocks if block.startswith(opening)]
    return str(block)


def get_source(chat: ChatParts) -> str:
    # 1.74 stands for its patches.
    title = chat.version.removesuffix(".0")
    return find_block("tsx", f"// {SOURCE} for CopilotKit {title}\n")


def list_packages(chat: ChatParts) -> dict[str, str]:
    """The packages of the printed `npm install`, with their versions."""
    line = find_block("sh", f"npm install @copilotkit/react-core@{chat.version} ")
    return {name: version for name, _, version in (word.rpartition("@") for word in line.split()[2:]) if name}


def write_sources(folder: Path, chat: ChatParts, source: str) -> None:
    (folder / SOURCE).write_text(source, "utf-8")
    (folder / "index.html").write_text(find_block("html", "<!-- index.html -->"), "utf-8")
    link_packages(folder, {**list_packages(chat), **TYPE_PACKAGES})


def check_types(folder: Path) -> str:
    """What the compiler has to say of the React file, under the strict options of examples/copilotkit."""
    config = (EXAMPLE / "tsconfig.json").read_text("utf-8").replace('"src"', f'"{SOURCE}"')
    (folder / "tsconfig.json").write_text(config, "utf-8")
    done = run_node_program("typescript/bin/tsc", ["--noEmit"], folder)
    assert (done.returncode == 0) == (not done.stdout), done.stderr[-2000:]
    return done.stdout


def bundle_page(folder: Path) -> None:
    """Runs the printed command, but for the part that serves."""
    _, program, *options = shlex.split(find_block("sh", "npx esbuild "))
    options = [option for option in options if not option.startswith(("--serve=", "--servedir="))]
    done = run_node_program(f"{program}/bin/{program}", options, folder)
    assert done.returncode == 0, done.stderr[-2000:]


def run_node_program(program: str, options: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    line = [str(NODE_MODULES / program), *options]
    return subprocess.run(line, cwd=folder, capture_output=True, text=True, timeout=2 * HANG_TIMEOUT)


@contextlib.asynccontextmanager
async def open_site(folder: Path, chat: ChatParts) -> AsyncIterator[PrintedSite]:
    """The printed server and the bundled page in `folder`, which calls that server at its free port."""
    files = {
        "rightseat.toml": find_block("toml", "# rightseat.toml\n[assistants.default]"),
        "shop.py": find_block("python", "# shop.py\n"),
    }
    async with FakeUpstream() as upstream, serve_files(upstream, files) as server:
        program = folder / "desk.js"
        code = program.read_text("utf-8")
        assert code.count(PRINTED_URL) == 1
        program.write_text(code.replace(PRINTED_URL, server.url), "utf-8")
        with serve_folder(folder) as page_url:
            yield PrintedSite(chat, upstream, server, page_url)
