"""The contract of formats for the engine's own chat route, with the real engine and random or embedded weights."""

import importlib.util
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from rightseat.errors import ContextTooLong
from rightseat.models.llamacpp import weights
from rightseat.models.llamacpp.formats.native import NativeFormat
from rightseat.models.llamacpp.model import LlamaCppModel
from rightseat.models.llamacpp.options import make_unchecked_model
from rightseat.types.chunks import FinishChunk, ModelChunk, TextChunk, ToolCallArgs, ToolCallStart, UsageChunk
from rightseat.types.messages import Message, ToolCall, text_message
from rightseat.types.model import Prompt, SamplingSettings, ToolChoice, ToolSpec
from rightseat.types.schema import get_validator
from rightseat.types.streams import closing
from tests.contract.formats.cases import OUTPUT_SCHEMA
from tests.contract.formats.native_templates import NATIVE_TEMPLATES
from tests.contract.models.cases import collect_answer
from tests.kit import tiny_gguf

pytestmark = [
    pytest.mark.io,
    pytest.mark.timeout(300),
    pytest.mark.skipif(importlib.util.find_spec("xllamacpp") is None, reason="xllamacpp is not installed"),
]
PARAMETERS: dict[str, Any] = {
    "type": "object",
    # A tiny model does not end a text between XML tags.
    "properties": {"count": {"type": "integer", "description": "How many."}, "loud": {"type": "boolean"}},
    "required": ["count", "loud"],
    "additionalProperties": False,
}
RING_TOOL = ToolSpec("ring", "Rings a bell.", PARAMETERS)
REST_TOOL = ToolSpec("rest", "Waits.", {"type": "object", "properties": {}})
QUESTION = text_message("user", "Ring the bell three times.")


@pytest.fixture(params=["random", pytest.param("embedded", marks=[pytest.mark.model, pytest.mark.long])])
def weights_file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    # What random weights write shows what the engine itself guarantees.
    return tiny_gguf.write_text_model(tmp_path / "t.gguf") if request.param == "random" else weights.require_weights()


@asynccontextmanager
async def open_model(source: str, file: Path, folder: Path) -> AsyncIterator[LlamaCppModel]:
    template = folder / "template.jinja"
    template.write_text(source)
    options = {"chat_template": str(template), "context": 2048, "slots": 2, "prompt_cache": str(folder), "threads": 1}
    model = make_unchecked_model(str(file), options)
    await model.start()
    try:
        yield model
    finally:
        await model.close()


async def ask(
    model: LlamaCppModel, *messages: Message, mode: Any = "auto", name: str | None = None, tokens: int = 60, **more: Any
) -> list[ModelChunk]:
    prompt = Prompt(
        messages=messages or (QUESTION,),
        tools=more.pop("tools", (RING_TOOL, REST_TOOL)),
        tool_choice=ToolChoice(mode, name),
        output_schema=more.pop("output_schema", None),
        conversation=more.pop("conversation", None),
        settings=SamplingSettings(max_tokens=tokens, seed=1, **{"parallel_calls": False, **more}),
    )
    async with closing(model.stream(prompt)) as chunks:
        return [chunk async for chunk in chunks]


@pytest.mark.demand("llamacpp.native_chat_route", "llamacpp.native_slots")
@pytest.mark.parametrize("source", NATIVE_TEMPLATES.values(), ids=NATIVE_TEMPLATES)
async def test_the_contract_with_the_real_engine(source: str, weights_file: Path, tmp_path: Path) -> None:
    async with open_model(source, weights_file, tmp_path) as model:
        chat_format = await model._load_chat_format(source)
        assert isinstance(chat_format.format, NativeFormat)
        assert chat_format.format.call_opening
        chunks = await ask(model, mode="named", name="ring", tokens=400)
        (call,) = collect_answer(chunks).calls
        assert call[0] == "ring"
        assert get_validator(PARAMETERS).find_problem(json.loads(call[1])) is None
        assert [chunk.enforced for chunk in chunks if isinstance(chunk, ToolCallStart)] == [True]
        assert len([chunk for chunk in chunks if isinstance(chunk, ToolCallArgs)]) > 1
        assert chunks[-1] == FinishChunk("calls")

        assert collect_answer(await ask(model, mode="named", name="rest")).calls[0][0] == "rest"
        none = await ask(model, mode="none", tokens=8)
        assert collect_answer(none).calls == ()
        cut = await ask(model, mode="named", name="ring", tokens=2)
        assert cut[-1] == FinishChunk("length")

        earlier = Message("assistant", calls=(ToolCall("call_1", *call),))
        result = text_message("tool", "It rang.", call_id="call_1", name="ring")
        answer = await ask(model, QUESTION, earlier, result, tokens=8, conversation="talk")
        assert isinstance(answer[-1], FinishChunk)
        again = await ask(model, QUESTION, earlier, result, tokens=8, conversation="talk")
        (before,) = [chunk.usage for chunk in answer if isinstance(chunk, UsageChunk)]
        (after,) = [chunk.usage for chunk in again if isinstance(chunk, UsageChunk)]
        assert after.cached >= before.input - 1

        said = await ask(model, tools=(), output_schema=OUTPUT_SCHEMA, tokens=60)
        text = "".join(chunk.text for chunk in said if isinstance(chunk, TextChunk))
        assert said[-1] == FinishChunk("length") or get_validator(OUTPUT_SCHEMA).find_problem(json.loads(text)) is None

        with pytest.raises(ContextTooLong, match="tokens"):
            await ask(model, text_message("user", "word " * 4000))
        await leave_early(model)


async def leave_early(model: LlamaCppModel) -> None:
    """Close a stream at its first text and wait until the engine's slots are idle."""
    settings = SamplingSettings(max_tokens=1500)
    async with closing(model.stream(Prompt(messages=(QUESTION,), settings=settings))) as chunks:
        await anext(chunks)
    client = await model._server.client()
    while any(slot["is_processing"] for slot in await client.list_slots()):
        # Each request is answered between two tokens of a slot, so this ends when the engine does.
        continue
