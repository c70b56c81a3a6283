"""`rightseat models`: pull, list, use and remove local models; the embedded model's weights before a start."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import typer

from rightseat.config.load import load_config
from rightseat.config.settings import Config
from rightseat.errors import ConfigError, NotFound
from rightseat.models.llamacpp import curated, pulled, weights
from rightseat.models.llamacpp.curated import CuratedModel
from rightseat.models.llamacpp.hub import Hub
from rightseat.models.llamacpp.machine import get_machine
from rightseat.models.llamacpp.machine_settings import choose_threads
from rightseat.models.llamacpp.weights import EMBEDDED, Weights
from rightseat.server.terminal_progress import show_download
from rightseat.types.text import did_you_mean
from rightseat.wiring import default_model
from rightseat.wiring.default_model import ModelChoice
from rightseat.wiring.lookup import LOCAL

ORIGIN_LABELS = {"cache": "downloaded", "wheel": "installed", "missing": "not downloaded; run: rightseat models pull"}
INTERRUPTED = 130


def print_models() -> None:
    """Print the embedded model, the pulled ones and those of the list, with what each one needs and which answers."""
    choice = choose_default()
    located = weights.find_weights()
    used = ", answers by default" if located.path is not None and choice is not None and choice.model == LOCAL else ""
    origin = ORIGIN_LABELS[located.origin]
    _print_row(located.path is not None, f"{EMBEDDED.name}  {format_size(EMBEDDED.size)}  {origin}{used}", located.path)
    here = {model.name: model for model in pulled.list_pulled()}
    for model in here.values():
        used = ", answers by default" if choice is not None and choice.model == f"{LOCAL}:{model.name}" else ""
        if model.path is not None:
            _print_row(True, f"{model.name}  {format_size(model.size)}  downloaded{used}", model.path)
        else:
            source = model.name if curated.find_curated(model.name) else f"{model.source} --name {model.name}"
            size = (
                f"{format_size(model.size)} of {format_size(model.total)}" if model.total else format_size(model.size)
            )
            _print_row(False, f"{model.name}  {size}  not whole; run: rightseat models pull {source}")
    typer.echo("\nBetter models, for: rightseat models pull NAME (speeds are estimates for this machine's processor)")
    for known in curated.CURATED_MODELS:
        _print_row(known.name in here, describe_curated(known))
    typer.echo(f"\n{EMBEDDED.name} is the model `local`. Any other GGUF file: --model FILE.gguf")
    if choice is not None:
        typer.echo(f"Here answers {choice.model}: {choice.why}")


def _print_row(present: bool, text: str, path: Path | None = None) -> None:
    typer.echo(f"{'✓' if present else '–'} {text}")
    if path is not None:
        typer.echo(f"    {path}")


def describe_curated(model: CuratedModel) -> str:
    speed = curated.estimate_speed(model.size, choose_threads(get_machine()))
    memory = get_machine().memory
    too_large = ", more than this machine has" if memory < model.memory else ""
    return (
        f"{model.name}  {format_size(model.size)}  {model.licence}, {format_size(model.memory)} of memory{too_large}, "
        f"about {speed:.2g} tokens/s; {model.good_for}"
    )


def format_size(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"


def choose_default() -> ModelChoice | None:
    """Return the model that answers with the configuration of this folder; None where that is broken."""
    try:
        return default_model.choose_model(load_config())
    except ConfigError:
        return None


def pull_and_print(name: str | None, as_name: str | None = None) -> int:
    """Fetch a model, print only its path to stdout, for scripts, and return the exit code."""
    if name is None or name == EMBEDDED.name:
        if as_name is not None:
            raise NotFound("--name is for other models than the embedded one, whose name is fixed.")
        typer.echo(str(pull_weights()))
        return 0
    try:
        path = pull_model(name, as_name)
    except KeyboardInterrupt:
        typer.secho("Stopped. What has come is kept: the same command goes on with it.", err=True)
        return INTERRUPTED
    typer.echo(str(path))
    spec = f"{LOCAL}:{path.stem}"
    typer.secho(
        f"Try it: rightseat chat --model {spec}\nMake it the default: rightseat models use {path.stem}", err=True
    )
    return 0


def pull_model(name: str, as_name: str | None = None) -> Path:
    """Fetch a model of the list, a file of the hub or of any address."""
    hub = Hub.from_env()
    resolved = pulled.resolve_source(name, hub)
    if resolved is None:
        raise make_unknown_name_error(name)
    source = resolved[0]
    own_name = as_name or resolved[1]
    known = curated.find_curated(name)
    if known is not None:
        _warn_of_memory(known)
    if own_name in (LOCAL, EMBEDDED.name):
        raise NotFound(f"{own_name} is the embedded model. Give this one another name with --name.")
    if (path := pulled.find_same_model(source, own_name)) is not None:
        return path
    label = f"{own_name} ({format_size(known.size)})" if known is not None else own_name
    with _sigterm_as_interrupt(), show_download(label) as progress:
        return pulled.pull_model(source, own_name, hub, progress, on_wait=_print_waiting)


def _warn_of_memory(known: CuratedModel) -> None:
    memory = get_machine().memory
    if memory < known.memory:
        text = f"{known.name} needs {format_size(known.memory)} of memory; this machine has {format_size(memory)}."
        typer.secho(f"warning: {text} A smaller one: rightseat models list", fg=typer.colors.YELLOW, err=True)


def _print_waiting() -> None:
    typer.secho("Another process fetches this model: waiting until it ends.", err=True)


def make_unknown_name_error(name: str) -> NotFound:
    if name.count("/") >= 2 and not name.startswith(("/", ".")):
        return NotFound(f"{name!r} is not a name of the list. For a file of the hub: rightseat models pull hf:{name}")
    names = [EMBEDDED.name, *(model.name for model in curated.CURATED_MODELS)]
    more = "Or name a file: hf:OWNER/REPO/FILE.gguf, or the address of a .gguf file."
    return NotFound(f"There are no weights called {name!r}. {did_you_mean(name, names)} {more}")


def print_path(name: str | None) -> None:
    if name is None or name in (LOCAL, EMBEDDED.name):
        typer.echo(str(weights.require_weights()))
    else:
        typer.echo(str(find_path(name)))


def find_path(name: str) -> Path:
    """Return the path of a pulled model; the error says how to get it."""
    model = pulled.find_pulled(name)
    if model is not None and model.path is not None:
        return model.path
    if model is not None or curated.find_curated(name):
        raise NotFound(f"{name} is not here yet. Fetch it: rightseat models pull {name}")
    names = [LOCAL, *(known.name for known in pulled.list_pulled())]
    raise NotFound(f"There is no model called {name!r} here. {did_you_mean(name, names)} All: rightseat models list")


def use_model(name: str) -> None:
    """Make a model the default, and say what answers now and why."""
    embedded = name in (LOCAL, EMBEDDED.name)
    if not embedded:
        find_path(name)
    pulled.write_default("" if embedded else name)
    spec = LOCAL if embedded else f"{LOCAL}:{name}"
    choice = choose_default()
    if choice is None or choice.model == spec:
        typer.echo(f"{spec} answers from the next start of `rightseat serve` and `rightseat chat`.")
    else:
        typer.echo(f"{spec} answers where nothing else is configured. Here {choice.model} does: {choice.why}.")
        typer.echo(f"For {spec} in spite of that: rightseat serve --model {spec}")


def remove_model(name: str) -> None:
    if name in (LOCAL, EMBEDDED.name):
        size = weights.remove_weights()
    else:
        was_default = pulled.read_default() == name
        size = pulled.remove_pulled(name, _print_waiting)
        if was_default:
            typer.echo(f"{name} was the default. Now the embedded model is.")
    typer.echo(f"Removed {name}: {format_size(size)} are free again.")


def prepare_config(config: Config, *, fetch: bool = True) -> Config:
    """Fetch the embedded model's weights if needed and return the configuration to start with. Where they
    cannot be had and nothing names that model, a script replaces it, with a warning."""
    if not default_model.needs_embedded_model(config):
        return config
    why = default_model.find_engine_problem() or default_model.find_weights_problem()
    if not why:
        return config
    if fetch and not default_model.find_engine_problem():
        try:
            pull_weights()
        except ConfigError as error:
            if default_model.requests_embedded_model(config):
                raise
            text = f"warning: A short script answers, not a model. {error.message}"
            typer.secho(text, fg=typer.colors.YELLOW, err=True)
        else:
            return config
    return config if default_model.requests_embedded_model(config) else default_model.with_demo_script(config, why)


def pull_weights(known: Weights = EMBEDDED) -> Path:
    with _sigterm_as_interrupt(), show_download(f"{known.name} ({known.size / 1e6:.0f} MB)") as progress:
        return weights.pull_weights(known, progress)


@contextlib.contextmanager
def _sigterm_as_interrupt() -> Iterator[None]:
    """Treat SIGTERM as Ctrl-C, so that the download's process ends and its partial file is removed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
