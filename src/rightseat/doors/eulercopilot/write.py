"""Encode events as the `data:` lines of EulerCopilot 0.9.1.

Text is `{"content"}`; a chart is `{"type": "render"}` with an ECharts option as text; the last lines are the record's
id, suggested questions and `[DONE]`. A failure is text too: of any other status the web client only says that the
system is busy. While the store is away nothing is answered: the conversation is in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rightseat.doors.eulercopilot.conversations import end_draft, load_draft
from rightseat.doors.eulercopilot.read import EulerRequest, load_turn
from rightseat.doors.eulercopilot.wire import encode
from rightseat.errors import INTERNAL_ERROR, GuardrailRefused, OutputGuarded, RightseatError
from rightseat.http.endpoint import SSE_HEADERS, Host, Request, format_error_headers, make_full_response
from rightseat.http.refusals import report_refusal
from rightseat.http.reply import EarlyStart, Reply, ResponseStart
from rightseat.http.sse import KEEP_ALIVE_COMMENT, format_event
from rightseat.types.charts import make_echarts_option
from rightseat.types.events import Artifact, CallResult, RunFailed, RunFinished, Suggestions, TextDelta, TextStart
from rightseat.types.sentences import get_sentence
from rightseat.types.streams import closing
from rightseat.types.threads import ThreadEntry
from rightseat.types.turn import Turn

DONE = b"data: [DONE]\n\n"
PARAGRAPH = "\n\n"
FAILURE_FRAME = format_event(encode({"content": f"{PARAGRAPH}{INTERNAL_ERROR.message} ({INTERNAL_ERROR.code})"})) + DONE
GUARDRAIL_CODES = (GuardrailRefused.code, OutputGuarded.code)
MAX_SUGGESTIONS = 3


def make_error_response(error: RightseatError | RunFailed) -> ResponseStart:
    body = {"code": error.status, "message": error.message, "result": {}, "detail": error.message, "error": error.code}
    return make_full_response(error.status, encode(body), *format_error_headers(error))


async def refuse(error: RightseatError) -> Reply:
    yield make_error_response(error)


async def stream_answer(question: EulerRequest, request: Request, host: Host) -> Reply:
    """Stream the answer of a run on the conversation's thread. It goes on when its client leaves."""
    yield (early := EarlyStart(ResponseStart(200, SSE_HEADERS, KEEP_ALIVE_COMMENT, failure=FAILURE_FRAME)))
    try:
        turn = await load_turn(question, request, host)
        draft = await load_draft(host, turn.owner)
        entries = await host.threads.start(turn, host.run)
    except RightseatError as error:
        # Of another status the web client shows nothing.
        request.count(error.status)
        report_refusal(error)
        yield early.start
        yield encode_content(f"{error.message} ({error.code})") + DONE
        return
    writer = EulerEventWriter(question, turn, host)
    async with closing(entries):
        yield early.start
        if draft is not None and draft.id == turn.thread:
            await end_draft(draft, host, turn.owner)
        async for _, entry in entries:
            for piece in writer.write_entry(entry):
                yield piece


def encode_content(text: str) -> bytes:
    return format_event(encode({"content": text}))


class EulerEventWriter:
    def __init__(self, question: EulerRequest, turn: Turn, host: Host) -> None:
        self.question = question
        self.turn = turn
        self.host = host
        self.has_text = False
        self.suggestions: list[str] = []

    def write_text(self, text: str) -> bytes:
        self.has_text = True
        return encode_content(text)

    def write_paragraph(self, text: str) -> bytes:
        return self.write_text((PARAGRAPH if self.has_text else "") + text)

    def write_entry(self, entry: ThreadEntry) -> Iterator[bytes]:
        match entry:
            case TextDelta(text=text) if text:
                yield self.write_text(text)
            case TextStart() if self.has_text:
                yield self.write_text(PARAGRAPH)
            case CallResult(_, content):
                yield format_event(encode({"type": "api", "data": content}))
            case Artifact(kind="chart", content=content):
                if option := make_echarts_option(content):
                    yield format_event(encode({"type": "render", "data": encode(option).decode()}))
            case Suggestions(prompts):
                self.suggestions += prompts
            case RunFinished() | RunFailed():
                yield from self.write_end(entry)
            case _:
                pass

    def write_end(self, end: RunFinished | RunFailed) -> Iterator[bytes]:
        match end:
            case RunFailed(code, message):
                # A guardrail's refusal is an answer, not an error.
                yield self.write_paragraph(message if code in GUARDRAIL_CODES else f"{message} ({code})")
            case RunFinished("length"):
                yield self.write_paragraph(get_sentence("cut_length", self.question.language))
            case RunFinished("content_filter"):
                yield self.write_paragraph(get_sentence("cut_content_filter", self.question.language))
            case _ if not self.has_text:
                yield self.write_text(get_sentence("no_answer", self.question.language))
            case _:
                pass
        # The web client reads `record_id` where it finds `qa_record_id`.
        yield format_event(encode({"qa_record_id": self.turn.run, "record_id": self.turn.run}))
        yield format_event(encode({"search_suggestions": self.list_suggestions()}))
        yield DONE

    def list_suggestions(self) -> list[dict[str, Any]]:
        """List what could be asked next: the run's own suggestions, else questions of the plugins and the assistant."""
        asked = self.question.body.question.strip()
        plugins = {plugin.question: plugin for plugin in self.host.list_plugins() if plugin.question}
        about = self.host.describe(self.turn.assistant or "default")
        usual = (
            *(text for text, plugin in plugins.items() if self.is_chosen(plugin.id)),
            *(about.suggestions if about else ()),
        )
        texts = [text for text in dict.fromkeys(self.suggestions or usual) if text != asked][:MAX_SUGGESTIONS]
        return [{"id": "", "name": plugins[text].name if text in plugins else "", "question": text} for text in texts]

    def is_chosen(self, plugin: str) -> bool:
        return not self.turn.plugins or plugin in self.turn.plugins
