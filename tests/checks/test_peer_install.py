"""How peers are installed, and what a test says that needs one which cannot be."""

import fcntl
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from _pytest.outcomes import Failed, Skipped

from checks import assets
from tests.peers import install, prerequisites
from tests.peers.install import NODE, InstallError, SystemProgram

pytestmark = pytest.mark.io
SIGN_PROGRAM = "import sys; open(sys.argv[1], 'a').write('x')"
FAILING_PROGRAM = f"{SIGN_PROGRAM}; sys.exit('the index is away')"
BAGPIPE = SystemProgram("Bagpipe", ("bagpipe", "bagpipe-bag"), lambda: None)
BAGPIPE_HINT = "(apt-get install bagpipe bagpipe-bag, or your package manager), then `make test-peers`"


@pytest.fixture
def peers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of peers of its own, with one npm peer in it."""
    (tmp_path / "peers" / "shiny-js").mkdir(parents=True)
    for name in ("package.json", "package-lock.json"):
        (tmp_path / "peers" / "shiny-js" / name).write_text("{}", encoding="utf-8")
    monkeypatch.setattr(install, "HERE", tmp_path / "peers")
    monkeypatch.setattr(install, "PEERS_FOLDER", tmp_path / "place")
    monkeypatch.setattr(prerequisites, "skip_reasons", {})
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    monkeypatch.delenv("CI", raising=False)
    return tmp_path


@pytest.fixture
def no_programs(peers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No program is found, and nobody here is root."""
    monkeypatch.setattr("shutil.which", lambda name: None)
    monkeypatch.setattr("os.geteuid", lambda: 1000)


