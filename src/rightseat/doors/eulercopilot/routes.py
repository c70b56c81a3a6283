"""EulerCopilot's routes: chat, conversations and records, plugins, files, votes, and the little that a client must
know of accounts. Keys are this server's own: a client without one is let in where the server needs none."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from rightseat.doors.eulercopilot import conversations
from rightseat.doors.eulercopilot.read import UploadedFile, read_question, save_file
from rightseat.doors.eulercopilot.wire import (
    EulerComment,
    EulerComplaint,
    EulerDeletion,
    EulerQuestion,
    EulerSession,
    EulerTitle,
    encode,
    format_result,
)
from rightseat.doors.eulercopilot.write import make_error_response, refuse, stream_answer
from rightseat.errors import CallerError, NotFound, RightseatError
from rightseat.http.endpoint import (
    Door,
    Host,
    Probe,
    Request,
    Route,
    decode_body,
    describe_error,
    make_full_response,
    make_reply,
)
from rightseat.http.multipart import MultipartField, parse_form
from rightseat.http.refusals import report_refusal
from rightseat.http.reply import Reply
from rightseat.types.text import decode_or_none
from rightseat.types.turn import Feedback

MAX_FILE_FIELDS = 20
ORGANIZATION = "rightseat"
NO_KEYS = NotFound("Keys are made by the operator of this server: `rightseat keys`.")


async def reply_result(result: Awaitable[Any], message: str = "success") -> Reply:
    """Answer with a result in the clients' frame, or with the error that was raised for it."""
    try:
        body = format_result(await result, message)
    except RightseatError as error:
        report_refusal(error)
        yield make_error_response(error)
        return
    yield make_full_response(200, body)


def ask_question(request: Request, host: Host) -> Reply:
    return stream_answer(read_question(request, host), request, host)


def stop_answers(request: Request, host: Host) -> Reply:
    async def stop() -> dict[str, Any]:
        await conversations.stop_runs(host, request.owner)
        return {}

    return reply_result(stop(), "stop generation success")


def list_plugins(request: Request, host: Host) -> Reply:
    plugins = [
        {"id": plugin.id, "plugin_name": plugin.name, "plugin_description": plugin.description, "plugin_auth": None}
        for plugin in host.list_plugins()
    ]
    return make_reply(200, format_result(plugins))


def list_conversations(request: Request, host: Host) -> Reply:
    return reply_result(conversations.list_conversations(host, request.owner))


def create_conversation(request: Request, host: Host) -> Reply:
    async def create() -> dict[str, str]:
        return {"conversation_id": await conversations.create_conversation(host, request.owner)}

    return reply_result(create())


def rename_conversation(request: Request, host: Host) -> Reply:
    title, id = decode_body(request.body, EulerTitle).title, require_conversation(request)

    async def rename() -> dict[str, Any]:
        return {"conversation": await conversations.rename_conversation(host, request.owner, id, title)}

    return reply_result(rename())


def delete_conversations(request: Request, host: Host) -> Reply:
    ids = decode_body(request.body, EulerDeletion).conversation_list

    async def delete() -> dict[str, list[str]]:
        return {"conversation_id_list": await conversations.delete_conversations(host, request.owner, ids)}

    return reply_result(delete())


def list_records(request: Request, host: Host) -> Reply:
    id = require_conversation(request)
    return reply_records(request, host, id)


async def reply_records(request: Request, host: Host, id: str) -> Reply:
    """Answer with the records. The clients know a missing conversation by the code in the frame."""
    try:
        records = await conversations.list_records(host, request.owner, id)
    except RightseatError as error:
        report_refusal(error)
        yield make_error_response(error)
        return
    body = format_result({}, "session_id not found", 204) if records is None else format_result(records)
    yield make_full_response(200, body)


def require_conversation(request: Request) -> str:
    if not (id := request.query.get("conversation_id", "")):
        raise CallerError("conversation_id: this parameter is missing. Send it in the URL.", param="conversation_id")
    return id


def upload_files(request: Request, host: Host) -> Reply:
    parts = parse_form(request.body, request.headers.get("content-type", ""))
    files = [part for part in parts if part.filename]
    if not files:
        raise CallerError("files: the form has no file. Send it in a field `files`.", param="files")
    if len(files) > MAX_FILE_FIELDS:
        raise CallerError(f"files: send at most {MAX_FILE_FIELDS} files at once.", param="files")
    return reply_files(files, request, host)


async def reply_files(files: list[MultipartField], request: Request, host: Host) -> Reply:
    try:
        uploads = [
            UploadedFile(file.filename or "", file.media_type or "application/octet-stream", file.data)
            for file in files
        ]
        ids = [await save_file(upload, request.owner, host) for upload in uploads]
    except RightseatError as error:
        report_refusal(error)
        yield make_error_response(error)
        return
    yield make_full_response(200, encode({"files": ids}))


def vote(request: Request, host: Host) -> Reply:
    body = decode_body(request.body, EulerComment)
    reasons = body.dislike_reason if isinstance(body.dislike_reason, list) else [body.dislike_reason]
    comment = "\n".join(filter(None, (body.reason_description, body.reason_link)))
    tags = tuple(reason for reason in reasons if reason)
    return report_vote(bool(body.is_like), tags, comment, body.record_id, request, host)


