"""Refusals of PostgreSQL: which right an account lacks on the tables, and the statement that grants it.

What a command or the start of a server meets becomes one sentence, which `rightseat doctor` says too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from msgspec import Struct

from rightseat.config.remedies import UnusableServer, end_sentence, quote_name

TABLES = ("threads", "entries", "runs", "owners", "kept", "replicas")
ONLY_READ = ("schema_version", "moves")
READ_RIGHTS = ("SELECT",)
RIGHTS = ("SELECT", "INSERT", "UPDATE", "DELETE")
MIGRATE_FIX = "have an account that may run `rightseat store migrate`"
PRIMARY_FIX = "Give the address of the primary in [store] url"
# Statements for a person to run: none of them is run here.
GRANT_DATABASE = "GRANT CREATE ON DATABASE {database} TO {user};"
GRANT_SCHEMA = "GRANT CREATE ON SCHEMA {schema} TO {user};"
RESET_READ_ONLY = {
    "user": "ALTER ROLE {user} RESET default_transaction_read_only;",
    "database": "ALTER DATABASE {database} RESET default_transaction_read_only;",
    "database user": "ALTER ROLE {user} IN DATABASE {database} RESET default_transaction_read_only;",
}
"""By where the setting comes from, in the words of pg_settings."""
GET_STATE = """
SELECT current_user::text, current_database()::text, pg_is_in_recovery(),
    current_setting('transaction_read_only') = 'on',
    (SELECT source FROM pg_settings WHERE name = 'default_transaction_read_only'),
    n.oid IS NOT NULL, has_database_privilege(current_database(), 'CREATE'),
    COALESCE(has_schema_privilege(n.oid, 'USAGE'), false), COALESCE(has_schema_privilege(n.oid, 'CREATE'), false),
    EXISTS (SELECT FROM pg_class AS c WHERE c.relnamespace = n.oid AND c.relname = 'schema_version')
FROM (VALUES (1)) AS one LEFT JOIN pg_namespace AS n ON n.nspname = %(schema)s
"""
# By number and not by name: a name in a schema without USAGE is refused.
GET_MISSING_RIGHTS = """
SELECT c.relname::text, r.name FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace,
    unnest(%(rights)s::text[]) AS r (name)
WHERE n.nspname = %(schema)s AND c.relkind IN ('r', 'p')
AND (c.relname = ANY(%(tables)s) OR (c.relname = ANY(%(only_read)s) AND r.name = 'SELECT'))
AND NOT has_table_privilege(c.oid, r.name) ORDER BY array_position(%(tables)s::text[], c.relname::text), 2
"""
GET_OTHER_OWNER = """
SELECT pg_get_userbyid(c.relowner)::text FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = %(schema)s AND c.relkind IN ('r', 'p') AND NOT pg_has_role(c.relowner, 'USAGE') LIMIT 1
"""
MAY_IDENTIFY = "SELECT has_function_privilege('pg_control_system()', 'EXECUTE'), current_user::text"


class Obstacle(Struct, frozen=True):
    """What an account may not do, and what lets it."""

    why: str
    fix: str


class AccountState(Struct, frozen=True):
    """What the server says of this connection's account."""

    user: str
    database: str
    is_standby: bool
    is_read_only: bool
    read_only_source: str
    has_schema: bool
    may_create: bool
    may_use: bool
    may_create_tables: bool
    has_tables: bool


FindObstacle = Callable[[psycopg.Connection[Any], str], Obstacle | None]


def read_state(connection: psycopg.Connection[Any], schema: str) -> AccountState:
    row = connection.execute(GET_STATE, {"schema": schema}).fetchone()
    assert row is not None
    return AccountState(*row)


def describe_read_only(state: AccountState) -> Obstacle | None:
    """Describe why nothing can be written: a standby, or a setting; None if it can."""
    if state.is_standby:
        return Obstacle("the server is a standby, which is read-only", f"{PRIMARY_FIX}.")
    if not state.is_read_only:
        return None
    template = RESET_READ_ONLY.get(state.read_only_source, "switch default_transaction_read_only off.")
    whose = f"the account {state.user}" if "user" in state.read_only_source else "the server or its database"
    undo = template.format(user=quote_name(state.user), database=quote_name(state.database))
    why = f"{whose} is read-only: default_transaction_read_only is on"
    return Obstacle(why, f"{PRIMARY_FIX} if this is a standby; else let it write: {undo}")


