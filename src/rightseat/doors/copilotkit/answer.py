"""Answer GraphQL requests: documents of CopilotKit's clients by a ResponsePlan, any other by graphql-core."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from rightseat.doors.copilotkit.failures import listed, unfit
from rightseat.doors.copilotkit.framing import PLAIN, Accepted, Framing
from rightseat.doors.copilotkit.read import Asked, read
from rightseat.doors.copilotkit.story import Story
from rightseat.doors.copilotkit.wire import Posted
from rightseat.errors import CallerError, MethodNotAllowed
from rightseat.http.endpoint import Host, Request, whole
from rightseat.http.reply import Reply
from rightseat.types.events import TextDelta
from rightseat.types.streams import closing

if TYPE_CHECKING:
    from rightseat.doors.copilotkit.document import Prepared
    from rightseat.doors.copilotkit.plan import Plan

encode = msgspec.json.Encoder().encode
CLIENT = "x-copilotkit-runtime-client-gql-version"
UTF8 = b"; charset=utf-8"


def answer(posted: Posted, request: Request, host: Host) -> Reply:
    # Imported here: graphql-core is large, and only clients up to 1.10 need it.
    from rightseat.doors.copilotkit.document import Invalid, prepare

    accepted = Accepted(request.headers.get("accept"))
    refused = refused_status(request, accepted)
    kind = (accepted.plain or PLAIN).encode() + UTF8
    if not isinstance(posted.query, str) or not posted.query.strip():
        request.count(400)
        return errors([{"message": "Must provide query string."}], refused, kind)
    try:
        name = posted.operation_name or None
        prepared = prepare(posted.query, name, request.introspection, request.graphql)
    except Invalid as error:
        request.count(400)
        return errors(error.errors, refused, kind)
    if not prepared.query and request.method != "POST":
        raise MethodNotAllowed("A mutation is taken by POST only.", allow="POST")
    form = accepted.streamed
    incremental = prepared.streaming.on(posted.variables)
    if incremental and form is None:
        problem = "This document streams its answer: accept multipart/mixed or text/event-stream."
        return errors([{"message": problem}], 406, kind)
    if not incremental and accepted.plain is not None:
        form = None
    elif form is None:
        return errors([{"message": "Accept application/json."}], 406, kind)
    return begun(prepared, posted, request, host, Framing(form) if form else None, kind, refused)


def begun(
    prepared: Prepared,
    posted: Posted,
    request: Request,
    host: Host,
    framing: Framing | None,
    kind: bytes,
    refused: int,
) -> Reply:
    from rightseat.doors.copilotkit.execute import Execution, Room, executed
    from rightseat.doors.copilotkit.variables import loose, planned_input

    try:
        if prepared.plan is not None and framing is not None:
            data, properties = planned_input(prepared.plan, posted.variables)
            asked = read(data, properties, request, host, asks=prepared.asks)
            return written(prepared.plan, asked, host, framing)
        execution = Execution(prepared, Room(request, host, asks=prepared.asks), framing)
        return executed(execution, loose(posted.variables), kind, refused)
    except CallerError as error:
        request.count(error.status)
        return errors([listed(error, ["generateCopilotResponse"])], 200, kind)


def refused_status(request: Request, accepted: Accepted) -> int:
    """Return the status for an invalid document or variables. Clients show a 400 only as "not found"."""
    return 200 if CLIENT in request.headers or accepted.plain == PLAIN else 400


def errors(found: list[dict[str, Any]], status: int, kind: bytes) -> Reply:
    body = {"errors": found, "data": None} if status == 200 else unfit(found)
    return whole(status, encode(body), kind=kind)


async def written(plan: Plan, asked: Asked, host: Host, framing: Framing) -> Reply:
    from rightseat.doors.copilotkit.frames import Frames

    frames = Frames(plan, asked, sized=framing.multipart)
    story = Story(asked, frames)
    frame, tell, entries = framing.frame, story.write, frames.entries
    spoken, chunks = "", None
    yield framing.head
    yield framing.begin + frame(frames.first())
    async with closing(host.run(asked.turn)) as events:
        async for event in events:
            if type(event) is TextDelta:
                # Hot path: `add_event` and `take_frame` in one step.
                if event.id != spoken:
                    spoken = event.id
                    chunks = frames.chunks.get(story.texts[spoken])
                if chunks is not None and event.text:
                    yield chunks.frame(encode(event.text))
                continue
            tell(event)
            if frames.over:
                yield frame(frames.take()) + framing.end
            elif entries:
                yield frame(frames.take())
