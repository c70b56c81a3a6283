"""Flows as tools and as Responders, and the registry of all plugins' flows with the services that they use.

A Responder calls the flow once; its questions interrupt the turn and its text is the answer.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import PurePosixPath
from typing import Any

import msgspec
from msgspec.structs import replace as replace_fields

from rightseat.documents.document import cut_middle, fits_budget
from rightseat.documents.json import JsonCutter
from rightseat.engine.late_results import save_later
from rightseat.engine.loop import Assistant
from rightseat.engine.repeats import (
    RequestOrigin,
    find_origin,
    find_rerun,
    is_end_of_talk,
    read_text_answer,
    record_effect,
)
from rightseat.engine.resume import claim_continuation, pause_batch, resume_batch
from rightseat.engine.structured import generate_structured
from rightseat.engine.tool_calls import ToolCallBatch
from rightseat.errors import (
    Conflict,
    ContinuationGone,
    FlowFailed,
    FlowStopped,
    NotConfigured,
    RightseatError,
    StoreFailed,
)
from rightseat.plugins.flows.checkpoint import FlowCheckpoint, FlowProgress
from rightseat.plugins.flows.model_times import MeasuredCalls, TimedModel, save_measured
from rightseat.plugins.flows.run import FlowFinished, FlowRun, StepFailure, UsageTrackingModel, stream_attempt
from rightseat.plugins.flows.step_context import FlowServices, StepContext, StepOutput
from rightseat.plugins.flows.templates import ANSWER_STEP, describe_data
from rightseat.plugins.http.request import find_idempotency_parameter
from rightseat.plugins.plugin import Flow, NextFlow, Operation, Plugin, make_tool_name
from rightseat.tools.delegate import REQUEST_SCHEMA
from rightseat.types.events import (
    CallResult,
    Custom,
    Event,
    RunFinished,
    Suggestions,
    TextDelta,
    TextEnd,
    TextStart,
    Usage,
    text_events,
)
from rightseat.types.language import Language, detect_language
from rightseat.types.messages import Message, ToolCall
from rightseat.types.sentences import get_sentence
from rightseat.types.stores import CheckpointStore, Continuation, ContinuationClaim, IdGenerator, Store
from rightseat.types.streams import closing
from rightseat.types.threads import RUN_RESTARTED
from rightseat.types.tools import Pause, Result, Tool, ToolContext, is_approved, make_approval
from rightseat.types.turn import Turn, check_agent_depth

log = logging.getLogger(__name__)
MAX_SUGGESTIONS = 3
MAX_QUESTION_LENGTH = 80

# Tokens of the question and of the answer before.
CONVERSATION_BUDGET = 800


async def suggest_next_questions(flow: Flow, services: FlowServices, question: str, answer: str) -> Suggestions | None:
    """Return up to three questions. Those in the file are shown unchanged; the model writes the others in
    one call. If it fails, only those are left out."""
    known = [(target, next_flow) for target in flow.next_flow if (next_flow := find_next_flow(target, flow, services))]
    following = known[:MAX_SUGGESTIONS]
    unwritten = [next_flow for target, next_flow in following if not target.question]
    try:
        written = await write_questions(unwritten, services, question, answer) if unwritten else []
    except RightseatError as error:
        log.warning("next_flow of %s: no questions from the model: %s", flow.id, error.message)
        written = [""] * len(unwritten)
    texts_left = iter(written)
    texts = [target.question or next(texts_left) for target, _ in following]
    unique = dict.fromkeys(" ".join(text.split()) for text in texts if text.strip())
    return Suggestions(tuple(unique)) if unique else None


def suggestions_as_text(suggestions: Suggestions, turn: Turn) -> list[Event]:
    """Return the questions as text for a client that does not show them; none where the answer must fit a schema."""
    if turn.client.shows_suggestions or turn.output_schema is not None:
        return []
    language = turn.get_language(detect_language(suggestions.prompts[0]))
    lines = [get_sentence("suggested_questions", language), *(f"- {text}" for text in suggestions.prompts)]
    return text_events(IdGenerator().new_message_id(), "\n".join(lines))


def find_next_flow(target: NextFlow, flow: Flow, services: FlowServices) -> Flow | None:
    """Return the flow that is named; None if it does not exist any more."""
    if target.plugin and target.plugin != flow.plugin:
        return services.flows.get(f"{target.plugin}/{target.flow}")
    return services.flows.get(f"{flow.plugin}/{target.flow}") or services.flows.get(target.flow)


async def write_questions(flows: list[Flow], services: FlowServices, question: str, answer: str) -> list[str]:
    text = {"type": "string", "minLength": 1, "maxLength": 2 * MAX_QUESTION_LENGTH}
    names = [f"question_{number}" for number in range(1, len(flows) + 1)]
    schema: dict[str, Any] = {
        "type": "object",
        "properties": dict.fromkeys(names, text),
        "required": names,
        "additionalProperties": False,
    }
    listed = "\n".join(f"{number}. {cut_middle(flow.description, 200)}" for number, flow in enumerate(flows, 1))
    prompt = (
        f"A user asked:\n{cut_middle(question, CONVERSATION_BUDGET)}\n\n"
        f"The answer was:\n{cut_middle(answer, CONVERSATION_BUDGET)}\n\n"
        f"What could be done next:\n{listed}\n\n"
        "For each of these write what the user would say to ask for it: one short question or request in the "
        f"user's own voice and language, at most {MAX_QUESTION_LENGTH} characters, with the names and numbers of the "
        "conversation where they are needed."
    )
    answers = await generate_structured(services.model, prompt, schema)
    return [str(answers[name]) for name in names]


GRACE_SECONDS = 30.0
STORE_RETRY_AFTER = 5.0
RERUN = "again"
"""Key of the state of a call that asks whether to run again."""
TEXT_EVENTS = (TextStart, TextDelta, TextEnd)
GetServices = Callable[[Flow, Turn], FlowServices]


@dataclass
class FlowTool:
    """Runs one flow. `answers_user`: its text is streamed to the user instead of returned to a model."""

    flow: Flow
    get_services: GetServices
    store: Store | None
    answers_user: bool = False
    usage: Usage | None = None
    """Set when the run ends."""
    has_spoken: bool = False
    """Whether this process has streamed text; after a crash the stored answer is streamed once more."""
    timed_model: TimedModel | None = None
    ended: FlowCheckpoint | None = None
    """Checkpoint of a run that has ended with an answer to the user; its Responder deletes it."""

    async def call(self, args: dict[str, Any], ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
        checkpoint = FlowCheckpoint(self.store, ctx.turn.owner, ctx.turn)
        request, origin = args["request"], await find_origin(ctx.turn)
        asked_again = isinstance(ctx.state, dict) and RERUN in ctx.state
        try:
            if ctx.state is None and (rerun := await self.find_rerun(checkpoint, request, ctx.turn)):
                ask = make_approval(get_sentence("run_again", ctx.turn.get_language()))
                yield Pause((ask,), {RERUN: msgspec.to_builtins(rerun)})
                return
            if asked_again:
                origin = msgspec.convert(ctx.state[RERUN], RequestOrigin)
                # "Run it again" means the request before; a model has written its own.
                request = (self.answers_user and origin.text) or request
                if not is_approved(ctx.answers[-1]):
                    raise FlowStopped(get_sentence("not_run_again", ctx.turn.get_language()))
            if ctx.state is None or asked_again:
                only_one = self.answers_user and not ctx.turn.depth
                progress = await checkpoint.begin(self.flow, request, ctx.turn, only_one=only_one)
                progress = replace_fields(progress, origin=progress.origin or origin)
            else:
                progress = await checkpoint.resume(ctx.state, self.flow, ctx.answers, ctx.turn.get_language())
            async with closing(self.stream_run(progress, checkpoint, ctx)) as items:
                async for item in items:
                    yield item
        except FlowFailed:
            await self.end(checkpoint)
            raise
        finally:
            await checkpoint.close()
            await self.save_times()

    def time_model(self, services: FlowServices) -> FlowServices:
        """Return the services with a model whose calls are measured, and the store."""
        self.timed_model = TimedModel(services.model)
        return replace(services, model=self.timed_model, store=self.store)

    async def save_times(self) -> None:
        """Add this run's model calls to those that estimates are made of."""
        measured = self.timed_model.measured if self.timed_model is not None else MeasuredCalls()
        if measured.calls == 0 or not isinstance(self.store, CheckpointStore):
            return
        try:
            await save_measured(self.store, self.flow.id, measured)
        except RightseatError as error:
            log.warning("the times of %s are not kept: %s", self.flow.id, error.message)

    async def find_rerun(self, checkpoint: FlowCheckpoint, request: str, turn: Turn) -> RequestOrigin | None:
        """Return the request to ask about: it has had its effect in this conversation, and none is unfinished."""
        rerun = await find_rerun(self.store, turn)
        return None if rerun and await checkpoint.has_unfinished(self.flow, request, turn) else rerun

    async def end(self, checkpoint: FlowCheckpoint) -> None:
        if self.answers_user:
            self.ended = checkpoint
        else:
            await checkpoint.delete()

    async def delete_ended(self) -> None:
        """Delete the checkpoint, once the user has the answer."""
        if self.ended is not None:
            await self.ended.delete()

    async def stream_run(
        self, progress: FlowProgress, checkpoint: FlowCheckpoint, ctx: ToolContext
    ) -> AsyncIterator[Event | Result | Pause]:
        services = self.time_model(self.get_services(self.flow, ctx.turn))

        async def record() -> None:
            save = partial(record_effect, self.store, ctx.turn.owner, progress.origin)
            try:
                await save()
            except StoreFailed:
                save_later(save)

        run = FlowRun(self.flow, services, ctx.turn, progress, checkpoint.save, record_effect=record)
        async with closing(run.stream()) as items:
            async for item in items:
                if isinstance(item, FlowFinished):
                    self.usage = item.progress.usage
                    answer = ""
                    async with closing(self.stream_answer(item, services, ctx)) as events:
                        async for event in events:
                            answer = event.text if isinstance(event, Result) else answer
                            yield event
                    await self.end(checkpoint)
                    if self.answers_user and self.flow.next_flow:
                        suggestions = await suggest_next_questions(self.flow, services, progress.question, answer)
                        if suggestions is not None:
                            yield suggestions
                            for event in suggestions_as_text(suggestions, ctx.turn):
                                yield event
                elif self.answers_user or not isinstance(item, TEXT_EVENTS):
                    self.has_spoken = self.has_spoken or isinstance(item, TextDelta)
                    yield item

    async def stream_answer(
        self, finished: FlowFinished, services: FlowServices, ctx: ToolContext
    ) -> AsyncIterator[Event | Result | Pause]:
        """Yield the result. If no step has answered the user, let the model write the answer."""
        if finished.progress.spoken or not self.answers_user:
            result = make_result(finished, ctx.budget)
            if self.answers_user and not self.has_spoken:
                for event in text_events(IdGenerator().new_message_id(), result.text):
                    yield event
            yield result
            return
        model = UsageTrackingModel(services.model)
        step_ctx = StepContext(
            flow=self.flow,
            step=ANSWER_STEP,
            services=replace(services, model=model),
            turn=ctx.turn,
            question=finished.progress.question,
            outputs=finished.progress.outputs,
            previous=finished.output,
            last=True,
            key=finished.progress.run,
        )
        async with closing(stream_attempt(step_ctx)) as items:
            async for item in items:
                match item:
                    case StepFailure(text):
                        raise FlowFailed(f"The flow {self.flow.id} has run, but gave no answer: {text}")
                    case StepOutput(data=data):
                        yield Result(data)
                    case _:
                        yield item
        if model.usage is not None:
            self.usage = model.usage + (self.usage or Usage())


