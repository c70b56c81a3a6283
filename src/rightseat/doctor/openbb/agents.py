"""Check agents.json and copilots.json against what the client accepts.

One wrong entry makes the client refuse the whole file.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal
from urllib.parse import urljoin, urlsplit

from msgspec import UNSET, Meta, Struct, UnsetType, field

from rightseat.doctor.openbb.fault import Fault, misfit
from rightseat.http.security import loopback

RESERVED = {
    "streaming",
    "file-upload",
    "widget-dashboard-select",
    "widget-dashboard-search",
    "widget-global-search",
    "generative-ui",
    "mcp-tools",
    "agent-orchestration",
    "feedback",
}
FLAGS = ("hasStreaming", "hasFunctionCalling", "hasDocuments")
Word = Annotated[str, Meta(min_length=1)]


class Choice(Struct):
    label: str
    value: str


class Feature(Struct):
    label: str
    type: Literal["toggle", "text", "select"] = "toggle"
    default: bool | str | None = None
    description: str | None = None
    placeholder: str | None = None
    options: list[Choice] | None = None


class Endpoints(Struct):
    query: Word | UnsetType = UNSET
    feedback: Word | UnsetType = UNSET
    upload_docs: Word | UnsetType = UNSET


class Named(Struct):
    id: str
    name: str


class Entry(Struct):
    """An agent as the client reads it; other fields are ignored."""

    name: str
    description: str
    endpoints: Endpoints
    image: Word | UnsetType = UNSET
    features: dict[str, bool | Feature] = {}
    models: list[Named] | UnsetType = UNSET
    streaming: bool = field(name="hasStreaming", default=False)
    calling: bool = field(name="hasFunctionCalling", default=False)


class Agent(Struct, frozen=True):
    """The agent whose answers are checked."""

    id: str
    query: str
    feedback: str | None = None


def judged(found: Any, base: str, *, old: bool) -> Iterator[Fault]:
    if not isinstance(found, dict) or not found:
        yield Fault("it names no agent", 'answer {"ID": {"name": …, "description": …, "endpoints": {…}}}')
        return
    for id, entry in found.items():
        faults = list(entry_faults(entry, base, old=old))
        yield from (Fault(f"{id}: {fault.why}", fault.fix, fault.enforced) for fault in faults)
    names = [entry.get("name") for entry in found.values() if isinstance(entry, dict)]
    if len({str(name) for name in names}) < len(names):
        yield Fault("two agents have one name", "give each a name of its own")


def entry_faults(entry: Any, base: str, *, old: bool) -> Iterator[Fault]:
    if isinstance(entry, dict) and entry.get("image", "-") in ("", None):
        yield Fault("an empty image: the client refuses the whole file", "leave `image` out, or give a URL")
        return
    if why := misfit(entry, Entry):
        yield Fault(why, "the client refuses the whole file: give the field that form")
        return
    endpoints = entry["endpoints"]
    if "query" not in endpoints:
        yield Fault("it has no endpoints.query", "say where questions are posted to")
    for name, given in (*endpoints.items(), ("image", entry.get("image", base))):
        yield from address(name, given, base, old=old)
    if not old:
        yield from today(entry)


def address(name: str, given: Any, base: str, *, old: bool) -> Iterator[Fault]:
    if not isinstance(given, str):
        return
    absolute = resolved(base, given)
    if absolute is None:
        yield Fault(f"{name} is no URL: {given[:80]!r}", "give a path, or an http or https URL")
        return
    if old and name == "query" and not given.startswith(("http://", "https://")):
        yield Fault(f"{name} is relative, which the client of 2024 does not know", "give the whole URL")
    host = urlsplit(absolute)
    if host.scheme == "http" and not loopback(host.hostname or ""):
        why = f"{name} is http on another machine: a browser lets no https page call it"
        yield Fault(why, "put it behind https (public_url of rightseat)", enforced=False)


def today(entry: dict[str, Any]) -> Iterator[Fault]:
    if flags := [flag for flag in FLAGS if flag in entry]:
        why = f"{', '.join(flags)} of 2024 draws a warning and may switch on every kind of widget search"
        yield Fault(why, "say it in `features`; keep the flags in copilots.json", enforced=False)
    for name, feature in entry.get("features", {}).items():
        if isinstance(feature, bool) and name not in RESERVED:
            fix = 'make it an object: {"label": …, "type": "toggle", "default": …}'
            yield Fault(f"the client warns of the feature {name!r}", fix, enforced=False)
    if entry.get("features", {}).get("feedback") is True and "feedback" not in entry["endpoints"]:
        yield Fault("votes are on, and no endpoint takes them", "add endpoints.feedback", enforced=False)


def resolved(base: str, given: str) -> str | None:
    """Resolve like JavaScript's `new URL(url, base)`; None where that throws."""
    try:
        parts = urlsplit(absolute := urljoin(f"{base}/", given))
        port = parts.port
    except ValueError:
        return None
    whole = parts.scheme in ("http", "https") and parts.hostname and port != 0 and " " not in parts.netloc
    return absolute if whole else None


def chosen(found: Any, base: str) -> Agent | None:
    """Return the first agent with a valid query URL."""
    for id, entry in found.items() if isinstance(found, dict) else ():
        endpoints = entry.get("endpoints") if isinstance(entry, dict) else None
        if not isinstance(endpoints, dict) or not isinstance(query := endpoints.get("query"), str):
            continue
        feedback = endpoints.get("feedback")
        votes = resolved(base, feedback) if isinstance(feedback, str) else None
        if url := resolved(base, query):
            return Agent(str(id), url, votes)
    return None
