"""The embedded model's weights before a start: fetched, or replaced by a script where they are optional."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from rightseat.config.settings import Config
from rightseat.errors import ConfigError
from rightseat.server.progress import show_download
from rightseat.wiring import choice

if TYPE_CHECKING:
    from rightseat.models.llamacpp.weights import Weights


def prepare_config(config: Config, *, fetch: bool = True) -> Config:
    """Fetch the embedded model's weights if needed and return the configuration to start with. Where they
    cannot be had and nothing names that model, a script replaces it, with a warning."""
    if not choice.is_needed(config):
        return config
    why = choice.engine_problem() or choice.weights_problem()
    if not why:
        return config
    if fetch and not choice.engine_problem():
        try:
            pull_weights()
        except ConfigError as error:
            if choice.is_requested(config):
                raise
            _warn(error.message)
        else:
            return config
    return config if choice.is_requested(config) else choice.with_demo_script(config, why)


def pull_weights(wanted: Weights | None = None) -> Path:
    # Lazy: every start imports this module.
    from rightseat.models.llamacpp import weights

    wanted = wanted or weights.EMBEDDED
    with _sigterm_as_interrupt(), show_download(f"{wanted.name} ({wanted.size / 1e6:.0f} MB)") as progress:
        return weights.pull_weights(wanted, progress)


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


def _warn(message: str) -> None:
    typer.secho(f"warning: A short script answers, not a model. {message}", fg=typer.colors.YELLOW, err=True)
