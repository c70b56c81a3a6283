"""Context shared by the reader's modules: document, references, schemas, problems."""

from __future__ import annotations

from pathlib import Path

from rightseat.plugins.document import Document
from rightseat.plugins.openapi.node import Node, Notes
from rightseat.plugins.openapi.refs import Refs
from rightseat.plugins.openapi.schemas import Schema, Schemas
from rightseat.plugins.openapi.settle import Settled
from rightseat.plugins.plugin import Auth


class Direction:
    """Schema conversion for one direction: requests or responses."""

    def __init__(self, refs: Refs, notes: Notes, hidden: str) -> None:
        self.schemas = Schemas(refs, notes, hidden)
        self.settled = Settled(self.schemas)

    def open(self, node: Node) -> Schema:
        """Convert a schema node and resolve a top-level reference; `$defs` are not included yet."""
        return self.settled.top(self.schemas.schema(node))

    def closed(self, schema: Schema) -> Schema:
        return self.settled.closed(schema)


class Reading:
    def __init__(self, folder: Path, document: Document, auth: tuple[Auth, ...], strict: bool) -> None:
        self.auth = auth
        self.notes = Notes(strict)
        self.root = Node(document.value, document)
        self.refs = Refs(folder, document, self.notes)
        self.sent = Direction(self.refs, self.notes, "readOnly")
        self.answered = Direction(self.refs, self.notes, "writeOnly")

    @property
    def swagger(self) -> bool:
        """Whether the document is Swagger 2.0."""
        return "swagger" in self.root.value and "openapi" not in self.root.value
