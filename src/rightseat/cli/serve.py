"""`rightseat serve`: loads the configuration, builds the application, prints a summary and runs the server."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from msgspec import Struct, json, structs

from rightseat import __version__
from rightseat.cli import log
from rightseat.cli.models import prepare_config
from rightseat.config.load import load_config
from rightseat.config.settings import Config
from rightseat.errors import ConfigError
from rightseat.http.endpoint import Door
from rightseat.server import service
from rightseat.server.app import App
from rightseat.server.second import format_second_command
from rightseat.server.service import Service, build_app
from rightseat.server.uvicorn_server import UvicornServer
from rightseat.stores.sqlite.database import FolderInUse
from rightseat.types.model import ModelInfo
from rightseat.wiring.default_model import ModelChoice, choose_model
from rightseat.wiring.lookup import LOCAL, split_spec
from rightseat.wiring.model_notes import EMBEDDED_NAME, ModelNotes, describe_model, describe_running_model
from rightseat.wiring.storage import describe_store_location, remove_address, write_address

if TYPE_CHECKING:
    from rightseat.plugins.catalog import PluginCatalog


EMBEDDED_LABEL = f"local ({EMBEDDED_NAME}, embedded)"
Row = tuple[str, str]


def list_startup_rows(
    config: Config,
    choice: ModelChoice,
    base: str,
    doors: Sequence[Door],
    plugins: PluginCatalog | None = None,
    notes: ModelNotes | None = None,
) -> list[Row]:
    """Return the summary's lines as (label, text); an empty label continues the line before."""
    spec = _get_spec(config, choice)
    # Clients use the public URL; health checks run on this machine.
    public = config.server.public_url.rstrip("/") or base
    rows = [
        *(_default_model_rows(choice, spec, notes) if spec else [("model", choice.why)]),
        *_agent_rows(config),
        ("page", f"{public}/   open it in a browser: examples to try, and the whole set-up"),
    ]
    for door in doors:
        if hint := door.make_hint(public, needs_key=config.auth.required):
            post_path = next((route.path for route in door.routes if route.method == "POST"), "/")
            rows += [(door.name, public + post_path), ("", hint)]
    where = str(config.path.resolve()) if config.path else "none; create ./rightseat.toml to change settings"
    return [
        *rows,
        *(_plugin_rows(plugins) if plugins is not None else ()),
        ("health", f"{base}/health   {base}/ready"),
        ("config", where),
        ("data", describe_store_location(config)),
        ("keys", _describe_auth(config)),
    ]


def _default_model_rows(choice: ModelChoice, spec: str, notes: ModelNotes | None) -> list[Row]:
    label = EMBEDDED_LABEL if spec == LOCAL else spec
    return [("model", label), ("", choice.why), *_model_rows(notes or describe_model(_make_info(spec)))]


def _agent_rows(config: Config) -> list[Row]:
    default = config.default_elsewhere
    rows = [
        f"{name} ({settings.kind}{', answers by default' if name == default else ''})"
        for name, settings in config.agents.items()
    ]
    if default and default not in config.agents:
        rows.insert(0, f"{default} answers by default")
    return [("agents" if not number else "", text) for number, text in enumerate(rows)]


def _get_spec(config: Config, choice: ModelChoice) -> str:
    return config.models[choice.model].spec if choice.model in config.models else choice.model


def _make_info(spec: str) -> ModelInfo:
    kind, name = split_spec(spec)
    return ModelInfo(kind, name or kind)


def _model_rows(notes: ModelNotes) -> list[Row]:
    rows = [("", line["en"]) for line in notes.lines]
    commands = ", then ".join(notes.upgrade_commands)
    return [*rows, ("", f"Better on this machine: {commands}")] if commands else rows


def find_notes(app: App, config: Config, choice: ModelChoice) -> ModelNotes | None:
    """Return the notes of the running model; None if the default assistant uses another than the one on the card."""
    assistant = app.runtime.get_assistant(None)
    if assistant is None or assistant.model.info.provider != _make_info(_get_spec(config, choice)).provider:
        return None
    return describe_running_model(assistant.model)


def _plugin_rows(catalog: PluginCatalog) -> list[Row]:
    tools = len(catalog.entries)
    plugins = [loaded.plugin for loaded in catalog.loaded.values()]
    broken = [plugin for plugin in plugins if any(problem.gravity == "error" for problem in plugin.problems)]
    return [
        ("plugins", f"{len(plugins)}, with {tools} tool{'' if tools == 1 else 's'}"),
        *(("", f"{plugin.id} has errors: rightseat plugins check {plugin.folder}") for plugin in broken[:5]),
    ]


