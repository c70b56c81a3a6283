"""Report of unknown keys, which are mostly misspelt and otherwise silently ignored."""

from __future__ import annotations

from rightseat.plugins.openapi.fields import known_fields
from rightseat.plugins.openapi.node import Node
from rightseat.plugins.openapi.reading import DocumentContext
from rightseat.types.nearest import did_you_mean


def check_unknown_keys(context: DocumentContext, node: Node, table: str) -> None:
    names = known_fields(table)
    for key in node.value:
        if key not in names and not key.startswith("x-"):
            context.problems.add(
                node.child(key), "Nothing reads this key.", did_you_mean(key, names), "style"
            )
