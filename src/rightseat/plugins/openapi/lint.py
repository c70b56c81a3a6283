"""Style checks of operations: descriptions, by which models choose and fill in tools, and unknown keys, which are
mostly misspelt and otherwise silently ignored."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files

from rightseat.plugins.openapi.arguments import ParsedArguments
from rightseat.plugins.openapi.bodies import ParsedBody
from rightseat.plugins.openapi.node import Node
from rightseat.plugins.openapi.spec import SpecContext
from rightseat.types.text import did_you_mean

MIN_DESCRIPTION_WIDTH = 6
BODY_METHODS = ("POST", "PUT", "PATCH")

_PLACEHOLDER_TEXTS = frozenset(
    (
        "todo", "tbd", "test", "api", "description", "desc", "n/a", "none", "null", "...", "string", "xxx",
        "描述", "接口", "测试", "说明", "暂无", "无", "api的描述信息", "字段的描述信息", "这里是样例描述。",
    )
)  # fmt: skip


def is_vague(text: str) -> bool:
    """Tell whether a description is too short or a placeholder; a Chinese character counts as three."""
    bare = text.strip().lower()
    width = sum(1 if letter.isascii() else 3 for letter in bare)
    return width < MIN_DESCRIPTION_WIDTH or bare in _PLACEHOLDER_TEXTS


def check_operation_style(
    context: SpecContext, method: str, item: Node, node: Node, arguments: ParsedArguments, content: ParsedBody | None
) -> None:
    description = node.text("description") or node.text("summary") or item.text("description")
    for what, fix in (*operation_problems(method, node, description, content), *field_problems(arguments, content)):
        context.problems.add(node, what, fix, "style")


def operation_problems(
    method: str, node: Node, description: str, content: ParsedBody | None
) -> Iterator[tuple[str, str]]:
    if is_vague(description):
        what = f"Its description is vague: {description!r}." if description else "It has no description."
        yield what, "Say what it does, what it takes and what it gives back."
    if method in BODY_METHODS and content is None:
        yield "It has no requestBody.", "Describe what is sent; a model leaves out what it does not know of."
    responses = node.value.get("responses")
    if not isinstance(responses, dict) or not responses:
        yield "It has no responses.", "Describe the answer, so that the model knows what it will see."
    elif not any(status.startswith("2") or status == "default" for status in responses):
        yield "It has no response for success.", 'Describe "200".'


def field_problems(arguments: ParsedArguments, content: ParsedBody | None) -> Iterator[tuple[str, str]]:
    for parameter in arguments.parameters:
        if parameter.argument not in arguments.secured and not parameter.schema.get("description"):
            yield f"The parameter {parameter.name!r} has no description.", "Say what it means, and in which form."
    if content is None:
        return
    if not content.description and not content.schema.get("description"):
        yield "Its requestBody has no description.", "Say in a sentence what is sent."
    for name, schema in content.schema.get("properties", {}).items() if content.is_flat else ():
        if not schema.get("description") and "$ref" not in schema:
            yield (f"The field {name!r} of the body has no description.", "Say what it means, and in which form.")


# Keys of Swagger 2.0. "document" is the name of fields.toml for the top level.
SWAGGER_FIELDS: dict[str, str] = {
    "document": "swagger host basePath schemes consumes produces definitions parameters responses securityDefinitions",
    "operation": "consumes produces schemes",
}


@cache
def load_field_tables() -> dict[str, dict[str, list[str]]]:
    """Load table → key → meaning in English and Chinese."""
    return tomllib.loads((files(__package__) / "fields.toml").read_text("utf-8"))


@cache
def known_fields(table: str) -> tuple[str, ...]:
    return (*load_field_tables()[table], *SWAGGER_FIELDS.get(table, "").split())


def check_unknown_keys(context: SpecContext, node: Node, table: str) -> None:
    names = known_fields(table)
    for key in node.value:
        if key not in names and not key.startswith("x-"):
            context.problems.add(node.child(key), "Nothing reads this key.", did_you_mean(key, names), "style")
