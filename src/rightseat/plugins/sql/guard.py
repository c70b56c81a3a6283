"""Guard for SQL queries: one SELECT, made of allowed syntax and functions, over known tables.

The query that is sent is generated from sqlglot's tree, so nothing unchecked passes: no comment, no second
statement. Checking for SELECT alone is not enough: a SELECT can call functions that write.
"""

from __future__ import annotations

import itertools
import logging
import re
import secrets
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from rightseat.plugins.sql.grammar import FUNCTIONS, KEYS, NAMED, NODES
from rightseat.plugins.sql.query import Query

if TYPE_CHECKING:
    from sqlglot import exp

LONGEST = 20_000
MOST_NODES = 4000
# MySQL and MariaDB execute these comments.
RUN_COMMENT = re.compile(r"^\s*M?!")
FOLDED = ("sqlite", "duckdb", "mysql")


class Refused(Exception):
    """The guard rejects the query. The text says why, for the model or the flow's author."""


class Rules(Struct, frozen=True, kw_only=True):
    dialect: str
    tables: Collection[str]
    """Names as written in queries: `orders`, `shop.orders`."""
    functions: Collection[str] = ()
    """Additional functions that the operator allows, in lower case."""
    rows: int = 1000


def guarded(sql: str, rules: Rules, values: Mapping[str, Any] | None = None) -> Query:
    """Check and rewrite a query; QueryRefused if it is not allowed. `values` fill its `:names`."""
    from sqlglot.errors import SqlglotError

    if len(sql) > LONGEST:
        raise Refused(f"The query is longer than {LONGEST} characters.")
    try:
        marked, marks = placeholders(sql, rules.dialect, values or {})
        tree = parsed(marked, rules.dialect)
        check(tree, rules)
        bounded(tree, rules.rows + 1, marks)
        text = written(tree, rules.dialect)
        # Check the generated text too: the generator may not reproduce the tree.
        check(parsed(text, rules.dialect), rules)
    except SqlglotError as error:
        raise Refused(f"It is no query that can be read: {first_line(error)}") from None
    except RecursionError:
        raise Refused("The query is nested too deeply.") from None
    return Query(text, marks)


def first_line(error: Exception) -> str:
    # sqlglot underlines parts of the query with ANSI escape codes.
    return re.sub(r"\x1b\[[0-9;]*m", "", str(error)).strip().splitlines()[0][:300]


