"""Settings and checks of the tables [guardrails.NAME] of rightseat.toml."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from rightseat.config.problems import ConfigProblems, Key, check_struct, resolve_secret
from rightseat.config.secret import Secret

Number = Annotated[int, Meta(ge=0)]
Window = Annotated[int, Meta(ge=1, le=10_000)]
Seconds = Annotated[float, Meta(gt=0)]
PersonalDataKind = Literal["email", "phone", "card", "iban", "national_id", "ip", "secret", "all"]


class InputSettings(Struct, frozen=True, kw_only=True):
    deny: tuple[str, ...] = ()
    """Words and phrases that a message must not contain. They match whole words, in any case and character width."""
    deny_topics: tuple[str, ...] = ()
    """Names of topics that a message must not be about."""
    allow: tuple[str, ...] = ()
    """If set, a message must contain one of these words or be about one of `allow_topics`."""
    allow_topics: tuple[str, ...] = ()
    """Names of topics. If set, a message about anything else is refused, unless it contains a word of `allow`."""
    patterns: tuple[str, ...] = ()
    """Regular expressions that must not match a message. They run in linear time, so look-around and back
    references are not available."""
    max_chars: Number = 0
    """The most characters of one message. 0 means no limit."""
    max_tokens: Number = 0
    """The most tokens of one message, counted by the assistant's model if it can, else estimated. 0 means no limit."""
    refuse: tuple[PersonalDataKind, ...] = ()
    """Kinds of personal data. A message that contains one is refused."""
    redact: tuple[PersonalDataKind, ...] = ()
    """Kinds of personal data that are replaced by their kind, such as [email], before a model or agent sees the
    message."""


class OutputSettings(Struct, frozen=True, kw_only=True):
    deny: tuple[str, ...] = ()
    """Words and phrases. An answer stops when one appears."""
    deny_topics: tuple[str, ...] = ()
    """Names of topics. An answer stops when a word of one appears."""
    patterns: tuple[str, ...] = ()
    """Regular expressions. An answer stops when one matches."""
    window: Window = 200
    """Characters of an answer that the server holds back if `patterns` is set. A match may be no longer than this."""
    max_chars: Number = 0
    """The most characters of one text. 0 means no limit."""
    refuse: tuple[PersonalDataKind, ...] = ()
    """Kinds of personal data. An answer stops when one appears."""
    redact: tuple[PersonalDataKind, ...] = ()
    """Kinds of personal data that are replaced by their kind while the answer streams."""
    replacement: str = ""
    """The text sent in place of the rest of a stopped answer, which then ends normally. Without it, the run fails."""
    schema: dict[str, Any] = {}
    """A JSON Schema that answers must match, unless the client asks for a format itself."""


class ValidatorSettings(Struct, frozen=True, kw_only=True):
    target: str = ""
    """`module:attribute` of a function `(text, direction, turn)` that returns None, Refuse or Replace."""
    url: str = ""
    """The full URL of a service to ask instead, such as `https://host/guardrails/validate`. It follows the contract
    of CopilotKit's cloud."""
    key: Secret | None = None
    """The service's key, sent as X-CopilotCloud-Public-API-Key. Write it as `env:NAME` or `file:PATH`."""
    direction: Literal["input", "output", "both"] = "input"
    """Which texts the validator reads. With `output` or `both` the server holds back the whole answer until it is
    checked."""
    timeout: Seconds = 5
    """Seconds for one check."""
    on_failure: Literal["refuse", "allow"] = "refuse"
    """What happens to a text that could not be checked."""


class GuardSettings(Struct, frozen=True, kw_only=True):
    input: InputSettings = InputSettings()
    """Rules for messages of users."""
    output: OutputSettings = OutputSettings()
    """Rules for answers."""
    topics: dict[str, tuple[str, ...]] = {}
    """Words and phrases by topic."""
    judge: str = ""
    """The name of a [models] table. That model decides whether a message is about a topic. Without it, the words of
    the topic decide."""
    judge_timeout: Seconds = 15
    """Seconds for one answer of the judge."""
    judge_failure: Literal["refuse", "allow"] = "refuse"
    """What happens to a message if the judge does not answer."""
    refusal: str = ""
    """The text that a refused user gets. Without it, a sentence names the kind of rule."""
    redact_results: tuple[PersonalDataKind, ...] = ()
    """Kinds of personal data that are replaced in results of tools, for the model and for the client."""
    mark_untrusted: bool = False
    """Whether results from outside are marked as such in the prompt, with a sentence that explains the marks."""
    confirm_after_untrusted: Literal["off", "dangerous", "writes", "all"] = "off"
    """Which calls need the user's approval after a result from outside has entered the conversation."""
    validators: dict[str, ValidatorSettings] = {}
    """Functions and services that also check texts, by name."""


def check_guard(table: Any, key: Key, folder: Path, problems: ConfigProblems) -> GuardSettings | None:
    settings = check_struct(table, GuardSettings, key, problems)
    if settings is None:
        return None
    topics = settings.topics
    topic_keys: tuple[tuple[Key, tuple[str, ...]], ...] = (
        (("input", "deny_topics"), settings.input.deny_topics),
        (("input", "allow_topics"), settings.input.allow_topics),
        (("output", "deny_topics"), settings.output.deny_topics),
    )
    for place, names in topic_keys:
        for name in names:
            if name not in topics:
                otherwise = "Write it into the table topics, with its words."
                problems.add_unknown_name((*key, *place), f"there is no topic {name!r}.", name, topics, otherwise)
    validators = {
        name: check_validator(validator, (*key, "validators", name), folder, problems)
        for name, validator in settings.validators.items()
    }
    return msgspec.structs.replace(settings, validators=validators)


def check_validator(settings: ValidatorSettings, key: Key, folder: Path, problems: ConfigProblems) -> ValidatorSettings:
    """Report values that are valid by type but cannot work; return them with their key resolved."""
    if bool(settings.target) == bool(settings.url):
        problems.add(key, "write either target, a function, or url, a service.")
    elif settings.url and not re.fullmatch(r"https?://[^\s]+", settings.url):
        problems.add((*key, "url"), "write a full address, such as https://host/guardrails/validate.")
    elif settings.target:
        problems.check_target((*key, "target"), settings.target)
    if settings.key is None:
        return settings
    secret = resolve_secret(settings.key.reveal(), (*key, "key"), folder, problems)
    return msgspec.structs.replace(settings, key=secret)


def check_guard_references(raw: dict[str, Any], problems: ConfigProblems) -> None:
    """Report references of assistants and judges to missing tables."""
    for table, key, among in (("assistants", "guardrails", "guardrails"), ("guardrails", "judge", "models")):
        tables, known = raw.get(table), raw.get(among, {})
        for name, entry in tables.items() if isinstance(tables, dict) else ():
            reference = entry.get(key) if isinstance(entry, dict) else None
            if isinstance(reference, str) and reference and reference not in known:
                missing = f"[{among}.{reference}]"
                text, otherwise = f"there is no {missing}.", f"Write {missing}."
                problems.add_unknown_name((table, name, key), text, reference, known, otherwise)
