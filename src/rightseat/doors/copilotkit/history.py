"""Convert posted messages to a conversation. GraphQL clients post one message per text, call and result; the
calls of one answer are joined again, with the text before them."""

from __future__ import annotations

from msgspec.structs import replace

from rightseat.doors.copilotkit.wire import ActionExecutionMessageInput, MessageInput
from rightseat.types.messages import ImageMessagePart, Message, Role, ToolCall, text_message


def build_conversation(posted: list[MessageInput]) -> tuple[Message, ...]:
    messages: list[Message] = []
    # Index of the assistant's message by id; calls name it as their parent.
    places: dict[str, int] = {}
    for item in posted:
        if call := item.action_execution_message:
            add_call(messages, places, item.id, call)
        elif message := parse_message(item):
            if message.role == "assistant":
                places[item.id] = len(messages)
            messages.append(message)
    return tuple(messages)


def parse_message(item: MessageInput) -> Message | None:
    if text := item.text_message:
        # A tool's text without a call is dropped.
        return None if text.role == "tool" else text_message(text.role, text.content, id=item.id)
    if result := item.result_message:
        return text_message("tool", result.result, call_id=result.action_execution_id, id=item.id)
    if image := item.image_message:
        role: Role = "assistant" if image.role == "assistant" else "user"
        return Message(
            role, (ImageMessagePart(f"data:image/{image.format.lower()};base64,{image.bytes}"),), id=item.id
        )
    # Agent states are not part of the conversation.
    return None


def add_call(
    messages: list[Message], places: dict[str, int], id: str, call: ActionExecutionMessageInput
) -> None:
    parent = call.parent_message_id or id
    model_call = ToolCall(id, call.name, call.arguments)
    place = places.get(parent)
    if place is None:
        places[parent] = len(messages)
        messages.append(Message("assistant", calls=(model_call,), id=parent))
    else:
        messages[place] = replace(messages[place], calls=(*messages[place].calls, model_call))
