"""The server's sentences that the page shows have their Chinese in page/zh.json, with the same places."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import rightseat

SOURCE = Path(rightseat.__file__).parent
PAGE = SOURCE / "server" / "playground" / "page"
PLUGINS = SOURCE / "plugins"
MODULES = (
    *(PLUGINS / f"{name}.py" for name in ("load", "manifest", "plugin_file", "yaml_reader", "http/oidc")),
    *(PLUGINS / "flows" / f"{name}.py" for name in ("load", "step_context")),
    *sorted((PLUGINS / "openapi").glob("*.py")),
    *sorted((PLUGINS / "python").glob("*.py")),
    *sorted((PLUGINS / "flows" / "steps").glob("*.py")),
    *(SOURCE / "models" / "llamacpp" / f"{name}.py" for name in ("hub", "download", "pulled", "gguf")),
    *(SOURCE / "server" / "playground" / f"{name}.py" for name in ("models", "model_form", "model_fetch")),
    SOURCE / "models" / "_vendor" / "errors.py",
)


def read_chinese() -> dict[str, str]:
    chinese: dict[str, str] = json.loads((PAGE / "zh.json").read_text(encoding="utf-8"))
    return chinese


def format_template(node: ast.AST) -> str:
    """A text as the source has it, with {} for each value that is put in."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in parts)
    return ""


def list_sentences(path: Path) -> Iterator[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = list(ast.walk(tree))
    parts = {
        id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in ast.walk(node) if part is not node
    }
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        text = format_template(node)
        is_prompt = "\n" in text
        is_sentence = text.endswith((".", "?")) and " " in text.strip() and re.search("[a-z]{2}", text)
        if is_sentence and not is_prompt and id(node) not in parts | docstrings:
            yield text


@pytest.mark.demand("playground.server_sentences_in_chinese")
@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_every_sentence_has_its_chinese(path: Path) -> None:
    chinese = read_chinese()
    missing = [sentence for sentence in list_sentences(path) if sentence not in chinese]
    assert missing == [], "add them to src/rightseat/server/playground/page/zh.json"


@pytest.mark.demand("playground.server_sentences_in_chinese")
def test_the_chinese_has_the_same_places() -> None:
    for english, chinese in read_chinese().items():
        places = sorted(re.findall(r"\{(\d)\}", chinese))
        assert places == [str(number + 1) for number in range(english.count("{}"))], english
        assert not chinese.isascii(), english
