"""Chat templates: probed in a child process before use, then rendered here in a sandbox."""

from __future__ import annotations

import asyncio
import datetime
import importlib.resources
import json
import logging
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from rightseat.errors import CallerError, ConfigError, TemplateRefused
from rightseat.models.llamacpp.control_tokens import ControlTokens, TrustedText
from rightseat.models.llamacpp.gguf import GgufHeader
from rightseat.models.llamacpp.sandbox import TEMPLATE_ERRORS, Clock, TemplateLimitExceeded, TemplateSandbox
from rightseat.models.llamacpp.template_probe import ProbeRequest, ProbeResult, TemplateCapabilities, build_variables
from rightseat.types.messages import Message, ToolCall
from rightseat.types.text import closest_match

TemplateMessage = dict[str, Any]

# User text inserted where a template requires a user message first.
OPENING_USER_TEXT = "(The conversation goes on.)"


def to_template_messages(messages: Sequence[Message], capabilities: TemplateCapabilities) -> list[TemplateMessage]:
    """Convert messages to a template's form: unsupported roles become text, same-role neighbours are merged."""
    template_messages = [_to_template_message(message, capabilities) for message in messages]
    if not capabilities.system:
        template_messages = _fold_system_messages(template_messages)
    if capabilities.alternation:
        template_messages = _merge_same_role(template_messages)
    if capabilities.content_parts:
        template_messages = [
            {**turn, "content": [{"type": "text", "text": turn["content"]}]} for turn in template_messages
        ]
    return template_messages


def _to_template_message(message: Message, capabilities: TemplateCapabilities) -> TemplateMessage:
    role = "system" if message.role == "developer" else message.role
    text = _message_text(message)
    if role == "tool":
        return _to_tool_result(message, text, capabilities)
    if not message.calls:
        return {"role": role, "content": text}
    if capabilities.tool_calls:
        calls = [_to_tool_call(call, capabilities.object_arguments) for call in message.calls]
        content = text if text or capabilities.empty_content else None
        thoughts = {"reasoning_content": message.reasoning} if message.reasoning else {}
        return {"role": role, "content": content, "tool_calls": calls, **thoughts}
    # Written in the form of GenericFormat, which the model is asked to produce.
    calls_text = json.dumps(
        {"tool_calls": [{"name": call.name, "arguments": _parse_arguments(call)} for call in message.calls]},
        ensure_ascii=False,
    )
    return {"role": role, "content": f"{text}\n{calls_text}" if text else calls_text}


def _message_text(message: Message) -> str:
    """Return the message's text, as TrustedText if all its parts are trusted."""
    texts = [part.text for part in message.parts if hasattr(part, "text")]
    if texts and all(isinstance(text, TrustedText) for text in texts):
        return TrustedText("".join(texts))
    return "".join(texts)


def _to_tool_result(message: Message, text: str, capabilities: TemplateCapabilities) -> TemplateMessage:
    if capabilities.tool_role:
        turn: TemplateMessage = {"role": "tool", "content": text, "tool_call_id": message.call_id or ""}
        return {**turn, "name": message.name} if message.name else turn
    name = f" of {message.name}" if message.name else ""
    return {"role": "user", "content": f"Result{name} (call {message.call_id or '?'}):\n{text}"}


def _to_tool_call(call: ToolCall, as_object: bool) -> TemplateMessage:
    arguments = _parse_arguments(call) if as_object else call.arguments
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _parse_arguments(call: ToolCall) -> Any:
    try:
        return msgspec.json.decode(call.arguments or "{}")
    except (msgspec.DecodeError, RecursionError):
        return call.arguments


def _fold_system_messages(turns: list[TemplateMessage]) -> list[TemplateMessage]:
    """Move system messages into the next user message, for templates without a system role."""
    out: list[TemplateMessage] = []
    pending: list[str] = []
    for turn in turns:
        if turn["role"] == "system":
            pending.append(turn["content"])
        elif turn["role"] == "user" and pending:
            out.append({**turn, "content": join_texts([*pending, turn["content"]])})
            pending = []
        else:
            out.append(turn)
    return [*out, {"role": "user", "content": join_texts(pending)}] if pending else out


def _merge_same_role(turns: list[TemplateMessage]) -> list[TemplateMessage]:
    out: list[TemplateMessage] = []
    for turn in turns:
        last = out[-1] if out else None
        if last is not None and last["role"] == turn["role"] != "tool" and "tool_calls" not in last:
            out[-1] = {**last, **turn, "content": join_texts([last["content"], turn["content"]])}
        else:
            if turn["role"] == "assistant" and (last is None or last["role"] == "system"):
                out.append({"role": "user", "content": OPENING_USER_TEXT})
            out.append(turn)
    return out


def join_texts(texts: Iterable[str]) -> str:
    non_empty = [text for text in texts if text]
    result = "\n\n".join(non_empty)
    return TrustedText(result) if non_empty and all(isinstance(text, TrustedText) for text in non_empty) else result


MAX_TEMPLATE_CHARS = 1 << 20
TOOL_USE = "tool_use"
_PROBE_SECONDS = 20.0
_RENDER_SECONDS = 2.0
log = logging.getLogger(__name__)


class TemplateSources(Struct, frozen=True):
    """Source texts of a model's templates, and its BOS and EOS tokens."""

    default: str
    tool_use: str | None = None
    bos: str = ""
    eos: str = ""

    def select(self, tools: bool) -> str:
        return self.tool_use if tools and self.tool_use else self.default


def sources_from_header(header: GgufHeader) -> TemplateSources:
    return _make_sources(header.template, header.templates.get(TOOL_USE), header.bos, header.eos)


