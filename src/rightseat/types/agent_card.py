"""AgentCard: how an author describes an agent to OpenBB Workspace (agents.json), and the options that users set."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from msgspec import Struct

from rightseat.errors import ConfigError
from rightseat.types.text import closest_match

RESERVED_FEATURES = (
    "streaming",
    "file-upload",
    "widget-dashboard-select",
    "widget-dashboard-search",
    "widget-global-search",
    "generative-ui",
    "mcp-tools",
    "agent-orchestration",
    "feedback",
)
"""Features that Workspace itself knows; each is switched on or off."""
PLUGINS_OPTION = "plugins"
"""Name of the server's own option, by which a user limits an answer to one plugin."""
ID_FORM = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
PATH_FORM = re.compile(r"(/[A-Za-z0-9._~-]+)+")
URL_FORM = re.compile(r"https?://[^\s/?#]+(/[^\s?#]*)?")
MAX_SHOWN_VALUE = 500


class FeatureChoice(Struct, frozen=True, forbid_unknown_fields=True):
    """One choice of an option of the type select."""

    label: str
    """The name that users see."""
    value: str
    """What tools and the model read."""


class CustomFeature(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """An option of an agent that users set in Workspace."""

    label: str
    """The name that users see."""
    type: Literal["toggle", "text", "select"] = "toggle"
    """A switch, a text field, or a choice."""
    default: bool | str | None = None
    """The value until a user sets one: true or false for a toggle, a text otherwise."""
    description: str = ""
    """What the option does, in one sentence."""
    placeholder: str = ""
    """What an empty text field shows."""
    options: tuple[FeatureChoice, ...] = ()
    """The choices of a select, each with `label` and `value`."""

    @property
    def default_value(self) -> bool | str:
        return self.default if self.default is not None else (False if self.type == "toggle" else "")

    def parse_value(self, value: Any) -> bool | str:
        """Return a value that a client sent, or the default for one that this option does not take."""
        if self.type == "toggle":
            return value if isinstance(value, bool) else self.default_value
        is_known = isinstance(value, str) and (self.type == "text" or value in {one.value for one in self.options})
        return value if is_known else self.default_value


class CardEndpoints(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Addresses of an agent, as agents.json gives them."""

    query: str = ""
    """Where questions are posted to: a path of this server, such as `/analyst/query`, which then reaches this
    assistant, or a URL that leads to it. Without it, `/v1/query/NAME`."""
    feedback: str = ""
    """Where votes are posted to, likewise. Without it, `/v1/feedback`."""


class AgentCard(Struct, frozen=True, kw_only=True):
    """What an author says of an agent; what is missing the server fills in. Raises ConfigError for wrong names."""

    id: str = ""
    features: Mapping[str, bool | CustomFeature] = {}
    endpoints: CardEndpoints = CardEndpoints()

    def __post_init__(self) -> None:
        for place, problem in find_card_problems(self.id, self.features, self.endpoints):
            raise ConfigError(f"{'.'.join(place)}: {problem}")

    @property
    def custom_features(self) -> dict[str, CustomFeature]:
        return {name: feature for name, feature in self.features.items() if isinstance(feature, CustomFeature)}


def find_card_problems(
    id: str, features: Mapping[str, bool | CustomFeature], endpoints: CardEndpoints
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield what is wrong in a card, each with the key that it concerns."""
    if id and not ID_FORM.fullmatch(id):
        yield ("id",), "use letters, digits, _ and -, at most 64 of them, and begin with a letter or a digit."
    for name, feature in features.items():
        if problem := find_feature_problem(name, feature):
            yield ("features", name), problem
    for name in ("query", "feedback"):
        address = getattr(endpoints, name)
        if address and not PATH_FORM.fullmatch(address) and not URL_FORM.fullmatch(address):
            yield ("endpoints", name), "write a path such as /analyst/query, or a whole http or https URL."


def find_feature_problem(name: str, feature: bool | CustomFeature) -> str:
    """Return what is wrong with a feature and what to write instead; empty if nothing is."""
    if isinstance(feature, bool):
        if name in RESERVED_FEATURES:
            return ""
        near = closest_match(name, RESERVED_FEATURES)
        own = 'For an option of your own write a table with a label: { label = "…" }.'
        hint = f"Did you mean {near}?" if near else own
        return f"Workspace has no feature of this name. {hint}"
    if name in RESERVED_FEATURES or name == PLUGINS_OPTION:
        kind = "the server's own option" if name == PLUGINS_OPTION else "a feature of Workspace, which is true or false"
        return f"this is {kind}. Give your option another name."
    if not ID_FORM.fullmatch(name):
        return "use letters, digits, _ and - for the name of an option."
    return find_value_problem(feature)


def find_value_problem(feature: CustomFeature) -> str:
    """Return what is wrong with the label, the default or the choices of an option; empty if nothing is."""
    if not feature.label.strip():
        return "give it a label: users see nothing else of it."
    values = [choice.value for choice in feature.options]
    match feature.type:
        case "toggle" if not isinstance(feature.default, bool | None):
            return 'the default of a toggle is true or false. For other values write type = "text" or "select".'
        case "text" | "select" if isinstance(feature.default, bool):
            return f"the default of a {feature.type} is a text."
        case "select" if not values:
            return 'a select needs options, such as [{ label = "Short", value = "short" }].'
        case "select" if feature.default and feature.default not in values:
            return f"the default is none of its options: {', '.join(values)}."
        case "toggle" | "text" if values:
            return 'only a select has options. Write type = "select".'
    return ""


NO_CARD = AgentCard()
"""The card of an agent whose author says nothing."""


def resolve_options(card: AgentCard, posted: Any) -> dict[str, Any]:
    """Return the options by name: what the client sent over the author's defaults.

    Clients send an object, or, before 2026, a list of the switches that are on and of `name=value`.
    """
    features = card.custom_features
    if isinstance(posted, list):
        entries = [entry.partition("=") for entry in posted if isinstance(entry, str)]
        switches = {name: False for name, feature in features.items() if feature.type == "toggle"}
        sent = switches | {name: value if is_pair else True for name, is_pair, value in entries}
    else:
        sent = dict(posted) if isinstance(posted, dict) else {}
    declared = {
        name: feature.parse_value(sent[name]) if name in sent else feature.default_value
        for name, feature in features.items()
    }
    return {**sent, **declared}


def describe_options(card: AgentCard, options: Mapping[str, Any]) -> str:
    """Describe the author's options and their values for a prompt; empty if the author has none."""
    texts = []
    for name, feature in card.custom_features.items():
        value = options.get(name, feature.default_value)
        shown = ("on" if value else "off") if isinstance(value, bool) else f"{value}"[:MAX_SHOWN_VALUE]
        texts.append(f"{feature.label}: {shown}")
    return "; ".join(texts)
