"""The tables of docs/security.md: attacks with their guards from checks/guards.toml, and the limits from the code."""

import re
from collections.abc import Iterator

from checks.files import ROOT
from checks.guards import SecurityRow, read_rows, shorten_path
from rightseat.config.settings import GraphQLLimits, ServerSettings
from rightseat.documents import reading
from rightseat.documents.document import ReadLimits
from rightseat.http import auth
from rightseat.http.fetch import fetch
from rightseat.plugins import plugin_file, yaml_reader
from rightseat.plugins.sql import guard
from rightseat.plugins.sql.query import QueryLimits
from rightseat.server import uvicorn_protocol
from rightseat.types import messages, schema, schema_cost, workers

PAGE = ROOT / "docs" / "security.md"
BEGIN = "<!-- {} -->"
END = "<!-- End of what is written. -->"
GUARDS_MARK = "Written by `make reference` from checks/guards.toml: change that."
LIMITS_MARK = "Written by `make reference` from the code: change that."


def list_cells(row: SecurityRow) -> Iterator[str]:
    """Yield the cells of a row: number, attack, promise, guards with their files, test files."""
    yield str(row.number)
    yield row.attack
    yield row.promise
    places = [f"{entry.name} (`{shorten_path(entry.file)}`)" for entry in row.guards]
    yield "; ".join(places) or f"none to remove: {row.because}"
    yield ", ".join(dict.fromkeys(f"`{test.partition('::')[0]}`" for entry in row.guards for test in entry.tests))


def format_row(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def build_guards_table() -> str:
    rows = read_rows()
    count = sum(len(row.guards) for row in rows)
    head = "| # | attack | promise | guards | tests |\n|---|---|---|---|---|"
    return f"{len(rows)} attacks, {count} guards.\n\n{head}\n" + "\n".join(format_row(*list_cells(row)) for row in rows)


def format_bytes(number: int) -> str:
    return f"{number >> 20} MB" if number >= 1 << 20 else f"{number >> 10} KB"


Limit = tuple[str, str, str]
"""What is limited, the limit, and the key that changes it."""


def list_request_limits() -> list[Limit]:
    server, graphql = ServerSettings(), GraphQLLimits()
    head = f"{server.max_header_kb} KB, {uvicorn_protocol.MAX_HEADERS} headers"
    times = f"{server.header_timeout:g} s, {server.body_timeout:g} s"
    size = f"{schema.MAX_SCHEMA_BYTES:,} bytes, {schema.MAX_SCHEMA_DEPTH} levels"
    document = f"{graphql.max_characters:,} characters, {graphql.max_tokens:,} tokens, {graphql.max_depth} levels"
    counts = f"{graphql.max_aliases} aliases, {graphql.max_selections} selections in one place"
    return [
        ("head of a request", head, "`max_header_kb`"),
        ("time for a head, for a body", times, "`header_timeout`, `body_timeout`"),
        ("body of a request", f"{server.max_body_mb:g} MB, not compressed", "`max_body_mb`"),
        ("messages of a request", f"{messages.MAX_MESSAGES:,}", ""),
        ("tools of a request", f"{messages.MAX_TOOLS:,}", ""),
        ("JSON Schema", f"{size}, {schema_cost.MAX_EVALUATIONS:,} checks of one value", ""),
        ("compiled schemas that are kept", f"{schema.MAX_CACHED_VALIDATORS}", ""),
        ("GraphQL document", f"{document}, {counts}", "`[server.graphql]`"),
        ("runs at the same time", f"{server.max_runs:,}", "`max_runs`"),
    ]


def list_work_limits() -> list[Limit]:
    """List the limits of what a request causes."""
    sql, document = QueryLimits(), ReadLimits()
    answer = f"{format_bytes(fetch.MAX_BYTES)} before and after unpacking, {fetch.TIMEOUT_SECONDS:g} s"
    file = f"{format_bytes(plugin_file.MAX_BYTES)}, {yaml_reader.MAX_NODES:,} values with aliases expanded"
    query = f"{guard.MAX_QUERY_LENGTH:,} characters, {guard.MAX_NODES:,} nodes, {sql.seconds:g} s"
    memory = f"{format_bytes(sql.memory)} of memory, {sql.rows:,} rows"
    inline = f"a picture or a text of at most {format_bytes(reading.MAX_INLINE_BYTES)}"
    small = f"texts and bodies up to {format_bytes(workers.INLINE_SIZE)}"
    large = f"larger ones in {workers.WORKERS} threads, in pieces of {format_bytes(workers.PIECE_CHARS)}"
    return [
        ("answer of an API, fetched file", f"{answer}, {fetch.MAX_REDIRECTS} redirects", ""),
        ("keys of a token's issuer", f"{format_bytes(auth.MAX_JWKS)}, {auth.JWKS_SECONDS:g} s", ""),
        ("file of a plugin", f"{file}, {yaml_reader.MAX_DEPTH} levels", ""),
        ("query of a model", f"{query}, {memory}", "`[databases.NAME]`"),
        (
            "document of a message",
            f"{format_bytes(document.bytes)}, {document.seconds:g} s, in a process of its own unless it is {inline}",
            "",
        ),
        ("work in the event loop", f"{small}; {large}", ""),
    ]


def build_limits_table() -> str:
    head = "| what | limit | key |\n|---|---|---|"
    return f"{head}\n" + "\n".join(format_row(*limit) for limit in (*list_request_limits(), *list_work_limits()))


def replace_section(page: str, mark: str, text: str) -> str:
    """Return the page with the text between the marks; the page must have them once."""
    begin = BEGIN.format(mark)
    before, after = re.split(f"{re.escape(begin)}.*?{re.escape(END)}", page, flags=re.DOTALL)
    return f"{before}{begin}\n\n{text}\n\n{END}{after}"


def build_page() -> str:
    page = PAGE.read_text(encoding="utf-8")
    page = replace_section(page, GUARDS_MARK, build_guards_table())
    return replace_section(page, LIMITS_MARK, build_limits_table())
