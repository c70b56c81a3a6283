"""Threads, context and batch by the machine: a table of machines and models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rightseat.engine.loop import Assistant
from rightseat.models.llamacpp import options
from rightseat.models.llamacpp.curated import suggest_model
from rightseat.models.llamacpp.gguf import GgufHeader
from rightseat.models.llamacpp.machine import Machine
from rightseat.models.llamacpp.machine_settings import MachineSettings, choose_machine_settings, count_cache_bytes
from rightseat.models.llamacpp.model import LlamaCppModel
from rightseat.wiring.lookup import make_model
from tests.kit.cases import each_case
from tests.unit.models.llamacpp.gguf_files import make_gguf, make_number_entry, make_usual_entries

GIB = 1 << 30
MB, GB = 10**6, 10**9

TINY = Machine(processors=1, cores=1, memory=GIB, free=700 * MB)
CONTAINER = Machine(processors=2, cores=2, memory=4 * GIB, free=3 * GIB)
LAPTOP = Machine(processors=8, cores=4, memory=16 * GIB, free=8 * GIB)
DESKTOP = Machine(processors=8, cores=8, memory=16 * GIB, free=12 * GIB)
SERVER = Machine(processors=64, cores=64, memory=256 * GIB, free=250 * GIB)
GPU = Machine(processors=64, cores=64, memory=256 * GIB, free=250 * GIB, gpu=True)


def make_header(context: int | None, **values: Any) -> GgufHeader:
    scalars = {f"llama.{name.replace('__', '.')}": value for name, value in values.items()}
    return GgufHeader("llama", context, None, {}, None, None, (), (), scalars)


EMBEDDED = make_header(8192, block_count=30, embedding_length=576, attention__head_count=9, attention__head_count_kv=3)
EIGHT_B = make_header(
    40960,
    block_count=36,
    embedding_length=4096,
    attention__head_count=32,
    attention__head_count_kv=8,
    attention__key_length=128,
    attention__value_length=128,
)
SILENT = make_header(None)


@pytest.mark.demand("llamacpp.settings_chosen_by_machine")
@each_case(
    ("machine", "header", "size", "expected"),
    [
        (TINY, EMBEDDED, 98 * MB, MachineSettings(1, 6144, 64)),
        (CONTAINER, EMBEDDED, 98 * MB, MachineSettings(1, 8192, 64)),
        (LAPTOP, EMBEDDED, 98 * MB, MachineSettings(4, 8192, 256)),
        (DESKTOP, EMBEDDED, 98 * MB, MachineSettings(7, 8192, 512)),
        (SERVER, EMBEDDED, 98 * MB, MachineSettings(16, 8192, 512)),
        (TINY, EIGHT_B, 5 * GB, MachineSettings(1, 1024, 64)),
        (LAPTOP, EIGHT_B, 5 * GB, MachineSettings(4, 5120, 64)),
        (DESKTOP, EIGHT_B, 5 * GB, MachineSettings(7, 13312, 64)),
        (SERVER, EIGHT_B, 5 * GB, MachineSettings(16, 32768, 64)),
        (GPU, EIGHT_B, 5 * GB, MachineSettings(16, 8192, 64)),
        (SERVER, SILENT, 98 * MB, MachineSettings(16, 4096, 512)),
        (SERVER, None, 98 * MB, MachineSettings(16, 4096, 512)),
        (SERVER, make_header(2048), 98 * MB, MachineSettings(16, 2048, 512)),
    ],
)
def test_the_machine_and_the_model_decide(
    machine: Machine, header: GgufHeader | None, size: int, expected: MachineSettings
) -> None:
    assert choose_machine_settings(machine, header, weights_bytes=size, slots=2) == expected


@pytest.mark.demand("llamacpp.settings_chosen_by_machine")
def test_4096_tokens_may_take_more_than_half_and_nothing_takes_more_than_it_may() -> None:
    for free in range(5 * GB, 20 * GB, 100 * MB):
        machine = Machine(8, 8, 32 * GIB, free)
        context = choose_machine_settings(machine, EIGHT_B, weights_bytes=5 * GB, slots=2).context
        used = context * 2 * (count_cache_bytes(EIGHT_B) or 0)
        assert used <= (free - 5 * GB) * (0.5 if context > 4096 else 0.75) or context == 1024
    machine = Machine(8, 8, 8 * GIB, 6700 * MB)
    assert choose_machine_settings(machine, EIGHT_B, weights_bytes=5 * GB, slots=2).context == 4096


def test_a_token_takes_keys_and_values_of_every_layer() -> None:
    assert count_cache_bytes(EMBEDDED) == 30 * 3 * (64 + 64) * 2
    assert count_cache_bytes(make_header(1, block_count=2, embedding_length=64, attention__head_count=4)) == 2 * 128 * 2
    for forged in (-1, 0, True, 1.5, "9"):
        assert count_cache_bytes(make_header(1, block_count=forged, embedding_length=64)) is None


@pytest.fixture
def weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RIGHTSEAT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(options, "get_machine", lambda: DESKTOP)
    names = {"block_count": 30, "embedding_length": 576, "attention.head_count": 9}
    path = tmp_path / "small.gguf"
    path.write_bytes(make_gguf(*make_usual_entries(*(make_number_entry(f"llama.{k}", v) for k, v in names.items()))))
    return path


@pytest.mark.demand("llamacpp.settings_chosen_by_machine", "llamacpp.settings_shown")
def test_the_chosen_context_is_the_one_that_prompts_are_measured_by(weights: Path) -> None:
    model = make_model(str(weights))
    assert isinstance(model, LlamaCppModel)
    assert model.capabilities.context == 8192
    assert Assistant("a", model).context_window == 8192
    assert model.engine_settings == "7 threads, 2 slots of 8192 tokens, batch 512"


def test_a_reload_chooses_the_same_engine(weights: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    models = [make_model(str(weights), {"prompt_cache": str(weights.parent / "prompts")}) for _ in range(2)]
    first, second = [model._server.launch for model in models if isinstance(model, LlamaCppModel)]
    assert first == second


@pytest.mark.demand("llamacpp.settings_chosen_by_machine")
def test_options_win_over_the_machine(weights: Path) -> None:
    model = make_model(str(weights), {"context": 2048, "threads": 2, "batch": 32, "slots": 1})
    assert isinstance(model, LlamaCppModel)
    assert model.capabilities.context == 2048
    assert model.engine_settings == "2 threads, 1 slot of 2048 tokens, batch 32"


def test_a_broken_file_still_makes_a_model_that_the_doctor_can_look_at(weights: Path) -> None:
    weights.write_bytes(b"GGUF and nothing else")
    assert make_model(str(weights)).capabilities.context == 4096


@each_case(
    ("memory", "cores", "name"),
    [
        (GIB, 1, None),
        (3 * GIB, 2, "qwen3-0.6b"),
        (5 * GIB, 2, "qwen3-1.7b"),
        (8 * GIB, 8, "qwen3-4b"),
        (16 * GIB, 8, "qwen3-8b"),
        (256 * GIB, 64, "qwen3-8b"),
        (256 * GIB, 2, "qwen3-1.7b"),
    ],
)
@pytest.mark.demand("engine.card_says_what_model_is_for")
def test_the_largest_model_that_the_machine_runs_well_is_suggested(memory: int, cores: int, name: str | None) -> None:
    assert suggest_model(memory, cores=cores) == name
    assert suggest_model(memory, cores=cores, larger_than=5 * GB) is None
