"""`rightseat flows`: list flows, draw one as SVG or Mermaid, or run one in the terminal with its steps."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from rightseat.cli.chat import Terminal, open_session, prepare_runtime
from rightseat.cli.plugins import load_plugins, prepare_output, print_description, to_one_line
from rightseat.errors import ConfigError
from rightseat.plugins.flows.diagram import render_flow_svg, render_mermaid
from rightseat.plugins.plugin import Flow, Plugin
from rightseat.types.events import Custom, Event, Suggestions
from rightseat.types.text import did_you_mean


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


def list_flows(directories: Sequence[Path], path: Path | None) -> None:
    prepare_output()
    flows = [flow for plugin in load_plugins(directories, path) for flow in plugin.workflows]
    for flow in flows:
        typer.echo(to_one_line(flow.id))
        print_description(flow.description)
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
    _, runtime = prepare_runtime(path, model, flags, plugins)
    if runtime.plugins is None:
        raise ConfigError("There are no plugins. Name a folder with --plugins DIR or in [[plugins]].")
    flow = find_flow(name, [loaded.plugin for loaded in runtime.plugins.loaded.values()])
    with open_session(runtime, f"{flow.plugin}.{flow.name}", FlowTerminal(sys.stdout, sys.stderr)) as session:
        return 0 if session.ask(question or "") else 1


class FlowTerminal(Terminal):
    """Prints the answer to stdout and the steps to stderr."""

    def show_event(self, event: Event) -> None:
        match event:
            case Custom("flow_step", {"input": _} as step):
                self.end_line()
                self.print_note(f"[{step['progress']}] {step['step']} ({step['kind']})")
            case Custom("flow_step", {"error": str(error)}):
                self.print_note(f"      failed: {error}")
            case Custom("flow_step", step):
                usage = step.get("usage")
                tokens = f" ({usage['input'] + usage['output']} tokens)" if usage else ""
                if step.get("message") or tokens:
                    self.print_note(f"      {step.get('message') or 'done'}{tokens}")
            case Suggestions(prompts):
                self.end_line()
                for prompt in prompts:
                    self.print_note(f"You could ask: {prompt}")
            case _:
                super().show_event(event)
