import subprocess
from pathlib import Path

import pytest

from checks import files, hosts


def find_problems(root: Path, text: str) -> list[str]:
    path = root / "notes.md"
    path.write_text(f"first line\n{text}\n", encoding="utf-8")
    return list(hosts.find_problems(path, root))


# Written in two halves, so that this file itself stays clean.
@pytest.mark.demand("engine.locked_dependencies_hashes_name")
@pytest.mark.parametrize(
    ("halves", "what"),
    [
        (("see https://py", "pi.org/project/x"), "a package registry"),
        (("https://registry.np", "mjs.org/x"), "a package registry"),
        (("--index-u", "rl https://a.example"), "a package registry"),
        (("cd /ho", "me/ann/code"), "a folder of one machine"),
        (('path = "/wo', 'rk/main"'), "a folder of one machine"),
        (("/Us", "ers/ann"), "a folder of one machine"),
        (("key = sk-", "a1" * 20), "a secret"),
        (("-----BEGIN RSA PRIVATE", " KEY-----"), "a secret"),
    ],
)
def test_finding(tmp_path: Path, halves: tuple[str, str], what: str) -> None:
    assert find_problems(tmp_path, "".join(halves)) == [f"notes.md:2: names {what}"]


@pytest.mark.parametrize(
    "text", ["http://127.0.0.1:7777/v1/work/item", "https://a.example/home/page", "sk-test", "./work/x", "~/code"]
)
def test_innocent_text(tmp_path: Path, text: str) -> None:
    assert find_problems(tmp_path, text) == []


def test_binary_file_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / "picture.png"
    path.write_bytes(b"\x89PNG\xff\xfe")
    assert list(hosts.find_problems(path, tmp_path)) == []


@pytest.mark.io
def test_ignored_and_deleted_files_are_not_looked_at(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    for name in ("kept.py", "gone.py", "ignored.py"):
        (tmp_path / name).touch()
    (tmp_path / ".gitignore").write_text("ignored.py\n", encoding="utf-8")
    subprocess.run(["git", "add", "."], cwd=tmp_path, check=True)
    (tmp_path / "gone.py").unlink()
    assert files.list_python_files(tmp_path) == [tmp_path / "kept.py"]
