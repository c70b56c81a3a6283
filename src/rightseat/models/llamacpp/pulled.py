"""Pulled models: GGUF files in the cache folder, by name, and which of them answers by default.

Each has a folder `models/pulled/NAME` with NAME.gguf, or `partial` until it is whole, and source.json.
`models/default` has the name of the model that `rightseat models use` chose.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import shutil
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from rightseat.errors import WeightsError
from rightseat.models.llamacpp import curated
from rightseat.models.llamacpp.download import (
    Download,
    PartialFile,
    ReportProgress,
    move_into_place,
    read_record,
    verify_download,
)
from rightseat.models.llamacpp.hub import DownloadSource, Hub
from rightseat.models.llamacpp.weights import cache_folder, exclusive_lock

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True, slots=True)
class PulledModel:
    """A model in the cache folder. `path` is None until it is whole; `size` are the bytes that are here."""

    name: str
    path: Path | None
    size: int
    total: int
    source: str


def is_model_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None and not name.lower().endswith(".gguf")


def derive_name(source: DownloadSource) -> str:
    """Return the file's name without .gguf, in characters that a folder and a spec may have."""
    stem = PurePosixPath(source.file).name[: -len(".gguf")]
    return re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-._")[:100] or "model"


def resolve_source(text: str, hub: Hub) -> tuple[DownloadSource, str] | None:
    """Return where a model comes from and the name that it gets here: one of the list, with its pinned checksum, a file
    of the hub, or any address. None where `text` is none of them."""
    if (known := curated.find_curated(text)) is not None:
        return replace(hub.parse_source(known.source), size=known.size, sha256=known.sha256), known.name
    if text.startswith("hf:") or "://" in text:
        source = hub.parse_source(text)
        return source, derive_name(source)
    return None


def list_pulled() -> list[PulledModel]:
    folder = _pulled_folder()
    names = sorted(path.name for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []
    return [model for name in names if (model := find_pulled(name)) is not None]


def find_pulled(name: str) -> PulledModel | None:
    """Return the model of this name, whole or not."""
    folder = _pulled_folder() / name
    if not is_model_name(name) or not folder.is_dir():
        return None
    record = read_record(folder)
    source, total = (record.source, record.size) if record else ("", 0)
    for path in (folder / f"{name}.gguf", folder / "partial"):
        if path.is_file():
            whole = path.suffix == ".gguf"
            size = path.stat().st_size
            return PulledModel(name, path if whole else None, size, size if whole else total, source)
    return None


def find_pulled_path(name: str) -> Path | None:
    model = find_pulled(name)
    return model.path if model is not None else None


def find_projector(name: str) -> Path | None:
    """Return the image encoder in a pulled model's folder, where somebody has put one."""
    path = find_pulled_path(name) if name and not Path(name).is_file() else None
    return None if path is None else next(iter(sorted(path.parent.glob("mmproj*.gguf"))), None)


def find_same_model(source: DownloadSource, name: str) -> Path | None:
    """Return the path of the model if it is here whole; raises WeightsError if it came from another source."""
    model = find_pulled(name)
    if model is None or model.path is None:
        return None
    if model.source != source.label:
        raise WeightsError(
            f"A model called {name} is here already, from {model.source}. Give this one another name with --name, or "
            f"remove that one first: rightseat models remove {name}"
        )
    return model.path


def pull_model(
    source: DownloadSource,
    name: str,
    hub: Hub,
    progress: ReportProgress = lambda done, total: None,
    on_wait: Callable[[], None] = lambda: None,
    run: Callable[[Coroutine[Any, Any, None]], None] = asyncio.run,
) -> Path:
    """Download and verify a model unless it is here, and return its path. Blocks; a lock serializes pulls. `run` runs
    the download itself."""
    if not is_model_name(name):
        raise WeightsError(f"{name!r} is not a model's name: use letters, digits, '.', '-' and '_'.")
    folder = _pulled_folder() / name
    with _explain_file_errors(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with exclusive_lock(folder.with_name(f"{name}.lock"), on_wait):
            # Another process may have fetched it while this one waited.
            if (path := find_same_model(source, name)) is not None:
                return path
            folder.mkdir(exist_ok=True)
            target = folder / f"{name}.gguf"
            partial = PartialFile(folder)
            try:
                run(Download(source, partial, hub, progress).run())
                verify_download(partial, source)
                move_into_place(partial, target)
            finally:
                if not partial.path.exists() and not target.exists():
                    shutil.rmtree(folder, ignore_errors=True)
            return target


def remove_pulled(name: str, on_wait: Callable[[], None] = lambda: None) -> int:
    """Delete a model, whole or not, and return the freed bytes. The default falls back to the embedded model."""
    model = find_pulled(name)
    if model is None:
        raise WeightsError(f"There is no pulled model called {name!r}. See: rightseat models list")
    folder = _pulled_folder() / name
    with _explain_file_errors(folder), exclusive_lock(folder.with_name(f"{name}.lock"), on_wait):
        shutil.rmtree(folder)
    if read_default() == name:
        write_default("")
    return model.size


def read_default() -> str:
    """Return the name that `rightseat models use` chose; empty for the embedded model."""
    try:
        name = _default_file().read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""
    return name if is_model_name(name) else ""


def write_default(name: str) -> None:
    file = _default_file()
    with _explain_file_errors(file.parent):
        if name:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"{name}\n", "utf-8")
        else:
            file.unlink(missing_ok=True)


def _pulled_folder() -> Path:
    return cache_folder() / "models" / "pulled"


def _default_file() -> Path:
    return cache_folder() / "models" / "default"


@contextlib.contextmanager
def _explain_file_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise WeightsError(
            f"Models cannot be kept in {folder}: {error.strerror or error}. Make room, or name another folder in "
            "RIGHTSEAT_CACHE."
        ) from error
