"""Row security of PostgreSQL: the database itself shows a statement only the rows of the owner that it is for.

It is a second wall behind the owner in every statement. A server says before each statement whose rows it is about; a
connection that has said nothing sees none. The batches of the writer and the sweeps are about all owners.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import psycopg

from rightseat.errors import ConfigError
from rightseat.stores.postgres.schema import has_table, lock_schema, name_schema
from rightseat.stores.postgres.statements import SWEEPS

PROTECTED_TABLES = ("threads", "entries", "runs", "owners", "kept")
ALL_OWNERS, NO_OWNER = "*", ""
SET_SCOPE = "SELECT set_config('rightseat.owner', %(scope)s, false)"
PROTECT_TABLE = """
ALTER TABLE {s}.{table} ENABLE ROW LEVEL SECURITY;
ALTER TABLE {s}.{table} FORCE ROW LEVEL SECURITY;
DROP POLICY IF EXISTS rightseat_owner ON {s}.{table};
CREATE POLICY rightseat_owner ON {s}.{table}
    USING (current_setting('rightseat.owner', true) IN ('*', '=' || owner));
"""
FREE_TABLE = """
DROP POLICY IF EXISTS rightseat_owner ON {s}.{table};
ALTER TABLE {s}.{table} NO FORCE ROW LEVEL SECURITY;
ALTER TABLE {s}.{table} DISABLE ROW LEVEL SECURITY;
"""
COUNT_PROTECTED = """
SELECT count(*) FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = %(schema)s AND c.relname = ANY(%(tables)s) AND c.relrowsecurity
"""
GET_BYPASS = "SELECT rolsuper OR rolbypassrls, rolname FROM pg_roles WHERE rolname = current_user"


def get_scope(text: str, parameters: Mapping[str, Any]) -> str:
    """Return whose rows a statement may see: its owner's, all for a sweep, else none."""
    owner = parameters.get("owner")
    if owner is not None:
        return f"={owner}"
    return ALL_OWNERS if text in SWEEPS else NO_OWNER


def is_protected(connection: psycopg.Connection[Any], schema: str) -> bool:
    """Whether any table of the deployment has row security."""
    values = {"schema": schema, "tables": list(PROTECTED_TABLES)}
    found = connection.execute(COUNT_PROTECTED, values).fetchone()
    return bool(found and found[0])


def find_bypassing_account(connection: psycopg.Connection[Any]) -> str:
    """Return the name of this connection's account if row security does not hold for it, else ""."""
    found = connection.execute(GET_BYPASS).fetchone()
    return str(found[1]) if found and found[0] else ""


def protect_tables(connection: psycopg.Connection[Any], schema: str, *, protect: bool = True) -> bool:
    """Switch row security on or off for all tables; return whether that changed anything."""
    if not has_table(connection, schema, PROTECTED_TABLES[0]):
        raise ConfigError(f"There are no tables in {schema} yet. Run `rightseat store migrate` first.")
    with lock_schema(connection, schema), connection.transaction():
        before = is_protected(connection, schema)
        for table in PROTECTED_TABLES:
            step = PROTECT_TABLE if protect else FREE_TABLE
            connection.execute(name_schema(step.replace("{table}", table), schema))
    return before != protect


def check_row_security(connection: psycopg.Connection[Any], schema: str, *, row_security: bool) -> None:
    """Raise ConfigError where a server would see nothing: it does not say whose rows it asks for."""
    if not row_security and is_protected(connection, schema):
        raise ConfigError(
            f"The tables in {schema} have row security. Write [store] row_security = true, or switch it off with "
            "`rightseat store protect --off`."
        )
