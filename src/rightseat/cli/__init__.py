"""The `rightseat` command. Each subcommand imports its module when it runs: `--help` must be quick.

serve, chat, doctor, models, plugins, flows and store are the subcommands, move is `store move`; log sets up
logging for all of them.
workers is `serve --workers N`, worker the program of each of its workers.
"""

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


def _print_help(context: typer.Context, wanted: bool) -> None:
    if wanted:
        typer.echo(context.get_help())
        raise typer.Exit


# typer's own --help has no default, and handling that imports pydantic (150 ms).
Help = Annotated[bool, typer.Option("--help", callback=_print_help, is_eager=True, help="Show this help and exit.")]

ConfigPath = Annotated[
    Path | None, typer.Option("--config", help="The configuration file. Default: ./rightseat.toml if it exists.")
]
ModelSpec = Annotated[
    str | None,
    typer.Option(
        "--model", help="The model: local, FILE.gguf, KIND:NAME such as ollama:NAME, or a name from [models]."
    ),
]
LlamaServer = Annotated[
    Path | None,
    typer.Option(
        "--llama-server", help="The llama-server program that runs a local model, instead of the built-in engine."
    ),
]
Endpoint = Annotated[
    str | None,
    typer.Option(
        "--endpoint", help="The URL of a running llama-server to use, instead of starting an engine. Excludes --model."
    ),
]
ToolFormat = Annotated[
    str | None,
    typer.Option(
        "--tool-format",
        "--style",
        help="The format of a local model's tool calls. Default: chosen by its chat template.",
    ),
]
Publish = Annotated[
    str | None,
    typer.Option(
        "--publish",
        help="How tools are described to a local model whose template has no place for them: typescript or json.",
    ),
]
ChatTemplate = Annotated[
    str | None,
    typer.Option("--chat-template", help="A local model's chat template: a file or a name. Default: the model's own."),
]
Precache = Annotated[
    list[Path] | None,
    typer.Option(
        "--precache",
        help="A file with a long system prompt: a local model processes it once and saves the result. Repeatable.",
    ),
]
SessionFile = Annotated[
    Path | None,
    typer.Option(
        "--session-file",
        help="A file that keeps a local model's conversations: read at the start, written at the stop.",
    ),
]
PluginFolders = Annotated[
    list[Path] | None, typer.Option("--plugins", help="The folder of one plugin, or a folder of plugins. Repeatable.")
]
WeightsName = Annotated[
    str | None, typer.Argument(help="A name from `rightseat models list`. Default: the embedded model.")
]


def _choose_spec(model: str | None, endpoint: str | None) -> str | None:
    """Return the spec of the model; --endpoint is another way to write --model llama-server:URL."""
    if endpoint is None:
        return model
    if model is not None:
        from rightseat.errors import ConfigError

        raise ConfigError(
            "--endpoint: that server has a model already. Leave --model out, or --endpoint to start an engine here."
        )
    return f"llama-server:{endpoint}"


def _model_flags(
    server: Path | None,
    tool_format: str | None,
    publish: str | None,
    template: str | None,
    precache: list[Path] | None = None,
    session_file: Path | None = None,
) -> dict[str, object]:
    """Return the command line's options of a local model, by their names in the config."""
    # Paths of the command line are relative to the working directory, those of the config to its file.
    file = Path(template or "").expanduser()
    return {
        "llama_server": None if server is None else str(server.expanduser().absolute()),
        "tool_format": tool_format,
        "publish": publish,
        "chat_template": str(file.absolute()) if file.is_file() else template,
        "session_file": None if session_file is None else str(session_file.expanduser().absolute()),
        "precache": [str(path.expanduser().absolute()) for path in precache or ()] or None,
    }


def _print_version(wanted: bool) -> None:
    if wanted:
        from rightseat import __version__

        typer.echo(f"rightseat {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    help: Help = False,
) -> None:
    pass


@app.command(add_help_option=False)
def serve(
    config: ConfigPath = None,
    host: Annotated[str | None, typer.Option("--host", help="The address to listen on. [127.0.0.1]")] = None,
    port: Annotated[
        int | None, typer.Option("--port", min=0, max=65535, help="The port to listen on; 0 takes a free one. [7777]")
    ] = None,
    workers: Annotated[
        str | None,
        typer.Option("--workers", help="How many processes serve the port: a number, or auto for one per core. [1]"),
    ] = None,
    model: ModelSpec = None,
    endpoint: Endpoint = None,
    llama_server: LlamaServer = None,
    tool_format: ToolFormat = None,
    publish: Publish = None,
    chat_template: ChatTemplate = None,
    precache: Precache = None,
    session_file: SessionFile = None,
    plugins: PluginFolders = None,
    data: Annotated[
        Path | None,
        typer.Option("--data", help="The data folder. A second server on this machine needs its own. [by set-up]"),
    ] = None,
    help: Help = False,
) -> None:
    """Start the server: all front-end protocols on one port."""
    from rightseat.cli.serve import ServeArguments
    from rightseat.cli.serve import serve as run

    run(
        ServeArguments(
            path=config,
            host=host,
            port=port,
            workers=workers,
            model=_choose_spec(model, endpoint),
            flags=_model_flags(llama_server, tool_format, publish, chat_template, precache, session_file),
            plugins=tuple(plugins or ()),
            data=data,
        )
    )


