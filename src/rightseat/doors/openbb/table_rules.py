"""Rules in place of a model that is too small: which widget a question is about, with which arguments, and what its
rows answer.

A model of a hundred million parameters takes a widget's name for a ticker and adds up nothing. For such a model
(`Capabilities.needs_rules`) the rules choose the call, compute the answer from the posted rows, and say what is
missing; where they are not sure, the rows are shown. Other models never come here.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from rightseat.documents.text import decode_text
from rightseat.doors.openbb.client_results import RenderedResult, ResultPart, looks_like_base64, parse_parts
from rightseat.doors.openbb.messages import PostedText
from rightseat.doors.openbb.read import AddedContext, OpenBBRequest, find_last_user_index
from rightseat.doors.openbb.turn import ends_with_question
from rightseat.doors.openbb.wire import as_dict, as_list, as_text
from rightseat.doors.openbb.workspace_tools import (
    EMPTY_SCHEMA,
    UNSET_VALUES,
    VALUE_FIELDS,
    WIDGET_FUNCTIONS,
    WorkspaceTool,
    get_option_value,
)
from rightseat.http.endpoint import AssistantInfo
from rightseat.tools.builtin.table_text import TableUnreadable, find_table
from rightseat.tools.tables.answer import answer_from_table, find_unknown_ticker, format_table
from rightseat.tools.tables.ask import MAX_QUESTION, read_ask
from rightseat.tools.tables.parameters import ChosenValues, SourceParameter, choose_values, list_words
from rightseat.tools.tables.rows import RowTable, find_rows, read_rows
from rightseat.tools.tables.select import NO_QUANTITIES, find_mentions
from rightseat.tools.tables.sources import (
    CAPABILITY,
    MIN_SCORE,
    DataSource,
    asks_for_data,
    is_definition,
    rank_sources,
    score_source,
)
from rightseat.tools.tables.wording import TableSource
from rightseat.types.model import ToolChoice
from rightseat.types.sentences import get_sentence
from rightseat.types.text import decode_or_none
from rightseat.types.turn import Turn

MAX_LISTED_SOURCES = 12
_FOLLOW_UP = re.compile(
    r"^\W*(?:and|what about|how about|same for|also|now|then)\b|^那|呢[?？]?$|^(?:换成|还有)", re.IGNORECASE
)


class TableData(Struct, frozen=True):
    """A source with the texts of its data."""

    source: DataSource
    arguments: dict[str, Any]
    parts: tuple[str, ...]
    table: RowTable | None


def decide_turn(request: OpenBBRequest, turn: Turn, description: AssistantInfo) -> Turn:
    """Return the turn with the call or the answer that the rules have found; unchanged where the model decides."""
    place = find_last_user_index(request.items)
    item = request.items[place] if place >= 0 else None
    if not isinstance(item, PostedText) or len(item.text) > MAX_QUESTION or ends_with_question(request.items[:place]):
        return turn
    question = find_question(request, place, item.text)
    return QuestionRules(request, turn, question, has_server_tools=has_server_tools(description)).decide()


def has_server_tools(description: AssistantInfo) -> bool:
    """Whether the assistant has tools of its own that it offers in every turn."""
    return description.has_file_tools or any(tool.is_offered is None for tool in description.tools)


def find_question(request: OpenBBRequest, place: int, text: str) -> str:
    """Return the question, after the previous one where it only names another ticker or time."""
    earlier = [item.text for item in request.items[:place] if isinstance(item, PostedText) and item.role == "user"]
    if not earlier or not _FOLLOW_UP.search(text):
        return text
    ask, before = read_ask(text), read_ask(earlier[-1])
    if ask.terms.concepts - {"date", "year", "quarter", "month", "company"}:
        return text
    kept = before.text if ask.times else before.question
    for ticker in before.tickers if ask.tickers else ():
        kept = re.sub(re.escape(ticker), " ", kept, flags=re.IGNORECASE)
    return f"{kept.strip(' ?？')} {text}"


class QuestionRules:
    """Rules for one question of a request."""

    def __init__(self, request: OpenBBRequest, turn: Turn, question: str, *, has_server_tools: bool) -> None:
        self.has_server_tools = has_server_tools
        self.request = request
        self.turn = turn
        self.language = request.language
        self.widgets = dict(iter_widget_sources(request))
        symbols = {
            str(parameter.current).upper() for source in self.widgets.values() for parameter in source.parameters
        }
        self.ask = read_ask(question, frozenset(symbols))
        self.added = [make_added_data(place, item) for place, item in enumerate(request.added_context)]
        self.results = list(self.iter_results())

    def decide(self) -> Turn:
        if self.request.current_batches:
            return self.answer_results()
        if CAPABILITY.search(self.ask.question) and (self.widgets or self.request.added_context):
            return self.answer(get_sentence("can_ask_about", self.language, names=self.list_names()))
        added = [data.source for data in self.added]
        ranked = rank_sources(self.ask, [*self.widgets.values(), *added])
        asks = asks_for_data(self.ask)
        score, best = ranked[0] if ranked else (0.0, None)
        if (
            best is not None
            and score >= MIN_SCORE
            and (asks or (score >= 2 * MIN_SCORE and not is_definition(self.ask)))
        ):
            return self.use_source(best)
        operations = self.ask.operations - {"latest", "label", "list", "unsure"}
        if added and not self.widgets and (asks or score > 0 or operations):
            return self.use_source(ranked[0][1])
        if best is not None and (asks or operations) and (fallback := self.find_fallback()) is not None:
            return self.use_source(fallback)
        return self.answer_without_source(asks=asks)

    def find_fallback(self) -> DataSource | None:
        """Return the only widget that the user has chosen, or the only one, for a question that names no source; none
        if it asks for a quantity that the widget has not."""
        chosen = [source for source in self.widgets.values() if source.group == "primary"] or [*self.widgets.values()]
        if len(chosen) != 1 or (self.ask.terms.concepts - NO_QUANTITIES and not score_source(self.ask, chosen[0])):
            return None
        return chosen[0]

    def use_source(self, source: DataSource) -> Turn:
        if source.group != "added":
            return self.call_widget(source, self.choose(source))
        data = next(data for data in self.added if data.source.key == source.key)
        if source.table is None:
            # A text: the model reads it, and finds no widget to call.
            return replace(self.turn, tools=())
        return self.answer(self.compute(data) or self.show(data))

    def choose(self, source: DataSource) -> ChosenValues:
        return choose_values(self.ask, source.parameters, lists_tickers=source.lists_companies)

    def call_widget(self, source: DataSource, chosen: ChosenValues) -> Turn:
        """Return the turn in which the model can only call this widget with these arguments."""
        tool = self.request.tools[source.key]
        narrowed = replace(
            tool,
            spec=replace(tool.spec, parameters=EMPTY_SCHEMA),
            current_values={**tool.current_values, **chosen.values},
        )
        self.request.tools[source.key] = narrowed
        return replace(self.turn, tools=(narrowed.spec,), tool_choice=ToolChoice("named", source.key))

    def answer_without_source(self, *, asks: bool) -> Turn:
        """Return the turn of a question that no data bears on: without widgets, and said to be missing if it asks for
        data that nothing else here may have. The model reads the pages."""
        others = tuple(
            tool.spec for tool in self.request.tools.values() if tool.function not in WIDGET_FUNCTIONS and tool.target
        )
        if not asks or others or self.has_server_tools or self.request.state.urls:
            return replace(self.turn, tools=others)
        names = self.list_names()
        key = "no_source" if names else "no_source_at_all"
        return self.answer(get_sentence(key, self.language, names=names))

    def answer_results(self) -> Turn:
        """Return the answer from the data of this question's calls, or one more call for another ticker."""
        data = self.results[-1] if self.results else None
        if data is None or not data.parts:
            return self.turn
        if (again := self.find_other_call(data)) is not None:
            return again
        text = self.compute(data) or self.show(data)
        return self.answer(text) if text else self.turn

    def find_other_call(self, data: TableData) -> Turn | None:
        """Return a call for the ticker that the question names, where the rows do not have it."""
        source = data.source
        if not source.lists_companies or len(self.results) > 1:
            return None
        table = data.table
        chosen = choose_values(self.ask, source.parameters)
        if table is None or not chosen.values:
            return None
        missing = find_unknown_ticker(self.ask, self.make_table_source(data), find_mentions(self.ask, table))
        return self.call_widget(source, chosen) if missing is not None else None

    def compute(self, data: TableData) -> str | None:
        table = data.table
        source = self.make_table_source(data)
        if table is None:
            is_empty = all(part.strip() in ("[]", "{}", '""', "null") for part in data.parts)
            return get_sentence("table_empty", self.language, source=source.format(self.language)) if is_empty else None
        ask = self.ask
        if used := self.choose(data.source).used_words:
            question = remove_words(ask.question, used)
            ask = read_ask(question, frozenset(ask.tickers))
        return answer_from_table(ask, table, source, self.language)

    def show(self, data: TableData) -> str | None:
        table = data.table
        return format_table(table, self.make_table_source(data), self.language) if table is not None else None

    def make_table_source(self, data: TableData) -> TableSource:
        current = {parameter.name: parameter.current for parameter in data.source.parameters}
        tickers = [parameter.name for parameter in data.source.parameters if parameter.is_ticker]
        changed = [name for name, value in data.arguments.items() if name in current and value != current[name]]
        names = dict.fromkeys((*tickers, *changed)) if data.source.group != "added" else ()
        named = [str(data.arguments[name]) for name in names if isinstance(data.arguments.get(name), str | int)]
        return TableSource(
            title=data.source.title,
            description=data.source.description,
            arguments=data.arguments,
            parameter_words=list_words(data.source.parameters),
            named=tuple(named[:4]),
        )

    def answer(self, text: str | None) -> Turn:
        """Return the turn whose answer is known."""
        if not text:
            return self.turn
        return replace(self.turn, tools=(), tool_choice=ToolChoice("none"), known_answer=text)

    def list_names(self) -> str:
        titles = [source.title for source in self.widgets.values()]
        titles += [item.facts["name"] for item in self.request.added_context]
        return ", ".join(dict.fromkeys(titles[:MAX_LISTED_SOURCES]))

    def iter_results(self) -> Iterator[TableData]:
        """Yield the data of this question's widget calls; without texts where it failed or is a file."""
        for batch in self.request.current_batches:
            for trip in batch.round_trips:
                for call, raw in zip(trip.client_calls, trip.results, strict=True):
                    if call.tool is not None and (source := self.widgets.get(call.tool.spec.name)) is not None:
                        arguments = as_dict(call.source.get("input_args")) or dict(call.tool.current_values)
                        parts = read_texts(raw)
                        yield TableData(source, arguments, parts, read_parts(parts))


