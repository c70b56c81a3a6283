"""Run all checks in the order in which the client would send its requests: agent files, CORS preflights, answers to
plain questions and to questions about a widget, for both client versions."""

from __future__ import annotations

import contextlib
import ipaddress
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from rightseat.doctor import running_server
from rightseat.doctor.client import ProbeClient, ProbeReply, Unreachable
from rightseat.doctor.openbb.agents import ExaminedAgent, check_agents, choose_agent
from rightseat.doctor.openbb.reply import ERROR_STREAM_FIX, play_chat, post_query
from rightseat.doctor.openbb.simulated_client import (
    PAGE_ORIGIN,
    PLAIN_QUESTION,
    WIDGET_QUESTION,
    OpenBBPage,
    SimulatedChat,
    allows_origin,
    check_readable,
    explain_cors,
    make_fields,
    make_human_message,
    make_loose_request,
    make_vote,
)
from rightseat.doctor.result import CheckResult, Fault, broken, chain, good, report_faults, skipped
from rightseat.doctor.running_server import split_header
from rightseat.http.security import is_loopback
from rightseat.types.streams import closing

AGENTS_FILE, COPILOTS_FILE = "agents.json", "copilots.json"

MISSING_FILE_NOTES = {
    AGENTS_FILE: "today's client takes the other file",
    COPILOTS_FILE: "the client of 2024 finds nobody",
}

HEADER_FIX = "give the header that the dialog would send: --header 'X-API-KEY: …'"


async def examine(url: str, headers: Mapping[str, str], origin: str = PAGE_ORIGIN) -> AsyncIterator[CheckResult]:
    base = get_base_url(url)
    with contextlib.closing(ProbeClient("")) as client:
        caller = OpenBBPage(client, headers, origin)
        agents: dict[str, ExaminedAgent] = {}
        async with closing(chain(check_files(caller, base, agents), check_answers(caller, agents))) as results:
            async for line in results:
                yield line


def get_base_url(url: str) -> str:
    """Return the address that the Add Agent dialog takes, for one of its files too."""
    base = url.rstrip("/")
    for name in (AGENTS_FILE, COPILOTS_FILE):
        base = base.removesuffix(f"/{name}")
    return base


async def check_answers(caller: OpenBBPage, agents: Mapping[str, ExaminedAgent]) -> AsyncIterator[CheckResult]:
    if not agents:
        yield skipped("openbb: questions", "nobody to ask", "put the file of agents right first")
        return
    current = agents.get(AGENTS_FILE) or agents[COPILOTS_FILE]
    legacy = agents.get(COPILOTS_FILE) or current
    checks = chain(
        check_preflights(caller, current.query),
        check_plain_question(caller, current.query, old=False),
        check_plain_question(caller, legacy.query, old=True),
        check_widget_question(caller, current.query, old=False),
        check_widget_question(caller, legacy.query, old=True),
        check_tolerance(caller, current.query),
        check_feedback(caller, current),
    )
    async with closing(checks):
        async for line in checks:
            yield line


async def check_files(caller: OpenBBPage, base: str, agents: dict[str, ExaminedAgent]) -> AsyncIterator[CheckResult]:
    """Check both agent files: the current client falls back to copilots.json, that of 2024 reads only it."""
    try:
        replies = {name: await caller.get(f"{base}/{name}") for name in (AGENTS_FILE, COPILOTS_FILE)}
    except Unreachable as error:
        yield broken("openbb: agents", f"{base}: {error}", "start the server, or correct the URL")
        return
    available = [name for name, reply in replies.items() if reply.status == 200]
    for name, reply in replies.items():
        what = f"openbb: {name}"
        if available and name not in available:
            yield skipped(what, f"HTTP {reply.status}: {MISSING_FILE_NOTES[name]}")
        else:
            for line in report_faults(what, check_file(caller, reply, base, name, agents), f"at {base}/{name}"):
                yield line
    if caller.headers and AGENTS_FILE in available:
        yield await check_header_required(caller, f"{base}/{AGENTS_FILE}")


def check_file(
    caller: OpenBBPage, reply: ProbeReply, base: str, name: str, agents: dict[str, ExaminedAgent]
) -> list[Fault]:
    unreadable = list(check_readable(reply, caller.origin))
    if reply.status in (401, 403):
        return unreadable or [Fault(f"HTTP {reply.status}", HEADER_FIX)]
    if reply.status != 200:
        return [Fault(f"HTTP {reply.status}", f"serve GET /{name}")]
    try:
        data: Any = json.loads(reply.body)
    except (ValueError, RecursionError):
        return [Fault("it is no JSON", "answer with a JSON object")]
    if agent := choose_agent(data, base):
        agents[name] = agent
    return [*unreadable, *check_agents(data, base, old=name == COPILOTS_FILE)]


async def check_header_required(caller: OpenBBPage, url: str) -> CheckResult:
    what = "openbb: headers"
    try:
        reply = await OpenBBPage(caller.client, {}, caller.origin).get(url)
    except Unreachable as error:
        return broken(what, str(error), "answer requests without headers too")
    names = ", ".join(caller.headers)
    if reply.status == 200:
        return skipped(what, f"the file of agents can be read without {names} too")
    return good(what, f"HTTP {reply.status} without {names}")


OTHER_ORIGINS = ("https://pro.openbb.dev", "http://localhost", "http://localhost:1420", "http://localhost:5050")


