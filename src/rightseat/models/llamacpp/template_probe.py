"""Child process that detects what a chat template supports (`python -m` this module).

It renders small conversations and searches the output for their words.
"""

from __future__ import annotations

import datetime
import json
import os
import re
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from jinja2.exceptions import SecurityError
from msgspec import Struct

from rightseat.models.llamacpp.sandbox import TEMPLATE_ERRORS, TemplateLimitExceeded, TemplateSandbox

TemplateMessages = list[dict[str, Any]]
RenderTemplate = Callable[..., str]

# Some templates (Mistral's) demand ids of nine letters or digits.
_ID = "q7Kd02mZx"
_USER, _MORE, _SYSTEM, _REPLY, _RESULT = "Zorbel", "Quimby", "Vexant", "Plimth", "Drovix"
_TOOL, _CITY = "fetch_grumble", "Snorkville"

PROBE_TOOLS = [
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
PROBE_CALL = (_TOOL, {"city": _CITY})
_BUILTIN = "snorkel_search"
_MISRENDERED_ARGUMENTS = re.compile(r"""'city'|\\"city""")


class TemplateCapabilities(Struct, frozen=True):
    """Features of a chat template. `object_arguments`: call arguments are an object, not JSON text.
    `content_parts`: message content must be a list of parts. `ending`: the generation prompt.
    `empty_content`: a message with only calls has "" as its content, else None as in OpenAI's API.
    `empty_tools`: a prompt without tools has an empty list of them. `called`: the rendering of PROBE_CALL.
    `call_opening`: what of it precedes the tool's name and is not part of every answer. `builtin_tools`: the
    template lists Llama 3.1's tools from the variable `builtin_tools`."""

    system: bool = False
    tools: bool = False
    tool_calls: bool = False
    object_arguments: bool = True
    tool_role: bool = False
    alternation: bool = False
    content_parts: bool = False
    ending: str = ""
    empty_content: bool = True
    text_and_calls: bool = True
    empty_tools: bool = False
    called: str = ""
    call_opening: str = ""
    builtin_tools: bool = False

    def renders_calls(self, text: str) -> bool:
        """Return whether calls are rendered together with this text of their message."""
        return self.tool_calls and (self.text_and_calls or not text)

    @property
    def renders_results(self) -> bool:
        """Return whether there is a tool role that the model was trained on. A template without tool support
        may render any role name."""
        return self.tool_role and (self.tools or self.tool_calls)


class CallRendering(Struct, frozen=True):
    object_arguments: bool
    empty_content: bool
    rendered: str


class UnusableTemplate(Exception):
    """The template drops the text of user messages."""


class TemplateProbe:
    """Renders probe conversations with one template, in the content form that the template accepts."""

    def __init__(self, render: RenderTemplate) -> None:
        self._render = render
        self.tools: TemplateMessages | None
        for self.uses_content_parts in (False, True):
            # A template for tool use may fail without tools, or without a list of them.
            for self.tools in (None, [], PROBE_TOOLS):
                if self.renders_words([_make_message("user", _USER)], _USER):
                    return
        raise UnusableTemplate

    def renders_words(self, messages: TemplateMessages, *words: str, tools: TemplateMessages | None = None) -> bool:
        text = self.try_render(messages, tools=self.tools if tools is None else tools)
        return text is not None and all(word in text for word in words)

    def try_render(self, messages: TemplateMessages, **variables: Any) -> str | None:
        try:
            return self._render([_with_content_parts(turn, self.uses_content_parts) for turn in messages], **variables)
        except (SecurityError, MemoryError, RecursionError):
            # These mean that the template itself must not be used, not that it rejects this conversation.
            raise
        except TEMPLATE_ERRORS:
            return None

    def probe_calls(self, user: dict[str, Any]) -> CallRendering | None:
        """Find the form in which the template renders calls; None if it renders none."""
        for as_object in (True, False):
            for tools in (self.tools, PROBE_TOOLS):
                texts = [self.render_call(user, as_object, tools, content) for content in ("", None)]
                if texts[0] or texts[1]:
                    # Prefer None as content only where it shortens the output, such as by an empty message.
                    empty = texts[1] is None or (texts[0] is not None and len(texts[1]) >= len(texts[0]))
                    return CallRendering(as_object, empty, texts[0 if empty else 1] or "")
        return None

    def render_call(
        self, user: dict[str, Any], as_object: bool, tools: TemplateMessages | None, content: str | None
    ) -> str | None:
        """Return the text that a call adds to the rendering; None if the call is missing or garbled."""
        if content is None and self.uses_content_parts:
            return None
        text = self.try_render([user, _make_call_message(as_object, content)], tools=tools, add_generation_prompt=False)
        if text is None or not all(word in text for word in (_TOOL, "city", _CITY)):
            return None
        without_call = self.try_render([user], tools=tools, add_generation_prompt=False) or ""
        rendered = _text_after_common_prefix(text, without_call)
        # A Python repr of the object, or JSON encoded twice, is a rendering error.
        return None if _MISRENDERED_ARGUMENTS.search(text) or "None" in rendered else rendered

    def find_call_opening(self, user: dict[str, Any], call: dict[str, Any]) -> str:
        """Return the text between the start of any answer and the name, or the id, of a tool that is called."""
        texts = [
            self.try_render([user, turn], tools=PROBE_TOOLS, add_generation_prompt=False) or ""
            for turn in (call, _make_message("assistant", _REPLY))
        ]
        opening = _text_after_common_prefix(*texts)
        start = len(texts[0]) - len(opening)
        # A marker may begin like one of the other answer.
        while start and texts[0][start - 1] in "<[|":
            start -= 1
        opening = texts[0][start:]
        places = [place for word in (_TOOL, _ID) if (place := opening.find(word)) >= 0]
        return opening[: min(places)] if places else ""

    def probe_generation_prompt(self, user: dict[str, Any]) -> str:
        without = self.try_render([user], tools=self.tools, add_generation_prompt=False)
        text = self.try_render([user], tools=self.tools, add_generation_prompt=True)
        return text.removeprefix(without) if text and without is not None and text.startswith(without) else ""


def probe_capabilities(render: RenderTemplate) -> TemplateCapabilities:
    """Probe a template through `render(messages, tools=…, add_generation_prompt=…)`."""
    probe = TemplateProbe(render)
    user, reply, more = (_make_message("user", _USER), _make_message("assistant", _REPLY), _make_message("user", _MORE))
    # A long conversation reaches template branches that short ones do not.
    probe.try_render([user, reply] * 12 + [more], tools=PROBE_TOOLS)
    calling = probe.probe_calls(user)
    rendering = calling or CallRendering(True, True, "")
    call = _make_call_message(rendering.object_arguments, "" if rendering.empty_content else None)
    before = [user, call] if calling else [user, reply]
    beside = _make_call_message(rendering.object_arguments, _REPLY)
    result = make_result_message()
    return TemplateCapabilities(
        system=probe.renders_words([_make_message("system", _SYSTEM), user], _SYSTEM, _USER),
        tools=probe.renders_words([user], _TOOL, _USER, tools=PROBE_TOOLS),
        tool_calls=calling is not None,
        object_arguments=rendering.object_arguments,
        empty_content=rendering.empty_content,
        text_and_calls=not calling or probe.renders_words([user, beside], _TOOL, _CITY, tools=PROBE_TOOLS),
        called=rendering.rendered,
        call_opening=probe.find_call_opening(user, call) if calling else "",
        tool_role=probe.renders_words([*before, result], _RESULT),
        alternation=not probe.renders_words([user, more], _USER, _MORE)
        and probe.renders_words([user, reply, more], _REPLY, _MORE),
        content_parts=probe.uses_content_parts,
        empty_tools=probe.tools == [],
        builtin_tools=_BUILTIN in (probe.try_render([user], tools=PROBE_TOOLS, builtin_tools=[_BUILTIN]) or ""),
        ending=probe.probe_generation_prompt(user),
    )


def _make_message(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": text}


def _make_call_message(as_object: bool, content: str | None) -> dict[str, Any]:
    arguments: Any = {"city": _CITY} if as_object else f'{{"city": "{_CITY}"}}'
    call = {"id": _ID, "type": "function", "function": {"name": _TOOL, "arguments": arguments}}
    return {"role": "assistant", "content": content, "tool_calls": [call]}


def make_probe_messages() -> TemplateMessages:
    """Return a user message, PROBE_CALL and its result in OpenAI's form."""
    return [_make_message("user", _USER), _make_call_message(False, ""), make_result_message()]


def make_result_message() -> dict[str, Any]:
    return {"role": "tool", "name": _TOOL, "tool_call_id": _ID, "content": _RESULT}


def _text_after_common_prefix(text: str, other: str) -> str:
    pairs = zip(text, other, strict=False)
    return text[next((at for at, (a, b) in enumerate(pairs) if a != b), len(other)) :]


def _with_content_parts(message: dict[str, Any], parts: bool) -> dict[str, Any]:
    return {**message, "content": [{"type": "text", "text": message["content"]}]} if parts else message


CPU_SECONDS = 1.0
EXTRA_MEMORY = 128 << 20


class ProbeRequest(Struct, frozen=True):
    source: str
    bos: str
    eos: str


class ProbeResult(Struct, frozen=True):
    """Capabilities of the template, or the reason why it is refused."""

    abilities: TemplateCapabilities | None = None
    refused: str = ""


def limit_resources() -> None:
    """Limit CPU time and memory of this process to what a chat template needs."""
    if sys.platform == "win32":
        return
    import resource

    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        now = pages * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        now = 256 << 20
    resource.setrlimit(resource.RLIMIT_AS, (now + EXTRA_MEMORY, now + EXTRA_MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Unlike RLIMIT_CPU the timer has sub-second resolution; its signal kills the process at any point.
    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)


def probe_template(request: ProbeRequest) -> ProbeResult:
    sandbox = TemplateSandbox(lambda: datetime.datetime(2026, 1, 2, 3, 4, 5))
    try:
        template = sandbox.compile_template(request.source)

        def render(turns: list[dict[str, Any]], **more: Any) -> str:
            values = build_variables(turns, request.bos, request.eos, datetime.datetime(2026, 1, 2), **more)
            return sandbox.render_template(template, values, CPU_SECONDS)

        return ProbeResult(abilities=probe_capabilities(render))
    except UnusableTemplate:
        return ProbeResult(refused="it does not show the model what the user says")
    except TemplateLimitExceeded as error:
        return ProbeResult(refused=f"it wants {error.message}")
    except SecurityError:
        return ProbeResult(refused="it reaches for what a template must not have")
    except MemoryError:
        return ProbeResult(refused="it wants more memory than a chat template needs")
    except TEMPLATE_ERRORS as error:
        return ProbeResult(refused=f"it is not valid ({type(error).__name__})")


def build_variables(
    messages: list[dict[str, Any]], bos: str, eos: str, now: datetime.datetime, **extra: Any
) -> dict[str, Any]:
    """Return all variables that chat templates use."""
    tools = extra.get("tools")
    return {
        "messages": messages,
        "tools": None,
        # FireFunction's names for the tools and the date.
        "functions": json.dumps(tools, ensure_ascii=False, indent=4) if tools else "",
        "datetime": now.strftime("%Y-%m-%d"),
        "documents": None,
        "add_generation_prompt": True,
        "bos_token": bos,
        "eos_token": eos,
        "date_string": now.strftime("%d %b %Y"),
        "todays_date": now.strftime("%Y-%m-%d"),
        "cutting_knowledge_date": "December 2023",
        **extra,
    }


def main() -> None:
    request = msgspec.json.decode(sys.stdin.buffer.read(), type=ProbeRequest)
    limit_resources()
    sys.stdout.buffer.write(msgspec.json.encode(probe_template(request)))


if __name__ == "__main__":
    main()
