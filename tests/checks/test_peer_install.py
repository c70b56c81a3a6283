import sys
from pathlib import Path

import pytest

from tests.peers import install

SIGN_AND_FAIL = "import sys; open(sys.argv[1], 'a').write('x'); sys.exit('the index is away')"


@pytest.fixture
def peers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of peers of its own, with one npm peer in it."""
    (tmp_path / "peers" / "shiny-js").mkdir(parents=True)
    for name in ("package.json", "package-lock.json"):
        (tmp_path / "peers" / "shiny-js" / name).write_text("{}", encoding="utf-8")
    monkeypatch.setattr(install, "HERE", tmp_path / "peers")
    monkeypatch.setattr(install, "PLACE", tmp_path / "place")
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    return tmp_path


def use(monkeypatch: pytest.MonkeyPatch, log: Path, code: str) -> None:
    monkeypatch.setattr(install, "need_npm", lambda: None)
    monkeypatch.setattr(install, "NPM_CI", (sys.executable, "-c", code, str(log)))


def test_failure_is_retried_and_told_apart(
    peers: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    use(monkeypatch, peers / "log", SIGN_AND_FAIL)
    assert install.main(["shiny-js"]) == install.COULD_NOT_INSTALL
    assert (peers / "log").read_text(encoding="utf-8") == "xxx"
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("could not install shiny-js: ")
    assert last.endswith("the index is away")


def test_stamp_spares_the_second_install_until_the_lock_changes(
    peers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, peers / "log", "import sys; open(sys.argv[1], 'a').write('x')")
    assert [install.main([]), install.main([])] == [0, 0]
    assert (peers / "log").read_text(encoding="utf-8") == "x"
    assert (peers / "place" / "shiny-js" / "package.json").is_file()
    (peers / "peers" / "shiny-js" / "package-lock.json").write_text('{"a": 1}', encoding="utf-8")
    assert install.main([]) == 0
    assert (peers / "log").read_text(encoding="utf-8") == "xx"


def test_unknown_peer_names_the_known(peers: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert install.main(["dull-js"]) == install.COULD_NOT_INSTALL
    assert "could not install dull-js: no such peer (known: shiny-js)" in capsys.readouterr().err


def test_missing_node_is_said(
    peers: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert install.main(["shiny-js"]) == install.COULD_NOT_INSTALL
    assert "could not install shiny-js: node and npm are missing" in capsys.readouterr().err


def test_missing_chromium_is_said(
    peers: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (peers / "peers" / "playwright").mkdir()
    (peers / "peers" / "playwright" / "requirements.txt").touch()
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert install.main(["playwright"]) == install.COULD_NOT_INSTALL
    assert "could not install playwright: none of chromium-headless-shell" in capsys.readouterr().err
