"""Tools for a plugin's operations. A call asks the user first for missing values, files and approval."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec

from rightseat.engine.form_values import merge_deep
from rightseat.plugins.http.api import ApiClient
from rightseat.plugins.http.arguments import OperationArguments
from rightseat.plugins.http.files import Attachment, find_attachment, list_attachments
from rightseat.plugins.http.policy import SAFE_METHODS, PluginPolicy
from rightseat.plugins.http.request import UnsignedRequest
from rightseat.plugins.http.response import Redactor, format_response
from rightseat.plugins.plugin import Operation, Plugin, make_tool_name
from rightseat.types.events import Event
from rightseat.types.language import Language, detect_language
from rightseat.types.sentences import get_sentence
from rightseat.types.text import escape_invisible
from rightseat.types.tools import Ask, Pause, Result, Tool, ToolContext, error_result, is_approved, make_approval
from rightseat.types.turn import Turn

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
        if not isinstance(state := context.state, dict):
            return OperationCallProgress(arguments)
        answer = context.answers[-1] if context.answers else None
        return OperationCallProgress(state["arguments"], state["stage"], answer, state["seal"])

    @property
    def answered_values(self) -> dict[str, Any]:
        """Argument values from the last answer."""
        return self.answer if self.stage in ("values", "file") and isinstance(self.answer, dict) else {}

    @property
    def fingerprint(self) -> str:
        """Hash of the exact arguments and file contents: an approval holds for this call only."""
        digests = {name: [file.digest for file in files] for name, files in self.files.items()}
        return hashlib.sha256(msgspec.json.encode([self.arguments, digests], order="sorted")).hexdigest()

    def make_pause(self, stage: CallStage, ask: Ask) -> Pause:
        return Pause((ask,), {"stage": stage, "arguments": self.arguments, "seal": self.fingerprint})


def format_values_question(name: str, fields: list[str], turn: Turn) -> str:
    """Return the question for missing values, in the person's language, else in that of the fields."""
    fields_text = escape_invisible("; ".join(fields))
    language = turn.get_language(detect_language(fields_text))
    return get_sentence("missing_values", language, name=name, fields=fields_text)


def name_operations(plugin: Plugin) -> dict[str, Operation]:
    """Return a plugin's operations by the names of their tools."""
    operations: dict[str, Operation] = {}
    for operation in plugin.operations:
        operations[make_tool_name(plugin.id, operation.name, operations)] = operation
    return operations


def make_operation_tools(plugin: Plugin, policy: PluginPolicy) -> tuple[Tool, ...]:
    """Make one tool per operation. Closing one closes the shared ApiClient; the next call reopens it."""
    api = ApiClient(plugin, policy)
    tools: dict[str, Tool] = {}
    for name, operation in name_operations(plugin).items():
        operation_tool = OperationTool(api, operation)
        effect: Literal["reads", "writes"] = "reads" if operation.method.upper() in SAFE_METHODS else "writes"
        tools[name] = Tool(
            name=name,
            description=operation.description,
            parameters=operation_tool.arguments.model_schema,
            call=operation_tool.call,
            check=operation_tool.arguments.check,
            timeout=policy.seconds * (policy.retries + 2) + policy.max_retry_wait * policy.retries,
            close=api.close,
            effect="dangerous" if operation.dangerous else effect,
            untrusted=True,
            asks_approval=policy.requires_confirmation(operation),
            fingerprint=api.fingerprint(operation),
        )
    return tuple(tools.values())


