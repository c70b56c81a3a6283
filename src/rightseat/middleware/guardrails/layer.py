"""Guardrails as a Layer: input is checked before the run, output while it streams."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from rightseat.middleware.guardrails.asking import ModelLookup, apply_local_rules, needs_checks, run_checks
from rightseat.middleware.guardrails.judge import TopicJudge
from rightseat.middleware.guardrails.rules import GuardrailPolicy
from rightseat.middleware.guardrails.speaking import has_output_rules, stream_filtered
from rightseat.middleware.model_info import ModelWrapper
from rightseat.types.events import Event
from rightseat.types.responder import Layer, Responder
from rightseat.types.streams import closing
from rightseat.types.turn import ClientTopics, Turn

NO_TOPICS = ClientTopics()


class GuardrailPolicies(Struct, frozen=True):
    """Policies by assistant; `default` applies to all others."""

    default: GuardrailPolicy = GuardrailPolicy()
    named: Mapping[str, GuardrailPolicy] = {}

    def for_assistant(self, assistant: str | None) -> GuardrailPolicy:
        return self.named.get(assistant or "default", self.default)

    def with_wrapped_models(self, wrap: ModelWrapper) -> GuardrailPolicies:
        """Return a copy whose judge models are wrapped."""

        def wrap_policy(guard: GuardrailPolicy) -> GuardrailPolicy:
            checks = (
                check.with_wrapped_model(wrap) if isinstance(check, TopicJudge) else check
                for check in guard.checks
            )
            return replace(guard, checks=tuple(checks))

        return GuardrailPolicies(
            wrap_policy(self.default), {name: wrap_policy(guard) for name, guard in self.named.items()}
        )

    async def close(self) -> None:
        for guard in (self.default, *self.named.values()):
            for check in guard.checks:
                await check.close()


def guardrails(guards: GuardrailPolicies, find_model: ModelLookup) -> Layer:
    """Layer that applies the policies. `find_model` returns an assistant's model, for counting tokens."""

    def layer(inner: Responder) -> Responder:
        def respond(turn: Turn) -> AsyncIterator[Event]:
            guard = guards.for_assistant(turn.assistant)
            if not guard and turn.topics == NO_TOPICS:
                return inner(turn)
            turn = apply_turn_settings(guard, apply_local_rules(guard, turn))
            if needs_checks(guard):
                return stream_after_checks(inner, guard, turn, find_model)
            # Without output rules, no generator of its own: it would cost time for each token.
            return stream_filtered(inner(turn), guard, turn) if has_output_rules(guard) else inner(turn)

        return respond

    return layer


def apply_turn_settings(guard: GuardrailPolicy, turn: Turn) -> Turn:
    """Return the turn with the policy's output schema and tool confirmation."""
    if guard.schema is not None and turn.output_schema is None and turn.raw is None and not turn.depth:
        turn = replace(turn, output_schema=guard.schema)
    if guard.untrusted.confirm != turn.confirm_after_untrusted and guard.untrusted.confirm != "off":
        turn = replace(turn, confirm_after_untrusted=guard.untrusted.confirm)
    return turn


async def stream_after_checks(
    inner: Responder, guard: GuardrailPolicy, turn: Turn, find_model: ModelLookup
) -> AsyncIterator[Event]:
    turn = await run_checks(guard, turn, find_model)
    events = inner(turn)
    async with closing(stream_filtered(events, guard, turn) if has_output_rules(guard) else events) as stream:
        async for event in stream:
            yield event
