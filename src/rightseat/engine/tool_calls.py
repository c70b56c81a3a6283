"""ToolCallBatch: checks and runs the tool calls of one answer concurrently; results come in call order.

A batch has a CallState for each call: its result, or that it waits for a client or a person. The same code
starts a batch and resumes one from a Continuation.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Iterable, Mapping

import msgspec
from msgspec.structs import replace

from rightseat.config.secret import mask
from rightseat.engine.answers import GivenUp, Unfit, fit
from rightseat.errors import RightseatError
from rightseat.types.events import CallArgs, CallEnd, CallResult, CallStart, Event, Interrupt
from rightseat.types.messages import Call, Message, said
from rightseat.types.model import Model
from rightseat.types.schema import checker
from rightseat.types.stores import LIFETIME, Ids, Kept, Open
from rightseat.types.streams import closing, merge, within
from rightseat.types.tools import APPROVAL, Ask, Pause, Result, Tool, ToolContext, approves, failure
from rightseat.types.turn import Answer, Caution, Turn

log = logging.getLogger(__name__)
MAX_AGAIN = 2
# Effects of calls that need approval once untrusted content was read.
DOUBTED: dict[Caution, tuple[str, ...]] = {
    "off": (),
    "dangerous": ("dangerous",),
    "writes": ("dangerous", "writes"),
    "all": ("dangerous", "writes", "reads"),
}


class Batch:
    def __init__(
        self,
        message: Message,
        tools: Mapping[str, Tool],
        turn: Turn,
        ids: Ids,
        *,
        timeout: float,
        said: tuple[Message, ...] = (),
        budget: int | None = None,
    ) -> None:
        self.message = message
        self.tools = tools
        self.turn = turn
        self.ids = ids
        self.timeout = timeout
        self.said = said
        self.budget = budget
        self.kept: dict[str, Kept] = {}
        self.verdicts: dict[str, Result] = {}
        """Results known without running the tool: invalid arguments, a denial."""

    # Start: check each call; one that cannot run gets its result at once.

    def begin(self, shown: Iterable[str]) -> list[Event]:
        """Check every call and return its events; the message's arguments become valid JSON objects."""
        shown = frozenset(shown)
        events: list[Event] = []
        calls = []
        for call in self.message.calls:
            checked, problem = self.check(call)
            calls.append(checked)
            client = problem is None and self.tools[call.name].client
            self.kept[call.id] = Kept(client=client)
            if problem is not None:
                self.verdicts[call.id] = problem
            if call.id not in shown:
                start = CallStart(call.id, call.name, self.message.id or "", client)
                events += [start, CallArgs(call.id, checked.arguments), CallEnd(call.id)]
        self.message = replace(self.message, calls=tuple(calls))
        return events

    def check(self, call: Call) -> tuple[Call, Result | None]:
        """Return the call with a JSON object as arguments, and the error result if it is invalid."""
        try:
            value = msgspec.json.decode(call.arguments.strip() or "{}")
        except (msgspec.DecodeError, RecursionError) as error:
            said_so = f"The arguments are not valid JSON ({str(error)[:100]}): {call.arguments[:200]}"
            return replace(call, arguments="{}"), failure("invalid_json", said_so)
        value = {} if value is None else value
        tool = self.tools.get(call.name)
        if tool is None:
            known = ", ".join(self.tools) or "none"
            return replace(call, arguments="{}"), failure(
                "unknown_tool", f"There is no tool {call.name[:64]!r}. Tools: {known}"
            )
        problem = (tool.check or checker(tool.parameters).problem)(value)
        if problem is None and not isinstance(value, dict):
            problem = "the arguments must be a JSON object"
        if problem is not None:
            text = call.arguments if isinstance(value, dict) else "{}"
            return replace(call, arguments=text), failure("invalid_arguments", f"{call.name}: {problem}")
        return replace(call, arguments=msgspec.json.encode(value).decode()), None

    # Resume: results from the client and answers from the person.

    def receive(self, results: Mapping[str, str]) -> None:
        """Store results of client calls. If only some arrive, the others get an error result, so that the
        model does not wait forever. If none arrives, all stay open."""
        if not any(call_id in results for call_id in self.waiting):
            return
        missing = failure("no_result", "The client sent no result for this call.")
        for call_id, kept in self.kept.items():
            if kept.client and kept.result is None:
                text = results.get(call_id)
                self.kept[call_id] = replace(
                    kept, result=missing.text if text is None else text, failed=text is None
                )

    async def hear(self, answers: Mapping[str, Answer], model: Model) -> None:
        """Apply answers to open questions. An invalid answer is asked for again, at most twice."""
        for call_id, kept in self.kept.items():
            for question in kept.open:
                answer = answers.get(question.interrupt.id)
                if answer is None:
                    continue
                kept, verdict = await self.heard(kept, question, answer, model)
                if verdict is not None:
                    self.verdicts[call_id] = verdict
            self.kept[call_id] = kept

    async def heard(
        self, kept: Kept, question: Open, answer: Answer, model: Model
    ) -> tuple[Kept, Result | None]:
        """Return the call's new state, and its result if the answer ends the call without running it."""
        given_up = replace(kept, open=()), failure("cancelled", "The person did not want to answer.")
        if answer.status == "cancelled":
            return given_up
        others = tuple(other for other in kept.open if other is not question)
        try:
            value = await fit(question.ask, answer, model, question.given)
        except GivenUp:
            return given_up
        except Unfit as unfit:
            # A new valid field is progress and does not count as a repeat.
            again = question.again + (unfit.given == question.given)
            if again > MAX_AGAIN:
                return replace(kept, open=()), failure(
                    "no_answer", f"The person was asked three times: {unfit}"
                )
            repeated = Open(
                self.interrupt(question.ask, question.interrupt.call, f"{question.ask.message}\n({unfit})"),
                question.ask,
                question.place,
                again,
                unfit.given,
            )
            return replace(kept, open=(*others, repeated)), None
        if kept.paused:
            return replace(kept, open=others, fresh={**kept.fresh, question.place: value}), None
        if approves(value):
            return replace(kept, open=others, approved=True), None
        return replace(kept, open=()), failure("denied", "The person did not allow this call.")

    def interrupt(self, ask: Ask, call_id: str | None, message: str | None = None) -> Interrupt:
        until = time.time() + LIFETIME
        return Interrupt(self.ids.ask(), ask.kind, message or ask.message, ask.schema, call_id, until)

    # Run.

    async def run(self) -> AsyncIterator[Event]:
        """Run all runnable calls concurrently; results come in call order."""
        due = [call for call in self.message.calls if self.ready(call)]
        streams = [self.carry_out(call) for call in due]
        done: dict[int, CallResult] = {}
        told = 0
        async with closing(merge(*streams)) as items:
            async for number, item in items:
                if isinstance(item, Result):
                    done[number] = self.settle(due[number], item)
                elif isinstance(item, Pause):
                    self.park(due[number], item)
                else:
                    yield item
                while told in done or (told < len(due) and self.kept[due[told].id].open):
                    if told in done:
                        yield done[told]
                    told += 1

    def ready(self, call: Call) -> bool:
        """Whether the call can run now. One that needs approval gets an open question instead."""
        kept = self.kept[call.id]
        if call.id in self.verdicts:
            return True
        if kept.result is not None or kept.client or kept.open:
            return False
        tool = self.tools[call.name]
        if kept.approved or kept.paused or not (tool.confirm or self.doubtful(tool)):
            return True
        ask = Ask(f"Allow {call.name} with {call.arguments}?", "confirm", APPROVAL)
        self.kept[call.id] = replace(kept, open=(Open(self.interrupt(ask, call.id), ask),))
        return False

    def doubtful(self, tool: Tool) -> bool:
        """Whether the call needs approval because untrusted content may have caused it."""
        effects = DOUBTED[self.turn.caution]
        return tool.effect in effects and not tool.asks and self.exposed

    @property
    def exposed(self) -> bool:
        """Whether the conversation contains untrusted content."""
        if self.turn.exposed:
            return True
        messages = (*self.turn.messages, *self.said)
        names = {call.id: call.name for message in messages for call in message.calls}
        results = (names.get(m.call_id or "", "") for m in messages if m.role == "tool")
        return any(self.foreign(self.tools.get(name)) for name in results)

    def foreign(self, tool: Tool | None) -> bool:
        return tool is None or tool.client or tool.outside

    async def carry_out(self, call: Call) -> AsyncIterator[Event | Result | Pause]:
        """Run one call. Whatever the tool does, one Result or one Pause comes last."""
        verdict = self.verdicts.pop(call.id, None)
        if verdict is not None:
            yield verdict
            return
        tool = self.tools.get(call.name)
        limit = (tool and tool.timeout) or self.timeout
        try:
            async with closing(self.attempt(call, tool, limit)) as items:
                async for item in items:
                    yield item
        except TimeoutError:
            yield failure("timeout", f"{call.name} took longer than {limit:g} s and was stopped.")
        except RightseatError as error:
            yield failure(error.code, error.message)
        except SystemExit:
            yield failure("tool_failed", "The tool tried to end the process.")
        except asyncio.CancelledError:
            # Cancellation of our task propagates; one that the tool raised itself is a failure.
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            yield failure("tool_failed", "The tool was cancelled from inside.")
        except Exception as error:
            log.warning("tool %s failed", call.name, exc_info=error)
            yield failure("tool_failed", mask(f"{type(error).__name__}: {error}")[:500])

    async def attempt(
        self, call: Call, tool: Tool | None, limit: float
    ) -> AsyncIterator[Event | Result | Pause]:
        if tool is None or tool.call is None:
            yield failure("unknown_tool", f"There is no tool {call.name} any more.")
            return
        kept = self.kept[call.id]
        # A sub-run does not see this conversation, so the turn tells it.
        cautious = self.turn.caution != "off" and not self.turn.exposed and self.exposed
        turn = replace(self.turn, exposed=True) if cautious else self.turn
        context = ToolContext(turn, call.id, kept.state, kept.heard, self.said, self.budget)
        last: Result | Pause = Result()
        items = within(tool.call(msgspec.json.decode(call.arguments), context), limit)
        async with closing(items):
            async for item in items:
                if isinstance(item, Result | Pause):
                    last = item
                else:
                    yield item
        if isinstance(last, Pause) and not last.asks:
            last = failure("tool_failed", f"{call.name} paused without a question.")
        # Encode here, so that an unencodable value fails the call and not the run.
        yield last if isinstance(last, Pause) else Result(last.text, last.failed)

    def settle(self, call: Call, result: Result) -> CallResult:
        self.kept[call.id] = Kept(result=result.text, failed=result.failed)
        return CallResult(call.id, result.text, result.failed)

    def park(self, call: Call, pause: Pause) -> None:
        kept = self.kept[call.id]
        asks = enumerate(pause.asks)
        questions = tuple(Open(self.interrupt(ask, call.id), ask, place) for place, ask in asks)
        self.kept[call.id] = replace(
            kept, open=questions, paused=True, state=pause.state, answers=kept.heard, fresh={}
        )

    # State after a run.

    @property
    def waiting(self) -> tuple[str, ...]:
        return tuple(id for id, kept in self.kept.items() if kept.client and kept.result is None)

    @property
    def questions(self) -> tuple[Interrupt, ...]:
        return tuple(question.interrupt for kept in self.kept.values() for question in kept.open)

    def server_results(self) -> dict[str, str]:
        return {
            id: kept.result for id, kept in self.kept.items() if kept.result is not None and not kept.client
        }

    def messages(self) -> list[Message]:
        """Return the assistant message and all results, in call order."""
        results = [
            said("tool", self.kept[call.id].result or "", call_id=call.id) for call in self.message.calls
        ]
        return [self.message, *results]
