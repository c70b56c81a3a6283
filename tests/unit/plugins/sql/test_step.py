"""The `sql` step: a question or a fixed query, one repair, and what it says when nothing works."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec import json

from rightseat.plugins.flows.step_context import FlowReferences, FlowServices, StepError, StepOutput
from rightseat.plugins.plugin import Step
from rightseat.plugins.sql.database import Database, open_database
from rightseat.types.events import Artifact, Custom
from tests.kit.app_server import FakeModel, reply_text
from tests.unit.plugins.flows.step_runs import (
    check_step,
    get_prompt_text,
    list_prompts,
    make_context,
    run_step,
    run_step_to_output,
)
from tests.unit.plugins.sql.shops import create_sqlite_shop, open_shop, opened_shops

pytestmark = [pytest.mark.io, pytest.mark.usefixtures("close_shops")]

BY_REGION = "SELECT region, COUNT(*) AS n FROM customers GROUP BY region ORDER BY n DESC"


@pytest.fixture
def shop_database(tmp_path: Path) -> Database:
    return open_shop("sqlite", tmp_path)


def make_services(databases: dict[str, Database], *queries: str, **more: Any) -> FlowServices:
    lines = [reply_text(json.encode({"sql": sql}).decode()) for sql in queries]
    return FlowServices(model=FakeModel(*lines), operations={}, scripts={}, flows={}, databases=databases, **more)


def make_step(**params: Any) -> Step:
    return Step(name="count", kind="sql", params=params)


@pytest.mark.demand(
    "flows.outputs_extract_sql_render", "flows.sql_real_databases_sqlalchemy", "flows.call_type_embedded_model"
)
async def test_model_writes_the_query_and_everyone_sees_it(shop_database: Database) -> None:
    used = make_services({"shop": shop_database}, BY_REGION)
    items = await run_step(make_context(make_step(), used, question="How many customers are there in each region?"))
    rows = [{"region": "north", "n": 2}, {"region": "south", "n": 1}]
    [said, shown, output] = items
    assert isinstance(said, Custom)
    assert said.value == {"step": "count", "database": "shop", "sql": f"{BY_REGION} LIMIT 101"}
    assert isinstance(shown, Artifact)
    assert (shown.kind, shown.content) == ("table", rows)
    assert output == StepOutput(rows, "The database gave 2 rows.")
    prompt = get_prompt_text(used)
    assert "SQLite SELECT" in prompt
    assert "customer_id INTEGER → customers.id" in prompt
    assert "in each region?" in prompt
    assert list_prompts(used)[0].output_schema is not None


@pytest.mark.demand("flows.sql_real_databases_sqlalchemy")
@pytest.mark.parametrize("wrong", ["SELECT colour FROM customers", "DELETE FROM orders", "SELEC", ""])
async def test_one_mistake_is_repaired(shop_database: Database, wrong: str) -> None:
    used = make_services({"shop": shop_database}, wrong, BY_REGION)
    output = await run_step_to_output(make_context(make_step(), used))
    assert len(output.data) == 2
    assert "It failed:" in get_prompt_text(used)
    if "colour" in wrong:
        assert "no such column: colour" in get_prompt_text(used)


async def test_second_mistake_is_the_steps_failure(shop_database: Database) -> None:
    used = make_services({"shop": shop_database}, "DELETE FROM orders", "DROP TABLE orders", BY_REGION)
    with pytest.raises(StepError, match="was not run: Only SELECT"):
        await run_step(make_context(make_step(), used))
    assert len(list_prompts(used)) == 2


async def test_new_table_is_found_at_the_repair(shop_database: Database, tmp_path: Path) -> None:
    await shop_database.schema()
    with closing(sqlite3.connect(tmp_path / "shop.db")) as connection:
        connection.execute("CREATE TABLE later (a INTEGER)")
        connection.commit()
    used = make_services({"shop": shop_database}, "SELECT * FROM later", "SELECT * FROM later")
    assert (await run_step_to_output(make_context(make_step(), used))).data == []


@pytest.mark.demand("flows.sql_real_databases_sqlalchemy")
async def test_fixed_query_asks_no_model(shop_database: Database) -> None:
    sql = "SELECT name FROM customers WHERE region = :region AND id IN (:ids) ORDER BY id LIMIT :most"
    given = make_step(sql=sql, values={"region": "{start.region}", "ids": "{start.ids}", "most": 5})
    used = make_services({"shop": shop_database})
    staged = make_context(given, used, outputs={"start": {"region": "north", "ids": [1, 2, 3]}})
    assert (await run_step_to_output(staged)).data == [{"name": "Ada"}, {"name": "Chen"}]
    assert list_prompts(used) == []


async def test_what_a_user_says_never_becomes_sql(shop_database: Database) -> None:
    given = make_step(sql="SELECT name FROM customers WHERE name = :name", values={"name": "{question}"})
    staged = make_context(
        given, make_services({"shop": shop_database}), question="x' OR '1'='1'; DROP TABLE orders; --"
    )
    assert (await run_step_to_output(staged)).data == []
    by_hand = make_step(sql="SELECT name FROM customers WHERE name = '{question}'")
    assert (
        await run_step_to_output(make_context(by_hand, make_services({"shop": shop_database}), question="' OR ''='"))
    ).data == []


async def test_fixed_query_is_guarded_too(shop_database: Database) -> None:
    with pytest.raises(StepError, match="Only SELECT"):
        await run_step(make_context(make_step(sql="DELETE FROM orders"), make_services({"shop": shop_database})))
    with pytest.raises(StepError, match="did not answer: no such column"):
        await run_step(make_context(make_step(sql="SELECT colour FROM orders"), make_services({"shop": shop_database})))
    with pytest.raises(StepError, match="not run"):
        await run_step(
            make_context(make_step(sql="SELECT :missing FROM orders"), make_services({"shop": shop_database}))
        )


async def test_more_rows_than_fit_are_said(shop_database: Database) -> None:
    shop_database.limits = type(shop_database.limits)(rows=1)
    output = await run_step_to_output(
        make_context(make_step(sql="SELECT id FROM orders"), make_services({"shop": shop_database}))
    )
    assert output.message == "The database gave 1 row, and there are more."


async def test_among_several_databases_the_one_that_fits(shop_database: Database, tmp_path: Path) -> None:
    file = tmp_path / "zoo.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE elephants (name TEXT, weight REAL)")
        connection.commit()
    zoo = open_database("zoo", "sqlite:///zoo.db", tmp_path)
    opened_shops.append(zoo)
    both = {"shop": shop_database, "zoo": zoo}
    query = "SELECT weight FROM elephants"
    items = await run_step(
        make_context(make_step(), make_services(both, query), question="How heavy are the elephants?")
    )
    assert isinstance(items[0], Custom)
    assert items[0].value["database"] == "zoo"
    named = make_step(database="zoo", sql=query)
    assert (await run_step_to_output(make_context(named, make_services(both)))).data == []
    zoo.cached_schema = None
    file.unlink()
    items = await run_step(
        make_context(make_step(), make_services(both, BY_REGION), question="How heavy are the elephants?")
    )
    assert isinstance(items[0], Custom)
    assert items[0].value["database"] == "shop"


async def test_without_a_database_it_says_what_to_write() -> None:
    with pytest.raises(StepError, match=r"Write \[databases\.NAME\]"):
        await run_step(make_context(make_step(), make_services({})))
    with pytest.raises(StepError, match=r"no database 'shop'.*\[databases\.shop\]"):
        await run_step(make_context(make_step(database="shop"), make_services({})))


async def test_lost_file_is_a_failure_in_words(tmp_path: Path) -> None:
    file = create_sqlite_shop(tmp_path)
    found = open_database("shop", "sqlite:///shop.db", tmp_path)
    opened_shops.append(found)
    await found.schema()
    file.unlink()
    with pytest.raises(StepError, match="unable to open"):
        await run_step(make_context(make_step(sql="SELECT id FROM orders"), make_services({"shop": found})))


async def test_background_and_schema_stay_within_the_context(shop_database: Database) -> None:
    used = make_services({"shop": shop_database}, BY_REGION, context=3000)
    given = make_step(background="{data}", question="Which region? {question}")
    await run_step(make_context(given, used, before="word " * 20_000))
    assert "Which region? What is there?" in get_prompt_text(used)
    assert len(get_prompt_text(used)) < 10_000


@pytest.mark.parametrize(
    ("params", "key"),
    [
        ({"databse": "x"}, "params.databse"),
        ({"sql": ["a"]}, "params.sql"),
        ({"values": {"a": 1}}, "params.values"),
        ({"sql": "SELECT 1", "values": [1]}, "params.values"),
    ],
)
def test_check_finds(params: dict[str, Any], key: str) -> None:
    [problem] = check_step(make_step(**params), FlowReferences())
    assert problem.key == f"steps.count.{key}"


def test_check_finds_nothing() -> None:
    fine = make_step(database="shop", sql="SELECT :a", values={"a": 1})
    assert check_step(fine, FlowReferences()) == []
    assert check_step(make_step(database="any")) == []
