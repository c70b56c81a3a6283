"""Examples as text, by the runtime's own format and the model's own template."""

from __future__ import annotations

import asyncio

from rightseat.models.llamacpp import gguf, weights
from rightseat.models.llamacpp.control import Control
from rightseat.models.llamacpp.formats.format import Ask
from rightseat.models.llamacpp.formats.signatures import Signatures
from rightseat.models.llamacpp.template import Template, from_header, load
from rightseat.types.model import Prompt
from train.example import Example

END = "<|im_end|>"


class Renderer:
    """`template` is the base model's, from its own file."""

    def __init__(self, template: Template) -> None:
        self.template = template
        self.format = Signatures()

    @classmethod
    def of_base(cls) -> Renderer:
        sources = from_header(gguf.read(weights.path()))
        return cls(asyncio.run(load(sources.default, bos=sources.bos, eos=sources.eos)))

    def prompt(self, example: Example) -> str:
        ask = self._ask(example)
        schema = example.schema
        told = self.format.told(ask) if schema is None else self.format.told_schema(schema, ask)
        messages = self.format.told_first([told], ask)
        rendered: str = self.template.render(messages, control=Control(()))
        return rendered

    def answer(self, example: Example) -> str:
        said = self.format.spoken(example.answer, self._ask(example)) if example.calls else example.text
        return said + END

    def _ask(self, example: Example) -> Ask:
        prompt = Prompt(messages=example.messages, tools=example.tools, output_schema=example.schema)
        return Ask(prompt=prompt, abilities=self.template.abilities)
