"""Artifacts of tools and agents, in the form that the client can show.

A file is stored for a while under an unguessable token, because a followed link carries no API key. For a client
that shows only text a file becomes that link, an HTML page a file, and a table Markdown. A chart that the client does
not draw becomes the table of its rows. What the person gets instead is noted for the model.
"""

from __future__ import annotations

import asyncio
import base64
import re
import secrets
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec import Struct
from msgspec.structs import astuple, replace

from rightseat.engine.tool_events import UnusableEventError, normalize_event
from rightseat.types.charts import Rows, find_chart_fault, list_chart_rows, parse_chart, parse_rows
from rightseat.types.events import (
    Artifact,
    Citations,
    Custom,
    Event,
    StateDelta,
    StateSnapshot,
    Suggestions,
    text_events,
)
from rightseat.types.json_rows import TableRows, columns_to_rows, count_rows, name_cells, to_json_rows
from rightseat.types.json_values import (
    NotJsonError,
    decode_encoded,
    encode_json,
    is_large,
    series_to_frame,
    to_json_value,
)
from rightseat.types.language import Language
from rightseat.types.sentences import get_sentence
from rightseat.types.stores import IdGenerator, Store
from rightseat.types.turn import Owner, Turn, TurnClient

FILE_OWNER = Owner("(files)")
"""Store owner of all files: whoever knows the token may read the file."""
FILE_TOKEN = re.compile(r"file_[0-9a-f]{32}")
MAX_ROWS, MAX_COLUMNS, MAX_CELL = 20, 50, 80
MAX_ARTIFACT_BYTES = 8 << 20
"""Of a longer table the first rows are sent; any other artifact that is larger is not shown."""
ROW_FIELDS = ("data", "rows")
"""Where the rows of a table or chart are, if its content is an object."""
MAX_INLINE_BYTES = 64 << 10
"""A larger file is not sent inside its event, only as a link."""


class StoredFile(Struct, frozen=True):
    name: str
    media_type: str
    data: bytes


async def present_event(event: Event, turn: Turn, store: Store) -> PresentedArtifact:
    """Return an event of a tool or an agent in the form that the client can show; of what has no JSON form, a sentence
    that says so."""
    try:
        event = normalize_event(event)
        if isinstance(event, Suggestions | Citations) and not any(astuple(event)):
            return PresentedArtifact([])
        if not isinstance(event, Artifact):
            return PresentedArtifact([await with_json_values(event)])
        # A name may be that of a file, with bytes that are no text.
        name, description = to_json_value(event.name), to_json_value(event.description)
        event = replace(event, name=name, description=description)
        if event.kind == "file":
            return await present_artifact(event, turn, store)
        return await _present_data(event, turn, store)
    except NotJsonError as error:
        name = event.name if isinstance(event, Artifact | Custom) else type(event).__name__
        return say_not_shown(name, turn, f"{name} was not shown, because it has no JSON form ({error}).")
    except UnusableEventError as error:
        name = (isinstance(event, Artifact) and (event.name or event.kind)) or type(event).__name__
        return say_not_shown(name, turn, f"{name} was not shown: {error}")


async def with_json_values(event: Event) -> Event:
    """Return the event with plain JSON values instead of what a Python tool put in: data frames, dates, models.
    Raise NotJsonError where that is impossible."""
    match event:
        case StateSnapshot(state):
            return replace(event, state=await convert_beside_loop(state))
        case StateDelta(patch):
            return replace(event, patch=await convert_beside_loop(patch))
        case Custom(value=value):
            return replace(event, value=await convert_beside_loop(value))
        case _:
            return event


async def convert_beside_loop(value: Any) -> Any:
    """Return the JSON value of a value; a large one is converted in a thread."""
    return await asyncio.to_thread(to_json_value, value) if is_large(value) else to_json_value(value)


async def _present_data(event: Artifact, turn: Turn, store: Store) -> PresentedArtifact:
    is_drawn_whole = event.kind == "chart" and turn.client.chart_kinds is not None
    max_rows = None if turn.client.shows_artifacts or is_drawn_whole else MAX_ROWS
    content, table = await asyncio.to_thread(convert_content, event, max_rows)
    total = table.total if table else None
    if table is not None and not table.rows and needs_rows(turn.client):
        note = f"{event.name or f'The {event.kind}'} has no rows, so nothing was shown."
        sentence = get_sentence("no_rows", turn.get_language(), name=event.name or event.kind)
        return PresentedArtifact(make_sentence_events(sentence, turn), note)
    presented = await present_artifact(replace(event, content=content), turn, store, total)
    if table is None or len(table.rows) == table.total or not turn.client.shows_artifacts:
        # The text of a table has its own sentence.
        return presented
    shown, total_text = f"{len(table.rows):,}", f"{table.total:,}"
    sentence = get_sentence("rows_shown", turn.get_language(), name=event.name, shown=shown, total=total_text)
    note = f"Of {event.name} only the first {shown} of {total_text} rows were shown."
    events = [*presented.events, *make_sentence_events(sentence, turn)]
    return PresentedArtifact(events, " ".join(filter(None, (presented.note, note))))


