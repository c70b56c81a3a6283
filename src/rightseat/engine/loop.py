"""The model ⇄ tool loop: one assistant as a Responder.

A turn starts new or resumes a Continuation: a client sends the result of its call, a person answers a
question. The posted messages are the history, because clients edit and branch; the run's own messages and
the results of server calls come from the Continuation, never from the client.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import AsyncIterator, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

import msgspec

from rightseat.engine.artifacts import presented
from rightseat.engine.assembler import Answered, Assembly
from rightseat.engine.fitting import fitting
from rightseat.engine.held import Held, repair
from rightseat.engine.history import after, before, fitted, least, noted, paired, tail_results, trusted
from rightseat.engine.tool_calls import Batch
from rightseat.errors import CallerError, ContinuationGone, OutputInvalid, TooManyRounds
from rightseat.types.capabilities import Seat, sees
from rightseat.types.events import Artifact, Custom, Event, Reason, RunFinished, Suggestions, Usage
from rightseat.types.messages import Call, Message, said
from rightseat.types.model import Model, Prompt, ToolChoice
from rightseat.types.stores import LIFETIME, Continuation, Ids, Store, ticket_of
from rightseat.types.streams import closing
from rightseat.types.tools import Tool, ToolSource, client_tool, toolset
from rightseat.types.turn import MAX_DEPTH, Turn

ANSWER_TOKENS = 1024
MOST_SUGGESTED = 5
LEAST_RESULT = 200


@dataclass(frozen=True, slots=True)
class Assistant:
    name: str
    model: Model
    system: str = ""
    tools: tuple[Tool, ...] = ()
    title: str = ""
    description: str = ""
    image: str = ""
    rounds: int = 10
    tool_timeout: float = 60.0
    context: int | None = None
    agents: tuple[str, ...] = ()
    """Names of agents, flows and assistants that it may hand requests over to."""
    source: ToolSource | None = None
    """Further tools; each turn gets a selection."""
    models: Mapping[str, Seat] = field(default_factory=dict)
    """Models that a client may choose, by name; if empty, the client's choice is ignored."""
    seeing: tuple[str, ...] = ()
    """Models that take images, suggested when its own model does not."""

    @property
    def sees(self) -> bool:
        """Whether the model takes images."""
        return sees(self.model)

    @property
    def room(self) -> int | None:
        """Context window in tokens: as configured, else as known of the model."""
        known: int | None = getattr(self.model, "context", None)
        return Seat.of(self.model, self.context or known).context

    @property
    def every(self) -> tuple[Model, ...]:
        """The default model and those that a client may choose."""
        return (self.model, *(seat.model for seat in self.models.values()))

    @property
    def equipped(self) -> bool:
        """Whether it has tools that may take attached files."""
        return self.source is not None

    @property
    def groups(self) -> dict[str, str]:
        """The plugins that a turn can be limited to: id → name."""
        return self.source.groups if self.source else {}

    @property
    def suggestions(self) -> tuple[str, ...]:
        """Suggested questions."""
        return self.source.questions if self.source else ()

    @property
    def server(self) -> Container[str]:
        """Names of all server tools, selected for a turn or not."""
        return Names(frozenset(tool.name for tool in self.tools), self.source or ())


@dataclass(frozen=True, slots=True)
class Names:
    own: Container[str]
    others: Container[str]

    def __contains__(self, name: object) -> bool:
        return name in self.own or name in self.others


@dataclass(slots=True)
class Talk:
    """State of a running turn: posted `history`, new `turn_messages`, current `batch` of calls."""

    turn: Turn
    seat: Seat
    ids: Ids
    tools: dict[str, Tool]
    history: tuple[Message, ...]
    added: list[Message] = field(default_factory=list)
    later: tuple[Message, ...] = ()
    batch: Batch | None = None
    rounds: int = 0
    begun: int = 0
    """Rounds before this request, in a resumed turn."""
    usage: Usage | None = None
    dropped: int = 0
    over: bool = False
    repaired: bool = False


