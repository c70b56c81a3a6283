"""Let a model choose the plugins whose tools fit a question, by their names and descriptions.

One short call. What it answers comes first in the selection; words and vectors order the tools of the chosen plugins
and fill what is left, so that a wrong choice hides nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from rightseat.errors import RightseatError
from rightseat.types.chunks import TextChunk
from rightseat.types.messages import text_message
from rightseat.types.model import Model, Prompt, SamplingSettings
from rightseat.types.streams import closing
from rightseat.types.text import sample_text

log = logging.getLogger(__name__)
MAX_CHOSEN = 3
MAX_LISTED = 60
MAX_DESCRIPTION = 160
MAX_REMEMBERED = 512
TIMEOUT = 20.0
REQUEST = (
    "Below are plugins, each with its id and what it is for. Choose those that are needed to answer the user's "
    'question: at most three, none if none fits. Answer with JSON only: {"plugins": ["ID"]}.\n\n'
)


class ListedPlugin(Struct, frozen=True):
    id: str
    name: str
    description: str


class ChosenPlugins(Struct):
    plugins: list[str] = []


class PluginChooser:
    """Asks a model which plugins a question needs, and remembers the answers: a resumed turn gets the same."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.remembered: OrderedDict[tuple[str, tuple[str, ...]], tuple[str, ...]] = OrderedDict()

    async def choose(self, question: str, plugins: Sequence[ListedPlugin]) -> tuple[str, ...]:
        """Return the ids of the chosen plugins, the best first; none if the model fails or answers something else."""
        listed = plugins[:MAX_LISTED]
        key = (question, tuple(plugin.id for plugin in listed))
        if key not in self.remembered:
            try:
                async with asyncio.timeout(TIMEOUT):
                    self.remembered[key] = await self.ask(sample_text(question), listed)
            except (RightseatError, TimeoutError) as error:
                log.warning(
                    "the plugins were chosen by words: the model could not choose: %s", str(error) or "no answer"
                )
                return ()
            if len(self.remembered) > MAX_REMEMBERED:
                self.remembered.popitem(last=False)
        return self.remembered[key]

    async def ask(self, question: str, plugins: Sequence[ListedPlugin]) -> tuple[str, ...]:
        lines = [f"- {plugin.id}: {plugin.name}. {plugin.description}"[:MAX_DESCRIPTION] for plugin in plugins]
        prompt = Prompt(
            messages=(text_message("system", REQUEST + "\n".join(lines)), text_message("user", question)),
            output_schema=make_schema([plugin.id for plugin in plugins]),
            settings=SamplingSettings(temperature=0.0, max_tokens=200),
        )
        async with closing(self.model.stream(prompt)) as chunks:
            text = "".join([chunk.text async for chunk in chunks if isinstance(chunk, TextChunk)])
        return parse_choice(text, {plugin.id for plugin in plugins})


def make_schema(ids: list[str]) -> dict[str, Any]:
    items = {"type": "array", "items": {"enum": ids}, "maxItems": MAX_CHOSEN}
    return {"type": "object", "properties": {"plugins": items}, "required": ["plugins"], "additionalProperties": False}


def parse_choice(text: str, ids: set[str]) -> tuple[str, ...]:
    """Parse the model's answer, which may stand in a code fence; ids that nobody knows are left out."""
    start, end = text.find("{"), text.rfind("}")
    try:
        chosen = msgspec.json.decode(text[start : end + 1], type=ChosenPlugins).plugins
    except (msgspec.MsgspecError, RecursionError):
        return ()
    return tuple(dict.fromkeys(id for id in chosen if id in ids))[:MAX_CHOSEN]
