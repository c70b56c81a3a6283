"""Questions before a call (values, files, approval) and the progress of a call between them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec

from rightseat.plugins.http.arguments import OperationArguments
from rightseat.plugins.http.files import Attachment
from rightseat.plugins.http.request import UnsignedRequest
from rightseat.plugins.operation import Operation
from rightseat.types.tools import APPROVAL_SCHEMA, Ask, Pause, ToolContext

CallStage = Literal["start", "values", "file", "confirm"]


@dataclass(slots=True)
class OperationCallProgress:
    """State of a call between questions. `stage` is the last question, `answer` the user's answer to it."""

    arguments: dict[str, Any]
    stage: CallStage = "start"
    answer: Any = None
    approved_fingerprint: str = ""
    files: dict[str, list[Attachment]] = field(default_factory=dict)

    @staticmethod
    def from_context(arguments: dict[str, Any], context: ToolContext) -> OperationCallProgress:
        if not isinstance(context.state, dict):
            return OperationCallProgress(arguments)
        state = context.state
        answer = context.answers[-1] if context.answers else None
        return OperationCallProgress(state["arguments"], state["stage"], answer, state["seal"])

    @property
    def answered_values(self) -> dict[str, Any]:
        """Argument values from the last answer."""
        return self.answer if self.stage in ("values", "file") and isinstance(self.answer, dict) else {}

    @property
    def fingerprint(self) -> str:
        """Hash of the exact arguments and file contents: an approval holds for this call only."""
        digests = {name: [file.digest for file in found] for name, found in self.files.items()}
        return hashlib.sha256(msgspec.json.encode([self.arguments, digests], order="sorted")).hexdigest()

    def make_pause(self, stage: CallStage, ask: Ask) -> Pause:
        return Pause((ask,), {"stage": stage, "arguments": self.arguments, "seal": self.fingerprint})


def ask_for_values(
    operation: Operation,
    arguments: OperationArguments,
    paths: list[tuple[str, ...]],
    progress: OperationCallProgress,
) -> Pause:
    fields = "; ".join(arguments.describe_path(path) for path in paths)
    text = f"{operation.name} needs {escape_unprintable(fields)}. Which value shall it have?"
    if is_chinese(fields):
        text = f"{operation.name} 还需要：{escape_unprintable(fields)}。请问应填写什么？"
    return progress.make_pause("values", Ask(text, "form", arguments.build_form(paths)))


def ask_for_files(
    operation: Operation,
    names: list[str],
    files: list[Attachment],
    several: dict[str, bool],
    progress: OperationCallProgress,
) -> Pause:
    wanted = escape_unprintable(", ".join(names))
    attach, which = "Can you attach a file ({}) to your answer?", "Which of the attached files is meant ({})?"
    if is_chinese(operation.description):
        attach, which = "请随回复上传文件（{}）。", "请问使用哪个已上传的文件（{}）？"
    if not files:
        return progress.make_pause("file", Ask(attach.format(wanted)))
    file_field: dict[str, Any] = {"type": "string", "enum": [file.name for file in files]}
    fields = {name: {"type": "array", "items": file_field} if several[name] else file_field for name in names}
    form = {"type": "object", "properties": fields, "required": names}
    return progress.make_pause("file", Ask(which.format(wanted), "form", form))


def ask_for_approval(
    operation: Operation, servers: tuple[str, ...], request: UnsignedRequest, progress: OperationCallProgress
) -> Pause:
    """Ask for approval of the exact request. The plugin author's texts are left out: they may mislead."""
    hosts = " or ".join(dict.fromkeys(urlsplit(url).netloc for url in servers)) or "no server"
    arguments_json = msgspec.json.encode(progress.arguments).decode()
    prefix = urlsplit(servers[0]).path.rstrip("/") if servers else ""
    request_line = f"{request.method} {prefix}{request.path}"
    text = f"Allow {request_line} at {hosts} with {arguments_json}?"
    if is_chinese(operation.description):
        text = f"是否允许向 {hosts} 发送 {request_line}，参数为 {arguments_json}？"
    return progress.make_pause("confirm", Ask(escape_unprintable(text), "confirm", APPROVAL_SCHEMA))


def is_chinese(text: str) -> bool:
    return any("\u4e00" <= char <= "\u9fff" for char in text)


def escape_unprintable(text: str) -> str:
    """Escape characters that a screen hides or reorders."""
    return "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in text)
