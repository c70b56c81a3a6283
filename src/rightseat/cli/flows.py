"""`rightseat flows`: list flows, draw one as SVG or Mermaid, or run one in the terminal with its steps."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from rightseat.cli import print_error
from rightseat.cli.chat import Terminal, open_session, prepare_runtime
from rightseat.cli.plugins import (
    load_plugins,
    prepare_output,
    print_description,
    print_problem,
    require_directories,
    to_one_line,
)
from rightseat.documents.json import encode_json
from rightseat.errors import ConfigError
from rightseat.plugins.flows.diagram import render_flow_svg, render_mermaid
from rightseat.plugins.flows.estimate import FlowEstimator, describe_estimate
from rightseat.plugins.flows.model_times import ModelTimes
from rightseat.plugins.plugin import Flow, Plugin
from rightseat.types.events import Custom, Event, Suggestions
from rightseat.types.text import did_you_mean

NO_FLOWS = "There are no flows. Name a plugin folder with --plugins DIR; `rightseat plugins check DIR` shows problems."
MAX_OUTPUT_SHOWN = 1000


def draw_flow(name: str, directories: Sequence[Path], path: Path | None, *, as_mermaid: bool, out: Path | None) -> None:
    prepare_output()
    plugins = load_plugins(directories, path)
    flow = find_flow(name, plugins)
    estimate = describe_estimate(FlowEstimator(plugins).count_calls(flow), load_model_times(path), flow)
    picture = render_mermaid(flow, estimate) if as_mermaid else render_flow_svg(flow, estimate)
    if out is None:
        typer.echo(picture, nl=False)
        return
    try:
        out.write_text(picture, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"Cannot write {out}: {error.strerror}.") from None
    typer.echo(f"Wrote {out}. {flow.id}: {estimate}.")


def check_flows(name: str | None, directories: Sequence[Path], path: Path | None) -> int:
    """Print the flows' problems and the estimate of each that can run; returns 1 for an error."""
    prepare_output()
    require_directories(directories)
    plugins = load_plugins(directories, path)
    estimator, times = FlowEstimator(plugins), load_model_times(path)
    chosen = find_flow_file(name, plugins) if name is not None else None
    has_flows = has_errors = False
    for plugin in plugins:
        by_file = {flow.file: flow for flow in plugin.workflows}
        for file in (path.relative_to(plugin.folder).as_posix() for path in plugin.flows):
            if chosen not in (None, (plugin.id, file)):
                continue
            has_flows, flow = True, by_file.get(file)
            estimate = describe_estimate(estimator.count_calls(flow), times, flow) if flow else "it cannot run"
            typer.echo(f"{to_one_line(flow.id if flow else f'{plugin.id}/{file}')}: {estimate}")
            for problem in (problem for problem in plugin.problems if problem.file == file):
                has_errors = has_errors or problem.gravity == "error"
                print_problem(plugin, problem)
    if not has_flows:
        raise ConfigError(NO_FLOWS)
    return 1 if has_errors else 0


def find_flow_file(name: str, plugins: Sequence[Plugin]) -> tuple[str, str]:
    """Return plugin id and file of a flow, by its name or, for one that cannot run, by its file's name."""
    files = [(plugin.id, file.relative_to(plugin.folder)) for plugin in plugins for file in plugin.flows]
    matches = [(id, file.as_posix()) for id, file in files if name in (file.stem, f"{id}/{file.stem}")]
    if len(matches) == 1:
        return matches[0]
    flow = find_flow(name, plugins)
    return flow.plugin, flow.file


def load_model_times(path: Path | None) -> ModelTimes:
    """Return what a server with this configuration has measured; nothing where the file cannot be read."""
    # Lazy: loads the whole server.
    from rightseat.config.load import load_config
    from rightseat.wiring.storage import read_model_times

    try:
        return read_model_times(load_config(path))
    except ConfigError:
        return ModelTimes()


def find_flow(name: str, plugins: Sequence[Plugin]) -> Flow:
    """Return a flow by "plugin/flow", or by its name alone where that is unique."""
    flows = {flow.id: flow for plugin in plugins for flow in plugin.workflows}
    if name in flows:
        return flows[name]
    matches = [flow for flow in flows.values() if flow.name == name]
    if len(matches) == 1:
        return matches[0]
    if not flows:
        raise ConfigError(NO_FLOWS)
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
    """Run a flow; returns the exit code: 1 when it failed, or when a question of it stayed unanswered."""
    prepare_output()
    _, runtime = prepare_runtime(path, model, flags, plugins)
    if runtime.plugins is None:
        raise ConfigError("There are no plugins. Name a folder with --plugins DIR or in [[plugins]].")
    flow = find_flow(name, [loaded.plugin for loaded in runtime.plugins.loaded.values()])
    terminal = FlowTerminal(sys.stdout, sys.stderr)
    with open_session(runtime, f"{flow.plugin}.{flow.name}", terminal) as session:
        is_answered = session.ask(question or "") and not terminal.is_unanswered
        if session.unanswered:
            print_error(
                f"Nobody answered: {to_one_line(session.unanswered)} Give the answers on stdin, one on each line."
            )
        return 0 if is_answered and not session.unanswered else 1


class FlowTerminal(Terminal):
    """Prints the answer to stdout, and the steps with their outputs to stderr."""

    is_unanswered = False
    """Whether the flow has ended because no answer fitted its question."""

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
                self.show_output(step.get("output"))
            case Custom("flow_end", {"reason": "no_answer"}):
                self.is_unanswered = True
            case Suggestions(prompts):
                self.end_line()
                for prompt in prompts:
                    self.print_note(f"You could ask: {prompt}")
            case _:
                super().show_event(event)

    def show_output(self, output: Any) -> None:
        """Print a step's output on one line, unless it was printed as the answer."""
        if output is None or (isinstance(output, str) and output.strip() in "".join(self.text)):
            return
        line = " ".join((output if isinstance(output, str) else encode_json(output)).split())
        self.print_note(f"      → {line if len(line) <= MAX_OUTPUT_SHOWN else line[: MAX_OUTPUT_SHOWN - 1] + '…'}")
