"""Slots, prompts on file and a full context, with the real engine."""

import asyncio
import importlib.util
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from rightseat.errors import ContextTooLong
from rightseat.models.llamacpp import weights
from rightseat.models.llamacpp.child import LaunchOptions
from rightseat.models.llamacpp.model import LlamaCppModel, PromptOptions, describe_from_file
from rightseat.models.llamacpp.supervision import ManagedServer
from rightseat.models.llamacpp.template import parse_template_choice
from rightseat.types.chunks import ModelChunk, TextChunk, UsageChunk
from rightseat.types.events import Usage
from rightseat.types.messages import Message, text_message
from rightseat.types.model import Prompt, SamplingSettings
from tests.kit.waiting import read_into

pytestmark = [pytest.mark.io, pytest.mark.model, pytest.mark.skipif(sys.platform == "win32", reason="signals")]
SYSTEM = "You sit in the right seat and help the pilot with maps, weather, radio and fuel. " * 5
Build = Callable[..., LaunchOptions]


@pytest.fixture
def launch(tmp_path: Path) -> Build:
    if importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("xllamacpp is not installed")
    found = weights.require_weights()
    defaults: dict[str, Any] = {"context": 1024, "slot_save_path": tmp_path}
    return lambda **options: LaunchOptions(found, **defaults | options)


@asynccontextmanager
async def start_model(
    launch: LaunchOptions, *precached: str, session_file: Path | None = None
) -> AsyncIterator[LlamaCppModel]:
    made = LlamaCppModel(
        "local",
        ManagedServer(launch),
        describe_from_file(launch.model, parse_template_choice(None)),
        options=PromptOptions(),
        precached_prompts=precached,
        session_file=session_file,
    )
    await made.start()
    try:
        yield made
    finally:
        await made.close()


def make_prompt(*history: Message, tokens: int = 2, system: str = SYSTEM, conversation: str | None = None) -> Prompt:
    settings = SamplingSettings(temperature=0, max_tokens=tokens)
    messages = (text_message("system", system), *history)
    return Prompt(messages=messages, settings=settings, conversation=conversation)


async def complete(llama: LlamaCppModel, prompt: Prompt) -> tuple[str, Usage]:
    """The answer's text and its usage."""
    fragments: list[ModelChunk] = []
    await read_into(llama.stream(prompt), fragments)
    (usage,) = [fragment.usage for fragment in fragments if isinstance(fragment, UsageChunk)]
    return "".join(fragment.text for fragment in fragments if isinstance(fragment, TextChunk)), usage


@pytest.mark.demand("llamacpp.slot_affinity_conversation_prompt")
@pytest.mark.long
async def test_conversations_keep_what_they_have_read(launch: Build, tmp_path: Path) -> None:
    """Three with the same instructions on two slots: each one's next turn pays for what is new."""
    async with start_model(launch()) as llama:
        talks = {name: [text_message("user", f"{name}: {name * 9} " * 8)] for name in ("Ann", "Bob", "Cid")}
        first = {name: await complete(llama, make_prompt(*talk, conversation=name)) for name, talk in talks.items()}
        instructions = len(await llama.tokenize(SYSTEM))
        assert [usage.cached >= instructions for _, usage in first.values()] == [False, True, True]
        for name, talk in talks.items():
            text, before = first[name]
            talk += [text_message("assistant", text), text_message("user", "Go on.")]
            _, usage = await complete(llama, make_prompt(*talk, conversation=name))
            assert usage.cached >= before.input - 1
            assert usage.output == 2
    assert os.listdir(tmp_path) == []