def _describe_auth(config: Config) -> str:
    auth = config.auth
    if not auth.required:
        return "not required: only this machine can connect"
    kinds = [f"{len(auth.keys)} in [auth.keys]"] if auth.keys else []
    kinds += [f"JWT of {auth.jwt.issuer}"] if auth.jwt else []
    kinds += [f"{auth.proxy_header} from a trusted proxy"] if auth.proxy_header else []
    return ", ".join(kinds)


def print_startup(startup_rows: list[Row], base: str, out: TextIO | None = None) -> None:
    out = out or sys.stdout
    title = f"rightseat {__version__}"
    footer = "No telemetry. Ctrl-C stops."
    if not out.isatty():
        lines = (f"  {label:<11}{text}" for label, text in startup_rows)
        print(f"{title} is ready on {base}", "", *lines, "", footer, sep="\n", file=out, flush=True)
        return
    from rich.console import Console
    from rich.text import Text

    # soft_wrap: a copied line must not contain a break.
    console = Console(file=out, soft_wrap=True, highlight=False)
    console.print(Text.assemble((title, "bold"), " is ready on ", (base, "bold cyan")))
    console.print()
    for label, text in startup_rows:
        console.print(Text.assemble("  ", (f"{label:<11}", "green"), (text, "" if label else "dim")))
    console.print()
    console.print(Text(footer, "dim"))


class ServeArguments(Struct, frozen=True, kw_only=True):
    """The command line of `rightseat serve`: what the configuration is read with, at the start and at each reload."""

    path: Path | None = None
    host: str | None = None
    port: int | None = None
    workers: str | None = None
    model: str | None = None
    flags: Mapping[str, Any] = {}
    plugins: tuple[Path, ...] = ()
    data: Path | None = None

    def load(self, removable: Collection[Path] = ()) -> Config:
        return load_config(**structs.asdict(self), removable=removable)

    def encode(self) -> str:
        """Return the arguments as JSON, for a worker."""
        return json.encode(self, enc_hook=str).decode()

    @classmethod
    def decode(cls, text: str) -> ServeArguments:
        return json.decode(text, type=cls, dec_hook=lambda kind, value: kind(value))

    def reload(self, running: Service) -> Config:
        # A folder that is removed under the running server takes its plugins away; it does not stop the reload.
        return prepare_config(self.load(running.config.plugin_paths), fetch=False)


def serve(arguments: ServeArguments) -> None:
    config = arguments.load()
    settings = config.server
    log.configure_logging(settings.log, settings.log_level, foreign_text=not config.production)
    service.check_exposure(config)
    service.warn_of_short_keys(config)
    if settings.workers != 1:
        # Imported here: one worker needs nothing of it.
        from rightseat.cli.workers import count_workers, supervise

        if count_workers(config) > 1:
            supervise(arguments, config)
            return
    # Fail before a long download if the port is taken.
    service.open_listener(settings.host, settings.port, suggest=lambda: format_second_command(config)).close()
    config = prepare_config(config)
    with suggesting_folder(config):
        app = build_app(config)
    listener = service.open_listener(settings.host, settings.port)
    base = service.local_url(settings.host, listener.getsockname()[1])
    service.raise_file_limit()

    def on_ready() -> None:
        # Printed before the ready file is written; a closed stdout must not stop the server.
        with contextlib.suppress(OSError):
            print_startup(list_app_rows(app, config, base), base)
        announce_ready(base, config)

    with listener:
        running = Service(app, config, lambda: arguments.reload(running))
        try:
            UvicornServer(running, settings, on_ready).run(sockets=[listener])
        finally:
            remove_address(config)


@contextlib.contextmanager
def suggesting_folder(config: Config) -> Iterator[None]:
    """Add to the error of a data folder that is in use the command that takes another."""
    try:
        yield
    except FolderInUse as error:
        raise ConfigError(f"{error.message}\nBeside it:\n    {format_second_command(config)}") from None


def list_app_rows(app: App, config: Config, base: str) -> list[Row]:
    """Return the summary's lines of a running application."""
    choice = choose_model(config)
    notes = find_notes(app, config, choice)
    return list_startup_rows(config, choice, base, app.doors, app.runtime.plugins, notes)


def announce_ready(base: str, config: Config) -> None:
    """Write the URL into the data folder, and to the file that RIGHTSEAT_READY_FILE names, if it does."""
    write_address(config, base)
    if ready := os.environ.get("RIGHTSEAT_READY_FILE"):
        service.write_ready_file(Path(ready), base)
