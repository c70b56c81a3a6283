"""Context shared by the reader's modules: document, references, schemas, problems."""

from __future__ import annotations

from pathlib import Path

from rightseat.plugins.document import PluginDocument
from rightseat.plugins.openapi.node import Node, ProblemList, RefResolver
from rightseat.plugins.openapi.schemas import Schema, SchemaConverter
from rightseat.plugins.openapi.simplify import SchemaSimplifier
from rightseat.plugins.plugin import PluginAuth


class DirectionSchemas:
    """Schema conversion for one direction: requests or responses."""

    def __init__(self, refs: RefResolver, problems: ProblemList, hidden_flag: str) -> None:
        self.converter = SchemaConverter(refs, problems, hidden_flag)
        self.simplifier = SchemaSimplifier(self.converter)

    def read(self, node: Node) -> Schema:
        """Convert a schema node and resolve a top-level reference; `$defs` are not included yet."""
        return self.simplifier.resolve_top(self.converter.convert_with_defs(node))

    def with_defs(self, schema: Schema) -> Schema:
        return self.simplifier.with_defs(schema)


class DocumentContext:
    def __init__(self, folder: Path, document: PluginDocument, auth: tuple[PluginAuth, ...], strict: bool) -> None:
        self.auth = auth
        self.problems = ProblemList(strict)
        self.root = Node(document.value, document)
        self.refs = RefResolver(folder, document, self.problems)
        self.request_schemas = DirectionSchemas(self.refs, self.problems, "readOnly")
        self.response_schemas = DirectionSchemas(self.refs, self.problems, "writeOnly")

    @property
    def is_swagger(self) -> bool:
        """Whether the document is Swagger 2.0."""
        return "swagger" in self.root.value and "openapi" not in self.root.value