@pytest.mark.demand("llamacpp.long_system_prompts_pre")
@pytest.mark.long
async def test_a_prompt_on_file_is_there_after_a_restart(launch: Build, tmp_path: Path) -> None:
    prompt = make_prompt(text_message("user", "Hello?"))
    async with start_model(launch(slots=1), SYSTEM) as llama:
        _, first = await complete(llama, prompt)
        assert first.cached > 0.8 * first.input
    (name,) = os.listdir(tmp_path)
    file = tmp_path / name
    async with start_model(launch(slots=1), SYSTEM) as llama:
        _, again = await complete(llama, prompt)
        assert again == first
        assert os.listdir(tmp_path) == [name]
        # Another conversation between them does not cost it.
        await complete(llama, make_prompt(text_message("user", "z " * 90), system="Be brief."))
        _, later = await complete(llama, make_prompt(text_message("user", "Who are you?")))
        assert later.cached >= first.cached - 2
    # A file that was cut would end the engine's process: it is made anew.
    data = file.read_bytes()
    file.write_bytes(data[: len(data) // 2])
    async with start_model(launch(slots=1), SYSTEM) as llama:
        assert (await complete(llama, prompt))[1].cached == first.cached
    assert os.listdir(tmp_path) == [name]
    assert file.stat().st_size == len(data)


@pytest.mark.demand("llamacpp.cancel_disconnect_parallel_slots")
@pytest.mark.long
async def test_two_answers_at_the_same_time(launch: Build) -> None:
    async with start_model(launch()) as llama:
        prompts = [make_prompt(text_message("user", f"Count, {name}."), tokens=12, system="Go on.") for name in "AB"]
        both = [llama.stream(prompt) for prompt in prompts]
        ends = [asyncio.create_task(read_into(stream, [])) for stream in both]
        slots = await (await llama._server.client()).list_slots()
        while sum(slot["is_processing"] for slot in slots) < 2:
            assert not any(end.done() for end in ends), "one after the other"
            slots = await (await llama._server.client()).list_slots()
        await asyncio.gather(*ends)


@pytest.mark.demand("llamacpp.cancel_disconnect_parallel_slots")
@pytest.mark.long
async def test_leaving_while_the_prompt_is_read_frees_the_slot(launch: Build) -> None:
    async with start_model(launch(slots=1)) as llama:
        client = await llama._server.client()
        prompt = make_prompt(text_message("user", "All of the numbers. " * 150))
        reading = asyncio.create_task(read_into(llama.stream(prompt), []))
        slot: dict[str, Any] = {}
        while not slot.get("n_prompt_tokens_processed"):
            assert not reading.done()
            (slot,) = await client.list_slots()
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        most = 0
        while slot["is_processing"]:
            most = slot["n_prompt_tokens_processed"]
            (slot,) = await client.list_slots()
        assert most < 500, "of 900: read to its end, though nobody waits for it"
        assert (await complete(llama, make_prompt(text_message("user", "Hi"), system="Hi")))[1].output == 2


@pytest.mark.demand("llamacpp.cancel_disconnect_parallel_slots", "llamacpp.invalid_schema_unsupported_keyword")
@pytest.mark.long
async def test_a_full_context_says_what_to_cut(launch: Build) -> None:
    async with start_model(launch(context=256)) as llama:
        long = make_prompt(
            text_message("user", "Hi"),
            text_message("assistant", "Hello"),
            text_message("user", "word " * 300),
            system="Be.",
        )
        with pytest.raises(ContextTooLong, match=r"room for 256: cut at least \d+ tokens"):
            await complete(llama, long)
        assert (await complete(llama, make_prompt(text_message("user", "Hi"), system="Be.")))[1].cached == 0


@pytest.mark.demand("llamacpp.session_file")
async def test_a_conversation_is_there_after_a_restart(launch: Build, tmp_path: Path) -> None:
    cache, file = tmp_path / "cache", tmp_path / "talk.session"
    cache.mkdir()
    talk = [text_message("user", "Where are the maps? " * 8)]
    async with start_model(launch(slots=1, slot_save_path=cache), session_file=file) as llama:
        text, first = await complete(llama, make_prompt(*talk))
        assert (first.cached, file.exists()) == (0, False)
    assert os.listdir(cache) == []
    assert file.stat().st_mode & 0o777 == 0o600
    talk += [text_message("assistant", text), text_message("user", "Go on.")]
    async with start_model(launch(slots=1, slot_save_path=cache), session_file=file) as llama:
        _, again = await complete(llama, make_prompt(*talk))
        assert again.cached >= first.input - 1
    # The twin: without the file all is read again.
    other = tmp_path / "other"
    other.mkdir()
    async with start_model(launch(slots=1, slot_save_path=other)) as llama:
        assert (await complete(llama, make_prompt(*talk)))[1].cached < first.input // 2
