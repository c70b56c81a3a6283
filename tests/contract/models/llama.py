"""The local model in the suite: a server writes a case's answer in Hermes' format, as the engine would."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from msgspec.structs import replace

from rightseat.errors import Incomplete, UpstreamBusy
from rightseat.models.llamacpp.client import CompletionChunk, LlamaServer
from rightseat.models.llamacpp.control_tokens import ControlTokens
from rightseat.models.llamacpp.model import LlamaCppModel, ModelDescription, PromptOptions
from rightseat.models.llamacpp.template import TemplateSources, load_chatml
from rightseat.types.chunks import ModelChunk
from rightseat.types.model import Model, Prompt, ToolSpec
from tests.contract.models.cases import ModelCase
from tests.unit.models.llamacpp.in_process_server import InProcessServer

# What a text model cannot say, or what its grammar does not let it say.
UNSUPPORTED_CASES = frozenset({"refusal", "content filter", "a call that is not JSON"})
ANY_OBJECT = {"type": "object", "additionalProperties": True}
THINK_COMMENT = "{# <think></think> #}"


class CaseServer(InProcessServer):
    """Writes what a case's turn says, a few letters at a time."""

    def __init__(self, turn: dict[str, Any]) -> None:
        super().__init__()
        self.turn = turn

    async def stream_completion(self, request: dict[str, Any], /) -> AsyncIterator[CompletionChunk]:
        finish = self.turn.get("finish", "stop")
        if finish == "raise:upstream_busy":
            raise UpstreamBusy("busy")
        for letters in self.split_answer():
            if pace := self.turn.get("pace_ms"):
                await asyncio.sleep(pace / 1000)
            yield CompletionChunk(content=letters)
        if finish == "cut":
            raise Incomplete("cut")
        reason = "limit" if finish == "length" else "eos"
        yield CompletionChunk(stop=True, stop_type=reason, tokens_evaluated=7, tokens_predicted=3)

    def split_answer(self) -> list[str]:
        say = self.turn.get("say", [])
        if self.turn.get("pace_ms"):
            return list(say)
        text = f"<think>{self.turn['reason']}</think>" if "reason" in self.turn else ""
        text += say if isinstance(say, str) else "".join(say)
        calls = [
            f'<tool_call>{{"name": "{c["name"]}", "arguments": {c["arguments"]}' for c in self.turn.get("calls", ())
        ]
        text += "}</tool_call>".join(calls)
        text += "}</tool_call>" if calls and self.turn.get("finish") != "length" else ""
        return [text[start : start + 3] for start in range(0, len(text), 3)]


class ModelWithTools(Model):
    """Asked with the suite's tools: a local model calls only what it is offered."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        tools = tuple(ToolSpec(name, "", ANY_OBJECT) for name in ("add", "other"))
        return self.model.stream(replace(prompt, tools=tools))


@asynccontextmanager
async def make_llama_model(case: ModelCase) -> AsyncIterator[Model]:
    async def describe_model(_server: LlamaServer) -> ModelDescription:
        return ModelDescription(TemplateSources(load_chatml() + THINK_COMMENT), ControlTokens(()))

    model = LlamaCppModel("standin", CaseServer(case.turn), describe_model, options=PromptOptions(tool_format="hermes"))
    try:
        yield ModelWithTools(model)
    finally:
        await model.close()
