"""The model ⇄ tool loop: one assistant as a Responder.

A turn starts new or resumes a Continuation: a client sends the result of its call, a person answers a
question. The posted messages are the history, because clients edit and branch; the run's own messages and
the results of server calls come from the Continuation and the store, never from the client.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import AsyncIterator, Container, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from dataclasses import replace as replace_fields
from datetime import datetime
from typing import TYPE_CHECKING, cast

import msgspec
from msgspec.structs import replace

from rightseat.engine.assembler import EventAssembler, ModelAnswer
from rightseat.engine.checkpoints import BatchCheckpoint, has_said_more, restore_turn
from rightseat.engine.context_window import (
    MAX_REFUSALS,
    HistoryFitter,
    add_largest_part,
    cap_answer,
    find_answer_limit,
    hash_beginning,
    prompt_budget,
)
from rightseat.engine.history import (
    fit_to_capabilities,
    minimum_tokens,
    name_unreadable_files,
    pair_calls_with_results,
    split_at_run,
    trailing_results,
    use_stored_results,
)
from rightseat.engine.repeats import choose_effect_rule, read_text_answer
from rightseat.engine.resume import claim_continuation, pause_batch, resume_batch
from rightseat.engine.structured import SchemaBufferedAssembler, repair_messages
from rightseat.engine.summaries import MAX_SUMMARY_TOKENS, ConversationSummaries, insert_summary
from rightseat.engine.tool_calls import ToolCallBatch
from rightseat.engine.turn_state import TurnState
from rightseat.errors import CallerError, ContextTooLong, ContinuationGone, OutputInvalid, StoreFailed, TooManyRounds
from rightseat.types.agent_card import NO_CARD, AgentCard
from rightseat.types.checkpoints import RunCheckpoints, get_checkpoints
from rightseat.types.chunks import ModelChunk
from rightseat.types.events import Custom, Event, RunFinished, RunFinishReason, Suggestions, Usage
from rightseat.types.messages import CONTEXT_HEADING, Message, ToolCall, measure_messages, text_message
from rightseat.types.model import BoundModel, CountsTokens, Model, Prompt, ToolChoice, adapt_model, find_protocol
from rightseat.types.sentences import get_sentence
from rightseat.types.settings import select_settings
from rightseat.types.stores import Continuation, ContinuationClaim, IdGenerator, Store, parse_resume_token
from rightseat.types.streams import closing
from rightseat.types.threads import RUN_RESTARTED
from rightseat.types.tools import Tool, Toolset, make_client_tool
from rightseat.types.turn import Truncation, Turn, add_date, check_agent_depth
from rightseat.types.workers import run_sized

if TYPE_CHECKING:
    from rightseat.engine.shared_state import SharedState

log = logging.getLogger(__name__)
MAX_SUGGESTIONS = 5
MIN_RESULT_TOKENS = 200


@dataclass(frozen=True, slots=True)
class Assistant:
    name: str
    model: Model
    system: str = ""
    tools: tuple[Tool, ...] = ()
    title: str = ""
    description: str = ""
    image: str = ""
    card: AgentCard = NO_CARD
    """What OpenBB Workspace is told of it: id, features, endpoints."""
    rounds: int = 10
    tool_timeout: float = 60.0
    context: int | None = None
    agents: tuple[str, ...] = ()
    """Names of agents, flows and assistants that it may hand requests over to."""
    toolset: Toolset | None = None
    """Further tools; each turn gets a selection."""
    models: Mapping[str, BoundModel] = field(default_factory=dict)
    """Models that a client may choose, by name; if empty, the client's choice is ignored."""
    vision_models: tuple[str, ...] = ()
    """Models that take images, suggested when its own model does not."""
    truncation: Truncation = "auto"
    """Whether the oldest turns are dropped from a conversation that does not fit the model, or it is refused."""
    summarise: bool = False
    """Whether a summary stands for the dropped turns."""
    questions: tuple[str, ...] = ()
    """Questions that front ends suggest, before those of the toolset."""
    shared_state: SharedState | None = None
    """What the model does with the state of the page."""
    tells_date: bool = False
    """Whether the prompt says today's date where the client's door does not."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "model", adapt_model(self.model))

    @property
    def supports_images(self) -> bool:
        return self.model.capabilities.supports_images

    @property
    def needs_rules(self) -> bool:
        return self.model.capabilities.needs_rules

    @property
    def context_window(self) -> int | None:
        """Context window in tokens: as configured, else as known of the model."""
        return self.context or self.model.capabilities.context

    @property
    def all_models(self) -> tuple[Model, ...]:
        """The default model and those that a client may choose."""
        return (self.model, *(bound.model for bound in self.models.values()))

    @property
    def has_file_tools(self) -> bool:
        """Whether it has tools that may take attached files."""
        return self.toolset is not None

    @property
    def groups(self) -> dict[str, str]:
        return self.toolset.groups if self.toolset else {}

    @property
    def suggestions(self) -> tuple[str, ...]:
        return (*self.questions, *(self.toolset.suggestions if self.toolset else ()))

    @property
    def server_tools(self) -> ServerToolNames:
        """Names of all server tools, selected for a turn or not."""
        return ServerToolNames(frozenset(tool.name for tool in self.tools), self.toolset or ())


@dataclass(frozen=True, slots=True)
class ServerToolNames:
    assistant_tools: Container[str]
    toolset: Container[str]

    client_tools: Container[str] = ()
    """Names that a turn's client uses for its own tools."""

    def __contains__(self, name: object) -> bool:
        return (name in self.assistant_tools or name in self.toolset) and name not in self.client_tools

    def without(self, client_tools: Container[str]) -> ServerToolNames:
        return replace_fields(self, client_tools=client_tools)


