"""Tools for a plugin's Python scripts; each call runs in a confined process. The user is asked for missing arguments,
and a script's own process for what the syntax does not tell of its signature.

A class of the original SDK also receives what a flow would pass: question, context, files, previous_data.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
from msgspec import Struct

from rightseat.documents.document import cut_middle
from rightseat.errors import CallerError, ConfigError
from rightseat.plugins.http.arguments import OMIT_HINT
from rightseat.plugins.http.tools import format_values_question
from rightseat.plugins.plugin import Plugin, PluginScript, Problem, make_tool_name
from rightseat.plugins.python.find import LIB
from rightseat.tools.sandbox.machine import probe_machine
from rightseat.tools.sandbox.plan import SandboxPlan, make_plan
from rightseat.tools.subprocess import ChildLaunch, ChildReply, Confinement, ToolProcesses, prepare_child
from rightseat.types.events import Event
from rightseat.types.messages import ImageMessagePart, Message, TextMessagePart
from rightseat.types.schema import get_validator
from rightseat.types.tools import Ask, Pause, Result, Tool, ToolContext, ToolHandler, error_result
from rightseat.types.turn import Turn

Schema = dict[str, Any]
LOAD_TIMEOUT = 10.0
MAX_CONCURRENT = 4
MAX_CONTEXT_CHARS = 4000
# Tokens of a result if the model's budget is unknown.
DEFAULT_BUDGET = 20_000


def schema_for_model(schema: Schema) -> Schema:
    """Add a hint to the schema that the model may omit unknown values."""
    needs_hint = schema.get("required") and "description" not in schema
    return {**schema, "description": OMIT_HINT} if needs_hint else schema


def make_partial_check(schema: Schema) -> Callable[[Any], str | None]:
    """Return a check of the arguments that ignores missing ones."""
    optional_schema = {key: value for key, value in schema.items() if key != "required"}
    return lambda arguments: get_validator(optional_schema).find_problem(arguments)


def ask_for_missing(name: str, schema: Schema, args: dict[str, Any], turn: Turn) -> Pause | None:
    names = [field for field in schema.get("required") or () if field not in args]
    if not names:
        return None
    fields = {field: (schema.get("properties") or {}).get(field) or {} for field in names}
    descriptions = {field: inner.get("description") for field, inner in fields.items() if isinstance(inner, dict)}
    texts = [f"{field} ({descriptions[field]})" if descriptions.get(field) else field for field in names]
    text = format_values_question(name, texts, turn)
    form = {"type": "object", "properties": fields, "required": names}
    if "$defs" in schema:
        form["$defs"] = schema["$defs"]
    return Pause((Ask(text, "form", form),), {"asked": names})


class ScriptLoadError(ConfigError):
    """The script's process died, timed out or could not load the script."""


def describe_in_process(child: ToolProcesses, seconds: float = LOAD_TIMEOUT) -> dict[str, Any]:
    """Start the process and return the signature it reports. Blocks: not for the event loop's thread."""
    launch = prepare_child(child.module, child.qualname, child.confinement)
    try:
        return parse_reply(read_signature_line(launch, seconds), seconds)
    finally:
        launch.remove_scratch()


def read_signature_line(launch: ChildLaunch, seconds: float) -> bytes:
    """Start the child, ask for its signature and kill it; returns its line, empty if there was none in time."""
    process = subprocess.Popen(
        launch.command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=launch.folder,
        env=launch.environment,
        start_new_session=True,
    )
    timer = threading.Timer(seconds, kill_process_group, [process])
    timer.start()
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(b"null\n")
            process.stdin.flush()
        return process.stdout.readline(1 << 20)
    finally:
        timer.cancel()
        kill_process_group(process)
        process.communicate()


def kill_process_group(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)


def parse_reply(line: bytes, seconds: float) -> dict[str, Any]:
    if not line:
        raise ScriptLoadError(f"Its process died, or took longer than {seconds:g} s to load.")
    try:
        reply = msgspec.json.decode(line, type=ChildReply)
    except msgspec.DecodeError:
        raise ScriptLoadError(
            "Its parameters cannot be described as a JSON Schema. Use types that JSON supports."
        ) from None
    if reply.error:
        raise ScriptLoadError(f"It cannot be loaded: {reply.error}.")
    return reply.value if isinstance(reply.value, dict) else {}


class PythonPolicy(Struct, frozen=True, kw_only=True):
    """Operator's limits for a plugin's Python code."""

    seconds: float = 60.0
    """Timeout of one call."""
    memory: int = 1 << 30
    """Address space of each process in bytes."""
    environment: dict[str, str] = {}
    """Environment variables, besides the few that Python needs."""
    confirm: bool = False
    """Whether every call needs the user's approval."""
    trusted: bool = False
    """Whether the code may reach whatever the server can: files, other processes, the server itself."""
    readable: tuple[str, ...] = ()
    """Absolute paths that confined code may read besides the plugin's own folder."""


TRUST_LINE = 'lib = "trusted"'
TRUST_FIX = f"If you trust its code as your own, write {TRUST_LINE} into its [[plugins]] table of rightseat.toml."


def make_sandbox(plugin: Plugin, policy: PythonPolicy) -> SandboxPlan | Problem | None:
    """Make the sandbox of the plugin's scripts: None if they are trusted, a problem if this machine has none."""
    if policy.trusted:
        return None
    report = probe_machine()
    if not report.holds:
        what = f"Its Python tools are left out, because this machine cannot confine them: {report.describe()}."
        return Problem(LIB, "", what, TRUST_FIX)
    return make_plan(plugin.folder.resolve(), report.layers, policy.readable)


