"""The README's table of clients: what it shows, when it is stale, and who may write it."""

import json
from pathlib import Path

import pytest

from checks import clients, targets
from checks.__main__ import list_commands
from checks.clients import RENEWED_LATER, ClientTable

pytestmark = pytest.mark.demand("release.clients_table")
ROWS = """
[[rows]]
endpoint = "OpenAI"
driven = "chat"
clients = [
    { name = "sdk", title = "`sdk`", lock = "sdk/requirements.txt", packages = ["sdk", "sdk-tools"] },
    { name = "page-old", title = "Page", lock = "page/package-lock.json", packages = ["page-old"] },
    { name = "page-new", title = "Page", lock = "page/package-lock.json", packages = ["page-new"] },
]
[[rows]]
endpoint = "data"
driven = "queries"
clients = [{ name = "database", title = "Database" }]
"""
LOCK = """\
sdk==2.1.0 \\
    --hash=sha256:0
sdk-tools==0.9 ; python_full_version < '3.12' \\
sdk-tools==1.0 ; python_full_version >= '3.12'
"""
NPM_LOCK = {
    "": {},
    "node_modules/page-old": {"version": "1.10.6"},
    "node_modules/a/node_modules/page-new": {"version": "1.9.0"},
}
VERSIONS = {"sdk": {"sdk 2.1.0 sdk-tools 0.9"}, "page-old": {"1.10.6"}, "page-new": {"1.9.0"}, "database": {"15.18"}}
NAMES = list(VERSIONS)


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ClientTable:
    """A checkout with three clients, a database and a record of them."""
    monkeypatch.delenv(RENEWED_LATER, raising=False)
    for name, text in {
        "tests/peers/clients.toml": ROWS,
        "tests/peers/expected.toml": f"names = {json.dumps(NAMES)}",
        "sdk/requirements.txt": LOCK,
        "page/package-lock.json": json.dumps({"packages": NPM_LOCK}),
        "README.md": f"before\n{clients.BEGIN}\n{clients.END}\nafter\n",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    table = ClientTable(tmp_path)
    table.write_record(VERSIONS)
    return table


def write_driven(path: Path, **versions: str) -> Path:
    """Write what tests append to RIGHTSEAT_DRIVEN."""
    entries = {**{name: next(iter(texts)) for name, texts in VERSIONS.items()}, **versions}
    lines = [json.dumps({"name": name, "version": version}) for name, version in entries.items()]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def read_files(table: ClientTable) -> list[str]:
    return [path.read_text(encoding="utf-8") for path in (table.record_path, table.readme_path)]


def test_this_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(RENEWED_LATER, raising=False)
    assert ClientTable().find_faults() == []
    assert list_commands()["clients"][-1] == clients.__name__


def test_the_table(table: ClientTable) -> None:
    """A client with several packages shows the first; those with one title are shown once, oldest version first."""
    expected = (
        f"before\n{clients.BEGIN}\n\n{clients.HEAD}\n"
        "| OpenAI | `sdk` 2.1.0, Page 1.9.0, 1.10.6 | chat |\n| data | Database 15.18 | queries |\n"
        f"\n{clients.END}\nafter\n"
    )
    assert table.readme_path.read_text(encoding="utf-8") == expected
    assert table.find_faults() == []


def test_another_lock_asks_for_a_run(table: ClientTable) -> None:
    lock = table.root / "sdk" / "requirements.txt"
    lock.write_text(LOCK + "dependency==1.1\n", encoding="utf-8")
    first, advice = table.find_faults()
    assert first == "sdk/requirements.txt is not the lock of the recorded run"
    assert "run `make test-all`" in advice
    # The run itself writes the record at its end.
    lock.write_bytes(LOCK.replace("\n", "\r\n").encode())
    assert table.find_faults() == []


def test_a_version_that_the_lock_has_not(table: ClientTable) -> None:
    table.write_record({**VERSIONS, "sdk": {"sdk 2.2.0 sdk-tools 1.0"}})
    assert table.find_faults()[0] == "sdk: driven was 1.0 2.2.0, sdk/requirements.txt has 0.9 1.0 2.1.0"
    table.write_record({**VERSIONS, "sdk": {"2.1.0"}})
    assert table.find_faults()[0].startswith("sdk: driven was 2.1.0,")


def test_a_table_changed_by_hand(table: ClientTable) -> None:
    text = table.readme_path.read_text(encoding="utf-8")
    table.readme_path.write_text(text.replace("Page 1.9.0", "Page 2.0.0"), encoding="utf-8")
    [fault] = table.find_faults()
    assert "python -m checks.clients --write" in fault
    table.write_table()
    assert table.readme_path.read_text(encoding="utf-8") == text


def test_a_client_without_a_row(table: ClientTable) -> None:
    expected = table.root / "tests" / "peers" / "expected.toml"
    expected.write_text(f"names = {json.dumps([*NAMES, 'newcomer'])}", encoding="utf-8")
    [fault] = table.find_faults()
    assert fault.startswith("newcomer: give it one row of tests/peers/clients.toml")


def test_a_readme_without_marks(table: ClientTable) -> None:
    table.readme_path.write_text("no marks", encoding="utf-8")
    with pytest.raises(ValueError, match="needs <!-- clients -->"):
        table.write_table()


@pytest.fixture
def run_table(table: ClientTable, monkeypatch: pytest.MonkeyPatch) -> ClientTable:
    """The table that `make test-all` renews."""
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(targets, "CLIENT_TABLE", table)
    monkeypatch.setattr(targets, "EXPECTED", table.root / "tests" / "peers" / "expected.toml")
    return table


def test_a_whole_run_writes_the_record_of_its_locks(run_table: ClientTable, tmp_path: Path) -> None:
    lock = tmp_path / "sdk" / "requirements.txt"
    lock.write_text(LOCK.replace("sdk==2.1.0", "sdk==2.2.0"), encoding="utf-8")
    driven = write_driven(tmp_path / "driven.jsonl", sdk="sdk 2.2.0 sdk-tools 0.9")
    assert targets.report_driven(driven, tested=False) != []
    assert "2.2.0" not in read_files(run_table)[1]
    assert targets.report_driven(driven, tested=True) == []
    assert "| `sdk` 2.2.0, Page" in read_files(run_table)[1].replace("OpenAI ", "")


def test_a_run_that_missed_a_client_writes_nothing(run_table: ClientTable, tmp_path: Path) -> None:
    before = read_files(run_table)
    driven = write_driven(tmp_path / "driven.jsonl")
    driven.write_text("\n".join(driven.read_text("utf-8").splitlines()[:-1]), encoding="utf-8")
    assert targets.report_driven(driven, tested=True) == []
    assert read_files(run_table) == before


def test_ci_writes_nothing_and_accepts_what_no_lock_decides(
    run_table: ClientTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", "true")
    before = read_files(run_table)
    driven = write_driven(tmp_path / "driven.jsonl", database="17.2", sdk="sdk 2.1.0 sdk-tools 1.0")
    assert targets.report_driven(driven, tested=True) == []
    driven = write_driven(tmp_path / "driven.jsonl", **{"page-old": "1.10.7"})
    [fault] = targets.report_driven(driven, tested=True)
    assert fault == "page-old: driven was 1.10.7, page/package-lock.json has 1.10.6"
    assert read_files(run_table) == before


@pytest.mark.parametrize("ci", ["", "true"])
def test_the_check_of_a_run_that_renews_the_record_does_not_want_it_new(
    run_table: ClientTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ci: str
) -> None:
    """The step `check` of `make test-all` comes before the clients are driven."""
    monkeypatch.setenv("CI", ci)
    (tmp_path / "sdk" / "requirements.txt").write_text(LOCK + "dependency==1.1\n", encoding="utf-8")
    faults: list[str] = []
    monkeypatch.setattr(targets, "install_all", lambda: None)
    for name in ("check", "test-peers", "test-model"):
        monkeypatch.setitem(targets.TARGETS, name, lambda target: None)
    monkeypatch.setitem(targets.TARGETS, "check", lambda target: faults.extend(run_table.find_faults()))
    monkeypatch.setenv("RIGHTSEAT_DRIVEN", "")
    (tmp_path / "beside").touch()
    driven = write_driven(tmp_path / "driven.jsonl")
    assert targets.run_targets(["check", "test-peers", "test-model"], driven) == 0
    assert bool(faults) == bool(ci)
    assert bool(run_table.find_faults()) == bool(ci)