class OperationTool:
    """Tool for one operation. A call pauses for up to three questions: values, files, approval."""

    def __init__(self, api: ApiClient, operation: Operation) -> None:
        self.api = api
        self.operation = operation
        self.arguments = OperationArguments(operation)

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> AsyncIterator[Event | Result | Pause]:
        ready = self.prepare(OperationCallProgress.from_context(arguments, context), context)
        if not isinstance(ready, OperationCallProgress):
            yield ready
            return
        request = self.api.build_request(self.operation, ready.arguments, ready.files, context.idempotency_key)
        fetched, identity = await self.api.send(self.operation, request, context.turn)
        result, artifact = await format_response(
            self.operation,
            fetched,
            budget=context.budget,
            redact=Redactor(identity.secret_values),
            credential_names=self.api.credentials.display_names,
        )
        if artifact is not None:
            yield artifact
        yield result

    def prepare(self, progress: OperationCallProgress, context: ToolContext) -> OperationCallProgress | Result | Pause:
        """Complete and check the arguments; returns the progress, else the next question or a failure."""
        merged = self.arguments.normalize(merge_deep(progress.arguments, progress.answered_values))
        # Undeclared arguments would be approved but never sent.
        declared = self.arguments.schema["properties"]
        arguments = progress.arguments = {name: value for name, value in merged.items() if name in declared}
        files = list_attachments(context.turn.messages)
        progress.files, missing_files = self.resolve_files(arguments, files)
        missing = self.arguments.find_missing(arguments)
        # Again after an empty answer: a form may send "" for a field that nobody has filled.
        if missing and progress.stage in ("start", "values"):
            fields = [self.arguments.describe_path(path) for path in missing]
            text = format_values_question(self.operation.name, fields, context.turn)
            return progress.make_pause("values", Ask(text, "form", self.arguments.build_form(missing)))
        if missing_files:
            if progress.stage == "file":
                return error_result("no_file", f"No file was attached for {', '.join(missing_files)}.")
            return self.ask_for_files(progress, missing_files, files, self.choose_language(context))
        if problem := self.arguments.validate(arguments):
            return error_result("invalid_arguments", problem)
        return self.check_approval(progress, self.choose_language(context))

    def resolve_files(
        self, arguments: dict[str, Any], files: list[Attachment]
    ) -> tuple[dict[str, list[Attachment]], list[str]]:
        """Match file arguments to attachments; returns files by argument and the arguments without one."""
        resolved: dict[str, list[Attachment]] = {}
        missing_files: list[str] = []
        required = self.arguments.schema["required"]
        for name, several in self.arguments.file_arguments.items():
            if name not in arguments and name not in required:
                continue
            value = arguments.get(name)
            requested = value if isinstance(value, list) else [value or ""]
            matches = [find_attachment(files, file if isinstance(file, str) else "") for file in requested]
            if several and value is None:
                # No names given: all attachments, oldest first.
                matches = [*reversed(files)] or [None]
            resolved[name] = [file for file in matches if file is not None]
            if None in matches:
                missing_files.append(name)
            else:
                names = [file.name for file in resolved[name]]
                arguments[name] = names if several else names[0]
        return resolved, missing_files

    def choose_language(self, context: ToolContext) -> Language:
        """Return the language of the person, or of the operation where the person has written nothing."""
        return context.turn.get_language(detect_language(self.operation.description))

    def ask_for_files(
        self, progress: OperationCallProgress, names: list[str], files: list[Attachment], language: Language
    ) -> Pause:
        names_text = escape_invisible(", ".join(names))
        if not files:
            return progress.make_pause("file", Ask(get_sentence("attach_file", language, names=names_text)))
        choice: dict[str, Any] = {"type": "string", "enum": [file.name for file in files]}
        several = self.arguments.file_arguments
        fields = {name: {"type": "array", "items": choice} if several[name] else choice for name in names}
        form = {"type": "object", "properties": fields, "required": names}
        text = get_sentence("choose_file", language, names=names_text)
        return progress.make_pause("file", Ask(text, "form", form))

    def ask_for_approval(self, progress: OperationCallProgress, request: UnsignedRequest, language: Language) -> Pause:
        """Ask for approval of the exact request. The plugin author's texts are left out: they may mislead."""
        servers = self.api.server_urls(self.operation)
        names = dict.fromkeys(urlsplit(url).netloc for url in servers)
        hosts = get_sentence("or", language).join(names) or get_sentence("no_server", language)
        arguments_json = msgspec.json.encode(progress.arguments).decode()
        prefix = urlsplit(servers[0]).path.rstrip("/") if servers else ""
        request_line = f"{request.method} {prefix}{request.path}"
        text = get_sentence("allow_request", language, request=request_line, hosts=hosts, arguments=arguments_json)
        return progress.make_pause("confirm", make_approval(escape_invisible(text)))

    def check_approval(
        self, progress: OperationCallProgress, language: Language
    ) -> OperationCallProgress | Result | Pause:
        if not self.api.policy.requires_confirmation(self.operation):
            return progress
        # Build the request before asking for approval: it may be invalid.
        request = self.api.build_request(self.operation, progress.arguments, progress.files)
        if progress.stage != "confirm":
            return self.ask_for_approval(progress, request, language)
        if not is_approved(progress.answer):
            return error_result("denied", get_sentence("call_denied", language))
        if progress.approved_fingerprint != progress.fingerprint:
            return error_result("changed", "The call is no longer the one that was agreed to. Ask again.")
        return progress
