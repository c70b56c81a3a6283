"""Property names: which are allowed, and the grammar of names that the schema leaves open."""

from __future__ import annotations

from rightseat.errors import CallerError
from rightseat.models.llamacpp.grammar.charset import ANY
from rightseat.models.llamacpp.grammar.document import SchemaConjunction, SchemaPart, join_pointer
from rightseat.models.llamacpp.grammar.expr import NEVER, Expr, Lit, alt, chars, matches_text, rep, seq
from rightseat.models.llamacpp.grammar.literals import dump_literal, list_enumerated_values
from rightseat.models.llamacpp.grammar.strings import (
    QUOTE,
    build_other_names,
    build_string_content,
    try_pattern_content,
)
from rightseat.models.llamacpp.grammar.writer import SchemaWriter
from rightseat.types.schema import get_validator


class PropertyNames:
    def __init__(self, conjunction: SchemaConjunction, writer: SchemaWriter, names: list[str]) -> None:
        self.writer = writer
        self.document = writer.document
        self.names = names
        self.constraints = [
            part for part in conjunction.parts if part.schema.get("propertyNames", True) is not True
        ]
        self._patterns: dict[str, Expr | None] = {}

    def allows(self, name: str) -> bool:
        """Return whether `propertyNames` allows this name; if it cannot be evaluated, allow and note it."""
        for part in self.constraints:
            schema = {"allOf": [part.schema["propertyNames"]]}
            schema |= {
                key: self.document.root[key] for key in ("$defs", "definitions") if key in self.document.root
            }
            try:
                if not get_validator(schema).validator.is_valid(name):
                    return False
            except (CallerError, ValueError):
                self.document.note_unenforced(part.pointer, "propertyNames")
        return True

    def matches_pattern(self, part: SchemaPart, pattern: str, name: str) -> bool:
        """Return whether a pattern of patternProperties matches this name."""
        try:
            return bool(get_validator({"pattern": pattern}).validator.is_valid(name))
        except (CallerError, ValueError):
            self.document.note_unenforced(part.pointer, "patternProperties")
            return False

    def build_open_name(self) -> Expr:
        """Return the grammar of any other name, within `propertyNames`."""
        limit = self.writer.limits.key
        if self.constraints:
            return self._build_constrained_name(limit)
        content = build_other_names(self.names, limit)
        # With too many names to exclude, no other name is allowed; the output is still valid.
        return NEVER if content is None else self._quote_name(content)

    def _build_constrained_name(self, limit: int) -> Expr:
        options: list[Expr] = []
        ways = self.document.expand_conjunctions(
            frozenset(join_pointer(part.pointer, "propertyNames") for part in self.constraints)
        )
        for way in ways:
            values = list_enumerated_values(way)
            if values is not None:
                texts = (value for value in values if isinstance(value, str) and value not in self.names)
                options += [Lit(dump_literal(value)) for value in texts if self.allows(value)]
            else:
                options.append(
                    self._build_checked_name(
                        build_string_content(way, self.document, limit), self.constraints[0], "propertyNames"
                    )
                )
        return alt(*options)

    def build_pattern_name(self, part: SchemaPart, pattern: str, several: bool) -> Expr:
        limit = self.writer.limits.key
        shape = try_pattern_content(pattern, self.document, limit)
        if shape is None:
            self.document.note_unenforced(part.pointer, "patternProperties")
            shape = rep(chars(ANY), 0, limit)
        elif several or self.constraints:
            # A name may match several patterns and must then satisfy all of them, which is not enforced.
            self.document.note_unenforced(part.pointer, "patternProperties")
        return self._build_checked_name(shape, part, "patternProperties")

    def _build_checked_name(self, shape: Expr, part: SchemaPart, keyword: str) -> Expr:
        if any(matches_text(shape, name) for name in self.names):
            self.document.note_unenforced(part.pointer, keyword)
        return self._quote_name(shape)

    def _quote_name(self, shape: Expr) -> Expr:
        return self.writer.rules.add_shared("key", seq(QUOTE, shape, QUOTE))