def make_script_tools(plugin: Plugin, policy: PythonPolicy) -> tuple[tuple[Tool, ...], list[Problem]]:
    """Make a tool per script; returns the tools and the problems of the scripts left out."""
    if not plugin.scripts:
        return (), []
    sandbox = make_sandbox(plugin, policy)
    if isinstance(sandbox, Problem):
        return (), [sandbox]
    tools: dict[str, Tool] = {}
    problems: list[Problem] = []
    load_failed = False
    fingerprint = fingerprint_code(plugin)
    confinement = Confinement(
        folder=str(plugin.folder.resolve()),
        memory=policy.memory,
        seconds=policy.seconds,
        environment=policy.environment,
        sandbox=sandbox,
    )
    for script in plugin.scripts:
        names = script.file.relative_to(plugin.folder).with_suffix("").parts
        module = ".".join(names[:-1] if names[-1] == "__init__" else names)
        child = ToolProcesses(module, script.attribute, confinement)
        try:
            checked = script if script.exact else complete_signature(script, child, load_failed)
            get_validator(checked.arguments)
        except ScriptLoadError as error:
            problems.append(make_problem(script, error.message, "Make it load on its own."))
            load_failed = True
            continue
        except CallerError as error:
            what = f"What it takes is no JSON Schema: {error.message}"
            problems.append(make_problem(script, what, "Correct its `spec`."))
            load_failed = load_failed or not script.exact
            continue
        name = make_tool_name(plugin.id, script.name, tools)
        tools[name] = Tool(
            name=name,
            description=checked.description or f"{script.name} of {plugin.name}",
            parameters=schema_for_model(checked.arguments),
            check=make_partial_check(checked.arguments),
            call=make_call(child, checked),
            confirm=policy.confirm or script.dangerous,
            effect=script.effect,
            untrusted=True,
            timeout=policy.seconds,
            close=child.close,
            fingerprint=fingerprint,
        )
    return tuple(tools.values()), problems


def fingerprint_code(plugin: Plugin) -> str:
    """Return a hash of all Python files of the plugin: a script may import any of them."""
    digest = hashlib.sha256()
    for file in plugin.files:
        if file.suffix == ".py":
            with contextlib.suppress(OSError):
                name = file.relative_to(plugin.folder).as_posix().encode("utf-8", "surrogateescape")
                digest.update(name + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def complete_signature(script: PluginScript, child: ToolProcesses, load_failed: bool) -> PluginScript:
    """Complete the script's arguments from its process. After a load failure the others are not tried."""
    if load_failed:
        raise ScriptLoadError("Another tool of this plugin cannot be loaded, so this one was not tried.")
    signature = describe_in_process(child)
    arguments = signature.get("parameters")
    description = script.description or str(signature.get("description") or "")
    return msgspec.structs.replace(
        script, arguments=arguments if isinstance(arguments, dict) else script.arguments, description=description
    )


def make_problem(script: PluginScript, what: str, fix: str) -> Problem:
    return Problem(f"{script.file.parent.name}/{script.file.name}", script.attribute, what, fix, script.line)


def make_call(child: ToolProcesses, script: PluginScript) -> ToolHandler:
    semaphore = asyncio.Semaphore(MAX_CONCURRENT)

    async def call(args: dict[str, Any], ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
        inputs = flow_inputs(ctx) if script.kind == "class" else {}
        answer = ctx.answers[-1] if ctx.state is not None and ctx.answers else None
        arguments = {**inputs, **args, **(answer if isinstance(answer, dict) else {})}
        if (pause := ask_for_missing(script.name, script.arguments, arguments, ctx.turn)) is not None:
            yield pause
            return
        async with semaphore:
            reply = await child.call(arguments)
        if reply.error:
            yield error_result("tool_failed", reply.error)
            return
        result = Result(reply.value, reply.failed)
        text = result.text
        shortened = cut_middle(text, ctx.budget or DEFAULT_BUDGET)
        yield result if shortened == text else Result(shortened, reply.failed)

    return call


def flow_inputs(ctx: ToolContext) -> dict[str, Any]:
    """Build the inputs that the original passes to each tool of a flow, from the conversation."""
    messages = (*ctx.turn.messages, *ctx.turn_messages)
    questions = [message.text for message in messages if message.role == "user" and message.text.strip()]
    results = [message.text for message in messages if message.role == "tool"]
    previous = {"type": "api", "data": {"output": results[-1], "message": ""}} if results else {}
    transcript = "\n".join(f"{message.role}: {message.text}" for message in messages if message.text)
    return {
        "question": questions[-1] if questions else "",
        "context": transcript[-MAX_CONTEXT_CHARS:],
        "background": transcript[-MAX_CONTEXT_CHARS:],
        "files": [file for message in messages for file in attached_files(message)],
        "previous_data": previous,
    }


def attached_files(message: Message) -> list[dict[str, Any]]:
    """List the message's attachments as name, type and base64 data."""
    files = []
    for part in message.parts:
        if isinstance(part, TextMessagePart):
            continue
        url = part.url if isinstance(part, ImageMessagePart) else part.data or ""
        head, comma, data = url.partition(",")
        media = head.removeprefix("data:").partition(";")[0] if comma else ""
        if not isinstance(part, ImageMessagePart):
            media, data = part.media_type or media, data if comma else url
        if data:
            files.append({"name": part.name or "", "type": media, "data": data})
    return files
