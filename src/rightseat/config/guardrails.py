"""Settings and checks of the tables [guardrails.NAME] of rightseat.toml."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from rightseat.config.lines import Key
from rightseat.config.problems import Problems
from rightseat.config.secret import Secret
from rightseat.config.tables import secret, struct
from rightseat.types.nearest import nearest

Number = Annotated[int, Meta(ge=0)]
Window = Annotated[int, Meta(ge=1, le=10_000)]
Seconds = Annotated[float, Meta(gt=0)]
Kind = Literal["email", "phone", "card", "iban", "national_id", "ip", "secret", "all"]


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
    refuse: tuple[Kind, ...] = ()
    """Personal data for which a message is refused."""
    redact: tuple[Kind, ...] = ()
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
    refuse: tuple[Kind, ...] = ()
    """Personal data at which an answer ends."""
    redact: tuple[Kind, ...] = ()
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
    redact_results: tuple[Kind, ...] = ()
    """Personal data that is replaced in results of tools, for the model and for the client."""
    mark_untrusted: bool = False
    """Whether a model is shown results from outside in a fence, with a word on what that means."""
    confirm_after_untrusted: Literal["off", "dangerous", "writes", "all"] = "off"
    """Which calls a person must agree to once something from outside stands in the conversation."""
    validators: dict[str, ValidatorSettings] = {}
    """Functions and services that are asked too."""


Trouble = tuple[tuple[str, ...], str]


def troubles(guard: GuardSettings) -> Iterator[Trouble]:
    """Yield the key and a fix for values that are valid by type but cannot work."""
    named = (
        (("input", "deny_topics"), guard.input.deny_topics),
        (("input", "allow_topics"), guard.input.allow_topics),
        (("output", "deny_topics"), guard.output.deny_topics),
    )
    for place, names in named:
        for name in names:
            if name not in guard.topics:
                near = nearest(name, guard.topics)
                hint = f"Did you mean {near}?" if near else "Write it into the table topics, with its words."
                yield place, f"there is no topic {name!r}. {hint}"
    for name, validator in guard.validators.items():
        if bool(validator.target) == bool(validator.url):
            yield ("validators", name), "write either target, a function, or url, a service."
        elif validator.url and not re.fullmatch(r"https?://[^\s]+", validator.url):
            yield (
                ("validators", name, "url"),
                "write a full address, such as https://host/guardrails/validate.",
            )
        elif validator.target and not re.fullmatch(r"[\w.]+:[\w.]+", validator.target):
            yield ("validators", name, "target"), f"{validator.target!r} is not of the form module:attribute."


def guard(table: Any, key: Key, folder: Path, problems: Problems) -> GuardSettings | None:
    found = struct(table, GuardSettings, key, problems)
    if found is None:
        return None
    for place, text in troubles(found):
        problems.add((*key, *place), text)

    def opened(name: str, validator: ValidatorSettings) -> ValidatorSettings:
        if validator.key is None:
            return validator
        found_key = secret(validator.key.reveal(), (*key, "validators", name, "key"), folder, problems)
        return msgspec.structs.replace(validator, key=found_key)

    validators = {name: opened(name, validator) for name, validator in found.validators.items()}
    return msgspec.structs.replace(found, validators=validators)


def guarded(raw: dict[str, Any], problems: Problems) -> None:
    """Report references of assistants and judges to missing tables."""
    for table, key, among in (("assistants", "guardrails", "guardrails"), ("guardrails", "judge", "models")):
        given, known = raw.get(table), raw.get(among, {})
        for name, one in given.items() if isinstance(given, dict) else ():
            found = one.get(key) if isinstance(one, dict) else None
            if isinstance(found, str) and found and found not in known:
                near = nearest(found, known)
                hint = f"Did you mean {near}?" if near else f"Write [{among}.{found}]."
                problems.add((table, name, key), f"there is no [{among}.{found}]. {hint}")