@pytest.fixture
def apt_commands(peers: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Nothing but apt-get is found, and who asks for it is root. Gives what it was told to do."""
    told: list[str] = []
    monkeypatch.setattr("shutil.which", lambda name: name if name == "apt-get" else None)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr(install, "run_with_retries", lambda line, cwd=None: told.append(" ".join(line)))
    return told


def replace_npm(monkeypatch: pytest.MonkeyPatch, log: Path, code: str) -> None:
    """In place of Node and npm: a program that signs the log."""
    monkeypatch.setattr(install, "NODE", SystemProgram("Node.js", ("nodejs",), lambda: Path("node")))
    monkeypatch.setattr(install, "NPM_CI", (sys.executable, "-c", code, str(log)))


def get_skip_reason(ask: Callable[[], object]) -> str:
    with pytest.raises(Skipped) as caught:
        ask()
    return str(caught.value)


def get_failure(ask: Callable[[], object]) -> str:
    with pytest.raises(Failed) as caught:
        ask()
    return str(caught.value)


def test_failure_is_retried_and_told_apart(
    peers: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    replace_npm(monkeypatch, peers / "log", FAILING_PROGRAM)
    assert install.main(["shiny-js"]) == install.COULD_NOT_INSTALL
    assert (peers / "log").read_text(encoding="utf-8") == "xxx"
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("could not install shiny-js: ")
    assert last.endswith("the index is away")


def test_stamp_spares_the_second_install_until_the_lock_changes(peers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replace_npm(monkeypatch, peers / "log", SIGN_PROGRAM)
    assert [install.main([]), install.main([])] == [0, 0]
    assert (peers / "log").read_text(encoding="utf-8") == "x"
    assert (peers / "place" / "shiny-js" / "package.json").is_file()
    (peers / "peers" / "shiny-js" / "package-lock.json").write_text('{"a": 1}', encoding="utf-8")
    assert install.main([]) == 0
    assert (peers / "log").read_text(encoding="utf-8") == "xx"


def test_who_asks_while_another_installs_waits_for_it(peers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process here is a file that is locked: a lock is of an open file, not of a process."""
    replace_npm(monkeypatch, peers / "log", SIGN_PROGRAM)
    (peers / "place").mkdir()
    asking = [threading.Thread(target=prerequisites.require, args=("shiny-js",)) for _ in range(2)]
    with (peers / "place" / ".shiny-js.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        for one in asking:
            one.start()
        for one in asking:
            one.join(0.05)
        assert not (peers / "log").exists()
    for one in asking:
        one.join()
    assert (peers / "log").read_text(encoding="utf-8") == "x"


def test_unknown_peer_names_the_known(peers: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert install.main(["dull-js"]) == install.COULD_NOT_INSTALL
    assert "could not install dull-js: no such peer (known: shiny-js)" in capsys.readouterr().err


@pytest.mark.usefixtures("no_programs")
def test_missing_node_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert install.main(["shiny-js"]) == install.COULD_NOT_INSTALL
    assert "could not install shiny-js: Node.js is missing: install it" in capsys.readouterr().err


@pytest.mark.usefixtures("no_programs")
def test_missing_chromium_is_said(peers: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (peers / "peers" / "playwright").mkdir()
    (peers / "peers" / "playwright" / "requirements.txt").touch()
    assert install.main(["playwright"]) == install.COULD_NOT_INSTALL
    assert "could not install playwright: Chromium is missing: install it" in capsys.readouterr().err


def test_what_is_there_is_given(peers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replace_npm(monkeypatch, peers / "log", SIGN_PROGRAM)
    assert prerequisites.require("shiny-js") == peers / "place" / "shiny-js"
    assert prerequisites.require(SystemProgram("Python", ("python3",), lambda: Path(sys.executable))) == Path(
        sys.executable
    )


@pytest.mark.demand("tests.program_missing_installed_nobody")
@pytest.mark.usefixtures("no_programs")
def test_what_is_missing_is_a_skip_that_says_how_to_get_it() -> None:
    assert get_skip_reason(lambda: prerequisites.require(BAGPIPE)) == f"Bagpipe is missing: install it {BAGPIPE_HINT}"
    node = (
        "Node.js is missing: install it (apt-get install nodejs npm, or your package manager), then `make test-peers`"
    )
    assert get_skip_reason(lambda: prerequisites.require("shiny-js")) == node


def test_an_installed_peer_is_of_no_use_without_its_program(peers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as there:
        replace_npm(there, peers / "log", SIGN_PROGRAM)
        prerequisites.require("shiny-js")
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert get_skip_reason(lambda: prerequisites.require("shiny-js")).startswith("Node.js is missing: ")


@pytest.mark.demand("tests.program_missing_installed_nobody")
@pytest.mark.usefixtures("no_programs")
@pytest.mark.parametrize(("value", "red"), [("true", True), ("1", True), ("false", False), ("", False)])
def test_in_ci_it_is_a_failure(value: str, red: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", value)
    found = (get_failure if red else get_skip_reason)(lambda: prerequisites.require(BAGPIPE))
    assert found == f"Bagpipe is missing: install it {BAGPIPE_HINT}"


@pytest.mark.demand("tests.program_missing_installed_nobody")
def test_root_needs_not_ask(apt_commands: list[str]) -> None:
    """What apt-get brings is found afterwards, or it is missing all the same."""
    found: list[Path | None] = [None, None, Path("/usr/bin/bagpipe")]
    bag = SystemProgram("Bagpipe", ("bagpipe",), lambda: found.pop(0))
    assert prerequisites.require(bag) == Path("/usr/bin/bagpipe")
    assert apt_commands == ["apt-get update -qq", "apt-get install -y -qq --no-install-recommends bagpipe"]
    assert get_skip_reason(lambda: prerequisites.require(BAGPIPE)).startswith("Bagpipe is missing: ")


@pytest.mark.demand("tests.program_missing_installed_nobody")
@pytest.mark.usefixtures("no_programs")
def test_who_is_not_root_installs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: name if name == "apt-get" else None)
    monkeypatch.setattr(install, "run_with_retries", lambda line, cwd=None: pytest.fail("it was tried"))
    assert get_skip_reason(lambda: prerequisites.require(BAGPIPE)) == f"Bagpipe is missing: install it {BAGPIPE_HINT}"


def test_an_apt_that_fails_is_said_with_its_reason(apt_commands: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def retry(line: Sequence[str], cwd: Path | None = None) -> None:
        raise InstallError("apt-get update -qq failed 3 times; exit 100: no network")

    monkeypatch.setattr(install, "run_with_retries", retry)
    assert get_skip_reason(lambda: prerequisites.require(BAGPIPE)) == (
        f"could not install Bagpipe: apt-get update -qq failed 3 times; exit 100: no network; "
        f"install Bagpipe yourself {BAGPIPE_HINT}"
    )


def test_an_index_that_is_away_is_said_and_tried_once_for_all_tests(
    peers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_npm(monkeypatch, peers / "log", FAILING_PROGRAM)
    for _ in range(2):
        said = get_skip_reason(lambda: prerequisites.require("shiny-js"))
        assert said.startswith("could not install shiny-js: ")
        assert said.endswith("the index is away; look whether its packages can be reached, then `make test-peers`")
        assert "\n" not in said
    assert (peers / "log").read_text(encoding="utf-8") == "xxx"


def test_what_the_pages_show_needs_node_only_until_it_is_fetched(
    peers: Path, no_programs: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(assets, "PACKAGE", peers / "package")
    assert get_skip_reason(lambda: prerequisites.require_assets("graphiql")).startswith("Node.js is missing: ")
    for name in assets.FILES:
        (peers / "package" / name).parent.mkdir(parents=True, exist_ok=True)
        (peers / "package" / name).touch()
    prerequisites.skip_reasons.clear()
    assert prerequisites.require_assets("graphiql").startswith("3.")


def test_node_counts_only_with_npm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: "/usr/bin/node" if name == "node" else None)
    assert NODE.find_path() is None
