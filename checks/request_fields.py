"""The tables of docs/openai.md: what becomes of each known field of a request with each kind of model.

The door's own table and the settings that models declare are all that they are made of.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from checks.files import ROOT
from rightseat.doors.openai.fields import CHAT_FIELDS, COMPLETION_FIELDS, EMBEDDING_FIELDS, KnownField
from rightseat.models.anthropic import request as anthropic
from rightseat.models.google import request as google
from rightseat.models.langchain import client as langchain
from rightseat.models.llamacpp import completion as llamacpp
from rightseat.models.openai import request as openai
from rightseat.models.openai.vendors import list_unsupported_settings
from rightseat.types.model import Capabilities
from rightseat.types.settings import SETTING_RULES

PAGE = ROOT / "docs" / "openai.md"
BEGIN, END = "<!-- Written by `make reference` from the code: change that. -->", "<!-- End of what is written. -->"

PLAIN_UNSUPPORTED = list_unsupported_settings(Capabilities(reasoning=False))
REASONING_UNSUPPORTED = list_unsupported_settings(Capabilities(reasoning=True))


@dataclass(frozen=True)
class SettingPlace:
    """Where a setting is in the request to a model's server, and the models that take it, if not all do."""

    place: str
    condition: str = ""


Places = Mapping[str, SettingPlace]


def list_places(places: Mapping[str, str], condition: str = "") -> dict[str, SettingPlace]:
    return {name: SettingPlace(place, condition) for name, place in places.items()}


def list_openai_places(places: Mapping[str, str]) -> dict[str, SettingPlace]:
    """Places of OpenAI's own models, some of which refuse some settings."""
    conditions = dict.fromkeys(PLAIN_UNSUPPORTED, "reasoning models")
    conditions |= dict.fromkeys(REASONING_UNSUPPORTED, "not reasoning models")
    return {name: SettingPlace(place, conditions.get(name, "")) for name, place in places.items()}


LANGCHAIN_FIELDS = {name: name for name in (*langchain.SETTING_FIELDS, *sorted(langchain.EXTRA_SETTINGS))} | {
    name: fields[0] for name, fields in langchain.THINKING_SETTINGS.items()
}
KINDS: dict[str, Places] = {
    "local": list_places(llamacpp.SETTINGS),
    "OpenAI": list_openai_places({name: name for name in openai.SETTINGS} | {"max_tokens": "max_completion_tokens"}),
    "OpenAI, `responses`": list_openai_places(openai.RESPONSES_SETTINGS),
    "compatible": list_places({name: name for name in SETTING_RULES}),
    "Anthropic": list_places(anthropic.SETTINGS)
    | list_places(anthropic.SAMPLING_SETTINGS, "`sampling = true`")
    | list_places(anthropic.THINKING_SETTINGS, "models that think")
    | list_places(anthropic.PREFILL_SETTINGS, "Claude 4.5 and older"),
    "Google": list_places(google.SETTINGS) | list_places(google.THINKING_SETTINGS, "models that think"),
    "LangChain": list_places(LANGCHAIN_FIELDS, "models with that field") | list_places({"stop": "stop"}),
}
LEFT_OUT, REFUSED, TAKEN = "–", "no", "yes"


def describe_outcome(field: KnownField, places: Places) -> str:
    """What becomes of a field: taken, taken under another name, left out or refused."""
    match field.handling:
        case "read":
            return TAKEN
        case "left_out":
            return LEFT_OUT
        case "refused":
            return REFUSED
    name = field.setting_name
    if name not in places:
        return LEFT_OUT if SETTING_RULES[name].optional else REFUSED
    taken = places[name]
    said = TAKEN if taken.place == field.name else f"`{taken.place}`"
    return f"{said} ({taken.condition})" if taken.condition else said


def build_table(fields: Mapping[str, KnownField]) -> Iterator[str]:
    yield f"| field | {' | '.join(KINDS)} | |"
    yield f"|---|{'---|' * len(KINDS)}---|"
    for field in fields.values():
        cells = [describe_outcome(field, places) for places in KINDS.values()]
        yield f"| `{field.name}` | {' | '.join(cells)} | {field.advice} |"


def build_short_table(fields: Mapping[str, KnownField]) -> Iterator[str]:
    yield "| field | taken | |"
    yield "|---|---|---|"
    for field in fields.values():
        yield f"| `{field.name}` | {describe_outcome(field, {})} | {field.advice} |"


def build_tables() -> str:
    openai_fields = {name: field for name, field in CHAT_FIELDS.items() if field.source != "llama-server"}
    others = {name: field for name, field in CHAT_FIELDS.items() if field.source == "llama-server"}
    apart = {name: field for name, field in COMPLETION_FIELDS.items() if field.handling != "setting"}
    apart = {name: field for name, field in apart.items() if CHAT_FIELDS.get(name) != field}
    sections = (
        ("Chat: OpenAI's fields, and ours", build_table(openai_fields)),
        ("Chat: llama-server's fields", build_table(others)),
        ("Completions: fields that differ from chat", build_short_table(apart)),
        ("Embeddings: local and OpenAI-compatible models", build_short_table(EMBEDDING_FIELDS)),
    )
    return "\n\n".join(f"**{title}**\n\n" + "\n".join(rows) for title, rows in sections)


def build_page() -> str:
    """The page as it is, with the tables anew."""
    text = PAGE.read_text(encoding="utf-8")
    block = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    return block.sub(lambda _: f"{BEGIN}\n\n{build_tables()}\n\n{END}", text)
