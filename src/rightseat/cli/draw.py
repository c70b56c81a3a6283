"""`rightseat flows draw`: a flow as SVG or Mermaid. Nothing of the plugin runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer

from rightseat.cli.plugins import prepare
from rightseat.config import load
from rightseat.errors import ConfigError
from rightseat.plugins.flows.draw import mermaid
from rightseat.plugins.flows.flow import Flow
from rightseat.plugins.flows.svg import svg
from rightseat.plugins.load import read, read_all
from rightseat.plugins.plugin import Plugin
from rightseat.types.nearest import meant
from rightseat.wiring.plugins import folders


def draw(
    name: str, directories: Sequence[Path], path: Path | None, *, as_mermaid: bool, out: Path | None
) -> None:
    prepare()
    flow = found(name, plugins_of(directories, path))
    made = mermaid(flow) if as_mermaid else svg(flow)
    if out is None:
        typer.echo(made, nl=False)
        return
    try:
        out.write_text(made, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{out} cannot be written: {error.strerror}.") from None
    typer.echo(f"{out} is there.")


def plugins_of(directories: Sequence[Path], path: Path | None) -> list[Plugin]:
    """Load the plugins of the given folders, else of the configuration."""
    if directories and path is None:
        return read_all(directories)
    return [read(folder) for folder in folders(load(path, plugins=directories))]


def found(name: str, plugins: Sequence[Plugin]) -> Flow:
    """Return a flow by "plugin/flow", or by its name alone where that is unique."""
    flows = {flow.id: flow for plugin in plugins for flow in plugin.workflows}
    if name in flows:
        return flows[name]
    alone = [flow for flow in flows.values() if flow.name == name]
    if len(alone) == 1:
        return alone[0]
    if not flows:
        raise ConfigError(
            "There are no flows. Name a folder by --plugins DIR, or see: rightseat plugins check"
        )
    raise ConfigError(f"There is no flow {name!r} that can run. {meant(name, flows)}")
