"""Request bodies of EulerCopilot's clients, and the frame around every JSON answer."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

encode = msgspec.json.Encoder().encode
MAX_FILES = 20
MAX_PLUGINS = 100
MAX_DELETED = 1000
ConversationId = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9._:@-]{1,128}\Z")]


class EulerQuestion(Struct, kw_only=True):
    """The body of /api/chat, and with `session_id` that of /api/client/chat."""

    question: str
    conversation_id: ConversationId
    language: str = "zh"
    record_id: str | None = None
    """The answer to give anew; missing for a new question."""
    user_selected_plugins: Annotated[list[str], Meta(max_length=MAX_PLUGINS)] = []
    user_selected_flow: str | None = None
    flow_id: str | None = None
    files: Annotated[list[str], Meta(max_length=MAX_FILES)] | None = None
    session_id: str = ""


class EulerTitle(Struct):
    title: Annotated[str, Meta(min_length=1, max_length=2000)]


class EulerDeletion(Struct):
    conversation_list: Annotated[list[str], Meta(max_length=MAX_DELETED)]


class EulerComment(Struct, kw_only=True):
    record_id: str
    is_like: bool | int
    dislike_reason: str | list[str] | None = None
    reason_link: str | None = None
    reason_description: str | None = None


class EulerComplaint(Struct):
    record_id: str
    reason: str = ""
    reason_description: str = ""


class EulerSession(Struct):
    session_id: str | None = None


def format_result(result: Any, message: str = "success", code: int = 200) -> bytes:
    """Encode an answer in the frame that the clients unpack."""
    return encode({"code": code, "message": message, "result": result})