def sources_from_props(props: Mapping[str, Any]) -> TemplateSources:
    """Return the sources that a llama-server reports at /props."""

    def text(key: str) -> str | None:
        value = props.get(key)
        return value if isinstance(value, str) and value else None

    return _make_sources(text("chat_template"), text("chat_template_tool_use"), text("bos_token"), text("eos_token"))


def load_chatml() -> str:
    return importlib.resources.files(__package__ or "").joinpath("chatml.jinja").read_text("utf-8")


def _make_sources(default: str | None, tool_use: str | None, bos: str | None, eos: str | None) -> TemplateSources:
    if not default:
        log.warning("the model has no chat template: ChatML is used; --chat-template names another")
        default = load_chatml()
    return TemplateSources(default, tool_use, bos or "", eos or "")


CHATML = "chatml"


class TemplateChoice(Struct, frozen=True):
    """A configured chat template: its text, or the name of one of the model's. Empty: the model's default."""

    text: str = ""
    name: str = ""

    def resolve(self, own: TemplateSources, named: dict[str, str]) -> TemplateSources:
        if self.name and self.name not in named:
            near = closest_match(self.name, named)
            question = f" Did you mean {near!r}?" if near else ""
            known = ", ".join((CHATML, *named))
            raise ConfigError(
                f"chat_template: {self.name!r} is no file, and the model has no template of that name."
                f"{question} Known: {known}."
            )
        text = named[self.name] if self.name else self.text
        return TemplateSources(text, None, own.bos, own.eos) if text else own


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


def find_template_file(value: str | None) -> Path | None:
    """Return the file that the `chat_template` option names, if it names one."""
    if not value or value == CHATML:
        return None
    path = Path(value).expanduser()
    return path.absolute() if path.is_file() else None


class ChatTemplate:
    """A template that has passed its probe. Make one with `load_template`."""

    def __init__(self, source: str, capabilities: TemplateCapabilities, *, bos: str, eos: str, clock: Clock) -> None:
        self.source = source
        self.capabilities = capabilities
        self._bos = bos
        self._eos = eos
        self._clock = clock
        self._sandbox = TemplateSandbox(clock)
        self._template = self._sandbox.compile_template(source)

    def render(
        self,
        messages: Sequence[Message],
        *,
        control_tokens: ControlTokens,
        tools: Sequence[dict[str, Any]] = (),
        add_generation_prompt: bool = True,
        variables: Mapping[str, Any] = {},
    ) -> str:
        """Render the prompt, with control tokens in messages, tools and variables marked (see ControlTokens).

        `tools` are in OpenAI's form; `variables` are further ones of the template.
        """
        template_messages = control_tokens.mark(to_template_messages(messages, self.capabilities))
        shown = control_tokens.mark(list(tools)) or ([] if self.capabilities.empty_tools else None)
        values = build_variables(template_messages, self._bos, self._eos, self._clock(), tools=shown)
        values |= control_tokens.mark(dict(variables))
        values["add_generation_prompt"] = add_generation_prompt
        try:
            return self._sandbox.render_template(self._template, values, _RENDER_SECONDS)
        except TemplateLimitExceeded as error:
            raise TemplateRefused(f"The model's chat template wants {error.message}: use another.") from error
        except TEMPLATE_ERRORS as error:
            # The message comes from the template's author, so it goes to the log only.
            log.debug("the chat template refused a conversation: %r", error)
            raise CallerError(
                "The model's chat template does not take this conversation: check the order of the roles."
            ) from error


async def load_template(
    source: str, *, bos: str = "", eos: str = "", clock: Clock = datetime.datetime.now
) -> ChatTemplate:
    """Probe and load a template; raises TemplateRefused if it is endless, huge or no chat template."""
    source = repair_source(source)
    capabilities = await asyncio.to_thread(probe_in_child, source, bos, eos)
    return ChatTemplate(source, capabilities, bos=bos, eos=eos, clock=clock)


def repair_source(source: str) -> str:
    """Replace the literal `{role}` at the end of Functionary v3 templates, a bug in them, by `assistant`."""
    return re.sub(r"(['\"](?:<\|start_header_id\|>|<\|im_start\|>))\{role\}", r"\1assistant", source)


def probe_in_child(source: str, bos: str = "", eos: str = "") -> TemplateCapabilities:
    """Probe a template in a child Python process and return its capabilities. Blocks."""
    if len(source) > MAX_TEMPLATE_CHARS:
        raise _make_refusal(f"it has more than {MAX_TEMPLATE_CHARS} characters")
    try:
        request = msgspec.json.encode(ProbeRequest(source, bos, eos))
    except UnicodeEncodeError:
        raise _make_refusal("it is not valid text") from None
    environment = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    if "SYSTEMROOT" in os.environ:
        environment["SYSTEMROOT"] = os.environ["SYSTEMROOT"]
    try:
        completed = subprocess.run(
            [sys.executable, "-m", "rightseat.models.llamacpp.template_probe"],
            input=request,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            timeout=_PROBE_SECONDS,
            check=False,
        )
        result = msgspec.json.decode(completed.stdout, type=ProbeResult)
    except subprocess.TimeoutExpired:
        raise _make_refusal("it does not end") from None
    except msgspec.DecodeError:
        # Killed by the CPU timer, or by the memory limit before Python could report it.
        raise _make_refusal("it wants more time or memory than a chat template needs") from None
    if result.abilities is None:
        raise _make_refusal(result.refused)
    return result.abilities


def _make_refusal(why: str) -> TemplateRefused:
    return TemplateRefused(f"The model's chat template is refused: {why}. Name another with --chat-template.")
