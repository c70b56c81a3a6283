"""How many workers there are, by the setting, the machine and the model."""

import pytest

from rightseat.config.load import load_config
from rightseat.config.settings import Config, ModelSettings, ServerSettings, StoreSettings, Workers
from rightseat.errors import ConfigError
from rightseat.models.llamacpp.machine import get_machine
from rightseat.server.workers.count import count_workers
from tests.kit.cases import each_case


def make_config(workers: Workers, spec: str = "openai:x", store: str = "sqlite") -> Config:
    return Config(
        server=ServerSettings(workers=workers),
        models={"main": ModelSettings(spec=spec)},
        store=StoreSettings(kind=store),
    )


@pytest.mark.demand("scale.number_of_workers")
def test_auto_is_one_for_each_processor_with_a_remote_model() -> None:
    assert count_workers(make_config("auto"), "linux") == get_machine().processors
    assert count_workers(make_config("auto", "local"), "linux") == 1
    assert count_workers(make_config("auto", "model.gguf"), "linux") == 1
    assert count_workers(make_config("auto", store="memory"), "linux") == 1
    assert count_workers(make_config("auto"), "win32") == 1
    assert count_workers(make_config(3, "local"), "darwin") == 3


@pytest.mark.demand("scale.number_of_workers")
def test_where_several_cannot_be_had_it_is_said() -> None:
    with pytest.raises(ConfigError, match="Windows"):
        count_workers(make_config(2), "win32")
    with pytest.raises(ConfigError, match='kind = "sqlite"'):
        count_workers(make_config(2, store="memory"), "linux")
    assert count_workers(make_config(1, store="memory"), "win32") == 1


@pytest.mark.demand("scale.number_of_workers")
@pytest.mark.parametrize(("text", "workers"), [("1", 1), ("12", 12), ("auto", "auto")])
def test_the_command_line_overrides_the_file(text: str, workers: Workers) -> None:
    assert load_config(None, workers=text, env={}).server.workers == workers


@pytest.mark.demand("scale.number_of_workers")
@each_case("text", ["0", "-1", "many", "1.5", "257", ""])
def test_a_number_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="--workers: expected a number from 1 to 256, or auto"):
        load_config(None, workers=text, env={})
