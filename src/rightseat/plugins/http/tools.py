"""Tools for a plugin's operations. A call asks the user first for missing values, files and approval."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Literal

from rightseat.plugins.http.answer import Answer, answered
from rightseat.plugins.http.api import Api
from rightseat.plugins.http.arguments import Arguments
from rightseat.plugins.http.asking import Progress, confirmation, file_question, missing_question
from rightseat.plugins.http.files import Attached, attached, chosen
from rightseat.plugins.http.gate import READING, Gate
from rightseat.plugins.http.hidden import Hiding
from rightseat.plugins.naming import named
from rightseat.plugins.operation import Operation
from rightseat.plugins.plugin import Plugin
from rightseat.types.events import Event
from rightseat.types.tools import Pause, Result, Tool, ToolContext, approves, failure
from rightseat.types.turn import Turn


def tools_of(plugin: Plugin, gate: Gate) -> tuple[Tool, ...]:
    """Make one tool per operation. Closing one closes the shared ApiClient; the next call reopens it."""
    api = Api(plugin, gate)
    taken: set[str] = set()
    made = []
    for operation in plugin.operations:
        caller = Caller(api, operation)
        name = named(plugin.id, operation.name, taken)
        taken.add(name)
        made.append(
            Tool(
                name=name,
                description=operation.description,
                parameters=caller.arguments.shown,
                call=caller.call,
                check=caller.arguments.problem,
                timeout=gate.seconds * (gate.retries + 2) + gate.patience * gate.retries,
                close=api.close,
                effect=effect(operation),
                outside=True,
                asks=gate.asks(operation),
            )
        )
    return tuple(made)


def effect(operation: Operation) -> Literal["reads", "writes", "dangerous"]:
    if operation.dangerous:
        return "dangerous"
    return "reads" if operation.method.upper() in READING else "writes"


class Caller:
    """Tool for one operation. A call pauses for up to three questions: values, files, approval."""

    def __init__(self, api: Api, operation: Operation) -> None:
        self.api = api
        self.operation = operation
        self.arguments = Arguments(operation)

    async def call(
        self, given: dict[str, Any], context: ToolContext
    ) -> AsyncIterator[Event | Result | Pause]:
        ready = self.prepared(Progress.of(given, context), context)
        if not isinstance(ready, Progress):
            yield ready
            return
        found = await self.perform(ready.arguments, ready.files, context.turn, context.budget, context.key)
        if found.artifact is not None:
            yield found.artifact
        yield found.result

    async def perform(
        self,
        arguments: dict[str, Any],
        files: dict[str, list[Attached]],
        turn: Turn,
        budget: int | None = None,
        key: str = "",
    ) -> Answer:
        """Send the request with complete arguments and return the formatted result."""
        request = self.api.draft(self.operation, arguments, files, key)
        fetched, identity = await self.api.send(self.operation, request, turn)
        hide = Hiding(identity.values)
        accounts = self.api.credentials.names
        return await answered(self.operation, fetched, budget=budget, hide=hide, accounts=accounts)

    def prepared(self, progress: Progress, context: ToolContext) -> Progress | Result | Pause:
        """Complete and check the arguments; returns the progress, else the next question or a failure."""
        settled = self.arguments.known(self.arguments.settled(joined(progress.arguments, progress.said)))
        progress.arguments = settled
        files = attached(context.turn.messages)
        progress.files, unclear = self.found(settled, files)
        missing = self.arguments.missing(settled)
        if missing and progress.stage == "start":
            return missing_question(self.operation, self.arguments, missing, progress)
        if unclear:
            if progress.stage == "file":
                return failure("no_file", f"No file was attached for {', '.join(unclear)}.")
            return file_question(self.operation, unclear, files, self.arguments.files, progress)
        if problem := self.arguments.wrong(settled):
            return failure("invalid_arguments", problem)
        return self.agreed(progress)

    def found(
        self, settled: dict[str, Any], files: list[Attached]
    ) -> tuple[dict[str, list[Attached]], list[str]]:
        """Match file arguments to attachments; returns files by argument and the arguments without one."""
        made: dict[str, list[Attached]] = {}
        unclear: list[str] = []
        required = self.arguments.schema["required"]
        for name, several in self.arguments.files.items():
            if name not in settled and name not in required:
                continue
            given = settled.get(name)
            wanted = given if isinstance(given, list) else [given or ""]
            picked = [chosen(files, one if isinstance(one, str) else "") for one in wanted]
            if several and given is None:
                # No names given: all attachments, oldest first.
                picked = [*reversed(files)] or [None]
            made[name] = [file for file in picked if file is not None]
            if None in picked:
                unclear.append(name)
            else:
                names = [file.name for file in made[name]]
                settled[name] = names if several else names[0]
        return made, unclear

    def agreed(self, progress: Progress) -> Progress | Result | Pause:
        if not self.api.gate.asks(self.operation):
            return progress
        # Build the request before asking for approval: it may be invalid.
        request = self.api.draft(self.operation, progress.arguments, progress.files)
        if progress.stage != "confirm":
            return confirmation(self.operation, self.api.servers(self.operation), request, progress)
        if not approves(progress.answer):
            return failure("denied", "The person did not allow this call.")
        if progress.sealed != progress.seal:
            return failure("changed", "The call is no longer the one that was agreed to. Ask again.")
        return progress


def joined(given: dict[str, Any], added: dict[str, Any]) -> dict[str, Any]:
    """Merge two objects recursively; values of `update` win."""
    made = dict(given)
    for name, value in added.items():
        before = made.get(name)
        if isinstance(before, dict) and isinstance(value, dict):
            value = joined(before, value)
        made[name] = value
    return made
