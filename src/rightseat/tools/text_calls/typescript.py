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
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from urllib.parse import unquote

from msgspec import Struct

from rightseat.types.model import ToolSpec

MAX_TOOL_CHARS = 20_000
MAX_COMMENT_CHARS = 2_000
MAX_LITERAL_CHARS = 500
MAX_OPTIONS = 100
MAX_DEPTH = 16
INDENT = 4

_TYPE_NAMES = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}

_IDENTIFIER = re.compile(r"[^\W\d][\w$]*")
_TOOL_IDENTIFIER = re.compile(r"[^\W\d][\w$.:/-]*")

# JSON keeps some of these unescaped, but models may read them as line ends.
_CONTROL_CHARS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")

_COMMENT_KEYS = (
    ("default", "Default"),
    ("format", "Format"),
    ("minimum", "Minimum"),
    ("maximum", "Maximum"),
    ("minLength", "Minimum length"),
    ("maxLength", "Maximum length"),
)


def iter_refs(schema: Any) -> Iterator[str]:
    """Yield every `$ref` of the schema, with repetitions. No recursion: it may be nested deeply."""
    pending = [schema]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            if isinstance(value.get("$ref"), str):
                yield value["$ref"]
            pending += value.values()
        elif isinstance(value, list):
            pending += value


def resolve_ref(root: Any, pointer: str) -> Any:
    """Return the target of a `$ref`; None if it is missing or in another document."""
    if not pointer.startswith("#"):
        return None
    value = root
    for step in unquote(pointer[1:]).split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            return None
    return value


def render_signatures(tools: Sequence[ToolSpec]) -> str:
    """Render a `type` for each tool, after its comment and the types it refers to."""
    taken = {tool.name for tool in tools}
    return "\n\n".join(_Signature(tool, taken).text() for tool in tools)


def render_namespace(tools: Sequence[ToolSpec]) -> str:
    """Render the signatures in the form that Functionary was trained on."""
    return (
        "// Supported function definitions that should be called when necessary.\n"
        f"namespace functions {{\n\n{render_signatures(tools)}\n\n}} // namespace functions"
    )


class TypeExpression(Struct, frozen=True):
    """Text of a type. `is_compound`: several types joined by `|` or `&`."""

    text: str
    is_compound: bool = False

    @property
    def parenthesized(self) -> str:
        return f"({self.text})" if self.is_compound else self.text


ANY_TYPE = TypeExpression("any")
NEVER_TYPE = TypeExpression("never")
OBJECT_TYPE = TypeExpression("object")
NULL_TYPE = TypeExpression("null")


