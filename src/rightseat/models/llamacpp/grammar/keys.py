"""Property names: which are allowed, and the grammar of names that the schema leaves open."""

from __future__ import annotations

from rightseat.errors import CallerError
from rightseat.models.llamacpp.grammar.charset import ANY
from rightseat.models.llamacpp.grammar.document import Part, Way, below
from rightseat.models.llamacpp.grammar.expr import NEVER, Expr, Lit, alt, chars, matches, rep, seq
from rightseat.models.llamacpp.grammar.literals import named, text
from rightseat.models.llamacpp.grammar.strings import QUOTE, content, other_than, pattern_content
from rightseat.models.llamacpp.grammar.writer import Writer
from rightseat.types.schema import checker


class Keys:
    def __init__(self, way: Way, writer: Writer, names: list[str]) -> None:
        self.writer = writer
        self.document = writer.document
        self.names = names
        self.bound = [part for part in way.parts if part.schema.get("propertyNames", True) is not True]
        self._patterns: dict[str, Expr | None] = {}

    def allows(self, name: str) -> bool:
        """Return whether `propertyNames` allows this name; if it cannot be evaluated, allow and note it."""
        for part in self.bound:
            judge = {"allOf": [part.schema["propertyNames"]]}
            judge |= {
                key: self.document.root[key] for key in ("$defs", "definitions") if key in self.document.root
            }
            try:
                if not checker(judge).validator.is_valid(name):
                    return False
            except (CallerError, ValueError):
                self.document.note(part.place, "propertyNames")
        return True

    def matches(self, part: Part, pattern: str, name: str) -> bool:
        """Return whether a pattern of patternProperties matches this name."""
        try:
            return bool(checker({"pattern": pattern}).validator.is_valid(name))
        except (CallerError, ValueError):
            self.document.note(part.place, "patternProperties")
            return False

    def open(self) -> Expr:
        """Return the grammar of any other name, within `propertyNames`."""
        limit = self.writer.limits.key
        if self.bound:
            return self._bound(limit)
        found = other_than(self.names, limit)
        # With too many names to exclude, no other name is allowed; the output is still valid.
        return NEVER if found is None else self._quoted(found)

    def _bound(self, limit: int) -> Expr:
        found: list[Expr] = []
        ways = self.document.ways(frozenset(below(part.place, "propertyNames") for part in self.bound))
        for way in ways:
            values = named(way)
            if values is not None:
                texts = (value for value in values if isinstance(value, str) and value not in self.names)
                found += [Lit(text(value)) for value in texts if self.allows(value)]
            else:
                found.append(self._apart(content(way, self.document, limit), self.bound[0], "propertyNames"))
        return alt(*found)

    def pattern(self, part: Part, pattern: str, several: bool) -> Expr:
        limit = self.writer.limits.key
        shape = pattern_content(pattern, self.document, limit)
        if shape is None:
            self.document.note(part.place, "patternProperties")
            shape = rep(chars(ANY), 0, limit)
        elif several or self.bound:
            # A name may match several patterns and must then satisfy all of them, which is not enforced.
            self.document.note(part.place, "patternProperties")
        return self._apart(shape, part, "patternProperties")

    def _apart(self, shape: Expr, part: Part, keyword: str) -> Expr:
        if any(matches(shape, name) for name in self.names):
            self.document.note(part.place, keyword)
        return self._quoted(shape)

    def _quoted(self, shape: Expr) -> Expr:
        return self.writer.rules.share("key", seq(QUOTE, shape, QUOTE))
