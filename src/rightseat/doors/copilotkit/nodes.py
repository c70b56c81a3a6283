"""A document's nodes, without recursion: a stranger chose the depth."""

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
    """All nodes of a kind, also in the fragments that are named on the way."""
    left, unseen = [root], dict(fragments)
    while left:
        node = left.pop()
        if isinstance(node, kind):
            yield node
        if isinstance(node, FragmentSpreadNode) and node.name.value in unseen:
            # Once is enough.
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
    """Those of an operation and of the fragments that it names."""
    fragments = {d.name.value: d for d in document.definitions if isinstance(d, FragmentDefinitionNode)}
    return nodes(operation, kind, fragments)
