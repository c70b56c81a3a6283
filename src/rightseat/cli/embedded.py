"""The embedded model's weights before a start: fetched, or replaced by a script where they are optional."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from rightseat.config import Config
from rightseat.errors import ConfigError
from rightseat.server.progress import downloading
from rightseat.wiring import embedded

if TYPE_CHECKING:
    from rightseat.models.llamacpp.weights import Weights


def prepared(config: Config, *, fetch: bool = True) -> Config:
    """Fetch the embedded model's weights if needed and return the configuration to start with. Where they
    cannot be had and nothing names that model, a script replaces it, with a warning."""
    if not embedded.wanted(config):
        return config
    why = embedded.without_engine() or embedded.without_weights()
    if not why:
        return config
    if fetch and not embedded.without_engine():
        try:
            pull()
        except ConfigError as error:
            if embedded.named(config):
                raise
            _warn(error.message)
        else:
            return config
    return config if embedded.named(config) else embedded.replaced(config, why)


def pull(which: Weights | None = None) -> Path:
    # Lazy: every start imports this module.
    from rightseat.models.llamacpp import weights

    which = which or weights.EMBEDDED
    with _interruptible(), downloading(f"{which.name} ({which.size / 1e6:.0f} MB)") as progress:
        return weights.pull(which, progress)


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
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