@app.command(add_help_option=False)
def chat(
    question: Annotated[str | None, typer.Argument(help="Ask this one question, print the answer and exit.")] = None,
    config: ConfigPath = None,
    model: ModelSpec = None,
    endpoint: Endpoint = None,
    assistant: Annotated[
        str | None, typer.Option("--assistant", help="The assistant to talk to, a name from [assistants]. [default]")
    ] = None,
    llama_server: LlamaServer = None,
    tool_format: ToolFormat = None,
    publish: Publish = None,
    chat_template: ChatTemplate = None,
    precache: Precache = None,
    session_file: SessionFile = None,
    plugins: PluginFolders = None,
    file: Annotated[
        list[Path] | None, typer.Option("--file", help="A file to attach to the first question. Repeatable.")
    ] = None,
    help: Help = False,
) -> None:
    """Chat in the terminal. Ctrl-C stops an answer, Ctrl-D or /quit ends the chat."""
    from rightseat.cli.chat import chat as run

    flags = _model_flags(llama_server, tool_format, publish, chat_template, precache, session_file)
    code = run(
        question,
        config,
        model=_choose_spec(model, endpoint),
        assistant=assistant,
        flags=flags,
        plugins=plugins or [],
        files=file or [],
    )
    raise typer.Exit(code)


@app.command(add_help_option=False)
def doctor(
    url: Annotated[
        str | None,
        typer.Option("--url", help="The URL of a running server. Default: the address in the configuration."),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option("--key", help="The server's key, best as env:NAME. Default: the first key in the configuration."),
    ] = None,
    config: ConfigPath = None,
    call: Annotated[
        bool,
        typer.Option("--call", help="Ask each model for one token, to check its key and its name. It may cost money."),
    ] = False,
    openbb: Annotated[
        str | None,
        typer.Option("--openbb", help="Check this OpenBB agent server instead, with the requests of OpenBB's clients."),
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option("--header", help="A request header for --openbb: 'NAME: VALUE' or 'NAME: env:NAME'. Repeatable."),
    ] = None,
    origin: Annotated[
        str | None,
        typer.Option("--origin", help="The origin of the page for --openbb, such as that of a self-hosted Workspace."),
    ] = None,
    ask: Annotated[
        str | None,
        typer.Option("--ask", help="Ask the agent of --openbb this question and print what a person would see."),
    ] = None,
    agent: Annotated[
        str | None, typer.Option("--agent", help="The id of the agent for --ask. Default: the first one.")
    ] = None,
    body: Annotated[
        Path | None, typer.Option("--body", help="A JSON file with the request for --ask, as Workspace posts it.")
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Option("--data", help="Data of a widget, tool or skill for --ask: NAME=FILE. Repeatable."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the results as one JSON object.")] = False,
    help: Help = False,
) -> None:
    """Check the set-up and the running server, and say how to fix what is broken. Exit code 1: something is broken."""
    from rightseat.cli.doctor import make_question, reject_options, run_doctor, run_openbb_doctor, run_openbb_question

    if openbb is None:
        given = {"--ask": ask, "--body": body, "--data": data, "--agent": agent, "--origin": origin, "--header": header}
        reject_options(given, "--openbb URL")
        raise typer.Exit(run_doctor(url, key, config, as_json=json, call=call))
    reject_options({"--call": call}, "a server of rightseat: leave --openbb out")
    if ask is None and body is None:
        reject_options({"--data": data, "--agent": agent}, "--ask QUESTION")
        raise typer.Exit(run_openbb_doctor(openbb, header or [], origin, as_json=json))
    question = make_question(ask, agent, body, data or [])
    raise typer.Exit(run_openbb_question(openbb, header or [], origin, question, as_json=json))


def _make_group(name: str, help: str) -> typer.Typer:
    group = typer.Typer(help=help, no_args_is_help=True, rich_markup_mode=None, add_help_option=False)

    @group.callback()
    def root(help: Help = False) -> None:
        pass

    app.add_typer(group, name=name)
    return group


models_app = _make_group("models", "Download, choose and remove local models.")


@models_app.command("list", add_help_option=False)
def models_list(help: Help = False) -> None:
    """List the models on this machine, those that can be downloaded by name, and which one answers."""
    from rightseat.cli.models import print_models

    print_models()


@models_app.command("pull", add_help_option=False)
def models_pull(
    name: Annotated[
        str | None,
        typer.Argument(
            help="A name from `rightseat models list`, hf:OWNER/REPO/FILE.gguf, or the address of a .gguf file. "
            "Default: the embedded model."
        ),
    ] = None,
    as_name: Annotated[
        str | None, typer.Option("--name", help="The model's name here. Default: that of the list or of the file.")
    ] = None,
    help: Help = False,
) -> None:
    """Download a model and verify its checksum. Run it again to go on after a cut."""
    from rightseat.cli.models import pull_and_print

    raise typer.Exit(pull_and_print(name, as_name))


@models_app.command("path", add_help_option=False)
def models_path(name: WeightsName = None, help: Help = False) -> None:
    """Print the path of a model's file."""
    from rightseat.cli.models import print_path

    print_path(name)


@models_app.command("use", add_help_option=False)
def models_use(
    name: Annotated[str, typer.Argument(help="The name of a downloaded model, or `local` for the embedded one.")],
    help: Help = False,
) -> None:
    """Make a downloaded model the one that answers where nothing else is configured."""
    from rightseat.cli.models import use_model

    use_model(name)


@models_app.command("remove", add_help_option=False)
def models_remove(
    name: Annotated[str, typer.Argument(help="A name from `rightseat models list`.")], help: Help = False
) -> None:
    """Delete a downloaded model, or the part of one that has come."""
    from rightseat.cli.models import remove_model

    remove_model(name)


plugins_app = _make_group("plugins", "Check, list and create plugins (folders that become tools).")


@plugins_app.command("check", add_help_option=False)
def plugins_check(
    directories: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="The folder of one plugin, or a folder of plugins.")
    ],
    strict: Annotated[
        bool, typer.Option("--strict", help="For plugin authors: report style problems too, and fail on every problem.")
    ] = False,
    config: Annotated[
        Path | None,
        typer.Option("--config", metavar="FILE", help="The file with the plugins' settings; they are checked too."),
    ] = None,
    help: Help = False,
) -> None:
    """Report every problem with its place and its fix. Runs no plugin code. Exit code 1: there is an error."""
    from rightseat.cli.plugins import check_plugins

    raise typer.Exit(check_plugins(directories, strict=strict, config=config))


