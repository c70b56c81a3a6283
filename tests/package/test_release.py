"""A release: builds of one commit, at other paths, times and settings, give the same bytes; so does its own sdist."""

import os
import re
import subprocess
import sys
import tarfile
import time
import zipfile
from pathlib import Path

import pytest

from checks import release
from checks.release import CHECKSUMS, read_commit_time
from tests.kit.timeouts import HANG_TIMEOUT

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.io, pytest.mark.timeout(600)]
# No index, no proxy, nothing to install: the backend of the lock builds.
OFFLINE = {
    "RIGHTSEAT_WITHOUT_PAGES": "1",
    "PIP_NO_INDEX": "1",
    "HTTPS_PROXY": "http://127.0.0.1:9",
    "HTTP_PROXY": "http://127.0.0.1:9",
}


def build_release(clone: Path, out: Path, umask: int, **env: str) -> dict[str, str]:
    """The checksums of a release that a clone of this repository makes, by file."""
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True, umask=umask)
    # Every file of this clone is as old as this moment, and each build has its own.
    now = time.time() - umask * 1000
    for path in clone.rglob("*.py"):
        os.utime(path, (now, now))
    command = [sys.executable, "-m", "checks.release", "--out", str(out)]
    kept = {"PATH": os.environ["PATH"], "HOME": str(out)}
    subprocess.run(
        command,
        cwd=clone,
        env=kept | OFFLINE | env,
        umask=umask,
        check=True,
        timeout=5 * HANG_TIMEOUT,
        capture_output=True,
    )
    lines = (out / "SHA256SUMS").read_text().splitlines()
    return {name: digest for digest, name in (line.split("  ") for line in lines)}


@pytest.mark.demand("security.releases_reproducible", "release.same_bytes")
@pytest.mark.long
def test_two_builds_give_the_same_bytes(tmp_path: Path) -> None:
    first = build_release(tmp_path / "one", tmp_path / "out1", 0o022, TZ="UTC", LC_ALL="C.UTF-8", PYTHONHASHSEED="1")
    second = build_release(
        tmp_path / "another" / "place", tmp_path / "out2", 0o077, TZ="Asia/Tokyo", LC_ALL="C", PYTHONHASHSEED="2"
    )
    assert first == second
    kinds = {re.sub(r".*?(\.whl|\.tar\.gz|\.cdx\.json)$", r"\1", name) for name in first}
    assert kinds == {".whl", ".tar.gz", ".cdx.json"}
    check_archives(tmp_path / "out1")
    check_rebuilt(tmp_path / "out1", tmp_path)


def build_plainly(source: Path, out: Path, *kinds: str) -> dict[str, bytes]:
    """The archives that somebody else builds of a folder without git, by name."""
    env = {"PATH": os.environ["PATH"], "HOME": str(out), "SOURCE_DATE_EPOCH": read_commit_time(ROOT), **OFFLINE}
    command = [sys.executable, "-m", "build", "--no-isolation", *kinds, "--outdir", str(out), str(source)]
    subprocess.run(command, check=True, env=env, umask=0o027, timeout=5 * HANG_TIMEOUT, capture_output=True)
    return {path.name: path.read_bytes() for path in out.glob("rightseat-*")}


def check_rebuilt(released: Path, folder: Path) -> None:
    """An export of the commit gives both archives, and the sdist the wheel, byte by byte."""
    archives = {path.name: path.read_bytes() for kind in ("*.whl", "*.tar.gz") for path in released.glob(kind)}
    export = folder / "export"
    export.mkdir()
    packed = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, capture_output=True).stdout
    subprocess.run(["tar", "--extract", "--touch"], cwd=export, input=packed, check=True, umask=0o027)
    assert build_plainly(export, folder / "exported", "--sdist", "--wheel") == archives
    [sdist] = released.glob("*.tar.gz")
    with tarfile.open(sdist) as tar:
        tar.extractall(folder / "unpacked", filter="data")
    [source] = (folder / "unpacked").iterdir()
    [(name, wheel)] = build_plainly(source, folder / "rebuilt", "--wheel").items()
    assert wheel == archives[name]


def check_archives(out: Path) -> None:
    """No time but the commit's, no user's name and no folder of this machine is in an archive."""
    [wheel], [sdist] = out.glob("*.whl"), out.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as archive:
        assert len({entry.date_time for entry in archive.infolist()}) == 1
    with tarfile.open(sdist) as tar:
        members = tar.getmembers()
    assert len({member.mtime for member in members}) == 1
    assert {(member.uid, member.gid, member.uname, member.gname) for member in members} == {(0, 0, "", "")}


@pytest.mark.demand("release.same_bytes")
@pytest.mark.parametrize(("second", "code"), [("0a  wheel\n0b  sdist\n", 0), ("0a  wheel\n0c  sdist\n", 1)])
def test_another_build_is_compared(
    second: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / CHECKSUMS).write_text("0a  wheel\n0b  sdist\n", encoding="utf-8")

    def build(out: Path) -> list[Path]:
        out.mkdir()
        (out / CHECKSUMS).write_text(second, encoding="utf-8")
        return [out / CHECKSUMS]

    monkeypatch.setattr(release, "make_release", build)
    assert release.main(["--verify", "--out", str(tmp_path)]) == code
    assert capsys.readouterr().out == ("the same bytes twice\n" if code == 0 else "not the same bytes: sdist\n")
