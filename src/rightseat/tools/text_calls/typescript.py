"""Tools as TypeScript signatures: fewer tokens than JSON Schema, and a form that models know.

    // Get the current weather
    type get_current_weather = (_: {
    // The city and state, e.g. San Francisco, CA
    location: string,
    }) => any;

Names and descriptions are untrusted: none can break out of its comment or quotes. Parts that are too long or
too deep become `any`: the schema itself is enforced elsewhere.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct

from rightseat.tools.text_calls import pointers
from rightseat.types.model import ToolSpec

LONGEST_TOOL = 20_000
LONGEST_TEXT = 2_000
LONGEST_LITERAL = 500
MOST_OPTIONS = 100
DEEPEST = 16
SPACES = 4

_NAMES = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}
_PLAIN = re.compile(r"[^\W\d][\w$]*")
_PLAIN_TOOL = re.compile(r"[^\W\d][\w$.:/-]*")
# JSON keeps some of these unescaped, but models may read them as line ends.
_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_NOTES = (
    ("default", "Default"),
    ("format", "Format"),
    ("minimum", "Minimum"),
    ("maximum", "Maximum"),
    ("minLength", "Minimum length"),
    ("maxLength", "Maximum length"),
)


def signatures(tools: Sequence[ToolSpec]) -> str:
    """Render a `type` for each tool, after its comment and the types it refers to."""
    taken = {tool.name for tool in tools}
    return "\n\n".join(_Signature(tool, taken).text() for tool in tools)


def namespace(tools: Sequence[ToolSpec]) -> str:
    """Render the signatures in the form that Functionary was trained on."""
    return (
        "// Supported function definitions that should be called when necessary.\n"
        f"namespace functions {{\n\n{signatures(tools)}\n\n}} // namespace functions"
    )


class Kind(Struct, frozen=True):
    """Text of a type. `is_compound`: several types joined by `|` or `&`."""

    text: str
    joined: bool = False

    @property
    def grouped(self) -> str:
        return f"({self.text})" if self.joined else self.text


ANY, NEVER, OBJECT, NULL = Kind("any"), Kind("never"), Kind("object"), Kind("null")


class _Signature:
    """Signature of one tool. `taken`: type names in use, extended here."""

    def __init__(self, tool: ToolSpec, taken: set[str]) -> None:
        self._tool = tool
        self._taken = taken
        self._root = tool.parameters
        # A schema used more than once, itself included, becomes a named type: so recursion ends.
        self._uses = Counter(["#", *pointers.used(tool.parameters)])
        self._aliases: dict[str, Kind] = {}
        self._declared: list[str] = []
        self._left = LONGEST_TOOL
        self._deep = 0

    def text(self) -> str:
        arguments = self._referred("#", 0) if self._uses["#"] > 1 else self._type(self._root, 0)
        inside = "" if arguments in (OBJECT, ANY) else f"_: {arguments.text}"
        name = self._tool.name
        name = name if _PLAIN_TOOL.fullmatch(name) else quoted(name)
        lines = [*self._declared, *comment(self._tool.description), f"type {name} = ({inside}) => any;"]
        return "\n".join(lines)

    def _type(self, schema: Any, depth: int) -> Kind:
        """Return the type of a schema. `depth`: number of enclosing objects."""
        if schema is False:
            return NEVER
        self._left -= SPACES
        if not isinstance(schema, dict) or self._deep > DEEPEST or self._left <= 0:
            return ANY
        self._deep += 1
        kinds = [self._own(schema, depth)]
        if isinstance(schema.get("$ref"), str):
            kinds.append(self._referred(schema["$ref"], depth))
        unions = (_list(schema.get("anyOf")), _list(schema.get("oneOf")))
        kinds += [self._any_of(options, depth) for options in unions if options]
        kinds += [self._type(part, depth) for part in _list(schema.get("allOf"))]
        self._deep -= 1
        whole = _both(kind for kind in kinds if kind != ANY)
        return _union([whole, NULL]) if schema.get("nullable") is True else whole

    def _any_of(self, options: list[Any], depth: int) -> Kind:
        if len(options) > MOST_OPTIONS:
            return ANY
        return _union(self._type(option, depth) for option in options)

    def _own(self, schema: dict[str, Any], depth: int) -> Kind:
        """Return the type of the schema without its references and combinators."""
        if "const" in schema or isinstance(schema.get("enum"), list):
            options = _options([schema["const"]] if "const" in schema else schema["enum"])
            self._left -= len(options.text)
            return options
        kind = schema.get("type")
        if isinstance(kind, list):
            return _union(self._own({**schema, "type": one}, depth) for one in kind)
        if kind == "array" or (kind is None and ("items" in schema or "prefixItems" in schema)):
            return self._array(schema, depth)
        if kind == "object" or (kind is None and "properties" in schema):
            return self._object(schema, depth)
        return Kind(_NAMES[kind]) if isinstance(kind, str) and kind in _NAMES else ANY

    def _array(self, schema: dict[str, Any], depth: int) -> Kind:
        items = schema.get("items")
        given = _list(schema.get("prefixItems"))
        first = [self._type(item, depth).text for item in given[:MOST_OPTIONS]]
        if not first:
            return Kind(f"{self._type(items, depth).grouped}[]")
        items = True if len(given) > MOST_OPTIONS else items
        rest = [] if items in (False, None) else [f"...{self._type(items, depth).grouped}[]"]
        return Kind(f"[{', '.join([*first, *rest])}]")

    def _object(self, schema: dict[str, Any], depth: int) -> Kind:
        properties = schema.get("properties")
        more = schema.get("additionalProperties")
        if not isinstance(properties, dict) or not properties:
            inner = self._type(more, depth + 1).text if isinstance(more, dict) else ""
            return Kind(f"{{ [key: string]: {inner} }}") if inner else OBJECT
        required = _list(schema.get("required"))
        margin = " " * SPACES * depth
        lines = ["{"]
        for number, (name, part) in enumerate(properties.items()):
            if self._left <= 0:
                lines.append(f"{margin}// … and {len(properties) - number} more")
                break
            lines += (margin + line for line in self._property(name, part, name in required, depth))
        # The closing brace aligns with the line on which the object starts.
        return Kind("\n".join([*lines, margin[SPACES:] + "}"]))

    def _property(self, name: str, part: Any, required: bool, depth: int) -> list[str]:
        shown = name if _PLAIN.fullmatch(name) else quoted(name)
        shown = shown if len(shown) <= LONGEST_LITERAL else "[key: string]"
        notes = comment(self._notes(part)) if isinstance(part, dict) else []
        self._left -= len(shown) + sum(map(len, notes)) + SPACES * depth
        kind = self._type(part, depth + 1).text
        return [*notes, f"{shown}{'' if required else '?'}: {kind},"]

    def _notes(self, part: dict[str, Any]) -> str:
        text = part.get("description")
        if text is None and isinstance(part.get("$ref"), str):
            target = pointers.found(self._root, part["$ref"])
            text = target.get("description") if isinstance(target, dict) else None
        text = text.strip() if isinstance(text, str) else ""
        notes = [f"{name}={literal(part[key])}" for key, name in _NOTES if key in part]
        if text and notes and not text.endswith((".", "!", "?")):
            text += "."
        return " ".join(filter(None, [text, *notes]))

    def _referred(self, pointer: str, depth: int) -> Kind:
        if pointer in self._aliases:
            return self._aliases[pointer]
        target = pointers.found(self._root, pointer)
        if self._uses[pointer] == 1 or not isinstance(target, dict):
            return self._type(target, depth)
        named = self._aliases[pointer] = Kind(self._free(pointer))
        self._declared.append(f"type {named.text} = {self._type(target, 0).text};")
        return named

    def _free(self, pointer: str) -> str:
        """Return an unused type name for the pointer's target."""
        last = pointer.rpartition("/")[2] if "/" in pointer else f"{self._tool.name}_arguments"
        stem = re.sub(r"\W+", "_", last)[:64].strip("_") or "Value"
        stem = f"_{stem}" if stem[0].isdigit() else stem
        name, number = stem, 1
        while name in self._taken:
            number += 1
            name = f"{stem}{number}"
        self._taken.add(name)
        return name


