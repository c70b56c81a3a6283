"""The local model: what our layer adds to the engine's own endpoint, and what its caches save."""

import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from bench.rows import ResultRow
from bench.scenarios import Scenario
from bench.session import BenchSession
from rightseat.models.llamacpp import weights
from rightseat.models.llamacpp.child import LaunchOptions
from rightseat.models.llamacpp.formats import FormatContext
from rightseat.models.llamacpp.formats.answer_grammar import AnswerGrammar
from rightseat.models.llamacpp.formats.hermes import HermesFormat
from rightseat.models.llamacpp.model import LlamaCppModel, PromptOptions, describe_from_file
from rightseat.models.llamacpp.supervision import ManagedServer
from rightseat.models.llamacpp.template import parse_template_choice
from rightseat.models.llamacpp.template_probe import TemplateCapabilities
from rightseat.types.chunks import TextChunk, UsageChunk
from rightseat.types.messages import text_message
from rightseat.types.model import Prompt, SamplingSettings
from rightseat.wiring import default_model

ROUNDS, GRAMMARS, TOKENS = 3, 50, 96
ADDED_US = 100.0
SYSTEM = "You sit in the right seat and help the pilot with maps, weather, radio, fuel and landing. " * 16
WEATHER = {
    "type": "object",
    "properties": {
        "location": {"type": "string", "description": "City and country", "maxLength": 80},
        "format": {"type": "string", "enum": ["celsius", "fahrenheit"]},
        "days": {"type": "integer", "minimum": 1, "maximum": 14},
    },
    "required": ["location", "format"],
    "additionalProperties": False,
}
UNITS = {
    "schema → grammar, new": "µs",
    "schema → grammar, known": "µs",
    "start of the embedded model": "s",
    "added CPU per token": "µs",
    "first token, new prompt": "ms",
    "first token, next turn": "ms",
    "first token, other conversation": "ms",
    "first token, prompt on file, after a restart": "ms",
}


async def run(stage: BenchSession) -> Sequence[ResultRow]:
    ours = [(peer, door) for peer, door in stage.list_doors() if peer.is_ours]
    why = default_model.find_engine_problem() or default_model.find_weights_problem()
    if why or not ours:
        stage.notes.append(f"no local model: {why}")
        return []
    peer, door = ours[0]
    found: dict[str, list[float]] = await stage.drive("local", peer, door, 600)
    return [
        ResultRow(name, "local model", unit, found[name], limit=ADDED_US if name.startswith("added") else None)
        for name, unit in UNITS.items()
    ]


async def drive(job: dict[str, Any]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {name: [] for name in UNITS}
    for number in range(ROUNDS):
        _measure_grammars(found, number)
        with tempfile.TemporaryDirectory() as folder:
            await _run_round(LaunchOptions(weights.require_weights(), context=2048, slot_save_path=Path(folder)), found)
    return found


async def _run_round(launch: LaunchOptions, found: dict[str, list[float]]) -> None:
    begun = time.perf_counter()
    async with _start_model(launch) as llama:
        found["start of the embedded model"].append(time.perf_counter() - begun)
        # What is done once in a process is not what a token costs.
        await _measure_first_token(llama, text_message("user", "Hi."), system="Hi.")
        found["added CPU per token"].append(await _measure_added_cpu(llama))
        await _measure_prompts(llama, found)
    # Reads the prompt and writes the file.
    async with _start_model(launch, SYSTEM):
        pass
    async with _start_model(launch, SYSTEM) as llama:
        first = await _measure_first_token(llama, text_message("user", "Are you there?"))
        found["first token, prompt on file, after a restart"].append(first)


@asynccontextmanager
async def _start_model(launch: LaunchOptions, *precached: str) -> AsyncIterator[LlamaCppModel]:
    made = LlamaCppModel(
        "local",
        ManagedServer(launch),
        describe_from_file(launch.model, parse_template_choice(None)),
        options=PromptOptions(),
        precached_prompts=precached,
    )
    await made.start()
    try:
        yield made
    finally:
        await made.close()


def _measure_grammars(found: dict[str, list[float]], number: int) -> None:
    schemas = [WEATHER | {"title": f"{number} {index}"} for index in range(GRAMMARS)]
    prompts = [Prompt(messages=(), output_schema=schema) for schema in schemas]
    contexts = [FormatContext(prompt=prompt, capabilities=TemplateCapabilities()) for prompt in prompts]
    for name in ("schema → grammar, new", "schema → grammar, known"):
        begun = time.process_time()
        for context in contexts:
            AnswerGrammar.compile(HermesFormat(), context)
        found[name].append((time.process_time() - begun) / GRAMMARS * 1e6)


async def _measure_added_cpu(llama: LlamaCppModel) -> float:
    """µs of CPU in this process for a token of an answer, less what reading the engine's own answer takes."""
    question = "Tell a very long story about a pilot, a mountain and a storm."
    prompt = Prompt(
        messages=(text_message("user", question),), settings=SamplingSettings(max_tokens=TOKENS, temperature=0)
    )
    begun, tokens = time.process_time(), 0
    async for fragment in llama.stream(prompt):
        tokens = fragment.usage.output if isinstance(fragment, UsageChunk) else tokens
    ours = (time.process_time() - begun) / tokens
    _, text = await llama._plan_prompt(prompt)
    engine: Any = llama._server
    begun = time.process_time()
    async for piece in engine.stream_completion({"prompt": text, "n_predict": TOKENS, "temperature": 0, "id_slot": 0}):
        tokens = piece.tokens_predicted
    return (ours - (time.process_time() - begun) / tokens) * 1e6


async def _measure_prompts(llama: LlamaCppModel, found: dict[str, list[float]]) -> None:
    question = text_message("user", "Where are we?")
    found["first token, new prompt"].append(await _measure_first_token(llama, question))
    more = (question, text_message("assistant", "Over the sea."), text_message("user", "How high?"))
    found["first token, next turn"].append(await _measure_first_token(llama, *more))
    found["first token, other conversation"].append(
        await _measure_first_token(llama, text_message("user", "How much fuel is left?"))
    )


async def _measure_first_token(llama: LlamaCppModel, *messages: Any, system: str = SYSTEM) -> float:
    """ms until there is text."""
    settings = SamplingSettings(max_tokens=2, temperature=0)
    begun, first = time.perf_counter(), 0.0
    async for fragment in llama.stream(Prompt(messages=(text_message("system", system), *messages), settings=settings)):
        if isinstance(fragment, TextChunk) and not first:
            first = (time.perf_counter() - begun) * 1e3
    return first


SCENARIO = Scenario("local", run, drive, short=False, order=8)
