"""Download of a local model from the page: one at a time, in a thread of its own.

It goes on when the page is left, and whoever opens the page again sees how far it is. What has come is kept after a
stop or a failure: the next download of the same source goes on with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import shutil
import threading
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from rightseat.errors import CallerError, ConfigError, Conflict, NotFound, RightseatError
from rightseat.http.reply import Reply, ResponseStart
from rightseat.models.llamacpp import pulled
from rightseat.models.llamacpp.curated import CURATED_MODELS, CuratedModel
from rightseat.models.llamacpp.hub import DownloadError, DownloadSource, Hub
from rightseat.models.llamacpp.machine import get_machine
from rightseat.models.llamacpp.weights import EMBEDDED, cache_folder
from rightseat.types.json_values import encode_json
from rightseat.wiring import default_model
from rightseat.wiring.lookup import LOCAL

NDJSON = b"application/x-ndjson"
LOOK_SECONDS = 0.25
# A line that says nothing new: a client that has left is noticed by it.
BEAT_LOOKS = 8
# A whole file is checked to its end.
STOP_SECONDS = 30.0
MAX_SOURCE = 2000
FetchState = Literal["fetching", "checking", "done", "stopped", "failed"]
ENDS = ("done", "stopped", "failed")


class FetchForm(Struct, frozen=True, forbid_unknown_fields=True):
    """What the page posts: a name of the list, hf:OWNER/REPO/FILE.gguf, or the address of a .gguf file. Empty: the
    download that is under way."""

    source: str = ""


class StopForm(Struct, frozen=True, forbid_unknown_fields=True):
    """An empty object: there is only one download to stop."""


class FetchLine(Struct, frozen=True, kw_only=True):
    """How far a download is. A total of 0 is unknown; `path` is the file once it is whole."""

    state: FetchState = "fetching"
    name: str
    source: str
    bytes: int = 0
    total: int = 0
    path: str = ""
    code: str = ""
    text: str = ""


class ModelFetch:
    """One download. `line` is replaced as a whole, by its thread only."""

    def __init__(self, source: DownloadSource, name: str, hub: Hub) -> None:
        self.source = source
        self._hub = hub
        self.ended = threading.Event()
        self._stopping = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[Any] | None = None
        self.line = FetchLine(name=name, source=source.label, total=source.size)

    def start(self) -> None:
        # A daemon: the server's end does not wait for it, and what has come is on the disk.
        threading.Thread(target=self._run, name="model fetch", daemon=True).start()

    def stop(self) -> None:
        self._stopping = True
        loop, task = self._loop, self._task
        if loop is not None and task is not None:
            # The download may have ended in this moment.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(task.cancel)

    def _run(self) -> None:
        try:
            path = pulled.pull_model(
                self.source, self.line.name, self._hub, self._note, refuse_to_wait, self._run_download
            )
            size = path.stat().st_size
            self._set(state="done", path=str(path), bytes=size, total=size)
        except asyncio.CancelledError:
            self._set(state="stopped")
        except RightseatError as error:
            self._set(state="failed", code=error.code, text=error.message)
        finally:
            if self.line.state not in ENDS:
                self._set(state="failed", code="weights", text="The download broke off. Look at the server's log.")
            self.ended.set()

    def _run_download(self, download: Coroutine[Any, Any, None]) -> None:
        async def run() -> None:
            self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
            if self._stopping and self._task is not None:
                self._task.cancel()
            await download

        asyncio.run(run())
        self._set(state="checking")

    def _note(self, done: int, total: int) -> None:
        self._set(bytes=done, total=total)

    def _set(self, **changes: Any) -> None:
        self.line = msgspec.structs.replace(self.line, **changes)


def refuse_to_wait() -> None:
    raise DownloadError("Another process fetches this model. Wait until it ends, and open this page again.")


class ModelFetches:
    """The download of this server's page: the one under way, or the last one."""

    def __init__(self) -> None:
        self.last: ModelFetch | None = None

    @property
    def running(self) -> ModelFetch | None:
        return self.last if self.last is not None and self.last.line.state not in ENDS else None

    def start(self, form: FetchForm) -> ModelFetch:
        """Begin the form's download, or return the one that fetches the same. Raises CallerError."""
        text = form.source.strip()
        running = self.running
        if not text:
            if running is None:
                raise NotFound("No model is being fetched.")
            return running
        if len(text) > MAX_SOURCE or not text.isprintable():
            raise CallerError(f"source: use printable characters, at most {MAX_SOURCE}.", param="source")
        try:
            source, name, hub = choose_source(text)
        except ConfigError as error:
            # The form is wrong, not this server.
            raise CallerError(error.message, param="source") from error
        if running is not None:
            if running.source.label != source.label:
                raise Conflict(f"{running.line.name} is being fetched. Wait until it is here, or cancel it first.")
            return running
        self.last = ModelFetch(source, name, hub)
        self.last.start()
        return self.last

    async def stop(self) -> dict[str, Any]:
        """Stop the download under way, and return its last line. What has come is kept."""
        if (running := self.running) is None:
            raise NotFound("No model is being fetched.")
        running.stop()
        await asyncio.to_thread(running.ended.wait, STOP_SECONDS)
        return msgspec.structs.asdict(running.line)


