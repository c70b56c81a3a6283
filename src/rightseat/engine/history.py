"""A conversation as a model can take it: calls paired with results, split into turns, and without what the model has
no capability for."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Container, Iterable, Sequence

import msgspec
from msgspec.structs import replace

from rightseat.errors import CallerError
from rightseat.tools.text_calls.generic import tool_messages_as_text
from rightseat.types.messages import (
    FileMessagePart,
    ImageMessagePart,
    Message,
    MessagePart,
    TextMessagePart,
    ToolCall,
    text_message,
)
from rightseat.types.model import Capabilities, Prompt, ToolChoice, ToolSpec, has_audio, has_images, is_audio
from rightseat.types.stores import parse_resume_token
from rightseat.types.text import estimate_tokens
from rightseat.types.tools import UNANSWERED, error_result

MESSAGE_TOKENS = 4
# File types that models read themselves; a file without a type may be anything.
MODEL_READABLE_TYPES = (None, "application/pdf", "text/plain")
PART_TOKENS = 1000  # an image or a file: the real number is unknown


def pair_calls_with_results(messages: Iterable[Message]) -> list[Message]:
    """Return messages where each call is followed by its results and no result lacks its call."""
    paired_reversed: list[Message] = []
    results: dict[str | None, list[Message]] = {}
    # Backwards, to take the nearest results: some clients reuse call ids, in later messages or in the same one.
    for message in reversed(list(messages)):
        if message.role == "tool":
            results.setdefault(message.call_id, []).append(message)
            continue
        calls = tuple(whole for call in message.calls if (whole := _repair_arguments(call, call.id in results)))
        if message.calls and not calls and not message.parts:
            continue
        found = {id: results.pop(id, []) for id in {call.id for call in calls}}
        answers = [
            found[call.id].pop() if found[call.id] else text_message("tool", UNANSWERED, call_id=call.id)
            for call in calls
        ]
        paired_reversed += [*reversed(answers), replace(message, calls=calls) if message.calls else message]
    return paired_reversed[::-1]


def _repair_arguments(call: ToolCall, answered: bool) -> ToolCall | None:
    """Return the call with a JSON object as arguments; None for a call that was truncated."""
    with contextlib.suppress(msgspec.DecodeError, RecursionError):
        if isinstance(msgspec.json.decode(call.arguments), dict):
            return call
    return replace(call, arguments="{}") if answered or not call.arguments.strip() else None


def use_stored_results(
    messages: Sequence[Message], server_tools: Container[str], stored_results: dict[str, str]
) -> list[Message]:
    """Replace results of server calls with the stored ones: a client could forge them. Add those that the client
    has not seen: the server was stopped before it sent them."""
    server_call_ids = {call.id for message in messages for call in message.calls if call.name in server_tools}
    unseen_ids = server_call_ids - {message.call_id for message in messages if message.role == "tool"}
    unknown = error_result("result_unknown", "The result of this earlier call is no longer held.").text
    with_results: list[Message] = []
    for message in messages:
        if message.role == "tool" and message.call_id in server_call_ids:
            text = stored_results.get(message.call_id or "", unknown)
            message = replace(message, parts=text_message("tool", text).parts)
        with_results.append(message)
        unseen = (call.id for call in message.calls if call.id in unseen_ids and call.id in stored_results)
        with_results += [text_message("tool", stored_results[id], call_id=id) for id in unseen]
    return with_results


def name_unreadable_files(messages: Iterable[Message], capabilities: Capabilities) -> list[Message]:
    """Replace files that the model cannot read with their names, by which it passes them to tools."""
    return [
        replace(message, parts=tuple(_name_unreadable_part(part, capabilities) for part in message.parts))
        if any(not isinstance(part, TextMessagePart) for part in message.parts)
        else message
        for message in messages
    ]


def _name_unreadable_part(part: MessagePart, capabilities: Capabilities) -> MessagePart:
    text_only = capabilities.text_only
    match part:
        # Audio without a name was spoken to the model: no tool can take it.
        case FileMessagePart() if is_audio(part) and (capabilities.audio or part.name is None):
            return part
        case FileMessagePart(file_id=None) if text_only or part.read or part.media_type not in MODEL_READABLE_TYPES:
            kind = f" ({part.media_type})" if part.media_type else ""
            return TextMessagePart(f"\n[attached file: {part.name or 'file'}{kind}]")
        case ImageMessagePart() if text_only:
            return TextMessagePart("\n[attached picture]")
        case _:
            return part


def split_at_run(messages: tuple[Message, ...], resume_token: str) -> tuple[tuple[Message, ...], tuple[Message, ...]]:
    """Return the posted messages before and after the run with this token; its own come from the continuation."""
    ids = [(message.id, message.call_id, *(call.id for call in message.calls)) for message in messages]
    own = [position for position in range(len(messages)) if resume_token in map(parse_resume_token, ids[position])]
    return (messages[: own[0]], messages[own[-1] + 1 :]) if own else (messages, ())


def trailing_results(messages: tuple[Message, ...]) -> dict[str, str]:
    """Return the tool results after the last assistant message, by call id."""
    results: dict[str, str] = {}
    for message in reversed(messages):
        if message.role == "assistant":
            break
        if message.role == "tool" and message.call_id:
            results.setdefault(message.call_id, message.text)
    return results


def estimate_message_tokens(message: Message) -> int:
    calls = sum(estimate_tokens(call.name + call.arguments) for call in message.calls)
    others = sum(PART_TOKENS for part in message.parts if not isinstance(part, TextMessagePart))
    return MESSAGE_TOKENS + estimate_tokens(message.text) + calls + others


def minimum_tokens(messages: list[Message], tools: Iterable[ToolSpec]) -> tuple[int, int]:
    """Return the tokens that cannot be dropped: those of instructions and tools, and those of the last turn."""
    leading, turns = split_turns(messages)
    tool_tokens = sum(estimate_tokens(tool.description + str(tool.parameters)) for tool in tools)
    last_turn = turns[-1] if turns else []
    return tool_tokens + sum(map(estimate_message_tokens, leading)), sum(map(estimate_message_tokens, last_turn))


def split_turns(messages: list[Message]) -> tuple[list[Message], list[list[Message]]]:
    """Split messages into the leading instructions and the turns, each from a user message to the next."""
    leading = list(itertools.takewhile(lambda message: message.role in ("system", "developer"), messages))
    turns: list[list[Message]] = []
    for message in messages[len(leading) :]:
        if message.role == "user" or not turns:
            turns.append([])
        turns[-1].append(message)
    return leading, turns


def fit_to_capabilities(prompt: Prompt, capabilities: Capabilities, vision_models: Iterable[str] = ()) -> Prompt:
    """Return the prompt without what the model cannot take; raise CallerError for what cannot be left out.
    `vision_models` are suggested where it has an image."""
    if not capabilities.images and has_images(prompt):
        others = ", ".join(vision_models)
        hint = f"Ask one that does: {others}." if others else "Leave it out, or ask a model that does."
        raise CallerError(f"This model does not accept images. {hint}", param="messages")
    if not capabilities.audio and has_audio(prompt):
        hint = "Send its text, or ask a model that hears (set `audio` of a model that does)."
        raise CallerError(f"This model does not accept audio. {hint}", param="messages")
    if prompt.tool_choice.allowed and not capabilities.allowed_tools:
        choice = replace(prompt.tool_choice, allowed=())
        prompt = replace(prompt, tools=prompt.callable_tools, tool_choice=choice)
    if capabilities.tools:
        if capabilities.parallel or not prompt.tools or prompt.settings.parallel_calls is False:
            return prompt
        return replace(prompt, settings=replace(prompt.settings, parallel_calls=False))
    if prompt.requires_tool_call:
        raise CallerError(
            "This model cannot call tools, but the request requires a call. Use another model.", param="tool_choice"
        )
    return replace(prompt, messages=tool_messages_as_text(prompt.messages), tools=(), tool_choice=ToolChoice())
