"""Parse, limit and validate GraphQL documents, with a cache, and decode their variables into our Structs.

Limits come first: validation is quadratic. Nodes are visited without recursion: a document's depth is untrusted.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec
from graphql import GraphQLError, GraphQLSchema, build_schema, coerce_input_value, language, specified_rules, validate
from graphql.type import GraphQLDeferDirective, GraphQLInputObjectType, GraphQLStreamDirective
from graphql.validation import NoSchemaIntrospectionCustomRule
from msgspec import Raw

from rightseat.config.settings import GraphQLLimits
from rightseat.doors.copilotkit.query_plan import ResponsePlan, try_compile_plan
from rightseat.doors.copilotkit.wire import GenerateCopilotResponseInput
from rightseat.errors import CallerError
from rightseat.http.endpoint import decode_body, to_caller_error

T = TypeVar("T")
OperationKind = Literal["query", "mutation", "subscription"]
MAX_COERCED_BYTES = 256 * 1024
MAX_ERRORS = 5
CACHE_SIZE = 64
INCREMENTAL = ("defer", "stream")
META_EVENT = "MetaEvent"
MAX_SHOWN_LINE = 120
COMMENT = re.compile(r"#[^\r\n]*")
SDL = (Path(__file__).parent / "schema.graphql").read_text("utf-8")


@functools.cache
def get_schema() -> GraphQLSchema:
    """Return the schema. Its root fields are resolved by RootResolvers, all others by name."""
    options = build_schema(SDL).to_kwargs()
    options["directives"] = (*options["directives"], GraphQLDeferDirective, GraphQLStreamDirective)
    return GraphQLSchema(**options)


def iter_nodes(root: language.Node, kind: type[T], fragments: Mapping[str, language.Node] = {}) -> Iterator[T]:
    """Yield all nodes of a kind, also in the fragments that are spread."""
    stack, unseen = [root], dict(fragments)
    while stack:
        node = stack.pop()
        if isinstance(node, kind):
            yield node
        if isinstance(node, language.FragmentSpreadNode) and node.name.value in unseen:
            # Each fragment is visited once.
            stack.append(unseen.pop(node.name.value))
        stack += iter_children(node)


def iter_children(node: language.Node) -> Iterator[language.Node]:
    for key in node.keys:
        if key == "loc":
            continue
        value = getattr(node, key, None)
        if isinstance(value, language.Node):
            yield value
        elif isinstance(value, list | tuple):
            yield from (item for item in value if isinstance(item, language.Node))


def get_fragments(document: language.DocumentNode) -> dict[str, language.FragmentDefinitionNode]:
    return {d.name.value: d for d in document.definitions if isinstance(d, language.FragmentDefinitionNode)}


def decode_planned_input(
    plan: ResponsePlan, variables: Raw
) -> tuple[GenerateCopilotResponseInput, dict[str, Any] | None]:
    """Decode `data` and `properties` of a planned document directly from the body."""
    raw_variables = decode_named(variables, "variables", dict[str, Raw]) or {}
    raw = raw_variables.get(plan.data)
    if raw is None:
        raise CallerError(f'Variable "${plan.data}" of required type was not provided.', param=plan.data)
    # Any object is valid.
    raw_properties = raw_variables[plan.properties] if plan.properties in raw_variables else Raw()
    properties = decode_named(raw_properties, "properties", dict[str, Any])
    try:
        return decode_body(bytes(raw), GenerateCopilotResponseInput), properties
    except CallerError:
        if (data := coerce_input(raw)) is None:
            raise
        return convert_input(data), properties


def coerce_input(raw: Raw) -> dict[str, Any] | None:
    """Coerce the input by GraphQL's rules, which accept a single value for a list; None if it is invalid or
    too large to be decoded twice."""
    if len(bytes(raw)) > MAX_COERCED_BYTES:
        return None
    input_type = get_schema().type_map["GenerateCopilotResponseInput"]
    assert isinstance(input_type, GraphQLInputObjectType)
    try:
        value = coerce_input_value(decode_body(bytes(raw), dict[str, Any]), input_type)
    except (CallerError, GraphQLError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def decode_named(raw: Raw, place: str, kind: type[T]) -> T | None:
    """Decode a variable; None if it is absent. The error names `place`: variables may also come in a URL."""
    if bytes(raw) in (b"", b"null"):
        return None
    try:
        return decode_body(bytes(raw), kind)
    except CallerError as error:
        problem = error.message.removeprefix("The body is ")
        raise CallerError(f"{place}: {problem}", param=place) from None


def convert_input(data: dict[str, Any]) -> GenerateCopilotResponseInput:
    """Convert input that graphql-core has coerced; only our own limits can fail."""
    try:
        return msgspec.convert(data, GenerateCopilotResponseInput)
    except msgspec.ValidationError as error:
        raise to_caller_error(error, GenerateCopilotResponseInput) from None


class IncrementalRemover(language.Visitor):
    """Removes @defer and @stream, because graphql-core executes a document in one piece."""

    @staticmethod
    def enter_directive(node: language.DirectiveNode, *_: Any) -> language.VisitorAction:
        return language.REMOVE if node.name.value in INCREMENTAL else None


class InvalidDocument(Exception):
    """Raised for a document that cannot be executed; `errors` are in the form that is sent."""

    def __init__(self, errors: list[dict[str, Any]]) -> None:
        super().__init__(errors[0]["message"])
        self.errors = errors


@dataclass(frozen=True, slots=True)
class PreparedDocument:
    document: language.DocumentNode
    """The document to execute, without @defer and @stream."""
    name: str | None
    operation: OperationKind
    plan: ResponsePlan | None
    """How to stream the answer; None for a document that is executed."""
    selects_meta_events: bool
    """The document selects `metaEvents`, or events of that kind, which carry interrupts. Clients before 1.5 do not."""
    selects_messages: bool


def make_invalid(message: str, code: str = "GRAPHQL_VALIDATION_FAILED") -> InvalidDocument:
    return InvalidDocument([{"message": message, "extensions": {"code": code}}])


@functools.lru_cache(maxsize=CACHE_SIZE)
def prepare_document(text: str, name: str | None, introspection: bool, limits: GraphQLLimits) -> PreparedDocument:
    document = parse_document(text, limits)
    check_limits(document, limits)
    rules = [*specified_rules, *([] if introspection else [NoSchemaIntrospectionCustomRule])]
    errors = validate(get_schema(), document, rules, max_errors=MAX_ERRORS, hide_suggestions=not introspection)
    if errors:
        raise InvalidDocument([format_with_code(error, "GRAPHQL_VALIDATION_FAILED") for error in errors])
    operation = select_operation(document, name)
    kind: OperationKind = operation.operation.value
    fragments = get_fragments(document)
    directives = iter_nodes(operation, language.DirectiveNode, fragments)
    # Variables may switch @defer and @stream: then the document is executed.
    streams = any(node.name.value in INCREMENTAL and not node.arguments for node in directives)
    plan = try_compile_plan(operation) if streams and kind == "mutation" else None
    names = {field.name.value for field in iter_nodes(operation, language.FieldNode, fragments)}
    selects_meta_events = "metaEvents" in names or (kind == "subscription" and META_EVENT in list_conditions(document))
    executed = language.visit(document, IncrementalRemover())
    return PreparedDocument(executed, name, kind, plan, selects_meta_events, "messages" in names)


def list_conditions(document: language.DocumentNode) -> set[str]:
    """Return the names of the types that fragments of a document are for."""
    inline = (node.type_condition for node in iter_nodes(document, language.InlineFragmentNode))
    named = (node.type_condition for node in get_fragments(document).values())
    return {condition.name.value for condition in (*inline, *named) if condition is not None}


def format_with_code(error: GraphQLError, code: str) -> dict[str, Any]:
    return {**error.formatted, "extensions": {"code": code}}


def parse_document(text: str, limits: GraphQLLimits) -> language.DocumentNode:
    if len(text) > limits.max_characters:
        raise make_invalid(f"The document has more than {limits.max_characters} characters.")
    try:
        return language.parse(text, max_tokens=limits.max_tokens, allow_empty_selection_sets=False)
    except GraphQLError as error:
        entry = format_with_code(error, "GRAPHQL_PARSE_FAILED")
        raise InvalidDocument([{**entry, "message": describe_syntax_error(text, error)}]) from None
    except RecursionError:
        raise make_invalid("The document is nested too deeply.") from None


def describe_syntax_error(text: str, error: GraphQLError) -> str:
    """Describe a syntax error by the line that it is in; for a selection without fields, also what to write."""
    position = next(iter(error.positions or ()), None)
    if position is None:
        return error.message
    before = COMMENT.sub("", text[:position]).rstrip(" \t\r\n,")
    if text[position : position + 1] != "}" or not before.endswith("{"):
        return f"{error.message} {show_line(text, position)}"
    opening = text.rfind("{", 0, position)
    advice = "Select a field of it, such as __typename, or leave it out with its braces."
    return f"This selects nothing. {advice} {show_line(text, opening)}"


def show_line(text: str, position: int) -> str:
    """Return the number and the text of the line at a position."""
    number = text.count("\n", 0, position) + 1
    line = text[text.rfind("\n", 0, position) + 1 :].partition("\n")[0].strip()
    return f"Line {number}: {line[:MAX_SHOWN_LINE]}"


def select_operation(document: language.DocumentNode, name: str | None) -> language.OperationDefinitionNode:
    operations = [node for node in document.definitions if isinstance(node, language.OperationDefinitionNode)]
    candidates = [node for node in operations if name is None or (node.name and node.name.value == name)]
    if len(candidates) == 1:
        return candidates[0]
    problem = "Name the operation to execute." if candidates else "There is no such operation in the document."
    raise make_invalid(problem, "OPERATION_RESOLUTION_FAILURE")


def check_limits(document: language.DocumentNode, limits: GraphQLLimits) -> None:
    """Refuse a document that exceeds a limit on definitions, depth, directives, aliases or width."""
    widths = (len(node.selections) for node in iter_nodes(document, language.SelectionSetNode))
    for subject, limit, count in (
        ("definitions", limits.max_definitions, len(document.definitions)),
        ("levels", limits.max_depth, measure_depth(document, limits)),
        ("directives", limits.max_directives, sum(1 for _ in iter_nodes(document, language.DirectiveNode))),
        ("aliases", limits.max_aliases, sum(1 for node in iter_nodes(document, language.FieldNode) if node.alias)),
        ("selections in one place", limits.max_selections, max(widths, default=0)),
    ):
        if count > limit:
            raise make_invalid(f"The document has {count} {subject}; at most {limit} are taken.")


def measure_depth(document: language.DocumentNode, limits: GraphQLLimits) -> int:
    """Return the deepest nesting with fragments followed; a recursive fragment exceeds the limit."""
    fragments = get_fragments(document)
    deepest = steps = 0
    stack: list[tuple[language.Node, int]] = [(d, 0) for d in document.definitions]
    while stack:
        node, level = stack.pop()
        deepest = max(deepest, level)
        steps += 1
        # Nested fragments can multiply the number of steps.
        if deepest > limits.max_depth or steps > limits.max_tokens * 4:
            return limits.max_depth + 1
        if isinstance(node, language.FragmentSpreadNode) and node.name.value in fragments:
            stack.append((fragments[node.name.value].selection_set, level))
        below = level + isinstance(node, language.SelectionSetNode)
        stack += ((child, below) for child in iter_children(node))
    return deepest
