"""Style checks of operations: models choose and fill in tools by their descriptions."""

from __future__ import annotations

from collections.abc import Iterator

from rightseat.plugins.openapi.arguments import Arguments
from rightseat.plugins.openapi.bodies import Content
from rightseat.plugins.openapi.node import Node
from rightseat.plugins.openapi.reading import Reading

SHORTEST = 6
WRITING = ("POST", "PUT", "PATCH")
_EMPTY = frozenset(
    (
        "todo", "tbd", "test", "api", "description", "desc", "n/a", "none", "null", "...", "string", "xxx",
        "描述", "接口", "测试", "说明", "暂无", "无", "api的描述信息", "字段的描述信息", "这里是样例描述。",
    )
)  # fmt: skip


def vague(text: str) -> bool:
    """Tell whether a description is too short or a placeholder; a Chinese character counts as three."""
    bare = text.strip().lower()
    width = sum(1 if letter.isascii() else 3 for letter in bare)
    return width < SHORTEST or bare in _EMPTY


def look(
    reading: Reading, method: str, item: Node, node: Node, made: Arguments, content: Content | None
) -> None:
    said = node.text("description") or node.text("summary") or item.text("description")
    for what, fix in (*of_operation(method, node, said, content), *of_fields(made, content)):
        reading.notes.add(node, what, fix, "style")


def of_operation(method: str, node: Node, said: str, content: Content | None) -> Iterator[tuple[str, str]]:
    if not said:
        yield "It has no description.", "Say what it does, what it takes and what it gives back."
    elif vague(said):
        yield (
            f"Its description is vague: {said!r}.",
            "Say what it does, what it takes and what it gives back.",
        )
    if method in WRITING and content is None:
        yield "It has no requestBody.", "Describe what is sent; a model leaves out what it does not know of."
    given = node.value.get("responses")
    if not isinstance(given, dict) or not given:
        yield "It has no responses.", "Describe the answer, so that the model knows what it will see."
    elif not any(status.startswith("2") or status == "default" for status in given):
        yield "It has no response for success.", 'Describe "200".'


def of_fields(made: Arguments, content: Content | None) -> Iterator[tuple[str, str]]:
    for one in made.parameters:
        if one.argument not in made.secured and not one.schema.get("description"):
            yield f"The parameter {one.name!r} has no description.", "Say what it means, and in which form."
    if content is None:
        return
    if not content.description and not content.schema.get("description"):
        yield "Its requestBody has no description.", "Say in a sentence what is sent."
    for name, schema in content.schema.get("properties", {}).items() if content.plain else ():
        if not schema.get("description") and "$ref" not in schema:
            yield (
                f"The field {name!r} of the body has no description.",
                "Say what it means, and in which form.",
            )
