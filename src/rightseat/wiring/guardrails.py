"""Guardrails of each assistant from [guardrails]."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rightseat.config.guardrails import GuardSettings, ValidatorSettings
from rightseat.config.loading import load
from rightseat.config.settings import Config
from rightseat.errors import CallerError, ConfigError
from rightseat.middleware.fallback import Member
from rightseat.middleware.guardrails.checks import Local, Remote
from rightseat.middleware.guardrails.judge import Judge
from rightseat.middleware.guardrails.layer import Guards
from rightseat.middleware.guardrails.patterns import Patterns, anchored
from rightseat.middleware.guardrails.personal import KINDS
from rightseat.middleware.guardrails.rules import Guard, Lists, Untrusted
from rightseat.middleware.guardrails.verdict import Check, Direction
from rightseat.middleware.guardrails.words import Words
from rightseat.types.schema import checker

DEFAULT = "default"
Named = Callable[[str], Member]
DIRECTIONS: Mapping[str, tuple[Direction, ...]] = {
    "input": ("input",),
    "output": ("output",),
    "both": ("input", "output"),
}


def guards(config: Config, model: Named) -> Guards:
    """Make the guards of all assistants. `model` finds a model by its name in [models]."""
    made: dict[str, Guard] = {}
    for name, settings in config.guardrails.items():
        try:
            made[name] = guard(settings, model)
        except ConfigError as error:
            raise ConfigError(f"[guardrails.{name}] in {config.path}: {error.message}") from error
    named = {
        name: made[assistant.guardrails]
        for name, assistant in config.assistants.items()
        if assistant.guardrails
    }
    first = next(iter(config.assistants), None)
    # Without an assistant called default the first one answers to that name, with its own guard.
    if first in named and DEFAULT not in config.assistants:
        named[DEFAULT] = named[first]
    return Guards(made.get(DEFAULT) or Guard(), named)


def guard(settings: GuardSettings, model: Named) -> Guard:
    given, said = settings.input, settings.output
    if wrong := next((one for one in said.patterns if anchored(one)), None):
        raise ConfigError(
            f"output.patterns: {wrong!r}: an answer has no beginning or end yet. Leave out ^ and $."
        )
    topics = settings.topics
    return Guard(
        input=Lists(
            deny=Words(given.deny),
            topics=words(topics, given.deny_topics),
            allow=Words([*given.allow, *(word for name in given.allow_topics for word in topics[name])]),
            patterns=patterns("input.patterns", given.patterns),
            max_chars=given.max_chars,
            max_tokens=given.max_tokens,
            refused=kinds(given.refuse),
            redacted=kinds(given.redact),
        ),
        output=Lists(
            deny=Words(said.deny),
            topics=words(topics, said.deny_topics),
            patterns=patterns("output.patterns", said.patterns),
            window=said.window,
            max_chars=said.max_chars,
            refused=kinds(said.refuse),
            redacted=kinds(said.redact),
        ),
        refusal=settings.refusal,
        replacement=said.replacement,
        schema=schema(said.schema),
        untrusted=Untrusted(
            mark=settings.mark_untrusted,
            redacted=kinds(settings.redact_results),
            confirm=settings.confirm_after_untrusted,
        ),
        checks=(*judges(settings, model), *(check(*one, settings) for one in settings.validators.items())),
    )


def words(topics: Mapping[str, tuple[str, ...]], names: tuple[str, ...]) -> Words:
    """Return the names and words of the topics."""
    return Words([*names, *(word for name in names for word in topics[name])])


def patterns(key: str, given: tuple[str, ...]) -> Patterns:
    try:
        return Patterns(given)
    except ConfigError as error:
        raise ConfigError(f"{key}: {error.message}") from error


def kinds(given: tuple[str, ...]) -> tuple[str, ...]:
    return KINDS if "all" in given else tuple(kind for kind in KINDS if kind in given)


def schema(given: dict[str, Any]) -> dict[str, Any] | None:
    if not given:
        return None
    try:
        checker(given)
    except CallerError as error:
        raise ConfigError(f"output.schema: {error.message}") from error
    return given


def judges(settings: GuardSettings, model: Named) -> list[Check]:
    if not settings.judge:
        return []
    given = settings.input
    judging = model(settings.judge)
    judge = Judge(
        judging.model,
        judging.source,
        deny={name: settings.topics[name] for name in given.deny_topics},
        allow={name: settings.topics[name] for name in given.allow_topics} | dict.fromkeys(given.allow, ()),
        seconds=settings.judge_timeout,
        failing=settings.judge_failure,
    )
    return [judge]


def check(name: str, validator: ValidatorSettings, settings: GuardSettings) -> Check:
    directions = DIRECTIONS[validator.direction]
    if validator.url:
        given = settings.input
        return Remote(
            name,
            validator.url,
            key=validator.key,
            topics=((*given.allow_topics, *given.allow), given.deny_topics),
            directions=directions,
            seconds=validator.timeout,
            failing=validator.on_failure,
        )
    found: Any = load(validator.target)
    if not callable(found):
        raise ConfigError(f"validators.{name}: {validator.target} is a {type(found).__name__}, no function.")
    return Local(name, found, directions=directions, seconds=validator.timeout, failing=validator.on_failure)
