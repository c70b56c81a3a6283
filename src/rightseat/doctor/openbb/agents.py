"""Check agents.json and copilots.json against what the client accepts.

One wrong entry makes the client refuse the whole file.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal
from urllib.parse import urljoin, urlsplit

from msgspec import UNSET, Meta, Struct, UnsetType, field

from rightseat.doctor.result import Fault, find_type_error
from rightseat.http.security import is_loopback
from rightseat.types.agent_card import RESERVED_FEATURES

LEGACY_FLAGS = ("hasStreaming", "hasFunctionCalling", "hasDocuments")
NonEmptyStr = Annotated[str, Meta(min_length=1)]


class FeatureOption(Struct):
    label: str
    value: str


class AgentFeature(Struct):
    label: str
    type: Literal["toggle", "text", "select"] = "toggle"
    default: bool | str | None = None
    description: str | None = None
    placeholder: str | None = None
    options: list[FeatureOption] | None = None


class AgentEndpoints(Struct):
    query: NonEmptyStr | UnsetType = UNSET
    feedback: NonEmptyStr | UnsetType = UNSET
    upload_docs: NonEmptyStr | UnsetType = UNSET


class AgentModelEntry(Struct):
    id: str
    name: str


class AgentEntry(Struct):
    """An agent as the client reads it; other fields are ignored."""

    name: str
    description: str
    endpoints: AgentEndpoints
    image: NonEmptyStr | UnsetType = UNSET
    features: dict[str, bool | AgentFeature] = {}
    models: list[AgentModelEntry] | UnsetType = UNSET
    streaming: bool = field(name="hasStreaming", default=False)
    calling: bool = field(name="hasFunctionCalling", default=False)


class ExaminedAgent(Struct, frozen=True):
    """The agent whose answers are checked."""

    id: str
    query: str
    feedback: str | None = None


def check_agents(agents: Any, base: str, *, old: bool) -> Iterator[Fault]:
    if not isinstance(agents, dict) or not agents:
        yield Fault("it names no agent", 'answer {"ID": {"name": …, "description": …, "endpoints": {…}}}')
        return
    for id, entry in agents.items():
        for fault in check_entry(entry, base, old=old):
            yield Fault(f"{id}: {fault.why}", fault.fix, fault.enforced)
    names = [entry.get("name") for entry in agents.values() if isinstance(entry, dict)]
    if len({str(name) for name in names}) < len(names):
        yield Fault("two agents have one name", "give each a name of its own")


def check_entry(entry: Any, base: str, *, old: bool) -> Iterator[Fault]:
    if isinstance(entry, dict) and entry.get("image", "-") in ("", None):
        yield Fault("an empty image: the client refuses the whole file", "leave `image` out, or give a URL")
        return
    if why := find_type_error(entry, AgentEntry):
        yield Fault(why, "the client refuses the whole file: give the field that form")
        return
    endpoints = entry["endpoints"]
    if "query" not in endpoints:
        yield Fault("it has no endpoints.query", "say where questions are posted to")
    for name, url in (*endpoints.items(), ("image", entry.get("image", base))):
        yield from check_endpoint_url(name, url, base, old=old)
    if not old:
        yield from check_current_features(entry)


def check_endpoint_url(name: str, url: Any, base: str, *, old: bool) -> Iterator[Fault]:
    if not isinstance(url, str):
        return
    absolute = resolve_url(base, url)
    if absolute is None:
        yield Fault(f"{name} is no URL: {url[:80]!r}", "give a path, or an http or https URL")
        return
    if old and name == "query" and not url.startswith(("http://", "https://")):
        yield Fault(f"{name} is relative, which the client of 2024 does not know", "give the whole URL")
    host = urlsplit(absolute)
    if host.scheme == "http" and not is_loopback(host.hostname or ""):
        why = f"{name} is http on another machine: a browser lets no https page call it"
        yield Fault(why, "put it behind https (public_url of rightseat)", enforced=False)


def check_current_features(entry: dict[str, Any]) -> Iterator[Fault]:
    if flags := [flag for flag in LEGACY_FLAGS if flag in entry]:
        why = f"{', '.join(flags)} of 2024 draws a warning and may switch on every kind of widget search"
        yield Fault(why, "say it in `features`; keep the flags in copilots.json", enforced=False)
    for name, feature in entry.get("features", {}).items():
        if isinstance(feature, bool) and name not in RESERVED_FEATURES:
            fix = 'make it an object: {"label": …, "type": "toggle", "default": …}'
            yield Fault(f"the client warns of the feature {name!r}", fix, enforced=False)
    if entry.get("features", {}).get("feedback") is True and "feedback" not in entry["endpoints"]:
        yield Fault("votes are on, and no endpoint takes them", "add endpoints.feedback", enforced=False)


def resolve_url(base: str, url: str) -> str | None:
    """Resolve like JavaScript's `new URL(url, base)`; None where that throws."""
    try:
        parts = urlsplit(absolute := urljoin(f"{base}/", url))
        port = parts.port
    except ValueError:
        return None
    is_valid = parts.scheme in ("http", "https") and parts.hostname and port != 0 and " " not in parts.netloc
    return absolute if is_valid else None


def choose_agent(agents: Any, base: str, wanted_id: str = "") -> ExaminedAgent | None:
    """Return the first agent with a valid query URL; only that with `wanted_id`, if it is given."""
    for id, entry in agents.items() if isinstance(agents, dict) else ():
        if wanted_id not in ("", id):
            continue
        endpoints = entry.get("endpoints") if isinstance(entry, dict) else None
        if not isinstance(endpoints, dict) or not isinstance(query := endpoints.get("query"), str):
            continue
        feedback = endpoints.get("feedback")
        votes = resolve_url(base, feedback) if isinstance(feedback, str) else None
        if url := resolve_url(base, query):
            return ExaminedAgent(str(id), url, votes)
    return None