def remove_words(question: str, words: Sequence[str]) -> str:
    """Return a question without the words that only name a parameter; Chinese ones stand between others."""
    names = "|".join(map(re.escape, words))
    named = re.search(rf"\b(?:{names})\w* (?:the )?(?:{names})\b", question, re.IGNORECASE)
    if named is not None:
        # `weight of cash, including cash`: the second cash alone names the parameter.
        return question[: named.start()] + " " + question[named.end() :]
    english = [re.escape(word) for word in words if word.isascii()]
    for word in sorted((word for word in words if not word.isascii()), key=len, reverse=True):
        question = question.replace(word, " ")
    return re.sub(rf"\b(?:{'|'.join(english)})\w*\b", " ", question, flags=re.IGNORECASE) if english else question


def make_added_data(place: int, item: AddedContext) -> TableData:
    parts = read_texts(item.raw)
    table = read_parts(parts)
    facts = {name: value for name, value in item.facts.items() if name not in ("name", "description")}
    source = DataSource(
        key=f"added:{place}",
        title=item.facts["name"],
        description=" ".join((item.facts.get("description", ""), *facts.values())),
        columns=tuple(column.name for column in table.columns) if table else (),
        group="added",
        table=table,
        text="" if table else "\n".join(parts),
    )
    return TableData(source, dict(facts), parts, table)


