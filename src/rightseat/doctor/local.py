"""Check local models: engine, embedded weights, GGUF files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version

from rightseat.config.settings import Config
from rightseat.doctor.line import CheckResult, broken, good, skipped
from rightseat.errors import ConfigError
from rightseat.models.llamacpp import gguf, weights
from rightseat.types.model import Model
from rightseat.wiring import embedded

PULL_COMMAND = "rightseat models pull"


def check_engine(config: Config) -> CheckResult:
    try:
        return good("local engine", f"{embedded.ENGINE_PACKAGE} {version(embedded.ENGINE_PACKAGE)}")
    except PackageNotFoundError:
        make_result = broken if embedded.is_requested(config) else skipped
        return make_result(
            "local engine",
            f"{embedded.ENGINE_PACKAGE} is not installed",
            f"pip install {embedded.ENGINE_PACKAGE}",
        )


def check_embedded_weights(config: Config) -> CheckResult:
    located = weights.find_weights()
    what, size = f"weights {located.weights.name}", f"{located.weights.size / 1e6:.0f} MB"
    if located.path is not None:
        return good(what, f"{size} at {located.path}")
    if embedded.is_requested(config):
        return broken(what, f"not here yet ({size})", PULL_COMMAND)
    then = "serve fetches them" if embedded.is_needed(config) else "not needed here"
    return skipped(what, f"not here yet ({size}): {then}", PULL_COMMAND)


def without_local_model(config: Config) -> Config:
    """Return the config as `serve` would use it without downloads, so that the other checks can go on."""
    why = embedded.engine_problem() or embedded.weights_problem()
    if why and embedded.is_needed(config) and not embedded.is_requested(config):
        return embedded.with_demo_script(config, why)
    return config


def check_model_files(models: Mapping[str, Model]) -> Iterator[CheckResult]:
    """Check the GGUF file of each model that has `weights`."""
    for name, model in models.items():
        path = getattr(model, "weights", None)
        if path is None:
            continue
        what = f"model {name}, file"
        try:
            header = gguf.read_header(path)
        except ConfigError as error:
            yield broken(what, error.message, "give the path of a whole GGUF file")
            continue
        context = f"{header.context_length} tokens" if header.context_length else "its context is not told"
        template = "with a chat template" if header.template else "no chat template: ChatML is used"
        yield good(what, f"{header.architecture}, {context}, {template}")
