"""Guardrails as a Layer: input is checked before the run, output while it streams."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from rightseat.middleware.guardrails.asking import ModelOf, admitted, checked, waits
from rightseat.middleware.guardrails.judge import Judge
from rightseat.middleware.guardrails.rules import Guard
from rightseat.middleware.guardrails.speaking import screened, speaks
from rightseat.middleware.model_info import Watch
from rightseat.types.events import Event
from rightseat.types.responder import Layer, Responder
from rightseat.types.streams import closing
from rightseat.types.turn import Topics, Turn

NONE = Topics()


class Guards(Struct, frozen=True):
    """Policies by assistant; `default` applies to all others."""

    default: Guard = Guard()
    named: Mapping[str, Guard] = {}

    def of(self, assistant: str | None) -> Guard:
        return self.named.get(assistant or "default", self.default)

    def watched(self, watch: Watch) -> Guards:
        """Return a copy whose judge models are wrapped."""

        def seen(guard: Guard) -> Guard:
            checks = (check.watched(watch) if isinstance(check, Judge) else check for check in guard.checks)
            return replace(guard, checks=tuple(checks))

        return Guards(seen(self.default), {name: seen(guard) for name, guard in self.named.items()})

    async def close(self) -> None:
        for guard in (self.default, *self.named.values()):
            for check in guard.checks:
                await check.close()


def guardrails(guards: Guards, model: ModelOf) -> Layer:
    """Layer that applies the policies. `find_model` returns an assistant's model, for counting tokens."""

    def layer(inner: Responder) -> Responder:
        def respond(turn: Turn) -> AsyncIterator[Event]:
            guard = guards.of(turn.assistant)
            if not guard and turn.topics == NONE:
                return inner(turn)
            turn = arranged(guard, admitted(guard, turn))
            if waits(guard):
                return waited(inner, guard, turn, model)
            # Without output rules, no generator of its own: it would cost time for each token.
            return screened(inner(turn), guard, turn) if speaks(guard) else inner(turn)

        return respond

    return layer


def arranged(guard: Guard, turn: Turn) -> Turn:
    """Return the turn with the policy's output schema and tool confirmation."""
    if guard.schema is not None and turn.output_schema is None and turn.raw is None and not turn.depth:
        turn = replace(turn, output_schema=guard.schema)
    if guard.untrusted.confirm != turn.caution and guard.untrusted.confirm != "off":
        turn = replace(turn, caution=guard.untrusted.confirm)
    return turn


async def waited(inner: Responder, guard: Guard, turn: Turn, model: ModelOf) -> AsyncIterator[Event]:
    turn = await checked(guard, turn, model)
    events = inner(turn)
    async with closing(screened(events, guard, turn) if speaks(guard) else events) as stream:
        async for event in stream:
            yield event