def read_texts(raw: Any) -> tuple[str, ...]:
    """Return the texts of a result's parts; none if it failed or has files and pages."""
    parts = parse_parts(raw)
    if isinstance(parts, RenderedResult) or any(part.is_slow for part in parts):
        return ()
    return tuple(map(read_text, parts))


def read_text(part: ResultPart) -> str:
    """Return the text of a part; a CSV file is posted as base64."""
    if part.kind != "csv" or not looks_like_base64(part.data):
        return part.data
    packed = part.data.partition(",")[2] if part.data.startswith("data:") else part.data
    try:
        return decode_text(base64.b64decode(packed, validate=True))[0]
    except ValueError:
        return part.data


def read_parts(parts: Sequence[str]) -> RowTable | None:
    """Return the first table of the texts: JSON rows, or CSV and Markdown."""
    for part in parts:
        rows = find_rows(decode_or_none(part)) if part.lstrip()[:1] in ("[", "{") else None
        if rows is None and part.lstrip()[:1] not in ("[", "{", ""):
            rows = read_text_rows(part)
        if rows is not None and (table := read_rows(rows)) is not None:
            return table
    return None


def read_text_rows(text: str) -> list[dict[str, Any]] | None:
    try:
        table = find_table(text)
    except TableUnreadable:
        return None
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows] if table is not None else None


