"""Ask an agent one question as Workspace does, and show what a person would see of the answer."""

from __future__ import annotations

import base64
import contextlib
import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from rightseat.doctor.client import ProbeClient, Unreachable
from rightseat.doctor.openbb.agents import ExaminedAgent, choose_agent
from rightseat.doctor.openbb.examine import AGENTS_FILE, COPILOTS_FILE, HEADER_FIX, get_base_url
from rightseat.doctor.openbb.reply import ExaminedReply, play_chat
from rightseat.doctor.openbb.screen import ScreenPart
from rightseat.doctor.openbb.simulated_client import PAGE_ORIGIN, OpenBBPage, SimulatedChat, check_readable, make_fields
from rightseat.doctor.result import Fault
from rightseat.errors import ConfigError
from rightseat.types.streams import closing

Json = dict[str, Any]
TEXT_FORMATS: dict[str, Json] = {
    ".json": {"data_type": "object", "parse_as": "table"},
    ".txt": {"data_type": "txt"},
    ".md": {"data_type": "md"},
    ".html": {"data_type": "html"},
}
BINARY_FORMATS = (".pdf", ".jpg", ".jpeg", ".png", ".xlsx", ".xls", ".csv", ".docx")


class OpenBBQuestion(Struct, frozen=True, kw_only=True):
    """Question to an agent: its text, the rest of the request, and the data of widgets, tools and skills."""

    text: str = ""
    body: Json = {}
    items: dict[str, Json] = {}
    """Data by the id, name or slug of a widget, a tool or a skill."""
    agent: str = ""
    """Id of the agent; empty: the first one."""

    @property
    def is_legacy(self) -> bool:
        """Whether the request is one of 2024, where widgets are a list."""
        return isinstance(self.body.get("widgets"), list)

    def make_chat(self) -> SimulatedChat:
        fields = {name: value for name, value in self.body.items() if name != "messages"}
        messages = list(self.body.get("messages") or [])
        if self.text:
            messages.append({"role": "human", "content": self.text})
        fields = fields if self.body else make_fields(widgets=True, old=False)
        return SimulatedChat(messages, fields, old=self.is_legacy, items=self.items)


def read_body(path: Path) -> Json:
    """Read the request of a file, as Workspace posts it."""
    try:
        body = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"--body {path}: {error}") from None
    if not isinstance(body, dict):
        raise ConfigError(f"--body {path}: write a JSON object, as Workspace posts it")
    return body


def read_item(argument: str) -> tuple[str, Json]:
    """Read `NAME=FILE` as the data that Workspace would send for a widget, a tool or a skill of this name."""
    name, _, file = argument.partition("=")
    path = Path(file)
    suffix = path.suffix.lower()
    if not name or not file or suffix not in (*TEXT_FORMATS, *BINARY_FORMATS):
        kinds = " ".join((*TEXT_FORMATS, *BINARY_FORMATS))
        raise ConfigError(f"--data {argument}: write it as NAME=FILE, with a file of one of the kinds {kinds}")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"--data {argument}: {error.strerror}") from None
    if suffix in TEXT_FORMATS:
        return name, {"content": data.decode("utf-8", "replace"), "data_format": TEXT_FORMATS[suffix], "citable": True}
    data_format = {"data_type": suffix[1:], "filename": path.name}
    return name, {"content": base64.b64encode(data).decode(), "data_format": data_format, "citable": True}


async def ask_agent(
    url: str, headers: Mapping[str, str], question: OpenBBQuestion, origin: str = PAGE_ORIGIN
) -> AsyncIterator[ExaminedReply]:
    """Yield each answer to the question: those that end with a function call, and the last one."""
    with contextlib.closing(ProbeClient("")) as client:
        caller = OpenBBPage(client, headers, origin)
        found = await find_agent(caller, get_base_url(url), question)
        if isinstance(found, Fault):
            yield ExaminedReply([], [found], [ScreenPart("error", f"The client adds no agent: {found.why}")])
            return
        async with closing(play_chat(caller, found.query, question.make_chat())) as answers:
            async for answer in answers:
                yield answer


async def find_agent(caller: OpenBBPage, base: str, question: OpenBBQuestion) -> ExaminedAgent | Fault:
    """Return the agent as the client finds it: in agents.json, else in copilots.json."""
    why, fix = "", f"serve GET /{AGENTS_FILE}; `rightseat doctor --openbb URL` checks it"
    for name in [COPILOTS_FILE] if question.is_legacy else [AGENTS_FILE, COPILOTS_FILE]:
        try:
            reply = await caller.get(f"{base}/{name}")
        except Unreachable as error:
            return Fault(f"{base}: {error}", "start the server, or correct the URL")
        if hidden := next(check_readable(reply, caller.origin), None):
            return hidden
        if reply.status in (401, 403):
            return Fault(f"HTTP {reply.status} for /{name}", HEADER_FIX)
        if reply.status != 200:
            why = why or f"HTTP {reply.status} for /{name}"
            continue
        try:
            agents = json.loads(reply.body)
        except (ValueError, RecursionError):
            return Fault(f"/{name} is no JSON", fix)
        if agent := choose_agent(agents, base, question.agent):
            return agent
        known = ", ".join(agents) if isinstance(agents, dict) else ""
        return Fault(f"/{name} has no agent {question.agent!r}".replace(" ''", ""), f"name one of: {known}")
    return Fault(why, fix)
