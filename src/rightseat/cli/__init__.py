"""The `rightseat` command. Each subcommand imports what it needs when it runs: `--help` must be quick."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    name="rightseat",
    help="One Python backend for every copilot front end.",
    no_args_is_help=True,
    add_completion=False,
    # Without rich: it would cost more than everything else that --help does.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_help_option=False,
)


def _help(context: typer.Context, wanted: bool) -> None:
    if wanted:
        typer.echo(context.get_help())
        raise typer.Exit


# typer's own --help has no default, and to read that it imports pydantic: 150 ms for nothing.
Help = Annotated[
    bool, typer.Option("--help", callback=_help, is_eager=True, help="Show this message and leave.")
]

ConfigPath = Annotated[
    Path | None, typer.Option("--config", help="The configuration. Default: ./rightseat.toml if it exists.")
]
ModelSpec = Annotated[
    str | None, typer.Option("--model", help="A model such as openai:gpt-4o, or a name from [models].")
]


def _version(wanted: bool) -> None:
    if wanted:
        from rightseat import __version__

        typer.echo(f"rightseat {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and leave.")
    ] = False,
    help: Help = False,
) -> None:
    pass


@app.command(add_help_option=False)
def serve(
    config: ConfigPath = None,
    host: Annotated[str | None, typer.Option("--host", help="The address to listen on. [127.0.0.1]")] = None,
    port: Annotated[
        int | None, typer.Option("--port", min=0, max=65535, help="The port; 0 takes a free one. [7777]")
    ] = None,
    model: ModelSpec = None,
    help: Help = False,
) -> None:
    """Start the server: every door on one port."""
    from rightseat.cli.serve import serve as run

    run(config, host=host, port=port, model=model)


@app.command(add_help_option=False)
def chat(
    question: Annotated[str | None, typer.Argument(help="Ask this, print the answer and leave.")] = None,
    config: ConfigPath = None,
    model: ModelSpec = None,
    assistant: Annotated[
        str | None, typer.Option("--assistant", help="An assistant from [assistants]. [default]")
    ] = None,
    help: Help = False,
) -> None:
    """Talk in the terminal. Ctrl-C stops an answer, Ctrl-D leaves."""
    from rightseat.cli.chat import chat as run

    raise typer.Exit(run(question, config, model=model, assistant=assistant))


@app.command(add_help_option=False)
def doctor(
    url: Annotated[
        str | None, typer.Option("--url", help="A running server. Default: where the config would listen.")
    ] = None,
    key: Annotated[
        str | None, typer.Option("--key", help="Its key, best as env:NAME. Default: the config's first.")
    ] = None,
    config: ConfigPath = None,
    json: Annotated[bool, typer.Option("--json", help="Write one JSON object.")] = False,
    help: Help = False,
) -> None:
    """Say what works here, what is broken and how to fix it. Exit code 1: something is broken."""
    from rightseat.cli.doctor import doctor as run

    raise typer.Exit(run(url, key, config, as_json=json))


def main() -> None:
    from rightseat.errors import RightseatError

    try:
        app(prog_name="rightseat")
    except RightseatError as error:
        complain(error.message)
        sys.exit(1)


def complain(message: str) -> None:
    """One block on stderr, red where there are colours."""
    typer.secho(f"error: {message}", fg=typer.colors.RED, err=True)
