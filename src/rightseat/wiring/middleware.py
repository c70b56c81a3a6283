"""Guardrails of each assistant from [guardrails], and hooks from [hooks], the operator's own code around each run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from rightseat.config.guardrails import GuardSettings, InputSettings, OutputSettings, ValidatorSettings
from rightseat.config.imports import import_object
from rightseat.config.settings import Config
from rightseat.errors import CallerError, ConfigError
from rightseat.middleware.guardrails.checks import FunctionCheck, RemoteCheck, TopicJudge, TopicWords
from rightseat.middleware.guardrails.layer import GuardrailPolicies
from rightseat.middleware.guardrails.matchers import PatternList, WordList, is_anchored
from rightseat.middleware.guardrails.personal_data import DATA_KINDS
from rightseat.middleware.guardrails.rules import Check, Direction, GuardrailPolicy, TextRules, UntrustedResultRules
from rightseat.middleware.hooks import Hooks
from rightseat.middleware.model_wrappers import FallbackMember
from rightseat.runtime.runs import DEFAULT_ASSISTANT
from rightseat.types.schema import get_validator

FindMember = Callable[[str], FallbackMember]
HOOK_NAMES = ("on_before_request", "on_after_request", "on_error", "on_stop", "on_feedback")
DIRECTIONS: dict[str, tuple[Direction, ...]] = {"input": ("input",), "output": ("output",), "both": ("input", "output")}


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
    # Another assistant may answer to the name default, with its own guard.
    if not config.default_elsewhere and config.default_assistant in by_assistant:
        by_assistant[DEFAULT_ASSISTANT] = by_assistant[config.default_assistant]
    return GuardrailPolicies(guards_by_name.get(DEFAULT_ASSISTANT) or GuardrailPolicy(), by_assistant)


def make_guard(settings: GuardSettings, model: FindMember) -> GuardrailPolicy:
    if anchored := next(filter(is_anchored, settings.output.patterns), None):
        raise ConfigError(f"output.patterns: {anchored!r}: an answer is checked while it streams. Leave out ^ and $.")
    topics = settings.topics
    allowed_words = (word for name in settings.input.allow_topics for word in topics[name])
    return GuardrailPolicy(
        input=make_rules(
            settings.input,
            topics,
            allow=WordList([*settings.input.allow, *allowed_words]),
            patterns=compile_patterns("input.patterns", settings.input.patterns),
            max_tokens=settings.input.max_tokens,
        ),
        output=make_rules(
            settings.output,
            topics,
            patterns=compile_patterns("output.patterns", settings.output.patterns),
            window=settings.output.window,
        ),
        refusal=settings.refusal,
        replacement=settings.output.replacement,
        schema=check_schema(settings.output.schema),
        untrusted=UntrustedResultRules(
            mark=settings.mark_untrusted,
            redacted=expand_kinds(settings.redact_results),
            confirm=settings.confirm_after_untrusted,
        ),
        checks=(*make_judges(settings, model), *(make_check(*item, settings) for item in settings.validators.items())),
    )


def make_rules(settings: InputSettings | OutputSettings, topics: TopicWords, **rules: Any) -> TextRules:
    """Make the rules of one direction: those that both have, and `rules`."""
    return TextRules(
        deny=WordList(settings.deny),
        topics=WordList([word for name in settings.deny_topics for word in (name, *topics[name])]),
        max_chars=settings.max_chars,
        refused=expand_kinds(settings.refuse),
        redacted=expand_kinds(settings.redact),
        **rules,
    )


def compile_patterns(key: str, patterns: tuple[str, ...]) -> PatternList:
    try:
        return PatternList(patterns)
    except ConfigError as error:
        raise ConfigError(f"{key}: {error.message}") from error


def expand_kinds(kinds: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(kind for kind in DATA_KINDS if "all" in kinds or kind in kinds)


def check_schema(schema: dict[str, Any]) -> dict[str, Any] | None:
    if not schema:
        return None
    try:
        get_validator(schema)
    except CallerError as error:
        raise ConfigError(f"output.schema: {error.message}") from error
    return schema


def make_judges(settings: GuardSettings, model: FindMember) -> list[Check]:
    if not settings.judge:
        return []
    rules, topics = settings.input, settings.topics
    member = model(settings.judge)
    judge = TopicJudge(
        member.model,
        member.info,
        deny={name: topics[name] for name in rules.deny_topics},
        allow={name: topics[name] for name in rules.allow_topics} | dict.fromkeys(rules.allow, ()),
        seconds=settings.judge_timeout,
        on_failure=settings.judge_failure,
    )
    return [judge]


def make_check(name: str, validator: ValidatorSettings, settings: GuardSettings) -> Check:
    directions = DIRECTIONS[validator.direction]
    rules, seconds, on_failure = settings.input, validator.timeout, validator.on_failure
    if validator.url:
        topics = ((*rules.allow_topics, *rules.allow), rules.deny_topics)
        return RemoteCheck(name, validator.url, directions, seconds, on_failure, key=validator.key, topics=topics)
    function: Any = import_object(validator.target)
    if not callable(function):
        raise ConfigError(f"validators.{name}: {validator.target} is a {type(function).__name__}, not a function.")
    return FunctionCheck(name, function, directions, seconds, on_failure)


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
    return cast(Callable[[Any], Any], hook)
