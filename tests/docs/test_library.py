"""Every Python block of the documents imports public names and documented modules only; docs/library.md is run."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import rightseat
from rightseat.testing import ScriptedModel, TestClient
from tests.docs.test_docs import ROOT, find_blocks, import_code, list_blocks
from tests.kit.cases import each_case

PAGE = ROOT / "docs/library.md"

# Modules that the pages teach, beside the names of `rightseat` itself.
DOCUMENTED = {
    "rightseat.agents.agui",
    "rightseat.agents.copilotkit",
    "rightseat.agents.crewai",
    "rightseat.agents.hook",
    "rightseat.agents.langgraph",
    "rightseat.copilotkit",
    "rightseat.engine.loop",
    "rightseat.errors",
    "rightseat.http.endpoint",
    "rightseat.http.reply",
    "rightseat.middleware.guardrails",
    "rightseat.middleware.hooks",
    "rightseat.models.llamacpp.formats.answer_grammar",
    "rightseat.models.llamacpp.formats.format",
    "rightseat.models.scripted",
    "rightseat.runtime.incidents",
    "rightseat.stores.memory",
    "rightseat.stores.sqlite",
    "rightseat.testing",
    "rightseat.tools.delegate",
    "rightseat.tools.text_calls.reader",
    "rightseat.types.events",
    "rightseat.types.stores",
    "rightseat.types.streams",
    "rightseat.wiring.lookup",
}


def find_problems(code: str) -> Iterator[str]:
    """Yield a sentence for each import or attribute that is not public."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            yield from (f"import {name.name}" for name in node.names if name.name.startswith("rightseat."))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "rightseat":
            for name in (alias.name for alias in node.names):
                if node.module == "rightseat":
                    public = name in rightseat.__all__
                else:
                    public = node.module in DOCUMENTED and not name.startswith("_") and name not in rightseat.__all__
                if not public:
                    yield f"from {node.module} import {name}"
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "rightseat":
            yield from () if node.attr in rightseat.__all__ else (ast.unparse(node),)


@each_case(("page", "code"), list_blocks("python"))
def test_examples_import_public_names(page: Path, code: str) -> None:
    assert list(find_problems(code)) == []


@each_case(
    "code",
    [
        "import rightseat.wiring.runtime",
        "from rightseat import Engine",
        "from rightseat.wiring.runtime import RuntimeParts",
        "from rightseat.errors import _x",
        "from rightseat.types.events import Event",
        "import rightseat\nrightseat.mount",
    ],
)
def test_a_private_import_is_seen(code: str) -> None:
    assert list(find_problems(code)) != []


def test_every_documented_module_is_taught() -> None:
    text = "".join(str(block.values[1]) for block in list_blocks("python"))
    assert [name for name in sorted(DOCUMENTED) if f"from {name} import" not in text] == []


@pytest.mark.demand("engine.library_use_runtime_mount")
async def test_the_pages_first_program_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model = ScriptedModel(("find_order", {"number": "A7"}), "A7 was shipped.", "B2 too.")
    monkeypatch.setattr("rightseat.wiring.runtime.make_model", lambda spec: {"openai:gpt-5-mini": model}[spec])
    await import_code("orders", find_blocks(PAGE, "python")[0], tmp_path, monkeypatch).main()
    out = capsys.readouterr().out
    assert "A7 was shipped." in out
    assert "B2 too." in out
    assert len(model.prompts[-1].messages) == 5


async def test_the_pages_app_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = next(text for text in find_blocks(PAGE, "python") if "app.mount" in text)
    made = import_code("library_shop", code, tmp_path, monkeypatch)
    async with TestClient(made.app) as client:
        body = {"messages": [{"role": "user", "content": "hi"}]}
        assert "Hello from the shop." in (await client.post_json("/copilot/v1/chat/completions", body)).text
