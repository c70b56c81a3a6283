"""Messages → `system` and `messages` of the Messages API, for conversations of any origin.

The API requires alternating user and assistant messages, user first; each tool result in the user message
right after its call; call ids that are unique and match [A-Za-z0-9_-]{1,64}; no empty text.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Struct

from rightseat.engine.history import paired
from rightseat.models.anthropic.known import Claude
from rightseat.models.anthropic.parts import Block, blocks, text
from rightseat.types.messages import Call, Message

PROVIDER = "anthropic"
NUDGE = "Go on."
"""Text of a user message inserted where the API requires one."""

_PLAIN = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Conversation(Struct):
    leading: list[str] = []
    """System messages at the start of the conversation."""
    late: list[str] = []
    """Later system messages, for models that do not accept them in place."""
    messages: list[dict[str, Any]] = []
    called: list[str] = []
    """Names of the tools called in it, as sent to the API."""


def plain(name: str) -> str:
    """Return a name or id that the API accepts; the mapping is deterministic."""
    if _PLAIN.fullmatch(name):
        return name
    readable = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:40]
    return f"{readable}_{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:16]}"


def conversation(messages: Iterable[Message], name: str, model: Claude, *, thinking: bool) -> Conversation:
    """Build the payload. `thinking`: the model will think, so its signed thinking blocks are sent back."""
    writer = _Writer(name, model, thinking)
    for message in paired(messages):
        match message.role:
            case "system" | "developer":
                writer.instruct(message.text)
            case "assistant":
                writer.answer(message)
            case "tool":
                writer.result(message)
            case _:
                writer.add("user", blocks(message.parts))
    writer.finish()
    return writer.out


class _Writer:
    def __init__(self, name: str, model: Claude, thinking: bool) -> None:
        self.out = Conversation()
        self._name = name
        self._model = model
        self._thinking = thinking
        self._pending: list[str] = []
        self._used: set[str] = set()
        self._ids: dict[str, str] = {}

    def instruct(self, words: str) -> None:
        if not words.strip():
            return
        if not self.out.messages:
            self.out.leading.append(words)
        elif self._model.mid_system:
            self._pending.append(words)
        else:
            self.out.late.append(words)

    def add(self, role: str, content: list[Block]) -> None:
        if not content:
            return
        messages = self.out.messages
        if role == "assistant":
            self._told()
            if not messages:
                messages.append({"role": "user", "content": [{"type": "text", "text": NUDGE}]})
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"] += content
        else:
            messages.append({"role": role, "content": content})

    def result(self, message: Message) -> None:
        content = blocks(message.parts)
        id = self._ids.get(message.call_id or "", plain(message.call_id or ""))
        told = {"content": content} if content else {}
        self.add("user", [{"type": "tool_result", "tool_use_id": id, **told}])

    def answer(self, message: Message) -> None:
        calls = [self._call(call) for call in message.calls]
        words = message.text
        # The API refuses images and files in assistant messages: send only the text.
        plan = self._plan(message)
        if plan is None:
            said = text(words)
            self.add("assistant", ([said] if said else []) + calls)
            return
        content: list[Block] = []
        at = 0
        for step in plan:
            if "text" in step:
                said = text(words[at : at + step["text"]])
                at += step["text"]
                content += [said] if said else []
            elif "call" in step:
                content.append(calls[step["call"]])
            elif self._thinking:
                content.append(dict(step["block"]))
        # The API refuses a message of thinking blocks alone.
        if any("text" in block or "input" in block for block in content):
            self.add("assistant", content)

    def _plan(self, message: Message) -> list[dict[str, Any]] | None:
        """Return the recorded order of thinking, text and calls; None if another model wrote it."""
        for opaque in message.opaque:
            blob = opaque.blob
            if opaque.provider != PROVIDER or not isinstance(blob, dict) or blob.get("model") != self._name:
                continue
            steps: list[dict[str, Any]] = blob["steps"]
            called = [step["call"] for step in steps if "call" in step]
            spoken = sum(step.get("text", 0) for step in steps)
            if called == list(range(len(message.calls))) and spoken == len(message.text):
                return steps
            # The message was truncated since: put the thinking blocks first.
            thoughts = [step for step in steps if "block" in step]
            rest = [{"text": len(message.text)}, *({"call": n} for n in range(len(message.calls)))]
            return thoughts + rest
        return None

    def _call(self, call: Call) -> Block:
        id = plain(call.id)
        # Some clients reuse ids across turns.
        number = 1
        while id in self._used:
            number += 1
            id = plain(f"{call.id}_{number}")
        self._used.add(id)
        self._ids[call.id] = id
        name = plain(call.name)
        if name not in self.out.called:
            self.out.called.append(name)
        return {"type": "tool_use", "id": id, "name": name, "input": msgspec.json.decode(call.arguments)}

    def _told(self) -> None:
        """Add pending system messages after the last user message, the only place the API accepts them."""
        messages = self.out.messages
        if self._pending and messages and messages[-1]["role"] == "user":
            messages.append({"role": "system", "content": "\n\n".join(self._pending)})
            self._pending = []

    def finish(self) -> None:
        messages = self.out.messages
        self._told()
        self.out.late += self._pending
        if messages and messages[-1]["role"] == "assistant" and self._model.prefill and not self._thinking:
            _trimmed(messages)
        if not messages or (messages[-1]["role"] == "assistant" and not self._prefilled(messages)):
            messages.append({"role": "user", "content": [{"type": "text", "text": NUDGE}]})

    def _prefilled(self, messages: list[dict[str, Any]]) -> bool:
        last = messages[-1]["content"][-1]
        return self._model.prefill and not self._thinking and last["type"] == "text"


def _trimmed(messages: list[dict[str, Any]]) -> None:
    """Strip trailing white space, which the API refuses in a final assistant message."""
    last = messages[-1]["content"][-1]
    if last["type"] == "text":
        messages[-1]["content"][-1] = {**last, "text": last["text"].rstrip()}