def placeholders(sql: str, dialect: str, values: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Replace each `:name` that has a value by a random name; returns the text and the values."""
    from sqlglot import tokenize
    from sqlglot.tokenizer_core import TokenType

    nonce = f"p{secrets.token_hex(6)}"
    marks: dict[str, Any] = {}
    pieces: list[str] = []
    place = 0
    tokens = tokenize(sql, read=dialect)
    for token in tokens:
        if dialect == "mysql" and any(RUN_COMMENT.match(comment) for comment in token.comments):
            raise Refused("It has a comment that the database would run.")
    for colon, name in itertools.pairwise(tokens):
        if colon.token_type != TokenType.COLON or name.start != colon.end + 1 or name.text not in values:
            continue
        pieces.append(sql[place : colon.start])
        value = values[name.text]
        names = []
        for one in value if isinstance(value, list) else [value]:
            names.append(f"{nonce}x{len(marks)}")
            marks[names[-1]] = one
        pieces.append(", ".join(names) or "NULL")
        place = name.end + 1
    return "".join([*pieces, sql[place:]]), marks


def parsed(sql: str, dialect: str) -> exp.Expr:
    import sqlglot

    # sqlglot would log users' statements as warnings.
    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)
    found = [one for one in sqlglot.parse(sql, read=dialect) if one is not None]
    if len(found) != 1:
        raise Refused("Write exactly one statement." if found else "There is no statement.")
    return found[0]


def written(tree: exp.Expr, dialect: str) -> str:
    from sqlglot.errors import ErrorLevel

    text: str = tree.sql(dialect, comments=False, unsupported_level=ErrorLevel.RAISE)
    return text


def check(tree: exp.Expr, rules: Rules) -> None:
    """Raise QueryRefused if the tree has anything that is not allowed."""
    from sqlglot import exp

    if not isinstance(tree, exp.Select | exp.SetOperation):
        raise Refused(f"Only SELECT can be run here, not {type(tree).__name__.upper()}.")
    for number, node in enumerate(tree.walk()):
        if number > MOST_NODES:
            raise Refused("The query is too large.")
        if isinstance(node, exp.Func):
            function(node, rules)
        elif type(node).__name__ not in NODES:
            raise Refused(f"{type(node).__name__} is not allowed in a query here.")
        keys(node)
        if isinstance(node, exp.Table):
            table(node, rules)
        if isinstance(node, exp.Dot) and node.find(exp.Func):
            raise Refused("Call functions by their names alone, without a schema.")
        if isinstance(node, exp.DataType) and node.this == exp.DType.USERDEFINED:
            raise Refused("Only the database's own types can be cast to.")


def keys(node: exp.Expr) -> None:
    """Raise QueryRefused if the node has a key that is not allowed for its type."""
    allowed = KEYS.get(type(node).__name__)
    if allowed is None:
        return
    for key, value in node.args.items():
        if value and key not in allowed:
            raise Refused(f"{key.strip('_').upper()} is not allowed in a query here.")
    if type(node).__name__ == "Select" and not node.args.get("expressions"):
        raise Refused("It selects nothing.")


def function(node: exp.Func, rules: Rules) -> None:
    from sqlglot import exp

    if isinstance(node, exp.Anonymous):
        name = node.name.lower()
        # A quoted name may refer to another function.
        allowed = name in NAMED[rules.dialect] and not isinstance(node.this, exp.Identifier)
    else:
        name = node.sql(rules.dialect, comments=False).partition("(")[0].strip().lower()[:60]
        allowed = type(node).__name__ in FUNCTIONS
    if not allowed and name not in rules.functions:
        raise Refused(f"The function {name} is not allowed in a query here.")


def table(node: exp.Table, rules: Rules) -> None:
    from sqlglot import exp

    if not isinstance(node.this, exp.Identifier):
        raise Refused("Only tables can be read from, not functions.")
    name = folded(node.this, rules.dialect)
    schema = node.args.get("db")
    if schema is not None:
        name = f"{folded(schema, rules.dialect)}.{name}"
    elif name in visible(node, rules.dialect):
        return
    known = {one.lower() for one in rules.tables} if rules.dialect in FOLDED else rules.tables
    if name not in known:
        raise Refused(f"There is no table {name!r} to read from.")


def folded(name: exp.Expr, dialect: str) -> str:
    """Return the name in the case the database compares."""
    text: str = name.name
    return text if dialect not in FOLDED and name.args.get("quoted") else text.lower()


def visible(node: exp.Expr, dialect: str) -> Iterator[str]:
    """Yield the CTE names visible at the node. Within a WITH only earlier ones count, unless it is recursive:
    a reference to itself would be a table."""
    from sqlglot import exp

    below: exp.Expr = node
    above = node.parent
    while above is not None:
        if isinstance(above, exp.With):
            for cte in above.expressions:
                if cte is below and not above.args.get("recursive"):
                    break
                yield folded(cte.args["alias"].this, dialect)
                if cte is below:
                    break
        elif (own := above.args.get("with_")) is not None and below is not own:
            yield from (folded(cte.args["alias"].this, dialect) for cte in own.expressions)
        below, above = above, above.parent


def bounded(tree: exp.Expr, most: int, marks: dict[str, Any]) -> None:
    """Set LIMIT to at most `max_rows`."""
    from sqlglot import exp

    limit = tree.args.get("limit")
    wanted = limit.expression if isinstance(limit, exp.Limit) else limit.args.get("count") if limit else None
    if isinstance(wanted, exp.Column) and wanted.name in marks:
        given = marks.pop(wanted.name)
        if isinstance(given, bool) or not isinstance(given, int) or given < 0:
            raise Refused("LIMIT takes a whole number.")
        wanted = exp.Literal.number(given)
    if limit is not None and not (isinstance(wanted, exp.Literal) and wanted.is_int):
        raise Refused("LIMIT takes a whole number.")
    rows = most if wanted is None else min(int(wanted.name), most)
    tree.set("limit", exp.Limit(expression=exp.Literal.number(rows)))