def make_result(finished: FlowFinished, budget: int | None) -> Result:
    """Return the flow's answer, or else the outputs of its steps cut to the budget."""
    if finished.progress.spoken:
        return Result(finished.output.data)
    outputs = finished.progress.outputs
    values = {name: output.data for name, output in outputs.items() if output.jump is None}
    data = {name: describe_data(value) for name, value in values.items() if value is not None}
    full = Result({"outputs": data})
    if budget is None or fits_budget(full.text, budget):
        return full
    return Result(JsonCutter().cut(full.content, budget))


def make_flow_tool(name: str, flow: Flow, get_services: GetServices, get_store: Callable[[], Store | None]) -> Tool:
    def call(args: dict[str, Any], ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
        return FlowTool(flow, get_services, get_store()).call(args, ctx)

    return Tool(
        name,
        flow.description or flow.name,
        REQUEST_SCHEMA,
        call,
        timeout=flow.timeout + GRACE_SECONDS,
        untrusted=True,
        fingerprint=flow.digest,
    )


CALL_NAME = "flow"
END_EVENT = "flow_end"

# Ends that a person has chosen: they are reported, not raised.
CHOSEN_ENDS = ("cancelled", "no_answer", FlowStopped.code)

# Sentences for the user; the tool results are worded for a model.
END_SENTENCES = {"cancelled": "flow_cancelled", "no_answer": "flow_unanswered"}


class FlowResponder:
    """Answers a turn with a flow. `name` is its name at the doors; `question` stands in for an empty one."""

    can_ask = True
    presents_artifacts = True

    def __init__(self, name: str, flow: Flow, get_services: GetServices, store: Store, *, question: str = "") -> None:
        self.name = name
        self.flow = flow
        self.get_services = get_services
        self.store = store
        self.question = question or flow.description or flow.name

    async def __call__(self, turn: Turn) -> AsyncIterator[Event]:
        check_agent_depth(turn)
        turn = await read_text_answer(self.store, turn, self.name)
        flow_tool = FlowTool(self.flow, self.get_services, self.store, answers_user=True)
        tool = Tool(CALL_NAME, "", REQUEST_SCHEMA, flow_tool.call, timeout=self.flow.timeout + GRACE_SECONDS)
        begun = await self.begin(turn, tool)
        if begun is None and turn.is_taken_over:
            # What the dead worker had done is lost: nothing may run twice.
            yield RUN_RESTARTED
            return
        if begun is None:
            key = "reply_came_before" if turn.repeats_answer else "nothing_to_run"
            text = get_sentence(key, turn.get_language())
            for event in text_events(IdGenerator().new_message_id(), text):
                yield event
            yield RunFinished("stop")
            return
        ids, batch = begun
        result: CallResult | None = None
        try:
            async with closing(batch.run()) as events:
                async for event in events:
                    if isinstance(event, CallResult):
                        result = event
                    else:
                        yield event
            if batch.open_interrupts:
                for event in await pause_batch(batch, self.name, self.flow.digest, flow_tool.usage):
                    yield event
                return
            if result is not None and result.failed:
                code, text = describe_chosen_end(result.content, turn.get_language())
                yield Custom(END_EVENT, {"flow": self.flow.id, "reason": code})
                for event in text_events(ids.new_message_id(), text):
                    yield event
            yield RunFinished("stop", flow_tool.usage)
        finally:
            # After RunFinished: if the server dies before that is stored, the same request gets the answer and
            # not the steps again.
            await flow_tool.delete_ended()

    async def begin(self, turn: Turn, tool: Tool) -> tuple[IdGenerator, ToolCallBatch] | None:
        """Return the call to run: a new one, or the one saved when it paused; None where nothing is asked for."""
        claim = await self.claim(turn)
        if isinstance(claim, ContinuationClaim):
            async with claim:
                return await self.resume(turn, tool, claim)
        checkpoint = FlowCheckpoint(self.store, turn.owner, turn)
        resumed = claim.question if claim is not None and turn.is_taken_over else ""
        interrupted = resumed or await checkpoint.find_interrupted_question(self.flow, turn)
        if turn.answers and not interrupted:
            raise ContinuationGone(get_sentence("ask_expired", turn.get_language()))
        user_texts = (message.text.strip() for message in reversed(turn.messages) if message.role == "user")
        request = interrupted or next(user_texts, "") or self.question
        asks_nothing = turn.is_taken_over or turn.repeats_answer or await is_end_of_talk(self.store, turn)
        if asks_nothing and not interrupted and not await checkpoint.has_unfinished(self.flow, request, turn):
            return None
        ids = IdGenerator()
        arguments = msgspec.json.encode({"request": request}).decode()
        call = ToolCall(ids.new_call_id(), CALL_NAME, arguments)
        batch = self.make_batch(Message("assistant", calls=(call,), id=ids.new_message_id()), tool, turn, ids)
        batch.begin(())
        return ids, batch

    async def claim(self, turn: Turn) -> ContinuationClaim | FlowProgress | None:
        """Claim the question that the turn answers. One whose run has gone on since, in a worker that died, is over:
        the run goes on from its progress, which is returned."""
        claim = await claim_continuation(self.store, turn, self.name)
        if claim is None or not isinstance(self.store, CheckpointStore):
            return claim
        checkpoint = FlowCheckpoint(self.store, turn.owner, turn)
        async with claim:
            for call in claim.continuation.calls.values():
                if call.paused and (progress := await checkpoint.find_resumed(call.state)):
                    await claim.settle()
                    return progress
        return claim

    async def resume(self, turn: Turn, tool: Tool, claim: ContinuationClaim) -> tuple[IdGenerator, ToolCallBatch]:
        """Return the call that paused, with the turn's answers."""
        continuation = claim.continuation
        if continuation.digest != self.flow.digest:
            raise ContinuationGone(get_sentence("flow_changed", turn.get_language()))
        ids = IdGenerator(continuation.ticket, continuation.number)
        batch = self.make_batch(continuation.added[-1], tool, turn, ids)
        await resume_batch(batch, claim, self.get_services(self.flow, turn).model)
        if batch.early_results:
            await self.abandon(turn, continuation)
        return ids, batch

    async def abandon(self, turn: Turn, continuation: Continuation) -> None:
        checkpoint = FlowCheckpoint(self.store, turn.owner, turn)
        for call in continuation.calls.values():
            if call.paused and RERUN not in (call.state or {}):
                await checkpoint.abandon(call.state, self.flow)

    def make_batch(self, message: Message, tool: Tool, turn: Turn, ids: IdGenerator) -> ToolCallBatch:
        return ToolCallBatch(message, {CALL_NAME: tool}, turn, ids, self.store, self.flow.timeout + GRACE_SECONDS)


def describe_chosen_end(content: str, language: Language) -> tuple[str, str]:
    """Return code and message of an end that a person has chosen; raise any other failure."""
    error = msgspec.json.decode(content)["error"]
    code, message = error["code"], error["message"]
    if code == ContinuationGone.code:
        raise ContinuationGone(message)
    if code == Conflict.code:
        raise Conflict(message)
    if code == StoreFailed.code:
        raise StoreFailed(message, retry_after=STORE_RETRY_AFTER)
    if code not in CHOSEN_ENDS:
        raise FlowFailed(message)
    return code, get_sentence(END_SENTENCES[code], language) if code in END_SENTENCES else str(message)


def get_tool_word(flow: Flow) -> str:
    """Return the flow's name for its tool: the file's name where only that is in ASCII, which tool names must be."""
    stem = PurePosixPath(flow.file).stem
    return stem if stem.isascii() and not flow.name.isascii() else flow.name


DEFAULT_ASSISTANT = "default"
READ_METHODS = ("GET", "HEAD", "OPTIONS")


@dataclass(frozen=True, slots=True)
class PluginFlows:
    """One plugin's flows and tools. `is_listed`: doors list each flow; otherwise it runs only by name."""

    plugin: Plugin
    operations: Mapping[str, Tool]
    scripts: Mapping[str, Tool]
    is_listed: bool = False


@dataclass(eq=False)
class FlowRegistry:
    plugins: dict[str, PluginFlows] = field(default_factory=dict)
    databases: Mapping[str, Any] = field(default_factory=dict)
    hosts: dict[str, Assistant] = field(default_factory=dict)
    store: Store | None = None
    services: dict[tuple[str, str], FlowServices] = field(default_factory=dict)
    """Cache by (plugin id, assistant name)."""

    def add(self, plugin_flows: PluginFlows) -> tuple[Tool, ...]:
        """Register a plugin and return its flows as tools; a flow made of one operation already is a tool."""
        self.plugins[plugin_flows.plugin.id] = plugin_flows
        taken = {tool.name for tool in (*plugin_flows.operations.values(), *plugin_flows.scripts.values())}
        tools = []
        for flow in plugin_flows.plugin.workflows:
            if flow.file:
                name = make_tool_name(flow.plugin, get_tool_word(flow), taken)
                taken.add(name)
                tools.append(make_flow_tool(name, flow, self.get_services, lambda: self.store))
        return tuple(tools)

    def bind(self, hosts: Iterable[Assistant], store: Store) -> dict[str, FlowResponder]:
        """Return every flow as a Responder, by "plugin.flow"."""
        self.services.clear()
        self.hosts = {host.name: host for host in hosts}
        self.store = store
        responders: dict[str, FlowResponder] = {}
        for plugin_flows in self.plugins.values():
            question = plugin_flows.plugin.question.strip()
            for flow in plugin_flows.plugin.workflows:
                name = f"{flow.plugin}.{flow.name}"
                responders[name] = FlowResponder(name, flow, self.get_services, store, question=question)
        return responders

    def list_visible_flows(self) -> dict[str, Flow]:
        """Return the flows that doors list: flows from files, of listed plugins."""
        visible = (plugin_flows.plugin for plugin_flows in self.plugins.values() if plugin_flows.is_listed)
        flows = (flow for plugin in visible for flow in plugin.workflows if flow.file)
        return {f"{flow.plugin}.{flow.name}": flow for flow in flows}

    def get_services(self, flow: Flow, turn: Turn) -> FlowServices:
        """Return a flow's services in a turn: its plugin's tools and the model of the addressed assistant."""
        preferred = (self.hosts.get(name) for name in (turn.assistant or DEFAULT_ASSISTANT, DEFAULT_ASSISTANT))
        host = next((host for host in (*preferred, *self.hosts.values()) if host is not None), None)
        if host is None:
            raise NotConfigured("A flow needs an assistant whose model it can ask. Give the server one.")
        return self.get_plugin_services(flow.plugin, host)

    def get_plugin_services(self, plugin: str, host: Assistant) -> FlowServices:
        if (plugin, host.name) not in self.services:
            self.services[plugin, host.name] = self.build_services(self.plugins[plugin], host)
        return self.services[plugin, host.name]

    def build_services(self, plugin_flows: PluginFlows, host: Assistant) -> FlowServices:
        plugin = plugin_flows.plugin
        all_flows = {flow.id: flow for other in self.plugins.values() for flow in other.plugin.workflows}
        return FlowServices(
            model=host.model,
            operations=plugin_flows.operations,
            scripts=plugin_flows.scripts,
            flows=all_flows | {flow.name: flow for flow in plugin.workflows},
            databases={name: base for name, base in self.databases.items() if base.is_available_to(plugin.id)},
            context=host.context,
            repeatable=frozenset(operation.id for operation in plugin.operations if is_repeatable(operation)),
            get_plugin_services=lambda other: self.get_plugin_services(other, host),
        )


def is_repeatable(operation: Operation) -> bool:
    """Whether a request may be sent twice: it only reads, or it carries an idempotency key."""
    return operation.method.upper() in READ_METHODS or find_idempotency_parameter(operation) is not None
