"""`rightseat flows`: list flows, and run one in the terminal with its steps."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from rightseat.cli import log
from rightseat.cli.chat import ChatSession
from rightseat.cli.draw import find_flow, load_plugins
from rightseat.cli.embedded import prepare_config
from rightseat.cli.plugins import prepare_output, to_one_line
from rightseat.cli.screen import Terminal
from rightseat.config.read import load_config
from rightseat.errors import ConfigError
from rightseat.server.progress import show_spinner
from rightseat.types.events import Custom, Event, Suggestions
from rightseat.wiring.from_config import build_runtime

MAX_DESCRIPTION = 100


def list_flows(directories: Sequence[Path], path: Path | None) -> None:
    prepare_output()
    flows = [flow for plugin in load_plugins(directories, path) for flow in plugin.workflows]
    for flow in flows:
        typer.echo(to_one_line(flow.id))
        first = to_one_line(flow.description)
        if first:
            typer.echo(
                f"    {first if len(first) <= MAX_DESCRIPTION else first[: MAX_DESCRIPTION - 1] + '…'}"
            )
    if not flows:
        typer.echo("No flows. Name a folder by --plugins DIR, or see: rightseat plugins check")


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
    log.configure_logging(
        "console", "warning" if config.server.log_level == "info" else config.server.log_level
    )
    logging.getLogger("rightseat.runtime.runtime").setLevel(
        logging.CRITICAL
    )  # the failure is shown as an answer
    runtime = build_runtime(config)
    catalog = runtime.plugins
    if catalog is None:
        raise ConfigError("There are no plugins. Name a folder by --plugins DIR or [[plugins]].")
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
