"""Convert posted messages to a conversation. GraphQL clients post one message per text, call and result; the
calls of one answer are joined again, with the text before them."""

from __future__ import annotations

from msgspec.structs import replace

from rightseat.doors.copilotkit.wire import SaidCall, WireMessage
from rightseat.types.messages import Call, Image, Message, Role, said


def conversation(posted: list[WireMessage]) -> tuple[Message, ...]:
    made: list[Message] = []
    # Index of the assistant's message by id; calls name it as their parent.
    places: dict[str, int] = {}
    for item in posted:
        if call := item.action_execution_message:
            add_call(made, places, item.id, call)
        elif message := spoken(item):
            if message.role == "assistant":
                places[item.id] = len(made)
            made.append(message)
    return tuple(made)


def spoken(item: WireMessage) -> Message | None:
    if text := item.text_message:
        # A tool's text without a call is dropped.
        return None if text.role == "tool" else said(text.role, text.content, id=item.id)
    if result := item.result_message:
        return said("tool", result.result, call_id=result.action_execution_id, id=item.id)
    if image := item.image_message:
        role: Role = "assistant" if image.role == "assistant" else "user"
        return Message(role, (Image(f"data:image/{image.format.lower()};base64,{image.bytes}"),), id=item.id)
    # Agent states are not part of the conversation.
    return None


def add_call(made: list[Message], places: dict[str, int], id: str, call: SaidCall) -> None:
    parent = call.parent_message_id or id
    one = Call(id, call.name, call.arguments)
    place = places.get(parent)
    if place is None:
        places[parent] = len(made)
        made.append(Message("assistant", calls=(one,), id=parent))
    else:
        made[place] = replace(made[place], calls=(*made[place].calls, one))
