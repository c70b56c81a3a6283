"""A document's nodes, without recursion: a stranger chose the depth."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from graphql.language import (
    DocumentNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    Node,
    OperationDefinitionNode,
)


def nodes(root: Node, kind: type[Any]) -> Iterator[Any]:
    """All nodes of a kind."""
    left: list[Node] = [root]
    while left:
        node = left.pop()
        if isinstance(node, kind):
            yield node
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
    """Those of an operation and of the fragments that it names."""
    fragments = {d.name.value: d for d in document.definitions if isinstance(d, FragmentDefinitionNode)}
    left: list[Node] = [operation]
    while left:
        node = left.pop()
        if isinstance(node, kind):
            yield node
        if isinstance(node, FragmentSpreadNode) and node.name.value in fragments:
            # Once is enough.
            left.append(fragments.pop(node.name.value))
        left += children(node)
