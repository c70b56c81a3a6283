"""Questions before a call (values, files, approval) and the progress of a call between them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec

from rightseat.plugins.http.arguments import Arguments
from rightseat.plugins.http.files import Attached
from rightseat.plugins.http.request import Draft
from rightseat.plugins.operation import Operation
from rightseat.types.tools import APPROVAL, Ask, Pause, ToolContext

Stage = Literal["start", "values", "file", "confirm"]


@dataclass(slots=True)
class Progress:
    """State of a call between questions. `stage` is the last question, `answer` the user's answer to it."""

    arguments: dict[str, Any]
    stage: Stage = "start"
    answer: Any = None
    sealed: str = ""
    files: dict[str, list[Attached]] = field(default_factory=dict)

    @staticmethod
    def of(given: dict[str, Any], context: ToolContext) -> Progress:
        if not isinstance(context.state, dict):
            return Progress(given)
        state = context.state
        answer = context.answers[-1] if context.answers else None
        return Progress(state["arguments"], state["stage"], answer, state["seal"])

    @property
    def said(self) -> dict[str, Any]:
        """Argument values from the last answer."""
        return self.answer if self.stage in ("values", "file") and isinstance(self.answer, dict) else {}

    @property
    def seal(self) -> str:
        """Hash of the exact arguments and file contents: an approval holds for this call only."""
        digests = {name: [file.digest for file in found] for name, found in self.files.items()}
        return hashlib.sha256(msgspec.json.encode([self.arguments, digests], order="sorted")).hexdigest()

    def pause(self, stage: Stage, ask: Ask) -> Pause:
        return Pause((ask,), {"stage": stage, "arguments": self.arguments, "seal": self.seal})


def missing_question(
    operation: Operation, arguments: Arguments, paths: list[tuple[str, ...]], progress: Progress
) -> Pause:
    wanted = "; ".join(arguments.described(path) for path in paths)
    text = f"{operation.name} needs {visible(wanted)}. Which value shall it have?"
    if chinese(wanted):
        text = f"{operation.name} 还需要：{visible(wanted)}。请问应填写什么？"
    return progress.pause("values", Ask(text, "form", arguments.form(paths)))


def file_question(
    operation: Operation,
    names: list[str],
    files: list[Attached],
    several: dict[str, bool],
    progress: Progress,
) -> Pause:
    wanted = visible(", ".join(names))
    attach, which = "Can you attach a file ({}) to your answer?", "Which of the attached files is meant ({})?"
    if chinese(operation.description):
        attach, which = "请随回复上传文件（{}）。", "请问使用哪个已上传的文件（{}）？"
    if not files:
        return progress.pause("file", Ask(attach.format(wanted)))
    one: dict[str, Any] = {"type": "string", "enum": [file.name for file in files]}
    fields = {name: {"type": "array", "items": one} if several[name] else one for name in names}
    form = {"type": "object", "properties": fields, "required": names}
    return progress.pause("file", Ask(which.format(wanted), "form", form))


def confirmation(operation: Operation, servers: tuple[str, ...], request: Draft, progress: Progress) -> Pause:
    """Ask for approval of the exact request. The plugin author's texts are left out: they may mislead."""
    hosts = " or ".join(dict.fromkeys(urlsplit(url).netloc for url in servers)) or "no server"
    exact = msgspec.json.encode(progress.arguments).decode()
    prefix = urlsplit(servers[0]).path.rstrip("/") if servers else ""
    line = f"{request.method} {prefix}{request.path}"
    text = f"Allow {line} at {hosts} with {exact}?"
    if chinese(operation.description):
        text = f"是否允许向 {hosts} 发送 {line}，参数为 {exact}？"
    return progress.pause("confirm", Ask(visible(text), "confirm", APPROVAL))


def chinese(text: str) -> bool:
    return any("\u4e00" <= char <= "\u9fff" for char in text)


def visible(text: str) -> str:
    """Escape characters that a screen hides or reorders."""
    return "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in text)
