"""Describe a model before its first prompt: templates and control tokens, from a GGUF file or a server."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec

from rightseat.errors import ConfigError
from rightseat.models.llamacpp import gguf
from rightseat.models.llamacpp.control import of_model
from rightseat.models.llamacpp.model import Known, Server, Source
from rightseat.models.llamacpp.template import LONGEST, Sources, chatml, from_header, from_props
from rightseat.types.nearest import nearest

CHATML = "chatml"


class Wanted(msgspec.Struct, frozen=True):
    """A configured chat template: its text, or the name of one of the model's. Empty: the model's default."""

    text: str = ""
    name: str = ""

    def sources(self, own: Sources, named: dict[str, str]) -> Sources:
        if self.name:
            if self.name not in named:
                near = nearest(self.name, named)
                question = f" Did you mean {near!r}?" if near else ""
                known = ", ".join((CHATML, *named))
                raise ConfigError(
                    f"chat_template: {self.name!r} is no file, and the model has no template of that name."
                    f"{question} Known: {known}."
                )
            return Sources(named[self.name], None, own.bos, own.eos)
        return Sources(self.text, None, own.bos, own.eos) if self.text else own


def wanted(given: str | None) -> Wanted:
    """Parse the `chat_template` option: a file, `chatml`, or the name of one of the model's templates."""
    if not given:
        return Wanted()
    if given == CHATML:
        return Wanted(text=chatml())
    path = Path(given).expanduser()
    if not path.is_file():
        if path.suffix or len(path.parts) > 1:
            raise ConfigError(f"chat_template: there is no file {given}.", param="chat_template")
        return Wanted(name=given)
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        raise ConfigError(f"chat_template: {given} cannot be read as text.", param="chat_template") from None
    if not text.strip() or len(text) > LONGEST:
        raise ConfigError(f"chat_template: {given} is empty or too long.", param="chat_template")
    return Wanted(text=text)


def of_file(path: Path, template: Wanted) -> Source:
    async def found(server: Server, /) -> Known:
        # Reading a vocabulary of some hundred thousand tokens would block the event loop.
        header = await asyncio.to_thread(gguf.read, path)
        sources = template.sources(from_header(header), header.templates)
        written = sources.default + (sources.tool_use or "")
        return Known(sources, of_model(header.control, header.added, written))

    return found


def of_server(template: Wanted) -> Source:
    """Describe the model of an attached server. Control tokens stay unknown and are discovered per prompt."""

    async def found(server: Server, /) -> Known:
        props = await (await server.client()).props()
        return Known(template.sources(from_props(props), {}))

    return found
