"""Jinja2 as chat templates expect it, in a sandbox that also bounds work.

Jinja2's own sandbox limits access only. Here every loop step and call checks a deadline, and operations that
can make a huge value from a small one (repetition, concatenation, widths, powers) are bounded. A template
must first pass `template_probe`; these limits stop one that misbehaves only on certain conversations.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any, Never

import jinja2
from jinja2 import nodes
from jinja2.exceptions import SecurityError
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

Clock = Callable[[], datetime]

MAX_TEXT_SIZE = 16 << 20
MAX_NUMBER_BITS = 4096
MAX_CALL_NUMBER = 100_000
# Exceptions that a faulty template can raise.
TEMPLATE_ERRORS = (
    jinja2.TemplateError,
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
)
_WIDE = re.compile(r"\d{5,}|\*")
_REMOVED_GLOBALS = ("lipsum",)
_REMOVED_FILTERS = ("center", "filesizeformat", "pprint", "urlize", "wordwrap", "xmlattr")


class TemplateLimitExceeded(SecurityError):
    """The template exceeds the limits on time or size."""


class GenerationExtension(Extension):
    """Supports `{% generation %}`, which marks training targets; only its content is rendered."""

    def __init__(self, environment: jinja2.Environment) -> None:
        super().__init__(environment)
        self.tags = {"generation"}

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class BoundedTransformer(NodeTransformer):
    """Rewrites loops and concatenations as calls of the sandbox, which then checks them."""

    def visit_For(self, node: nodes.For) -> nodes.For:
        self.generic_visit(node)
        assert isinstance(node.iter, nodes.Expr)
        node.iter = _call_environment("check_each", [node.iter], node.lineno)
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Call:
        self.generic_visit(node)
        return _call_environment("concatenate", node.nodes, node.lineno)


def _call_environment(method: str, args: list[nodes.Expr], line: int) -> nodes.Call:
    # An environment attribute, not a variable: a template cannot reassign it.
    return nodes.Call(nodes.EnvironmentAttribute(method), args, [], None, None, lineno=line)


class TemplateSandbox(ImmutableSandboxedEnvironment):
    intercepted_binops = frozenset({"+", "*", "**", "%"})

    def __init__(self, clock: Clock) -> None:
        super().__init__(
            trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols", GenerationExtension]
        )
        for name in _REMOVED_GLOBALS:
            del self.globals[name]
        for name in _REMOVED_FILTERS:
            del self.filters[name]
        self.filters["tojson"] = tojson
        # Nothing is escaped here; Jinja2's Markup would escape all text concatenated to it.
        self.filters["safe"] = str
        self.globals["raise_exception"] = raise_template_error
        self.globals["strftime_now"] = lambda form: clock().strftime(form)
        self._deadline = 0.0

    def compile_template(self, source: str) -> jinja2.Template:
        return self.from_string(BoundedTransformer().visit(self.parse(source)))

    def render_template(self, template: jinja2.Template, values: dict[str, Any], seconds: float) -> str:
        self._deadline = time.monotonic() + seconds
        out: list[str] = []
        size = 0
        for piece in template.generate(values):
            size += len(piece)
            self._check(size)
            out.append(piece)
        return "".join(out)

    def check_each(self, items: Iterable[Any]) -> Iterator[Any]:
        for item in items:
            self._check(0)
            yield item

    def concatenate(self, *values: Any) -> str:
        texts = [str(value) for value in values]
        self._check(sum(map(len, texts)))
        return "".join(texts)

    def call(self, context: Context, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        self._check(0)
        if any(type(value) is int and abs(value) > MAX_CALL_NUMBER for value in (*args, *kwargs.values())):
            raise TemplateLimitExceeded("a number that no chat template needs")
        return super().call(context, obj, *args, **kwargs)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        # Kimi's template keeps a list of ids; values passed in are copies, so ours cannot change.
        if isinstance(obj, list) and attr in ("append", "pop"):
            return True
        return super().is_safe_attribute(obj, attr, value)

    def unsafe_undefined(self, obj: Any, attribute: str) -> Never:
        # Jinja2 would render nothing; a template that tries this must not be used at all.
        raise SecurityError(f"the attribute {attribute} is not for templates")

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        wrapped = super().wrap_str_format(value)
        if wrapped is not None and _WIDE.search(value.__self__):
            raise TemplateLimitExceeded("a wide format")
        return wrapped

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        self._check(_size_after(operator, left, right))
        return super().call_binop(context, operator, left, right)

    def _check(self, size: int) -> None:
        if size > MAX_TEXT_SIZE:
            raise TemplateLimitExceeded(f"a text of more than {MAX_TEXT_SIZE >> 20} MB")
        if time.monotonic() > self._deadline:
            raise TemplateLimitExceeded("more time than a chat template needs")


def _size_after(operator: str, left: Any, right: Any) -> int:
    """Return an upper bound of the result's size; raises TemplateLimitExceeded for refused operations."""
    if operator == "**":
        raise TemplateLimitExceeded("a power")
    if operator == "%":
        if isinstance(left, str) and _WIDE.search(left):
            raise TemplateLimitExceeded("a wide format")
        return 0
    if type(left) is int and type(right) is int:
        bits = left.bit_length() + right.bit_length()
        if bits > MAX_NUMBER_BITS:
            raise TemplateLimitExceeded("a number that no chat template needs")
        return 0
    if operator == "*":
        many = left if isinstance(left, int) else right
        return _length(left, right) * max(0, many) if isinstance(many, int) else 0
    return _length(left) + _length(right)


def _length(*values: Any) -> int:
    return max(len(value) if isinstance(value, str | list | tuple | bytes) else 0 for value in values)


def tojson(
    value: Any,
    indent: int | None = None,
    ensure_ascii: bool = False,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """Encode JSON as transformers does: Jinja2's filter escapes `<`, which models were not trained on."""
    if indent is not None and not 0 <= indent <= 16:
        raise TemplateLimitExceeded("a wide indent")
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def raise_template_error(message: str = "") -> Never:
    raise jinja2.TemplateError(message)
