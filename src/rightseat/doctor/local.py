"""Check local models: engine, embedded weights, GGUF files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version

from rightseat.config import Config
from rightseat.doctor.line import Line, broken, good, skipped
from rightseat.errors import ConfigError
from rightseat.models.llamacpp import gguf, weights
from rightseat.types.model import Model
from rightseat.wiring import embedded

PULL = "rightseat models pull"


def engine(config: Config) -> Line:
    try:
        return good("local engine", f"{embedded.ENGINE} {version(embedded.ENGINE)}")
    except PackageNotFoundError:
        say = broken if embedded.named(config) else skipped
        return say("local engine", f"{embedded.ENGINE} is not installed", f"pip install {embedded.ENGINE}")


def embedded_weights(config: Config) -> Line:
    found = weights.find()
    what, size = f"weights {found.weights.name}", f"{found.weights.size / 1e6:.0f} MB"
    if found.path is not None:
        return good(what, f"{size} at {found.path}")
    if embedded.named(config):
        return broken(what, f"not here yet ({size})", PULL)
    then = "serve fetches them" if embedded.wanted(config) else "not needed here"
    return skipped(what, f"not here yet ({size}): {then}", PULL)


def without(config: Config) -> Config:
    """Return the config as `serve` would use it without downloads, so that the other checks can go on."""
    why = embedded.without_engine() or embedded.without_weights()
    if why and embedded.wanted(config) and not embedded.named(config):
        return embedded.replaced(config, why)
    return config


def files(models: Mapping[str, Model]) -> Iterator[Line]:
    """Check the GGUF file of each model that has `weights`."""
    for name, model in models.items():
        path = getattr(model, "weights", None)
        if path is None:
            continue
        what = f"model {name}, file"
        try:
            header = gguf.read(path)
        except ConfigError as error:
            yield broken(what, error.message, "give the path of a whole GGUF file")
            continue
        room = f"{header.context_length} tokens" if header.context_length else "its context is not told"
        template = "with a chat template" if header.template else "no chat template: ChatML is used"
        yield good(what, f"{header.architecture}, {room}, {template}")