def complain(request: Request, host: Host) -> Reply:
    body = decode_body(request.body, EulerComplaint)
    return report_vote(
        False, (body.reason,) if body.reason else (), body.reason_description, body.record_id, request, host
    )


def report_vote(is_like: bool, tags: tuple[str, ...], comment: str, record: str, request: Request, host: Host) -> Reply:
    """Hand a vote to the operator's hook. The clients name the record, not the conversation."""

    async def report() -> dict[str, Any]:
        await host.report_feedback(
            Feedback(
                vote="thumbs_up" if is_like else "thumbs_down",
                tags=tags,
                comment=comment,
                conversation=record,
                owner=request.owner.name,
            )
        )
        return {}

    return reply_result(report())


def get_user(request: Request, host: Host) -> Reply:
    return make_reply(200, format_result(format_user(request)))


def format_user(request: Request) -> dict[str, Any]:
    name = request.owner.name
    return {"user_sub": name, "username": name, "organization": ORGANIZATION, "revision_number": "0"}


def log_in(request: Request, host: Host) -> Reply:
    """Answer a login, or a new token: who comes this far is let in by this server's own keys."""
    token = secrets.token_hex(16)
    cookie = f"_csrf_tk={token}; Path=/; SameSite=Strict".encode()
    return make_reply(200, format_result({"csrf_token": token}), (b"set-cookie", cookie))


def log_out(request: Request, host: Host) -> Reply:
    return make_reply(200, format_result({}))


def get_login_page(request: Request, host: Host) -> Reply:
    return make_reply(200, format_result(f"{request.base}/"))


def refuse_keys(request: Request, host: Host) -> Reply:
    raise NO_KEYS


def list_nothing(request: Request, host: Host) -> Reply:
    """Answer for knowledge bases, of which this server has none of that kind: plugins and tools search."""
    return make_reply(200, format_result([]))


def make_session(request: Request, host: Host) -> Reply:
    """Answer with a session id; nothing here depends on it."""
    id = decode_body(request.body or b"{}", EulerSession).session_id or secrets.token_hex(16)
    return make_reply(200, format_result({"session_id": id}, "verify session id success"))


def get_health(request: Request, host: Host) -> Reply:
    return make_reply(200, b"ok", content_type=b"text/plain; charset=utf-8")


def check_plugins(status: int, headers: Mapping[str, str], body: bytes) -> str | None:
    match status, decode_or_none(body):
        case 200, {"code": 200, "result": list()}:
            return None
        case _:
            return describe_error(status, body, "EulerCopilot", "message")


Handler = Callable[[Request, Host], Reply]


def make_routes(path: str, handler: Handler, body_type: type[msgspec.Struct] | None, summary: str) -> list[Route]:
    """Make the route of the web client and that of the desktop and shell clients."""
    method = "GET" if handler is list_plugins else "POST"
    paths = (f"/api/{path}", f"/api/client/{path}")
    return [Route(method, each, handler, body_type=body_type, summary=summary) for each in paths]


door = Door(
    name="eulercopilot",
    routes=(
        *make_routes("chat", ask_question, EulerQuestion, "Ask a question"),
        *make_routes("stop", stop_answers, None, "Stop the answers that run"),
        *make_routes("plugin", list_plugins, None, "The plugins"),
        *make_routes("conversation", create_conversation, None, "Begin a conversation"),
        Route("POST", "/api/client/session", make_session, summary="A session id"),
        Route("GET", "/api/conversation", list_conversations, summary="The conversations"),
        Route("PUT", "/api/conversation", rename_conversation, body_type=EulerTitle, summary="Rename a conversation"),
        Route("POST", "/api/conversation/delete", delete_conversations, body_type=EulerDeletion, summary="Delete some"),
        Route("GET", "/api/record", list_records, summary="Questions and answers of a conversation"),
        Route("POST", "/api/file", upload_files, takes_form=True, summary="Files for a question, as a form"),
        Route("POST", "/api/comment", vote, body_type=EulerComment, summary="A vote on an answer"),
        Route("POST", "/api/blacklist/complaint", complain, body_type=EulerComplaint, summary="A complaint"),
        Route("GET", "/api/auth/user", get_user, summary="Who asks"),
        Route("GET", "/api/auth/login", log_in, summary="A token for a form"),
        Route("GET", "/api/auth/refresh_token", log_in, summary="A new token"),
        Route("GET", "/api/auth/logout", log_out, summary="Nothing to leave"),
        Route("GET", "/api/auth/redirect", get_login_page, summary="Where to log in"),
        Route("POST", "/api/auth/update_revision_number", get_user, summary="The user, who has agreed"),
        Route("GET", "/api/auth/key", refuse_keys, summary="Keys are made by the operator"),
        Route("POST", "/api/auth/key", refuse_keys, summary="Keys are made by the operator"),
        Route("GET", "/api/knowledge/list", list_nothing, summary="No knowledge bases of that kind"),
        Route("GET", "/health_check", get_health, public=True, summary="Whether the server answers"),
    ),
    format_error=refuse,
    # Not on the first screen: few who begin have its clients.
    hint=lambda base: "",
    probes=(Probe("plugins", "GET", "/api/plugin", check_plugins),),
)
