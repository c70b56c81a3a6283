"""Describe a model before its first prompt: templates and control tokens, from a GGUF file or a server."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec

from rightseat.errors import ConfigError
from rightseat.models.llamacpp import gguf
from rightseat.models.llamacpp.control import select_control_tokens
from rightseat.models.llamacpp.model import LlamaServer, ModelDescriber, ModelDescription
from rightseat.models.llamacpp.template import (
    MAX_TEMPLATE_CHARS,
    TemplateSources,
    load_chatml,
    sources_from_header,
    sources_from_props,
)
from rightseat.types.nearest import closest_match

CHATML = "chatml"


class TemplateChoice(msgspec.Struct, frozen=True):
    """A configured chat template: its text, or the name of one of the model's. Empty: the model's default."""

    text: str = ""
    name: str = ""

    def resolve(self, own: TemplateSources, named: dict[str, str]) -> TemplateSources:
        if self.name:
            if self.name not in named:
                near = closest_match(self.name, named)
                question = f" Did you mean {near!r}?" if near else ""
                known = ", ".join((CHATML, *named))
                raise ConfigError(
                    f"chat_template: {self.name!r} is no file, and the model has no template of that name."
                    f"{question} Known: {known}."
                )
            return TemplateSources(named[self.name], None, own.bos, own.eos)
        return TemplateSources(self.text, None, own.bos, own.eos) if self.text else own


def parse_template_choice(value: str | None) -> TemplateChoice:
    """Parse the `chat_template` option: a file, `chatml`, or the name of one of the model's templates."""
    if not value:
        return TemplateChoice()
    if value == CHATML:
        return TemplateChoice(text=load_chatml())
    path = Path(value).expanduser()
    if not path.is_file():
        if path.suffix or len(path.parts) > 1:
            raise ConfigError(f"chat_template: there is no file {value}.", param="chat_template")
        return TemplateChoice(name=value)
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        raise ConfigError(f"chat_template: {value} cannot be read as text.", param="chat_template") from None
    if not text.strip() or len(text) > MAX_TEMPLATE_CHARS:
        raise ConfigError(f"chat_template: {value} is empty or too long.", param="chat_template")
    return TemplateChoice(text=text)


def describe_from_file(path: Path, template: TemplateChoice) -> ModelDescriber:
    async def describe(server: LlamaServer, /) -> ModelDescription:
        # Reading a vocabulary of some hundred thousand tokens would block the event loop.
        header = await asyncio.to_thread(gguf.read_header, path)
        sources = template.resolve(sources_from_header(header), header.templates)
        written = sources.default + (sources.tool_use or "")
        return ModelDescription(
            sources, select_control_tokens(header.control_tokens, header.added_tokens, written)
        )

    return describe


def describe_from_server(template: TemplateChoice) -> ModelDescriber:
    """Describe the model of an attached server. Control tokens stay unknown and are discovered per prompt."""

    async def describe(server: LlamaServer, /) -> ModelDescription:
        props = await (await server.client()).get_props()
        return ModelDescription(template.resolve(sources_from_props(props), {}))

    return describe
