"""docs/reference/plugins.md, in two languages, from the same tables that the reader of plugins uses."""

from collections.abc import Iterator

from rightseat.plugins.openapi.lint import load_field_tables

TEXTS = {
    "en": {
        "title": "Every field of a plugin",
        "intro": "[plugins.md](../plugins.md) explains how to write a plugin. Most of these fields are optional.",
        "head": "| field | meaning |",
        "plugin.json": "plugin.json",
        "auth": "plugin.json: auth",
        "document": "openapi.yaml",
        "operation": "openapi.yaml: an operation",
        "parameter": "openapi.yaml: a parameter",
        "schema": "openapi.yaml: a schema",
    },
    "zh": {
        "title": "插件的全部字段",
        "intro": "用途说明见[plugins.zh.md](../plugins.zh.md)。除特别说明外，所有字段均可省略。",
        "head": "| 字段 | 含义 |",
        "plugin.json": "plugin.json",
        "auth": "plugin.json：auth",
        "document": "openapi.yaml",
        "operation": "openapi.yaml：API",
        "parameter": "openapi.yaml：参数",
        "schema": "openapi.yaml：Schema",
    },
}


def build_page(language: str) -> str:
    words = TEXTS[language]
    parts = [f"# {words['title']}\n\n{words['intro']}\n"]
    for title, rows in list_sections(language):
        table = "\n".join(f"| `{name}` | {said.replace('|', '/')} |" for name, said in rows)
        parts.append(f"## {words[title]}\n\n{words['head']}\n|---|---|\n{table}\n")
    return "\n".join(parts)


def list_sections(language: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    for title, keys in load_field_tables().items():
        yield title, [(name, said[language == "zh"]) for name, said in keys.items()]