class _Signature:
    """Signature of one tool. `taken`: type names in use, extended here."""

    def __init__(self, tool: ToolSpec, taken: set[str]) -> None:
        self._tool = tool
        self._taken = taken
        self._root = tool.parameters
        # A schema used more than once, itself included, becomes a named type: so recursion ends.
        self._uses = Counter(["#", *iter_refs(tool.parameters)])
        self._aliases: dict[str, TypeExpression] = {}
        self._declared: list[str] = []
        self._chars_left = MAX_TOOL_CHARS
        self._depth = 0

    def text(self) -> str:
        arguments = self._ref_type("#", 0) if self._uses["#"] > 1 else self._type(self._root, 0)
        inside = "" if arguments in (OBJECT_TYPE, ANY_TYPE) else f"_: {arguments.text}"
        name = self._tool.name
        name = name if _TOOL_IDENTIFIER.fullmatch(name) else to_json_line(name)
        lines = [*self._declared, *comment_lines(self._tool.description), f"type {name} = ({inside}) => any;"]
        return "\n".join(lines)

    def _type(self, schema: Any, depth: int) -> TypeExpression:
        """Return the type of a schema. `depth`: number of enclosing objects."""
        if schema is False:
            return NEVER_TYPE
        self._chars_left -= INDENT
        if not isinstance(schema, dict) or self._depth > MAX_DEPTH or self._chars_left <= 0:
            return ANY_TYPE
        self._depth += 1
        kinds = [self._own_type(schema, depth)]
        if isinstance(schema.get("$ref"), str):
            kinds.append(self._ref_type(schema["$ref"], depth))
        unions = (_as_list(schema.get("anyOf")), _as_list(schema.get("oneOf")))
        for options in filter(None, unions):
            is_long = len(options) > MAX_OPTIONS
            kinds.append(ANY_TYPE if is_long else _union(self._type(option, depth) for option in options))
        kinds += [self._type(part, depth) for part in _as_list(schema.get("allOf"))]
        self._depth -= 1
        combined = _join_types((kind for kind in kinds if kind != ANY_TYPE), " & ", ANY_TYPE)
        return _union([combined, NULL_TYPE]) if schema.get("nullable") is True else combined

    def _own_type(self, schema: dict[str, Any], depth: int) -> TypeExpression:
        """Return the type of the schema without its references and combinators."""
        if "const" in schema or isinstance(schema.get("enum"), list):
            options = _literal_union([schema["const"]] if "const" in schema else schema["enum"])
            self._chars_left -= len(options.text)
            return options
        kind = schema.get("type")
        if isinstance(kind, list):
            return _union(self._own_type({**schema, "type": name}, depth) for name in kind)
        if kind == "array" or (kind is None and ("items" in schema or "prefixItems" in schema)):
            return self._array_type(schema, depth)
        if kind == "object" or (kind is None and "properties" in schema):
            return self._object_type(schema, depth)
        return TypeExpression(_TYPE_NAMES[kind]) if isinstance(kind, str) and kind in _TYPE_NAMES else ANY_TYPE

    def _array_type(self, schema: dict[str, Any], depth: int) -> TypeExpression:
        items = schema.get("items")
        prefix = _as_list(schema.get("prefixItems"))
        first = [self._type(item, depth).text for item in prefix[:MAX_OPTIONS]]
        if not first:
            return TypeExpression(f"{self._type(items, depth).parenthesized}[]")
        items = True if len(prefix) > MAX_OPTIONS else items
        rest = [] if items in (False, None) else [f"...{self._type(items, depth).parenthesized}[]"]
        return TypeExpression(f"[{', '.join([*first, *rest])}]")

    def _object_type(self, schema: dict[str, Any], depth: int) -> TypeExpression:
        properties = schema.get("properties")
        more = schema.get("additionalProperties")
        if not isinstance(properties, dict) or not properties:
            inner = self._type(more, depth + 1).text if isinstance(more, dict) else ""
            return TypeExpression(f"{{ [key: string]: {inner} }}") if inner else OBJECT_TYPE
        required = _as_list(schema.get("required"))
        margin = " " * INDENT * depth
        lines = ["{"]
        for number, (name, part) in enumerate(properties.items()):
            if self._chars_left <= 0:
                lines.append(f"{margin}// … and {len(properties) - number} more")
                break
            lines += (margin + line for line in self._property_lines(name, part, name in required, depth))
        # The closing brace aligns with the line on which the object starts.
        return TypeExpression("\n".join([*lines, margin[INDENT:] + "}"]))

    def _property_lines(self, name: str, part: Any, required: bool, depth: int) -> list[str]:
        shown = name if _IDENTIFIER.fullmatch(name) else to_json_line(name)
        shown = shown if len(shown) <= MAX_LITERAL_CHARS else "[key: string]"
        notes = comment_lines(self._comment_text(part)) if isinstance(part, dict) else []
        self._chars_left -= len(shown) + sum(map(len, notes)) + INDENT * depth
        kind = self._type(part, depth + 1).text
        return [*notes, f"{shown}{'' if required else '?'}: {kind},"]

    def _comment_text(self, part: dict[str, Any]) -> str:
        text = part.get("description")
        if text is None and isinstance(part.get("$ref"), str):
            target = resolve_ref(self._root, part["$ref"])
            text = target.get("description") if isinstance(target, dict) else None
        text = text.strip() if isinstance(text, str) else ""
        notes = [f"{name}={render_literal(part[key])}" for key, name in _COMMENT_KEYS if key in part]
        if text and notes and not text.endswith((".", "!", "?")):
            text += "."
        return " ".join(filter(None, [text, *notes]))

    def _ref_type(self, pointer: str, depth: int) -> TypeExpression:
        if pointer in self._aliases:
            return self._aliases[pointer]
        target = resolve_ref(self._root, pointer)
        if self._uses[pointer] == 1 or not isinstance(target, dict):
            return self._type(target, depth)
        named = self._aliases[pointer] = TypeExpression(self._free_name(pointer))
        self._declared.append(f"type {named.text} = {self._type(target, 0).text};")
        return named

    def _free_name(self, pointer: str) -> str:
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


def comment_lines(text: str) -> list[str]:
    """Return the text as comment lines; no line can end the comment."""
    text = text if len(text) <= MAX_COMMENT_CHARS else text[:MAX_COMMENT_CHARS] + " …"
    lines = (_CONTROL_CHARS.sub(" ", line).strip() for line in text.splitlines())
    return [f"// {line}" for line in lines if line]


def render_literal(value: Any) -> str:
    """Render a value as a literal; one that is too long as its type."""
    text = to_json_line(value)
    if len(text) <= MAX_LITERAL_CHARS:
        return text
    return "string" if isinstance(value, str) else "any"


def to_json_line(value: Any) -> str:
    """Encode the value as JSON on one line."""
    text = json.dumps(value, ensure_ascii=False)
    return _CONTROL_CHARS.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def _literal_union(values: list[Any]) -> TypeExpression:
    options = [render_literal(value) for value in values[:MAX_OPTIONS]]
    if len(values) > MAX_OPTIONS:
        options.append("string" if all(isinstance(value, str) for value in values) else "any")
    return _union(map(TypeExpression, options))


def _union(kinds: Iterable[TypeExpression]) -> TypeExpression:
    return _join_types(kinds, " | ", NEVER_TYPE)


def _join_types(kinds: Iterable[TypeExpression], between: str, none: TypeExpression) -> TypeExpression:
    """Join types without repetitions; `none` stands for no types."""
    unique = list(dict.fromkeys(kinds))
    if ANY_TYPE in unique:
        return ANY_TYPE
    if len(unique) < 2:
        return unique[0] if unique else none
    texts = (kind.text if between == " | " else kind.parenthesized for kind in unique)
    return TypeExpression(between.join(texts), is_compound=True)


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
