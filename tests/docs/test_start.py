"""README.md and docs/start.md, line by line: from a clone to a server with a plugin and a key."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.docs.lines import list_page_lines
from tests.docs.shell import PastingShell, on_posix
from tests.docs.test_docs import ROOT, find_blocks
from tests.kit import tiny_gguf
from tests.kit.answers import answer_tokens
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.upstream import FakeUpstream
from tests.peers.install import CURL
from tests.peers.prerequisites import require
from tests.peers.test_haproxy import reserve_port

pytestmark = [pytest.mark.demand("release.first_pages_run"), pytest.mark.io, on_posix]
START = "docs/start.md"
OLLAMA = "http://127.0.0.1:11434/v1"
NOTHING_BROKEN = ("Everything works.", "Nothing is broken of what was checked.")
INSTALL_TIMEOUT = 8 * HANG_TIMEOUT
# Lines of start.md that other tests run: these are for a clone, and for the demo.
ELSEWHERE = ("make serve", "bash examples/", "curl ")


def write_page_files(folder: Path, base_url: str) -> None:
    """Write the files of start.md as its reader has them at the end, with the model's server at another address."""
    page = ROOT / START
    tables = [*find_blocks(page, "toml"), *(text for text in find_blocks(page, "text") if "[[plugins]]" in text)]
    # A table of tables must not take the keys of those after it.
    text = "\n".join(sorted(tables, key=lambda table: "[[" in table)).replace(OLLAMA, base_url)
    assert base_url in text
    (folder / "rightseat.toml").write_text(text, "utf-8")
    for code in find_blocks(page, "python"):
        name = re.match(r"# (\w+\.py)\n", code)
        assert name is not None
        (folder / name[1]).write_text(code, "utf-8")


@pytest.mark.long
async def test_the_hour_of_start(tmp_path: Path) -> None:
    shell = PastingShell(tmp_path)
    del shell.env["RIGHTSEAT_MODEL"]
    lines = [line for line in list_page_lines(START, "") if not line.startswith(ELSEWHERE)]
    new, token, check, key, serve, doctor, plain_doctor = lines
    chat, call = (find_inline_command(START, text) for text in ("rightseat chat", "rightseat doctor --call"))
    async with FakeUpstream() as upstream:
        upstream.reply = answer_tokens(["Hello, ", "this ", "is ", "a ", "model."])
        write_page_files(tmp_path, upstream.base_url)
        for line in (new, token, check, key):
            await shell.run(line)
        assert len(shell.env["RIGHTSEAT_KEY"]) == 48
        said, *outputs = await shell.serve(serve, chat, doctor, plain_doctor, call)
    assert "this is a model" in said
    # Only `--call` asks the model whether it takes the key.
    verdicts = [output.splitlines()[-1] for output in outputs]
    assert verdicts[-1] == "Everything works."
    assert all(verdict.startswith(NOTHING_BROKEN) for verdict in verdicts), verdicts


@pytest.mark.long
async def test_the_shop_of_the_readme(tmp_path: Path) -> None:
    shell = PastingShell(tmp_path)
    [config] = find_blocks(ROOT / "README.md", "toml")
    [code] = [block for block in find_blocks(ROOT / "README.md", "python") if block.startswith("# shop.py\n")]
    (tmp_path / "rightseat.toml").write_text(config, "utf-8")
    (tmp_path / "shop.py").write_text(code, "utf-8")
    serve, chat, doctor = (
        find_inline_command("README.md", f"rightseat {name}") for name in ("serve", "chat", "doctor")
    )
    async with FakeUpstream() as upstream:
        upstream.reply = answer_tokens(["Your ", "order ", "is ", "on ", "its ", "way."])
        del shell.env["RIGHTSEAT_MODEL"]
        shell.env |= {"OPENAI_API_KEY": "unused", "OPENAI_BASE_URL": upstream.base_url}
        said, checked = await shell.serve(serve, chat, doctor)
    assert "on its way" in said
    assert checked.splitlines()[-1].startswith(NOTHING_BROKEN)


