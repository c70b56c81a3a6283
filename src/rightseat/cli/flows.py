"""`rightseat flows`: list flows, and run one in the terminal with its steps."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from rightseat import wiring as registry
from rightseat.cli import log
from rightseat.cli.chat import Talk
from rightseat.cli.draw import found, plugins_of
from rightseat.cli.embedded import prepared
from rightseat.cli.plugins import plain, prepare
from rightseat.cli.screen import Screen
from rightseat.config import load
from rightseat.errors import ConfigError
from rightseat.server.progress import waiting
from rightseat.types.events import Custom, Event, Suggestions

FIRST_WORDS = 100


def show_all(directories: Sequence[Path], path: Path | None) -> None:
    prepare()
    flows = [flow for plugin in plugins_of(directories, path) for flow in plugin.workflows]
    for flow in flows:
        typer.echo(plain(flow.id))
        first = plain(flow.description)
        if first:
            typer.echo(f"    {first if len(first) <= FIRST_WORDS else first[: FIRST_WORDS - 1] + '…'}")
    if not flows:
        typer.echo("No flows. Name a folder by --plugins DIR, or see: rightseat plugins check")


def run(
    name: str,
    question: str | None,
    path: Path | None,
    *,
    model: str | None,
    flags: Mapping[str, Any],
    plugins: Sequence[Path],
) -> int:
    """Run a flow; returns the exit code: 1 when it failed."""
    prepare()
    config = prepared(load(path, model=model, flags=flags, plugins=plugins))
    log.configure("console", "warning" if config.server.log_level == "info" else config.server.log_level)
    logging.getLogger("rightseat.runtime.runtime").setLevel(
        logging.CRITICAL
    )  # the failure is shown as an answer
    runtime = registry.runtime(config)
    shelf = runtime.plugins
    if shelf is None:
        raise ConfigError("There are no plugins. Name a folder by --plugins DIR or [[plugins]].")
    flow = found(name, [one.plugin for one in shelf.loaded.values()])
    steps = Steps(sys.stdout, sys.stderr)
    with asyncio.Runner() as runner:
        talk = Talk(runtime, f"{flow.plugin}.{flow.name}", steps, runner, steps.read)
        try:
            with waiting("Loading the local model"):
                runner.run(runtime.start())
            return 0 if talk.ask(question or "") else 1
        finally:
            runner.run(runtime.close())


class Steps(Screen):
    """Prints the answer to stdout and the steps to stderr."""

    def show(self, event: Event) -> None:
        match event:
            case Custom("flow_step", {"input": _} as told):
                self.newline()
                self.note(f"[{told['progress']}] {told['step']} ({told['kind']})")
            case Custom("flow_step", {"error": str(error)}):
                self.note(f"      failed: {error}")
            case Custom("flow_step", told):
                used = told.get("usage")
                tokens = f" ({used['input'] + used['output']} tokens)" if used else ""
                if told.get("message") or tokens:
                    self.note(f"      {told.get('message') or 'done'}{tokens}")
            case Suggestions(prompts):
                self.newline()
                for prompt in prompts:
                    self.note(f"You could ask: {prompt}")
            case _:
                super().show(event)
