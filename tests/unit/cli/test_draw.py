"""`rightseat flows draw`: a flow as SVG or as Mermaid's text."""

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from rightseat.cli import app
from rightseat.errors import ConfigError
from tests.unit.plugins.folders import make_api_document, write_empty_flow, write_plugin

RUNNER = CliRunner()


def run_draw(*words: str | Path) -> Result:
    return RUNNER.invoke(app, ["flows", "draw", *map(str, words)])


def write_plugins(where: Path) -> Path:
    write_plugin(
        where,
        make_api_document(),
        name="hosts",
        files={"flows/a.yaml": write_empty_flow("tell"), "flows/b.yaml": write_empty_flow("ask")},
    )
    write_plugin(where, make_api_document(), name="shop", files={"flows/a.yaml": write_empty_flow("tell")})
    return where


@pytest.mark.demand("flows.rightseat_flows_draw_docs")
def test_svg_is_printed(tmp_path: Path) -> None:
    said = run_draw("hosts/tell", "--plugins", write_plugins(tmp_path))
    assert said.exit_code == 0
    assert "hosts/tell" in "".join(ET.fromstring(said.output).itertext())


@pytest.mark.demand("flows.rightseat_flows_draw_docs")
def test_mermaid_is_printed(tmp_path: Path) -> None:
    said = run_draw("ask", "--plugins", write_plugins(tmp_path), "--mermaid")
    title = 'title: "hosts/ask: at most 1 model call; about 3 s (3 s each)"'
    assert said.output == f'---\n{title}\n---\nflowchart TD\n    s0(["start"])\n'


@pytest.mark.demand("flows.rightseat_flows_draw_docs")
def test_a_file_is_written(tmp_path: Path) -> None:
    out = tmp_path / "made.svg"
    said = run_draw("hosts/tell", "--plugins", write_plugins(tmp_path), "--out", out)
    assert said.output.startswith(f"Wrote {out}. hosts/tell: at most 1 model call")
    ET.fromstring(out.read_text("utf-8"))


def test_plugins_of_the_configuration(tmp_path: Path) -> None:
    write_plugins(tmp_path / "all")
    (tmp_path / "rightseat.toml").write_text('[[plugins]]\npath = "all"\n', "utf-8")
    said = run_draw("shop/tell", "--config", tmp_path / "rightseat.toml", "--mermaid")
    assert "\nflowchart TD\n" in said.output


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    for name, words in (("hosts/tel", "Did you mean 'hosts/tell'?"), ("tell", "no flow 'tell'")):
        said = run_draw(name, "--plugins", write_plugins(tmp_path / name.replace("/", "-")))
        assert isinstance(said.exception, ConfigError)
        assert words in said.exception.message
    none = run_draw("x/y", "--plugins", write_plugin(tmp_path, make_api_document(), name="bare"))
    assert isinstance(none.exception, ConfigError)
    assert "no flows" in none.exception.message
    unwritable = run_draw("hosts/tell", "--plugins", write_plugins(tmp_path / "w"), "--out", tmp_path / "no" / "x.svg")
    assert isinstance(unwritable.exception, ConfigError)