@pytest.mark.peers
async def test_the_library_of_the_readme(tmp_path: Path) -> None:
    require(CURL)
    shell, port = PastingShell(tmp_path), reserve_port()
    shell.env["UVICORN_PORT"] = str(port)
    [code] = [block for block in find_blocks(ROOT / "README.md", "python") if "rightseat.asgi" in block]
    (tmp_path / "page.py").write_text(code, "utf-8")
    ask = f"curl -sf http://127.0.0.1:{port}/copilot/v1/chat/completions -d '{make_question('Hello')}'"

    def is_up() -> bool:
        return subprocess.run(["sh", "-c", ask], capture_output=True).returncode == 0

    async with shell.start(find_inline_command("README.md", "uvicorn page:app"), is_up):
        assert "You said: Hello" in await shell.run(ask)


def make_question(text: str) -> str:
    return json.dumps({"messages": [{"role": "user", "content": text}]})


def find_inline_command(page: str, command: str) -> str:
    """Return the command, which the page has in a sentence."""
    assert command in list_inline_commands(page)
    return command


def list_inline_commands(page: str) -> set[str]:
    """Return what stands in a sentence of the page and could be pasted."""
    text = re.sub(r"^```.*?^```", "", (ROOT / page).read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    quoted = (" ".join(command.split()) for command in re.findall(r"`([^`]+)`", text))
    return {command for command in quoted if re.match(r"(?:rightseat|uvicorn) \S", command)}


def test_no_command_in_a_sentence_is_left_out() -> None:
    """Those that are run here; `plugins check` names a command that start.md has with its argument."""
    shop = {"rightseat serve", "rightseat chat", "rightseat doctor"}
    assert list_inline_commands("README.md") == {*shop, "rightseat plugins check", "uvicorn page:app"}
    assert list_inline_commands(START) == {"rightseat serve", "rightseat chat", "rightseat doctor --call"}


def make_clone(folder: Path) -> PastingShell:
    """A shell in a clone, with what installers of this machine need, and a home with a GGUF file in it."""
    home = folder / "home"
    (home / "models").mkdir(parents=True)
    tiny_gguf.write_text_model(home / "models" / "qwen3-8b.gguf")
    subprocess.run(["git", "clone", "--quiet", "--depth", "1", f"file://{ROOT}", "clone"], cwd=folder, check=True)
    shell = PastingShell(folder / "clone")
    config = Path.home() / ".config" / "pip" / "pip.conf"
    installers = {"PIP_CONFIG_FILE": str(config)} if config.is_file() else {}
    shell.env = {**installers, **os.environ, **shell.env, "HOME": str(home)}
    # The environment of the tests is not the clone's.
    shell.env["PATH"] = os.environ["PATH"]
    return shell


@pytest.mark.peers
@pytest.mark.timeout(1200)
async def test_make_serve_in_a_clone(tmp_path: Path) -> None:
    require(CURL)
    shell = make_clone(tmp_path)
    [curl] = list_page_lines("README.md", "curl")
    plain, local, ollama = list_page_lines("README.md", "make serve")
    assert "ollama:" in ollama
    assert list_page_lines(START, "make serve")[0].split("#")[0] == plain.split("#")[0]
    async with shell.start_server(plain, patience=INSTALL_TIMEOUT):
        assert "demo" in await shell.run(curl)
    async with shell.start_server(local):
        assert json.loads(await shell.run(curl))["choices"][0]["message"]["role"] == "assistant"
    [hour] = list_page_lines(START, "bash examples/")
    shell.env |= {"PORT": str(reserve_port()), "RIGHTSEAT": str(shell.folder / ".venv" / "bin" / "rightseat")}
    del shell.env["RIGHTSEAT_MODEL"]
    assert "== Done." in await shell.run(hour)
    async with FakeUpstream() as upstream:
        upstream.reply = answer_tokens(["I am the model of another server."])
        # Ollama's own variable says where it is.
        shell.env["OLLAMA_HOST"] = upstream.base_url.removesuffix("/v1")
        async with shell.start_server(ollama):
            assert "I am the model of another server." in await shell.run(curl)