class Engine:
    def __init__(self, assistant: Assistant, store: Store) -> None:
        self.assistant = assistant
        self.store = store
        # Computed once, so that a turn costs the same with ten tools and with thousands.
        self.server = assistant.server
        self.seat = Seat.of(assistant.model, assistant.context)
        specs = msgspec.json.encode([tool.spec for tool in assistant.tools])
        self.seal = hashlib.sha256(specs).hexdigest()[:16]
        # Only server tools can ask a person.
        self.can_ask = bool(assistant.tools) or assistant.source is not None

    async def __call__(self, turn: Turn) -> AsyncIterator[Event]:
        if turn.depth > MAX_DEPTH:
            raise CallerError(f"Assistants call each other more than {MAX_DEPTH} deep. Break the circle.")
        talk = await self.begin(turn)
        while not talk.over:
            if talk.batch is not None:
                async with closing(self.carry_out(talk, talk.batch)) as events:
                    async for event in events:
                        yield event
                continue
            # Inlined: a generator of its own would cost time for every token.
            self.check_rounds(talk)
            prompt, dropped = await self.prompt(talk)
            talk.rounds += 1
            if dropped > talk.dropped:
                talk.dropped = dropped
                yield Custom("history_cut", {"dropped": dropped, "context": talk.seat.context})
            desk = self.desk(talk)
            async with closing(talk.seat.model.stream(prompt)) as fragments:
                async for fragment in fragments:
                    for event in desk.take(fragment):
                        yield event
            for event in self.conclude(talk, desk):
                yield event

    async def begin(self, turn: Turn) -> Talk:
        """Return the state of the turn: resumed if it answers a continuation, else new."""
        seat = self.chosen(turn)
        if self.assistant.source is not None and turn.raw is None:
            turn = self.assistant.source.asked(turn)
        results = tail_results(turn.messages)
        kept = await self.take(turn, results)
        if kept is None:
            if turn.answers:
                raise ContinuationGone(
                    "This question was answered before, or it has expired. Please ask again."
                )
            return Talk(turn, seat, Ids(), await self.tools(turn), turn.messages)
        if turn.answers and kept.digest != self.digest(kept.added[-1].calls):
            raise ContinuationGone("The assistant has changed since it asked. Please ask again.")
        talk = Talk(
            turn,
            seat,
            Ids(kept.ticket, kept.number),
            await self.tools(turn, kept.added),
            history=before(turn.messages, kept.ticket),
            added=list(kept.added[:-1]),
            later=tuple(m for m in after(turn.messages, kept.ticket) if m.role != "tool"),
            rounds=kept.rounds,
            begun=kept.rounds,
        )
        batch = talk.batch = self.batch(talk, kept.added[-1])
        batch.kept = dict(kept.calls)
        batch.receive(results)
        await batch.hear({answer.interrupt: answer for answer in turn.answers}, seat.model)
        return talk

    def chosen(self, turn: Turn) -> Seat:
        """Return the model that the client chose, where it may; a sub-run uses the assistant's own."""
        models = self.assistant.models
        if not turn.model or not models or turn.depth:
            return self.seat
        if turn.model not in models:
            raise CallerError(
                f"{self.assistant.name} does not answer with the model {turn.model[:64]!r}. "
                f"Choose one of: {', '.join(models)}.",
                param="model",
            )
        return models[turn.model]

    async def tools(self, turn: Turn, added: Sequence[Message] = ()) -> dict[str, Tool]:
        """Return the tools of this turn: server tools first; a client tool never shadows one."""
        source = self.assistant.source
        if source is None or turn.raw is not None:
            return toolset(self.assistant.tools, turn.tools)
        tools = toolset(self.assistant.tools, ())
        await source.offer(tools, turn, added)
        for spec in turn.tools:
            if spec.name not in source:
                tools.setdefault(spec.name, client_tool(spec))
        return tools

    def digest(self, calls: Iterable[Call]) -> str:
        """Return a hash of the tools; a change invalidates open questions."""
        source = self.assistant.source
        theirs = source.digest(call.name for call in calls if call.name in source) if source else ""
        return f"{self.seal}{theirs}"

    async def take(self, turn: Turn, results: dict[str, str]) -> Continuation | None:
        """Take the continuation that this turn answers; one that it does not answer stays in the store."""
        brought = {*results, *(answer.interrupt for answer in turn.answers)}
        for ticket in {ticket for ticket in map(ticket_of, brought) if ticket}:
            kept = await self.store.take(turn.owner, ticket)
            if kept is None:
                continue
            waits = {id for id, call in kept.calls.items() if call.client and call.result is None}
            asked = {question.interrupt.id for call in kept.calls.values() for question in call.open}
            if kept.assistant == self.assistant.name and brought & (waits | asked):
                return kept
            await self.store.save(kept)
        return None

    def batch(self, talk: Talk, message: Message) -> Batch:
        return Batch(
            message,
            talk.tools,
            talk.turn,
            talk.ids,
            timeout=self.assistant.tool_timeout,
            said=tuple(talk.added),
            budget=self.budget(talk, message),
        )

    def budget(self, talk: Talk, message: Message) -> int | None:
        """Return the tokens for each result of these calls: prompt and results stay within 80 % of the
        context window and leave room for the answer."""
        context = talk.seat.context
        room = prompt_room(context, talk.turn)
        if context is None or room is None:
            return None
        messages = [*instructions(self.assistant.system, talk.turn), *talk.history, *talk.added, message]
        specs = (tool.spec for tool in talk.tools.values())
        left = min(room, context * 4 // 5) - least(messages, specs)
        return max(left // max(len(message.calls), 1), LEAST_RESULT)

    async def carry_out(self, talk: Talk, batch: Batch) -> AsyncIterator[Event]:
        """Run the calls of the batch. A call that waits for a client or a person ends the turn."""
        async with closing(batch.run()) as events:
            async for event in events:
                if isinstance(event, Artifact):
                    for part in await presented(event, talk.turn, self.store):
                        yield part
                else:
                    yield event
        await self.store.remember(talk.turn.owner, batch.server_results())
        if batch.waiting or batch.questions:
            talk.over = True
            for event in await self.pause(talk, batch):
                yield event
            return
        talk.added += [*batch.messages(), *talk.later]
        talk.batch, talk.later = None, ()

    def check_rounds(self, talk: Talk) -> None:
        if talk.rounds >= self.assistant.rounds:
            raise TooManyRounds(
                f"Stopped after {talk.rounds} rounds: the model kept calling tools. "
                "Ask for less at once, or raise `rounds` of this assistant."
            )

    def desk(self, talk: Talk) -> Assembly:
        """Make the assembler of the next answer. An answer under a schema is buffered, unless the model
        enforces the schema."""
        clients = {name: tool.client for name, tool in talk.tools.items()}
        schema = talk.turn.output_schema
        if schema is None or getattr(talk.seat.model, "enforces_schema", False):
            return Assembly(talk.ids, clients)
        return Held(talk.ids, clients, schema)

    def conclude(self, talk: Talk, desk: Assembly) -> list[Event]:
        """Process a complete answer: end the turn, start its tool calls, or request a repair."""
        events = desk.end()
        answered = desk.answered()
        if answered.usage is not None:
            talk.usage = answered.usage + (talk.usage or Usage())
        if isinstance(desk, Held):
            problem = desk.problem(answered)
            if problem is not None:
                self.repair(talk, answered, problem)
                return events
            events += desk.events
        if answered.message.calls:
            talk.batch = self.batch(talk, answered.message)
            return events + talk.batch.begin(answered.shown)
        talk.over = True
        return [*events, *self.suggested(talk), RunFinished(cast(Reason, answered.reason), talk.usage)]

    def suggested(self, talk: Talk) -> list[Event]:
        """Return suggested questions, with the first answer of a conversation only."""
        questions = self.assistant.suggestions
        if not questions or talk.turn.depth or any(m.role == "assistant" for m in talk.history):
            return []
        asked = {message.text.strip() for message in talk.history}
        others = tuple(question for question in questions if question not in asked)[:MOST_SUGGESTED]
        return [Suggestions(others)] if others else []

    def repair(self, talk: Talk, answered: Answered, problem: str) -> None:
        """Let the model answer once more; raise OutputInvalid after the second failure."""
        if talk.repaired:
            raise OutputInvalid(f"The model did not answer in the form that was asked for: {problem}"[:500])
        talk.repaired = True
        talk.added += repair(answered, problem)

    async def prompt(self, talk: Talk) -> tuple[Prompt, int]:
        turn = talk.turn
        if turn.raw is not None:
            return Prompt(messages=turn.messages, raw=turn.raw, settings=turn.settings), 0
        messages = [*instructions(self.assistant.system, turn), *await self.believed(talk), *talk.added]
        # tool_choice applies to the first answer only: "required" in every round would never end.
        choice = turn.tool_choice if talk.rounds == talk.begun else ToolChoice()
        specs = () if choice.mode == "none" else tuple(tool.spec for tool in talk.tools.values())
        if self.assistant.source is not None:
            messages = noted(messages, text_only=getattr(talk.seat.model, "text_only", False))
        shown, dropped = fitted(paired(messages), specs, prompt_room(talk.seat.context, turn))
        prompt = Prompt(
            messages=tuple(shown),
            tools=specs,
            tool_choice=choice,
            output_schema=turn.output_schema,
            settings=turn.settings,
            conversation=turn.conversation or turn.session or turn.thread or None,
            parent=turn.parent,
        )
        return fitting(prompt, talk.seat.abilities, self.assistant.seeing), dropped

    async def believed(self, talk: Talk) -> list[Message]:
        """Return the posted history with the results of server calls from the store."""
        posted = [m.call_id for m in talk.history if m.role == "tool" and m.call_id]
        if not self.can_ask or not posted:
            return list(talk.history)
        return trusted(talk.history, self.server, await self.store.recall(talk.turn.owner, posted))

    async def pause(self, talk: Talk, batch: Batch) -> list[Event]:
        """Save a continuation and return the events that end the turn."""
        continuation = Continuation(
            ticket=talk.ids.ticket,
            owner=talk.turn.owner,
            assistant=self.assistant.name,
            added=(*talk.added, batch.message),
            calls=batch.kept,
            rounds=talk.rounds,
            number=talk.ids.number,
            digest=self.digest(batch.message.calls),
            expires=time.time() + LIFETIME,
        )
        await self.store.save(continuation)
        reason: Reason = "interrupt" if batch.questions else "calls"
        return [*batch.questions, RunFinished(reason, talk.usage, batch.waiting)]


def prompt_room(context: int | None, turn: Turn) -> int | None:
    """Return the tokens that the prompt may take, without the part reserved for the answer."""
    if context is None:
        return None
    return context - min(turn.settings.max_tokens or ANSWER_TOKENS, context // 4)


def instructions(system: str, turn: Turn) -> list[Message]:
    """Return the assistant's system prompt and the application's context as messages."""
    messages = [said("system", system)] if system else []
    if turn.context:
        lines = "\n".join(f"- {item.description}: {item.value}" for item in turn.context)
        messages.append(said("system", f"Context from the application:\n{lines}"))
    return messages
