"""ToolCallBatch: checks and runs the tool calls of one answer concurrently; results come in call order.

A batch has a CallState for each call: its result, or that it waits for a client or a person. The same code
starts a batch and resumes one from a Continuation.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import msgspec
from msgspec.structs import replace

from rightseat.config.secret import mask
from rightseat.engine.answer_parser import AnswerDeclined, AnswerInvalid, AnswerUnclear, resolve_answer
from rightseat.engine.artifacts import present_event
from rightseat.engine.late_results import save_later
from rightseat.engine.repeats import EffectRule, find_origin, record_effect
from rightseat.engine.result_text import ResultText, make_result_text
from rightseat.errors import CallerError, RightseatError, StoreFailed
from rightseat.types.events import CallArgs, CallEnd, CallResult, CallStart, Custom, Event, Interrupt
from rightseat.types.fencing import begin_effect
from rightseat.types.language import Language, detect_language
from rightseat.types.messages import Message, ToolCall, text_message
from rightseat.types.model import Model
from rightseat.types.schema import get_validator
from rightseat.types.sentences import get_sentence
from rightseat.types.stores import CONTINUATION_SECONDS, CallState, ContinuationClaim, IdGenerator, OpenQuestion, Store
from rightseat.types.streams import closing, merge, with_timeout
from rightseat.types.text import escape_invisible
from rightseat.types.tools import (
    RERUN_ACTION,
    RERUN_RETRY,
    RERUN_SKIP,
    UNANSWERED,
    Ask,
    Pause,
    Result,
    Tool,
    ToolContext,
    error_result,
    is_approved,
    make_approval,
)
from rightseat.types.turn import ConfirmAfterUntrusted, InterruptAnswer, Turn

log = logging.getLogger(__name__)
MAX_REPEATS = 2
NOTHING_ASKED = "The person has asked for nothing now. Do not call this; answer in words."
NO_EVENT = (
    "{name} yielded a {kind}, which is no event: yield Result(value) to give the model a result, or Artifact(…) to "
    "show the person something."
)
MAY_HAVE_RUN = error_result(
    "may_have_run",
    "This call was interrupted while it ran: it may have had its effect. Do not repeat it without asking the user.",
).text
ASKED_ABOUT = error_result(
    "may_have_run",
    "This call was interrupted while it ran: it may have had its effect. The user was asked whether to run it again "
    "and has not answered. Do not repeat it without asking the user.",
).text
"""Result of a call that may have run, while its question is open. It may run after a yes, one with MAY_HAVE_RUN not."""
LEFT_OUT = error_result(
    "may_have_run",
    "This call was interrupted while it ran: it may have had its effect. The user was asked and does not want it to "
    "run again.",
)
# Effects of calls that need approval once untrusted content was read.
CONFIRMED_EFFECTS: dict[ConfirmAfterUntrusted, tuple[str, ...]] = {
    "off": (),
    "dangerous": ("dangerous",),
    "writes": ("dangerous", "writes"),
    "all": ("dangerous", "writes", "reads"),
}


def make_denial(answer: InterruptAnswer, language: Language) -> Result:
    """Return the result after a no. Words in Chinese tell the language, also where a client sends them as a value."""
    words = answer.text or answer.payload
    is_chinese = isinstance(words, str) and detect_language(words) == "zh"
    return error_result("denied", get_sentence("call_denied", "zh" if is_chinese else language))


@dataclass(slots=True)
class ToolCallBatch:
    message: Message
    tools: Mapping[str, Tool]
    turn: Turn
    ids: IdGenerator
    store: Store
    """Where files of tools, and the Continuation of a batch that waits, are kept."""
    timeout: float
    turn_messages: tuple[Message, ...] = ()
    budget: int | None = None
    effect_rule: EffectRule = "run"
    """What happens to calls with an effect."""
    states: dict[str, CallState] = field(default_factory=dict)
    early_results: dict[str, Result] = field(default_factory=dict)
    """Results known without running the tool: invalid arguments, a denial."""
    keeps_results: bool = False
    """Whether each call is noted in the store before it has an effect, and its result as soon as it ends: after
    a crash the model learns which calls have run, and which may have."""
    unsaved_results: dict[str, str] = field(default_factory=dict)
    """Results that the store failed to keep."""
    has_unrecorded_effect: bool = False
    """Whether an approved effect is among them."""
    claim: ContinuationClaim | None = None
    """Claim of the continuation that the batch resumes."""
    before_run: Callable[[ToolCallBatch, Sequence[ToolCall]], Awaitable[None]] | None = None
    """Called with the calls that run, before the first of them begins."""

    # Start: check each call; one that cannot run gets its result at once.

    def begin(self, streamed: Container[str] = (), unchecked: Mapping[str, bool] = MappingProxyType({})) -> list[Event]:
        """Check every call and return its events; the message's arguments become valid JSON objects. The events of
        `streamed` calls were sent already, except the ends of `unchecked` ones: a call that proves invalid gets none.
        """
        events: list[Event] = []
        calls = []
        for call in self.message.calls:
            checked, problem = self.check_call(call)
            calls.append(checked)
            client = problem is None and self.tools[call.name].runs_on_client
            self.states[call.id] = CallState(client=client)
            if problem is None and self.effect_rule == "refuse" and self.has_effect(call):
                problem = error_result("nothing_asked", NOTHING_ASKED)
            if problem is not None:
                self.early_results[call.id] = problem
            if call.id not in streamed:
                start = CallStart(call.id, call.name, self.message.id or "", client)
                events += [start, CallArgs(call.id, checked.arguments), CallEnd(call.id)]
            elif call.id in unchecked:
                events += [] if unchecked[call.id] else [CallArgs(call.id, checked.arguments)]
                events += [CallEnd(call.id)] if problem is None else []
        self.message = replace(self.message, calls=tuple(calls))
        return events

    def check_call(self, call: ToolCall) -> tuple[ToolCall, Result | None]:
        """Return the call with a JSON object as arguments, and the error result if it is invalid."""
        try:
            value = msgspec.json.decode(call.arguments.strip() or "{}")
        except (msgspec.DecodeError, RecursionError) as error:
            text = f"The arguments are not valid JSON ({str(error)[:100]}): {call.arguments[:200]}"
            return replace(call, arguments="{}"), error_result("invalid_json", text)
        value = {} if value is None else value
        tool = self.tools.get(call.name)
        if tool is None:
            text = f"There is no tool {call.name[:64]!r}. Tools: {', '.join(self.tools) or 'none'}"
            return replace(call, arguments="{}"), error_result("unknown_tool", text)
        problem = None
        if tool.convert is not None and isinstance(value, dict):
            try:
                value = tool.convert(value)
            except CallerError as error:
                problem = error.message
        problem = problem or (tool.check or get_validator(tool.parameters).find_problem)(value)
        if problem is None and not isinstance(value, dict):
            problem = "the arguments must be a JSON object"
        if problem is not None:
            text = call.arguments if isinstance(value, dict) else "{}"
            return replace(call, arguments=text), error_result("invalid_arguments", f"{call.name}: {problem}")
        return replace(call, arguments=msgspec.json.encode(value).decode()), None

    # Resume: results from the client and answers from the person.

    def accept_client_results(self, results: Mapping[str, str]) -> None:
        """Store results of client calls. If only some arrive, the others get an error result, so that the
        model does not wait forever. If none arrives, all stay open."""
        if not any(call_id in results for call_id in self.waiting_client_calls):
            return
        missing = error_result("no_result", "The client sent no result for this call.")
        for call_id in self.waiting_client_calls:
            text = results.get(call_id, missing.text)
            self.states[call_id] = replace(self.states[call_id], result=text, failed=call_id not in results)

    async def accept_answers(self, answers: Mapping[str, InterruptAnswer], model: Model) -> None:
        """Apply answers to open questions. An invalid answer is asked for again, at most twice."""
        for call_id, state in self.states.items():
            for question in state.open:
                answer = answers.get(question.interrupt.id)
                if answer is None:
                    continue
                state, verdict = await self.apply_answer(state, question, answer, model)
                if verdict is not None:
                    self.early_results[call_id] = verdict
            self.states[call_id] = state

    async def apply_answer(
        self, state: CallState, question: OpenQuestion, answer: InterruptAnswer, model: Model
    ) -> tuple[CallState, Result | None]:
        """Return the call's new state, and its result if the answer ends the call without running it."""
        language = self.turn.get_language()
        declined = replace(state, open=()), error_result("cancelled", get_sentence("call_cancelled", language))
        if answer.status == "cancelled":
            return declined
        others = tuple(other for other in state.open if other is not question)
        try:
            value = await resolve_answer(question.ask, answer, model, language, question.given)
        except AnswerDeclined:
            return declined
        except AnswerInvalid as invalid:
            # A new valid field is progress and does not count as a repeat, nor does other text while an approval waits.
            is_repeat = invalid.accepted_fields == question.given and not isinstance(invalid, AnswerUnclear)
            again = question.again + is_repeat
            if again > MAX_REPEATS:
                text = get_sentence("call_unanswered", language, problem=invalid)
                return replace(state, open=()), error_result("no_answer", text)
            text = get_sentence("ask_again", language, question=question.ask.message, problem=invalid)
            interrupt = self.make_interrupt(question.ask, question.interrupt.call, text)
            if isinstance(invalid, AnswerUnclear):
                # The same question: an answer to the one that is still shown counts.
                interrupt = replace(interrupt, id=question.interrupt.id)
            repeated = replace(question, interrupt=interrupt, again=again, given=invalid.accepted_fields)
            return replace(state, open=(*others, repeated)), None
        if state.may_have_run:
            return self.apply_rerun_answer(state, value)
        if state.paused:
            return replace(state, open=others, fresh={**state.fresh, question.place: value}), None
        if is_approved(value):
            return replace(state, open=others, approved=True), None
        return replace(state, open=()), make_denial(answer, language)

    def apply_rerun_answer(self, state: CallState, value: Any) -> tuple[CallState, Result | None]:
        """Let a call that may have run run again, or leave it out."""
        if isinstance(value, dict) and value.get(RERUN_ACTION) == RERUN_RETRY:
            return replace(state, open=(), approved=True, may_have_run=False), None
        return replace(state, open=(), may_have_run=False), LEFT_OUT

    async def accept_stored_results(self) -> None:
        """Take what is stored of calls that began in a worker that has died: they do not run again."""
        if not self.keeps_results:
            return
        ready = (id for id, state in self.states.items() if state.result is None and not (state.client or state.open))
        stored = await self.store.get_results(self.turn.owner, [id for id in ready if id not in self.early_results])
        for call_id, text in stored.items():
            if text not in (UNANSWERED, ASKED_ABOUT):
                self.early_results[call_id] = Result(text, failed=text == MAY_HAVE_RUN)

    def make_interrupt(self, ask: Ask, call_id: str | None, message: str | None = None) -> Interrupt:
        until = time.time() + CONTINUATION_SECONDS
        return Interrupt(self.ids.new_interrupt_id(), ask.kind, message or ask.message, ask.schema, call_id, until)

    # Run.

    async def run(self) -> AsyncIterator[Event]:
        """Run all runnable calls concurrently; results come in call order. At the end a resumed continuation is
        settled, unless calls wait: then the next continuation takes its place."""
        waits = False
        try:
            async with closing(self.run_calls()) as events:
                async for event in events:
                    yield event
            waits = bool(self.waiting_client_calls or self.open_interrupts)
        finally:
            if self.claim is not None and not waits:
                await self.claim.settle()

    async def run_calls(self) -> AsyncIterator[Event]:
        calls = [call for call in self.message.calls if self.is_runnable(call)]
        if self.before_run is not None:
            await self.before_run(self, calls)
        streams = [self.run_call(call) for call in calls]
        done: dict[int, CallResult] = {}
        next_number = 0
        async with closing(merge(*streams)) as items:
            async for number, item in items:
                if isinstance(item, Result):
                    id = calls[number].id
                    is_approved_effect = not item.failed and self.is_approved_effect(calls[number])
                    self.states[id] = CallState(result=item.text, failed=item.failed)
                    done[number] = CallResult(id, item.text, item.failed)
                    await self.save_result(id, item.text, is_approved_effect)
                elif isinstance(item, Pause):
                    self.record_pause(calls[number], item)
                    if self.has_effect(calls[number]):
                        await self.save_result(calls[number].id, UNANSWERED)
                else:
                    yield item
                while next_number in done or (next_number < len(calls) and self.states[calls[next_number].id].open):
                    if next_number in done:
                        yield done[next_number]
                    next_number += 1

    async def save_result(self, call_id: str, text: str, is_approved_effect: bool = False) -> None:
        if not self.keeps_results:
            return
        try:
            await self.store.save_results(self.turn.owner, {call_id: text})
            if is_approved_effect:
                await record_effect(self.store, self.turn.owner, await find_origin(self.turn))
        except StoreFailed:
            # An exception here would cancel calls that still run.
            self.unsaved_results[call_id] = text
            self.has_unrecorded_effect |= is_approved_effect

    async def save_unsaved_results(self) -> None:
        """Save what the store failed to keep: now, where calls wait; else when it works again, and the answer goes on.
        The calls have run: a failure would have the client send the request again."""
        failure = None
        if any(text == UNANSWERED for text in self.unsaved_results.values()):
            try:
                await self.retry_save()
            except StoreFailed as error:
                failure = error
                self.unsaved_results = {id: text for id, text in self.unsaved_results.items() if text != UNANSWERED}
        if self.unsaved_results:
            save_later(self.retry_save)
        if failure is not None:
            raise failure

    async def retry_save(self) -> None:
        await self.store.save_results(self.turn.owner, self.unsaved_results)
        if self.has_unrecorded_effect:
            await record_effect(self.store, self.turn.owner, await find_origin(self.turn))
        self.unsaved_results, self.has_unrecorded_effect = {}, False

    def is_runnable(self, call: ToolCall) -> bool:
        """Whether the call can run now. One that needs approval gets an open question instead."""
        state = self.states[call.id]
        if call.id in self.early_results:
            return True
        if state.result is not None or state.client or state.open:
            return False
        tool = self.tools[call.name]
        needs_approval = tool.confirm or self.needs_confirmation(tool) or self.asks_again(call)
        if state.approved or state.paused or not needs_approval:
            return True
        text = get_sentence("allow_call", self.turn.get_language(), name=call.name, arguments=call.arguments)
        ask = make_approval(text)
        self.states[call.id] = replace(state, open=(OpenQuestion(self.make_interrupt(ask, call.id), ask),))
        return False

    def has_effect(self, call: ToolCall) -> bool:
        tool = self.tools[call.name]
        return not tool.runs_on_client and tool.effect != "reads"

    def asks_again(self, call: ToolCall) -> bool:
        """Whether the call needs approval because a call before it has had its effect in this conversation."""
        return self.effect_rule == "ask" and self.has_effect(call) and not self.tools[call.name].asks_approval

    def is_approved_effect(self, call: ToolCall) -> bool:
        """Whether a person has approved the call, which has an effect."""
        tool = self.tools.get(call.name)
        if tool is None or not self.has_effect(call):
            return False
        return self.states[call.id].approved or tool.asks_approval

    def needs_confirmation(self, tool: Tool) -> bool:
        """Whether the call needs approval because untrusted content may have caused it."""
        effects = CONFIRMED_EFFECTS[self.turn.confirm_after_untrusted]
        return tool.effect in effects and not tool.asks_approval and self.has_untrusted_content

    @property
    def has_untrusted_content(self) -> bool:
        if self.turn.has_untrusted_input:
            return True
        messages = (*self.turn.messages, *self.turn_messages)
        names = {call.id: call.name for message in messages for call in message.calls}
        results = (names.get(m.call_id or "", "") for m in messages if m.role == "tool")
        tools = map(self.tools.get, results)
        return any(tool is None or tool.runs_on_client or tool.untrusted for tool in tools)

    async def run_call(self, call: ToolCall) -> AsyncIterator[Event | Result | Pause]:
        """Run one call. Whatever the tool does, one Result or one Pause comes last."""
        if call.id in self.early_results:
            yield self.early_results.pop(call.id)
            return
        tool = self.tools.get(call.name)
        limit = (tool and tool.timeout) or self.timeout
        try:
            async with closing(self.invoke(call, tool, limit)) as items:
                async for item in items:
                    yield item
        except TimeoutError:
            yield error_result("timeout", f"{call.name} took longer than {limit:g} s and was stopped.")
        except RightseatError as error:
            yield error_result(error.code, error.message)
        except SystemExit:
            yield error_result("tool_failed", "The tool tried to end the process.")
        except asyncio.CancelledError:
            # Cancellation of our task propagates; one that the tool raised itself is a failure.
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            yield error_result("tool_failed", "The tool was cancelled from inside.")
        except Exception as error:
            log.warning("tool %s failed", call.name, exc_info=error)
            yield error_result("tool_failed", mask(f"{type(error).__name__}: {error}")[:500])

    async def invoke(self, call: ToolCall, tool: Tool | None, limit: float) -> AsyncIterator[Event | Result | Pause]:
        if tool is None or tool.call is None:
            yield error_result("unknown_tool", f"There is no tool {call.name} any more.")
            return
        if self.keeps_results and self.has_effect(call):
            await begin_effect(self.store, lambda: self.note_begun(call), self.claim)
        state = self.states[call.id]
        # A sub-run does not see this conversation, so the turn tells it.
        mark_untrusted = (
            self.turn.confirm_after_untrusted != "off"
            and not self.turn.has_untrusted_input
            and self.has_untrusted_content
        )
        turn = replace(self.turn, has_untrusted_input=True) if mark_untrusted else self.turn
        context = ToolContext(turn, call.id, state.state, state.all_answers, self.turn_messages, self.budget)
        last: Result | Pause = Result()
        notes: list[str] = []
        async with closing(with_timeout(tool.call(msgspec.json.decode(call.arguments), context), limit)) as items:
            async for item in items:
                if isinstance(item, Result | Pause):
                    last = item
                    continue
                if not isinstance(item, Event):
                    yield error_result("tool_failed", NO_EVENT.format(name=call.name, kind=type(item).__name__))
                    return
                presented = await present_event(item, self.turn, self.store)
                notes += [presented.note] if presented.note and presented.note not in notes else []
                for event in presented.events:
                    yield event
        if isinstance(last, Pause) and not last.asks:
            last = error_result("tool_failed", f"{call.name} paused without a question.")
        if isinstance(last, Pause):
            yield last
            return
        # Encoded here, so that a value without a JSON form fails the call and not the run.
        # The result of a failed call stays JSON, which callers read.
        result = await make_result_text(last.content, None if last.failed else self.budget)
        if result.is_cut:
            yield Custom("progress", {"message": self.describe_cut(call.name, result)})
        parts = (result.text, *([] if last.failed else notes))
        yield Result("\n\n".join(filter(None, parts)), last.failed)

    async def note_begun(self, call: ToolCall) -> None:
        await self.store.save_results(self.turn.owner, {call.id: MAY_HAVE_RUN})

    def describe_cut(self, name: str, result: ResultText) -> str:
        """Return the sentence that tells the person how much of a result the model reads."""
        language = self.turn.get_language()
        if result.rows is None:
            return get_sentence("result_cut", language, name=name)
        shown, total = (f"{count:,}" for count in result.rows)
        return get_sentence("rows_read", language, name=name, shown=shown, total=total)

    def record_pause(self, call: ToolCall, pause: Pause) -> None:
        answers = self.states[call.id].all_answers
        asks = enumerate(pause.asks)
        questions = tuple(OpenQuestion(self.make_interrupt(ask, call.id), ask, place) for place, ask in asks)
        self.states[call.id] = CallState(open=questions, paused=True, state=pause.state, answers=answers)

    # State after a run.

    @property
    def waiting_client_calls(self) -> tuple[str, ...]:
        return tuple(id for id, state in self.states.items() if state.client and state.result is None)

    @property
    def open_interrupts(self) -> tuple[Interrupt, ...]:
        return tuple(question.interrupt for state in self.states.values() for question in state.open)

    def to_messages(self) -> list[Message]:
        """Return the assistant message and all results, in call order."""
        results = ((call.id, self.states[call.id].result or "") for call in self.message.calls)
        return [self.message, *(text_message("tool", text, call_id=id) for id, text in results)]


def make_rerun_question(call: ToolCall, language: Language) -> Ask:
    """Make the question whether a call that may have run shall run again."""
    text = get_sentence("rerun_call", language, name=call.name, arguments=call.arguments)
    choices = [RERUN_RETRY, RERUN_SKIP]
    action = {"type": "string", "enum": choices, "description": get_sentence("rerun_call_choices", language)}
    schema = {"type": "object", "properties": {RERUN_ACTION: action}, "required": [RERUN_ACTION]}
    return Ask(escape_invisible(text, keep="\n"), "form", schema)
