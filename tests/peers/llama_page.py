"""llama.cpp's own web page, as the engine ships it, over our server: its files are the engine's, the rest is ours."""

import asyncio
import sys
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from rightseat import Runtime
from rightseat.config.settings import ServerSettings
from rightseat.server.app import App
from rightseat.wiring.lookup import load_all
from tests.kit import tiny_gguf
from tests.kit.app_server import serve_app
from tests.kit.timeouts import HANG_TIMEOUT

READY = b"listening at "
PROGRAM = """
import sys, xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.hostnames, params.port, params.ui = sys.argv[1], ["127.0.0.1"], 0, True
params.n_ctx, params.warmup = 256, False
server = xllamacpp.Server(params)
print("listening at", server.listening_address, flush=True)
sys.stdin.read()
"""


class PageApp:
    """Serves the page's files from the engine at `files_url`, and every other request from `app`. `calls` are those."""

    def __init__(self, app: Any, files_url: str) -> None:
        self.app = app
        self.files_url = files_url
        self.calls: list[tuple[str, str, int]] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        path: str = scope["path"]
        if scope["method"] == "GET" and (path == "/" or "." in path.rpartition("/")[2]):
            await self.send_file(path, send)
            return

        async def record(message: Any) -> None:
            if message["type"] == "http.response.start":
                self.calls.append((scope["method"], path, message["status"]))
            await send(message)

        await self.app(scope, receive, record)

    async def send_file(self, path: str, send: Any) -> None:
        def fetch() -> tuple[list[tuple[bytes, bytes]], bytes]:
            request = urllib.request.Request(self.files_url + path, headers={"Accept-Encoding": "gzip"})
            with urllib.request.urlopen(request, timeout=HANG_TIMEOUT) as response:
                kept = ("content-type", "content-encoding")
                headers = [(n.lower().encode(), v.encode()) for n, v in response.headers.items() if n.lower() in kept]
                return headers, response.read()

        headers, body = await asyncio.to_thread(fetch)
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})


@asynccontextmanager
async def serve_page_files(folder: Path) -> AsyncIterator[str]:
    """Run an engine with a tiny model for its page's files; gives its URL."""
    model = tiny_gguf.write_text_model(folder / "page.gguf")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", PROGRAM, str(model)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(HANG_TIMEOUT):
            line = b""
            while not line.startswith(READY):
                line = await process.stdout.readline()
                assert line, "the engine ended"
        yield line.removeprefix(READY).decode().strip()
    finally:
        process.kill()
        await process.wait()


@asynccontextmanager
async def serve_llama_page(runtime: Runtime, folder: Path) -> AsyncIterator[tuple[str, PageApp]]:
    async with serve_page_files(folder) as files_url:
        page = PageApp(App(runtime, ServerSettings(port=0), load_all("doors")), files_url)
        try:
            async with serve_app(page) as url:
                yield url, page
        finally:
            await runtime.close()