async def check_preflights(caller: OpenBBPage, url: str) -> AsyncIterator[CheckResult]:
    what = "openbb: preflight"
    try:
        reply = await caller.preflight(url, "POST")
        others = [
            origin for origin in OTHER_ORIGINS if not allows_origin(await caller.preflight(url, "POST", origin), origin)
        ]
    except Unreachable as error:
        yield broken(what, str(error), "answer OPTIONS")
        return
    success_text = f"{caller.origin} may post {', '.join(caller.requested_headers)}"
    for line in report_faults(what, find_preflight_faults(reply, caller), success_text):
        yield line
    if others:
        yield skipped(what, f"not for {', '.join(others)}", "allow these too where somebody uses them")
    if is_private_host(urlsplit(url).hostname or ""):
        yield check_private_network(reply)


def find_preflight_faults(reply: ProbeReply, caller: OpenBBPage) -> Iterator[Fault]:
    if not 200 <= reply.status < 300:
        yield Fault(f"OPTIONS is answered with HTTP {reply.status}", "answer it with 200 or 204, without a key")
        return
    if not allows_origin(reply, caller.origin):
        yield Fault(f"the page at {caller.origin} may not call", explain_cors(caller.origin))
    allowed = {name.lower() for name in split_header(reply, "access-control-allow-headers")}
    # `*` allows every header except Authorization.
    missing = [
        name
        for name in caller.requested_headers
        if name not in allowed and ("*" not in allowed or name == "authorization")
    ]
    if missing:
        yield Fault(f"the page may not send {', '.join(missing)}", "name it in Access-Control-Allow-Headers")


def check_private_network(reply: ProbeReply) -> CheckResult:
    what = "openbb: private network"
    if reply.headers.get("access-control-allow-private-network") == "true":
        return good(what, "a public page may call this private address")
    fix = "answer Access-Control-Allow-Private-Network: true"
    return broken(what, "a public page may not call this private address", fix)


def is_private_host(host: str) -> bool:
    try:
        return is_loopback(host) or ipaddress.ip_address(host.strip("[]")).is_private
    except ValueError:
        return False


def format_era(*, old: bool) -> str:
    return "openbb 2024" if old else "openbb today"


async def check_plain_question(caller: OpenBBPage, url: str, *, old: bool) -> AsyncIterator[CheckResult]:
    what = f"{format_era(old=old)}: question"
    body = {"messages": [make_human_message(PLAIN_QUESTION)], **make_fields(old=old)}
    answer = await post_query(caller, url, body, old=old)
    bad = bool(answer.enforced_faults)
    for line in report_faults(what, answer.faults, "" if bad else f"answered {answer.text[:60]!r}"):
        yield line
    for part in [] if bad else answer.parts:
        if part.kind == "warning":
            yield skipped(what, f"a failure, told as it should be: {part.title}")
    if not bad and answer.reply and len(answer.frames) >= running_server.MIN_STREAM_EVENTS:
        yield running_server.check_streaming(what, answer.reply)


async def check_widget_question(caller: OpenBBPage, url: str, *, old: bool) -> AsyncIterator[CheckResult]:
    """Ask about a widget and answer the function calls until there is text."""
    what = f"{format_era(old=old)}: widget"
    chat = SimulatedChat([make_human_message(WIDGET_QUESTION)], make_fields(widgets=True, old=old), old=old)
    trips = -1
    async with closing(play_chat(caller, url, chat)) as answers:
        async for answer in answers:
            trips += 1
            if answer.enforced_faults:
                for line in report_faults(what, answer.enforced_faults):
                    yield line
            elif answer.call is None:
                yield judge_round_trips(what, trips, answer.text)
            if answer.call is not None and (unknown := list(chat.dashboard.find_unknown_widgets(answer.call))):
                yield broken(what, f"asks for {unknown[0]!r}, which is not on the dashboard", "name a given widget")
                return


def judge_round_trips(what: str, trips: int, text: str) -> CheckResult:
    if not trips:
        return skipped(what, "answered without asking for its data", "ask the model to use what is offered")
    if not text:
        return broken(what, "the result of the call brings no words", "answer with text")
    return good(what, f"{trips} call{'s' if trips > 1 else ''}, then words: {text[:60]!r}")


async def check_tolerance(caller: OpenBBPage, url: str) -> AsyncIterator[CheckResult]:
    """Check requests that exceed the official models, and an empty message list."""
    what = "openbb: loose request"
    answer = await post_query(caller, url, make_loose_request(), old=False)
    for line in report_faults(what, answer.enforced_faults, "null, forms and new fields"):
        yield line
    try:
        empty = await caller.post(url, {"messages": []})
    except Unreachable as error:
        yield broken(what, str(error), ERROR_STREAM_FIX)
        return
    what = "openbb: no messages"
    if empty.status == 422 and b"messages list cannot be empty" in empty.body:
        yield good(what, "HTTP 422")
    else:
        fix = 'answer 422 with "messages list cannot be empty": OpenBB\'s own tests look for it'
        yield (broken if empty.status >= 500 else skipped)(what, f"HTTP {empty.status}", fix)


async def check_feedback(caller: OpenBBPage, agent: ExaminedAgent) -> AsyncIterator[CheckResult]:
    what = "openbb: feedback"
    if agent.feedback is None:
        yield skipped(what, "no endpoint for it")
        return
    try:
        reply = await caller.post(agent.feedback, make_vote())
    except Unreachable as error:
        yield broken(what, str(error), "answer any 2xx")
        return
    wrong = list(check_readable(reply, caller.origin))
    if not 200 <= reply.status < 300:
        wrong.append(Fault(f"HTTP {reply.status}", "answer any 2xx to a vote"))
    for line in report_faults(what, wrong, f"HTTP {reply.status}"):
        yield line