@plugins_app.command("list", add_help_option=False)
def plugins_list(plugins: PluginFolders = None, config: ConfigPath = None, help: Help = False) -> None:
    """List the plugins of the configuration, or of the given folders."""
    from rightseat.cli.plugins import list_plugins

    list_plugins(plugins or [], config)


@plugins_app.command("new", add_help_option=False)
def plugins_new(
    name: Annotated[str, typer.Argument(help="The plugin's id, which is the name of its folder.")],
    where: Annotated[Path, typer.Option("--in", help="The folder to create the plugin in. [.]")] = Path(),
    help: Help = False,
) -> None:
    """Create a plugin to start from: an API, a Python tool and a flow, with comments."""
    from rightseat.cli.plugins import create_plugin

    create_plugin(name, where)


flows_app = _make_group("flows", "List, check, run and draw the workflows of plugins.")


@flows_app.command("list", add_help_option=False)
def flows_list(plugins: PluginFolders = None, config: ConfigPath = None, help: Help = False) -> None:
    """List the flows of the configuration's plugins, or of the given folders."""
    from rightseat.cli.flows import list_flows

    list_flows(plugins or [], config)


@flows_app.command("check", add_help_option=False)
def flows_check(
    name: Annotated[
        str | None, typer.Argument(metavar="PLUGIN/FLOW", help="The flow's name. Default: all flows.")
    ] = None,
    plugins: PluginFolders = None,
    config: ConfigPath = None,
    help: Help = False,
) -> None:
    """Report the problems of flows, and how often and about how long each asks the model. Runs nothing.
    Exit code 1: there is an error."""
    from rightseat.cli.flows import check_flows

    raise typer.Exit(check_flows(name, plugins or [], config))


@flows_app.command("run", add_help_option=False)
def flows_run(
    name: Annotated[str, typer.Argument(metavar="PLUGIN/FLOW", help="The flow's name.")],
    question: Annotated[str | None, typer.Argument(help="The question that the flow answers.")] = None,
    plugins: PluginFolders = None,
    config: ConfigPath = None,
    model: ModelSpec = None,
    endpoint: Endpoint = None,
    llama_server: LlamaServer = None,
    tool_format: ToolFormat = None,
    publish: Publish = None,
    chat_template: ChatTemplate = None,
    help: Help = False,
) -> None:
    """Run a flow in the terminal and show each step with its output. Exit code 1: the flow failed, or a question of
    it stayed unanswered."""
    from rightseat.cli.flows import run_flow

    flags = _model_flags(llama_server, tool_format, publish, chat_template)
    raise typer.Exit(
        run_flow(name, question, config, model=_choose_spec(model, endpoint), flags=flags, plugins=plugins or [])
    )


