"""Detect what a chat template supports by rendering small conversations and searching for their words."""

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
# The tool call that every template is asked to render.
PROBE = (_TOOL, {"city": _CITY})
_BUILTIN = "snorkel_search"
_WRONG = re.compile(r"""'city'|\\"city""")


class Abilities(Struct, frozen=True):
    """Features of a chat template. `object_arguments`: call arguments are an object, not JSON text.
    `content_parts`: message content must be a list of parts. `ending`: the generation prompt.
    `empty_content`: a message with only calls has "" as its content, else None as in OpenAI's API.
    `called`: the rendering of PROBE_CALL. `builtin_tools`: the template lists Llama 3.1's tools from the
    variable `builtin_tools`."""

    system: bool = False
    tools: bool = False
    tool_calls: bool = False
    object_arguments: bool = True
    tool_role: bool = False
    tool_ids: bool = False
    alternation: bool = False
    content_parts: bool = False
    ending: str = ""
    empty_content: bool = True
    text_and_calls: bool = True
    called: str = ""
    builtin_tools: bool = False


class Calling(Struct, frozen=True):
    as_object: bool
    empty_content: bool
    written: str


class Unusable(Exception):
    """The template drops the text of user messages."""


class Trial:
    """Renders probe conversations with one template, in the content form that the template accepts."""

    def __init__(self, render: Render) -> None:
        self._render = render
        for self.parts in (False, True):
            # A template for tool use may fail without tools.
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
            # These mean that the template itself must not be used, not that it rejects this conversation.
            raise
        except FAILURES:
            return None

    def calling(self, user: dict[str, Any]) -> Calling | None:
        """Find the form in which the template renders calls; None if it renders none."""
        for as_object in (True, False):
            for tools in (self.tools, _TOOLS):
                texts = [self.called(user, as_object, tools, content) for content in ("", None)]
                if texts[0] or texts[1]:
                    # Prefer None as content only where it shortens the output, such as by an empty message.
                    empty = texts[1] is None or (texts[0] is not None and len(texts[1]) >= len(texts[0]))
                    return Calling(as_object, empty, texts[0 if empty else 1] or "")
        return None

    def called(
        self, user: dict[str, Any], as_object: bool, tools: Turns | None, content: str | None
    ) -> str | None:
        """Return the text that a call adds to the rendering; None if the call is missing or garbled."""
        if content is None and self.parts:
            return None
        text = self.text([user, _call_turn(as_object, content)], tools=tools, add_generation_prompt=False)
        if text is None or not all(word in text for word in (_TOOL, "city", _CITY)):
            return None
        before = self.text([user], tools=tools, add_generation_prompt=False) or ""
        written = _beyond(text, before)
        # A Python repr of the object, or JSON encoded twice, is a rendering error.
        return None if _WRONG.search(text) or "None" in written else written

    def ending(self, user: dict[str, Any]) -> str:
        short = self.text([user], tools=self.tools, add_generation_prompt=False)
        long = self.text([user], tools=self.tools, add_generation_prompt=True)
        if short is None or long is None or not long.startswith(short):
            return ""
        return long.removeprefix(short)


def probe(render: Render) -> Abilities:
    """Probe a template through `render(messages, tools=…, add_generation_prompt=…)`."""
    trial = Trial(render)
    user, reply, more = _turn("user", _USER), _turn("assistant", _REPLY), _turn("user", _MORE)
    # A long conversation reaches template branches that short ones do not.
    trial.text([user, reply] * 12 + [more], tools=_TOOLS)
    calling = trial.calling(user)
    found = calling or Calling(True, True, "")
    call = _call_turn(found.as_object, "" if found.empty_content else None)
    before = [user, call] if calling else [user, reply]
    beside = _call_turn(found.as_object, _REPLY)
    result = {"role": "tool", "name": _TOOL, "tool_call_id": _ID, "content": _RESULT}
    return Abilities(
        system=trial.shows([_turn("system", _SYSTEM), user], _SYSTEM, _USER),
        tools=trial.shows([user], _TOOL, _USER, tools=_TOOLS),
        tool_calls=calling is not None,
        object_arguments=found.as_object,
        empty_content=found.empty_content,
        text_and_calls=not calling or trial.shows([user, beside], _TOOL, _CITY, tools=_TOOLS),
        called=found.written,
        tool_role=trial.shows([*before, result], _RESULT),
        tool_ids=trial.shows([*before, result], _RESULT, _ID),
        alternation=not trial.shows([user, more], _USER, _MORE)
        and trial.shows([user, reply, more], _REPLY, _MORE),
        content_parts=trial.parts,
        builtin_tools=_BUILTIN in (trial.text([user], tools=_TOOLS, builtin_tools=[_BUILTIN]) or ""),
        ending=trial.ending(user),
    )


def _turn(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": text}


def _call_turn(as_object: bool, content: str | None) -> dict[str, Any]:
    arguments: Any = {"city": _CITY} if as_object else f'{{"city": "{_CITY}"}}'
    call = {"id": _ID, "type": "function", "function": {"name": _TOOL, "arguments": arguments}}
    return {"role": "assistant", "content": content, "tool_calls": [call]}


def _beyond(text: str, other: str) -> str:
    """Return the part of `text` after the prefix that it shares with `other`."""
    pairs = zip(text, other, strict=False)
    return text[next((at for at, (a, b) in enumerate(pairs) if a != b), len(other)) :]


def _shaped(turn: dict[str, Any], parts: bool) -> dict[str, Any]:
    return {**turn, "content": [{"type": "text", "text": turn["content"]}]} if parts else turn
