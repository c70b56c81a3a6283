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

from rightseat.config.graphql_limits import DocumentLimits
from rightseat.doors.copilotkit.nodes import children, nodes, reached
from rightseat.doors.copilotkit.plan import Plan, planned
from rightseat.doors.copilotkit.schema import schema
from rightseat.doors.copilotkit.streaming import Streaming, found

MAX_ERRORS = 5
KEPT = 64


class Invalid(Exception):
    """Raised for a document that cannot be executed; `errors` are in the form that is sent."""

    def __init__(self, errors: list[dict[str, Any]]) -> None:
        super().__init__(errors[0]["message"])
        self.errors = errors


@dataclass(frozen=True, slots=True)
class Prepared:
    document: DocumentNode
    name: str | None
    query: bool
    """The operation is a query, not a mutation."""
    streaming: Streaming
    plan: Plan | None
    asks: bool
    """The document selects `metaEvents`, which carry interrupts. Clients before 1.5 do not."""


def invalid(message: str, code: str = "GRAPHQL_VALIDATION_FAILED") -> Invalid:
    return Invalid([{"message": message, "extensions": {"code": code}}])


@functools.lru_cache(maxsize=KEPT)
def prepare(text: str, name: str | None, introspection: bool, limits: DocumentLimits) -> Prepared:
    document = parsed(text, limits)
    check(document, limits)
    rules = [*specified_rules, *([] if introspection else [NoSchemaIntrospectionCustomRule])]
    errors = validate(schema(), document, rules, max_errors=MAX_ERRORS, hide_suggestions=not introspection)
    if errors:
        raise Invalid([coded(error, "GRAPHQL_VALIDATION_FAILED") for error in errors])
    operation = chosen(document, name)
    streaming = found(document, operation)
    query = operation.operation.value == "query"
    plan = planned(operation) if streaming.always and not query else None
    asks = any(field.name.value == "metaEvents" for field in reached(document, operation, FieldNode))
    return Prepared(document, name, query, streaming, plan, asks)


def coded(error: GraphQLError, code: str) -> dict[str, Any]:
    return {**error.formatted, "extensions": {"code": code}}


def parsed(text: str, limits: DocumentLimits) -> DocumentNode:
    if len(text) > limits.max_characters:
        raise invalid(f"The document has more than {limits.max_characters} characters.")
    try:
        return parse(text, max_tokens=limits.max_tokens, allow_empty_selection_sets=False)
    except GraphQLError as error:
        raise Invalid([coded(error, "GRAPHQL_PARSE_FAILED")]) from None
    except RecursionError:
        raise invalid("The document is nested too deeply.") from None


def chosen(document: DocumentNode, name: str | None) -> OperationDefinitionNode:
    found = [node for node in document.definitions if isinstance(node, OperationDefinitionNode)]
    named = [node for node in found if name is None or (node.name and node.name.value == name)]
    if len(named) == 1:
        return named[0]
    problem = "Name the operation to execute." if named else "There is no such operation in the document."
    raise invalid(problem, "OPERATION_RESOLUTION_FAILURE")


def check(document: DocumentNode, limits: DocumentLimits) -> None:
    """Refuse a document that exceeds a limit on definitions, depth, directives, aliases or width."""
    for what, most, count in (
        ("definitions", limits.max_definitions, len(document.definitions)),
        ("levels", limits.max_depth, depth(document, limits)),
        ("directives", limits.max_directives, sum(1 for _ in nodes(document, DirectiveNode))),
        ("aliases", limits.max_aliases, sum(1 for node in nodes(document, FieldNode) if node.alias)),
        ("selections in one place", limits.max_selections, widest(document)),
    ):
        if count > most:
            raise invalid(f"The document has {count} {what}; at most {most} are taken.")


def widest(document: DocumentNode) -> int:
    return max((len(node.selections) for node in nodes(document, SelectionSetNode)), default=0)


def depth(document: DocumentNode, limits: DocumentLimits) -> int:
    """Return the deepest nesting with fragments followed; a recursive fragment exceeds the limit."""
    fragments = {d.name.value: d for d in document.definitions if isinstance(d, FragmentDefinitionNode)}
    deepest = 0
    left: list[tuple[Node, int]] = [(d, 0) for d in document.definitions]
    steps = 0
    while left:
        node, level = left.pop()
        deepest = max(deepest, level)
        steps += 1
        # Nested fragments can multiply the number of steps.
        if deepest > limits.max_depth or steps > limits.max_tokens * 4:
            return limits.max_depth + 1
        if isinstance(node, FragmentSpreadNode) and node.name.value in fragments:
            left.append((fragments[node.name.value].selection_set, level))
        below = level + isinstance(node, SelectionSetNode)
        left += ((child, below) for child in children(node))
    return deepest