def convert_content(event: Artifact, max_rows: int | None) -> tuple[Any, TableRows | None]:
    """Return the content of an artifact as JSON decodes it, and its rows where it is a table. Raise NotJsonError
    where that is impossible."""
    content = event.content
    if event.kind in ("table", "chart"):
        content = series_to_frame(content)
        # A chart that is an object is an option of ECharts, whose `series` is no column.
        content = columns_to_rows(content) if event.kind == "table" else content
        if count_rows(content) is not None:
            table = to_json_rows(content, MAX_ARTIFACT_BYTES, max_rows)
            return name_cells(table.rows), table
        if isinstance(content, dict):
            return _convert_object(content, max_rows)
    return _convert_whole(content), None


def _convert_object(content: dict[Any, Any], max_rows: int | None) -> tuple[Any, TableRows | None]:
    tables = {name: columns_to_rows(series_to_frame(content[name])) for name in ROW_FIELDS if name in content}
    name, rows = next(((name, table) for name, table in tables.items() if count_rows(table) is not None), ("", None))
    if not name:
        return _convert_whole(content), None
    table = to_json_rows(rows, MAX_ARTIFACT_BYTES, max_rows)
    return {**_convert_whole({**content, name: None}), name: table.rows}, table


def _convert_whole(content: Any) -> Any:
    encoded = encode_json(content)
    if len(encoded) > MAX_ARTIFACT_BYTES:
        raise NotJsonError(f"it has {len(encoded) >> 20} MB, and {MAX_ARTIFACT_BYTES >> 20} MB are the most")
    return decode_encoded(content, encoded)


class PresentedArtifact(Struct, frozen=True):
    """An artifact as the client gets it."""

    events: list[Event]
    note: str = ""
    """What the model is told where the person gets something else than the artifact."""


async def present_artifact(event: Artifact, turn: Turn, store: Store, total: int | None = None) -> PresentedArtifact:
    """Return the artifact, or what stands for it at a client that does not show it; nothing where the answer must fit a
    schema. `total`: the number of a table's rows, if the event has not all of them."""
    client, label = turn.client, event.name or f"The {event.kind}"
    if turn.output_schema is not None and not client.shows_artifacts:
        return PresentedArtifact([], f"{label} was not shown, because the answer must fit a schema.")
    shown, note = event, ""
    # A chart may have many points: it is read beside the event loop.
    if event.kind == "chart" and not await asyncio.to_thread(is_drawn, event, client):
        rows = await asyncio.to_thread(list_chart_rows, event.content)
        shown = replace(event, kind="table", content=rows)
        fault = await asyncio.to_thread(find_chart_fault, event.content)
        reason = f" was not drawn: {fault}" if fault else ": this client does not draw it."
        note = f"{label}{reason} The person sees its numbers as a table."
        if not rows:
            return say_not_shown(event.name or event.kind, turn, f"{label} was not shown: its data cannot be read.")
    elif event.kind == "html" and not client.shows_artifacts:
        shown = make_html_file(event)
        note = f"{label}: this client shows no HTML. The person has got it as a link to a file."
    # In a terminal nobody can follow a link: there is no server.
    if shown.kind == "file" and (client.shows_artifacts or client.base_url):
        shown = await store_and_link_file(shown, turn, store)
    if client.shows_artifacts or shown.kind == "chart":
        return PresentedArtifact([shown], note)
    text = artifact_as_text(shown, turn.get_language(), total)
    if not text:
        reason = "it is empty" if shown.kind == "table" else "this client shows only text"
        return PresentedArtifact([], f"{shown.name or label} was not shown: {reason}.")
    count = (total or len(parse_rows(shown.content))) if shown.kind == "table" else 0
    if count > MAX_ROWS:
        note = f"{note or f'{label}:'} Of its rows the person sees the first {MAX_ROWS} of {count} rows."
    return PresentedArtifact(text_events(IdGenerator().new_message_id(), text), note)


