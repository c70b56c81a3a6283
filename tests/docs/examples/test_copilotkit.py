"""examples/copilotkit and its page in the docs are one thing. Both apps run in tests/peers."""

import asyncio
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from rightseat.config.load import load_config
from rightseat.wiring.from_config import build_runtime

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "copilotkit"
PAGE = (ROOT / "docs" / "copilotkit.md").read_text("utf-8")
SOURCES = {file.name: file.read_text("utf-8") for file in (EXAMPLE / "src").iterdir()}


def find_blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def read_package(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((EXAMPLE / name).read_text("utf-8"))
    return content


@pytest.mark.demand("copilotkit.docs_copilotkit_md_react")
@pytest.mark.parametrize("code", [code for code in find_blocks("tsx") if not code.startswith("// desk.tsx ")])
def test_what_the_docs_show_is_the_apps_own_code(code: str) -> None:
    assert [name for name, source in SOURCES.items() if code in source], code


@pytest.mark.demand("copilotkit.docs_copilotkit_md_react")
def test_the_docs_server_is_the_examples() -> None:
    [config], [tools] = find_blocks("toml"), find_blocks("python")
    # The page's app has a state as well.
    assistant = config.partition("\n")[2].partition("\n[")[0]
    assert assistant in (EXAMPLE / "rightseat.toml").read_text("utf-8")
    assert tools.partition("\n")[2] in (EXAMPLE / "shop.py").read_text("utf-8")


@pytest.mark.demand("copilotkit.shared_state")
def test_the_assistant_of_the_docs_shares_its_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [config], [tools] = find_blocks("toml"), find_blocks("python")
    (tmp_path / "rightseat.toml").write_text(config, "utf-8")
    (tmp_path / "shop.py").write_text(tools, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "shop", raising=False)
    env = {"RIGHTSEAT_MODEL": "scripted:demo"}
    made = build_runtime(load_config(tmp_path / "rightseat.toml", env=env), env=env)
    specs = {tool.name: tool for tool in made.assistants["default"].tools}
    assert {"find_order", "cancel_order"} <= specs.keys()
    assert specs["set_state"].parameters["properties"].keys() == {"note"}
    asyncio.run(made.close())


@pytest.mark.demand("copilotkit.docs_copilotkit_md_react")
def test_the_assistant_has_its_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLE)
    monkeypatch.syspath_prepend(str(EXAMPLE))
    env = {"RIGHTSEAT_MODEL": "scripted:demo"}
    made = build_runtime(load_config(EXAMPLE / "rightseat.toml", env=env), env=env)
    assert {"find_order", "cancel_order"} <= {tool.name for tool in made.assistants["default"].tools}
    asyncio.run(made.close())


def test_every_package_is_pinned_and_the_lock_is_of_these() -> None:
    given, lock = read_package("package.json"), read_package("package-lock.json")
    for kind in ("dependencies", "devDependencies"):
        assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in given[kind].values())
        assert lock["packages"][""][kind] == given[kind]
        installed = {name: lock["packages"][f"node_modules/{name}"]["version"] for name in given[kind]}
        assert installed == given[kind]
    assert "resolved" not in json.dumps(lock)


def test_every_file_is_in_the_readme() -> None:
    readme = (EXAMPLE / "README.md").read_text("utf-8")
    files = {"rightseat.toml", "shop.py"} | {f"src/{name}" for name in SOURCES if name != "style.css"}
    assert {name for name in files if f"| `{name}` |" not in readme} == set()