def choose_source(text: str) -> tuple[DownloadSource, str, Hub]:
    """Return where a model comes from, and a name that no model of another source has here."""
    hub = Hub.from_env()
    # A model of the list has its pinned checksum, whichever way it is named.
    listed = next((model.name for model in CURATED_MODELS if model.source == text), text)
    resolved = pulled.resolve_source(listed, hub)
    if resolved is None:
        raise DownloadError("Name a file of the hub, as hf:OWNER/REPO/FILE.gguf, or the address of a .gguf file.")
    source, name = resolved
    same = pulled.find_pulled(name)
    if name in (LOCAL, EMBEDDED.name) or (same is not None and same.source not in ("", source.label)):
        name = f"{name[:90]}-{hashlib.sha256(source.label.encode()).hexdigest()[:8]}"
    return source, name, hub


async def stream_fetch(fetch: ModelFetch) -> Reply:
    """Send how far the download is as lines of JSON. A client that leaves does not stop it."""
    yield ResponseStart(200, ((b"content-type", NDJSON), (b"cache-control", b"no-store")))
    sent: FetchLine | None = None
    looks = 0
    while True:
        line = fetch.line
        if line is not sent or looks % BEAT_LOOKS == 0:
            yield encode_json(line) + b"\n"
        sent = line
        looks += 1
        if line.state in ENDS:
            return
        await asyncio.sleep(LOOK_SECONDS)


def describe_local_models(fetches: ModelFetches) -> dict[str, Any]:
    """Return the models that can be fetched, what of each is here, and the download under way."""
    here = {model.source: model for model in pulled.list_pulled()}
    listed = [describe_curated(model, here.pop(model.source, None)) for model in CURATED_MODELS]
    parts = [
        {"name": model.name, "source": model.source, "bytes": model.total, "part": model.size}
        for model in here.values()
        if model.path is None and model.source
    ]
    return {
        "models": [*listed, *parts],
        "free": find_free_space(cache_folder()),
        "engine": default_model.find_engine_problem(),
        "fetch": fetches.running.line if fetches.running else None,
    }


def describe_curated(model: CuratedModel, here: pulled.PulledModel | None) -> dict[str, Any]:
    machine = get_machine()
    fits = model.memory <= machine.memory * 3 // 4
    return {
        "name": model.name,
        "source": model.source,
        "bytes": model.size,
        "memory": model.memory,
        "licence": model.licence,
        "good_for": model.good_for,
        "fits": "well" if fits and model.cores <= machine.cores else "slow" if fits else "no",
        "part": here.size if here is not None and here.path is None else 0,
        "path": str(here.path) if here is not None and here.path is not None else "",
    }


def find_free_space(folder: Path) -> int:
    """Return the free bytes of the disk that will have the folder."""
    existing = next((place for place in (folder, *folder.parents) if place.exists()), None)
    return shutil.disk_usage(existing).free if existing is not None else 0
