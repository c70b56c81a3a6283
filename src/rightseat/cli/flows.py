"""`rightseat flows`: list flows, and run one in the terminal with its steps.

`rightseat flows draw`: a flow as SVG or Mermaid.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from rightseat.cli import log
from rightseat.cli.chat import ChatSession, Terminal
from rightseat.cli.embedded import prepare_config
from rightseat.cli.plugins import prepare_output, to_one_line
from rightseat.config.read import load_config
from rightseat.errors import ConfigError
from rightseat.plugins.flows.diagram import render_mermaid
from rightseat.plugins.flows.svg import render_flow_svg
from rightseat.plugins.load import read_plugin, read_plugins
from rightseat.plugins.plugin import Flow, Plugin
from rightseat.server.progress import show_spinner
from rightseat.types.events import Custom, Event, Suggestions
from rightseat.types.text import did_you_mean
from rightseat.wiring.from_config import build_runtime
from rightseat.wiring.plugins import plugin_folders


def draw_flow(name: str, directories: Sequence[Path], path: Path | None, *, as_mermaid: bool, out: Path | None) -> None:
    prepare_output()
    flow = find_flow(name, load_plugins(directories, path))
    picture = render_mermaid(flow) if as_mermaid else render_flow_svg(flow)
    if out is None:
        typer.echo(picture, nl=False)
        return
    try:
        out.write_text(picture, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"Cannot write {out}: {error.strerror}.") from None
    typer.echo(f"Wrote {out}.")


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
            "There are no flows. Name a plugin folder with --plugins DIR; `rightseat plugins check DIR` shows problems."
        )
    raise ConfigError(f"There is no flow {name!r} without errors. {did_you_mean(name, flows)}")


MAX_DESCRIPTION = 100


def list_flows(directories: Sequence[Path], path: Path | None) -> None:
    prepare_output()
    flows = [flow for plugin in load_plugins(directories, path) for flow in plugin.workflows]
    for flow in flows:
        typer.echo(to_one_line(flow.id))
        first = to_one_line(flow.description)
        if first:
            typer.echo(f"    {first if len(first) <= MAX_DESCRIPTION else first[: MAX_DESCRIPTION - 1] + '…'}")
    if not flows:
        typer.echo("No flows. Name a plugin folder with --plugins DIR; `rightseat plugins check DIR` shows problems.")


def run_flow(
    name: str,
    question: str | None,
    path: Path | None,
    *,
    model: str | None,
    flags: Mapping[str, Any],
    plugins: Sequence[Path],
) -> int:
    """Run a flow; returns the exit code: 1 when it failed."""
    prepare_output()
    config = prepare_config(load_config(path, model=model, flags=flags, plugins=plugins))
    log.configure_logging("console", "warning" if config.server.log_level == "info" else config.server.log_level)
    logging.getLogger("rightseat.runtime.runs").setLevel(logging.CRITICAL)  # the failure is shown as an answer
    runtime = build_runtime(config)
    catalog = runtime.plugins
    if catalog is None:
        raise ConfigError("There are no plugins. Name a folder with --plugins DIR or in [[plugins]].")
    flow = find_flow(name, [one.plugin for one in catalog.loaded.values()])
    screen = FlowTerminal(sys.stdout, sys.stderr)
    with asyncio.Runner() as runner:
        session = ChatSession(runtime, f"{flow.plugin}.{flow.name}", screen, runner, screen.read_line)
        try:
            with show_spinner("Loading the local model"):
                runner.run(runtime.start())
            return 0 if session.ask(question or "") else 1
        finally:
            runner.run(runtime.close())


class FlowTerminal(Terminal):
    """Prints the answer to stdout and the steps to stderr."""

    def show_event(self, event: Event) -> None:
        match event:
            case Custom("flow_step", {"input": _} as told):
                self.end_line()
                self.print_note(f"[{told['progress']}] {told['step']} ({told['kind']})")
            case Custom("flow_step", {"error": str(error)}):
                self.print_note(f"      failed: {error}")
            case Custom("flow_step", told):
                used = told.get("usage")
                tokens = f" ({used['input'] + used['output']} tokens)" if used else ""
                if told.get("message") or tokens:
                    self.print_note(f"      {told.get('message') or 'done'}{tokens}")
            case Suggestions(prompts):
                self.end_line()
                for prompt in prompts:
                    self.print_note(f"You could ask: {prompt}")
            case _:
                super().show_event(event)
