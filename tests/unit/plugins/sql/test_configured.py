"""[databases] in rightseat.toml, up to a flow that asks one, draws it and answers at real doors."""

import logging
from pathlib import Path

import pytest
from msgspec import json

from rightseat.config.load import load_config
from rightseat.config.settings import Config
from rightseat.doctor import setup
from rightseat.errors import ConfigError
from rightseat.wiring.plugins import load_catalog, open_databases
from tests.kit.client import RawHttpClient
from tests.kit.server import RightseatProcess
from tests.unit.plugins.sql.shops import create_sqlite_shop

PLUGIN = {"id": "shop", "name": "Shop", "description": "What was sold."}
FLOW = """
name: regions
description: Counts customers in each region.
steps:
  - name: start
    call_type: sql
    params:
      database: shop
      sql: SELECT region, count(*) AS customers FROM customers WHERE name <> :name GROUP BY region ORDER BY 1
      values: {name: "{question}"}
    next: draw
  - name: draw
    call_type: render
    params: {kind: bar, title: Customers}
    next: end
  - name: end
    call_type: llm
    params: {user_prompt: "Say it: {start}"}
"""


def write_config(folder: Path, more: str = "") -> Path:
    create_sqlite_shop(folder)
    flows = folder / "shop" / "flows"
    flows.mkdir(parents=True)
    (folder / "shop" / "plugin.json").write_bytes(json.encode(PLUGIN))
    (flows / "regions.yaml").write_text(FLOW)
    (folder / "script.json").write_bytes(json.encode({"turns": [{"when": {}, "say": "Two in the north."}]}))
    file = folder / "rightseat.toml"
    file.write_text(f"""
[[plugins]]
path = "shop"
appears = true
[databases.shop]
url = "sqlite:///shop.db"
{more}
""")
    return file


def load_text(folder: Path, text: str) -> Config:
    file = folder / "rightseat.toml"
    file.write_text(text)
    return load_config(file)


@pytest.fixture
def shop_url(monkeypatch: pytest.MonkeyPatch) -> str:
    url = "postgresql://reader:secret-word@h/shop"
    monkeypatch.setenv("SHOP_URL", url)
    return url


def test_settings_reach_the_database(tmp_path: Path) -> None:
    config = load_config(
        write_config(tmp_path, 'tables = ["customers"]\nmax_rows = 7\nmax_mb = 2\ntimeout = 3\nplugins = ["shop"]')
    )
    found = open_databases(config)["shop"]
    assert (found.limits.rows, found.limits.bytes, found.limits.seconds) == (7, 2 << 20, 3)
    assert list(found.load_schema().tables) == ["customers"]
    assert found.is_available_to("shop")
    assert not found.is_available_to("other")
    book = load_catalog(config).flows
    assert book is not None
    assert list(book.databases) == ["shop"]


def test_broken_database_costs_only_itself(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    more = '[databases.gone]\nurl = "sqlite:///gone.db"\n[databases.odd]\nurl = "oracle://x/y"'
    config = load_config(write_config(tmp_path, more))
    with caplog.at_level(logging.ERROR):
        assert list(open_databases(config)) == ["shop"]
    assert "Database gone is left out: there is no file" in caplog.text
    assert "oracle is not a supported database" in caplog.text
    lines = {line.what: line for line in setup.check_databases(config)}
    assert (lines["database shop"].state, lines["database shop"].why) == ("good", "sqlite, 2 tables")
    assert lines["database gone"].state == "broken"


@pytest.mark.parametrize("missing", ["url", "unknown"])
def test_wrong_keys_are_named(tmp_path: Path, missing: str) -> None:
    text = "[databases.shop]\n" + ("max_rows = 7" if missing == "url" else 'url = "sqlite:///a.db"\nunknown = 1')
    with pytest.raises(ConfigError, match=missing):
        load_text(tmp_path, text)


def test_password_in_the_file_is_warned_about_and_hidden(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, shop_url: str
) -> None:
    plain = load_text(
        tmp_path, '[databases.a]\nurl = "postgresql://u:hunter22@h/d"\n[databases.b]\nurl = "sqlite:///b.db"'
    )
    assert "databases.a.url holds its secret in plain text" in caplog.text
    assert "databases.b" not in caplog.text
    assert "hunter22" not in caplog.text + repr(plain)
    referred = load_text(tmp_path, '[databases.a]\nurl = "env:SHOP_URL"')
    assert referred.databases["a"].url.reveal() == shop_url


def test_needed_extras_are_named(tmp_path: Path, shop_url: str) -> None:
    config = load_text(tmp_path, '[databases.a]\nurl = "env:SHOP_URL"\n[databases.b]\nurl = "mysql+pymysql://h/d"')
    assert set(setup.list_required_extras(config)) == {"sql", "postgres", "mysql"}


@pytest.mark.demand("flows.outputs_extract_sql_render", "flows.render_validated_real_echarts")
@pytest.mark.long
@pytest.mark.io
async def test_flow_answers_at_real_doors(tmp_path: Path) -> None:
    args = ("--config", str(write_config(tmp_path)))
    body = {"model": "shop.regions", "messages": [{"role": "user", "content": "Bo"}]}
    async with RightseatProcess(model=f"scripted:{tmp_path / 'script.json'}", args=args) as server:
        async with RawHttpClient(server.url) as client:
            await client.post_json("/v1/chat/completions", body)
            assert (await client.read_head()).status == 200
            answer = (await client.read_json())["choices"][0]["message"]["content"]
        assert "| north | 2 |" in answer
        assert "| south |" not in answer
        assert answer.endswith("Two in the north.")
        url = answer.partition("[Customers.csv](")[2].partition(")")[0]
        async with RawHttpClient(server.url) as client:
            await client.get(url.removeprefix(server.url))
            head = await client.read_head()
            assert (head.status, head.headers["content-type"].partition(";")[0]) == (200, "text/csv")
            assert b"north,2" in await client.read_body()
