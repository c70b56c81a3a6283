"""`rightseat models`: weights of local models that can be fetched by name."""

from __future__ import annotations

import typer

from rightseat.cli.embedded import pull as fetched
from rightseat.errors import NotFound
from rightseat.models.llamacpp import weights
from rightseat.models.llamacpp.weights import EMBEDDED, KNOWN, Weights
from rightseat.types.nearest import meant

WHERE = {"cache": "downloaded", "wheel": "installed", "missing": "not here: rightseat models pull"}


def show() -> None:
    for found in weights.listed():
        known = found.weights
        mark = "–" if found.path is None else "✓"
        typer.echo(f"{mark} {known.name}  {known.size / 1e6:.0f} MB  {WHERE[found.origin]}")
        if found.path is not None:
            typer.echo(f"    {found.path}")
    typer.echo(f"\n{EMBEDDED.name} is the model `local`. Any other GGUF file: --model FILE.gguf")


def pull(name: str | None) -> None:
    """Fetch weights and print only their path to stdout, for scripts."""
    typer.echo(str(fetched(named(name))))


def path(name: str | None) -> None:
    typer.echo(str(weights.path(named(name))))


def named(name: str | None) -> Weights:
    if name is None:
        return EMBEDDED
    known = {one.name: one for one in KNOWN}
    if name not in known:
        raise NotFound(f"There are no weights called {name!r}. {meant(name, known)}")
    return known[name]
