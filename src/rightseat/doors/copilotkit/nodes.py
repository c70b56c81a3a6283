"""Iterate over a document's nodes without recursion, because its depth is untrusted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from graphql.language import (
    DocumentNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    Node,
    OperationDefinitionNode,
)


def iter_nodes(root: Node, kind: type[Any], fragments: Mapping[str, Node] = {}) -> Iterator[Any]:
    """Yield all nodes of a kind, also in the fragments that are spread."""
    stack, unseen = [root], dict(fragments)
    while stack:
        node = stack.pop()
        if isinstance(node, kind):
            yield node
        if isinstance(node, FragmentSpreadNode) and node.name.value in unseen:
            # Each fragment is visited once.
            stack.append(unseen.pop(node.name.value))
        stack += iter_children(node)


def iter_children(node: Node) -> Iterator[Node]:
    for key in node.keys:
        if key == "loc":
            continue
        value = getattr(node, key, None)
        if isinstance(value, Node):
            yield value
        elif isinstance(value, list | tuple):
            yield from (item for item in value if isinstance(item, Node))


def iter_operation_nodes(
    document: DocumentNode, operation: OperationDefinitionNode, kind: type[Any]
) -> Iterator[Any]:
    """Yield the nodes of an operation and of the fragments that it spreads."""
    fragments = {d.name.value: d for d in document.definitions if isinstance(d, FragmentDefinitionNode)}
    return iter_nodes(operation, kind, fragments)
