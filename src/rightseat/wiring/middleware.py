"""Guardrails of each assistant from [guardrails].

Hooks from [hooks]: the operator's own code around each run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rightseat.config.guardrails import GuardSettings, ValidatorSettings
from rightseat.config.loading import import_object
from rightseat.config.settings import Config
from rightseat.errors import CallerError, ConfigError
from rightseat.middleware.guardrails.checks import FunctionCheck, RemoteCheck, TopicJudge
from rightseat.middleware.guardrails.layer import GuardrailPolicies
from rightseat.middleware.guardrails.matchers import PatternList, WordList, is_anchored
from rightseat.middleware.guardrails.personal_data import DATA_KINDS
from rightseat.middleware.guardrails.rules import Check, Direction, GuardrailPolicy, TextRules, UntrustedResultRules
from rightseat.middleware.hooks import Hooks
from rightseat.middleware.model_wrappers import FallbackMember
from rightseat.types.schema import get_validator

DEFAULT = "default"
FindMember = Callable[[str], FallbackMember]

DIRECTIONS: Mapping[str, tuple[Direction, ...]] = {
    "input": ("input",),
    "output": ("output",),
    "both": ("input", "output"),
}


def make_guards(config: Config, model: FindMember) -> GuardrailPolicies:
    """Make the guards of all assistants. `model` finds a model by its name in [models]."""
    guards_by_name: dict[str, GuardrailPolicy] = {}
    for name, settings in config.guardrails.items():
        try:
            guards_by_name[name] = make_guard(settings, model)
        except ConfigError as error:
            raise ConfigError(f"[guardrails.{name}] in {config.path}: {error.message}") from error
    by_assistant = {
        name: guards_by_name[assistant.guardrails]
        for name, assistant in config.assistants.items()
        if assistant.guardrails
    }
    first = next(iter(config.assistants), None)
    # Without an assistant called default the first one answers to that name, with its own guard.
    if first in by_assistant and DEFAULT not in config.assistants:
        by_assistant[DEFAULT] = by_assistant[first]
    return GuardrailPolicies(guards_by_name.get(DEFAULT) or GuardrailPolicy(), by_assistant)


def make_guard(settings: GuardSettings, model: FindMember) -> GuardrailPolicy:
    input_settings, output_settings = settings.input, settings.output
    if wrong := next((one for one in output_settings.patterns if is_anchored(one)), None):
        raise ConfigError(f"output.patterns: {wrong!r}: an answer is checked while it streams. Leave out ^ and $.")
    topics = settings.topics
    return GuardrailPolicy(
        input=TextRules(
            deny=WordList(input_settings.deny),
            topics=topic_words(topics, input_settings.deny_topics),
            allow=WordList(
                [*input_settings.allow, *(word for name in input_settings.allow_topics for word in topics[name])]
            ),
            patterns=compile_patterns("input.patterns", input_settings.patterns),
            max_chars=input_settings.max_chars,
            max_tokens=input_settings.max_tokens,
            refused=expand_kinds(input_settings.refuse),
            redacted=expand_kinds(input_settings.redact),
        ),
        output=TextRules(
            deny=WordList(output_settings.deny),
            topics=topic_words(topics, output_settings.deny_topics),
            patterns=compile_patterns("output.patterns", output_settings.patterns),
            window=output_settings.window,
            max_chars=output_settings.max_chars,
            refused=expand_kinds(output_settings.refuse),
            redacted=expand_kinds(output_settings.redact),
        ),
        refusal=settings.refusal,
        replacement=output_settings.replacement,
        schema=check_schema(output_settings.schema),
        untrusted=UntrustedResultRules(
            mark=settings.mark_untrusted,
            redacted=expand_kinds(settings.redact_results),
            confirm=settings.confirm_after_untrusted,
        ),
        checks=(*make_judges(settings, model), *(make_check(*one, settings) for one in settings.validators.items())),
    )


def topic_words(topics: Mapping[str, tuple[str, ...]], names: tuple[str, ...]) -> WordList:
    """Return the names and words of the topics."""
    return WordList([*names, *(word for name in names for word in topics[name])])


def compile_patterns(key: str, given: tuple[str, ...]) -> PatternList:
    try:
        return PatternList(given)
    except ConfigError as error:
        raise ConfigError(f"{key}: {error.message}") from error


def expand_kinds(given: tuple[str, ...]) -> tuple[str, ...]:
    return DATA_KINDS if "all" in given else tuple(kind for kind in DATA_KINDS if kind in given)


def check_schema(given: dict[str, Any]) -> dict[str, Any] | None:
    if not given:
        return None
    try:
        get_validator(given)
    except CallerError as error:
        raise ConfigError(f"output.schema: {error.message}") from error
    return given


def make_judges(settings: GuardSettings, model: FindMember) -> list[Check]:
    if not settings.judge:
        return []
    given = settings.input
    judging = model(settings.judge)
    judge = TopicJudge(
        judging.model,
        judging.info,
        deny={name: settings.topics[name] for name in given.deny_topics},
        allow={name: settings.topics[name] for name in given.allow_topics} | dict.fromkeys(given.allow, ()),
        seconds=settings.judge_timeout,
        on_failure=settings.judge_failure,
    )
    return [judge]


def make_check(name: str, validator: ValidatorSettings, settings: GuardSettings) -> Check:
    directions = DIRECTIONS[validator.direction]
    if validator.url:
        input_settings = settings.input
        return RemoteCheck(
            name,
            validator.url,
            key=validator.key,
            topics=((*input_settings.allow_topics, *input_settings.allow), input_settings.deny_topics),
            directions=directions,
            seconds=validator.timeout,
            on_failure=validator.on_failure,
        )
    function: Any = import_object(validator.target)
    if not callable(function):
        raise ConfigError(f"validators.{name}: {validator.target} is a {type(function).__name__}, not a function.")
    return FunctionCheck(
        name, function, directions=directions, seconds=validator.timeout, on_failure=validator.on_failure
    )


HOOK_NAMES = ("on_before_request", "on_after_request", "on_error")


def make_hooks(config: Config) -> Hooks:
    return Hooks(timeout=config.hooks.timeout, **{name: load_hook(config, name) for name in HOOK_NAMES})


def load_hook(config: Config, name: str) -> Callable[[Any], Any] | None:
    target: str = getattr(config.hooks, name)
    if not target:
        return None
    try:
        hook: Any = import_object(target)
    except ConfigError as error:
        raise ConfigError(f"[hooks] in {config.path}: {name}: {error.message}") from error
    if not callable(hook):
        raise ConfigError(f"[hooks] in {config.path}: {name}: {target} is a {type(hook).__name__}, not a function.")
    checked: Callable[[Any], Any] = hook
    return checked