def iter_widget_sources(request: OpenBBRequest) -> Iterator[tuple[str, DataSource]]:
    """Yield the widgets of a request by the names of their tools."""
    posted: dict[tuple[str, ...], tuple[str, dict[str, Any]]] = {}
    groups = as_dict(request.turn.client.workspace.get("widgets"))
    for group in ("primary", "secondary", "extra"):
        for item in map(as_dict, as_list(groups.get(group))):
            keys = ((as_text(item.get("uuid")),), (as_text(item.get("origin")), as_text(item.get("widget_id"))))
            for key in keys:
                posted.setdefault(key, (group, item))
    for name, tool in request.tools.items():
        if tool.function in WIDGET_FUNCTIONS:
            group, item = next((posted[key] for key in tool.keys if key in posted), ("secondary", {}))
            yield name, make_widget_source(name, tool, group, item)


def make_widget_source(name: str, tool: WorkspaceTool, group: str, item: dict[str, Any]) -> DataSource:
    metadata = as_dict(item.get("metadata"))
    facts = [str(value) for key, value in metadata.items() if isinstance(value, str) and key != "source"]
    return DataSource(
        key=name,
        title=tool.title or name,
        description=" ".join((tool.description, *facts))[:2000],
        columns=tuple(column for column in as_list(item.get("columns")) if isinstance(column, str)),
        parameters=tuple(
            make_parameter(param) for param in map(as_dict, as_list(item.get("params"))) if param.get("name")
        ),
        group=group,
    )


def make_parameter(param: dict[str, Any]) -> SourceParameter:
    options = [
        (str(as_dict(option).get("label") or value), value)
        for option in as_list(param.get("options"))
        if (value := get_option_value(option)) is not None
    ]
    return SourceParameter(
        name=as_text(param.get("name")),
        kind=as_text(param.get("type")),
        description=as_text(param.get("description")),
        options=tuple(options),
        current=next((value for field in VALUE_FIELDS if (value := param.get(field)) not in UNSET_VALUES), None),
        takes_several=param.get("multi_select") is True,
    )