@flows_app.command("draw", add_help_option=False)
def flows_draw(
    name: Annotated[str, typer.Argument(metavar="PLUGIN/FLOW", help="The flow's name.")],
    mermaid: Annotated[bool, typer.Option("--mermaid", help="Write Mermaid text instead of SVG.")] = False,
    out: Annotated[Path | None, typer.Option("--out", help="The file to write. Default: standard output.")] = None,
    plugins: PluginFolders = None,
    config: ConfigPath = None,
    help: Help = False,
) -> None:
    """Draw a flow: its steps, its branches and its error handling. Runs nothing."""
    from rightseat.cli.flows import draw_flow

    draw_flow(name, plugins or [], config, as_mermaid=mermaid, out=out)


store_app = _make_group("store", "Check, repair, back up, restore, migrate, protect and move what the server keeps.")
Force = Annotated[bool, typer.Option("--force", help="Replace what is there without asking.")]


@store_app.command("check", add_help_option=False)
def store_check(config: ConfigPath = None, help: Help = False) -> None:
    """Read the whole store, also while a server uses it, and say whether it is damaged. Exit code 1: it is."""
    from rightseat.cli.store import check_store

    raise typer.Exit(check_store(config))


@store_app.command("repair", add_help_option=False)
def store_repair(config: ConfigPath = None, help: Help = False) -> None:
    """Carry over to a new file all that can be read of a damaged one, which is kept. The server must be stopped."""
    from rightseat.cli.store import repair_store

    repair_store(config)


@store_app.command("backup", add_help_option=False)
def store_backup(
    file: Annotated[Path, typer.Argument(help="The file to write.")],
    config: ConfigPath = None,
    force: Force = False,
    help: Help = False,
) -> None:
    """Copy the store to one file, also while a server uses it."""
    from rightseat.cli.store import back_up_store

    back_up_store(file, config, force=force)


@store_app.command("restore", add_help_option=False)
def store_restore(
    file: Annotated[Path, typer.Argument(help="A file that `rightseat store backup` has written.")],
    config: ConfigPath = None,
    force: Force = False,
    help: Help = False,
) -> None:
    """Replace the store by a backup; the present one is kept. The server must be stopped."""
    from rightseat.cli.store import restore_store

    restore_store(file, config, force=force)


@store_app.command("migrate", add_help_option=False)
def store_migrate(config: ConfigPath = None, help: Help = False) -> None:
    """Bring the tables in PostgreSQL to this version, also while servers use them."""
    from rightseat.cli.store import migrate_store

    migrate_store(config)


@store_app.command("protect", add_help_option=False)
def store_protect(
    config: ConfigPath = None,
    off: Annotated[bool, typer.Option("--off", help="Switch it off again.")] = False,
    help: Help = False,
) -> None:
    """Let PostgreSQL itself separate owners (row security), once every server has [store] row_security = true."""
    from rightseat.cli.store import protect_store

    protect_store(config, is_off=off)


@store_app.command("move", add_help_option=False)
def store_move(
    source: Annotated[
        str, typer.Argument(help="What to move: sqlite:///PATH/TO/DATA, postgresql://USER@HOST/DATABASE, or env:NAME.")
    ],
    target: Annotated[str, typer.Argument(help="Where to: an address as SOURCE is one.")],
    schema: Annotated[str, typer.Option("--schema", help="The schema of the tables in PostgreSQL.")] = "rightseat",
    into_existing: Annotated[
        bool, typer.Option("--into-existing", help="Add to a target that has data; what it has stays as it is.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Read and count the source, and write nothing.")] = False,
    batch: Annotated[int, typer.Option("--batch", min=1, help="The most rows in one transaction.")] = 500,
    help: Help = False,
) -> None:
    """Carry all that one store keeps over to another, and compare both. Servers must be stopped; the source stays as
    it is. Run it again to go on after a cut. Exit code 1: something is not in the target as it was in the source."""
    from rightseat.cli.move import MoveOptions, move_store

    options = MoveOptions(schema=schema, is_into_existing=into_existing, is_dry_run=dry_run, batch=batch)
    try:
        code = move_store(source, target, options)
    except KeyboardInterrupt:
        typer.echo("interrupted; run the same command again to go on", err=True)
        code = 130
    raise typer.Exit(code)


def main() -> None:
    from rightseat.errors import RightseatError

    try:
        app(prog_name="rightseat")
    except RightseatError as error:
        print_error(error.message)
        sys.exit(1)


def print_error(message: str) -> None:
    """Print an error to stderr, in red on a terminal."""
    typer.secho(f"error: {message}", fg=typer.colors.RED, err=True)
