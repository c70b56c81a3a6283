"""Parse, limit and validate GraphQL documents, with a cache. Limits come first: validation is quadratic."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

from graphql import GraphQLError, parse, specified_rules, validate
from graphql.language import (
    DirectiveNode,
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    Node,
    OperationDefinitionNode,
    SelectionSetNode,
)
from graphql.validation import NoSchemaIntrospectionCustomRule

from rightseat.config.graphql_limits import GraphQLLimits
from rightseat.doors.copilotkit.nodes import iter_children, iter_nodes, iter_operation_nodes
from rightseat.doors.copilotkit.plan import ResponsePlan, try_compile_plan
from rightseat.doors.copilotkit.schema import get_schema
from rightseat.doors.copilotkit.streaming import StreamingMode, find_streaming

MAX_ERRORS = 5
CACHE_SIZE = 64


class InvalidDocument(Exception):
    """Raised for a document that cannot be executed; `errors` are in the form that is sent."""

    def __init__(self, errors: list[dict[str, Any]]) -> None:
        super().__init__(errors[0]["message"])
        self.errors = errors


@dataclass(frozen=True, slots=True)
class PreparedDocument:
    document: DocumentNode
    name: str | None
    is_query: bool
    """The operation is a query, not a mutation."""
    streaming: StreamingMode
    plan: ResponsePlan | None
    selects_meta_events: bool
    """The document selects `metaEvents`, which carry interrupts. Clients before 1.5 do not."""


def make_invalid(message: str, code: str = "GRAPHQL_VALIDATION_FAILED") -> InvalidDocument:
    return InvalidDocument([{"message": message, "extensions": {"code": code}}])


@functools.lru_cache(maxsize=CACHE_SIZE)
def prepare_document(
    text: str, name: str | None, introspection: bool, limits: GraphQLLimits
) -> PreparedDocument:
    document = parse_document(text, limits)
    check_limits(document, limits)
    rules = [*specified_rules, *([] if introspection else [NoSchemaIntrospectionCustomRule])]
    errors = validate(
        get_schema(), document, rules, max_errors=MAX_ERRORS, hide_suggestions=not introspection
    )
    if errors:
        raise InvalidDocument([format_with_code(error, "GRAPHQL_VALIDATION_FAILED") for error in errors])
    operation = select_operation(document, name)
    streaming = find_streaming(document, operation)
    is_query = operation.operation.value == "query"
    plan = try_compile_plan(operation) if streaming.always and not is_query else None
    selects_meta_events = any(
        field.name.value == "metaEvents" for field in iter_operation_nodes(document, operation, FieldNode)
    )
    return PreparedDocument(document, name, is_query, streaming, plan, selects_meta_events)


def format_with_code(error: GraphQLError, code: str) -> dict[str, Any]:
    return {**error.formatted, "extensions": {"code": code}}


def parse_document(text: str, limits: GraphQLLimits) -> DocumentNode:
    if len(text) > limits.max_characters:
        raise make_invalid(f"The document has more than {limits.max_characters} characters.")
    try:
        return parse(text, max_tokens=limits.max_tokens, allow_empty_selection_sets=False)
    except GraphQLError as error:
        raise InvalidDocument([format_with_code(error, "GRAPHQL_PARSE_FAILED")]) from None
    except RecursionError:
        raise make_invalid("The document is nested too deeply.") from None


def select_operation(document: DocumentNode, name: str | None) -> OperationDefinitionNode:
    operations = [node for node in document.definitions if isinstance(node, OperationDefinitionNode)]
    candidates = [node for node in operations if name is None or (node.name and node.name.value == name)]
    if len(candidates) == 1:
        return candidates[0]
    problem = (
        "Name the operation to execute." if candidates else "There is no such operation in the document."
    )
    raise make_invalid(problem, "OPERATION_RESOLUTION_FAILURE")


def check_limits(document: DocumentNode, limits: GraphQLLimits) -> None:
    """Refuse a document that exceeds a limit on definitions, depth, directives, aliases or width."""
    for subject, limit, count in (
        ("definitions", limits.max_definitions, len(document.definitions)),
        ("levels", limits.max_depth, measure_depth(document, limits)),
        ("directives", limits.max_directives, sum(1 for _ in iter_nodes(document, DirectiveNode))),
        ("aliases", limits.max_aliases, sum(1 for node in iter_nodes(document, FieldNode) if node.alias)),
        ("selections in one place", limits.max_selections, measure_width(document)),
    ):
        if count > limit:
            raise make_invalid(f"The document has {count} {subject}; at most {limit} are taken.")


def measure_width(document: DocumentNode) -> int:
    return max((len(node.selections) for node in iter_nodes(document, SelectionSetNode)), default=0)


def measure_depth(document: DocumentNode, limits: GraphQLLimits) -> int:
    """Return the deepest nesting with fragments followed; a recursive fragment exceeds the limit."""
    fragments = {d.name.value: d for d in document.definitions if isinstance(d, FragmentDefinitionNode)}
    deepest = 0
    stack: list[tuple[Node, int]] = [(d, 0) for d in document.definitions]
    steps = 0
    while stack:
        node, level = stack.pop()
        deepest = max(deepest, level)
        steps += 1
        # Nested fragments can multiply the number of steps.
        if deepest > limits.max_depth or steps > limits.max_tokens * 4:
            return limits.max_depth + 1
        if isinstance(node, FragmentSpreadNode) and node.name.value in fragments:
            stack.append((fragments[node.name.value].selection_set, level))
        below = level + isinstance(node, SelectionSetNode)
        stack += ((child, below) for child in iter_children(node))
    return deepest
