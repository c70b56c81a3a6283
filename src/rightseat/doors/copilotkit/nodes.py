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


def nodes(root: Node, kind: type[Any], fragments: Mapping[str, Node] = {}) -> Iterator[Any]:
    """Yield all nodes of a kind, also in the fragments that are spread."""
    left, unseen = [root], dict(fragments)
    while left:
        node = left.pop()
        if isinstance(node, kind):
            yield node
        if isinstance(node, FragmentSpreadNode) and node.name.value in unseen:
            # Each fragment is visited once.
            left.append(unseen.pop(node.name.value))
        left += children(node)


def children(node: Node) -> Iterator[Node]:
    for key in node.keys:
        if key == "loc":
            continue
        value = getattr(node, key, None)
        if isinstance(value, Node):
            yield value
        elif isinstance(value, list | tuple):
            yield from (item for item in value if isinstance(item, Node))


def reached(document: DocumentNode, operation: OperationDefinitionNode, kind: type[Any]) -> Iterator[Any]:
    """Yield the nodes of an operation and of the fragments that it spreads."""
    fragments = {d.name.value: d for d in document.definitions if isinstance(d, FragmentDefinitionNode)}
    return nodes(operation, kind, fragments)
