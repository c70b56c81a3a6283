"""The import rules in pyproject.toml: each module that they name exists, and a name that does not is red."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from checks.files import ROOT

LINT = Path(sys.executable).with_name("lint-imports")
RULES = (ROOT / "pyproject.toml").read_text(encoding="utf-8").partition("[tool.importlinter]")[2]


def lint_imports(folder: Path, rules: str) -> subprocess.CompletedProcess[str]:
    """Holds the real package against `rules`."""
    config = folder / "pyproject.toml"
    config.write_text(f"[tool.importlinter]{rules}", encoding="utf-8")
    line = [str(LINT), "--no-logo", "--no-cache", "--config", str(config)]
    return subprocess.run(line, cwd=ROOT, capture_output=True, text=True)


@pytest.mark.demand("house.imports_go_down")
def test_no_layer_is_optional() -> None:
    """import-linter takes a name in parentheses for a module that need not exist."""
    contracts = tomllib.loads(f"[tool.importlinter]{RULES}")["tool"]["importlinter"]["contracts"]
    layers = [layer for contract in contracts for layer in contract.get("layers", ())]
    assert len(layers) > 10
    assert [layer for layer in layers if "(" in layer] == []


@pytest.mark.demand("tests.declared_dependencies_imported_ones")
@pytest.mark.io
@pytest.mark.parametrize(
    ("known", "with_unknown"),
    [
        ('"types", "errors",', '"types", "merge", "errors",'),
        ('source_modules = ["rightseat.types", ', 'source_modules = ["rightseat.merge", '),
    ],
    ids=["layers", "forbidden"],
)
def test_a_module_that_does_not_exist_is_red(tmp_path: Path, known: str, with_unknown: str) -> None:
    assert RULES.count(known) == 1
    done = lint_imports(tmp_path, RULES.replace(known, with_unknown))
    assert done.returncode != 0
    assert "rightseat.merge" in done.stdout + done.stderr