def find_missing_right(
    connection: psycopg.Connection[Any], schema: str, rights: Sequence[str] = RIGHTS
) -> Obstacle | None:
    """Find what the account lacks to make the tables, or to use them."""
    state = read_state(connection, schema)
    if rights != READ_RIGHTS and (obstacle := describe_read_only(state)):
        return obstacle
    user, place = quote_name(state.user), quote_name(schema)
    if not state.has_schema:
        if state.may_create:
            return None
        grant = GRANT_DATABASE.format(database=quote_name(state.database), user=user)
        return Obstacle(f"{state.user} may not make the schema {schema}", f"{grant} Or {MIGRATE_FIX}.")
    values = {"schema": schema, "tables": list(TABLES), "only_read": list(ONLY_READ), "rights": list(rights)}
    missing = connection.execute(GET_MISSING_RIGHTS, values).fetchall()
    grants = [f"GRANT {', '.join(rights)} ON ALL TABLES IN SCHEMA {place} TO {user};"] if missing else []
    if not state.may_use:
        grant = f"GRANT USAGE ON SCHEMA {place} TO {user};"
        return Obstacle(f"{state.user} may not use the schema {schema}", " ".join([grant, *grants]))
    if missing:
        text = ", ".join(f"{right} on {table}" for table, right in missing[:4]) + (" …" if len(missing) > 4 else "")
        return Obstacle(f"{state.user} lacks {text}", grants[0])
    if not state.has_tables and not state.may_create_tables:
        return describe_no_tables(state, schema)
    return None


def describe_no_tables(state: AccountState, schema: str) -> Obstacle:
    grant = GRANT_SCHEMA.format(schema=quote_name(schema), user=quote_name(state.user))
    return Obstacle(f"{state.user} may not make tables in the schema {schema}", f"{grant} Or {MIGRATE_FIX}.")


def find_missing_ownership(connection: psycopg.Connection[Any], schema: str) -> Obstacle | None:
    """Find what the account lacks to change the tables, as a migration does."""
    state = read_state(connection, schema)
    if row := connection.execute(GET_OTHER_OWNER, {"schema": schema}).fetchone():
        grant = f"GRANT {quote_name(row[0])} TO {quote_name(state.user)};"
        why = f"the tables in {schema} belong to {row[0]}, and {state.user} may not change them"
        return Obstacle(why, f"run `rightseat store migrate` as {row[0]}, or {grant}")
    return None if state.may_create_tables or not state.has_schema else describe_no_tables(state, schema)


def find_missing_identity(connection: psycopg.Connection[Any], schema: str) -> Obstacle | None:
    """Find out whether the account may ask for the server's identity, of which the deployment's name is made."""
    row = connection.execute(MAY_IDENTIFY).fetchone()
    if row is None or row[0]:
        return None
    grant = f"GRANT EXECUTE ON FUNCTION pg_control_system() TO {quote_name(row[1])};"
    return Obstacle(f"{row[1]} may not ask for the database's identity", f"{grant} Or name [live] deployment.")


def find_any_obstacle(connection: psycopg.Connection[Any], schema: str) -> Obstacle | None:
    return find_missing_right(connection, schema) or find_missing_ownership(connection, schema)


def find_read_obstacle(connection: psycopg.Connection[Any], schema: str) -> Obstacle | None:
    return find_missing_right(connection, schema, READ_RIGHTS)


@contextmanager
def explain_refusals(
    connection: psycopg.Connection[Any], schema: str, find: FindObstacle = find_any_obstacle
) -> Iterator[None]:
    """Turn errors of the database into a ConfigError that says what is missing and what to do."""
    try:
        yield
    except psycopg.Error as error:
        raise explain_error(error, connection, schema, find) from error


def explain_error(
    error: psycopg.Error, connection: psycopg.Connection[Any], schema: str, find: FindObstacle
) -> UnusableServer:
    text = (error.diag.message_primary or str(error).strip() or type(error).__name__).splitlines()[0]
    if isinstance(error, psycopg.errors.InsufficientPrivilege | psycopg.errors.ReadOnlySqlTransaction):
        with suppress(psycopg.Error):
            if obstacle := find(connection, schema):
                return UnusableServer(f"PostgreSQL refuses: {obstacle.why}", obstacle.fix)
    if connection.closed:
        return UnusableServer(f"The connection to PostgreSQL is lost: {text}", "Look whether it runs, and try again.")
    return UnusableServer(f"PostgreSQL refuses: {end_sentence(text)}", "Its log says more.")
