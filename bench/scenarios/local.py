"""The local model: what our layer adds to the engine's own endpoint, and what its caches save."""

import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from bench.rows import Row
from bench.scenarios import Scenario
from bench.stage import Stage
from rightseat.models.llamacpp import weights
from rightseat.models.llamacpp.engine import Engine
from rightseat.models.llamacpp.grammar import grammar
from rightseat.models.llamacpp.known import of_file, wanted
from rightseat.models.llamacpp.model import Llama, Manner
from rightseat.models.llamacpp.process import Launch
from rightseat.types.chunks import Text, Used
from rightseat.types.messages import said
from rightseat.types.model import Prompt, Settings
from rightseat.wiring import embedded

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


async def run(stage: Stage) -> Sequence[Row]:
    ours = [(peer, door) for peer, door in stage.doors() if peer.ours]
    why = embedded.without_engine() or embedded.without_weights()
    if why or not ours:
        stage.notes.append(f"no local model: {why}")
        return []
    peer, door = ours[0]
    found: dict[str, list[float]] = await stage.drive("local", peer, door, 600)
    return [
        Row(name, "local model", unit, found[name], limit=ADDED_US if name.startswith("added") else None)
        for name, unit in UNITS.items()
    ]


async def drive(job: dict[str, Any]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {name: [] for name in UNITS}
    for number in range(ROUNDS):
        _grammars(found, number)
        with tempfile.TemporaryDirectory() as folder:
            await _round(Launch(weights.path(), context=2048, saves=Path(folder)), found)
    return found


async def _round(launch: Launch, found: dict[str, list[float]]) -> None:
    begun = time.perf_counter()
    async with _model(launch) as llama:
        found["start of the embedded model"].append(time.perf_counter() - begun)
        # What is done once in a process is not what a token costs.
        await _first(llama, said("user", "Hi."), system="Hi.")
        found["added CPU per token"].append(await _added(llama))
        await _prompts(llama, found)
    # Reads the prompt and writes the file.
    async with _model(launch, SYSTEM):
        pass
    async with _model(launch, SYSTEM) as llama:
        first = await _first(llama, said("user", "Are you there?"))
        found["first token, prompt on file, after a restart"].append(first)


@asynccontextmanager
async def _model(launch: Launch, *precached: str) -> AsyncIterator[Llama]:
    manner = Manner(precache=precached)
    made = Llama("local", Engine(launch), of_file(launch.model, wanted(None)), manner=manner)
    await made.start()
    try:
        yield made
    finally:
        await made.close()


def _grammars(found: dict[str, list[float]], number: int) -> None:
    schemas = [WEATHER | {"title": f"{number} {index}"} for index in range(GRAMMARS)]
    for name in ("schema → grammar, new", "schema → grammar, known"):
        begun = time.process_time()
        for schema in schemas:
            grammar(schema)
        found[name].append((time.process_time() - begun) / GRAMMARS * 1e6)


async def _added(llama: Llama) -> float:
    """µs of CPU in this process for a token of an answer, less what reading the engine's own answer takes."""
    question = "Tell a very long story about a pilot, a mountain and a storm."
    prompt = Prompt(messages=(said("user", question),), settings=Settings(max_tokens=TOKENS, temperature=0))
    begun, tokens = time.process_time(), 0
    async for fragment in llama.stream(prompt):
        tokens = fragment.usage.output if isinstance(fragment, Used) else tokens
    ours = (time.process_time() - begun) / tokens
    _, text = await llama._planned(prompt)
    engine: Any = llama._server
    begun = time.process_time()
    async for piece in engine.completion(
        {"prompt": text, "n_predict": TOKENS, "temperature": 0, "id_slot": 0}
    ):
        tokens = piece.tokens_predicted
    return (ours - (time.process_time() - begun) / tokens) * 1e6


async def _prompts(llama: Llama, found: dict[str, list[float]]) -> None:
    question = said("user", "Where are we?")
    found["first token, new prompt"].append(await _first(llama, question))
    more = (question, said("assistant", "Over the sea."), said("user", "How high?"))
    found["first token, next turn"].append(await _first(llama, *more))
    found["first token, other conversation"].append(
        await _first(llama, said("user", "How much fuel is left?"))
    )


async def _first(llama: Llama, *messages: Any, system: str = SYSTEM) -> float:
    """ms until there is text."""
    settings = Settings(max_tokens=2, temperature=0)
    begun, first = time.perf_counter(), 0.0
    async for fragment in llama.stream(
        Prompt(messages=(said("system", system), *messages), settings=settings)
    ):
        if isinstance(fragment, Text) and not first:
            first = (time.perf_counter() - begun) * 1e3
    return first


SCENARIO = Scenario("local", run, drive, short=False, order=8)