@dataclass(frozen=True, slots=True)
class StartedAnswer:
    """An answer whose first chunk has come. `stream` must be closed; `chunks` are those after `first`."""

    assembler: EventAssembler
    stream: AsyncIterator[ModelChunk]
    chunks: AsyncIterator[ModelChunk]
    first: ModelChunk | None

    def push_first(self, state: TurnState) -> list[Event]:
        """Return the events of the first chunk, after the one that tells of dropped messages."""
        return [*tell_cut(state), *(self.assembler.push(self.first) if self.first is not None else ())]


class Engine:
    presents_artifacts = True

    def __init__(self, assistant: Assistant, store: Store) -> None:
        self.assistant = assistant
        self.store = store
        # Computed once, so that a turn costs the same with ten tools and with thousands.
        self.server_tools = assistant.server_tools
        self.bound_model = BoundModel.from_model(assistant.model, assistant.context)
        specs = msgspec.json.encode([tool.spec for tool in assistant.tools])
        self.fingerprint = hashlib.sha256(specs).hexdigest()[:16]
        # Only server tools can ask a person.
        self.can_ask = bool(assistant.tools) or assistant.toolset is not None
        self.fitter = HistoryFitter(MAX_SUMMARY_TOKENS if assistant.summarise else 0)
        self.summaries = ConversationSummaries() if assistant.summarise else None

    async def __call__(self, turn: Turn) -> AsyncIterator[Event]:
        check_agent_depth(turn)
        state = await self.start_turn(turn)
        for event in state.first_events:
            yield event
        while not state.finished:
            if state.batch is not None:
                async with closing(self.run_tool_calls(state, state.batch)) as events:
                    async for event in events:
                        yield event
                continue
            # Inlined: a generator of its own would cost time for every token.
            self.check_rounds(state)
            answer = await self.start_answer(state)
            assembler = answer.assembler
            async with closing(answer.stream):
                for event in answer.push_first(state):
                    yield event
                async for chunk in answer.chunks:
                    for event in assembler.push(chunk):
                        yield event
            state.rounds += 1
            for event in self.finish_answer(state, assembler):
                yield event

    async def start_answer(self, state: TurnState) -> StartedAnswer:
        """Return the next answer of the model with its first chunk. A prompt that the model refuses as too long is
        shortened."""
        while True:
            prompt = await self.build_prompt(state)
            stream = state.bound_model.model.stream(prompt)
            try:
                async with AsyncExitStack() as stack:
                    await stack.enter_async_context(closing(stream))
                    chunks = aiter(stream)
                    first = await anext(chunks, None)
                    stack.pop_all()
                    return StartedAnswer(self.make_assembler(state), stream, chunks, first)
            except ContextTooLong as error:
                await self.learn_refusal(state, prompt, error)

    async def start_turn(self, turn: Turn) -> TurnState:
        """Return the state of the turn: resumed if it answers a continuation, else new."""
        bound_model = self.choose_model(turn)
        capabilities = bound_model.model.capabilities
        # A client of the function API of 2023 did not ask for one call: its messages have room for no more.
        has_tools = bool(turn.tools) and turn.client.returns_call_ids
        settings = select_settings(turn.settings, capabilities, has_tools=has_tools)
        turn = msgspec.structs.replace(turn, settings=settings)
        if self.assistant.tells_date:
            turn = add_date(turn, datetime.now().astimezone())
        if self.assistant.shared_state is not None and turn.raw is None:
            turn = self.assistant.shared_state.add_context(turn)
        context = None if turn.raw is not None else await self.fitter.find_context(bound_model)
        if self.assistant.toolset is not None and turn.raw is None:
            turn = self.assistant.toolset.with_default_question(turn)
        checkpoints = get_checkpoints(turn)
        if checkpoints is not None and checkpoints.logged is not None:
            state = await self.restore_turn(turn, bound_model, context, checkpoints)
            if state is not None:
                return state
        if self.can_ask:
            turn = await read_text_answer(self.store, turn, self.assistant.name)
        results = trailing_results(turn.messages)
        claim = await claim_continuation(self.store, turn, self.assistant.name, results)
        if claim is not None:
            async with claim:
                return await self.resume_turn(turn, bound_model, claim, results, context)
        if turn.answers:
            raise ContinuationGone(get_sentence("ask_expired", turn.get_language()))
        tools = await self.collect_tools(turn)
        state = TurnState(turn, bound_model, IdGenerator(), tools, turn.messages, context=context)
        state.effect_rule = await choose_effect_rule(self.store, turn) if self.can_ask else "run"
        return state

    async def restore_turn(
        self, turn: Turn, bound_model: BoundModel, context: int | None, checkpoints: RunCheckpoints
    ) -> TurnState | None:
        """Return the state of a turn whose run was taken over; None where nothing had come of it."""
        assert checkpoints.logged is not None
        if checkpoints.saved is not None:
            state = await restore_turn(self, turn, bound_model, context, checkpoints)
        elif has_said_more(None, checkpoints.logged, is_done=False):
            state = None
        else:
            return None
        if state is None:
            state = TurnState(turn, bound_model, IdGenerator(), {}, ())
            state.finished, state.first_events = True, [RUN_RESTARTED]
        return state

    async def resume_turn(
        self,
        turn: Turn,
        bound_model: BoundModel,
        claim: ContinuationClaim,
        results: Mapping[str, str],
        context: int | None,
    ) -> TurnState:
        """Return the state of a turn that answers a continuation."""
        continuation = claim.continuation
        if turn.answers and not await self.has_same_tools(continuation):
            raise ContinuationGone(get_sentence("assistant_changed", turn.get_language()))
        before_run, after_run = split_at_run(turn.messages, continuation.ticket)
        state = TurnState(
            turn,
            bound_model,
            IdGenerator(continuation.ticket, continuation.number),
            await self.collect_tools(turn, continuation.added),
            history=before_run,
            turn_messages=list(continuation.added[:-1]),
            later_messages=tuple(message for message in after_run if message.role != "tool"),
            rounds=continuation.rounds,
            rounds_before=continuation.rounds,
            context=context,
        )
        state.batch = self.make_batch(state, continuation.added[-1])
        await resume_batch(state.batch, claim, bound_model.model, results)
        return state

    def choose_model(self, turn: Turn) -> BoundModel:
        """Return the model that the client chose, where it may; a sub-run uses the assistant's own."""
        models = self.assistant.models
        if not turn.model or not models or turn.depth:
            return self.bound_model
        if turn.model not in models:
            raise CallerError(
                f"{self.assistant.name} may not use the model {turn.model[:64]!r}. Choose one of: {', '.join(models)}.",
                param="model",
            )
        return models[turn.model]

    async def collect_tools(self, turn: Turn, turn_messages: Sequence[Message] = ()) -> dict[str, Tool]:
        """Return the tools of this turn: server tools first; a client tool never shadows one. A tool whose call
        waits in the turn stays."""
        waiting = {call.name for message in turn_messages for call in message.calls}
        tools = {
            tool.name: tool
            for tool in self.assistant.tools
            if tool.is_offered is None or tool.name in waiting or tool.is_offered(turn)
        }
        if self.assistant.toolset is not None and turn.raw is None:
            await self.assistant.toolset.add_tools(tools, turn, turn_messages)
        # A server tool that is not offered in this turn does not take its name from the client.
        toolset: Container[str] = self.assistant.toolset or ()
        for spec in turn.tools:
            if spec.name not in toolset:
                tools.setdefault(spec.name, make_client_tool(spec, turn.client.convert_arguments))
        return tools

    async def has_same_tools(self, continuation: Continuation) -> bool:
        """Whether the tools that a continuation calls are those of its turn."""
        calls = continuation.added[-1].calls
        if continuation.digest != self.tools_fingerprint(calls) and self.assistant.toolset is not None:
            await self.assistant.toolset.wait_for_tools([call.name for call in calls])
        return continuation.digest == self.tools_fingerprint(calls)

    def tools_fingerprint(self, calls: Iterable[ToolCall]) -> str:
        """Return a hash of the tools; a change invalidates open questions."""
        toolset = self.assistant.toolset
        if toolset is None:
            return self.fingerprint
        return self.fingerprint + toolset.fingerprint(call.name for call in calls if call.name in toolset)

    def make_batch(self, state: TurnState, message: Message) -> ToolCallBatch:
        before_run = None
        if (checkpoints := get_checkpoints(state.turn)) is not None:
            fingerprint = self.tools_fingerprint(message.calls)
            before_run = BatchCheckpoint(checkpoints, state, self.assistant.name, fingerprint).save
        return ToolCallBatch(
            message,
            state.tools,
            state.turn,
            state.ids,
            self.store,
            timeout=self.assistant.tool_timeout,
            turn_messages=tuple(state.turn_messages),
            budget=self.result_budget(state, message),
            effect_rule=state.effect_rule,
            keeps_results=True,
            before_run=before_run,
        )

    def result_budget(self, state: TurnState, message: Message) -> int | None:
        """Return the tokens for each result of these calls: prompt and results stay within 80 % of the
        context window and leave room for the answer."""
        context = state.context
        prompt_tokens = prompt_budget(context, state.turn.settings)
        if context is None or prompt_tokens is None:
            return None
        messages = [*system_messages(self.assistant.system, state.turn), *state.history, *state.turn_messages, message]
        specs = (tool.spec for tool in state.tools.values())
        free_tokens = min(prompt_tokens, context * 4 // 5) - sum(minimum_tokens(messages, specs))
        return max(free_tokens // max(len(message.calls), 1), MIN_RESULT_TOKENS)

    async def run_tool_calls(self, state: TurnState, batch: ToolCallBatch) -> AsyncIterator[Event]:
        """Run the calls of the batch. A call that waits for a client or a person ends the turn."""
        async with closing(batch.run()) as events:
            async for event in events:
                yield event
        if batch.unsaved_results:
            await batch.save_unsaved_results()
        if batch.waiting_client_calls or batch.open_interrupts:
            state.finished = True
            fingerprint = self.tools_fingerprint(batch.message.calls)
            events_at_end = await pause_batch(
                batch,
                self.assistant.name,
                fingerprint,
                state.usage,
                state.rounds,
                reason="length" if state.truncated else "calls",
            )
            for event in events_at_end:
                yield event
            return
        if state.truncated:
            state.finished = True
            yield RunFinished("length", state.usage)
            return
        state.turn_messages += [*batch.to_messages(), *state.later_messages]
        state.batch, state.later_messages = None, ()

    def check_rounds(self, state: TurnState) -> None:
        if state.rounds >= self.assistant.rounds:
            raise TooManyRounds(
                f"Stopped after {state.rounds} rounds: the model kept calling tools. "
                "Ask for less at once, or raise `rounds` of this assistant."
            )

    def make_assembler(self, state: TurnState) -> EventAssembler:
        """Make the assembler of the next answer. An answer under a schema is buffered, unless the model
        enforces the schema."""
        clients = {name: tool.runs_on_client for name, tool in state.tools.items()}
        schema = state.turn.output_schema
        if schema is None or state.bound_model.model.capabilities.enforces_schema:
            assembler = EventAssembler(state.ids, clients)
        else:
            assembler = SchemaBufferedAssembler(state.ids, clients, schema)
        if self.assistant.shared_state is not None:
            state.state_writer = state.state_writer or self.assistant.shared_state.make_writer(state.turn)
            assembler.state_writer = state.state_writer
        return assembler

    def finish_answer(self, state: TurnState, assembler: EventAssembler) -> list[Event]:
        """Process a complete answer: end the turn, start its tool calls, or request a repair."""
        events = assembler.finish()
        answer = assembler.build_answer()
        if answer.usage is not None:
            state.usage = answer.usage + (state.usage or Usage())
        if isinstance(assembler, SchemaBufferedAssembler):
            problem = assembler.find_problem(answer)
            if problem is not None:
                self.request_repair(state, answer, problem)
                return events
            # Beside a call there is no answer yet, and a client parses all text of the turn as one value.
            if not answer.message.calls:
                events += assembler.buffered_events
        state.truncated = answer.reason == "length"
        if answer.message.calls:
            state.batch = self.make_batch(state, answer.message)
            events += state.batch.begin(answer.streamed_calls, answer.unchecked_calls)
            if state.state_writer is not None:
                events += state.state_writer.settle(state.batch.message.calls, state.batch.early_results)
            return events
        if state.state_writer is not None:
            events += state.state_writer.settle(())
        state.finished = True
        finished = RunFinished(cast(RunFinishReason, answer.reason), state.usage, report=assembler.report)
        return [*events, *self.make_suggestions(state), finished]

    def make_suggestions(self, state: TurnState) -> list[Event]:
        """Return suggested questions, with the first answer of a conversation only."""
        questions = self.assistant.suggestions
        if not questions or state.turn.depth or any(m.role == "assistant" for m in state.history):
            return []
        asked_already = {message.text.strip() for message in state.history}
        others = tuple(question for question in questions if question not in asked_already)[:MAX_SUGGESTIONS]
        return [Suggestions(others)] if others else []

    def request_repair(self, state: TurnState, answer: ModelAnswer, problem: str) -> None:
        """Let the model answer once more; raise OutputInvalid after the second failure."""
        if state.repaired:
            raise OutputInvalid(f"The model's answer does not match the requested schema: {problem}"[:500])
        state.repaired = True
        state.turn_messages += repair_messages(answer, problem)

    async def build_prompt(self, state: TurnState) -> Prompt:
        turn = state.turn
        if turn.raw is not None:
            return Prompt(messages=turn.messages, raw=turn.raw, settings=turn.settings, conversation=turn.conversation)
        messages = [
            *system_messages(self.assistant.system, turn),
            *await self.history_with_stored_results(state),
            *state.turn_messages,
        ]
        # tool_choice applies to the first answer only: "required" in every round would never end.
        is_first_answer = state.rounds == state.rounds_before
        choice = turn.tool_choice if is_first_answer else ToolChoice(allowed=turn.tool_choice.allowed)
        specs = () if choice.mode == "none" else tuple(tool.spec for tool in select_offered_tools(state, choice))
        if self.assistant.toolset is not None:
            messages = name_unreadable_files(messages, state.bound_model.model.capabilities)
        prompt = Prompt(
            messages=tuple(await run_sized(measure_messages(messages), pair_calls_with_results, messages)),
            tools=specs,
            tool_choice=choice,
            output_schema=turn.output_schema,
            settings=turn.settings,
            conversation=turn.conversation or turn.client.session or turn.thread or None,
            parent=turn.client.parent,
            known_answer=turn.known_answer if state.bound_model.model.capabilities.needs_rules else "",
        )
        prompt = await self.fit_prompt(state, prompt)
        return fit_to_capabilities(prompt, state.bound_model.model.capabilities, self.assistant.vision_models)

    async def fit_prompt(self, state: TurnState, prompt: Prompt) -> Prompt:
        """Return the prompt without the oldest turns that do not fit, and with an answer that fits beside it."""
        model = state.bound_model
        if (state.turn.truncation or self.assistant.truncation) == "auto":
            state.beginning = hash_beginning(prompt.messages)
            fitted = await self.fitter.fit(model, prompt, state.context)
            if fitted.dropped:
                state.cut = {"dropped": len(fitted.dropped), "context": state.context}
                prompt = replace(prompt, messages=tuple(fitted.messages))
                if self.summaries is not None:
                    prompt = await self.add_summary(state, prompt, fitted.dropped)
        else:
            await self.fitter.check_fits(model, prompt, state.context)
        limits = [limit for limit in (model.model.capabilities.max_output, state.answer_limit) if limit is not None]
        size = measure_messages(prompt.messages) if prompt.settings.max_tokens else 0
        most = min(limits, default=None)
        settings = await run_sized(size, cap_answer, prompt.settings, prompt, state.context, most)
        return replace(prompt, settings=settings)

    async def add_summary(self, state: TurnState, prompt: Prompt, dropped: Sequence[Message]) -> Prompt:
        """Return the prompt with a summary of the dropped messages, if the model gives one."""
        assert self.summaries is not None
        summary, usage = await self.summaries.summarise(state.bound_model.model, dropped, state.context)
        state.usage = (state.usage or Usage()) + usage if usage is not None else state.usage
        if summary is None:
            return prompt
        state.cut = {**(state.cut or {}), "summarised": True}
        return insert_summary(prompt, summary)

    async def learn_refusal(self, state: TurnState, prompt: Prompt, error: ContextTooLong) -> None:
        """Prepare a shorter prompt after the model refused this one; raise the error if there is none."""
        model = state.bound_model
        state.refusals += 1
        refuses = (state.turn.truncation or self.assistant.truncation) == "disabled"
        counter = find_protocol(model.model, CountsTokens)
        if prompt.raw is not None:
            raise error
        if refuses or state.refusals > MAX_REFUSALS:
            raise await add_largest_part(error, prompt, counter) from error
        if state.answer_limit is None and (limit := find_answer_limit(prompt, error)) is not None:
            state.answer_limit = limit
            return
        await self.fitter.learn_refusal(model, prompt, error, state.beginning)
        try:
            shorter = await self.build_prompt(state)
        except ContextTooLong:
            shorter = prompt
        if len(shorter.messages) >= len(prompt.messages):
            raise await add_largest_part(error, prompt, counter) from error

    async def history_with_stored_results(self, state: TurnState) -> list[Message]:
        """Return the posted history with the results of server calls from the store."""
        call_ids = {m.call_id for m in state.history if m.role == "tool" and m.call_id}
        # Those without a result too: a crash may have come between the result and its client.
        call_ids.update(call.id for m in state.history for call in m.calls if parse_resume_token(call.id))
        if not self.can_ask or not call_ids:
            return list(state.history)
        try:
            stored_results = await self.store.get_results(state.turn.owner, list(call_ids))
        except StoreFailed:
            # As after their time: the model is told that they are no longer held.
            log.warning("results of earlier calls cannot be read: the store failed")
            stored_results = {}
        client_tools = frozenset(name for name, tool in state.tools.items() if tool.runs_on_client)
        return use_stored_results(state.history, self.server_tools.without(client_tools), stored_results)


def select_offered_tools(state: TurnState, choice: ToolChoice) -> list[Tool]:
    """Return the tools that the model may call: after words that ask for nothing, only those without an effect."""
    tools = list(state.tools.values())
    if state.effect_rule != "refuse" or choice.mode != "auto":
        return tools
    return [tool for tool in tools if tool.runs_on_client or tool.effect == "reads"]


def tell_cut(state: TurnState) -> list[Event]:
    """Return the event that tells of dropped messages, once in a turn."""
    if state.cut is None or state.cut_told:
        return []
    state.cut_told = True
    log.info("the %(dropped)d oldest messages do not fit into the context window and are left out", state.cut)
    return [Custom("history_cut", state.cut)]


def system_messages(system: str, turn: Turn) -> list[Message]:
    """Return the assistant's system prompt and the application's context as messages."""
    messages = [text_message("system", system)] if system else []
    if turn.context:
        lines = "\n".join(f"- {item.description}: {item.value}" for item in turn.context)
        messages.append(text_message("system", f"{CONTEXT_HEADING}\n{lines}"))
    return messages
