"""Two people in one flow at once, whatever each does and when: neither sees anything of the other's."""

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from rightseat import Runtime
from rightseat.plugins.flows.responder import FlowResponder
from rightseat.plugins.flows.step_context import FlowServices
from rightseat.stores.memory import MemoryStore
from rightseat.types.chunks import FinishChunk, ModelChunk, TextChunk
from rightseat.types.events import Event, Interrupt
from rightseat.types.messages import text_message
from rightseat.types.model import Model, Prompt
from rightseat.types.streams import closing
from rightseat.types.tools import Pause, Result, Tool, ToolContext
from rightseat.types.turn import InterruptAnswer, Owner, Turn
from tests.kit.rounds import limit_rounds
from tests.unit.plugins.flows.conversations import make_flow

FLOW = """
name: f
description: d
steps:
  - name: start
    call_type: mine
    params: {list: [], note: {of: "{question}"}}
    next: both
  - name: both
    call_type: parallel
    params:
      branches:
        a: {call_type: mine, params: {list: [], note: {of: "{start}"}}}
        b: {call_type: ask, params: {question: "What of {start.seen}?"}}
    next: keep
  - {name: keep, call_type: mine, params: {list: ["{both}"], note: {}}, confirm: true, next: tell}
  - {name: tell, call_type: llm, params: {user_prompt: "{steps} {context} {question}"}}
"""
USERS = ("anna", "bert")
TOKEN = re.compile(r"token-(anna|bert)-")


async def run_careless_tool(args: dict[str, Any], ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
    """A careless tool: it writes into what it was given. If that were shared, the next would see it."""
    found = {"seen": f"token-{ctx.turn.owner.name}-seen", "got": [*args["list"], dict(args["note"])]}
    args["list"].append(f"token-{ctx.turn.owner.name}-list")
    args["note"]["left"] = f"token-{ctx.turn.owner.name}-note"
    await asyncio.sleep(0)
    yield Result(found)


class EchoModel(Model):
    async def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        for word in prompt.messages[-1].text.split(" "):
            await asyncio.sleep(0)
            yield TextChunk(f"{word} ")
        yield FinishChunk("stop")


class Users(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.store = MemoryStore()
        self.flow = make_flow(FLOW)
        schema = {"type": "object", "properties": {"list": {}, "note": {}}}
        tools = {"mine": Tool("mine", "", schema, run_careless_tool)}
        self.services = FlowServices(model=EchoModel(), operations={}, scripts=tools, flows={}, databases={})
        self.runtime = self.make_runtime()
        self.open: dict[str, list[Interrupt]] = {user: [] for user in USERS}
        self.seen: dict[str, list[str]] = {user: [] for user in USERS}

    def make_runtime(self) -> Runtime:
        responder = FlowResponder("p.f", self.flow, lambda flow, turn: self.services, self.store)
        return Runtime(agents={"p.f": responder}, store=self.store)

    async def turn(self, user: str, question: str, answers: tuple[InterruptAnswer, ...]) -> None:
        turn = Turn(
            messages=(text_message("user", question),),
            assistant="p.f",
            thread="same",
            owner=Owner(user),
            answers=answers,
        )
        self.open[user] = []
        async with closing(self.runtime.run(turn)) as events:
            async for event in events:
                self.seen[user].append(repr(event))
                if isinstance(event, Interrupt):
                    self.open[user].append(event)

    def list_answers(self, user: str, yes: bool) -> tuple[InterruptAnswer, ...]:
        def payload(one: Interrupt) -> Any:
            return {"approved": yes} if one.kind == "confirm" else f"token-{user}-answer"

        return tuple(InterruptAnswer(one.id, payload=payload(one)) for one in self.open[user])

    @rule(user=st.sampled_from(USERS))
    def ask(self, user: str) -> None:
        self.loop.run_until_complete(self.turn(user, "same question", ()))

    @rule(users=st.permutations(USERS), own=st.booleans())
    def ask_at_once(self, users: list[str], own: bool) -> None:
        async def both() -> None:
            words = {user: f"token-{user}-question" if own else "same question" for user in users}
            await asyncio.gather(*(self.turn(user, words[user], ()) for user in users))

        self.loop.run_until_complete(both())

    @rule(users=st.permutations(USERS), yes=st.booleans())
    def answer_at_once(self, users: list[str], yes: bool) -> None:
        async def both() -> None:
            replies = {user: self.list_answers(user, yes) for user in users}
            await asyncio.gather(*(self.turn(user, "same question", replies[user]) for user in users))

        self.loop.run_until_complete(both())

    @rule(thief=st.sampled_from(USERS))
    def answer_the_others_question(self, thief: str) -> None:
        other = USERS[1 - USERS.index(thief)]
        kept = self.open[other]
        stolen = tuple(InterruptAnswer(one.id, payload=f"token-{thief}-answer") for one in kept)
        self.loop.run_until_complete(self.turn(thief, "same question", stolen))
        self.open[other] = kept

    @rule()
    def restart(self) -> None:
        self.runtime = self.make_runtime()

    @invariant()
    def nobody_sees_the_other(self) -> None:
        for user, seen in self.seen.items():
            found = {name for text in seen for name in TOKEN.findall(text)}
            assert found <= {user}
            seen.clear()

    def teardown(self) -> None:
        self.loop.run_until_complete(self.runtime.close())
        self.loop.close()


@pytest.mark.demand("flows.params_never_shared_between")
def test_two_people_in_one_flow_never_see_each_others_data() -> None:
    run_state_machine_as_test(
        Users,
        settings=settings(
            max_examples=limit_rounds(25),
            stateful_step_count=15,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
