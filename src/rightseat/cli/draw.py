"""`rightseat flows draw`: a flow as SVG or Mermaid. Nothing of the plugin runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer

from rightseat.cli.plugins import prepare_output
from rightseat.config.read import load_config
from rightseat.errors import ConfigError
from rightseat.plugins.flows.draw import render_mermaid
from rightseat.plugins.flows.flow import Flow
from rightseat.plugins.flows.svg import render_flow_svg
from rightseat.plugins.load import read_plugin, read_plugins
from rightseat.plugins.plugin import Plugin
from rightseat.types.nearest import did_you_mean
from rightseat.wiring.plugins import plugin_folders


def draw_flow(
    name: str, directories: Sequence[Path], path: Path | None, *, as_mermaid: bool, out: Path | None
) -> None:
    prepare_output()
    flow = find_flow(name, load_plugins(directories, path))
    picture = render_mermaid(flow) if as_mermaid else render_flow_svg(flow)
    if out is None:
        typer.echo(picture, nl=False)
        return
    try:
        out.write_text(picture, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{out} cannot be written: {error.strerror}.") from None
    typer.echo(f"{out} is there.")


def load_plugins(directories: Sequence[Path], path: Path | None) -> list[Plugin]:
    """Load the plugins of the given folders, else of the configuration."""
    if directories and path is None:
        return read_plugins(directories)
    return [read_plugin(folder) for folder in plugin_folders(load_config(path, plugins=directories))]


def find_flow(name: str, plugins: Sequence[Plugin]) -> Flow:
    """Return a flow by "plugin/flow", or by its name alone where that is unique."""
    flows = {flow.id: flow for plugin in plugins for flow in plugin.workflows}
    if name in flows:
        return flows[name]
    matches = [flow for flow in flows.values() if flow.name == name]
    if len(matches) == 1:
        return matches[0]
    if not flows:
        raise ConfigError(
            "There are no flows. Name a folder by --plugins DIR, or see: rightseat plugins check"
        )
    raise ConfigError(f"There is no flow {name!r} that can run. {did_you_mean(name, flows)}")
