"""Settings and checks of the tables [guardrails.NAME] of rightseat.toml."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from rightseat.config.problems import ConfigProblems, Key, check_struct, resolve_secret
from rightseat.config.secret import Secret
from rightseat.types.text import closest_match

Number = Annotated[int, Meta(ge=0)]
Window = Annotated[int, Meta(ge=1, le=10_000)]
Seconds = Annotated[float, Meta(gt=0)]
PersonalDataKind = Literal["email", "phone", "card", "iban", "national_id", "ip", "secret", "all"]


class InputSettings(Struct, frozen=True, kw_only=True):
    deny: tuple[str, ...] = ()
    """Words and phrases that a message must not have: whole words, in any case and width."""
    deny_topics: tuple[str, ...] = ()
    """Names of topics that a message must not be about."""
    allow: tuple[str, ...] = ()
    """If there are any, a message must have one of these words or be about one of the allowed topics."""
    allow_topics: tuple[str, ...] = ()
    """Names of topics that a message may be about; others it may not, then."""
    patterns: tuple[str, ...] = ()
    """Regular expressions that must not be found. They are matched in linear time, so without look-around
    and back references."""
    max_chars: Number = 0
    """Characters of one message; 0 is no limit."""
    max_tokens: Number = 0
    """Tokens of one message, as the assistant's model counts where it can, else estimated; 0 is no limit."""
    refuse: tuple[PersonalDataKind, ...] = ()
    """Personal data for which a message is refused."""
    redact: tuple[PersonalDataKind, ...] = ()
    """Personal data that is replaced by its kind, such as [email], before a model or agent sees it."""


class OutputSettings(Struct, frozen=True, kw_only=True):
    deny: tuple[str, ...] = ()
    """Words and phrases at which an answer ends."""
    deny_topics: tuple[str, ...] = ()
    """Names of topics at whose words an answer ends."""
    patterns: tuple[str, ...] = ()
    """Regular expressions at which an answer ends."""
    window: Window = 200
    """Characters held back where there are `patterns`. What they find may be no longer than this."""
    max_chars: Number = 0
    """Characters of one text; 0 is no limit."""
    refuse: tuple[PersonalDataKind, ...] = ()
    """Personal data at which an answer ends."""
    redact: tuple[PersonalDataKind, ...] = ()
    """Personal data that is replaced by its kind in an answer, as it streams."""
    replacement: str = ""
    """Said in place of the rest of an answer, which then ends as any other. Without it, the answer fails."""
    schema: dict[str, Any] = {}
    """A JSON Schema for answers of which the client itself asks no form."""


class ValidatorSettings(Struct, frozen=True, kw_only=True):
    target: str = ""
    """`module:attribute` of a function `(text, direction, turn)` that gives None, Refuse or Replace."""
    url: str = ""
    """A service that is asked instead, by the contract of CopilotKit's cloud; its whole address, such as
    `https://host/guardrails/validate`."""
    key: Secret | None = None
    """Sent to the service as X-CopilotCloud-Public-API-Key: `env:NAME` or `file:PATH`."""
    direction: Literal["input", "output", "both"] = "input"
    """What it reads. An answer is held back whole until it was read."""
    timeout: Seconds = 5
    """Seconds for one question to it."""
    on_failure: Literal["refuse", "allow"] = "refuse"
    """What happens to a text that could not be checked."""


class GuardSettings(Struct, frozen=True, kw_only=True):
    input: InputSettings = InputSettings()
    """Rules for what is asked."""
    output: OutputSettings = OutputSettings()
    """Rules for what is answered."""
    topics: dict[str, tuple[str, ...]] = {}
    """Topic → words and phrases that belong to it."""
    judge: str = ""
    """A name of [models]: it says of each message whether it is about a topic. Without one, words decide."""
    judge_timeout: Seconds = 15
    """Seconds for the judge."""
    judge_failure: Literal["refuse", "allow"] = "refuse"
    """What happens to a message that the judge could not be asked about."""
    refusal: str = ""
    """Said to whoever is refused. Without it, a sentence tells which kind of rule it was."""
    redact_results: tuple[PersonalDataKind, ...] = ()
    """Personal data that is replaced in results of tools, for the model and for the client."""
    mark_untrusted: bool = False
    """Whether a model is shown results from outside in a fence, with a word on what that means."""
    confirm_after_untrusted: Literal["off", "dangerous", "writes", "all"] = "off"
    """Which calls a person must agree to once something from outside stands in the conversation."""
    validators: dict[str, ValidatorSettings] = {}
    """Functions and services that are asked too."""


GuardProblem = tuple[tuple[str, ...], str]


def find_guard_problems(guard: GuardSettings) -> Iterator[GuardProblem]:
    """Yield the key and a fix for values that are valid by type but cannot work."""
    named = (
        (("input", "deny_topics"), guard.input.deny_topics),
        (("input", "allow_topics"), guard.input.allow_topics),
        (("output", "deny_topics"), guard.output.deny_topics),
    )
    for place, names in named:
        for name in names:
            if name not in guard.topics:
                near = closest_match(name, guard.topics)
                hint = f"Did you mean {near}?" if near else "Write it into the table topics, with its words."
                yield place, f"there is no topic {name!r}. {hint}"
    for name, validator in guard.validators.items():
        if bool(validator.target) == bool(validator.url):
            yield ("validators", name), "write either target, a function, or url, a service."
        elif validator.url and not re.fullmatch(r"https?://[^\s]+", validator.url):
            yield (("validators", name, "url"), "write a full address, such as https://host/guardrails/validate.")
        elif validator.target and not re.fullmatch(r"[\w.]+:[\w.]+", validator.target):
            yield ("validators", name, "target"), f"{validator.target!r} is not of the form module:attribute."


def check_guard(table: Any, key: Key, folder: Path, problems: ConfigProblems) -> GuardSettings | None:
    settings = check_struct(table, GuardSettings, key, problems)
    if settings is None:
        return None
    for place, text in find_guard_problems(settings):
        problems.add((*key, *place), text)

    def opened(name: str, validator: ValidatorSettings) -> ValidatorSettings:
        if validator.key is None:
            return validator
        secret_key = resolve_secret(validator.key.reveal(), (*key, "validators", name, "key"), folder, problems)
        return msgspec.structs.replace(validator, key=secret_key)

    validators = {name: opened(name, validator) for name, validator in settings.validators.items()}
    return msgspec.structs.replace(settings, validators=validators)


def check_guard_references(raw: dict[str, Any], problems: ConfigProblems) -> None:
    """Report references of assistants and judges to missing tables."""
    for table, key, among in (("assistants", "guardrails", "guardrails"), ("guardrails", "judge", "models")):
        tables, known = raw.get(table), raw.get(among, {})
        for name, entry in tables.items() if isinstance(tables, dict) else ():
            reference = entry.get(key) if isinstance(entry, dict) else None
            if isinstance(reference, str) and reference and reference not in known:
                near = closest_match(reference, known)
                hint = f"Did you mean {near}?" if near else f"Write [{among}.{reference}]."
                problems.add((table, name, key), f"there is no [{among}.{reference}]. {hint}")