def comment(text: str) -> list[str]:
    """Return the text as comment lines; no line can end the comment."""
    text = text if len(text) <= LONGEST_TEXT else text[:LONGEST_TEXT] + " …"
    lines = (_UNSEEN.sub(" ", line).strip() for line in text.splitlines())
    return [f"// {line}" for line in lines if line]


def literal(value: Any) -> str:
    """Render a value as a literal; one that is too long as its type."""
    text = quoted(value)
    if len(text) <= LONGEST_LITERAL:
        return text
    return "string" if isinstance(value, str) else "any"


def quoted(value: Any) -> str:
    """Encode the value as JSON on one line."""
    text = json.dumps(value, ensure_ascii=False)
    return _UNSEEN.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def _options(values: list[Any]) -> Kind:
    options = [literal(value) for value in values[:MOST_OPTIONS]]
    if len(values) > MOST_OPTIONS:
        options.append("string" if all(isinstance(value, str) for value in values) else "any")
    return _union(map(Kind, options))


def _union(kinds: Iterable[Kind]) -> Kind:
    return _joined(list(dict.fromkeys(kinds)), " | ", NEVER)


def _both(kinds: Iterable[Kind]) -> Kind:
    return _joined(list(dict.fromkeys(kinds)), " & ", ANY)


def _joined(kinds: list[Kind], between: str, none: Kind) -> Kind:
    if ANY in kinds:
        return ANY
    if len(kinds) < 2:
        return kinds[0] if kinds else none
    flat = between == " | "
    return Kind(between.join(kind.text if flat else kind.grouped for kind in kinds), joined=True)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
