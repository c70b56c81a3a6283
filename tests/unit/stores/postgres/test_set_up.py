"""[store] kind = "postgres": what is said where something is missing, the command that migrates, and doctor's line."""

import importlib.util
import subprocess
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightseat.config.load import load_config
from rightseat.config.settings import Config
from rightseat.doctor.setup import check_extras, check_store
from rightseat.errors import ConfigError
from rightseat.stores.postgres.keys import MAX_KEY_BYTES, encode_key, escape_text, label_key, unescape_text
from rightseat.stores.postgres.schema import MIGRATIONS
from rightseat.stores.postgres.store import PostgresStore
from rightseat.types.stores import CheckpointStore, MonitoredStore, SharedStore, Store
from rightseat.types.threads import ThreadStore
from rightseat.wiring.storage import describe_store_location, open_store
from tests.contract.stores.members import make_schema_name
from tests.kit.command import run_command
from tests.kit.postgres import get_session_server

SECRET = "s3cret-word"


def write_config(folder: Path, more: str = "", url: str = "") -> Path:
    file = folder / "rightseat.toml"
    (folder / "url").write_text(url or get_session_server().url)
    text = f'[models.m]\nspec = "scripted:demo"\n[store]\nkind = "postgres"\nurl = "file:{folder}/url"\n{more}\n'
    file.write_text(text, "utf-8")
    return file


@pytest.mark.io
@pytest.mark.demand("cluster.set_up")
async def test_the_store_of_the_configuration_is_opened(tmp_path: Path) -> None:
    config = load_config(write_config(tmp_path, f'schema = "{make_schema_name()}"\npool = 5\nkeep_days = 3'))
    store = open_store(config)
    assert isinstance(store, PostgresStore)
    for protocol in (Store, ThreadStore, CheckpointStore, SharedStore, MonitoredStore):
        assert isinstance(store, protocol)
    assert store.sweep.retention.days == 3
    assert store.database.connections == 3
    await store.close()
    await store.close()


@pytest.mark.io
@pytest.mark.demand("cluster.set_up", "cluster.migrations")
async def test_tables_are_migrated_by_the_command(tmp_path: Path) -> None:
    schema = make_schema_name()
    file = write_config(tmp_path, f'schema = "{schema}"\nmigrate = "never"')
    config = load_config(file)
    with pytest.raises(ConfigError, match="rightseat store migrate"):
        open_store(config)
    line = check_store(config)
    assert (line.state, "rightseat store migrate" in (line.fix or "")) == ("broken", True)
    done = await run_command("store", "migrate", "--config", str(file))
    assert (done.code, f"from version 0 to {len(MIGRATIONS)}" in done.out) == (0, True)
    again = await run_command("store", "migrate", "--config", str(file))
    assert "nothing to migrate" in again.out
    line = check_store(config)
    assert (line.state, schema in line.why) == ("good", True)
    store = open_store(config)
    assert isinstance(store, PostgresStore)
    await store.close()


async def test_a_file_is_not_migrated_by_the_command(tmp_path: Path) -> None:
    file = tmp_path / "rightseat.toml"
    file.write_text('[models.m]\nspec = "scripted:demo"\n', "utf-8")
    assert "when the server starts" in (await run_command("store", "migrate", "--config", str(file))).err


@pytest.mark.demand("cluster.set_up")
def test_a_missing_url_is_said(tmp_path: Path) -> None:
    file = tmp_path / "rightseat.toml"
    file.write_text('[store]\nkind = "postgres"\n', "utf-8")
    with pytest.raises(ConfigError, match="env:DATABASE_URL"):
        open_store(load_config(file))


@pytest.mark.demand("cluster.set_up")
def test_a_missing_extra_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    find_spec = importlib.util.find_spec

    def find_all_but_one(name: str, package: str | None = None) -> ModuleSpec | None:
        return None if name == "psycopg_pool" else find_spec(name, package)

    monkeypatch.setattr(importlib.util, "find_spec", find_all_but_one)
    config = load_config(write_config(tmp_path, url="postgresql://localhost/x"))
    with pytest.raises(ConfigError, match=r".*rightseat\[cluster\]"):
        open_store(config)
    lines = {line.what: line for line in check_extras(config)}
    assert lines["extra cluster"].state == "broken"


@pytest.mark.io
@pytest.mark.demand("cluster.set_up", "cluster.credentials_unseen")
def test_a_database_that_cannot_be_reached_is_said_without_the_password(tmp_path: Path) -> None:
    config = load_config(write_config(tmp_path, url=f"postgresql://me:{SECRET}@127.0.0.1:1/things"))
    with pytest.raises(ConfigError) as refused:
        open_store(config)
    line = check_store(config)
    assert line.state == "broken"
    for text in (refused.value.message, f"{line.why} {line.fix}"):
        assert "127.0.0.1:1, database things" in text
        assert "Start it, or correct [store] url." in text
    shown = [refused.value.message, line.why, line.fix or "", describe_store_location(config), repr(config)]
    assert not [text for text in shown if SECRET in text]


@pytest.mark.io
@pytest.mark.demand("cluster.set_up")
def test_the_default_store_imports_nothing_of_it() -> None:
    program = (
        "import sys; from rightseat.wiring.storage import open_store; from rightseat.config.settings import Config, "
        "StoreSettings; open_store(Config(store=StoreSettings(kind='memory'))); import rightseat.stores.sqlite; "
        "print([name for name in sys.modules if 'psycopg' in name or 'postgres' in name or 'redis' in name])"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "[]"
    assert Config().store.kind == "sqlite"


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_any_text_is_held_and_restored(text: str) -> None:
    escaped = escape_text(text)
    assert "\0" not in escaped
    escaped.encode()
    assert unescape_text(escaped) == text


@given(st.text(alphabet=st.characters(exclude_categories=()), max_size=2000))
def test_keys_are_short_and_their_text_is_not_lost(text: str) -> None:
    key, label = encode_key(text), label_key(text)
    assert len(key.encode()) <= MAX_KEY_BYTES
    assert unescape_text(label or key) == text
