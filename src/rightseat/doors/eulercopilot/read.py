"""Read a question of EulerCopilot's clients: the Turn with the conversation so far, its plugins and files."""

from __future__ import annotations

import base64
import uuid

import msgspec
from msgspec import Struct

from rightseat.doors.eulercopilot.conversations import RUN_PREFIX, RecordedRun, get_checkpoints, load_runs
from rightseat.doors.eulercopilot.wire import EulerQuestion
from rightseat.errors import CallerError, NotConfigured, NotFound, RightseatError
from rightseat.http.endpoint import Host, Request, decode_body
from rightseat.types.language import Language
from rightseat.types.messages import FileMessagePart, ImageMessagePart, Message, MessagePart, TextMessagePart
from rightseat.types.output import RunOutput
from rightseat.types.text import decode_or_none
from rightseat.types.turn import Owner, Turn, TurnClient

ALL_PLUGINS = "auto"
FILE_SECONDS = 86400.0
CHART_KINDS = ("bar", "column", "line", "area", "pie", "donut", "scatter")
OLLAMA_ADVICE = "Ollama's API is not served here: use /v1/chat/completions."


class UploadedFile(Struct):
    """A file as a client has sent it, until a question names it."""

    name: str
    media_type: str
    data: bytes


class EulerRequest(Struct, frozen=True, kw_only=True):
    """A question, before the conversation is loaded."""

    body: EulerQuestion
    assistant: str | None
    plugins: tuple[str, ...]
    language: Language


def read_question(request: Request, host: Host) -> EulerRequest:
    """Parse the body. One of Ollama's clients, which have the same path, is told where to go."""
    match decode_or_none(request.body):
        case {"messages": _, **rest} if "question" not in rest:
            raise NotFound(OLLAMA_ADVICE)
        case _:
            pass
    body = decode_body(request.body, EulerQuestion)
    flow = body.user_selected_flow or body.flow_id or None
    assistant = resolve_flow(flow, host) if flow else host.resolve_responder(None)
    language: Language = "en" if body.language.lower().startswith("en") else "zh"
    plugins = resolve_plugins(body.user_selected_plugins, host)
    return EulerRequest(body=body, assistant=assistant, plugins=plugins, language=language)


def resolve_flow(flow: str, host: Host) -> str | None:
    try:
        return host.resolve_responder(flow)
    except RightseatError as error:
        raise CallerError(error.message, param="user_selected_flow") from None


def resolve_plugins(names: list[str], host: Host) -> tuple[str, ...]:
    """Return the ids of plugins. The web client sends the names that it shows, or "auto" for all."""
    if ALL_PLUGINS in names:
        return ()
    ids = {plugin.name: plugin.id for plugin in host.list_plugins()}
    return tuple(ids.get(name, name) for name in names)


async def load_turn(question: EulerRequest, request: Request, host: Host) -> Turn:
    """Make the Turn: the conversation so far from the store, then the question with its files."""
    body, owner = question.body, request.owner
    runs = await load_runs(host, owner, body.conversation_id)
    history, repeated = split_history(runs, body.record_id)
    parts = await load_files(body.files or [], owner, host)
    run = f"{RUN_PREFIX}{uuid.uuid4().hex}"
    id = find_question_id(repeated) or f"question-{run}"
    asked = Message("user", (*((TextMessagePart(body.question),) if body.question else ()), *parts), id=id)
    turn = Turn(
        messages=(*history, asked) if asked.parts else history,
        assistant=question.assistant,
        plugins=question.plugins,
        thread=body.conversation_id,
        # Questions are asked as text; the next one in the conversation answers them.
        conversation=body.conversation_id,
        run=run,
        owner=owner,
        client=TurnClient(
            headers=request.forwarded_headers,
            base_url=request.base,
            shows_interrupts=False,
            shows_artifacts=False,
            chart_kinds=CHART_KINDS,
        ),
    )
    if not asked.parts and not host.fills_empty_question(turn):
        raise CallerError("question: there is nothing to answer. Send a question.", param="question")
    return turn


def split_history(runs: list[RecordedRun], record: str | None) -> tuple[tuple[Message, ...], RecordedRun | None]:
    """Return the messages before the question, and the run that the answer replaces. A record that is not there, such
    as one of another conversation, replaces nothing."""
    place = next((place for place, run in enumerate(runs) if record and run.run == record), len(runs))
    earlier = [entry for run in runs[:place] for entry in (run.user_input, *run.entries)]
    return RunOutput(earlier).messages, runs[place] if place < len(runs) else None


def find_question_id(run: RecordedRun | None) -> str | None:
    """Return the id of a run's question: the thread hides a question's answers when it is posted again."""
    messages = run.user_input.messages if run else ()
    return next((message.id for message in reversed(messages) if message.role == "user"), None)


async def save_file(file: UploadedFile, owner: Owner, host: Host) -> str:
    """Keep an uploaded file for a day and return its id."""
    store = get_checkpoints(host)
    if store is None:
        raise NotConfigured("This server's store keeps no files. Ask its operator for another store.")
    id = uuid.uuid4().hex
    await store.save_checkpoint(owner, f"eulercopilot/file/{id}", msgspec.json.encode(file), FILE_SECONDS)
    return id


async def load_files(ids: list[str], owner: Owner, host: Host) -> list[MessagePart]:
    store = get_checkpoints(host)
    parts: list[MessagePart] = []
    for id in ids:
        body = await store.get_checkpoint(owner, f"eulercopilot/file/{id}") if store else None
        if body is None:
            raise NotFound(
                f"files: there is no file {id[:64]!r}; files are kept for a day. Send it again.", param="files"
            )
        parts.append(make_file_part(msgspec.json.decode(body, type=UploadedFile)))
    return parts


def make_file_part(file: UploadedFile) -> MessagePart:
    data = base64.b64encode(file.data).decode()
    if file.media_type.startswith("image/"):
        return ImageMessagePart(f"data:{file.media_type};base64,{data}", name=file.name)
    return FileMessagePart(file.name, file.media_type, data)
