"""Report of unknown keys, which are mostly misspelt and otherwise silently ignored."""

from __future__ import annotations

from rightseat.plugins.openapi.fields import known
from rightseat.plugins.openapi.node import Node
from rightseat.plugins.openapi.reading import Reading
from rightseat.types.nearest import meant


def look(reading: Reading, node: Node, table: str) -> None:
    names = known(table)
    for key in node.value:
        if key not in names and not key.startswith("x-"):
            reading.notes.add(node.at(key), "Nothing reads this key.", meant(key, names), "style")