def is_drawn(event: Artifact, client: TurnClient) -> bool:
    """Whether the client draws a chart."""
    if client.chart_kinds is None:
        return client.shows_artifacts
    chart = parse_chart(event.content)
    return chart is not None and chart.kind in client.chart_kinds and not find_chart_fault(event.content)


def needs_rows(client: TurnClient) -> bool:
    """Whether the client shows nothing for a table without rows."""
    return not client.shows_artifacts or client.chart_kinds is not None


def say_not_shown(name: str, turn: Turn, note: str) -> PresentedArtifact:
    """Return the sentence that the person reads in place of an artifact, with the note for the model."""
    sentence = get_sentence("not_shown", turn.get_language(), name=name)
    return PresentedArtifact(make_sentence_events(sentence, turn), note)


def make_sentence_events(sentence: str, turn: Turn) -> list[Event]:
    """Return the events of a sentence to the person; none where the answer must fit a schema."""
    return [] if turn.output_schema is not None else text_events(IdGenerator().new_message_id(), sentence)


def make_html_file(event: Artifact) -> Artifact:
    page = event.content if isinstance(event.content, str) else ""
    name = event.name if event.name.lower().endswith((".html", ".htm")) else f"{event.name or 'page'}.html"
    content = {"media_type": "text/html", "data": page.encode("utf-8", "replace")}
    return replace(event, kind="file", name=name, content=content)


async def store_and_link_file(event: Artifact, turn: Turn, store: Store) -> Artifact:
    """Store the file and return its artifact with a `url`. Its `data` is base64, or the bytes themselves."""
    content = event.content if isinstance(event.content, dict) else {}
    if "url" in content:
        return event
    if isinstance(content.get("data"), bytes):
        content = {**content, "data": base64.b64encode(content["data"]).decode()}
    try:
        data = base64.b64decode(content["data"], validate=True)
    except (KeyError, TypeError):
        return event
    except ValueError:
        raise UnusableEventError("its data is not base64. Give bytes.") from None
    token = f"file_{secrets.token_hex(16)}"
    file = StoredFile(event.name, str(content.get("media_type") or "application/octet-stream"), data)
    await store.save_results(FILE_OWNER, {token: msgspec.json.encode(file).decode()})
    url = f"{turn.client.base_url}/files/{token}/{quote(event.name, safe='')}"
    is_large = len(data) > MAX_INLINE_BYTES
    inline = {key: value for key, value in content.items() if key != "data" or not is_large}
    return replace(event, content={**inline, "url": url})


async def load_file(store: Store, token: str) -> StoredFile | None:
    if not FILE_TOKEN.fullmatch(token):
        return None
    encoded = (await store.get_results(FILE_OWNER, [token])).get(token)
    return None if encoded is None else msgspec.json.decode(encoded, type=StoredFile)


def artifact_as_text(event: Artifact, language: Language = "en", total: int | None = None) -> str:
    content = event.content
    about = f"\n\n{event.description.strip()}" if event.description.strip() else ""
    if isinstance(content, dict) and "url" in content:
        return f"[{escape_markdown(event.name)}]({content['url']}){about}"
    if event.kind == "text" and isinstance(content, str):
        return content
    if event.kind != "table" or not (rows := parse_rows(content)):
        return ""
    heading = f"{escape_markdown(event.name)}{about}".strip()
    return (f"{heading}\n\n" if heading else "") + markdown_table(rows, language, total)


def markdown_table(rows: Rows, language: Language = "en", total: int | None = None) -> str:
    """Format the first rows as a Markdown table. `total`: the number of all rows."""
    all_columns = list(dict.fromkeys(key for row in rows[:MAX_ROWS] for key in row))
    columns = all_columns[:MAX_COLUMNS]
    lines = [[*map(format_cell, columns)], ["---"] * len(columns)]
    lines += [[format_cell(row.get(column)) for column in columns] for row in rows[:MAX_ROWS]]
    table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    row_count = total or len(rows)
    sentences = []
    if row_count > MAX_ROWS:
        sentences.append(get_sentence("more_rows", language, shown=MAX_ROWS, total=row_count))
    if len(all_columns) > MAX_COLUMNS:
        sentences.append(get_sentence("more_columns", language, shown=MAX_COLUMNS, total=len(all_columns)))
    return "\n\n".join(filter(None, (table, " ".join(sentences))))


def format_cell(value: Any) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    text = " ".join(text.replace("|", "\\|").split())
    return text if len(text) <= MAX_CELL else f"{text[: MAX_CELL - 1]}…"


def escape_markdown(name: str) -> str:
    return re.sub(r"([\[\]()<>`*_\\])", r"\\\1", " ".join(name.split()))
