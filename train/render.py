"""Examples as text, by the runtime's own format and the model's own template."""

from __future__ import annotations

import asyncio

from rightseat.models.llamacpp import gguf, weights
from rightseat.models.llamacpp.control_tokens import ControlTokens
from rightseat.models.llamacpp.formats.format import FormatContext
from rightseat.models.llamacpp.formats.hermes import SignatureFormat
from rightseat.models.llamacpp.template import ChatTemplate, load_template, sources_from_header
from rightseat.types.model import Prompt
from train.example import Example

END = "<|im_end|>"


class Renderer:
    """`template` is the base model's, from its own file."""

    def __init__(self, template: ChatTemplate) -> None:
        self.template = template
        self.format = SignatureFormat()

    @classmethod
    def from_base_model(cls) -> Renderer:
        sources = sources_from_header(gguf.read_header(weights.require_weights()))
        return cls(asyncio.run(load_template(sources.default, bos=sources.bos, eos=sources.eos)))

    def render_prompt(self, example: Example) -> str:
        ask = self._make_context(example)
        schema = example.schema
        instructions = (
            self.format.describe_tools(ask) if schema is None else self.format.describe_output_schema(schema, ask)
        )
        messages = self.format.insert_instructions([instructions], ask)
        rendered: str = self.template.render(messages, control_tokens=ControlTokens(()))
        return rendered

    def render_answer(self, example: Example) -> str:
        said = self.format.format_calls(example.answer, self._make_context(example)) if example.calls else example.text
        return said + END

    def _make_context(self, example: Example) -> FormatContext:
        prompt = Prompt(messages=example.messages, tools=example.tools, output_schema=example.schema)
        return FormatContext(prompt=prompt, capabilities=self.template.capabilities)
