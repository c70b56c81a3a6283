"""What a chat template can say, found by rendering small conversations and looking for their words."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from jinja2.exceptions import SecurityError
from msgspec import Struct

from rightseat.models.llamacpp.sandbox import FAILURES

Turns = list[dict[str, Any]]
Render = Callable[..., str]

# Some templates (Mistral's) demand ids of nine letters or digits.
_ID = "q7Kd02mZx"
_USER, _MORE, _SYSTEM, _REPLY, _RESULT = "Zorbel", "Quimby", "Vexant", "Plimth", "Drovix"
_TOOL, _CITY = "fetch_grumble", "Snorkville"
_TOOLS = [
    {
        "type": "function",
        "function": {
            "name": _TOOL,
            "description": "Fetches.",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string", "description": "A city."}},
                "required": ["city"],
            },
        },
    }
]
_WRONG = re.compile(r"""'city'|\\"city""")


class Abilities(Struct, frozen=True):
    """`object_arguments`: a call's arguments are rendered from an object, not from JSON text.
    `content_parts`: a message's content must be a list of parts. `ending`: what asks the model to speak."""

    system: bool = False
    tools: bool = False
    tool_calls: bool = False
    object_arguments: bool = True
    tool_role: bool = False
    tool_ids: bool = False
    alternation: bool = False
    content_parts: bool = False
    ending: str = ""


class Unusable(Exception):
    """Not a chat template: it loses what the user says."""


class Trial:
    """Renders with one template, in the form that it was found to take."""

    def __init__(self, render: Render) -> None:
        self._render = render
        for self.parts in (False, True):
            # A template that is for tools only fails without any.
            for self.tools in (None, _TOOLS):
                if self.shows([_turn("user", _USER)], _USER):
                    return
        raise Unusable

    def shows(self, turns: Turns, *words: str, tools: Turns | None = None) -> bool:
        text = self.text(turns, tools=tools or self.tools)
        return text is not None and all(word in text for word in words)

    def text(self, turns: Turns, **more: Any) -> str | None:
        try:
            return self._render([_shaped(turn, self.parts) for turn in turns], **more)
        except (SecurityError, MemoryError, RecursionError):
            # Not a conversation that it does not take, but a template that is not to be used.
            raise
        except FAILURES:
            return None

    def calling(self, user: dict[str, Any]) -> tuple[bool, bool]:
        """Whether calls are shown, and whether their arguments are to be an object."""
        for as_object in (True, False):
            for tools in (self.tools, _TOOLS):
                text = self.text([user, _call_turn(as_object)], tools=tools) or ""
                shown = all(word in text for word in (_TOOL, "city", _CITY))
                # An object printed as Python does, or JSON text written as JSON once more, is not meant so.
                if shown and not _WRONG.search(text):
                    return True, as_object
        return False, True

    def ending(self, user: dict[str, Any]) -> str:
        short = self.text([user], tools=self.tools, add_generation_prompt=False)
        long = self.text([user], tools=self.tools, add_generation_prompt=True)
        if short is None or long is None or not long.startswith(short):
            return ""
        return long.removeprefix(short)


def probe(render: Render) -> Abilities:
    """`render(turns, tools=…, add_generation_prompt=…)` with the template in question."""
    trial = Trial(render)
    user, reply, more = _turn("user", _USER), _turn("assistant", _REPLY), _turn("user", _MORE)
    # A conversation of some length: what a template does only then is met here.
    trial.text([user, reply] * 12 + [more], tools=_TOOLS)
    called, as_object = trial.calling(user)
    before = [user, _call_turn(as_object)] if called else [user, reply]
    result = {"role": "tool", "name": _TOOL, "tool_call_id": _ID, "content": _RESULT}
    return Abilities(
        system=trial.shows([_turn("system", _SYSTEM), user], _SYSTEM, _USER),
        tools=trial.shows([user], _TOOL, _USER, tools=_TOOLS),
        tool_calls=called,
        object_arguments=as_object,
        tool_role=trial.shows([*before, result], _RESULT),
        tool_ids=trial.shows([*before, result], _RESULT, _ID),
        alternation=not trial.shows([user, more], _USER, _MORE)
        and trial.shows([user, reply, more], _REPLY, _MORE),
        content_parts=trial.parts,
        ending=trial.ending(user),
    )


def _turn(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": text}


def _call_turn(as_object: bool) -> dict[str, Any]:
    arguments: Any = {"city": _CITY} if as_object else f'{{"city": "{_CITY}"}}'
    call = {"id": _ID, "type": "function", "function": {"name": _TOOL, "arguments": arguments}}
    return {"role": "assistant", "content": "", "tool_calls": [call]}


def _shaped(turn: dict[str, Any], parts: bool) -> dict[str, Any]:
    return {**turn, "content": [{"type": "text", "text": turn["content"]}]} if parts else turn
